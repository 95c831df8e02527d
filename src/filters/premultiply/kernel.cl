/* SPDX-License-Identifier: BSD-2-Clause */
/* Colours times alpha, alpha as it is: each element is multiplied by a weight, the full range for alpha itself. */
#ifndef VECTORS
#define VECTORS 64 /* vectors of a row per work-item */
#endif
#ifndef ROWS
#define ROWS 1 /* rows per work-item */
#endif
#ifndef LANES
#define LANES 16 /* elements of a vector: 4 or 16 */
#endif

typedef VECTOR(PIXEL, LANES) pixels;
typedef VECTOR(RESULT, LANES) results;
typedef VECTOR(float, LANES) floats;
typedef VECTOR(int, LANES) ints;
typedef VECTOR(uint, LANES) uints;

#define CONVERT_(to, n) PASTE(PASTE(convert_, to), n)
#define CONVERT(to)     CONVERT_(to, LANES)

#if LANES == 16 && HONE_C == 4
#define SPREAD s33337777bbbbffff
#define ALPHAS s37bf
#elif LANES == 16
#define SPREAD s1133557799bbddff
#define ALPHAS s13579bdf
#elif HONE_C == 4
#define SPREAD s3333
#define ALPHAS s3
#else
#define SPREAD s1133
#define ALPHAS s13
#endif

/* What each element goes with: the alpha of its pixel, alpha itself with the full range. */
inline pixels weights(pixels v)
{
    pixels w = v.SPREAD;
#if FLOATING
    w.ALPHAS = 1.0f;
#else
    w.ALPHAS = (PIXEL)PIXEL_MAX;
#endif
    return w;
}

#if FLOATING
/* A share of 0..1 in the result's format. */
inline results finish(floats v)
{
#if HONE_OT == 2
    return v;
#else
    v *= (float)RESULT_MAX;
    v = v == v ? v : (floats)0;
    return CONVERT(RESULT)(CONVERT(int)(clamp(rint(v), (floats)0, (floats)(float)RESULT_MAX)));
#endif
}
#endif

/* v * w by the full range, as a share of the result's; whole numbers rounded half up. */
inline results combine(pixels v, pixels w)
{
#if FLOATING
    return finish(v * w);
#else
    uints product = CONVERT(uint)(v) * CONVERT(uint)(w);
#if HONE_OT == 2
    return CONVERT(float)(product) / ((float)PIXEL_MAX * PIXEL_MAX);
#elif HONE_OT == HONE_T
    const int bits = 8 * sizeof(PIXEL);
    product += 1u << (bits - 1); /* J. Blinn, "Three wrongs make a right", 1995: exact for all pairs */
    return CONVERT(RESULT)((product + (product >> bits)) >> bits);
#elif HONE_OT == 1
    return CONVERT(RESULT)(product + (2 * product + 127) / 255); /* 65535 / 255^2 is 1 + 2/255 */
#else
    return CONVERT(RESULT)(add_sat(product, (uints)8421247u) / 16842495u); /* 65535^2 / 255, and half of it */
#endif
#endif
}

inline results filtered(pixels v)
{
    return combine(v, weights(v));
}

#if defined(HONE_ALL) || defined(VARIANT_stretches)
/* The last elements of a row, fewer than a vector. */
inline void filter_few(__global const PIXEL *in, __global RESULT *out, int count)
{
    PIXEL before[LANES];
    RESULT after[LANES];
    for (int i = 0; i < LANES; i++)
        before[i] = i < count ? in[i] : (PIXEL)0;
    PASTE(vstore, LANES)(filtered(PASTE(vload, LANES)(0, before)), 0, after);
    for (int i = 0; i < count; i++)
        out[i] = after[i];
}

__kernel void premultiply_stretches(__global const PIXEL *restrict in, int in_offset, int in_pitch,
                      __global RESULT *restrict out, int out_offset, int out_pitch, int count, int height)
{
    int first = get_global_id(0) * (VECTORS * LANES), y = get_global_id(1) * ROWS;
    int end = min(first + VECTORS * LANES, count), rows = min(y + ROWS, height);
    for (; y < rows; y++) {
        __global const PIXEL *from = in + in_offset + y * in_pitch;
        __global RESULT *to = out + out_offset + y * out_pitch;
        int i = first;
        for (; i + LANES <= end; i += LANES)
            PASTE(vstore, LANES)(filtered(PASTE(vload, LANES)(0, from + i)), 0, to + i);
        if (i < end)
            filter_few(from + i, to + i, end - i);
    }
}
#endif

#if defined(HONE_ALL) || defined(VARIANT_quads)
/* Rows hold whole pixels: what is left of one of two channels is a single pixel. */
__kernel void premultiply_quads(__global const PIXEL *in, int in_offset, int in_pitch, __global RESULT *out,
                      int out_offset, int out_pitch, int count, int height)
{
    int i = get_global_id(0) * LANES, y = get_global_id(1) * ROWS, rows = min(y + ROWS, height);
    if (i >= count)
        return;
    in += in_offset + i;
    out += out_offset + i;
    for (; y < rows; y++) {
        __global const PIXEL *from = in + y * in_pitch;
        if (i + LANES <= count) {
            *(__global results *)(out + y * out_pitch) = filtered(*(__global const pixels *)from);
        } else {
            pixels v = 0;
            v.s0 = from[0];
            v.s1 = from[1];
            results r = filtered(v);
            out[y * out_pitch] = r.s0;
            out[y * out_pitch + 1] = r.s1;
        }
    }
}
#endif
