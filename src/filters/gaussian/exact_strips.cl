/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * exact=yes of u8 and u16 for CPUs, and u16 rounded, small sigma: a work-item owns a band of whole rows and
 * walks down it in strips that stay in the second cache. Rows are summed across into a ring, in which two of
 * them lie by turns; then down, in products of 16 bits, two rows at a time, so that what is loaded serves two
 * rows of results.
 * exact_sums.clh says what the sums of a block are. Where alpha is kept, rows are copied without it first.
 */
#ifndef STRIP
#define STRIP 1024 /* elements across */
#endif
#ifndef REACH
#define REACH 32 /* the window's radius is less */
#endif

#include "filters/bands.clh"
#include "filters/products.clh"

/* Elements of a block: NATIVE bytes. */
#if HONE_T == 0
#define LANES NATIVE
#elif NATIVE == 64
#define LANES 32
#else
#define LANES 16
#endif

/* Channels that are blurred. Elements of a strip are those of them alone; where alpha lies between them in
 * the image, strips begin and end with whole pixels. */
#define COLOURS (HONE_C - HONE_ALPHA)
#if HONE_ALPHA
#define WHOLE(i)   ((i) / COLOURS * COLOURS)
#define IN_ROW(i)  ((i) / COLOURS * HONE_C)
#define TAKEN(i)   ((i) < LANES / 4 * 3 ? (i) / 3 * 4 + (i) % 3 : -1)
#define SPREAD(i)  ((i) % 4 == 3 ? LANES + (i) : (i) / 4 * 3 + (i) % 4)
#define PER_VECTOR (LANES / 4) /* pixels with alpha */
#else
#define WHOLE(i)  (i)
#define IN_ROW(i) (i)
#endif

typedef PIXEL pixels __attribute__((ext_vector_type(LANES)));
typedef pixels pixels_at __attribute__((aligned(sizeof(PIXEL))));
typedef ints ints_at __attribute__((aligned(4)));
typedef shorts shorts_at __attribute__((aligned(2)));

#define LOAD_PIXELS(p) (*(__global const pixels_at *)(p))
#define LOAD(p)        (*(__global const shorts_at *)(p))
#define STORE(p, v)    (*(__global shorts_at *)(p) = (v))

#define WORDS          (NATIVE / 2)

/* Vectors of a block of two rows. ROUNDED: sums along rows of u16 have one word. */
#ifdef ROUNDED
#define VECTORS 2
#else
#define VECTORS 4
#endif
/* Of the ring, in cells: a block of two rows that is summed down, and all of two rows. Without the cells
 * between them, all rows would lie in the same few sets of the first cache. */
#define BLOCK_CELLS (VECTORS * WORDS)
#define ROW_CELLS   (VECTORS * STRIP + 64)

struct window {
    __constant const uint *table; /* tables of `pairs` words each, see exact.c */
    int pairs;
    __global short *rows[REACH + 1]; /* pairs of rows in the ring, from the first one down */
};

struct band {
    __global const PIXEL *in;
    __global PIXEL *out;
    int in_pitch, out_pitch, width, height, border, count;
    int pad;                      /* elements of the window on one side */
    __global PIXEL *edges;        /* two rows with what lies beyond the edges, and a row of border values */
    int edge;                     /* elements of each */
    int x, length, end;           /* the strip; the band's last row */
    __global int *sources;        /* where what lies beyond both edges comes from, see source_of() */
    int before, behind;           /* elements of the strip's rows beyond each edge */
    __global short *ring, *spare; /* `spare`: as large as two of its rows, for what is pending */
};

/* Sums of a block. */
struct two_rows {
    shorts a, b;
#if VECTORS == 4
    shorts c, d;
#endif
};
struct sums {
    ints a, b;
#if VECTORS == 4
    ints c, d;
#endif
};

INLINE __constant const uint *weights(const struct window *w, int table)
{
    return w->table + table * w->pairs;
}

INLINE struct two_rows load_rows(__global const short *from)
{
    struct two_rows v;
    v.a = LOAD(from);
    v.b = LOAD(from + WORDS);
#if VECTORS == 4
    v.c = LOAD(from + 2 * WORDS);
    v.d = LOAD(from + 3 * WORDS);
#endif
    return v;
}

INLINE struct sums add_rows(struct sums s, struct two_rows v, uint weights)
{
    ints both = (ints)(int)weights;
    s.a += add_products(v.a, both);
    s.b += add_products(v.b, both);
#if VECTORS == 4
    s.c += add_products(v.c, both);
    s.d += add_products(v.d, both);
#endif
    return s;
}

INLINE int block_start(const struct band *b, int block)
{
    return max(min(block * LANES, b->length - LANES), 0);
}

#include "filters/gaussian/exact_sums.clh"

#define COPIES (COPY_ALWAYS + HONE_ALPHA > 0) /* rows are copied, whatever lies beside them */

/* ---- Across ---- */

/* Where the element of a row comes from that the border rule puts at `i`, which lies beyond an edge; -1:
 * nowhere (constant). */
INLINE int source_of(const struct band *b, int i)
{
    int x = i >= 0 ? i / COLOURS : -((COLOURS - 1 - i) / COLOURS), from = hone_fold(x, b->width);
    return from < 0 ? -1 : from * HONE_C + i - x * COLOURS;
}

/* What the strip's windows see beyond both edges is the same in all rows. */
INLINE void find_sources(struct band *b)
{
    b->before = max(b->pad - b->x, 0);
    b->behind = max(b->x + b->length + b->pad - b->count, 0);
    for (int k = 0; k < b->before; k++)
        b->sources[k] = source_of(b, k - b->before);
    for (int k = 0; k < b->behind; k++)
        b->sources[b->before + k] = source_of(b, b->count + k);
}

INLINE PIXEL from_source(const struct band *b, __global const PIXEL *row, int k)
{
    int from = b->sources[k];
    return AS_COPIED(HONE_BORDER == BORDER_CONSTANT && from < 0 ? (PIXEL)b->border : row[from]);
}

INLINE void copy_beyond(const struct band *b, __global const PIXEL *row, __global PIXEL *copy)
{
    for (int k = 0; k < b->before; k++)
        copy[k - b->pad] = from_source(b, row, k);
    for (int k = 0; k < b->behind; k++)
        copy[b->count - b->x + k] = from_source(b, row, b->before + k);
}

/* A row of the strip and what windows see beside it. What lies beyond an edge comes last: with alpha, vectors
 * store too much. */
#if HONE_ALPHA
INLINE void copy_row(const struct band *b, __global const PIXEL *row, __global PIXEL *copy)
{
    int x = max(b->x - b->pad, 0) / COLOURS, to = min(b->x + b->length + b->pad, b->count) / COLOURS;
    for (; x + PER_VECTOR <= to; x += PER_VECTOR) {
        pixels v = LOAD_PIXELS(row + x * HONE_C);
        *(__global pixels_at *)(copy + x * COLOURS - b->x) =
            AS_COPIED(__builtin_shufflevector(v, v, L_ALL(TAKEN)));
    }
    for (; x < to; x++)
        for (int c = 0; c < COLOURS; c++)
            copy[x * COLOURS + c - b->x] = AS_COPIED(row[x * HONE_C + c]);
    copy_beyond(b, row, copy);
}
#else
INLINE void copy_row(const struct band *b, __global const PIXEL *row, __global PIXEL *copy)
{
    int i = max(b->x - b->pad, 0), to = min(b->x + b->length + b->pad, b->count);
    for (; i + LANES <= to; i += LANES)
        *(__global pixels_at *)(copy + i - b->x) = AS_COPIED(LOAD_PIXELS(row + i));
    for (; i < to; i++)
        copy[i - b->x] = AS_COPIED(row[i]);
    copy_beyond(b, row, copy);
}
#endif

/* What a row shows to the strip: a copy where that lies beyond an edge. */
INLINE __global const PIXEL *strip_row(const struct band *b, int y, __global PIXEL *copy)
{
    int inside;
    __global const PIXEL *row = hone_row(b->in, b->in_pitch, y, b->height, &inside);
    if (!REAL_ROW(inside))
        return b->edges + 2 * b->edge + b->pad;
    if (!COPIES && b->x >= b->pad && b->x + b->length + b->pad <= b->count)
        return row + b->x;
    copy_row(b, row, copy + b->pad);
    return copy + b->pad;
}

/* A strip's rows are too short for the processor to foresee the next ones: what stands two rows below. */
INLINE void fetch_in(const struct band *b, int y, int i)
{
    __builtin_prefetch(b->in + (y + 2) * b->in_pitch + IN_ROW(b->x + i));
}

INLINE void fetch_out(const struct band *b, int y, int i)
{
    __builtin_prefetch(b->out + (y + 2) * b->out_pitch + IN_ROW(b->x + i), 1);
}

/* Rows y and y + 1 into the ring. */
INLINE void across_strip(const struct window *w, const struct band *b, int y, __global short *to)
{
    __global const PIXEL *p = strip_row(b, y, b->edges), *q = strip_row(b, y + 1, b->edges + b->edge);
    for (int block = 0; block * LANES < b->length; block++) {
        int i = block_start(b, block);
        fetch_in(b, y, i);
        fetch_in(b, y + 1, i);
        across_block(w, p + i, q + i, to + block * BLOCK_CELLS);
    }
}

/* Whether a row of results can be made where it belongs. */
INLINE bool made_in_place(const struct band *b, int y)
{
    return HONE_ALPHA ? false : b->length >= LANES && y < b->end;
}

/* Otherwise it is made where the copy of a row stood. */
INLINE __global PIXEL *result_row(const struct band *b, int y, __global PIXEL *spare)
{
    return made_in_place(b, y) ? b->out + y * b->out_pitch + b->x : spare;
}

/* A row of results that was made elsewhere, with alpha. */
INLINE void deliver_row(const struct band *b, int y, __global const PIXEL *from)
{
    if (y >= b->end || made_in_place(b, y))
        return;
    __global const PIXEL *in = b->in + y * b->in_pitch + IN_ROW(b->x);
    __global PIXEL *out = b->out + y * b->out_pitch + IN_ROW(b->x);
    int x = 0, width = b->length / COLOURS;
#if HONE_ALPHA
    for (; x + PER_VECTOR <= width; x += PER_VECTOR)
        *(__global pixels_at *)(out + x * HONE_C) = __builtin_shufflevector(
            LOAD_PIXELS(from + x * COLOURS), LOAD_PIXELS(in + x * HONE_C), L_ALL(SPREAD));
#endif
    for (; x < width; x++)
        for (int c = 0; c < HONE_C; c++)
            out[x * HONE_C + c] = IS_ALPHA(c) ? in[x * HONE_C + c] : from[x * COLOURS + c];
}

INLINE void down_strip(const struct window *w, const struct band *b, int y)
{
    __constant const uint *even = weights(w, EVEN), *odd = weights(w, ODD);
    __global PIXEL *first = result_row(b, y, b->edges), *second = result_row(b, y + 1, b->edges + b->edge);
    struct pending pending = none_pending(b);
    for (int block = 0; block * LANES < b->length; block++) {
        int at = block * BLOCK_CELLS, i = block_start(b, block);
        const struct sums none = {0};
        struct two_rows v = load_rows(w->rows[0] + at);
        struct sums p = add_rows(none, v, even[0]), q = add_rows(none, v, odd[0]);
#pragma unroll 2
        for (int k = 1; k < w->pairs; k++) {
            v = load_rows(w->rows[k] + at);
            p = add_rows(p, v, even[k]);
            q = add_rows(q, v, odd[k]);
        }
        fetch_out(b, y, i);
        fetch_out(b, y + 1, i);
        finish_block(w, &pending, p, block, false, first + i);
        finish_block(w, &pending, q, block, true, second + i);
    }
    finish_pending(w, b, &pending, first, second);
    deliver_row(b, y, first);
    deliver_row(b, y + 1, second);
}

/* Whether rows y and y + 1 are the same as the two above them. */
INLINE bool repeats(const struct band *b, int y)
{
#if HONE_BORDER == BORDER_WRAP || HONE_BORDER == BORDER_REFLECT || HONE_BORDER == BORDER_REFLECT101
    return false;
#else
    return y + 1 < 0 || y - 2 >= b->height;
#endif
}

/* Rows y and y + 1 into the k-th place of the ring, behind the two above them. */
INLINE void next_rows(const struct window *w, const struct band *b, int y, int k)
{
    if (k == 0 || !repeats(b, y))
        across_strip(w, b, y, w->rows[k]);
    else
        for (int i = 0; i < VECTORS * STRIP; i += WORDS)
            STORE(w->rows[k] + i, LOAD(w->rows[k - 1] + i));
}

INLINE void blur_strip(struct window *w, const struct band *b, int y)
{
    int reach = w->pairs - 1;
    for (int k = 0; k < w->pairs; k++)
        w->rows[k] = b->ring + k * ROW_CELLS;
    for (int k = 0; k < reach; k++)
        next_rows(w, b, y - reach + 2 * k, k);
    for (; y < b->end; y += 2) {
        next_rows(w, b, y + reach, reach);
        down_strip(w, b, y);
        __global short *oldest = w->rows[0];
        for (int k = 0; k < reach; k++)
            w->rows[k] = w->rows[k + 1];
        w->rows[reach] = oldest;
    }
}

/* The band from row `y` on, whose ring and rows begin at `scratch`; without those and the strip in `b`. */
INLINE void blur_band(struct window *w, struct band *b, int y, __global uchar *scratch)
{
    b->ring = (__global short *)scratch;
    b->spare = b->ring + w->pairs * ROW_CELLS;
    b->sources = (__global int *)(b->spare + ROW_CELLS);
    b->edges = (__global PIXEL *)(b->sources + 2 * REACH * COLOURS);
    for (int i = 0; HONE_BORDER == BORDER_CONSTANT && i < b->edge; i++)
        b->edges[2 * b->edge + i] = AS_COPIED((PIXEL)b->border);
    for (int x = 0; x < b->count; x += WHOLE(STRIP)) {
        b->x = WHOLE(max(min(x, b->count - LANES), 0));
        b->length = min(WHOLE(STRIP), b->count - b->x);
        find_sources(b);
        blur_strip(w, b, y);
    }
}

/* Intel's compiler for CPUs would put several work-items into one vector, which takes it a minute. */
#ifdef cl_intel_vec_len_hint
#define ALONE intel_vec_len_hint(1)
#else
#define ALONE
#endif

/* `reach` is what the border rules go by, `rows` are those of a band. */
__kernel __attribute__((ALONE)) void gaussian_exact_strips(__global const PIXEL *in, int in_offset,
                                                           int in_pitch, __global PIXEL *out, int out_offset,
                                                           int out_pitch, int width, int height,
                                                           BORDER_TYPE border, __constant const uint *table,
                                                           int pairs, int reach, __global uchar *scratch,
                                                           int scratch_bytes, int edge, int rows)
{
    int first = get_global_id(0) * rows, end = min(first + rows, height);
    if (first >= height)
        return;
    struct window w = {.table = table, .pairs = pairs};
    struct band b = {.in = in + in_offset,
                     .out = out + out_offset,
                     .in_pitch = in_pitch,
                     .out_pitch = out_pitch,
                     .width = width,
                     .height = height,
                     .border = border,
                     .count = width * COLOURS,
                     .pad = (pairs - 1) * COLOURS,
                     .edge = edge,
                     .end = end};
    blur_band(&w, &b, first, scratch + (size_t)get_global_id(0) * scratch_bytes);
    const struct sink sink = {b.out, out_pitch};
    for (int y = first; y < end; y++)
        clear_outside(&sink, y, width, height, 2 * reach + 1, 2 * reach + 1);
}
