/* SPDX-License-Identifier: BSD-2-Clause */
/* The mean over a window of width x height pixels: every sum is taken afresh from its pixels, in exact
 * integers or in double precision, so that nothing but the formula can be wrong. */
#include "filter/filter.h"

#include <math.h>
#include <stdlib.h>

/* Sum along one row of the window; exact for integers, since doubles hold them up to 2^53. */
static double row_sum(const struct filter_case *c, const struct view *in, int64_t left, int64_t width,
                      int64_t y, uint32_t channel)
{
    double sum = 0;
    for (int64_t x = left; x < left + width; x++)
        sum += view_border_get(in, c->border, c->border_value, x, y, channel);
    return sum;
}

static double rounded_mean(const struct filter_case *c, double sum, double area)
{
    if (!type_is_integer(c->in.type))
        return sum / area;
    return floor((2 * sum + area) / (2 * area)); /* half up; both sides are exact integers */
}

/* Row sums are shared by the windows of a column; those of one output column are kept while it is walked
 * down. */
static void one_column(const struct filter_case *c, const struct view *in, struct view *out, int64_t x,
                       uint32_t channel, double *sums)
{
    int64_t width = case_symbol(c, "KW"), height = case_symbol(c, "KH");
    int64_t left = width / 2, top = height / 2, rows = c->in.height + height - 1;
    for (int64_t i = 0; i < rows; i++)
        sums[i] = row_sum(c, in, x - left, width, i - top, channel);
    for (int64_t y = 0; y < c->in.height; y++) {
        double sum = 0;
        for (int64_t i = 0; i < height; i++)
            sum += sums[y + i];
        double value = rounded_mean(c, sum, (double)width * (double)height);
        if (c->border == HONE_BORDER_ZERO_OUTSIDE &&
            view_window_leaves(&c->in, x, y, left, width - 1 - left, top, height - 1 - top))
            value = 0;
        view_set(out, x, y, channel, value);
    }
}

REFERENCE(box)
{
    uint32_t channels = case_copies_alpha(c) ? 3 : c->in.channels;
    double *sums = calloc(c->in.height + (size_t)case_symbol(c, "KH"), sizeof *sums);
    for (int64_t x = 0; sums && x < c->in.width; x++)
        for (uint32_t channel = 0; channel < channels; channel++)
            one_column(c, in, out, x, channel, sums);
    free(sums);
    if (case_copies_alpha(c))
        view_copy_alpha(in, out, 1);
}
