/* SPDX-License-Identifier: BSD-2-Clause */
/* Colours times alpha; alpha itself goes with the full range. Integers are exact, floats a product in single
 * precision. */
#include "filters/premultiply/premultiply.h"

static double combine(const struct filter_case *c, double value, double weight)
{
    const int64_t from = (int64_t)type_full_scale(c->in.type), to = (int64_t)type_full_scale(c->out.type);
    if (!type_is_integer(c->in.type))
        return (double)((float)(value * weight) * (float)to);
    if (!type_is_integer(c->out.type))
        return value * weight / (double)(from * from);
    return (double)((2 * (int64_t)(value * weight) * to + from * from) / (2 * from * from));
}

void premultiply_reference(const struct filter_case *c, const struct view *in, const struct view *second,
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
