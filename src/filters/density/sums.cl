/* SPDX-License-Identifier: BSD-2-Clause */
/* For GPUs: sums and marks of windows of any size, from the sums of windows.clh or abreast.clh. */
#ifndef COLUMN_BITS
#define COLUMN_BITS 16 /* 16 where a column's sum always fits, else 32 */
#endif
#ifndef MASK
#define MASK 0 /* 1: a pixel that is not 0 counts 1 */
#endif

#ifndef ABREAST
#define ABREAST 0 /* 1: the sums of integers from abreast.clh */
#endif

#if ABREAST
#include "filters/abreast.clh"
#else
#define TEAMS 1 /* tiles of a work-group */
#include "filters/windows.clh"
#endif

inline uint counted(uint word)
{
#if MASK && HONE_T == 0
    return (((word & 0x7f7f7f7fu) + 0x7f7f7f7fu) | word) >> 7 & 0x01010101u;
#elif MASK
    return (((word & 0x7fff7fffu) + 0x7fff7fffu) | word) >> 15 & 0x00010001u;
#else
    return word;
#endif
}

struct results {
    __global RESULT *at;
    int pitch;
    uint least;
};

/* Alpha is copied; that of u16 beside marks is as much of 255 as it was of 65535, to the nearest. */
inline uint copied(PIXEL alpha)
{
    return HONE_OT < HONE_T ? ((uint)alpha + 128) / 257 : alpha;
}

/* The result of element i: the sum, or a mark, where it is at least `least` and the border rule allows it. */
inline uint dense(const struct tile *t, const struct results *to, uint sum, PIXEL centre, int i, int y,
                  int channel)
{
    if (IS_ALPHA(channel))
        return copied(centre);
#if HONE_BORDER == BORDER_ZERO_OUTSIDE
    if (hone_leaves(i / HONE_C - t->window_width / 2, y - t->window_height / 2, t->window_width,
                    t->window_height, t->width, t->height))
        return 0;
#endif
    return sum < to->least ? 0 : HONE_OT == 0 ? 255 : sum;
}

#define RESULT_WORDS (PX * (HONE_OT == 0 ? 1 : HONE_OT == 1 ? 2 : 4) / 4)

inline void finish_windows(const struct tile *t, const struct results *to, const SUM *sums, const SUM *before,
                           const uint *centres, int i, int y, int left)
{
    __global RESULT *at = to->at + y * to->pitch + i;
    uint results[PX];
#pragma unroll
    for (int k = 0; k < PX; k++)
        results[k] =
            dense(t, to, sums[k], (PIXEL)(centres[k / WORD_PART] >> 8 * WORD_BYTES * (k % WORD_PART)), i + k,
                  y, k % HONE_C);
    if (left >= PX) {
        uint words[RESULT_WORDS];
#pragma unroll
        for (int k = 0; k < RESULT_WORDS; k++) {
#if HONE_OT == 0
            const uint *r = results + 4 * k;
            words[k] = hone_pack(r[0], r[1], r[2], r[3]);
#elif HONE_OT == 1
            words[k] = LOW_SHORTS(results[2 * k], results[2 * k + 1]);
#else
            words[k] = results[k];
#endif
        }
        store_together(at, words, RESULT_WORDS);
    } else {
#pragma unroll
        for (int k = 0; k < PX; k++)
            if (k < left)
                at[k] = (RESULT)results[k];
    }
}

__kernel __attribute__((GROUP_SIZE(WG_X, TEAMS))) void
density_sums(__global const PIXEL *in, int in_offset, int in_pitch, __global RESULT *out, int out_offset,
             int out_pitch, __local uint4 *part, int width, int height, int size, int border, int tile,
             int rows, uint least ABOVE_PARAMETERS)
{
    const struct results to = {out + out_offset, out_pitch, least};
    slide_tile(&to, part, in + in_offset, in_pitch, width, height, size, size, border, tile,
               rows ABOVE_ARGUMENTS);
}

#if TALL
#define ABOVE_GROUP ABREAST_GROUP
#define CHUNK       ABREAST_CHUNK
#include "filters/above.clh"

__kernel __attribute__((reqd_work_group_size(ABOVE_GROUP, 1, 1))) void
density_above(__global const PIXEL *in, int in_offset, int in_pitch, __global uint *above, int stride,
              int rows, int bands, int elements, int height, __local uint *area)
{
    const struct above_bands b = {rows, bands, height};
    above_chunk(above, stride, area, in + in_offset, in_pitch, get_group_id(0), elements, &b,
                get_local_id(0));
}
#endif
