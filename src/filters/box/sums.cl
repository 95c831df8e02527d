/* SPDX-License-Identifier: BSD-2-Clause */
/* For GPUs: means of windows of any size, from the sums of windows.clh or abreast.clh. */
#ifndef COLUMN_BITS
#define COLUMN_BITS 16 /* 16 where a column's sum always fits, else 32 */
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

/* Signed pixels 2^15 higher each, as unsigned ones. */
inline uint counted(uint word)
{
    return HONE_T == 3 ? word ^ 0x80008000u : word;
}

struct results {
    __global RESULT *at;
    int pitch;
    uint area, multiplier, shift;
    float inverse; /* 1 / area */
};

/* sum / area, integers rounded half up, in the lower bits of a word. */
inline uint mean(const struct results *to, SUM sum, float before)
{
#if FLOATING
    return as_uint((sum.x + sum.y) * to->inverse);
#elif FLOAT_SUMS
    /* 2^23 more makes whole numbers of quotients, rounded to the nearest. There is no tie: of an even area
     * the inverse is a little larger, less than would take anything else as far. */
    return as_uint(fma(as_float(sum) + before, to->inverse, 8388608.0f));
#elif WIDE_SUMS
    /* A quotient below 2^16 that is off by one at most tells how much remains. */
    uint quotient = (uint)((float)sum * to->inverse);
    int remains = (int)((uint)sum + to->area / 2 - quotient * to->area);
    quotient += remains < 0 ? -1 : remains >= (int)to->area;
    return HONE_T == 3 ? quotient - 32768 : quotient;
#else /* exact, see division_constants() */
    uint quotient = mul_hi(sum + to->area / 2, to->multiplier) >> to->shift;
    return HONE_T == 3 ? quotient - 32768 : quotient;
#endif
}

#define RESULT_WORDS (PX / WORD_PART)

#if FLOAT_SUMS
#define MEAN_OF(k) mean(to, sums[k], floats[(k) % HONE_C] - (float)(int)sum_excess(k))
#else
#define MEAN_OF(k) mean(to, sums[k], 0)
#endif
/* Alpha's sums are not wanted, and never made. */
#define MEAN(k) (IS_ALPHA((k) % HONE_C) ? 0 : MEAN_OF(k))

#if FLOATING
#define ELEMENT(words, k) as_float(words[k])
#else
#define ELEMENT(words, k) ((RESULT)((words)[(k) / WORD_PART] >> 8 * WORD_BYTES * ((k) % WORD_PART)))
#endif

inline void finish_windows(const struct tile *t, const struct results *to, const SUM *sums, const SUM *before,
                           const uint *centres, int i, int y, int left)
{
#if FLOAT_SUMS
    float floats[HONE_C];
#pragma unroll
    for (int c = 0; c < HONE_C; c++)
        floats[c] = (float)(int)before[c] - FIRST_FLOAT;
#endif
    uint words[RESULT_WORDS];
#pragma unroll
    for (int k = 0; k < RESULT_WORDS; k++) {
#if FLOATING
        words[k] = MEAN(k);
#elif HONE_T == 0
        words[k] = hone_pack(MEAN(4 * k), MEAN(4 * k + 1), MEAN(4 * k + 2), MEAN(4 * k + 3));
#else
        words[k] = LOW_SHORTS(MEAN(2 * k), MEAN(2 * k + 1));
#endif
    }
    clear_leaving(words, RESULT_WORDS, i, y, t->window_width, t->window_height, t->width, t->height);
#pragma unroll
    for (int k = 0; k < RESULT_WORDS; k++)
        words[k] = copy_alpha(words[k], centres[k], k);
    __global RESULT *at = to->at + y * to->pitch + i;
    if (left >= PX) {
        store_together(at, words, RESULT_WORDS);
    } else {
#pragma unroll
        for (int k = 0; k < PX; k++)
            if (k < left)
                at[k] = ELEMENT(words, k);
    }
}

#if FLOATING
inline void finish_odd(const struct tile *t, const struct results *to, const SUM *sums, int i, int y,
                       int left)
{
#pragma unroll
    for (int k = 0; k < PX; k++) {
        uint odd = (uint)sums[k].x + (uint)(int)sums[k].y;
        bool kept = IS_ALPHA((i + k) % HONE_C);
        if (HONE_BORDER == BORDER_ZERO_OUTSIDE)
            kept |= hone_leaves((i + k) / HONE_C - t->window_width / 2, y - t->window_height / 2,
                                t->window_width, t->window_height, t->width, t->height);
        if (k < left && odd && !kept)
            to->at[y * to->pitch + i + k] = odd_sum(odd);
    }
}
#endif

__kernel __attribute__((GROUP_SIZE(WG_X, TEAMS))) void
box_sums(__global const PIXEL *in, int in_offset, int in_pitch, __global RESULT *out, int out_offset,
         int out_pitch, __local uint4 *part, int width, int height, int window_width, int window_height,
         BORDER_TYPE border, int tile, int rows, uint area, uint multiplier, uint shift ABOVE_PARAMETERS)
{
    float inverse = 1.0f / (float)area; /* which may be off by 2.5 last places; once more, and it is exact */
    inverse = fma(inverse, fma(-(float)area, inverse, 1.0f), inverse);
#if FLOAT_SUMS
    inverse *= area & 1 ? 1.0f : 1.0f + 0x1p-22f;
#endif
    const struct results to = {out + out_offset, out_pitch, area, multiplier, shift - 32, inverse};
    slide_tile(&to, part, in + in_offset, in_pitch, width, height, window_width, window_height, border, tile,
               rows ABOVE_ARGUMENTS);
}

#if TALL
#define ABOVE_GROUP ABREAST_GROUP
#define CHUNK       ABREAST_CHUNK
#include "filters/above.clh"

__kernel __attribute__((reqd_work_group_size(ABOVE_GROUP, 1, 1))) void
box_above(__global const PIXEL *in, int in_offset, int in_pitch, __global uint *above, int stride, int rows,
          int bands, int elements, int height, __local uint *area)
{
    const struct above_bands b = {rows, bands, height};
    above_chunk(above, stride, area, in + in_offset, in_pitch, get_group_id(0), elements, &b,
                get_local_id(0));
}
#endif
