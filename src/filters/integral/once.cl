/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One launch, for small images: each work-group forms a band of ROWS rows, and sums up all rows above itself,
 * which costs less than a second launch. Work-items that lie side by side hold 16 bytes of a row each,
 * `parts` rows at a time. Rows of the band are scanned by 32 work-items each, in local memory. Images and
 * their rows begin at 16 bytes.
 */
#ifndef GROUP
#define GROUP 256 /* work-items */
#endif
#ifndef ROWS
#define ROWS 4 /* of a band */
#endif

#include "filters/integral/sums.clh"

inline uint counted(uint word)
{
    return word;
}

#include "filters/above.clh"

#define LANES 32

/* Along one row of sums, of `width` pixels: a lane has `own` pixels side by side. `totals` is of the row,
 * too. */
inline void scan_row(__local SUM *row, __local SUM *totals, int width, int own, int lane, bool inside)
{
    int first = min(lane * own, width), end = inside ? min(first + own, width) : first;
    for (int channel = 0; channel < HONE_C; channel++) {
        SUM sum = 0;
        for (int x = first; x < end; x++) {
            sum += row[x * HONE_C + channel];
            row[x * HONE_C + channel] = sum;
        }
        if (inside)
            totals[channel * LANES + lane] = sum;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int channel = 0; channel < HONE_C; channel++) {
        SUM before = 0;
        for (int i = 0; inside && i < lane; i++)
            before += totals[channel * LANES + i];
        for (int x = first; x < end; x++)
            row[x * HONE_C + channel] += before;
    }
}

/* `area` has `parts` rows of `stride` sums, a multiple of PER, or ROWS of them, if that is more; `totals` has
 * LANES for each channel of ROWS. */
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
integral_once(__global const PIXEL *in, int in_offset, int in_pitch, __global SUM *out, int out_offset,
              int out_pitch, __local SUM *area, __local SUM *totals, int stride, int parts, int width,
              int height)
{
    int lid = get_local_id(0), y0 = get_group_id(0) * ROWS, count = width * HONE_C;
    int vectors = stride / PER, part = lid / vectors, at = (lid - part * vectors) * PER;
    in += in_offset;
    out += out_offset + y0 * out_pitch;
    if (part < parts) {
        struct above_columns c;
        above_clear(&c);
        above_rows(&c, in, in_pitch, at, count, part, y0, parts);
#pragma unroll
        for (int i = 0; i < PER; i++)
            area[part * stride + at + i] = above_get(&c, i);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    /* Sums down to each row of the band take the place of the parts: each column is a work-item's own. */
    for (int i = lid; i < count; i += GROUP) {
        SUM sum = 0;
        for (int k = 0; k < parts; k++)
            sum += area[k * stride + i];
        for (int row = 0; row < ROWS && y0 + row < height; row++) {
            sum += in[(y0 + row) * in_pitch + i];
            area[row * stride + i] = sum;
        }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    int row = lid / LANES;
    bool inside = row < ROWS && y0 + row < height;
    row = min(row, ROWS - 1);
    scan_row(area + row * stride, totals + row * HONE_C * LANES, width, (width + LANES - 1) / LANES | 1,
             lid % LANES, inside);
    barrier(CLK_LOCAL_MEM_FENCE);
    for (row = 0; row < ROWS && y0 + row < height; row++)
        for (int i = lid; i < count; i += GROUP)
            out[row * out_pitch + i] = area[row * stride + i];
}
