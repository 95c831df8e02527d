/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef ROWS
#define ROWS 4 /* rows per work-item */
#endif

/* Vectors through cast pointers where all of them lie on 16 bytes: the same answer for all work-items. */
inline bool is_aligned(__global const float *p, int pitch)
{
    return (((size_t)p | (size_t)pitch * sizeof(float)) & 15) == 0;
}

inline float4 load(__global const float *p, bool aligned)
{
    return aligned ? *(__global const float4 *)p : vload4(0, p);
}

#if defined(HONE_ALL) || defined(VARIANT_buffer)
/* One pair per work-item: the guide's starting point. */
__kernel void dot_buffer(__global const float *in, int in_offset, int in_pitch, __global const float *second,
                         int second_offset, int second_pitch, __global float *out, int out_offset,
                         int out_pitch, int width, int height)
{
    int x = get_global_id(0), y = get_global_id(1);
    if (x >= width || y >= height)
        return;
    in += in_offset;
    second += second_offset;
    float4 a = load(in + y * in_pitch + 4 * x, is_aligned(in, in_pitch));
    float4 b = load(second + y * second_pitch + 4 * x, is_aligned(second, second_pitch));
    out[out_offset + y * out_pitch + x] = dot(a, b);
}
#endif

#if defined(HONE_ALL) || defined(VARIANT_image)
/* Both through the texture unit: the guide's second listing. */
__kernel void dot_image(__read_only image2d_t in, __read_only image2d_t second, __global float *out,
                        int out_offset, int out_pitch, sampler_t nearest, int width, int height)
{
    int2 at = (int2)(get_global_id(0), get_global_id(1));
    if (at.x >= width || at.y >= height)
        return;
    out[out_offset + at.y * out_pitch + at.x] =
        dot(read_imagef(in, nearest, at), read_imagef(second, nearest, at));
}
#endif

#if defined(HONE_ALL) || defined(VARIANT_mixed)
/* One through the texture unit, one from memory: two paths share the load. */
__kernel void dot_mixed(__global const float *in, int in_offset, int in_pitch, __read_only image2d_t second,
                        __global float *out, int out_offset, int out_pitch, sampler_t nearest, int width,
                        int height)
{
    int2 at = (int2)(get_global_id(0), get_global_id(1));
    if (at.x >= width || at.y >= height)
        return;
    in += in_offset;
    float4 a = load(in + at.y * in_pitch + 4 * at.x, is_aligned(in, in_pitch));
    out[out_offset + at.y * out_pitch + at.x] = dot(a, read_imagef(second, nearest, at));
}
#endif

#if defined(HONE_ALL) || defined(VARIANT_fours)
/* Four pairs side by side per work-item, their results stored as one vector. */
__kernel void dot_fours(__global const float *in, int in_offset, int in_pitch, __global const float *second,
                        int second_offset, int second_pitch, __global float *out, int out_offset,
                        int out_pitch, int width, int height)
{
    int x = get_global_id(0) * 4, y = get_global_id(1);
    if (x >= width || y >= height)
        return;
    in += in_offset + y * in_pitch + 4 * x;
    second += second_offset + y * second_pitch + 4 * x;
    out += out_offset + y * out_pitch + x;
    bool in_aligned = is_aligned(in, in_pitch), second_aligned = is_aligned(second, second_pitch);
    if (x + 4 > width) {
        for (int i = 0; i < width - x; i++)
            out[i] = dot(load(in + 4 * i, in_aligned), load(second + 4 * i, second_aligned));
        return;
    }
    float4 result;
    result.x = dot(load(in, in_aligned), load(second, second_aligned));
    result.y = dot(load(in + 4, in_aligned), load(second + 4, second_aligned));
    result.z = dot(load(in + 8, in_aligned), load(second + 8, second_aligned));
    result.w = dot(load(in + 12, in_aligned), load(second + 12, second_aligned));
    vstore4(result, 0, out);
}
#endif

#if defined(HONE_ALL) || defined(VARIANT_rows)
/* A pair of each of ROWS rows per work-item: all loads are under way before the first product, and
 * neighbouring work-items read and write neighbours. */
__kernel void dot_rows(__global const float *in, int in_offset, int in_pitch, __global const float *second,
                       int second_offset, int second_pitch, __global float *out, int out_offset,
                       int out_pitch, int width, int height)
{
    int x = get_global_id(0), y = get_global_id(1) * ROWS, rows = min(ROWS, height - y);
    if (x >= width || rows <= 0)
        return;
    in += in_offset + y * in_pitch + 4 * x;
    second += second_offset + y * second_pitch + 4 * x;
    out += out_offset + y * out_pitch + x;
    bool in_aligned = is_aligned(in, in_pitch), second_aligned = is_aligned(second, second_pitch);
    float4 a[ROWS], b[ROWS];
#pragma unroll
    for (int j = 0; j < ROWS; j++) {
        int row =
            min(j, rows - 1); /* a row too many is read again, not left out: no branch between the loads */
        a[j] = load(in + row * in_pitch, in_aligned);
        b[j] = load(second + row * second_pitch, second_aligned);
    }
#pragma unroll
    for (int j = 0; j < ROWS; j++)
        if (j < rows)
            out[j * out_pitch] = dot(a[j], b[j]);
}
#endif
