/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * For CPUs: four pairs to a 64-byte vector. Sixteen pairs make four vectors of products, which two rounds of
 * adding even and odd lanes turn into one vector of results.
 */
#ifndef VECTORS
#define VECTORS 256 /* vectors of results of a row per work-item */
#endif
#ifndef ROWS
#define ROWS 8 /* rows per work-item */
#endif
#ifndef STREAM
#define STREAM 1 /* results go past the caches */
#endif

enum { LANES = 16 };

#include "filters/vectors.clh"

typedef float floats __attribute__((ext_vector_type(16)));
typedef floats floats_at __attribute__((aligned(4)));

#define LOAD(p) (*(__global const floats_at *)(p))

/* Sums of neighbouring lanes of two vectors. */
inline floats add_neighbours(floats a, floats b)
{
    return __builtin_shufflevector(a, b, 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30) +
           __builtin_shufflevector(a, b, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31);
}

inline floats dot16(__global const float *a, __global const float *b)
{
    floats first = add_neighbours(LOAD(a) * LOAD(b), LOAD(a + 16) * LOAD(b + 16));
    floats last = add_neighbours(LOAD(a + 32) * LOAD(b + 32), LOAD(a + 48) * LOAD(b + 48));
    return add_neighbours(first, last);
}

inline float dot1(__global const float *a, __global const float *b)
{
    return (a[0] * b[0] + a[1] * b[1]) + (a[2] * b[2] + a[3] * b[3]);
}

inline void dot_row(__global const float *a, __global const float *b, __global float *out, int count)
{
    int i = 0, before = min(count, BEFORE(out, 64));
    for (; i < before; i++)
        out[i] = dot1(a + 4 * i, b + 4 * i);
    for (; i + LANES <= count; i += LANES)
        STORE(out + i, dot16(a + 4 * i, b + 4 * i), floats);
    for (; i < count; i++)
        out[i] = dot1(a + 4 * i, b + 4 * i);
}

__kernel void dot_vectors(__global const float *in, int in_offset, int in_pitch, __global const float *second,
                          int second_offset, int second_pitch, __global float *out, int out_offset,
                          int out_pitch, int width, int height)
{
    int x = get_global_id(0) * (VECTORS * LANES), y = get_global_id(1) * ROWS, end = min(y + ROWS, height);
    int length = min(width - x, VECTORS * LANES);
    if (length <= 0)
        return;
    in += in_offset + 4 * x;
    second += second_offset + 4 * x;
    out += out_offset + x;
    for (; y < end; y++)
        dot_row(in + y * in_pitch, second + y * second_pitch, out + y * out_pitch, length);
}
