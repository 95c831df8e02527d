/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * For CPUs, in clang's 64-byte vectors. Lane L (16 bytes) of vector i takes the N pixels of row L * N + i,
 * for N = 16 bytes of pixels: each lane then holds one row of an N x N block, and log2(N) steps that
 * interleave pixels inside the lanes turn all four blocks at once. Vector j is then 4N neighbours of column
 * j: one full store to a row of the result.
 *
 * Pixels of 3, 6 or 12 bytes are spread to 4, 8 or 16 behind the load and packed before the store.
 * A work-item owns COLUMNS x ROWS pixels of the input; a last step that does not fit overlaps the one before.
 */
#ifndef COLUMNS
#define COLUMNS 64 /* of the input, per work-item */
#endif
#ifndef ROWS
#define ROWS 4096 /* of the input, per work-item */
#endif

#ifndef STREAM
#define STREAM 0 /* 1: stores that fill whole cache lines go past the caches */
#endif

#define SIZE (HONE_C * (HONE_T == 0 ? 1 : HONE_T == 1 || HONE_T == 3 ? 2 : 4)) /* bytes of a pixel */
#if HONE_T == 0
#define ELEMENT_LOG 0
#elif HONE_T == 1 || HONE_T == 3
#define ELEMENT_LOG 1
#else
#define ELEMENT_LOG 2
#endif
#if HONE_C == 1
#define ROOM_LOG ELEMENT_LOG
#elif HONE_C == 2
#define ROOM_LOG (ELEMENT_LOG + 1)
#else
#define ROOM_LOG (ELEMENT_LOG + 2)
#endif
#define ROOM (1 << ROOM_LOG)                                /* the same, rounded up to a power of two */
#define N    (16 / ROOM)                                    /* pixels across a block */
#define DOWN (4 * N)                                        /* rows of a step */
#define TAIL (HONE_C == 3 ? (16 + SIZE - 1) / SIZE - N : 0) /* pixels that a load sees behind its own N */

#if ROOM_LOG >= 3 || HONE_C == 3
#define DEEP 4 /* blocks below each other in a step: it stores whole cache lines of a column, one by one */
#else
#define DEEP 1
#endif

#include "filters/vectors.clh"

typedef uchar lane __attribute__((ext_vector_type(16)));
typedef uchar half_vector __attribute__((ext_vector_type(32)));
typedef uchar bytes __attribute__((ext_vector_type(64)));
typedef uint words __attribute__((ext_vector_type(16)));
typedef lane lane_at __attribute__((aligned(1)));
typedef half_vector half_at __attribute__((aligned(1)));
typedef bytes bytes_at __attribute__((aligned(1)));

/* Byte i of the result, by its number in two vectors behind each other. */
#define SAME(i)    (i)
#define IN_LANE(i) ((i) % 16)
#define LOW(i)     ((i) / 16 * 16 + IN_LANE(i) / ROOM / 2 * ROOM + (i) % ROOM + IN_LANE(i) / ROOM % 2 * 64)
#define HIGH(i)    (LOW(i) + 8)
/* Inside a lane: pixels of SIZE bytes to places of ROOM bytes, and back; -1: anything. */
#define SPREAD(i) ((i) % ROOM < SIZE ? (i) / 16 * 16 + IN_LANE(i) / ROOM * SIZE + (i) % ROOM : -1)
#define PACK(i)   (IN_LANE(i) < N * SIZE ? (i) / 16 * 16 + IN_LANE(i) / SIZE * ROOM + IN_LANE(i) % SIZE : -1)
/* The first three words of each lane. */
#define THREE_OF_FOUR(i) ((i) < 12 ? (i) / 3 * 4 + (i) % 3 : -1)

inline bytes load_lanes(__global const uchar *from, long pitch)
{
    half_vector top = __builtin_shufflevector(*(__global const lane_at *)from,
                                              *(__global const lane_at *)(from + N * pitch), L_ALL_32(SAME));
    half_vector bottom =
        __builtin_shufflevector(*(__global const lane_at *)(from + 2 * N * pitch),
                                *(__global const lane_at *)(from + 3 * N * pitch), L_ALL_32(SAME));
    bytes v = __builtin_shufflevector(top, bottom, L_ALL_64(SAME));
#if HONE_C == 3
    v = __builtin_shufflevector(v, v, L_ALL_64(SPREAD));
#endif
    return v;
}

union sixteen_words {
    bytes b;
    words w;
    half_vector halves[2];
    lane lanes[4];
};

/*
 * Without its line in the cache, a store waits for memory, and rows of the result are too far apart for the
 * processor to guess the next one. So the line that the next step down stores to is asked for now. (Measured:
 * 2.5 times faster.) A store that fills its line needs none of it; past the caches it goes another 2 times
 * faster.
 */
inline void store_vector(__global uchar *to, bytes v, long ahead, bool stream)
{
    if (stream) {
        __builtin_nontemporal_store(v, (__global bytes *)to);
        return;
    }
    __builtin_prefetch((const void *)(ulong)(to + ahead), 1, 3);
    *(__global bytes_at *)to = v;
}

#if HONE_C == 3
/* Of each lane three words count. */
inline words packed_words(bytes v)
{
    union sixteen_words u;
    u.b = __builtin_shufflevector(v, v, L_ALL_64(PACK));
    return u.w;
}

/* Word i of those that count in two vectors, from the first, the fifth or the ninth on. */
#define COUNTED(i)     ((i) % 12 / 3 * 4 + (i) % 3 + (i) / 12 * 16)
#define FROM_WORD_0(i) COUNTED(i)
#define FROM_WORD_4(i) COUNTED((i) + 4)
#define FROM_WORD_8(i) COUNTED((i) + 8)

/* Four vectors of 12 words are three of 16. */
inline void store_column(__global uchar *to, const bytes v[DEEP], bool stream)
{
    union sixteen_words u;
#if DEEP == 4
    const words a = packed_words(v[0]), b = packed_words(v[1]);
    const words c = packed_words(v[2]), d = packed_words(v[3]);
    u.w = __builtin_shufflevector(a, b, L16(FROM_WORD_0, 0));
    store_vector(to, u.b, 192, stream);
    u.w = __builtin_shufflevector(b, c, L16(FROM_WORD_4, 0));
    store_vector(to + 64, u.b, 192, stream);
    u.w = __builtin_shufflevector(c, d, L16(FROM_WORD_8, 0));
    store_vector(to + 128, u.b, 192, stream);
#else
    const words a = packed_words(v[0]);
    u.w = __builtin_shufflevector(a, a, L16(FROM_WORD_0, 0));
    *(__global half_at *)to = u.halves[0];
    *(__global lane_at *)(to + 32) = u.lanes[2];
#endif
}
#else
inline void store_column(__global uchar *to, const bytes v[DEEP], bool stream)
{
#pragma unroll
    for (int k = 0; k < DEEP; k++)
        store_vector(to + 64 * k, v[k], 64 * DEEP, stream);
}
#endif

#define INTERLEAVE(to, from)                                                                                 \
    _Pragma("unroll") for (int i = 0; i < N / 2; i++)                                                        \
    {                                                                                                        \
        to[2 * i] = __builtin_shufflevector(from[i], from[i + N / 2], L_ALL_64(LOW));                        \
        to[2 * i + 1] = __builtin_shufflevector(from[i], from[i + N / 2], L_ALL_64(HIGH));                   \
    }

/* Whether a store, and those to the following rows, write all of a cache line. */
#if STREAM && (HONE_C != 3 || DEEP == 4)
#define FILLS_LINES(to, pitch) ((((ulong)(to) | (ulong)(pitch)) & 63) == 0)
#else
#define FILLS_LINES(to, pitch) false
#endif

/* N columns of DOWN rows. */
inline void turn(__global const uchar *from, long in_pitch, bytes columns[N])
{
    bytes a[N], b[N];
#pragma unroll
    for (int i = 0; i < N; i++)
        a[i] = load_lanes(from + i * in_pitch, in_pitch);
#if ROOM_LOG <= 3
    INTERLEAVE(b, a)
#endif
#if ROOM_LOG <= 2
    INTERLEAVE(a, b)
#endif
#if ROOM_LOG <= 1
    INTERLEAVE(b, a)
#endif
#if ROOM_LOG == 0
    INTERLEAVE(a, b)
#endif
#pragma unroll
    for (int i = 0; i < N; i++)
        columns[i] = ROOM_LOG % 2 ? b[i] : a[i];
}

/* Whether more rows than a step's find room in the first cache beside each other: not where they lie
 * multiples of 512 bytes apart, or nearly so. Shorter rows the processor foresees. */
inline bool has_room(long pitch)
{
    return pitch >= 1024 && (pitch + 16) % 512 > 32;
}

/* What later steps read is too far apart for the processor to foresee: those below, or in a low piece two
 * cache lines along. Of the steps that share a line, each fetches a fourth of the rows. */
inline void fetch_lines(__global const uchar *from, long pitch)
{
    const long ahead = ROWS > DEEP * DOWN ? DEEP * DOWN * pitch : 128;
    from += (int)((ulong)from / 16 % 4) * DEEP * N * pitch + ahead;
#pragma unroll
    for (int i = 0; i < DEEP * N; i++)
        __builtin_prefetch(from + i * pitch);
}

/* N columns of DEEP * DOWN rows. */
inline void step(__global const uchar *from, long in_pitch, __global uchar *to, long out_pitch, bool fetch)
{
    if (fetch)
        fetch_lines(from, in_pitch);
    bytes turned[DEEP][N];
    const bool stream = FILLS_LINES(to, out_pitch);
#pragma unroll
    for (int k = 0; k < DEEP; k++)
        turn(from + k * DOWN * in_pitch, in_pitch, turned[k]);
#pragma unroll
    for (int i = 0; i < N; i++) {
        bytes column[DEEP];
#pragma unroll
        for (int k = 0; k < DEEP; k++)
            column[k] = turned[k][i];
        store_column(to + i * out_pitch, column, stream);
    }
}

struct picture {
    __global const PIXEL *in;
    __global PIXEL *out;
    int in_pitch, out_pitch;
};

inline void move_pixels(const struct picture *p, int x0, int x1, int y0, int y1)
{
    for (int x = x0; x < x1; x++)
        for (int y = y0; y < y1; y++)
            for (int channel = 0; channel < HONE_C; channel++)
                p->out[x * p->out_pitch + y * HONE_C + channel] =
                    p->in[y * p->in_pitch + x * HONE_C + channel];
}

/* At least N x DEEP * DOWN pixels. Whether lines are fetched is known inside of each loop: a choice there
 * makes steps slower that fetch none. */
inline void move_blocks(const struct picture *p, int x0, int x1, int y0, int y1, bool fetch)
{
    const long in_pitch = p->in_pitch * (long)sizeof(PIXEL), out_pitch = p->out_pitch * (long)sizeof(PIXEL);
    for (int y = y0; y < y1; y += DEEP * DOWN) {
        y = min(y, y1 - DEEP * DOWN);
        for (int x = x0; x < x1; x += N) {
            x = min(x, x1 - N);
            step((__global const uchar *)(p->in + y * p->in_pitch + x * HONE_C), in_pitch,
                 (__global uchar *)(p->out + x * p->out_pitch + y * HONE_C), out_pitch, fetch);
        }
    }
}

__kernel void transpose_vectors(__global const PIXEL *in, int in_offset, int in_pitch, __global PIXEL *out,
                                int out_offset, int out_pitch, int width, int height)
{
    const struct picture p = {in + in_offset, out + out_offset, in_pitch, out_pitch};
    int x = get_global_id(0) * COLUMNS, y = get_global_id(1) * ROWS;
    int right = min(x + COLUMNS, width), bottom = min(y + ROWS, height);
    int whole = min(right, width - TAIL); /* where loads end inside their rows */
    if (x >= width || y >= height)
        return;
    if (whole - x < N || bottom - y < DEEP * DOWN)
        whole = x;
    else if (has_room(in_pitch * (long)sizeof(PIXEL)))
        move_blocks(&p, x, whole, y, bottom, true);
    else
        move_blocks(&p, x, whole, y, bottom, false);
    move_pixels(&p, whole, right, y, bottom);
}
