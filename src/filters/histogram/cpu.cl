/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * For CPUs, one launch: each of a few work-items counts a share of the image in counters of its own, without
 * atomics, in several copies: an addition need not wait for the one before it when both are of the same
 * value. A ticket says who ends last; that one adds up all counters, makes the result, and leaves the
 * counters as it found them, 0.
 *
 * That all counts have arrived says their sum: every element is in one of them. So no order of memory
 * accesses is assumed between work-items.
 */
#include "filters/histogram/bins.clh"

#ifndef COPIES
#define COPIES 4 /* of the counters of a work-item */
#endif

#define PATIENCE (1 << 20) /* times that the last work-item looks for counts */

/* What a work-item counts: pixels side by side in each of some rows. */
struct share {
    __global const PIXEL *first;
    int pitch, pixels, rows;
};

/* An image without gaps is a single row, which is cut anywhere. */
inline struct share share_of(__global const PIXEL *in, int pitch, int width, int height, int part, int parts)
{
    const bool gaps = pitch != width * HONE_C;
    const int all = gaps ? height : width * height, each = (all - 1) / parts + 1;
    const int step = gaps ? each : (each + 63) / 64 * 64;
    const int first = (int)min((long)part * step, (long)all), count = min(step, all - first);
    struct share share = {in + (size_t)first * (gaps ? pitch : HONE_C), pitch, gaps ? width : count,
                          gaps ? count : 1};
    return share;
}

#if HONE_T == 0
#define STRETCH               8 /* pixels at a time */
#define PLACE(value, channel) ((value)*HONE_C + (channel))

/*
 * Copies are of 16 bits and a value's lie side by side, behind its sum: the processor stores to a cache line
 * twice at a time, so few lines are better. These many pixels fit.
 */
#define MOST           (65528 * COPIES)
#define COPIES_OF(own) ((__global ushort *)((own) + 256 * HONE_C))

inline void count_pixels(__global uint *own, __global const PIXEL *at, int pixels, RANGE_PARAMETERS)
{
    __global ushort *copies = COPIES_OF(own);
    int x = 0;
    for (; x + STRETCH <= pixels; x += STRETCH) {
        __global const PIXEL *from = at + (size_t)x * HONE_C;
#pragma unroll
        for (int k = 0; k < STRETCH * HONE_C; k++)
            copies[PLACE((size_t)from[k], k % HONE_C) * COPIES + k / HONE_C % COPIES]++;
    }
    for (; x < pixels; x++)
        for (int channel = 0; channel < HONE_C; channel++)
            own[PLACE(at[(size_t)x * HONE_C + channel], channel)]++;
}

/* All copies into the sums; they become 0. */
inline void join_copies(__global uint *own, int count)
{
    __global ushort *copies = COPIES_OF(own);
    for (int i = 0; i < count; i++)
#pragma unroll
        for (int k = 0; k < COPIES; k++) {
            own[i] += copies[i * COPIES + k];
            copies[i * COPIES + k] = 0;
        }
}

#else
#define STRETCH              256 /* pixels whose bins are found before they are counted */
#define MOST                 INT_MAX
#define PLACE(slot, channel) ((slot)*HONE_C + (channel))

#if FLOATING
#define NUMBERS(v) (v)
#else
#define NUMBERS(v) convert_float16(v)
#endif

inline bool any_set(int16 v)
{
    long8 a = as_long8(v);
    long4 b = a.lo | a.hi;
    long2 c = b.lo | b.hi;
    return (c.x | c.y) != 0;
}

/* bin_of() of 16 neighbours at once; one by one where an edge decides, or a value lies outside. */
inline void find_16(int *bin, __global const PIXEL *from, RANGE_PARAMETERS)
{
#if RANGED
    float16 v = NUMBERS(vload16(0, from)), at = (v - origin) * scale, shifted = at + 12582912.0f;
    float16 nearest = shifted - 12582912.0f;
    int16 unsure = v < (float)edges[0] | v >= (float)edges[bins] | !(fabs(at - nearest) > margin);
    vstore16((as_int16(shifted) & 0x3fffff) + (at < nearest), 0, bin);
    if (any_set(unsure))
        for (int k = 0; k < 16; k++)
            bin[k] = bin_of(from[k], RANGE);
#else
    uint16 v = convert_uint16(convert_int16(vload16(0, from)) + (HONE_T == 3 ? 32768 : 0));
    vstore16(as_int16(v * (uint)bins >> 16u), 0, bin);
#endif
}

inline void find_bins(int *bin, __global const PIXEL *from, int count, RANGE_PARAMETERS)
{
    int i = 0;
    for (; i + 16 <= count; i += 16)
        find_16(bin + i, from + i, RANGE);
    for (; i < count; i++)
        bin[i] = bin_of(from[i], RANGE);
}

inline void count_bins(__global uint *own, const int *bin, int pixels, int bins)
{
    int x = 0;
    for (; x + COPIES <= pixels; x += COPIES)
#pragma unroll
        for (int k = 0; k < COPIES * HONE_C; k++)
            own[k / HONE_C * SLOTS(bins) * HONE_C + PLACE(bin[x * HONE_C + k], k % HONE_C)]++;
    for (int i = x * HONE_C; i < pixels * HONE_C; i++)
        own[PLACE(bin[i], i % HONE_C)]++;
}

/* Bins that were just found would have to wait for all additions before them, of which nobody knows where
 * they go. */
inline void count_pixels(__global uint *own, __global const PIXEL *at, int pixels, RANGE_PARAMETERS)
{
    int bin[STRETCH * HONE_C];
    for (int x = 0; x < pixels; x += STRETCH) {
        const int some = min(STRETCH, pixels - x);
        find_bins(bin, at + (size_t)x * HONE_C, some * HONE_C, RANGE);
        count_bins(own, bin, some, bins);
    }
}

/* All copies into the first; the others become 0. */
inline void join_copies(__global uint *own, int count)
{
    for (int k = 1; k < COPIES; k++)
        for (int i = 0; i < count; i++) {
            own[i] += own[k * count + i];
            own[k * count + i] = 0;
        }
}
#endif

/* In pieces that the counters of a copy hold. */
inline void count_share(__global uint *own, const struct share *s, int count, RANGE_PARAMETERS)
{
    int counted = 0;
    for (int y = 0; y < s->rows; y++)
        for (int x = 0, some; x < s->pixels; x += some) {
            some = min(s->pixels - x, MOST);
            if (counted > MOST - some) {
                join_copies(own, count);
                counted = 0;
            }
            count_pixels(own, s->first + (size_t)y * s->pitch + (size_t)x * HONE_C, some, RANGE);
            counted += some;
        }
    join_copies(own, count);
}

/* The sum of all work-items' counters, and of these. */
inline uint add_up(__global uint *total, __global const uint *own, int stride, int parts, int count)
{
    uint sum = 0;
    for (int i = 0; i < count; i++)
        total[i] = own[i];
    for (int k = 1; k < parts; k++)
        for (int i = 0; i < count; i++)
            total[i] += own[(size_t)k * stride + i];
    for (int i = 0; i < count; i++)
        sum += total[i];
    return sum;
}

/* Moves the counters, which add up to `all`, to `total`. */
inline void collect(__global uint *total, __global uint *own, int stride, int parts, int count, uint all)
{
    if (add_up(total, own, stride, parts, count) == all) {
        for (int k = 0; k < parts; k++)
            for (int i = 0; i < count; i++)
                own[(size_t)k * stride + i] = 0;
        return;
    }
    for (int i = 0; i < count; i++)
        total[i] = 0;
    for (int tries = 0; all > 0 && tries < PATIENCE; tries++)
        for (int k = 0; k < parts; k++)
            for (int i = 0; i < count; i++) {
                uint here = atomic_xchg(own + (size_t)k * stride + i, 0u);
                total[i] += here;
                all -= here;
            }
}

/* From counters to what is in each bin, behind them. */
inline __global const uint *counts_of(__global uint *total, RANGE_PARAMETERS)
{
#if HONE_T == 0
    __global uint *counts = total + 256 * HONE_C;
    for (int i = 0; i < SLOTS(bins) * HONE_C; i++)
        counts[i] = 0;
    for (int value = 0; value < 256; value++) {
        const int slot = bin_of(value, RANGE);
        for (int channel = 0; channel < HONE_C; channel++)
            counts[slot * HONE_C + channel] += total[PLACE(value, channel)];
    }
    return counts;
#else
    return total;
#endif
}

#if HONE_OT == 0
#define PICTURE_HEIGHT 256
/* Bars, scaled to the largest count; alpha is opaque and scales nothing. */
inline void write_result(__global const uint *counts, __global RESULT *out, int pitch, int width, int counted)
{
    ulong most = 1;
    for (int i = 0; i < width; i++)
        if (!IS_ALPHA(i % HONE_C))
            most = max(most, (ulong)counts[i]);
    for (int i = 0; i < width; i++) {
        int bar = ((ulong)counts[i] * PICTURE_HEIGHT + most - 1) / most;
        for (int y = 0; y < PICTURE_HEIGHT; y++)
            out[y * pitch + i] = IS_ALPHA(i % HONE_C) || PICTURE_HEIGHT - y <= bar ? 255 : 0;
    }
}
#else
/* What was not counted, because there is none, is 0. */
inline void write_result(__global const uint *counts, __global RESULT *out, int pitch, int width, int counted)
{
    for (int i = 0; i < width; i++)
        out[i] = i < counted ? counts[i] : 0;
}
#endif

/* `own` has `stride` counters for each work-item, and behind them one of work-items that are through.
 * `result` is the width of a row of the result, in elements. */
__kernel void histogram_shares(__global const PIXEL *in, int in_offset, int in_pitch, __global uint *own,
                               __global uint *total, __global RESULT *out, int out_offset, int out_pitch,
                               int stride, int width, int height, int result, RANGE_PARAMETERS)
{
    const int part = get_global_id(0), parts = get_global_size(0), count = COUNTERS(bins) * HONE_C;
    __global uint *mine = own + (size_t)part * stride, *ticket = own + (size_t)parts * stride;
    const struct share share = share_of(in + in_offset, in_pitch, width, height, part, parts);
    count_share(mine, &share, count, RANGE);
    if (atomic_inc(ticket) + 1 < (uint)parts)
        return;
    atomic_xchg(ticket, 0u);
    collect(total, own, stride, parts, count, (uint)width * height * HONE_C);
    write_result(counts_of(total, RANGE), out + out_offset, out_pitch, result, SLOTS(bins) * HONE_C);
}
