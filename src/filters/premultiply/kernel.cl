/* SPDX-License-Identifier: BSD-2-Clause */
/* Colours times alpha, alpha as it is. */
#define STRETCHES      premultiply_stretches
#define QUADS          premultiply_quads
#define WORDS          premultiply_words
#define VECTOR_KERNEL  premultiply_vectors
#define WEIGHT_MEMBERS uints alpha;
#include "filters/alpha.clh"

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

#ifdef IN_WORDS
inline struct weight weigh(uints alpha)
{
    return (struct weight){alpha};
}

/* As above. */
inline uints weighed(uints v, const struct weight *by)
{
    const uint bits = 8 * sizeof(PIXEL);
    uints product = v * by->alpha + (1u << (bits - 1));
    return (product + (product >> bits)) >> bits;
}
#endif
