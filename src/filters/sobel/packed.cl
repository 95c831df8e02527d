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
 * + p, so a byte becomes a number without a conversion; where denormal numbers are certain, the byte is one
 * already. Two operations per instruction, off the integer pipe.
 * swar: the 16 bits are integers; differences carry a bias so that no lane borrows from its neighbour.
 */
#ifndef NORM
#define NORM 1 /* of the magnitude: 0 L2, 1 L1 */
#endif

#include "filters/sobel/roots.clh"
#include "filters/wordstrips.clh"

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
    return LOW_SHORTS(as_uint(near_root(fmin(low, 65025.0f)) + TWO_23),
                      as_uint(near_root(fmin(high, 65025.0f)) + TWO_23));
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

#define WEIGHTED(a, b, c) halves_fma(b, TWOS, halves_add(a, c)) /* a + 2 b + c */
#define SUBTRACT(a, b)    halves_subtract(a, b)
#define DIFFERENCE(a, b)  halves_subtract(a, b)
#if WITH_PTX
/* Bytes as they are: denormal numbers, in units of 2^-24. */
#define EVEN   EVEN_BYTES
#define ODD    ODD_BYTES
#define SMOOTH WEIGHTED

/* A root's whole number, of a square in units of 2^-48, in the lowest bits: 2^23 units lie above it. */
inline uint unit_root(float square)
{
    return as_uint(near_root(square) + 0.5f);
}

#define SATURATED(r) halves_min(r, 0x00ff00ffu)
#define ROOTS(l, h)  SATURATED(LOW_SHORTS(unit_root(l), unit_root(h)))
#else
#define EVEN            hone_halves_even
#define ODD             hone_halves_odd
/* The bias of 1024 per operand is taken off while everything is still at most 2048. */
#define SMOOTH(a, b, c) halves_add(halves_add(halves_fma(b, TWOS, BIAS4), a), c)
#define SATURATED(r)    halves_add(halves_min(r, 0x5bf85bf8u), 0x64006400u) /* 255, 1024 */
#define ROOTS           roots
#endif

/* Two results in the lowest bytes of both halves, from both gradients. */
inline uint half_magnitude(uint dx, uint dy)
{
#if NORM == 1
    return SATURATED(halves_add(halves_abs(dx), halves_abs(dy)));
#else
    pair x, y;
    x.bits = dx;
    y.bits = dy;
    float xl = x.value.x, xh = x.value.y, yl = y.value.x, yh = y.value.y;
    return ROOTS(xl * xl + yl * yl, xh * xh + yh * yh);
#endif
}

#define MAGNITUDE half_magnitude
#define WALK      sobel_halves

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

#define EVEN              EVEN_BYTES
#define ODD               ODD_BYTES
#define WEIGHTED(a, b, c) ((a) + (c) + 2 * (b)) /* a + 2 b + c */
#define SUBTRACT(a, b)    ((a) + LANES_OF(1024) - (b))
#define DIFFERENCE(a, b)  ((a) + LANES_OF(256) - (b)) /* biased by 256 */
#define SMOOTH            WEIGHTED
#define MAGNITUDE         swar_magnitude
#define WALK              sobel_swar
#endif

/* What a row gives, of the even and the odd elements: right - left, and left + 2 centre + right. */
struct terms {
    uint difference_even[WORDS], difference_odd[WORDS], smooth_even[WORDS], smooth_odd[WORDS];
};

inline void terms_of(struct terms *t, const uint *w)
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
        t->difference_even[k] = DIFFERENCE(e_behind, e_before);
        t->difference_odd[k] = DIFFERENCE(o_behind, o_before);
        t->smooth_even[k] = SMOOTH(e_before, e, e_behind);
        t->smooth_odd[k] = SMOOTH(o_before, o, o_behind);
    }
}

inline void combine(uint *result, const struct terms *above, const struct terms *now,
                    const struct terms *below)
{
#pragma unroll
    for (int k = 0; k < WORDS; k++) {
        uint e =
            MAGNITUDE(WEIGHTED(above->difference_even[k], now->difference_even[k], below->difference_even[k]),
                      SUBTRACT(below->smooth_even[k], above->smooth_even[k]));
        uint o =
            MAGNITUDE(WEIGHTED(above->difference_odd[k], now->difference_odd[k], below->difference_odd[k]),
                      SUBTRACT(below->smooth_odd[k], above->smooth_odd[k]));
        result[k] = JOIN_BYTES(e, o);
    }
}

#include "filters/sobel/walk.clh"

__kernel void WALK(__global const PIXEL *in, int in_offset, int in_pitch, __global FINAL *out, int out_offset,
                   int out_pitch, int width, int height, BORDER_TYPE border FUSED_PARAMETERS)
{
    struct sink sink = SINK_OF(out);
    walk(&sink, in + in_offset, in_pitch, width, height, border);
}
