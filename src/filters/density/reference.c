/* SPDX-License-Identifier: BSD-2-Clause */
/* The sum over a square window, or a mark, where it reaches the threshold, else 0. Sums of integers, taken
 * afresh from their pixels in double precision, which holds them exactly up to 2^53. */
#include "filter/filter.h"

#include <stdlib.h>

/* What a pixel adds to the sum. */
static double counted(const struct filter_case *c, double value)
{
    return case_number(c, "mask") != 0 ? value != 0 : value;
}

static double row_sum(const struct filter_case *c, const struct view *in, int64_t left, int64_t size,
                      int64_t y, uint32_t channel)
{
    double sum = 0;
    for (int64_t x = left; x < left + size; x++)
        sum += counted(c, view_border_get(in, c->border, c->border_value, x, y, channel));
    return sum;
}

/* The windows of a column share the sums of their rows; `sums` has those of the rows that there are, and of
 * what lies beyond under a constant border. */
static void one_column(const struct filter_case *c, const struct view *in, struct view *out, int64_t x,
                       uint32_t channel, double *sums)
{
    const int64_t size = (int64_t)case_number(c, "size"), before = size / 2, behind = size - 1 - before;
    const int64_t height = c->in.height;
    double threshold = case_number(c, "threshold");
    bool marks = case_number(c, "output") != 0;
    for (int64_t y = 0; y <= height; y++)
        sums[y] = row_sum(c, in, x - before, size, y, channel);
    for (int64_t y = 0; y < height; y++) {
        double sum = 0;
        for (int64_t i = y - before; i <= y + behind; i++) {
            const int64_t row = i >= 0 && i < height ? i : border_index(c->border, i, height);
            sum += sums[row < 0 ? height : row];
        }
        bool nothing = c->border == HONE_BORDER_ZERO_OUTSIDE &&
                       view_window_leaves(&c->in, x, y, before, behind, before, behind);
        view_set(out, x, y, channel, nothing || sum < threshold ? 0 : marks ? 255 : sum);
    }
}

REFERENCE(density)
{
    uint32_t channels = case_copies_alpha(c) ? 3 : c->in.channels;
    double *sums = calloc(c->in.height + (size_t)1, sizeof *sums);
    for (int64_t x = 0; sums && x < c->in.width; x++)
        for (uint32_t channel = 0; channel < channels; channel++)
            one_column(c, in, out, x, channel, sums);
    free(sums);
    if (case_copies_alpha(c)) /* beside marks, which are u8, alpha of u16 is as much of 255 as of 65535 */
        view_copy_alpha(in, out, out->desc.type == HONE_U8 ? 255 / type_full_scale(in->desc.type) : 1);
}
