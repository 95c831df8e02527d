/* SPDX-License-Identifier: BSD-2-Clause */
/* Memory: zeroed, overflow-checked, NULL on failure. Free with free(). */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define COUNT_OF(array) (sizeof(array) / sizeof *(array))

/* count objects of `size` bytes, zeroed. A count of 0 gives a valid pointer. */
void *mem_new(size_t count, size_t size);

/* Grows *array (of *capacity objects of `size` bytes) to hold at least `wanted`; new space is zeroed.
 * On failure the array is as it was. */
bool mem_grow(void *array, size_t *capacity, size_t wanted, size_t size);

/* A copy of a string, or of its first `length` bytes; NULL when text is NULL or memory is short. */
char *mem_copy_text(const char *text);
char *mem_copy_text_n(const char *text, size_t length);

/* a * b, or SIZE_MAX when that overflows: a size that no allocation can satisfy. */
size_t mem_product(size_t a, size_t b);
