/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * exact=yes for CPUs, small sigma: as cpu.cl, a work-item owns a band of whole rows; the window's rows are
 * weighted into a line, and the line along itself.
 *
 *   1. Rows: products of 16 bits, two at a time, summed in 32 bits: exact. The line holds these sums as
 *      floats, which hold 24 bits; of u16 the upper 8 bits and the lower 24 apart.
 *   2. Along the line: in floats. The upper parts' sum is exact; the lower parts' is off by at most
 *      (radius + 3) 2^-24 of 256 levels. Where that might decide the rounding, the vector is done again in
 *      integers.
 */
#pragma OPENCL FP_CONTRACT ON

#ifndef ROWS
#define ROWS 32 /* rows of a band */
#endif
#ifndef REACH
#define REACH 32 /* the window's radius is less */
#endif

#define CELL float
#include "filters/bands.clh"
#include "filters/vectors.clh"
#ifndef NATIVE
#define NATIVE 32
#define PLAIN
#endif
#define LANES (NATIVE / 2) /* 16-bit elements of a vector */
#define HALF  (NATIVE / 4) /* 32-bit ones */
#define BLOCK NATIVE       /* elements at a time, so that a weight is fetched once for all */

#define BITS  (15 + HONE_T)                        /* a weight is a part of 2^BITS */
#define LEVEL (1.0f / (1u << BITS) / (1u << BITS)) /* of the sum of products */

typedef PIXEL pixels __attribute__((ext_vector_type(LANES)));
typedef PIXEL results __attribute__((ext_vector_type(HALF)));
typedef short shorts __attribute__((ext_vector_type(LANES)));
typedef int ints __attribute__((ext_vector_type(HALF)));
typedef uint uints __attribute__((ext_vector_type(HALF)));
typedef float floats __attribute__((ext_vector_type(HALF)));
typedef pixels pixels_at __attribute__((aligned(sizeof(PIXEL))));
typedef results results_at __attribute__((aligned(sizeof(PIXEL))));
typedef floats floats_at __attribute__((aligned(4)));

#define LOAD(p)     (*(__global const floats_at *)(p))
#define STORE(p, v) (*(__global floats_at *)(p) = (v))

struct window {
    __global const PIXEL *rows[2 * REACH + 1]; /* one more on each side than the window has */
    __constant const uint *pairs;              /* two weights a word, see gaussian_exact_vectors */
    __constant const float *weights;
    int radius, groups;
    int upper; /* of u16: from the lower parts to the upper ones */
    float limit;
};

/* ---- Rows ---- */

/* Elements of two vectors by turns, in 128-bit pieces: of each piece's lower half, of its upper half. Sums
 * stand in that order until in_order(). */
#define BY_TURNS(i)                                                                                          \
    (i), (i) + LANES, (i) + 1, (i) + 1 + LANES, (i) + 2, (i) + 2 + LANES, (i) + 3, (i) + 3 + LANES
#if NATIVE == 64
#define LOWER_HALVES BY_TURNS(0), BY_TURNS(8), BY_TURNS(16), BY_TURNS(24)
#define UPPER_HALVES BY_TURNS(4), BY_TURNS(12), BY_TURNS(20), BY_TURNS(28)
#define FIRST        RUN4(0), RUN4(16), RUN4(4), RUN4(20)
#define SECOND       RUN4(8), RUN4(24), RUN4(12), RUN4(28)
#else
#define LOWER_HALVES BY_TURNS(0), BY_TURNS(8)
#define UPPER_HALVES BY_TURNS(4), BY_TURNS(12)
#define FIRST        RUN4(0), RUN4(8)
#define SECOND       RUN4(4), RUN4(12)
#endif

/* Sums of two neighbouring products each. */
inline ints add_products(shorts values, ints weights)
{
#ifdef PLAIN
    union {
        shorts s;
        ints i;
    } v;
    v.s = values;
    return (v.i << 16 >> 16) * (weights << 16 >> 16) + (v.i >> 16) * (weights >> 16);
#else
    union {
        shorts s;
        ints i;
        native_words words;
        native_ints native;
    } v, w, sum;
    v.s = values;
    w.i = weights;
    sum.native = MADD_WORDS(v.words, w.words);
    return sum.i;
#endif
}

/* What compilers are sure to keep in registers: no arrays. */
inline ints add_lower(ints sums, shorts a, shorts b, ints weights)
{
    return sums + add_products(__builtin_shufflevector(a, b, LOWER_HALVES), weights);
}

inline ints add_upper(ints sums, shorts a, shorts b, ints weights)
{
    return sums + add_products(__builtin_shufflevector(a, b, UPPER_HALVES), weights);
}

/* Levels as signed numbers: of u16, 32768 less, which sums of weights make 2^31. */
inline shorts levels(__global const PIXEL *p)
{
    pixels v = *(__global const pixels_at *)p;
#if HONE_T == 1
    union {
        pixels p;
        shorts s;
    } flipped;
    flipped.p = v ^ (ushort)0x8000;
    return flipped.s;
#else
    return CONVERT(v, shorts);
#endif
}

/* The two values that group g weighs. */
inline shorts first_of(const struct window *w, int g, int i)
{
#if HONE_T == 1
    return levels(w->rows[REACH - g] + i);
#else
    shorts sum = levels(w->rows[REACH - 2 * g] + i);
    return g ? sum + levels(w->rows[REACH + 2 * g] + i) : sum;
#endif
}

inline shorts second_of(const struct window *w, int g, int i)
{
#if HONE_T == 1
    return levels(w->rows[REACH + g] + i);
#else
    return levels(w->rows[REACH - 2 * g - 1] + i) + levels(w->rows[REACH + 2 * g + 1] + i);
#endif
}

inline void store_sums(const struct window *w, __global float *line, ints sums)
{
#if HONE_T == 1
    union {
        ints i;
        uints u;
    } s;
    s.i = sums;
    s.u ^= 0x80000000u;
    STORE(line, CONVERT(s.u & 0xffffffu, floats));
    STORE(line + w->upper, CONVERT(s.u >> 24, floats));
#else
    STORE(line, CONVERT(sums, floats));
#endif
}

inline void weigh_rows(const struct window *w, __global float *line, int i)
{
    ints a_low = 0, a_high = 0, b_low = 0, b_high = 0;
    for (int g = 0; g < w->groups; g++) {
        ints weights = (ints)(int)w->pairs[g];
        shorts a = first_of(w, g, i), a2 = second_of(w, g, i);
        shorts b = first_of(w, g, i + LANES), b2 = second_of(w, g, i + LANES);
        a_low = add_lower(a_low, a, a2, weights);
        a_high = add_upper(a_high, a, a2, weights);
        b_low = add_lower(b_low, b, b2, weights);
        b_high = add_upper(b_high, b, b2, weights);
    }
    store_sums(w, line + i, __builtin_shufflevector(a_low, a_high, FIRST));
    store_sums(w, line + i + HALF, __builtin_shufflevector(a_low, a_high, SECOND));
    store_sums(w, line + i + LANES, __builtin_shufflevector(b_low, b_high, FIRST));
    store_sums(w, line + i + LANES + HALF, __builtin_shufflevector(b_low, b_high, SECOND));
}

/* One sum of a row that is narrower than a block. */
inline void weigh_rows_one(const struct window *w, __global float *line, int i)
{
    uint sum = 0;
    for (int k = -w->radius; k <= w->radius; k++)
        sum += (uint)w->weights[abs(k)] * w->rows[REACH + k][i];
#if HONE_T == 1
    line[i] = (float)(sum & 0xffffffu);
    line[i + w->upper] = (float)(sum >> 24);
#else
    line[i] = (float)sum;
#endif
}

/* ---- Along the line ---- */

inline void extend_all(const struct window *w, __global float *line, int width, BORDER_TYPE border)
{
    uint outside = (uint)border << BITS;
#if HONE_T == 1
    extend(line, width, w->radius, w->radius, (float)(outside & 0xffffffu));
    extend(line + w->upper, width, w->radius, w->radius, (float)(outside >> 24));
#else
    extend(line, width, w->radius, w->radius, (float)outside);
#endif
}

/* The whole sum has up to 48 bits: products with the upper and the lower half of each sum of a row apart. */
#define ROUNDED(upper, lower) (((upper) + ((lower) >> 16) + (1u << (2 * BITS - 17))) >> (2 * BITS - 16))

inline results exact(const struct window *w, __global const float *line)
{
    uints upper = 0, lower = 0;
    for (int k = -w->radius; k <= w->radius; k++) {
        __global const float *at = line + k * HONE_C;
        uints sum = CONVERT(LOAD(at), uints);
        uint weight = (uint)w->weights[abs(k)];
#if HONE_T == 1
        sum |= CONVERT(LOAD(at + w->upper), uints) << 24;
#endif
        upper += (sum >> 16) * weight;
        lower += (sum & 0xffffu) * weight;
    }
    return CONVERT(ROUNDED(upper, lower), results);
}

inline PIXEL exact_one(const struct window *w, __global const float *line)
{
    uint upper = 0, lower = 0;
    for (int k = -w->radius; k <= w->radius; k++) {
        uint sum = (uint)line[k * HONE_C], weight = (uint)w->weights[abs(k)];
#if HONE_T == 1
        sum |= (uint)line[k * HONE_C + w->upper] << 24;
#endif
        upper += (sum >> 16) * weight;
        lower += (sum & 0xffffu) * weight;
    }
    return (PIXEL)ROUNDED(upper, lower);
}

inline floats pair(__global const float *line, int k)
{
    return LOAD(line - k * HONE_C) + LOAD(line + k * HONE_C);
}

/* Positive and below 2^23: adding 2^23 leaves the nearest integer. */
inline floats nearest(floats v)
{
    return (v + 8388608.0f) - 8388608.0f;
}

/* The result where the sums leave no doubt; *far grows to its distance from the sum. */
inline results round_sums(floats lower, floats upper, floats *far)
{
    floats value = lower * LEVEL, whole = 0;
#if HONE_T == 1
    upper *= LEVEL * (1 << 24);
    whole = CONVERT(CONVERT(upper, ints), floats);
    value += upper - whole;
#endif
    floats near = nearest(value), distance = fabs(value - near);
    *far = distance > *far ? distance : *far;
    return CONVERT(CONVERT(whole + near, ints), results);
}

inline void write(__global PIXEL *out, __global const PIXEL *centre, results result)
{
#if HONE_ALPHA
    results alpha = *(__global const results_at *)centre;
    for (int lane = 3; lane < HALF; lane += 4)
        result[lane] = alpha[lane];
#endif
    *(__global results_at *)out = result;
}

/* Sums of the lower parts, or of the upper ones, of a block. */
struct sums {
    floats a, b, c, d;
};

inline struct sums sum_block(const struct window *w, __global const float *line)
{
    struct sums s = {LOAD(line) * w->weights[0], LOAD(line + HALF) * w->weights[0],
                     LOAD(line + 2 * HALF) * w->weights[0], LOAD(line + 3 * HALF) * w->weights[0]};
    for (int k = 1; k <= w->radius; k++) {
        float weight = w->weights[k];
        s.a += pair(line, k) * weight;
        s.b += pair(line + HALF, k) * weight;
        s.c += pair(line + 2 * HALF, k) * weight;
        s.d += pair(line + 3 * HALF, k) * weight;
    }
    return s;
}

inline void weigh_line(const struct window *w, __global const float *line, __global const PIXEL *centre,
                       __global PIXEL *out)
{
    struct sums lower = sum_block(w, line), upper = {0, 0, 0, 0};
    floats far = 0;
#if HONE_T == 1
    upper = sum_block(w, line + w->upper);
#endif
    write(out, centre, round_sums(lower.a, upper.a, &far));
    write(out + HALF, centre + HALF, round_sums(lower.b, upper.b, &far));
    write(out + 2 * HALF, centre + 2 * HALF, round_sums(lower.c, upper.c, &far));
    write(out + 3 * HALF, centre + 3 * HALF, round_sums(lower.d, upper.d, &far));
    if (any(far > w->limit))
        for (int at = 0; at < BLOCK; at += HALF)
            write(out + at, centre + at, exact(w, line + at));
}

/* ---- Rows of results ---- */

inline void narrow_row(const struct window *w, __global float *line, __global PIXEL *out, int width,
                       BORDER_TYPE border)
{
    int count = width * HONE_C;
    for (int i = 0; i < count; i++)
        weigh_rows_one(w, line, i);
    extend_all(w, line, width, border);
    for (int i = 0; i < count; i++)
        out[i] = IS_ALPHA(i % HONE_C) ? w->rows[REACH][i] : exact_one(w, line + i);
}

/* A last block that is not whole begins over elements that are done already. */
inline void wide_row(const struct window *w, __global float *line, __global PIXEL *out, int width,
                     BORDER_TYPE border)
{
    __global const PIXEL *centre = w->rows[REACH];
    int count = width * HONE_C;
    for (int i = 0; i < count; i += BLOCK)
        weigh_rows(w, line, min(i, count - BLOCK));
    extend_all(w, line, width, border);
    for (int i = 0; i < count; i += BLOCK) {
        int at = min(i, count - BLOCK);
        weigh_line(w, line + at, centre + at, out + at);
    }
}

/* `reach` is what the border rules go by. */
__kernel void gaussian_exact_bands(__global const PIXEL *in, int in_offset, int in_pitch, __global PIXEL *out,
                                   int out_offset, int out_pitch, int width, int height, BORDER_TYPE border,
                                   __constant const uint *table, int groups, int radius, int reach,
                                   __global float *scratch, int line_elements)
{
    int band = get_global_id(0), y = band * ROWS, end = min(y + ROWS, height), count = width * HONE_C;
    if (y >= height)
        return;
    __global float *line = scratch + (size_t)band * line_elements * (HONE_T + 2);
    __global PIXEL *beyond =
        (__global PIXEL *)(line + line_elements * (HONE_T + 1)); /* a row of border values */
    struct window w = {.pairs = table,
                       .weights = (__constant const float *)(table + groups),
                       .radius = radius,
                       .groups = groups,
                       .upper = line_elements,
                       .limit = 0.5f - (float)(radius + 6) / 65536.0f};
    line += radius * HONE_C;
    in += in_offset;
    out += out_offset;
    const struct sink sink = {out, out_pitch};
    for (int i = 0; HONE_BORDER == BORDER_CONSTANT && i < count; i++)
        beyond[i] = (PIXEL)border;
    for (; y < end; y++) {
        for (int k = -radius - 1; k <= radius + 1; k++) {
            int inside;
            __global const PIXEL *row = hone_row(in, in_pitch, y + k, height, &inside);
            w.rows[k + REACH] = REAL_ROW(inside) ? row : beyond;
        }
        if (count >= BLOCK)
            wide_row(&w, line, out + y * out_pitch, width, border);
        else
            narrow_row(&w, line, out + y * out_pitch, width, border);
        clear_outside(&sink, y, width, height, 2 * reach + 1, 2 * reach + 1);
    }
}
