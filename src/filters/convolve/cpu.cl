/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * For CPUs: a work-item owns a band of whole rows. The rows that its windows see lie in a ring, as numbers to
 * compute with and with every pixel beyond the edges in place, so that the sums know no borders. LINES rows
 * of results are made at once from clang's vectors: what is loaded serves all of them.
 */
#ifndef LINES
#define LINES 4 /* rows of results at once; never more than the kernel's height */
#endif
#ifndef VECTORS
#define VECTORS 2 /* vectors of 16 results at once */
#endif
#ifndef ROWS
#define ROWS 32 /* rows of a band */
#endif

#include "filters/convolve/sums.clh"
#define CELL  WEIGHT /* what the ring holds */
#define LANES 16
#define STRIP (VECTORS * LANES)

/* Of sums that are pairs of products, a cell holds two neighbours of 16 bits, and so does a weight. Pixels of
 * 16 bits without a sign are moved into the range of those with one. */
#if SUMS == 3
#define TAPS       2 /* of a weight */
#define BIAS       (HONE_T == 1 ? 32768 : 0)
#define CELL_OF(v) (((v)-BIAS) & 0xffff)
#else
#define TAPS       1
#define CELL_OF(v) (v)
#endif

/* Products of floats that are summed one after the other; of more, each row has a sum of its own, which
 * bounds the error. */
#define CHAIN 49

#include "filters/bands.clh"
#include "filters/vectors.clh"

DEFINE_VECTORS(PIXEL, pixels);
DEFINE_VECTORS(CELL, cells);
DEFINE_VECTORS(SUM, sums);
DEFINE_VECTORS(float, floats);
DEFINE_VECTORS(uint, words);

struct band {
    __global const PIXEL *in;
    int pitch, width, height, count; /* count: elements of a row */
    int kernel_width, kernel_height, left, top;
    int groups; /* of TAPS weights in a row of the kernel */
    BORDER_TYPE border;
    __global CELL *ring;
    int stride, rows; /* elements of a row of the ring, and how many rows it has */
};

inline __global CELL *ring_row(const struct band *b, int y)
{
    return b->ring + ((y + b->top) % b->rows) * b->stride; /* y is never less than -top */
}

#if SUMS == 3
/* Beside each pixel its neighbour to the right, for `count` cells. */
WIDE_VECTORS inline void pair_up(__global CELL *row, int count)
{
    for (int i = 0; i < count; i += LANES) {
        cells here = *(__global const cells_at *)(row + i);
        cells next = *(__global const cells_at *)(row + i + HONE_C);
        *(__global cells_at *)(row + i) = here | next << 16;
    }
}

/* What the bias takes from a sum. */
inline SUM sum_of_bias(__constant const CELL *weights, int count)
{
    SUM sum = 0;
    for (int i = 0; i < count; i++)
        sum += (short)weights[i] + (weights[i] >> 16);
    return sum * BIAS;
}

inline sums product(sums pairs, sums weights)
{
#ifdef NATIVE
    union {
        sums all;
        native_words words[64 / NATIVE];
        native_ints ints[64 / NATIVE];
    } p = {pairs}, w = {weights};
#pragma unroll
    for (int k = 0; k < 64 / NATIVE; k++)
        p.ints[k] = MADD_WORDS(p.words[k], w.words[k]);
    return p.all;
#else
    return (pairs >> 16) * (weights >> 16) + (pairs << 16 >> 16) * (weights << 16 >> 16);
#endif
}
#else
#define sum_of_bias(weights, count) ((SUM)0)
#define product(value, weight)      ((value) * (weight))
#endif

/* Puts what row y shows into the ring. */
WIDE_VECTORS inline void fill(const struct band *b, int y)
{
    int inside, i = 0;
    __global const PIXEL *row = hone_row(b->in, b->pitch, y, b->height, &inside);
    __global CELL *to = ring_row(b, y) + b->left * HONE_C;
    if (!REAL_ROW(inside)) {
        for (; i < b->count; i++)
            to[i] = CELL_OF((CELL)b->border);
    } else {
        for (; i + LANES <= b->count; i += LANES)
            *(__global cells_at *)(to + i) = CELL_OF(CONVERT(*(__global const pixels_at *)(row + i), cells));
        for (; i < b->count; i++)
            to[i] = CELL_OF((CELL)row[i]);
    }
    extend(to, b->width, b->left, b->kernel_width - 1 - b->left, CELL_OF((CELL)b->border));
#if SUMS == 3
    pair_up(ring_row(b, y), (b->width + b->kernel_width - 1) * HONE_C);
#endif
}

/* Adds the products of one row of the ring to the lines first to last; line q takes row j - q of the weights.
 * chained: without a sum of the row's own. */
WIDE_VECTORS inline void add_row(sums total[LINES][VECTORS], __global const CELL *from,
                                 __constant const CELL *weights, int groups, bool chained, int first,
                                 int last)
{
#pragma OPENCL FP_CONTRACT ON
    sums part[LINES][VECTORS];
#pragma unroll
    for (int q = 0; q < LINES; q++)
#pragma unroll
        for (int v = 0; v < VECTORS; v++)
            part[q][v] = chained ? total[q][v] : (sums)0;
    for (int i = 0; i < groups; i++, from += TAPS * HONE_C) {
        sums value[VECTORS];
#pragma unroll
        for (int v = 0; v < VECTORS; v++)
            value[v] = CONVERT(*(__global const cells_at *)(from + v * LANES), sums);
#pragma unroll
        for (int q = 0; q < LINES; q++) {
            if (q < first || q > last)
                continue;
            sums weight = (sums)(SUM)weights[i - q * groups];
#pragma unroll
            for (int v = 0; v < VECTORS; v++)
                part[q][v] += product(value[v], weight);
        }
    }
#pragma unroll
    for (int q = 0; q < LINES; q++)
#pragma unroll
        for (int v = 0; v < VECTORS; v++)
            total[q][v] = chained ? part[q][v] : total[q][v] + part[q][v];
}

/* Sums of LINES rows of results, of the strip that begins at element `at`; the first row that they see is in
 * place `slot` of the ring. */
WIDE_VECTORS inline void sum_up(sums total[LINES][VECTORS], const struct band *b,
                                __constant const CELL *weights, int groups, bool chained, int slot, int at,
                                SUM start)
{
    int height = b->kernel_height;
#pragma unroll
    for (int q = 0; q < LINES; q++)
#pragma unroll
        for (int v = 0; v < VECTORS; v++)
            total[q][v] = (sums)start;
#define STEP(j, first, last)                                                                                 \
    add_row(total, b->ring + slot * b->stride + at, weights + (j)*groups, groups, chained, first, last);     \
    slot = slot + 1 < b->rows ? slot + 1 : 0;
#pragma unroll
    for (int j = 0; j < LINES - 1; j++) { /* rows that only the first lines see */
        STEP(j, 0, j)
    }
    for (int j = LINES - 1; j < height; j++) {
        STEP(j, 0, LINES - 1)
    }
#pragma unroll
    for (int j = 1; j < LINES; j++) { /* and those that only the last ones see */
        STEP(height - 1 + j, j, LINES - 1)
    }
#undef STEP
}

/* The same by the window's sides. Several lines leave too few registers for sums that last over all rows, and
 * three products written out cost less than a loop over them. */
WIDE_VECTORS inline void sum_window(sums total[LINES][VECTORS], const struct band *b,
                                    __constant const CELL *weights, int slot, int at, SUM start)
{
    const bool chained = FLOATING ? LINES == 1 && b->groups * b->kernel_height <= CHAIN : true;
    if (FLOATING && chained && b->groups == 3)
        sum_up(total, b, weights, 3, true, slot, at, start);
    else if (chained)
        sum_up(total, b, weights, b->groups, true, slot, at, start);
    else
        sum_up(total, b, weights, b->groups, false, slot, at, start);
}

inline pixels rounded(sums sum, float factor, float offset)
{
    floats v = CONVERT(sum, floats) * (floats)factor;
    v = v + (floats)offset;
#if FLOATING
    return v;
#else
    v = v > (floats)(float)RESULT_MIN ? v : (floats)(float)RESULT_MIN;
    v = v < (floats)(float)RESULT_MAX ? v : (floats)(float)RESULT_MAX;
    /* 2^23 + 2^22: a float of this size has no places after the point; the addition rounds to nearest even,
     * and leaves the lowest bits, negative numbers' too, as they are */
    union {
        floats number;
        words bits;
    } u = {v + (floats)12582912.0f};
    return CONVERT(u.bits & (words)0xffffu, pixels);
#endif
}

inline void store(const struct band *b, __global RESULT *out, int y, int at, pixels r)
{
    __global const PIXEL *centre = b->in + y * b->pitch + at;
    if (at + LANES <= b->count) {
        *(__global pixels_at *)(out + at) = WITH_ALPHA(r, *(__global const pixels_at *)centre);
        return;
    }
    for (int k = 0; k < b->count - at; k++)
        out[at + k] = IS_ALPHA(k % HONE_C) ? centre[k] : r[k];
}

__kernel void convolve_vectors(__global const PIXEL *in, int in_offset, int in_pitch, __global RESULT *out,
                               int out_offset, int out_pitch, int width, int height, int kernel_width,
                               int kernel_height, int left, int top, float factor, float offset,
                               BORDER_TYPE border, __constant const CELL *weights, __global CELL *scratch,
                               int stride)
{
    int band = get_global_id(0), y = band * ROWS, end = min(y + ROWS, height),
        rows = kernel_height + LINES - 1;
    if (y >= height)
        return;
    const struct band b = {in + in_offset,
                           in_pitch,
                           width,
                           height,
                           width * HONE_C,
                           kernel_width,
                           kernel_height,
                           left,
                           top,
                           (kernel_width + TAPS - 1) / TAPS,
                           border,
                           scratch + (size_t)band * rows * stride,
                           stride,
                           rows};
    const SUM start = sum_of_bias(weights, b.groups * kernel_height);
    out += out_offset;
    for (int j = y - top; j < y - top + kernel_height - 1; j++)
        fill(&b, j);
    for (; y < end; y += LINES) {
        for (int j = 0; j < LINES; j++)
            fill(&b, y - top + kernel_height - 1 + j);
        int slot = y % rows;
        for (int at = 0; at < b.count; at += STRIP) {
            sums total[LINES][VECTORS];
            sum_window(total, &b, weights, slot, at, start);
#pragma unroll
            for (int q = 0; q < LINES; q++)
#pragma unroll
                for (int v = 0; v < VECTORS; v++)
                    if (y + q < end && at + v * LANES < b.count)
                        store(&b, out + (y + q) * out_pitch, y + q, at + v * LANES,
                              rounded(total[q][v], factor, offset));
        }
        const struct sink sink = {out, out_pitch};
        for (int q = 0; q < LINES && y + q < end; q++)
            clear_windows(&sink, y + q, 0, width * HONE_C, width, height, left, top, kernel_width,
                          kernel_height);
    }
}
