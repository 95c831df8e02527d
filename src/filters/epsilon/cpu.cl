/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * For CPUs: a work-item walks along rows, a 64-byte vector of results at a time; five plain operations per
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
#define ROWS 16 /* rows per work-item */
#endif
#ifndef STRIPS
#define STRIPS 256 /* vectors of a row per work-item */
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

/* Rows of a window whose code stands beside each other: all of small ones. Large ones would outgrow the cache
 * of instructions. */
#define TOGETHER (RADIUS <= (FLOATING ? 5 : 3) ? SIDE : 1)

/* Vectors at either end of a row whose windows leave it, and elements that these see. */
#define ENDS (1 + (REACH + LANES - 1) / LANES)
#define SEEN (ENDS * LANES + 2 * REACH)

#include "filters/vectors.clh"

DEFINE_VECTORS(PIXEL, pixels);
DEFINE_VECTORS(float, floats);
DEFINE_VECTORS(uint, words);

#define LOAD(p)      (*(__global const pixels_at *)(p))
#define LOAD_SEEN(p) (*(const pixels_at *)(p))

/* Rows of the picture in the address space of private copies: on CPUs it is the same. */
#define PLAIN(p) ((const PIXEL *)(size_t)(p))

/* The rows of a window, each from its element 0 on. */
struct window {
    const PIXEL *rows[SIDE];
#if HONE_BORDER == BORDER_CONSTANT
    PIXEL none[LANES + 2 * REACH]; /* of a row beyond the picture, the same everywhere */
    int steps[SIDE];               /* 0: such a row */
#endif
};

#if HONE_BORDER == BORDER_CONSTANT
#define ELEMENTS(w, j, at) ((w)->rows[j] + (at) * (w)->steps[j])
#else
#define ELEMENTS(w, j, at) ((w)->rows[j] + (at))
#endif

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
inline pixels mean_of_near(const struct window *w, int at, pixels centre, float threshold)
{
    pixels sum[2] = {0, 0};
    COUNTS count = 0;
#pragma unroll TOGETHER
    for (int j = 0; j < SIDE; j++) {
        const PIXEL *row = ELEMENTS(w, j, at - REACH);
#pragma unroll
        for (int i = 0; i < SIDE; i++) {
            pixels d = LOAD_SEEN(row + i * HONE_C) - centre;
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

union halves {
    pixels narrow;
    pairs both; /* even lanes in their low halves, odd ones in their high halves */
};

/* Whether a window's neighbours fit into 8 bits, and twice their sum into 16. */
#define BYTES_COUNT (HONE_T == 0 && RADIUS <= 7)
#define SHORT_SUMS  (HONE_T == 0 && RADIUS <= 5)

#if SHORT_SUMS
typedef uint doubles __attribute__((ext_vector_type(LANES / 4)));
typedef float ratios __attribute__((ext_vector_type(LANES / 4)));

union quarters {
    pairs narrow;
    doubles both;
};

/* Whole numbers under 2^16; see `quotient` for why floats hold what is divided here. */
inline doubles ratio(doubles a, doubles b)
{
    return CONVERT(CONVERT(a, ratios) / CONVERT(b, ratios), doubles);
}

/* What `quotient` takes off, for every other pixel: `sum` over all neighbours, far ones as `beyond`. Halves
 * of lanes stay where they are: moving them costs more than masks and shifts do. */
inline pairs quotient_of(pairs sum, pairs far, pairs beyond)
{
    pairs count = (PAIR)(SIDE * SIDE) - far;
    union quarters n = {(sum - far * beyond) * (PAIR)2 + count - (PAIR)1}, d = {count * (PAIR)2}, q;
    q.both = ratio(n.both & 0xffffu, d.both & 0xffffu) | ratio(n.both >> 16u, d.both >> 16u) << 16u;
    return q.narrow;
}
#else
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
#endif

inline pixels mean_of_near(const struct window *w, int at, pixels centre, int threshold)
{
    const PIXEL t = (PIXEL)min(threshold, PIXEL_MAX);
    pixels lo = centre > (pixels)t ? centre - (pixels)t : (pixels)0;
    pixels hi = centre < (pixels)(PIXEL)(PIXEL_MAX - t) ? centre + (pixels)t : (pixels)PIXEL_MAX;
    pixels span = hi - lo, beyond = span < (pixels)PIXEL_MAX ? span + (PIXEL)1 : span;
    pairs sum = 0, high = 0;
#if !SHORT_SUMS
    words total = 0, far = 0;
#endif
#if BYTES_COUNT
    pixels outside = 0;
#endif
#pragma unroll TOGETHER
    for (int j = 0; j < SIDE; j++) {
        const PIXEL *row = ELEMENTS(w, j, at - REACH);
#if !BYTES_COUNT
        pixels outside = 0;
#endif
#pragma unroll
        for (int first = 0; first < SIDE; first += FLUSH) {
            pixels part = 0;
#pragma unroll
            for (int i = first; i < first + FLUSH && i < SIDE; i++) {
                pixels e = hi - LOAD_SEEN(row + i * HONE_C);
                pixels q = e < beyond ? e : beyond;
                part += q;
                outside += q > span ? q - span : (pixels)0;
            }
            union halves p = {part};
            sum += p.both;
            high += p.both >> (PAIR)BITS;
        }
#if !BYTES_COUNT
        far += CONVERT(outside, words);
#endif
#if BIG
        total += weave(sum - (high << (PAIR)BITS), high);
        sum = high = 0;
#endif
    }
#if SHORT_SUMS
    union halves far = {outside}, most = {beyond}, q;
    pairs low = quotient_of(sum - (high << (PAIR)BITS), far.both & (PAIR)0xff, most.both & (PAIR)0xff);
    q.both = low | quotient_of(high, far.both >> (PAIR)BITS, most.both >> (PAIR)BITS) << (PAIR)BITS;
    return hi - q.narrow;
#else
#if BYTES_COUNT
    far = CONVERT(outside, words);
#endif
#if !BIG
    total = weave(sum - (high << (PAIR)BITS), high);
#endif
    return quotient(hi, total - far * CONVERT(beyond, words), (uint)(SIDE * SIDE) - far);
#endif
}
#endif

struct picture {
    __global const PIXEL *in;
    int pitch, width, height, count; /* count: elements of a row */
    BORDER_TYPE border;
};

inline pixels finish(pixels r, pixels centre, const struct picture *p, int at, int y)
{
#define LEAVES(x) hone_leaves((x)-RADIUS, y - RADIUS, SIDE, SIDE, p->width, p->height)
    CLEAR_LANES(r, at, LEAVES);
    return WITH_ALPHA(r, centre);
}

/* What windows see at the ends of rows, with every pixel beyond the picture in place: copies of their rows,
 * each in the place of its number. */
struct ends {
    PIXEL seen[2][SIDE][SEEN];
    int bounds[4]; /* elements of a block's results: its left end, what is between, its right end */
};

#define PLACE(y) (((y) + SIDE) % SIDE)

/* Which vectors are at the ends of rows. */
inline void find_ends(struct ends *e, const struct picture *p, int start, int stop)
{
    const int left = (REACH + LANES - 1) / LANES * LANES, inside = p->count - LANES - REACH;
    const int right = max(left, inside < 0 ? 0 : (inside / LANES + 1) * LANES);
    e->bounds[0] = start;
    e->bounds[1] = clamp(left, start, stop);
    e->bounds[2] = clamp(right, start, stop);
    e->bounds[3] = stop;
}

/* Row y from element `first` on, as far as the picture's windows see. */
inline void fill_end(PIXEL *to, const struct picture *p, int y, int first)
{
    int inside, length = min(SEEN, p->count + REACH - first);
    __global const PIXEL *row = hone_row(p->in, p->pitch, y, p->height, &inside);
    for (int k = 0; k < length;) {
        bool whole = REAL_ROW(inside) && first + k >= 0 && first + k + LANES <= p->count && k + LANES <= SEEN;
        if (whole)
            *(pixels_at *)(to + k) = LOAD(row + first + k);
        else
            to[k] = hone_element(row, inside, first + k, p->width, p->border);
        k += whole ? LANES : 1;
    }
}

inline void fill_ends(struct ends *e, const struct picture *p, int y)
{
    for (int side = 0; side < 2; side++)
        if (e->bounds[2 * side] < e->bounds[2 * side + 1])
            fill_end(e->seen[side][PLACE(y)], p, y, e->bounds[2 * side] - REACH);
}

/* The rows of the windows of row y, from their copies at an end, or where they are. */
inline void find_rows(struct window *w, const struct ends *e, const struct picture *p, int part, int y)
{
    for (int j = 0; j < SIDE; j++) {
        int inside;
        __global const PIXEL *row = hone_row(p->in, p->pitch, y - RADIUS + j, p->height, &inside);
        w->rows[j] =
            part == 1 ? PLAIN(row) : e->seen[part / 2][PLACE(y - RADIUS + j)] + REACH - e->bounds[part];
#if HONE_BORDER == BORDER_CONSTANT
        w->steps[j] = part != 1 || inside;
        w->rows[j] = w->steps[j] ? w->rows[j] : w->none;
#endif
    }
}

/* The vector from element `at` of row y on. */
inline void store_vector(__global PIXEL *to, const struct window *w, const struct picture *p, int at, int y,
                         NUMBER threshold)
{
    pixels centre = LOAD_SEEN(w->rows[RADIUS] + at);
    pixels r = finish(mean_of_near(w, at, centre, threshold), centre, p, at, y);
    if (at + LANES <= p->count)
        *(__global pixels_at *)(to + at) = r;
    else
        for (int k = 0; k < p->count - at; k++)
            to[at + k] = r[k];
}

__kernel void epsilon_vectors(__global const PIXEL *in, int in_offset, int in_pitch, __global PIXEL *out,
                              int out_offset, int out_pitch, int width, int height, BORDER_TYPE border,
                              NUMBER threshold)
{
    struct picture p = {in + in_offset, in_pitch, width, height, width * HONE_C, border};
    int start = get_global_id(0) * STRIPS * LANES, stop = min(start + STRIPS * LANES, p.count);
    int y = get_global_id(1) * ROWS, end = min(y + ROWS, height);
    struct ends e;
    struct window w;
    if (start >= p.count || y >= height)
        return;
    find_ends(&e, &p, start, stop);
#if HONE_BORDER == BORDER_CONSTANT
    for (int k = 0; k < LANES + 2 * REACH; k++)
        w.none[k] = border;
#endif
    for (int j = -RADIUS; j < RADIUS; j++)
        fill_ends(&e, &p, y + j);
    for (; y < end; y++) {
        fill_ends(&e, &p, y + RADIUS);
        for (int part = 0; part < 3; part++) {
            find_rows(&w, &e, &p, part, y);
            for (int at = e.bounds[part]; at < e.bounds[part + 1]; at += LANES)
                store_vector(out + out_offset + y * out_pitch, &w, &p, at, y, threshold);
        }
    }
}
