/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * exact=yes for CPUs, small sigma: as cpu.cl, a work-item owns a band of whole rows; the window's rows are
 * weighted into a line, and the line along itself. Both in integers: products of 16 bits, two at a time,
 * summed in 32 bits.
 *
 *   1. Rows: a sum is stored in two words of 16 bits, the upper and the lower one.
 *   2. Along the line: the upper words' sum and the lower words' sum, each exact, make the result.
 *
 * Of u8 the lower words weigh less than 2^-7 levels together: they are summed only for vectors in which the
 * upper ones' sum is as near as that to a tie. The upper words have 15 bits, so that two of them are added
 * before they are multiplied.
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
#define HALF  (LANES / 2) /* 32-bit ones */
#define BLOCK (2 * LANES) /* elements at a time, so that a weight is fetched once for all */

#define BITS  (15 + HONE_T) /* a weight is a part of 2^BITS */

typedef PIXEL pixels __attribute__((ext_vector_type(LANES)));
typedef ushort ushorts __attribute__((ext_vector_type(LANES)));
typedef uint uints __attribute__((ext_vector_type(HALF)));
typedef pixels pixels_at __attribute__((aligned(sizeof(PIXEL))));
typedef shorts shorts_at __attribute__((aligned(2)));

#define LOAD(p)     (*(__global const shorts_at *)(p))
#define STORE(p, v) (*(__global shorts_at *)(p) = (v))

struct window {
    __global const PIXEL *rows[2 * REACH + 1]; /* one more on each side than the window has */
    __constant const uint *pairs;              /* two weights a word, see gaussian_exact_vectors */
    __constant const uint *weights;
    int radius, groups;
    int lower; /* from the upper words of a line to the lower ones */
};

/* ---- Vectors of sums ---- */

/* The sums of a vector's elements: of the lower and the upper half of each 128-bit piece. */
struct sums {
    ints low, high;
};

/* Elements of two vectors by turns, in 128-bit pieces: of each piece's lower half, of its upper half. */
#define BY_TURNS(i)                                                                                          \
    (i), (i) + LANES, (i) + 1, (i) + 1 + LANES, (i) + 2, (i) + 2 + LANES, (i) + 3, (i) + 3 + LANES
#if NATIVE == 64
#define LOWER_HALVES BY_TURNS(0), BY_TURNS(8), BY_TURNS(16), BY_TURNS(24)
#define UPPER_HALVES BY_TURNS(4), BY_TURNS(12), BY_TURNS(20), BY_TURNS(28)
#else
#define LOWER_HALVES BY_TURNS(0), BY_TURNS(8)
#define UPPER_HALVES BY_TURNS(4), BY_TURNS(12)
#endif

/* `weights` holds those of a and of b. */
inline struct sums add_pair(struct sums s, shorts a, shorts b, uint weights)
{
    ints both = (ints)(int)weights;
    s.low += add_products(__builtin_shufflevector(a, b, LOWER_HALVES), both);
    s.high += add_products(__builtin_shufflevector(a, b, UPPER_HALVES), both);
    return s;
}

/* What fits into 16 bits, in the order of elements. */
inline shorts in_order(struct sums s)
{
    return pack_ints(s.low, s.high);
}

/* The two values that group g of a line weighs: of u8 the sums at distances 2 g and 2 g + 1, of u16 both at
 * distance g. `at` gives the value at a distance. */
#if HONE_T == 0
#define FIRST_OF(at, g)  (at(-2 * (g)) + at(2 * (g)))
#define SECOND_OF(at, g) (at(-2 * (g)-1) + at(2 * (g) + 1))
#define CENTRE_OF(at)    (at(-1) + at(1))
#else
#define FIRST_OF(at, g)  at(-(g))
#define SECOND_OF(at, g) at(g)
#define CENTRE_OF(at)    at(0)
#endif

/* Both are whole numbers less an offset, so that 16 signed bits hold them: of u16 levels less 2^15, which all
 * weights together make 2^31; of u8 sums less 2^22. */
#if HONE_T == 0
#define ROWS_START (128 - (1 << 22)) /* sums are split into (sum + 128) >> 8, and what is left */
#define LINE_START ((1 << 29) + (1 << 21) + (1 << 14)) /* the offset, half a level, what may be missing */
#else
#define ROWS_START 0
#define LINE_START (1 << 15)
#endif

/* ---- Rows ---- */

/* A sum's two words. */
#if HONE_T == 0
#define UPPER_WORD(sum) ((sum) >> 8)
#define LOWER_WORD(sum) ((sum)&255)
#else
#define LOWER_WORD(sum) ((sum) << 16 >> 16)
#define UPPER_WORD(sum) (((sum) + 32768) >> 16)
#endif

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

#if HONE_T == 0
typedef uchar bytes __attribute__((ext_vector_type(NATIVE)));
typedef bytes bytes_at __attribute__((aligned(1)));

/* Of a block, the sums of two bytes: of the lower and the upper half of each 128-bit piece. */
struct words {
    shorts low, high;
};

#define BYTES_BY_TURNS(i)                                                                                    \
    (i), (i) + NATIVE, (i) + 1, (i) + 1 + NATIVE, (i) + 2, (i) + 2 + NATIVE, (i) + 3, (i) + 3 + NATIVE,      \
        (i) + 4, (i) + 4 + NATIVE, (i) + 5, (i) + 5 + NATIVE, (i) + 6, (i) + 6 + NATIVE, (i) + 7,            \
        (i) + 7 + NATIVE
#define RUN8(k) RUN4(k), RUN4((k) + 4)
#if NATIVE == 64
#define LOWER_BYTES  BYTES_BY_TURNS(0), BYTES_BY_TURNS(16), BYTES_BY_TURNS(32), BYTES_BY_TURNS(48)
#define UPPER_BYTES  BYTES_BY_TURNS(8), BYTES_BY_TURNS(24), BYTES_BY_TURNS(40), BYTES_BY_TURNS(56)
#define FIRST_WORDS  RUN8(0), RUN8(32), RUN8(8), RUN8(40)
#define SECOND_WORDS RUN8(16), RUN8(48), RUN8(24), RUN8(56)
#else
#define LOWER_BYTES  BYTES_BY_TURNS(0), BYTES_BY_TURNS(16)
#define UPPER_BYTES  BYTES_BY_TURNS(8), BYTES_BY_TURNS(24)
#define FIRST_WORDS  RUN8(0), RUN8(16)
#define SECOND_WORDS RUN8(8), RUN8(24)
#endif

inline shorts add_bytes(bytes v)
{
#ifdef PLAIN
    union {
        bytes b;
        ushorts u;
        shorts s;
    } sum;
    sum.b = v;
    sum.u = (sum.u & (ushort)255) + (sum.u >> (ushort)8);
    return sum.s;
#else
    union {
        bytes b;
        native_bytes native;
    } pairs, ones;
    union {
        native_words native;
        shorts s;
    } sum;
    pairs.b = v;
    ones.b = (bytes)(uchar)1;
    sum.native = MADD_BYTES(pairs.native, ones.native);
    return sum.s;
#endif
}

inline struct words add_rows(bytes a, bytes b)
{
    struct words sum = {add_bytes(__builtin_shufflevector(a, b, LOWER_BYTES)),
                        add_bytes(__builtin_shufflevector(a, b, UPPER_BYTES))};
    return sum;
}

inline struct words two_rows(const struct window *w, int k, int i)
{
    return add_rows(*(__global const bytes_at *)(w->rows[REACH - k] + i),
                    *(__global const bytes_at *)(w->rows[REACH + k] + i));
}

/* Words of a block whose halves are by pieces. */
inline void store_words(__global short *line, shorts a, shorts b)
{
    STORE(line, __builtin_shufflevector(a, b, FIRST_WORDS));
    STORE(line + LANES, __builtin_shufflevector(a, b, SECOND_WORDS));
}

inline void weigh_rows(const struct window *w, __global short *line, int i)
{
    struct sums a = {ROWS_START, ROWS_START}, b = a;
    struct words first = add_rows(*(__global const bytes_at *)(w->rows[REACH] + i), (bytes)(uchar)0);
    struct words second = two_rows(w, 1, i);
    a = add_pair(a, first.low, second.low, w->pairs[0]);
    b = add_pair(b, first.high, second.high, w->pairs[0]);
    for (int g = 1; g < w->groups; g++) {
        first = two_rows(w, 2 * g, i);
        second = two_rows(w, 2 * g + 1, i);
        a = add_pair(a, first.low, second.low, w->pairs[g]);
        b = add_pair(b, first.high, second.high, w->pairs[g]);
    }
    store_words(line + i, upper_words(a), upper_words(b));
    store_words(line + i + w->lower, lower_words(a), lower_words(b));
}
#else
/* Levels as signed numbers, 32768 less. */
inline shorts levels(__global const PIXEL *p)
{
    union {
        pixels p;
        shorts s;
    } flipped;
    flipped.p = *(__global const pixels_at *)p ^ (ushort)0x8000;
    return flipped.s;
}

inline void weigh_rows(const struct window *w, __global short *line, int i)
{
    struct sums a = {ROWS_START, ROWS_START}, b = a;
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
#endif

/* A sum of row values as it is stored. */
inline int from_start(uint sum)
{
    return HONE_T == 0 ? (int)sum + ROWS_START : (int)(sum - 0x80000000u);
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

/* One more on each side than the window has: a last group's second weight may be 0. */
inline void extend_all(const struct window *w, __global short *line, int width, BORDER_TYPE border)
{
    int outside = from_start((uint)border << BITS), reach = w->radius + 1;
    extend(line, width, reach, reach, (short)UPPER_WORD(outside));
    extend(line + w->lower, width, reach, reach, (short)LOWER_WORD(outside));
}

/* A vector of the line's words. */
inline struct sums sum_words(const struct window *w, __global const short *line, int start)
{
#define WORDS(k) LOAD(line + (k)*HONE_C)
    struct sums s = {start, start};
    s = add_pair(s, WORDS(0), CENTRE_OF(WORDS), w->pairs[0]);
    for (int g = 1; g < w->groups; g++)
        s = add_pair(s, FIRST_OF(WORDS, g), SECOND_OF(WORDS, g), w->pairs[g]);
    return s;
}

inline void write(__global PIXEL *out, __global const PIXEL *centre, struct sums result)
{
    union {
        shorts s;
        ushorts u;
    } words;
    words.s = in_order(result);
#if HONE_T == 1
    words.u ^= (ushort)0x8000;
#endif
    pixels v = CONVERT(words.u, pixels);
    *(__global pixels_at *)out = WITH_ALPHA(v, *(__global const pixels_at *)centre);
}

#if HONE_T == 0
/* The lower words stand 128 too high, as the split has it: with weights of 2^15 and divided by 256, 2^14. The
 * other 2^14 are those of LINE_START. */
inline void finish_near(const struct window *w, __global const short *line, struct sums *upper)
{
    struct sums lower = sum_words(w, line + w->lower, 0);
    upper->low += (lower.low >> 8) - (1 << 15);
    upper->high += (lower.high >> 8) - (1 << 15);
}

/* Whether a lane of a comparison holds: without a branch for each. */
inline bool any_set(ints lanes)
{
#ifdef NONE_SET
    union {
        ints i;
        native_longs native;
    } v;
    v.i = lanes;
    return !NONE_SET(v.native, v.native);
#elif defined(REDUCE_OR)
    return REDUCE_OR(lanes) != 0;
#else
    union {
        ints i;
        ulong parts[HALF / 2];
    } v;
    v.i = lanes;
    ulong set = 0;
    for (int k = 0; k < HALF / 2; k++)
        set |= v.parts[k];
    return set != 0;
#endif
}

/* A level is 2^22 of the upper words' sum, and what the lower ones may add is at least -2^14 and less than
 * 2^14: with LINE_START, less than 2^15 past a level is near. */
inline bool is_near(struct sums s)
{
    union {
        ints i;
        uints u;
    } low, high;
    low.i = s.low << 10;
    high.i = s.high << 10;
    uints least = low.u < high.u ? low.u : high.u;
    return any_set(least < 1u << 25);
}

inline void finish(const struct window *w, __global const short *line, __global const PIXEL *centre,
                   __global PIXEL *out, struct sums upper)
{
    if (is_near(upper))
        finish_near(w, line, &upper);
    struct sums result = {upper.low >> 22, upper.high >> 22};
    write(out, centre, result);
}
#else
inline void finish(const struct window *w, __global const short *line, __global const PIXEL *centre,
                   __global PIXEL *out, struct sums upper)
{
    struct sums lower = sum_words(w, line + w->lower, 0);
    struct sums result = {(upper.low + (lower.low >> 16)) >> 16, (upper.high + (lower.high >> 16)) >> 16};
    write(out, centre, result);
}
#endif

inline void weigh_line(const struct window *w, __global const short *line, __global const PIXEL *centre,
                       __global PIXEL *out)
{
#define WORDS_A(k) LOAD(line + (k)*HONE_C)
#define WORDS_B(k) LOAD(line + (k)*HONE_C + LANES)
    struct sums a = {LINE_START, LINE_START}, b = a;
    a = add_pair(a, WORDS_A(0), CENTRE_OF(WORDS_A), w->pairs[0]);
    b = add_pair(b, WORDS_B(0), CENTRE_OF(WORDS_B), w->pairs[0]);
    for (int g = 1; g < w->groups; g++) {
        a = add_pair(a, FIRST_OF(WORDS_A, g), SECOND_OF(WORDS_A, g), w->pairs[g]);
        b = add_pair(b, FIRST_OF(WORDS_B, g), SECOND_OF(WORDS_B, g), w->pairs[g]);
    }
    finish(w, line, centre, out, a);
    finish(w, line + LANES, centre + LANES, out + LANES, b);
}

inline PIXEL weigh_line_one(const struct window *w, __global const short *line)
{
    ulong sum = (ulong)1 << (2 * BITS - 1);
    for (int k = -w->radius; k <= w->radius; k++) {
        int upper = line[k * HONE_C], lower = line[k * HONE_C + w->lower];
        uint stored = HONE_T == 0 ? (uint)(upper * 256 + lower - ROWS_START)
                                  : ((uint)upper << 16) + (uint)lower + 0x80000000u;
        sum += (ulong)w->weights[abs(k)] * stored;
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
    line += (radius + 1) * HONE_C;
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
