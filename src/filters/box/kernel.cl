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
/*
 * Any window at the same cost per pixel, floats: sums are never subtracted, so nothing drifts and one NaN or
 * infinity stays inside its window. A line is cut into blocks as long as the window; with the sums from each
 * element to the end of its block and from the block's start to each element, every window is the sum of two
 * (van Herk, 1992; Gil and Werman, 1993, for maxima). Down the columns first, then along the rows.
 */

#define AT_ONCE 8 /* rows whose loads are under way together */

/* The sums of a column from line y on, `step` lines further each, to each of `count` lines. */
inline void sum_lines(__global float *sums, __global const PIXEL *in, int pitch, int i, int y, int step,
                      int lines, int width, int height, int top, BORDER_TYPE border)
{
    int x = i / HONE_C, channel = i - x * HONE_C, count = width * HONE_C, inside;
    float sum = 0;
    for (int done = 0; done < lines; done += AT_ONCE) {
        float values[AT_ONCE];
#pragma unroll
        for (int k = 0; k < AT_ONCE; k++) {
            int line = y + min(done + k, lines - 1) * step;
            __global const PIXEL *row = hone_row(in, pitch, line - top, height, &inside);
            values[k] = hone_at(row, inside, x, channel, width, border);
        }
#pragma unroll
        for (int k = 0; k < AT_ONCE; k++)
            if (done + k < lines) {
                sum += values[k];
                sums[(size_t)(y + (done + k) * step) * count + i] = sum;
            }
    }
}

/* Block `block` of a column of the extended image, both sums at once. */
__kernel void box_block_columns(__global const PIXEL *in, int in_offset, int in_pitch, __global float *to_end,
                                __global float *from_start, int width, int height, int kernel_height,
                                BORDER_TYPE border)
{
    int i = get_global_id(0), start = get_global_id(1) * kernel_height, extended = height + kernel_height - 1,
        lines = min(kernel_height, extended - start), top = kernel_height / 2;
    if (i >= width * HONE_C || lines <= 0)
        return;
    sum_lines(from_start, in + in_offset, in_pitch, i, start, 1, lines, width, height, top, border);
    sum_lines(to_end, in + in_offset, in_pitch, i, start + lines - 1, -1, lines, width, height, top, border);
}

/* The sum of a line's window that begins at `first`: two parts, or one where it is a block itself. */
inline float window_of(float tail, float head, int first, int size)
{
    return first % size == 0 ? head : tail + head;
}

#define PIECE 8 /* elements of a work-item */

/* Where one of a work-group's elements is in local memory, which neighbours meet in no bank of. */
#define PLACE(k) ((k) + (k) / PIECE)

/* Replaces a work-group's elements by the sums up to each, `carried` included; the sum of all. */
inline float scan_pieces(__local float *part, __local float *sums, float carried)
{
    int lid = get_local_id(0), size = get_local_size(0);
    float sum = 0, before = carried;
    for (int k = 0; k < PIECE; k++)
        part[PLACE(lid * PIECE + k)] = sum += part[PLACE(lid * PIECE + k)];
    sums[lid] = sum;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int j = 0; j < size; j++) {
        sum = carried;
        carried += sums[j];
        before = j == lid ? sum : before;
    }
    for (int k = 0; k < PIECE; k++)
        part[PLACE(lid * PIECE + k)] += before;
    barrier(CLK_LOCAL_MEM_FENCE);
    return carried;
}

/* A line of the column sums. */
struct line {
    __global const float *tail, *head;
    int y, width, kernel_width, kernel_height;
    float outside;
};

inline float column_of(const struct line *l, int x)
{
    int from = hone_fold(x - l->kernel_width / 2, l->width), at = max(from, 0) * HONE_C;
    return from < 0 ? l->outside : window_of(l->tail[at], l->head[at], l->y, l->kernel_height);
}

/* The sums of `count` elements from x on, `step` further each. */
inline void sum_along(__global float *sums, const struct line *l, int x, int step, int count,
                      __local float *part)
{
    int lid = get_local_id(0), size = get_local_size(0), all = size * PIECE;
    float carried = 0;
    if (size == 1) /* CPUs */
        for (int k = 0; k < count; k++)
            sums[(x + k * step) * HONE_C] = carried += column_of(l, x + k * step);
    for (int done = 0; size > 1 && done < count; done += all) {
        for (int k = lid; k < all; k += size)
            part[PLACE(k)] = done + k < count ? column_of(l, x + (done + k) * step) : 0;
        barrier(CLK_LOCAL_MEM_FENCE);
        carried = scan_pieces(part, part + PLACE(all), carried);
        for (int k = lid; k < min(all, count - done); k += size)
            sums[(x + (done + k) * step) * HONE_C] = part[PLACE(k)];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}

/* The same along the rows of the column sums. A work-group takes one block of one channel. */
__kernel void box_block_rows(__global const float *column_to_end, __global const float *column_from_start,
                             __global float *to_end, __global float *from_start, __local float *part,
                             int width, int height, int kernel_width, int kernel_height, BORDER_TYPE border)
{
    int y = get_group_id(1), block = get_group_id(0) / HONE_C, channel = get_group_id(0) % HONE_C;
    int extended = width + kernel_width - 1, start = block * kernel_width,
        count = min(kernel_width, extended - start);
    size_t pitch = (size_t)width * HONE_C, row = (size_t)y * extended * HONE_C + channel;
    const struct line l = {column_to_end + y * pitch + channel,
                           column_from_start + (y + kernel_height - 1) * pitch + channel,
                           y,
                           width,
                           kernel_width,
                           kernel_height,
                           border * kernel_height};
    sum_along(from_start + row, &l, start, 1, count, part);
    sum_along(to_end + row, &l, start + count - 1, -1, count, part);
}

__kernel void box_block_join(__global const float *to_end, __global const float *from_start,
                             __global const PIXEL *in, int in_offset, int in_pitch, __global RESULT *out,
                             int out_offset, int out_pitch, int width, int height, int kernel_width,
                             int kernel_height)
{
    int i = get_global_id(0), y = get_global_id(1);
    if (i >= width * HONE_C || y >= height)
        return;
    size_t at = (size_t)y * (width + kernel_width - 1) * HONE_C + i;
    float sum = window_of(to_end[at], from_start[at + (kernel_width - 1) * HONE_C], i / HONE_C, kernel_width);
    float result = sum / ((float)kernel_width * kernel_height);
    out[out_offset + y * out_pitch + i] =
        IS_ALPHA(i % HONE_C)
            ? (RESULT)in[in_offset + y * in_pitch + i]
            : inside_or_zero((RESULT)result, i / HONE_C, y, width, height, kernel_width, kernel_height);
}
#endif
