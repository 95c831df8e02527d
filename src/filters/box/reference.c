/* SPDX-License-Identifier: BSD-2-Clause */
/* The mean over a window of width x height pixels: every sum is taken afresh from its pixels, in exact
 * integers or in double precision, so that nothing but the formula can be wrong. */
#include "filter/filter.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

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

/* Sums along rows: of those that the windows of one row of results reach, or, where windows are taller than
 * the image, of each row that there is and of what lies beyond them, which is summed once. */
struct row_table {
    double *sums, *values, *totals; /* values: for row_sums; totals: for one_row */
    bool *done, ring;
};

static int64_t slot_of(const struct filter_case *c, const struct row_table *rows, int64_t y)
{
    const int64_t height = case_symbol(c, "KH");
    const int64_t inside = rows->ring ? (y + height) % height : border_index(c->border, y, c->in.height);
    return inside < 0 ? c->in.height : inside;
}

/* The row of results at y. */
static void one_row(const struct filter_case *c, struct view *out, int64_t y, uint32_t channel,
                    const struct row_table *rows)
{
    const int64_t width = case_symbol(c, "KW"), height = case_symbol(c, "KH");
    const int64_t left = width / 2, top = height / 2;
    memset(rows->totals, 0, c->in.width * sizeof *rows->totals);
    for (int64_t i = 0; i < height; i++) {
        const double *sums = rows->sums + slot_of(c, rows, y - top + i) * c->in.width;
        for (int64_t x = 0; x < c->in.width; x++)
            rows->totals[x] += sums[x];
    }
    for (int64_t x = 0; x < c->in.width; x++) {
        double value = rounded_mean(c, rows->totals[x], (double)width * (double)height);
        if (c->border == HONE_BORDER_ZERO_OUTSIDE &&
            view_window_leaves(&c->in, x, y, left, width - 1 - left, top, height - 1 - top))
            value = 0;
        view_set(out, x, y, channel, value);
    }
}

static void one_channel(const struct filter_case *c, const struct view *in, struct view *out,
                        uint32_t channel, const struct row_table *rows)
{
    const int64_t height = case_symbol(c, "KH"), top = height / 2;
    memset(rows->done, 0, (c->in.height + (size_t)1) * sizeof *rows->done);
    for (int64_t i = 0; i < c->in.height + height - 1; i++) {
        const int64_t slot = slot_of(c, rows, i - top);
        if (rows->ring || !rows->done[slot])
            row_sums(c, in, i - top, channel, rows->values, rows->sums + slot * c->in.width);
        if (!rows->ring)
            rows->done[slot] = true;
        if (i >= height - 1)
            one_row(c, out, i - height + 1, channel, rows);
    }
}

REFERENCE(box)
{
    const uint32_t channels = case_copies_alpha(c) ? 3 : c->in.channels;
    const size_t width = c->in.width, tall = (size_t)case_symbol(c, "KH");
    struct row_table rows = {.ring = tall <= c->in.height};
    rows.values = calloc(width + (size_t)case_symbol(c, "KW"), sizeof *rows.values);
    rows.totals = calloc(width, sizeof *rows.totals);
    rows.sums = calloc(width * (rows.ring ? tall : c->in.height + (size_t)1), sizeof *rows.sums);
    rows.done = calloc(c->in.height + (size_t)1, sizeof *rows.done);
    const bool room = rows.values && rows.totals && rows.sums && rows.done;
    for (uint32_t channel = 0; room && channel < channels; channel++)
        one_channel(c, in, out, channel, &rows);
    free(rows.values);
    free(rows.totals);
    free(rows.sums);
    free(rows.done);
    if (case_copies_alpha(c))
        view_copy_alpha(in, out, 1);
}
