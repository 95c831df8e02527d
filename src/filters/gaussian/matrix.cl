/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * For GPUs with matrix units, u8: every weight, both passes as products of small matrices.
 *
 * A warp of 32 work-items walks down a strip of TILES tiles of 16 columns, 16 rows at a time; a
 * column is one channel of a pixel. Along rows
 *     rows(16 columns x 8 rows) = weights(16 x K) * pixels(K x 8),   K = 16 + 2 * REACH_Y,
 * where column k of `weights` says how much pixel k gives to each of the 16 results. Down columns
 *     results(16 rows x 8 columns) = weights(16 x K) * rows(K x 8).
 * Each lane holds certain places of these matrices (struct lane), and those of the first result are where the
 * second product wants them: nothing is exchanged. Which column a place stands for is free as long as weights
 * and pixels agree: of gray so chosen that four neighbours come from one word, and go to one word; of colours
 * so that the weights of both products are the same.
 *
 * Numbers are halves. A pixel is 1024 + its value, which takes no arithmetic, and a sum starts at what makes
 * it that of values - 128. Sums are floats; those along rows are rounded to halves in between (by at most
 * 1/32).
 *
 * Elsewhere than under PTX, what lanes exchange goes through local memory: slow, but the same in every place,
 * so that any device can test it.
 */
#ifndef TILES
#define TILES 4 /* of 16 columns, per warp; an even number */
#endif
#ifndef WG_X
#define WG_X 64 /* work-items of a work-group: whole warps, beside each other */
#endif
#ifndef RADIUS
#define RADIUS 7 /* the window reaches so far */
#endif

/* Rounds a float - 128 to an integer in its lowest bits. */
#define ROUND      (12582912.0f + 128.0f)

#define LANE_WORDS 6
#define WEIGHTS    float
#include "filters/gaussian/pieces.clh"

/* Rows of which results need words, in blocks of 8. */
#define HELD_BLOCKS (2 * DEPTH)
#define HELD        held[HELD_BLOCKS][TILES][2]

#if WITH_PTX
inline float rounded(float value) /* to a half */
{
    float r;
    asm("{.reg .b16 h; cvt.rn.f16.f32 h, %1; cvt.f32.f16 %0, h;}" : "=f"(r) : "f"(value));
    return r;
}
#else
inline float rounded(float value)
{
    return low_half(halves(value, 0));
}
#endif

/* The lane's places of the matrices on the left. */
struct weights {
    uint down[DEPTH][4];
#ifndef across
    uint across[DEPTH][4];
#endif
    float start; /* of a sum along a row */
};

#ifndef across
/* The column of a tile that row i of a product along rows stands for: so that rows 2q, 2q + 1, 2q + 8, 2q + 9
 * are four neighbours. */
inline int column_of(int i)
{
    return 4 * (i % 8 / 2) + i % 2 + 2 * (i / 8);
}
#endif

/* Rounded to halves, but the centre is what is missing to 1 before it is rounded. */
inline float weight_at(__global const float *table, float centre, int distance)
{
    int i = abs(distance);
    return i == 0 ? centre : i <= RADIUS ? table[min(i, RADIUS)] : 0;
}

inline uint two_weights(__global const float *table, float centre, int distance)
{
    return halves(weight_at(table, centre, distance), weight_at(table, centre, distance + NEXT));
}

inline void make_weights(struct weights *to, const struct strip *s, const struct lane *lane)
{
    __global const float *table = s->table;
    float others = 0;
    for (int i = 1; i <= RADIUS; i++)
        others += 2 * rounded(table[i]);
    float centre = 1 - others;
    to->start = -CENTRE * (others + rounded(centre));
#ifndef across
    int x = 4 * lane->place - REACH_Y - column_of(lane->group);
    UNROLL
    for (int b = 0; b < DEPTH; b++) {
        to->across[b][0] = to->across[b][3] = two_weights(table, centre, x + 16 * b);
        to->across[b][1] = two_weights(table, centre, x + 16 * b - 2);
        to->across[b][2] = two_weights(table, centre, x + 16 * b + 2);
    }
#endif
    int y = place_of(2 * lane->place) - place_of(lane->group) - REACH_Y;
    uint above = two_weights(table, centre, y - 8);
    UNROLL
    for (int b = 0; b < DEPTH; b++) {
        to->down[b][0] = to->down[b][3] = two_weights(table, centre, y + 16 * b);
        to->down[b][1] = above;
        to->down[b][2] = above = two_weights(table, centre, y + 16 * b + 8);
    }
}

/* The lane's pixels of a block: two pairs. */
#if PLANES
inline void load_pixels(uint *low, uint *high, __local const PIXEL *from, int block)
{
    *low = (from[PIXEL_AT(4 * block)] | (uint)from[PIXEL_AT(4 * block + 1)] << 16) + 0x64006400u;
    *high = (from[PIXEL_AT(4 * block + 2)] | (uint)from[PIXEL_AT(4 * block + 3)] << 16) + 0x64006400u;
}
#else
inline void load_pixels(uint *low, uint *high, __local const uint *from, int block)
{
    uint word = from[4 * block];
    *low = low_pixels(word);
    *high = high_pixels(word);
}
#endif

/* The products along 8 rows, halves: of each tile the columns of its rows 0 ... 7, and 8 ... 15. */
inline void along_rows(uint rows[TILES][2], __local const uint *stage, int slot,
                       const struct weights *weights, const struct lane *lane)
{
    uint low[ACROSS], high[ACROSS];
#if PLANES
    __local const PIXEL *from = first_pixel(stage, slot, lane);
#else
    __local const uint *from = stage + (slot + lane->group) * STAGE_LINE + (SIDE - REACH_X) / 4 + lane->place;
#endif
    UNROLL
    for (int b = 0; b < ACROSS; b++)
        load_pixels(low + b, high + b, from, b);
    UNROLL
    for (int tile = 0; tile < TILES; tile++) {
        float sum[4] = {weights->start, weights->start, weights->start, weights->start};
        UNROLL
        for (int b = 0; b < DEPTH; b++)
            multiply_halves(sum, weights->across[b], low[tile + b], high[tile + b], lane);
        rows[tile][0] = halves(sum[0], sum[1]);
        rows[tile][1] = halves(sum[2], sum[3]);
    }
}

/* The lane's results of one side of a tile, in the lowest bits: two of row `group`, two of `group` + 8. */
inline void down_columns(uint *results, uint HELD, int tile, int side, const struct weights *weights,
                         const struct lane *lane)
{
    float sum[4] = {0, 0, 0, 0};
    UNROLL
    for (int b = 0; b < DEPTH; b++)
        multiply_halves(sum, weights->down[b], held[2 * b][tile][side], held[2 * b + 1][tile][side], lane);
    UNROLL
    for (int i = 0; i < 4; i++)
        results[i] = as_uint(sum[i] + ROUND);
}

/* Takes the next 16 rows. */
inline void take_rows(uint HELD, __local const uint *stage, const struct weights *weights,
                      const struct lane *lane)
{
    UNROLL
    for (int i = 0; i + 2 < HELD_BLOCKS; i++) {
        UNROLL
        for (int tile = 0; tile < TILES; tile++) {
            held[i][tile][0] = held[i + 2][tile][0];
            held[i][tile][1] = held[i + 2][tile][1];
        }
    }
    UNROLL
    for (int i = 0; i < 2; i++)
        along_rows(held[HELD_BLOCKS - 2 + i], stage, 8 * i, weights, lane);
}

#include "filters/gaussian/walk.clh"

__kernel __attribute__((GROUP_SIZE(WG_X, 1))) void
gaussian_matrix(__global const uchar *in, int in_offset, int in_pitch, __global RESULT *out, int out_offset,
                int out_pitch, int width, int height, int border, __global const float *table, int reach,
                int rows)
{
    __local struct local_memory memory;
    walk_strip(in, in_offset, in_pitch, out, out_offset, out_pitch, width, height, border, table, reach, rows,
               &memory, 0);
}
