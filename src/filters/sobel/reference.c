/* SPDX-License-Identifier: BSD-2-Clause */
/* Both gradients from their 3x3 masks, in double precision (exact for integers). */
#include "filters/sobel/sobel.h"

#include <math.h>

static double masked(const struct filter_case *c, const struct view *in, int64_t x, int64_t y,
                     uint32_t channel, const int mask[3][3])
{
    double sum = 0;
    for (int j = 0; j < 3; j++)
        for (int i = 0; i < 3; i++)
            if (mask[j][i] != 0) /* zero times infinity must not count */
                sum += mask[j][i] *
                       view_border_get(in, c->border, c->border_value, x + i - 1, y + j - 1, channel);
    return sum;
}

static double pixel(const struct filter_case *c, const struct view *in, int64_t x, int64_t y,
                    uint32_t channel)
{
    static const int right_minus_left[3][3] = {{-1, 0, 1}, {-2, 0, 2}, {-1, 0, 1}};
    static const int below_minus_above[3][3] = {{-1, -2, -1}, {0, 0, 0}, {1, 2, 1}};
    int output = (int)case_number(c, "output");
    if (c->border == HONE_BORDER_ZERO_OUTSIDE && view_window_leaves(&c->in, x, y, 1, 1, 1, 1))
        return 0;
    double dx = masked(c, in, x, y, channel, right_minus_left),
           dy = masked(c, in, x, y, channel, below_minus_above);
    if (output == SOBEL_DX)
        return dx;
    if (output == SOBEL_DY)
        return dy;
    return (int)case_number(c, "norm") == SOBEL_L1 ? fabs(dx) + fabs(dy) : sqrt(dx * dx + dy * dy);
}

REFERENCE(sobel)
{
    for (int64_t y = 0; y < c->in.height; y++)
        for (int64_t x = 0; x < c->in.width; x++)
            for (uint32_t channel = 0; channel < c->in.channels; channel++)
                view_set(out, x, y, channel,
                         channel == 3 && case_copies_alpha(c) ? view_get(in, x, y, 3)
                                                              : pixel(c, in, x, y, channel));
}
