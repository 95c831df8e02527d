/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * For GPUs, u8, windows whose sum fits 16 bits: two sums in every 32-bit register.
 *
 * A work-item owns 4 * WORDS neighbouring elements and walks down ROWS rows. Each word of four elements is
 * split into its even and its odd ones, E = (e0, e2) and O = (e1, e3), 16 bits each; the column sums are kept
 * in this form and updated by the row that enters and the row that leaves. Sums over the window's width take
 * a logarithmic number of steps; a shift by elements is the other word, the next word, or a funnel shift of
 * two.
 *
 * Every loop over words is unrolled: their indices must be constants for the arrays to live in registers.
 */
#ifndef WORDS
#define WORDS 4 /* words of four elements per work-item and row */
#endif
#ifndef ROWS
#define ROWS 64 /* rows per work-item */
#endif
#ifndef SHUFFLE
#define SHUFFLE 0 /* neighbours' words: 0 by loads, 1 from the neighbouring lane (PTX) */
#endif
/* Rows of the window in registers: 0 read again when they leave, 1 kept until then, 2 in batches. */
#ifndef KEEP
#define KEEP 0
#endif
#ifndef UNROLL
#define UNROLL 1 /* rows per round of the loop */
#endif
#ifndef KW
#define KW 8 /* the window's width */
#endif
#ifndef KH
#define KH 8 /* and height */
#endif
#ifndef SHIFT
#define SHIFT 6 /* of a division by a power of two; -1: multiply by MULTIPLIER and take bits 24..31 */
#endif
#ifndef MULTIPLIER
#define MULTIPLIER 0
#endif
#ifndef TAIL
#define TAIL 1 /* 0: rows are a whole number of strips */
#endif

#define LEFT   (KW / 2 * HONE_C)
#define RIGHT  ((KW - 1 - KW / 2) * HONE_C)
#define BEFORE ((LEFT + 3) / 4)  /* words left of the strip; at most WORDS */
#define BEHIND ((RIGHT + 3) / 4) /* and right of it; at most WORDS */
#define ALL    (BEFORE + WORDS + BEHIND)
#define START  (4 * BEFORE - LEFT) /* where the window of the strip's first element begins */
#define HALF   ((KW * KH / 2) * 0x00010001u)

#include "filters/words.clh"
#if SHUFFLE
#include "filters/warp.clh"
#endif

struct strip {
    __global const uchar *in;
    int pitch, width, height, border;
    int at; /* the strip's first element */
};

/* Where an element beyond an edge reads, counted from that edge inwards, by pixels: 0 is the edge's own
 * pixel. */
#if HONE_BORDER == BORDER_REFLECT
#define MIRRORED(distance) ((distance)-1)
#elif HONE_BORDER == BORDER_REFLECT101
#define MIRRORED(distance) (distance)
#else
#define MIRRORED(distance) (0 * (distance))
#endif

/* Element `e` counted from the strip's first one, out of the words of the row. */
#define ELEMENT(w, e) ((w)[BEFORE + (e) / 4] >> 8 * ((e) % 4) & 0xffu)

/* Word k (of those left of the strip) of the first strip: the border rule applied to the strip's own
 * pixels. */
inline uint beyond_left(const uint *w, int k)
{
    uint word = 0;
#pragma unroll
    for (int b = 0; b < 4; b++) {
        int back = 4 * (BEFORE - k) - b, distance = (back + HONE_C - 1) / HONE_C;
        int channel = distance * HONE_C - back, from = MIRRORED(distance) * HONE_C + channel;
        word |= (from < 4 * (WORDS + BEHIND) ? ELEMENT(w, from) : 0u) << 8 * b;
    }
    return word;
}

/* Word k right of the last strip. */
inline uint beyond_right(const uint *w, int k)
{
    uint word = 0;
#pragma unroll
    for (int b = 0; b < 4; b++) {
        int ahead = 4 * k + b, distance = ahead / HONE_C + 1, channel = ahead % HONE_C;
        int from = 4 * WORDS - (MIRRORED(distance) + 1) * HONE_C + channel;
        word |=
            (from >= -4 * BEFORE ? (w[(4 * BEFORE + from) / 4] >> 8 * ((4 * BEFORE + from) % 4) & 0xffu) : 0u)
            << 8 * b;
    }
    return word;
}

inline void load_row(uint *w, const struct strip *s, int y)
{
    int inside, count = s->width * HONE_C;
    __global const uchar *row = hone_row(s->in, s->pitch, y, s->height, &inside);
    bool first = s->at == 0, last = s->at + 4 * WORDS >= count;
#if TAIL
    bool whole = s->at + 4 * WORDS <= count;
    if (!whole) {
#pragma unroll 1
        for (int k = 0; k < WORDS; k++)
            w[BEFORE + k] = edge_word(row, inside, s->at + 4 * k, s->width, s->border);
    } else
#endif
        load_words(w + BEFORE, row + s->at, WORDS);
    bool wraps = HONE_BORDER == BORDER_WRAP;
    bool load_left = !first || wraps, load_right = !last || wraps;
#if SHUFFLE
    uint lane = get_local_id(0) % 32;
#pragma unroll
    for (int k = 0; k < BEFORE; k++)
        w[k] = from_left(w[WORDS + k], 1);
#pragma unroll
    for (int k = 0; k < BEHIND; k++)
        w[BEFORE + WORDS + k] = from_right(w[BEFORE + k], 1);
    load_left = load_left && (lane == 0 || first);
    load_right = load_right && (lane == 31 || last);
#endif
#if TAIL
    bool tail_left = s->at + 4 * (WORDS + BEHIND) > count; /* too near the end for whole words */
    if (tail_left || !whole || (wraps && first)) {
#pragma unroll 1
        for (int k = 0; k < BEHIND; k++)
            w[BEFORE + WORDS + k] = edge_word(row, inside, s->at + 4 * (WORDS + k), s->width, s->border);
        load_right = false;
    }
    if (first && wraps) {
#pragma unroll 1
        for (int k = 0; k < BEFORE; k++)
            w[k] = edge_word(row, inside, 4 * (k - BEFORE), s->width, s->border);
        load_left = false;
    }
#endif
    if (load_left) {
        __global const uchar *at = row + (HONE_BORDER == BORDER_WRAP && first ? count : s->at);
#pragma unroll
        for (int k = 0; k < BEFORE; k++)
            w[k] = *(__global const uint *)(at - 4 * (BEFORE - k));
    }
    if (load_right) {
        __global const uchar *at = row + (HONE_BORDER == BORDER_WRAP && last ? -4 * WORDS : s->at);
#pragma unroll
        for (int k = 0; k < BEHIND; k++)
            w[BEFORE + WORDS + k] = *(__global const uint *)(at + 4 * (WORDS + k));
    }
#if HONE_BORDER == BORDER_CONSTANT
    uint outside = outside_word(s->border);
#pragma unroll
    for (int k = 0; k < ALL; k++)
        w[k] = (!TAIL && last && k >= BEFORE + WORDS) || (first && k < BEFORE) || !inside ? outside : w[k];
#elif HONE_BORDER != BORDER_WRAP
    if (first) {
#pragma unroll
        for (int k = 0; k < BEFORE; k++)
            w[k] = beyond_left(w, k);
    }
#if !TAIL
    if (last) {
#pragma unroll
        for (int k = 0; k < BEHIND; k++)
            w[BEFORE + WORDS + k] = beyond_right(w, k);
    }
#endif
#endif
}

/* The same sums, `by` elements further: element 4j + by at the place of 4j, of the even and of the odd ones.
 * Beyond the last word there is nothing. even and odd are arrays of ALL; all indices are constants once the
 * loops are unrolled. */
#define WORD(w, q) ((q) < ALL ? (w)[(q) < ALL ? (q) : 0] : 0u)
#define EVEN_AT(even, odd, j, by)                                                                            \
    ((by) % 4 == 0   ? WORD(even, (j) + (by) / 4)                                                            \
     : (by) % 4 == 1 ? WORD(odd, (j) + (by) / 4)                                                             \
     : (by) % 4 == 2 ? FUNNEL(WORD(even, (j) + (by) / 4), WORD(even, (j) + (by) / 4 + 1))                    \
                     : FUNNEL(WORD(odd, (j) + (by) / 4), WORD(odd, (j) + (by) / 4 + 1)))
#define ODD_AT(even, odd, j, by)                                                                             \
    ((by) % 4 == 0   ? WORD(odd, (j) + (by) / 4)                                                             \
     : (by) % 4 == 1 ? FUNNEL(WORD(even, (j) + (by) / 4), WORD(even, (j) + (by) / 4 + 1))                    \
     : (by) % 4 == 2 ? FUNNEL(WORD(odd, (j) + (by) / 4), WORD(odd, (j) + (by) / 4 + 1))                      \
                     : WORD(even, (j) + (by) / 4 + 1))

#if HONE_C == 1
/*
 * One channel: neighbours are adjacent, so sums of pairs P = E + O (or of pairs that begin at odd elements)
 * are all that the longer sums need; and the odd results follow from the even ones by one element less and
 * one more.
 */
#define FIRST (START % 2)
inline void across(const uint *even, const uint *odd, uint start, uint *result_even, uint *result_odd)
{
    uint level[ALL]; /* sums that begin at even places */
    int done = 0;
#pragma unroll
    for (int k = 0; k < WORDS; k++)
        result_even[k] = start;
    /* Bits of KW: bit 0 is a single element at the window's end, which keeps the rest at even places. */
    if (KW & 1) {
#pragma unroll
        for (int k = 0; k < WORDS; k++)
            result_even[k] += EVEN_AT(even, odd, k, START + FIRST + KW - 1);
    }
#pragma unroll
    for (int j = 0; j < ALL; j++)
        level[j] = even[j] + odd[j];
#pragma unroll
    for (int length = 2; length <= KW; length *= 2) {
        if (KW & length) {
#pragma unroll
            for (int k = 0; k < WORDS; k++)
                result_even[k] += EVEN_AT(level, level, k, START + FIRST + done);
            done += length;
        }
#pragma unroll
        for (int j = 0; j < ALL; j++)
            level[j] = level[j] + EVEN_AT(level, level, j, length);
    }
#pragma unroll
    for (int k = 0; k < WORDS; k++) {
        uint leaving = EVEN_AT(even, odd, k, START), entering = EVEN_AT(even, odd, k, START + KW);
        if (FIRST == 0) {
            result_odd[k] = result_even[k] - leaving + entering;
        } else { /* what was summed belongs to the odd elements */
            result_odd[k] = result_even[k];
            result_even[k] = result_odd[k] + leaving - entering;
        }
    }
}
#else
inline void across(const uint *even, const uint *odd, uint start, uint *result_even, uint *result_odd)
{
    uint level_even[ALL], level_odd[ALL], next_even[ALL], next_odd[ALL];
    int done = START;
#pragma unroll
    for (int k = 0; k < WORDS; k++)
        result_even[k] = result_odd[k] = start;
#pragma unroll
    for (int j = 0; j < ALL; j++) {
        level_even[j] = even[j];
        level_odd[j] = odd[j];
    }
#pragma unroll
    for (int length = 1; length <= KW; length *= 2) {
        if (KW & length) {
#pragma unroll
            for (int k = 0; k < WORDS; k++) {
                result_even[k] += EVEN_AT(level_even, level_odd, k, done);
                result_odd[k] += ODD_AT(level_even, level_odd, k, done);
            }
            done += length * HONE_C;
        }
#pragma unroll
        for (int j = 0; j < ALL; j++) {
            next_even[j] = level_even[j] + EVEN_AT(level_even, level_odd, j, length * HONE_C);
            next_odd[j] = level_odd[j] + ODD_AT(level_even, level_odd, j, length * HONE_C);
        }
#pragma unroll
        for (int j = 0; j < ALL; j++) {
            level_even[j] = next_even[j];
            level_odd[j] = next_odd[j];
        }
    }
}
#endif

/* Four means from sums that hold half of the area already. */
inline uint means(uint even, uint odd)
{
#if SHIFT >= 0
    return (even >> SHIFT & 0x00ff00ffu) | (odd << (8 - SHIFT) & 0xff00ff00u);
#else
    uint a = (even & 0xffffu) * MULTIPLIER, b = (odd & 0xffffu) * MULTIPLIER;
    uint c = (even >> 16) * MULTIPLIER, d = (odd >> 16) * MULTIPLIER;
    return a >> 24 | (b >> 16 & 0xff00u) | (c >> 8 & 0xff0000u) | (d & 0xff000000u);
#endif
}

/* Stores the means of windows whose sums hold half of the area already. */
inline void store_sums(const struct strip *s, const struct sink *sink, int y, const uint *r_even,
                       const uint *r_odd)
{
    uint result[WORDS];
#pragma unroll
    for (int k = 0; k < WORDS; k++)
        result[k] = means(r_even[k], r_odd[k]);
    finish_words(result, WORDS, s->in + y * s->pitch, s->at, y, KW, KH, s->width, s->height);
    sink_put_words(sink, s->at, y, result, WORDS, TAIL ? s->width * HONE_C - s->at : 4 * WORDS);
}

inline void store_row(const struct strip *s, const struct sink *sink, int y, const uint *even,
                      const uint *odd)
{
    uint r_even[WORDS], r_odd[WORDS];
    across(even, odd, HALF, r_even, r_odd);
    store_sums(s, sink, y, r_even, r_odd);
}

#if KEEP == 2
/* A row's sums over the window's width. */
inline void sum_row(const uint *w, uint *sum_even, uint *sum_odd)
{
    uint even[ALL], odd[ALL];
#pragma unroll
    for (int k = 0; k < ALL; k++) {
        even[k] = EVEN_BYTES(w[k]);
        odd[k] = ODD_BYTES(w[k]);
    }
    across(even, odd, 0, sum_even, sum_odd);
}

/* Sums of the last rows of a batch, from each row on: what windows that begin there hold of it. */
inline void sum_tails(uint (*even)[WORDS], uint (*odd)[WORDS])
{
#pragma unroll
    for (int k = 0; k < WORDS; k++) {
        even[KH - 1][k] += HALF;
        odd[KH - 1][k] += HALF;
    }
#pragma unroll
    for (int j = KH - 2; j >= 0; j--) {
#pragma unroll
        for (int k = 0; k < WORDS; k++) {
            even[j][k] += even[j + 1][k];
            odd[j][k] += odd[j + 1][k];
        }
    }
}

/*
 * Rows come in batches as high as the window, all loads of a batch under way at once. A window is the tail of
 * one batch and the head of the next (M. van Herk, 1992): nothing is subtracted, and no row is read twice.
 */
inline void slide_batches(const struct strip *s, const struct sink *sink, int y, int end, bool idle)
{
    uint raw[KH][ALL], even[KH][WORDS], odd[KH][WORDS];
    int from = y - KH / 2;
#pragma unroll
    for (int j = 0; j < KH; j++)
        load_row(raw[j], s, from + j);
#pragma unroll
    for (int j = 0; j < KH; j++)
        sum_row(raw[j], even[j], odd[j]);
    sum_tails(even, odd);
#pragma unroll 1
    for (; y < end; y += KH) {
        uint head_even[WORDS], head_odd[WORDS], window_even[WORDS], window_odd[WORDS];
        from += KH;
#pragma unroll
        for (int j = 0; j < KH; j++)
            load_row(raw[j], s, from + j);
#pragma unroll
        for (int k = 0; k < WORDS; k++)
            head_even[k] = head_odd[k] = 0;
#pragma unroll
        for (int j = 0; j < KH; j++) {
#pragma unroll
            for (int k = 0; k < WORDS; k++) {
                window_even[k] = even[j][k] + head_even[k];
                window_odd[k] = odd[j][k] + head_odd[k];
            }
            if (!idle && y + j < end)
                store_sums(s, sink, y + j, window_even, window_odd);
            sum_row(raw[j], even[j], odd[j]);
#pragma unroll
            for (int k = 0; k < WORDS; k++) {
                head_even[k] += even[j][k];
                head_odd[k] += odd[j][k];
            }
        }
        sum_tails(even, odd);
    }
}
#endif

#define TOP (KH / 2) /* rows of a window above its pixel */

__kernel void box_packed(__global const uchar *in, int in_offset, int in_pitch, __global FINAL *out,
                         int out_offset, int out_pitch, int width, int height, int border FUSED_PARAMETERS)
{
    struct sink sink = SINK_OF(out);
    struct strip s = {in + in_offset, in_pitch, width, height, border, get_global_id(0) * 4 * WORDS};
    int y = get_global_id(1) * ROWS, end = min(y + ROWS, height);
    bool idle = s.at >= width * HONE_C; /* stays for the shuffles of its neighbours */
    if (y >= height || (idle && !SHUFFLE))
        return;
#if !TAIL
    s.at = idle ? 0 : s.at; /* whatever it reads, it must be there */
#endif
#if KEEP == 2
    slide_batches(&s, &sink, y, end, idle);
#else
    uint even[ALL], odd[ALL], enter[ALL];
#pragma unroll
    for (int k = 0; k < ALL; k++)
        even[k] = odd[k] = 0;
#if KEEP
    uint kept[KH][ALL];
#pragma unroll
    for (int j = 0; j < KH; j++) {
        load_row(kept[j], &s, y - TOP + j);
#pragma unroll
        for (int k = 0; k < ALL; k++) {
            even[k] += EVEN_BYTES(kept[j][k]);
            odd[k] += ODD_BYTES(kept[j][k]);
        }
    }
    for (;;) {
#pragma unroll
        for (int j = 0; j < KH; j++) {
            load_row(enter, &s, y + 1 - TOP + KH - 1);
            if (!idle)
                store_row(&s, &sink, y, even, odd);
            if (++y >= end)
                return;
#pragma unroll
            for (int k = 0; k < ALL; k++) {
                even[k] = even[k] + EVEN_BYTES(enter[k]) - EVEN_BYTES(kept[j][k]);
                odd[k] = odd[k] + ODD_BYTES(enter[k]) - ODD_BYTES(kept[j][k]);
                kept[j][k] = enter[k];
            }
        }
    }
#else
    uint leave[ALL];
#pragma unroll 1
    for (int j = 0; j < KH; j++) {
        load_row(enter, &s, y - TOP + j);
#pragma unroll
        for (int k = 0; k < ALL; k++) {
            even[k] += EVEN_BYTES(enter[k]);
            odd[k] += ODD_BYTES(enter[k]);
        }
    }
    for (;;) {
#pragma unroll
        for (int r = 0; r < UNROLL; r++) {
            load_row(enter, &s, y + 1 - TOP + KH - 1);
            load_row(leave, &s, y - TOP);
            if (!idle)
                store_row(&s, &sink, y, even, odd);
            if (++y >= end)
                return;
#pragma unroll
            for (int k = 0; k < ALL; k++) {
                even[k] = even[k] + EVEN_BYTES(enter[k]) - EVEN_BYTES(leave[k]);
                odd[k] = odd[k] + ODD_BYTES(enter[k]) - ODD_BYTES(leave[k]);
            }
        }
    }
#endif
#endif
}
