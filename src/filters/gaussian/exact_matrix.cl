/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * exact=yes for GPUs with matrix units, u8 and u16: the whole window in integers (see exact.c), both passes
 * as products of small matrices of bytes.
 *
 * A warp of 32 work-items walks down a strip of TILES tiles of 16 columns, 16 rows at a time; a
 * column is one channel of a pixel. Along rows
 *     rows(16 columns x 8 rows) = weights(16 x K) * pixels(K x 8),   K = 16 + 2 * REACH_Y,
 * where column k of `weights` says how much pixel k gives to each of the 16 results. Down columns
 *     results(16 rows x 8 columns) = weights(16 x K) * rows(K x 8).
 * Each lane holds certain places of these matrices, and those of the first result are where the second
 * product wants them: nothing is exchanged. Which column or row a place stands for is free as long as both
 * factors agree: of gray so chosen that bytes come from one word, and go to one word; of colours so that the
 * weights of both products are the same.
 *
 * A number of several bytes is a sum of planes: weights have two, pixels BYTES, sums along rows SUM_PLANES.
 * Products of planes are added where they weigh the same, in 32 bits, and carried when all are there.
 */
#ifndef TILES
#define TILES 4 /* of 16 columns, per warp; of u8 a multiple of 4, of u16 of 2 */
#endif
#ifndef WG_X
#define WG_X 64 /* work-items of a work-group: whole warps, beside each other */
#endif
#ifndef RADIUS
#define RADIUS 8 /* the window reaches so far */
#endif

#ifndef ROUNDED
#define ROUNDED 0 /* 1: u16 whose sums along rows are rounded to 16 bits */
#endif
#ifndef WEIGHT_BITS
#define WEIGHT_BITS 15 /* weights are parts of 2^this; a sum along a row takes so many bits more */
#endif

#define SUM_PLANES (ROUNDED ? BYTES : BYTES + 2)
#define TOTALS     (SUM_PLANES + 1)
#define SHIFT      ((ROUNDED ? 1 : 2) * WEIGHT_BITS - 8 * (SUM_PLANES - 1))
#define MORE_BITS  (ROUNDED ? WEIGHT_BITS - 16 : 0) /* of a sum along a row than its planes hold */

#define LANE_WORDS 4
#define WEIGHTS    uint
#include "filters/gaussian/pieces.clh"

/* Adds a product of depth 16 times `depth`. Of a block on the left, 16x16, a lane holds rows `group` and
 * `group` + 8, columns 4 * `place` to + 3; of one on the right, 16x8, the same rows of column `group`; of a
 * result, rows `group` and `group` + 8, columns 2 * `place` + 0, 1. */
inline void multiply(int *sum, const uint (*left)[2], const uint *right, int depth, const struct lane *lane)
{
#if WITH_PTX
    UNROLL
    for (int b = 0; b + 1 < depth; b += 2)
        asm("mma.sync.aligned.m16n8k32.row.col.s32.u8.u8.s32 "
            "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
            : "+r"(sum[0]), "+r"(sum[1]), "+r"(sum[2]), "+r"(sum[3])
            : "r"(left[b][0]), "r"(left[b][1]), "r"(left[b + 1][0]), "r"(left[b + 1][1]), "r"(right[b]),
              "r"(right[b + 1]));
    if (depth % 2)
        asm("mma.sync.aligned.m16n8k16.row.col.s32.u8.u8.s32 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, "
            "%3};"
            : "+r"(sum[0]), "+r"(sum[1]), "+r"(sum[2]), "+r"(sum[3])
            : "r"(left[depth - 1][0]), "r"(left[depth - 1][1]), "r"(right[depth - 1]));
#else
    __local uint *own = words_of(lane, lane->group, lane->place);
    for (int b = 0; b < depth; b++) {
        barrier(CLK_LOCAL_MEM_FENCE);
        own[0] = left[b][0];
        own[1] = left[b][1];
        own[2] = right[b];
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int i = 0; i < 4; i++)
            for (int from = 0; from < 4; from++)
                sum[i] = (int)hone_dot4(words_of(lane, lane->group, from)[i / 2],
                                        words_of(lane, 2 * lane->place + i % 2, from)[2], (uint)sum[i]);
    }
#endif
}

/* The lane's places of the matrices on the left, by plane. */
struct weights {
    uint down[2][DEPTH][2];
#ifndef across
    uint across[2][DEPTH][2];
#endif
};

inline uint weight_at(__global const uint *table, int distance)
{
    int i = abs(distance);
    return i <= RADIUS ? table[min(i, RADIUS)] : 0;
}

#ifndef across
/* The column of a tile that row i of a product along rows stands for. Of u8, rows 2q, 2q + 1, 2q + 8, 2q + 9
 * are four neighbours. */
inline int column_of(int i)
{
    return BYTES == 2 ? i : 4 * (i % 8 / 2) + i % 2 + 2 * (i / 8);
}

/* Which of the four columns in one or two words byte i of a plane is. */
inline int element_of(int i)
{
    return BYTES == 2 ? i % 2 * 2 + i / 2 : i;
}
#endif

inline uint weight_plane(const uint *w, int plane)
{
    int bits = 8 * plane;
    return hone_pack(w[0] >> bits, w[1] >> bits, w[2] >> bits, w[3] >> bits);
}

/* Row 4 * place + i of a product down columns is one of eight rows, or of the eight after them. */
inline void make_weights(struct weights *to, const struct strip *s, const struct lane *lane)
{
    __global const uint *table = s->table;
    UNROLL
    for (int k = 0; k < 2 * DEPTH; k++) {
        int side = k / DEPTH, block = k % DEPTH, first = 16 * block - REACH_Y;
        uint w[4];
#ifndef across
        UNROLL
        for (int i = 0; i < 4; i++)
            w[i] =
                weight_at(table, first + 4 * lane->place + element_of(i) - column_of(lane->group + 8 * side));
        to->across[0][block][side] = weight_plane(w, 0);
        to->across[1][block][side] = weight_plane(w, 1);
#endif
        UNROLL
        for (int i = 0; i < 4; i++)
            w[i] = weight_at(table, first + own_place(lane, i) - place_of(lane->group) - 8 * side);
        to->down[0][block][side] = weight_plane(w, 0);
        to->down[1][block][side] = weight_plane(w, 1);
    }
}

/* The planes of the lane's four columns in each block of its row, of the eight from `slot` on. */
inline void split_pixels(uint planes[BYTES][ACROSS], __local const uint *stage, int slot,
                         const struct lane *lane)
{
#if PLANES
    __local const PIXEL *from = first_pixel(stage, slot, lane);
#else
    __local const uint *from =
        stage + (slot + lane->group) * STAGE_LINE + (SIDE - REACH_X) * BYTES / 4 + BYTES * lane->place;
#endif
    UNROLL
    for (int b = 0; b < ACROSS; b++) {
#if PLANES
        uint w[4];
        UNROLL
        for (int i = 0; i < 4; i++)
            w[i] = from[PIXEL_AT(4 * b + i)];
        uint pairs[2] = {hone_bytes(w[0], w[1], 0x5140u), hone_bytes(w[2], w[3], 0x5140u)};
        planes[0][b] = LOW_SHORTS(pairs[0], pairs[1]);
        if (BYTES > 1)
            planes[BYTES - 1][b] = HIGH_SHORTS(pairs[0], pairs[1]);
#elif BYTES == 1
        planes[0][b] = from[4 * b];
#else
        uint2 w = *(__local const uint2 *)(from + 8 * b);
        planes[0][b] = JOIN_BYTES(w.x, w.y);
        planes[1][b] = JOIN_BYTES(w.x >> 8, w.y >> 8);
#endif
    }
}

/* The sums along 8 rows of a tile, those to be rounded ready to be cut off. */
inline void along_rows(uint *sums, uint planes[BYTES][ACROSS], int tile, const struct weights *weights,
                       const struct lane *lane)
{
    int total[BYTES + 1][4];
    UNROLL
    for (int i = 0; i < 4 * (BYTES + 1); i++)
        total[i / 4][i % 4] = 0;
    UNROLL
    for (int plane = 0; plane < BYTES; plane++) {
        multiply(total[plane], weights->across[0], planes[plane] + tile, DEPTH, lane);
        multiply(total[plane + 1], weights->across[1], planes[plane] + tile, DEPTH, lane);
    }
    UNROLL
    for (int i = 0; i < 4; i++) {
#if ROUNDED
        sums[i] = ((uint)total[2][i] << (16 - MORE_BITS)) + ((uint)total[1][i] << (8 - MORE_BITS)) +
                  ((uint)total[0][i] >> MORE_BITS) + 0x8000u;
#else
        sums[i] = (uint)total[BYTES][i];
        UNROLL
        for (int k = BYTES - 1; k >= 0; k--)
            sums[i] = (sums[i] << 8) + (uint)total[k][i];
#endif
    }
}

/* Four sums, by planes. */
inline void split_sums(uint planes[SUM_PLANES], uint a, uint b, uint c, uint d)
{
#if ROUNDED
    uint high[2] = {hone_bytes(a, b, 0x7362u), hone_bytes(c, d, 0x7362u)};
    planes[0] = LOW_SHORTS(high[0], high[1]);
    planes[1] = HIGH_SHORTS(high[0], high[1]);
#elif WITH_PTX
    uint low[2] = {hone_bytes(a, b, 0x5140u), hone_bytes(c, d, 0x5140u)};
    uint high[2] = {hone_bytes(a, b, 0x7362u), hone_bytes(c, d, 0x7362u)};
    planes[0] = LOW_SHORTS(low[0], low[1]);
    planes[1] = HIGH_SHORTS(low[0], low[1]);
    planes[2] = LOW_SHORTS(high[0], high[1]);
    if (SUM_PLANES > 3)
        planes[SUM_PLANES - 1] = HIGH_SHORTS(high[0], high[1]);
#else
    for (int k = 0; k < SUM_PLANES; k++)
        planes[k] = hone_pack(a >> 8 * k, b >> 8 * k, c >> 8 * k, d >> 8 * k);
#endif
}

/* What a lane holds of the rows that the next results need: for each block of 16 rows and both columns of
 * each tile, words of four sums, by plane. */
#define HELD held[DEPTH][TILES][2][SUM_PLANES]

/* Takes the next 16 rows. */
inline void take_rows(uint HELD, __local const uint *stage, const struct weights *weights,
                      const struct lane *lane)
{
    uint now[2][BYTES][ACROSS];
    UNROLL
    for (int i = 0; i < 2; i++)
        split_pixels(now[i], stage, 8 * i, lane);
    UNROLL
    for (int tile = 0; tile < TILES; tile++) {
        uint upper[4], lower[4];
        along_rows(upper, now[0], tile, weights, lane);
        along_rows(lower, now[1], tile, weights, lane);
        UNROLL
        for (int side = 0; side < 2; side++) {
            UNROLL
            for (int k = 0; k < (DEPTH - 1) * SUM_PLANES; k++)
                held[k / SUM_PLANES][tile][side][k % SUM_PLANES] =
                    held[k / SUM_PLANES + 1][tile][side][k % SUM_PLANES];
            split_sums(held[DEPTH - 1][tile][side], upper[2 * side], upper[2 * side + 1], lower[2 * side],
                       lower[2 * side + 1]);
        }
    }
}

/* Carries what the planes add up to, and rounds side up: the lowest bits that the carries leave no longer
 * matter. */
inline uint finish_sum(int total[TOTALS][4], int i)
{
    uint sum = (uint)total[0][i];
    UNROLL
    for (int k = 1; k < SUM_PLANES; k++)
        sum = (sum >> 8) + (uint)total[k][i];
    sum += (uint)total[SUM_PLANES][i] << 8;
    return (sum + (1u << (SHIFT - 1))) >> SHIFT;
}

/* The lane's results of a tile, of its two columns of one side: two of row `group`, two of row `group` +
 * 8. */
inline void down_columns(uint *results, uint HELD, int tile, int side, const struct weights *weights,
                         const struct lane *lane)
{
    int total[TOTALS][4];
    UNROLL
    for (int i = 0; i < 4 * TOTALS; i++)
        total[i / 4][i % 4] = 0;
    UNROLL
    for (int plane = 0; plane < SUM_PLANES; plane++) {
        uint right[DEPTH];
        UNROLL
        for (int b = 0; b < DEPTH; b++)
            right[b] = held[b][tile][side][plane];
        multiply(total[plane], weights->down[0], right, DEPTH, lane);
        multiply(total[plane + 1], weights->down[1], right, DEPTH, lane);
    }
    UNROLL
    for (int i = 0; i < 4; i++)
        results[i] = finish_sum(total, i);
}

#include "filters/gaussian/walk.clh"

__kernel __attribute__((GROUP_SIZE(WG_X, 1))) void
gaussian_exact_matrix(__global const PIXEL *in, int in_offset, int in_pitch, __global RESULT *out,
                      int out_offset, int out_pitch, int width, int height, int border,
                      __global const uint *table, int reach, int rows)
{
    __local struct local_memory memory;
    walk_strip(in, in_offset, in_pitch, out, out_offset, out_pitch, width, height, border, table, reach, rows,
               &memory, 0);
}
