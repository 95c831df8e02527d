/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * For CPUs, floats: one work-item owns a band of whole rows and works on 64-byte vectors of clang's own
 * types.
 *
 * No sum is ever subtracted from another: nothing drifts, and a NaN or an infinity stays inside its windows.
 * Down the columns the rows come in blocks as high as the window. A window is the tail of one block and the
 * head of the next (M. van Herk, 1992): the tails of a block are summed from its last row up and kept, the
 * head grows row by row. Along the rows sums double: from those over 2^l columns follow those over 2^(l + 1),
 * and the window's width is a sum of powers of two.
 *
 * Errors: a column is summed in parts of PART rows, and the parts among themselves: at most 64 + 2048/64
 * roundings, for the host sends no higher windows here. Doubling along the row adds two for each bit of the
 * width, 42 at most, and putting tail and head together, the area and the division one each. Each one is half
 * a last place of a sum of magnitudes, so that the mean is off by (96 + 42 + 4) * 2^-24 of the largest pixel
 * at most, which is 8.5e-6.
 */
#ifndef ROWS
#define ROWS 64 /* rows of a band */
#endif

#define LANES 16
#define CELL  float
#include "filters/bands.clh"
#include "filters/vectors.clh"

#define PART 64 /* rows whose sum is one of the parts of a column's */
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

/*
 * One bit of the window's width: line holds sums over `length` columns. `parts`, of the bits before, grow by
 * those that lie `done` columns further, where the width has this bit; then the line's sums double.
 */
inline void double_sums(__global float *line, __global float *parts, int results, int count, int length,
                        int done, bool bit)
{
    __global const float *ahead = line + length * HONE_C, *part = line + done * HONE_C;
    int i = 0;
    for (; bit && i < results; i += LANES) {
        STORE(parts + i, done ? LOAD(parts + i) + LOAD(part + i) : LOAD(part + i));
        STORE(line + i, LOAD(line + i) + LOAD(ahead + i));
    }
    for (; i < count; i += LANES)
        STORE(line + i, LOAD(line + i) + LOAD(ahead + i));
}

/* The results of row y from the sums over the largest power of two, and those of the other bits. */
inline void write_row(__global const float *line, __global const float *parts, const struct image *in,
                      const struct sink *sink, int y, int done, float area)
{
    __global const float *last = line + done * HONE_C;
    __global const float *centre = in->at + (size_t)y * in->pitch;
    __global RESULT *out = sink->at + (size_t)y * sink->pitch;
    int i = 0;
    for (; i + LANES <= in->count; i += LANES) {
        floats mean = (done ? LOAD(last + i) + LOAD(parts + i) : LOAD(last + i)) / (floats)area;
        STORE(out + i, WITH_ALPHA(mean, LOAD(centre + i)));
    }
    for (; i < in->count; i++)
        out[i] = IS_ALPHA(i % HONE_C) ? centre[i] : (done ? last[i] + parts[i] : last[i]) / area;
}

/* Sums over the window's width of columns that begin where the first window does. */
inline void sum_across(__global float *line, __global float *parts, const struct image *in,
                       const struct sink *sink, int y, int extended, int kernel_width, float area)
{
    int done = 0, length = 1;
    for (; 2 * length <= kernel_width; length *= 2) {
        bool bit = kernel_width & length;
        double_sums(line, parts, in->count, extended - (2 * length - 1) * HONE_C, length, done, bit);
        done += bit ? length : 0;
    }
    write_row(line, parts, in, sink, y, done, area);
}

__kernel void box_floats(__global const PIXEL *in, int in_offset, int in_pitch, __global RESULT *out,
                         int out_offset, int out_pitch, int width, int height, int kernel_width,
                         int kernel_height, BORDER_TYPE border, __global float *scratch, int band_elements,
                         int line_elements, int row_elements)
{
    struct sink sink = SINK_OF(out);
    struct image image = {(__global const float *)(in + in_offset), in_pitch, height, width * HONE_C, border};
    int y = get_global_id(0) * ROWS, end = min(y + ROWS, height), top = kernel_height / 2;
    int left = kernel_width / 2, right = kernel_width - 1 - left;
    int extended = (width + kernel_width - 1) * HONE_C;
    float area = (float)kernel_width * kernel_height;
    if (y >= height)
        return;
    __global float *line = scratch + (size_t)get_global_id(0) * band_elements,
                   *columns = line + left * HONE_C;
    __global float *across = line + line_elements, *part = across + row_elements, *rest = part + row_elements;
    __global float *tails = rest + row_elements;
    for (int i = 0; i < line_elements; i++)
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
            sum_across(line, across, &image, &sink, y + k, extended, kernel_width, area);
            clear_outside(&sink, y + k, width, height, kernel_width, kernel_height);
        }
    }
}
