/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * For CPUs: a work-item owns a band of whole rows. A row of results takes two steps: the rows of the window
 * are weighted into a line of its own, which stays in the first cache, and the line is weighted along itself.
 * Both work on 64-byte vectors of clang's own types, on four of them at a time, so that a weight is fetched
 * once for all.
 *
 * u8 computes in 16 bits: a line holds levels times 128, weights are parts of 65536, and the upper half of a
 * product is all that is kept. Each of the products drops at most one unit, half of one on average, which
 * `bias` gives back; 17 products a step are off by at most 0.13 levels.
 */
#ifndef ROWS
#define ROWS 32 /* rows of a band */
#endif
#ifndef REACH
#define REACH 64 /* the window's radius is at most this */
#endif

#if HONE_T == 0
#define LANES 32
#define VALUE ushort
#else
#define LANES 16
#define VALUE float
#endif

#define CELL VALUE
#include "filters/bands.clh"
#include "filters/vectors.clh"

DEFINE_VECTORS(PIXEL, pixels);
DEFINE_VECTORS(VALUE, values);
DEFINE_VECTORS(uint, words);

#define LOAD_PIXELS(p) CONVERT(*(__global const pixels_at *)(p), values)
#define LOAD_VALUES(p) (*(__global const values_at *)(p))
#define STORE(p, v)    (*(__global values_at *)(p) = (v))

/* Vectors as arguments also make clang take the widest registers. */
#if HONE_T == 0
inline values weigh(values v, VALUE weight)
{
    words product = CONVERT(v, words) * CONVERT((values)weight, words);
    return CONVERT(product >> 16u, values);
}
#define RAISE(v) ((v) << (VALUE)7)
#define LOWER(v) CONVERT(((v) + (VALUE)64) >> (VALUE)7, pixels)
#else
inline values weigh(values v, VALUE weight)
{
    return v * weight;
}
#define RAISE(v) (v)
#endif

#if HONE_T == 1
/* Values are positive and below 2^16, so that adding 2^23 leaves the nearest integer, ties to even. */
inline pixels lower(values v)
{
    v = v < 65535.0f ? v : (values)65535.0f;
    return CONVERT(CONVERT((v + 8388608.0f) - 8388608.0f, words), pixels);
}
#define LOWER(v) lower(v)
#elif HONE_T == 2
#define LOWER(v) (v)
#endif

/* sum + v * weight; in one expression, so that floats are multiplied and added by one instruction. */
#if HONE_T == 0
#define ADD_WEIGHED(sum, v, weight) ((sum) + weigh(v, weight))
#else
#define ADD_WEIGHED(sum, v, weight) ((sum) + (v) * (weight))
#endif

#define CACHED 24576 /* bytes of the rows of a window that stay in the first cache */

struct window {
    __global const PIXEL *const *rows; /* 2 * radius + 1 */
    __constant const VALUE *weights;
    int radius;
    VALUE bias;
};

/* What two rows of the window add, from element i on. */
inline values add_rows(values sum, __global const PIXEL *above, __global const PIXEL *below, VALUE weight)
{
#pragma OPENCL FP_CONTRACT ON
    return ADD_WEIGHED(sum, RAISE(LOAD_PIXELS(above) + LOAD_PIXELS(below)), weight);
}

inline values centre_row(const struct window *w, int i)
{
    return weigh(RAISE(LOAD_PIXELS(w->rows[w->radius] + i)), w->weights[0]) + w->bias;
}

/* One vector of the line. */
inline void weigh_rows(const struct window *w, __global VALUE *line, int i)
{
    values sum = centre_row(w, i);
    for (int k = 1; k <= w->radius; k++)
        sum = add_rows(sum, w->rows[w->radius - k] + i, w->rows[w->radius + k] + i, w->weights[k]);
    STORE(line + i, sum);
}

/* Four of them: sums that compilers are sure to keep in registers. */
inline void weigh_rows_block(const struct window *w, __global VALUE *line, int i)
{
    values a = centre_row(w, i), b = centre_row(w, i + LANES);
    values c = centre_row(w, i + 2 * LANES), d = centre_row(w, i + 3 * LANES);
    for (int k = 1; k <= w->radius; k++) {
        __global const PIXEL *above = w->rows[w->radius - k] + i, *below = w->rows[w->radius + k] + i;
        VALUE weight = w->weights[k];
        a = add_rows(a, above, below, weight);
        b = add_rows(b, above + LANES, below + LANES, weight);
        c = add_rows(c, above + 2 * LANES, below + 2 * LANES, weight);
        d = add_rows(d, above + 3 * LANES, below + 3 * LANES, weight);
    }
    STORE(line + i, a);
    STORE(line + i + LANES, b);
    STORE(line + i + 2 * LANES, c);
    STORE(line + i + 3 * LANES, d);
}

inline values add_columns(values sum, __global const VALUE *left, __global const VALUE *right, VALUE weight)
{
#pragma OPENCL FP_CONTRACT ON
    return ADD_WEIGHED(sum, LOAD_VALUES(left) + LOAD_VALUES(right), weight);
}

inline values centre_column(const struct window *w, __global const VALUE *line)
{
    return weigh(LOAD_VALUES(line), w->weights[0]) + w->bias;
}

inline void write(__global PIXEL *out, __global const PIXEL *centre, values sum)
{
    *(__global pixels_at *)out = WITH_ALPHA(LOWER(sum), *(__global const pixels_at *)centre);
}

inline void weigh_line(const struct window *w, __global const VALUE *line, __global const PIXEL *centre,
                       __global PIXEL *out)
{
    values sum = centre_column(w, line);
    for (int k = 1; k <= w->radius; k++)
        sum = add_columns(sum, line - k * HONE_C, line + k * HONE_C, w->weights[k]);
    write(out, centre, sum);
}

inline void weigh_line_block(const struct window *w, __global const VALUE *line, __global const PIXEL *centre,
                             __global PIXEL *out)
{
    values a = centre_column(w, line), b = centre_column(w, line + LANES);
    values c = centre_column(w, line + 2 * LANES), d = centre_column(w, line + 3 * LANES);
    for (int k = 1; k <= w->radius; k++) {
        __global const VALUE *left = line - k * HONE_C, *right = line + k * HONE_C;
        VALUE weight = w->weights[k];
        a = add_columns(a, left, right, weight);
        b = add_columns(b, left + LANES, right + LANES, weight);
        c = add_columns(c, left + 2 * LANES, right + 2 * LANES, weight);
        d = add_columns(d, left + 3 * LANES, right + 3 * LANES, weight);
    }
    write(out, centre, a);
    write(out + LANES, centre + LANES, b);
    write(out + 2 * LANES, centre + 2 * LANES, c);
    write(out + 3 * LANES, centre + 3 * LANES, d);
}

/* Rows narrower than a vector: one element at a time, by the same arithmetic. */
inline void narrow_row(const struct window *w, __global VALUE *line, __global PIXEL *out, int width,
                       VALUE outside)
{
    int count = width * HONE_C;
    for (int i = 0; i < count; i++) {
        values sum = weigh(RAISE((values)(VALUE)w->rows[w->radius][i]), w->weights[0]) + w->bias;
        for (int k = 1; k <= w->radius; k++)
            sum += weigh(
                RAISE((values)(VALUE)w->rows[w->radius - k][i] + (values)(VALUE)w->rows[w->radius + k][i]),
                w->weights[k]);
        line[i] = sum[0];
    }
    extend(line, width, w->radius, w->radius, outside);
    for (int i = 0; i < count; i++) {
        values sum = weigh((values)line[i], w->weights[0]) + w->bias;
        for (int k = 1; k <= w->radius; k++)
            sum += weigh((values)line[i - k * HONE_C] + (values)line[i + k * HONE_C], w->weights[k]);
        out[i] = IS_ALPHA(i % HONE_C) ? w->rows[w->radius][i] : LOWER(sum)[0];
    }
}

/* The results of columns from `left` to `right` - 1. */
inline void wide_row(const struct window *w, __global VALUE *line, __global PIXEL *out, int width, int left,
                     int right, VALUE outside)
{
    __global const PIXEL *centre = w->rows[w->radius];
    const int first = max(left - w->radius, 0) * HONE_C / LANES * LANES,
              last = min(right + w->radius, width) * HONE_C;
    const int start = left * HONE_C, end = right * HONE_C;
    int i = first;
    for (; i + 4 * LANES <= last; i += 4 * LANES)
        weigh_rows_block(w, line, i);
    for (; i < last; i += LANES)
        weigh_rows(w, line, min(i, last - LANES));
    extend(line, width, left ? 0 : w->radius, right < width ? 0 : w->radius, outside);
    for (i = start; i + 4 * LANES <= end; i += 4 * LANES)
        weigh_line_block(w, line + i, centre + i, out + i);
    for (; i < end; i += LANES) {
        int at = min(i, end - LANES);
        weigh_line(w, line + at, centre + at, out + at);
    }
}

/* Bytes take little room, and of u16 in colour longer pieces, which are fetched ahead, gain as much. */
#define UNCUT (HONE_T == 0 || (HONE_T == 1 && HONE_C > 1) || HONE_BORDER == BORDER_WRAP)

/* Columns of a piece of a row, so that of each piece all rows of a window stay in the first cache; uncut
 * where the border rule looks at the other end. Pieces begin where whole vectors do. */
inline int piece_of(int width, int radius)
{
    const int fitting = CACHED / (int)sizeof(PIXEL) / HONE_C / (2 * radius + 1);
    const int columns = max(max(fitting, 8 * radius) / LANES, 4) * LANES;
    return UNCUT ? width : min(width, columns);
}

/* `reach` is what the border rules go by, `radius` what is weighted: for u8 a little less. */
__kernel void gaussian_bands(__global const PIXEL *in, int in_offset, int in_pitch, __global PIXEL *out,
                             int out_offset, int out_pitch, int width, int height, BORDER_TYPE border,
                             __constant const VALUE *weights, int radius, int reach, __global VALUE *scratch,
                             int scratch_elements)
{
    int band = get_global_id(0), y = band * ROWS, end = min(y + ROWS, height), count = width * HONE_C;
    if (y >= height)
        return;
    __global VALUE *line = scratch + (size_t)band * scratch_elements + radius * HONE_C;
    __global PIXEL *beyond = (__global PIXEL *)(line + count + radius * HONE_C); /* a row of border values */
    const VALUE outside = HONE_T == 0 ? (VALUE)(border * 128) : (VALUE)border;
    const struct sink sink = {out + out_offset, out_pitch};
    __global const PIXEL *rows[ROWS + 2 * REACH];
    struct window w;
    w.weights = weights;
    w.radius = radius;
    w.bias = HONE_T == 0 ? (VALUE)((radius + 1) / 2) : 0;
    for (int i = 0; HONE_BORDER == BORDER_CONSTANT && i < count; i++)
        beyond[i] = (PIXEL)border;
    for (int k = 0; k < end - y + 2 * radius; k++) {
        int inside;
        __global const PIXEL *row = hone_row(in + in_offset, in_pitch, y - radius + k, height, &inside);
        rows[k] = REAL_ROW(inside) ? row : beyond;
    }
    const int piece = count >= LANES ? piece_of(width, radius) : width;
    for (int left = 0, right; left < width; left = right) {
        right = width - left < 2 * piece ? width : left + piece;
        for (int k = 0; k < end - y; k++) {
            w.rows = rows + k;
            if (count >= LANES)
                wide_row(&w, line, sink.at + (y + k) * out_pitch, width, left, right, outside);
            else
                narrow_row(&w, line, sink.at + (y + k) * out_pitch, width, outside);
        }
    }
    for (; y < end; y++)
        clear_outside(&sink, y, width, height, 2 * reach + 1, 2 * reach + 1);
}
