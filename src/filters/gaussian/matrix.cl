/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * For GPUs with matrix units, u8: every weight, both passes as products of small matrices.
 *
 * A warp of 32 work-items owns a strip of TILES tiles of 16 columns and walks down ROWS rows, 16 at a time; a
 * column is an element, of which HONE_C make a pixel. Along rows
 *     rows(16 columns x 8 rows) = weights(16 x K) * pixels(K x 8),   K = 16 + 2 * REACH_X,
 * where column k of `weights` says how much pixel k gives to each of the 16 results. Down columns
 *     results(16 rows x 8 columns) = weights(16 x K) * rows(K x 8),   K = 16 + 2 * REACH_Y.
 * Each lane holds certain places of these matrices (struct lane), and those of the first result are where the
 * second product wants them: nothing is exchanged. Which column a place stands for is free as long as weights
 * and pixels
 * agree: so chosen that four neighbours come from one word, and go to one word.
 *
 * Numbers are halves. A pixel is 1024 + its value, which takes no arithmetic, and a sum starts at what makes
 * it that of values - 128. Sums are floats; those along rows are rounded to halves in between (by at most
 * 1/32).
 *
 * Elsewhere than under PTX, what lanes exchange goes through local memory: slow, but the same in every place,
 * so that any device can test it.
 */
#ifndef TILES
#define TILES 4 /* of 16 columns, per warp; a multiple of 4 */
#endif
#ifndef ROWS
#define ROWS 128 /* rows per warp, a multiple of 16 */
#endif
#ifndef WG_X
#define WG_X 64 /* work-items of a work-group: whole warps, beside each other */
#endif
#ifndef RADIUS
#define RADIUS 7 /* the window reaches so far */
#endif

#define REACH_X ((RADIUS * HONE_C + 7) / 8 * 8) /* elements to each side that go into a product */
#define REACH_Y ((RADIUS + 7) / 8 * 8)          /* and rows */
#define DEPTH_X (1 + REACH_X / 8)               /* products of depth 16 that make one of depth K */
#define DEPTH_Y (1 + REACH_Y / 8)
#define ACROSS  (TILES + REACH_X / 8) /* blocks of 16 columns that a strip reads */
#define HELD    (2 + REACH_Y / 4)     /* blocks of 8 rows that 16 rows of results need */
#define CENTRE  1152.0f               /* 1024 + 128 */

/* Rounds a float - 128 to an integer in its lowest bits. */
#define ROUND (12582912.0f + 128.0f)

/* What a lane holds: of a 16x16 matrix on the left, rows `group` and `group` + 8, columns 2 * `place` + 0, 1,
 * 8, 9; of one of 16x8 on the right, the same rows for its columns, column `group`; of a result, rows `group`
 * and `group` + 8, columns 2 * `place` + 0, 1. */
#define LANE_WORDS 6
#include "filters/lanes.clh"
#include "filters/words.clh"

struct strip {
    __global const uchar *in;
    int pitch, width, height, border;
    int count; /* of a row's elements */
    int at;    /* first column: columns are elements */
};

#if WITH_PTX
inline void multiply(float *sum, const uint *left, uint top, uint bottom, const struct lane *lane)
{
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
        : "r"(left[0]), "r"(left[1]), "r"(left[2]), "r"(left[3]), "r"(top), "r"(bottom));
}

inline uint halves(float low, float high)
{
    uint r;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(high), "f"(low));
    return r;
}

inline float rounded(float value) /* to a half */
{
    float r;
    asm("{.reg .b16 h; cvt.rn.f16.f32 h, %1; cvt.f32.f16 %0, h;}" : "=f"(r) : "f"(value));
    return r;
}

#else
inline uint halves(float low, float high)
{
    ushort two[2];
    vstore_half_rte(low, 0, (half *)two);
    vstore_half_rte(high, 1, (half *)two);
    return two[0] | (uint)two[1] << 16;
}

inline float rounded(float value)
{
    ushort one;
    vstore_half_rte(value, 0, (half *)&one);
    return vload_half(0, (const half *)&one);
}

inline void multiply(float *sum, const uint *left, uint top, uint bottom, const struct lane *lane)
{
    __local uint *own = words_of(lane, lane->group, lane->place);
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int i = 0; i < 4; i++)
        own[i] = left[i];
    own[4] = top;
    own[5] = bottom;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int i = 0; i < 4; i++)
        for (int k = 0; k < 16; k++) {
            int column = 2 * lane->place + i % 2, from = k % 8 / 2;
            __local const uint *a = words_of(lane, lane->group, from) + i / 2 + k / 8 * 2;
            __local const uint *b = words_of(lane, column, from) + 4 + k / 8;
            sum[i] += vload_half(k % 2, (__local const half *)a) * vload_half(k % 2, (__local const half *)b);
        }
}
#endif

/* 1024 + a byte, twice. */
inline uint low_pixels(uint word)
{
#if WITH_PTX
    return hone_bytes(word, 0x64646464u, 0x4140u);
#else
    return 0x64006400u | (word & 0xffu) | (word & 0xff00u) << 8;
#endif
}

inline uint high_pixels(uint word)
{
#if WITH_PTX
    return hone_bytes(word, 0x64646464u, 0x4342u);
#else
    return low_pixels(word >> 16);
#endif
}

struct weights {
    uint across[DEPTH_X][4], down[DEPTH_Y][4]; /* the lane's places of the matrices on the left */
    float start;                               /* of a sum along a row */
};

/* Rounded to halves, but the centre is what is missing to 1 before it is rounded. */
inline float weight_at(__global const float *table, float centre, int distance)
{
    int i = abs(distance);
    return i == 0 ? centre : i <= RADIUS ? table[min(i, RADIUS)] : 0;
}

inline uint two_weights(__global const float *table, float centre, int distance)
{
    return halves(weight_at(table, centre, distance), weight_at(table, centre, distance + 1));
}

/* The same of elements that lie so far apart, of which HONE_C make a pixel. */
inline float element_weight(__global const float *table, float centre, int distance)
{
    return distance % HONE_C == 0 ? weight_at(table, centre, distance / HONE_C) : 0;
}

inline uint two_element_weights(__global const float *table, float centre, int distance)
{
    return halves(element_weight(table, centre, distance), element_weight(table, centre, distance + 1));
}

/* The column of a tile that row i of a product along rows stands for: rows 2q, 2q + 1, 2q + 8, 2q + 9 are
 * four neighbours. */
inline int column_of(int i)
{
    return 4 * (i % 8 / 2) + i % 2 + 2 * (i / 8);
}

inline void make_weights(struct weights *to, __global const float *table, const struct lane *lane)
{
    float others = 0;
    for (int i = 1; i <= RADIUS; i++)
        others += 2 * rounded(table[i]);
    float centre = 1 - others;
    to->start = -CENTRE * (others + rounded(centre));
    int x = 4 * lane->place - REACH_X - column_of(lane->group), y = 2 * lane->place - REACH_Y - lane->group;
    UNROLL
    for (int b = 0; b < DEPTH_X; b++) {
        to->across[b][0] = to->across[b][3] = two_element_weights(table, centre, x + 16 * b);
        to->across[b][1] = two_element_weights(table, centre, x + 16 * b - 2);
        to->across[b][2] = two_element_weights(table, centre, x + 16 * b + 2);
    }
    uint above = two_weights(table, centre, y - 8);
    UNROLL
    for (int b = 0; b < DEPTH_Y; b++) {
        to->down[b][0] = to->down[b][3] = two_weights(table, centre, y + 16 * b);
        to->down[b][1] = above;
        to->down[b][2] = above = two_weights(table, centre, y + 16 * b + 8);
    }
}

/* The lane's words of the 8 rows from y on. */
inline void load_rows(uint *w, const struct strip *s, int y, const struct lane *lane, bool edge)
{
    int inside, x = s->at - REACH_X + 4 * lane->place;
    __global const uchar *row = hone_row(s->in, s->pitch, y + lane->group, s->height, &inside);
    UNROLL
    for (int b = 0; b < ACROSS; b++) {
        uint word = edge ? word_at(row, inside, hidden(x + 16 * b), s->width, s->border)
                         : *(__global const uint *)(row + x + 16 * b);
        w[b] = REAL_ROW(inside) ? word : outside_word(s->border);
    }
}

/* The products along 8 rows, halves: of each tile the columns of its rows 0 ... 7, and 8 ... 15. */
inline void along_rows(uint rows[TILES][2], const uint *w, const struct weights *weights,
                       const struct lane *lane)
{
    uint low[ACROSS], high[ACROSS];
    UNROLL
    for (int b = 0; b < ACROSS; b++) {
        low[b] = low_pixels(w[b]);
        high[b] = high_pixels(w[b]);
    }
    UNROLL
    for (int tile = 0; tile < TILES; tile++) {
        float sum[4] = {weights->start, weights->start, weights->start, weights->start};
        UNROLL
        for (int b = 0; b < DEPTH_X; b++)
            multiply(sum, weights->across[b], low[tile + b], high[tile + b], lane);
        rows[tile][0] = halves(sum[0], sum[1]);
        rows[tile][1] = halves(sum[2], sum[3]);
    }
}

/* 16 results of row y. */
inline void store_words(uint *w, const struct strip *s, __global uchar *out, int out_pitch, int x, int y,
                        int reach, bool edge)
{
    if (y >= s->height)
        return;
    out += y * out_pitch + x;
    UNROLL
    for (int i = 0; i < 4; i++)
        w[i] = finish_word(w[i], s->in + y * s->pitch, x + 4 * i, y, 2 * reach + 1, 2 * reach + 1, s->width,
                           s->height);
    if (edge) {
        UNROLL
        for (int k = 0; k < 16; k++)
            if (x + k < s->count)
                out[k] = (uchar)(w[k / 4] >> 8 * (k % 4));
    } else {
        *(__global uint4 *)out = (uint4)(w[0], w[1], w[2], w[3]);
    }
}

/* The lane's four results of row `group` of a tile, and those of row `group` + 8. */
inline void down_columns(uint *upper, uint *lower, uint held[HELD][TILES][2], int tile,
                         const struct weights *weights, const struct lane *lane)
{
    uint n[2][4];
    UNROLL
    for (int side = 0; side < 2; side++) {
        float sum[4] = {0, 0, 0, 0};
        UNROLL
        for (int b = 0; b < DEPTH_Y; b++)
            multiply(sum, weights->down[b], held[2 * b][tile][side], held[2 * b + 1][tile][side], lane);
        UNROLL
        for (int i = 0; i < 4; i++)
            n[side][i] = as_uint(sum[i] + ROUND);
    }
    *upper = hone_pack(n[0][0], n[0][1], n[1][0], n[1][1]);
    *lower = hone_pack(n[0][2], n[0][3], n[1][2], n[1][3]);
}

/* 16 rows of results from y on. What the lanes of a group hold of four tiles are the words of two rows; after
 * the exchange each holds four neighbouring ones of each row. */
inline void make_rows(uint held[HELD][TILES][2], const struct strip *s, __global uchar *out, int out_pitch,
                      int y, const struct weights *weights, const struct lane *lane, int reach, bool edge)
{
    UNROLL
    for (int tile = 0; tile < TILES; tile += 4) {
        uint upper[4], lower[4];
        int x = s->at + 16 * (tile + lane->place);
        UNROLL
        for (int i = 0; i < 4; i++)
            down_columns(upper + i, lower + i, held, tile + i, weights, lane);
        exchange_words(upper, lane);
        store_words(upper, s, out, out_pitch, x, y + lane->group, reach, edge);
        exchange_words(lower, lane);
        store_words(lower, s, out, out_pitch, x, y + lane->group + 8, reach, edge);
    }
}

/* Takes the 16 rows that are under way, and lets the next ones be, which begin at y. */
inline void take_rows(uint held[HELD][TILES][2], uint ahead[2][ACROSS], const struct strip *s, int y,
                      const struct weights *weights, const struct lane *lane, bool edge)
{
    uint now[2][ACROSS];
    UNROLL
    for (int i = 0; i < 2; i++) {
        UNROLL
        for (int b = 0; b < ACROSS; b++)
            now[i][b] = ahead[i][b];
        load_rows(ahead[i], s, y + 8 * i, lane, edge);
    }
    UNROLL
    for (int i = 0; i + 2 < HELD; i++) {
        UNROLL
        for (int tile = 0; tile < TILES; tile++) {
            held[i][tile][0] = held[i + 2][tile][0];
            held[i][tile][1] = held[i + 2][tile][1];
        }
    }
    UNROLL
    for (int i = 0; i < 2; i++)
        along_rows(held[HELD - 2 + i], now[i], weights, lane);
}

inline void walk(const struct strip *s, __global uchar *out, int out_pitch, int first,
                 __global const float *table, const struct lane *lane, int reach, bool edge)
{
    struct weights weights;
    uint held[HELD][TILES][2], ahead[2][ACROSS];
    int end = min(first + ROWS, s->height), y = first - REACH_Y;
    load_rows(ahead[0], s, y, lane, edge);
    load_rows(ahead[1], s, y + 8, lane, edge);
    make_weights(&weights, table, lane);
#pragma unroll 1
    for (; y < first + REACH_Y; y += 16)
        take_rows(held, ahead, s, y + 16, &weights, lane, edge);
#pragma unroll 1
    for (; y < end + REACH_Y; y += 16) {
        take_rows(held, ahead, s, y + 16, &weights, lane, edge);
        make_rows(held, s, out, out_pitch, y - REACH_Y, &weights, lane, reach, edge);
    }
}

__kernel __attribute__((reqd_work_group_size(WG_X, 1, 1))) void
gaussian_matrix(__global const uchar *in, int in_offset, int in_pitch, __global uchar *out, int out_offset,
                int out_pitch, int width, int height, int border, __global const float *table, int reach)
{
    int item = get_local_id(0), warp = get_group_id(0) * (WG_X / 32) + item / 32;
    struct strip s = {in + in_offset, in_pitch, width, height, border, width * HONE_C, warp * 16 * TILES};
#if WITH_PTX
    struct lane lane = {item % 32 / 4, item % 4};
    if (s.at >= s.count)
        return;
#else
    __local uint exchange[WG_X * LANE_WORDS];
    struct lane lane = {item % 32 / 4, item % 4, exchange + item / 32 * 32 * LANE_WORDS};
#endif
#if HONE_BORDER == BORDER_ZERO_OUTSIDE
    int margin = max(REACH_X, reach * HONE_C);
#else
    int margin = REACH_X;
#endif
    bool edge = s.at < margin || s.at + 16 * TILES + margin > s.count;
    int first = get_group_id(1) * ROWS;
#if WITH_PTX
    if (edge)
        walk(&s, out + out_offset, out_pitch, first, table, &lane, reach, true);
    else
        walk(&s, out + out_offset, out_pitch, first, table, &lane, reach, false);
#else
    walk(&s, out + out_offset, out_pitch, first, table, &lane, reach, edge);
#endif
}
