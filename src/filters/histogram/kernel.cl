/* SPDX-License-Identifier: BSD-2-Clause */
/* Counts lie bin by bin, the channels of a bin side by side; behind them the largest one, which pictures are scaled to. */

/* The bin of a value; -1: none. */
inline int bin_of(NUMBER value, int bins)
{
#if FLOATING
    float scaled = value * (float)bins;
    return isnan(value) ? -1 : (int)clamp(scaled, 0.0f, (float)(bins - 1));
#else
    return (int)((uint)value * (uint)bins >> (HONE_T == 0 ? 8 : 16));
#endif
}

/* ---- What all variants share: counts to nothing, counts to a table or a picture ---- */

__kernel void histogram_clear(__global uint *counts, int count)
{
    int i = get_global_id(0);
    if (i <= count)
        counts[i] = 0;
}

/* Alpha is drawn opaque and scales nothing. */
__kernel void histogram_largest(__global uint *counts, int count)
{
    int i = get_global_id(0);
    uint own = HONE_OT != 0 || i >= count || IS_ALPHA(i % HONE_C) ? 0 : counts[i];
    if (own > 0)
        atomic_max(counts + count, own);
}

#define PICTURE_HEIGHT 256

__kernel void histogram_write(__global const uint *counts, int count, __global RESULT *out, int out_offset,
                              int out_pitch)
{
    int i = get_global_id(0), y = get_global_id(1);
    if (i >= count)
        return;
#if HONE_OT == 0
    ulong most = counts[count], bar = most > 0 ? ((ulong)counts[i] * PICTURE_HEIGHT + most - 1) / most : 0;
    out[out_offset + y * out_pitch + i] = IS_ALPHA(i % HONE_C) || PICTURE_HEIGHT - y <= (int)bar ? 255 : 0;
#else
    out[out_offset + y * out_pitch + i] = (RESULT)counts[i];
#endif
}

#if defined(HONE_ALL) || defined(VARIANT_global)
/* One element per work-item, one atomic addition to global memory for each. */
__kernel void histogram_global(__global const PIXEL *in, int in_offset, int in_pitch, __global uint *counts, int width,
                               int height, int bins)
{
    int i = get_global_id(0), y = get_global_id(1);
    if (i >= width * HONE_C || y >= height)
        return;
    int bin = bin_of(in[in_offset + y * in_pitch + i], bins);
    if (bin >= 0)
        atomic_inc(counts + bin * HONE_C + i % HONE_C);
}
#endif

#if defined(HONE_ALL) || defined(VARIANT_local)
/*
 * A work-group counts a few rows in local memory, and adds what it found to global memory once. Neighbouring work-items
 * count in different copies, so that an even image does not send all of them to one address; the copies of a counter lie in
 * different banks.
 */
#ifndef COPIES
#define COPIES 4 /* of the counters of a work-group */
#endif
#ifndef PX
#define PX 4 /* elements that are loaded at once */
#endif

inline void count_local(__local uint *own, NUMBER value, int channel, int bins)
{
    int bin = bin_of(value, bins);
    if (bin >= 0)
        atomic_inc(own + (bin * HONE_C + channel) * COPIES);
}

__kernel void histogram_local(__global const PIXEL *in, int in_offset, int in_pitch, __global uint *counts,
                              __local uint *own, int width, int height, int bins, int rows)
{
    int lid = get_local_id(0), group = get_local_size(0), first = get_group_id(1) * rows, elements = width * HONE_C;
    for (int i = lid; i < bins * HONE_C * COPIES; i += group)
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
                    count_local(own + lid % COPIES, v.element[k], (i + k) % HONE_C, bins);
            } else {
                for (int k = 0; i + k < elements; k++)
                    count_local(own + lid % COPIES, row[i + k], (i + k) % HONE_C, bins);
            }
        }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int i = lid; i < bins * HONE_C; i += group) {
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
 * A work-item counts a band of rows in memory of its own, without atomics, in several copies: an addition need not wait for the
 * one before it when both are of the same value. Bytes are counted by value, so that a counter's address takes no arithmetic;
 * a second pass sums up the bands, and values that share a bin.
 */
#ifndef COPIES
#define COPIES 4 /* of the counters of a band */
#endif

#if HONE_T == 0
#define COUNTERS(bins) 256
#define COUNTER(value, bins) (value)
#else
#define COUNTERS(bins) (bins)
#define COUNTER(value, bins) bin_of(value, bins)
#endif

inline void count_private(__global uint *own, int copy, NUMBER value, int channel, int bins)
{
    int at = COUNTER(value, bins);
    if (!FLOATING || at >= 0)
        own[copy * COUNTERS(bins) * HONE_C + at * HONE_C + channel]++;
}

__kernel void histogram_private(__global const PIXEL *in, int in_offset, int in_pitch, __global uint *counts, int width,
                                int height, int bins, int rows)
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
        for (; x + 8 <= width; x += 8) {
#pragma unroll
            for (int k = 0; k < 8 * HONE_C; k++)
                count_private(own, k / HONE_C % COPIES, row[x * HONE_C + k], k % HONE_C, bins);
        }
        for (; x < width; x++)
            for (int channel = 0; channel < HONE_C; channel++)
                count_private(own, 0, row[x * HONE_C + channel], channel, bins);
    }
}

/* The first counter of a bin. */
inline int bin_start(int bin, int bins)
{
    return HONE_T == 0 ? (bin * 256 + bins - 1) / bins : bin;
}

__kernel void histogram_sum(__global const uint *bands, __global uint *counts, int bins, int copies)
{
    int i = get_global_id(0), bin = i / HONE_C, channel = i - bin * HONE_C;
    if (bin > bins)
        return;
    uint sum = 0;
    for (int k = 0; k < copies && bin < bins; k++)
        for (int at = bin_start(bin, bins); at < bin_start(bin + 1, bins); at++)
            sum += bands[((size_t)k * COUNTERS(bins) + at) * HONE_C + channel];
    if (i <= bins * HONE_C)
        counts[i] = sum;
}
#endif
