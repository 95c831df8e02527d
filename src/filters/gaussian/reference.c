/* SPDX-License-Identifier: BSD-2-Clause */
/* The sampled Gaussian, in double precision: every row is weighted with the window's weights, then every
 * column of the result. No recursion, nothing shared between pixels. */
#include "filters/gaussian/gaussian.h"

#include <math.h>
#include <stdlib.h>

int64_t gaussian_radius(double sigma)
{
    return (int64_t)ceil(5 * sigma);
}

void gaussian_weights(double sigma, int64_t radius, double *weights)
{
    double sum = 0;
    for (int64_t i = radius; i >= 0; i--) {
        weights[i] = exp(-0.5 * (double)(i * i) / (sigma * sigma));
        sum += (i ? 2 : 1) * weights[i];
    }
    for (int64_t i = 0; i <= radius; i++)
        weights[i] /= sum;
}

/* A line with what the border rule puts on both sides of it. */
struct line {
    double *values; /* `radius` more on each side */
    int64_t count, radius;
};

static double weighted(const struct line *line, const double *weights, int64_t at)
{
    const double *centre = line->values + line->radius + at;
    double sum = 0;
    for (int64_t i = line->radius; i > 0; i--)
        sum += weights[i] * centre[-i] + weights[i] * centre[i];
    return sum + weights[0] * centre[0];
}

static void along_rows(const struct filter_case *c, const struct view *in, uint32_t channel,
                       const double *weights, struct line line, double *rows)
{
    line.count = c->in.width;
    for (int64_t y = 0; y < c->in.height; y++) {
        for (int64_t x = -line.radius; x < line.count + line.radius; x++)
            line.values[x + line.radius] = view_border_get(in, c->border, c->border_value, x, y, channel);
        for (int64_t x = 0; x < line.count; x++)
            rows[y * line.count + x] = weighted(&line, weights, x);
    }
}

/* A row of border values stays what it is, since weights sum to 1. */
static void along_columns(const struct filter_case *c, uint32_t channel, const double *weights,
                          struct line line, const double *rows, struct view *out)
{
    int64_t r = line.radius;
    line.count = c->in.height;
    for (int64_t x = 0; x < c->in.width; x++) {
        for (int64_t y = -r; y < line.count + r; y++) {
            int64_t from = border_index(c->border, y, line.count);
            line.values[y + r] = from < 0 ? c->border_value : rows[from * c->in.width + x];
        }
        for (int64_t y = 0; y < line.count; y++) {
            double value = weighted(&line, weights, y);
            if (c->border == HONE_BORDER_ZERO_OUTSIDE && view_window_leaves(&c->in, x, y, r, r, r, r))
                value = 0;
            view_set(out, x, y, channel, value);
        }
    }
}

REFERENCE(gaussian)
{
    int64_t radius = case_symbol(c, "R"), longest = c->in.width > c->in.height ? c->in.width : c->in.height;
    uint32_t channels = case_copies_alpha(c) ? 3 : c->in.channels;
    double *weights = calloc((size_t)radius + 1, sizeof *weights);
    double *rows = calloc((size_t)c->in.width * c->in.height, sizeof *rows);
    struct line line = {calloc((size_t)(longest + 2 * radius), sizeof *line.values), 0, radius};
    if (c->exact)
        gaussian_exact_reference(c, in, channels, out);
    else if (weights && rows && line.values) {
        gaussian_weights(case_number(c, "sigma"), radius, weights);
        for (uint32_t channel = 0; channel < channels; channel++) {
            along_rows(c, in, channel, weights, line, rows);
            along_columns(c, channel, weights, line, rows, out);
        }
    }
    free(weights);
    free(rows);
    free(line.values);
    if (case_copies_alpha(c))
        view_copy_alpha(in, out, 1);
}
