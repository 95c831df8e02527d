/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * For GPUs with matrix units, u8 in gray: the grid of grid.cl in one launch, all of it as products of
 * small matrices of halves. What a grid point sees of a line, by kernel and filter together, is one
 * product:
 *     gathered(16 columns of points x 8 rows)         = seen(16 x K) * pixels(K x 8),   K = 60 + 2 * REACH
 *     points(16 rows of them x 8 columns)             = seen(16 x K) * gathered(K x 8)
 *     spread(16 columns of pixels x 8 rows of points) = phi(16 x 16) * points(16 x 8)
 *     results(16 rows x 8 columns)                    = phi(16 x 16) * spread(16 x 8)
 * As in matrix.cl, what lanes hold of one is what the next wants.
 *
 * A work-group walks down a strip with UNITS warps, each with 16 columns of points. It takes 32 rows of
 * pixels at a time, adds them to all points in flight, and after every 64 rows it has 16 rows of points,
 * from which it makes 64 rows of results. Points are exchanged through local memory, since results see
 * those of neighbours, too.
 *
 * Point i of a line stands before pixel 4 * (i - 1). A tile of 16 pixels, which has four cells, sees seven
 * points. A block of 8 points makes two tiles; the second one sees the block behind, too.
 */
#ifndef REACH
#define REACH 24 /* pixels to each side that a point sees, a multiple of 4 */
#endif
#ifndef UNITS
#define UNITS 4 /* warps beside each other */
#endif

#define STEP       4
#define TILES      (4 * UNITS - 1) /* of 16 columns of pixels: the last one lacks points */
#define PARTS      UNITS
#define ABOVE      (REACH + STEP)               /* pixels before the strip that the first product sees */
#define DEPTH      ((60 + 2 * REACH + 15) / 16) /* blocks of 16 that make K */
#define REACH_Y    (REACH + 2 * STEP)
#define GUARD      16
#define BATCH      32 /* rows of pixels that are loaded, and taken, at once */
#define STAGE_ROWS BATCH

/* Points in flight: those that began four blocks of 16 rows ago, eight, and so on. */
#define FLIGHT     (1 + (DEPTH - 1) / 4)
#define POINTS     points[FLIGHT][2][4]

#define LANE_WORDS 6
#define WEIGHTS    uint
#include "filters/gaussian/pieces.clh"

/* ---- Matrices on the left ---- */

/* The table has them as lanes hold them, 16 bytes each, see grid.c: what points see of rows; phi of rows,
 * of both tiles; phi of columns, two products for four pixels of 16; what points see of columns. They
 * stay in the first cache: registers and local memory limit how many groups run at once. */
#define SEEN_ROWS    0
#define PHI_ROWS     DEPTH
#define PHI_COLUMNS  (DEPTH + 2)
#define SEEN_COLUMNS (DEPTH + 10)
#define MATRICES     (2 * DEPTH + 10)

/* The lane's part of a matrix. */
inline void load_left(uint *left, const struct strip *s, int number, const struct lane *lane)
{
    uint4 w = ((__global const uint4 *)s->table)[number * 32 + 4 * lane->group + lane->place];
    left[0] = w.x;
    left[1] = w.y;
    left[2] = w.z;
    left[3] = w.w;
}

/* ---- Rows of pixels ---- */

/* The work-item's pieces of a batch: where they lie from the first element of the picture's row on, and
 * in local memory with how many bytes of them are in the picture. */
#define OWN_LOADS ((BATCH * PIECES + SHARERS - 1) / SHARERS)

struct loads {
    int from[OWN_LOADS], to[OWN_LOADS];
};

inline bool has_load(int k)
{
    return SHARERS * (k + 1) <= BATCH * PIECES || ITEM + SHARERS * k < BATCH * PIECES;
}

inline void find_loads(struct loads *loads, const struct strip *s)
{
    UNROLL
    for (int k = 0; k < OWN_LOADS; k++) {
        int i = ITEM + SHARERS * k, row = i / PIECES, x = s->at - SIDE + i % PIECES * PIECE;
        int bytes = x < 0 ? 0 : clamp(s->count - x, 0, PIECE);
        loads->from[k] = row * s->pitch + clamp(x, 0, s->count - 1) / PIECE * PIECE;
        loads->to[k] = (row * STAGE_LINE + 4 * (i % PIECES)) << 8 | bytes;
    }
}

/* Begins to load the rows from y on. */
inline void load_batch(__local uint *stage, const struct loads *loads, const struct strip *s, int y)
{
    if (y >= 0 && y + BATCH <= s->height) {
        __global const PIXEL *from = s->in + y * s->pitch;
        UNROLL
        for (int k = 0; k < OWN_LOADS; k++)
            if (has_load(k))
                copy_part(stage + (loads->to[k] >> 8), from + loads->from[k], loads->to[k] & 0xff);
    } else {
#pragma unroll 1
        for (int i = ITEM; i < BATCH * PIECES; i += SHARERS)
            load_at_edge(stage + i / PIECES * STAGE_LINE + 4 * (i % PIECES), s, y + i / PIECES,
                         s->at - SIDE + PIECE * (i % PIECES));
    }
}

/* ---- Points ---- */

/* Points that are made, halves: of two times 16 rows, which take turns, upper and lower 8 rows, block of 8
 * columns, and lane. */
#define BLOCKS      (2 * UNITS + 1)
#define POINT_WORDS (4 * BLOCKS * 32)

inline __local uint *points_at(__local uint *all, int turn, int half_rows, int block, const struct lane *lane)
{
    return all + ((2 * turn + half_rows) * BLOCKS + block) * 32 + 4 * lane->group + lane->place;
}

/* Takes 32 rows of pixels: blocks `step` and `step` + 1 of 16 rows of the points that began with them.
 * First along rows: of each 8, sums of both blocks of columns of points. */
inline void take_rows(float POINTS, __local const uint *stage, int unit, float start, const struct strip *s,
                      int step, const struct lane *lane)
{
    __local const uint *from =
        stage + lane->group * STAGE_LINE + (SIDE - ABOVE) / 4 + 16 * unit + lane->place;
    float sums[4][4];
    UNROLL
    for (int i = 0; i < 16; i++)
        sums[i / 4][i % 4] = start;
    UNROLL
    for (int b = 0; b < DEPTH; b++) {
        uint left[4];
        load_left(left, s, SEEN_COLUMNS + b, lane);
        UNROLL
        for (int i = 0; i < 4; i++) {
            uint word = from[8 * i * STAGE_LINE + 4 * b];
            multiply_halves(sums[i], left, low_pixels(word), high_pixels(word), lane);
        }
    }
    uint rows[4][2];
    UNROLL
    for (int i = 0; i < 8; i++)
        rows[i / 2][i % 2] = halves(sums[i / 2][i % 2 * 2], sums[i / 2][i % 2 * 2 + 1]);
    UNROLL
    for (int i = 0; i < 2 * FLIGHT; i++) {
        int k = i / 2, own = i % 2, number = step + own + 4 * k;
        if (number < DEPTH) {
            uint left[4];
            load_left(left, s, SEEN_ROWS + number, lane);
            multiply_halves(points[k][0], left, rows[2 * own][0], rows[2 * own + 1][0], lane);
            multiply_halves(points[k][1], left, rows[2 * own][1], rows[2 * own + 1][1], lane);
        }
    }
}

inline void begin_points(float POINTS)
{
    UNROLL
    for (int k = FLIGHT - 1; k >= 0; k--) {
        UNROLL
        for (int i = 0; i < 8; i++)
            points[k][i / 4][i % 4] = k > 0 ? points[max(k - 1, 0)][i / 4][i % 4] : 0;
    }
}

inline void put_points(__local uint *all, int turn, int unit, float POINTS, const struct lane *lane)
{
    UNROLL
    for (int i = 0; i < 4; i++) {
        float *two = points[FLIGHT - 1][i % 2] + i / 2 * 2;
        *points_at(all, turn, i / 2, 2 * unit + i % 2, lane) = halves(two[0], two[1]);
    }
}

/* ---- Results ---- */

/* Of the unit's 64 columns of pixels, in three blocks of 8 rows of points (the last one of the rows
 * before, and both of the new ones): eight numbers for products, each with a pair of columns of each
 * lane. */
#define LINES_OF_POINTS lines[3][8]

inline void spread_along(uint lines[8], __local const uint *own, const struct strip *s,
                         const struct lane *lane)
{
    UNROLL
    for (int four = 0; four < 4; four++) {
        uint left[4];
        load_left(left, s, PHI_COLUMNS + four, lane);
        uint2 sum = multiply_short((uint2)(0), left, own[0], own[32], lane);
        load_left(left, s, PHI_COLUMNS + 4 + four, lane);
        sum = multiply_short_half(sum, left, own[64], lane);
        lines[2 * four] = sum.x;
        lines[2 * four + 1] = sum.y;
    }
}

/* Two results - 128 as levels: bytes 0 and 2. */
inline uint levels_of(uint two)
{
#if WITH_PTX
    uint r; /* part = two / 255 + 128 / 255, within 0 and 1; r = part * 255 + 1024 */
    asm("{.reg .b32 part;"
        "fma.rn.sat.f16x2 part, %1, %2, %3;"
        "fma.rn.f16x2 %0, part, %4, %5;}"
        : "=r"(r)
        : "r"(two), "r"(0x1c041c04u), "r"(0x38043804u), "r"(0x5bf85bf8u), "r"(0x64006400u));
    return r;
#else
    uint low = (uint)clamp(rint(low_half(two) + 128.0f), 0.0f, 255.0f);
    return low | (uint)clamp(rint(low_half(two >> 16) + 128.0f), 0.0f, 255.0f) << 16;
#endif
}

/* The even bytes of a, then those of b. */
#if WITH_PTX
#define JOIN_PAIRS(a, b) hone_bytes(a, b, 0x6420u)
#else
#define JOIN_PAIRS(a, b) hone_pack(a, (a) >> 16, b, (b) >> 16)
#endif

/* 16 rows of results from y on, of 64 pixels: the lane's 16 of two rows, from element x on. Row `number`
 * of tiles, counted from the first block's. */
inline void make_tiles(uint LINES_OF_POINTS, const struct strip *s, __global RESULT *out, int out_pitch,
                       int x, int y, int number, const struct lane *lane)
{
    const int block = number / 2;
    uint left[4], upper[8], lower[8];
    load_left(left, s, PHI_ROWS + number % 2, lane);
    UNROLL
    for (int i = 0; i < 8; i++) {
        uint2 sum = number % 2 ? multiply_short((uint2)(0), left, lines[block][i], lines[block + 1][i], lane)
                               : multiply_short_half((uint2)(0), left, lines[block][i], lane);
        upper[i] = levels_of(sum.x);
        lower[i] = levels_of(sum.y);
    }
    UNROLL
    for (int i = 0; i < 4; i++) {
        upper[i] = JOIN_PAIRS(upper[2 * i], upper[2 * i + 1]);
        lower[i] = JOIN_PAIRS(lower[2 * i], lower[2 * i + 1]);
    }
    if (x < s->at + COLUMNS) {
        store_words(upper, s, out, out_pitch, x, y + lane->group);
        store_words(lower, s, out, out_pitch, x, y + lane->group + 8);
    }
}

/* Four rows of tiles from row y on, of which the first also sees points of the turn before. */
inline void make_results(__local uint *all, int turn, const struct strip *s, __global RESULT *out,
                         int out_pitch, int y, int first, int end, int unit, const struct lane *lane)
{
    uint LINES_OF_POINTS;
    int x = s->at + 64 * unit + 16 * lane->place;
    UNROLL
    for (int i = 0; i < 3; i++)
        spread_along(lines[i], points_at(all, i == 0 ? turn ^ 1 : turn, i != 1, 2 * unit, lane), s, lane);
    UNROLL
    for (int i = 0; i < 4; i++)
        if (y + 16 * i >= first && y + 16 * i < end)
            make_tiles(lines, s, out, out_pitch, x, y + 16 * i, i + 1, lane);
}

/* ---- The walk ---- */

inline void walk(const struct strip *s, __global RESULT *out, int out_pitch, int first,
                 const struct lane *lane)
{
    __local uint *all = (__local uint *)s->in_local;
    int unit = ITEM / 32, end = min(first + s->rows, s->height), made = first - 16, turn = 0;
    int blocks = ((end - first + 15) / 16 + 1 + 3) / 4 * 4 - 4 + DEPTH;
    float start = as_float(s->table[MATRICES * 128]), POINTS;
    struct loads loads;
    UNROLL
    for (int i = 0; i < 8 * FLIGHT; i++)
        points[i / 8][i / 4 % 2][i % 4] = 0;
    find_loads(&loads, s);
    load_batch(s->stage, &loads, s, first - ABOVE);
#pragma unroll 1
    for (int block = 0, step = 0; block < blocks; block += 2, step ^= 2) {
        int y = first - ABOVE + 16 * block, odd = block / 2 % 2;
        __local uint *stage = s->stage + odd * STAGE;
        wait_for_rows();
        if (block + 2 < blocks)
            load_batch(s->stage + (odd ^ 1) * STAGE, &loads, s, y + BATCH);
        if (s->edge)
            for (int i = 0; i < BATCH; i += 16)
                make_edges(stage + i * STAGE_LINE, s, y + i);
        if (s->edge || !WITH_PTX)
            join_sharers();
#pragma unroll 1
        for (int once = step == 0; once; once = 0)
            begin_points(points); /* as a choice, it would be made for each number in each step */
        take_rows(points, stage, unit, start, s, step, lane);
        if (step == (DEPTH - 1) % 4 / 2 * 2 && block + 1 >= DEPTH - 1) {
            put_points(all, turn, unit, points, lane);
            join_sharers();
            make_results(all, turn, s, out, out_pitch, made, first, end, unit, lane);
            made += 64;
            turn ^= 1;
        }
    }
}

#define OWN_WALK
#include "filters/gaussian/walk.clh"

__kernel __attribute__((GROUP_SIZE(SHARERS, 1))) void
gaussian_grid_matrix(__global const uchar *in, int in_offset, int in_pitch, __global RESULT *out,
                     int out_offset, int out_pitch, int width, int height, int border,
                     __global const uint *table, int reach, int rows)
{
    __local struct local_memory memory;
    __local uint4 points[POINT_WORDS / 4];
    /* What no unit makes must be finite, for a weight of 0 to make it 0. */
    for (int i = get_local_id(0); i < POINT_WORDS / 4; i += SHARERS)
        points[i] = (uint4)(0);
    barrier(CLK_LOCAL_MEM_FENCE);
    walk_strip(in, in_offset, in_pitch, out, out_offset, out_pitch, width, height, border, table, reach, rows,
               &memory, points);
}
