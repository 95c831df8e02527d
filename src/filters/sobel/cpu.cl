/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * For CPUs: a strip as wide as one 64-byte vector of the input is walked down, keeping in registers what
 * three rows have in common: differences of neighbours for dx, smoothed rows for dy.
 *
 * `vectors`: each work-item owns such a strip. `lines`: a work-item owns a band of rows and walks down STEP
 * rows of one strip after the other, so that memory is read as it lies.
 *
 * Magnitudes of bytes come from p = (dx + dy) / 2 and q = (dx - dy) / 2, which are whole: with l, c, r the
 * pixels left of, at and right of a place, and a, b, d the rows above, at and below it,
 *
 *     p = (br - bl) + (dc + dr) - (al + ac)
 *     q = (br - bl) + (ac + ar) - (dl + dc)
 *
 * so that two sums of neighbours are all that a row gives. They are taken of even and odd elements apart,
 * which needs no widening: of one channel, one instruction sums the pairs of a vector. Then |dx| + |dy| is
 * 2 max(|p|, |q|), and dx^2 + dy^2 is 2 (p^2 + q^2): one instruction for p and q side by side.
 */
#ifndef OUTPUT
#define OUTPUT 0 /* 0 magnitude, 1 dx, 2 dy */
#endif
#ifndef NORM
#define NORM 1 /* of the magnitude: 0 L2, 1 L1 */
#endif
#ifndef ROWS
#define ROWS 64 /* rows of a strip, or of a band */
#endif
#ifndef BLOCK
#define BLOCK 256 /* strips across a band */
#endif
#ifndef STEP
#define STEP 8 /* rows walked down at once */
#endif

#if HONE_T == 0
#define LANES 64
#define VALUE short /* holds +-1020 */
#elif HONE_T == 1
#define LANES 32
#define VALUE int
#else
#define LANES 16
#define VALUE float
#endif

#include "filters/vectors.clh"

DEFINE_VECTORS(PIXEL, pixels);
DEFINE_VECTORS(RESULT, results);
DEFINE_VECTORS(VALUE, values);
DEFINE_STORE_PART(RESULT, results, LANES)

/* Lane i of the result is lane i-k, or i+k, of v; beyond the end comes what `in` holds there. */
#define UP(i)            ((i) < HONE_C ? LANES + (i) : (i)-HONE_C)
#define DOWN(i)          ((i) + HONE_C < LANES ? (i) + HONE_C : (i) + LANES)
#define IS_ALPHA_LANE(i) ((i) % 4 == 3)

/* One row seen by a strip: the pixels left of, at and right of each. */
struct three {
    pixels left, centre, right;
};

struct strip {
    struct source source;
    int width, height, count; /* count: elements of a row */
    int at;                   /* first element of the strip */
    bool first, last;         /* the neighbours on this side are outside */
    PIXEL border;
    int ahead; /* `lines`: elements to rows that are fetched ahead, or 0 */
};

/* Whether a row is too short for strips. The second strip of a row that is a vector and one or two elements
 * long would begin inside the first pixel, with neighbours inside and outside. */
inline bool is_narrow(int count)
{
    return count < LANES + HONE_C && count != LANES;
}

/* The strip from element i on. It begins earlier, and results overlap, so that the last one ends with the row
 * and others leave a whole pixel on their right. */
inline void place_strip(struct strip *s, int i)
{
    s->at = min(i, s->count - LANES - (i + LANES < s->count ? HONE_C : 0));
    s->first = s->at == 0;
    s->last = s->at + LANES == s->count;
}

inline pixels load(const struct strip *s, int i, int y)
{
    return *(__global const pixels_at *)(s->source.at + y * s->source.pitch + i);
}

inline void store(const struct sink *sink, int i, int y, results v)
{
    *(__global results_at *)(sink->at + y * sink->pitch + i) = v;
}

inline PIXEL edge(int x, int y, int channel, const struct strip *s)
{
    int from = hone_fold(x, s->width);
    return from < 0 ? s->border : source_get(&s->source, from * HONE_C + channel, y);
}

/* The neighbours on the left of a row's first elements, and on the right of its last ones. */
#if HONE_BORDER == BORDER_REFLECT101 /* they lie in the same vector */
#define UP_INSIDE(i)   ((i) < HONE_C ? (i) + HONE_C : (i)-HONE_C)
#define DOWN_INSIDE(i) ((i) + HONE_C < LANES ? (i) + HONE_C : (i)-HONE_C)
inline pixels left_of_first(const struct strip *s, pixels v, int row)
{
    return __builtin_shufflevector(v, v, L_ALL(UP_INSIDE));
}

inline pixels right_of_last(const struct strip *s, pixels v, int row)
{
    return __builtin_shufflevector(v, v, L_ALL(DOWN_INSIDE));
}
#else
inline pixels left_of_first(const struct strip *s, pixels v, int row)
{
    pixels beyond = 0;
    for (int channel = 0; channel < HONE_C; channel++)
        beyond[channel] = edge(-1, row, channel, s);
    return __builtin_shufflevector(v, beyond, L_ALL(UP));
}

inline pixels right_of_last(const struct strip *s, pixels v, int row)
{
    pixels beyond = 0;
    for (int channel = 0; channel < HONE_C; channel++)
        beyond[LANES - HONE_C + channel] = edge(s->width, row, channel, s);
    return __builtin_shufflevector(v, beyond, L_ALL(DOWN));
}
#endif

/* `row`: one that the border rule has been applied to. */
inline struct three read_row(const struct strip *s, int row)
{
    struct three t;
    if (HONE_BORDER == BORDER_CONSTANT && row < 0) {
        t.left = t.centre = t.right = (pixels)s->border;
        return t;
    }
    t.centre = load(s, s->at, row);
    t.left = s->first ? left_of_first(s, t.centre, row) : load(s, s->at - HONE_C, row);
    t.right = s->last ? right_of_last(s, t.centre, row) : load(s, s->at + HONE_C, row);
    return t;
}

inline results keep_alpha(results r, pixels centre)
{
#if HONE_ALPHA
    const results alpha = {L_ALL(IS_ALPHA_LANE)};
    return alpha != (RESULT)0 ? CONVERT(centre, results) : r;
#else
    return r;
#endif
}

inline results clear_outside(results r, const struct strip *s, int y)
{
#define LEAVES(x) hone_leaves((x)-1, y - 1, 3, 3, s->width, s->height)
    CLEAR_LANES(r, s->at, LEAVES);
    return r;
}

/* The same of a strip, whose first or last pixel alone can be at an edge. */
#define CLEAR_FIRST(i) ((i) < HONE_C && !IS_ALPHA((i) % HONE_C) ? LANES + (i) : (i))
#define CLEAR_LAST(i)  ((i) >= LANES - HONE_C && !IS_ALPHA((i) % HONE_C) ? LANES + (i) : (i))
#define CLEAR_ALL(i)   (!IS_ALPHA((i) % HONE_C) ? LANES + (i) : (i))
inline results clear_edges(results r, const struct strip *s, int y)
{
#if HONE_BORDER == BORDER_ZERO_OUTSIDE
    const results none = (results)0;
    if (y == 0 || y == s->height - 1)
        return __builtin_shufflevector(r, none, L_ALL(CLEAR_ALL));
    if (s->first)
        r = __builtin_shufflevector(r, none, L_ALL(CLEAR_FIRST));
    if (s->last)
        r = __builtin_shufflevector(r, none, L_ALL(CLEAR_LAST));
#endif
    return r;
}

#if OUTPUT == 0 && NORM == 0 && !FLOATING
/* Square roots of numbers from 0 to 2^38, off by at most 2^-21 of them, of 0 by 0.01. Newton's step doubles
 * the bits of an estimate of the reciprocal root. */
typedef float root_floats __attribute__((ext_vector_type(16)));

inline root_floats roots(root_floats n)
{
#ifdef ROOT_BYTES
    union {
        root_floats all;
        native_floats n[64 / ROOT_BYTES];
    } x, r;
    x.all = n > 1e-4f ? n : (root_floats)1e-4f;
#pragma unroll
    for (int k = 0; k < 64 / ROOT_BYTES; k++)
        r.n[k] = RECIPROCAL_ROOT(x.n[k]);
    root_floats root = x.all * r.all;
    return root + (x.all - root * root) * (r.all * 0.5f);
#else
    return sqrt(n);
#endif
}
#endif

#define HALVES (HONE_T == 0 && OUTPUT == 0)

#if HALVES
typedef short shorts __attribute__((ext_vector_type(LANES / 2)));
typedef ushort ushorts __attribute__((ext_vector_type(LANES / 2)));
typedef int ints __attribute__((ext_vector_type(LANES / 4)));

union elements {
    pixels bytes;
    ushorts pairs;
    shorts sums;
    ints words;
#ifdef NATIVE
    native_bytes n8[64 / NATIVE];
    native_words n16[64 / NATIVE];
    native_ints n32[64 / NATIVE];
#endif
};

inline shorts even(pixels v)
{
    const union elements e = {v};
    const union elements r = {.pairs = e.pairs & (ushort)0xff};
    return r.sums;
}

inline shorts odd(pixels v)
{
    const union elements e = {v};
    const union elements r = {.pairs = e.pairs >> (ushort)8};
    return r.sums;
}

/* Each even element and the odd one behind it. */
inline shorts sums_of_pairs(pixels v)
{
#ifdef NATIVE
    const union elements e = {v}, ones = {(pixels)1};
    union elements r;
#pragma unroll
    for (int k = 0; k < 64 / NATIVE; k++)
        r.n16[k] = MADD_BYTES(e.n8[k], ones.n8[k]);
    return r.sums;
#else
    return even(v) + odd(v);
#endif
}

/* Of a row: each pixel and the one on its left, or on its right; of even and of odd elements. */
struct terms {
    shorts left[2], right[2];
};

inline struct terms terms(struct three t)
{
    struct terms s;
#if HONE_C == 1
    s.left[0] = sums_of_pairs(t.left);
    s.right[0] = s.left[1] = sums_of_pairs(t.centre);
    s.right[1] = sums_of_pairs(t.right);
#else
    s.left[0] = even(t.left) + even(t.centre);
    s.left[1] = odd(t.left) + odd(t.centre);
    s.right[0] = even(t.right) + even(t.centre);
    s.right[1] = odd(t.right) + odd(t.centre);
#endif
    return s;
}

/* Squares of both halves of words, summed. */
inline ints squares(ints halves)
{
#ifdef NATIVE
    const union elements h = {.words = halves};
    union elements r;
#pragma unroll
    for (int k = 0; k < 64 / NATIVE; k++)
        r.n32[k] = MADD_WORDS(h.n16[k], h.n16[k]);
    return r.words;
#else
    ints low = halves << 16 >> 16, high = halves >> 16;
    return low * low + high * high;
#endif
}

#if NORM == 0
/* From p^2 + q^2 the magnitude to the nearest whole number, at most 255. sqrt(n) is never half-way between
 * whole numbers, and never nearer to it than 1/2040. */
inline ints byte_roots(ints n)
{
    return CONVERT(roots(CONVERT(n < 32512 ? n * 2 : (ints)65025, root_floats)) + 0.5f, ints);
}
#endif

/* Magnitudes from p and q. */
inline ushorts magnitudes(shorts p, shorts q)
{
#if NORM == 1
    p = p < (short)0 ? -p : p;
    q = q < (short)0 ? -q : q;
    const union elements twice = {.sums = (p > q ? p : q) * (short)2};
    return twice.pairs < (ushort)255 ? twice.pairs : (ushorts)255;
#else
    const union elements a = {.sums = p}, b = {.sums = q};
    ints low = byte_roots(squares((a.words & 0xffff) | b.words << 16));
    ints high = byte_roots(squares((a.words >> 16 & 0xffff) | (b.words & ~0xffff)));
    const union elements r = {.words = low | high << 16};
    return r.pairs;
#endif
}

inline ushorts results_of(const struct terms *above, const struct terms *now, const struct terms *below,
                          int parity)
{
    shorts difference = now->right[parity] - now->left[parity];
    return magnitudes(difference + (below->right[parity] - above->left[parity]),
                      difference + (above->right[parity] - below->left[parity]));
}

inline results combined(const struct terms *above, const struct terms *now, const struct terms *below)
{
    const union elements r = {.pairs = results_of(above, now, below, 0) | results_of(above, now, below, 1)
                                                                              << (ushort)8};
    return r.bytes;
}
#else
inline values magnitude(values v)
{
#if FLOATING
    return __builtin_elementwise_abs(v);
#else
    return v < (VALUE)0 ? -v : v;
#endif
}

#if OUTPUT == 0 && NORM == 0
#if HONE_T == 1
typedef uint root_words __attribute__((ext_vector_type(16)));
typedef int root_ints __attribute__((ext_vector_type(16)));

/* The root of n = dx^2 + dy^2 to the nearest whole number, at most 65535. Up to there the root in floats is
 * off by less than 0.04; less 0.05 it rounds to the number that is right or to the one below, for which n >
 * number^2 + number tells: then n is over (number + 1/2)^2. That difference is small, so that its lowest 32
 * bits are enough. */
inline root_ints near_roots(root_ints dx, root_ints dy)
{
    root_floats x = CONVERT(dx, root_floats), y = CONVERT(dy, root_floats);
    root_ints root = CONVERT(roots(x * x + y * y) + 0.45f, root_ints);
    root_words number = CONVERT(root, root_words), p = CONVERT(dx, root_words), q = CONVERT(dy, root_words);
    root = CONVERT(p * p + q * q - number * number, root_ints) > root ? root + 1 : root;
    return root < 65535 ? root : (root_ints)65535;
}
#endif

/* To the nearest whole number, no ties exist. */
inline results root(values dx, values dy)
{
#if FLOATING
    return sqrt(dx * dx + dy * dy);
#else
    values r;
    r.lo = near_roots(dx.lo, dy.lo);
    r.hi = near_roots(dx.hi, dy.hi);
    return CONVERT(r, results);
#endif
}
#endif

inline results finish(values dx, values dy)
{
#if OUTPUT == 1
    return CONVERT(dx, results);
#elif OUTPUT == 2
    return CONVERT(dy, results);
#elif NORM == 0
    return root(dx, dy);
#elif FLOATING
    return magnitude(dx) + magnitude(dy);
#else
    values sum = magnitude(dx) + magnitude(dy);
    sum = sum < (VALUE)RESULT_MAX ? sum : (values)RESULT_MAX;
    return CONVERT(sum, results);
#endif
}

/* What a row gives to the three results that see it. */
struct terms {
    values difference, smooth; /* right - left; left + 2 centre + right */
};

inline struct terms terms(struct three t)
{
    struct terms r;
    values left = CONVERT(t.left, values), right = CONVERT(t.right, values),
           centre = CONVERT(t.centre, values);
    r.difference = right - left;
    r.smooth = left + right + centre * (VALUE)2;
    return r;
}

inline results combined(const struct terms *above, const struct terms *now, const struct terms *below)
{
    return finish((above->difference + now->difference) + (now->difference + below->difference),
                  below->smooth - above->smooth);
}
#endif

/* Of images about as narrow as a vector, a row with what is beyond its edges, and room for whole vectors. */
struct padded {
    PIXEL line[2 * LANES + 2 * HONE_C];
};

inline struct terms read_padded(struct padded *p, const struct strip *s, int row, pixels *centre)
{
    const bool beyond = HONE_BORDER == BORDER_CONSTANT && row < 0;
    __global const PIXEL *from = s->source.at + (beyond ? 0 : row) * s->source.pitch;
    for (int i = 0; i < s->count; i++)
        p->line[HONE_C + i] = beyond ? s->border : from[i];
    for (int channel = 0; channel < HONE_C; channel++) {
        p->line[channel] = beyond ? s->border : edge(-1, row, channel, s);
        p->line[HONE_C + s->count + channel] = beyond ? s->border : edge(s->width, row, channel, s);
    }
    const PIXEL *at = p->line + s->at;
    const struct three t = {*(const pixels_at *)at, *(const pixels_at *)(at + HONE_C),
                            *(const pixels_at *)(at + 2 * HONE_C)};
    *centre = t.centre;
    return terms(t);
}

/* A vector of such rows, from s->at on. */
inline void walk_padded(const struct strip *s, const struct sink *sink, int y, int end)
{
    struct padded p;
    pixels middle, next;
    for (int i = 0; i < 2 * LANES + 2 * HONE_C; i++)
        p.line[i] = 0;
    struct terms above = read_padded(&p, s, hone_fold(y - 1, s->height), &middle);
    struct terms now = read_padded(&p, s, hone_fold(y, s->height), &middle);
    for (; y < end; y++) {
        struct terms below = read_padded(&p, s, hone_fold(y + 1, s->height), &next);
        const results r = clear_outside(keep_alpha(combined(&above, &now, &below), middle), s, y);
        if (s->count - s->at < LANES)
            store_results(sink->at + y * sink->pitch + s->at, r, s->count - s->at);
        else
            store(sink, s->at, y, r);
        above = now;
        now = below;
        middle = next;
    }
}

inline void walk_narrow(struct strip s, const struct sink *sink, int y, int end)
{
    for (s.at = 0; s.at < s.count; s.at += LANES)
        walk_padded(&s, sink, y, end);
}

#if defined(HONE_ALL) || defined(VARIANT_lines)
/* STEP rows from y on, fewer at `end`; `rows` are those to read, from the one above on. */
inline void walk_step(const struct strip *s, const struct sink *sink, const int *rows, int y, int end)
{
    struct three middle = read_row(s, rows[1]);
    struct terms above = terms(read_row(s, rows[0])), now = terms(middle);
#pragma unroll
    for (int k = 0; k < STEP; k++) {
        if (y + k >= end)
            return;
        struct three next = read_row(s, rows[k + 2]);
        struct terms below = terms(next);
        if (s->ahead)
            __builtin_prefetch(s->source.at + rows[k + 2] * s->source.pitch + s->at + s->ahead);
        results r = keep_alpha(combined(&above, &now, &below), middle.centre);
        store(sink, s->at, y + k, clear_edges(r, s, y + k));
        above = now;
        now = below;
        middle = next;
    }
}

/* Rows of the next step are fetched ahead, since the processor foresees too little of short ones. Where rows
 * lie multiples of 1024 bytes apart, too few of them fit into the first cache at once. */
inline int elements_ahead(const struct strip *s)
{
    return s->source.pitch * (int)sizeof(PIXEL) % 1024 == 0 ? 0 : STEP * s->source.pitch;
}

/* The strips from one element on. */
inline void walk_lines(struct strip s, const struct sink *sink, int from, int behind, int y, int end)
{
    int rows[STEP + 2];
    for (int k = 0; k < STEP + 2; k++)
        rows[k] = hone_fold(y - 1 + k, s.height);
    for (int i = from; i < behind; i += LANES) {
        place_strip(&s, i);
        walk_step(&s, sink, rows, y, end);
    }
}

__kernel void sobel_lines(__global const PIXEL *in, int in_offset, int in_pitch, __global RESULT *out,
                          int out_offset, int out_pitch, int width, int height, BORDER_TYPE border)
{
    struct sink sink = SINK_OF(out);
    int count = width * HONE_C, strips = max(1, count / LANES), first = get_global_id(0) * BLOCK;
    int y = get_global_id(1) * ROWS, end = min(y + ROWS, height);
    if (first >= strips || y >= height)
        return;
    /* What is left of the row goes with its last whole strip, over whose results the last vector lies. */
    int behind = first + BLOCK >= strips ? count : (first + BLOCK) * LANES;
    struct strip s = {SOURCE_OF(in), width, height, count, 0, false, false, border, 0};
    if (is_narrow(count)) {
        walk_narrow(s, &sink, y, end);
        return;
    }
    s.ahead = elements_ahead(&s);
    for (; y < end; y += STEP)
        walk_lines(s, &sink, first * LANES, behind, y, end);
}
#endif

#if defined(HONE_ALL) || defined(VARIANT_vectors)
inline void walk(const struct strip *s, const struct sink *sink, int y, int end)
{
    struct three middle = read_row(s, hone_fold(y, s->height));
    struct terms above = terms(read_row(s, hone_fold(y - 1, s->height))), now = terms(middle);
    for (; y < end; y++) {
        struct three next = read_row(s, hone_fold(y + 1, s->height));
        struct terms below = terms(next);
        results r = keep_alpha(combined(&above, &now, &below), middle.centre);
        store(sink, s->at, y, clear_edges(r, s, y));
        above = now;
        now = below;
        middle = next;
    }
}

__kernel void sobel_vectors(__global const PIXEL *in, int in_offset, int in_pitch, __global RESULT *out,
                            int out_offset, int out_pitch, int width, int height, BORDER_TYPE border)
{
    struct sink sink = SINK_OF(out);
    int count = width * HONE_C, strips = max(1, count / LANES), number = get_global_id(0);
    int y = get_global_id(1) * ROWS, end = min(y + ROWS, height);
    if (number >= strips || y >= height)
        return;
    struct strip s = {SOURCE_OF(in), width, height, count, 0, false, false, border, 0};
    if (is_narrow(count)) {
        walk_narrow(s, &sink, y, end);
        return;
    }
    place_strip(&s, number * LANES);
    walk(&s, &sink, y, end);
    if (number == strips - 1 && !s.last) { /* what is left of the row */
        place_strip(&s, count - LANES);
        walk(&s, &sink, y, end);
    }
}
#endif
