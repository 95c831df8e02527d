/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * For CPUs: one work-item owns a band of whole rows and works on 64-byte vectors of clang's own types.
 *
 * The sums of columns slide from row to row (add the row that enters, subtract the one that leaves). The
 * window's sum slides along the row in the same way, a whole vector at a time: the differences between the
 * column that enters and the one that leaves are summed up inside a vector, and the last lane carries over to
 * the next one. Sums wrap around; a result is right because one window's sum fits.
 */
#ifndef MASK
#define MASK 0 /* 1: a pixel that is not 0 counts 1 */
#endif
#ifndef COLUMN_BITS
#define COLUMN_BITS 16 /* 16 where the sum of a window's column fits, else 32 */
#endif
#ifndef SUM_BITS
#define SUM_BITS 16 /* 16 where a window's sum fits, and one more than the largest too, else 32 */
#endif
#ifndef ROWS
#define ROWS 256 /* rows of a band */
#endif

#if COLUMN_BITS == 16
#define COLUMN        ushort
#define SIGNED_COLUMN short
#else
#define COLUMN        uint
#define SIGNED_COLUMN int
#endif

#include "filters/sums.clh"
#define CELL COLUMN
#include "filters/bands.clh"

#define MARKS        (HONE_OT == 0) /* results of u8: sums never are */
#define COLUMN_LANES (512 / COLUMN_BITS)

DEFINE_VECTORS(RESULT, results);
DEFINE_VECTORS(COLUMN, sum_columns);
DEFINE_VECTORS(PIXEL, sum_pixels);
typedef COLUMN columns_vector __attribute__((ext_vector_type(COLUMN_LANES)));
typedef SIGNED_COLUMN signed_columns __attribute__((ext_vector_type(COLUMN_LANES)));
typedef PIXEL pixels __attribute__((ext_vector_type(COLUMN_LANES)));
typedef columns_vector columns_at __attribute__((aligned(sizeof(COLUMN))));
typedef pixels pixels_at __attribute__((aligned(sizeof(PIXEL))));

/* The elements of an input row, or the border value everywhere. */
struct source_row {
    __global const PIXEL *at;
    int inside;
};

inline struct source_row source_row(__global const PIXEL *in, int pitch, int y, int height)
{
    struct source_row row;
    row.at = hone_row(in, pitch, y, height, &row.inside);
    return row;
}

inline columns_vector row_columns(struct source_row row, int i, COLUMN outside)
{
    if (HONE_BORDER == BORDER_CONSTANT && !row.inside)
        return (columns_vector)outside;
    pixels v = *(__global const pixels_at *)(row.at + i);
#if MASK
    return CONVERT(-CONVERT(v != (pixels)0, signed_columns), columns_vector);
#else
    return CONVERT(v, columns_vector);
#endif
}

inline COLUMN row_column(struct source_row row, int i, COLUMN outside)
{
    if (HONE_BORDER == BORDER_CONSTANT && !row.inside)
        return outside;
    return MASK ? (COLUMN)(row.at[i] != 0) : (COLUMN)row.at[i];
}

/* columns[i] += enter[i] - leave[i] */
inline void update(__global COLUMN *columns, int count, struct source_row enter, struct source_row leave,
                   COLUMN outside)
{
    int i = 0;
    for (; i + COLUMN_LANES <= count; i += COLUMN_LANES) {
        __global columns_at *at = (__global columns_at *)(columns + i);
        *at = *at + row_columns(enter, i, outside) - row_columns(leave, i, outside);
    }
    for (; i < count; i++)
        columns[i] += row_column(enter, i, outside) - row_column(leave, i, outside);
}

inline void add(__global COLUMN *columns, int count, struct source_row enter, COLUMN outside)
{
    int i = 0;
    for (; i + COLUMN_LANES <= count; i += COLUMN_LANES)
        *(__global columns_at *)(columns + i) += row_columns(enter, i, outside);
    for (; i < count; i++)
        columns[i] += row_column(enter, i, outside);
}

inline sums load_columns(__global const COLUMN *at)
{
    return CONVERT(*(__global const sum_columns_at *)at, sums);
}

/* In each lane the sum of its channel's first window, without that window's last column. */
inline sums first_windows(__global const COLUMN *columns, int left, int right)
{
    SUM start[HONE_C];
    union {
        sums vector;
        SUM lane[LANES];
    } all;
    for (int channel = 0; channel < HONE_C; channel++) {
        start[channel] = 0;
        for (int x = -left; x < right; x++)
            start[channel] += columns[x * HONE_C + channel];
    }
    for (int i = 0; i < LANES; i++)
        all.lane[i] = start[i % HONE_C];
    return all.vector;
}

/* Alpha of u16 beside marks: as much of 255 as it was of 65535, to the nearest. */
#if HONE_OT == 0 && HONE_T == 1
#define COPIED(v) (((v) + 128u) / 257u)
#else
#define COPIED(v) (v)
#endif

#if HONE_ALPHA
#define ALPHA1 0, 0, 0, (RESULT)-1
#define ALPHA4 ALPHA1, ALPHA1, ALPHA1, ALPHA1
#if LANES == 32
#define ALPHA ALPHA4, ALPHA4
#else
#define ALPHA ALPHA4
#endif

DEFINE_VECTORS(uint, alphas);

/* The results with the pixels' alpha in every fourth lane. */
inline results with_alpha(results r, __global const PIXEL *pixels)
{
    const results alpha = {ALPHA};
    alphas copied = COPIED(CONVERT(*(__global const sum_pixels_at *)pixels, alphas));
    return (r & ~alpha) | (CONVERT(copied, results) & alpha);
}
#endif

/* A comparison of vectors gives all bits where it holds: a mark. */
inline results dense(sums v, SUM least)
{
#if MARKS
    return CONVERT(v >= least, results);
#else
    return CONVERT(v >= least ? v : (sums)0, results);
#endif
}

inline void write_row(__global const COLUMN *columns, __global const PIXEL *centre, __global RESULT *out,
                      int count, int left, int right, SUM least)
{
    __global const COLUMN *enter = columns + right * HONE_C, *leave = columns - (left + 1) * HONE_C;
    sums carry = first_windows(columns, left, right);
    int i = 0;
    for (; i < count; i += LANES) {
        sums v = scan(load_columns(enter + i) - load_columns(leave + i)) + carry;
        results r = dense(v, least);
        carry = CARRY(v);
        if (i + LANES > count) {
            for (int k = 0; i + k < count; k++)
                out[i + k] = IS_ALPHA((i + k) % HONE_C) ? (RESULT)COPIED(centre[i + k]) : r[k];
            return;
        }
#if HONE_ALPHA
        r = with_alpha(r, centre + i);
#endif
        *(__global results_at *)(out + i) = r;
    }
}

__kernel void density_bands(__global const PIXEL *in, int in_offset, int in_pitch, __global RESULT *out,
                            int out_offset, int out_pitch, int width, int height, int size, int border,
                            uint least, __global COLUMN *scratch, int scratch_elements)
{
    int band = get_global_id(0), y = band * ROWS, end = min(y + ROWS, height);
    int left = size / 2, right = size - 1 - left, count = width * HONE_C;
    COLUMN outside = MASK ? border != 0 : border;
    if (y >= height)
        return;
    scratch += (size_t)band * scratch_elements;
    /* a column of zeros in front, which leaves the first window, and one vector behind */
    __global COLUMN *columns = scratch + (left + 1) * HONE_C;
    in += in_offset;
    out += out_offset;
    const struct sink sink = {out, out_pitch};
    for (int i = 0; i < scratch_elements; i++)
        scratch[i] = 0;
    for (int j = 0; j < size; j++)
        add(columns, count, source_row(in, in_pitch, y - left + j, height), outside);
    for (; y < end; y++) {
        extend(columns, width, left, right, (COLUMN)(outside * size));
        write_row(columns, in + y * in_pitch, out + y * out_pitch, count, left, right, (SUM)least);
        clear_outside(&sink, y, width, height, size, size);
        update(columns, count, source_row(in, in_pitch, y + right + 1, height),
               source_row(in, in_pitch, y - left, height), outside);
    }
}
