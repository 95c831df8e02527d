/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * For GPUs with matrix units, u8 and u16: sums as products of small matrices of bytes, exact.
 *
 * A warp of 32 work-items owns a strip of 16 tiles of 16 elements beside each other, and makes LINES rows of
 * results at once. Of each row that their windows see, and each row of the kernel,
 *     sums(16 tiles x 16 elements) += pixels(16 tiles x K) * weights(K x 16),
 * where row t of `pixels` holds what the results of tile t see, and column o of `weights` says how much each
 * of these gives to result o of a tile. Channels lie beside each other: neighbours of one are HONE_C apart,
 * what lies in between has the weight 0. matrix_planes: an element is a pixel of one channel, picked out of
 * the words that are loaded, so that K is as small as for one channel; a warp makes results of one channel.
 * matrix_tiles: the same, but all that a work-group's windows see is put into local memory first, channel by
 * channel and with what is beyond the image's edges in place; results of several channels are put together
 * there and stored as words. matrix_channels: the same with a work-group for each channel, where tiles of all
 * channels are too large; results are stored one by one.
 *
 * Each lane loads words of four neighbours, as the unit wants them, and has four neighbouring results in the
 * end. Pixels of 16 bits are two planes of bytes, weights of 16 bits two limbs of 8; what belongs to the same
 * power of 256 has a sum in common.
 *
 * Elsewhere than under PTX, what lanes exchange goes through local memory: slow, but the same in every place,
 * so that any device can test it.
 */
#ifndef LINES
#define LINES 8 /* rows of results at once */
#endif
#ifndef ROWS
#define ROWS 16 /* rows per work-item, a multiple of LINES */
#endif
#ifndef WG_X
#define WG_X 32 /* work-items of a work-group: whole warps, beside each other */
#endif
#ifndef STRIPS
#define STRIPS 1 /* of tiles: strips of a work-group, which has a warp for each of its channels */
#endif
#ifndef KW
#define KW 5 /* the kernel's width */
#endif
#ifndef KH
#define KH 3 /* and height */
#endif
#ifndef LIMBS
#define LIMBS 1 /* of weights: 1 or 2 */
#endif
#ifndef BEFORE
#define BEFORE 4 /* elements to the left of a tile that go into a product, a multiple of 4 */
#endif
#ifndef DEPTH
#define DEPTH 1 /* products of depth 32 that make one of depth K */
#endif

#ifdef VARIANT_matrix_tiles
#define STAGED 1
#define APART  (HONE_C > 1)
#define KERNEL convolve_matrix_tiles
#elif defined(VARIANT_matrix_channels)
#define STAGED 1
#define ALONE  1
#define APART  1
#define KERNEL convolve_matrix_channels
#elif defined(VARIANT_matrix_planes)
#define STAGED 0
#define APART  1
#define KERNEL convolve_matrix_planes
#else
#define STAGED 0
#define APART  0
#define KERNEL convolve_matrix
#endif
#ifndef ALONE
#define ALONE 0
#endif
#define STEP    (APART ? 1 : HONE_C)      /* elements from a neighbour to the next */
#define COLOURS (HONE_ALPHA ? 3 : HONE_C) /* channels that are filtered */

#define STRIP   256 /* elements */
#define JOINED  (APART && STAGED && !ALONE)
#define PLANES  (HONE_T + 1) /* bytes of an element */
#define POWERS  (PLANES + LIMBS - 1)
#define LOADS   (2 * 2 * DEPTH) /* of four elements, for each row */

#if STAGED
#undef WG_X
#define TILE_CHANNELS (ALONE ? 1 : COLOURS)
#define TILE_ROWS     (ROWS + KH - 1)
#define TILE_FOURS    ((STRIP * STRIPS + 32 * DEPTH - 16) / 4) /* of elements, in a row of a channel */
#define WG_X          (32 * TILE_CHANNELS * STRIPS)
#endif

/* The weights of the whole kernel in registers, or of as many rows as are needed at a time. */
#define RESIDENT (KH * LIMBS * DEPTH <= 16)
#if RESIDENT
#define HELD KH
#else
#define HELD LINES
#endif

/* Indices must be constants for arrays to live in registers; the portable form is kept small. Where there are
 * many products, rows are taken in rounds. */
#if WITH_PTX
#define UNROLL _Pragma("unroll")
#else
#define UNROLL
#endif
#if WITH_PTX && (RESIDENT || KH * LINES * DEPTH * LIMBS * PLANES <= 1024)
#define UNROLL_ROUNDS _Pragma("unroll")
#else
#define UNROLL_ROUNDS _Pragma("unroll 1")
#endif

#include "filters/planes.clh"

/* What a lane holds: of 16 tiles on the left, tiles `group` and `group` + 8, of their bytes 4 * `place` to
 * 4 * `place` + 3 and 16 further; of weights the same bytes of column `group`; of sums the same tiles,
 * columns 2 * `place` and one more. */
struct lane {
    int group, place;
#if !WITH_PTX
    __local uint *exchange; /* of the warp: 6 words for each lane */
#endif
};

/* Four neighbours, as they lie. */
#if HONE_T == 0
#define FOUR uint
#else
#define FOUR uint2
#endif

struct strip {
    __global const PIXEL *in;
    int pitch, width, height, border;
    int at;    /* first element of the results */
    int first; /* of what the lane loads */
    bool edge;
    struct plane plane;
#if STAGED
    __local const FOUR *tile; /* the lane's first elements in the first row of the work-group's tile */
    int tile_y;               /* and where that row lies */
#endif
};

/* Sums of four neighbours in two tiles: of columns 0 and 1, then 2 and 3, of tile `group`, then 8 further. */
struct sums {
    int of[POWERS][2][4];
};

struct weights {
    uint word[LIMBS][DEPTH][4];
};

struct pixels {
    uint word[PLANES][DEPTH][4];
};

#if WITH_PTX
inline void multiply(int *sum, const uint *pixels, const uint *weights, const struct lane *lane)
{
    asm("mma.sync.aligned.m16n8k32.row.col.s32.u8.s8.s32 "
        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+r"(sum[0]), "+r"(sum[1]), "+r"(sum[2]), "+r"(sum[3])
        : "r"(pixels[0]), "r"(pixels[1]), "r"(pixels[2]), "r"(pixels[3]), "r"(weights[0]), "r"(weights[1]));
}
#else
inline void multiply(int *sum, const uint *pixels, const uint *weights, const struct lane *lane)
{
    __local uint *own = lane->exchange + (lane->group * 4 + lane->place) * 6;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int i = 0; i < 4; i++)
        own[i] = pixels[i];
    own[4] = weights[0];
    own[5] = weights[1];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int i = 0; i < 4; i++)
        for (int k = 0; k < 8; k++) { /* words of four */
            int column = 2 * lane->place + i % 2;
            uint a = lane->exchange[(lane->group * 4 + k % 4) * 6 + i / 2 + k / 4 * 2];
            uint b = lane->exchange[(column * 4 + k % 4) * 6 + 4 + k / 4];
            for (int bits = 0; bits < 32; bits += 8)
                sum[i] += (int)(a >> bits & 0xffu) * ((int)(b << (24 - bits)) >> 24);
        }
}
#endif

inline void load_weights(struct weights *w, __global const uint4 *table, int row, const struct lane *lane)
{
    UNROLL
    for (int limb = 0; limb < LIMBS; limb++) {
        UNROLL
        for (int b = 0; b < DEPTH; b++) {
            uint4 four = table[((row * LIMBS + limb) * DEPTH + b) * 32 + lane->group * 4 + lane->place];
            w->word[limb][b][0] = four.x;
            w->word[limb][b][1] = four.y;
            w->word[limb][b][2] = four.z;
            w->word[limb][b][3] = four.w;
        }
    }
}

/* The bytes of four elements: as they lie, or the lower and the upper ones. */
inline void split(uint *plane, uint2 words)
{
#if HONE_T == 0
    plane[0] = words.x;
#elif WITH_PTX
    plane[0] = hone_bytes(words.x, words.y, 0x6420u);
    plane[1] = hone_bytes(words.x, words.y, 0x7531u);
#else
    plane[0] = hone_pack(words.x, words.x >> 16, words.y, words.y >> 16);
    plane[1] = hone_pack(words.x >> 8, words.x >> 24, words.y >> 8, words.y >> 24);
#endif
}

/* Where the lane's elements of a row lie, in a strip at an edge: the same for all rows. Elements that no
 * result needs lie anywhere. Since the compiler does not know the count, these stay out of registers. */
inline void find_places(int *place, const struct strip *s, int x)
{
    int count = min(4 * LOADS, 4 * LOADS + s->width);
#pragma unroll 1
    for (int k = 0; k < count; k++) {
        int i = x + k / 8 * 16 + k / 4 % 2 * 128 + k % 4;
        int pixel = i >= 0 ? i / STEP : -((STEP - 1 - i) / STEP), at = hone_fold(pixel, s->width);
        place[k] = at < 0 ? -1 : at * HONE_C + (APART ? s->plane.channel : i - pixel * HONE_C);
    }
}

inline uint placed(__global const PIXEL *row, int place, int border)
{
    uint value = row[max(place, 0)];
    return HONE_BORDER == BORDER_CONSTANT && place < 0 ? (uint)border : value;
}

/* Four elements from element i of a row on. */
inline uint2 plain_words(__global const PIXEL *row, int i, const struct plane *plane)
{
#if APART
    __global const uint *at = (__global const uint *)(row + i * HONE_C);
#if HONE_T == 0
    return (uint2)(plane_word(at, plane), 0);
#else
    return (uint2)(plane_word(at, plane), plane_word(at + HONE_C, plane));
#endif
#elif HONE_T == 0
    return (uint2)(*(__global const uint *)(row + i), 0);
#else
    return *(__global const uint2 *)(row + i);
#endif
}

/* The lane's words of row y: of tile `group`, 8 tiles further, and so on 16 elements further. */
#if STAGED
inline void load_words_of(uint2 *words, const struct strip *s, const int *place, int y)
{
    __local const FOUR *row = s->tile + (y - s->tile_y) * TILE_FOURS;
    UNROLL
    for (int k = 0; k < LOADS; k++)
#if HONE_T == 0
        words[k] = (uint2)(row[k / 2 * 4 + k % 2 * 32], 0);
#else
        words[k] = row[k / 2 * 4 + k % 2 * 32];
#endif
}

/* Elements x to x + 3 of each channel of a row, into the tile. */
inline void stage_four(__local FOUR *to, const struct strip *s, int x, int y)
{
    int inside;
    __global const PIXEL *row = hone_row(s->in, s->pitch, y, s->height, &inside);
    bool plain = x >= 0 && x + 4 <= s->width && REAL_ROW(inside);
    UNROLL
    for (int i = 0; i < TILE_CHANNELS; i++) {
        const struct plane plane = ALONE ? s->plane : plane_of(i);
        uint2 words = 0;
        if (plain)
            words = plain_words(row, x, &plane);
        else {
            words.x = edge_plane_word(row, inside, x, plane.channel, s->width, s->border);
            if (HONE_T == 1)
                words.y = edge_plane_word(row, inside, x + 2, plane.channel, s->width, s->border);
        }
#if HONE_T == 0
        to[i * TILE_ROWS * TILE_FOURS] = words.x;
#else
        to[i * TILE_ROWS * TILE_FOURS] = words;
#endif
    }
}

/* All that the work-group's results see, channel by channel, by all of its work-items. */
inline void stage(__local FOUR *tile, const struct strip *s, int x, int item)
{
#pragma unroll 4
    for (int i = item; i < TILE_ROWS * TILE_FOURS; i += WG_X)
        stage_four(tile + i, s, x + 4 * (i % TILE_FOURS), s->tile_y + i / TILE_FOURS);
    barrier(CLK_LOCAL_MEM_FENCE);
}
#else
inline void load_words_of(uint2 *words, const struct strip *s, const int *place, int y)
{
    int inside;
    __global const PIXEL *row = hone_row(s->in, s->pitch, y, s->height, &inside);
    UNROLL
    for (int k = 0; k < LOADS; k++) {
        if (s->edge) {
            uint v[4];
            UNROLL
            for (int i = 0; i < 4; i++)
                v[i] = placed(row, place[4 * k + i], s->border);
#if HONE_T == 0
            words[k] = (uint2)(hone_pack(v[0], v[1], v[2], v[3]), 0);
#else
            words[k] = (uint2)(v[0] | v[1] << 16, v[2] | v[3] << 16);
#endif
        } else {
            words[k] = plain_words(row, s->first + k / 2 * 16 + k % 2 * 128, &s->plane);
        }
        words[k] = REAL_ROW(inside) ? words[k] : (uint2)outside_word(s->border);
    }
}
#endif

inline void split_words(struct pixels *p, const uint2 *words)
{
    UNROLL
    for (int k = 0; k < LOADS; k++) {
        uint plane[PLANES];
        split(plane, words[k]);
        UNROLL
        for (int i = 0; i < PLANES; i++)
            p->word[i][k / 4][k % 4] = plane[i];
    }
}

inline void add_products(struct sums *sums, const struct pixels *p, const struct weights *w,
                         const struct lane *lane)
{
    UNROLL
    for (int limb = 0; limb < LIMBS; limb++) {
        UNROLL
        for (int plane = 0; plane < PLANES; plane++) {
            UNROLL
            for (int b = 0; b < DEPTH; b++) {
                UNROLL
                for (int side = 0; side < 2; side++)
                    multiply(sums->of[limb + plane][side], p->word[plane][b], w->word[limb][b] + 2 * side,
                             lane);
            }
        }
    }
}

/* One multiplication and one addition, as everywhere. Of a float of 2^23 and more nothing stands behind the
 * point: the addition rounds to nearest even. A sum of integers is never NaN. */
inline uint finish(int sum, float factor, float offset)
{
    float product = (float)sum * factor;
    float value = product + offset;
    value = value > 0.0f ? value : 0.0f;
    value = value < (float)PIXEL_MAX ? value : (float)PIXEL_MAX;
    return as_uint(value + 8388608.0f) & PIXEL_MAX;
}

/* Result k of four of one tile, or of the one 8 further. */
inline uint result(const struct sums *sums, int far, int k, float factor, float offset)
{
    uint sum = 0;
    UNROLL
    for (int i = POWERS - 1; i >= 0; i--)
        sum = (sum << 8) + (uint)sums->of[i][k / 2][2 * far + k % 2];
    return finish((int)sum, factor, offset);
}

/* Alpha, and border=zero-outside. */
inline uint result_or(const struct strip *s, uint r, int i, int y, int left, int top)
{
    if (!APART && IS_ALPHA(i % HONE_C))
        return s->in[y * s->pitch + min(i, s->width * HONE_C - 1)];
    return HONE_BORDER == BORDER_ZERO_OUTSIDE &&
                   hone_leaves(i / STEP - left, y - top, KW, KH, s->width, s->height)
               ? 0
               : r;
}

#if JOINED
#define WORDS    (STRIP * HONE_C / WORD_PART) /* of a strip's row */
#define TOGETHER __local uint *joined         /* LINES rows of the lane's strip */
#define SHARE    (32 * COLOURS)               /* lanes of a strip */

/* The lane's results of row r. */
inline void join_row(TOGETHER, const struct strip *s, const uint *results, int i, int r)
{
    __local PIXEL *row = (__local PIXEL *)(joined + r * WORDS);
    UNROLL
    for (int k = 0; k < 4; k++)
        row[(i - s->at + k) * HONE_C + s->plane.channel] = (PIXEL)results[k];
}

/* Words 4 * v to 4 * v + 3 of row y. */
inline void store_joined(__global PIXEL *out, const struct strip *s, __local const uint *words, int v, int y)
{
    int i = s->at * HONE_C + 4 * WORD_PART * v, left = s->width * HONE_C - i;
    uint w[4];
    UNROLL
    for (int k = 0; k < 4; k++)
        w[k] = words[4 * v + k];
    finish_words(w, 4, s->in + y * s->pitch, i, y, 1, 1, s->width, s->height);
    if (left >= 4 * WORD_PART) {
        *(__global uint4 *)(out + i) = (uint4)(w[0], w[1], w[2], w[3]);
        return;
    }
    UNROLL
    for (int k = 0; k < 4 * WORD_PART; k++)
        if (k < left)
            out[i + k] = (PIXEL)(w[k / WORD_PART] >> 8 * WORD_BYTES * (k % WORD_PART));
}

/* LINES rows from y on, by all lanes of a strip. */
inline void store_rows(__global PIXEL *out, int out_pitch, const struct strip *s, TOGETHER, int lane, int y)
{
    UNROLL
    for (int v = 0; v < LINES * WORDS / 4; v += SHARE) {
        int at = v + lane, r = at / (WORDS / 4);
        if (r < LINES && y + r < s->height)
            store_joined(out + (y + r) * out_pitch, s, joined + r * WORDS, at % (WORDS / 4), y + r);
    }
}
#else
#define TOGETHER __local uint *joined /* nothing */
#endif

/* Elements i to i + 3 of row y, which begins at `out`. */
inline void store_four(__global PIXEL *out, const struct strip *s, const uint *r, int i, int y)
{
    int left = s->width * STEP - i;
#if APART
    __global const PIXEL *row = s->in + y * s->pitch;
    UNROLL
    for (int k = 0; k < 4; k++) {
        int at = (i + k) * HONE_C;
        if (k < left)
            out[at + s->plane.channel] = (PIXEL)r[k];
        if (HONE_ALPHA && k % COLOURS == s->plane.channel && k < left)
            out[at + HONE_C - 1] = row[at + HONE_C - 1];
    }
#else
    if (left >= 4) {
#if HONE_T == 0
        *(__global uint *)(out + i) = hone_pack(r[0], r[1], r[2], r[3]);
#else
        *(__global uint2 *)(out + i) = (uint2)(r[0] | r[1] << 16, r[2] | r[3] << 16);
#endif
    } else {
        UNROLL
        for (int k = 0; k < 3; k++)
            if (k < left)
                out[i + k] = (PIXEL)r[k];
    }
#endif
}

struct ending {
    float factor, offset;
    int left, top;
};

/* Row r of those from y - r on. */
inline void store_row(__global PIXEL *out, const struct strip *s, const struct sums *sums, int y, int row,
                      const struct ending *e, const struct lane *lane, TOGETHER)
{
    UNROLL
    for (int far = 0; far < 2; far++) {
        uint r[4];
        int i = s->at + 16 * lane->group + 4 * lane->place + 128 * far;
        UNROLL
        for (int k = 0; k < 4; k++)
            r[k] = result_or(s, result(sums, far, k, e->factor, e->offset), i + k, y, e->left, e->top);
#if JOINED
        join_row(joined, s, r, i, row);
#else
        store_four(out, s, r, i, y);
#endif
    }
}

/* LINES rows of results from y on. The next row is under way while one is multiplied. */
inline void make_rows(const struct strip *s, const int *place, __global PIXEL *out, int out_pitch, int y,
                      __global const uint4 *table, struct weights held[HELD], const struct ending *e,
                      const struct lane *lane, TOGETHER)
{
    struct sums sums[LINES];
    uint2 ahead[LOADS];
    UNROLL
    for (int r = 0; r < LINES; r++) {
        UNROLL
        for (int i = 0; i < POWERS * 8; i++)
            sums[r].of[i / 8][i / 4 % 2][i % 4] = 0;
    }
    load_words_of(ahead, s, place, y - e->top);
    UNROLL_ROUNDS
    for (int first = 0; first < LINES + KH - 1; first += LINES) {
        UNROLL
        for (int i = 0; i < LINES; i++) {
            struct pixels p;
            int j = first + i;
            if (j >= LINES + KH - 1)
                break;
            split_words(&p, ahead);
            if (j + 1 < LINES + KH - 1)
                load_words_of(ahead, s, place, y - e->top + j + 1);
            if (!RESIDENT && j < KH)
                load_weights(&held[i % HELD], table, j, lane);
            UNROLL
            for (int r = 0; r < LINES; r++)
                if (j - r >= 0 && j - r < KH)
                    add_products(&sums[r], &p, &held[RESIDENT ? j - r : (i - r + LINES) % HELD], lane);
        }
    }
#if JOINED
    barrier(CLK_LOCAL_MEM_FENCE);
#endif
    UNROLL
    for (int r = 0; r < LINES; r++)
        if (y + r < s->height)
            store_row(out + (y + r) * out_pitch, s, &sums[r], y + r, r, e, lane, joined);
#if JOINED
    barrier(CLK_LOCAL_MEM_FENCE);
    store_rows(out, out_pitch, s, joined, get_local_id(0) % SHARE, y);
#endif
}

__kernel __attribute__((reqd_work_group_size(WG_X, 1, 1))) void
KERNEL(__global const PIXEL *in, int in_offset, int in_pitch, __global PIXEL *out, int out_offset,
       int out_pitch, int width, int height, int left, int top, float factor, float offset, int border,
       __global const uint4 *table)
{
    int group = get_group_id(0), item = get_local_id(0);
#if ALONE
    int channel = group % COLOURS, at = (group / COLOURS * STRIPS + item / 32) * STRIP;
#else
    int warp = group * (WG_X / 32) + item / 32;
    int channel = APART ? warp % COLOURS : 0, at = (APART ? warp / COLOURS : warp) * STRIP;
#endif
    int first = get_group_id(1) * ROWS, end = min(first + ROWS, height);
#if STAGED
    __local FOUR tile[TILE_CHANNELS * TILE_ROWS * TILE_FOURS];
#endif
    bool edge = at < BEFORE || at - BEFORE + STRIP - 16 + 32 * DEPTH > width * STEP;
#if WITH_PTX
    struct lane lane = {item % 32 / 4, item % 4};
#if !STAGED
    if (at >= width * STEP)
        return;
#endif
#else
    __local uint exchange[WG_X * 6];
    struct lane lane = {item % 32 / 4, item % 4, exchange + item / 32 * 32 * 6};
#endif
    const struct strip s = {
        in + in_offset,
        in_pitch,
        width,
        height,
        border,
        at,
        at - BEFORE + 16 * lane.group + 4 * lane.place,
        edge,
        plane_of(channel),
#if STAGED
        tile + item / 32 % TILE_CHANNELS * TILE_ROWS * TILE_FOURS + item / 32 / TILE_CHANNELS * (STRIP / 4) +
            4 * lane.group + lane.place,
        first - top
#endif
    };
    const struct ending e = {factor, offset, left, top};
#if JOINED
    __local uint words[STRIPS][LINES * WORDS];
    __local uint *joined = words[item / SHARE];
#else
    __local uint *joined = 0;
#endif
    struct weights held[HELD];
    int place[4 * LOADS];
#if STAGED
    stage(tile, &s, (ALONE ? group / COLOURS : group) * STRIP * STRIPS - BEFORE, item);
#else
    if (edge)
        find_places(place, &s, s.first);
#endif
#if RESIDENT
    UNROLL
    for (int j = 0; j < KH; j++)
        load_weights(&held[j], table, j, &lane);
#endif
#pragma unroll 1
    for (int y = first; y < end; y += LINES)
        make_rows(&s, place, out + out_offset, out_pitch, y, table, held, &e, &lane, joined);
}
