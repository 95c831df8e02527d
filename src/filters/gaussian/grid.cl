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
 * The grid goes on beyond the edges as far as is needed, so that the border rule matters to `gather` alone.
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
#define ROWS 16 /* rows of the grid that they make */
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
#define AHEAD 0 /* 1: `gather` reads a row of cells while it takes in the one before */
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

/* And one of `spread`: pixels and grid points. */
#define WIDE       (GIVE / BYTES)
#define WIDE_CELLS (WIDE > STEP ? WIDE / STEP : 1)
#define AROUND     (WIDE_CELLS + 3)

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

/* u8 with NVIDIA's instruction for two products of a byte and 16 bits: weights are parts of ONE, and sums of
 * a row stay below 2^23, since of the weights of a cell at most half are for one point. */
#define PAIRED (HONE_T == 0 && WITH_PTX)
#if PAIRED
#define ONE          ((CELLS == 1 ? 65536.0f : 32768.0f) / STEP)
#define WHOLE(d, i)  ((uint)(phi[4 * (d) + (i)] * ONE + 0.5f))
#define ACROSS(d, i) (phi[4 * (d) + (i)] * (GATHER * ONE))
#define UNIT         (1.0f / (ONE * STEP))
#else
#define ACROSS(d, i) (phi[4 * (d) + (i)] * (GATHER / STEP))
#define UNIT         1.0f
#endif
#define CAREFUL     (4 / HONE_C) /* rows at a time where the border is */
#define BELOW(d, i) (phi[4 * (d) + (i)] * (1.0f / STEP))

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

/* ---- Gather ---- */

/* The cells of a work-item: x is their first pixel. */
struct cells {
    __global const PIXEL *in;
    int pitch, width, height, x;
    BORDER_TYPE border;
    int end;             /* the first pixel that no point of the grid sees */
    int edge;            /* the pixel at an edge that all of theirs repeat; below 0: they do not */
    float start[POINTS]; /* what a row of them begins with: minus what OFFSET adds to it */
};

inline void set_start(struct cells *s)
{
#pragma unroll
    for (int p = 0; p < POINTS; p++)
        s->start[p] = 0;
#pragma unroll
    for (int k = 0; k < PX; k++)
#pragma unroll
        for (int i = 0; i < 4; i++)
            s->start[k / STEP + i] -= OFFSET * ACROSS(k % STEP, i);
}

/* sums[4 * point + i]: the i-th of four rows of the grid. `below`: the row's weights for these. */
inline void add_across(float *sums, const float *across, const float *below)
{
#pragma unroll
    for (int p = 0; p < POINTS; p++)
#pragma unroll
        for (int i = 0; i < 4; i++)
            sums[4 * p + i] = mad(across[p], below[i], sums[4 * p + i]);
}

inline void add_row(float *sums, const float *v, const float *below, const float *start)
{
    float across[POINTS];
#pragma unroll
    for (int p = 0; p < POINTS; p++)
        across[p] = start[p];
#pragma unroll
    for (int u = 0; u < CELLS; u++)
#pragma unroll
        for (int d = 0; d < STEP; d++)
#pragma unroll
            for (int i = 0; i < 4; i++)
                across[u + i] = mad(v[u * STEP + d], ACROSS(d, i), across[u + i]);
    add_across(sums, across, below);
}

/* Words of a row of cells, by channel. */
#define ROW_WORDS WORDS(PX)

inline void add_words(float *sums, const uint *w, const float *below, const float *start)
{
#if PAIRED
    uint whole[POINTS];
    float across[POINTS];
#pragma unroll
    for (int p = 0; p < POINTS; p++)
        whole[p] = 0x4b000000u; /* the bits of 2^23; with a sum below that, those of 2^23 + sum */
#pragma unroll
    for (int k = 0; k < PX; k += 2)
#pragma unroll
        for (int i = 0; i < 4; i++) {
            uint weights = WHOLE(k % STEP, i) | WHOLE(k % STEP + 1, i) << 16;
            whole[k / STEP + i] = k % 4 ? hone_products_high(w[k / 4], weights, whole[k / STEP + i])
                                        : hone_products_low(w[k / 4], weights, whole[k / STEP + i]);
        }
#pragma unroll
    for (int p = 0; p < POINTS; p++)
        across[p] = as_float(whole[p]) - 8388608.0f;
    add_across(sums, across, below);
#else
    float v[PX];
#pragma unroll
    for (int k = 0; k < PX; k++)
        v[k] = value_of(w, k);
    add_row(sums, v, below, start);
#endif
}

/* A row of cells, its channels interleaved. */
inline void add_colours(float sums[COLOURS][4 * POINTS], const uint *w, const float *below,
                        const float *start)
{
    uint planes[HONE_C][ROW_WORDS];
#pragma unroll
    for (int q = 0; q < ROW_WORDS; q++) {
        uint one[HONE_C];
        split_words(one, w + q * HONE_C);
#pragma unroll
        for (int c = 0; c < HONE_C; c++)
            planes[c][q] = one[c];
    }
#pragma unroll
    for (int c = 0; c < COLOURS; c++)
        add_words(sums[c], planes[c], below, start);
}

/* Cells beside the picture, where the border rule repeats the pixel at its edge. */
#define REPEATS (HONE_BORDER == BORDER_REPLICATE || HONE_BORDER == BORDER_ZERO_OUTSIDE)

inline int edge_beside(int x, int width)
{
    return !REPEATS ? -1 : x + PX <= 0 ? 0 : x >= width ? width - 1 : -1;
}

inline void repeat_pixel(uint *w, __global const PIXEL *at)
{
#pragma unroll
    for (int q = 0; q < HONE_C; q++) {
        w[q] = 0;
#pragma unroll
        for (int k = 0; k < WORD_PART; k++)
            w[q] |= BITS_OF(at[(q * WORD_PART + k) % HONE_C]) << 8 * BYTES * k;
    }
#pragma unroll
    for (int q = HONE_C; q < ROW_WORDS * HONE_C; q++)
        w[q] = w[q - HONE_C];
}

inline void load_row(uint *w, const struct cells *s, __global const PIXEL *row, bool beside)
{
    if (beside)
        repeat_pixel(w, row + s->edge * HONE_C);
    else
        load_run(w, row + s->x * HONE_C, ROW_WORDS * HONE_C);
}

inline void load_rows(uint *words, const struct cells *s, int y, bool beside)
{
#pragma unroll
    for (int d = 0; d < STEP; d++)
        load_row(words + d * ROW_WORDS * HONE_C, s, s->in + (y + d) * s->pitch, beside);
}

inline void load_cells(uint *words, const struct cells *s, int y)
{
    if (s->edge >= 0)
        load_rows(words, s, y, true);
    else
        load_rows(words, s, y, false);
}

/* With AHEAD they are in `words` already. */
inline void add_inside(float sums[COLOURS][4 * POINTS], const struct cells *s, int y, const uint *words,
                       bool beside)
{
    __global const PIXEL *row = s->in + y * s->pitch;
#pragma unroll
    for (int d = 0; d < STEP; d++) {
        const float below[4] = {BELOW(d, 0), BELOW(d, 1), BELOW(d, 2), BELOW(d, 3)};
        uint w[ROW_WORDS * HONE_C];
        if (!AHEAD)
            load_row(w, s, row + d * s->pitch, beside);
        add_colours(sums, AHEAD ? words + d * ROW_WORDS * HONE_C : w, below, s->start);
    }
}

/* Rows of the border, above or below the picture. */
inline void add_beyond(float sums[COLOURS][4 * POINTS], const struct cells *s, int y)
{
#pragma unroll CAREFUL
    for (int d = 0; d < STEP; d++) {
        int inside;
        __global const PIXEL *row = hone_row(s->in, s->pitch, y + d, s->height, &inside);
        const float below[4] = {BELOW(d, 0), BELOW(d, 1), BELOW(d, 2), BELOW(d, 3)};
        uint w[ROW_WORDS * HONE_C];
        load_row(w, s, row, s->edge >= 0);
#pragma unroll
        for (int k = 0; k < ROW_WORDS * HONE_C; k++)
            w[k] = REAL_ROW(inside) ? w[k] : outside_word(s->border);
        add_colours(sums, w, below, s->start);
    }
}

/* A channel pixel by pixel with the border rule, and without NaN and infinity; gives the kinds of these. */
inline uint add_carefully(float *sums, const struct cells *s, int y, int channel)
{
    int from[PX];
    uint kinds = 0;
#pragma unroll
    for (int k = 0; k < PX; k++)
        from[k] = hone_fold(s->x + k, s->width);
#pragma unroll CAREFUL
    for (int d = 0; d < STEP; d++) {
        int inside;
        __global const PIXEL *row = hone_row(s->in, s->pitch, y + d, s->height, &inside);
        const float below[4] = {BELOW(d, 0), BELOW(d, 1), BELOW(d, 2), BELOW(d, 3)};
        float v[PX];
#pragma unroll
        for (int k = 0; k < PX; k++) {
            NUMBER value = row[max(from[k], 0) * HONE_C + channel];
            v[k] = from_pixel(REAL_ROW(inside && from[k] >= 0) ? value : s->border);
#if FLOATING
            uint kind = kind_of(v[k]);
            v[k] = kind ? 0 : v[k];
            kinds |= kind;
#endif
        }
        add_row(sums, v, below, s->start);
    }
    return kinds;
}

/* Whether rows of the cells are words of the picture, or of a pixel that repeats. */
inline bool is_across(const struct cells *s)
{
    return s->edge >= 0 || (s->x >= 0 && s->x + PX <= s->width);
}

inline bool is_inside(const struct cells *s, int y)
{
    return is_across(s) && y >= 0 && y + STEP <= s->height;
}

#if FLOATING
/* Adds a channel's block, again without NaN and infinity if there are some; gives the kinds of these. */
inline uint add_finite(float *sums, float *block, const struct cells *s, int y, int channel, bool across)
{
    float total = 0;
    uint kinds = 0;
#pragma unroll
    for (int p = 0; p < POINTS; p++)
        total += block[4 * p + 1];
    if (!across || !isfinite(total)) {
#pragma unroll
        for (int k = 0; k < 4 * POINTS; k++)
            block[k] = 0;
        kinds = add_carefully(block, s, y, channel);
    }
#pragma unroll
    for (int k = 0; k < 4 * POINTS; k++)
        sums[k] += block[k];
    return kinds;
}
#endif

/* `words`: with AHEAD the cells, where they are inside. Gives the kinds of NaN and infinity in them. */
inline void add_block(float sums[COLOURS][4 * POINTS], uint *kinds, const struct cells *s, int y,
                      const uint *words)
{
    bool across = is_across(s);
#pragma unroll
    for (int c = 0; c < COLOURS; c++)
        kinds[c] = 0;
    if (s->x >= s->end)
        return;
#if FLOATING
    float block[COLOURS][4 * POINTS];
#pragma unroll
    for (int k = 0; k < COLOURS * 4 * POINTS; k++)
        block[k / (4 * POINTS)][k % (4 * POINTS)] = 0;
#else
#define block sums
#endif
    if (is_inside(s, y) && (AHEAD || s->edge < 0))
        add_inside(block, s, y, words, false);
    else if (is_inside(s, y))
        add_inside(block, s, y, words, true);
    else if (across)
        add_beyond(block, s, y);
#pragma unroll
    for (int c = 0; c < COLOURS; c++)
#if FLOATING
        kinds[c] = add_finite(sums[c], block[c], s, y, c, across);
#else
        if (!across)
            add_carefully(sums[c], s, y, c);
#undef block
#endif
}

/* The work-items' sums for the first of the four rows, put together: the last three points of each are seen
 * by those after it, too. */
inline void store_points(float sums[COLOURS][4 * POINTS], __local float *passed, __global float *to,
                         int plane, int item, bool wanted)
{
#pragma unroll
    for (int c = 0; c < COLOURS; c++)
#pragma unroll
        for (int e = 0; e < 3; e++)
            passed[(3 * c + e) * GROUP + item] = sums[c][4 * (CELLS + e)];
    barrier(CLK_LOCAL_MEM_FENCE);
    if (!wanted)
        return;
#pragma unroll
    for (int c = 0; c < COLOURS; c++)
#pragma unroll
        for (int u = 0; u < CELLS; u++) {
            float total = sums[c][4 * u];
#pragma unroll
            for (int n = 1; u + n * CELLS < POINTS; n++)
                total += passed[(3 * c + u + (n - 1) * CELLS) * GROUP + item - n];
            to[c * plane + u] = total * UNIT;
        }
}

/* The grid's row a and column 0 stand `reach` + 1 points before the picture's first. A row of cells completes
 * the row of the grid above it; it has that row's number here.
 * Work-groups at the edges take longest, so they come first: those of the last columns, of the first, then
 * the others. */
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
gaussian_grid_gather(__global const PIXEL *in, int in_offset, int in_pitch, __global float *grid,
                     __global uchar *flags, __global uchar *tiles, int width, int height, BORDER_TYPE border,
                     int reach, int pitch, int rows, int flag_pitch)
{
    __local float passed[2][3 * COLOURS * GROUP];
#if FLOATING
    __local uint any[COLOURS];
#endif
    int groups = get_num_groups(0), strips = get_num_groups(1);
    int place = get_group_id(1) * groups + get_group_id(0);
    int group = (place / strips + groups - 1) % groups, strip = (place % strips + strips - 1) % strips;
    int item = get_local_id(0), first = strip * ROWS, last = min(first + ROWS, rows);
    int number = group * (GROUP - OVERLAP) + item, column = (number - OVERLAP) * CELLS;
    struct cells s = {in + in_offset,         in_pitch, width, height, (column - reach) * STEP, border,
                      (pitch - reach) * STEP, 0,        {0}};
    s.edge = edge_beside(s.x, width);
    set_start(&s);
    float sums[COLOURS][4 * POINTS];
    uint kinds[COLOURS];
#if FLOATING
    uint seen[COLOURS];
#pragma unroll
    for (int c = 0; c < COLOURS; c++) {
        seen[c] = 0;
        if (item == 0)
            any[c] = 0;
    }
#endif
#pragma unroll
    for (int k = 0; k < COLOURS * 4 * POINTS; k++)
        sums[k / (4 * POINTS)][k % (4 * POINTS)] = 0;
    uint next[STEP * ROW_WORDS * HONE_C];
    if (AHEAD && is_inside(&s, (first - 3 - reach) * STEP))
        load_cells(next, &s, (first - 3 - reach) * STEP);
    for (int a = first - 3; a < last; a++) {
        int y = (a - reach) * STEP;
        uint now[STEP * ROW_WORDS * HONE_C];
#if AHEAD
#pragma unroll
        for (int k = 0; k < STEP * ROW_WORDS * HONE_C; k++)
            now[k] = next[k];
        if (a + 1 < last && is_inside(&s, y + STEP))
            load_cells(next, &s, y + STEP);
#endif
        add_block(sums, kinds, &s, y, now);
#if FLOATING
#pragma unroll
        for (int c = 0; c < COLOURS; c++) {
            flags[(c * (rows + 3) + a + 3) * flag_pitch + number] = (uchar)kinds[c];
            seen[c] |= kinds[c];
        }
#endif
        store_points(sums, passed[a & 1], grid + a * pitch + column, rows * pitch, item,
                     a >= first && item >= OVERLAP && column < pitch);
#pragma unroll
        for (int c = 0; c < COLOURS; c++)
#pragma unroll
            for (int p = 0; p < POINTS; p++) {
                sums[c][4 * p] = sums[c][4 * p + 1];
                sums[c][4 * p + 1] = sums[c][4 * p + 2];
                sums[c][4 * p + 2] = sums[c][4 * p + 3];
                sums[c][4 * p + 3] = 0;
            }
    }
#if FLOATING
#pragma unroll
    for (int c = 0; c < COLOURS; c++)
        if (seen[c])
            atomic_or(&any[c], seen[c]);
    barrier(CLK_LOCAL_MEM_FENCE);
    if (item < COLOURS)
        tiles[(item * strips + strip) * groups + group] = (uchar)any[item];
#endif
}

/* ---- The filter on the grid ---- */

/* Four results, one after the other, from each value read. */
#define ADD_TAPS(sums, value, taps)                                                                          \
    do {                                                                                                     \
        sums[0] = mad(value, (taps)[3], sums[0]);                                                            \
        sums[1] = mad(value, (taps)[2], sums[1]);                                                            \
        sums[2] = mad(value, (taps)[1], sums[2]);                                                            \
        sums[3] = mad(value, (taps)[0], sums[3]);                                                            \
    } while (0)

/* Four results of a row. `taps`: of the distance -reach - 3 first. */
inline float4 filter_across(__global const float4 *from, __constant const float *taps, int reach)
{
    float sums[4] = {0, 0, 0, 0};
    for (int q = 0; q <= reach / 2; q++) {
        float4 four = from[q];
        ADD_TAPS(sums, four.x, taps + 4 * q);
        ADD_TAPS(sums, four.y, taps + 4 * q + 1);
        ADD_TAPS(sums, four.z, taps + 4 * q + 2);
        ADD_TAPS(sums, four.w, taps + 4 * q + 3);
    }
    return (float4)(sums[0], sums[1], sums[2], sums[3]);
}

#if !TILES
/* Row and column 0 of the results' grid stand one point before the picture's first. */
__kernel void gaussian_grid_rows(__global const float *grid, __global float *out,
                                 __constant const float *table, int reach, int pitch, int rows, int out_pitch)
{
    int column = get_global_id(0) * 4, row = get_global_id(1), channel = get_global_id(2);
    if (column >= out_pitch || row >= rows || IS_ALPHA(channel))
        return;
    *(__global float4 *)(out + (channel * rows + row) * out_pitch + column) = filter_across(
        (__global const float4 *)(grid + (channel * rows + row) * pitch + column), table + 4 * STEP, reach);
}

__kernel void gaussian_grid_columns(__global const float *grid, __global float *out,
                                    __constant const float *table, int reach, int rows, int pitch,
                                    int out_rows)
{
    int column = get_global_id(0) * 4, row = get_global_id(1) * 4, channel = get_global_id(2);
    if (column >= pitch || row >= out_rows || IS_ALPHA(channel))
        return;
    __global const float *from = grid + (channel * rows + row) * pitch + column;
    __global float *to = out + (channel * out_rows + row) * pitch + column;
    __constant const float *taps = table + 4 * STEP;
    float4 sums[4] = {0, 0, 0, 0};
#pragma unroll 4
    for (int k = 0; k < 2 * reach + 4; k++)
        ADD_TAPS(sums, *(__global const float4 *)(from + k * pitch), taps + k);
#pragma unroll
    for (int i = 0; i < 4; i++)
        *(__global float4 *)(to + i * pitch) = sums[i];
}
#endif

/* ---- Spread ---- */

struct target {
    __global RESULT *out;
    __global const PIXEL *in; /* whose fourth channel is kept */
    int pitch, in_pitch, width, height, radius, x;
};

/* The weights of pixel k for the points across; a work-item that makes less than a cell keeps those of its
 * part. */
#if WIDE < STEP
#define PARTS           (4 * WIDE)
#define SPREAD_AT(k, i) part[4 * (k) + (i)]
#else
#define PARTS           1
#define SPREAD_AT(k, i) (phi[4 * ((k) % STEP) + (i)] * SPREAD)
#endif

/* A row of results from the points around it, points[4 * point + i]; `below`: the row's weights for their
 * four rows. */
inline void make_row(const float *points, const float *part, const float *below, float *v)
{
    float across[AROUND];
#pragma unroll
    for (int p = 0; p < AROUND; p++) {
        across[p] = points[4 * p] * below[0];
#pragma unroll
        for (int i = 1; i < 4; i++)
            across[p] = mad(points[4 * p + i], below[i], across[p]);
    }
#pragma unroll
    for (int k = 0; k < WIDE; k++) {
        v[k] = across[k / STEP] * SPREAD_AT(k, 0);
#pragma unroll
        for (int i = 1; i < 4; i++)
            v[k] = mad(across[k / STEP + i], SPREAD_AT(k, i), v[k]);
    }
}

/* The fourth channel of a target's pixels. */
inline void alpha_plane(uint *plane, const struct target *t, int y)
{
    uint w[WORDS(WIDE) * HONE_C];
    load_run(w, t->in + y * t->in_pitch + t->x * HONE_C, WORDS(WIDE) * HONE_C);
#pragma unroll
    for (int q = 0; q < WORDS(WIDE); q++) {
        uint one[HONE_C];
        split_words(one, w + q * HONE_C);
        plane[q] = one[HONE_C - 1];
    }
}

inline void store_planes(uint planes[HONE_C][WORDS(WIDE)], const struct target *t, int y)
{
    uint w[WORDS(WIDE) * HONE_C];
#pragma unroll
    for (int q = 0; q < WORDS(WIDE); q++) {
        uint one[HONE_C];
#pragma unroll
        for (int c = 0; c < HONE_C; c++)
            one[c] = planes[c][q];
        join_words(w + q * HONE_C, one);
    }
    store_run(t->out + y * t->pitch + t->x * HONE_C, w, WORDS(WIDE) * HONE_C);
}

inline void store_inside(float points[COLOURS][4 * AROUND], const float *part, const struct target *t, int y)
{
#pragma unroll
    for (int d = 0; d < STEP; d++) {
        const float below[4] = {phi[4 * d], phi[4 * d + 1], phi[4 * d + 2], phi[4 * d + 3]};
        uint planes[HONE_C][WORDS(WIDE)];
#pragma unroll
        for (int c = 0; c < COLOURS; c++) {
            float v[WIDE];
            make_row(points[c], part, below, v);
            pack_values(planes[c], v);
        }
        if (HONE_ALPHA)
            alpha_plane(planes[HONE_C - 1], t, y + d);
        store_planes(planes, t, y + d);
    }
}

inline bool leaves(const struct target *t, int x, int y)
{
    int r = t->radius;
    return HONE_BORDER == BORDER_ZERO_OUTSIDE &&
           hone_leaves(x - r, y - r, 2 * r + 1, 2 * r + 1, t->width, t->height);
}

/* A channel, pixel by pixel. */
inline void store_carefully(const float *points, const float *part, const struct target *t, int y,
                            int channel)
{
#pragma unroll 1
    for (int d = 0; d < STEP && y + d < t->height; d++) {
        const float below[4] = {phi[4 * d], phi[4 * d + 1], phi[4 * d + 2], phi[4 * d + 3]};
        __global RESULT *at = t->out + (y + d) * t->pitch + t->x * HONE_C + channel;
        float v[WIDE];
        make_row(points, part, below, v);
#pragma unroll
        for (int k = 0; k < WIDE; k++)
            if (t->x + k < t->width)
                at[k * HONE_C] = leaves(t, t->x + k, y + d) ? (RESULT)0 : hone_result(v[k]);
    }
}

inline void copy_alpha(const struct target *t, int y)
{
    for (int v = y; v < min(y + STEP, t->height); v++)
        for (int x = t->x; x < min(t->x + WIDE, t->width); x++)
            t->out[v * t->pitch + x * HONE_C + 3] = (RESULT)t->in[v * t->in_pitch + x * HONE_C + 3];
}

inline void store_block(float points[COLOURS][4 * AROUND], const float *part, const struct target *t, int y)
{
    bool inside = t->x + WIDE <= t->width && y + STEP <= t->height && !leaves(t, t->x, y) &&
                  !leaves(t, t->x + WIDE - 1, y + STEP - 1);
    if (inside) {
        store_inside(points, part, t, y);
        return;
    }
#pragma unroll
    for (int c = 0; c < COLOURS; c++)
        store_carefully(points[c], part, t, y, c);
    if (HONE_ALPHA)
        copy_alpha(t, y);
}

#if FLOATING
/* Where a row or column of blocks of `side` pixels is seen by windows: by some of those of pixels at .. at +
 * side - 1 from `outer` blocks before to `outer` after, by all of these from `inner` before to `inner` after
 * (none if negative). */
#define OUTER(radius, side) (((radius) + (side)-1) / (side))
#define INNER(radius, side) ((radius) + 1 >= (side) ? ((radius) + 1 - (side)) / (side) : -1)

struct marks {
    __global const uchar *flags; /* of the block at the picture's first pixel */
    int pitch;
};

/* The kinds in the window of one pixel, of blocks that only some windows hold; bx, by: the pixel's
 * own block. */
inline uint kinds_around(const struct cells *s, const struct marks *m, int x, int y, int bx, int by,
                         int radius)
{
    int across = OUTER(radius, PX), down = OUTER(radius, STEP), inner_across = INNER(radius, PX);
    int inner_down = INNER(radius, STEP);
    uint kinds = 0;
    for (int j = by - down; j <= by + down; j++)
        for (int i = bx - across; i <= bx + across; i++) {
            bool inner = (int)abs(j - by) <= inner_down && (int)abs(i - bx) <= inner_across;
            if (inner && i == bx - inner_across)
                i = bx + inner_across;
            if (inner || !m->flags[j * m->pitch + i])
                continue;
            for (int v = max(j * STEP, y - radius); v < min(j * STEP + STEP, y + radius + 1); v++) {
                int inside;
                __global const PIXEL *row = hone_row(s->in, s->pitch, v, s->height, &inside);
                for (int u = max(i * PX, x - radius); u < min(i * PX + PX, x + radius + 1); u++)
                    kinds |= kind_of(hone_at(row, inside, u, 0, s->width, s->border));
            }
        }
    return kinds;
}

/* The kinds in blocks that the windows of all pixels of block bx, by hold. */
inline uint kinds_within(const struct marks *m, int bx, int by, int radius)
{
    int across = INNER(radius, PX), down = INNER(radius, STEP);
    uint kinds = 0;
    for (int j = by - down; j <= by + down && across >= 0; j++)
        for (int i = bx - across; i <= bx + across; i++)
            kinds |= m->flags[j * m->pitch + i];
    return kinds;
}

/* Those of a target's row of cells that lie in block bx. */
inline void mend_block(const struct cells *s, const struct marks *m, const struct target *t, int bx, int y,
                       int channel)
{
    int by = y / STEP, right = min(min(t->x + WIDE, bx * PX + PX), t->width);
    uint within = kinds_within(m, bx, by, t->radius);
    for (int v = y; v < min(y + STEP, t->height); v++)
        for (int x = max(t->x, bx * PX); x < right; x++) {
            uint kinds = within & IS_NAN ? within : within | kinds_around(s, m, x, v, bx, by, t->radius);
            if (!kinds || leaves(t, x, v))
                continue;
            t->out[v * t->pitch + x * HONE_C + channel] = kinds == IS_PLUS    ? INFINITY
                                                          : kinds == IS_MINUS ? -INFINITY
                                                                              : NAN;
        }
}

/* Whether any of the groups of `gather` around a block saw NaN or infinity. */
inline bool is_marked(__global const uchar *tiles, int bx, int by, int radius, int reach, int flag_pitch,
                      int rows)
{
    int across = OUTER(radius, PX), down = OUTER(radius, STEP), strips = (rows + ROWS - 1) / ROWS;
    int groups = (flag_pitch - OVERLAP) / (GROUP - OVERLAP);
    int column = bx + reach / CELLS + OVERLAP, row = by + reach + 3;
    int left = (column - across) / (GROUP - OVERLAP),
        right = min((column + across) / (GROUP - OVERLAP), groups - 1);
    int top = (row - down) / ROWS, bottom = min((row + down) / ROWS, strips - 1);
    uint any = 0;
    for (int j = min(top, strips - 1); j <= bottom; j++)
        for (int i = min(left, groups - 1); i <= right; i++)
            any |= tiles[j * groups + i];
    return any != 0;
}
#endif

/* The next row of points, of each channel. */
inline void load_points(float points[COLOURS][4 * AROUND], SPACE const float *at, int plane)
{
#pragma unroll
    for (int c = 0; c < COLOURS; c++)
#pragma unroll
        for (int p = 0; p < AROUND; p++) {
            points[c][4 * p] = points[c][4 * p + 1];
            points[c][4 * p + 1] = points[c][4 * p + 2];
            points[c][4 * p + 2] = points[c][4 * p + 3];
            points[c][4 * p + 3] = at[c * plane + p];
        }
}

#if FLOATING
/* NaN and infinity in a channel of `count` cells from `by` on. */
inline void mend(const struct cells *s, const struct target *t, __global const uchar *flags,
                 __global const uchar *tiles, int by, int count, int reach, int rows, int flag_pitch,
                 int channel)
{
    int strips = (rows + ROWS - 1) / ROWS, groups = (flag_pitch - OVERLAP) / (GROUP - OVERLAP);
    struct marks m = {flags + (channel * (rows + 3) + reach + 3) * flag_pitch + reach / CELLS + OVERLAP,
                      flag_pitch};
    for (int n = 0; n < count; n++)
        for (int bx = t->x / PX; bx * PX < t->x + WIDE; bx++)
            if (is_marked(tiles + channel * strips * groups, bx, by + n, t->radius, reach, flag_pitch, rows))
                mend_block(s, &m, t, bx, (by + n) * STEP, channel);
}
#endif

/* `count` cells of a work-item, one below the other, from row `y` of pixels on; `at`: the first point that
 * the uppermost sees, in rows of `pitch` and planes of `plane` points. */
inline void spread_cells(const struct target *t, SPACE const float *at, int pitch, int plane, int y,
                         int count)
{
    float points[COLOURS][4 * AROUND], part[PARTS];
#pragma unroll
    for (int k = 0; k < PARTS; k++)
        part[k] = phi[4 * (t->x % STEP) + k] * SPREAD;
#pragma unroll
    for (int k = 0; k < COLOURS * 4 * AROUND; k++)
        points[k / (4 * AROUND)][k % (4 * AROUND)] = 0;
    for (int n = 0; n < 3; n++)
        load_points(points, at + n * pitch, plane);
    for (int n = 0; n < count; n++) {
        load_points(points, at + (n + 3) * pitch, plane);
        store_block(points, part, t, y + n * STEP);
    }
}

/* The cells of a work-item from `by` on, in all channels. */
inline void mend_cells(const struct target *t, __global const uchar *flags, __global const uchar *tiles,
                       BORDER_TYPE border, int by, int count, int reach, int rows, int flag_pitch)
{
#if FLOATING
    for (int c = 0; c < COLOURS; c++) {
        struct cells s = {t->in + c, t->in_pitch, t->width, t->height, 0, border, 0, -1, {0}};
        mend(&s, t, flags, tiles, by, count, reach, rows, flag_pitch, c);
    }
#endif
}

/* Of DOWN cells from `by` on, those that are in the picture. */
inline int cells_down(int by, int height)
{
    return min(DOWN, (height - by * STEP + STEP - 1) / STEP);
}

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

/* `quads` of four points in each of `count` rows, filtered across; rows of `grid` are `pitch` long. */
inline void filter_rows(__local float4 *lines, __global const float *grid, int pitch,
                        __constant const float *taps, int reach, int quads, int count)
{
    for (int i = get_local_id(0); i < count * (LINE / 4); i += ITEMS) {
        int quad = i % (LINE / 4), row = i / (LINE / 4);
        if (quad < quads)
            lines[i] = filter_across((__global const float4 *)(grid + row * pitch + 4 * quad), taps, reach);
    }
}

/* The same down, of `count` rows of results. */
inline void filter_columns(__local float *points, __local const float *lines, __constant const float *taps,
                           int reach, int quads, int count)
{
    for (int i = get_local_id(0); i < count / 4 * LINE; i += ITEMS) {
        int column = i % LINE, row = i / LINE * 4;
        float sums[4] = {0, 0, 0, 0};
        if (column >= 4 * quads)
            continue;
#pragma unroll 4
        for (int k = 0; k < 2 * reach + 4; k++) {
            float value = lines[(row + k) * LINE + column];
            ADD_TAPS(sums, value, taps + k);
        }
#pragma unroll
        for (int k = 0; k < 4; k++)
            points[(row + k) * LINE + column] = sums[k];
    }
}

/* `lines` has room for TILE_Y + 4 + 2 * reach rows of LINE points; `columns` and `rows`: of all results of
 * the filter, in which row and column 0 stand one point before the picture's first. */
__kernel __attribute__((reqd_work_group_size(ITEMS, 1, 1))) void
gaussian_grid_tiles(__global const PIXEL *in, int in_offset, int in_pitch, __global const float *grid,
                    __constant const float *table, __global const uchar *flags, __global const uchar *tiles,
                    __global RESULT *out, int out_offset, int out_pitch, int width, int height,
                    BORDER_TYPE border, int reach, int radius, int columns, int rows, int flag_pitch,
                    __local float4 *lines)
{
    __local float points[COLOURS * PLANE];
    int left = get_group_id(0) * TILE_X, top = get_group_id(1) * TILE_Y, item = get_local_id(0);
    int quads = min(LINE, columns - left) / 4, count = min(TILE_Y + 4, rows - top);
    int pitch = columns + 2 * reach, gathered_rows = rows + 2 * reach;
    for (int c = 0; c < COLOURS; c++) {
        filter_rows(lines, grid + (c * gathered_rows + top) * pitch + left, pitch, table + 4 * STEP, reach,
                    quads, count + 2 * reach);
        barrier(CLK_LOCAL_MEM_FENCE);
        filter_columns(points + c * PLANE, (__local const float *)lines, table + 4 * STEP, reach, quads,
                       count);
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    int x = left * STEP + item % PLACES * WIDE, row = item / PLACES * DOWN, by = top + row;
    struct target t = {out + out_offset, in + in_offset, out_pitch, in_pitch, width, height, radius, x};
    if (x >= width || by * STEP >= height)
        return;
    spread_cells(&t, points + row * LINE + x / STEP - left, LINE, PLANE, by * STEP, cells_down(by, height));
    mend_cells(&t, flags, tiles, border, by, cells_down(by, height), reach, gathered_rows, flag_pitch);
}
#endif
