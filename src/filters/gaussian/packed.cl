/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * For GPUs, small sigma: every weight, both passes in registers. Of f32 any number of channels, else one.
 *
 * A work-item owns PX neighbouring elements (a pixel has HONE_C) and walks down ROWS rows. Each row is
 * weighted along itself; that sum is added with its weight to all results whose windows hold the row, one of
 * which is then complete.
 *
 * Of u8, products of two bytes of a word with two weights of 16 bits are added at once (dp2a), without
 * unpacking; pairs of bytes begin at even places for every result, for what is too much has the weight 0. The
 * sum starts at the bits of 2^23 as a float: it stays below 2^24, so its bits are the float 2^23 + sum, and
 * nothing is converted. What the 2^23 add up to is a constant, since all weights sum to 1, and leaves with
 * the rounding.
 *
 * EXACT (exact=yes, see exact.c): u8. Sums along rows are exact as they are. Those of columns are rounded
 * once a row, to a quarter of a part of 2^15 at most. Where registers suffice (WRAPPED) the lowest 32 bits of
 * the whole sum are formed beside them, which hold the rounding and the lowest two bits of the level; else
 * results near a tie are formed again in integers.
 *
 * Every loop over pixels, words and rows of the window is unrolled: their indices must be constants for the
 * arrays to live in registers.
 */
#ifndef PX
#define PX 4 /* elements across: 2, 4, 8 or 16 */
#endif
#ifndef ROWS
#define ROWS 64 /* rows per work-item */
#endif
#ifndef UNROLL
#define UNROLL 2 /* rows per round of the loop */
#endif
#ifndef RADIUS
#define RADIUS 7 /* the window reaches so far */
#endif

#ifndef EXACT
#define EXACT 0
#endif
#if EXACT
#define TABLE  __constant const uint *
#define PACKED gaussian_exact_packed
#else
#define TABLE  __constant const float *
#define PACKED gaussian_packed
#endif

#define BYTES        (1 << HONE_T) /* of a pixel */
#define PART         (4 / BYTES)   /* pixels of a word */
#define WORDS        (PX / PART)
#define REACH        (RADIUS * HONE_C)       /* elements */
#define SIDE         ((REACH + PX - 1) / PX) /* loads of PX elements to each side of the strip */
#define BEFORE       (SIDE * WORDS)
#define ALL          (2 * BEFORE + WORDS)
#define SPAN         (2 * RADIUS)
#define WRAPPED      (EXACT && RADIUS * PX <= 44)
#define WRAPPED_ROWS (WRAPPED ? SPAN : 1)

/* Of several channels a row sees too much to be held, or loaded before the one above is taken in. */
#define STREAMED (HONE_C > 1)

/* Elements to each side that no edge may cut off. */
#if HONE_BORDER == BORDER_ZERO_OUTSIDE
#define MARGIN(reach) max(reach *HONE_C, SIDE *PX)
#else
#define MARGIN(reach) (SIDE * PX)
#endif
#define BLOCK  32 /* neighbouring work-items of which all take the slow path at an edge, or none */

#define LOADED (WORDS < 4 ? WORDS : 4) /* words that one load takes */

#include "filters/words.clh"

struct strip {
    __global const PIXEL *in;
    int pitch, width, height;
    BORDER_TYPE border;
    TABLE table;
    int at; /* the strip's first element */
};

/* Bits of 2^23 as a float, and what rounds a float (of u8: + 256) to an integer in its lowest bits. */
#define START 0x4B000000u
#if HONE_T == 0
#define ROUND (12582912.0f - 256.0f)
#else
#define ROUND 12582912.0f
#endif

#if WITH_PTX || defined(FP_FAST_FMAF)
#define ADD_PRODUCT(a, b, sum) fma(a, b, sum)
#else
#define ADD_PRODUCT(a, b, sum) ((a) * (b) + (sum))
#endif

inline void load_row(uint *w, const struct strip *s, int y, bool edge)
{
    int inside;
    __global const PIXEL *row = hone_row(s->in, s->pitch, y, s->height, &inside);
    if (edge) {
#pragma unroll
        for (int k = 0; k < ALL; k++)
            w[k] = word_at(row, inside, hidden(s->at + PART * (k - BEFORE)), s->width, s->border);
    } else {
#pragma unroll
        for (int k = 0; k < ALL; k += LOADED)
            load_words(w + k, row + s->at + PART * (k - BEFORE), LOADED);
    }
#pragma unroll
    for (int k = 0; k < ALL; k++)
        w[k] = REAL_ROW(inside) ? w[k] : outside_word(s->border);
}

#if HONE_T == 0
struct weights {
    uint across[SPAN +
                2]; /* of the pixels i and i + 1, counted from the result's, i = -RADIUS - 1 ... RADIUS */
    float down[RADIUS + 1]; /* of sums of parts of 2^15 */
#if EXACT
    uint whole[RADIUS + 1];
#endif
};

/* Along rows in parts of 2^15, rounded but for the centre, which takes what is missing to exactly 2^15. */
inline void make_weights(struct weights *to, TABLE table)
{
    uint part[RADIUS + 2];
#if !EXACT
    uint rest = 32768;
#endif
#pragma unroll
    for (int i = RADIUS; i >= 0; i--) {
#if EXACT
        part[i] = to->whole[i] = table[i];
#else
        part[i] = i ? (uint)(table[i] * 32768.0f + 0.5f) : rest;
        rest -= 2 * part[i];
#endif
        to->down[i] = table[i] * 0x1p-15f;
    }
    part[RADIUS + 1] = 0;
#pragma unroll
    for (int i = 0; i <= RADIUS; i++) {
        to->across[RADIUS + 1 + i] = part[i] | part[i + 1] << 16;
        to->across[RADIUS - i] = part[i + 1] | part[i] << 16;
    }
}

/* 2^23 + 2^15 times the weighted sums along the row. */
inline void sum_across(float *sums, const uint *w, const struct weights *weights)
{
#pragma unroll
    for (int p = 0; p < PX; p++) {
        uint sum = START;
        int first = p - RADIUS - ((p - RADIUS) & 1);
#pragma unroll
        for (int j = 0; j <= RADIUS; j++) {
            int at = 4 * BEFORE + first + 2 * j;
            uint pair = weights->across[first + 2 * j - p + RADIUS + 1];
            sum = at & 2 ? hone_products_high(w[at / 4], pair, sum) : hone_products_low(w[at / 4], pair, sum);
        }
        sums[p] = EXACT ? as_float(sum) - as_float(START) : as_float(sum);
    }
}

#else
struct weights {
    float down[RADIUS + 1]; /* and across */
};

inline void make_weights(struct weights *to, TABLE table)
{
#pragma unroll
    for (int i = 0; i <= RADIUS; i++)
        to->down[i] = table[i];
}

inline float pixel(const uint *w, int i)
{
#if FLOATING
    return as_float(w[i]);
#else
    return as_float(START | (i & 1 ? w[i / 2] >> 16 : w[i / 2] & 0xffffu)) - as_float(START);
#endif
}

/* The weighted sums along the row. */
inline void sum_across(float *sums, const uint *w, const struct weights *weights)
{
    float value[PX + 2 * REACH];
#pragma unroll
    for (int i = 0; i < PX + 2 * REACH; i++)
        value[i] = pixel(w, PART * BEFORE - REACH + i);
#pragma unroll
    for (int p = 0; p < PX; p++) {
        float sum = weights->down[0] * value[p + REACH];
#pragma unroll
        for (int i = 1; i <= RADIUS; i++) {
            sum = ADD_PRODUCT(weights->down[i], value[p + REACH - HONE_C * i], sum);
            sum = ADD_PRODUCT(weights->down[i], value[p + REACH + HONE_C * i], sum);
        }
        sums[p] = sum;
    }
}
#endif

#if STREAMED
/* The same of row y, element by element with the border rule. */
inline void sum_carefully(float *sums, const struct strip *s, int y)
{
    int inside;
    __global const PIXEL *row = hone_row(s->in, s->pitch, y, s->height, &inside);
#pragma unroll
    for (int p = 0; p < PX; p++) {
        sums[p] = 0;
#pragma unroll 1
        for (int i = -RADIUS; i <= RADIUS; i++)
            sums[p] = ADD_PRODUCT(
                s->table[abs(i)],
                hone_element(row, REAL_ROW(inside), s->at + p + HONE_C * i, s->width, s->border), sums[p]);
    }
}

/* The same of row y, as it is loaded. */
inline void sum_stream(float *sums, const struct strip *s, int y, const struct weights *weights)
{
    int inside;
    __global const PIXEL *row = hone_row(s->in, s->pitch, y, s->height, &inside);
#pragma unroll
    for (int p = 0; p < PX; p++)
        sums[p] = 0;
#pragma unroll
    for (int k = 0; k < ALL; k += LOADED) {
        uint w[LOADED];
        load_words(w, row + s->at + (k - BEFORE), LOADED);
#pragma unroll
        for (int e = 0; e < LOADED * PX; e++) {
            int p = e % PX, distance = k + e / PX - BEFORE - p, i = abs(distance) / HONE_C;
            float value = as_float(REAL_ROW(inside) ? w[e / PX] : outside_word(s->border));
            if (distance % HONE_C == 0 && i <= RADIUS)
                sums[p] = ADD_PRODUCT(weights->down[min(i, RADIUS)], value, sums[p]);
        }
    }
}
#endif

/* Adds a row to all results that it belongs to. sums[j] lack j + 1 rows; those of 0 go to `done`. */
inline void add_row(float sums[SPAN][PX], float *done, const float *row, const struct weights *weights)
{
#pragma unroll
    for (int p = 0; p < PX; p++) {
        done[p] = ADD_PRODUCT(row[p], weights->down[RADIUS], sums[0][p]);
#pragma unroll
        for (int j = 0; j < SPAN; j++) {
            float weight = weights->down[RADIUS - 1 - j >= 0 ? RADIUS - 1 - j : j + 1 - RADIUS];
            sums[j][p] = j + 1 < SPAN ? ADD_PRODUCT(row[p], weight, sums[j + 1 < SPAN ? j + 1 : j][p])
                                      : row[p] * weight;
        }
    }
}

#if EXACT
/* In levels: half a unit in the last place of a sum below 2^23 for each product (and for each sum, without
 * fma), and what the rounding itself adds. */
#if WITH_PTX || defined(FP_FAST_FMAF)
#define NEAR_TIE ((0.25f * (SPAN + 1) + 1) * 0x1p-15f)
#else
#define NEAR_TIE ((0.5f * (SPAN + 1) + 1) * 0x1p-15f)
#endif

/* The whole window in integers. */
inline uint exact_level(const struct strip *s, int x, int y)
{
    ulong sum = 1 << 29;
#pragma unroll 1
    for (int j = -RADIUS; j <= RADIUS; j++) {
        int inside;
        uint line = 0;
        __global const PIXEL *row = hone_row(s->in, s->pitch, y + j, s->height, &inside);
        if (REAL_ROW(inside) && x >= RADIUS && x + RADIUS < s->width) {
            line = s->table[0] * row[x];
#pragma unroll 2
            for (int i = 1; i <= RADIUS; i++)
                line += s->table[i] * ((uint)row[x - i] + row[x + i]);
        } else {
#pragma unroll 1
            for (int i = -RADIUS; i <= RADIUS; i++)
                line += s->table[abs(i)] * hone_at(row, inside, x + i, 0, s->width, s->border);
        }
        sum += (ulong)s->table[abs(j)] * line;
    }
    return (uint)(sum >> 30);
}

/* Rounded half up; `sum` is a whole number of parts of 2^15, but for its errors. */
inline uint level_of(float sum, const struct strip *s, int x, int y)
{
    float shifted = sum * 0x1p-15f + 0.5f, level = floor(shifted), rest = shifted - level;
    return rest < NEAR_TIE || rest > 1 - NEAR_TIE ? exact_level(s, x, y) : (uint)level;
}
#endif

#if WRAPPED
/* The same for sums that wrap around. */
inline void add_wrapped(uint sums[SPAN][PX], uint *done, const float *row, const struct weights *weights)
{
#pragma unroll
    for (int p = 0; p < PX; p++) {
        uint whole = as_uint(row[p] + as_float(START)) - START;
        done[p] = whole * weights->whole[RADIUS] + sums[0][p];
#pragma unroll
        for (int j = 0; j < SPAN; j++) {
            uint weight = weights->whole[RADIUS - 1 - j >= 0 ? RADIUS - 1 - j : j + 1 - RADIUS];
            sums[j][p] = whole * weight + (j + 1 < SPAN ? sums[j + 1 < SPAN ? j + 1 : j][p] : 0);
        }
    }
}

/* Rounded half up: a number whose lowest two bits are known, and of which `sum` is less than 1 away. */
inline uint wrapped_level(float sum, uint low)
{
    uint bits = (low + (1u << 29)) >> 30;
    return bits + 4 * (uint)(int)rint((sum * 0x1p-15f - bits) * 0.25f);
}
#endif

/* A word of results, from pixel x of row y on. */
inline uint result_word(const float *done, const uint *low, const struct strip *s, int x, int y)
{
#if WRAPPED
    return hone_pack(wrapped_level(done[0], low[0]), wrapped_level(done[1], low[1]),
                     wrapped_level(done[2], low[2]), wrapped_level(done[3], low[3]));
#elif EXACT
    return hone_pack(level_of(done[0], s, x, y), level_of(done[1], s, x + 1, y),
                     level_of(done[2], s, x + 2, y), level_of(done[3], s, x + 3, y));
#elif FLOATING
    return as_uint(done[0]);
#elif HONE_T == 1
    return (as_uint(done[0] + ROUND) & 0xffffu) | as_uint(done[1] + ROUND) << 16;
#else
    return hone_pack(as_uint(done[0] + ROUND), as_uint(done[1] + ROUND), as_uint(done[2] + ROUND),
                     as_uint(done[3] + ROUND));
#endif
}

inline void store_row(const float *done, const uint *low, const struct strip *s, __global RESULT *out, int y,
                      int reach, bool edge)
{
    uint word[WORDS];
#pragma unroll
    for (int k = 0; k < WORDS; k++)
        word[k] = result_word(done + PART * k, low + PART * k, s, s->at + PART * k, y);
    clear_leaving(word, WORDS, s->at, y, 2 * reach + 1, 2 * reach + 1, s->width, s->height);
#if FLOATING && HONE_ALPHA
#pragma unroll
    for (int k = 0; k < PX; k++)
        if (s->at % 4 + k % 4 == 3 && s->at + k < s->width * HONE_C)
            word[k] = as_uint(s->in[y * s->pitch + s->at + k]);
#endif
    if (edge) {
#pragma unroll
        for (int k = 0; k < PX; k++)
            if (s->at + k < s->width * HONE_C)
#if FLOATING
                out[k] = as_float(word[k]);
#else
                out[k] = (RESULT)(word[k / PART] >> 8 * BYTES * (k % PART));
#endif
        return;
    }
#if WORDS == 1
    *(__global uint *)out = word[0];
#elif WORDS == 2
    *(__global uint2 *)out = (uint2)(word[0], word[1]);
#else
#pragma unroll
    for (int k = 0; k < WORDS; k += 4)
        *(__global uint4 *)(out + PART * k) = (uint4)(word[k], word[k + 1], word[k + 2], word[k + 3]);
#endif
}

/* Takes the row that is under way, and lets row y be the next. */
#if STREAMED
inline void take_row(float sums[SPAN][PX], uint wrapped[WRAPPED_ROWS][PX], float *done, uint *low,
                     uint *ahead, const struct strip *s, int y, const struct weights *weights, bool edge)
{
    float row[PX];
    if (edge)
        sum_carefully(row, s, y - 1);
    else
        sum_stream(row, s, y - 1, weights);
    add_row(sums, done, row, weights);
}
#else
inline void take_row(float sums[SPAN][PX], uint wrapped[WRAPPED_ROWS][PX], float *done, uint *low,
                     uint *ahead, const struct strip *s, int y, const struct weights *weights, bool edge)
{
    uint now[ALL];
    float row[PX];
#pragma unroll
    for (int k = 0; k < ALL; k++)
        now[k] = ahead[k];
    load_row(ahead, s, y, edge);
    sum_across(row, now, weights);
    add_row(sums, done, row, weights);
#if WRAPPED
    add_wrapped(wrapped, low, row, weights);
#endif
}
#endif

inline void walk(const struct strip *s, __global RESULT *out, int out_pitch, int first, int end,
                 const struct weights *weights, int reach, bool edge)
{
    float sums[SPAN][PX], done[PX];
    uint wrapped[WRAPPED_ROWS][PX], low[PX], ahead[ALL];
#pragma unroll
    for (int j = 0; j < SPAN; j++)
#pragma unroll
        for (int p = 0; p < PX; p++) {
            sums[j][p] = 0;
            wrapped[WRAPPED ? j : 0][p] = 0;
        }
#if !STREAMED
    load_row(ahead, s, first - RADIUS, edge);
#endif
#pragma unroll 1
    for (int y = first - RADIUS; y < first + RADIUS; y++)
        take_row(sums, wrapped, done, low, ahead, s, y + 1, weights, edge);
    out += first * out_pitch + s->at;
#pragma unroll UNROLL
    for (int y = first; y < end; y++) {
        take_row(sums, wrapped, done, low, ahead, s, y + RADIUS + 1, weights, edge);
        store_row(done, low, s, out, y, reach, edge);
        out += out_pitch;
    }
}

__kernel void PACKED(__global const PIXEL *in, int in_offset, int in_pitch, __global RESULT *out,
                     int out_offset, int out_pitch, int width, int height, BORDER_TYPE border, TABLE table,
                     int reach)
{
    int item = get_global_id(0), first = get_global_id(1) * ROWS, end = min(first + ROWS, height);
    struct strip s = {in + in_offset, in_pitch, width, height, border, table, item * PX};
    if (s.at >= width * HONE_C || first >= height)
        return;
    struct weights weights;
    make_weights(&weights, table);
    int left = item / BLOCK * BLOCK * PX, right = left + BLOCK * PX;
    if (left < MARGIN(reach) || right + MARGIN(reach) > width * HONE_C)
        walk(&s, out + out_offset, out_pitch, first, end, &weights, reach, true);
    else
        walk(&s, out + out_offset, out_pitch, first, end, &weights, reach, false);
}
