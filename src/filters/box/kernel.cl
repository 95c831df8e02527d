/* SPDX-License-Identifier: BSD-2-Clause */
#if FLOATING
#define SUM float
#elif defined(SUM64) && SUM64
#define SUM ulong
#else
#define SUM uint
#endif

/* Half up, exactly. Sums of signed pixels wrap around; each pixel 2^15 higher, they are those of unsigned
 * ones. */
inline RESULT mean(SUM sum, SUM area)
{
#if FLOATING
    return sum / area;
#elif HONE_T == 3
    return (RESULT)((int)((sum + area * 32768 + area / 2) / area) - 32768);
#else
    return (RESULT)((sum + area / 2) / area);
#endif
}

/* border=zero-outside: nothing where the window leaves the image. */
inline RESULT inside_or_zero(RESULT result, int x, int y, int width, int height, int kernel_width,
                             int kernel_height)
{
    return HONE_BORDER == BORDER_ZERO_OUTSIDE && hone_leaves(x - kernel_width / 2, y - kernel_height / 2,
                                                             kernel_width, kernel_height, width, height)
               ? (RESULT)0
               : result;
}

#if defined(HONE_ALL) || defined(VARIANT_direct)
/* One result per work-item, width * height reads: the guide's starting point. */
__kernel void box_direct(__global const RAW *in, int in_offset, int in_pitch, __global FINAL *out,
                         int out_offset, int out_pitch, int width, int height, int kernel_width,
                         int kernel_height, BORDER_TYPE border FUSED_PARAMETERS)
{
    struct source source = SOURCE_OF(in);
    struct sink sink = SINK_OF(out);
    int x = get_global_id(0), y = get_global_id(1);
    if (x >= width || y >= height)
        return;
    int left = x - kernel_width / 2, top = y - kernel_height / 2;
    for (int channel = 0; channel < HONE_C; channel++) {
        SUM sum = 0;
        for (int j = 0; j < kernel_height; j++) {
            SUM part =
                0; /* each row apart: rounding errors of floats grow with the side, not with the area */
            for (int i = 0; i < kernel_width; i++)
                part += source_at(&source, left + i, top + j, channel, width, height, border);
            sum += part;
        }
        RESULT result = mean(sum, (SUM)kernel_width * kernel_height);
        sink_put(&sink, x * HONE_C + channel, y,
                 IS_ALPHA(channel)
                     ? (RESULT)source_get(&source, x * HONE_C + channel, y)
                     : inside_or_zero(result, x, y, width, height, kernel_width, kernel_height));
    }
}
#endif

#if defined(HONE_ALL) || defined(VARIANT_image) || defined(VARIANT_pairs_image)
#include "filters/texels.clh"
#endif

#if defined(HONE_ALL) || defined(VARIANT_image)
__kernel void box_image(__read_only image2d_t in, __global RESULT *out, int out_offset, int out_pitch,
                        sampler_t edge, int width, int height, int kernel_width, int kernel_height)
{
    int x = get_global_id(0), y = get_global_id(1);
    if (x >= width || y >= height)
        return;
    int left = x - kernel_width / 2, top = y - kernel_height / 2;
    texel sum = 0;
    for (int j = 0; j < kernel_height; j++) {
        texel part = 0;
        for (int i = 0; i < kernel_width; i++)
            part += READ_IMAGE(in, edge, (int2)(left + i, top + j));
        sum += part;
    }
    texel centre = READ_IMAGE(in, edge, (int2)(x, y));
    out += out_offset + y * out_pitch + x * HONE_C;
    for (int channel = 0; channel < HONE_C; channel++) {
        RESULT result = mean(texel_channel(sum, channel), (SUM)kernel_width * kernel_height);
        out[channel] = IS_ALPHA(channel)
                           ? (RESULT)texel_channel(centre, channel)
                           : inside_or_zero(result, x, y, width, height, kernel_width, kernel_height);
    }
}
#endif

#if defined(HONE_ALL) || defined(VARIANT_image_unorm)
/* The guide's kernel as it stands: pixels read as 0..1, a float mean, and the texture unit's own rounding on
 * the way out, which at ties may go either way. */
__kernel void box_image_unorm(__read_only image2d_t in, __write_only image2d_t out, sampler_t edge, int width,
                              int height)
{
    int x = get_global_id(0), y = get_global_id(1);
    if (x >= width || y >= height)
        return;
    float4 sum = 0;
    for (int i = 0; i < 8; i++)
        for (int j = 0; j < 8; j++)
            sum += read_imagef(in, edge, (int2)(x, y) + (int2)(i - 4, j - 4));
    write_imagef(out, (int2)(x, y), sum / 64.0f);
}
#endif

#if defined(HONE_ALL) || defined(VARIANT_pairs_unorm)
/* The guide's two passes: means of 2x2 pixels, rounded to 8 bits in between, then the mean of 16 of them. One
 * thing differs from the listing: the means reach as far around the image as windows do, so that edges are as
 * good as the rest. */
__kernel void box_mean2(__read_only image2d_t in, __write_only image2d_t out, sampler_t edge, int width,
                        int height)
{
    int x = get_global_id(0), y = get_global_id(1);
    if (x >= width || y >= height)
        return;
    float4 sum = 0;
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 2; j++)
            sum += read_imagef(in, edge, (int2)(x, y) - (int2)(3, 3) - (int2)(i, j));
    write_imagef(out, (int2)(x, y), sum * 0.25f);
}

__kernel void box_mean16(__read_only image2d_t in, __write_only image2d_t out, sampler_t edge, int width,
                         int height)
{
    int x = get_global_id(0), y = get_global_id(1);
    if (x >= width || y >= height)
        return;
    float4 sum = 0;
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++)
            sum += read_imagef(in, edge, mad24((int2)(i, j), (int2)2, (int2)(x, y)));
    write_imagef(out, (int2)(x, y), sum * 0.0625f);
}
#endif

#if defined(HONE_ALL) || defined(VARIANT_pairs) || defined(VARIANT_pairs_image)
/* The guide's idea made exact and general: sums of FX x FY pixels, then sums of (width / FX) x (height / FY)
 * of those, which lie FX and FY apart. FX and FY divide the window's sides; 8x8 takes 4 + 16 reads. The sums
 * cover what lies around the image too, so that any border is right. */
#if FLOATING
#define PART float
#elif HONE_T == 0 && FX * FY <= 257
#define PART ushort
#elif HONE_T == 3
#define PART int
#else
#define PART uint
#endif
#endif

#if defined(HONE_ALL) || defined(VARIANT_pairs)
#ifndef FX
#define FX 2 /* first pass: pixels across */
#endif
#ifndef FY
#define FY 2 /* and down */
#endif
__kernel void box_parts(__global const PIXEL *in, int in_offset, int in_pitch, __global PART *parts,
                        int width, int height, int left, int top, int parts_width, int parts_height,
                        BORDER_TYPE border)
{
    int x = get_global_id(0), y = get_global_id(1);
    if (x >= parts_width || y >= parts_height)
        return;
    for (int channel = 0; channel < HONE_C; channel++) {
        SUM sum = 0;
        for (int j = 0; j < FY; j++) {
            int inside;
            __global const PIXEL *row = hone_row(in + in_offset, in_pitch, y - top + j, height, &inside);
            for (int i = 0; i < FX; i++)
                sum += hone_at(row, inside, x - left + i, channel, width, border);
        }
        parts[(y * parts_width + x) * HONE_C + channel] = (PART)sum;
    }
}

__kernel void box_join(__global const PART *parts, __global const PIXEL *in, int in_offset, int in_pitch,
                       __global RESULT *out, int out_offset, int out_pitch, int width, int height,
                       int kernel_width, int kernel_height, int parts_width)
{
    int x = get_global_id(0), y = get_global_id(1);
    if (x >= width || y >= height)
        return;
    out += out_offset + y * out_pitch + x * HONE_C;
    in += in_offset + y * in_pitch + x * HONE_C;
    for (int channel = 0; channel < HONE_C; channel++) {
        SUM sum = 0;
        for (int j = 0; j < kernel_height; j += FY)
            for (int i = 0; i < kernel_width; i += FX)
                sum += parts[((y + j) * parts_width + x + i) * HONE_C + channel];
        RESULT result = mean(sum, (SUM)kernel_width * kernel_height);
        out[channel] = IS_ALPHA(channel)
                           ? (RESULT)in[channel]
                           : inside_or_zero(result, x, y, width, height, kernel_width, kernel_height);
    }
}
#endif

#if defined(HONE_ALL) || defined(VARIANT_pairs_image)
__kernel void box_parts_image(__read_only image2d_t in, __write_only image2d_t parts, sampler_t edge,
                              int left, int top, int parts_width, int parts_height)
{
    int x = get_global_id(0), y = get_global_id(1);
    if (x >= parts_width || y >= parts_height)
        return;
    texel sum = 0;
    for (int j = 0; j < FY; j++)
        for (int i = 0; i < FX; i++)
            sum += READ_IMAGE(in, edge, (int2)(x - left + i, y - top + j));
    WRITE_IMAGE(parts, (int2)(x, y), sum);
}

__kernel void box_join_image(__read_only image2d_t parts, __global const PIXEL *in, int in_offset,
                             int in_pitch, __global RESULT *out, int out_offset, int out_pitch,
                             sampler_t edge, int width, int height, int kernel_width, int kernel_height)
{
    int x = get_global_id(0), y = get_global_id(1);
    if (x >= width || y >= height)
        return;
    texel sum = 0;
    for (int j = 0; j < kernel_height; j += FY)
        for (int i = 0; i < kernel_width; i += FX)
            sum += READ_IMAGE(parts, edge, (int2)(x + i, y + j));
    out += out_offset + y * out_pitch + x * HONE_C;
    for (int channel = 0; channel < HONE_C; channel++) {
        RESULT result = mean(texel_channel(sum, channel), (SUM)kernel_width * kernel_height);
        out[channel] = IS_ALPHA(channel)
                           ? (RESULT)in[in_offset + y * in_pitch + x * HONE_C + channel]
                           : inside_or_zero(result, x, y, width, height, kernel_width, kernel_height);
    }
}
#endif

#if defined(HONE_ALL) || defined(VARIANT_separable)
/* Sums along rows, then along columns. The rows around the image are summed as well. */
#if FLOATING
#define ROW_SUM float
#elif defined(SUM64) && SUM64
#define ROW_SUM ulong
#else
#define ROW_SUM uint
#endif

__kernel void box_rows(__global const PIXEL *in, int in_offset, int in_pitch, __global ROW_SUM *sums,
                       int width, int height, int kernel_width, BORDER_TYPE border)
{
    int i = get_global_id(0), y = get_global_id(1), count = width * HONE_C;
    if (i >= count || y >= height)
        return;
    int x = i / HONE_C, channel = i % HONE_C;
    __global const PIXEL *row = in + in_offset + y * in_pitch;
    SUM sum = 0;
    for (int k = 0; k < kernel_width; k++)
        sum += hone_at(row, 1, x - kernel_width / 2 + k, channel, width, border);
    sums[y * count + i] = sum;
}

__kernel void box_columns(__global const ROW_SUM *sums, __global const PIXEL *in, int in_offset, int in_pitch,
                          __global RESULT *out, int out_offset, int out_pitch, int width, int height,
                          int kernel_width, int kernel_height, BORDER_TYPE border)
{
    int i = get_global_id(0), y = get_global_id(1), count = width * HONE_C;
    if (i >= count || y >= height)
        return;
    SUM sum = 0;
    for (int k = 0; k < kernel_height; k++) {
        int from = hone_fold(y - kernel_height / 2 + k, height);
        sum += from < 0 ? (SUM)border * kernel_width : sums[from * count + i];
    }
    RESULT result = mean(sum, (SUM)kernel_width * kernel_height);
    out[out_offset + y * out_pitch + i] =
        IS_ALPHA(i % HONE_C)
            ? (RESULT)in[in_offset + y * in_pitch + i]
            : inside_or_zero(result, i / HONE_C, y, width, height, kernel_width, kernel_height);
}
#endif

#if defined(HONE_ALL) || defined(VARIANT_strips)
/*
 * A column strip of PX elements per work-item, walking down ROWS rows. Integers: the sum of each column is
 * kept and updated by the row that enters and the row that leaves. Floats: a running sum would drift, and
 * would stay NaN or infinite once it was; so the row sums of the window's rows are kept instead and added
 * afresh.
 */
#ifndef PX
#define PX 8 /* elements across */
#endif
#ifndef ROWS
#define ROWS 32 /* rows */
#endif
#ifndef KW
#define KW 8 /* the window's width */
#endif
#ifndef KH
#define KH 8 /* and height */
#endif
#define LEFT  (KW / 2 * HONE_C)
#define RIGHT ((KW - 1 - KW / 2) * HONE_C)
#include "filters/strips.clh"

inline SUM window_sum(const SUM *columns)
{
    SUM sum = 0;
    for (int k = 0; k < KW; k++)
        sum += columns[k * HONE_C];
    return sum;
}

inline void store_strip(__global const PIXEL *in, int in_pitch, __global RESULT *out, int out_pitch, int i,
                        int y, int width, int height, const SUM *sums)
{
    int count = width * HONE_C;
    union {
        VECTOR(RESULT, PX) vector;
        RESULT element[PX];
    } r;
    for (int k = 0; k < PX; k++) {
        int at = min(i + k, count - 1);
        r.element[k] = IS_ALPHA(at % HONE_C) ? (RESULT)in[y * in_pitch + at]
                                             : inside_or_zero(mean(sums[k], (SUM)(KW * KH)), at / HONE_C, y,
                                                              width, height, KW, KH);
    }
    if (i + PX <= count)
        *(__global VECTOR(RESULT, PX) *)(out + y * out_pitch + i) = r.vector;
    else
        for (int k = 0; i + k < count; k++)
            out[y * out_pitch + i + k] = r.element[k];
}

#if FLOATING
__kernel void box_strips(__global const PIXEL *in, int in_offset, int in_pitch, __global RESULT *out,
                         int out_offset, int out_pitch, int width, int height, BORDER_TYPE border)
{
    int i = get_global_id(0) * PX, y = get_global_id(1) * ROWS, end = min(y + ROWS, height);
    if (i >= width * HONE_C || y >= height)
        return;
    in += in_offset;
    out += out_offset;
    SUM kept[KH][PX]; /* row sums, oldest first */
    for (int j = 0; j < KH; j++) {
        struct strip_row r = load_strip(in, in_pitch, i, y - KH / 2 + j - 1, width, height, border);
        for (int k = 0; k < PX; k++)
            kept[j][k] = window_sum(r.v + k);
    }
    for (; y < end; y++) {
        struct strip_row r = load_strip(in, in_pitch, i, y - KH / 2 + KH - 1, width, height, border);
        SUM sums[PX];
        for (int k = 0; k < PX; k++) {
            sums[k] = 0;
            for (int j = 0; j + 1 < KH; j++) {
                kept[j][k] = kept[j + 1][k];
                sums[k] += kept[j][k];
            }
            kept[KH - 1][k] = window_sum(r.v + k);
            sums[k] += kept[KH - 1][k];
        }
        store_strip(in, in_pitch, out, out_pitch, i, y, width, height, sums);
    }
}
#else
__kernel void box_strips(__global const PIXEL *in, int in_offset, int in_pitch, __global RESULT *out,
                         int out_offset, int out_pitch, int width, int height, BORDER_TYPE border)
{
    int i = get_global_id(0) * PX, y = get_global_id(1) * ROWS, end = min(y + ROWS, height);
    if (i >= width * HONE_C || y >= height)
        return;
    in += in_offset;
    out += out_offset;
    struct strip_row columns = load_strip(in, in_pitch, i, y - KH / 2, width, height, border);
    for (int j = 1; j < KH; j++) {
        struct strip_row r = load_strip(in, in_pitch, i, y - KH / 2 + j, width, height, border);
        for (int k = 0; k < COLUMNS; k++)
            columns.v[k] += r.v[k];
    }
    for (;;) {
        SUM sums[PX];
        sums[0] = window_sum(columns.v);
        for (int k = 1; k < PX; k++)
            sums[k] = k < HONE_C
                          ? window_sum(columns.v + k)
                          : sums[k - HONE_C] + columns.v[k - HONE_C + KW * HONE_C] - columns.v[k - HONE_C];
        store_strip(in, in_pitch, out, out_pitch, i, y, width, height, sums);
        if (++y == end)
            return;
        struct strip_row enter = load_strip(in, in_pitch, i, y - KH / 2 + KH - 1, width, height, border);
        struct strip_row leave = load_strip(in, in_pitch, i, y - KH / 2 - 1, width, height, border);
        for (int k = 0; k < COLUMNS; k++)
            columns.v[k] += enter.v[k] - leave.v[k];
    }
}
#endif
#endif

#if defined(HONE_ALL) || defined(VARIANT_running)
/*
 * Any window at the same cost per pixel, integers: (1) running sums down the columns, in strips of ROWS; (2)
 * prefix sums along each row, one work-group per row, which carries from chunk to chunk; (3) differences of
 * prefix sums. Sums wrap around; a difference is right as long as one window's sum fits.
 */
#ifndef ROWS
#define ROWS 64 /* rows of a strip in the first pass */
#endif
#ifndef GROUP
#define GROUP 64 /* work-items that scan a row */
#endif

/* Column sums of the extended row: kernel_width - 1 columns more than the image has. */
__kernel void box_run_columns(__global const PIXEL *in, int in_offset, int in_pitch, __global SUM *sums,
                              int width, int height, int kernel_width, int kernel_height, BORDER_TYPE border)
{
    int extended = (width + kernel_width - 1) * HONE_C, i = get_global_id(0);
    int y = get_global_id(1) * ROWS, end = min(y + ROWS, height);
    if (i >= extended || y >= height)
        return;
    int x = i / HONE_C, channel = i - x * HONE_C, inside;
    SUM sum = 0;
    in += in_offset;
    x -= kernel_width / 2;
    for (int j = 0; j < kernel_height; j++) {
        __global const PIXEL *row = hone_row(in, in_pitch, y - kernel_height / 2 + j, height, &inside);
        sum += hone_at(row, inside, x, channel, width, border);
    }
    for (;;) {
        sums[(size_t)y * extended + i] = sum;
        if (++y == end)
            return;
        __global const PIXEL *enter =
            hone_row(in, in_pitch, y - kernel_height / 2 + kernel_height - 1, height, &inside);
        sum += hone_at(enter, inside, x, channel, width, border);
        __global const PIXEL *leave = hone_row(in, in_pitch, y - kernel_height / 2 - 1, height, &inside);
        sum -= hone_at(leave, inside, x, channel, width, border);
    }
}

/* In place: each element becomes the sum of all of its channel up to and with it. */
__kernel void box_scan_rows(__global SUM *sums, __local SUM *part, int width, int kernel_width)
{
    int extended = width + kernel_width - 1, lid = get_local_id(0), y = get_group_id(1);
    for (int channel = 0; channel < HONE_C; channel++) {
        __global SUM *row = sums + (size_t)y * extended * HONE_C + channel;
        SUM carry = 0;
        for (int start = 0; start < extended; start += GROUP) {
            int x = start + lid;
            part[lid] = x < extended ? row[x * HONE_C] : 0;
            barrier(CLK_LOCAL_MEM_FENCE);
            for (int step = 1; step < GROUP; step *= 2) {
                SUM before = lid >= step ? part[lid - step] : 0;
                barrier(CLK_LOCAL_MEM_FENCE);
                part[lid] += before;
                barrier(CLK_LOCAL_MEM_FENCE);
            }
            if (x < extended)
                row[x * HONE_C] = part[lid] + carry;
            carry += part[GROUP - 1];
            barrier(CLK_LOCAL_MEM_FENCE);
        }
    }
}

__kernel void box_differences(__global const SUM *sums, __global const PIXEL *in, int in_offset, int in_pitch,
                              __global RESULT *out, int out_offset, int out_pitch, int width, int height,
                              int kernel_width, int kernel_height)
{
    int i = get_global_id(0), y = get_global_id(1);
    if (i >= width * HONE_C || y >= height)
        return;
    __global const SUM *row = sums + (size_t)y * (width + kernel_width - 1) * HONE_C + i;
    SUM sum = row[(kernel_width - 1) * HONE_C] - (i >= HONE_C ? row[-HONE_C] : 0);
    RESULT result = mean(sum, (SUM)kernel_width * kernel_height);
    out[out_offset + y * out_pitch + i] =
        IS_ALPHA(i % HONE_C)
            ? (RESULT)in[in_offset + y * in_pitch + i]
            : inside_or_zero(result, i / HONE_C, y, width, height, kernel_width, kernel_height);
}
#endif

#if defined(HONE_ALL) || defined(VARIANT_blocks)
#include "filters/box/blocks.clh"
#endif
