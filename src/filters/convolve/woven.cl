/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * For CPUs, bytes times small weights: two rows are woven together, byte by byte, and one instruction (or its
 * portable twin) multiplies each pixel and the one below it by two weights of 8 bits and adds both up in
 * 16 bits. Neighbours in a row stay neighbours, so that channels need not be taken apart and a window of one
 * column costs no more than its own products.
 *
 * Where no weight is negative, pixels may be made signed, 128 less each, so that sums have twice the room.
 *
 * A work-item owns a band of whole rows. The rows that its windows see lie in a ring, with every pixel beyond
 * the edges in place. LINES rows of results are made at once: what is woven serves all of them.
 */
#ifndef LINES
#define LINES 4 /* rows of results at once */
#endif
#ifndef BIASED
#define BIASED 0 /* 1: pixels of the ring are signed, and weights are not */
#endif
#ifndef ROWS
#define ROWS 64 /* rows of a band */
#endif

#define CELL uchar
#include "filters/bands.clh"
#include "filters/products.clh"

#define ROWS_MOST (31 + LINES - 1) /* that the windows of LINES rows see */
#define FLIP      (uchar)(BIASED ? 128 : 0)
#define WOVEN     4 /* vectors of sums of a vector of results */

typedef uint words __attribute__((ext_vector_type(NATIVE / 4)));
typedef float floats __attribute__((ext_vector_type(NATIVE / 4)));
typedef bytes bytes_at __attribute__((aligned(1)));

union vector {
    bytes b;
    shorts s16;
    ushorts u16;
    ints s32;
    words u32;
};

struct band {
    __global const uchar *in;
    int pitch, width, height;
    int kernel_width, kernel_height, left, top;
    uchar border;
    __global uchar *ring;
    int stride, rows;                    /* bytes of a row of the ring, and its rows */
    __global const uchar *at[ROWS_MOST]; /* rows of the ring, as the windows see them */
};

inline __global uchar *ring_row(const struct band *b, int y)
{
    /* y is never less than -top */
    return b->ring + (y + b->top) % b->rows * b->stride + b->left * HONE_C;
}

inline void fill(const struct band *b, int y)
{
    int inside, count = b->width * HONE_C, x = 0;
    __global const uchar *row = hone_row(b->in, b->pitch, y, b->height, &inside);
    __global uchar *to = ring_row(b, y);
    if (REAL_ROW(inside))
        for (; x + NATIVE <= count; x += NATIVE)
            *(__global bytes_at *)(to + x) = *(__global const bytes_at *)(row + x) ^ FLIP;
    for (; x < count; x++)
        to[x] = (REAL_ROW(inside) ? row[x] : b->border) ^ FLIP;
    extend(to, b->width, b->left, b->kernel_width - 1 - b->left, b->border ^ FLIP);
}

inline shorts products(bytes pixels, ints weights)
{
    const union vector p = {.b = pixels}, w = {.s32 = weights};
    return BIASED ? add_byte_products(w.b, p.s32) : add_byte_products(p.b, w.s32);
}

/* Adds the products of rows 2 * pair and 2 * pair + 1; line q takes the weights of rows 2 * pair - q of the
 * kernel and of the next one, the first of which is row -1. */
inline void add_pair(shorts part[LINES][2], const struct band *b, __constant const int *weights, int pair,
                     int x, bool all)
{
    __global const uchar *upper = b->at[2 * pair] + x;
    __global const uchar *lower = b->at[min(2 * pair + 1, b->rows - 1)] + x;
    weights += (2 * pair + 1) * b->kernel_width;
    for (int i = 0; i < b->kernel_width; i++, upper += HONE_C, lower += HONE_C, weights++) {
        bytes above = *(__global const bytes_at *)upper, below = *(__global const bytes_at *)lower;
        bytes low = __builtin_shufflevector(above, below, LOWER_BYTES);
        bytes high = __builtin_shufflevector(above, below, UPPER_BYTES);
#pragma unroll
        for (int q = 0; q < LINES; q++) {
            if (!all && (2 * pair + 1 < q || 2 * pair - q >= b->kernel_height))
                continue;
            ints weight = (ints)weights[-q * b->kernel_width];
            part[q][0] += products(low, weight);
            part[q][1] += products(high, weight);
        }
    }
}

/* Even lanes of 16 bits, then odd ones, of each vector. */
inline void flush(ints total[LINES][WOVEN], shorts part[LINES][2])
{
#pragma unroll
    for (int q = 0; q < LINES; q++)
#pragma unroll
        for (int k = 0; k < 2; k++) {
            const union vector v = {.s16 = part[q][k]};
            total[q][2 * k] += v.s32 << 16 >> 16;
            total[q][2 * k + 1] += v.s32 >> 16;
            part[q][k] = 0;
        }
}

/* Sums for LINES rows of results; `capacity` pairs of rows fit 16 bits. `bias`: what sums of BIASED pixels
 * lack. */
inline void sum_up(ints total[LINES][WOVEN], const struct band *b, __constant const int *weights, int x,
                   int capacity, int bias)
{
    shorts part[LINES][2];
    int since = 0;
#pragma unroll
    for (int q = 0; q < LINES; q++)
#pragma unroll
        for (int k = 0; k < WOVEN; k++) {
            part[q][k / 2] = 0;
            total[q][k] = bias;
        }
    for (int pair = 0; 2 * pair < b->rows; pair++) {
        if (2 * pair + 1 >= LINES - 1 && 2 * pair < b->kernel_height)
            add_pair(part, b, weights, pair, x, true);
        else
            add_pair(part, b, weights, pair, x, false);
        if (++since == capacity) {
            flush(total, part);
            since = 0;
        }
    }
    flush(total, part);
}

/* Results of a vector of sums in the low bytes. */
inline words rounded(ints total, float factor, float offset)
{
    union {
        floats number;
        words bits;
    } v;
    v.number = CONVERT(total, floats) * (floats)factor;
    v.number = v.number + (floats)offset;
    v.number = v.number > (floats)0.0f ? v.number : (floats)0.0f;
    v.number = v.number < (floats)255.0f ? v.number : (floats)255.0f;
    /* a float of this size has no places after the point: the addition rounds to nearest even */
    v.number = v.number + (floats)8388608.0f;
    return v.bits & 0xffu;
}

inline bytes results(const ints total[WOVEN], float factor, float offset)
{
    union vector v[2];
#pragma unroll
    for (int k = 0; k < 2; k++)
        v[k].u32 = rounded(total[2 * k], factor, offset) | rounded(total[2 * k + 1], factor, offset) << 16u;
    return pack_words(v[0].u16, v[1].u16);
}

/* Elements x ... of a row, as many as fit. */
inline void store(__global uchar *out, __global const uchar *centre, bytes r, int x, int count)
{
    if (x + NATIVE <= count) {
#if HONE_ALPHA
        union vector v = {.b = r}, alpha = {.b = *(__global const bytes_at *)(centre + x)};
        v.u32 = (v.u32 & 0xffffffu) | (alpha.u32 & 0xff000000u);
        r = v.b;
#endif
        *(__global bytes_at *)(out + x) = r;
        return;
    }
    for (int k = 0; x + k < count; k++)
        out[x + k] = IS_ALPHA((x + k) % HONE_C) ? centre[x + k] : ((const uchar *)&r)[k];
}

/* LINES rows of results from y on, those before `end`. */
inline void make_lines(const struct band *b, __constant const int *weights, __global uchar *out,
                       int out_pitch, int y, int end, float factor, float offset, int capacity, int bias)
{
    const int count = b->width * HONE_C;
    for (int x = 0; x < count; x += NATIVE) {
        ints total[LINES][WOVEN];
        sum_up(total, b, weights, x, capacity, bias);
#pragma unroll
        for (int q = 0; q < LINES; q++)
            if (y + q < end)
                store(out + (y + q) * out_pitch, b->in + (y + q) * b->pitch,
                      results(total[q], factor, offset), x, count);
    }
}

__kernel void convolve_woven(__global const uchar *in, int in_offset, int in_pitch, __global uchar *out,
                             int out_offset, int out_pitch, int width, int height, int kernel_width,
                             int kernel_height, int left, int top, float factor, float offset, int border,
                             __constant const int *weights, int capacity, int bias, __global uchar *scratch,
                             int stride)
{
    int band = get_global_id(0), y = band * ROWS, end = min(y + ROWS, height);
    int rows = kernel_height + LINES - 1;
    if (y >= height)
        return;
    struct band b = {.in = in + in_offset,
                     .pitch = in_pitch,
                     .width = width,
                     .height = height,
                     .kernel_width = kernel_width,
                     .kernel_height = kernel_height,
                     .left = left,
                     .top = top,
                     .border = (uchar)border,
                     .ring = scratch + (size_t)band * rows * stride,
                     .stride = stride,
                     .rows = rows};
    const struct sink sink = {out + out_offset, out_pitch};
    for (int j = y - top; j < y - top + kernel_height - 1; j++)
        fill(&b, j);
    for (; y < end; y += LINES) {
        for (int j = 0; j < LINES; j++)
            fill(&b, y - top + kernel_height - 1 + j);
        for (int j = 0; j < rows; j++)
            b.at[j] = ring_row(&b, y - top + j) - left * HONE_C;
        make_lines(&b, weights, sink.at, out_pitch, y, end, factor, offset, capacity, bias);
        for (int q = 0; q < LINES && y + q < end; q++)
            clear_windows(&sink, y + q, 0, width * HONE_C, width, height, left, top, kernel_width,
                          kernel_height);
    }
}
