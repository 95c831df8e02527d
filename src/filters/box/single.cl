/* SPDX-License-Identifier: BSD-2-Clause */
/* For CPUs: windows of one pixel, whose mean is the pixel. Rows are copied in 64-byte vectors. */
#ifndef ROWS
#define ROWS 16 /* rows per work-item */
#endif
#ifndef STREAM
#define STREAM 1 /* 1: results go past the caches */
#endif

enum { LANES = 64 / sizeof(PIXEL) };

#include "filters/vectors.clh"

DEFINE_VECTORS(PIXEL, pixels);

inline void copy_row(__global const PIXEL *in, __global PIXEL *out, int count)
{
    int i = 0, before = min(count, BEFORE(out, 64));
    for (; i < before; i++)
        out[i] = in[i];
    for (; i + LANES <= count; i += LANES)
        STORE(out + i, *(__global const pixels_at *)(in + i), pixels);
    for (; i < count; i++)
        out[i] = in[i];
}

__kernel void box_single(__global const PIXEL *in, int in_offset, int in_pitch, __global PIXEL *out,
                         int out_offset, int out_pitch, int count, int height)
{
    int y = get_global_id(0) * ROWS, end = min(y + ROWS, height);
    for (; y < end; y++)
        copy_row(in + in_offset + y * in_pitch, out + out_offset + y * out_pitch, count);
}
