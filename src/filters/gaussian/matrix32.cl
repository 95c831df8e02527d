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
#ifndef WG_X
#define WG_X 64 /* work-items of a work-group: whole warps, beside each other */
#endif
#ifndef RADIUS
#define RADIUS 10 /* the window reaches so far */
#endif

/* What a lane holds: see lanes.clh. */
#define LANE_WORDS 6
#define WEIGHTS    float
#include "filters/gaussian/pieces.clh"

/* Rows of which results need words, in blocks of 8, by parts. */
#define HELD_BLOCKS (2 * DEPTH)
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

inline float weight_at(__global const float *table, int distance)
{
    int i = abs(distance);
    return i <= RADIUS ? table[min(i, RADIUS)] : 0;
}

inline void two_weights(uint *parts, __global const float *table, int distance)
{
    split_two(parts, weight_at(table, distance), weight_at(table, distance + NEXT));
}

/* The lane's places of the matrices on the left, by parts: in registers where they are the same of both
 * products, else in local memory, one lane after the other, those across behind those down. */
#if PLANES
#define ACROSS_FROM 0
struct weights {
    uint first[DEPTH][4], second[DEPTH][4];
};

inline void make_weights(struct weights *to, const struct strip *s, const struct lane *lane)
{
    int y = place_of(2 * lane->place) - place_of(lane->group) - REACH_Y;
    uint above[2], here[2], below[2];
    two_weights(above, s->table, y - 8);
    UNROLL
    for (int b = 0; b < DEPTH; b++) {
        two_weights(here, s->table, y + 16 * b);
        two_weights(below, s->table, y + 16 * b + 8);
        to->first[b][0] = to->first[b][3] = here[0];
        to->second[b][0] = to->second[b][3] = here[1];
        to->first[b][1] = above[0];
        to->second[b][1] = above[1];
        to->first[b][2] = above[0] = below[0];
        to->second[b][2] = above[1] = below[1];
    }
}

inline void load_weights(uint *first, uint *second, const struct weights *weights, int b)
{
    UNROLL
    for (int i = 0; i < 4; i++) {
        first[i] = weights->first[b][i];
        second[i] = weights->second[b][i];
    }
}
#else
#define ACROSS_FROM DEPTH
#define BLOCK_PARTS (2 * 32) /* a block in so many pieces of 16 bytes */
struct weights {
    __local const uint4 *at;
};

/* The column of a tile that row i of a product along rows stands for: so that rows 2q, 2q + 1, 2q + 8, 2q + 9
 * are four neighbours. */
inline int column_of(int i)
{
    return 4 * (i % 8 / 2) + i % 2 + 2 * (i / 8);
}

/* Those of block b for a lane. */
inline void make_block(__local uint4 *to, __global const float *table, int b, const struct lane *lane)
{
    uint first[4], second[4];
    UNROLL
    for (int i = 0; i < 4; i++) {
        uint parts[2];
        int y = 2 * lane->place + i / 2 * 8 - lane->group - 8 * (i % 2);
        int x = 4 * lane->place + i / 2 * 2 - column_of(lane->group + 8 * (i % 2));
        two_weights(parts, table, (b < DEPTH ? y : x) - REACH_Y + 16 * (b % DEPTH));
        first[i] = parts[0];
        second[i] = parts[1];
    }
    to[0] = (uint4)(first[0], first[1], first[2], first[3]);
    to[32] = (uint4)(second[0], second[1], second[2], second[3]);
}

inline void make_weights(struct weights *to, const struct strip *s, const struct lane *lane)
{
    to->at = s->in_local + 4 * lane->group + lane->place;
}

inline void load_weights(uint *first, uint *second, const struct weights *weights, int b)
{
    uint4 one = weights->at[b * BLOCK_PARTS], two = weights->at[b * BLOCK_PARTS + 32];
    vstore4(one, 0, first);
    vstore4(two, 0, second);
}
#endif

/* Adds a product of numbers of two parts, the smallest first, with block b of the weights. */
inline void multiply_parts(float *sum, const struct weights *weights, int b, const uint *top,
                           const uint *bottom, const struct lane *lane)
{
    uint first[4], second[4];
    load_weights(first, second, weights, b);
    multiply(sum, second, top[0], bottom[0], lane);
    multiply(sum, first, top[1], bottom[1], lane);
    multiply(sum, first, top[0], bottom[0], lane);
}

/* The products along 8 rows: of each tile the columns of its rows 0 ... 7, and 8 ... 15. */
inline void along_rows(uint rows[TILES][2][2], __local const uint *stage, int slot,
                       const struct weights *weights, const struct lane *lane)
{
    uint left[ACROSS][2], right[ACROSS][2];
#if PLANES
    __local const float *from = first_pixel(stage, slot, lane);
#else
    __local const float4 *from =
        (__local const float4 *)(stage + (slot + lane->group) * STAGE_LINE) + lane->place;
#endif
    UNROLL
    for (int b = 0; b < ACROSS; b++) {
#if PLANES
        float4 four = (float4)(from[PIXEL_AT(4 * b)], from[PIXEL_AT(4 * b + 1)], from[PIXEL_AT(4 * b + 2)],
                               from[PIXEL_AT(4 * b + 3)]);
#else
        float4 four = from[4 * b];
#endif
        split_two(left[b], four.x, four.y);
        split_two(right[b], four.z, four.w);
    }
    UNROLL
    for (int tile = 0; tile < TILES; tile++) {
        float sum[4] = {0, 0, 0, 0};
        UNROLL
        for (int b = 0; b < DEPTH; b++)
            multiply_parts(sum, weights, ACROSS_FROM + b, left[tile + b], right[tile + b], lane);
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

/* Where the lane's results are, put together or stored: result i of one side of a tile, in rows from y on. */
#if PLANES
#define RESULTS         __local uint *stage
#define RESULT_OF(i, x) place_of_result(stage, tile, side, i, lane)
#define OWN_COLUMN(i)   own_place(lane, i)
#else
#define RESULTS         __global RESULT *out, int out_pitch
#define RESULT_OF(i, x) (out + (y + row) * out_pitch + (x))
#define OWN_COLUMN(i)   (4 * lane->place + (i))
#endif

/* Makes those again that are not finite. */
inline void mend_rows(RESULTS, int y, const struct strip *s, const struct lane *lane)
{
#pragma unroll 1
    for (int k = 0; k < TILES * 8; k++) {
        int tile = k / 8, side = k / 4 % 2, row = place_of(lane->group) + k / 2 % 2 * 8;
        int x = s->at + (16 * tile + OWN_COLUMN(k % 2 + 2 * side)) * HONE_C + ITEM / 32;
        if (x < s->count && y + row < s->height && !isfinite((float)*RESULT_OF(k % 4, x)))
            *RESULT_OF(k % 4, x) = window_sum(s, x, y + row);
    }
}

/* The lane's results of a tile, by side; NaN if one of them is not finite, else 0. */
inline float down_columns(float sum[2][4], uint HELD, int tile, const struct weights *weights,
                          const struct lane *lane)
{
    float finite = 0;
    UNROLL
    for (int side = 0; side < 2; side++) {
        UNROLL
        for (int i = 0; i < 4; i++)
            sum[side][i] = 0;
        UNROLL
        for (int b = 0; b < DEPTH; b++)
            multiply_parts(sum[side], weights, b, held[2 * b][tile][side], held[2 * b + 1][tile][side], lane);
        UNROLL
        for (int i = 0; i < 4; i++)
            finite = fma(sum[side][i], 0.0f, finite);
    }
    return finite;
}

#if PLANES
/* The lane's results of 16 rows from y on. */
inline void put_rows(__local uint *stage, uint HELD, int y, const struct strip *s,
                     const struct weights *weights, const struct lane *lane)
{
    float finite = 0; /* or NaN */
    UNROLL
    for (int tile = 0; tile < TILES; tile++) {
        float sum[2][4];
        finite += down_columns(sum, held, tile, weights, lane);
        UNROLL
        for (int i = 0; i < 8; i++)
            *place_of_result(stage, tile, i / 4, i % 4, lane) = sum[i / 4][i % 4];
    }
    if (isnan(finite))
        mend_rows(stage, y, s, lane);
}
#else
/* 16 rows of results from y on: of each tile a lane has four neighbours in rows `group` and `group` + 8. */
inline void make_rows(uint HELD, const struct strip *s, __global RESULT *out, int out_pitch, int y,
                      const struct weights *weights, const struct lane *lane)
{
    float finite = 0; /* or NaN */
    UNROLL
    for (int tile = 0; tile < TILES; tile++) {
        float sum[2][4];
        finite += down_columns(sum, held, tile, weights, lane);
        UNROLL
        for (int i = 0; i < 2; i++) {
            uint w[4] = {as_uint(sum[0][2 * i]), as_uint(sum[0][2 * i + 1]), as_uint(sum[1][2 * i]),
                         as_uint(sum[1][2 * i + 1])};
            store_words(w, s, out, out_pitch, s->at + 16 * tile + 4 * lane->place, y + lane->group + 8 * i);
        }
    }
    if (isnan(finite))
        mend_rows(out, out_pitch, y, s, lane);
}
#endif

/* Takes the next 16 rows. */
inline void take_rows(uint HELD, __local const uint *stage, const struct weights *weights,
                      const struct lane *lane)
{
    UNROLL
    for (int k = 0; k < (HELD_BLOCKS - 2) * TILES * 4; k++) {
        int i = k / (TILES * 4), tile = k / 4 % TILES, side = k / 2 % 2, part = k % 2;
        held[i][tile][side][part] = held[i + 2][tile][side][part];
    }
    UNROLL
    for (int i = 0; i < 2; i++)
        along_rows(held[HELD_BLOCKS - 2 + i], stage, 8 * i, weights, lane);
}

#define OWN_ROWS
#include "filters/gaussian/walk.clh"

__kernel __attribute__((GROUP_SIZE(WG_X, 1))) void
gaussian_matrix32(__global const PIXEL *in, int in_offset, int in_pitch, __global RESULT *out, int out_offset,
                  int out_pitch, int width, int height, BORDER_TYPE border, __global const float *table,
                  int reach, int rows)
{
    __local struct local_memory memory;
#if PLANES
    __local uint4 *in_local = 0;
#else
    __local uint4 in_local[2 * DEPTH * BLOCK_PARTS];
    int item = get_local_id(0), number = item % 32;
    struct lane lane = {.group = number / 4, .place = number % 4};
    for (int b = item / 32; b < 2 * DEPTH; b += WG_X / 32)
        make_block(in_local + b * BLOCK_PARTS + number, table, b, &lane);
    barrier(CLK_LOCAL_MEM_FENCE);
#endif
    walk_strip(in, in_offset, in_pitch, out, out_offset, out_pitch, width, height, border, table, reach, rows,
               &memory, in_local);
}
