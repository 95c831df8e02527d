/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * For GPUs, u8 to u8: two elements in every 32-bit register.
 *
 * A word of four elements is split into its even and its odd ones, E = (p0, p2) and O = (p1, p3), 16 bits
 * each. Of one channel, neighbours at distance one are then the other word, or a funnel shift of two words;
 * of more, the halves of a word that begins so many bytes before or behind. Each row gives its differences
 * and its smoothed values; a strip that walks down combines those of three rows.
 *
 * halves: the 16 bits are half precision numbers, which hold integers up to 2048 exactly: 0x6400 | p is 1024
 * + p, so a byte becomes a number without a conversion. Two operations per instruction, off the integer pipe.
 * swar: the 16 bits are integers; differences carry a bias so that no lane borrows from its neighbour.
 */
#ifndef WORDS
#define WORDS 4 /* words of four elements per work-item and row */
#endif
#ifndef ROWS
#define ROWS 16 /* rows per work-item */
#endif
#ifndef SHUFFLE
#define SHUFFLE 0 /* neighbours' words: 0 by loads, 1 from the neighbouring lane (PTX) */
#endif
#ifndef NORM
#define NORM 1 /* of the magnitude: 0 L2, 1 L1 */
#endif
#ifndef TAIL
#define TAIL 1 /* 0: rows are a whole number of strips */
#endif
#ifndef UNROLL
#define UNROLL 2 /* rows per round of the loop */
#endif

#include "filters/words.clh"
#if SHUFFLE
#include "filters/warp.clh"
#endif

struct strip {
    __global const uchar *in;
    int pitch, width, height, border;
    int at, count; /* the strip's first element, elements in a row */
};

/* w[0] is the word left of the strip (of which the last pixel counts), w[WORDS + 1] the one right of it (the
 * first). */
inline void load_row(uint *w, const struct strip *s, int y)
{
    int inside;
    __global const uchar *row = hone_row(s->in, s->pitch, y, s->height, &inside);
    bool first = s->at == 0, last = s->at + 4 * WORDS >= s->count;
#if TAIL
    bool whole = s->at + 4 * WORDS <= s->count;
    if (!whole) {
#pragma unroll
        for (int k = 0; k < WORDS; k++)
            w[1 + k] = edge_word(row, inside, s->at + 4 * k, s->width, s->border);
    } else
#endif
        load_words(w + 1, row + s->at, WORDS);
    bool load_left = !first, load_right = !last;
#if SHUFFLE
    uint lane = get_local_id(0) % 32;
    w[0] = from_left(w[WORDS], 1);
    w[WORDS + 1] = from_right(w[1], 1);
    load_left = load_left && lane == 0;
    load_right = load_right && lane == 31;
#endif
#if TAIL
    if (s->at + 4 * WORDS + 4 > s->count) { /* too near the end for a whole word */
        w[WORDS + 1] = edge_word(row, inside, s->at + 4 * WORDS, s->width, s->border);
        load_right = last = false;
    }
#endif
    if (load_left)
        w[0] = *(__global const uint *)(row + s->at - 4);
    if (load_right)
        w[WORDS + 1] = *(__global const uint *)(row + s->at + 4 * WORDS);
#if HONE_BORDER == BORDER_CONSTANT
    uint outside = outside_word(s->border);
    w[0] = first ? outside : w[0];
    w[WORDS + 1] = last ? outside : w[WORDS + 1];
#pragma unroll
    for (int k = 0; k < WORDS + 2; k++)
        w[k] = inside ? w[k] : outside;
#elif HONE_BORDER == BORDER_WRAP || (HONE_BORDER == BORDER_REFLECT101 && HONE_C > 1)
    if (first)
        w[0] = edge_word(row, inside, -4, s->width, s->border);
    if (last)
        w[WORDS + 1] = edge_word(row, inside, s->count, s->width, s->border);
#elif HONE_BORDER == BORDER_REFLECT101
    w[0] = first ? w[1] << 16 : w[0];                            /* pixel 1 */
    w[WORDS + 1] = last ? w[WORDS] >> 16 & 0xffu : w[WORDS + 1]; /* the last but one */
#else
    w[0] = first ? w[1] << (32 - 8 * HONE_C) : w[0];
    w[WORDS + 1] = last ? w[WORDS] >> (32 - 8 * HONE_C) : w[WORDS + 1];
#endif
}

inline void store_row(const struct sink *sink, const struct strip *s, int y, const uint *result)
{
    sink_put_words(sink, s->at, y, result, WORDS, TAIL ? s->count - s->at : 4 * WORDS);
}

/* The words that begin a pixel before word k of a row and a pixel behind. */
#if HONE_C == 4
#define WORD_BEFORE(w, k) (w)[(k)-1]
#define WORD_BEHIND(w, k) (w)[(k) + 1]
#else
#define WORD_BEFORE(w, k) ((w)[(k)-1] >> (32 - 8 * HONE_C) | (w)[k] << 8 * HONE_C)
#define WORD_BEHIND(w, k) ((w)[k] >> 8 * HONE_C | (w)[(k) + 1] << (32 - 8 * HONE_C))
#endif

/* Two square roots, rounded, 255 at most, in the halves of a word. No root of an integer below 65536 is
 * nearer than 1/2050 to where rounding changes: 16 times the error of the approximation. What is added to it
 * moves its whole part to the lowest bits. */
inline uint roots(float low, float high)
{
#if WITH_PTX
    float a, b;
    asm("sqrt.approx.f32 %0, %1;" : "=f"(a) : "f"(fmin(low, 65025.0f)));
    asm("sqrt.approx.f32 %0, %1;" : "=f"(b) : "f"(fmin(high, 65025.0f)));
    return LOW_SHORTS(as_uint(a + 8388608.0f), as_uint(b + 8388608.0f));
#else
    return min(255u, (uint)(sqrt(low) + 0.5f)) | min(255u, (uint)(sqrt(high) + 0.5f)) << 16;
#endif
}

#ifdef VARIANT_halves
/* All values are integers that half holds, so fusing a product and a sum changes nothing. */
#pragma OPENCL FP_CONTRACT ON

#include "filters/halves.clh"

#define TWOS  0x40004000u /* 2 */
#define BIAS4 0xec00ec00u /* -4096 */

/* Of numbers that are not negative, the smaller ones: halves compare like their bits. */
inline uint halves_min(uint a, uint b)
{
#if WITH_PTX
    uint r;
    asm("min.f16x2 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b));
    return r;
#else
    uint low = min(a & 0xffffu, b & 0xffffu), high = min(a >> 16, b >> 16);
    return low | high << 16;
#endif
}

inline uint halves_abs(uint a)
{
#if WITH_PTX
    uint r;
    asm("abs.f16x2 %0, %1;" : "=r"(r) : "r"(a));
    return r;
#else
    return a & 0x7fff7fffu;
#endif
}

/* Two results, as numbers 1024 + r, from both gradients. */
inline uint half_magnitude(uint dx, uint dy)
{
#if NORM == 1
    return halves_add(halves_min(halves_add(halves_abs(dx), halves_abs(dy)), 0x5bf85bf8u),
                      0x64006400u); /* 255, 1024 */
#else
    pair x, y;
    x.bits = dx;
    y.bits = dy;
    float xl = x.value.x, xh = x.value.y, yl = y.value.x, yh = y.value.y;
    return roots(xl * xl + yl * yl, xh * xh + yh * yh);
#endif
}

#define EVEN             hone_halves_even
#define ODD              hone_halves_odd
#define ADD(a, b)        halves_add(a, b)
#define SUBTRACT(a, b)   halves_subtract(a, b)
#define DIFFERENCE(a, b) halves_subtract(a, b)
/* The bias of 1024 per operand is taken off while everything is still at most 2048. */
#define SMOOTH(a, b, c) halves_add(halves_add(halves_fma(b, TWOS, BIAS4), a), c)
#define MAGNITUDE       half_magnitude
#define WALK            sobel_halves

#else /* swar, and what is built without a variant */

#define LANES_OF(n) ((uint)(n) << 16 | (uint)(n))

/* |v - 1024| in both lanes, for 4 <= v <= 2044: where bit 10 is missing, 1024 - v is the complement of v plus
 * 1. */
inline uint lanes_abs(uint v)
{
    uint below = ~v >> 10 & LANES_OF(1), mask = (below << 10) - below;
    return ((v ^ mask) & LANES_OF(1023)) + below;
}

inline uint lanes_root(uint dx, uint dy)
{
    float xl = dx & 0xffff, xh = dx >> 16, yl = dy & 0xffff, yh = dy >> 16;
    return roots(xl * xl + yl * yl, xh * xh + yh * yh);
}

/* The smaller of each lane and 255: any bit above the lowest eight fills them. */
inline uint lanes_saturate(uint v)
{
    uint over = (v | v >> 1 | v >> 2) & LANES_OF(0x100);
    return v | (over - (over >> 8));
}

inline uint swar_magnitude(uint dx, uint dy)
{
    dx = lanes_abs(dx);
    dy = lanes_abs(dy);
#if NORM == 1
    return lanes_saturate(dx + dy);
#else
    return lanes_root(dx, dy);
#endif
}

#define EVEN             EVEN_BYTES
#define ODD              ODD_BYTES
#define ADD(a, b)        ((a) + (b))
#define SUBTRACT(a, b)   ((a) + LANES_OF(1024) - (b))
#define DIFFERENCE(a, b) ((a) + LANES_OF(256) - (b)) /* biased by 256 */
#define SMOOTH(a, b, c)  ((a) + (c) + 2 * (b))
#define MAGNITUDE        swar_magnitude
#define WALK             sobel_swar
#endif

/* What one row gives: right - left, and left + 2 centre + right, of the even and the odd pixels. */
inline void row_terms(const uint *w, uint *difference_even, uint *difference_odd, uint *smooth_even,
                      uint *smooth_odd)
{
#pragma unroll
    for (int k = 0; k < WORDS; k++) {
        uint e = EVEN(w[k + 1]), o = ODD(w[k + 1]);
#if HONE_C == 1
        uint e_before = FUNNEL(ODD(w[k]), o), e_behind = o;
        uint o_before = e, o_behind = FUNNEL(e, EVEN(w[k + 2]));
#else
        uint before = WORD_BEFORE(w, k + 1), behind = WORD_BEHIND(w, k + 1);
        uint e_before = EVEN(before), e_behind = EVEN(behind);
        uint o_before = ODD(before), o_behind = ODD(behind);
#endif
        difference_even[k] = DIFFERENCE(e_behind, e_before);
        difference_odd[k] = DIFFERENCE(o_behind, o_before);
        smooth_even[k] = SMOOTH(e_before, e, e_behind);
        smooth_odd[k] = SMOOTH(o_before, o, o_behind);
    }
}

__kernel void WALK(__global const uchar *in, int in_offset, int in_pitch, __global FINAL *out, int out_offset,
                   int out_pitch, int width, int height, int border FUSED_PARAMETERS)
{
    struct sink sink = SINK_OF(out);
    struct strip s = {in + in_offset, in_pitch, width, height, border, get_global_id(0) * 4 * WORDS,
                      width * HONE_C};
    int y = get_global_id(1) * ROWS, end = min(y + ROWS, height);
    bool idle = s.at >= s.count; /* stays for the shuffles of its neighbours */
    if (y >= height || (idle && !SHUFFLE))
        return;
#if !TAIL
    s.at = idle ? 0 : s.at; /* whatever it reads, it must be there */
#endif
    uint w[WORDS + 2], result[WORDS];
    uint upper_even[WORDS], upper_odd[WORDS]; /* differences of the two rows above, added */
    /* Of two neighbouring rows by turns: in round r, [r % 2] of the smooth is the row above and of the
     * differences the row itself; both are replaced by the row below. The rounds are unrolled, so that
     * nothing moves between registers. */
    uint smooth_even[2][WORDS], smooth_odd[2][WORDS], difference_even[2][WORDS], difference_odd[2][WORDS];
    load_row(w, &s, y - 1);
    row_terms(w, upper_even, upper_odd, smooth_even[0], smooth_odd[0]);
    load_row(w, &s, y);
    row_terms(w, difference_even[0], difference_odd[0], smooth_even[1], smooth_odd[1]);
#pragma unroll
    for (int k = 0; k < WORDS; k++) {
        upper_even[k] = ADD(upper_even[k], difference_even[0][k]);
        upper_odd[k] = ADD(upper_odd[k], difference_odd[0][k]);
    }
    for (;;) {
#pragma unroll
        for (int r = 0; r < UNROLL; r++) {
            uint above_even[WORDS], above_odd[WORDS];
            const int now = r % 2, next = 1 - now;
#pragma unroll
            for (int k = 0; k < WORDS; k++) {
                above_even[k] = smooth_even[now][k];
                above_odd[k] = smooth_odd[now][k];
            }
            load_row(w, &s, y + 1);
            row_terms(w, difference_even[next], difference_odd[next], smooth_even[now], smooth_odd[now]);
#pragma unroll
            for (int k = 0; k < WORDS; k++) {
                uint lower_even = ADD(difference_even[now][k], difference_even[next][k]);
                uint lower_odd = ADD(difference_odd[now][k], difference_odd[next][k]);
                uint e =
                    MAGNITUDE(ADD(upper_even[k], lower_even), SUBTRACT(smooth_even[now][k], above_even[k]));
                uint o = MAGNITUDE(ADD(upper_odd[k], lower_odd), SUBTRACT(smooth_odd[now][k], above_odd[k]));
                result[k] =
                    finish_word(JOIN_BYTES(e, o), s.in + y * s.pitch, s.at + 4 * k, y, 3, 3, width, height);
                upper_even[k] = lower_even;
                upper_odd[k] = lower_odd;
            }
            if (!idle)
                store_row(&sink, &s, y, result);
            if (++y >= end)
                return;
        }
    }
}
