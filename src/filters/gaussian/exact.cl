/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * exact=yes on every device: integers wide enough, so that nothing is rounded before the end (see exact.c).
 */
#ifndef FINE
#define FINE 0 /* 1: weights of 24 bits, else of at most 16 */
#endif

#if FINE
#define SUM ulong
#else
#define SUM uint
#endif

/* A row or column: `step` elements from one to the next. */
inline SUM weigh_row(__global const PIXEL *row, int x, int channel, int width, BORDER_TYPE border,
                     __constant const uint *weights, int reach)
{
    __global const PIXEL *centre = row + x * HONE_C + channel;
    SUM sum = (SUM)weights[0] * *centre;
    if (x >= reach && x + reach < width)
        for (int i = 1; i <= reach; i++)
            sum += (SUM)weights[i] * ((uint)centre[-i * HONE_C] + centre[i * HONE_C]);
    else
        for (int i = 1; i <= reach; i++)
            sum += (SUM)weights[i] * (uint)(hone_at(row, 1, x - i, channel, width, border) +
                                            hone_at(row, 1, x + i, channel, width, border));
    return sum;
}

__kernel void gaussian_exact_rows(__global const PIXEL *in, int in_offset, int in_pitch, __global SUM *rows,
                                  int width, int height, BORDER_TYPE border, __constant const uint *weights,
                                  int reach)
{
    int i = get_global_id(0), y = get_global_id(1), count = width * HONE_C;
    if (i >= count || y >= height)
        return;
    int x = i / HONE_C, channel = i - x * HONE_C;
    __global const PIXEL *row = in + in_offset + y * in_pitch;
    rows[(size_t)y * count + i] =
        IS_ALPHA(channel) ? (SUM)row[i] : weigh_row(row, x, channel, width, border, weights, reach);
}

inline ulong sum_at(__global const SUM *rows, int i, int y, int count, int height, ulong outside)
{
    int at = hone_fold(y, height);
    return HONE_BORDER == BORDER_CONSTANT && at < 0 ? outside : rows[(size_t)at * count + i];
}

inline ulong weigh_column(__global const SUM *rows, int i, int y, int count, int height, ulong outside,
                          __constant const uint *weights, int reach)
{
    __global const SUM *centre = rows + (size_t)y * count + i;
    ulong sum = (ulong)weights[0] * *centre;
    if (y >= reach && y + reach < height)
        for (int k = 1; k <= reach; k++)
            sum += weights[k] * ((ulong)centre[-k * count] + centre[k * count]);
    else
        for (int k = 1; k <= reach; k++)
            sum += weights[k] * (sum_at(rows, i, y - k, count, height, outside) +
                                 sum_at(rows, i, y + k, count, height, outside));
    return sum;
}

/* `radius` is what border=zero-outside goes by. */
__kernel void gaussian_exact_columns(__global const SUM *rows, __global RESULT *out, int out_offset,
                                     int out_pitch, int width, int height, BORDER_TYPE border,
                                     __constant const uint *weights, int reach, int radius, int bits)
{
    int i = get_global_id(0), y = get_global_id(1), count = width * HONE_C;
    if (i >= count || y >= height)
        return;
    int x = i / HONE_C;
    bool leaves = HONE_BORDER == BORDER_ZERO_OUTSIDE &&
                  (x < radius || y < radius || x + radius >= width || y + radius >= height);
    ulong sum = weigh_column(rows, i, y, count, height, (ulong)border << bits, weights, reach);
    RESULT result = leaves ? (RESULT)0 : (RESULT)((sum + (1ul << (2 * bits - 1))) >> 2 * bits);
    out[out_offset + y * out_pitch + i] = IS_ALPHA(i & 3) ? (RESULT)rows[(size_t)y * count + i] : result;
}
