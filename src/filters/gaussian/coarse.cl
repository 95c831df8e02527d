/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * For CPUs: any sigma at the same cost. A Gaussian is what two narrower ones give, one after the other, and
 * what the first one leaves is so smooth that every D-th row of it says all:
 *
 *   1. every D-th row: rows are weighted with a Gaussian of sigma / sqrt(2), then that one row along itself
 *      with sigma;
 *   2. every row: the coarse rows around it are weighted with a Gaussian of sigma / sqrt(2).
 *
 * Each step weighs about as many neighbours for each pixel, whatever sigma is. What is lost lies beyond the
 * window's edge and in the sampling; both are in the bounds, see tables.c.
 */
#ifndef ROWS
#define ROWS 32 /* rows of a band in the second pass */
#endif

#define LANES 16

#define CELL  float
#include "filters/bands.clh"
#include "filters/vectors.clh"

DEFINE_VECTORS(PIXEL, pixels);
DEFINE_VECTORS(float, values);
DEFINE_VECTORS(uint, words);

#define LOAD_PIXELS(p) (*(__global const pixels_at *)(p))
#define LOAD(p)        (*(__global const values_at *)(p))
#define STORE(p, v)    (*(__global values_at *)(p) = (v))

/* Sums of integers are taken before they become floats. Vectors as arguments also make clang take the widest
 * registers. */
inline values sum_of(pixels a, pixels b)
{
#if FLOATING
    return a + b;
#else
    return CONVERT(CONVERT(a, words) + CONVERT(b, words), values);
#endif
}

inline values add_weighted(values sum, values v, float weight)
{
    return sum + v * weight;
}

inline pixels lower(values v)
{
#if FLOATING
    return v;
#else
    /* positive and below 2^16: adding 2^23 leaves the nearest integer, ties to even */
    v = v < (float)PIXEL_MAX ? v : (values)(float)PIXEL_MAX;
    return CONVERT(CONVERT((v + 8388608.0f) - 8388608.0f, words), pixels);
#endif
}

struct picture {
    __global const PIXEL *in, *beyond; /* beyond: a row of border values */
    int pitch, width, height, count;   /* count: elements of a row */
};

inline __global const PIXEL *row_of(const struct picture *p, int y)
{
    int inside;
    __global const PIXEL *row = hone_row(p->in, p->pitch, y, p->height, &inside);
    return REAL_ROW(inside) ? row : p->beyond;
}

/* line += the rows `k` above and below y: in vectors, the last one over elements that are not done yet. */
inline void add_rows(const struct picture *p, __global float *line, int y, int k, float weight)
{
    __global const PIXEL *above = row_of(p, y - k), *below = row_of(p, y + k);
    int i = 0;
    for (; i + LANES <= p->count; i += LANES)
        STORE(line + i,
              add_weighted(LOAD(line + i), sum_of(LOAD_PIXELS(above + i), LOAD_PIXELS(below + i)), weight));
    for (; i < p->count; i++)
        line[i] += ((float)above[i] + (float)below[i]) * weight;
}

/* The same for two distances at once: half as many passes over the line. */
inline void add_two_rows(const struct picture *p, __global float *line, int y, int k, float near, float far)
{
    __global const PIXEL *a = row_of(p, y - k), *b = row_of(p, y + k);
    __global const PIXEL *c = row_of(p, y - k - 1), *d = row_of(p, y + k + 1);
    int i = 0;
    for (; i + LANES <= p->count; i += LANES) {
        values sum = add_weighted(LOAD(line + i), sum_of(LOAD_PIXELS(a + i), LOAD_PIXELS(b + i)), near);
        STORE(line + i, add_weighted(sum, sum_of(LOAD_PIXELS(c + i), LOAD_PIXELS(d + i)), far));
    }
    for (; i < p->count; i++)
        line[i] += ((float)a[i] + (float)b[i]) * near + ((float)c[i] + (float)d[i]) * far;
}

inline void weigh_rows(const struct picture *p, __global float *line, int y, __constant const float *weights,
                       int radius)
{
    __global const PIXEL *centre = row_of(p, y);
    int k = 1;
    for (int i = 0; i < p->count; i++)
        line[i] = (float)centre[i] * weights[0];
    for (; k < radius; k += 2)
        add_two_rows(p, line, y, k, weights[k], weights[k + 1]);
    if (k == radius)
        add_rows(p, line, y, k, weights[k]);
}

inline values pair(__global const float *left, __global const float *right)
{
    return LOAD(left) + LOAD(right);
}

/* Four vectors at a time, so that a weight is fetched once for all. */
inline void weigh_block(__global const float *line, __global float *out, __constant const float *weights,
                        int radius)
{
    values a = LOAD(line) * weights[0], b = LOAD(line + LANES) * weights[0];
    values c = LOAD(line + 2 * LANES) * weights[0], d = LOAD(line + 3 * LANES) * weights[0];
    for (int k = 1; k <= radius; k++) {
        __global const float *left = line - k * HONE_C, *right = line + k * HONE_C;
        float weight = weights[k];
        a = add_weighted(a, pair(left, right), weight);
        b = add_weighted(b, pair(left + LANES, right + LANES), weight);
        c = add_weighted(c, pair(left + 2 * LANES, right + 2 * LANES), weight);
        d = add_weighted(d, pair(left + 3 * LANES, right + 3 * LANES), weight);
    }
    STORE(out, a);
    STORE(out + LANES, b);
    STORE(out + 2 * LANES, c);
    STORE(out + 3 * LANES, d);
}

inline float weigh_one(__global const float *line, __constant const float *weights, int radius)
{
    float sum = line[0] * weights[0];
    for (int k = 1; k <= radius; k++)
        sum += (line[-k * HONE_C] + line[k * HONE_C]) * weights[k];
    return sum;
}

/* Blocks up to the last whole one; a last one over elements that are done already, where the row is long
 * enough. */
inline void weigh_line(__global const float *line, __global float *out, int count,
                       __constant const float *weights, int radius)
{
    int i = 0;
    for (; i + 4 * LANES <= count; i += 4 * LANES)
        weigh_block(line + i, out + i, weights, radius);
    if (i < count && count >= 4 * LANES)
        weigh_block(line + count - 4 * LANES, out + count - 4 * LANES, weights, radius);
    else
        for (; i < count; i++)
            out[i] = weigh_one(line + i, weights, radius);
}

/* First pass: coarse row number `get_global_id(0)` stands at y = (number - before) * step. */
__kernel void gaussian_coarse_rows(__global const PIXEL *in, int in_offset, int in_pitch,
                                   __global float *coarse, __global float *scratch, int width, int height,
                                   BORDER_TYPE border, int rows, int before, int step,
                                   __constant const float *narrow, int narrow_radius,
                                   __constant const float *weights, int radius, int coarse_pitch,
                                   int scratch_elements)
{
    int number = get_global_id(0), count = width * HONE_C;
    if (number >= rows)
        return;
    __global float *line = scratch + (size_t)number * scratch_elements + radius * HONE_C;
    __global PIXEL *beyond = (__global PIXEL *)(line + count + radius * HONE_C);
    for (int i = 0; HONE_BORDER == BORDER_CONSTANT && i < count; i++)
        beyond[i] = (PIXEL)border;
    struct picture p = {in + in_offset, beyond, in_pitch, width, height, count};
    weigh_rows(&p, line, (number - before) * step, narrow, narrow_radius);
    extend(line, width, radius, radius, (float)border);
    weigh_line(line, coarse + (size_t)number * coarse_pitch, count, weights, radius);
}

/* One vector of a row of results. */
inline values join(__global const float *coarse, int pitch, __constant const float *weights, int taps)
{
    values sum = LOAD(coarse) * weights[0];
    for (int k = 1; k < taps; k++)
        sum = add_weighted(sum, LOAD(coarse + k * pitch), weights[k]);
    return sum;
}

inline pixels finish(values v, __global const PIXEL *centre)
{
    return WITH_ALPHA(lower(v), LOAD_PIXELS(centre));
}

inline void join_vector(__global const float *coarse, int pitch, __constant const float *weights, int taps,
                        __global const PIXEL *centre, __global PIXEL *out, values *finite)
{
    values sum = join(coarse, pitch, weights, taps);
    *finite += sum - sum;
    *(__global pixels_at *)out = finish(sum, centre);
}

inline void join_block(__global const float *coarse, int pitch, __constant const float *weights, int taps,
                       __global const PIXEL *centre, __global PIXEL *out, values *finite)
{
    values a = LOAD(coarse) * weights[0], b = LOAD(coarse + LANES) * weights[0];
    values c = LOAD(coarse + 2 * LANES) * weights[0], d = LOAD(coarse + 3 * LANES) * weights[0];
    for (int k = 1; k < taps; k++) {
        __global const float *row = coarse + k * pitch;
        float weight = weights[k];
        a = add_weighted(a, LOAD(row), weight);
        b = add_weighted(b, LOAD(row + LANES), weight);
        c = add_weighted(c, LOAD(row + 2 * LANES), weight);
        d = add_weighted(d, LOAD(row + 3 * LANES), weight);
    }
#if FLOATING
    *finite += ((a - a) + (b - b)) + ((c - c) + (d - d)); /* NaN where one is not finite */
#endif
    *(__global pixels_at *)out = finish(a, centre);
    *(__global pixels_at *)(out + LANES) = finish(b, centre + LANES);
    *(__global pixels_at *)(out + 2 * LANES) = finish(c, centre + 2 * LANES);
    *(__global pixels_at *)(out + 3 * LANES) = finish(d, centre + 3 * LANES);
}

/* Whether all results are finite. */
inline bool join_row(__global const float *coarse, int pitch, __constant const float *weights, int taps,
                     __global const PIXEL *centre, __global PIXEL *out, int count)
{
    values finite = 0;
    float one = 0;
    int i = 0;
    for (; i + 4 * LANES <= count; i += 4 * LANES)
        join_block(coarse + i, pitch, weights, taps, centre + i, out + i, &finite);
    for (; i + LANES <= count; i += LANES)
        join_vector(coarse + i, pitch, weights, taps, centre + i, out + i, &finite);
    for (; i < count; i++) {
        float sum = 0;
        for (int k = 0; k < taps; k++)
            sum += coarse[i + k * pitch] * weights[k];
        one += sum - sum;
        out[i] = IS_ALPHA(i & 3) ? centre[i] : hone_result(sum);
    }
    for (int lane = 0; lane < LANES; lane++)
        one += finite[lane];
    return one == 0;
}

/* Second pass: bands of rows. A row with NaN or infinity is done again with every weight of its window: only
 * there do these reach exactly as far as they should. */
__kernel void gaussian_coarse_join(__global const PIXEL *in, int in_offset, int in_pitch,
                                   __global const float *coarse, __global PIXEL *out, int out_offset,
                                   int out_pitch, __global float *scratch, int width, int height,
                                   BORDER_TYPE border, int step, __constant const float *join_weights,
                                   int taps, __constant const float *weights, int radius, int coarse_pitch,
                                   int scratch_elements)
{
    int band = get_global_id(0), y = band * ROWS, end = min(y + ROWS, height), count = width * HONE_C;
    in += in_offset;
    out += out_offset;
    const struct sink sink = {out, out_pitch};
    for (; y < end; y++) {
        int number = y / step;
        bool finite = join_row(coarse + (size_t)number * coarse_pitch, coarse_pitch,
                               join_weights + (y - number * step) * taps, taps, in + y * in_pitch,
                               out + y * out_pitch, count);
        if (FLOATING && !finite) {
            __global float *line = scratch + (size_t)band * scratch_elements + radius * HONE_C;
            __global PIXEL *beyond = (__global PIXEL *)(line + count + radius * HONE_C);
            for (int i = 0; HONE_BORDER == BORDER_CONSTANT && i < count; i++)
                beyond[i] = (PIXEL)border;
            struct picture p = {in, beyond, in_pitch, width, height, count};
            weigh_rows(&p, line, y, weights, radius);
            extend(line, width, radius, radius, (float)border);
            for (int i = 0; i < count; i++)
                out[y * out_pitch + i] = IS_ALPHA(i & 3) ? in[y * in_pitch + i]
                                                         : hone_result(weigh_one(line + i, weights, radius));
        }
        clear_outside(&sink, y, width, height, 2 * radius + 1, 2 * radius + 1);
    }
}
