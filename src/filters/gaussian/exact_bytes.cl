/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * exact=yes of u8 for CPUs, small sigma: a work-item owns a band of whole rows and walks down it in strips
 * that stay in the first cache.
 *
 *   1. Across: a weight of 15 bits is 128 `coarse` + `fine`, both of 8 bits, so that one instruction
 *      multiplies and adds two bytes; the sums of both fit into 16 bits. Together they have 23: the upper 16
 *      (256 are a level) and the lower 7 are kept in a ring of rows.
 *   2. Down: products of 16 bits, two rows at a time, summed in 32 bits. Two rows lie by turns in the ring;
 *      what is loaded serves two rows of results.
 *
 * The lower 7 bits weigh less than 2^-8 levels together: they are summed only for blocks that are as near as
 * that to a tie. These are noted and done again afterwards: of noise every fourth block is one, and a branch
 * that is foreseen wrongly costs as much as a block.
 */
#ifndef ROWS
#define ROWS 64 /* rows of a band */
#endif
#ifndef STRIP
#define STRIP 512 /* elements across */
#endif
#ifndef REACH
#define REACH 32 /* the window's radius is less */
#endif

/* A call for each block costs 5 % where a window has few rows. */
#define INLINE inline __attribute__((always_inline))

#define LANES  NATIVE
#define CELL   short
#include "filters/bands.clh"
#include "filters/products.clh"

typedef bytes bytes_at __attribute__((aligned(1)));
typedef ints ints_at __attribute__((aligned(4)));
typedef shorts shorts_at __attribute__((aligned(2)));

#define LOAD_BYTES(p) (*(__global const bytes_at *)(p))
#define LOAD(p)       (*(__global const shorts_at *)(p))
#define STORE(p, v)   (*(__global shorts_at *)(p) = (v))

#define WORDS         (NATIVE / 2)
/* Of the ring, in cells: a block's two rows, those of a strip; the finer bits lie behind these. */
#define BLOCK_CELLS (2 * NATIVE)
#define STRIP_CELLS (2 * STRIP)

struct window {
    __constant const uint *coarse, *fine; /* of a pair of pixels across, see exact.c */
    __constant const uint *even, *odd;    /* of a pair of rows, for the first row of results and the second */
    __constant const uint *ends;          /* pairs after which the finer sums are carried */
    int pairs;
    __global short *rows[REACH + 1]; /* pairs of rows in the ring, from the first one down */
};

/* ---- Across ---- */

/* Sums along a row, of the lower and the upper half of each piece: sum = 128 coarse + fine. */
struct across {
    shorts low, high, fine_low, fine_high;
};

INLINE struct across add_pair(struct across s, bytes a, bytes b, uint coarse, uint fine)
{
    bytes low = __builtin_shufflevector(a, b, LOWER_BYTES), high = __builtin_shufflevector(a, b, UPPER_BYTES);
    s.low += add_byte_products(low, (ints)(int)coarse);
    s.high += add_byte_products(high, (ints)(int)coarse);
    s.fine_low += add_byte_products(low, (ints)(int)fine);
    s.fine_high += add_byte_products(high, (ints)(int)fine);
    return s;
}

/* The centre is in two pairs, for its weight may have more than 7 bits. */
INLINE struct across centre(const struct window *w, __global const uchar *p)
{
    struct across none = {0, 0, 0, 0};
    bytes middle = LOAD_BYTES(p);
    struct across s = add_pair(none, middle, LOAD_BYTES(p - HONE_C), w->coarse[0], w->fine[0]);
    return add_pair(s, middle, LOAD_BYTES(p + HONE_C), w->coarse[1], w->fine[1]);
}

INLINE struct across next_pair(const struct window *w, struct across s, __global const uchar *p, int k)
{
    return add_pair(s, LOAD_BYTES(p - k * HONE_C), LOAD_BYTES(p + k * HONE_C), w->coarse[k], w->fine[k]);
}

INLINE struct across carry(struct across s)
{
    s.low += s.fine_low >> (short)7;
    s.high += s.fine_high >> (short)7;
    s.fine_low &= (short)127;
    s.fine_high &= (short)127;
    return s;
}

/* As signed numbers, with half a level and one part of 256 more: see is_near(). */
INLINE struct across top(struct across s)
{
    s.low += (s.fine_low >> (short)7) + (short)(128 + 1 - 32768);
    s.high += (s.fine_high >> (short)7) + (short)(128 + 1 - 32768);
    return s;
}

/* A block of two rows into the ring. */
INLINE void across_block(const struct window *w, __global const uchar *p, __global const uchar *q,
                         __global short *to)
{
    struct across a = centre(w, p), b = centre(w, q);
    for (int k = 2, section = 0; k < w->pairs;) {
        for (int end = (int)w->ends[section]; k < end; k++) {
            a = next_pair(w, a, p, k);
            b = next_pair(w, b, q, k);
        }
        section++;
        if (k < w->pairs) {
            a = carry(a);
            b = carry(b);
        }
    }
    a = top(a);
    b = top(b);
    STORE(to, __builtin_shufflevector(a.low, b.low, LOWER_WORDS));
    STORE(to + WORDS, __builtin_shufflevector(a.low, b.low, UPPER_WORDS));
    STORE(to + 2 * WORDS, __builtin_shufflevector(a.high, b.high, LOWER_WORDS));
    STORE(to + 3 * WORDS, __builtin_shufflevector(a.high, b.high, UPPER_WORDS));
    STORE(to + STRIP_CELLS, a.fine_low);
    STORE(to + STRIP_CELLS + WORDS, b.fine_low);
    STORE(to + STRIP_CELLS + 2 * WORDS, a.fine_high);
    STORE(to + STRIP_CELLS + 3 * WORDS, b.fine_high);
}

/* ---- Down ---- */

/* Of each piece, four elements each. */
struct two_rows {
    shorts a, b, c, d;
};
struct sums {
    ints a, b, c, d;
};

INLINE struct sums add_rows(struct sums s, struct two_rows v, uint weights)
{
    ints both = (ints)(int)weights;
    s.a += add_products(v.a, both);
    s.b += add_products(v.b, both);
    s.c += add_products(v.c, both);
    s.d += add_products(v.d, both);
    return s;
}

INLINE struct two_rows load_rows(__global const short *from)
{
    struct two_rows v = {LOAD(from), LOAD(from + WORDS), LOAD(from + 2 * WORDS), LOAD(from + 3 * WORDS)};
    return v;
}

INLINE struct two_rows load_fine(__global const short *from)
{
    struct two_rows v = load_rows(from + STRIP_CELLS);
    v.a &= (short)127;
    v.b &= (short)127;
    v.c &= (short)127;
    v.d &= (short)127;
    struct two_rows turned = {
        __builtin_shufflevector(v.a, v.b, LOWER_WORDS), __builtin_shufflevector(v.a, v.b, UPPER_WORDS),
        __builtin_shufflevector(v.c, v.d, LOWER_WORDS), __builtin_shufflevector(v.c, v.d, UPPER_WORDS)};
    return turned;
}

/* A result and, below it, 8 bits of its fraction. */
struct results {
    shorts low, high;
};

INLINE struct results top_words(struct sums s)
{
    struct results r = {pack_ints(s.a >> 15, s.b >> 15), pack_ints(s.c >> 15, s.d >> 15)};
    return r;
}

/* Whether a fraction is 0, one part of 256 past a tie: less than that is what the finer bits add. */
INLINE bool is_near(struct results r)
{
    shorts low = r.low & (short)255, high = r.high & (short)255;
    shorts least = low < high ? low : high;
    return any_set(least == (short)0);
}

/* With the finer bits, and without the one part of 256. */
INLINE struct sums add_fine(const struct window *w, __constant const uint *weights, struct sums s, int at)
{
    struct sums fine = {0, 0, 0, 0};
    for (int k = 0; k < w->pairs; k++)
        fine = add_rows(fine, load_fine(w->rows[k] + at), weights[k]);
    s.a += (fine.a >> 7) - (1 << 15);
    s.b += (fine.b >> 7) - (1 << 15);
    s.c += (fine.c >> 7) - (1 << 15);
    s.d += (fine.d >> 7) - (1 << 15);
    return s;
}

/* Levels, by pieces in the order of elements. */
INLINE bytes levels(struct results r)
{
    union {
        shorts s;
        ushorts u;
    } low, high;
    low.s = r.low;
    high.s = r.high;
    return pack_words(low.u >> (ushort)8, high.u >> (ushort)8) ^ (uchar)128;
}

/* Where rows of results go, and what their alpha is taken from. */
struct target {
    __global uchar *out;
    __global const uchar *in;
};

INLINE void write(struct target t, int i, struct results r)
{
    *(__global bytes_at *)(t.out + i) = WITH_ALPHA(levels(r), LOAD_BYTES(t.in + i));
}

/* Blocks near ties, and their sums. */
struct near {
    int count;
    int blocks[2 * STRIP / NATIVE]; /* twice a block's number, and one more for the second row */
    __global int *sums;
};

/* Sums are kept in any case, and the next block's instead where none is near: no branch. */
INLINE void finish(struct near *near, struct sums s, int block, struct target t, int i)
{
    struct results r = top_words(s);
    __global ints_at *kept = (__global ints_at *)(near->sums + near->count * NATIVE);
    kept[0] = s.a;
    kept[1] = s.b;
    kept[2] = s.c;
    kept[3] = s.d;
    near->blocks[near->count] = block;
    near->count += is_near(r);
    write(t, i, r);
}

/* ---- Bands ---- */

struct band {
    __global const uchar *in;
    __global uchar *out;
    int in_pitch, out_pitch, width, height, border, count;
    int pad;               /* elements of the window on one side */
    __global uchar *edges; /* two rows with what lies beyond the edges, and a row of border values */
    int edge;              /* bytes of each */
    int x, length, end;    /* the strip; the band's last row */
    __global short *ring;
};

INLINE int block_start(const struct band *b, int block)
{
    return max(min(block * NATIVE, b->length - NATIVE), 0);
}

/* What a row shows to the strip: a copy where that lies beyond an edge. */
INLINE __global const uchar *strip_row(const struct band *b, int y, __global uchar *copy)
{
    int inside, from = max(b->x - b->pad, 0), to = min(b->x + b->length + b->pad, b->count);
    __global const uchar *row = hone_row(b->in, b->in_pitch, y, b->height, &inside);
    if (!REAL_ROW(inside))
        return b->edges + 2 * b->edge + b->pad;
    if (b->x >= b->pad && to - b->x == b->length + b->pad)
        return row + b->x;
    copy += b->pad;
    int i = from;
    for (; i + NATIVE <= to; i += NATIVE)
        *(__global bytes_at *)(copy + i - b->x) = LOAD_BYTES(row + i);
    for (; i < to; i++)
        copy[i - b->x] = row[i];
    for (i = b->x - b->pad; i < 0; i++)
        copy[i - b->x] = (uchar)hone_element(row, inside, i, b->width, b->border);
    for (i = to; i < b->x + b->length + b->pad; i++)
        copy[i - b->x] = (uchar)hone_element(row, inside, i, b->width, b->border);
    return copy;
}

/* A strip's rows are too short for the processor to foresee the next ones: what stands two rows below. */
INLINE void fetch_in(const struct band *b, int y, int i)
{
    __builtin_prefetch(b->in + (y + 2) * b->in_pitch + b->x + i);
}

INLINE void fetch_out(const struct band *b, int y, int i)
{
    __builtin_prefetch(b->out + (y + 2) * b->out_pitch + b->x + i, 1);
}

/* Rows y and y + 1 into the ring. */
INLINE void across_strip(const struct window *w, const struct band *b, int y, __global short *to)
{
    __global const uchar *p = strip_row(b, y, b->edges), *q = strip_row(b, y + 1, b->edges + b->edge);
    for (int block = 0; block * NATIVE < b->length; block++) {
        int i = block_start(b, block);
        fetch_in(b, y, i);
        fetch_in(b, y + 1, i);
        across_block(w, p + i, q + i, to + block * BLOCK_CELLS);
    }
}

/* Where copies of rows stood, if there is no such row or a vector does not fit into it. */
INLINE struct target target_row(const struct band *b, int y, __global uchar *spare)
{
    struct target unused = {spare, spare};
    struct target t = {b->out + y * b->out_pitch + b->x, b->in + y * b->in_pitch + b->x};
    return y < b->end && b->length >= NATIVE ? t : unused;
}

/* A row that is narrower than a vector. */
INLINE void copy_narrow(const struct band *b, int y, __global const uchar *from)
{
    for (int i = 0; i < b->length && y < b->end; i++)
        b->out[y * b->out_pitch + i] = IS_ALPHA(i % HONE_C) ? b->in[y * b->in_pitch + i] : from[i];
}

INLINE void finish_near(const struct window *w, const struct band *b, const struct near *near,
                        struct target first, struct target second)
{
    for (int k = 0; k < near->count; k++) {
        int block = near->blocks[k] / 2;
        bool is_second = near->blocks[k] % 2;
        __global const ints_at *kept = (__global const ints_at *)(near->sums + k * NATIVE);
        struct sums s = {kept[0], kept[1], kept[2], kept[3]};
        s = add_fine(w, is_second ? w->odd : w->even, s, block * BLOCK_CELLS);
        write(is_second ? second : first, block_start(b, block), top_words(s));
    }
}

INLINE void down_strip(const struct window *w, const struct band *b, int y)
{
    struct target first = target_row(b, y, b->edges), second = target_row(b, y + 1, b->edges + b->edge);
    struct near near = {.count = 0, .sums = (__global int *)(b->edges - 4 * STRIP_CELLS)};
    for (int block = 0; block * NATIVE < b->length; block++) {
        int at = block * BLOCK_CELLS, i = block_start(b, block);
        struct sums none = {0, 0, 0, 0};
        struct two_rows v = load_rows(w->rows[0] + at);
        struct sums p = add_rows(none, v, w->even[0]), q = add_rows(none, v, w->odd[0]);
        for (int k = 1; k < w->pairs; k++) {
            v = load_rows(w->rows[k] + at);
            p = add_rows(p, v, w->even[k]);
            q = add_rows(q, v, w->odd[k]);
        }
        fetch_out(b, y, i);
        fetch_out(b, y + 1, i);
        finish(&near, p, 2 * block, first, i);
        finish(&near, q, 2 * block + 1, second, i);
    }
    finish_near(w, b, &near, first, second);
    if (b->length < NATIVE) {
        copy_narrow(b, y, first.out);
        copy_narrow(b, y + 1, second.out);
    }
}

INLINE void blur_strip(struct window *w, const struct band *b, int y)
{
    int reach = w->pairs - 1;
    for (int k = 0; k < w->pairs; k++)
        w->rows[k] = b->ring + k * 2 * STRIP_CELLS;
    for (int k = 0; k < reach; k++)
        across_strip(w, b, y - reach + 2 * k, w->rows[k]);
    for (; y < b->end; y += 2) {
        across_strip(w, b, y + reach, w->rows[reach]);
        down_strip(w, b, y);
        __global short *oldest = w->rows[0];
        for (int k = 0; k < reach; k++)
            w->rows[k] = w->rows[k + 1];
        w->rows[reach] = oldest;
    }
}

/* `reach` is what the border rules go by. */
__kernel void gaussian_exact_bytes(__global const uchar *in, int in_offset, int in_pitch, __global uchar *out,
                                   int out_offset, int out_pitch, int width, int height, BORDER_TYPE border,
                                   __constant const uint *table, int pairs, int reach,
                                   __global uchar *scratch, int scratch_bytes, int edge)
{
    int first = get_global_id(0) * ROWS, end = min(first + ROWS, height);
    if (first >= height)
        return;
    scratch += (size_t)get_global_id(0) * scratch_bytes;
    struct window w = {.coarse = table,
                       .fine = table + pairs,
                       .even = table + 2 * pairs,
                       .odd = table + 3 * pairs,
                       .ends = table + 4 * pairs,
                       .pairs = pairs};
    struct band b = {.in = in + in_offset,
                     .out = out + out_offset,
                     .in_pitch = in_pitch,
                     .out_pitch = out_pitch,
                     .width = width,
                     .height = height,
                     .border = border,
                     .count = width * HONE_C,
                     .pad = (pairs - 1) * HONE_C,
                     .edges = scratch + 4 * STRIP_CELLS * (pairs + 1),
                     .edge = edge,
                     .end = end,
                     .ring = (__global short *)scratch};
    for (int i = 0; HONE_BORDER == BORDER_CONSTANT && i < edge; i++)
        b.edges[2 * edge + i] = (uchar)border;
    for (int x = 0; x < b.count; x += STRIP) {
        b.x = max(min(x, b.count - NATIVE), 0);
        b.length = min(STRIP, b.count - b.x);
        blur_strip(&w, &b, first);
    }
    const struct sink sink = {b.out, out_pitch};
    for (int y = first; y < end; y++)
        clear_outside(&sink, y, width, height, 2 * reach + 1, 2 * reach + 1);
}
