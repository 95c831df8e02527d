/* SPDX-License-Identifier: BSD-2-Clause */
#include "media/channels.h"

#include <string.h>

static void flatten_u8(unsigned char *pixels, uint64_t count, const double background[3])
{
    unsigned char *to = pixels;
    for (; count > 0; count--, pixels += 4, to += 3) {
        const double alpha = pixels[3] / 255.0;
        for (int i = 0; i < 3; i++)
            to[i] = (unsigned char)(pixels[i] * alpha + background[i] * 255 * (1 - alpha) + 0.5);
    }
}

static void flatten_u16(uint16_t *pixels, uint64_t count, const double background[3])
{
    uint16_t *to = pixels;
    for (; count > 0; count--, pixels += 4, to += 3) {
        const double alpha = pixels[3] / 65535.0;
        for (int i = 0; i < 3; i++)
            to[i] = (uint16_t)(pixels[i] * alpha + background[i] * 65535 * (1 - alpha) + 0.5);
    }
}

static void flatten_f32(float *pixels, uint64_t count, const double background[3])
{
    float *to = pixels;
    for (; count > 0; count--, pixels += 4, to += 3) {
        const double alpha = pixels[3];
        for (int i = 0; i < 3; i++)
            to[i] = (float)(pixels[i] * alpha + background[i] * (1 - alpha));
    }
}

void channels_flatten(hone_type type, void *pixels, uint64_t count, const double background[3])
{
    if (type == HONE_U8)
        flatten_u8(pixels, count, background);
    else if (type == HONE_U16)
        flatten_u16(pixels, count, background);
    else
        flatten_f32(pixels, count, background);
}

bool channels_are_gray(const unsigned char *pixels, uint64_t count, size_t size)
{
    for (; count > 0; count--, pixels += 4 * size)
        if (memcmp(pixels, pixels + size, size) != 0 || memcmp(pixels, pixels + 2 * size, size) != 0)
            return false;
    return true;
}

void channels_drop_colours(unsigned char *pixels, uint64_t count, size_t size)
{
    unsigned char *to = pixels;
    for (; count > 0; count--, pixels += 4 * size, to += 2 * size) {
        memmove(to, pixels, size);
        memmove(to + size, pixels + 3 * size, size);
    }
}
