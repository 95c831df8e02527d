/* SPDX-License-Identifier: BSD-2-Clause */
/* A weighted mean of red, green and blue, to the nearest integer, half up, exactly. */
#include "filters/gray/mean.clh"
#ifndef VECTORS
#define VECTORS 64 /* vectors of the result per work-item */
#endif
#ifndef ROWS
#define ROWS 1 /* rows per work-item */
#endif
#ifndef LANES
#define LANES 16 /* pixels at a time: 4 or 16 */
#endif

#define CONVERT_(to, n) PASTE(PASTE(convert_, to), n)

#if FLOATING
#define WIDE(v)   (v)
#define NARROW(v) (v)
#elif HONE_T == 3
#define WIDE(v)   CONVERT_(uint, LANES)(CONVERT_(int, LANES)(v) + 32768)
#define NARROW(v) CONVERT_(RESULT, LANES)(CONVERT_(int, LANES)(v) - 32768)
#else
#define WIDE(v)   CONVERT_(uint, LANES)(v)
#define NARROW(v) CONVERT_(RESULT, LANES)(v)
#endif

#if defined(HONE_ALL) || defined(VARIANT_pixels)
__kernel void gray_pixels(__global const PIXEL *in, int in_offset, int in_pitch, __global RESULT *out,
                          int out_offset, int out_pitch, int width, int height)
{
    int x = get_global_id(0), y = get_global_id(1);
    if (x < width && y < height)
        out[out_offset + y * out_pitch + x] = gray_of(in + in_offset + y * in_pitch + x * HONE_C);
}
#endif

#if defined(HONE_ALL) || defined(VARIANT_stretches) || defined(VARIANT_blocks)
typedef VECTOR(PIXEL, LANES) pixels;
typedef VECTOR(RESULT, LANES) results;

/* LANES pixels lie in HONE_C vectors v[]. */
inline results gray_of_vectors(const pixels *v)
{
#if HONE_C == 1
    return v[0];
#else
#if HONE_C == 3 && LANES == 16
    pixels r = (pixels)(v[0].s0369, v[0].scf, v[1].s258b, v[1].se, v[2].s147a, v[2].sd);
    pixels g = (pixels)(v[0].s147a, v[0].sd, v[1].s0369, v[1].scf, v[2].s258b, v[2].se);
    pixels b = (pixels)(v[0].s258b, v[0].se, v[1].s147a, v[1].sd, v[2].s0369, v[2].scf);
#elif HONE_C == 3
    pixels r = (pixels)(v[0].s03, v[1].s2, v[2].s1);
    pixels g = (pixels)(v[0].s1, v[1].s03, v[2].s2);
    pixels b = (pixels)(v[0].s2, v[1].s1, v[2].s03);
#elif LANES == 16
    pixels r = (pixels)(v[0].s048c, v[1].s048c, v[2].s048c, v[3].s048c);
    pixels g = (pixels)(v[0].s159d, v[1].s159d, v[2].s159d, v[3].s159d);
    pixels b = (pixels)(v[0].s26ae, v[1].s26ae, v[2].s26ae, v[3].s26ae);
#else
    pixels r = (pixels)(v[0].s0, v[1].s0, v[2].s0, v[3].s0);
    pixels g = (pixels)(v[0].s1, v[1].s1, v[2].s1, v[3].s1);
    pixels b = (pixels)(v[0].s2, v[1].s2, v[2].s2, v[3].s2);
#endif
    return NARROW(MEAN(WIDE(r), WIDE(g), WIDE(b)));
#endif
}

#endif

#if defined(HONE_ALL) || defined(VARIANT_stretches)
/* The last pixels of a row, fewer than LANES. */
inline void gray_few(__global const PIXEL *in, __global RESULT *out, int count)
{
    for (int i = 0; i < count; i++)
        out[i] = gray_of(in + i * HONE_C);
}

__kernel void gray_stretches(__global const PIXEL *restrict in, int in_offset, int in_pitch,
                             __global RESULT *restrict out, int out_offset, int out_pitch, int width,
                             int height)
{
    int first = get_global_id(0) * (VECTORS * LANES), y = get_global_id(1) * ROWS;
    int end = min(first + VECTORS * LANES, width), rows = min(y + ROWS, height);
    for (; y < rows; y++) {
        __global const PIXEL *from = in + in_offset + y * in_pitch;
        __global RESULT *to = out + out_offset + y * out_pitch;
        int x = first;
        for (; x + LANES <= end; x += LANES) {
            pixels v[HONE_C];
#if HONE_T != 0 /* bytes take twice as long so: PoCL shuffles across vectors */
#pragma unroll
#endif
            for (int k = 0; k < HONE_C; k++)
                v[k] = PASTE(vload, LANES)(k, from + x * HONE_C);
            PASTE(vstore, LANES)(gray_of_vectors(v), 0, to + x);
        }
        gray_few(from + x * HONE_C, to + x, end - x);
    }
}
#endif

#if defined(HONE_ALL) || defined(VARIANT_blocks)
/* The last pixels of some rows, of each all read before one is stored. */
inline void gray_end(__global const PIXEL *in, int in_pitch, __global RESULT *out, int out_pitch, int count,
                     int rows)
{
    for (int j = 0; j < rows; j++, in += in_pitch, out += out_pitch) {
        RESULT made[LANES];
#pragma unroll
        for (int i = 0; i < LANES - 1; i++)
            made[i] = gray_of(in + min(i, count - 1) * HONE_C);
#pragma unroll
        for (int i = 0; i < LANES - 1; i++)
            if (i < count)
                out[i] = made[i];
    }
}

/* All rows are on their way before the first is made: one too many is read again, not left out. */
__kernel void gray_blocks(__global const PIXEL *in, int in_offset, int in_pitch, __global RESULT *out,
                          int out_offset, int out_pitch, int width, int height)
{
    int x = get_global_id(0) * LANES, y = get_global_id(1) * ROWS, rows = min(ROWS, height - y);
    if (x >= width || rows <= 0)
        return;
    in += in_offset + y * in_pitch + x * HONE_C;
    out += out_offset + y * out_pitch + x;
    if (x + LANES > width) {
        gray_end(in, in_pitch, out, out_pitch, width - x, rows);
        return;
    }
    pixels v[ROWS][HONE_C];
#pragma unroll
    for (int j = 0; j < ROWS; j++)
#pragma unroll
        for (int k = 0; k < HONE_C; k++)
            v[j][k] = ((__global const pixels *)(in + min(j, rows - 1) * in_pitch))[k];
#pragma unroll
    for (int j = 0; j < ROWS; j++)
        if (j < rows)
            *(__global results *)(out + j * out_pitch) = gray_of_vectors(v[j]);
}
#endif
