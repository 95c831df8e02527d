/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * For CPUs: a work-item owns a strip as wide as a 64-byte vector and walks it down; five plain operations per
 * vector of neighbours, without a comparison (whose masks cost more than arithmetic does). With hi = centre +
 * threshold and span = 2 * threshold (both saturated), e = hi - n wraps around for n above hi, so that n is
 * near exactly where e <= span. Then q = min(e, span + 1) is e for what is near and span + 1 for what is far,
 * and q - span, saturated at 0, is 1 for what is far:
 *
 *     mean = hi - (sum of q - (span + 1) * far) / (all - far)
 *
 * Sums of FLUSH neighbours fit the narrow type; then they are added to sums of twice the width, as pairs: S
 * takes both halves (low + high << bits), H the high ones, and low = S - (H << bits) in the end.
 */
#ifndef ROWS
#define ROWS 32 /* rows per work-item */
#endif
#ifndef RADIUS
#define RADIUS 4 /* of the window */
#endif
#ifndef FLUSH
#define FLUSH 3 /* neighbours whose sum fits the narrow type */
#endif
#ifndef BIG
#define BIG 0 /* 1: sums of a whole window need more than twice the width of a pixel */
#endif

#if HONE_T == 0
#define LANES 64
#define PAIR  ushort
#define BITS  8
#elif HONE_T == 1
#define LANES 32
#define PAIR  uint
#define BITS  16
#else
#define LANES 16
#endif
#define REACH (RADIUS * HONE_C)
#define SIDE  (2 * RADIUS + 1)
#define LINE  (LANES + 2 * REACH) /* elements of a row that a strip's windows see */

#include "filters/vectors.clh"

DEFINE_VECTORS(PIXEL, pixels);
DEFINE_VECTORS(float, floats);
DEFINE_VECTORS(uint, words);

#define LOAD(p)      (*(__global const pixels_at *)(p))
#define LOAD_LINE(p) (*(const pixels_at *)(p))

#if FLOATING
typedef int ints __attribute__((ext_vector_type(LANES)));

/* Where `near`, sum += d and count += 1, in as few instructions as there are: with masks both are one
 * each. */
#ifdef __AVX512F__
#define COUNTS pixels
#define ADD_NEAR(near, d, sum, count)                                                                        \
    sum = (near) ? (sum) + (d) : (sum);                                                                      \
    count = (near) ? (count) + 1.0f : (count)
#else
#define COUNTS ints
#define ADD_NEAR(near, d, sum, count)                                                                        \
    sum += (near) ? (d) : (pixels)0;                                                                         \
    count -= (near)
#endif

/* Differences are summed: they are small, whatever the pixels are; those of every other column apart, since
 * sums wait for each other. The centre is near itself unless it is NaN or infinite: then nothing is, and it
 * counts alone. */
inline pixels mean_of_near(const PIXEL lines[SIDE][LINE], pixels centre, float threshold)
{
    pixels sum[2] = {0, 0};
    COUNTS count = 0;
    for (int j = 0; j < SIDE; j++) {
#pragma unroll
        for (int i = 0; i < SIDE; i++) {
            pixels d = LOAD_LINE(lines[j] + i * HONE_C) - centre;
            ints near = __builtin_elementwise_abs(d) <= threshold;
            ADD_NEAR(near, d, sum[i % 2], count);
        }
    }
    count = count > 1 ? count : (COUNTS)1;
    return centre + (sum[0] + sum[1]) / CONVERT(count, pixels);
}
#else
typedef PAIR pairs __attribute__((ext_vector_type(LANES / 2)));
typedef PAIR wide __attribute__((ext_vector_type(LANES)));

#define WEAVE(i) ((i) % 2 ? LANES / 2 + (i) / 2 : (i) / 2)

/* Low halves of pairs to even lanes, high halves to odd lanes. */
inline words weave(pairs low, pairs high)
{
    return CONVERT(__builtin_shufflevector(low, high, L_ALL(WEAVE)), words);
}

/*
 * hi - e / count with ties upwards, so e / count rounded half down: (2e + count - 1) / (2 count) in whole
 * numbers, exactly. Of u8 all is under 2^24, so floats hold it; a quotient that is no whole number is at
 * least 1/1922 away from one, and rounding a quotient under 512 moves it by less. Of u16 the quotient of
 * floats is off by one at most, and the remainder tells.
 */
inline pixels quotient(pixels hi, words e, words count)
{
    words twice = 2u * e + count - 1u, divisor = 2u * count;
    words q = CONVERT(CONVERT(twice, floats) / CONVERT(divisor, floats), words);
#if HONE_T != 0
    q += q * divisor > twice ? (words)~0u : (words)0u;
    q += twice - q * divisor >= divisor ? (words)1u : (words)0u;
#endif
    return hi - CONVERT(q, pixels);
}

inline pixels mean_of_near(const PIXEL lines[SIDE][LINE], pixels centre, int threshold)
{
    const PIXEL t = (PIXEL)min(threshold, PIXEL_MAX);
    pixels lo = centre > (pixels)t ? centre - (pixels)t : (pixels)0;
    pixels hi = centre < (pixels)(PIXEL)(PIXEL_MAX - t) ? centre + (pixels)t : (pixels)PIXEL_MAX;
    pixels span = hi - lo, beyond = span < (pixels)PIXEL_MAX ? span + (PIXEL)1 : span;
    pairs sum = 0, high = 0;
    words total = 0, far = 0;
#if HONE_T == 0 && RADIUS <= 7
    pixels outside = 0; /* at most 225 */
#endif
    for (int j = 0; j < SIDE; j++) {
#if HONE_T != 0 || RADIUS > 7
        pixels outside = 0;
#endif
#pragma unroll
        for (int first = 0; first < SIDE; first += FLUSH) {
            pixels part = 0;
#pragma unroll
            for (int i = first; i < first + FLUSH && i < SIDE; i++) {
                pixels e = hi - LOAD_LINE(lines[j] + i * HONE_C);
                pixels q = e < beyond ? e : beyond;
                part += q;
                outside += q > span ? q - span : (pixels)0;
            }
            union {
                pixels narrow;
                pairs both;
            } p = {part};
            sum += p.both;
            high += p.both >> (PAIR)BITS;
        }
#if HONE_T != 0 || RADIUS > 7
        far += CONVERT(outside, words);
#endif
#if BIG
        total += weave(sum - (high << (PAIR)BITS), high);
        sum = high = 0;
#endif
    }
#if HONE_T == 0 && RADIUS <= 7
    far = CONVERT(outside, words);
#endif
#if !BIG
    total = weave(sum - (high << (PAIR)BITS), high);
#endif
    return quotient(hi, total - far * CONVERT(beyond, words), (uint)(SIDE * SIDE) - far);
}
#endif

struct strip {
    __global const PIXEL *in;
    int pitch, width, height, count; /* count: elements of a row */
    int at;                          /* first element of the strip */
    BORDER_TYPE border;
};

inline pixels finish(pixels r, pixels centre, const struct strip *s, int y)
{
#if HONE_BORDER == BORDER_ZERO_OUTSIDE
    for (int k = 0; k < LANES; k++) {
        int x = (s->at + k) / HONE_C;
        if (x < RADIUS || y < RADIUS || x + RADIUS >= s->width || y + RADIUS >= s->height)
            r[k] = 0;
    }
#endif
    return WITH_ALPHA(r, centre);
}

/* What row y shows to the strip, with every pixel beyond the image in place. */
inline void fill_line(PIXEL *line, const struct strip *s, int y)
{
    int inside;
    __global const PIXEL *row = hone_row(s->in, s->pitch, y, s->height, &inside);
    if (s->at >= REACH && s->at + LANES + REACH <= s->count && REAL_ROW(inside)) {
        for (int k = 0; k + LANES < LINE; k += LANES)
            *(pixels_at *)(line + k) = LOAD(row + s->at - REACH + k);
        *(pixels_at *)(line + LINE - LANES) = LOAD(row + s->at - REACH + LINE - LANES);
        return;
    }
    bool whole = s->at + LANES <= s->count && REAL_ROW(inside);
    if (whole)
        *(pixels_at *)(line + REACH) = LOAD(row + s->at);
    for (int k = 0; k < LINE; k++) {
        if (whole && k == REACH)
            k = REACH + LANES;
        if (k < LINE)
            line[k] = hone_element(row, inside, s->at - REACH + k, s->width, s->border);
    }
}

__kernel void epsilon_vectors(__global const PIXEL *in, int in_offset, int in_pitch, __global PIXEL *out,
                              int out_offset, int out_pitch, int width, int height, BORDER_TYPE border,
                              NUMBER threshold)
{
    struct strip s = {in + in_offset,           in_pitch, width, height, width * HONE_C,
                      get_global_id(0) * LANES, border};
    int y = get_global_id(1) * ROWS, end = min(y + ROWS, height), oldest = 0;
    PIXEL lines[SIDE][LINE]; /* the window's rows, in a ring: their order does not matter */
    if (s.at >= s.count || y >= height)
        return;
    out += out_offset + s.at;
    for (int j = 0; j + 1 < SIDE; j++)
        fill_line(lines[j + 1], &s, y - RADIUS + j);
    for (; y < end; y++) {
        fill_line(lines[oldest], &s, y + RADIUS);
        oldest = oldest + 1 == SIDE ? 0 : oldest + 1;
        pixels centre = LOAD_LINE(lines[(oldest + RADIUS) % SIDE] + REACH);
        pixels r = finish(mean_of_near(lines, centre, threshold), centre, &s, y);
        __global PIXEL *to = out + y * out_pitch;
        if (s.at + LANES <= s.count)
            *(__global pixels_at *)to = r;
        else
            for (int k = 0; k < s.count - s.at; k++)
                to[k] = r[k];
    }
}
