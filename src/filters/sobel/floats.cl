/* SPDX-License-Identifier: BSD-2-Clause */
/* For GPUs, u16 and f32: strips of words whose elements are computed with as floats, which hold the gradients
 * of 16 bits exactly. */
#ifndef NORM
#define NORM 1 /* of the magnitude: 0 L2, 1 L1 */
#endif

#include "filters/sobel/roots.clh"
#include "filters/wordstrips.clh"

#define COLUMNS (STRIP + 2 * HONE_C)

struct terms {
    float difference[STRIP], smooth[STRIP]; /* right - left; left + 2 centre + right */
};

/* Element i of the strip as a number. */
inline float number_at(const uint *w, int i)
{
    int at = i + SIDE * WORD_PART;
#if FLOATING
    return as_float(w[at]);
#elif WITH_PTX
    return as_float(hone_bytes(w[at / 2], 0x4b000000u, at % 2 ? 0x7432u : 0x7410u)) - TWO_23;
#else
    return float_of(at % 2 ? w[at / 2] >> 16 : w[at / 2] & 0xffffu);
#endif
}

inline void terms_of(struct terms *t, const uint *w)
{
    float x[COLUMNS];
#pragma unroll
    for (int k = 0; k < COLUMNS; k++)
        x[k] = number_at(w, k - HONE_C);
#pragma unroll
    for (int k = 0; k < STRIP; k++) {
        t->difference[k] = x[k + 2 * HONE_C] - x[k];
        t->smooth[k] = mad(2.0f, x[k + HONE_C], x[k] + x[k + 2 * HONE_C]);
    }
}

/* The magnitude in the lowest bits of a word. */
inline uint magnitude(float dx, float dy)
{
#if FLOATING
    return as_uint(NORM == 1 ? fabs(dx) + fabs(dy) : sqrt(dx * dx + dy * dy));
#elif NORM == 1
    return as_uint(fmin(fabs(dx) + fabs(dy), 65535.0f) + TWO_23) & 0xffffu;
#else
    return short_root(dx, dy);
#endif
}

inline void combine(uint *result, const struct terms *above, const struct terms *now,
                    const struct terms *below)
{
    uint r[STRIP];
#pragma unroll
    for (int k = 0; k < STRIP; k++)
        r[k] = magnitude(mad(2.0f, now->difference[k], above->difference[k] + below->difference[k]),
                         below->smooth[k] - above->smooth[k]);
#pragma unroll
    for (int k = 0; k < WORDS; k++)
#if FLOATING
        result[k] = r[k];
#else
        result[k] = LOW_SHORTS(r[2 * k], r[2 * k + 1]);
#endif
}

#include "filters/sobel/walk.clh"

__kernel void sobel_floats(__global const PIXEL *in, int in_offset, int in_pitch, __global FINAL *out,
                           int out_offset, int out_pitch, int width, int height,
                           BORDER_TYPE border FUSED_PARAMETERS)
{
    struct sink sink = SINK_OF(out);
    walk(&sink, in + in_offset, in_pitch, width, height, border);
}
