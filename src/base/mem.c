/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/mem.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

size_t mem_product(size_t a, size_t b)
{
    size_t product;
    return __builtin_mul_overflow(a, b, &product) ? SIZE_MAX : product;
}

void *mem_new(size_t count, size_t size)
{
    return calloc(count ? count : 1, size ? size : 1);
}

bool mem_grow(void *array, size_t *capacity, size_t wanted, size_t size)
{
    void **slot = array;
    if (wanted <= *capacity)
        return true;
    size_t next = *capacity < 8 ? 8 : *capacity;
    while (next < wanted) {
        if (next > SIZE_MAX / 2)
            return false;
        next *= 2;
    }
    size_t bytes = mem_product(next, size);
    void *bigger = bytes == SIZE_MAX ? NULL : realloc(*slot, bytes);
    if (!bigger)
        return false;
    memset((char *)bigger + *capacity * size, 0, (next - *capacity) * size);
    *slot = bigger;
    *capacity = next;
    return true;
}

char *mem_copy_text_n(const char *text, size_t length)
{
    if (!text || length == SIZE_MAX)
        return NULL;
    char *copy = malloc(length + 1);
    if (!copy)
        return NULL;
    memcpy(copy, text, length);
    copy[length] = '\0';
    return copy;
}

char *mem_copy_text(const char *text)
{
    return text ? mem_copy_text_n(text, strlen(text)) : NULL;
}
