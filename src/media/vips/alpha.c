/* SPDX-License-Identifier: BSD-2-Clause */
/* Colours that are stored multiplied by alpha, back to what they were. */
#include "media/vips.h"

static uint64_t level(uint64_t colour, uint64_t alpha, uint64_t full)
{
    return alpha ? (VIPS_MIN(colour, alpha) * full + alpha / 2) / alpha : 0;
}

static double quotient(double colour, double alpha)
{
    return alpha != 0 ? colour / alpha : 0;
}

#define DIVIDE(type, divided)                                                                                \
    for (type *pixel = pixels; count > 0; count--, pixel += samples)                                         \
        for (unsigned i = 0; i + 1 < samples; i++)                                                           \
            pixel[i] = (type)(divided);

bool vips_divide_by_alpha(VipsBandFormat format, void *pixels, size_t count, unsigned samples)
{
    const unsigned alpha = samples - 1;
    switch (format) {
    case VIPS_FORMAT_UCHAR:
        DIVIDE(uint8_t, level(pixel[i], pixel[alpha], UINT8_MAX));
        return true;
    case VIPS_FORMAT_USHORT:
        DIVIDE(uint16_t, level(pixel[i], pixel[alpha], UINT16_MAX));
        return true;
    case VIPS_FORMAT_UINT:
        DIVIDE(uint32_t, level(pixel[i], pixel[alpha], UINT32_MAX));
        return true;
    case VIPS_FORMAT_FLOAT:
        DIVIDE(float, quotient(pixel[i], pixel[alpha]));
        return true;
    case VIPS_FORMAT_DOUBLE:
        DIVIDE(double, quotient(pixel[i], pixel[alpha]));
        return true;
    default:
        return false;
    }
}
