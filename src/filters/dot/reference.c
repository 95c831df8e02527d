/* SPDX-License-Identifier: BSD-2-Clause */
/* The dot product of two pixels of four floats. In double precision the products are exact. */
#include "filter/filter.h"

REFERENCE(dot)
{
    for (int64_t y = 0; y < c->in.height; y++)
        for (int64_t x = 0; x < c->in.width; x++) {
            double sum = 0;
            for (uint32_t channel = 0; channel < 4; channel++)
                sum += view_get(in, x, y, channel) * view_get(second, x, y, channel);
            view_set(out, x, y, 0, sum);
        }
}
