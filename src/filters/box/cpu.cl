/* SPDX-License-Identifier: BSD-2-Clause */
/* For CPUs: means of integers from the sums of windows of slides.clh. */
#ifndef FLOAT_MEANS
#define FLOAT_MEANS 0 /* 1: sums are divided as floats, which box's description says when is exact */
#endif
#ifndef WRAPPED
#define WRAPPED 0 /* 1: sums wrap around: what they lack is known from the row above */
#endif
#define STARTED   WRAPPED

#define COPIED(v) (v)
#include "filters/slides.clh"

/* Signed pixels are divided 2^15 higher each, as unsigned ones: the host adds that to half_area. */
#define LOWEST (HONE_T == 3 ? 32768 : 0)

DEFINE_VECTORS(uint, words);
DEFINE_VECTORS(int, ints);
DEFINE_VECTORS(float, floats);
#if SUM_BITS == 32
typedef ulong longs __attribute__((ext_vector_type(LANES / 2))); /* of as many bytes as sums */
#endif

struct finish {
    uint half_area, multiplier, shift;
    float inverse;
#if WRAPPED
    SUM area, reach;        /* a mean is at most `reach` less than the one above it */
    __global RESULT *means; /* of the row above */
#endif
};

#if WRAPPED
#if SUM_BITS == 16
#define WHOLE_SUM uint
#else
#define WHOLE_SUM ulong
#endif

/* The means of a band's first row, to the nearest but one. */
inline void start(__global const COLUMN *columns, int count, int left, int right, const struct finish *how)
{
    for (int channel = 0; channel < HONE_C - HONE_ALPHA; channel++) {
        WHOLE_SUM sum = 0;
        for (int i = -left; i < right; i++)
            sum += columns[i * HONE_C + channel];
        for (int i = channel; i < count; i += HONE_C) {
            sum += columns[i + right * HONE_C];
            how->means[i] = (RESULT)(sum * how->inverse);
            sum -= columns[i - left * HONE_C];
        }
    }
}
#endif

#if HONE_ALPHA
inline results with_alpha(results r, __global const PIXEL *pixels)
{
    return WITH_ALPHA(r, *(__global const sum_pixels_at *)pixels);
}
#endif

/* Upper halves of products of 64 bits. */
#define HIGH_OF(i)   ((i) % 2 ? LANES + (i) : (i) + 1)
#define EVEN_AND_ODD L_ALL(HIGH_OF)

/* v * how->multiplier / 2^how->shift. The host chose 16 <= shift, so that the upper half of the product is
 * all that is needed. */
#if SUM_BITS == 16
inline sums divided(sums v, const struct finish *how)
{
    words product = CONVERT(v, words) * CONVERT((sums)(ushort)how->multiplier, words);
    return CONVERT(product >> 16u, sums) >> (ushort)(how->shift - 16);
}
#else
/* Even lanes and odd ones apart; and 32 <= shift. */
inline sums divided(sums v, const struct finish *how)
{
    longs both = __builtin_astype(v, longs);
    sums even = __builtin_astype((both & (ulong)UINT_MAX) * (ulong)how->multiplier, sums);
    sums odd = __builtin_astype((both >> 32ul) * (ulong)how->multiplier, sums);
    return __builtin_shufflevector(even, odd, EVEN_AND_ODD) >> (how->shift - 32);
}
#endif

/* sum / area, rounded half up: exact, see division_constants(). */
inline results finish(sums v, int i, const struct finish *how)
{
#if WRAPPED
    /* What the sum has beyond the window's area times the mean above fits, `reach` areas added. */
    __global results_at *means = (__global results_at *)(how->means + i);
    sums least = CONVERT(*means, sums) - how->reach;
    results r = CONVERT(least + divided(v - least * how->area + (SUM)how->half_area, how), results);
    *means = r;
    return r;
#elif FLOAT_MEANS
    /* 2^23 more makes whole numbers of quotients, rounded to the nearest, in the lower bits. */
    floats quotient = CONVERT(__builtin_astype(v, ints), floats) * how->inverse + 8388608.0f;
    return CONVERT(__builtin_astype(quotient, words), results);
#else
    return CONVERT(divided(v + (SUM)how->half_area, how) - (SUM)LOWEST, results);
#endif
}

__kernel void box_bands(__global const PIXEL *in, int in_offset, int in_pitch, __global RESULT *out,
                        int out_offset, int out_pitch, int width, int height, int kernel_width,
                        int kernel_height, BORDER_TYPE border, uint half_area, uint multiplier, uint shift,
                        float inverse, int rows, __global COLUMN *scratch, int scratch_elements,
                        __global RESULT *means)
{
    int band = get_global_id(0), y = band * rows;
    if (y >= height)
        return;
    const struct sliding s = {in + in_offset, out + out_offset, in_pitch,      out_pitch, width,
                              height,         kernel_width,     kernel_height, border};
    struct finish how = {
        .half_area = half_area, .multiplier = multiplier, .shift = shift, .inverse = inverse};
#if WRAPPED
    how.area = kernel_width * kernel_height;
    how.reach = (RESULT_MAX - 1 + kernel_height) / kernel_height;
    how.means = means + (size_t)band * (width * HONE_C + 64); /* and a vector more */
#endif
    slide(&s, &how, y, min(y + rows, height), scratch + (size_t)band * scratch_elements, scratch_elements);
}
