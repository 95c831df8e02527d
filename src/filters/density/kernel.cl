/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef MASK
#define MASK 0 /* 1: a pixel that is not 0 counts 1 */
#endif

/* The host chose the type of the result so that one window's sum fits. Longer sums may wrap around: their differences are
 * still right. */
#define SUM RESULT

inline SUM counted(NUMBER value)
{
    return MASK ? (SUM)(value != 0) : (SUM)value;
}

inline int window_leaves(int x, int y, int width, int height, int size)
{
    int left = x - size / 2, top = y - size / 2;
    return left < 0 || top < 0 || left + size > width || top + size > height;
}

/* The sum where it reaches the threshold, which is `below` + 1, and the border rule allows it. */
inline RESULT dense(SUM sum, uint below, int x, int y, int width, int height, int size)
{
    bool nothing = HONE_BORDER == BORDER_ZERO_OUTSIDE && window_leaves(x, y, width, height, size);
    return nothing || sum <= below ? (RESULT)0 : sum;
}

#if defined(HONE_ALL) || defined(VARIANT_direct) || defined(VARIANT_compact)
/* Every pixel of one window. */
inline SUM window_sum(__global const PIXEL *in, int pitch, int x, int y, int channel, int width, int height, int size,
                      int border)
{
    SUM sum = 0;
    for (int j = 0; j < size; j++) {
        int inside;
        __global const PIXEL *row = hone_row(in, pitch, y - size / 2 + j, height, &inside);
        for (int i = 0; i < size; i++)
            sum += counted(hone_at(row, inside, x - size / 2 + i, channel, width, border));
    }
    return sum;
}
#endif

#if defined(HONE_ALL) || defined(VARIANT_direct)
__kernel void density_direct(__global const PIXEL *in, int in_offset, int in_pitch, __global RESULT *out,
                             int out_offset, int out_pitch, int width, int height, int size, int border, uint below)
{
    int i = get_global_id(0), x = i / HONE_C, channel = i - x * HONE_C, y = get_global_id(1);
    if (x >= width || y >= height)
        return;
    in += in_offset;
    out[out_offset + y * out_pitch + i] =
        IS_ALPHA(channel) ? (RESULT)in[y * in_pitch + i]
                          : dense(window_sum(in, in_pitch, x, y, channel, width, height, size, border), below, x, y,
                                  width, height, size);
}
#endif

#if defined(HONE_ALL) || defined(VARIANT_integral)
/*
 * The write-up's filter. It takes an integral image as given; here that is made first, over the image as windows see it (size - 1
 * rows and columns more, in the way of the border rule), with a row and a column of zeros in front.
 */
#ifndef SPLIT
#define SPLIT 0 /* four corners: 0 in one expression, 1 one after the other */
#endif

/* Running sums along the rows, each row of each channel by one work-group, which carries from chunk to chunk. What is beyond
 * the last pixel, up to the stride, is read in vectors and not used. */
__kernel void density_along(__global const PIXEL *in, int in_offset, int in_pitch, __global SUM *integral, int stride,
                            __local SUM *part, int width, int height, int size, int border)
{
    int lid = get_local_id(0), group = get_local_size(0), y = get_group_id(1), channel = get_group_id(2), inside;
    __global const PIXEL *from = hone_row(in + in_offset, in_pitch, y - 1 - size / 2, height, &inside);
    __global SUM *row = integral + (size_t)y * stride;
    SUM carry = 0;
    for (int start = 0; start * HONE_C < stride; start += group) {
        int x = start + lid, at = x - 1 - size / 2, i = x * HONE_C + channel;
        bool real = y > 0 && x > 0 && x < width + size;
        part[lid] = real ? counted(hone_at(from, inside, at, channel, width, border)) : 0;
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int step = 1; step < group; step *= 2) {
            SUM before = lid >= step ? part[lid - step] : 0;
            barrier(CLK_LOCAL_MEM_FENCE);
            part[lid] += before;
            barrier(CLK_LOCAL_MEM_FENCE);
        }
        if (i < stride)
            row[i] = part[lid] + carry;
        carry += part[group - 1];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}

/* In place: running sums down the columns. */
__kernel void density_down(__global SUM *integral, int stride, int rows)
{
    int i = get_global_id(0);
    SUM sum = 0;
    for (int y = 0; i < stride && y < rows; y++) {
        sum += integral[(size_t)y * stride + i];
        integral[(size_t)y * stride + i] = sum;
    }
}

typedef VECTOR(SUM, 8) sums8;

/* Eight results; what lies beyond the row is not written. */
inline void store8(sums8 sums, uint below, __global const PIXEL *in, int in_pitch, __global RESULT *out, int out_pitch,
                   int i, int y, int width, int height, int size)
{
    int count = width * HONE_C;
#if HONE_C != 4 && HONE_BORDER != BORDER_ZERO_OUTSIDE
    if (i + 8 <= count) {
        vstore8(select((sums8)0, sums, PASTE(as_, VECTOR(SUM, 8))(sums > (sums8)(SUM)below)), 0, out + y * out_pitch + i);
        return;
    }
#endif
    union {
        sums8 vector;
        SUM element[8];
    } all;
    all.vector = sums;
    for (int k = 0; k < 8 && i + k < count; k++)
        out[y * out_pitch + i + k] =
            IS_ALPHA((i + k) % HONE_C) ? (RESULT)in[y * in_pitch + i + k]
                                       : dense(all.element[k], below, (i + k) / HONE_C, y, width, height, size);
}

/*
 * Eight results at once, A4 + A1 - A2 - A3. In one expression all four loads may be in flight, and each takes registers of its
 * own: 41 on the write-up's device, which left room for 5 waves. One after the other into the same variable they took 6, and 10
 * waves ran.
 */
__kernel void density_corners(__global const SUM *integral, __global const PIXEL *in, int in_offset, int in_pitch,
                              __global RESULT *out, int out_offset, int out_pitch, int stride, int width, int height,
                              int size, uint below)
{
    int x = get_global_id(0), y = get_global_id(1);
    if (x * 8 >= width * HONE_C || y >= height)
        return;
    __global const SUM *a1 = integral + (size_t)y * stride, *a2 = a1 + size * HONE_C;
    __global const SUM *a3 = a1 + (size_t)size * stride, *a4 = a3 + size * HONE_C;
#if SPLIT
    sums8 sum = vload8(x, a4);
    sum += vload8(x, a1), sum -= vload8(x, a2), sum -= vload8(x, a3);
#else
    sums8 sum = vload8(x, a4) + vload8(x, a1) - vload8(x, a2) - vload8(x, a3);
#endif
    store8(sum, below, in + in_offset, in_pitch, out + out_offset, out_pitch, x * 8, y, width, height, size);
}
#endif
