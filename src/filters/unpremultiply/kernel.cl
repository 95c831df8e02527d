/* SPDX-License-Identifier: BSD-2-Clause */
/* Colours by alpha, alpha as it is. */
#define STRETCHES     unpremultiply_stretches
#define QUADS         unpremultiply_quads
#define WORDS         unpremultiply_words
#define VECTOR_KERNEL unpremultiply_vectors
#define WEIGHT_MEMBERS                                                                                       \
    uints alpha, value, rounding; /* as it is; at least 1; half of that */                                   \
    floats reciprocal;
#include "filters/alpha.clh"

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

#ifdef IN_WORDS
inline floats floats_of(uints v)
{
    return CONVERT(float)(PASTE(as_int, LANES)(v));
}

/* Whole numbers of what is not negative. */
inline uints whole(floats v)
{
    return PASTE(as_uint, LANES)(CONVERT(int)(v));
}

inline struct weight weigh(uints alpha)
{
    const uints value = max(alpha, (uints)1u);
    return (struct weight){alpha, value, value >> 1, 1.0f / floats_of(value)};
}

inline uints weighed(uints v, const struct weight *by)
{
    const uints value = min(v, by->alpha), dividend = value * (uint)PIXEL_MAX + by->rounding;
#if HONE_T == 0
    /* The quotient lies at least 0.5 / 255 below the next whole number, and is off by 255 / 2^22 at most. */
    return whole((floats_of(dividend) + 0.5f) * by->reciprocal);
#else
    const uints q = whole(floats_of(value) * (float)PIXEL_MAX * by->reciprocal + 0.5f); /* off by 1 at most */
    const ints rest = PASTE(as_int, LANES)(dividend - q * by->value), past = PASTE(as_int, LANES)(by->value);
    return q + PASTE(as_uint, LANES)(rest < 0 ? (ints)-1 : rest >= past ? (ints)1 : (ints)0);
#endif
}
#endif
