/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * For GPUs with matrix units, f32: every weight, both passes as products of small matrices, as in matrix.cl.
 *
 * A number is the sum of two of 8 bits each, with the exponent of a float (bf16): the first is the number
 * rounded, the second what that lacks. Of a product of two numbers three products are kept; what is left out
 * is below 2^-16 of it. Sums are floats; those along rows are split again.
 *
 * Where a NaN or an infinity is near, also beside the window, nothing comes out but NaN and infinity: such
 * results are made again one by one.
 */
#ifndef TILES
#define TILES 2 /* of 16 columns, per warp */
#endif
#ifndef ROWS
#define ROWS 64 /* rows per warp, a multiple of 16 */
#endif
#ifndef WG_X
#define WG_X 32 /* work-items of a work-group: whole warps, beside each other */
#endif
#ifndef RADIUS
#define RADIUS 10 /* the window reaches so far */
#endif

/* What a lane holds: see matrix.cl. */
#define LANE_WORDS 6
#define WEIGHTS    float
#include "filters/gaussian/strip.clh"

#include "filters/gaussian/pieces.clh"

/* Rows of which results need words, in blocks of 8, by parts. */
#define HELD_BLOCKS (2 + REACH_Y / 4)
#define HELD        held[HELD_BLOCKS][TILES][2][2]

#if WITH_PTX
inline void multiply(float *sum, const uint *left, uint top, uint bottom, const struct lane *lane)
{
    asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
        : "r"(left[0]), "r"(left[1]), "r"(left[2]), "r"(left[3]), "r"(top), "r"(bottom));
}

/* Two numbers, rounded, in a word. */
inline uint rounded(float low, float high)
{
    uint r;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(high), "f"(low));
    return r;
}

#else
inline uint rounded_one(float value)
{
    uint bits = as_uint(value);
    return isnan(value) ? 0x7fc0u : (bits + 0x7fffu + (bits >> 16 & 1u)) >> 16;
}

inline uint rounded(float low, float high)
{
    return rounded_one(low) | rounded_one(high) << 16;
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
            int column = 2 * lane->place + i % 2, from = k % 8 / 2, half_word = 16 * (k % 2);
            uint a = words_of(lane, lane->group, from)[i / 2 + k / 8 * 2];
            uint b = words_of(lane, column, from)[4 + k / 8];
            sum[i] += as_float(a >> half_word << 16) * as_float(b >> half_word << 16);
        }
}
#endif

/* Two numbers as words of their first, and of their second parts. */
inline void split_two(uint *parts, float low, float high)
{
    parts[0] = rounded(low, high);
    parts[1] = rounded(low - as_float(parts[0] << 16), high - as_float(parts[0] & 0xffff0000u));
}

/* The lanes' places of the matrices on the left, by parts: one lane after the other, in local memory, for
 * they would take too many registers. */
#define WEIGHT_BLOCKS (DEPTH_X + DEPTH_Y)
#define BLOCK_PARTS   (2 * 32) /* a block in so many pieces of 16 bytes */

inline float weight_at(__global const float *table, int distance)
{
    int i = abs(distance);
    return i <= RADIUS ? table[min(i, RADIUS)] : 0;
}

/* The same of elements that lie so far apart, of which HONE_C make a pixel. */
inline float element_weight(__global const float *table, int distance)
{
    return distance % HONE_C == 0 ? weight_at(table, distance / HONE_C) : 0;
}

/* Those of block b for a lane: blocks across come first. */
inline void make_block(__local uint4 *to, __global const float *table, int b, const struct lane *lane)
{
    uint first[4], second[4];
    UNROLL
    for (int i = 0; i < 4; i++) {
        uint parts[2];
        int x = 4 * lane->place - REACH_X - column_of(lane->group + 8 * (i % 2)) + i / 2 * 2 + 16 * b;
        int y = 2 * lane->place - REACH_Y - lane->group - 8 * (i % 2) + i / 2 * 8 + 16 * (b - DEPTH_X);
        if (b < DEPTH_X)
            split_two(parts, element_weight(table, x), element_weight(table, x + 1));
        else
            split_two(parts, weight_at(table, y), weight_at(table, y + 1));
        first[i] = parts[0];
        second[i] = parts[1];
    }
    to[0] = (uint4)(first[0], first[1], first[2], first[3]);
    to[32] = (uint4)(second[0], second[1], second[2], second[3]);
}

/* Adds a product of numbers of two parts, the smallest first, with block b of the weights. */
inline void multiply_parts(float *sum, __local const uint4 *weights, int b, const uint *top,
                           const uint *bottom, const struct lane *lane)
{
    uint4 one = weights[b * BLOCK_PARTS], two = weights[b * BLOCK_PARTS + 32];
    uint first[4] = {one.x, one.y, one.z, one.w}, second[4] = {two.x, two.y, two.z, two.w};
    multiply(sum, second, top[0], bottom[0], lane);
    multiply(sum, first, top[1], bottom[1], lane);
    multiply(sum, first, top[0], bottom[0], lane);
}

/* The products along 8 rows: of each tile the columns of its rows 0 ... 7, and 8 ... 15. */
inline void along_rows(uint rows[TILES][2][2], __local const uint *stage, __local const uint4 *weights,
                       const struct lane *lane)
{
    uint left[ACROSS][2], right[ACROSS][2];
    UNROLL
    for (int b = 0; b < ACROSS; b++) {
        float4 four = *(__local const float4 *)(stage + lane->group * STAGE_LINE + 16 * b + 4 * lane->place);
        split_two(left[b], four.x, four.y);
        split_two(right[b], four.z, four.w);
    }
    UNROLL
    for (int tile = 0; tile < TILES; tile++) {
        float sum[4] = {0, 0, 0, 0};
        UNROLL
        for (int b = 0; b < DEPTH_X; b++)
            multiply_parts(sum, weights, b, left[tile + b], right[tile + b], lane);
        split_two(rows[tile][0], sum[0], sum[1]);
        split_two(rows[tile][1], sum[2], sum[3]);
    }
}

/* One result, from all pixels of its window, or from as many as make it NaN. Rare: it must not take registers
 * from what is not. */
inline float window_sum(const struct strip *s, int i, int y)
{
    int x = i / HONE_C, channel = i - x * HONE_C, reach = s->reach;
    float sum = 0;
#pragma unroll 1
    for (int v = -reach; v <= reach && !isnan(sum); v++) {
        int inside;
        __global const PIXEL *row = hone_row(s->in, s->pitch, y + v, s->height, &inside);
        float line = 0;
#pragma unroll 1
        for (int u = -reach; u <= reach; u++)
            line += s->table[abs(u)] * hone_at(row, inside, x + u, channel, s->width, s->border);
        sum += s->table[abs(v)] * line;
    }
    return sum;
}

/* Makes those of the lane's results again that are not finite; it has stored them from row y on. */
inline void mend_rows(const struct strip *s, __global RESULT *out, int out_pitch, int y,
                      const struct lane *lane)
{
#pragma unroll 1
    for (int k = 0; k < TILES * 8; k++) {
        int x = s->at + k / 8 * 16 + 4 * lane->place + k % 4, v = y + lane->group + k / 4 % 2 * 8;
        __global RESULT *to = out + v * out_pitch + x;
        if (IS_ALPHA(x % HONE_C) || x >= s->count || v >= s->height)
            continue;
        if (!isfinite((float)*to))
            *to = window_sum(s, x, v);
    }
}

/* 16 rows of results from y on: of each tile a lane has four neighbours in rows `group` and `group` + 8. */
inline void make_rows(uint HELD, const struct strip *s, __global RESULT *out, int out_pitch, int y,
                      __local const uint4 *weights, const struct lane *lane)
{
    float finite = 0; /* or NaN */
    UNROLL
    for (int tile = 0; tile < TILES; tile++) {
        float sum[2][4];
        uint centre[2][4];
        int x = s->at + 16 * tile + 4 * lane->place;
        load_centre(centre[0], s, x, y + lane->group);
        load_centre(centre[1], s, x, y + lane->group + 8);
        UNROLL
        for (int side = 0; side < 2; side++) {
            UNROLL
            for (int i = 0; i < 4; i++)
                sum[side][i] = 0;
            UNROLL
            for (int b = 0; b < DEPTH_Y; b++)
                multiply_parts(sum[side], weights, DEPTH_X + b, held[2 * b][tile][side],
                               held[2 * b + 1][tile][side], lane);
            UNROLL
            for (int i = 0; i < 4; i++)
                finite = fma(sum[side][i], 0.0f, finite);
        }
        UNROLL
        for (int i = 0; i < 2; i++) {
            uint w[4] = {as_uint(sum[0][2 * i]), as_uint(sum[0][2 * i + 1]), as_uint(sum[1][2 * i]),
                         as_uint(sum[1][2 * i + 1])};
            store_words(w, centre[i], s, out, out_pitch, x, y + lane->group + 8 * i);
        }
    }
    if (isnan(finite))
        mend_rows(s, out, out_pitch, y, lane);
}

/* Takes the next 16 rows. */
inline void take_rows(uint HELD, __local const uint *stage, __local const uint4 *weights,
                      const struct lane *lane)
{
    UNROLL
    for (int k = 0; k < (HELD_BLOCKS - 2) * TILES * 4; k++) {
        int i = k / (TILES * 4), tile = k / 4 % TILES, side = k / 2 % 2, part = k % 2;
        held[i][tile][side][part] = held[i + 2][tile][side][part];
    }
    UNROLL
    for (int i = 0; i < 2; i++)
        along_rows(held[HELD_BLOCKS - 2 + i], stage + 8 * i * STAGE_LINE, weights, lane);
}

#define OWN_WEIGHTS __local const uint4 *weights = s->weights + 4 * lane->group + lane->place
#include "filters/gaussian/walk.clh"

__kernel __attribute__((reqd_work_group_size(WG_X, 1, 1))) void
gaussian_matrix32(__global const PIXEL *in, int in_offset, int in_pitch, __global RESULT *out, int out_offset,
                  int out_pitch, int width, int height, BORDER_TYPE border, __global const float *table,
                  int reach)
{
    __local uint4 stages[WG_X / 32 * 2 * STAGE / 4];
    __local uint4 weights[WEIGHT_BLOCKS * BLOCK_PARTS];
    EXCHANGE;
    int item = get_local_id(0), number = item % 32;
    struct lane lane = {.group = number / 4, .place = number % 4};
    for (int b = item / 32; b < WEIGHT_BLOCKS; b += WG_X / 32)
        make_block(weights + b * BLOCK_PARTS + number, table, b, &lane);
    barrier(CLK_LOCAL_MEM_FENCE);
    walk_strip(in, in_offset, in_pitch, out, out_offset, out_pitch, width, height, border, table, reach,
               (__local uint *)stages, weights, exchange);
}
