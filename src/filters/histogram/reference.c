/* SPDX-License-Identifier: BSD-2-Clause */
/* Counts pixel by pixel; the picture is drawn from the counts by its definition. */
#include "filters/histogram/histogram.h"

#include <math.h>
#include <stdlib.h>

/* The last bin whose lower edge is not above a value; behind the bins what is below, above, and NaN. */
static int64_t bin_of(const struct filter_case *c, double value, int64_t bins)
{
    if (isnan(value))
        return bins + 2;
    if (value < histogram_edge(c, 0))
        return bins;
    if (value > histogram_edge(c, bins))
        return bins + 1;
    int64_t low = 0, high = bins;
    while (high - low > 1) {
        const int64_t middle = low + (high - low) / 2;
        if (value < histogram_edge(c, middle))
            high = middle;
        else
            low = middle;
    }
    return low;
}

static void count(const struct filter_case *c, const struct view *in, uint64_t *counts, int64_t bins)
{
    for (int64_t y = 0; y < c->in.height; y++)
        for (int64_t x = 0; x < c->in.width; x++)
            for (uint32_t channel = 0; channel < c->in.channels; channel++)
                counts[bin_of(c, view_get(in, x, y, channel), bins) * c->in.channels + channel]++;
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
void histogram_draw(const struct filter_case *c, const uint64_t *counts, uint32_t y, uint8_t *row)
{
    const int64_t bins = (int64_t)case_number(c, "bins"), height = HISTOGRAM_PICTURE_HEIGHT;
    const uint64_t most = largest(c, counts, bins);
    for (int64_t i = 0; i < bins * c->in.channels; i++) {
        const uint64_t bar = most > 0 ? (counts[i] * HISTOGRAM_PICTURE_HEIGHT + most - 1) / most : 0;
        const bool opaque = desc_has_alpha(&c->in) && i % 4 == 3;
        row[i] = opaque || height - y <= (int64_t)bar ? UINT8_MAX : 0;
    }
}

REFERENCE(histogram)
{
    const int64_t bins = (int64_t)case_number(c, "bins"), outside = 3;
    uint64_t *counts = calloc((size_t)(bins + outside) * c->in.channels, sizeof *counts);
    if (!counts)
        return;
    count(c, in, counts, bins);
    for (int64_t y = 0; y < c->out.height; y++)
        if (c->out.type == HONE_U8)
            histogram_draw(c, counts, (uint32_t)y,
                           (uint8_t *)out->data + y * (int64_t)hone_image_pitch(&out->desc));
        else
            for (int64_t i = 0; i < (int64_t)c->out.width * c->in.channels; i++)
                view_set(out, i / c->in.channels, y, (uint32_t)(i % c->in.channels), (double)counts[i]);
    free(counts);
}
