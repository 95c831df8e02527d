/* SPDX-License-Identifier: BSD-2-Clause */
/* Colours by alpha, alpha as it is. */
#define STRETCHES unpremultiply_stretches
#define QUADS     unpremultiply_quads
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
