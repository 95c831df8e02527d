/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Sums of whole numbers wrap around at 2^32. Sums of floats are never formed by one long chain of additions,
 * whose error grows with its length: chains begin anew every BLOCK terms, and the blocks are chained.
 */
#if FLOATING
#define SUM float
#else
#define SUM uint
#endif
#define BLOCK 32

#ifndef ROWS
#define ROWS 32 /* rows of a band */
#endif
#ifndef PX
#define PX 4 /* pixels side by side per work-item */
#endif
#ifndef LINES
#define LINES 4 /* rows whose scans share their barriers */
#endif
#ifndef SPINS
#define SPINS 20000 /* times that a work-item looks for a value before it gives up */
#endif
#ifndef GROUP
#define GROUP 64 /* work-items of a group, which scan rows together */
#endif

/* A sum that grows term by term: `base` holds whole blocks. */
struct chain {
    SUM base, part;
    int terms;
};

inline SUM chain_add(struct chain *c, SUM term)
{
    c->part += term;
    SUM sum = c->base + c->part;
    if (++c->terms == BLOCK) {
        c->base = sum;
        c->part = 0;
        c->terms = 0;
    }
    return sum;
}

inline void scan_row(__global const PIXEL *in, __global SUM *out, int width)
{
    struct chain sum = {0, 0, 0};
    for (int x = 0; x < width; x++)
        out[x * HONE_C] = chain_add(&sum, (SUM)in[x * HONE_C]);
}

inline void scan_column(__global SUM *out, int pitch, int height)
{
    struct chain sum = {0, 0, 0};
    for (int y = 0; y < height; y++)
        out[y * pitch] = chain_add(&sum, out[y * pitch]);
}

#if defined(HONE_ALL) || defined(VARIANT_scans)
/* A work-item walks along one channel of a row. */
__kernel void integral_rows(__global const PIXEL *in, int in_offset, int in_pitch, __global SUM *out,
                            int out_offset, int out_pitch, int width, int height)
{
    int channel = get_global_id(0), y = get_global_id(1);
    if (y < height && channel < HONE_C)
        scan_row(in + in_offset + y * in_pitch + channel, out + out_offset + y * out_pitch + channel, width);
}

/* A work-item walks down one column of what the rows left. */
__kernel void integral_columns(__global SUM *out, int out_offset, int out_pitch, int count, int height)
{
    int i = get_global_id(0);
    if (i < count)
        scan_column(out + out_offset + i, out_pitch, height);
}
#endif

#if defined(HONE_ALL) || defined(VARIANT_bands) || defined(VARIANT_lookback)
/*
 * What the work-items before this one hold, for LINES rows of HONE_C channels at once; totals[] becomes the
 * sum of the whole group's. Each step doubles how far the sums reach, from one half of the area to the other:
 * one barrier per step.
 */
#define SCANS (LINES * HONE_C)
inline void group_scan(SUM before[SCANS], SUM totals[SCANS], __local SUM *area)
{
    int item = get_local_id(0), from = 0;
    SUM mine[SCANS];
    for (int k = 0; k < SCANS; k++)
        area[k * GROUP + item] = mine[k] = totals[k];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int reach = 1; reach < GROUP; reach *= 2) {
        int to = SCANS * GROUP - from;
        for (int k = 0; k < SCANS; k++) {
            if (item >= reach)
                mine[k] += area[from + k * GROUP + item - reach];
            area[to + k * GROUP + item] = mine[k];
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        from = to;
    }
    for (int k = 0; k < SCANS; k++) {
        before[k] = item > 0 ? area[from + k * GROUP + item - 1] : (SUM)0;
        totals[k] = area[from + k * GROUP + GROUP - 1];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
}

#define ACROSS (PX * HONE_C) /* elements per work-item */

/* Sums along LINES rows of ACROSS elements, with those of all columns to the left: `left` holds one for each
 * row. */
inline void scan_lines(SUM v[LINES][ACROSS], __local SUM *left, __local SUM *area)
{
    SUM before[SCANS], totals[SCANS];
    for (int line = 0; line < LINES; line++) {
        for (int i = HONE_C; i < ACROSS; i++)
            v[line][i] += v[line][i - HONE_C];
        for (int channel = 0; channel < HONE_C; channel++)
            totals[line * HONE_C + channel] = v[line][ACROSS - HONE_C + channel];
    }
    group_scan(before, totals, area);
    for (int line = 0; line < LINES; line++)
        for (int i = 0; i < ACROSS; i++)
            v[line][i] += left[line * HONE_C + i % HONE_C] + before[line * HONE_C + i % HONE_C];
    barrier(CLK_LOCAL_MEM_FENCE);
    if (get_local_id(0) == 0)
        for (int k = 0; k < SCANS; k++)
            left[k] += totals[k];
    barrier(CLK_LOCAL_MEM_FENCE);
}
#endif

#if defined(HONE_ALL) || defined(VARIANT_bands)
typedef VECTOR(PIXEL, 4) pixels4;
typedef VECTOR(SUM, 4) sums4;
#define CONVERT_SUMS PASTE(PASTE(convert_, SUM), 4)

/* Four neighbours of a row, 0 behind its end. Rows begin where vectors may. */
inline sums4 load4(__global const PIXEL *row, int i, int count)
{
    if (i + 4 <= count)
        return CONVERT_SUMS(*(__global const pixels4 *)(row + i));
    sums4 v = 0;
    v.x = i < count ? (SUM)row[i] : (SUM)0;
    v.y = i + 1 < count ? (SUM)row[i + 1] : (SUM)0;
    v.z = i + 2 < count ? (SUM)row[i + 2] : (SUM)0;
    return v;
}

inline void store4(__global SUM *row, int i, int count, sums4 v)
{
    if (i + 4 <= count) {
        *(__global sums4 *)(row + i) = v;
        return;
    }
    if (i < count)
        row[i] = v.x;
    if (i + 1 < count)
        row[i + 1] = v.y;
    if (i + 2 < count)
        row[i + 2] = v.z;
}

/* First: the sum of each column over each band of rows, four columns per work-item. */
__kernel void integral_band_sums(__global const PIXEL *in, int in_offset, int in_pitch, __global SUM *sums,
                                 int stride, int count, int height)
{
    int i = get_global_id(0) * 4, band = get_global_id(1), y = band * ROWS;
    if (i >= count || y >= height)
        return;
    in += in_offset;
    sums4 sum = 0;
    for (int end = min(y + ROWS, height); y < end; y++)
        sum += load4(in + y * in_pitch, i, count);
    *(__global sums4 *)(sums + (size_t)band * stride + i) = sum;
}

/* Second: the sum of each column above each band. */
__kernel void integral_band_carries(__global SUM *sums, int stride, int bands)
{
    int i = get_global_id(0);
    if (i >= stride)
        return;
    struct chain sum = {0, 0, 0};
    SUM above = 0;
    for (int band = 0; band < bands; band++) {
        SUM own = sums[(size_t)band * stride + i];
        sums[(size_t)band * stride + i] = above;
        above = chain_add(&sum, own);
    }
}

/* Four elements at a time between memory and registers. */
inline void unpack(SUM v[4], sums4 from)
{
    v[0] = from.x;
    v[1] = from.y;
    v[2] = from.z;
    v[3] = from.w;
}

inline sums4 pack(const SUM v[4])
{
    return (sums4)(v[0], v[1], v[2], v[3]);
}

/*
 * Third: a work-group walks over its band, GROUP * PX pixels wide at a time, and down. The row of sums above
 * the band comes first, as a row that is not written. `left` keeps the sums of all rows to the left of the
 * present pixels, that row's behind those of the band.
 */
__kernel void integral_bands(__global const PIXEL *in, int in_offset, int in_pitch, __global SUM *out,
                             int out_offset, int out_pitch, __global const SUM *carries, int stride,
                             int count, int height, __local SUM *left, __local SUM *area)
{
    int y0 = get_global_id(1) * ROWS, item = get_local_id(0), rows = min(ROWS, height - y0);
    in += in_offset + y0 * in_pitch;
    out += out_offset + y0 * out_pitch;
    carries += get_global_id(1) * stride;
    for (int k = item; k < (ROWS + LINES) * HONE_C; k += GROUP)
        left[k] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int first = 0; first < count; first += GROUP * ACROSS) {
        int at = first + item * ACROSS;
        SUM above[ACROSS], v[LINES][ACROSS];
        for (int line = 0; line < LINES; line++)
            for (int i = 0; i < ACROSS; i++)
                v[line][i] = line == 0 && at + i < stride ? carries[at + i] : (SUM)0;
        scan_lines(v, left + ROWS * HONE_C, area);
        for (int i = 0; i < ACROSS; i++)
            above[i] = v[0][i];
        for (int row = 0; row < rows; row += LINES) {
            for (int line = 0; line < LINES; line++)
                for (int i = 0; i < ACROSS; i += 4)
                    unpack(v[line] + i,
                           row + line < rows ? load4(in + (row + line) * in_pitch, at + i, count) : (sums4)0);
            scan_lines(v, left + row * HONE_C, area);
            for (int line = 0; line < LINES; line++)
                for (int i = 0; i < ACROSS; i += 4) {
                    for (int k = i; k < i + 4; k++)
                        above[k] += v[line][k];
                    if (row + line < rows)
                        store4(out + (row + line) * out_pitch, at + i, count, pack(above + i));
                }
        }
    }
}
#endif

#if defined(HONE_ALL) || defined(VARIANT_lookback)
/*
 * One pass: work-groups take bands of ROWS rows in the order in which they begin to run, so that whatever a
 * band waits for is under way. Of each column, a band publishes first what it adds, then, when it knows what
 * is above, the whole sum. To learn what is above, it adds up what bands above add until it finds a whole
 * sum.
 *
 * Whether work-groups that wait let others run is nowhere promised. So nobody waits forever: who has looked
 * SPINS times in vain says so in state[1], and then all sums are formed again by passes that otherwise end at
 * once. And no order of memory accesses is relied upon: a value travels in two words of 16 bits, each with a
 * mark that it is there, written and read by atomic operations.
 */
#define HERE 0x10000u

inline uint to_bits(SUM sum)
{
#if FLOATING
    return as_uint(sum);
#else
    return sum;
#endif
}

inline SUM from_bits(uint bits)
{
#if FLOATING
    return as_float(bits);
#else
    return bits;
#endif
}

inline void publish(volatile __global uint *words, SUM sum)
{
    atomic_or(words, HERE | (to_bits(sum) & 0xffffu)); /* they were 0 */
    atomic_or(words + 1, HERE | to_bits(sum) >> 16);
}

inline bool find(volatile __global uint *words, SUM *sum)
{
    uint low = atomic_or(words, 0u), high = atomic_or(words + 1, 0u);
    *sum = from_bits((low & 0xffffu) | high << 16);
    return (low & high & HERE) != 0;
}

/* Nothing is published, no ticket taken, no one has given up. */
__kernel void integral_clear(__global uint *state, __global uint *added, __global uint *whole, int words)
{
    int i = get_global_id(0);
    if (i < 2)
        state[i] = 0;
    if (i < words) {
        added[i] = 0;
        whole[i] = 0;
    }
}

/* The sum of a column above `band`; `step` words lie between bands. */
inline SUM look_back(volatile __global uint *state, volatile __global uint *added,
                     volatile __global uint *whole, int band, int step, int *patience)
{
    SUM sum = 0, found;
    for (int above = band - 1; above >= 0;) {
        if (find(whole + above * step, &found))
            return found + sum;
        if (find(added + above * step, &found)) {
            sum += found;
            above--;
        } else if (--*patience < 0 || atomic_or(state + 1, 0u) != 0) {
            *patience = 0;
            atomic_or(state + 1, 1u);
            return sum;
        }
    }
    return sum;
}

__kernel void integral_lookback(__global const PIXEL *in, int in_offset, int in_pitch, __global SUM *out,
                                int out_offset, int out_pitch, volatile __global uint *state,
                                volatile __global uint *added, volatile __global uint *whole, int count,
                                int height, __local SUM *left, __local SUM *area)
{
    __local uint ticket;
    int item = get_local_id(0), patience = SPINS;
    if (item == 0)
        ticket = atomic_inc(state);
    for (int k = item; k < ROWS * HONE_C; k += GROUP)
        left[k] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    int band = ticket, y0 = band * ROWS, rows = min(ROWS, height - y0);
    in += in_offset + y0 * in_pitch;
    out += out_offset + y0 * out_pitch;
    for (int first = 0; first < count; first += GROUP * ACROSS) {
        int at = first + item * ACROSS;
        SUM v[ROWS][ACROSS];
        for (int row = 0; row < ROWS; row++)
            for (int i = 0; i < ACROSS; i++)
                v[row][i] = row < rows && at + i < count ? (SUM)in[row * in_pitch + at + i] : (SUM)0;
        for (int row = 0; row < ROWS; row += LINES)
            scan_lines(v + row, left + row * HONE_C, area);
        for (int i = 0; i < ACROSS && at + i < count; i++) {
            int own = (band * count + at + i) * 2;
            SUM sum = 0;
            for (int row = 0; row < ROWS; row++)
                if (row < rows)
                    v[row][i] = sum += v[row][i];
            if (band > 0)
                publish(added + own, sum);
            SUM above =
                look_back(state, added + (at + i) * 2, whole + (at + i) * 2, band, count * 2, &patience);
            publish(whole + own, above + sum);
            for (int row = 0; row < rows; row++)
                out[row * out_pitch + at + i] = above + v[row][i];
        }
    }
}

/* The same as `scans`, where someone has given up. */
__kernel void integral_redo_rows(__global const PIXEL *in, int in_offset, int in_pitch, __global SUM *out,
                                 int out_offset, int out_pitch, __global const uint *state, int width,
                                 int height)
{
    int channel = get_global_id(0), y = get_global_id(1);
    if (state[1] != 0 && y < height && channel < HONE_C)
        scan_row(in + in_offset + y * in_pitch + channel, out + out_offset + y * out_pitch + channel, width);
}

__kernel void integral_redo_columns(__global SUM *out, int out_offset, int out_pitch,
                                    __global const uint *state, int count, int height)
{
    int i = get_global_id(0);
    if (state[1] != 0 && i < count)
        scan_column(out + out_offset + i, out_pitch, height);
}
#endif
