/* SPDX-License-Identifier: BSD-2-Clause */
/* The mean over a window of width x height pixels: every sum is taken afresh from its pixels, in exact
 * integers or in double precision, so that nothing but the formula can be wrong. */
#include "filter/filter.h"

#include <math.h>
#include <stdlib.h>

/* Sums along row y of windows at each x; `values` has room for the row with what lies beyond its ends. Exact
 * for integers, since doubles hold them up to 2^53. */
static void row_sums(const struct filter_case *c, const struct view *in, int64_t y, uint32_t channel,
                     double *values, double *sums)
{
    const int64_t width = case_symbol(c, "KW"), count = c->in.width;
    for (int64_t i = 0; i < count + width - 1; i++)
        values[i] = view_border_get(in, c->border, c->border_value, i - width / 2, y, channel);
    for (int64_t x = 0; x < count; x++) {
        sums[x] = 0;
        for (int64_t i = 0; i < width; i++)
            sums[x] += values[x + i];
    }
}

static double rounded_mean(const struct filter_case *c, double sum, double area)
{
    if (!type_is_integer(c->in.type))
        return sum / area;
    return floor((2 * sum + area) / (2 * area)); /* half up; both sides are exact integers */
}

/* The row of results at y, of the sums along the rows that its windows reach. */
static void one_row(const struct filter_case *c, struct view *out, int64_t y, uint32_t channel,
                    const double *sums)
{
    const int64_t width = case_symbol(c, "KW"), height = case_symbol(c, "KH");
    const int64_t left = width / 2, top = height / 2;
    for (int64_t x = 0; x < c->in.width; x++) {
        double sum = 0;
        for (int64_t i = 0; i < height; i++)
            sum += sums[i * c->in.width + x];
        double value = rounded_mean(c, sum, (double)width * (double)height);
        if (c->border == HONE_BORDER_ZERO_OUTSIDE &&
            view_window_leaves(&c->in, x, y, left, width - 1 - left, top, height - 1 - top))
            value = 0;
        view_set(out, x, y, channel, value);
    }
}

/* `sums`: of as many rows as a window has; the next row takes the place of the first. */
static void one_channel(const struct filter_case *c, const struct view *in, struct view *out,
                        uint32_t channel, double *values, double *sums)
{
    const int64_t height = case_symbol(c, "KH"), top = height / 2;
    for (int64_t i = 0; i < c->in.height + height - 1; i++) {
        row_sums(c, in, i - top, channel, values, sums + i % height * c->in.width);
        if (i >= height - 1)
            one_row(c, out, i - height + 1, channel, sums);
    }
}

REFERENCE(box)
{
    const uint32_t channels = case_copies_alpha(c) ? 3 : c->in.channels;
    const size_t width = c->in.width, height = (size_t)case_symbol(c, "KH");
    double *values = calloc(width + (size_t)case_symbol(c, "KW"), sizeof *values);
    double *sums = calloc(width * height, sizeof *sums);
    for (uint32_t channel = 0; values && sums && channel < channels; channel++)
        one_channel(c, in, out, channel, values, sums);
    free(values);
    free(sums);
    if (case_copies_alpha(c))
        view_copy_alpha(in, out, 1);
}
