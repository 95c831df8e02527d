/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * For GPUs, u8 to u8, one channel: two pixels in every 32-bit register.
 *
 * A word of four pixels is split into its even and its odd ones, E = (p0, p2) and O = (p1, p3), 16 bits each. Neighbours at
 * distance one are then the other word, or a funnel shift of two words. Each row gives its differences and its smoothed
 * values; a strip that walks down combines those of three rows.
 *
 * halves: the 16 bits are half precision numbers, which hold integers up to 2048 exactly: 0x6400 | p is 1024 + p, so a
 * byte becomes a number without a conversion. Two operations per instruction, off the integer pipe.
 * swar: the 16 bits are integers; differences carry a bias so that no lane borrows from its neighbour.
 */
#ifndef WORDS
#define WORDS 4 /* words of four pixels per work-item and row */
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

struct strip {
    __global const uchar *in;
    int pitch, width, height, border;
    int at; /* the strip's first pixel */
};

#if TAIL
/* A word made of single pixels: the last strip of a row that is no whole number of strips. */
inline uint edge_word(const struct strip *s, __global const uchar *row, int inside, int x)
{
    uint word = 0;
    for (int k = 0; k < 4; k++)
        word |= (uint)hone_at(row, inside, x + k, 0, s->width, s->border) << 8 * k;
    return word;
}
#endif

/* w[0] is the word left of the strip (of which the last pixel counts), w[WORDS + 1] the one right of it (the first). */
inline void load_row(uint *w, const struct strip *s, int y)
{
    int inside;
    __global const uchar *row = hone_row(s->in, s->pitch, y, s->height, &inside);
    bool first = s->at == 0, last = s->at + 4 * WORDS >= s->width;
#if TAIL
    bool whole = s->at + 4 * WORDS <= s->width;
    if (!whole) {
#pragma unroll
        for (int k = 0; k < WORDS; k++)
            w[1 + k] = edge_word(s, row, inside, s->at + 4 * k);
    } else
#endif
    {
#if WORDS == 4
        uint4 centre = *(__global const uint4 *)(row + s->at);
        w[1] = centre.x;
        w[2] = centre.y;
        w[3] = centre.z;
        w[4] = centre.w;
#else
        uint2 centre = *(__global const uint2 *)(row + s->at);
        w[1] = centre.x;
        w[2] = centre.y;
#endif
    }
    bool load_left = !first, load_right = !last;
#if SHUFFLE
    uint lane = get_local_id(0) % 32;
    asm volatile("shfl.sync.up.b32 %0, %1, 1, 0, 0xffffffff;" : "=r"(w[0]) : "r"(w[WORDS]));
    asm volatile("shfl.sync.down.b32 %0, %1, 1, 31, 0xffffffff;" : "=r"(w[WORDS + 1]) : "r"(w[1]));
    load_left = load_left && lane == 0;
    load_right = load_right && lane == 31;
#endif
#if TAIL
    if (s->at + 4 * WORDS + 4 > s->width) { /* too near the end for a whole word */
        w[WORDS + 1] = edge_word(s, row, inside, s->at + 4 * WORDS);
        load_right = last = false;
    }
#endif
    if (load_left)
        w[0] = *(__global const uint *)(row + s->at - 4);
    if (load_right)
        w[WORDS + 1] = *(__global const uint *)(row + s->at + 4 * WORDS);
#if HONE_BORDER == BORDER_CONSTANT
    uint outside = (uint)s->border * 0x01010101u;
    w[0] = first ? outside : w[0];
    w[WORDS + 1] = last ? outside : w[WORDS + 1];
#pragma unroll
    for (int k = 0; k < WORDS + 2; k++)
        w[k] = inside ? w[k] : outside;
#elif HONE_BORDER == BORDER_WRAP
    if (first)
        w[0] = (uint)row[s->width - 1] << 24;
    if (last)
        w[WORDS + 1] = row[0];
#elif HONE_BORDER == BORDER_REFLECT101
    w[0] = first ? w[1] << 16 : w[0];                           /* pixel 1 */
    w[WORDS + 1] = last ? w[WORDS] >> 16 & 0xffu : w[WORDS + 1]; /* the last but one */
#else
    w[0] = first ? w[1] << 24 : w[0];
    w[WORDS + 1] = last ? w[WORDS] >> 24 : w[WORDS + 1];
#endif
}

/* border=zero-outside: the first and the last row and column. */
inline uint clear_outside(uint word, int x, int y, int width, int height)
{
#if HONE_BORDER == BORDER_ZERO_OUTSIDE
    if (y < 1 || y + 1 >= height)
        return 0;
    if (x == 0)
        word &= 0xffffff00u;
    for (int k = 0; k < 4; k++)
        if (x + k + 1 >= width)
            word &= ~(0xffu << 8 * k);
#endif
    return word;
}

inline void store_row(const struct sink *sink, const struct strip *s, int y, const uint *result)
{
    sink_put_words(sink, s->at, y, result, WORDS, TAIL ? s->width - s->at : 4 * WORDS);
}

/* sqrt(n) rounded, 255 at most. */
inline uint root(float n)
{
    return min(255u, (uint)(sqrt(n) + 0.5f));
}

#ifdef VARIANT_halves
#ifndef cl_khr_fp16
#define cl_khr_fp16 1
#endif
#pragma OPENCL EXTENSION cl_khr_fp16 : enable

/* All values are integers that half holds, so fusing a product and a sum changes nothing. */
#pragma OPENCL FP_CONTRACT ON

typedef union {
    uint bits;
    half2 value;
} pair;

#define ONES  0x3c003c00u /* 1 */
#define TWOS  0x40004000u /* 2 */
#define BIAS4 0xec00ec00u /* -4096 */

#if WITH_PTX
inline uint h_add(uint a, uint b)
{
    uint r;
    asm("add.rn.f16x2 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b));
    return r;
}
inline uint h_sub(uint a, uint b)
{
    uint r;
    asm("sub.rn.f16x2 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b));
    return r;
}
inline uint h_fma(uint a, uint b, uint c)
{
    uint r;
    asm("fma.rn.f16x2 %0, %1, %2, %3;" : "=r"(r) : "r"(a), "r"(b), "r"(c));
    return r;
}
inline uint h_abs(uint a)
{
    uint r;
    asm("abs.f16x2 %0, %1;" : "=r"(r) : "r"(a));
    return r;
}
inline uint h_min(uint a, uint b)
{
    uint r;
    asm("min.f16x2 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b));
    return r;
}
inline uint join(uint e, uint o)
{
    return hone_bytes(e, o, 0x6240u);
}
#else
inline uint h_add(uint a, uint b)
{
    pair x, y;
    x.bits = a;
    y.bits = b;
    x.value = x.value + y.value;
    return x.bits;
}
inline uint h_sub(uint a, uint b)
{
    pair x, y;
    x.bits = a;
    y.bits = b;
    x.value = x.value - y.value;
    return x.bits;
}
inline uint h_fma(uint a, uint b, uint c)
{
    pair x, y, z;
    x.bits = a;
    y.bits = b;
    z.bits = c;
    x.value = x.value * y.value + z.value;
    return x.bits;
}
inline uint h_abs(uint a)
{
    return a & 0x7fff7fffu;
}
/* Not negative, so halves compare like their bits. */
inline uint h_min(uint a, uint b)
{
    uint low = min(a & 0xffffu, b & 0xffffu), high = min(a >> 16, b >> 16);
    return low | high << 16;
}
inline uint join(uint e, uint o)
{
    return (e & 0x00ff00ffu) | (o & 0x00ff00ffu) << 8;
}
#endif

/* What one row gives: right - left, and left + 2 centre + right, of the even and the odd pixels. The bias of 1024 per operand
 * cancels in the first and is taken off in the second while everything is still at most 2048. */
inline void half_terms(const uint *w, uint *difference_even, uint *difference_odd, uint *smooth_even, uint *smooth_odd)
{
#pragma unroll
    for (int k = 0; k < WORDS; k++) {
        uint e = hone_halves_even(w[k + 1]), o = hone_halves_odd(w[k + 1]);
        uint before = FUNNEL(hone_halves_odd(w[k]), o), after = FUNNEL(e, hone_halves_even(w[k + 2]));
        difference_even[k] = h_sub(o, before);
        difference_odd[k] = h_sub(after, e);
        smooth_even[k] = h_add(h_add(h_fma(e, TWOS, BIAS4), before), o);
        smooth_odd[k] = h_add(h_add(h_fma(o, TWOS, BIAS4), e), after);
    }
}

/* Two results, as numbers 1024 + r, from both gradients. */
inline uint half_magnitude(uint dx, uint dy)
{
#if NORM == 1
    return h_add(h_min(h_add(h_abs(dx), h_abs(dy)), 0x5bf85bf8u), 0x64006400u); /* 255, 1024 */
#else
    pair x, y;
    x.bits = dx;
    y.bits = dy;
    float xl = x.value.x, xh = x.value.y, yl = y.value.x, yh = y.value.y;
    return root(xl * xl + yl * yl) | root(xh * xh + yh * yh) << 16;
#endif
}

#define TERMS          half_terms
#define ADD(a, b)      h_add(a, b)
#define SUBTRACT(a, b) h_sub(a, b)
#define MAGNITUDE      half_magnitude
#define JOIN(e, o)     join(e, o)
#define WALK           sobel_halves

#else /* swar, and what is built without a variant */

#define LANES_OF(n) ((uint)(n) << 16 | (uint)(n))

inline uint split_even(uint w)
{
    return w & 0x00ff00ffu;
}
inline uint split_odd(uint w)
{
    return w >> 8 & 0x00ff00ffu;
}

/* Differences are biased by 256. */
inline void swar_terms(const uint *w, uint *difference_even, uint *difference_odd, uint *smooth_even, uint *smooth_odd)
{
#pragma unroll
    for (int k = 0; k < WORDS; k++) {
        uint e = split_even(w[k + 1]), o = split_odd(w[k + 1]);
        uint before = FUNNEL(split_odd(w[k]), o), after = FUNNEL(e, split_even(w[k + 2]));
        difference_even[k] = o + LANES_OF(256) - before;
        difference_odd[k] = after + LANES_OF(256) - e;
        smooth_even[k] = before + o + 2 * e;
        smooth_odd[k] = e + after + 2 * o;
    }
}

/* |v - 1024| in both lanes, for 4 <= v <= 2044: where bit 10 is missing, 1024 - v is the complement of v plus 1. */
inline uint lanes_abs(uint v)
{
    uint below = ~v >> 10 & LANES_OF(1), mask = (below << 10) - below;
    return ((v ^ mask) & LANES_OF(1023)) + below;
}

inline uint lanes_root(uint dx, uint dy)
{
    float xl = dx & 0xffff, xh = dx >> 16, yl = dy & 0xffff, yh = dy >> 16;
    return root(xl * xl + yl * yl) | root(xh * xh + yh * yh) << 16;
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

#define TERMS          swar_terms
#define ADD(a, b)      ((a) + (b))
#define SUBTRACT(a, b) ((a) + LANES_OF(1024) - (b))
#define MAGNITUDE      swar_magnitude
#define JOIN(e, o)     (((e)&0x00ff00ffu) | ((o)&0x00ff00ffu) << 8)
#define WALK           sobel_swar
#endif

__kernel void WALK(__global const uchar *in, int in_offset, int in_pitch, __global FINAL *out, int out_offset,
                   int out_pitch, int width, int height, int border FUSED_PARAMETERS)
{
    struct sink sink = SINK_OF(out);
    struct strip s = {in + in_offset, in_pitch, width, height, border, get_global_id(0) * 4 * WORDS};
    int y = get_global_id(1) * ROWS, end = min(y + ROWS, height);
    bool idle = s.at >= width; /* stays for the shuffles of its neighbours */
    if (y >= height || (idle && !SHUFFLE))
        return;
#if !TAIL
    s.at = idle ? 0 : s.at; /* whatever it reads, it must be there */
#endif
    uint w[WORDS + 2], result[WORDS];
    uint upper_even[WORDS], upper_odd[WORDS]; /* differences of the two rows above, added */
    /* Of two neighbouring rows by turns: in round r, [r % 2] of the smooth is the row above and of the differences the row
     * itself; both are replaced by the row below. The rounds are unrolled, so that nothing moves between registers. */
    uint smooth_even[2][WORDS], smooth_odd[2][WORDS], difference_even[2][WORDS], difference_odd[2][WORDS];
    load_row(w, &s, y - 1);
    TERMS(w, upper_even, upper_odd, smooth_even[0], smooth_odd[0]);
    load_row(w, &s, y);
    TERMS(w, difference_even[0], difference_odd[0], smooth_even[1], smooth_odd[1]);
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
            TERMS(w, difference_even[next], difference_odd[next], smooth_even[now], smooth_odd[now]);
#pragma unroll
            for (int k = 0; k < WORDS; k++) {
                uint lower_even = ADD(difference_even[now][k], difference_even[next][k]);
                uint lower_odd = ADD(difference_odd[now][k], difference_odd[next][k]);
                uint e = MAGNITUDE(ADD(upper_even[k], lower_even), SUBTRACT(smooth_even[now][k], above_even[k]));
                uint o = MAGNITUDE(ADD(upper_odd[k], lower_odd), SUBTRACT(smooth_odd[now][k], above_odd[k]));
                result[k] = clear_outside(JOIN(e, o), s.at + 4 * k, y, width, height);
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
