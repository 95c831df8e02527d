/* SPDX-License-Identifier: BSD-2-Clause */
/* The weighted sum over a window: exact whole numbers for integer formats, double precision for f32. */
#include "filters/convolve/convolve.h"

/* In single precision, each step rounded: the same on every device. */
static double scaled(double sum, float factor, float offset)
{
    volatile float product = (float)sum * factor; /* volatile: never fused with the addition */
    return (double)(float)(product + offset);
}

static double sum_over_window(const struct filter_case *c, const struct weights *w, const struct view *in,
                              int64_t x, int64_t y, uint32_t channel)
{
    bool integer = type_is_integer(c->in.type);
    double sum = 0;
    for (int j = 0; j < w->height; j++)
        for (int i = 0; i < w->width; i++) {
            double weight = integer ? w->whole[j * w->width + i] : w->real[j * w->width + i];
            sum += weight *
                   view_border_get(in, c->border, c->border_value, x - w->left + i, y - w->top + j, channel);
        }
    return sum;
}

static double result_at(const struct filter_case *c, const struct weights *w, const struct view *in,
                        int64_t x, int64_t y, uint32_t channel)
{
    if (channel == 3 && case_copies_alpha(c))
        return view_get(in, x, y, channel);
    if (c->border == HONE_BORDER_ZERO_OUTSIDE &&
        view_window_leaves(&c->in, x, y, w->left, w->width - 1 - w->left, w->top, w->height - 1 - w->top))
        return 0;
    double sum = sum_over_window(c, w, in, x, y, channel), offset = case_number(c, "offset");
    return type_is_integer(c->in.type) ? scaled(sum, w->factor, (float)offset)
                                       : sum * case_number(c, "scale") + offset;
}

REFERENCE(convolve)
{
    for (int64_t y = 0; y < c->in.height; y++)
        for (int64_t x = 0; x < c->in.width; x++)
            for (uint32_t channel = 0; channel < c->in.channels; channel++)
                view_set(out, x, y, channel, result_at(c, c->data, in, x, y, channel));
}
