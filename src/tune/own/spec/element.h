/* SPDX-License-Identifier: BSD-2-Clause */
/* Numbers in the memory of kernels that are not hone's own: every scalar type of OpenCL C. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum element {
    ELEMENT_U8,
    ELEMENT_S8,
    ELEMENT_U16,
    ELEMENT_S16,
    ELEMENT_U32,
    ELEMENT_S32,
    ELEMENT_U64,
    ELEMENT_S64,
    ELEMENT_F16,
    ELEMENT_F32,
    ELEMENT_F64,
    ELEMENT_COUNT
};

/* "u8", and as OpenCL C has it: "uchar". */
const char *element_name(enum element element);
const char *element_c_name(enum element element);
size_t element_size(enum element element);
bool element_is_float(enum element element);

/* "f32", "float", "float4", "unsigned int": the first `length` bytes of text. *lanes is 1 for a scalar. */
bool element_parse(const char *text, size_t length, enum element *element, int *lanes);
/* As T1 files write types: "int16" is one number of 16 bits there, and 16 of 32 bits in OpenCL C. */
bool element_parse_t1(const char *text, enum element *element, int *lanes);

/* Lanes of a vector in memory: three take the room of four. */
size_t element_room(int lanes);

double element_get(enum element element, const void *data, size_t index);
/* Integers are rounded to nearest even and saturated; NaN becomes 0. */
void element_set(enum element element, void *data, size_t index, double value);

/* Noise, the same on every machine: types of 8 and 16 bits over their whole range, wider integers 0..65535,
 * floats 0..1. */
void element_fill_random(enum element element, void *data, size_t count, uint32_t seed);
