/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * For CPUs: 64-byte vectors of clang's own types. A work-item takes a stretch of some rows, long enough that
 * the hardware fetches ahead, and many enough work-groups remain for all cores.
 */
#ifndef VECTORS
#define VECTORS 1024 /* vectors of a row per work-item */
#endif
#ifndef ROWS
#define ROWS 16 /* rows per work-item */
#endif
#ifndef STREAM
#define STREAM 1 /* 1: results go past the caches */
#endif

enum { LANES = 64 / sizeof(PIXEL) };

#include "filters/vectors.clh"

typedef PIXEL pixels __attribute__((ext_vector_type(64 / sizeof(PIXEL))));
typedef ushort words __attribute__((ext_vector_type(32)));
typedef pixels pixels_at __attribute__((aligned(sizeof(PIXEL))));

#define LOAD(p) (*(__global const pixels_at *)(p))

/*
 * The filter itself. Unsigned sums that wrapped are smaller than their terms; compilers turn this into one
 * instruction. Signed ones, which wrap as unsigned only, have another sign than both terms.
 */
inline pixels add_pixels(pixels a, pixels b)
{
#if FLOATING
    return a + b;
#elif HONE_T == 3
    pixels sum = __builtin_astype(__builtin_astype(a, words) + __builtin_astype(b, words), pixels);
    pixels most = (a >> (pixels)(PIXEL)15) ^ (pixels)(PIXEL)PIXEL_MAX;
    return ((a ^ sum) & (b ^ sum)) < (pixels)(PIXEL)0 ? most : sum;
#else
    pixels sum = a + b;
    return sum < a ? (pixels)(PIXEL)PIXEL_MAX : sum;
#endif
}

inline PIXEL add_pixel(PIXEL a, PIXEL b)
{
#if FLOATING
    return a + b;
#else
    return add_sat(a, b);
#endif
}

inline void add_row(const struct source *source, __global const PIXEL *second, const struct sink *sink, int i,
                    int y, int count)
{
    __global const PIXEL *a = source->at + y * source->pitch;
    __global RESULT *out = sink->at + y * sink->pitch;
    int end = i + count, before = i + min(count, BEFORE(out + i, 64));
    for (; i < before; i++)
        out[i] = add_pixel(a[i], second[i]);
    for (; i + LANES <= end; i += LANES)
        STORE(out + i, add_pixels(LOAD(a + i), LOAD(second + i)), pixels);
    for (; i < end; i++)
        out[i] = add_pixel(a[i], second[i]);
}

__kernel void add_vectors(__global const PIXEL *in, int in_offset, int in_pitch, __global const PIXEL *second,
                          int second_offset, int second_pitch, __global RESULT *out, int out_offset,
                          int out_pitch, int count, int height)
{
    struct source source = SOURCE_OF(in);
    struct sink sink = SINK_OF(out);
    int i = get_global_id(0) * (VECTORS * LANES), y = get_global_id(1) * ROWS, end = min(y + ROWS, height);
    int length = min(count - i, VECTORS * LANES);
    if (length <= 0)
        return;
    /* Rows without a gap are one: what lies before and behind whole lines of the cache is stored apart. */
    if (length == in_pitch && length == second_pitch && length == out_pitch) {
        length *= end - y;
        end = y + 1;
    }
    for (; y < end; y++)
        add_row(&source, second + second_offset + y * second_pitch, &sink, i, y, length);
}
