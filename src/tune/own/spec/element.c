/* SPDX-License-Identifier: BSD-2-Clause */
#include "tune/own/spec/element.h"

#include "image/pattern.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name, *c_name, *t1, *long_name; /* ours, OpenCL's, of T1 files, C's */
    size_t size;
    double least, most;
} table[ELEMENT_COUNT] = {[ELEMENT_U8] = {"u8", "uchar", "uint8", "unsigned char", 1, 0, UINT8_MAX},
                          [ELEMENT_S8] = {"s8", "char", "int8", "signed char", 1, INT8_MIN, INT8_MAX},
                          [ELEMENT_U16] = {"u16", "ushort", "uint16", "unsigned short", 2, 0, UINT16_MAX},
                          [ELEMENT_S16] = {"s16", "short", "int16", "signed short", 2, INT16_MIN, INT16_MAX},
                          [ELEMENT_U32] = {"u32", "uint", "uint32", "unsigned int", 4, 0, UINT32_MAX},
                          [ELEMENT_S32] = {"s32", "int", "int32", "signed int", 4, INT32_MIN, INT32_MAX},
                          [ELEMENT_U64] = {"u64", "ulong", "uint64", "unsigned long", 8, 0, 0x1p64},
                          [ELEMENT_S64] = {"s64", "long", "int64", "signed long", 8, -0x1p63, 0x1p63},
                          [ELEMENT_F16] = {"f16", "half", "half", "half", 2, 0, 0},
                          [ELEMENT_F32] = {"f32", "float", "float", "float", 4, 0, 0},
                          [ELEMENT_F64] = {"f64", "double", "double", "double", 8, 0, 0}};

const char *element_name(enum element element)
{
    return table[element].name;
}

const char *element_c_name(enum element element)
{
    return table[element].c_name;
}

size_t element_size(enum element element)
{
    return table[element].size;
}

bool element_is_float(enum element element)
{
    return element >= ELEMENT_F16;
}

size_t element_room(int lanes)
{
    return lanes == 3 ? 4 : (size_t)lanes;
}

static bool equal(const char *text, size_t length, const char *name)
{
    return strlen(name) == length && strncmp(text, name, length) == 0;
}

static bool find(const char *text, size_t length, enum element *element)
{
    for (int i = 0; i < ELEMENT_COUNT; i++)
        if (equal(text, length, table[i].name) || equal(text, length, table[i].c_name) ||
            equal(text, length, table[i].long_name)) {
            *element = (enum element)i;
            return true;
        }
    return false;
}

static bool lanes_exist(int lanes)
{
    return lanes == 2 || lanes == 3 || lanes == 4 || lanes == 8 || lanes == 16;
}

bool element_parse(const char *text, size_t length, enum element *element, int *lanes)
{
    size_t base = length;
    *lanes = 1;
    if (find(text, length, element))
        return true;
    while (base > 0 && isdigit((unsigned char)text[base - 1]))
        base--;
    if (base < length && find(text, base, element)) {
        *lanes = atoi(text + base);
        return lanes_exist(*lanes);
    }
    return false;
}

bool element_parse_t1(const char *text, enum element *element, int *lanes)
{
    *lanes = 1;
    for (int i = 0; i < ELEMENT_COUNT; i++)
        if (strcmp(text, table[i].t1) == 0) {
            *element = (enum element)i;
            return true;
        }
    return element_parse(text, strlen(text), element, lanes);
}

/* ---- Half precision: the host's compiler may not have it ---- */

static double half_get(uint16_t bits)
{
    int exponent = bits >> 10 & 31, fraction = bits & 1023;
    double sign = bits & 0x8000 ? -1 : 1;
    if (exponent == 31)
        return fraction ? NAN : sign * INFINITY;
    return sign * (exponent ? ldexp(1024 + fraction, exponent - 25) : ldexp(fraction, -24));
}

static uint16_t half_of(double value)
{
    uint16_t sign = signbit(value) ? 0x8000 : 0;
    double size = fabs(value);
    if (isnan(value))
        return 0x7e00;
    if (size >= 65520) /* half way to the first number that does not exist */
        return sign | 0x7c00;
    int exponent;
    frexp(size, &exponent);
    exponent = size < 0x1p-14 ? -14 : exponent - 1;
    int fraction = (int)nearbyint(ldexp(size, 10 - exponent)); /* 1024..2048, less for subnormal numbers */
    return (uint16_t)(sign + ((exponent + 14) << 10) + fraction);
}

/* ---- Values ---- */

double element_get(enum element element, const void *data, size_t i)
{
    switch (element) {
    case ELEMENT_U8:
        return ((const uint8_t *)data)[i];
    case ELEMENT_S8:
        return ((const int8_t *)data)[i];
    case ELEMENT_U16:
        return ((const uint16_t *)data)[i];
    case ELEMENT_S16:
        return ((const int16_t *)data)[i];
    case ELEMENT_U32:
        return ((const uint32_t *)data)[i];
    case ELEMENT_S32:
        return ((const int32_t *)data)[i];
    case ELEMENT_U64:
        return (double)((const uint64_t *)data)[i];
    case ELEMENT_S64:
        return (double)((const int64_t *)data)[i];
    case ELEMENT_F16:
        return half_get(((const uint16_t *)data)[i]);
    case ELEMENT_F32:
        return ((const float *)data)[i];
    default:
        return ((const double *)data)[i];
    }
}

static double to_integer(enum element element, double value)
{
    value = isnan(value) ? 0 : nearbyint(value);
    return fmin(fmax(value, table[element].least), table[element].most);
}

void element_set(enum element element, void *data, size_t i, double value)
{
    double whole = element_is_float(element) ? 0 : to_integer(element, value);
    switch (element) {
    case ELEMENT_U8:
    case ELEMENT_S8:
        ((uint8_t *)data)[i] = (uint8_t)(int)whole;
        break;
    case ELEMENT_U16:
    case ELEMENT_S16:
        ((uint16_t *)data)[i] = (uint16_t)(int)whole;
        break;
    case ELEMENT_U32:
    case ELEMENT_S32:
        ((uint32_t *)data)[i] = (uint32_t)(int64_t)whole;
        break;
    case ELEMENT_U64:
        ((uint64_t *)data)[i] = whole >= 0x1p64 ? UINT64_MAX : (uint64_t)whole;
        break;
    case ELEMENT_S64:
        ((int64_t *)data)[i] = whole >= 0x1p63 ? INT64_MAX : (int64_t)whole;
        break;
    case ELEMENT_F16:
        ((uint16_t *)data)[i] = half_of(value);
        break;
    case ELEMENT_F32:
        ((float *)data)[i] = (float)value;
        break;
    default:
        ((double *)data)[i] = value;
    }
}

void element_fill_random(enum element element, void *data, size_t count, uint32_t seed)
{
    uint32_t state = seed * 2654435761u | 1;
    bool narrow = element_size(element) <= 2;
    double span = narrow ? table[element].most - table[element].least + 1 : 65536;
    for (size_t i = 0; i < count; i++) {
        double unit = (double)(pattern_random(&state) >> 8) * 0x1p-24;
        element_set(element, data, i,
                    element_is_float(element) ? unit
                                              : floor(unit * span) + (narrow ? table[element].least : 0));
    }
}
