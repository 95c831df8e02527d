/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * For GPUs: one launch of about as many work-groups as there are compute units, which meet once. Each first
 * sums up the columns of its share of the image's width, all the way down, and leaves what is above each band
 * of rows. Then it forms one band: in tiles (tiles.clh), whose sums of rows it scans in local memory while
 * it waits for the others.
 *
 * Nobody waits forever: a work-group that has looked too often sums up what is above its band by itself. The
 * last work-group to leave sets the counters to 0 again.
 */
#ifndef GROUP
#define GROUP 512 /* work-items, a multiple of the lanes of a tile */
#endif
#ifndef PIECES
#define PIECES 1 /* of 128 pixels, side by side in a tile */
#endif
#ifndef LINES
#define LINES 4 /* rows scanned together */
#endif
#ifndef CHUNK
#define CHUNK 2 /* vectors of 16 bytes whose columns are summed up together, a power of 2 */
#endif
#ifndef STREAM
#define STREAM 0 /* 1: stores go past the caches (PTX) */
#endif
#ifndef TAIL
#define TAIL 1 /* 0: rows are a whole number of vectors of four elements */
#endif
#ifndef SPINS
#define SPINS 4000 /* times that a work-group looks for the others before it gives up */
#endif

/* Without PTX a lane, and a work-group, is one work-item: compilers for CPUs take minutes for so many
 * barriers in loops. */
#if WITH_PTX
#define MEET_GROUP(flags) barrier(flags)
#else
#define MEET_GROUP(flags) mem_fence(flags)
#define LANES             1
#endif
#define LEFT_SPACE __local
#define EXCHANGE   (WITH_PTX && HONE_C > 1)
#include "filters/integral/signals.clh"
#include "filters/integral/tiles.clh"

inline uint counted(uint word)
{
    return word;
}

#define ABOVE_GROUP  GROUP
#define ABOVE_MEET() MEET_GROUP(CLK_LOCAL_MEM_FENCE)
#include "filters/above.clh"

#define NO_AREA ((__local SUM *)0) /* lanes need none to exchange sums */
#define WARPS   (GROUP / LANES)

/* Sums along `length` elements in local memory, each `step` behind the other, become those of what is before;
 * `series` of them side by side. */
inline void scan_along(__local SUM *area, int step, int length, int series, int warp, int lane)
{
#pragma unroll 1
    for (int i = warp; i < series; i += WARPS) {
        SUM carry = 0;
#pragma unroll 1
        for (int first = 0; first < length; first += LANES) {
            __local SUM *own = area + (first + lane) * step + i;
            SUM total[1] = {first + lane < length ? *own : (SUM)0}, before[1];
            lanes_scan(before, total, 1, lane, NO_AREA);
            if (first + lane < length)
                *own = carry + before[0];
            carry += total[0];
        }
    }
}

/* ---- Meeting ---- */

/* What others would have left, from the rows above themselves; `columns` of them. Seldom run, and therefore
 * short. */
inline void sum_alone(__global SUM *above, int columns, __global const PIXEL *in, int pitch, int elements,
                      int end, int lid)
{
#pragma unroll 1
    for (int at = lid; at < columns; at += GROUP) {
        SUM sum = 0;
#pragma unroll 1
        for (int y = 0; y < end && at < elements;) {
            SUM part = 0;
#pragma unroll 1
            for (int last = min(y + 64, end); y < last; y++)
                part += in[y * pitch + at];
            sum += part;
        }
        above[at] = sum;
    }
    MEET_GROUP(CLK_GLOBAL_MEM_FENCE);
}

inline void arrive(__global uint *counters, int lid)
{
    MEET_GROUP(CLK_GLOBAL_MEM_FENCE);
    if (lid == 0) {
        FENCE();
        atomic_inc(&counters[0]);
    }
}

/* Have all work-groups arrived? Looks `spins` times. */
inline bool wait(__global uint *counters, int spins, int lid, __local uint *answer)
{
    if (lid == 0) {
        uint groups = get_num_groups(0), met = 0;
        for (int i = 0; i < spins && !met; i++)
            met = look(&counters[0]) == groups;
        FENCE();
        *answer = met;
    }
    MEET_GROUP(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    return *answer != 0;
}

/* ---- Sums of what is left of each tile ---- */

/* Of each of n values, the sum over all lanes. */
inline void add_lanes(SUM *v, int n, int lane)
{
#if WITH_PTX
#pragma unroll
    for (int k = 0; k < n; k++)
        v[k] = lanes_sum(v[k]);
#else
    SUM before[LINES * HONE_C];
    lanes_scan(before, v, n, lane, NO_AREA);
#endif
}

/* LINES rows of a tile, each channel's sum to left[row + channel * apart]; `apart` of them, the last one
 * again behind the image's end. */
inline void sum_lines(__local SUM *left, int apart, const struct tile *t, int row, int last, bool whole)
{
    pixels4 v[LINES][OWN / 4];
    load_pixels(v, t, row, last, whole);
    SUM sums[LINES * HONE_C];
#pragma unroll
    for (int i = 0; i < LINES * HONE_C; i++)
        sums[i] = 0;
#pragma unroll
    for (int line = 0; line < LINES; line++)
#pragma unroll
        for (int k = 0; k < OWN / 4; k++) {
            sums[line * HONE_C + 4 * k % HONE_C] += v[line][k].x;
            sums[line * HONE_C + (4 * k + 1) % HONE_C] += v[line][k].y;
            sums[line * HONE_C + (4 * k + 2) % HONE_C] += v[line][k].z;
            sums[line * HONE_C + (4 * k + 3) % HONE_C] += v[line][k].w;
        }
    add_lanes(sums, LINES * HONE_C, t->lane);
    if (t->lane == 0)
#pragma unroll
        for (int i = 0; i < LINES * HONE_C; i++)
            if (row + i / HONE_C < apart)
                left[row + i / HONE_C + i % HONE_C * apart] = sums[i];
}

/* What lies right of the image must not count: lanes there have 0, see load4. The last vector may reach
 * behind the row's end, which nothing is right of. Where rows are whole vectors, one form does for all tiles:
 * another one takes the compiler longer than it saves. */
inline void sum_tile(__local SUM *left, int apart, const struct tile *t, int last)
{
    bool whole = t->at - t->lane * ACROSS + WIDTH <= t->count;
#pragma unroll 1
    for (int row = 0; row < apart; row += LINES)
        if (TAIL && whole)
            sum_lines(left, apart, t, row, last, true);
        else
            sum_lines(left, apart, t, row, last, false);
}

/* The same of what is above the band: to corner[]. */
inline void sum_corner(__local SUM *corner, __global const SUM *above, int lane)
{
    SUM sums[HONE_C];
#pragma unroll
    for (int channel = 0; channel < HONE_C; channel++)
        sums[channel] = 0;
#pragma unroll
    for (int k = 0; k < OWN / 4; k++) {
        sums4 v = *(__global const sums4 *)(above + lane * ACROSS + AT(k));
        sums[4 * k % HONE_C] += v.x;
        sums[(4 * k + 1) % HONE_C] += v.y;
        sums[(4 * k + 2) % HONE_C] += v.z;
        sums[(4 * k + 3) % HONE_C] += v.w;
    }
    add_lanes(sums, HONE_C, lane);
    if (lane == 0)
#pragma unroll
        for (int channel = 0; channel < HONE_C; channel++)
            corner[channel] = sums[channel];
}

/*
 * `above` has `stride` sums for each band. `part` has room for what lanes exchange and the sums of a band
 * (for each tile and channel one for each row, and two more), or for the sums of a chunk.
 */
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
integral_persistent(__global const PIXEL *in, int in_offset, int in_pitch, __global SUM *out, int out_offset,
                    int out_pitch, __global SUM *above, int stride, __global uint *counters, int rows,
                    int bands, int elements, int height, __local uint4 *part)
{
    int lid = get_local_id(0), lane = lid % LANES, warp = lid / LANES, band = get_group_id(0);
    int y = band * rows, last = min(rows, height - y) - 1, apart = rows | 1;
    __local SUM *own = (__local SUM *)part + warp * EXCHANGE * OWN * LANES,
                *area = (__local SUM *)part + WARPS * EXCHANGE * OWN * LANES;
    /* Work-groups that have no band come along for the barriers. */
    int tiles = band < bands ? (elements + WIDTH - 1) / WIDTH : 0;
    struct above_bands b = {rows, bands, height};
    struct tile t = {in + in_offset + y * in_pitch,
                     out + out_offset + y * out_pitch,
                     area,
                     in_pitch,
                     out_pitch,
                     apart,
                     0,
                     elements,
                     lane,
                     height - y - 1};
    __local SUM *corner = area + tiles * HONE_C * apart;
    __local uint answer;
#pragma unroll 1
    for (int chunk = band; chunk * ABOVE_ELEMENTS < stride; chunk += get_num_groups(0))
        above_chunk(above, stride, (__local SUM *)part, in + in_offset, in_pitch, chunk, elements, &b, lid);
    arrive(counters, lid);
#pragma unroll 1
    for (int tile = warp; tile < tiles; tile += WARPS) {
        t.at = tile * WIDTH + lane * ACROSS;
        sum_tile(area + tile * HONE_C * apart, apart, &t, last);
    }
    MEET_GROUP(CLK_LOCAL_MEM_FENCE);
    scan_along(area, HONE_C * apart, tiles, HONE_C * apart, warp, lane);
    above += min(band, bands - 1) * stride;
    bool met = wait(counters, tiles > 0 ? SPINS : 0, lid, &answer);
    sum_alone(above, met || tiles == 0 ? 0 : stride, in + in_offset, in_pitch, elements, y, lid);
#pragma unroll 1
    for (int tile = warp; tile < tiles; tile += WARPS)
        sum_corner(corner + tile * HONE_C, above + tile * WIDTH, lane);
    MEET_GROUP(CLK_LOCAL_MEM_FENCE);
    scan_along(corner, HONE_C, tiles, HONE_C, warp, lane);
    MEET_GROUP(CLK_LOCAL_MEM_FENCE);
#pragma unroll 1
    for (int tile = warp; tile < tiles; tile += WARPS) {
        SUM acc[OWN], base[HONE_C];
        for (int channel = 0; channel < HONE_C; channel++)
            base[channel] = corner[tile * HONE_C + channel];
        t.at = tile * WIDTH + lane * ACROSS;
        t.left = area + tile * HONE_C * apart;
        start_sums(acc, above + tile * WIDTH, base, lane, NO_AREA);
        if (TAIL && (tile + 1) * WIDTH <= elements)
            walk(acc, &t, last, true, own);
        else
            walk(acc, &t, last, false, own);
    }
    leave(counters, lid);
}
