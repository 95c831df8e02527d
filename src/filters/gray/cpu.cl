/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * For CPUs. A step makes one vector of the result from loads of 16 bytes, lane by lane: what lane L of the
 * result needs lies in lane L of three or four vectors, so that none moves to another lane. Of integers, each
 * load begins with a pixel, and products of 16 bits are summed in pairs; floats are sorted by colours first,
 * where the processor moves elements anywhere at no extra cost as they lie in memory.
 */
#ifndef COLUMNS
#define COLUMNS 8192 /* pixels of a row per work-item */
#endif
#ifndef ROWS
#define ROWS 16 /* rows per work-item */
#endif
#ifndef STREAM
#define STREAM 0 /* 1: results go past the caches */
#endif

#include "filters/gray/mean.clh"
#include "filters/products.clh"

#define BYTES (FLOATING ? 4 : HONE_T == 0 ? 1 : 2) /* of an element */
#define ROOM  (4 * BYTES)                          /* for a pixel */
#define SIZE  (HONE_C * BYTES)                     /* of a pixel */
#define PIECE (16 / ROOM)                          /* pixels in a lane */
#define STEP  (NATIVE / BYTES)                     /* pixels at a time */
#define LINE  (64 / BYTES)                         /* pixels of a cache line of results */

typedef uchar lane __attribute__((ext_vector_type(16)));
typedef uchar half_bytes __attribute__((ext_vector_type(32)));
typedef uint uints __attribute__((ext_vector_type(NATIVE / 4)));
typedef float floats __attribute__((ext_vector_type(NATIVE / 4)));
typedef lane lane_at __attribute__((aligned(1)));
typedef bytes bytes_at __attribute__((aligned(1)));

union vector {
    bytes b;
    ushorts u16;
    shorts s16;
    ints s32;
    floats f32;
};

#if NATIVE == 64
#define L_NATIVE   L_ALL_64
#define L_WORDS(f) L16(f, 0)
#else
#define L_NATIVE   L_ALL_32
#define L_WORDS(f) L4(f, 0), L4(f, 4)
#endif
#define SAME(i) (i)

/* Lanes that lie 4 * PIECE pixels apart. */
inline bytes load_lanes(__global const uchar *from)
{
#define LANE(k)         (*(__global const lane_at *)(from + 4 * PIECE * SIZE * (k)))
#define JOINED(a, b, n) __builtin_shufflevector(a, b, n(SAME))
#if NATIVE == 64
    half_bytes low = JOINED(LANE(0), LANE(1), L_ALL_32), high = JOINED(LANE(2), LANE(3), L_ALL_32);
    return JOINED(low, high, L_ALL_64);
#else
    return JOINED(LANE(0), LANE(1), L_ALL_32);
#endif
}

#if HONE_C == 1
/* There is nothing to weigh. */
inline bytes step(__global const uchar *from)
{
    return *(__global const bytes_at *)from;
}

#elif FLOATING && NATIVE == 64
/* Any element of two vectors may go to any place here: colours are sorted as they lie in memory. */
#if HONE_C == 3
/* Of colour c, what lies in the first two vectors; then the rest, from the third. */
#define FIRST(c, i)  (3 * (i) + (c) < 32 ? 3 * (i) + (c) : -1)
#define SECOND(c, i) (3 * (i) + (c) < 32 ? (i) : 16 + 3 * (i) + (c)-32)
#define RED_1(i)     FIRST(0, i)
#define GREEN_1(i)   FIRST(1, i)
#define BLUE_1(i)    FIRST(2, i)
#define RED_2(i)     SECOND(0, i)
#define GREEN_2(i)   SECOND(1, i)
#define BLUE_2(i)    SECOND(2, i)
#define SORTED(v, f, g)                                                                                      \
    __builtin_shufflevector(__builtin_shufflevector((v)[0], (v)[1], L16(f, 0)), (v)[2], L16(g, 0))
#else
/* Red of the pixels of two vectors, then their green; blue twice. */
#define RED_GREEN(i)   ((i) % 8 * 4 + (i) / 8)
#define BLUES(i)       ((i) % 8 * 4 + 2)
#define LOWER_8(i)     ((i) % 8 + (i) / 8 * 16)
#define UPPER_8(i)     (LOWER_8(i) + 8)
#define MIXED(a, b, f) __builtin_shufflevector(a, b, L16(f, 0))
#endif

inline bytes step(__global const uchar *from)
{
    union vector mean;
    floats v[HONE_C];
#pragma unroll
    for (int k = 0; k < HONE_C; k++) {
        union vector there = {*(__global const bytes_at *)(from + NATIVE * k)};
        v[k] = there.f32;
    }
#if HONE_C == 3
    floats r = SORTED(v, RED_1, RED_2), g = SORTED(v, GREEN_1, GREEN_2), b = SORTED(v, BLUE_1, BLUE_2);
#else
    floats low = MIXED(v[0], v[1], RED_GREEN), high = MIXED(v[2], v[3], RED_GREEN);
    floats r = MIXED(low, high, LOWER_8), g = MIXED(low, high, UPPER_8);
    floats b = MIXED(MIXED(v[0], v[1], BLUES), MIXED(v[2], v[3], BLUES), LOWER_8);
#endif
    mean.f32 = MEAN(r, g, b);
    return mean.b;
}

#elif FLOATING
#define WORDS          (NATIVE / 4)
/* Of each 128-bit piece, one element of the second vector in place of that of the first. */
#define TAKE_1(i)      ((i) % 4 == 1 ? WORDS + (i) : (i))
#define TAKE_2(i)      ((i) % 4 == 2 ? WORDS + (i) : (i))
/* Where each pixel's red, green and blue stand after both. */
#define RED_PLACE(i)   ((i) / 4 * 4 + (4 - (i) % 4) % 4)
#define GREEN_PLACE(i) ((i) ^ 1)
#define BLUE_PLACE(i)  ((i) % 4 == 3 ? (i) : (i) / 4 * 4 + 2 - (i) % 4)
/* Elements of two vectors by turns, from the lower or the upper half of each piece. */
#define LOW_TURNS(i)   ((i) / 4 * 4 + (i) % 4 / 2 + (i) % 2 * WORDS)
#define HIGH_TURNS(i)  (LOW_TURNS(i) + 2)
/* The lower or the upper half of each piece of two vectors. */
#define LOW_HALVES(i)  ((i) / 4 * 4 + (i) % 2 + (i) % 4 / 2 * WORDS)
#define HIGH_HALVES(i) (LOW_HALVES(i) + 2)
#define MIXED(a, b, f) __builtin_shufflevector(a, b, L_WORDS(f))

/* Vector k of those in whose lanes four pixels follow each other. */
inline floats load_floats(__global const uchar *from, int k)
{
    union vector v;
    v.b = load_lanes(from + 16 * k);
    return v.f32;
}

inline bytes step(__global const uchar *from)
{
    union vector mean;
    floats first = load_floats(from, 0), second = load_floats(from, 1), third = load_floats(from, 2);
#if HONE_C == 3
    floats r = MIXED(MIXED(first, third, TAKE_1), second, TAKE_2);
    floats g = MIXED(MIXED(second, first, TAKE_1), third, TAKE_2);
    floats b = MIXED(MIXED(third, second, TAKE_1), first, TAKE_2);
    r = MIXED(r, r, RED_PLACE);
    g = MIXED(g, g, GREEN_PLACE);
    b = MIXED(b, b, BLUE_PLACE);
#else
    floats fourth = load_floats(from, 3);
    floats low = MIXED(first, second, LOW_TURNS), next_low = MIXED(third, fourth, LOW_TURNS);
    floats r = MIXED(low, next_low, LOW_HALVES), g = MIXED(low, next_low, HIGH_HALVES);
    floats b = MIXED(MIXED(first, second, HIGH_TURNS), MIXED(third, fourth, HIGH_TURNS), LOW_HALVES);
#endif
    mean.f32 = MEAN(r, g, b);
    return mean.b;
}

#else
/* Inside a lane, from AHEAD bytes on, three elements each to the place of four; -1: anything. */
#define SPREAD_FROM(ahead, i)                                                                                \
    ((i) % ROOM < SIZE ? (i) / 16 * 16 + (ahead) + (i) % 16 / ROOM * SIZE + (i) % ROOM : -1)
#define SPREAD(i)     SPREAD_FROM(0, i)
#define SPREAD_END(i) SPREAD_FROM(16 - PIECE * SIZE, i)

/* The pixels of vector k, the fourth element of each of which is anything. */
inline union vector load_pixels(__global const uchar *from, int k)
{
    union vector v;
    from += k * PIECE * SIZE;
#if HONE_C == 4
    v.b = load_lanes(from);
#else
    if (k < 3) {
        v.b = load_lanes(from);
        v.b = __builtin_shufflevector(v.b, v.b, L_NATIVE(SPREAD));
    } else { /* nothing behind the last pixel */
        v.b = load_lanes(from - (16 - PIECE * SIZE));
        v.b = __builtin_shufflevector(v.b, v.b, L_NATIVE(SPREAD_END));
    }
#endif
    return v;
}

#define PAIR(first, second) ((ints)(int)((first) | (second) << 16))

#if HONE_T == 0
/*
 * A mean of bytes is a whole number of parts that float holds, at most 255.9999, times 1 / DIVISOR, which is
 * rounded up by at most 3 * 2^-24. With the product's own rounding it comes out too large by less than
 * 1/10000, and never too small: what lies below a whole number stays there.
 */
inline ints means(__global const uchar *from, int k)
{
    union vector v = load_pixels(from, k), even, odd;
    even.u16 = v.u16 & (ushort)255;
    odd.u16 = v.u16 >> (ushort)8;
    ints sum =
        add_products(even.s16, PAIR(RED, BLUE)) + add_products(odd.s16, PAIR(GREEN, 0)) + (int)(DIVISOR / 2);
    return CONVERT(CONVERT(sum, floats) * (1.0000001f / DIVISOR), ints);
}

/* The lower bytes of words: of each 128-bit piece, eight of the first vector and eight of the second. */
#define LOWER(i) ((i) / 16 * 16 + (i) % 8 * 2 + (i) % 16 / 8 * NATIVE)

inline bytes step(__global const uchar *from)
{
    union vector low, high;
    low.s16 = pack_ints(means(from, 0), means(from, 1));
    high.s16 = pack_ints(means(from, 2), means(from, 3));
    return __builtin_shufflevector(low.b, high.b, L_NATIVE(LOWER));
}

#else
#define FLIP (ushort)(HONE_T == 1 ? 32768 : 0) /* from u16 to s16 and back */

/* The sums of two pixels in each lane: of red and green, then of blue. */
inline ints half_sums(__global const uchar *from, int k)
{
    union vector v = load_pixels(from, k);
    v.u16 ^= FLIP;
    ints weights = PAIR(RED, GREEN);
#pragma unroll
    for (int i = 1; i < NATIVE / 4; i += 2)
        weights[i] = BLUE;
    return add_products(v.s16, weights);
}

/* Of each 128-bit piece, the even or the odd elements of two vectors. */
#define BY_TWO(i) ((i) / 4 * 4 + (i) % 2 * 2 + (i) % 4 / 2 * (NATIVE / 4))
#define EVEN(i)   BY_TWO(i)
#define ODD(i)    (BY_TWO(i) + 1)

/* Means less 32768, from sums as much too small. */
inline ints means(__global const uchar *from, int k)
{
    union {
        ints s;
        uints u;
    } sum;
    ints a = half_sums(from, 2 * k), b = half_sums(from, 2 * k + 1);
    sum.s = __builtin_shufflevector(a, b, L_WORDS(EVEN)) + __builtin_shufflevector(a, b, L_WORDS(ODD));
    sum.u = (sum.u + (32768u * DIVISOR + DIVISOR / 2)) / DIVISOR - 32768u;
    return sum.s;
}

inline bytes step(__global const uchar *from)
{
    union vector v;
    v.s16 = pack_ints(means(from, 0), means(from, 1));
    v.u16 ^= FLIP;
    return v.b;
}
#endif
#endif

#define STEP_AT(x) step((__global const uchar *)(in + (x)*HONE_C))

/* Results `from` to end - 1, none or at least a step of them; the last step may make some again. */
inline void store_steps(__global const PIXEL *in, __global RESULT *out, int from, int end)
{
    for (; from + STEP <= end; from += STEP)
        *(__global bytes_at *)(out + from) = STEP_AT(from);
    if (from < end)
        *(__global bytes_at *)(out + end - STEP) = STEP_AT(end - STEP);
}

/* What a row has before or behind its whole cache lines takes a line along if it is shorter than a step. */
inline int with_line(int piece)
{
    return piece > 0 && piece < STEP ? piece + LINE : piece;
}

/* Whole cache lines go past the caches. None of them is stored to in another way, too: that would fetch it,
 * or throw it out, again. */
inline void stream_row(__global const PIXEL *in, __global RESULT *out, int count)
{
    int before = BEFORE(out, 64), begin = with_line(before), end = count - with_line((count - begin) % LINE);
    if (end <= begin) {
        store_steps(in, out, 0, count);
        return;
    }
    store_steps(in, out, 0, begin);
    for (int x = begin; x < end; x += STEP)
        STORE(out + x, STEP_AT(x), bytes);
    store_steps(in, out, end, count);
}

inline void gray_row(__global const PIXEL *in, __global RESULT *out, int count)
{
    if (count < STEP)
        for (int x = 0; x < count; x++)
            out[x] = gray_of(in + x * HONE_C);
    else if (STREAM)
        stream_row(in, out, count);
    else
        store_steps(in, out, 0, count);
}

__kernel void gray_vectors(__global const PIXEL *in, int in_offset, int in_pitch, __global RESULT *out,
                           int out_offset, int out_pitch, int width, int height)
{
    struct part p = part_of(COLUMNS, ROWS, width, height);
    in += in_offset + p.x * HONE_C;
    out += out_offset + p.x;
    if (p.length == in_pitch / HONE_C && p.length == out_pitch && in_pitch % HONE_C == 0) { /* one line */
        p.length *= p.end - p.y;
        p.end = p.end > p.y ? p.y + 1 : p.y;
    }
    for (int y = p.y; y < p.end; y++)
        gray_row(in + y * in_pitch, out + y * out_pitch, p.length);
}
