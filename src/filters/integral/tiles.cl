/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * For GPUs: the image in tiles of ROWS rows and PIECES * 128 pixels (tiles.clh). No lane waits for another
 * tile: the first pass leaves what each tile adds (to the columns below, to the rows on its right, in all), a
 * short one makes sums of what is above and of what is left out of it, and the last one forms the results.
 *
 * Lanes are never apart: rows behind the image's end are read as its last one, and what they give is neither
 * stored nor used.
 */
#ifndef ROWS
#define ROWS 64 /* rows of a tile, a multiple of 32; bytes: at most 256, whose sums fit 16 bits */
#endif
#ifndef PIECES
#define PIECES 4 /* of 128 pixels, side by side */
#endif
#ifndef LINES
#define LINES 2 /* rows scanned together; divides ROWS */
#endif
#ifndef STREAM
#define STREAM 0 /* 1: stores go past the caches (PTX) */
#endif
#ifndef TAIL
#define TAIL 1 /* 0: rows are a whole number of vectors of four elements */
#endif

#define EXCHANGE (HONE_C > 1 ? LINES : 0)
#include "filters/integral/tiles.clh"

/* ---- First: what each tile adds ---- */

#if HONE_T == 0
/* Bytes are summed two to a register. */
#define WORDS (OWN / 4)
struct columns {
    uint even[WORDS], odd[WORDS];
};

inline void columns_clear(struct columns *c)
{
#pragma unroll
    for (int k = 0; k < WORDS; k++)
        c->even[k] = c->odd[k] = 0;
}

/* Adds a row, and the sum of each of its channels to across[]. */
inline void columns_add(struct columns *c, const pixels4 *row, SUM across[HONE_C])
{
#pragma unroll
    for (int i = 0; i < HONE_C; i++) {
        uint even = 0, odd = 0;
#pragma unroll
        for (int k = i; k < WORDS; k += HONE_C) {
            uint word = as_uint(row[k]);
            even += word & 0x00ff00ffu;
            odd += word >> 8 & 0x00ff00ffu;
            c->even[k] += word & 0x00ff00ffu;
            c->odd[k] += word >> 8 & 0x00ff00ffu;
        }
        across[4 * i % HONE_C] += even & 0xffffu;
        across[(4 * i + 1) % HONE_C] += odd & 0xffffu;
        across[(4 * i + 2) % HONE_C] += even >> 16;
        across[(4 * i + 3) % HONE_C] += odd >> 16;
    }
}

inline sums4 columns_get(const struct columns *c, int k)
{
    return (sums4)(c->even[k] & 0xffffu, c->odd[k] & 0xffffu, c->even[k] >> 16, c->odd[k] >> 16);
}
#else
struct columns {
    SUM sum[OWN];
};

inline void columns_clear(struct columns *c)
{
#pragma unroll
    for (int i = 0; i < OWN; i++)
        c->sum[i] = 0;
}

inline void columns_add(struct columns *c, const pixels4 *row, SUM across[HONE_C])
{
#pragma unroll
    for (int k = 0; k < OWN / 4; k++) {
        SUM v[4] = {row[k].x, row[k].y, row[k].z, row[k].w};
#pragma unroll
        for (int i = 0; i < 4; i++) {
            c->sum[4 * k + i] += v[i];
            across[(4 * k + i) % HONE_C] += v[i];
        }
    }
}

inline sums4 columns_get(const struct columns *c, int k)
{
    return (sums4)(c->sum[4 * k], c->sum[4 * k + 1], c->sum[4 * k + 2], c->sum[4 * k + 3]);
}
#endif

/* Rows that lanes sum up together: each lane a channel of one. And those whose loads are under way at once:
 * as many as registers have room for. */
#define ROUND     (HONE_C == 1 ? LANES : HONE_C == 2 ? LANES / 2 : LANES / 4)
#define OWN_BYTES (OWN * PIXEL_BYTES)
#define BATCH     (OWN_BYTES > 128 ? 2 : OWN_BYTES > 64 ? 4 : OWN_BYTES > 32 || ROUND < 16 ? 8 : 16)

/* The same of neighbours, as the first pass owns them. */
inline void load_neighbours(pixels4 v[OWN / 4], __global const PIXEL *row, int at, int limit, bool whole)
{
    if (whole) {
        load_vectors(v, row + at, OWN / 4);
    } else {
#pragma unroll
        for (int k = 0; k < OWN / 4; k++)
            v[k] = load4(row, at + 4 * k, limit, false);
    }
}

/*
 * The sum of a channel of a row of ROUND: each lane leaves its part of each row in local memory, and then
 * adds up one. The odd distance between rows keeps lanes out of each other's banks.
 */
#define APART (LANES + 1)
inline SUM sum_rows(struct columns *c, __global const PIXEL *in, int pitch, int y, int at, int count,
                    int height, int lane, bool whole, __local SUM *area)
{
#pragma unroll 1
    for (int first = 0; first < ROUND; first += BATCH) {
        pixels4 v[BATCH][OWN / 4];
#pragma unroll
        for (int k = 0; k < BATCH; k++) {
            int from = min(y + first + k, height - 1);
            load_neighbours(v[k], in + from * pitch, at, LIMIT(from, height - 1, count), whole);
        }
#pragma unroll
        for (int k = 0; k < BATCH; k++) {
            SUM across[HONE_C];
            for (int channel = 0; channel < HONE_C; channel++)
                across[channel] = 0;
            columns_add(c, v[k], across);
            for (int channel = 0; channel < HONE_C; channel++)
                area[(channel * ROUND + first + k) * APART + lane] = across[channel];
        }
    }
    TILE_BARRIER();
    SUM sum = 0;
    if (lane < ROUND * HONE_C)
        for (int k = 0; k < LANES; k++)
            sum += area[lane * APART + k];
    TILE_BARRIER();
    return sum;
}

/*
 * `above` has a row of sums of columns for each band of tiles, ended by the tiles' own sums; `left` has for
 * each tile and channel the sums of its rows, `rows` of them in a column of tiles. Nothing is right of the
 * last tile or below the last band, so that what they give may be wrong.
 */
__kernel void integral_tile_sums(__global const PIXEL *in, int in_offset, int in_pitch, __global SUM *above,
                                 int stride, __global SUM *left, int rows, int count, int height,
                                 __local SUM *area)
{
    int lane = get_local_id(0) % LANES, tile = get_global_id(0) / LANES, band = get_global_id(1);
    int tiles = (count + WIDTH - 1) / WIDTH, at = tile * WIDTH + lane * OWN;
    if (tile >= tiles)
        return;
    in += in_offset;
    above += band * stride;
    left += tile * HONE_C * rows + band * ROWS;
    area += get_local_id(0) / LANES * LANES * APART;
    struct columns c;
    SUM totals[HONE_C], before[HONE_C], total = 0;
    const int own = lane / ROUND; /* the channel that the lane sums up */
    columns_clear(&c);
#pragma unroll 1
    for (int row = 0; row < ROWS; row += ROUND) {
        const int y = band * ROWS + row;
        SUM sum = (tile + 1) * WIDTH <= count
                      ? sum_rows(&c, in, in_pitch, y, at, count, height, lane, true, area)
                      : sum_rows(&c, in, in_pitch, y, at, count, height, lane, false, area);
        if (own < HONE_C)
            left[own * rows + row + lane % ROUND] = sum;
        total += sum;
    }
    for (int channel = 0; channel < HONE_C; channel++)
        totals[channel] = channel == own ? total : (SUM)0;
    lanes_scan(before, totals, HONE_C, lane, area);
    for (int k = 0; k < OWN / 4; k++)
        *(__global sums4 *)(above + at + 4 * k) = columns_get(&c, k);
    if (lane == 0)
        for (int channel = 0; channel < HONE_C; channel++)
            above[tiles * WIDTH + tile * HONE_C + channel] = totals[channel];
}

/* ---- Second: from what each tile adds to what is before it ---- */

#define PARTS 8  /* work-items to a column */
#define DEPTH 16 /* sums that each adds up at a time */

/* Down a column of a matrix of `count` rows, in its place: the sum of all rows above. Work-items right of the
 * last column come along for the barriers. */
inline void scan_column(__global SUM *matrix, int stride, int count, int column, int columns,
                        __local SUM *parts)
{
    int lane = get_local_id(0), part = get_local_id(1);
    bool inside = column < columns;
    SUM carry = 0;
#pragma unroll 1
    for (int first = 0; first < count; first += PARTS * DEPTH) {
        int row = first + part * DEPTH;
        SUM v[DEPTH], sum = 0;
#pragma unroll
        for (int i = 0; i < DEPTH; i++)
            v[i] = inside && row + i < count ? matrix[(row + i) * stride + column] : (SUM)0;
#pragma unroll
        for (int i = 0; i < DEPTH; i++)
            sum += v[i];
        parts[part * LANES + lane] = sum;
        barrier(CLK_LOCAL_MEM_FENCE);
        SUM before = carry;
#pragma unroll
        for (int i = 0; i < PARTS; i++) {
            before += i < part ? parts[i * LANES + lane] : (SUM)0;
            carry += parts[i * LANES + lane];
        }
        barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll
        for (int i = 0; i < DEPTH; i++) {
            if (inside && row + i < count)
                matrix[(row + i) * stride + column] = before;
            before += v[i];
        }
    }
}

/* Work-groups of LANES columns: first those of `above`, whose rows end in padding that nobody wrote, then
 * those of `left`. */
__kernel void integral_tile_carries(__global SUM *above, int stride, int bands, __global SUM *left, int rows,
                                    int tiles)
{
    __local SUM parts[PARTS * LANES];
    int column = get_global_id(0), first = (stride + LANES - 1) / LANES * LANES;
    bool lower = column >= first;
    scan_column(lower ? left : above, lower ? rows : stride, lower ? tiles : bands,
                lower ? column - first : column, lower ? rows : tiles * (WIDTH + HONE_C), parts);
}

/* ---- Last: the results ---- */

/* The sums of the row above the tile. */
inline void start_tile(SUM acc[OWN], __global const SUM *above, int tile, int tiles, int lane,
                       __local SUM *area)
{
    SUM corner[HONE_C], before[HONE_C];
    for (int channel = 0; channel < HONE_C; channel++) {
        corner[channel] = 0;
        for (int k = lane; k < tile; k += LANES)
            corner[channel] += above[tiles * WIDTH + k * HONE_C + channel];
    }
    lanes_scan(before, corner, HONE_C, lane, area);
    start_sums(acc, above + tile * WIDTH, corner, lane, area);
}

__kernel void integral_tiles(__global const PIXEL *in, int in_offset, int in_pitch, __global SUM *out,
                             int out_offset, int out_pitch, __global const SUM *above, int stride,
                             __global const SUM *left, int rows, int count, int height, __local uint4 *part)
{
    int lane = get_local_id(0) % LANES, tile = get_global_id(0) / LANES, tiles = (count + WIDTH - 1) / WIDTH;
    int band = get_global_id(1), y = band * ROWS, last = min(ROWS, height - y) - 1;
    if (tile >= tiles)
        return;
    struct tile t = {in + in_offset + y * in_pitch,
                     out + out_offset + y * out_pitch,
                     left + tile * HONE_C * rows + y,
                     in_pitch,
                     out_pitch,
                     rows,
                     tile * WIDTH + lane * ACROSS,
                     count,
                     lane,
                     height - y - 1};
    SUM acc[OWN];
    __local SUM *area = (__local SUM *)part + get_local_id(0) / LANES * EXCHANGE * OWN * LANES;
    start_tile(acc, above + band * stride, tile, tiles, lane, area);
    if ((tile + 1) * WIDTH <= count)
        walk(acc, &t, last, true, area);
    else
        walk(acc, &t, last, false, area);
}
