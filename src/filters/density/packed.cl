/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * For GPUs, one channel of u8: sums of columns two to a 32-bit register, of masks four.
 *
 * A work-item owns a strip of 4 * WORDS neighbouring pixels and walks down ROWS rows; the sums of its columns
 * slide along in registers. Those of the strips beside it come from the neighbouring lanes; the outermost
 * lanes only serve the others. A window's sum is the one before it plus the column that enters minus the one
 * that leaves.
 *
 * A pixel of a mask is one bit, so the marks of all rows in the window stay in registers, eight rows to a
 * word of four pixels: what leaves the window is not read again. The sums of columns have one byte each,
 * those of windows 16 bits; multiplied by 0x01010101, the differences of four pixels become their running
 * sums.
 *
 * Marks instead of sums (results of u8) are made of signs: of two words with a bit 15 and a bit 31 each, four
 * bytes.
 *
 * Every loop over words is unrolled: their indices must be constants for the arrays to live in registers.
 */
#ifndef WORDS
#define WORDS 4 /* words of four pixels per work-item and row */
#endif
#ifndef MASK
#define MASK 0 /* 1: a pixel that is not 0 counts 1 */
#endif
#ifndef ROWS
#define ROWS 64 /* rows per work-item, a multiple of 8 */
#endif
#ifndef AHEAD
#define AHEAD 2 /* rows that are under way before they are needed: 1, 2, 4 or 8 */
#endif
#ifndef SHUFFLE
#define SHUFFLE 0 /* neighbours' sums: 0 through local memory, 1 from lane to lane (PTX) */
#endif
#ifndef SWAP
#define SWAP 0 /* 1: pairs of lanes swap halves of results, so that each store fills whole sectors (PTX) */
#endif
#ifndef SIZE
#define SIZE 31 /* of the window; at most 127: two sums of columns must be told apart by their sign */
#endif
#ifndef TAIL
#define TAIL 1 /* 0: rows are a whole number of strips */
#endif

#define LEFT   (SIZE / 2)
#define RIGHT  (SIZE - 1 - LEFT)
#define SPAN   (4 * WORDS)                /* pixels of a strip */
#define HALO   ((LEFT + SPAN - 1) / SPAN) /* lanes on either side that windows of others reach into */
#define PER    (MASK ? 4 : 2)             /* sums of columns in a word */
#define CELLS  (SPAN / PER)               /* words of them */
#define BEFORE ((LEFT + PER - 1) / PER)   /* words left of the strip */
#define BEHIND ((RIGHT + PER - 1) / PER)  /* and right of it */
#define ALL    (BEFORE + CELLS + BEHIND)
#define START  (PER * BEFORE - LEFT) /* where the window of the strip's first pixel begins */
#define BACK   (START > 0)           /* whether the window of the pixel before that is at hand, too */
#define MARKS  (HONE_OT == 0)        /* results of u8: sums never are */
#define PACKED (HONE_OT == 0 ? 4 : HONE_OT == 1 ? 2 : 1) /* results in a word */
#define OUTS   (SPAN / PACKED)                           /* words of them */
#if MASK
#define LOADS WORDS                /* words of pixels for a row */
#define WARM  ((SIZE + 6) / 8 * 8) /* rows before the first result: whole rounds of eight */
#else
#define LOADS (2 * WORDS)          /* those that enter, then those that leave */
#define WARM  ((SIZE + 7) / 8 * 8) /* so that the first row to leave has entered */
#endif
#define EARLY  (WARM - (SIZE - 1))  /* of which so many have left again with the first result */
#define ROUNDS ((SIZE + 7) / 8 + 1) /* of which marks are remembered */
/* Whole strips beyond the left and right edge read whole strips, so that what they read takes no loads of its
 * own. */
#define FOLDS (!TAIL && HONE_BORDER != BORDER_REFLECT101)

#include "filters/words.clh"
#if SHUFFLE
#include "filters/warp.clh"
#define LANES 32
#else
#define LANES ((int)get_local_size(0))
#endif

struct strip {
    __global const uchar *in;
    __global RESULT *out;
    int pitch, out_pitch, width, height;
    int x, y;     /* the first pixel */
    int from;     /* the first column that it reads */
    int lane;     /* among those that serve each other */
    bool gives;   /* has results of its own */
    bool beyond;  /* reads otherwise than it lies: the same pixel everywhere, backwards, or nothing */
    uint outside; /* four marks or pixels beyond the edges */
    /* smallest sum that counts; of masks: what added to two sums sets bit 15 where they are not smaller */
    uint least;
    __local uint *part;
};

/* Bytes of a and b in any order, as PRMT has it; here for those orders that occur. */
#if WITH_PTX
#define FIRST_TWO(w)     hone_bytes(w, 0, 0x4140)
#define LAST_TWO(w)      hone_bytes(w, 0, 0x4342)
#define UPPER_TWICE(w)   hone_bytes(w, 0, 0x3232)
#define SIGNS(w)         hone_bytes(w, 0, 0xbb99)
#define FOUR_SIGNS(a, b) hone_bytes(a, b, 0xfdb9)
#define BACKWARDS(w)     hone_bytes(w, 0, 0x0123)
#define FIRST_ONE(w)     hone_bytes(w, 0, 0)
#define LAST_ONE(w)      hone_bytes(w, 0, 0x3333)
#else
#define FIRST_TWO(w)   (((w)&0xffu) | ((w)&0xff00u) << 8)
#define LAST_TWO(w)    ((w) >> 16 & 0xffu | ((w) >> 8 & 0xff0000u))
#define UPPER_TWICE(w) (((w) >> 16) * 0x00010001u)
#define SIGNS(w)       (((w) >> 15 & 0x00010001u) * 0xffffu)
#define FOUR_SIGNS(a, b)                                                                                     \
    as_uint(as_uchar4((((a) >> 15 & 0x00010001u) | ((b) >> 7 & 0x01000100u)) * 0xffu).s0213)
#define BACKWARDS(w) as_uint(as_uchar4(w).s3210)
#define FIRST_ONE(w) (((w)&0xffu) * 0x01010101u)
#define LAST_ONE(w)  (((w) >> 24) * 0x01010101u)
#endif

#if MASK
/* Bit 0 of every byte that is not 0. */
inline uint counted(uint w)
{
    return ((((w & 0x7f7f7f7fu) + 0x7f7f7f7fu) | w) & 0x80808080u) >> 7;
}

/* The sums of columns after a row of marks has entered in phase p of a round. Remembered is bit p of every
 * pixel; q rounds ago the row that leaves was remembered. */
inline void slide_columns(uint *columns, uint history[ROUNDS][WORDS], const uint *row, int p)
{
    int q = (SIZE - p + 7) / 8, bit = (p + 8 * ROUNDS - SIZE) % 8;
#pragma unroll
    for (int k = 0; k < WORDS; k++) {
        uint leaving = history[q][k] >> bit & 0x01010101u;
        columns[k] = columns[k] + row[k] - leaving;
        history[0][k] += row[k] << p;
    }
}
#else
inline uint counted(uint w)
{
    return w;
}

/* The sums of columns after one row has entered and another one has left. */
inline void slide_columns(uint *columns, uint history[ROUNDS][WORDS], const uint *row, int p)
{
#pragma unroll
    for (int k = 0; k < WORDS; k++) {
        columns[2 * k] += FIRST_TWO(row[k]) - FIRST_TWO(row[WORDS + k]);
        columns[2 * k + 1] += LAST_TWO(row[k]) - LAST_TWO(row[WORDS + k]);
    }
}
#endif

inline void next_round(uint history[ROUNDS][WORDS])
{
#pragma unroll
    for (int k = 0; k < WORDS; k++) {
#pragma unroll
        for (int q = ROUNDS - 1; q > 0; q--)
            history[q][k] = history[q - 1][k];
        history[0][k] = 0;
    }
}

#include "filters/density/along.clh"

/* PTX: without a branch. A compiler that does not know that lanes must shuffle together may double the code
 * behind one, and lanes that wait in either copy wait forever. */
inline void store4(__global RESULT *at, const uint *w, int real)
{
#if WITH_PTX
    asm volatile("{\n .reg .pred p;\n setp.ne.s32 p, %5, 0;\n @p st.global.v4.u32 [%0], {%1, %2, %3, %4};\n}"
                 :
                 : "l"(at), "r"(w[0]), "r"(w[1]), "r"(w[2]), "r"(w[3]), "r"(real)
                 : "memory");
#else
    if (real)
        *(__global uint4 *)at = (uint4)(w[0], w[1], w[2], w[3]);
#endif
}

inline void store2(__global RESULT *at, const uint *w, int real)
{
#if WITH_PTX
    asm volatile("{\n .reg .pred p;\n setp.ne.s32 p, %3, 0;\n @p st.global.v2.u32 [%0], {%1, %2};\n}"
                 :
                 : "l"(at), "r"(w[0]), "r"(w[1]), "r"(real)
                 : "memory");
#else
    if (real)
        *(__global uint2 *)at = (uint2)(w[0], w[1]);
#endif
}

#define STORED (16 / (int)sizeof(RESULT)) /* results in one store */

inline void store_strip(__global RESULT *out, const uint *sums, int real)
{
#if OUTS == 2
    store2(out, sums, real);
#else
#pragma unroll
    for (int k = 0; k < OUTS; k += 4)
        store4(out + k / 4 * STORED, sums + k, real);
#endif
}

#if SWAP
/* The lanes of a pair store the even one's strip together, both halves of every two stores, then the odd
 * one's. */
inline void store_pairs(const struct strip *s, __global RESULT *out, const uint *sums, bool real)
{
    int even = s->lane & ~1, x = s->x - (s->lane & 1) * SPAN;
    int even_gives = real && even >= HALO && even < LANES - HALO && x < s->width;
    int odd_gives = real && even + 1 >= HALO && even + 1 < LANES - HALO && x + SPAN < s->width;
    uint odd = s->lane & 1 ? 0xffffffffu : 0;
    out += odd ? STORED - SPAN : 0;
#pragma unroll
    for (int block = 0; block < OUTS; block += 8, out += 2 * STORED) {
        uint first[4], second[4];
#pragma unroll
        for (int k = block; k < block + 4; k++) {
            uint other = from_other(bitselect(sums[k + 4], sums[k], odd), 1);
            first[k - block] = bitselect(sums[k], other, odd);
            second[k - block] = bitselect(other, sums[k + 4], odd);
        }
        store4(out, first, even_gives);
        store4(out + SPAN, second, odd_gives);
    }
}
#endif

/* Where a strip that may lie beyond the left or right edge reads. */
inline void find_columns(struct strip *s)
{
#if FOLDS
    int strips = s->width / SPAN, strip = s->x / SPAN,
        times = strip < 0 ? (strip + 1) / strips - 1 : strip / strips;
    s->from = max(hone_fold(strip, strips), 0) * SPAN;
    s->beyond = HONE_BORDER == BORDER_REFLECT ? times & 1 : times != 0;
#else
    s->from = s->x;
    s->beyond = false;
#endif
}

/* What row y counts out of its pixels, in the way of the border rule. */
inline void count_row(uint *w, const struct strip *s, int y)
{
    uint v[WORDS];
#pragma unroll
    for (int k = 0; k < WORDS; k++)
        v[k] = counted(w[k]);
#pragma unroll
    for (int k = 0; k < WORDS; k++) {
#if HONE_BORDER == BORDER_CONSTANT
        w[k] = s->beyond || (uint)y >= (uint)s->height ? s->outside : v[k];
#elif FOLDS && HONE_BORDER == BORDER_REFLECT
        w[k] = s->beyond ? BACKWARDS(v[WORDS - 1 - k]) : v[k];
#elif FOLDS && HONE_BORDER != BORDER_WRAP
        w[k] = !s->beyond ? v[k] : s->x < 0 ? FIRST_ONE(v[0]) : LAST_ONE(v[WORDS - 1]);
#else
        w[k] = v[k];
#endif
    }
}

/* Where result i of a strip lies in its word. */
#define PLACE(i) (32 / PACKED * ((i) % PACKED))

/* border=zero-outside: only what does not leave the image in row y. */
inline void clear_strip(uint *sums, const struct strip *s, int y)
{
#if HONE_BORDER == BORDER_ZERO_OUTSIDE
#pragma unroll
    for (int i = 0; i < SPAN; i++) {
        int x = s->x + i;
        if (x < LEFT || x + RIGHT >= s->width || y < LEFT || y + RIGHT >= s->height)
            sums[i / PACKED] &= ~(0xffffffffu >> (32 - 32 / PACKED) << PLACE(i));
    }
#endif
}

/* Before the first row that could leave has entered, nothing does. */
inline void keep_early(uint *row, const struct strip *s, int y)
{
#pragma unroll
    for (int k = WORDS; k < LOADS; k++)
        row[k] = y - SIZE < s->y - LEFT - EARLY ? 0 : row[k];
}

inline void load_rows(uint *row, const struct strip *s, int y)
{
    int inside;
    load_together(row, hone_row(s->in, s->pitch, y, s->height, &inside) + s->from, WORDS);
    if (!MASK)
        load_together(row + LOADS - WORDS, hone_row(s->in, s->pitch, y - SIZE, s->height, &inside) + s->from,
                      WORDS);
}

/* Takes row y in phase p, and sends for the one AHEAD of it. */
inline void next_row(uint *columns, uint history[ROUNDS][WORDS], uint ahead[AHEAD][LOADS],
                     const struct strip *s, int y, int p, bool early)
{
    uint row[LOADS];
#pragma unroll
    for (int k = 0; k < LOADS; k++)
        row[k] = ahead[p % AHEAD][k];
    load_rows(ahead[p % AHEAD], s, y + AHEAD);
    count_row(row, s, y);
    if (!MASK)
        count_row(row + LOADS - WORDS, s, y - SIZE);
    if (early)
        keep_early(row, s, y);
    slide_columns(columns, history, row, p);
}

/* Where every strip reads a whole strip. */
inline void slide(const struct strip *s)
{
    uint columns[CELLS] = {0}, history[ROUNDS][WORDS] = {{0}}, ahead[AHEAD][LOADS], sums[SPAN];
    int y = s->y - LEFT - EARLY, end = min(s->y + ROWS, s->height) + RIGHT;
    __global RESULT *out = s->out + s->y * s->out_pitch + s->x;
#pragma unroll
    for (int a = 0; a < AHEAD; a++)
        load_rows(ahead[a], s, y + a);
#pragma unroll 1
    for (int round = 0; round < WARM / 8; round++) {
#pragma unroll
        for (int p = 0; p < 8; p++, y++)
            next_row(columns, history, ahead, s, y, p, true);
        next_round(history);
    }
#pragma unroll 1
    while (y < end) {
#pragma unroll
        for (int p = 0; p < 8; p++, y++, out += s->out_pitch) {
            next_row(columns, history, ahead, s, y, p, false);
            results(columns, s, p & 1, sums);
            clear_strip(sums, s, y - RIGHT);
#if SWAP
            store_pairs(s, out, sums, y < end);
#else
            store_strip(out, sums, s->gives && y < end);
#endif
        }
        next_round(history);
    }
}

#if !FOLDS
/* ---- Near the edges: each pixel from where the border rule says ---- */

struct edge {
    int from[SPAN];   /* columns that the strip's pixels read */
    uint real[WORDS]; /* border=constant: 0xff where there is one */
};

inline void find_edge(struct edge *e, const struct strip *s)
{
#pragma unroll
    for (int k = 0; k < WORDS; k++)
        e->real[k] = 0;
#pragma unroll
    for (int i = 0; i < SPAN; i++) {
        int from = hone_fold(s->x + i, s->width);
        e->from[i] = max(from, 0);
        e->real[i / 4] |= from < 0 ? 0 : 0xffu << 8 * (i % 4);
    }
}

inline void load_edge(uchar *bytes, const struct strip *s, const struct edge *e, int y)
{
    int inside;
    __global const uchar *row = hone_row(s->in, s->pitch, y, s->height, &inside);
#pragma unroll
    for (int i = 0; i < SPAN; i++)
        bytes[i] = row[e->from[i]];
}

inline void load_edges(uchar *bytes, const struct strip *s, const struct edge *e, int y)
{
    load_edge(bytes, s, e, y);
    if (!MASK)
        load_edge(bytes + 4 * LOADS - SPAN, s, e, y - SIZE);
}

inline void count_edge(uint *row, const uchar *bytes, const struct strip *s, const struct edge *e, int y)
{
#pragma unroll
    for (int k = 0; k < WORDS; k++) {
        const uchar *b = bytes + 4 * k;
        row[k] = counted((uint)b[0] | (uint)b[1] << 8 | (uint)b[2] << 16 | (uint)b[3] << 24);
#if HONE_BORDER == BORDER_CONSTANT
        uint real = (uint)y < (uint)s->height ? e->real[k] : 0;
        row[k] = (row[k] & real) | (s->outside & ~real);
#endif
    }
}

/* Takes row y in phase p; its pixels are there already. Sends for the next one. */
inline void next_edge_row(uint *columns, uint history[ROUNDS][WORDS], uchar *bytes, const struct strip *s,
                          const struct edge *e, int y, int p)
{
    uint row[LOADS];
    count_edge(row, bytes, s, e, y);
    if (!MASK)
        count_edge(row + LOADS - WORDS, bytes + 4 * LOADS - SPAN, s, e, y - SIZE);
    load_edges(bytes, s, e, y + 1);
    keep_early(row, s, y);
    slide_columns(columns, history, row, p);
}

#if SHUFFLE
/* The same number, of which no compiler knows that it never changes: else it may make loops of its own,
 * shuffles and all, for the lanes that store. */
inline int opaque(int number)
{
    int r;
    asm volatile("mov.b32 %0, %1;" : "=r"(r) : "r"(number));
    return r;
}
#else
#define opaque(number) (number)
#endif

/* The first `count` results of row y. */
inline void store_edge(const struct strip *s, uint *sums, int y, int count)
{
    __global RESULT *out = s->out + y * s->out_pitch + s->x;
    clear_strip(sums, s, y);
    if (count >= SPAN) {
        store_strip(out, sums, 1);
    } else {
#pragma unroll
        for (int i = 0; i < SPAN; i++)
            if (i < count)
                out[i] = (RESULT)(sums[i / PACKED] >> PLACE(i));
    }
}

inline void slide_edges(const struct strip *s)
{
    uint columns[CELLS] = {0}, history[ROUNDS][WORDS] = {{0}}, sums[SPAN];
    uchar bytes[4 * LOADS];
    struct edge e;
    int end = min(s->y + ROWS, s->height), y = s->y - LEFT - EARLY;
    find_edge(&e, s);
    load_edges(bytes, s, &e, y);
#pragma unroll 1
    for (int round = 0; round < WARM / 8; round++) {
#pragma unroll
        for (int p = 0; p < 8; p++, y++)
            next_edge_row(columns, history, bytes, s, &e, y, p);
        next_round(history);
    }
#pragma unroll 1
    while (y - RIGHT < end) {
#pragma unroll
        for (int p = 0; p < 8; p++, y++) {
            next_edge_row(columns, history, bytes, s, &e, y, p);
            results(columns, s, p & 1, sums);
            store_edge(s, sums, y - RIGHT, opaque(s->gives && y - RIGHT < end ? s->width - s->x : 0));
        }
        next_round(history);
    }
}
#endif

__kernel void density_packed(__global const uchar *in, int in_offset, int in_pitch, __global RESULT *out,
                             int out_offset, int out_pitch, __local uint *part, int width, int height,
                             int border, uint least)
{
    int lanes = LANES, lane = get_local_id(0) % lanes;
    int first = (int)get_global_id(0) / lanes * (lanes - 2 * HALO) - HALO; /* strip of lane 0 */
    if ((first + HALO) * SPAN >= width)
        return;
    struct strip s;
    s.in = in + in_offset;
    s.out = out + out_offset;
    s.pitch = in_pitch;
    s.out_pitch = out_pitch;
    s.width = width;
    s.height = height;
    s.x = (first + lane) * SPAN;
    s.y = get_group_id(1) * ROWS;
    s.lane = lane;
    s.gives = lane >= HALO && lane < lanes - HALO && s.x < width;
    s.outside = (MASK ? border != 0 : border) * 0x01010101u;
    s.least = MASK ? (0x8000u - least) * 0x00010001u : least;
    s.part = part;
    find_columns(&s);
#if FOLDS
    slide(&s);
#else
    if (first >= 0 && (first + lanes) * SPAN <= width) /* all lanes alike: they serve each other */
        slide(&s);
    else
        slide_edges(&s);
#endif
}
