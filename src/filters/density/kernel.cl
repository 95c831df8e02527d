/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef MASK
#define MASK 0 /* 1: a pixel that is not 0 counts 1 */
#endif

#ifndef SUM_BITS
#define SUM_BITS 16 /* 16 or 32 */
#endif

/* The host chose the type of the sums so that one window's fits, and one more than the largest too. Longer
 * sums may wrap
 * around: their differences are still right. */
#if SUM_BITS == 16
#define SUM ushort
#else
#define SUM uint
#endif

/* Results of u8 are marks: sums never are. */
#define MARKS (HONE_OT == 0)
#define MARK  255

inline SUM counted(NUMBER value)
{
    return MASK ? (SUM)(value != 0) : (SUM)value;
}

/* Alpha of u16 beside marks: as much of 255 as it was of 65535, to the nearest. */
inline RESULT copied(PIXEL alpha)
{
    return sizeof(RESULT) < sizeof(PIXEL) ? (RESULT)(((uint)alpha + 128) / 257) : (RESULT)alpha;
}

inline int window_leaves(int x, int y, int width, int height, int size)
{
    return hone_leaves(x - size / 2, y - size / 2, size, size, width, height);
}

/* The sum, or a mark, where it is at least `least` and the border rule allows it. */
inline RESULT dense(SUM sum, uint least, int x, int y, int width, int height, int size)
{
    bool nothing = HONE_BORDER == BORDER_ZERO_OUTSIDE && window_leaves(x, y, width, height, size);
    return nothing || sum < least ? (RESULT)0 : (RESULT)(MARKS ? MARK : sum);
}

#if defined(HONE_ALL) || defined(VARIANT_direct) || defined(VARIANT_compact)
/* Every pixel of one window. */
inline SUM window_sum(__global const PIXEL *in, int pitch, int x, int y, int channel, int width, int height,
                      int size, int border)
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
                             int out_offset, int out_pitch, int width, int height, int size, int border,
                             uint least)
{
    int i = get_global_id(0), x = i / HONE_C, channel = i - x * HONE_C, y = get_global_id(1);
    if (x >= width || y >= height)
        return;
    in += in_offset;
    out[out_offset + y * out_pitch + i] =
        IS_ALPHA(channel) ? copied(in[y * in_pitch + i])
                          : dense(window_sum(in, in_pitch, x, y, channel, width, height, size, border), least,
                                  x, y, width, height, size);
}
#endif

#if defined(HONE_ALL) || defined(VARIANT_integral)
/*
 * The write-up's filter. It takes an integral image as given; here that is made first, over the image as
 * windows see it (size - 1 rows and columns more, in the way of the border rule), with a row and a column of
 * zeros in front.
 */
#ifndef SPLIT
#define SPLIT 0 /* four corners: 0 in one expression, 1 one after the other */
#endif

/* Running sums along the rows, each row of each channel by one work-group, which carries from chunk to chunk.
 * A work-item sums several pixels by itself, so that the steps through local memory are few. What is beyond
 * the last pixel, up to the stride, is read in vectors and not used. */
#define ALONG 4 /* pixels of a work-item in a chunk */
__kernel void density_along(__global const PIXEL *in, int in_offset, int in_pitch, __global SUM *integral,
                            int stride, __local SUM *part, int width, int height, int size, int border)
{
    int lid = get_local_id(0), group = get_local_size(0), y = get_group_id(1), channel = get_group_id(2),
        inside;
    __global const PIXEL *from = hone_row(in + in_offset, in_pitch, y - 1 - size / 2, height, &inside);
    __global SUM *row = integral + (size_t)y * stride;
    SUM carry = 0;
    for (int start = 0; start * HONE_C < stride; start += group * ALONG) {
        int first = start + lid * ALONG;
        SUM own[ALONG], sum = 0;
#pragma unroll
        for (int k = 0; k < ALONG; k++) {
            int x = first + k, at = x - 1 - size / 2;
            bool real = y > 0 && x > 0 && x < width + size;
            sum += real ? counted(hone_at(from, inside, at, channel, width, border)) : 0;
            own[k] = sum;
        }
        part[lid] = sum;
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int step = 1; step < group; step *= 2) {
            SUM before = lid >= step ? part[lid - step] : 0;
            barrier(CLK_LOCAL_MEM_FENCE);
            part[lid] += before;
            barrier(CLK_LOCAL_MEM_FENCE);
        }
        SUM before = carry + part[lid] - sum;
#pragma unroll
        for (int k = 0; k < ALONG; k++)
            if ((first + k) * HONE_C + channel < stride)
                row[(first + k) * HONE_C + channel] = before + own[k];
        carry += part[group - 1];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}

/* In place: running sums down the columns. Work-items are few, so each has many rows under way: a load behind
 * a store to the same buffer would wait for it. */
#define DOWN_ROWS 32
__kernel void density_down(__global SUM *integral, int stride, int rows)
{
    int i = get_global_id(0), y = 0;
    SUM sum = 0, at[DOWN_ROWS];
    if (i >= stride)
        return;
    for (; y + DOWN_ROWS <= rows; y += DOWN_ROWS) {
        __global SUM *from = integral + (size_t)y * stride + i;
#pragma unroll
        for (int k = 0; k < DOWN_ROWS; k++)
            at[k] = from[(size_t)k * stride];
#pragma unroll
        for (int k = 0; k < DOWN_ROWS; k++)
            from[(size_t)k * stride] = sum += at[k];
    }
    for (; y < rows; y++) {
        sum += integral[(size_t)y * stride + i];
        integral[(size_t)y * stride + i] = sum;
    }
}

typedef VECTOR(SUM, 8) sums8;

/* Where no border rule and no alpha has a say; a comparison of vectors gives all bits where it holds. */
inline VECTOR(RESULT, 8) dense8(sums8 sums, sums8 least)
{
    sums8 reached = PASTE(as_, VECTOR(SUM, 8))(sums >= least);
#if !MARKS
    reached &= sums;
#endif
    return PASTE(convert_, VECTOR(RESULT, 8))(reached);
}

/* Eight results; what lies beyond the row is not written. */
inline void store8(sums8 sums, uint least, __global const PIXEL *in, int in_pitch, __global RESULT *out,
                   int out_pitch, int i, int y, int width, int height, int size)
{
    int count = width * HONE_C;
#if HONE_C != 4 && HONE_BORDER != BORDER_ZERO_OUTSIDE
    if (i + 8 <= count) {
        vstore8(dense8(sums, (sums8)(SUM)least), 0, out + y * out_pitch + i);
        return;
    }
#endif
    union {
        sums8 vector;
        SUM element[8];
    } all;
    all.vector = sums;
#pragma unroll
    for (int k = 0; k < 8; k++)
        if (i + k < count)
            out[y * out_pitch + i + k] =
                IS_ALPHA((i + k) % HONE_C)
                    ? copied(in[y * in_pitch + i + k])
                    : dense(all.element[k], least, (i + k) / HONE_C, y, width, height, size);
}

/*
 * Eight results at once, A4 + A1 - A2 - A3. In one expression all four loads may be in flight, and each takes
 * registers of its
 * own: 41 on the write-up's device, which left room for 5 waves. One after the other into the same variable
 * they took 6, and 10 waves ran.
 */
__kernel void density_corners(__global const SUM *integral, __global const PIXEL *in, int in_offset,
                              int in_pitch, __global RESULT *out, int out_offset, int out_pitch, int stride,
                              int width, int height, int size, uint least)
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
    store8(sum, least, in + in_offset, in_pitch, out + out_offset, out_pitch, x * 8, y, width, height, size);
}
#endif

#if defined(HONE_ALL) || defined(VARIANT_sliding)
/*
 * For GPUs, one channel: from the pixels to the result in one kernel, without an integral image. A work-item
 * owns PX columns and walks down ROWS rows; the sums of its columns slide along in registers. In every row
 * each work-item puts the running sums over its own columns into local memory, of which the last is their
 * total; a window's sum is made of totals of whole neighbours and the running sums of the two that it cuts.
 * The outermost work-items of a group only serve the others. Two buffers take turns, so that one barrier per
 * row is enough.
 */
#ifndef PX
#define PX 4 /* columns of a work-item */
#endif
#ifndef ROWS
#define ROWS 64 /* rows of a strip */
#endif
#ifndef SIZE
#define SIZE 31 /* of the window */
#endif
#define LEFT       (SIZE / 2)
#define RIGHT      (SIZE - 1 - LEFT)
#define HALO_LEFT  ((LEFT + PX - 1) / PX) /* work-items that windows of others reach into */
#define HALO_RIGHT ((RIGHT + PX - 1) / PX)

/* columns[k] += sign * pixel k of row y */
inline void add_row(uint *columns, uint sign, __global const PIXEL *in, int pitch, int x, int y, int width,
                    int height, int border)
{
    int inside;
    __global const PIXEL *row = hone_row(in, pitch, y, height, &inside);
    if (x >= 0 && x + PX <= width && REAL_ROW(inside)) {
        union {
            VECTOR(PIXEL, PX) vector;
            PIXEL element[PX];
        } v;
        v.vector = *(__global const VECTOR(PIXEL, PX) *)(row + x);
#pragma unroll
        for (int k = 0; k < PX; k++)
            columns[k] += sign * counted(v.element[k]);
    } else {
#pragma unroll
        for (int k = 0; k < PX; k++)
            columns[k] += sign * counted(hone_at(row, inside, x + k, 0, width, border));
    }
}

/* The sum of the first k columns of work-item `item`, counted from the own one. */
inline uint first_columns(__local const uint *own, int group, int item, int k)
{
    return k == 0 ? 0 : own[(k - 1) * group + item];
}

inline void write_sums(__local const uint *own, int group, __global RESULT *out, int x, int y, int width,
                       int height, uint least)
{
    union {
        VECTOR(RESULT, PX) vector;
        RESULT element[PX];
    } r;
    uint whole =
        0; /* work-items from the one that the window cuts on the left to before the one on the right */
#pragma unroll
    for (int item = -HALO_LEFT; item < (RIGHT + 1) / PX; item++)
        whole += first_columns(own, group, item, PX);
#pragma unroll
    for (int e = 0; e < PX; e++) {
        int from = e - LEFT + HALO_LEFT * PX, left = from / PX - HALO_LEFT, to = e + RIGHT + 1,
            right = to / PX;
        if (e > 0 && from % PX == 0)
            whole -= first_columns(own, group, left - 1, PX);
        if (e > 0 && to % PX == 0)
            whole += first_columns(own, group, right - 1, PX);
        uint sum =
            whole + first_columns(own, group, right, to % PX) - first_columns(own, group, left, from % PX);
        r.element[e] = dense((SUM)sum, least, x + e, y, width, height, SIZE);
    }
    if (x + PX <= width) {
        *(__global VECTOR(RESULT, PX) *)out = r.vector;
    } else {
#pragma unroll
        for (int e = 0; e < PX; e++)
            if (x + e < width)
                out[e] = r.element[e];
    }
}

__kernel void density_sliding(__global const PIXEL *in, int in_offset, int in_pitch, __global RESULT *out,
                              int out_offset, int out_pitch, __local uint *part, int width, int height,
                              int border, uint least)
{
    int lid = get_local_id(0), group = get_local_size(0), y = get_group_id(1) * ROWS,
        end = min(y + ROWS, height);
    int x = ((int)get_group_id(0) * (group - HALO_LEFT - HALO_RIGHT) + lid - HALO_LEFT) * PX;
    bool gives = lid >= HALO_LEFT && lid < group - HALO_RIGHT && x < width;
    uint columns[PX] = {0};
    in += in_offset;
    out += out_offset + x;
#pragma unroll 1
    for (int j = 0; j < SIZE; j++)
        add_row(columns, 1, in, in_pitch, x, y - LEFT + j, width, height, border);
    for (int buffer = 0;; buffer ^= 1) {
        __local uint *own = part + buffer * PX * group + lid;
        uint sum = 0;
#pragma unroll
        for (int k = 0; k < PX; k++) {
            sum += columns[k];
            own[k * group] = sum;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        if (gives)
            write_sums(own, group, out + y * out_pitch, x, y, width, height, least);
        if (++y >= end)
            return;
        add_row(columns, 1, in, in_pitch, x, y + RIGHT, width, height, border);
        add_row(columns, -1, in, in_pitch, x, y - 1 - LEFT, width, height, border);
    }
}
#endif

#if defined(HONE_ALL) || defined(VARIANT_compact)
/*
 * Two phases, so that work-groups are loaded evenly (guide 6.6.3). Where marked pixels are few, most windows
 * cannot reach the
 * threshold: the sums of the cells that a window touches are never less than its own. Phase one writes zeros
 * there and lists the other positions, counting in local memory first and adding to the list's length once
 * per work-group (guide 7.3). Phase two walks the list, every work-item as much of it as any other, and sums
 * whole windows.
 */
#ifndef CELL
#define CELL 8 /* side of a cell */
#endif

/* Sums of cells over the image as windows see it. The list begins with its length. */
__kernel void density_cells(__global const PIXEL *in, int in_offset, int in_pitch, __global uint *cells,
                            __global uint *list, int width, int height, int size, int border, int across,
                            int down)
{
    int i = get_global_id(0), cy = get_global_id(1), cx = i / HONE_C, channel = i - cx * HONE_C;
    if (cx >= across || cy >= down)
        return;
    if (i == 0 && cy == 0)
        list[0] = 0;
    uint sum = 0;
    for (int y = cy * CELL; y < min(cy * CELL + CELL, height + size - 1); y++) {
        int inside;
        __global const PIXEL *row = hone_row(in + in_offset, in_pitch, y - size / 2, height, &inside);
        for (int x = cx * CELL; x < min(cx * CELL + CELL, width + size - 1); x++)
            sum += counted(hone_at(row, inside, x - size / 2, channel, width, border));
    }
    cells[cy * across * HONE_C + i] = sum;
}

/* The sum of all cells that a window touches. */
inline uint at_most(__global const uint *cells, int x, int y, int channel, int size, int across)
{
    uint sum = 0;
    for (int cy = y / CELL; cy <= (y + size - 1) / CELL; cy++)
        for (int cx = x / CELL; cx <= (x + size - 1) / CELL; cx++)
            sum += cells[(cy * across + cx) * HONE_C + channel];
    return sum;
}

__kernel void density_list(__global const uint *cells, __global const PIXEL *in, int in_offset, int in_pitch,
                           __global RESULT *out, int out_offset, int out_pitch, __global uint *list,
                           __local uint *shared, int width, int height, int size, uint least, int across)
{
    int i = get_global_id(0), y = get_global_id(1), x = i / HONE_C, channel = i - x * HONE_C;
    bool first = get_local_id(0) == 0 && get_local_id(1) == 0, real = x < width && y < height;
    bool wanted = real && !(IS_ALPHA(channel)) && at_most(cells, x, y, channel, size, across) >= least;
    uint place = 0;
    if (first)
        shared[0] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (wanted)
        place = atomic_inc(shared);
    else if (real)
        out[out_offset + y * out_pitch + i] =
            IS_ALPHA(channel) ? copied(in[in_offset + y * in_pitch + i]) : 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (first)
        shared[1] = atomic_add(list, shared[0]);
    barrier(CLK_LOCAL_MEM_FENCE);
    if (wanted)
        list[1 + shared[1] + place] = (uint)y * (width * HONE_C) + i;
}

__kernel void density_listed(__global const uint *list, __global const PIXEL *in, int in_offset, int in_pitch,
                             __global RESULT *out, int out_offset, int out_pitch, int width, int height,
                             int size, int border, uint least)
{
    uint found = list[0], elements = width * HONE_C;
    for (uint k = get_global_id(0); k < found; k += get_global_size(0)) {
        int y = list[1 + k] / elements, i = list[1 + k] - y * elements, x = i / HONE_C;
        SUM sum = window_sum(in + in_offset, in_pitch, x, y, i - x * HONE_C, width, height, size, border);
        out[out_offset + y * out_pitch + i] = dense(sum, least, x, y, width, height, size);
    }
}
#endif
