/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * For CPUs, u8, windows whose sum fits 16 bits: one work-item walks down a block that is BLOCK pixels wide,
 * few enough for its sums of columns to stay in the first cache. Each row updates them (add the row that
 * enters the window, subtract the one that leaves it); sums over the window's width are made of them in a
 * logarithmic number of steps, each one addition of a line to itself, moved: plain vector loads from where
 * they are needed, no prefix sums, no shuffles.
 */
#ifndef BLOCK
#define BLOCK 1024 /* pixels across */
#endif
#ifndef KW
#define KW 8 /* the window's width */
#endif
#ifndef KH
#define KH 8 /* and height */
#endif
#ifndef MULTIPLIER
#define MULTIPLIER 32768 /* (sum + half of the area) * MULTIPLIER >> SHIFT is the mean */
#endif
#ifndef SHIFT
#define SHIFT 21 /* at least 16 */
#endif

#define LANES  32
#define HALF   (KW * KH / 2)
#define LEFT   (KW / 2 * HONE_C)
#define BEYOND ((KW - 1) * HONE_C) /* elements of a line more than there are results */
#define LENGTH ((BLOCK * HONE_C + BEYOND + 8 * LANES) / LANES * LANES)
/* Level l: sums of 2^l columns. The width is made of them; a power of two is two of the level below. */
#define POWER  (KW > 1 && (KW & (KW - 1)) == 0)
#define LEVELS ((KW >= 2) + (KW >= 4) + (KW >= 8) + (KW >= 16) + (KW >= 32))
#define TOP    (LEVELS - POWER)
/* Vectors by which a level is behind the columns: each one takes the next of the level below. */
#define BEHIND(l) ((l) > 1 ? (l)-1 : 0)
#define DELAY     (BEHIND(TOP) + 1)
/* Columns of the window before those of this level, where the width has its bit. */
#define BEFORE(l) (KW >> ((l) + 1) << ((l) + 1))

#include "filters/bands.clh"
#include "filters/vectors.clh"

DEFINE_VECTORS(ushort, sums);
DEFINE_VECTORS(uint, words);
DEFINE_VECTORS(uchar, pixels);
DEFINE_STORE_PART(uchar, pixels, LANES)

struct block {
    __global const uchar *in;
    int pitch, width, height, border;
    int from, to;      /* the line's elements, counted in the image */
    int first, behind; /* of those the ones that are added by vectors: inside the image */
};

/* Where whole rows fit: which column each one beyond is like. */
struct beyond {
    short like[BEYOND > 0 ? BEYOND : 1];
};

/* A row of the input; NULL: nowhere, all of it is the border value. */
inline __global const uchar *row_at(const struct block *b, int y)
{
    int inside;
    __global const uchar *row = hone_row(b->in, b->pitch, y, b->height, &inside);
    return REAL_ROW(inside) ? row : 0;
}

inline ushort element(const struct block *b, __global const uchar *row, int i)
{
    return row ? (ushort)hone_element(row, 1, i, b->width, b->border) : (ushort)b->border;
}

inline sums row_sums(const struct block *b, __global const uchar *row, int i)
{
    return row ? CONVERT(*(__global const pixels_at *)(row + i), sums) : (sums)(ushort)b->border;
}

/* Whether the columns beyond both edges are in the line, and all that they may be like. Few of them take as
 * long by themselves, and beside those of a long line it makes no difference. */
inline bool is_whole(const struct block *b)
{
    const int count = b->width * HONE_C;
    return BEYOND > 3 && count <= 4096 && b->from <= 0 && b->to >= count;
}

inline int beyond_before(const struct block *b)
{
    return is_whole(b) ? -b->from : 0;
}

inline int beyond_behind(const struct block *b)
{
    return is_whole(b) ? b->to - b->width * HONE_C : 0;
}

inline int like_column(const struct block *b, int i)
{
    const int x = i >= 0 ? i / HONE_C : -1 - (-1 - i) / HONE_C;
    return hone_fold(x, b->width) * HONE_C + i - x * HONE_C - b->from;
}

inline void find_beyond(const struct block *b, struct beyond *beyond)
{
    const int before = beyond_before(b), behind = beyond_behind(b);
    for (int k = 0; k < before; k++)
        beyond->like[k] = like_column(b, k - before);
    for (int k = 0; k < behind; k++)
        beyond->like[before + k] = like_column(b, b->width * HONE_C + k);
}

/* What columns beyond the edges sum to, whose rule each row follows alike. */
inline void set_beyond(const struct block *b, const struct beyond *beyond, ushort *columns)
{
    const int before = beyond_before(b), behind = beyond_behind(b);
    const bool is_constant = HONE_BORDER == BORDER_CONSTANT;
    for (int k = 0; k < before; k++)
        columns[k] = is_constant ? (ushort)(b->border * KH) : columns[beyond->like[k]];
    for (int k = 0; k < behind; k++)
        columns[b->width * HONE_C - b->from + k] =
            is_constant ? (ushort)(b->border * KH) : columns[beyond->like[before + k]];
}

/* Of a pixel of the image itself. */
inline int inside_element(const struct block *b, __global const uchar *row, int i)
{
    return row ? row[i] : b->border;
}

inline void update_last(const struct block *b, ushort *columns, __global const uchar *enter,
                        __global const uchar *leave, bool leaves, int i)
{
    for (; i < b->width * HONE_C; i++)
        columns[i - b->from] += inside_element(b, enter, i) - (leaves ? inside_element(b, leave, i) : 0);
}

inline void update_vector(const struct block *b, ushort *columns, __global const uchar *enter,
                          __global const uchar *leave, bool leaves, int i)
{
    sums_at *at = (sums_at *)(columns + i - b->from);
    *at += row_sums(b, enter, i) - (leaves ? row_sums(b, leave, i) : (sums)0);
}

/* columns += enter - leave; without `leave` nothing leaves. The row that will enter two rows later is
 * fetched, a cache line with each two vectors: the processor foresees too little of what nobody has read
 * before. */
inline void update(const struct block *b, const struct beyond *beyond, ushort *columns,
                   __global const uchar *enter, __global const uchar *leave, bool leaves)
{
    int i = b->first;
    __global const uchar *ahead = (enter ? enter : b->in) + 2L * b->pitch;
    for (; i + 2 * LANES <= b->behind; i += 2 * LANES) {
        __builtin_prefetch(ahead + i);
        update_vector(b, columns, enter, leave, leaves, i);
        update_vector(b, columns, enter, leave, leaves, i + LANES);
    }
    for (; i + LANES <= b->behind; i += LANES)
        update_vector(b, columns, enter, leave, leaves, i);
    if (is_whole(b)) {
        update_last(b, columns, enter, leave, leaves, i);
        set_beyond(b, beyond, columns);
        return;
    }
    for (; i < b->to; i++)
        columns[i - b->from] += element(b, enter, i) - (leaves ? element(b, leave, i) : 0);
    for (i = b->from; i < b->first; i++)
        columns[i - b->from] += element(b, enter, i) - (leaves ? element(b, leave, i) : 0);
}

#define AT(line, i) (*(const sums_at *)((line) + (i)))

/* The last vectors of each level, the newest first. */
struct levels {
    sums of[5][6];
};

inline void push(sums *level, sums v)
{
#pragma unroll
    for (int k = 5; k > 0; k--)
        level[k] = level[k - 1];
    level[0] = v;
}

/* Takes the columns from element i on. */
inline void advance(struct levels *s, const ushort *columns, int i)
{
    push(s->of[0], AT(columns, i));
    if (TOP >= 1) /* by one element: a load is cheaper than moving single words */
        push(s->of[1], s->of[0][0] + AT(columns, i + HONE_C));
    if (TOP >= 2)
        push(s->of[2], s->of[1][1] + MOVED(s->of[1][1], s->of[1][0], 2 * HONE_C));
    if (TOP >= 3)
        push(s->of[3], s->of[2][1] + MOVED(s->of[2][1], s->of[2][0], 4 * HONE_C));
    if (TOP >= 4)
        push(s->of[4], s->of[3][1] + MOVED(s->of[3][1], s->of[3][0], 8 * HONE_C));
}

/* What level l gives to the windows that begin DELAY vectors behind the columns. */
#define PART(s, l)                                                                                           \
    (TOP > (l) && KW >> (l)&1                                                                                \
         ? MOVED((s)->of[l][DELAY - BEHIND(l)], (s)->of[l][DELAY - BEHIND(l) - 1], BEFORE(l) * HONE_C)       \
         : (sums)0)

inline sums window(const struct levels *s)
{
    sums sum = s->of[TOP][1];
    if (POWER)
        return sum + MOVED(sum, s->of[TOP][0], HONE_C << TOP);
    return sum + PART(s, 0) + PART(s, 1) + PART(s, 2) + PART(s, 3);
}

inline pixels means(sums sum)
{
    if (MULTIPLIER == 32768) /* a power of two */
        return CONVERT((sum + (ushort)HALF) >> (ushort)(SHIFT - 15), pixels);
    words product = CONVERT(sum + (ushort)HALF, words) * (words)(uint)MULTIPLIER;
    return CONVERT(CONVERT(product >> 16u, sums) >> (ushort)(SHIFT - 16), pixels);
}

/* Results from element `at` on, of columns that begin where their windows do. */
inline void write_row(const ushort *columns, const struct sink *sink, int at, int y, int count)
{
    struct levels levels;
#pragma unroll
    for (int j = 0; j < DELAY; j++)
        advance(&levels, columns, j * LANES);
    __global uchar *out = sink->at + (size_t)y * sink->pitch + at;
    int i = 0;
    for (; i + LANES <= count; i += LANES) {
        advance(&levels, columns, i + DELAY * LANES);
        *(__global pixels_at *)(out + i) = means(window(&levels));
    }
    if (i == count)
        return;
    advance(&levels, columns, i + DELAY * LANES);
    store_pixels(out + i, means(window(&levels)), count - i);
}

__kernel void box_lines(__global const uchar *in, int in_offset, int in_pitch, __global RESULT *out,
                        int out_offset, int out_pitch, int width, int height, int border, int rows)
{
    struct sink sink = SINK_OF(out);
    ushort room[LENGTH + LANES] __attribute__((aligned(64)));
    int elements = width * HONE_C, at = get_global_id(0) * BLOCK * HONE_C;
    int y = get_global_id(1) * rows, end = min(y + rows, height);
    if (at >= elements || y >= height)
        return;
    int count = min(BLOCK * HONE_C, elements - at);
    struct block b = {.in = in + in_offset,
                      .pitch = in_pitch,
                      .width = width,
                      .height = height,
                      .border = border,
                      .from = at - LEFT,
                      .to = at - LEFT + count + BEYOND};
    b.first = max(b.from, 0);
    /* Whole vectors, where the image goes on. */
    b.behind = min(elements, b.first + (b.to - b.first + LANES - 1) / LANES * LANES);
    b.to = max(b.to, b.first + (b.behind - b.first) / LANES * LANES);
    struct beyond beyond;
    find_beyond(&b, &beyond);
    /* Sums of columns that are stored as vectors begin with a line of the cache. */
    ushort *columns = room + (LANES - (b.first - b.from) % LANES) % LANES;
    for (int i = 0; i < LENGTH; i++)
        columns[i] = 0;
    for (int j = 0; j < KH; j++)
        update(&b, &beyond, columns, row_at(&b, y - KH / 2 + j), 0, false);
    for (; y < end; y++) {
        write_row(columns, &sink, at, y, count);
        clear_between(&sink, y, at, at + count, width, height, KW, KH);
        update(&b, &beyond, columns, row_at(&b, y - KH / 2 + KH), row_at(&b, y - KH / 2), true);
    }
}
