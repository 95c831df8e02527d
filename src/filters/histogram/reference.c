/* SPDX-License-Identifier: BSD-2-Clause */
/* Counts pixel by pixel; the picture is drawn from the counts by its definition. */
#include "filters/histogram/histogram.h"

#include <math.h>
#include <stdlib.h>

/* The bin of a value; -1: none. Bins of floats are those of the product in single precision. */
static int64_t bin_of(const struct filter_case *c, double value, int64_t bins)
{
    if (type_is_integer(c->in.type))
        return (int64_t)value * bins / ((int64_t)type_full_scale(c->in.type) + 1);
    if (isnan(value))
        return -1;
    float scaled = (float)value * (float)bins;
    return scaled < 0 ? 0 : scaled >= (float)bins ? bins - 1 : (int64_t)scaled;
}

static void count(const struct filter_case *c, const struct view *in, uint64_t *counts, int64_t bins)
{
    for (int64_t y = 0; y < c->in.height; y++)
        for (int64_t x = 0; x < c->in.width; x++)
            for (uint32_t channel = 0; channel < c->in.channels; channel++) {
                int64_t bin = bin_of(c, view_get(in, x, y, channel), bins);
                if (bin >= 0)
                    counts[bin * c->in.channels + channel]++;
            }
}

static uint64_t largest(const struct filter_case *c, const uint64_t *counts, int64_t bins)
{
    uint64_t most = 0;
    for (int64_t i = 0; i < bins * c->in.channels; i++)
        if (!(desc_has_alpha(&c->in) && i % 4 == 3) && counts[i] > most)
            most = counts[i];
    return most;
}

/* White from the bottom up, in 256ths of the largest count, rounded up; alpha is opaque. */
static double drawn(const struct filter_case *c, uint64_t count, uint64_t most, int64_t y, uint32_t channel)
{
    uint64_t bar = most > 0 ? (count * HISTOGRAM_PICTURE_HEIGHT + most - 1) / most : 0;
    bool opaque = desc_has_alpha(&c->in) && channel == 3;
    return opaque || (uint64_t)(HISTOGRAM_PICTURE_HEIGHT - y) <= bar ? 255 : 0;
}

void histogram_reference(const struct filter_case *c, const struct view *in, const struct view *second,
                         struct view *out)
{
    (void)second;
    int64_t bins = c->out.width;
    uint64_t *counts = calloc((size_t)bins * c->in.channels, sizeof *counts);
    if (!counts)
        return;
    count(c, in, counts, bins);
    uint64_t most = largest(c, counts, bins);
    for (int64_t y = 0; y < c->out.height; y++)
        for (int64_t x = 0; x < bins; x++)
            for (uint32_t channel = 0; channel < c->in.channels; channel++) {
                uint64_t own = counts[x * c->in.channels + channel];
                view_set(out, x, y, channel,
                         c->out.type == HONE_U32 ? (double)own : drawn(c, own, most, y, channel));
            }
    free(counts);
}
