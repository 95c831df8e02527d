/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * For GPUs, small sigma, u16 and f32 of any number of channels: every weight, each sample read and written
 * about once.
 *
 * A work-item owns four neighbouring elements of a row (a pixel has HONE_C) and walks down: each row is added
 * with its weight to all results whose windows hold it, which are in registers; one of these is then
 * complete. LINES rows of those go into local memory, from which a work-item makes four neighbouring pixels
 * of TIMES rows, so that each value that it reads serves four results, while the next LINES rows are being
 * loaded. Results stand HALO pixels inside the strip of the work-group.
 *
 * Loops over elements and rows of the window are unrolled: their indices must be constants for the arrays to
 * live in registers.
 */
#ifndef LANES
#define LANES 64 /* work-items, and times four pixels, for each row of local memory */
#endif
#ifndef ROWS
#define ROWS 128 /* rows of results per work-group */
#endif
#ifndef TIMES
#define TIMES 1 /* rows at a time, per channel */
#endif
#ifndef RADIUS
#define RADIUS 7 /* the window reaches so far */
#endif

#include "filters/words.clh"

#define ITEMS (LANES * HONE_C)
#define LINES (TIMES * HONE_C)
#define WORDS (4 / WORD_PART) /* of four elements */
#define HALO  ((RADIUS + 3) / 4 * 4)
#define MADE  (4 * LANES - 2 * HALO) /* pixels across */
#define SPAN  (2 * RADIUS)
#define WARM  ((SPAN + LINES - 1) / LINES * LINES) /* rows before the first that completes a result */
#define SIDE  ((RADIUS * HONE_C + 3) / 4)          /* quads beside those of four pixels */

/* Where a quad of four elements stands in a line: with gaps that keep the quads that neighbours read at once
 * in different banks. `k` may be negative, down to -64 * HONE_C. */
#define GAPS(k)  (HONE_C % 2 ? 0 : ((k) + 64 * HONE_C) / HONE_C - 64)
#define PLACE(k) ((k) + GAPS(k))
#define LINE     PLACE(ITEMS)

#if WITH_PTX || defined(FP_FAST_FMAF)
#define ADD_PRODUCT(a, b, sum) fma(a, b, sum)
#else
#define ADD_PRODUCT(a, b, sum) ((a) * (b) + (sum))
#endif

/* Whether element k of four, the first of a pixel, is left out. */
#define LEFT_OUT(k) (HONE_ALPHA && (k) % 4 == 3)

struct strip {
    __global const PIXEL *in;
    int pitch, width, height;
    BORDER_TYPE border;
    int at[4];   /* the work-item's elements, as the border rule has them; below 0: none */
    bool inside; /* they are neighbours */
};

/* From element i of a row on. */
inline void find_four(struct strip *s, int i)
{
    s->inside = i >= 0 && i + 4 <= s->width * HONE_C;
#pragma unroll
    for (int k = 0; k < 4; k++) {
        int channel = (i + k + 64 * HONE_C) % HONE_C, x = (i + k + 64 * HONE_C) / HONE_C - 64;
        int at = hone_fold(x, s->width);
        s->at[k] = at < 0 ? -1 : at * HONE_C + channel;
    }
}

struct weights {
    float of[RADIUS + 1];
};

inline void load_four(uint *w, const struct strip *s, int y)
{
    int inside;
    __global const PIXEL *row = hone_row(s->in, s->pitch, y, s->height, &inside);
    if (s->inside) {
        load_words(w, row + s->at[0], WORDS);
    } else {
        uint bits[4];
#pragma unroll
        for (int k = 0; k < 4; k++) {
            NUMBER value = row[max(s->at[k], 0)];
            bits[k] = BITS_OF(REAL_ROW(s->at[k] >= 0) ? value : s->border);
        }
#pragma unroll
        for (int k = 0; k < WORDS; k++)
            w[k] = FLOATING ? bits[k] : bits[4 / WORDS * k] | bits[4 / WORDS * k + 1] << 16;
    }
#pragma unroll
    for (int k = 0; k < WORDS; k++)
        w[k] = REAL_ROW(inside) ? w[k] : outside_word(s->border);
}

inline float number(const uint *w, int k)
{
#if FLOATING
    return as_float(w[k]);
#else
    return as_float(0x4b000000u | (k & 1 ? w[k / 2] >> 16 : w[k / 2] & 0xffffu)) - 8388608.0f;
#endif
}

/* Adds a row to all results that it belongs to: sums[j] lack j + 1 rows. Gives those of 0, complete. */
inline float4 add_row(float sums[SPAN][4], const uint *w, const struct weights *weights)
{
    float done[4] = {0, 0, 0, 0};
#pragma unroll
    for (int p = 0; p < 4; p++) {
        if (LEFT_OUT(p))
            continue;
        float value = number(w, p);
        done[p] = ADD_PRODUCT(value, weights->of[RADIUS], sums[0][p]);
#pragma unroll
        for (int j = 0; j < SPAN; j++) {
            float weight = weights->of[RADIUS - 1 - j >= 0 ? RADIUS - 1 - j : j + 1 - RADIUS];
            sums[j][p] =
                j + 1 < SPAN ? ADD_PRODUCT(value, weight, sums[j + 1 < SPAN ? j + 1 : j][p]) : value * weight;
        }
    }
    return (float4)(done[0], done[1], done[2], done[3]);
}

/* Four pixels of a line; `quads`: the first of theirs. */
inline void sum_across(float *sums, __local const float4 *quads, const struct weights *weights)
{
#pragma unroll
    for (int i = 0; i < 4 * HONE_C; i++)
        sums[i] = 0;
#pragma unroll
    for (int k = -SIDE; k < HONE_C + SIDE; k++) {
        float4 four = quads[PLACE(k)];
        float value[4] = {four.x, four.y, four.z, four.w};
#pragma unroll
        for (int e = 0; e < 4; e++) {
            int element = 4 * k + e + 64 * HONE_C, channel = element % HONE_C, x = element / HONE_C - 64;
            if (IS_ALPHA(channel))
                continue;
#pragma unroll
            for (int p = 0; p < 4; p++) {
                int i = x < p ? p - x : x - p;
                if (i <= RADIUS)
                    sums[p * HONE_C + channel] =
                        ADD_PRODUCT(value[e], weights->of[min(i, RADIUS)], sums[p * HONE_C + channel]);
            }
        }
    }
}

inline uint result_word(const float *v)
{
#if FLOATING
    return as_uint(v[0]);
#else
    return (as_uint(v[0] + 12582912.0f) & 0xffffu) | as_uint(v[1] + 12582912.0f) << 16;
#endif
}

/* Four pixels from pixel x of row y on. */
inline void store_pixels(const float *v, const uint *centres, const struct strip *s, __global RESULT *out,
                         int x, int y, int reach)
{
    uint word[WORDS * HONE_C];
    int left = s->width - x, side = 2 * reach + 1;
#pragma unroll
    for (int k = 0; k < WORDS * HONE_C; k++)
        word[k] = result_word(v + WORD_PART * k);
    clear_leaving(word, WORDS * HONE_C, x * HONE_C, y, side, side, s->width, s->height);
#pragma unroll
    for (int k = 0; k < WORDS * HONE_C; k++)
        word[k] = copy_alpha(word[k], centres[k], k);
    if (left >= 4) {
#pragma unroll
        for (int q = 0; q < HONE_C; q++)
#if FLOATING
            *(__global uint4 *)(out + 4 * q) =
                (uint4)(word[4 * q], word[4 * q + 1], word[4 * q + 2], word[4 * q + 3]);
#else
            *(__global uint2 *)(out + 4 * q) = (uint2)(word[2 * q], word[2 * q + 1]);
#endif
        return;
    }
#pragma unroll
    for (int k = 0; k < 4 * HONE_C; k++)
        if (k < left * HONE_C)
#if FLOATING
            out[k] = as_float(word[k]);
#else
            out[k] = (RESULT)(word[k / 2] >> 16 * (k % 2));
#endif
}

__kernel __attribute__((reqd_work_group_size(ITEMS, 1, 1))) void
gaussian_columns(__global const PIXEL *in, int in_offset, int in_pitch, __global RESULT *out, int out_offset,
                 int out_pitch, int width, int height, BORDER_TYPE border, __constant const float *table,
                 int reach)
{
    __local float4 lines[2][LINES][LINE];
    int item = get_local_id(0), left = get_group_id(0) * MADE, first = get_group_id(1) * ROWS;
    int end = min(first + ROWS, height), lane = item % LANES, line = item / LANES, x = left + 4 * lane;
    struct strip s = {in + in_offset, in_pitch, width, height, border, {0}, false};
    find_four(&s, (left - HALO) * HONE_C + 4 * item);
    struct weights weights;
#pragma unroll
    for (int i = 0; i <= RADIUS; i++)
        weights.of[i] = table[i];
    float sums[SPAN][4];
    uint rows[LINES][WORDS];
#pragma unroll
    for (int k = 0; k < 4 * SPAN; k++)
        sums[k / 4][k % 4] = 0;
#pragma unroll
    for (int l = 0; l < LINES; l++)
        load_four(rows[l], &s, first - WARM + RADIUS + l);
    for (int y = first - WARM, turn = 0; y < end; y += LINES, turn ^= 1) {
#pragma unroll
        for (int l = 0; l < LINES; l++) {
            lines[turn][l][PLACE(item)] = add_row(sums, rows[l], &weights);
            load_four(rows[l], &s, y + LINES + RADIUS + l);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        if (y < first || 4 * lane >= MADE || x >= width)
            continue;
#pragma unroll 1
        for (int l = line; l < LINES && y + l < end; l += HONE_C) {
            float made[4 * HONE_C];
            uint centres[WORDS * HONE_C] = {0};
            load_alphas(centres, s.in + (y + l) * s.pitch, x * HONE_C, (s.width - x) * HONE_C, s.width,
                        WORDS * HONE_C);
            sum_across(made, lines[turn][l] + PLACE((HALO / 4 + lane) * HONE_C), &weights);
            store_pixels(made, centres, &s, out + out_offset + (y + l) * out_pitch + x * HONE_C, x, y + l,
                         reach);
        }
    }
}
