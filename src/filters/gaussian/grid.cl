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
#ifndef TIMES
#define TIMES 2 /* times four results of a work-item that filters */
#endif
#ifndef SPLIT
#define SPLIT 1 /* work-items that share the taps of a result */
#endif
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

/* Pixels from a row to the next one where alpha lies alone. */
#define ALPHA_PITCH(width) (((width) + 15) / 16 * 16)
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
#define TOGETHER   (HONE_T == 0 && HONE_C == 3 ? 1 : FLOATING && HONE_C == 4 && STEP > 4 ? 4 : STEP)

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

/* What results' sums begin with and are multiplied by. Of u8, the second byte of their bits is the result:
 * eight bits of fraction stand behind it, and half a level is added; what the filter overshoots is less than
 * that. Of u16 they are parts of full scale, within which their last step keeps them. */
#if HONE_T == 0
#define START 49152.5f
#define UNITS SPREAD
#elif HONE_T == 1
#define START 0.0f
#define UNITS (SPREAD / 65535.0f)
#else
#define START 0.0f
#define UNITS SPREAD
#endif

/* value * weight + sum, of u16 within 0 and 1. */
inline float last_step(float value, float weight, float sum)
{
#if HONE_T == 1 && WITH_PTX
    float r;
    asm("fma.rn.sat.f32 %0, %1, %2, %3;" : "=f"(r) : "f"(value), "f"(weight), "f"(sum));
    return r;
#elif HONE_T == 1
    return clamp(mad(value, weight, sum), 0.0f, 1.0f);
#else
    return mad(value, weight, sum);
#endif
}

/* A word of results. */
inline uint pack(const float *v)
{
#if HONE_T == 2
    return as_uint(v[0]);
#elif HONE_T == 1
    return LOW_SHORTS(as_uint(mad(v[0], 65535.0f, 8388608.0f)), as_uint(mad(v[1], 65535.0f, 8388608.0f)));
#elif WITH_PTX
    return LOW_SHORTS(hone_bytes(as_uint(v[0]), as_uint(v[1]), 0x0051u),
                      hone_bytes(as_uint(v[2]), as_uint(v[3]), 0x0051u));
#else
    return hone_pack(as_uint(v[0]) >> 8, as_uint(v[1]) >> 8, as_uint(v[2]) >> 8, as_uint(v[3]) >> 8);
#endif
}

inline void pack_values(uint *words, const float *v)
{
#pragma unroll
    for (int q = 0; q < WORDS(WIDE); q++)
        words[q] = pack(v + 4 / BYTES * q);
}

#include "filters/gaussian/gather.clh"

/* ---- The filter on the grid ---- */

/* Four results, one after the other, from each value read: numbers of its type. */
#define ADD_TAPS(sums, value, taps, type)                                                                    \
    do {                                                                                                     \
        sums[0] = mad(value, (type)((taps)[3]), sums[0]);                                                    \
        sums[1] = mad(value, (type)((taps)[2]), sums[1]);                                                    \
        sums[2] = mad(value, (type)((taps)[1]), sums[2]);                                                    \
        sums[3] = mad(value, (type)((taps)[0]), sums[3]);                                                    \
    } while (0)

/* The same from four values of a row. */
inline void add_quad(float *sums, float4 four, __constant const float *taps)
{
    ADD_TAPS(sums, four.x, taps, float);
    ADD_TAPS(sums, four.y, taps + 1, float);
    ADD_TAPS(sums, four.z, taps + 2, float);
    ADD_TAPS(sums, four.w, taps + 3, float);
}

/* What `gather` stored: `rows` rows of each channel, `pitch` points long. */
struct gathered {
    __global const float *grid;
    int pitch, rows;
};

/* One of its rows. What the strip above saw of the first three rows of a strip is to be added. */
struct gathered_row {
    __global const float4 *own, *above;
    bool begun; /* by the strip above */
    int last;   /* number of the last four points */
};

inline struct gathered_row row_of_grid(const struct gathered *g, int channel, int row)
{
    int strips = STRIPS(g->rows), strip = (row + 3) / GATHERED, place = row + 3 - strip * GATHERED;
    __global const float4 *own =
        (__global const float4 *)(g->grid + ((channel * strips + strip) * STORED + place) * g->pitch);
    const bool begun = strip > 0 && place < 3;
    struct gathered_row r = {own, own - (begun ? 3 * (g->pitch / 4) : 0), begun, g->pitch / 4 - 1};
    return r;
}

/* Four points, which may lie outside of the row: there, those at its ends go on. */
inline float4 own_four(const struct gathered_row *r, int number)
{
    return r->own[clamp(number, 0, r->last)];
}

/* What is to be added to them. Work-items load all that they take before they ask for it: behind a branch,
 * loads wait for each other. They find rows again for it: kept in an array, these crash what Mesa 22.3
 * compiles. */
inline float4 missing_four(const struct gathered_row *r, int number)
{
    return r->begun ? r->above[clamp(number, 0, r->last)] : (float4)(0);
}

#if !TILES
/* A line of work-items makes twice four results for each, LINE_FOURS apart, in each of TIMES rows, which
 * share taps. Points come through local memory, as many at a time as so many taps see; of small grids, SPLIT
 * work-items have a part of these taps each, so that more of the device is busy. */
#define LINE_FOURS 32
#define LINE_ROWS  4 /* lines of work-items */
#define FOURS_RUN  32
#define LINE_LOADS (2 + FOURS_RUN / LINE_FOURS)
#define LINES      (TIMES * LINE_ROWS)
#define LINE       (LINE_LOADS * LINE_FOURS)
#define PART_LOADS ((TIMES * LINE_LOADS + SPLIT - 1) / SPLIT)

/* The points that one run of taps sees, from `four` of the row that is the group's first on. */
inline void load_lines(__local float4 lines[LINES][LINE], const struct gathered *gathered, int channel,
                       int four, int last)
{
    int item = get_local_id(0), level = TIMES * (int)get_local_id(1), row = TIMES * (int)get_global_id(1);
    float4 loaded[PART_LOADS];
#pragma unroll
    for (int i = 0; i < PART_LOADS; i++) {
        int k = min(i * SPLIT + (int)get_local_id(2), TIMES * LINE_LOADS - 1);
        const struct gathered_row from =
            row_of_grid(gathered, channel, min(row + k % TIMES, gathered->rows - 1));
        loaded[i] = own_four(&from, min(four + k / TIMES * LINE_FOURS, last));
    }
#pragma unroll
    for (int i = 0; i < PART_LOADS; i++) {
        int k = min(i * SPLIT + (int)get_local_id(2), TIMES * LINE_LOADS - 1);
        const struct gathered_row from =
            row_of_grid(gathered, channel, min(row + k % TIMES, gathered->rows - 1));
        lines[level + k % TIMES][item + k / TIMES * LINE_FOURS] =
            loaded[i] + missing_four(&from, min(four + k / TIMES * LINE_FOURS, last));
    }
}

/* Row and column 0 of the results' grid stand one point before the picture's first. Taps reach `reach`
 * points, `beyond` less than what is gathered, or more if negative. */
__kernel __attribute__((reqd_work_group_size(LINE_FOURS, LINE_ROWS, SPLIT))) void
gaussian_grid_rows(__global const float *grid, __global float *out, __constant const float *table, int reach,
                   int beyond, int pitch, int rows, int out_pitch)
{
    __local float4 lines[LINES][LINE];
#if SPLIT > 1
    __local float4 shares[SPLIT][LINE_ROWS * LINE_FOURS];
#endif
    int item = get_local_id(0), level = TIMES * get_local_id(1), row = TIMES * get_global_id(1);
    int first = get_group_id(0) * 2 * LINE_FOURS, seen = reach / 2 + 1, channel = get_group_id(2);
    int last = beyond / 4 + first + 2 * LINE_FOURS + seen, part = get_local_id(2);
    const struct gathered gathered = {grid, pitch, rows};
    float sums[2 * TIMES][4];
    if (IS_ALPHA(channel))
        return;
#pragma unroll
    for (int k = 0; k < 8 * TIMES; k++)
        sums[k / 4][k % 4] = 0;
    for (int begin = 0; begin < seen; begin += FOURS_RUN) {
        int count = min(FOURS_RUN, seen - begin), share = (count + SPLIT - 1) / SPLIT;
        load_lines(lines, &gathered, channel, beyond / 4 + first + begin + item, last);
        barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll 4
        for (int q = part * share; q < min(count, part * share + share); q++)
#pragma unroll
            for (int i = 0; i < 2 * TIMES; i++)
                add_quad(sums[i], lines[level + i / 2][item + i % 2 * LINE_FOURS + q],
                         table + 4 * STEP + 4 * (begin + q));
        barrier(CLK_LOCAL_MEM_FENCE);
    }
#pragma unroll
    for (int i = 0; i < 2 * TIMES; i++) {
        int four = first + item + i % 2 * LINE_FOURS, y = row + i / 2;
        float4 all = (float4)(sums[i][0], sums[i][1], sums[i][2], sums[i][3]);
#if SPLIT > 1
        int place = (int)get_local_id(1) * LINE_FOURS + item;
        shares[part][place] = all;
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int p = 0; p < SPLIT; p++)
            all = p == 0 ? shares[0][place] : all + shares[p][place];
        barrier(CLK_LOCAL_MEM_FENCE);
#endif
        if (part == i % SPLIT && y < rows && four < out_pitch / 4)
            ((__global float4 *)(out + (channel * rows + y) * out_pitch))[four] = all;
    }
}

/* A work-item makes four columns of TIMES times four rows, 4 * DEEP apart, or SPLIT work-items do together.
 * Rows of the grid come through local memory, as many at a time as so many taps see. */
#define ACROSS_ITEMS 16
#define TALL         (4 * TIMES * DEEP)
#define TAPS_RUN     32
#define COLUMN_LINES (SPLIT > 1 && (SPLIT - 1) * TALL > TAPS_RUN ? SPLIT * TALL : TALL + TAPS_RUN)

__kernel __attribute__((reqd_work_group_size(ACROSS_ITEMS, DEEP, SPLIT))) void
gaussian_grid_columns(__global const float *grid, __global float *out, __constant const float *table,
                      int reach, int beyond, int rows, int pitch, int out_rows)
{
    __local float4 lines[COLUMN_LINES][ACROSS_ITEMS];
    int x = get_local_id(0), deep = get_local_id(1), part = get_local_id(2), channel = get_group_id(2);
    int column = get_global_id(0), top = get_group_id(1) * TALL, fours = pitch / 4;
    __global const float4 *from =
        (__global const float4 *)(grid + channel * rows * pitch) + min(column, fours - 1);
    float4 sums[TIMES][4];
    if (IS_ALPHA(channel))
        return;
#pragma unroll
    for (int i = 0; i < 4 * TIMES; i++)
        sums[i / 4][i % 4] = (float4)(0);
    for (int begin = 0; begin < 2 * reach + 4; begin += TAPS_RUN) {
        int count = min(TAPS_RUN, 2 * reach + 4 - begin), share = TAPS_RUN / SPLIT;
        __constant const float *taps = table + 4 * STEP + begin;
#pragma unroll 4
        for (int k = part * DEEP + deep; k < TALL - 4 + count; k += SPLIT * DEEP)
            lines[k][x] = from[clamp(beyond + top + begin + k, 0, rows - 1) * fours];
        barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll 4
        for (int k = part * share; k < min(count, part * share + share); k++)
#pragma unroll
            for (int i = 0; i < TIMES; i++)
                ADD_TAPS(sums[i], lines[4 * (deep + i * DEEP) + k][x], taps + k, float4);
        barrier(CLK_LOCAL_MEM_FENCE);
    }
#pragma unroll
    for (int i = 0; i < 4 * TIMES; i++)
        lines[part * TALL + 4 * (deep + i / 4 * DEEP) + i % 4][x] = sums[i / 4][i % 4];
    barrier(CLK_LOCAL_MEM_FENCE);
    __global float4 *to = (__global float4 *)(out + channel * out_rows * pitch) + column;
    for (int k = part * DEEP + deep; k < TALL; k += SPLIT * DEEP) {
        float4 all = lines[k][x];
#pragma unroll
        for (int p = 1; p < SPLIT; p++)
            all += lines[p * TALL + k][x];
        if (column < fours && top + k < out_rows)
            to[(top + k) * fours] = all;
    }
}
#endif

#include "filters/gaussian/spread.clh"

#if !TILES
__kernel void gaussian_grid_spread(__global const PIXEL *in, int in_offset, int in_pitch,
                                   __global const float *grid, __global const uchar *flags,
                                   __global const uchar *tiles, __global const PIXEL *alpha,
                                   __global RESULT *out, int out_offset, int out_pitch, int width, int height,
                                   BORDER_TYPE border, int reach, int radius, int pitch, int rows,
                                   int gathered_rows, int flag_pitch)
{
    __local uint any;
    int x = get_global_id(0) * WIDE, by = get_global_id(1) * DOWN, across = get_local_size(0) * WIDE;
    int count = x < width ? cells_down(by, height) : 0;
    struct target t = {out + out_offset, in + in_offset, out_pitch, in_pitch, width,
                       height,           radius,         x,         alpha};
    if (count > 0)
        spread_cells(&t, grid + by * pitch + x / STEP, pitch, rows * pitch, by * STEP, count);
    mend_cells(&t, flags, tiles, border, by, count, reach, gathered_rows, flag_pitch,
               get_group_id(0) * across, across, by, DOWN, &any);
}

#else
/* A work-group's cells, the points that it makes in a row, and work-items beside each other. */
#define TILE_X (SPAN / STEP)
#define LINE   (TILE_X + 4)
#define PLACES (SPAN / WIDE)
#define TILE_Y (ITEMS / PLACES * DOWN)
#define PLANE  ((TILE_Y + 4) * LINE)

#define FOURS  (LINE / 4)

/* Columns that a work-item filters down: one where more would leave most without any. */
#if FOURS * (TILE_Y / 4 + 1) >= ITEMS / 2
typedef float4 COLUMN;
#else
typedef float COLUMN;
#endif
#define COLUMNS      (LINE * 4 / (int)sizeof(COLUMN))

/* Channels that pass through local memory together: all, where a tile has few points. */
#define ABREAST      (STEP >= 8 ? COLOURS : 1)
#define PART(i, all) (ABREAST > 1 ? (i) / (all) : 0)

/* Work-items beside each other that take rows of points, and rows that each of them takes at once. */
#define STAGE_ITEMS  16
#define STAGE_ROWS   (ITEMS / STAGE_ITEMS)
#define STAGE_LOADS  4

/* Of `count` rows of each channel from `channel` and row `top` on, one after the other, number `line`. */
inline struct gathered_row row_of_line(const struct gathered *g, int channel, int top, int count, int line)
{
    const int part = PART(line, count);
    return row_of_grid(g, channel + part, clamp(top + line - part * count, 0, g->rows - 1));
}

/* Those rows, `wide` times four points of each from number `left` on. */
inline void stage_points(__local float4 *to, const struct gathered *g, int channel, int top, int left,
                         int wide, int count)
{
    const int item = get_local_id(0) % STAGE_ITEMS, all = ABREAST * count;
    for (int y = get_local_id(0) / STAGE_ITEMS; y < all; y += STAGE_LOADS * STAGE_ROWS)
        for (int q = item; q < wide; q += STAGE_ITEMS) {
            float4 loaded[STAGE_LOADS];
#pragma unroll
            for (int i = 0; i < STAGE_LOADS; i++) {
                const int line = min(y + i * STAGE_ROWS, all - 1);
                const struct gathered_row row = row_of_line(g, channel, top, count, line);
                loaded[i] = own_four(&row, left + q);
            }
#pragma unroll
            for (int i = 0; i < STAGE_LOADS; i++) {
                const int line = y + i * STAGE_ROWS;
                const struct gathered_row row = row_of_line(g, channel, top, count, min(line, all - 1));
                if (line < all)
                    to[line * wide + q] = loaded[i] + missing_four(&row, left + q);
            }
        }
}

/* The same rows, filtered across; a work-item takes two of them, which share their taps. */
inline void filter_rows(__local float4 *to, __local const float4 *from, __constant const float *taps,
                        int reach, int wide, int count)
{
    const int half_count = ABREAST * count / 2;
    for (int i = get_local_id(0); i < FOURS * half_count; i += ITEMS) {
        int upper = i / FOURS, lower = upper + half_count, four = i % FOURS;
        float sums[2][4] = {{0, 0, 0, 0}, {0, 0, 0, 0}};
#pragma unroll 4
        for (int q = 0; q <= reach / 2; q++) {
            add_quad(sums[0], from[upper * wide + four + q], taps + 4 * q);
            add_quad(sums[1], from[lower * wide + four + q], taps + 4 * q);
        }
        to[upper * FOURS + four] = (float4)(sums[0][0], sums[0][1], sums[0][2], sums[0][3]);
        to[lower * FOURS + four] = (float4)(sums[1][0], sums[1][1], sums[1][2], sums[1][3]);
    }
}

/* And down, `count` rows of results of each channel. */
inline void filter_columns(__local COLUMN *to, __local const COLUMN *from, __constant const float *taps,
                           int reach, int count)
{
    const int all = count / 4 * COLUMNS;
    for (int i = get_local_id(0); i < ABREAST * all; i += ITEMS) {
        const int part = PART(i, all), own = i - part * all;
        const int at = own / COLUMNS * 4 * COLUMNS + own % COLUMNS;
        __local const COLUMN *column = from + part * (count + 2 * reach) * COLUMNS + at;
        COLUMN sums[4] = {0, 0, 0, 0};
#pragma unroll 4
        for (int k = 0; k < 2 * reach + 4; k++)
            ADD_TAPS(sums, column[k * COLUMNS], taps + k, COLUMN);
#pragma unroll
        for (int k = 0; k < 4; k++)
            to[part * (PLANE / LINE) * COLUMNS + at + k * COLUMNS] = sums[k];
    }
}

/* `stage` has room for TILE_Y + 4 + 2 * taps rows of LINE + 2 * taps points, and as many of LINE, of ABREAST
 * channels; `columns` and `rows`: of all results of the filter, in which row and column 0 stand one point
 * before the picture's first. */
__kernel __attribute__((reqd_work_group_size(ITEMS, 1, 1))) void
gaussian_grid_tiles(__global const PIXEL *in, int in_offset, int in_pitch, __global const float *grid,
                    __constant const float *table, __global const uchar *flags, __global const uchar *tiles,
                    __global const PIXEL *alpha, __global RESULT *out, int out_offset, int out_pitch,
                    int width, int height, BORDER_TYPE border, int taps, int reach, int radius, int columns,
                    int rows, int flag_pitch, __local float4 *stage)
{
    __local float4 points4[COLOURS * PLANE / 4];
    __local uint any;
    __local float *points = (__local float *)points4;
    int left = get_group_id(0) * TILE_X, top = get_group_id(1) * TILE_Y, item = get_local_id(0);
    int count = min(TILE_Y + 4, rows - top), wide = FOURS + taps / 2;
    __local float4 *lines = stage + ABREAST * (TILE_Y + 4 + 2 * taps) * wide;
    const struct gathered gathered = {grid, columns + 2 * reach, rows + 2 * reach};
#pragma unroll 1
    for (int c = 0; c < COLOURS; c += ABREAST) {
        stage_points(stage, &gathered, c, top + reach - taps, (left + reach - taps) / 4, wide,
                     count + 2 * taps);
        barrier(CLK_LOCAL_MEM_FENCE);
        filter_rows(lines, stage, table + 4 * STEP, taps, wide, count + 2 * taps);
        barrier(CLK_LOCAL_MEM_FENCE);
        filter_columns((__local COLUMN *)(points4 + c * PLANE / 4), (__local const COLUMN *)lines,
                       table + 4 * STEP, taps, count);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    int x = left * STEP + item % PLACES * WIDE, row = item / PLACES * DOWN, by = top + row;
    int cells = x < width ? cells_down(by, height) : 0;
    struct target t = {out + out_offset, in + in_offset, out_pitch, in_pitch, width,
                       height,           radius,         x,         alpha};
    if (cells > 0)
        spread_cells(&t, points + row * LINE + x / STEP - left, LINE, PLANE, by * STEP, cells);
    mend_cells(&t, flags, tiles, border, by, cells, reach, gathered.rows, flag_pitch, left * STEP, SPAN, top,
               TILE_Y, &any);
}
#endif
