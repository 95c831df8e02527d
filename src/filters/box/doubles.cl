/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * For CPUs, floats, and integers whose sums take more than 32 bits: one work-item owns a band of whole rows
 * and works on vectors of clang's own types.
 *
 * Running sums in double precision: a column's takes in the row that enters the window and gives back the
 * one that leaves it, and along a row a window's does the same with columns. Sums of integers are exact. Of
 * floats each step rounds twice, to 2^-53 of a sum, so that a mean is off by less than 2^-24 +
 * (W + H) * 2^-51 of the largest pixel.
 *
 * What is taken in is not given back where it is not finite. A row's last sum tells, since it has met every
 * column; from there on the band is done again, with zeros in the place of such pixels, and once more for
 * sums of codes of them, which say what the means of windows with such pixels are.
 */
#ifdef __AVX512F__
#define LANES 8
#else
#define LANES 4
#endif
#define CELL double
#include "filters/bands.clh"
#include "filters/vectors.clh"

#define STEP  (LANES / HONE_C * HONE_C) /* elements from vector to vector along a row: whole pixels */
#define CHUNK 1024                      /* elements of columns that are begun at a time */
#define LEAD  4                         /* zeros before a line */

/* Codes: sums of them have the positive ones and the negative ones apart, of which a window has less. */
#define NEGATIVE 67108864.0

DEFINE_VECTORS(PIXEL, pixels);
DEFINE_VECTORS(double, doubles);
DEFINE_VECTORS(int, ints);

#define LOAD(p)     (*(__global const pixels_at *)(p))
#define SUMS(p)     (*(__global const doubles_at *)(p))
#define STORE(p, v) (*(__global pixels_at *)(p) = (v))
#define KEEP(p, v)  (*(__global doubles_at *)(p) = (v))

enum pass {
    AS_THEY_ARE, /* what pixels count in sums */
    IF_FINITE,
    CODES /* of those that are not: NaN is as the infinities of both signs */
};

struct image {
    __global const PIXEL *at;
    int pitch, width, height, count; /* count: elements of a row */
    PIXEL border;
};

struct window {
    int width, height;
};

/* A row of the input; NULL: nowhere, all of it is the border value. */
inline __global const PIXEL *row_at(const struct image *in, int y)
{
    int row = hone_fold(y, in->height);
    return row < 0 ? 0 : in->at + (size_t)row * in->pitch;
}

/* Elements of it, zeros beyond its end. */
inline pixels row_vector(const struct image *in, __global const PIXEL *row, int i)
{
    if (HONE_BORDER == BORDER_CONSTANT && !row)
        return (pixels)in->border;
    if (i + LANES <= in->count)
        return LOAD(row + i);
    pixels v = 0;
    for (int k = 0; i + k < in->count; k++)
        v[k] = row[i + k];
    return v;
}

inline doubles summands(pixels v, enum pass pass)
{
#if FLOATING
    if (pass == IF_FINITE)
        return CONVERT(v - v == 0 ? v : (pixels)0, doubles);
    if (pass == CODES)
        return -CONVERT((v == INFINITY) | (v != v), doubles) -
               CONVERT((v == -INFINITY) | (v != v), doubles) * NEGATIVE;
#endif
    return CONVERT(v, doubles);
}

/* The sums of all columns over the rows from y on. */
inline void begin_columns(const struct image *in, int y, int rows, __global double *columns, enum pass pass)
{
    for (int start = 0; start < in->count; start += CHUNK) {
        int stop = min(start + CHUNK, in->count);
        for (int i = start; i < stop; i += LANES)
            KEEP(columns + i, (doubles)0);
        for (int j = 0; j < rows; j++) {
            __global const PIXEL *row = row_at(in, y + j);
            for (int i = start; i < stop; i += LANES)
                KEEP(columns + i, SUMS(columns + i) + summands(row_vector(in, row, i), pass));
        }
    }
}

/* The same one row further: row y leaves. Of what enters two rows later the processor foresees too little. */
inline void move_columns(const struct image *in, int y, int rows, __global double *columns, enum pass pass)
{
    __global const PIXEL *leaves = row_at(in, y), *enters = row_at(in, y + rows);
    int i = 0;
    if (leaves && enters)
        for (; i + LINE_ELEMENTS <= in->count; i += LINE_ELEMENTS) {
            __builtin_prefetch(enters + i + 2L * in->pitch);
#pragma unroll
            for (int k = i; k < i + LINE_ELEMENTS; k += LANES)
                KEEP(columns + k,
                     SUMS(columns + k) - summands(LOAD(leaves + k), pass) + summands(LOAD(enters + k), pass));
        }
    for (; i < in->count; i += LANES)
        KEEP(columns + i, SUMS(columns + i) - summands(row_vector(in, leaves, i), pass) +
                              summands(row_vector(in, enters, i), pass));
}

/* Pixels in groups of 2 * n: to those of the upper half comes the last one of the lower half. */
#define ADDED(i, n)                                                                                          \
    ((i) / HONE_C / (n) % 2 ? LANES + ((i) / HONE_C / (n) * (n)-1) * HONE_C + (i) % HONE_C : (i))
#define ADDED_1(i) ADDED(i, 1)
#define ADDED_2(i) ADDED(i, 2)
#define ADDED_4(i) ADDED(i, 4)

/* Sums over the pixels inside a vector. For a shift by three elements the compiler would take `vexpandpd` if
 * it knew the zeros that come in, many times as slow on AMD's processors: it does not know `zero`. */
inline doubles scan(doubles v, doubles zero)
{
#if HONE_C == 3
    v += 2 * HONE_C <= LANES ? MOVED(zero, v, LANES - HONE_C) : zero;
#elif 2 * HONE_C <= LANES
    v += __builtin_shufflevector((doubles)0, v, L_ALL(ADDED_1));
#endif
#if 4 * HONE_C <= LANES
    v += __builtin_shufflevector((doubles)0, v, L_ALL(ADDED_2));
#endif
#if 8 * HONE_C <= LANES
    v += __builtin_shufflevector((doubles)0, v, L_ALL(ADDED_4));
#endif
    return v;
}

/* The last pixel, which all vectors that follow contain. */
#if STEP == HONE_C
#define LAST(v) (v)
#else
#define LAST_PIXEL(i) (STEP - HONE_C + (i) % HONE_C)
#define LAST(v)       __builtin_shufflevector(v, v, L_ALL(LAST_PIXEL))
#endif
#define OWN_CHANNEL(i) ((i) % HONE_C)

inline RESULT mean_of_code(double code)
{
    bool negative = code >= NEGATIVE, positive = code - floor(code / NEGATIVE) * NEGATIVE > 0;
    return negative && positive ? NAN : negative ? -INFINITY : INFINITY;
}

inline void write_codes(doubles codes, __global RESULT *out, int i, int elements)
{
    for (int k = 0; k < min(elements, STEP); k++) {
        bool odd = codes[k] > 0;
        if (odd && !IS_ALPHA((i + k) % HONE_C))
            out[k] = mean_of_code(codes[k]);
    }
}

/* The last elements of a row, fewer than a vector has. */
inline void write_tail(pixels means, __global RESULT *out, __global const PIXEL *centre, int i, int elements)
{
    for (int k = 0; k < elements; k++)
        out[k] = IS_ALPHA((i + k) % HONE_C) ? centre[k] : means[k];
}

/* Of sums: of integers rounded, half up. One more half keeps quotients that are whole from being just below
 * themselves: it is 1 / (2 * area) of a level, and what doubles round off is far less. */
inline pixels means_of(doubles sums, double area, double factor)
{
#if FLOATING
    return CONVERT(sums * factor, pixels);
#else
    const double least = HONE_T == 3 ? 32768 : 0;
    return CONVERT(CONVERT((sums + (floor(area / 2) + 0.5f + least * area)) * factor, ints) - (int)least,
                   pixels);
#endif
}

/* The sums of `elements` elements of a line, each channel's in its lanes. Four additions at a time, which do
 * not wait for one another. */
inline doubles first_sums(__global const double *line, int elements)
{
    doubles part[4] = {0, 0, 0, 0}, all;
    int i = 0;
    for (; i + 3 * STEP + LANES <= elements; i += 4 * STEP)
#pragma unroll
        for (int k = 0; k < 4; k++)
            part[k] += SUMS(line + i + k * STEP);
    for (; i + LANES <= elements; i += STEP)
        part[0] += SUMS(line + i);
    all = (part[0] + part[1]) + (part[2] + part[3]);
#if 8 * HONE_C <= LANES
    all += MOVED(all, all, 4 * HONE_C);
#endif
#if 4 * HONE_C <= LANES
    all += MOVED(all, all, 2 * HONE_C);
#endif
#if 2 * HONE_C <= LANES
    all += MOVED(all, all, HONE_C);
#endif
    for (; i < elements; i += HONE_C)
        all += SUMS(line + i); /* what counts is its first pixel */
    return __builtin_shufflevector(all, all, L_ALL(OWN_CHANNEL));
}

/* A row of results from the sums of columns, of which the first window's begins at `line`. False: not all are
 * finite. */
inline bool write_row(const struct image *in, const struct sink *sink, struct window window,
                      __global const double *line, int y, enum pass pass)
{
    __global const PIXEL *centre = in->at + (size_t)y * in->pitch;
    __global RESULT *out = sink->at + (size_t)y * sink->pitch;
    __global const double *enters = line + (window.width - 1) * HONE_C, *leaves = line - HONE_C;
    double area = (double)window.width * window.height, factor = 1 / area;
    const doubles zero = (doubles)(double)((uint)in->pitch >> 31); /* no row is so long */
    doubles sums = first_sums(line, (window.width - 1) * HONE_C);
    int i = 0;
    if (pass != CODES)
#pragma unroll 4
        for (; i + LANES <= in->count; i += STEP) {
            doubles more = scan(SUMS(enters + i) - SUMS(leaves + i), zero);
            STORE(out + i, WITH_ALPHA(means_of(sums + more, area, factor), LOAD(centre + i)));
            sums += LAST(more);
        }
    for (; i < in->count; i += STEP) {
        doubles more = scan(SUMS(enters + i) - SUMS(leaves + i), zero);
        if (pass == CODES)
            write_codes(sums + more, out + i, i, in->count - i);
        else
            write_tail(means_of(sums + more, area, factor), out + i, centre + i, i, in->count - i);
        sums += LAST(more);
    }
    doubles odd = sums - sums;
    bool finite = true;
    for (int channel = 0; channel < HONE_C; channel++)
        finite &= odd[channel] == 0;
    return finite;
}

/* Rows y to end - 1 of the results. Returns the first row with a sum that is not finite, or end. */
inline int write_rows(const struct image *in, const struct sink *sink, struct window window,
                      __global double *line, int y, int end, enum pass pass)
{
    int left = window.width / 2, right = window.width - 1 - left, top = window.height / 2;
    __global double *columns = line + left * HONE_C;
    double outside = summands((pixels)in->border, pass)[0] * window.height;
    begin_columns(in, y - top, window.height, columns, pass);
    for (; y < end; y++) {
        extend(columns, in->width, left, right, outside);
        if (!write_row(in, sink, window, line, y, pass))
            return y;
        clear_outside(sink, y, in->width, in->height, window.width, window.height);
        if (y + 1 < end)
            move_columns(in, y - top, window.height, columns, pass);
    }
    return end;
}

__kernel void box_doubles(__global const PIXEL *in, int in_offset, int in_pitch, __global RESULT *out,
                          int out_offset, int out_pitch, int width, int height, int kernel_width,
                          int kernel_height, BORDER_TYPE border, int rows, __global double *scratch,
                          int line_elements)
{
    struct sink sink = SINK_OF(out);
    struct image image = {in + in_offset, in_pitch, width, height, width * HONE_C, border};
    struct window window = {kernel_width, kernel_height};
    int y = get_global_id(0) * rows, end = min(y + rows, height);
    if (y >= height)
        return;
    __global double *line = scratch + (size_t)get_global_id(0) * line_elements;
    for (int i = 0; i < line_elements; i++)
        line[i] = 0;
    line += LEAD;
    y = write_rows(&image, &sink, window, line, y, end, AS_THEY_ARE);
    for (int pass = IF_FINITE; pass <= CODES && y < end; pass++)
        write_rows(&image, &sink, window, line, y, end, pass);
}
