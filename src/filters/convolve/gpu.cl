/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Sliding windows in registers: a work-item owns a strip of a few elements across and walks it down. Each row
 * is read once and added to all results that it belongs to, one for each row of the kernel; the oldest is
 * then complete.
 */
#ifndef KW
#define KW 5 /* the kernel's width */
#endif
#ifndef KH
#define KH 3 /* and height */
#endif
#ifndef PX
#define PX 4 /* elements across */
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
    int at;        /* the strip's first element */
    BORDER_TYPE border;
};

inline RESULT finish(float sum, float factor, float offset)
{
    float product = sum * factor;
    return hone_result(product + offset);
}

/* Alpha, and border=zero-outside. */
inline RESULT result_or(const struct strip *s, RESULT result, int i, int y)
{
    if (IS_ALPHA(i % HONE_C))
        return (RESULT)s->in[y * s->pitch + i];
    return HONE_BORDER == BORDER_ZERO_OUTSIDE &&
                   hone_leaves(i / HONE_C - s->left, y - s->top, KW, KH, s->width, s->height)
               ? (RESULT)0
               : result;
}

#if defined(HONE_ALL) || defined(VARIANT_sliding) || defined(VARIANT_literal)
#define ACROSS (PX + (KW - 1) * HONE_C)

/* Whether element p of every strip is a fourth channel, whose sums nobody wants. */
#define LEFT_OUT(p) (HONE_ALPHA && PX % 4 == 0 && (p) % 4 == 3)

inline void load_row(SUM *value, const struct strip *s, int y)
{
    int inside, first = s->at - s->left * HONE_C;
    __global const PIXEL *row = hone_row(s->in, s->pitch, y, s->height, &inside);
    if (first >= 0 && first + ACROSS <= s->width * HONE_C && REAL_ROW(inside)) {
#pragma unroll
        for (int k = 0; k < ACROSS; k++)
            value[k] = (SUM)row[first + k];
    } else {
        /* a loop that stays one, without an index into registers that is known only when it runs */
#pragma unroll 1
        for (int k = 0; k < ACROSS; k++) {
            SUM next = (SUM)hone_element(row, inside, first + k, s->width, s->border);
#pragma unroll
            for (int m = 0; m < ACROSS; m++)
                value[m] = m == k ? next : k ? value[m] : 0;
        }
    }
}

/* sums[a] belongs to the result whose window has row KH - 1 - a here. */
inline void add_row(SUM sums[KH][PX], const SUM *value, __constant const WEIGHT *weights)
{
#pragma unroll
    for (int a = 0; a < KH; a++)
#pragma unroll
        for (int p = 0; p < PX; p++) {
            if (LEFT_OUT(p))
                continue;
            SUM part =
                FLOATING ? 0 : sums[a][p]; /* of f32, each row apart: errors grow with the sides alone */
#pragma unroll
            for (int i = 0; i < KW; i++)
                part = ADD_PRODUCT(weights[(KH - 1 - a) * KW + i], value[p + i * HONE_C], part);
            sums[a][p] = FLOATING ? sums[a][p] + part : part;
        }
}

inline void slide(__global const PIXEL *in, int in_offset, int in_pitch, __global RESULT *out, int out_offset,
                  int out_pitch, int width, int height, int left, int top, float factor, float offset,
                  BORDER_TYPE border, __constant const WEIGHT *weights)
{
    const struct strip s = {in + in_offset,        in_pitch, width, height, left, top,
                            get_global_id(0) * PX, border};
    int first = get_global_id(1) * ROWS, end = min(first + ROWS, height), count = width * HONE_C;
    SUM sums[KH][PX], value[ACROSS];
    if (s.at >= count || first >= height)
        return;
    out += out_offset;
#pragma unroll
    for (int a = 0; a < KH; a++)
#pragma unroll
        for (int p = 0; p < PX; p++)
            sums[a][p] = 0;
#pragma unroll 1
    for (int y = first - KH + 1; y < end; y++) { /* the row of the result that is complete below */
        load_row(value, &s, y - top + KH - 1);
        add_row(sums, value, weights);
#pragma unroll
        for (int p = 0; p < PX; p++)
            if (y >= first && s.at + p < count)
                out[y * out_pitch + s.at + p] =
                    result_or(&s, finish((float)sums[0][p], factor, offset), s.at + p, y);
#pragma unroll
        for (int a = 0; a < KH; a++)
#pragma unroll
            for (int p = 0; p < PX; p++)
                sums[a][p] = a + 1 < KH ? sums[a + 1 < KH ? a + 1 : a][p] : 0;
    }
}
#endif

#if defined(HONE_ALL) || defined(VARIANT_sliding)
__kernel void convolve_sliding(__global const PIXEL *in, int in_offset, int in_pitch, __global RESULT *out,
                               int out_offset, int out_pitch, int width, int height, int left, int top,
                               float factor, float offset, BORDER_TYPE border,
                               __constant const WEIGHT *weights)
{
    slide(in, in_offset, in_pitch, out, out_offset, out_pitch, width, height, left, top, factor, offset,
          border, weights);
}
#endif

#if defined(HONE_ALL) || defined(VARIANT_literal)
__constant WEIGHT literals[KW * KH] = {WEIGHTS};

__kernel void convolve_literal(__global const PIXEL *in, int in_offset, int in_pitch, __global RESULT *out,
                               int out_offset, int out_pitch, int width, int height, int left, int top,
                               float factor, float offset, BORDER_TYPE border)
{
    slide(in, in_offset, in_pitch, out, out_offset, out_pitch, width, height, left, top, factor, offset,
          border, literals);
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
    const struct strip s = {in + in_offset, in_pitch, width, height, left, top, get_global_id(0) * 4, border};
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
