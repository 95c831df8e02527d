/* SPDX-License-Identifier: BSD-2-Clause */
/* Rows become columns: the pixel (x, y) goes to (y, x), all of its channels. */
#include "filter/filter.h"

REFERENCE(transpose)
{
    for (int64_t y = 0; y < c->in.height; y++)
        for (int64_t x = 0; x < c->in.width; x++)
            for (uint32_t channel = 0; channel < c->in.channels; channel++)
                view_set(out, y, x, channel, view_get(in, x, y, channel));
}
