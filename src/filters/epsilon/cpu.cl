/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * For CPUs: a work-item walks along rows, a vector of results at a time; five plain operations per vector of
 * neighbours, without a comparison (whose masks cost more than arithmetic does). With hi = centre +
 * threshold and span = 2 * threshold (both saturated), e = hi - n wraps around for n above hi, so that n is
 * near exactly where e <= span. Then q = min(e, span + 1) is e for what is near and span + 1 for what is far,
 * and q - span, saturated at 0, is 1 for what is far:
 *
 *     mean = hi - (sum of q - (span + 1) * far) / (all - far)
 *
 * Sums of FLUSH neighbours fit the narrow type; then they are added to sums of twice the width, as pairs: S
 * takes both halves (low + high << bits), H the high ones, and low = S - (H << bits) in the end.
 *
 * In even areas all is near, and one hi serves a whole vector, so that its windows share sums of columns.
 */
#ifndef ROWS
#define ROWS 16 /* rows per work-item */
#endif
#ifndef STRIPS
#define STRIPS 256 /* pieces of 64 bytes of a row per work-item */
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

#include "filters/products.clh"

/* A vector of integers fills a register: two at a time have too few registers. One of floats has two: sums
 * wait for each other. */
#if NATIVE == 64
#define IN_REGISTER(wide, half) wide
#else
#define IN_REGISTER(wide, half) half
#endif
#if HONE_T == 0
#define LANES IN_REGISTER(64, 32)
#define PAIR  ushort
#define BITS  8
#elif HONE_T == 1
#define LANES IN_REGISTER(32, 16)
#define PAIR  uint
#define BITS  16
#else
#define LANES 16
#endif
#define PIECE (64 / (int)sizeof(PIXEL))
#define REACH (RADIUS * HONE_C)
#define SIDE  (2 * RADIUS + 1)

/* Rows of a window whose code stands beside each other: all of small ones. Large ones would outgrow the cache
 * of instructions. */
#define TOGETHER (RADIUS <= (FLOATING ? 5 : 3) ? SIDE : 1)

/* Vectors at either end of a row whose windows leave it, and elements that these see. */
#define ENDS (1 + (REACH + LANES - 1) / LANES)
#define SEEN (ENDS * LANES + 2 * REACH)

DEFINE_VECTORS(PIXEL, pixels);
DEFINE_VECTORS(float, floats);
DEFINE_VECTORS(uint, words);
DEFINE_VECTORS(int, signed_words);

#define LOAD(p)      (*(__global const pixels_at *)(p))
#define LOAD_SEEN(p) (*(const pixels_at *)(p))

/* Rows of the picture in the address space of private copies: on CPUs it is the same. */
#define AS_PRIVATE(p) ((const PIXEL *)(size_t)(p))

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
/* Where `near`, sum += d and count += 1, in as few instructions as there are: with masks both are one
 * each. */
#ifdef __AVX512F__
#define COUNTS pixels
#define ADD_NEAR(near, d, sum, count)                                                                        \
    sum = (near) ? (sum) + (d) : (sum);                                                                      \
    count = (near) ? (count) + 1.0f : (count)
#else
#define COUNTS signed_words
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
            signed_words near = __builtin_elementwise_abs(d) <= threshold;
            ADD_NEAR(near, d, sum[i % 2], count);
        }
    }
    count = count > 1 ? count : (COUNTS)1;
    return centre + (sum[0] + sum[1]) / CONVERT(count, pixels);
}
#else
typedef PAIR pairs __attribute__((ext_vector_type(LANES / 2)));

union halves {
    pixels narrow;
    pairs both; /* even lanes in their low halves, odd ones in their high halves */
};

/* Whether a window's neighbours fit the narrow type, and twice their sum 16 bits. */
#define NARROW_COUNT (HONE_T != 0 || RADIUS <= 7)
#define SHORT_SUMS   (HONE_T == 0 && RADIUS <= 5)
#if NARROW_COUNT
typedef pixels counts;
#else
typedef words counts;
#endif

/* What a vector's windows hold. */
struct sums {
    pixels hi, beyond; /* beyond: span + 1 */
    pairs sum, high;   /* of q */
    counts far;
#if BIG
    words total; /* of q, in place of `sum` and `high` */
#endif
};

/* Whole numbers below 2^31 as floats and back: as signed ones, which every processor converts in one
 * instruction. */
#define FLOATS(v, as_signed, real)    CONVERT(__builtin_astype(v, as_signed), real)
#define WHOLE(v, as_signed, unsigned) __builtin_astype(CONVERT(v, as_signed), unsigned)

#if SHORT_SUMS
typedef uint doubles __attribute__((ext_vector_type(LANES / 4)));
typedef int signed_doubles __attribute__((ext_vector_type(LANES / 4)));
typedef float ratios __attribute__((ext_vector_type(LANES / 4)));

/* a / b rounded down, of whole numbers under 2^16 with quotients under 512. One that is no whole number is
 * at least 1/242 below the next, and rounding moves it by less than 1/8192: so a little more is rounded down.
 * The compiler knows the reciprocal where it knows b. */
inline doubles ratio(doubles a, doubles b)
{
    ratios reciprocal = 1.0f / FLOATS(b, signed_doubles, ratios);
    ratios r = FLOATS(a, signed_doubles, ratios) * reciprocal + 1.0f / 1024;
    return WHOLE(r, signed_doubles, doubles);
}

union quarters {
    pairs narrow;
    doubles both;
};

/* What `quotient` takes off, for every other pixel: `sum` over all neighbours, far ones as `beyond`. All is
 * under 2^16. Halves of lanes stay where they are: moving them costs more than masks and shifts do. */
inline pairs quotient_of(pairs sum, pairs far, pairs beyond)
{
    pairs count = (PAIR)(SIDE * SIDE) - far;
    union quarters n = {(sum - far * beyond) * (PAIR)2 + count - (PAIR)1}, d = {count * (PAIR)2}, q;
    doubles low = ratio(n.both & 0xffffu, d.both & 0xffffu);
    q.both = low | ratio(n.both >> 16u, d.both >> 16u) << 16u;
    return q.narrow;
}

INLINE pixels mean(const struct sums *s)
{
    union halves far = {s->far}, beyond = {s->beyond}, q;
    pairs low = s->sum - (s->high << (PAIR)BITS);
    low = quotient_of(low, far.both & (PAIR)0xff, beyond.both & (PAIR)0xff);
    q.both = low | quotient_of(s->high, far.both >> (PAIR)BITS, beyond.both >> (PAIR)BITS) << (PAIR)BITS;
    return s->hi - q.narrow;
}
#else
#define WEAVE(i) ((i) % 2 ? LANES / 2 + (i) / 2 : (i) / 2)

/* All sums of q: low halves of pairs to even lanes, high halves to odd lanes. */
inline words weave(const struct sums *s)
{
    pairs low = s->sum - (s->high << (PAIR)BITS);
    return CONVERT(__builtin_shufflevector(low, s->high, L_ALL(WEAVE)), words);
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
    words q = WHOLE(FLOATS(twice, signed_words, floats) / FLOATS(divisor, signed_words, floats), signed_words,
                    words);
#if HONE_T != 0
    q += q * divisor > twice ? (words)~0u : (words)0u;
    q += twice - q * divisor >= divisor ? (words)1u : (words)0u;
#endif
    return hi - CONVERT(q, pixels);
}

INLINE pixels mean(const struct sums *s)
{
    words far = CONVERT(s->far, words);
#if BIG
    words total = s->total;
#else
    words total = weave(s);
#endif
    return quotient(s->hi, total - far * CONVERT(s->beyond, words), (uint)(SIDE * SIDE) - far);
}
#endif

inline pixels up(pixels v, PIXEL by)
{
    const PIXEL top = PIXEL_MAX - by;
    return (v < (pixels)top ? v : (pixels)top) + by;
}

inline pixels down(pixels v, PIXEL by)
{
    return v > (pixels)by ? v - by : (pixels)0;
}

INLINE void add_part(struct sums *s, pixels part)
{
    union halves p = {part};
    s->sum += p.both;
    s->high += p.both >> (PAIR)BITS;
}

INLINE struct sums sums_of_near(const struct window *w, int at, pixels centre, PIXEL threshold)
{
    pixels hi = up(centre, threshold), span = hi - down(centre, threshold);
    struct sums s = {.hi = hi, .beyond = up(span, 1)};
#pragma unroll TOGETHER
    for (int j = 0; j < SIDE; j++) {
        const PIXEL *row = ELEMENTS(w, j, at - REACH);
        pixels far = 0;
#pragma unroll
        for (int first = 0; first < SIDE; first += FLUSH) {
            pixels part = 0;
#pragma unroll
            for (int i = first; i < first + FLUSH && i < SIDE; i++) {
                pixels e = hi - LOAD_SEEN(row + i * HONE_C);
                pixels q = e < s.beyond ? e : s.beyond;
                part += q;
                far += q > span ? q - span : (pixels)0;
            }
            add_part(&s, part);
        }
        s.far += CONVERT(far, counts);
#if BIG
        s.total += weave(&s);
        s.sum = s.high = 0;
#endif
    }
    return s;
}

#if NARROW_COUNT && !BIG && RADIUS >= 3 && RADIUS <= 8 && 2 * REACH <= LANES
#define EVEN_AREAS

/* Pixels no further than this from each other have sums of columns that fit the narrow type. */
#define CLOSE(threshold) min((threshold), (PIXEL)(PIXEL_MAX / SIDE))

/* Of the columns that a vector's windows see, which two vectors cover, in row `first` and every `step`-th
 * from there: sums of e, and the largest e. */
struct columns {
    pixels sums[2], largest;
};

INLINE struct columns columns_of(const struct window *w, int at, pixels hi, int first, int step)
{
    struct columns c = {{0, 0}, 0};
#pragma unroll
    for (int j = first; j < SIDE; j += step)
#pragma unroll
        for (int side = 0; side < 2; side++) {
            pixels e = hi - LOAD_SEEN(ELEMENTS(w, j, at - REACH) + 2 * REACH * side);
            c.sums[side] += e;
            c.largest = e > c.largest ? e : c.largest;
        }
    return c;
}

inline bool any_above(pixels v, pixels limit)
{
    union {
        pixels above;
        shorts lanes;
    } over = {v > limit ? v - limit : (pixels)0};
    return any_set(over.lanes);
}

/* The i-th column of each window; the last one is not among them. */
#define ADD_COLUMN(i)                                                                                        \
    if ((i) < 2 * RADIUS)                                                                                    \
        add_part(s, MOVED(c->sums[0], behind, (i)*HONE_C));
#define ADD_COLUMNS(i) ADD_COLUMN(i) ADD_COLUMN((i) + 1) ADD_COLUMN((i) + 2) ADD_COLUMN((i) + 3)

INLINE void add_columns(struct sums *s, const struct columns *c)
{
    pixels behind = MOVED(c->sums[1], (pixels)0, LANES - 2 * REACH);
    ADD_COLUMNS(0)
    ADD_COLUMNS(4)
    ADD_COLUMNS(8)
    ADD_COLUMNS(12)
    add_part(s, c->sums[1]);
}

/* For each lane an element of its channel, from the vector's middle. */
#define MIDDLE(i)      (LANES / 2 / HONE_C * HONE_C + (i) % HONE_C)

/* Whether all that the windows see is close to a pixel between them, so near to each other; then their sums.
 * One row tells most areas that are not. */
INLINE bool find_even(struct sums *s, const struct window *w, int at, pixels centre, PIXEL threshold)
{
    PIXEL close = CLOSE(threshold) / 2;
    pixels around = __builtin_shufflevector(centre, centre, L_ALL(MIDDLE));
    pixels hi = up(around, close), span = hi - down(around, close);
    if (any_above(columns_of(w, at, hi, RADIUS, SIDE).largest, span))
        return false;
    struct columns c = columns_of(w, at, hi, 0, 1);
    if (any_above(c.largest, span))
        return false;
    *s = (struct sums){.hi = hi};
    add_columns(s, &c);
    return true;
}
#endif

inline pixels mean_of_near(const struct window *w, int at, pixels centre, int threshold)
{
    const PIXEL t = (PIXEL)min(threshold, PIXEL_MAX);
    struct sums s;
#ifdef EVEN_AREAS
    if (find_even(&s, w, at, centre, t))
        return mean(&s);
#endif
    s = sums_of_near(w, at, centre, t);
    return mean(&s);
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
            part == 1 ? AS_PRIVATE(row) : e->seen[part / 2][PLACE(y - RADIUS + j)] + REACH - e->bounds[part];
#if HONE_BORDER == BORDER_CONSTANT
        w->steps[j] = part != 1 || inside;
        w->rows[j] = w->steps[j] ? w->rows[j] : w->none;
#endif
    }
}

/* What rows further down will see for the first time: of so many rows at once, the processor foresees
 * none. */
inline void fetch_below(const struct picture *p, int at, int y)
{
    __builtin_prefetch(p->in + (long)(y + RADIUS + 2) * p->pitch + at);
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
    int start = get_global_id(0) * STRIPS * PIECE, stop = min(start + STRIPS * PIECE, p.count);
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
            for (int at = e.bounds[part]; at < e.bounds[part + 1]; at += LANES) {
                fetch_below(&p, at, y);
                store_vector(out + out_offset + y * out_pitch, &w, &p, at, y, threshold);
            }
        }
    }
}
