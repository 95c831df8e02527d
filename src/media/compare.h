/* SPDX-License-Identifier: BSD-2-Clause */
/* How far two images are apart. */
#pragma once

#include "hone/pixels.h"

/* Of one channel, or of all. Units: levels of the format; for f32 its own. */
struct difference {
    uint64_t elements, differing;
    double largest; /* |a - b|; infinite where a NaN or an infinity stands against another number */
    double mean;    /* of |a - b| */
    /* dB, the peak being the full scale of the format (1 for f32); infinite when nothing differs */
    double psnr;
    uint32_t x, y, channel; /* the first place of the largest difference, when anything differs */
    double a, b;            /* the values there */
};

struct comparison {
    struct difference all, channels[4];
};

/* Compares two tight images of one description. NaN equals NaN. Only the channels of the mask (bit 0: the
 * first) are looked at; the others stay zero. */
void compare_pixels(struct comparison *out, const hone_image_desc *desc, unsigned mask, const void *a,
                    const void *b);

/* Adds another channel of such images to what `all` tells of those before (none: zero). */
void compare_join(struct difference *all, const struct difference *d, hone_type type);
