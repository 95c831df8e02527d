/* SPDX-License-Identifier: BSD-2-Clause */
/* Colours by alpha; alpha itself goes with the full range. Of alpha 0 colours are 0. Integers are exact and at most
 * the full range, floats a quotient in single precision. */
#include "filters/unpremultiply/unpremultiply.h"

#include <math.h>

static double combine(const struct filter_case *c, double value, double weight)
{
    const double full = type_full_scale(c->out.type);
    if (weight == 0)
        return 0;
    if (!type_is_integer(c->in.type))
        return (double)((float)(value / weight) * (float)full);
    value = fmin(value, weight);
    if (!type_is_integer(c->out.type))
        return value / weight;
    return (double)((2 * (int64_t)(value * full) + (int64_t)weight) / (2 * (int64_t)weight));
}

void unpremultiply_reference(const struct filter_case *c, const struct view *in, const struct view *second,
                             struct view *out)
{
    const uint32_t last = c->in.channels - 1;
    (void)second;
    for (int64_t y = 0; y < c->in.height; y++)
        for (int64_t x = 0; x < c->in.width; x++)
            for (uint32_t channel = 0; channel <= last; channel++) {
                const double full = type_full_scale(c->in.type), value = view_get(in, x, y, channel);
                const double weight = channel == last ? full : view_get(in, x, y, last);
                view_set(out, x, y, channel, combine(c, value, weight));
            }
}
