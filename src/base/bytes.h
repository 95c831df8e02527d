/* SPDX-License-Identifier: BSD-2-Clause */
/* Numbers in the bytes of files. */
#pragma once

#include <stdint.h>

/* Of up to 8 bytes, the lowest first. */
static inline uint64_t little_endian(const unsigned char *bytes, int count)
{
    uint64_t value = 0;
    for (int i = count; i-- > 0;)
        value = value << 8 | bytes[i];
    return value;
}

/* Of up to 8 bytes, the highest first. */
static inline uint64_t big_endian(const unsigned char *bytes, int count)
{
    uint64_t value = 0;
    for (int i = 0; i < count; i++)
        value = value << 8 | bytes[i];
    return value;
}
