/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Pixels of 1, 2 or 4 bytes, in words of 32 bits on both sides of the local tile: a work-item loads blocks of
 * PER rows of one word (4x4 bytes, 2x2 shorts, one word), turns them in registers, and puts their words into
 * the tile, where a row is a row of the result. The tile holds ACROSS x ACROSS blocks. A word's column is
 * renamed by an exclusive or with its block row, so that neither side meets a memory bank twice.
 *
 * Width and height are the input's. Images begin at a word, and so do their rows; what ends inside a word
 * moves in bytes.
 */
#ifndef ACROSS
#define ACROSS 32 /* blocks across and down a tile: the work-group's width */
#endif
#ifndef LINES
#define LINES 8 /* rows of blocks that a work-group moves at a time: its height */
#endif

#include "filters/words.clh"

#define PIXEL_BYTES (HONE_C * (HONE_T == 0 ? 1 : HONE_T == 1 || HONE_T == 3 ? 2 : 4))
#if HONE_T == 0
#define PER (4 / HONE_C) /* pixels to a word; kernels exist for 1, 2 and 4 bytes to a pixel */
#elif HONE_T == 1 || HONE_T == 3
#define PER (HONE_C == 1 ? 2 : 1)
#else
#define PER 1
#endif

inline uint load_word(__global const PIXEL *row, int x, int width)
{
    __global const PIXEL *from = row + x * HONE_C;
    if (x + PER <= width)
        return *(__global const uint *)from;
    __global const uchar *bytes = (__global const uchar *)from;
    uint word = 0;
#pragma unroll
    for (int i = 0; i < (PER - 1) * PIXEL_BYTES; i++)
        if (i < (width - x) * PIXEL_BYTES)
            word |= (uint)bytes[i] << (8 * i);
    return word;
}

inline void store_word(__global RESULT *row, int x, int width, uint word)
{
    __global RESULT *to = row + x * HONE_C;
    if (x + PER <= width) {
        *(__global uint *)to = word;
        return;
    }
    __global uchar *bytes = (__global uchar *)to;
#pragma unroll
    for (int i = 0; i < (PER - 1) * PIXEL_BYTES; i++)
        if (i < (width - x) * PIXEL_BYTES)
            bytes[i] = (uchar)(word >> (8 * i));
}

/* The odd bytes of a and of b by turns. */
#if WITH_PTX
#define JOIN_ODD(a, b) hone_bytes(a, b, 0x7351u)
#else
#define JOIN_ODD(a, b) (((a) >> 8 & 0x00ff00ffu) | ((b)&0xff00ff00u))
#endif

/* Row j of the block becomes its column j. */
inline void turn(uint w[4])
{
    if (PER == 2) {
        uint low = LOW_SHORTS(w[0], w[1]);
        w[1] = HIGH_SHORTS(w[0], w[1]);
        w[0] = low;
    } else if (PER == 4) {
        /* bytes as a0 b0 a2 b2, then halves of those with halves of the other two rows */
        uint even = JOIN_BYTES(w[0], w[1]), odd = JOIN_ODD(w[0], w[1]);
        uint even2 = JOIN_BYTES(w[2], w[3]), odd2 = JOIN_ODD(w[2], w[3]);
        w[0] = LOW_SHORTS(even, even2);
        w[1] = LOW_SHORTS(odd, odd2);
        w[2] = HIGH_SHORTS(even, even2);
        w[3] = HIGH_SHORTS(odd, odd2);
    }
}

/* Blocks that a work-item loads before it turns them. */
#define AT_ONCE (ACROSS / LINES < 4 ? ACROSS / LINES : 4)

inline void load_blocks(uint w[AT_ONCE][4], __global const PIXEL *in, int pitch, int x, int y, int width,
                        int height)
{
    bool whole = x + PER <= width && y + ((AT_ONCE - 1) * LINES + 1) * PER <= height;
#pragma unroll
    for (int k = 0; k < AT_ONCE; k++)
#pragma unroll
        for (int j = 0; j < PER; j++) {
            int row = y + k * LINES * PER + j;
            w[k][j] = 0;
            if (whole)
                w[k][j] = *(__global const uint *)(in + row * pitch + x * HONE_C);
            else if (x < width && row < height)
                w[k][j] = load_word(in + row * pitch, x, width);
        }
}

__kernel void transpose_bytes(__global const PIXEL *in, int in_offset, int in_pitch, __global RESULT *out,
                              int out_offset, int out_pitch, int width, int height, __local uint *tile)
{
    int x0 = get_group_id(0) * ACROSS * PER, y0 = get_group_id(1) * ACROSS * PER;
    int i = get_local_id(0), first = get_local_id(1), x = x0 + i * PER, y = y0 + i * PER;
    for (int block = first; block < ACROSS; block += AT_ONCE * LINES) {
        uint w[AT_ONCE][4];
        load_blocks(w, in + in_offset, in_pitch, x, y0 + block * PER, width, height);
#pragma unroll
        for (int k = 0; k < AT_ONCE; k++) {
            turn(w[k]);
#pragma unroll
            for (int j = 0; j < PER; j++)
                tile[(i * PER + j) * ACROSS + ((block + k * LINES) ^ i)] = w[k][j];
        }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    out += out_offset;
    for (int row = first; row < ACROSS * PER; row += LINES)
        if (y < height && x0 + row < width)
            store_word(out + (x0 + row) * out_pitch, y, height, tile[row * ACROSS + (i ^ row / PER)]);
}
