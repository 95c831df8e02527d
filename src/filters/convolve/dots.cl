/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * For CPUs, bytes times small weights: four neighbours in a row make one 32-bit lane, and one instruction (or
 * its portable twin) multiplies them by four weights of 8 bits and adds them up in pairs of 16 bits. A
 * 64-byte vector that begins at element x gives the results x, x + 4, x + 8 ..., so that four vectors one
 * element apart make 64 results in a row.
 *
 * A work-item owns a band of whole rows. The rows that its windows see lie in a ring, channel by channel and
 * with every pixel beyond the edges in place. LINES rows of results are made at once: what is loaded serves
 * all of them.
 */
#ifndef LINES
#define LINES 4 /* rows of results at once; never more than the kernel's height */
#endif
#ifndef ROWS
#define ROWS 64 /* rows of a band */
#endif

#define STRIP 64
#define LANES 16

typedef uchar bytes __attribute__((ext_vector_type(64)));
typedef short shorts __attribute__((ext_vector_type(32)));
typedef ushort ushorts __attribute__((ext_vector_type(32)));
typedef int ints __attribute__((ext_vector_type(16)));
typedef uint words __attribute__((ext_vector_type(16)));
typedef float floats __attribute__((ext_vector_type(16)));
typedef uchar sixteen __attribute__((ext_vector_type(16)));
typedef uchar half_bytes __attribute__((ext_vector_type(32)));
typedef bytes bytes_at __attribute__((aligned(1)));
typedef sixteen sixteen_at __attribute__((aligned(1)));
typedef half_bytes half_at __attribute__((aligned(1)));

#include "filters/bands.clh"
#include "filters/vectors.clh"

union lanes {
    bytes u8;
    half_bytes halves[2];
    sixteen quarters[4];
    shorts s16;
    ushorts u16;
    ints s32;
    words u32;
#ifdef NATIVE
    native_bytes n8[64 / NATIVE];
    native_words n16[64 / NATIVE];
    native_ints n32[64 / NATIVE];
#endif
};

/* Sums of two products each, in 16 bits: the weights are small enough that nothing overflows. */
inline shorts pairs_of_products(bytes pixels, ints weights)
{
    const union lanes p = {.u8 = pixels}, w = {.s32 = weights};
#ifdef NATIVE
    union lanes r;
#pragma unroll
    for (int k = 0; k < 64 / NATIVE; k++)
        r.n16[k] = MADD_BYTES(p.n8[k], w.n8[k]);
    return r.s16;
#else
    const union lanes even = {.u16 = p.u16 & (ushort)0xff}, odd = {.u16 = p.u16 >> (ushort)8};
    return even.s16 * ((w.s16 << (short)8) >> (short)8) + odd.s16 * (w.s16 >> (short)8);
#endif
}

/* Both halves of each lane. */
inline ints sum_of_pairs(shorts v)
{
    const union lanes p = {.s16 = v};
#ifdef NATIVE
    const union lanes one = {.s16 = (shorts)(short)1};
    union lanes r;
#pragma unroll
    for (int k = 0; k < 64 / NATIVE; k++)
        r.n32[k] = MADD_WORDS(p.n16[k], one.n16[k]);
    return r.s32;
#else
    return (p.s32 >> 16) + ((p.s32 << 16) >> 16);
#endif
}

/* 16 pixels, channel by channel. */
#if HONE_C == 2
typedef half_bytes planes;
typedef half_at planes_at;
#else
typedef bytes planes;
typedef bytes_at planes_at;
#endif
union channels {
    planes all;
    sixteen channel[sizeof(planes) / 16];
};

struct band {
    __global const uchar *in;
    int pitch, width, height;
    int kernel_width, kernel_height, left, top;
    int groups; /* of four weights in a row of the kernel */
    int border;
    __global uchar *ring;
    int stride, rows; /* bytes of a row of one channel, and how many rows the ring has */
};

inline __global uchar *ring_row(const struct band *b, int y, int channel)
{
    return b->ring + ((y + b->top) % b->rows * HONE_C + channel) * b->stride; /* y is never less than -top */
}

/* The cells beyond both edges. */
inline void extend(const struct band *b, __global uchar *to)
{
    int end = b->width + b->kernel_width - 1 - b->left;
    for (int x = -b->left; x < 0; x++) {
        int from = hone_fold(x, b->width);
        to[x] = from < 0 ? (uchar)b->border : to[from];
    }
    for (int x = b->width; x < end; x++) {
        int from = hone_fold(x, b->width);
        to[x] = from < 0 ? (uchar)b->border : to[from];
    }
}

#if HONE_C > 2
/* In each 16 bytes, four pixels: their bytes channel by channel, and back. */
#define BY_CHANNEL(i) ((i) / 16 * 16 + (i) % 4 * HONE_C + (i) % 16 / 4)
#define BY_PIXEL(i)   ((i) / 16 * 16 + (i) % 16 % HONE_C * 4 + (i) % 16 / HONE_C)
/* Of 16 words, four by four: rows become columns, and back. */
#define TURNED(i) ((i) % 4 * 4 + (i) / 4)
/* Of three bytes a pixel: four pixels to each 16 bytes, and back. */
#define SPREAD(i) ((i) - (i) / 4)
#define PACK(i)   ((i) < 12 ? (i) + (i) / 3 : 0)
#endif

#define READ_AHEAD (HONE_C == 3 ? 16 : 0)
/* 16 bytes of each channel, one behind the other, from 16 pixels; of three, 16 bytes more are read. */
#if HONE_C == 2
#define EVEN_ODD(i) ((i) % 16 * 2 + (i) / 16)
#define WEAVE(i)    ((i) / 2 + (i) % 2 * 16)
inline planes split(__global const uchar *from)
{
    planes v = *(__global const planes_at *)from;
    return __builtin_shufflevector(v, v, L_ALL_32(EVEN_ODD));
}
#elif HONE_C > 2
inline planes split(__global const uchar *from)
{
    union lanes v = {.u8 = *(__global const bytes_at *)from};
#if HONE_C == 3
    v.u32 = __builtin_shufflevector(v.u32, v.u32, L16(SPREAD, 0));
#endif
    v.u8 = __builtin_shufflevector(v.u8, v.u8, L_ALL_64(BY_CHANNEL));
    v.u32 = __builtin_shufflevector(v.u32, v.u32, L16(TURNED, 0));
    return v.u8;
}
#endif

/* Puts what a row shows into the ring, whose channels lie `stride` apart. */
inline void fill_channels(const struct band *b, __global const uchar *row, __global uchar *to)
{
    int x = 0;
#if HONE_C == 1
    for (; x + STRIP <= b->width; x += STRIP)
        *(__global bytes_at *)(to + x) = *(__global const bytes_at *)(row + x);
#else
    for (; (x + 16) * HONE_C + READ_AHEAD <= b->width * HONE_C; x += 16) {
        const union channels v = {split(row + x * HONE_C)};
#pragma unroll
        for (int channel = 0; channel < HONE_C; channel++)
            *(__global sixteen_at *)(to + channel * b->stride + x) = v.channel[channel];
    }
#endif
    for (; x < b->width; x++)
        for (int channel = 0; channel < HONE_C; channel++)
            to[channel * b->stride + x] = row[x * HONE_C + channel];
}

inline void fill(const struct band *b, int y)
{
    int inside;
    __global const uchar *row = hone_row(b->in, b->pitch, y, b->height, &inside);
    __global uchar *to = ring_row(b, y, 0) + b->left;
    if (REAL_ROW(inside))
        fill_channels(b, row, to);
    else
        for (int x = 0; x < b->width; x++)
            for (int channel = 0; channel < HONE_C; channel++)
                to[channel * b->stride + x] = (uchar)b->border;
    for (int channel = 0; channel < HONE_C; channel++)
        extend(b, to + channel * b->stride);
}

/* Adds the products of one row of the ring to the lines first to last; line q takes row j - q of the
 * weights. */
inline void add_row(shorts part[LINES][4], __global const uchar *from, __constant const int *weights,
                    int groups, int first, int last)
{
    for (int g = 0; g < groups; g++, from += 4) {
        bytes value[4];
#pragma unroll
        for (int phase = 0; phase < 4; phase++)
            value[phase] = *(__global const bytes_at *)(from + phase);
#pragma unroll
        for (int q = 0; q < LINES; q++) {
            if (q < first || q > last)
                continue;
            ints weight = (ints)weights[g - q * groups];
#pragma unroll
            for (int phase = 0; phase < 4; phase++)
                part[q][phase] += pairs_of_products(value[phase], weight);
        }
    }
}

inline void flush(ints total[LINES][4], shorts part[LINES][4])
{
#pragma unroll
    for (int q = 0; q < LINES; q++)
#pragma unroll
        for (int phase = 0; phase < 4; phase++) {
            total[q][phase] += sum_of_pairs(part[q][phase]);
            part[q][phase] = 0;
        }
}

/* Sums for LINES rows of results from y on; `capacity` rows of the kernel fit 16 bits. */
inline void sum_up(ints total[LINES][4], const struct band *b, __constant const int *weights, int y, int x,
                   int channel, int capacity)
{
    shorts part[LINES][4];
    int y0 = y - b->top, since = 0;
#pragma unroll
    for (int q = 0; q < LINES; q++)
#pragma unroll
        for (int phase = 0; phase < 4; phase++) {
            total[q][phase] = 0;
            part[q][phase] = 0;
        }
#define STEP(j, first, last)                                                                                 \
    add_row(part, ring_row(b, y0 + (j), channel) + x, weights + (j)*b->groups, b->groups, first, last);      \
    if (++since == capacity) {                                                                               \
        flush(total, part);                                                                                  \
        since = 0;                                                                                           \
    }
#pragma unroll
    for (int j = 0; j < LINES - 1; j++) { /* rows that only the first lines see */
        STEP(j, 0, j)
    }
    for (int j = LINES - 1; j < b->kernel_height; j++) {
        STEP(j, 0, LINES - 1)
    }
#pragma unroll
    for (int j = 1; j < LINES; j++) { /* and those that only the last ones see */
        STEP(b->kernel_height - 1 + j, j, LINES - 1)
    }
#undef STEP
    flush(total, part);
}

/* Results of one phase in the low bytes, the rest unknown. */
inline words rounded(ints total, float factor, float offset)
{
    floats v = CONVERT(total, floats) * (floats)factor;
    v = v + (floats)offset;
    v = v > (floats)0.0f ? v : (floats)0.0f;
    v = v < (floats)255.0f ? v : (floats)255.0f;
    /* a float of this size has no places after the point: the addition rounds to nearest even */
    union {
        floats number;
        words bits;
    } u = {v + (floats)8388608.0f};
    return u.bits;
}

inline bytes results(const ints total[4], float factor, float offset)
{
    const union lanes r = {.u32 = (rounded(total[0], factor, offset) & 0xffu) |
                                  (rounded(total[1], factor, offset) & 0xffu) << 8u |
                                  (rounded(total[2], factor, offset) & 0xffu) << 16u |
                                  rounded(total[3], factor, offset) << 24u};
    return r.u8;
}

#if HONE_C > 1
/* Pixels from the bytes 16 * part to 16 * part + 15 of each channel; alpha as it was. */
inline void join(__global uchar *out, __global const uchar *centre, const bytes r[HONE_C], int part)
{
    union channels v = {.all = 0};
#pragma unroll
    for (int channel = 0; channel < HONE_C; channel++)
        v.channel[channel] = ((const sixteen *)&r[channel])[part];
#if HONE_C == 2
    *(__global planes_at *)out = __builtin_shufflevector(v.all, v.all, L_ALL_32(WEAVE));
#else
    union lanes w = {.u8 = v.all};
    w.u32 = __builtin_shufflevector(w.u32, w.u32, L16(TURNED, 0));
    w.u8 = __builtin_shufflevector(w.u8, w.u8, L_ALL_64(BY_PIXEL));
#if HONE_C == 3
    w.u32 = __builtin_shufflevector(w.u32, w.u32, L16(PACK, 0));
    *(__global half_at *)out = w.halves[0];
    *(__global sixteen_at *)(out + 32) = w.quarters[2];
#else
#if HONE_ALPHA
    const union lanes c = {.u8 = *(__global const bytes_at *)centre};
    w.u32 = (w.u32 & 0xffffffu) | (c.u32 & 0xff000000u);
#endif
    *(__global bytes_at *)out = w.u8;
#endif
#endif
}
#endif

/* One strip of one row. */
inline void store(const struct band *b, __global uchar *out, int y, int x, bytes r[HONE_C])
{
    int count = min(STRIP, b->width - x);
#if HONE_C == 1
    if (count == STRIP) {
        *(__global bytes_at *)(out + x) = r[0];
        return;
    }
#endif
    int k = 0;
    __global const uchar *centre = b->in + y * b->pitch;
#if HONE_C > 1
    for (; k + 16 <= count; k += 16)
        join(out + (x + k) * HONE_C, centre + (x + k) * HONE_C, r, k / 16);
#endif
    for (; k < count; k++)
        for (int channel = 0; channel < HONE_C; channel++) {
            int i = (x + k) * HONE_C + channel;
            out[i] = IS_ALPHA(channel) ? centre[i] : ((const uchar *)&r[channel])[k];
        }
}

__kernel void convolve_dots(__global const uchar *in, int in_offset, int in_pitch, __global uchar *out,
                            int out_offset, int out_pitch, int width, int height, int kernel_width,
                            int kernel_height, int left, int top, float factor, float offset, int border,
                            __constant const int *weights, int capacity, __global uchar *scratch, int stride)
{
    int band = get_global_id(0), y = band * ROWS, end = min(y + ROWS, height),
        rows = kernel_height + LINES - 1;
    if (y >= height)
        return;
    const struct band b = {in + in_offset,
                           in_pitch,
                           width,
                           height,
                           kernel_width,
                           kernel_height,
                           left,
                           top,
                           (kernel_width + 3) / 4,
                           border,
                           scratch + (size_t)band * rows * HONE_C * stride,
                           stride,
                           rows};
    out += out_offset;
    for (int j = y - top; j < y - top + kernel_height - 1; j++)
        fill(&b, j);
    for (; y < end; y += LINES) {
        for (int j = 0; j < LINES; j++)
            fill(&b, y - top + kernel_height - 1 + j);
        for (int x = 0; x < width; x += STRIP) {
            bytes r[LINES][HONE_C];
            for (int channel = 0; channel < HONE_C; channel++) {
                ints total[LINES][4];
                if (IS_ALPHA(channel))
                    continue;
                sum_up(total, &b, weights, y, x, channel, capacity);
#pragma unroll
                for (int q = 0; q < LINES; q++)
                    r[q][channel] = results(total[q], factor, offset);
            }
#pragma unroll
            for (int q = 0; q < LINES; q++)
                if (y + q < end)
                    store(&b, out + (y + q) * out_pitch, y + q, x, r[q]);
        }
        const struct sink sink = {out, out_pitch};
        for (int q = 0; q < LINES && y + q < end; q++)
            clear_windows(&sink, y + q, 0, width * HONE_C, width, height, left, top, kernel_width,
                          kernel_height);
    }
}
