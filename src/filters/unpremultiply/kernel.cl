/* SPDX-License-Identifier: BSD-2-Clause */
/* Colours by alpha, alpha as it is. */
#define STRETCHES unpremultiply_stretches
#define QUADS     unpremultiply_quads
#define WORDS     unpremultiply_words
#define WEIGHT    struct divisor

struct divisor {
    uint16 alpha, value, rounding; /* as it is; at least 1; half of that */
    float16 reciprocal;
};

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

#if !FLOATING && HONE_OT == HONE_T && (defined(HONE_ALL) || defined(VARIANT_words))
inline struct divisor weigh(uint16 alpha)
{
    const uint16 value = max(alpha, (uint16)1u);
    return (struct divisor){alpha, value, value >> 1, 1.0f / convert_float16(as_int16(value))};
}

inline uint16 weighed(uint16 v, const struct divisor *by)
{
    const uint16 value = min(v, by->alpha), dividend = value * (uint)PIXEL_MAX + by->rounding;
#if HONE_T == 0
    /* The quotient lies at least 0.5 / 255 below the next whole number, and is off by 255 / 2^22 at most. */
    return as_uint16(convert_int16((convert_float16(as_int16(dividend)) + 0.5f) * by->reciprocal));
#else
    const float16 product = convert_float16(as_int16(value)) * (float)PIXEL_MAX;
    const int16 q = convert_int16(product * by->reciprocal + 0.5f); /* off by 1 at most */
    const int16 rest = as_int16(dividend - as_uint16(q) * by->value), past = as_int16(by->value);
    return as_uint16(q + (rest < 0 ? (int16)-1 : rest >= past ? (int16)1 : (int16)0));
#endif
}
#endif
