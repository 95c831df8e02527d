/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * exact=yes of u16 for CPUs, small sigma: as cpu.cl, a work-item owns a band of whole rows; the window's rows
 * are weighted into a line, and the line along itself. Both in integers: products of 16 bits, two at a time,
 * summed in 32 bits.
 *
 *   1. Rows: a sum is stored in two words of 16 bits, the upper and the lower one.
 *   2. Along the line: the upper words' sum and the lower words' sum, each exact, make the result.
 */
#ifndef ROWS
#define ROWS 32 /* rows of a band */
#endif
#ifndef REACH
#define REACH 32 /* the window's radius is less */
#endif

#define CELL short
#include "filters/bands.clh"
#include "filters/products.clh"
#if NATIVE == 64
#define LANES 32 /* 16-bit elements of a vector */
#else
#define LANES 16
#endif
#define BLOCK (2 * LANES) /* elements at a time, so that a weight is fetched once for all */
#define BITS  16          /* a weight is a part of 2^BITS */

typedef PIXEL pixels __attribute__((ext_vector_type(LANES)));
typedef pixels pixels_at __attribute__((aligned(sizeof(PIXEL))));
typedef shorts shorts_at __attribute__((aligned(2)));

#define LOAD(p)     (*(__global const shorts_at *)(p))
#define STORE(p, v) (*(__global shorts_at *)(p) = (v))

struct window {
    __global const PIXEL *rows[2 * REACH + 1];
    __constant const uint *pairs; /* two weights a word, see gaussian_exact_vectors */
    __constant const uint *weights;
    int radius, groups;
    int lower; /* from the upper words of a line to the lower ones */
};

/* ---- Vectors of sums ---- */

/* The sums of a vector's elements: of the lower and the upper half of each 128-bit piece. */
struct sums {
    ints low, high;
};

/* `weights` holds those of a and of b. */
inline struct sums add_pair(struct sums s, shorts a, shorts b, uint weights)
{
    ints both = (ints)(int)weights;
    s.low += add_products(__builtin_shufflevector(a, b, LOWER_WORDS), both);
    s.high += add_products(__builtin_shufflevector(a, b, UPPER_WORDS), both);
    return s;
}

/* What fits into 16 bits, in the order of elements. */
inline shorts in_order(struct sums s)
{
    return pack_ints(s.low, s.high);
}

/* Levels are stored as whole numbers less 2^15, so that 16 signed bits hold them; all weights together make
 * 2^31 of that. */
#define OFFSET 0x80000000u

/* ---- Rows ---- */

/* A sum's two words. */
#define LOWER_WORD(sum) ((sum) << 16 >> 16)
#define UPPER_WORD(sum) (((sum) + 32768) >> 16)

inline shorts upper_words(struct sums s)
{
    struct sums words = {UPPER_WORD(s.low), UPPER_WORD(s.high)};
    return in_order(words);
}

inline shorts lower_words(struct sums s)
{
    struct sums words = {LOWER_WORD(s.low), LOWER_WORD(s.high)};
    return in_order(words);
}

/* Levels as signed numbers, 32768 less. */
inline shorts levels(__global const PIXEL *p)
{
    union {
        ushorts u;
        shorts s;
    } flipped;
    flipped.u = CONVERT(*(__global const pixels_at *)p, ushorts) ^ (ushort)0x8000;
    return flipped.s;
}

inline void weigh_rows(const struct window *w, __global short *line, int i)
{
    struct sums a = {0, 0}, b = a;
    for (int g = 0; g < w->groups; g++) {
        __global const PIXEL *above = w->rows[REACH - g] + i, *below = w->rows[REACH + g] + i;
        a = add_pair(a, levels(above), levels(below), w->pairs[g]);
        b = add_pair(b, levels(above + LANES), levels(below + LANES), w->pairs[g]);
    }
    STORE(line + i, upper_words(a));
    STORE(line + i + LANES, upper_words(b));
    STORE(line + i + w->lower, lower_words(a));
    STORE(line + i + w->lower + LANES, lower_words(b));
}

/* A sum of row values as it is stored. */
inline int from_start(uint sum)
{
    return (int)(sum - OFFSET);
}

inline void put_sum(const struct window *w, __global short *line, uint sum)
{
    int stored = from_start(sum);
    line[0] = (short)UPPER_WORD(stored);
    line[w->lower] = (short)LOWER_WORD(stored);
}

/* One sum of a row that is narrower than a block. */
inline void weigh_rows_one(const struct window *w, __global short *line, int i)
{
    uint sum = 0;
    for (int k = -w->radius; k <= w->radius; k++)
        sum += w->weights[abs(k)] * w->rows[REACH + k][i];
    put_sum(w, line + i, sum);
}

/* ---- Along the line ---- */

inline void extend_all(const struct window *w, __global short *line, int width, BORDER_TYPE border)
{
    int outside = from_start((uint)border << BITS), reach = w->radius;
    extend(line, width, reach, reach, (short)UPPER_WORD(outside));
    extend(line + w->lower, width, reach, reach, (short)LOWER_WORD(outside));
}

/* A vector of the line's words. */
inline struct sums sum_words(const struct window *w, __global const short *line)
{
    struct sums s = {0, 0};
    for (int g = 0; g < w->groups; g++)
        s = add_pair(s, LOAD(line - g * HONE_C), LOAD(line + g * HONE_C), w->pairs[g]);
    return s;
}

inline void write(__global PIXEL *out, __global const PIXEL *centre, struct sums result)
{
    union {
        shorts s;
        ushorts u;
    } words;
    words.s = in_order(result);
    words.u ^= (ushort)0x8000;
    pixels v = CONVERT(words.u, pixels);
    *(__global pixels_at *)out = WITH_ALPHA(v, *(__global const pixels_at *)centre);
}

inline void finish(const struct window *w, __global const short *line, __global const PIXEL *centre,
                   __global PIXEL *out, struct sums upper)
{
    struct sums lower = sum_words(w, line + w->lower);
    struct sums result = {(upper.low + (lower.low >> 16)) >> 16, (upper.high + (lower.high >> 16)) >> 16};
    write(out, centre, result);
}

inline void weigh_line(const struct window *w, __global const short *line, __global const PIXEL *centre,
                       __global PIXEL *out)
{
    struct sums a = {1 << 15, 1 << 15}, b = a; /* half a level */
    for (int g = 0; g < w->groups; g++) {
        __global const short *left = line - g * HONE_C, *right = line + g * HONE_C;
        a = add_pair(a, LOAD(left), LOAD(right), w->pairs[g]);
        b = add_pair(b, LOAD(left + LANES), LOAD(right + LANES), w->pairs[g]);
    }
    finish(w, line, centre, out, a);
    finish(w, line + LANES, centre + LANES, out + LANES, b);
}

inline PIXEL weigh_line_one(const struct window *w, __global const short *line)
{
    ulong sum = (ulong)1 << (2 * BITS - 1);
    for (int k = -w->radius; k <= w->radius; k++) {
        int upper = line[k * HONE_C], lower = line[k * HONE_C + w->lower];
        sum += (ulong)w->weights[abs(k)] * (((uint)upper << 16) + (uint)lower + OFFSET);
    }
    return (PIXEL)(sum >> 2 * BITS);
}

/* ---- Rows of results ---- */

inline void narrow_row(const struct window *w, __global short *line, __global PIXEL *out, int width,
                       BORDER_TYPE border)
{
    int count = width * HONE_C;
    for (int i = 0; i < count; i++)
        weigh_rows_one(w, line, i);
    extend_all(w, line, width, border);
    for (int i = 0; i < count; i++)
        out[i] = IS_ALPHA(i % HONE_C) ? w->rows[REACH][i] : weigh_line_one(w, line + i);
}

/* A last block that is not whole begins over elements that are done already. */
inline void wide_row(const struct window *w, __global short *line, __global PIXEL *out, int width,
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
                                   __global short *scratch, int line_elements)
{
    int band = get_global_id(0), y = band * ROWS, end = min(y + ROWS, height), count = width * HONE_C;
    if (y >= height)
        return;
    __global short *line = scratch + (size_t)band * line_elements * 3;
    __global PIXEL *beyond = (__global PIXEL *)(line + line_elements * 2); /* a row of border values */
    struct window w = {.pairs = table,
                       .weights = table + groups,
                       .radius = radius,
                       .groups = groups,
                       .lower = line_elements};
    line += radius * HONE_C;
    in += in_offset;
    out += out_offset;
    const struct sink sink = {out, out_pitch};
    for (int i = 0; HONE_BORDER == BORDER_CONSTANT && i < count; i++)
        beyond[i] = (PIXEL)border;
    for (; y < end; y++) {
        for (int k = -radius; k <= radius; k++) {
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
