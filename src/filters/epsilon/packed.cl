/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * For GPUs: a work-item makes a block of PX x ROWS results of one channel. Each row that their windows see is
 * loaded once, as words of one, two or four samples of that channel, and serves all rows of results that it
 * belongs to.
 *
 * How neighbours are compared and summed, one file for each variant says: sums of a row of results, what a
 * row gives to all of them, and their five functions clear(), prepare(), begin(), add_row() and finish().
 */
#ifndef PX
#define PX 8 /* results per work-item, across */
#endif
#ifndef ROWS
#define ROWS 4 /* and down */
#endif
#ifndef RADIUS
#define RADIUS 4 /* of the window */
#endif
#ifndef HIGH
#define HIGH 0 /* 1: the threshold is 128 or more */
#endif
#ifndef FLUSH
#define FLUSH 0 /* neighbours whose sum fits a half; 0: all */
#endif
#ifndef WITH_DPX
#define WITH_DPX 0 /* 1: the compiler takes NVIDIA's instructions for two numbers of 16 bits */
#endif
#define SIDE    (2 * RADIUS + 1)
#define PART    (4 / (int)sizeof(PIXEL))     /* samples of a word */
#define EDGE    ((RADIUS + PART - 1) / PART) /* words left and right of the block */
#define WORDS   (PX / PART)
#define ALL     (WORDS + 2 * EDGE)
#define FIRST   (PART * EDGE - RADIUS)    /* where the first window begins in a row */
#define COLOURS (HONE_ALPHA ? 3 : HONE_C) /* channels that are filtered */

#include "filters/planes.clh"

/* One of a word's samples. */
#if FLOATING
#define LIMITS             float
#define SAMPLE_OF(word, i) as_float(word)
#else
#define LIMITS             uint
#define SAMPLE_OF(word, i) ((PIXEL)((word) >> WORD_BITS * (i)))
#endif

struct block {
    __global const PIXEL *in;
    int pitch, width, height;
    BORDER_TYPE border;
    int at; /* the block's first column */
    struct plane plane;
};

/* Whether all that the block's windows see lies inside the image. */
inline bool inside_image(const struct block *b, int y, int rows)
{
    int from = b->at - PART * EDGE;
    return from >= 0 && from + PART * ALL <= b->width && y >= RADIUS && y + rows + RADIUS <= b->height;
}

inline void load_row(uint *w, const struct block *b, int y, bool plain)
{
    int inside, from = b->at - PART * EDGE;
    if (plain) {
        __global const uint *at = (__global const uint *)(b->in + y * b->pitch + from * HONE_C);
#pragma unroll
        for (int k = 0; k < ALL; k++)
            w[k] = plane_word(at + HONE_C * k, &b->plane);
        return;
    }
    __global const PIXEL *row = hone_row(b->in, b->pitch, y, b->height, &inside);
#pragma unroll
    for (int k = 0; k < ALL; k++)
        w[k] = edge_plane_word(row, inside, from + PART * k, b->plane.channel, b->width, b->border);
}

/* The centres of a row of results; beyond the image, where nothing is stored, its last pixel. */
inline void load_centres(uint *pixel, const struct block *b, int y)
{
    __global const PIXEL *row = b->in + min(y, b->height - 1) * b->pitch + b->plane.channel;
#pragma unroll
    for (int k = 0; k < PX; k++)
        pixel[k] = BITS_OF(row[min(b->at + k, b->width - 1) * HONE_C]);
}

/* Words beyond the last hold only lanes that do not count. */
#define WORD(w, q) ((q) < ALL ? (w)[(q) < ALL ? (q) : 0] : 0u)

/*
 * The nearest whole number, halves upwards, of sum / count for |sum / count| < 256 and counts up to 961: what
 * is no half is at least 1/1922 away from one, and the quotient is off by less than 1/8192.
 */
inline float rounded(float sum, float count)
{
#if WITH_PTX
    float reciprocal = native_recip(count); /* 1 ulp there */
#else
    float reciprocal = 1.0f / count;
#endif
    return floor(sum * reciprocal + (0.5f + 1.0f / 4096));
}

/* `out` is where the block's first pixel goes. */
inline void store_row(__global PIXEL *out, const struct block *b, int y, uint *result)
{
    int left = b->width - b->at;
#if HONE_C == 1
    clear_leaving(result, WORDS, b->at, y, SIDE, SIDE, b->width, b->height);
#pragma unroll
    for (int k = 0; k < WORDS; k++) {
        if (PART * k + PART <= left)
            *(__global uint *)(out + PART * k) = result[k];
        else
            for (int i = 0; i < left - PART * k; i++)
                out[PART * k + i] = SAMPLE_OF(result[k], i);
    }
#else
#pragma unroll
    for (int k = 0; k < PX; k++) {
        bool nothing = HONE_BORDER == BORDER_ZERO_OUTSIDE &&
                       hone_leaves(b->at + k - RADIUS, y - RADIUS, SIDE, SIDE, b->width, b->height);
        if (k < left)
            out[k * HONE_C + b->plane.channel] = nothing ? (PIXEL)0 : SAMPLE_OF(result[k / PART], k % PART);
    }
#endif
#if HONE_ALPHA /* which the work-items of the three colours copy by turns */
    __global const PIXEL *row = b->in + y * b->pitch + b->at * HONE_C;
    for (int k = b->plane.channel; k < min(left, PX); k += COLOURS)
        out[k * HONE_C + 3] = row[k * HONE_C + 3];
#endif
}

#if HONE_T == 0 && !defined(VARIANT_halves)
#include "filters/epsilon/bytes.clh"
#elif HONE_T == 0
#include "filters/epsilon/halves.clh"
#elif HONE_T == 1
#include "filters/epsilon/shorts.clh"
#else
#include "filters/epsilon/floats.clh"
#endif

/* A work-item makes the results of one channel. `limits`: of bytes what is added to distances, in each byte;
 * of halves the threshold + 1 as two numbers; of others the threshold. */
__kernel void KERNEL(__global const PIXEL *in, int in_offset, int in_pitch, __global PIXEL *out,
                     int out_offset, int out_pitch, int width, int height, BORDER_TYPE border, LIMITS limits)
{
    int item = get_global_id(0);
    struct block b = {in + in_offset,          in_pitch, width, height, border, item / COLOURS * PX,
                      plane_of(item % COLOURS)};
    int y = get_global_id(1) * ROWS;
    if (b.at >= width || y >= height)
        return;
    struct sums s[ROWS];
    struct row r;
    uint result[WORDS];
    bool plain = inside_image(&b, y, ROWS);
#pragma unroll
    for (int q = 0; q < ROWS; q++) {
        uint pixel[PX];
        load_centres(pixel, &b, y + q);
        begin(&s[q], pixel, limits);
    }
    clear(&r);
#pragma unroll 1
    for (int j = 0; j < SIDE + ROWS - 1; j++) {
        load_row(r.w, &b, y + j - RADIUS, plain);
        prepare(&r);
#pragma unroll
        for (int q = 0; q < ROWS; q++)
            if ((uint)(j - q) < SIDE)
                add_row(&s[q], &r, j - q, limits);
    }
    out += out_offset + y * out_pitch + b.at * HONE_C;
#pragma unroll
    for (int q = 0; q < ROWS; q++)
        if (y + q < height) {
            finish(result, &s[q]);
            store_row(out + q * out_pitch, &b, y + q, result);
        }
}
