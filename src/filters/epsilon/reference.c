/* SPDX-License-Identifier: BSD-2-Clause */
/* The mean of those pixels of the window that differ from its centre by at most the threshold. */
#include "filter/filter.h"

#include <math.h>

/* Floats are compared in single precision: rounding the difference is part of the definition, since a pixel
 * that counts or does not count makes a step, not an error in the last place. */
static bool is_near(const struct filter_case *c, double value, double centre, double threshold)
{
    if (type_is_integer(c->in.type))
        return fabs(value - centre) <= threshold;
    float difference = (float)value - (float)centre;
    return fabsf(difference) <= (float)threshold;
}

static double mean_of_near(const struct filter_case *c, const struct view *in, int64_t x, int64_t y,
                           uint32_t channel)
{
    int64_t radius = (int64_t)case_number(c, "radius");
    double threshold = c->reals[0], centre = view_get(in, x, y, channel), sum = 0, count = 0;
    for (int64_t j = y - radius; j <= y + radius; j++)
        for (int64_t i = x - radius; i <= x + radius; i++) {
            double value = view_border_get(in, c->border, c->border_value, i, j, channel);
            if ((i == x && j == y) || is_near(c, value, centre, threshold)) {
                sum += value;
                count++;
            }
        }
    if (!type_is_integer(c->in.type))
        return sum / count;
    return floor((2 * sum + count) / (2 * count)); /* half up, exact */
}

REFERENCE(epsilon)
{
    int64_t radius = (int64_t)case_number(c, "radius");
    for (int64_t y = 0; y < c->in.height; y++)
        for (int64_t x = 0; x < c->in.width; x++)
            for (uint32_t channel = 0; channel < c->in.channels; channel++) {
                bool nothing = c->border == HONE_BORDER_ZERO_OUTSIDE &&
                               view_window_leaves(&c->in, x, y, radius, radius, radius, radius);
                view_set(out, x, y, channel,
                         channel == 3 && case_copies_alpha(c) ? view_get(in, x, y, 3)
                         : nothing                            ? 0
                                                              : mean_of_near(c, in, x, y, channel));
            }
}
