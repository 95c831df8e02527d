/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The guide's ladder from its third step on: a work-item makes PX neighbouring results. It reads a row of all
 * their windows once, four elements at a time, and slides over it without a loop.
 *
 * strips, tiles: from a buffer, exact, any format. texels_half, tiles_half: as in the guide, from an image
 * whose texels are four pixels read as 0..1, in half precision. The tiles are copied to local memory first.
 */

#ifndef PX
#define PX 4 /* results per work-item */
#endif
#ifndef BRANCHES
#define BRANCHES 0 /* what is far is left out: 1 by `?:`, 0 by arithmetic */
#endif
#ifndef RADIUS
#define RADIUS 4 /* of the window */
#endif

#if defined(VARIANT_texels_half) || defined(VARIANT_tiles_half)
#define HALVES 1
#else
#define HALVES 0
#endif
#if defined(VARIANT_tiles) || defined(VARIANT_tiles_half)
#define LOCAL 1
#else
#define LOCAL 0
#endif

#define SIDE  (2 * RADIUS + 1)
#define REACH (RADIUS * HONE_C)
#define EDGE  ((REACH + 3) / 4 * 4)         /* elements left and right of the strip that are read */
#define LINE  ((PX + 3) / 4 * 4 + 2 * EDGE) /* of a row, all in all */
#define FIRST (EDGE - REACH)                /* where in it the first window begins */

/* ---- Pixels as numbers, sums of them, and their mean ---- */

#if HALVES
#include "filters/halves.clh"
typedef number total;
typedef number stored;
#define ONE     ((number)1)
#define PICTURE __read_only image2d_t in, sampler_t edge, int width
#define SOURCE  in, edge, width
#define PARTS   in, edge, width
#else
typedef NUMBER number;
typedef PIXEL stored;
#define PICTURE __global const PIXEL *in, int pitch, int width, int height, BORDER_TYPE border
#define SOURCE  in, in_pitch, width, height, border
#define PARTS   in, pitch, width, height, border
#if FLOATING
typedef float total;
#else
typedef uint total;
#endif
#endif

#if HALVES
/* Thresholds lie half a level beyond whole ones, so that rounding does not decide what is near. */
INLINE number strength(float threshold)
{
    return (number)((threshold + 0.5f) / 255.0f);
}

INLINE void add(total *sum, total *count, number p, number centre, number threshold, bool self)
{
    number d = p - centre;
    bool near = (d < (number)0 ? -d : d) <= threshold;
#if BRANCHES
    *sum += near ? p : (number)0;
    *count += near ? ONE : (number)0;
#else
    number weight = (number)near;
    *sum += weight * p;
    *count += weight;
#endif
}

INLINE RESULT mean(number centre, total sum, total count)
{
    return (RESULT)((float)(sum / count) * 255.0f + 0.5f);
}
#elif FLOATING
/* Differences are summed: they are small, whatever the pixels are. The centre counts even when it is no
 * number. */
INLINE void add(total *sum, total *count, number p, number centre, number threshold, bool self)
{
    number d = p - centre;
    bool near = fabs(d) <= threshold && !self;
#if BRANCHES
    *sum += near ? d : 0.0f;
    *count += near ? 1.0f : 0.0f;
#else
    int mask = -(int)near; /* a product with 0 would let infinity through */
    *sum += as_float(as_int(d) & mask);
    *count += as_float(as_int(1.0f) & mask);
#endif
}

INLINE RESULT mean(number centre, total sum, total count)
{
    return centre + sum / (count + 1.0f);
}
#else
INLINE void add(total *sum, total *count, number p, number centre, number threshold, bool self)
{
    bool near = (number)abs(p - centre) <= threshold;
#if BRANCHES
    *sum += near ? p : 0;
    *count += near ? 1 : 0;
#else
    *sum += p & -(number)near;
    *count += near;
#endif
}

/* Half up, exactly. */
INLINE RESULT mean(number centre, total sum, total count)
{
    return (RESULT)((2 * sum + count) / (2 * count));
}
#endif

/* ---- Reading ---- */

/* Four elements of row y from element e on, a multiple of four; any of them may be outside. */
#if HALVES
INLINE void load4(number *to, PICTURE, int e, int y)
{
    int x = e >> 2;
    float4 t = read_imagef(in, edge, (int2)(x, y));
    t = x < 0            ? t.xxxx
        : 4 * x >= width ? t.wwww
                         : t; /* the sampler repeats the last texel, not the last pixel */
    to[0] = (number)t.x;
    to[1] = (number)t.y;
    to[2] = (number)t.z;
    to[3] = (number)t.w;
}
#else
INLINE void load4(number *to, PICTURE, int e, int y)
{
    int inside;
    __global const PIXEL *row = hone_row(in, pitch, y, height, &inside);
    if (e >= 0 && e + 4 <= width * HONE_C && REAL_ROW(inside)) {
        VECTOR(PIXEL, 4) v = *(__global const VECTOR(PIXEL, 4) *)(row + e);
        to[0] = v.x;
        to[1] = v.y;
        to[2] = v.z;
        to[3] = v.w;
        return;
    }
    for (int k = 0; k < 4; k++) {
        int i = e + k, x = i >= 0 ? i / HONE_C : -((HONE_C - 1 - i) / HONE_C);
        to[k] = hone_at(row, inside, x, i - x * HONE_C, width, border);
    }
}
#endif

#if LOCAL
/* The work-group's pixels with those around them. */
INLINE void fill_tile(__local stored *tile, int tile_width, int tile_height, int left, int top, PICTURE)
{
    for (int y = get_local_id(1); y < tile_height; y += get_local_size(1))
        for (int x = 4 * get_local_id(0); x < tile_width; x += 4 * get_local_size(0)) {
            number four[4];
            load4(four, PARTS, left + x, top + y);
            for (int k = 0; k < 4; k++)
                tile[y * tile_width + x + k] = (stored)four[k];
        }
}
#endif

/* What the item's windows show of a row: of line j of the tile, or of row y of the picture. */
#if LOCAL
INLINE void fill_line(number *line, __local const stored *tile, int tile_width, int j)
{
#pragma unroll
    for (int i = 0; i < LINE; i++)
        line[i] = (number)tile[j * tile_width + i];
}
#define FILL_LINE(j) fill_line(line, tile, tile_width, j)
#else
INLINE void fill_line(number *line, PICTURE, int left, int y)
{
#pragma unroll
    for (int i = 0; i < LINE; i += 4)
        load4(line + i, PARTS, left + i, y);
}
#define FILL_LINE(j) fill_line(line, SOURCE, at / 4 * 4 - EDGE, y + (j)-RADIUS)
#endif

/* A row of the windows; `centre_row`: that of their centres. */
INLINE void add_line(total *sum, total *count, const number *line, const number *centre, number threshold,
                     int start, bool centre_row)
{
#if PX == 1 /* the window begins anywhere in the first texel */
#pragma unroll
    for (int i = 0; i < LINE; i++)
        if (i - start >= FIRST && i - start < FIRST + SIDE)
            add(sum, count, line[i], centre[0], threshold, false);
#else
#pragma unroll
    for (int i = 0; i < SIDE; i++)
#pragma unroll
        for (int k = 0; k < PX; k++)
            add(&sum[k], &count[k], line[FIRST + i * HONE_C + k], centre[k], threshold,
                i == RADIUS && centre_row);
#endif
}

/* ---- Results ---- */

#if HALVES
#define FINISHED(result, centre, at, y) (result)
#else
INLINE RESULT finished(RESULT result, number centre, int at, int y, int width, int height)
{
    int x = at / HONE_C;
    bool leaves = x < RADIUS || y < RADIUS || x + RADIUS >= width || y + RADIUS >= height;
    if (HONE_BORDER == BORDER_ZERO_OUTSIDE && leaves)
        result = 0;
    return IS_ALPHA(at - x * HONE_C) ? (RESULT)centre : result;
}
#define FINISHED(result, centre, at, y) finished(result, centre, at, y, width, height)
#endif

#define FOURS ((PX + 3) / 4)
union results {
    VECTOR(RESULT, 4) four[FOURS];
    RESULT one[4 * FOURS];
};

INLINE void store(__global RESULT *out, const union results *r, int left)
{
    if (PX > 1 && left >= PX)
        for (int k = 0; k < FOURS; k++)
            *(__global VECTOR(RESULT, 4) *)(out + 4 * k) = r->four[k];
    else
        for (int k = 0; k < PX && k < left; k++)
            out[k] = r->one[k];
}

#if HALVES && LOCAL
#define KERNEL epsilon_tiles_half
#elif HALVES
#define KERNEL epsilon_texels_half
#elif LOCAL
#define KERNEL epsilon_tiles
#else
#define KERNEL epsilon_strips
#endif

__kernel void KERNEL(
#if HALVES
    __read_only image2d_t in, sampler_t edge,
#else
    __global const PIXEL *in, int in_offset, int in_pitch, BORDER_TYPE border,
#endif
#if LOCAL
    __local stored *tile,
#endif
    __global RESULT *out, int out_offset, int out_pitch, int width, int height,
#if HALVES
    float limit)
{
    number threshold = strength(limit);
#else
    NUMBER threshold)
{
    in += in_offset;
#endif
    int at = get_global_id(0) * PX, y = get_global_id(1), start = at % 4; /* 0, unless PX is 1 */
#if LOCAL
    int group_width = get_local_size(0) * PX, group_height = get_local_size(1),
        tile_width = group_width + 2 * EDGE;
    fill_tile(tile, tile_width, group_height + 2 * RADIUS, get_group_id(0) * group_width - EDGE,
              get_group_id(1) * group_height - RADIUS, SOURCE);
    barrier(CLK_LOCAL_MEM_FENCE);
    tile += get_local_id(1) * tile_width + get_local_id(0) * PX;
#endif
    if (at >= width * HONE_C || y >= height)
        return;
    number line[LINE], centre[PX];
    total sum[PX], count[PX];
    FILL_LINE(RADIUS);
#pragma unroll
    for (int k = 0; k < PX; k++) {
#if PX == 1
        centre[0] = start == 0   ? line[EDGE]
                    : start == 1 ? line[EDGE + 1]
                    : start == 2 ? line[EDGE + 2]
                                 : line[EDGE + 3];
#else
        centre[k] = line[EDGE + k];
#endif
        sum[k] = count[k] = 0;
    }
#pragma unroll 1
    for (int j = 0; j < SIDE; j++) {
        FILL_LINE(j);
        add_line(sum, count, line, centre, threshold, start, j == RADIUS);
    }
    union results r;
#pragma unroll
    for (int k = 0; k < PX; k++)
        r.one[k] = FINISHED(mean(centre[k], sum[k], count[k]), centre[k], min(at + k, width * HONE_C - 1), y);
    store(out + out_offset + y * out_pitch + at, &r, width * HONE_C - at);
}
