/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One launch of few work-groups that stay: each counts a share of the image in local memory, adds what it
 * found to counters in global memory, and the last one to end makes the result of these and leaves them as it
 * found them, 0.
 *
 * That it is the last one says a ticket. That all counts have arrived says their sum: every element is in one
 * of them. So no order of memory accesses is assumed between work-groups.
 *
 * Rows are read in vectors of 16 bytes as memory has them, whatever they begin with; an image without gaps is
 * a single row.
 */
#include "filters/histogram/bins.clh"

#ifndef COPIES
#define COPIES 8 /* of the counters of a work-group */
#endif
#ifndef AHEAD
#define AHEAD 2 /* vectors that are loaded before they are counted */
#endif

#define PIXEL_BYTES (HONE_T == 0 ? 1 : HONE_T == 2 ? 4 : 2)
#define PER         (16 / PIXEL_BYTES) /* elements in a vector */
#define PATIENCE    (1 << 20)          /* times that the last work-group looks for counts */

struct rows {
    __global const PIXEL *first;
    int pitch, elements; /* of a row */
    uint vectors;        /* that it can touch */
};

inline struct rows rows_of(__global const PIXEL *in, int pitch, int width, int height)
{
    bool gaps = pitch != width * HONE_C;
    struct rows rows = {in, gaps ? pitch : 0, gaps ? width * HONE_C : width * HONE_C * height, 0};
    rows.vectors = ((uint)rows.elements + 2 * PER - 2) / PER;
    return rows;
}

/* Element i of a vector. */
inline NUMBER element(const uint *words, int i)
{
#if HONE_T == 0
    return words[i / 4] >> i % 4 * 8 & 0xffu;
#elif HONE_T == 1
    return words[i / 2] >> i % 2 * 16 & 0xffffu;
#elif HONE_T == 3
    return (short)(words[i / 2] >> i % 2 * 16);
#else
    return as_float(words[i]);
#endif
}

inline void count_one(__local uint *own, NUMBER value, int channel, RANGE_PARAMETERS)
{
    atomic_inc(own + (COUNTER(value) * HONE_C + channel) * COPIES);
}

inline void count_vector(__local uint *own, uint4 vector, uint first, RANGE_PARAMETERS)
{
    const uint words[4] = {vector.x, vector.y, vector.z, vector.w};
    int channels[HONE_C];
#pragma unroll
    for (int i = 0; i < HONE_C; i++)
        channels[i] = (first + i) % HONE_C;
#pragma unroll
    for (int i = 0; i < PER; i++)
        count_one(own, element(words, i), channels[i % HONE_C], RANGE);
}

/* The elements of a vector that are the row's; it begins `from` elements behind the row's first one, or
 * before it. */
inline void count_end(__local uint *own, __global const PIXEL *row, int from, int elements, RANGE_PARAMETERS)
{
    for (int i = max(from, 0); i < min(from + PER, elements); i++)
        count_one(own, row[i], i % HONE_C, RANGE);
}

/* The share of a work-item: every `stride`th vector. */
inline void count_share(__local uint *own, const struct rows *rows, uint count, uint stride, RANGE_PARAMETERS)
{
    for (uint at = get_global_id(0); at < count; at += AHEAD * stride) {
        __global const PIXEL *row[AHEAD];
        uint4 vectors[AHEAD];
        int from[AHEAD];
        bool whole[AHEAD];
#pragma unroll
        for (int k = 0; k < AHEAD; k++) {
            uint i = at + k * stride, y = rows->pitch ? i / rows->vectors : 0;
            row[k] = rows->first + (i < count ? y * rows->pitch : 0);
            int before = ((size_t)row[k] & 15) / PIXEL_BYTES;
            from[k] = (int)((i - y * rows->vectors) * PER) - before;
            whole[k] = i < count && from[k] >= 0 && from[k] <= rows->elements - PER;
            from[k] = i < count ? from[k] : rows->elements;
            if (whole[k])
                vectors[k] = *(__global const uint4 *)(row[k] + from[k]);
        }
#pragma unroll
        for (int k = 0; k < AHEAD; k++)
            if (whole[k])
                count_vector(own, vectors[k], from[k], RANGE);
            else
                count_end(own, row[k], from[k], rows->elements, RANGE);
    }
}

/* Adds what a work-group found. */
inline void add_up(__local const uint *area, __global uint *counts, RANGE_PARAMETERS)
{
    for (int i = get_local_id(0); i < COUNTERS(bins) * HONE_C; i += get_local_size(0)) {
        uint sum = 0;
        for (int k = 0; k < COPIES; k++)
            sum += area[i * COPIES + (i + k) % COPIES];
#if HONE_T == 0
        int at = sum > 0 ? bin_of(i / HONE_C, RANGE) * HONE_C + i % HONE_C : 0;
#else
        int at = i;
#endif
        if (sum > 0)
            atomic_add(counts + at, sum);
    }
}

/* Moves `count` counts, which add up to `all`, into local memory; `sum` is a word of it. */
inline void collect(__local uint *area, __local uint *sum, __global uint *counts, int count, uint all)
{
    int lid = get_local_id(0), group = get_local_size(0);
    uint missing = all;
    for (int i = lid; i < count; i += group)
        area[i] = 0;
    for (int tries = 0; missing > 0 && tries < PATIENCE; tries++) {
        if (lid == 0)
            *sum = 0;
        barrier(CLK_LOCAL_MEM_FENCE);
        uint found = 0;
        for (int i = lid; i < count; i += group) {
            uint here = atomic_xchg(counts + i, 0u);
            area[i] += here;
            found += here;
        }
        if (found > 0)
            atomic_add(sum, found);
        barrier(CLK_LOCAL_MEM_FENCE);
        missing -= *sum;
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}

#if HONE_OT == 0
#define PICTURE_HEIGHT 256
/* Bars, scaled to the largest count; alpha is opaque and scales nothing. */
inline void write_result(__local const uint *area, __local uint *largest, __global RESULT *out, int pitch,
                         int width, int counted)
{
    int lid = get_local_id(0), group = get_local_size(0);
    if (lid == 0)
        *largest = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int i = lid; i < width; i += group)
        if (!IS_ALPHA(i % HONE_C))
            atomic_max(largest, area[i]);
    barrier(CLK_LOCAL_MEM_FENCE);
    ulong most = max(*largest, 1u);
    for (int i = lid; i < width; i += group) {
        int bar = ((ulong)area[i] * PICTURE_HEIGHT + most - 1) / most;
        for (int y = 0; y < PICTURE_HEIGHT; y++)
            out[y * pitch + i] = IS_ALPHA(i % HONE_C) || PICTURE_HEIGHT - y <= bar ? 255 : 0;
    }
}
#else
/* What was not counted, because there is none, is 0. */
inline void write_result(__local const uint *area, __local uint *largest, __global RESULT *out, int pitch,
                         int width, int counted)
{
    for (int i = get_local_id(0); i < width; i += get_local_size(0))
        out[i] = i < counted ? area[i] : 0;
}
#endif

/* `counts` has a counter for each slot and channel, and behind them one of work-groups that are through.
 * `result` is the width of a row of the result, in elements. */
__kernel void histogram_once(__global const PIXEL *in, int in_offset, int in_pitch, __global uint *counts,
                             __global RESULT *out, int out_offset, int out_pitch, __local uint *area,
                             __local uint *note, int width, int height, int result, RANGE_PARAMETERS)
{
    int lid = get_local_id(0), group = get_local_size(0), counted = SLOTS(bins) * HONE_C;
    for (int i = lid; i < COUNTERS(bins) * HONE_C * COPIES; i += group)
        area[i] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    struct rows rows = rows_of(in + in_offset, in_pitch, width, height);
    count_share(area + lid % COPIES, &rows, rows.pitch ? rows.vectors * height : rows.vectors,
                get_global_size(0), RANGE);
    barrier(CLK_LOCAL_MEM_FENCE);
    add_up(area, counts, RANGE);
    barrier(CLK_GLOBAL_MEM_FENCE | CLK_LOCAL_MEM_FENCE);
    if (lid == 0)
        *note = atomic_inc(counts + counted);
    barrier(CLK_LOCAL_MEM_FENCE);
    if (*note + 1 < get_num_groups(0))
        return;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (lid == 0)
        atomic_xchg(counts + counted, 0u);
    collect(area, note, counts, counted, (uint)width * height * HONE_C);
    write_result(area, note, out + out_offset, out_pitch, result, counted);
}
