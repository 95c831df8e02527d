/* SPDX-License-Identifier: BSD-2-Clause */
/* Behind the counts (see bins.clh) lies the largest one, which pictures are scaled to. */
#include "filters/histogram/bins.clh"

/* ---- What all variants share: counts to nothing, counts to a table or a picture ---- */

__kernel void histogram_clear(__global uint *counts, int count)
{
    int i = get_global_id(0);
    if (i <= count)
        counts[i] = 0;
}

/* Alpha is drawn opaque and scales nothing; neither does what lies outside of the range. */
__kernel void histogram_largest(__global uint *counts, int count, int largest)
{
    int i = get_global_id(0);
    uint own = HONE_OT != 0 || i >= count || IS_ALPHA(i % HONE_C) ? 0 : counts[i];
    if (own > 0)
        atomic_max(counts + largest, own);
}

#define PICTURE_HEIGHT 256

/* What was not counted, because there is none, is 0. */
__kernel void histogram_write(__global const uint *counts, int counted, int count, __global RESULT *out,
                              int out_offset, int out_pitch)
{
    int i = get_global_id(0), y = get_global_id(1);
    if (i >= count)
        return;
#if HONE_OT == 0
    ulong most = counts[counted], bar = most > 0 ? ((ulong)counts[i] * PICTURE_HEIGHT + most - 1) / most : 0;
    out[out_offset + y * out_pitch + i] = IS_ALPHA(i % HONE_C) || PICTURE_HEIGHT - y <= (int)bar ? 255 : 0;
#else
    out[out_offset + y * out_pitch + i] = i < counted ? (RESULT)counts[i] : 0;
#endif
}

#if defined(HONE_ALL) || defined(VARIANT_global)
/* One element per work-item, one atomic addition to global memory for each. */
__kernel void histogram_global(__global const PIXEL *in, int in_offset, int in_pitch, __global uint *counts,
                               int width, int height, RANGE_PARAMETERS)
{
    int i = get_global_id(0), y = get_global_id(1);
    if (i >= width * HONE_C || y >= height)
        return;
    int bin = bin_of(in[in_offset + y * in_pitch + i], RANGE);
    atomic_inc(counts + bin * HONE_C + i % HONE_C);
}
#endif

#if defined(HONE_ALL) || defined(VARIANT_local)
/*
 * A work-group counts a few rows in local memory, and adds what it found to global memory once. Neighbouring
 * work-items count in different copies, so that an even image does not send all of them to one address; the
 * copies of a counter lie in different banks.
 */
#ifndef COPIES
#define COPIES 4 /* of the counters of a work-group */
#endif
#ifndef PX
#define PX 4 /* elements that are loaded at once */
#endif

inline void count_local(__local uint *own, NUMBER value, int channel, RANGE_PARAMETERS)
{
    atomic_inc(own + (bin_of(value, RANGE) * HONE_C + channel) * COPIES);
}

__kernel void histogram_local(__global const PIXEL *in, int in_offset, int in_pitch, __global uint *counts,
                              __local uint *own, int width, int height, int rows, RANGE_PARAMETERS)
{
    int lid = get_local_id(0), group = get_local_size(0), first = get_group_id(1) * rows,
        elements = width * HONE_C;
    for (int i = lid; i < SLOTS(bins) * HONE_C * COPIES; i += group)
        own[i] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int y = first; y < min(first + rows, height); y++) {
        __global const PIXEL *row = in + in_offset + y * in_pitch;
        for (int i = lid * PX; i < elements; i += group * PX) {
            if (i + PX <= elements) {
                union {
                    VECTOR(PIXEL, PX) vector;
                    PIXEL element[PX];
                } v;
                v.vector = PASTE(vload, PX)(0, row + i);
                for (int k = 0; k < PX; k++)
                    count_local(own + lid % COPIES, v.element[k], (i + k) % HONE_C, RANGE);
            } else {
                for (int k = 0; i + k < elements; k++)
                    count_local(own + lid % COPIES, row[i + k], (i + k) % HONE_C, RANGE);
            }
        }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int i = lid; i < SLOTS(bins) * HONE_C; i += group) {
        uint sum = 0;
        for (int k = 0; k < COPIES; k++)
            sum += own[i * COPIES + k];
        if (sum > 0)
            atomic_add(counts + i, sum);
    }
}
#endif

#if defined(HONE_ALL) || defined(VARIANT_private)
/*
 * A work-item counts a band of rows in memory of its own, without atomics, in several copies: an addition
 * need not wait for the one before it when both are of the same value. A second pass sums up the bands, and
 * values that share a bin.
 */
#ifndef COPIES
#define COPIES 4 /* of the counters of a band */
#endif

inline void count_one(__global uint *own, int copy, int counter, int channel, int bins)
{
    own[copy * COUNTERS(bins) * HONE_C + counter * HONE_C + channel]++;
}

#if HONE_T == 0
#define STRETCH 8 /* pixels at a time */

inline void count_stretch(__global uint *own, __global const PIXEL *at, RANGE_PARAMETERS)
{
#pragma unroll
    for (int k = 0; k < STRETCH * HONE_C; k++)
        count_one(own, k / HONE_C % COPIES, at[k], k % HONE_C, bins);
}
#else
#define STRETCH 16

#if FLOATING
#define NUMBERS(v) (v)
#else
#define NUMBERS(v) convert_float16(v)
#endif

/* bin_of() for 16 neighbours at once; one by one where an edge decides, or a value lies beyond the last. */
inline void find_bins(int *bin, __global const PIXEL *from, RANGE_PARAMETERS)
{
    float16 v = NUMBERS(vload16(0, from)), at = (v - origin) * scale, shifted = at + 12582912.0f;
    float16 nearest = shifted - 12582912.0f;
    int16 sure = v >= (float)edges[0] && v < (float)edges[bins] && fabs(at - nearest) > margin;
    vstore16((as_int16(shifted) & 0x3fffff) + (at < nearest), 0, bin);
    if (!all(sure))
        for (int k = 0; k < 16; k++)
            bin[k] = bin_of(from[k], RANGE);
}

inline void count_stretch(__global uint *own, __global const PIXEL *at, RANGE_PARAMETERS)
{
    int bin[STRETCH * HONE_C];
#pragma unroll
    for (int k = 0; k < HONE_C; k++)
        find_bins(bin + 16 * k, at + 16 * k, RANGE);
#pragma unroll
    for (int k = 0; k < STRETCH * HONE_C; k++)
        count_one(own, k / HONE_C % COPIES, bin[k], k % HONE_C, bins);
}
#endif

__kernel void histogram_private(__global const PIXEL *in, int in_offset, int in_pitch, __global uint *counts,
                                int width, int height, int rows, RANGE_PARAMETERS)
{
    int band = get_global_id(0), y = band * rows, end = min(y + rows, height);
    size_t count = (size_t)COPIES * COUNTERS(bins) * HONE_C;
    if (y >= height)
        return;
    __global uint *own = counts + band * count;
    for (size_t i = 0; i < count; i++)
        own[i] = 0;
    for (; y < end; y++) {
        __global const PIXEL *row = in + in_offset + y * in_pitch;
        int x = 0;
        for (; x + STRETCH <= width; x += STRETCH)
            count_stretch(own, row + x * HONE_C, RANGE);
        for (; x < width; x++)
            for (int channel = 0; channel < HONE_C; channel++)
                count_one(own, 0, COUNTER(row[x * HONE_C + channel]), channel, bins);
    }
}

/* The counters of a slot, from the first to before the last: bytes are counted by value. */
inline int2 counters_of(int slot, __global const NUMBER *edges, int bins)
{
#if HONE_T == 0
    int first = slot == bins ? 0 : edges[slot == bins + 1 ? bins : min(slot, bins)];
    int last = slot == bins ? edges[0] : slot < bins ? edges[slot + 1] : 256;
    return slot > bins + 1 ? (int2)(0, 0) : (int2)(clamp(first, 0, 256), clamp(last, 0, 256));
#else
    return (int2)(slot, slot + 1);
#endif
}

/* Behind the counts 0, for the largest one. */
__kernel void histogram_sum(__global const uint *bands, __global uint *counts, __global const NUMBER *edges,
                            int bins, int copies)
{
    int i = get_global_id(0), slot = i / HONE_C, channel = i - slot * HONE_C;
    if (i > SLOTS(bins) * HONE_C)
        return;
    uint sum = 0;
    int2 own = slot < SLOTS(bins) ? counters_of(slot, edges, bins) : (int2)(0, 0);
    for (int k = 0; k < copies; k++)
        for (int at = own.x; at < own.y; at++)
            sum += bands[((size_t)k * COUNTERS(bins) + at) * HONE_C + channel];
    counts[i] = sum;
}
#endif
