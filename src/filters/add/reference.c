/* SPDX-License-Identifier: BSD-2-Clause */
/* The sum of two images, element by element. Integers saturate where they are stored; of floats, the sum in
 * double precision rounds to the same single as a sum in single precision. */
#include "filter/filter.h"

REFERENCE(add)
{
    for (int64_t y = 0; y < c->in.height; y++)
        for (int64_t x = 0; x < c->in.width; x++)
            for (uint32_t channel = 0; channel < c->in.channels; channel++)
                view_set(out, x, y, channel, view_get(in, x, y, channel) + view_get(second, x, y, channel));
}
