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
 *
 * TURNED, of u16 and f32: as many rows at a time as a vector has lanes. Down, then blocks are turned in
 * registers, so that a vector is a column, along those, and turned back. Four results at a time share what is
 * loaded.
 */
#ifndef ROWS
#define ROWS 32 /* rows of a band */
#endif
#ifndef REACH
#define REACH 64 /* the window's radius is at most this */
#endif

#include "filters/vectors.clh"

#ifdef TURNED
#if NATIVE == 64
#define LANES 16
#else
#define LANES 8
#endif
#define VALUE float
#elif HONE_T == 0
#define LANES 32
#define VALUE ushort
#else
#define LANES 16
#define VALUE float
#endif

DEFINE_VECTORS(PIXEL, pixels);
DEFINE_VECTORS(VALUE, values);
DEFINE_VECTORS(uint, words);

#ifdef TURNED
#define CELL values
#else
#define CELL VALUE
#endif
#include "filters/bands.clh"

#if defined(TURNED) && FLOATING
DEFINE_CHECK(values)
#endif

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

struct window {
    __global const PIXEL *const *rows; /* 2 * radius + 1 */
    __constant const VALUE *weights;
    int radius;
    VALUE bias;
};

inline void write(__global PIXEL *out, __global const PIXEL *centre, values sum)
{
    *(__global pixels_at *)out = WITH_ALPHA(LOWER(sum), *(__global const pixels_at *)centre);
}

/* So many rows from `first` on; those that lie nowhere are `beyond`, a row of border values. */
inline void find_rows(__global const PIXEL *in, int pitch, __global PIXEL *beyond, PIXEL border, int width,
                      int height, int first, __global const PIXEL **rows, int count)
{
    const struct input_rows input = {in, beyond, pitch, height};
    fill_beyond(beyond, border, width * HONE_C);
    for (int k = 0; k < count; k++)
        rows[k] = row_of(&input, first + k);
}

#ifndef TURNED
#define CACHED 24576 /* bytes of the rows of a window that stay in the first cache */

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
    find_rows(in + in_offset, in_pitch, beyond, (PIXEL)border, width, height, y - radius, rows,
              end - y + 2 * radius);
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

#else
/* ---- Turned ---- */

/* Rows become columns. */
#if LANES == 16
#define LOWER_TURNS 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23
#define UPPER_TURNS 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31

/* In each round the first half of all vectors and the second are put together by turns. */
inline void turn(values v[LANES])
{
#pragma unroll
    for (int round = 0; round < 4; round++) {
        values next[LANES];
#pragma unroll
        for (int k = 0; k < LANES / 2; k++) {
            next[2 * k] = __builtin_shufflevector(v[k], v[k + LANES / 2], LOWER_TURNS);
            next[2 * k + 1] = __builtin_shufflevector(v[k], v[k + LANES / 2], UPPER_TURNS);
        }
#pragma unroll
        for (int k = 0; k < LANES; k++)
            v[k] = next[k];
    }
}
#else
#define LOWER_ONES  0, 8, 1, 9, 4, 12, 5, 13
#define UPPER_ONES  2, 10, 3, 11, 6, 14, 7, 15
#define LOWER_TWOS  0, 1, 8, 9, 4, 5, 12, 13
#define UPPER_TWOS  2, 3, 10, 11, 6, 7, 14, 15
#define LOWER_FOURS 0, 1, 2, 3, 8, 9, 10, 11
#define UPPER_FOURS 4, 5, 6, 7, 12, 13, 14, 15

/* Without AVX-512, what leaves its half of a vector costs more: that comes last. */
inline void turn(values v[LANES])
{
    values w[LANES];
#pragma unroll
    for (int k = 0; k < 8; k += 2) {
        w[k] = __builtin_shufflevector(v[k], v[k + 1], LOWER_ONES);
        w[k + 1] = __builtin_shufflevector(v[k], v[k + 1], UPPER_ONES);
    }
#pragma unroll
    for (int k = 0; k < 8; k += 4) {
        v[k] = __builtin_shufflevector(w[k], w[k + 2], LOWER_TWOS);
        v[k + 1] = __builtin_shufflevector(w[k], w[k + 2], UPPER_TWOS);
        v[k + 2] = __builtin_shufflevector(w[k + 1], w[k + 3], LOWER_TWOS);
        v[k + 3] = __builtin_shufflevector(w[k + 1], w[k + 3], UPPER_TWOS);
    }
#pragma unroll
    for (int k = 0; k < 4; k++) {
        w[k] = __builtin_shufflevector(v[k], v[k + 4], LOWER_FOURS);
        v[k + 4] = __builtin_shufflevector(v[k], v[k + 4], UPPER_FOURS);
        v[k] = w[k];
    }
}
#endif

/* Four results of lines that follow each other: what their windows see at one distance, before and behind. */
struct four {
    values a, b, c, d;
};

inline struct four weigh_four(struct four sums, struct four before, struct four behind, float weight)
{
#pragma OPENCL FP_CONTRACT ON
    sums.a = sums.a + (before.a + behind.a) * weight;
    sums.b = sums.b + (before.b + behind.b) * weight;
    sums.c = sums.c + (before.c + behind.c) * weight;
    sums.d = sums.d + (before.d + behind.d) * weight;
    return sums;
}

/* One line further away: the others move on. */
inline struct four with_before(struct four lines, values next)
{
    struct four moved = {next, lines.a, lines.b, lines.c};
    return moved;
}

inline struct four with_behind(struct four lines, values next)
{
    struct four moved = {lines.b, lines.c, lines.d, next};
    return moved;
}

inline struct four weigh_centres(struct four lines, float weight)
{
    struct four sums = {lines.a * weight, lines.b * weight, lines.c * weight, lines.d * weight};
    return sums;
}

/* Rows are too many at once for the processor to foresee them: those that are read for the first time, and
 * those that the rows above have read, which have left the first cache. */
inline void fetch_rows(__global const PIXEL *const *rows, int i)
{
    for (int k = 0; k < 4; k++)
        __builtin_prefetch(rows[k] + i + 4 * LANES);
}

inline void fetch_window(const struct window *w, int i)
{
    for (int k = 0; k < 2 * w->radius; k++)
        __builtin_prefetch(w->rows[k] + i + 2 * LANES);
}

/* Down: of four rows that begin `first` rows below the window's, from element i on. */
inline struct four four_rows(const struct window *w, int first, int i)
{
    __global const PIXEL *const *rows = w->rows + first + w->radius;
    struct four centres = {LOAD_PIXELS(rows[0] + i), LOAD_PIXELS(rows[1] + i), LOAD_PIXELS(rows[2] + i),
                           LOAD_PIXELS(rows[3] + i)};
    struct four sums = weigh_centres(centres, w->weights[0]), before = centres, behind = centres;
    fetch_rows(rows + w->radius, i);
    for (int k = 1; k <= w->radius; k++) {
        before = with_before(before, LOAD_PIXELS(rows[-k] + i));
        behind = with_behind(behind, LOAD_PIXELS(rows[3 + k] + i));
        sums = weigh_four(sums, before, behind, w->weights[k]);
    }
    return sums;
}

/* The elements from `from` to before `to` of LANES rows, as columns. */
inline void down_columns(const struct window *w, int from, int to, __global values *columns)
{
    for (int i = from; i < to; i += LANES) {
        const int at = min(i, to - LANES);
        values block[LANES];
        fetch_window(w, at);
        for (int row = 0; row < LANES; row += 4) {
            struct four sums = four_rows(w, row, at);
            block[row] = sums.a;
            block[row + 1] = sums.b;
            block[row + 2] = sums.c;
            block[row + 3] = sums.d;
        }
        turn(block);
        for (int k = 0; k < LANES; k++)
            columns[at - from + k] = block[k];
    }
}

/* Along: four pixels of a channel. Their results are stored where the first of their windows begins, which
 * no other one sees. */
inline void four_columns(const struct window *w, __global values *column)
{
    const int r = w->radius;
    struct four centres = {column[0], column[HONE_C], column[2 * HONE_C], column[3 * HONE_C]};
    struct four sums = weigh_centres(centres, w->weights[0]), before = centres, behind = centres;
    for (int k = 1; k <= r; k++) {
        before = with_before(before, column[-k * HONE_C]);
        behind = with_behind(behind, column[(3 + k) * HONE_C]);
        sums = weigh_four(sums, before, behind, w->weights[k]);
    }
    __global values *first = column - r * HONE_C;
    first[0] = sums.a;
    first[HONE_C] = sums.b;
    first[2 * HONE_C] = sums.c;
    first[3 * HONE_C] = sums.d;
}

/* The results of `count` rows, from element `start` on. Where they will be stored next is fetched ahead: of
 * so many rows at once, the processor would wait for each of their lines. */
inline void write_columns(const struct window *w, __global const values *results, int start, int length,
                          int count, const struct sink *sink)
{
    for (int i = 0; i < length; i += LANES) {
        const int at = min(i, length - LANES);
        values block[LANES];
        for (int row = 0; row < count; row++)
            __builtin_prefetch(sink->at + row * sink->pitch + start + at + 2 * LANES, 1);
        for (int k = 0; k < LANES; k++)
            block[k] = results[at + k];
        turn(block);
        for (int row = 0; row < count; row++)
            write(sink->at + row * sink->pitch + start + at, w->rows[w->radius + row] + start + at,
                  block[row]);
    }
}

/* The first `count` of LANES rows. `columns` has room for twice a piece of a row and what its windows see. */
inline void turned_rows(const struct window *w, int width, int piece, float outside, int count,
                        const struct sink *sink, __global values *columns)
{
    const int r = w->radius;
    __global values *first = columns + r * HONE_C; /* column of the piece */
    for (int left = 0, right; left < width; left = right) {
        right = width - left < 2 * piece ? width : left + piece;
        const int from = left ? left + r : 0, to = min(right + r, width);
        down_columns(w, from * HONE_C, to * HONE_C, first + (from - left) * HONE_C);
        extend(first - left * HONE_C, width, left ? 0 : r, right < width ? 0 : r, (values)outside);
        for (int x = 0; x < right - left; x += 4)
            for (int channel = 0; channel < HONE_C - HONE_ALPHA; channel++)
                four_columns(w, first + x * HONE_C + channel);
        write_columns(w, columns, left * HONE_C, (right - left) * HONE_C, count, sink);
        for (int i = 0; i < 2 * r * HONE_C && right < width; i++)
            columns[i] = columns[(right - left) * HONE_C + i];
    }
}

/* The rows of a band's windows, from the first one on, and which of them are known. */
struct known {
    int count, bad; /* rows; the last of those that hold something that is not finite, or -1 */
};

/* Looks at the rows up to `end`. */
inline void know_rows(struct known *known, __global const PIXEL *const *rows, int end, int count)
{
#if FLOATING
    for (; known->count < end; known->count++)
        if (check_line(rows[known->count], count) != 0)
            known->bad = known->count;
#endif
}

/* `reach` is what the border rules go by, and NaN and infinity; `radius` is enough for all else. A piece is
 * so many pixels of a row, at least four times the reach. */
__kernel void gaussian_turned(__global const PIXEL *in, int in_offset, int in_pitch, __global PIXEL *out,
                              int out_offset, int out_pitch, int width, int height, BORDER_TYPE border,
                              __constant const float *weights, int radius, __constant const float *all_weights,
                              int reach, int piece, __global float *scratch, int scratch_elements,
                              int beyond_at)
{
    int band = get_global_id(0), y = band * ROWS, end = min(y + ROWS, height);
    if (y >= height)
        return;
    __global float *own = scratch + (size_t)band * scratch_elements;
    __global const PIXEL *rows[ROWS + 2 * REACH];
    find_rows(in + in_offset, in_pitch, (__global PIXEL *)(own + beyond_at), (PIXEL)border, width, height,
              y - reach, rows, ROWS + 2 * reach);
    struct known known = {0, FLOATING && border - border != 0 ? ROWS + 2 * REACH : -1};
    for (int first = y; first < end; first += LANES) {
        const struct sink sink = {out + out_offset + first * out_pitch, out_pitch};
        const int above = first - y;
        know_rows(&known, rows, above + LANES + 2 * reach, width * HONE_C);
        const struct window near = {rows + above + reach - radius, weights, radius, 0},
                            whole = {rows + above, all_weights, reach, 0};
        turned_rows(known.bad >= above ? &whole : &near, width, piece, border, min(end - first, LANES), &sink,
                    (__global values *)own);
    }
    const struct sink sink = {out + out_offset, out_pitch};
    for (; y < end; y++)
        clear_outside(&sink, y, width, height, 2 * reach + 1, 2 * reach + 1);
}
#endif
