/* SPDX-License-Identifier: BSD-2-Clause */
/* For CPUs: the sums of windows from slides.clh. */
/* Alpha of u16 beside marks: as much of 255 as it was of 65535, to the nearest. */
#if HONE_OT == 0 && HONE_T == 1
#define COPIED(v) (((v) + 128u) / 257u)
#else
#define COPIED(v) (v)
#endif

#include "filters/slides.clh"

#define MARKS (HONE_OT == 0) /* results of u8: sums never are */

#if HONE_ALPHA
#define ALPHA1 0, 0, 0, (RESULT)-1
#define ALPHA4 ALPHA1, ALPHA1, ALPHA1, ALPHA1
#if LANES == 32
#define ALPHA ALPHA4, ALPHA4
#else
#define ALPHA ALPHA4
#endif

DEFINE_VECTORS(uint, alphas);

/* The results with the pixels' alpha in every fourth lane. */
inline results with_alpha(results r, __global const PIXEL *pixels)
{
    const results alpha = {ALPHA};
    alphas copied = COPIED(CONVERT(*(__global const sum_pixels_at *)pixels, alphas));
    return (r & ~alpha) | (CONVERT(copied, results) & alpha);
}
#endif

struct finish {
    SUM least;
};

/* A comparison of vectors gives all bits where it holds: a mark. */
inline results finish(sums v, int i, const struct finish *how)
{
#if MARKS
    return CONVERT(v >= how->least, results);
#else
    return CONVERT(v >= how->least ? v : (sums)0, results);
#endif
}

__kernel void density_bands(__global const PIXEL *in, int in_offset, int in_pitch, __global RESULT *out,
                            int out_offset, int out_pitch, int width, int height, int size, int border,
                            uint least, int rows, __global COLUMN *scratch, int scratch_elements)
{
    int band = get_global_id(0), y = band * rows;
    if (y >= height)
        return;
    const struct sliding s = {
        in + in_offset, out + out_offset,           in_pitch, out_pitch, width, height, size,
        size,           MASK ? border != 0 : border};
    const struct finish how = {(SUM)least};
    slide(&s, &how, y, min(y + rows, height), scratch + (size_t)band * scratch_elements, scratch_elements);
}
