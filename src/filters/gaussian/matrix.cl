/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * For GPUs with matrix units, u8: every weight, both passes as products of small matrices.
 *
 * A warp of 32 work-items owns a strip of TILES tiles of 16 columns and walks down ROWS rows, 16 at a time; a
 * column is an element, of which HONE_C make a pixel, or with PLANES one channel of a pixel. Along rows
 *     rows(16 columns x 8 rows) = weights(16 x K) * pixels(K x 8),   K = 16 + 2 * TILE_REACH,
 * where column k of `weights` says how much pixel k gives to each of the 16 results. Down columns
 *     results(16 rows x 8 columns) = weights(16 x K) * rows(K x 8),   K = 16 + 2 * REACH_Y.
 * Each lane holds certain places of these matrices (struct lane), and those of the first result are where the
 * second product wants them: nothing is exchanged. Which column a place stands for is free as long as weights
 * and pixels agree: so chosen that four neighbours come from one word, and go to one word.
 *
 * Numbers are halves. A pixel is 1024 + its value, which takes no arithmetic, and a sum starts at what makes
 * it that of values - 128. Sums are floats; those along rows are rounded to halves in between (by at most
 * 1/32).
 *
 * Elsewhere than under PTX, what lanes exchange goes through local memory: slow, but the same in every place,
 * so that any device can test it.
 */
#ifndef TILES
#define TILES 4 /* of 16 columns, per warp; an even number. With PLANES, four times those of a channel */
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

#define CENTRE 1152.0f /* 1024 + 128 */

/* Rounds a float - 128 to an integer in its lowest bits. */
#define ROUND (12582912.0f + 128.0f)

/* What a lane holds: of a 16x16 matrix on the left, rows `group` and `group` + 8, columns 2 * `place` + 0, 1,
 * 8, 9; of one of 16x8 on the right, the same rows for its columns, column `group`; of a result, rows `group`
 * and `group` + 8, columns 2 * `place` + 0, 1. */
#define LANE_WORDS 6
#define WEIGHTS    float
#include "filters/gaussian/strip.clh"

#include "filters/gaussian/pieces.clh"

/* Rows of which results need words, in blocks of 8. */
#define HELD_BLOCKS (2 + REACH_Y / 4)
#define HELD        held[HELD_BLOCKS][MADE_TILES][2]

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

/* The same of columns that lie so far apart. */
inline float column_weight(__global const float *table, float centre, int distance)
{
    return distance % STEP_X == 0 ? weight_at(table, centre, distance / STEP_X) : 0;
}

inline uint two_column_weights(__global const float *table, float centre, int distance)
{
    return halves(column_weight(table, centre, distance), column_weight(table, centre, distance + 1));
}

inline void make_weights(struct weights *to, __global const float *table, const struct lane *lane)
{
    float others = 0;
    for (int i = 1; i <= RADIUS; i++)
        others += 2 * rounded(table[i]);
    float centre = 1 - others;
    to->start = -CENTRE * (others + rounded(centre));
    int x = 4 * lane->place - TILE_REACH - column_of(lane->group);
    int y = 2 * lane->place - REACH_Y - lane->group;
    UNROLL
    for (int b = 0; b < DEPTH_X; b++) {
        to->across[b][0] = to->across[b][3] = two_column_weights(table, centre, x + 16 * b);
        to->across[b][1] = two_column_weights(table, centre, x + 16 * b - 2);
        to->across[b][2] = two_column_weights(table, centre, x + 16 * b + 2);
    }
    uint above = two_weights(table, centre, y - 8);
    UNROLL
    for (int b = 0; b < DEPTH_Y; b++) {
        to->down[b][0] = to->down[b][3] = two_weights(table, centre, y + 16 * b);
        to->down[b][1] = above;
        to->down[b][2] = above = two_weights(table, centre, y + 16 * b + 8);
    }
}

#if PLANES
/* Four pixels: of each channel that is made, the pixels as two words of halves. */
inline void take_apart(uint *low, uint *high, const uint *w)
{
#if HONE_C == 3
    uint first = hone_bytes(w[0], w[1], 0x4130u); /* red and green of two pixels */
    uint second = hone_bytes(w[1], w[2], 0x6352u);
    uint blue = hone_bytes(hone_bytes(w[0], w[1], 0x0052u), w[2], 0x7410u);
    low[2] = low_pixels(blue);
    high[2] = high_pixels(blue);
#else
    uint first = hone_bytes(w[0], w[1], 0x5140u), second = hone_bytes(w[2], w[3], 0x5140u);
    uint blue = hone_bytes(w[0], w[1], 0x7362u), last = hone_bytes(w[2], w[3], 0x7362u);
    low[2] = low_pixels(blue);
    high[2] = low_pixels(last);
    if (MADE > 3) {
        low[MADE - 1] = high_pixels(blue);
        high[MADE - 1] = high_pixels(last);
    }
#endif
    low[0] = low_pixels(first);
    low[1] = high_pixels(first);
    high[0] = low_pixels(second);
    high[1] = high_pixels(second);
}

/* Words of four pixels from those of their channels. */
inline void put_together(uint *w)
{
#if HONE_C == 3
    uint red = w[0], green = w[1], blue = w[2];
    w[0] = hone_bytes(hone_bytes(red, green, 0x1040u), blue, 0x3410u);
    w[1] = hone_bytes(hone_bytes(red, green, 0x6205u), blue, 0x3250u);
    w[2] = hone_bytes(hone_bytes(red, green, 0x0730u), blue, 0x7216u);
#else
    transpose_bytes(w);
#endif
}

/* A block's words of the lane. */
inline void load_block(uint *w, __local const uint *line, int block, const struct lane *lane)
{
    __local const uint *from = line + (SIDE - REACH_X) / 4 + (4 * block + lane->place) * HONE_C;
#if HONE_C == 3
    for (int k = 0; k < 3; k++)
        w[k] = from[k];
#else
    uint4 four = *(__local const uint4 *)from;
    w[0] = four.x;
    w[1] = four.y;
    w[2] = four.z;
    w[3] = four.w;
#endif
}
#else
inline void take_apart(uint *low, uint *high, const uint *w)
{
    low[0] = low_pixels(w[0]);
    high[0] = high_pixels(w[0]);
}

inline void load_block(uint *w, __local const uint *line, int block, const struct lane *lane)
{
    w[0] = line[(SIDE - REACH_X) / 4 + 4 * block + lane->place];
}
#endif

/* The products along 8 rows, halves: of each tile the columns of its rows 0 ... 7, and 8 ... 15. */
inline void along_rows(uint rows[MADE_TILES][2], __local const uint *stage, const struct weights *weights,
                       const struct lane *lane)
{
    uint low[ACROSS][MADE], high[ACROSS][MADE];
    UNROLL
    for (int b = 0; b < ACROSS; b++) {
        uint w[4];
        load_block(w, stage + lane->group * STAGE_LINE, b, lane);
        take_apart(low[b], high[b], w);
    }
    UNROLL
    for (int tile = 0; tile < MADE_TILES; tile++) {
        float sum[4] = {weights->start, weights->start, weights->start, weights->start};
        UNROLL
        for (int b = 0; b < DEPTH_X; b++)
            multiply(sum, weights->across[b], low[tile / MADE + b][tile % MADE],
                     high[tile / MADE + b][tile % MADE], lane);
        rows[tile][0] = halves(sum[0], sum[1]);
        rows[tile][1] = halves(sum[2], sum[3]);
    }
}

/* The lane's four results of row `group` of a tile, and those of row `group` + 8. */
inline void down_columns(uint *upper, uint *lower, uint HELD, int tile, const struct weights *weights,
                         const struct lane *lane)
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
 * the exchange each holds four neighbouring ones of each row. Of two tiles, the words of both rows are
 * exchanged at once. */
inline void make_rows(uint HELD, const struct strip *s, __global RESULT *out, int out_pitch, int y,
                      const struct weights *weights, const struct lane *lane)
{
#if PLANES
    UNROLL
    for (int span = 0; span < SPANS; span++) {
        uint w[2][4], centre[2][4];
        int x = s->at + 16 * (span * HONE_C + lane->place), line = y + lane->group;
        load_centre(centre[0], s, x, line);
        load_centre(centre[1], s, x, line + 8);
        w[0][3] = w[1][3] = 0;
        UNROLL
        for (int c = 0; c < MADE; c++)
            down_columns(w[0] + c, w[1] + c, held, span * MADE + c, weights, lane);
        UNROLL
        for (int i = 0; i < 2; i++) {
            put_together(w[i]);
            if (HONE_C == 3)
                share_twelve(w[i], lane);
            if (lane->place < HONE_C)
                store_words(w[i], centre[i], s, out, out_pitch, x, line + 8 * i);
        }
    }
#elif TILES % 4
    UNROLL
    for (int tile = 0; tile < TILES; tile += 2) {
        uint w[4], centre[4];
        int x = s->at + 16 * (tile + lane->place % 2), line = y + lane->group + lane->place / 2 * 8;
        load_centre(centre, s, x, line);
        UNROLL
        for (int i = 0; i < 2; i++)
            down_columns(w + i, w + 2 + i, held, tile + i, weights, lane);
        exchange_words(w, lane);
        store_words(w, centre, s, out, out_pitch, x, line);
    }
#else
    UNROLL
    for (int tile = 0; tile < TILES; tile += 4) {
        uint upper[4], lower[4], centre[2][4];
        int x = s->at + 16 * (tile + lane->place);
        load_centre(centre[0], s, x, y + lane->group);
        load_centre(centre[1], s, x, y + lane->group + 8);
        UNROLL
        for (int i = 0; i < 4; i++)
            down_columns(upper + i, lower + i, held, tile + i, weights, lane);
        exchange_words(upper, lane);
        store_words(upper, centre[0], s, out, out_pitch, x, y + lane->group);
        exchange_words(lower, lane);
        store_words(lower, centre[1], s, out, out_pitch, x, y + lane->group + 8);
    }
#endif
}

/* Takes the next 16 rows. */
inline void take_rows(uint HELD, __local const uint *stage, const struct weights *weights,
                      const struct lane *lane)
{
    UNROLL
    for (int i = 0; i + 2 < HELD_BLOCKS; i++) {
        UNROLL
        for (int tile = 0; tile < MADE_TILES; tile++) {
            held[i][tile][0] = held[i + 2][tile][0];
            held[i][tile][1] = held[i + 2][tile][1];
        }
    }
    UNROLL
    for (int i = 0; i < 2; i++)
        along_rows(held[HELD_BLOCKS - 2 + i], stage + 8 * i * STAGE_LINE, weights, lane);
}

#define OWN_WEIGHTS                                                                                          \
    struct weights own, *weights = &own;                                                                     \
    make_weights(weights, s->table, lane)
#include "filters/gaussian/walk.clh"

__kernel __attribute__((reqd_work_group_size(WG_X, 1, 1))) void
gaussian_matrix(__global const uchar *in, int in_offset, int in_pitch, __global RESULT *out, int out_offset,
                int out_pitch, int width, int height, int border, __global const float *table, int reach)
{
    __local uint4 stages[WG_X / 32 * 2 * STAGE / 4];
    EXCHANGE;
    walk_strip(in, in_offset, in_pitch, out, out_offset, out_pitch, width, height, border, table, reach,
               (__local uint *)stages, 0, exchange);
}
