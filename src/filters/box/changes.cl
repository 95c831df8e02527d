/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * For CPUs, u8: means of windows whose sums need 32 bits, in vectors of 16 and of 32 bits.
 *
 * One work-item owns a band of whole rows. What a pixel of the row that enters the windows has more than the
 * one of the row that leaves them is its change; the change of a window's sum is the sum of those of its
 * columns, and slides along the row. Within 64 elements it differs by less than 2^15 from that of the window
 * before them, so that 16 bits hold the difference; a float carries the rest from block to block.
 *
 * Of each sum there is the mean that it made in the row above, and what it has more than the area times that
 * mean. Since a mean changes little from row to row, a float holds this exactly, and its quotient by the
 * area, to the nearest, is what the mean changes by. Sums in an even area count one half more, so that none
 * is half way between two means: these go up.
 */
#define LANES       32
#define SCAN_STRIDE (2 * HONE_C) /* pixels of two vectors stand by turns */
#define CELL        short
#include "filters/bands.clh"
#include "filters/vectors.clh"

DEFINE_VECTORS(ushort, sums);
DEFINE_VECTORS(PIXEL, pixels);
DEFINE_SCAN(sums)

typedef uint words __attribute__((ext_vector_type(LANES / 2))); /* of as many bytes as `sums` */
typedef float floats __attribute__((ext_vector_type(LANES / 2)));
typedef ushort half_sums __attribute__((ext_vector_type(LANES / 2)));
typedef uint columns_vector __attribute__((ext_vector_type(LANES)));
typedef columns_vector columns_at __attribute__((aligned(sizeof(uint))));
typedef floats floats_at __attribute__((aligned(sizeof(float))));

#define LOAD(p)        (*(__global const sums_at *)(p))
#define LOAD_PIXELS(p) (*(__global const pixels_at *)(p))

#define BLOCK          (2 * TURN_ELEMENTS) /* elements that are summed up together, in two vectors */
#define PLACES         (2 * LANES) /* of a block's means; of its rests: even lanes, then odd ones of either */
#define TOGETHER       8           /* rows whose pixels are summed up in 16 bits */

/* 2^15 more than a lane as a float, and 2^23; whole numbers are the lower bits of those that are 1.5 * 2^23
 * more. */
#define OFFSET  8421376.0f
#define NEAREST 12582912.0f

/* Where pixels are; beyond: what a column is beyond the edges where the border is a constant. */
struct image {
    struct input_rows rows;
    int width;
    uint beyond;
};

struct window {
    int left, right, top, bottom; /* how far it reaches */
    float area, inverse, half_more;
};

/* Of a band: what has changed, with a column in front and those beyond the edges; rests; sums of columns,
 * which it begins with; means. */
struct lines {
    __global CELL *changes;
    __global float *rests;
    __global uint *columns;
    __global RESULT *means;
};

inline floats even_lanes(sums v)
{
    words both = __builtin_astype(v, words);
    return __builtin_astype(((both & 0xffffu) | 0x4b000000u) ^ 0x8000u, floats);
}

inline floats odd_lanes(sums v)
{
    return __builtin_astype((__builtin_astype(v, words) >> 16u) ^ 0x4b008000u, floats);
}

/* Which of a vector's last sums each lane goes on from, among its even lanes and its odd ones. */
#define LAST_LANE(i)  (TURN_ELEMENTS - HONE_C + (i) % HONE_C)
#define LAST_PLACE(i) (LAST_LANE(i) % 2 * (LANES / 2) + LAST_LANE(i) / 2)
#define LAST_EVEN(i)  LAST_PLACE(2 * (i))
#define LAST_ODD(i)   LAST_PLACE(2 * (i) + 1)

/* changes[i] = enter[i] - leave[i] */
inline void find_changes(__global CELL *changes, __global const PIXEL *enter, __global const PIXEL *leave,
                         int count)
{
    int i = 0;
    for (; i + LANES <= count; i += LANES)
        *(__global sums_at *)(changes + i) =
            CONVERT(LOAD_PIXELS(enter + i), sums) - CONVERT(LOAD_PIXELS(leave + i), sums);
    for (; i < count; i++)
        changes[i] = (CELL)(enter[i] - leave[i]);
}

/* How the first window of the row changes, without its last column: in each lane that of its channel. */
inline void begin_row(floats *carry, __global const CELL *changes, const struct window *w)
{
    float sum[HONE_C];
    for (int channel = 0; channel < HONE_C; channel++) {
        int all = 0;
        for (int x = -w->left; x < w->right; x++)
            all += changes[x * HONE_C + channel];
        sum[channel] = (float)all - OFFSET;
    }
#pragma unroll
    for (int lane = 0; lane < LANES; lane++)
        carry[lane % 2][lane / 2] = sum[lane % HONE_C];
}

/* What the mean of each lane changes by; `change`: what the sum does. */
inline words divide(__global float *rests, floats change, const struct window *w)
{
#pragma OPENCL FP_CONTRACT ON
    floats rest = *(__global floats_at *)rests + change;
    floats nearest = rest * w->inverse + NEAREST;
    *(__global floats_at *)rests = rest - (nearest - NEAREST) * w->area;
    return __builtin_astype(nearest, words);
}

inline void divide_lanes(words *quotients, __global float *rests, sums v, const floats *carry,
                         const struct window *w)
{
    quotients[0] = divide(rests, even_lanes(v) + carry[0], w);
    quotients[1] = divide(rests + LANES / 2, odd_lanes(v) + carry[1], w);
}

/* Pixels by turns of two vectors: the first one of each pair, or the second; and back. */
#define FIRST_OF(i)  ((i) / HONE_C % 2 ? LANES + (i)-HONE_C : (i))
#define SECOND_OF(i) ((i) / HONE_C % 2 ? LANES + (i) : (i) + HONE_C)
#if HONE_C == 1
inline sums firsts(sums v, sums w)
{
    return __builtin_astype((__builtin_astype(v, words) & 0xffffu) | __builtin_astype(w, words) << 16u, sums);
}

inline sums seconds(sums v, sums w)
{
    return __builtin_astype(__builtin_astype(v, words) >> 16u | (__builtin_astype(w, words) & 0xffff0000u),
                            sums);
}
#else
inline sums firsts(sums v, sums w)
{
    return __builtin_shufflevector(v, w, L_ALL(FIRST_OF));
}

inline sums seconds(sums v, sums w)
{
    return __builtin_shufflevector(v, w, L_ALL(SECOND_OF));
}
#endif

/* The quotients of two vectors' even and odd lanes are added to means. */
inline void add_quotients(__global RESULT *means, const words *q)
{
#if HONE_C == 1 /* these are in order */
    *(__global pixels_at *)means += __builtin_astype(CONVERT((q[0] & 0xffu) | q[2] << 8u, half_sums), pixels);
    *(__global pixels_at *)(means + LANES) +=
        __builtin_astype(CONVERT((q[1] & 0xffu) | q[3] << 8u, half_sums), pixels);
#else
    sums first = __builtin_astype((q[0] & 0xffffu) | q[1] << 16u, sums);
    sums second = __builtin_astype((q[2] & 0xffffu) | q[3] << 16u, sums);
    *(__global pixels_at *)means += CONVERT(firsts(first, second), pixels);
    *(__global pixels_at *)(means + LANES) += CONVERT(seconds(first, second), pixels);
#endif
}

/* For the second vector's pixels, what stands at the end of the first one's. */
#define BEFORE_SECOND(i) ((i) / HONE_C % 2 ? LANES + LAST_LANE(i) - HONE_C : (i))

/* What the sums of a block change by, without what comes before. */
inline void add_changes(sums *v, __global const CELL *enter, __global const CELL *leave)
{
    sums low = LOAD(enter) - LOAD(leave);
    sums high = LOAD(enter + TURN_ELEMENTS) - LOAD(leave + TURN_ELEMENTS);
    sums first = firsts(low, high), both = first + seconds(low, high), all = scan(both);
    all += __builtin_shufflevector((sums)0, all, L_ALL(BEFORE_SECOND));
    v[0] = all - both + first;
    v[1] = all;
}

/* BLOCK means. */
inline void change_means(__global RESULT *means, __global float *rests, const sums *v, floats *carry,
                         const struct window *w)
{
    words quotients[4];
    divide_lanes(quotients, rests, v[0], carry, w);
    divide_lanes(quotients + 2, rests + LANES, v[1], carry, w);
    floats even = even_lanes(v[1]) - OFFSET, odd = odd_lanes(v[1]) - OFFSET;
    carry[0] += __builtin_shufflevector(even, odd, L16(LAST_EVEN, 0));
    carry[1] += __builtin_shufflevector(even, odd, L16(LAST_ODD, 0));
    add_quotients(means, quotients);
}

/* While a block is divided, the next one is summed up: neither waits for itself. */
WIDE_VECTORS inline void slide(const struct lines *l, __global const CELL *enter, __global const CELL *leave,
                               int count, const struct window *w)
{
    floats carry[2];
    sums v[2], next[2];
    begin_row(carry, l->changes, w);
    add_changes(v, enter, leave);
    for (int i = 0, place = 0; i < count; i += BLOCK, place += PLACES) {
        add_changes(next, enter + i + BLOCK, leave + i + BLOCK);
        change_means(l->means + place, l->rests + place, v, carry, w);
        v[0] = next[0];
        v[1] = next[1];
    }
}

/* Where the mean of element i is, and where its rest. */
inline int place_of(int i)
{
    return i / TURN_ELEMENTS * LANES + i % TURN_ELEMENTS;
}

inline int rest_of(int i)
{
    int number = i / TURN_ELEMENTS % 2, pixel = i % TURN_ELEMENTS / HONE_C;
    int lane = (pixel / 2 * 2 + number) * HONE_C + i % HONE_C;
    return i / BLOCK * PLACES + pixel % 2 * LANES + lane % 2 * (LANES / 2) + lane / 2;
}

/* Means become results. */
inline void write_means(__global const RESULT *means, __global const PIXEL *centre, __global RESULT *out,
                        int count)
{
    int i = 0;
    for (int place = 0; i + LANES <= count; i += TURN_ELEMENTS, place += LANES)
        *(__global pixels_at *)(out + i) = WITH_ALPHA(LOAD_PIXELS(means + place), LOAD_PIXELS(centre + i));
    for (; i < count; i++)
        out[i] = IS_ALPHA(i % HONE_C) ? centre[i] : means[place_of(i)];
}

inline void write_row(const struct lines *l, __global const PIXEL *centre, __global RESULT *out, int count,
                      const struct window *w)
{
    slide(l, l->changes + w->right * HONE_C, l->changes - (w->left + 1) * HONE_C, count, w);
    write_means(l->means, centre, out, count);
}

/* columns[i] += times * row[i] */
inline void add_alike(__global uint *columns, __global const PIXEL *row, int count, uint times)
{
    int i = 0;
    for (; i + LANES <= count; i += LANES)
        *(__global columns_at *)(columns + i) += CONVERT(LOAD_PIXELS(row + i), columns_vector) * times;
    for (; i < count; i++)
        columns[i] += row[i] * times;
}

/* columns[i] += those of up to TOGETHER rows, from y on. */
inline void add_rows(__global uint *columns, const struct input_rows *in, int y, int end, int count)
{
    __global const PIXEL *rows[TOGETHER];
    const int number = min(end - y, TOGETHER);
    for (int k = 0; k < number; k++)
        rows[k] = row_of(in, y + k);
    int i = 0;
    for (; i + LANES <= count; i += LANES) {
        sums v = 0;
        for (int k = 0; k < number; k++)
            v += CONVERT(LOAD_PIXELS(rows[k] + i), sums);
        *(__global columns_at *)(columns + i) += CONVERT(v, columns_vector);
    }
    for (; i < count; i++)
        for (int k = 0; k < number; k++)
            columns[i] += rows[k][i];
}

/* The sum of a column, or of one beyond an edge. */
inline uint column_at(__global const uint *columns, int x, int channel, const struct image *in)
{
    if (x < 0 || x >= in->width)
        x = hone_fold(x, in->width);
    return x < 0 ? in->beyond : columns[x * HONE_C + channel];
}

/* Sums of windows become means, to the nearest but one, and rests. */
inline void begin_means(const struct lines *l, const struct image *in, const struct window *w)
{
    for (int channel = 0; channel < HONE_C; channel++) {
        uint sum = 0;
        for (int x = -w->left; x < w->right; x++)
            sum += column_at(l->columns, x, channel, in);
        for (int x = 0; x < in->width; x++) {
            const int i = x * HONE_C + channel;
            sum += column_at(l->columns, x + w->right, channel, in);
            const uint mean = (uint)((float)sum * w->inverse);
            l->means[place_of(i)] = (RESULT)mean;
            l->rests[rest_of(i)] = (float)(int)(sum - mean * (uint)w->area) + w->half_more;
            sum -= column_at(l->columns, x - w->left, channel, in);
        }
    }
}

/* Before row y of the results. */
inline void begin_band(const struct lines *l, const struct image *in, const struct window *w, int y)
{
    const int count = in->width * HONE_C, end = y + w->bottom + 1;
    for (int i = 0; i < count; i++)
        l->columns[i] = 0;
    for (int row = y - w->top, number; row < end; row += number) {
        number = alike_rows(row, end, in->rows.height);
        if (number > 1)
            add_alike(l->columns, row_of(&in->rows, row), count, (uint)number);
        else {
            number = row < in->rows.height ? min(in->rows.height - row, TOGETHER) : TOGETHER;
            add_rows(l->columns, &in->rows, row, min(row + number, end), count);
        }
    }
    begin_means(l, in, w);
}

__kernel void box_changes(__global const PIXEL *in, int in_offset, int in_pitch, __global RESULT *out,
                          int out_offset, int out_pitch, int width, int height, int kernel_width,
                          int kernel_height, BORDER_TYPE border, float inverse, int rows,
                          __global float *rests, __global uint *columns, __global CELL *changes,
                          int changes_pitch, __global RESULT *means, __global PIXEL *beyond, int pitch)
{
    const int band = get_global_id(0), count = width * HONE_C, end = min((band + 1) * rows, height);
    int y = band * rows;
    if (y >= height)
        return;
    const int left = kernel_width / 2, top = kernel_height / 2, area = kernel_width * kernel_height;
    const struct window w = {left,    kernel_width - 1 - left, top, kernel_height - 1 - top, area,
                             inverse, area % 2 ? 0.0f : 0.5f};
    beyond += (size_t)band * pitch;
    changes += (size_t)band * changes_pitch;
    const struct image image = {{in + in_offset, beyond, in_pitch, height}, width, border * kernel_height};
    const struct lines l = {changes + (left + 1) * HONE_C, rests + (size_t)band * pitch,
                            columns + (size_t)band * pitch, means + (size_t)band * pitch};
    out += out_offset;
    const struct sink sink = {out, out_pitch};
    fill_beyond(beyond, (PIXEL)border, count);
    for (int i = 0; i < changes_pitch; i++)
        changes[i] = 0; /* the first row is as it begins */
    begin_band(&l, &image, &w, y);
    for (;; y++) {
        write_row(&l, image.rows.in + (size_t)y * in_pitch, out + (size_t)y * out_pitch, count, &w);
        clear_outside(&sink, y, width, height, kernel_width, kernel_height);
        if (y + 1 == end)
            break;
        find_changes(l.changes, row_of(&image.rows, y + w.bottom + 1), row_of(&image.rows, y - top), count);
        extend(l.changes, width, left, w.right, 0);
    }
}
