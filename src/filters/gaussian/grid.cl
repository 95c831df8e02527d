/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * For GPUs: any sigma at nearly the cost of reading and writing the picture. What a Gaussian leaves is so
 * smooth that every STEP-th row and column of it say all; grid.c has the formula, and how little is lost.
 *
 *   1. gather: pixels are weighted onto a grid of every STEP-th row and column; each counts for 4x4 grid
 * points;
 *   2. rows, columns: a filter along both axes of the grid;
 *   3. spread: every pixel is a weighted sum of the 4x4 grid points around it.
 *
 * Variant `grid` does this in four launches; in `grid_tiles` the work-groups that spread filter their own
 * part of the grid, in local memory, and there are two.
 *
 * The grid goes on beyond the edges as far as is needed, or as it differs from its last points there, so that
 * the border rule matters to `gather` alone.
 * Cell b is the pixels b * STEP .. b * STEP + STEP - 1 and lies between grid points b and b + 1. Channels are
 * grids of their own. NaN and infinity count as 0 in the grid; `gather` notes where there are some, and
 * `spread` does the results again whose windows hold one.
 *
 * Loops over pixels, cells and weights are unrolled: their indices must be constants for the arrays to live
 * in registers and for phi to become literals.
 */
#ifndef STEP
#define STEP 2 /* pixels of a cell's side */
#endif
#ifndef PHI /* the weights of a cell's pixels for the grid points -1, 0, 1 and 2 */
#define PHI 0.05f, 0.55f, 0.35f, 0.05f, 0.05f, 0.35f, 0.55f, 0.05f
#endif
#ifndef TAKE
#define TAKE 8 /* bytes of a channel's row per work-item of `gather`, at least a cell and at most four */
#endif
#ifndef GIVE
#define GIVE 16 /* the same of `spread`; also less than a cell */
#endif
#ifndef GROUP
#define GROUP 128 /* work-items of `gather` */
#endif
#ifndef ROWS
#define ROWS 16 /* rows of cells of each */
#endif
#ifndef STACK
#define STACK 1 /* work-items of `gather` one below the other, which put their rows together */
#endif
#ifndef DEEP
#define DEEP 8 /* work-items that filter down, one below the other */
#endif
#ifndef DOWN
#define DOWN 4 /* cells, one below the other, per work-item of `spread` */
#endif
#ifndef SPAN
#define SPAN 128 /* pixels across that a work-group of `tiles` makes: at least four cells */
#endif
#ifndef ITEMS
#define ITEMS 256 /* its work-items */
#endif
#ifndef AHEAD
#define AHEAD 0 /* `gather` reads, while it takes in others, 1: a row of cells, 2: rows, into local memory */
#endif

#if HONE_T == 0
#define BYTES 1
#elif HONE_T == 1
#define BYTES 2
#else
#define BYTES 4
#endif

/* A work-item of `gather`: cells, one beside the other, their pixels, and the grid points that they see. */
#if TAKE <= STEP * BYTES
#define CELLS 1
#elif TAKE <= 2 * STEP * BYTES
#define CELLS 2
#else
#define CELLS 4
#endif
#define PX      (CELLS * STEP)
#define POINTS  (CELLS + 3)
#define COLOURS (HONE_C - HONE_ALPHA) /* channels that are blurred */
/* work-items whose cells the group before holds too: at least 3, and 4 keep loads aligned */
#define OVERLAP 4

/* Rows of cells that its group walks down, and of the grid that it stores: the last three are begun only. */
#define GATHERED (STACK * ROWS)
#define STORED   (GATHERED + 3)

/* Groups one below the other, for a grid of so many rows, which takes three more rows of cells. */
#define STRIPS(rows) (((rows) + GATHERED + 2) / GATHERED)

/* And one of `spread`: pixels and grid points; rows of a cell whose code stands beside each other. */
#define WIDE       (GIVE / BYTES)
#define WIDE_CELLS (WIDE > STEP ? WIDE / STEP : 1)
#define AROUND     (WIDE_CELLS + 3)
#define TOGETHER   (AHEAD != 2 ? STEP : HONE_C > 1 && !FLOATING ? 1 : STEP > 4 ? 4 : STEP)

__constant float phi[4 * STEP] = {PHI};

/* Where the points are that are spread. */
#ifdef VARIANT_grid_tiles
#define TILES 1
#define SPACE __local
#else
#define TILES 0
#define SPACE __global
#endif

/* Values as `gather` takes them, before its weights: of u8 128 + value / 256, whose bits need no conversion.
 * Floats are halved on the grid: its filter overshoots, and must not overflow. */
#if HONE_T == 0
#define OFFSET 128.0f
#define GATHER 256.0f
#define SPREAD 1.0f
#elif FLOATING
#define OFFSET 0.0f
#define GATHER 0.5f
#define SPREAD 2.0f
#else
#define OFFSET 0.0f
#define GATHER 1.0f
#define SPREAD 1.0f
#endif

/* Where weights down are read, not literals, what they are to be divided by is divided by elsewhere. */
#define LATER (AHEAD == 2 ? STEP : 1)

/* u8 with NVIDIA's instruction for two products of a byte and 16 bits: weights are parts of ONE, and sums of
 * a row stay below 2^23, since of the weights of a cell at most half are for one point. */
#define PAIRED (HONE_T == 0 && WITH_PTX)
#if PAIRED
#define ONE          ((CELLS == 1 ? 65536.0f : 32768.0f) / STEP)
#define WHOLE(d, i)  ((uint)(phi[4 * (d) + (i)] * ONE + 0.5f))
#define ACROSS(d, i) (phi[4 * (d) + (i)] * (GATHER * ONE))
#define UNIT         (1.0f / (ONE * STEP * LATER))
#else
#define ACROSS(d, i) (phi[4 * (d) + (i)] * (GATHER / STEP / LATER))
#define UNIT         1.0f
#endif
#define CAREFUL     ((3 + HONE_C) / HONE_C) /* rows at a time where the border is */
#define BELOW(d, i) (phi[4 * (d) + (i)] * ((float)LATER / STEP))

#define IS_NAN      1
#define IS_PLUS     2
#define IS_MINUS    4

inline uint kind_of(float value)
{
    return isnan(value) ? IS_NAN : !isinf(value) ? 0 : value > 0 ? IS_PLUS : IS_MINUS;
}

inline float from_pixel(NUMBER value)
{
#if HONE_T == 0
    return as_float(0x43000000u | (uint)value << 8);
#elif HONE_T == 1
    return as_float(0x4b000000u | (uint)value) - 8388608.0f;
#else
    return value;
#endif
}

/* ---- Pixels as words ---- */

#include "filters/colours.clh"
#define WORDS(pixels) ((pixels)*BYTES / 4)

inline float value_of(const uint *w, int k)
{
#if HONE_T == 0 && WITH_PTX
    return as_float(hone_bytes(w[k / 4], 0x43000000u, 0x7404u | (uint)(k % 4) << 4));
#elif HONE_T == 0
    return from_pixel(w[k / 4] >> 8 * (k % 4) & 0xffu);
#elif HONE_T == 1
    return from_pixel(w[k / 2] >> 16 * (k % 2) & 0xffffu);
#else
    return as_float(w[k]);
#endif
}

/* The lowest bytes, or halves, of the bits of floats that end in integers. */
inline uint pack(const float *v)
{
#if HONE_T == 2
    return as_uint(v[0]);
#elif HONE_T == 1
    return LOW_SHORTS(as_uint(v[0]), as_uint(v[1]));
#else
    return hone_pack(as_uint(v[0]), as_uint(v[1]), as_uint(v[2]), as_uint(v[3]));
#endif
}

/* A whole number, ties to even, in the lowest bits: floats from 2^23 on have no others. What the filter
 * overshoots in u8 is less than half a level. */
inline float to_integer(float value)
{
#if FLOATING
    return value;
#elif HONE_T == 1
    return clamp(value, 0.0f, 65535.0f) + 12582912.0f;
#else
    return value + 12582912.0f;
#endif
}

inline void pack_values(uint *words, float *v)
{
#pragma unroll
    for (int k = 0; k < WIDE; k++)
        v[k] = to_integer(v[k]);
#pragma unroll
    for (int q = 0; q < WORDS(WIDE); q++)
        words[q] = pack(v + 4 / BYTES * q);
}

#include "filters/gaussian/gather.clh"

/* ---- The filter on the grid ---- */

/* Four results, one after the other, from each value read. */
#define ADD_TAPS(sums, value, taps)                                                                          \
    do {                                                                                                     \
        sums[0] = mad(value, (taps)[3], sums[0]);                                                            \
        sums[1] = mad(value, (taps)[2], sums[1]);                                                            \
        sums[2] = mad(value, (taps)[1], sums[2]);                                                            \
        sums[3] = mad(value, (taps)[0], sums[3]);                                                            \
    } while (0)

/* What `gather` stored: `rows` rows of each channel, `pitch` points long. */
struct gathered {
    __global const float *grid;
    int pitch, rows;
};

/* Four results of row `row` of a channel, from its four points `first`, which may lie outside of it: there,
 * those at its ends go on. `taps`: of the distance -reach - 3 first. No branch, which loads would wait
 * for. */
inline float4 filter_across(const struct gathered *g, int channel, int row, int first,
                            __constant const float *taps, int reach)
{
    int strips = STRIPS(g->rows), strip = (row + 3) / GATHERED;
    int place = row + 3 - strip * GATHERED, fours = g->pitch / 4;
    bool begun = strip > 0 && place < 3; /* by the strip above */
    __global const float4 *from =
        (__global const float4 *)(g->grid + ((channel * strips + strip) * STORED + place) * g->pitch);
    __global const float4 *above = from - (begun ? 3 * fours : 0);
    float share = begun ? 1.0f : 0.0f, sums[4] = {0, 0, 0, 0};
#pragma unroll 4
    for (int q = 0; q <= reach / 2; q++) {
        int at = clamp(first + q, 0, fours - 1);
        float4 four = from[at] + share * above[at];
        ADD_TAPS(sums, four.x, taps + 4 * q);
        ADD_TAPS(sums, four.y, taps + 4 * q + 1);
        ADD_TAPS(sums, four.z, taps + 4 * q + 2);
        ADD_TAPS(sums, four.w, taps + 4 * q + 3);
    }
    return (float4)(sums[0], sums[1], sums[2], sums[3]);
}

#if !TILES
/* Row and column 0 of the results' grid stand one point before the picture's first. Taps reach `reach`
 * points, `beyond` less than what is gathered, or more if negative. */
__kernel void gaussian_grid_rows(__global const float *grid, __global float *out,
                                 __constant const float *table, int reach, int beyond, int pitch, int rows,
                                 int out_pitch)
{
    int column = get_global_id(0) * 4, row = get_global_id(1), channel = get_global_id(2);
    if (column >= out_pitch || row >= rows || IS_ALPHA(channel))
        return;
    const struct gathered gathered = {grid, pitch, rows};
    *(__global float4 *)(out + (channel * rows + row) * out_pitch + column) =
        filter_across(&gathered, channel, row, (beyond + column) / 4, table + 4 * STEP, reach);
}

/* A work-group's results: a column for each work-item across, four rows for each down. Rows of the grid come
 * through local memory, as many at a time as fit there. */
#define ACROSS_ITEMS 32
#define LINES        (4 * DEEP + 96)

__kernel __attribute__((reqd_work_group_size(ACROSS_ITEMS, DEEP, 1))) void
gaussian_grid_columns(__global const float *grid, __global float *out, __constant const float *table,
                      int reach, int beyond, int rows, int pitch, int out_rows)
{
    __local float lines[LINES][ACROSS_ITEMS];
    int x = get_local_id(0), deep = get_local_id(1), channel = get_global_id(2);
    int column = get_global_id(0), top = get_group_id(1) * DEEP * 4, row = top + 4 * deep;
    int count = min(4 * DEEP, out_rows - top) + 2 * reach;
    __global const float *from = grid + channel * rows * pitch + min(column, pitch - 1);
    __constant const float *taps = table + 4 * STEP - 4 * deep;
    float sums[4] = {0, 0, 0, 0};
    if (IS_ALPHA(channel))
        return;
    for (int first = 0; first < count; first += LINES) {
        int end = min(first + LINES, count);
#pragma unroll 8
        for (int k = first + deep; k < end; k += DEEP)
            lines[k - first][x] = from[clamp(beyond + top + k, 0, rows - 1) * pitch];
        barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll 4
        for (int k = max(first, 4 * deep); k < min(end, 4 * deep + 2 * reach + 4); k++)
            ADD_TAPS(sums, lines[k - first][x], taps + k);
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (column >= pitch || row >= out_rows)
        return;
    __global float *to = out + (channel * out_rows + row) * pitch + column;
#pragma unroll
    for (int i = 0; i < 4; i++)
        to[i * pitch] = sums[i];
}
#endif

#include "filters/gaussian/spread.clh"

#if !TILES
__kernel void gaussian_grid_spread(__global const PIXEL *in, int in_offset, int in_pitch,
                                   __global const float *grid, __global const uchar *flags,
                                   __global const uchar *tiles, __global RESULT *out, int out_offset,
                                   int out_pitch, int width, int height, BORDER_TYPE border, int reach,
                                   int radius, int pitch, int rows, int gathered_rows, int flag_pitch)
{
    int x = get_global_id(0) * WIDE, by = get_global_id(1) * DOWN, count = cells_down(by, height);
    struct target t = {out + out_offset, in + in_offset, out_pitch, in_pitch, width, height, radius, x};
    if (t.x >= width || by * STEP >= height)
        return;
    spread_cells(&t, grid + by * pitch + x / STEP, pitch, rows * pitch, by * STEP, count);
    mend_cells(&t, flags, tiles, border, by, count, reach, gathered_rows, flag_pitch);
}

#else
/* A work-group's cells, the points that it makes in a row, and work-items beside each other. */
#define TILE_X (SPAN / STEP)
#define LINE   (TILE_X + 4)
#define PLACES (SPAN / WIDE)
#define TILE_Y (ITEMS / PLACES * DOWN)
#define PLANE  ((TILE_Y + 4) * LINE)

/* `quads` of four points in each of `count` rows of each channel, filtered across; `top`, `left`: what their
 * taps begin with. */
inline void filter_rows(__local float4 *lines, const struct gathered *g, int top, int left,
                        __constant const float *taps, int reach, int quads, int count)
{
    for (int i = get_local_id(0); i < COLOURS * count * (LINE / 4); i += ITEMS) {
        int quad = i % (LINE / 4), line = i / (LINE / 4), channel = line / count;
        int row = clamp(top + line - channel * count, 0, g->rows - 1);
        if (quad < quads)
            lines[i] = filter_across(g, channel, row, left / 4 + quad, taps, reach);
    }
}

/* The same down, of `count` rows of results. */
inline void filter_columns(__local float *points, __local const float *lines, __constant const float *taps,
                           int reach, int quads, int count)
{
    for (int i = get_local_id(0); i < COLOURS * (count / 4) * LINE; i += ITEMS) {
        int column = i % LINE, four = i / LINE, channel = four / (count / 4);
        int row = 4 * (four - channel * (count / 4));
        __local const float *from = lines + (channel * (count + 2 * reach) + row) * LINE + column;
        __local float *to = points + channel * PLANE + row * LINE + column;
        float sums[4] = {0, 0, 0, 0};
        if (column >= 4 * quads)
            continue;
#pragma unroll 4
        for (int k = 0; k < 2 * reach + 4; k++)
            ADD_TAPS(sums, from[k * LINE], taps + k);
#pragma unroll
        for (int k = 0; k < 4; k++)
            to[k * LINE] = sums[k];
    }
}

/* `lines` has room for TILE_Y + 4 + 2 * taps rows of LINE points of each channel; `columns` and `rows`: of
 * all results of the filter, in which row and column 0 stand one point before the picture's first. */
__kernel __attribute__((reqd_work_group_size(ITEMS, 1, 1))) void
gaussian_grid_tiles(__global const PIXEL *in, int in_offset, int in_pitch, __global const float *grid,
                    __constant const float *table, __global const uchar *flags, __global const uchar *tiles,
                    __global RESULT *out, int out_offset, int out_pitch, int width, int height,
                    BORDER_TYPE border, int taps, int reach, int radius, int columns, int rows,
                    int flag_pitch, __local float4 *lines)
{
    __local float points[COLOURS * PLANE];
    int left = get_group_id(0) * TILE_X, top = get_group_id(1) * TILE_Y, item = get_local_id(0);
    int quads = min(LINE, columns - left) / 4, count = min(TILE_Y + 4, rows - top);
    const struct gathered gathered = {grid, columns + 2 * reach, rows + 2 * reach};
    filter_rows(lines, &gathered, top + reach - taps, left + reach - taps, table + 4 * STEP, taps, quads,
                count + 2 * taps);
    barrier(CLK_LOCAL_MEM_FENCE);
    filter_columns(points, (__local const float *)lines, table + 4 * STEP, taps, quads, count);
    barrier(CLK_LOCAL_MEM_FENCE);
    int x = left * STEP + item % PLACES * WIDE, row = item / PLACES * DOWN, by = top + row;
    struct target t = {out + out_offset, in + in_offset, out_pitch, in_pitch, width, height, radius, x};
    if (x >= width || by * STEP >= height)
        return;
    spread_cells(&t, points + row * LINE + x / STEP - left, LINE, PLANE, by * STEP, cells_down(by, height));
    mend_cells(&t, flags, tiles, border, by, cells_down(by, height), reach, gathered.rows, flag_pitch);
}
#endif
