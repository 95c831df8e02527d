/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A weighted sum over a window. Sums of integers are whole numbers and therefore exact in any order; f32 sums
 * each row of the window apart, so that rounding errors grow with its sides and not with its area. A result
 * is factor * sum + offset.
 */
#ifndef ROWS
#define ROWS 4 /* rows per work-item */
#endif

#include "filters/convolve/sums.clh"

/* Where a device wants to know how much constant memory is used, it is told. */
#if defined(__has_attribute)
#if __has_attribute(max_constant_size)
#define WEIGHTS __constant const WEIGHT *weights __attribute__((max_constant_size(3844)))
#endif
#endif
#ifndef WEIGHTS
#define WEIGHTS __constant const WEIGHT *weights
#endif

struct window {
    int width, height, left, top; /* how far it reaches left of and above its result */
};

inline RESULT finish(SUM sum, float factor, float offset)
{
    float product = (float)sum * factor;
    return hone_result(product + offset);
}

/* Alpha, and border=zero-outside. */
inline RESULT result_or(RESULT result, PIXEL centre, struct window k, int x, int y, int channel, int width,
                        int height)
{
    if (IS_ALPHA(channel))
        return (RESULT)centre;
    return HONE_BORDER == BORDER_ZERO_OUTSIDE &&
                   hone_leaves(x - k.left, y - k.top, k.width, k.height, width, height)
               ? (RESULT)0
               : result;
}

#define IMAGES                                                                                               \
    __global const PIXEL *in, int in_offset, int in_pitch, __global RESULT *out, int out_offset,             \
        int out_pitch, int width, int height
#define WINDOW_ARGUMENTS int kernel_width, int kernel_height, int left, int top

#if defined(HONE_ALL) || defined(VARIANT_global)
/* The write-up's filterImage: one pixel per work-item, each tap from global memory. */
__kernel void convolve_global(IMAGES, WINDOW_ARGUMENTS, float factor, float offset, BORDER_TYPE border,
                              WEIGHTS)
{
    int x = get_global_id(0), y = get_global_id(1);
    const struct window k = {kernel_width, kernel_height, left, top};
    if (x >= width || y >= height)
        return;
    in += in_offset;
    SUM sums[HONE_C];
    for (int channel = 0; channel < HONE_C; channel++)
        sums[channel] = 0;
    for (int j = 0; j < k.height; j++) {
        int inside;
        __global const PIXEL *row = hone_row(in, in_pitch, y - k.top + j, height, &inside);
        SUM part[HONE_C];
        for (int channel = 0; channel < HONE_C; channel++)
            part[channel] = 0;
        for (int i = 0; i < k.width; i++)
            for (int channel = 0; channel < HONE_C; channel++)
                part[channel] =
                    ADD_PRODUCT(weights[j * k.width + i],
                                hone_at(row, inside, x - k.left + i, channel, width, border), part[channel]);
        for (int channel = 0; channel < HONE_C; channel++)
            sums[channel] += part[channel];
    }
    for (int channel = 0; channel < HONE_C; channel++)
        out[out_offset + y * out_pitch + x * HONE_C + channel] =
            result_or(finish(sums[channel], factor, offset), in[y * in_pitch + x * HONE_C + channel], k, x, y,
                      channel, width, height);
}
#endif

#if defined(HONE_ALL) || defined(VARIANT_cached)
/*
 * The write-up's filterImageCached: the work-group's own pixels in local memory, those around them from
 * global memory, and a test at every tap for which of the two.
 */
__kernel void convolve_cached(IMAGES, WINDOW_ARGUMENTS, float factor, float offset, BORDER_TYPE border,
                              WEIGHTS, __local PIXEL *tile)
{
    int x = get_global_id(0), y = get_global_id(1), lx = get_local_id(0), ly = get_local_id(1);
    int group_width = get_local_size(0), group_height = get_local_size(1);
    const struct window k = {kernel_width, kernel_height, left, top};
    in += in_offset;
    for (int channel = 0; channel < HONE_C; channel++)
        tile[(ly * group_width + lx) * HONE_C + channel] =
            in[min(y, height - 1) * in_pitch + min(x, width - 1) * HONE_C + channel];
    barrier(CLK_LOCAL_MEM_FENCE);
    if (x >= width || y >= height)
        return;
    for (int channel = 0; channel < HONE_C; channel++) {
        SUM sum = 0;
        for (int j = 0; j < k.height; j++) {
            int inside, from_y = ly - k.top + j;
            __global const PIXEL *row = hone_row(in, in_pitch, y - k.top + j, height, &inside);
            bool here = from_y >= 0 && from_y < group_height && y - k.top + j < height;
            SUM part = 0;
            for (int i = 0; i < k.width; i++) {
                int from_x = lx - k.left + i;
                NUMBER value;
                if (here && from_x >= 0 && from_x < group_width && x - k.left + i < width)
                    value = tile[(from_y * group_width + from_x) * HONE_C + channel];
                else
                    value = hone_at(row, inside, x - k.left + i, channel, width, border);
                part = ADD_PRODUCT(weights[j * k.width + i], value, part);
            }
            sum += part;
        }
        out[out_offset + y * out_pitch + x * HONE_C + channel] =
            result_or(finish(sum, factor, offset), tile[(ly * group_width + lx) * HONE_C + channel], k, x, y,
                      channel, width, height);
    }
}
#endif

#if defined(HONE_ALL) || defined(VARIANT_tile)
/* The work-group's pixels with all that their windows see in local memory; each work-item makes ROWS results
 * below one another, for which it reads each weight once. */
__kernel void convolve_tile(IMAGES, WINDOW_ARGUMENTS, float factor, float offset, BORDER_TYPE border, WEIGHTS,
                            __local PIXEL *tile)
{
    int lx = get_local_id(0), ly = get_local_id(1), group_width = get_local_size(0),
        group_height = get_local_size(1);
    const struct window k = {kernel_width, kernel_height, left, top};
    int x0 = get_group_id(0) * group_width, y0 = get_group_id(1) * group_height * ROWS;
    int tile_width = group_width + k.width - 1, tile_height = group_height * ROWS + k.height - 1;
    in += in_offset;
    for (int j = ly; j < tile_height; j += group_height) {
        int inside;
        __global const PIXEL *row = hone_row(in, in_pitch, y0 - k.top + j, height, &inside);
        for (int i = lx; i < tile_width; i += group_width)
            for (int channel = 0; channel < HONE_C; channel++)
                tile[(j * tile_width + i) * HONE_C + channel] =
                    (PIXEL)hone_at(row, inside, x0 - k.left + i, channel, width, border);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    int x = x0 + lx, y = y0 + ly * ROWS;
    if (x >= width)
        return;
    for (int channel = 0; channel < HONE_C; channel++) {
        SUM sums[ROWS], parts[ROWS];
        for (int r = 0; r < ROWS; r++)
            sums[r] = 0;
        for (int j = 0; j < k.height; j++) {
            for (int r = 0; r < ROWS; r++)
                parts[r] = 0;
            for (int i = 0; i < k.width; i++) {
                __local const PIXEL *at = tile + ((ly * ROWS + j) * tile_width + lx + i) * HONE_C + channel;
                WEIGHT weight = weights[j * k.width + i];
                for (int r = 0; r < ROWS; r++)
                    parts[r] = ADD_PRODUCT(weight, at[r * tile_width * HONE_C], parts[r]);
            }
            for (int r = 0; r < ROWS; r++)
                sums[r] += parts[r];
        }
        for (int r = 0; r < ROWS && y + r < height; r++)
            out[out_offset + (y + r) * out_pitch + x * HONE_C + channel] =
                result_or(finish(sums[r], factor, offset), in[(y + r) * in_pitch + x * HONE_C + channel], k,
                          x, y + r, channel, width, height);
    }
}
#endif

#if defined(HONE_ALL) || defined(VARIANT_separable)
/* Sums along rows, unscaled. `weights` is the row, then the column. */
__kernel void convolve_rows(__global const PIXEL *in, int in_offset, int in_pitch, __global SUM *sums,
                            int width, int height, int kernel_width, int left, BORDER_TYPE border, WEIGHTS)
{
    int i = get_global_id(0), y = get_global_id(1);
    int x = i / HONE_C, channel = i - x * HONE_C;
    if (x >= width || y >= height)
        return;
    __global const PIXEL *row = in + in_offset + y * in_pitch;
    SUM sum = 0;
    for (int k = 0; k < kernel_width; k++)
        sum = ADD_PRODUCT(weights[k], hone_at(row, 1, x - left + k, channel, width, border), sum);
    sums[y * width * HONE_C + i] = sum;
}

__kernel void convolve_columns(__global const SUM *sums, IMAGES, WINDOW_ARGUMENTS, float factor, float offset,
                               BORDER_TYPE border, WEIGHTS)
{
    int i = get_global_id(0), y = get_global_id(1);
    int x = i / HONE_C, channel = i - x * HONE_C;
    const struct window k = {kernel_width, kernel_height, left, top};
    if (x >= width || y >= height)
        return;
    SUM outside = 0; /* what a row beyond a constant border sums up to */
    if (HONE_BORDER == BORDER_CONSTANT)
        for (int j = 0; j < k.width; j++)
            outside = ADD_PRODUCT(weights[j], border, outside);
    SUM sum = 0;
    for (int j = 0; j < k.height; j++) {
        int from = hone_fold(y - k.top + j, height);
        SUM part = from < 0 ? outside : sums[max(from, 0) * width * HONE_C + i];
        sum = ADD_PRODUCT(weights[k.width + j], part, sum);
    }
    out[out_offset + y * out_pitch + i] = result_or(
        finish(sum, factor, offset), in[in_offset + y * in_pitch + i], k, x, y, channel, width, height);
}
#endif
