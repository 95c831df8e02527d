/* SPDX-License-Identifier: BSD-2-Clause */
/* Colours by alpha, alpha as it is: each element is divided by a weight, the full range for alpha itself. */
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

#if FLOATING
/* Rounded once: devices may miss the quotient by 2.5 ulp. */
inline floats divide(floats v, floats w)
{
    floats q = v / w, better = q + fma(-q, w, v) / w;
    q = isfinite(better) ? better : q;
    return w == (floats)0 ? (floats)0 : q;
}
#endif

/* v / w as a share of the result's full range; whole numbers rounded half up, at most that range. */
inline results combine(pixels v, pixels w)
{
#if FLOATING
    return finish(divide(v, w));
#else
    uints divisor = max(CONVERT(uint)(w), (uints)1), value = CONVERT(uint)(min(v, w));
#if HONE_OT == 2
    return CONVERT(float)(value) / CONVERT(float)(divisor);
#else
    uints dividend = value * (uint)RESULT_MAX + (divisor >> 1);
    uints q = CONVERT(uint)(CONVERT(float)(dividend) / CONVERT(float)(divisor)); /* off by 1 at most */
    ints rest = PASTE(as_int, LANES)(dividend - q * divisor), past = CONVERT(int)(divisor);
    return CONVERT(RESULT)(CONVERT(int)(q) + (rest < 0 ? (ints)-1 : rest >= past ? (ints)1 : (ints)0));
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

__kernel void unpremultiply_stretches(__global const PIXEL *restrict in, int in_offset, int in_pitch,
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
__kernel void unpremultiply_quads(__global const PIXEL *in, int in_offset, int in_pitch, __global RESULT *out,
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
