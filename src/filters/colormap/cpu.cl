/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * For CPUs: a load and a store of four bytes per pixel, whose last byte the next pixel's store overwrites.
 * The palette, a kilobyte, stays in the nearest cache. The levels of all types but u8 are made first, some at
 * a time, which compilers turn into vectors.
 */
#ifndef LENGTH
#define LENGTH 4096 /* pixels of a row per work-item */
#endif
#ifndef ROWS
#define ROWS 8 /* rows per work-item */
#endif

#define AT_ONCE 64

#include "filters/vectors.clh"

typedef uint word_at __attribute__((aligned(1)));
typedef PIXEL pixels __attribute__((ext_vector_type(16)));
typedef pixels pixels_at __attribute__((aligned(sizeof(PIXEL))));
typedef uint words __attribute__((ext_vector_type(16)));
typedef float floats __attribute__((ext_vector_type(16)));
typedef uchar bytes __attribute__((ext_vector_type(16)));

/* The filter itself, in two steps: the levels of pixels, and the colour of a level, which is a look into the
 * palette. */
inline bytes levels_of(pixels value)
{
#if HONE_T == 0
    return value;
#elif HONE_T == 1
    return __builtin_convertvector((__builtin_convertvector(value, words) * 255u + 32895u) >> 16u, bytes);
#elif HONE_T == 3
    words from_least = __builtin_convertvector(value, words) + 32768u; /* modulo 2^32 */
    return __builtin_convertvector((from_least * 255u + 32895u) >> 16u, bytes);
#else
    floats scaled = value * 255.0f;
    scaled = scaled > 0.0f ? scaled : 0.0f; /* NaN, too */
    scaled = scaled < 255.0f ? scaled : 255.0f;
    scaled += 8388608.0f; /* 2^23: what is added to it is rounded to a whole number, to nearest even */
    union {
        floats number;
        words bits;
    } both = {scaled};
    return __builtin_convertvector(both.bits, bytes);
#endif
}

/* Colours of pixels that are followed by another one, which may be written to. */
inline void paint(__global const uchar *levels, __global const uint *palette, __global uchar *out, int count)
{
#pragma unroll 8
    for (int i = 0; i < count; i++)
        *(__global word_at *)(out + 3 * i) = palette[levels[i]];
}

inline void paint_private(const uchar *levels, __global const uint *palette, __global uchar *out)
{
#pragma unroll 8
    for (int i = 0; i < AT_ONCE; i++)
        *(__global word_at *)(out + 3 * i) = palette[levels[i]];
}

inline void paint_one(PIXEL value, __global const uint *palette, __global uchar *out)
{
    uint color = palette[levels_of((pixels)value)[0]];
    out[0] = (uchar)color;
    out[1] = (uchar)(color >> 8);
    out[2] = (uchar)(color >> 16);
}

inline void paint_row(const struct source *source, int x, int y, __global const uint *palette,
                      __global uchar *out, int length)
{
    __global const PIXEL *in = source->at + y * source->pitch + x;
    int i = 0;
#if HONE_T == 0
    i = length - 1;
    paint(in, palette, out, i);
#else
    for (; i + AT_ONCE < length; i += AT_ONCE) {
        uchar levels[AT_ONCE];
        for (int k = 0; k < AT_ONCE; k += 16)
            *(bytes *)(levels + k) = levels_of(*(__global const pixels_at *)(in + i + k));
        paint_private(levels, palette, out + 3 * i);
    }
#endif
    for (; i < length; i++)
        paint_one(in[i], palette, out + 3 * i);
}

__kernel void colormap_vectors(__global const PIXEL *in, int in_offset, int in_pitch, __global uchar *out,
                               int out_offset, int out_pitch, __global const uint *palette, int width,
                               int height)
{
    struct source source = SOURCE_OF(in);
    const struct part p = part_of(LENGTH, ROWS, width, height);
    out += out_offset + 3 * p.x;
    if (p.length <= 0)
        return;
    for (int y = p.y; y < p.end; y++)
        paint_row(&source, p.x, y, palette, out + y * out_pitch, p.length);
}
