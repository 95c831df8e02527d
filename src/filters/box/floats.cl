/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * For CPUs, floats: one work-item owns a band of whole rows and works on 64-byte vectors of clang's own
 * types.
 *
 * No sum is ever subtracted from another: nothing drifts, and a NaN or an infinity stays inside its windows.
 * Down the columns the rows come in blocks as high as the window. A window is the tail of one block and the
 * head of the next (M. van Herk, 1992): the tails of a block are summed from its last row up and kept, the
 * head grows row by row. Along the rows sums over 4^l columns give those over 4^(l + 1), and the window's
 * width has its digits to the base 4: done for SPAN elements at a time, which stay in the first cache.
 *
 * Errors: a column is summed in parts of PART rows, and the parts among themselves: at most 64 + 2048/64
 * roundings, for the host sends no higher windows here. Along the row each digit of the width adds two for
 * its sums and three for what joins them, 55 at most, and putting tail and head together, the area and the
 * division one each. Each one is half a last place of a sum of magnitudes, so that the mean is off by
 * (96 + 55 + 4) * 2^-24 of the largest pixel at most, which is 9.3e-6.
 */
#ifndef ROWS
#define ROWS 64 /* rows of a band */
#endif

#define LANES 16
#define CELL  float
#include "filters/bands.clh"
#include "filters/vectors.clh"

#define SPAN 2048 /* elements of a row that are summed across at a time */
#define PART 64   /* rows whose sum is one of the parts of a column's */
#ifndef GROUP
#define GROUP 8 /* vectors side by side whose tails are summed in registers */
#endif

DEFINE_VECTORS(float, floats);

#define LOAD(p)     (*(__global const floats_at *)(p))
#define STORE(p, v) (*(__global floats_at *)(p) = (v))

struct image {
    __global const float *at;
    int pitch, height, count; /* count: elements of a row */
    float border;
};

/* A row of the input; NULL: nowhere, all of it is the border value. */
inline __global const float *row_at(const struct image *in, int y)
{
    int row = hone_fold(y, in->height);
    return row < 0 ? 0 : in->at + (size_t)row * in->pitch;
}

/* Sixteen elements of it, zeros beyond its end. */
inline floats row_vector(const struct image *in, __global const float *row, int i)
{
    if (HONE_BORDER == BORDER_CONSTANT && !row)
        return (floats)in->border;
    if (i + LANES <= in->count)
        return LOAD(row + i);
    floats v = 0;
    for (int k = 0; i + k < in->count; k++)
        v[k] = row[i + k];
    return v;
}

/* A row more of a vector's tail: into the sum of its part, which joins those before when it is whole. */
inline void add_to_tail(floats *part, floats *rest, floats row, __global float *tail, bool keeps, bool whole)
{
    *part += row;
    if (keeps)
        STORE(tail, *rest + *part);
    *rest += whole ? *part : (floats)0;
    *part = whole ? (floats)0 : *part;
}

/* tails[j]: the sum of rows y + j to y + size - 1, of which the first `kept` are stored, `stride` apart; of
 * the elements of GROUP vectors from element i on. */
inline void sum_group_tails(const struct image *in, int y, int size, __global float *tails, int kept,
                            int stride, int i)
{
    floats part[GROUP], rest[GROUP]; /* of a part, and of those before */
    for (int k = 0; k < GROUP; k++)
        part[k] = rest[k] = 0;
    for (int j = size - 1; j >= 0; j--) {
        __global const float *row = row_at(in, y + j);
        __global float *tail = tails + (size_t)j * stride + i;
        bool whole = (size - j) % PART == 0;
#pragma unroll
        for (int k = 0; k < GROUP; k++)
            add_to_tail(part + k, rest + k, row_vector(in, row, i + k * LANES), tail + k * LANES, j < kept,
                        whole);
    }
}

/* The same of one vector. Compilers warn that they cannot unroll a loop over 1 or GROUP vectors. */
inline void sum_vector_tails(const struct image *in, int y, int size, __global float *tails, int kept,
                             int stride, int i)
{
    floats part = 0, rest = 0;
    for (int j = size - 1; j >= 0; j--)
        add_to_tail(&part, &rest, row_vector(in, row_at(in, y + j), i), tails + (size_t)j * stride + i,
                    j < kept, (size - j) % PART == 0);
}

inline void sum_tails(const struct image *in, int y, int size, __global float *tails, int kept, int stride)
{
    int i = 0;
    for (; i + GROUP * LANES <= in->count; i += GROUP * LANES)
        sum_group_tails(in, y, size, tails, kept, stride, i);
    for (; i < in->count; i += LANES)
        sum_vector_tails(in, y, size, tails, kept, stride, i);
}

/* columns: the sum of a tail and of the head of the next block, whose row number k (from 1 on) is row y of
 * the image. */
inline void add_head(const struct image *in, int y, int k, __global float *part, __global float *rest,
                     __global const float *tail, __global float *columns)
{
    __global const float *row = row_at(in, y);
    bool starts = k % PART == 1, sums = k > PART, more = k > PART + 1;
    for (int i = 0; i < in->count; i += LANES) {
        if (starts && sums)
            STORE(rest + i, more ? LOAD(rest + i) + LOAD(part + i) : LOAD(part + i));
        floats sum = row_vector(in, row, i);
        if (!starts)
            sum += LOAD(part + i);
        STORE(part + i, sum);
        STORE(columns + i, (sums ? LOAD(rest + i) + sum : sum) + LOAD(tail + i));
    }
}

/* The sum of the first `digit` sums of those that lie `step` elements apart. */
inline floats sum_of(__global const float *sums, int step, int digit)
{
    floats sum = LOAD(sums);
    if (digit > 1)
        sum += LOAD(sums + step);
    return digit > 2 ? sum + LOAD(sums + 2 * step) : sum;
}

/* Those of a digit of the window's width, which begin `done` elements further, and of the digits before. */
inline floats with_parts(__global const float *parts, __global const float *sums, int step, int done,
                         int digit)
{
    floats sum = sum_of(sums + done, step, digit);
    return done ? LOAD(parts) + sum : sum;
}

/* Sums over four times as many columns; `to` may be `from`. */
inline void quadruple_sums(__global const float *from, __global float *to, int count, int step)
{
    for (int i = 0; i < count; i += LANES)
        STORE(to + i, (LOAD(from + i) + LOAD(from + i + step)) +
                          (LOAD(from + i + 2 * step) + LOAD(from + i + 3 * step)));
}

struct across {
    __global float *sums, *parts; /* room for SPAN results each, and for a window more of the former */
    int width;                    /* of the window */
    float area;
};

/* Results from element i on of row y: the sums of the last digit join those of the others. */
inline void write_span(const struct across *across, __global const float *sums, const struct image *in,
                       const struct sink *sink, int y, int i, int results, int step, int done, int digit)
{
    __global const float *centre = in->at + (size_t)y * in->pitch + i;
    __global RESULT *out = sink->at + (size_t)y * sink->pitch + i;
    for (int k = 0; k < results; k += LANES) {
        floats mean = with_parts(across->parts + k, sums + k, step, done, digit) / (floats)across->area;
        if (k + LANES <= results)
            STORE(out + k, WITH_ALPHA(mean, LOAD(centre + k)));
        else
            for (int lane = 0; k + lane < results; lane++)
                out[k + lane] = IS_ALPHA((i + k + lane) % HONE_C) ? centre[k + lane] : mean[lane];
    }
}

/* The same from the sums of columns, of which the first window's begins at `columns`. */
inline void sum_span(const struct across *across, __global const float *columns, const struct image *in,
                     const struct sink *sink, int y, int i, int results)
{
    __global const float *sums = columns;
    int step = HONE_C, done = 0, left = across->width; /* digits to come */
    for (; left >= 4; left /= 4, step *= 4) {
        int digit = left % 4;
        for (int k = 0; digit && k < results; k += LANES)
            STORE(across->parts + k, with_parts(across->parts + k, sums + k, step, done, digit));
        done += digit * step;
        quadruple_sums(sums, across->sums, results + across->width * HONE_C - 4 * step, step);
        sums = across->sums;
    }
    write_span(across, sums, in, sink, y, i, results, step, done, left);
}

inline void sum_across(const struct across *across, __global const float *line, const struct image *in,
                       const struct sink *sink, int y)
{
    for (int i = 0; i < in->count; i += SPAN)
        sum_span(across, line + i, in, sink, y, i, min(SPAN, in->count - i));
}

__kernel void box_floats(__global const PIXEL *in, int in_offset, int in_pitch, __global RESULT *out,
                         int out_offset, int out_pitch, int width, int height, int kernel_width,
                         int kernel_height, BORDER_TYPE border, __global float *scratch, int band_elements,
                         int line_elements, int row_elements, int span_elements)
{
    struct sink sink = SINK_OF(out);
    struct image image = {(__global const float *)(in + in_offset), in_pitch, height, width * HONE_C, border};
    int y = get_global_id(0) * ROWS, end = min(y + ROWS, height), top = kernel_height / 2;
    int left = kernel_width / 2, right = kernel_width - 1 - left;
    if (y >= height)
        return;
    __global float *line = scratch + (size_t)get_global_id(0) * band_elements,
                   *columns = line + left * HONE_C;
    __global float *sums = line + line_elements, *part = sums + span_elements + SPAN;
    __global float *rest = part + row_elements, *tails = rest + row_elements;
    const struct across across = {sums, sums + span_elements, kernel_width,
                                  (float)kernel_width * kernel_height};
    for (int i = 0; i < line_elements + span_elements; i++)
        line[i] = 0;
    for (; y < end; y += kernel_height) {
        int kept = min(kernel_height, end - y);
        sum_tails(&image, y - top, kernel_height, tails, kept, row_elements);
        for (int k = 0; k < kept; k++) {
            __global const float *tail = tails + (size_t)k * row_elements;
            if (k == 0)
                for (int i = 0; i < image.count; i++)
                    columns[i] = tail[i];
            else
                add_head(&image, y - top + kernel_height + k - 1, k, part, rest, tail, columns);
            extend(columns, width, left, right, border * kernel_height);
            sum_across(&across, line, &image, &sink, y + k);
            clear_outside(&sink, y + k, width, height, kernel_width, kernel_height);
        }
    }
}
