/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Sliding windows in registers: a work-item owns a strip of a few pixels across, of one channel, and walks it
 * down. Each row is read once and added to all results that it belongs to, one for each row of the kernel;
 * the oldest is then complete.
 */
#ifndef KW
#define KW 5 /* the kernel's width */
#endif
#ifndef KH
#define KH 3 /* and height */
#endif
#ifndef PX
#define PX 4 /* pixels across */
#endif
#ifndef ROWS
#define ROWS 16 /* rows per work-item */
#endif
#ifndef WEIGHTS
#define WEIGHTS 0 /* the weights, row by row */
#endif

#include "filters/convolve/sums.clh"

struct strip {
    __global const PIXEL *in;
    int pitch, width, height;
    int left, top; /* of the window */
    int at;        /* the strip's first pixel */
    int channel;
    BORDER_TYPE border;
};

inline RESULT finish(float sum, float factor, float offset)
{
    float product = sum * factor;
    return hone_result(product + offset);
}

/* border=zero-outside */
inline RESULT result_or(const struct strip *s, RESULT result, int x, int y)
{
    return HONE_BORDER == BORDER_ZERO_OUTSIDE &&
                   hone_leaves(x - s->left, y - s->top, KW, KH, s->width, s->height)
               ? (RESULT)0
               : result;
}

#if defined(HONE_ALL) || defined(VARIANT_sliding) || defined(VARIANT_literal)
#define ACROSS  (PX + KW - 1)             /* pixels that a strip's windows see of a row */
#define COLOURS (HONE_ALPHA ? 3 : HONE_C) /* channels that are filtered */
#define FOURS   ((KW + 3) / 4)            /* of weights, in a row of the kernel */
#define AT_ONCE (ACROSS > 8 ? 8 : 4)      /* loads at once beside the image's edges */

/* Of f32 a row's products are summed apart, so that errors grow with the kernel's sides alone. */
inline void add_row(SUM *to, const SUM *from, const SUM *value, const WEIGHT *weights)
{
#pragma unroll
    for (int p = 0; p < PX; p++) {
        SUM part = FLOATING ? weights[0] * value[p] : ADD_PRODUCT(weights[0], value[p], from[p]);
#pragma unroll
        for (int i = 1; i < KW; i++)
            part = ADD_PRODUCT(weights[i], value[p + i], part);
        to[p] = FLOATING ? from[p] + part : part;
    }
}

inline void load_row(SUM *value, const struct strip *s, int y)
{
    int inside, first = s->at - s->left;
    __global const PIXEL *row = hone_row(s->in, s->pitch, y, s->height, &inside);
    if (first >= 0 && first + ACROSS <= s->width && REAL_ROW(inside)) {
        row += first * HONE_C + s->channel;
#pragma unroll
        for (int k = 0; k < ACROSS; k++)
            value[k] = (SUM)row[k * HONE_C];
    } else {
        /* A loop that stays one, without an index into registers that is known only when it runs; the loads
         * of a round wait together. Beyond the strip's pixels any may be read. */
#pragma unroll 1
        for (int k = 0; k < ACROSS; k += AT_ONCE) {
            SUM next[AT_ONCE];
#pragma unroll
            for (int i = 0; i < AT_ONCE; i++)
                next[i] = (SUM)hone_at(row, inside, first + k + i, s->channel, s->width, s->border);
#pragma unroll
            for (int m = 0; m < ACROSS; m++)
                value[m] = m / AT_ONCE * AT_ONCE == k ? next[m % AT_ONCE] : k ? value[m] : 0;
        }
    }
}

/* Alpha is copied by whoever has results of a colour beside it. */
inline void store_row(__global RESULT *out, const struct strip *s, const SUM *sums, int y, float factor,
                      float offset)
{
#pragma unroll
    for (int p = 0; p < PX; p++) {
        int x = s->at + p;
        if (x >= s->width)
            continue;
        out[x * HONE_C + s->channel] = result_or(s, finish((float)sums[p], factor, offset), x, y);
        if (HONE_ALPHA && p % COLOURS == s->channel)
            out[x * HONE_C + 3] = (RESULT)s->in[y * s->pitch + x * HONE_C + 3];
    }
}

/* Volatile, since compilers would load all of them before the loop over rows, more than registers hold. */
#define FOUR_WEIGHTS __local const volatile VECTOR(WEIGHT, 4)

__constant WEIGHT literals[KW * KH] = {WEIGHTS};

/* The weights of a row of the kernel: from local memory, or those that are compiled in. */
inline void load_weights(WEIGHT *w, FOUR_WEIGHTS *held, int row, bool literal)
{
#pragma unroll
    for (int k = 0; k < FOURS; k++) {
        VECTOR(WEIGHT, 4) four = literal ? 0 : held[row * FOURS + k];
        w[4 * k] = four.x;
        w[4 * k + 1] = four.y;
        w[4 * k + 2] = four.z;
        w[4 * k + 3] = four.w;
    }
#pragma unroll
    for (int i = 0; i < KW; i++)
        w[i] = literal ? literals[row * KW + i] : w[i];
}

/* sums[a] belongs to the result whose window has row KH - 1 - a here; before a row is added, to that of
 * a - 1. Work-groups are one row high, so that which sums are wanted is the same for all work-items. */
inline void slide(const struct strip *s, __global RESULT *out, int out_pitch, float factor, float offset,
                  FOUR_WEIGHTS *held, bool literal)
{
    int first = get_group_id(1) * ROWS, end = min(first + ROWS, s->height);
    SUM sums[KH + 1][PX], value[ACROSS];
#pragma unroll
    for (int p = 0; p < PX; p++)
        sums[KH][p] = 0;
#pragma unroll 1
    for (int y = first - KH + 1; y < end; y++) { /* the row of the result that is complete below */
        load_row(value, s, y - s->top + KH - 1);
#pragma unroll
        for (int a = 0; a < KH; a++) {
            WEIGHT w[4 * FOURS];
            if (y + a < first || y + a >= end)
                continue;
            load_weights(w, held, KH - 1 - a, literal);
            add_row(sums[a], sums[a + 1], value, w);
        }
        if (y >= first)
            store_row(out + y * out_pitch, s, sums[0], y, factor, offset);
    }
}

inline struct strip strip_of(__global const PIXEL *in, int pitch, int width, int height, int left, int top,
                             BORDER_TYPE border)
{
    int item = get_global_id(0);
    const struct strip s = {in, pitch, width, height, left, top, item / COLOURS * PX, item % COLOURS, border};
    return s;
}
#endif

#if defined(HONE_ALL) || defined(VARIANT_sliding)
__kernel void convolve_sliding(__global const PIXEL *in, int in_offset, int in_pitch, __global RESULT *out,
                               int out_offset, int out_pitch, int width, int height, int left, int top,
                               float factor, float offset, BORDER_TYPE border,
                               __constant const WEIGHT *weights)
{
    const struct strip s = strip_of(in + in_offset, in_pitch, width, height, left, top, border);
    __local VECTOR(WEIGHT, 4) held[KH * FOURS];
    __local WEIGHT *held_weights = (__local WEIGHT *)held;
    for (int i = get_local_id(0); i < KH * KW; i += get_local_size(0))
        held_weights[i / KW * 4 * FOURS + i % KW] = weights[i];
    barrier(CLK_LOCAL_MEM_FENCE);
    if (s.at < width)
        slide(&s, out + out_offset, out_pitch, factor, offset, held, false);
}
#endif

#if defined(HONE_ALL) || defined(VARIANT_literal)
__kernel void convolve_literal(__global const PIXEL *in, int in_offset, int in_pitch, __global RESULT *out,
                               int out_offset, int out_pitch, int width, int height, int left, int top,
                               float factor, float offset, BORDER_TYPE border)
{
    const struct strip s = strip_of(in + in_offset, in_pitch, width, height, left, top, border);
    if (s.at < width)
        slide(&s, out + out_offset, out_pitch, factor, offset, 0, true);
}
#endif

#if defined(VARIANT_packed) || (defined(HONE_ALL) && HONE_T == 0 && HONE_C == 1)
#include "filters/words.clh"

/* Four results from words of four neighbours: a word that begins at any element is a shift of two words. */
#define GROUPS ((KW + 3) / 4)
#define SPAN   (4 * GROUPS + 3) /* elements that begin a word of products */
#define WORDS  ((SPAN + 3 + 3) / 4 + 1)

__constant int packed_weights[KH * GROUPS] = {WEIGHTS};

/* Four products of a pixel and a signed weight. */
inline int dot4(uint pixels, int weights, int sum)
{
#if WITH_PTX
    int r;
    asm("dp4a.u32.s32 %0, %1, %2, %3;" : "=r"(r) : "r"(pixels), "r"(weights), "r"(sum));
    return r;
#else
    return sum + (int)(pixels & 0xff) * (weights << 24 >> 24) +
           (int)(pixels >> 8 & 0xff) * (weights << 16 >> 24) +
           (int)(pixels >> 16 & 0xff) * (weights << 8 >> 24) + (int)(pixels >> 24) * (weights >> 24);
#endif
}

/* Four bytes out of eight, `bits` further on. */
inline uint funnel(uint low, uint high, int bits)
{
#if WITH_PTX
    uint r;
    asm("shf.r.wrap.b32 %0, %1, %2, %3;" : "=r"(r) : "r"(low), "r"(high), "r"(bits));
    return r;
#else
    return (uint)(((ulong)high << 32 | low) >> bits);
#endif
}

/* The words that begin at each element of the strip's windows; the strip begins at a multiple of four. */
inline void begin_words(uint *word, const struct strip *s, int y)
{
    int inside, first = s->at - s->left, shift = (first & 3) * 8;
    int begin = first & ~3;
    __global const uchar *row = hone_row(s->in, s->pitch, y, s->height, &inside);
    uint aligned[WORDS];
    if (begin >= 0 && begin + 4 * WORDS <= s->width && REAL_ROW(inside)) {
#pragma unroll
        for (int k = 0; k < WORDS; k++)
            aligned[k] = *(__global const uint *)(row + begin + 4 * k);
    } else {
#pragma unroll 1
        for (int k = 0; k < WORDS; k++) {
            uint next = edge_word(row, inside, begin + 4 * k, s->width, s->border);
#pragma unroll
            for (int m = 0; m < WORDS; m++)
                aligned[m] = m == k ? next : k ? aligned[m] : 0;
        }
    }
    /* first the shift that the anchor asks for, the same for all, then those that are known here */
#pragma unroll
    for (int k = 0; k + 1 < WORDS; k++)
        aligned[k] = funnel(aligned[k], aligned[k + 1], shift);
#pragma unroll
    for (int d = 0; d < SPAN; d++)
        word[d] = d % 4 == 0 ? aligned[d / 4] : funnel(aligned[d / 4], aligned[d / 4 + 1], 8 * (d % 4));
}

/* The same as finish(), without conversions, of which GPUs do few at a time: a float of this size has no
 * places after the point, so that the addition rounds to nearest even. A sum of integers is never NaN. */
inline uchar finish_byte(int sum, float factor, float offset)
{
    float product = (float)sum * factor;
    float value = product + offset;
    value = value > 0.0f ? value : 0.0f;
    value = value < 255.0f ? value : 255.0f;
    return (uchar)(as_uint(value + 8388608.0f) & 0xffu);
}

__kernel void convolve_packed(__global const uchar *in, int in_offset, int in_pitch, __global uchar *out,
                              int out_offset, int out_pitch, int width, int height, int left, int top,
                              float factor, float offset, int border)
{
    const struct strip s = {in + in_offset,       in_pitch, width, height, left, top,
                            get_global_id(0) * 4, 0,        border};
    int first = get_global_id(1) * ROWS, end = min(first + ROWS, height);
    int sums[KH][4];
    uint word[SPAN];
    if (s.at >= width || first >= height)
        return;
    out += out_offset + s.at;
#pragma unroll
    for (int a = 0; a < KH; a++)
#pragma unroll
        for (int p = 0; p < 4; p++)
            sums[a][p] = 0;
#pragma unroll 1
    for (int y = first - KH + 1; y < end; y++) { /* the row of the result that is complete below */
        begin_words(word, &s, y - top + KH - 1);
#pragma unroll
        for (int a = 0; a < KH; a++)
#pragma unroll
            for (int g = 0; g < GROUPS; g++)
#pragma unroll
                for (int p = 0; p < 4; p++)
                    sums[a][p] = dot4(word[p + 4 * g], packed_weights[(KH - 1 - a) * GROUPS + g], sums[a][p]);
        if (y >= first) {
            uchar r[4];
#pragma unroll
            for (int p = 0; p < 4; p++)
                r[p] = result_or(&s, finish_byte(sums[0][p], factor, offset), min(s.at + p, width - 1), y);
            if (s.at + 4 <= width)
                *(__global uint *)(out + y * out_pitch) =
                    r[0] | (uint)r[1] << 8 | (uint)r[2] << 16 | (uint)r[3] << 24;
            else
#pragma unroll
                for (int p = 0; p < 4; p++)
                    if (s.at + p < width)
                        out[y * out_pitch + p] = r[p];
        }
#pragma unroll
        for (int a = 0; a < KH; a++)
#pragma unroll
            for (int p = 0; p < 4; p++)
                sums[a][p] = a + 1 < KH ? sums[a + 1 < KH ? a + 1 : a][p] : 0;
    }
}
#endif
