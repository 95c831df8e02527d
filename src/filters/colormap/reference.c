/* SPDX-License-Identifier: BSD-2-Clause */
/* The level of a pixel, 0 to 255, then its colour. */
#include "filters/colormap/colormap.h"

#include <math.h>

/* 16 bits: to the nearest, which is never half-way, from the least number on. Floats: scaled in single
 * precision, since rounding the product is part of the definition, then to nearest even; NaN is level 0. */
static int level_of(hone_type type, double value)
{
    if (type == HONE_U8)
        return (int)value;
    if (type == HONE_U16 || type == HONE_S16)
        return (int)floor((value + (type == HONE_S16 ? 32768 : 0) + 128) / 257);
    float scaled = (float)value * 255.0f;
    return isnan(scaled) || scaled < 0 ? 0 : scaled > 255 ? 255 : (int)nearbyintf(scaled);
}

REFERENCE(colormap)
{
    enum map map = (enum map)case_number(c, "map");
    for (int64_t y = 0; y < c->in.height; y++)
        for (int64_t x = 0; x < c->in.width; x++) {
            uint32_t color = palette_color(map, level_of(c->in.type, view_get(in, x, y, 0)));
            for (uint32_t channel = 0; channel < 3; channel++)
                view_set(out, x, y, channel, color >> 8 * channel & 255);
        }
}
