/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * exact=yes on every device: integers wide enough, so that nothing is rounded before the end (see exact.c).
 */
#ifdef VARIANT_exact_doubles
/*
 * exact=yes of u8 and u16 for CPUs, any sigma that takes weights of 24 bits: a work-item owns a band of whole
 * rows. The rows of a window are weighted into a line, whose sums (32 bits of u8, 40 of u16) are exact as
 * doubles; along the line, a sum of doubles is off by less than 2^-24 levels. Only results as near as NEAR to
 * a tie are summed again, in integers of 64 bits.
 */
#ifndef ROWS
#define ROWS 16 /* rows of a band */
#endif

#ifdef __AVX512F__
#define LANES 16
#else
#define LANES 8
#endif
#define CELL double
#include "filters/bands.clh"
#include "filters/vectors.clh"

DEFINE_VECTORS(PIXEL, pixels);
DEFINE_VECTORS(int, ints);
DEFINE_VECTORS(uint, words);
DEFINE_VECTORS(double, doubles);

#if HONE_T == 0
#define SUM uint
typedef words sums;
#else
#define SUM double
typedef doubles sums;
#endif

#define LOAD_PIXELS(p) (*(__global const pixels_at *)(p))
#define LOAD(p)        (*(__global const doubles_at *)(p))
#define STORE(p, v)    (*(__global doubles_at *)(p) = (v))

#define BLOCK          4  /* vectors of a line that are weighted together */
#define CHUNK          64 /* pairs of rows that are */
#define LEVEL          0x1p-48
#define NEAR           0x1p-20

struct window {
    __constant const uint *weights;
    int reach;
};

/* Of a window of rows, pairs of those as far above and below; the first pair is twice the centre. */
struct pairs {
    __global const PIXEL *above[CHUNK], *below[CHUNK];
    SUM weights[CHUNK];
    int count;
    bool is_first; /* nothing is in the line yet */
};

/* ---- Down ---- */

inline sums add_pair(sums sum, __global const PIXEL *above, __global const PIXEL *below, SUM weight)
{
#pragma OPENCL FP_CONTRACT ON
    ints both = CONVERT(LOAD_PIXELS(above), ints) + CONVERT(LOAD_PIXELS(below), ints);
    return sum + CONVERT(both, sums) * weight;
}

/* `name` adds the pairs to `vectors` vectors of the line. */
#define DEFINE_ADD(name, vectors)                                                                            \
    WIDE_VECTORS inline void name(const struct pairs *p, __global double *line, int i)                       \
    {                                                                                                        \
        sums parts[vectors];                                                                                 \
        _Pragma("unroll") for (int n = 0; n < vectors; n++) parts[n] =                                       \
            p->is_first ? (sums)(SUM)0 : CONVERT(LOAD(line + i + n * LANES), sums);                          \
        for (int k = 0; k < p->count; k++)                                                                   \
            _Pragma("unroll") for (int n = 0; n < vectors; n++) parts[n] =                                   \
                add_pair(parts[n], p->above[k] + i + n * LANES, p->below[k] + i + n * LANES, p->weights[k]); \
        _Pragma("unroll") for (int n = 0; n < vectors; n++)                                                  \
            STORE(line + i + n * LANES, CONVERT(parts[n], doubles));                                         \
    }
DEFINE_ADD(add_block, BLOCK)
DEFINE_ADD(add_vector, 1)

inline void add_element(const struct pairs *p, __global double *line, int i)
{
    double sum = p->is_first ? 0 : line[i];
    for (int k = 0; k < p->count; k++)
        sum += (double)((uint)p->above[k][i] + p->below[k][i]) * p->weights[k];
    line[i] = sum;
}

inline void add_pairs(const struct pairs *p, __global double *line, int count)
{
    int i = 0;
    for (; i + BLOCK * LANES <= count; i += BLOCK * LANES)
        add_block(p, line, i);
    for (; i + LANES <= count; i += LANES)
        add_vector(p, line, i);
    for (; i < count; i++)
        add_element(p, line, i);
}

inline void weigh_rows(const struct window *w, const struct input_rows *rows, int y, __global double *line,
                       int count)
{
    struct pairs p;
    for (int first = 0; first <= w->reach; first += CHUNK) {
        p.is_first = first == 0;
        p.count = min(CHUNK, w->reach + 1 - first);
        for (int k = 0; k < p.count; k++) {
            p.above[k] = row_of(rows, y - first - k);
            p.below[k] = row_of(rows, y + first + k);
            p.weights[k] = (SUM)(first + k ? w->weights[first + k] : w->weights[0] / 2);
        }
        add_pairs(&p, line, count);
    }
}

/* ---- Across ---- */

inline PIXEL exact_level(const struct window *w, __global const double *at)
{
    ulong sum = w->weights[0] * (ulong)at[0];
    for (int k = 1; k <= w->reach; k++)
        sum += w->weights[k] * ((ulong)at[-k * HONE_C] + (ulong)at[k * HONE_C]);
    return (PIXEL)((sum + (1ul << 47)) >> 48);
}

inline doubles add_columns(doubles sum, __global const double *left, __global const double *right,
                           double weight)
{
#pragma OPENCL FP_CONTRACT ON
    return sum + (LOAD(left) + LOAD(right)) * weight;
}

/* Stores levels; returns how near each of them is to a tie. */
inline doubles store_levels(doubles sum, __global const PIXEL *centre, __global PIXEL *out)
{
    doubles level = sum * LEVEL + 0.5f;
    ints whole = CONVERT(level, ints);
    doubles fraction = level - CONVERT(whole, doubles);
    *(__global pixels_at *)out = WITH_ALPHA(CONVERT(whole, pixels), LOAD_PIXELS(centre));
    return fraction < 0.5f ? fraction : 1.0f - fraction;
}

inline bool any_near(doubles nearest)
{
#if LANES == 16
    double8 eight = nearest.lo < nearest.hi ? nearest.lo : nearest.hi;
#else
    double8 eight = nearest;
#endif
    double4 four = eight.lo < eight.hi ? eight.lo : eight.hi;
    double2 two = four.lo < four.hi ? four.lo : four.hi;
    return two.x < NEAR || two.y < NEAR;
}

/* A vector's results near ties again. */
inline void make_again(const struct window *w, __global const double *line, __global PIXEL *out, int i,
                       doubles nearest)
{
    for (int lane = 0; any_near(nearest) && lane < LANES; lane++) {
        if (IS_ALPHA((i + lane) % HONE_C))
            continue;
        if (nearest[lane] < NEAR)
            out[i + lane] = exact_level(w, line + i + lane);
    }
}

/* `name` makes the results of `vectors` vectors. */
#define DEFINE_MAKE(name, vectors)                                                                           \
    WIDE_VECTORS inline void name(const struct window *w, __global const double *line,                       \
                                  __global const PIXEL *centre, __global PIXEL *out, int i)                  \
    {                                                                                                        \
        doubles parts[vectors];                                                                              \
        _Pragma("unroll") for (int n = 0; n < vectors; n++) parts[n] =                                       \
            LOAD(line + i + n * LANES) * (double)w->weights[0];                                              \
        for (int k = 1; k <= w->reach; k++) {                                                                \
            __global const double *left = line + i - k * HONE_C, *right = line + i + k * HONE_C;             \
            const double weight = w->weights[k];                                                             \
            _Pragma("unroll") for (int n = 0; n < vectors; n++) parts[n] =                                   \
                add_columns(parts[n], left + n * LANES, right + n * LANES, weight);                          \
        }                                                                                                    \
        _Pragma("unroll") for (int n = 0; n < vectors; n++)                                                  \
            make_again(w, line, out, i + n * LANES,                                                          \
                       store_levels(parts[n], centre + i + n * LANES, out + i + n * LANES));                 \
    }
DEFINE_MAKE(make_block, BLOCK)
DEFINE_MAKE(make_vector, 1)

/* The last vector repeats some of what stands before it; rows that are shorter are made one by one. */
inline void make_row(const struct window *w, __global const double *line, __global const PIXEL *centre,
                     __global PIXEL *out, int count)
{
    int i = 0;
    for (; i + BLOCK * LANES <= count; i += BLOCK * LANES)
        make_block(w, line, centre, out, i);
    for (; count >= LANES && i < count; i += LANES)
        make_vector(w, line, centre, out, min(i, count - LANES));
    for (; i < count; i++)
        out[i] = IS_ALPHA(i % HONE_C) ? centre[i] : exact_level(w, line + i);
}

/* `reach` is that of the weights, `radius` what the border rules go by. */
__kernel void gaussian_exact_doubles(__global const PIXEL *in, int in_offset, int in_pitch,
                                     __global PIXEL *out, int out_offset, int out_pitch, int width,
                                     int height, BORDER_TYPE border, __constant const uint *weights,
                                     int reach, int radius, __global uchar *scratch, int scratch_bytes)
{
    int y = get_global_id(0) * ROWS, end = min(y + ROWS, height), count = width * HONE_C;
    if (y >= height)
        return;
    __global double *line =
        (__global double *)(scratch + get_global_id(0) * (size_t)scratch_bytes) + reach * HONE_C;
    __global PIXEL *beyond = (__global PIXEL *)(line + count + reach * HONE_C);
    fill_beyond(beyond, (PIXEL)border, count);
    const struct window w = {weights, reach};
    const struct input_rows rows = {in + in_offset, beyond, in_pitch, height};
    const struct sink sink = {out + out_offset, out_pitch};
    for (; y < end; y++) {
        weigh_rows(&w, &rows, y, line, count);
        extend(line, width, reach, reach, (double)border * 0x1p24);
        make_row(&w, line, row_of(&rows, y), sink.at + y * out_pitch, count);
        clear_outside(&sink, y, width, height, 2 * radius + 1, 2 * radius + 1);
    }
}

#else
#ifndef FINE
#define FINE 0 /* 1: weights of 24 bits, else of at most 16 */
#endif

#if FINE
#define SUM ulong
#else
#define SUM uint
#endif

/* A row or column: `step` elements from one to the next. */
inline SUM weigh_row(__global const PIXEL *row, int x, int channel, int width, BORDER_TYPE border,
                     __constant const uint *weights, int reach)
{
    __global const PIXEL *centre = row + x * HONE_C + channel;
    SUM sum = (SUM)weights[0] * *centre;
    if (x >= reach && x + reach < width)
        for (int i = 1; i <= reach; i++)
            sum += (SUM)weights[i] * ((uint)centre[-i * HONE_C] + centre[i * HONE_C]);
    else
        for (int i = 1; i <= reach; i++)
            sum += (SUM)weights[i] * (uint)(hone_at(row, 1, x - i, channel, width, border) +
                                            hone_at(row, 1, x + i, channel, width, border));
    return sum;
}

__kernel void gaussian_exact_rows(__global const PIXEL *in, int in_offset, int in_pitch, __global SUM *rows,
                                  int width, int height, BORDER_TYPE border, __constant const uint *weights,
                                  int reach)
{
    int i = get_global_id(0), y = get_global_id(1), count = width * HONE_C;
    if (i >= count || y >= height)
        return;
    int x = i / HONE_C, channel = i - x * HONE_C;
    __global const PIXEL *row = in + in_offset + y * in_pitch;
    rows[(size_t)y * count + i] =
        IS_ALPHA(channel) ? (SUM)row[i] : weigh_row(row, x, channel, width, border, weights, reach);
}

inline ulong sum_at(__global const SUM *rows, int i, int y, int count, int height, ulong outside)
{
    int at = hone_fold(y, height);
    return HONE_BORDER == BORDER_CONSTANT && at < 0 ? outside : rows[(size_t)at * count + i];
}

inline ulong weigh_column(__global const SUM *rows, int i, int y, int count, int height, ulong outside,
                          __constant const uint *weights, int reach)
{
    __global const SUM *centre = rows + (size_t)y * count + i;
    ulong sum = (ulong)weights[0] * *centre;
    if (y >= reach && y + reach < height)
        for (int k = 1; k <= reach; k++)
            sum += weights[k] * ((ulong)centre[-k * count] + centre[k * count]);
    else
        for (int k = 1; k <= reach; k++)
            sum += weights[k] * (sum_at(rows, i, y - k, count, height, outside) +
                                 sum_at(rows, i, y + k, count, height, outside));
    return sum;
}

/* `radius` is what border=zero-outside goes by. */
__kernel void gaussian_exact_columns(__global const SUM *rows, __global RESULT *out, int out_offset,
                                     int out_pitch, int width, int height, BORDER_TYPE border,
                                     __constant const uint *weights, int reach, int radius, int bits)
{
    int i = get_global_id(0), y = get_global_id(1), count = width * HONE_C;
    if (i >= count || y >= height)
        return;
    int x = i / HONE_C;
    bool leaves = HONE_BORDER == BORDER_ZERO_OUTSIDE &&
                  (x < radius || y < radius || x + radius >= width || y + radius >= height);
    ulong sum = weigh_column(rows, i, y, count, height, (ulong)border << bits, weights, reach);
    RESULT result = leaves ? (RESULT)0 : (RESULT)((sum + (1ul << (2 * bits - 1))) >> 2 * bits);
    out[out_offset + y * out_pitch + i] = IS_ALPHA(i & 3) ? (RESULT)rows[(size_t)y * count + i] : result;
}
#endif
