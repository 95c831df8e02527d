/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * For CPUs, in clang's 64-byte vectors: sums of 16 neighbours by steps that double their reach inside a
 * register. The image is cut into bands of rows; the sums of columns above each band are known before (two
 * short passes), so that bands are independent. A work-item walks along LINES rows of its band at once: the
 * chains of carries of the rows overlap in time, and the sums of what is above are read and written once for
 * all of them.
 */
#ifndef ROWS
#define ROWS 64 /* rows of a band */
#endif
#ifndef LINES
#define LINES 4 /* rows walked along together */
#endif
#ifndef STREAM
#define STREAM 0 /* 1: stores that fill whole cache lines go past the caches */
#endif

#if FLOATING
#define SUM float
#else
#define SUM uint
#endif
#define LANES 16
#define STRIP 256 /* elements whose columns the first pass sums at once */
#define BLOCK 32  /* vectors of floats after which a chain of additions begins anew, which bounds its error */

#include "filters/vectors.clh"

DEFINE_VECTORS(SUM, sums);
DEFINE_VECTORS(PIXEL, pixels);

#define LOAD_SUMS(p)     (*(__global const sums_at *)(p))
#define STORE_SUMS(p, v) (*(__global sums_at *)(p) = (v))

inline sums load(__global const PIXEL *from)
{
    return CONVERT(*(__global const pixels_at *)from, sums);
}

#if FLOATING
inline void sum_strip(__global const PIXEL *in, int pitch, __global SUM *to, int rows, bool more)
{
    sums sum[STRIP / LANES];
#pragma unroll
    for (int k = 0; k < STRIP / LANES; k++)
        sum[k] = 0;
    for (int y = 0; y < rows; y++)
#pragma unroll
        for (int k = 0; k < STRIP / LANES; k++)
            sum[k] += load(in + y * pitch + k * LANES);
#pragma unroll
    for (int k = 0; k < STRIP / LANES; k++)
        STORE_SUMS(to + k * LANES, sum[k]);
}
#else
/*
 * Pairs of pixels are summed as they lie in memory, as one number of twice the width, and the upper ones
 * alone: the lower sums are the difference, which is right when it fits, whatever was lost above. Three
 * operations for a register full of pixels, where widening each pixel would take eight.
 */
#if HONE_T == 0
#define PAIR    ushort /* holds a column of 257 bytes */
#define PAIRS   32
#define L_PAIRS L_ALL_64
#else
#define PAIR    uint
#define PAIRS   16
#define L_PAIRS L_ALL_32
#endif
#define WEAVE(i)  ((i) % 2 ? PAIRS + (i) / 2 : (i) / 2)
#define HALF_BITS ((PAIR)(4 * sizeof(PAIR)))

typedef PAIR pairs __attribute__((ext_vector_type(PAIRS)));
typedef SUM many __attribute__((ext_vector_type(PAIRS)));
typedef SUM many2 __attribute__((ext_vector_type(2 * PAIRS)));
typedef pairs pairs_at __attribute__((aligned(sizeof(PIXEL))));
typedef many2 many2_at __attribute__((aligned(sizeof(SUM))));

/* At `to`, where sums of other rows may be already. */
inline void sum_strip(__global const PIXEL *in, int pitch, __global SUM *to, int rows, bool more)
{
    pairs both[STRIP / PAIRS / 2], upper[STRIP / PAIRS / 2];
#pragma unroll
    for (int k = 0; k < STRIP / PAIRS / 2; k++)
        both[k] = upper[k] = 0;
    for (int y = 0; y < rows; y++)
#pragma unroll
        for (int k = 0; k < STRIP / PAIRS / 2; k++) {
            pairs v = *(__global const pairs_at *)(in + y * pitch + k * 2 * PAIRS);
            both[k] += v;
            upper[k] += v >> HALF_BITS;
        }
#pragma unroll
    for (int k = 0; k < STRIP / PAIRS / 2; k++) {
        many even = CONVERT(both[k] - (upper[k] << HALF_BITS), many);
        many odd = CONVERT(upper[k], many);
        many2 sum = __builtin_shufflevector(even, odd, L_PAIRS(WEAVE));
        if (more)
            sum += *(__global many2_at *)(to + k * 2 * PAIRS);
        *(__global many2_at *)(to + k * 2 * PAIRS) = sum;
    }
}
#endif

inline SUM sum_column(__global const PIXEL *in, int pitch, int rows)
{
    SUM sum = 0;
    for (int y = 0; y < rows; y++)
        sum += in[y * pitch];
    return sum;
}

/* The sums of the columns of a vector but the first `skip`; `more`: added to those there. */
inline void sum_vector(__global const PIXEL *in, int pitch, __global SUM *to, int rows, int skip, bool more)
{
    sums sum = 0;
    for (int y = 0; y < rows; y++)
        sum += load(in + y * pitch);
    for (int lane = skip; lane < LANES; lane++)
        to[lane] = more ? to[lane] + sum[lane] : sum[lane];
}

/* The sums of columns `from` to `count` - 1, which are less than a strip. Of rows that are no shorter, the
 * last vector begins in what was summed before. */
inline void sum_rest(__global const PIXEL *in, int pitch, __global SUM *to, int from, int count, int rows,
                     bool more)
{
    for (; from + LANES <= count; from += LANES)
        sum_vector(in + from, pitch, to + from, rows, 0, more);
    if (from < count && count >= LANES)
        sum_vector(in + count - LANES, pitch, to + count - LANES, rows, LANES - (count - from), more);
    else
        for (; from < count; from++)
            to[from] = (more ? to[from] : 0) + sum_column(in + from, pitch, rows);
}

/* The sum of each column over each band of rows; `stride` is a whole number of vectors. */
__kernel void integral_wide_sums(__global const PIXEL *in, int in_offset, int in_pitch, __global SUM *bands,
                                 int stride, int count, int height)
{
    int first = get_global_id(0) * STRIP, y = get_global_id(1) * ROWS, end = min(y + ROWS, height);
    if (first >= count || y >= height)
        return;
    bands += (size_t)get_global_id(1) * stride;
    in += in_offset;
    if (first + STRIP <= count)
        sum_strip(in + y * in_pitch + first, in_pitch, bands + first, end - y, false);
    else
        sum_rest(in + y * in_pitch, in_pitch, bands, first, count, end - y, false);
}

#if !FLOATING
#define FITTING 256 /* rows that a PAIR holds the sums of */

/* The sum of each column over `rows` rows; 0 from `count` on to `stride`. */
inline void sum_columns(__global const PIXEL *in, int pitch, __global SUM *to, int stride, int count,
                        int rows)
{
    for (int i = 0; i < stride; i += LANES)
        STORE_SUMS(to + i, 0);
    for (int y = 0; y < rows; y += FITTING) {
        __global const PIXEL *from = in + y * pitch;
        int i = 0, fitting = min(FITTING, rows - y);
        for (; i + STRIP <= count; i += STRIP)
            sum_strip(from + i, pitch, to + i, fitting, true);
        sum_rest(from, pitch, to, i, count, fitting, true);
    }
}
#endif

/* From the sums of each band to those of all bands above it. */
__kernel void integral_wide_carries(__global SUM *bands, int stride, int count)
{
    int i = get_global_id(0) * LANES;
    sums base = 0, part = 0;
    if (i >= stride)
        return;
    for (int band = 0; band < count; band++) {
        sums own = LOAD_SUMS(bands + (size_t)band * stride + i);
        STORE_SUMS(bands + (size_t)band * stride + i, base + part);
        part += own;
        if (band % BLOCK == BLOCK - 1) {
            base += part;
            part = 0;
        }
    }
}

/* A vector's lanes moved up by k; into the first k come the last ones of the vector to its left. */
#define SHIFT(left, v, k) MOVED(left, v, LANES - (k))

#define BLOCK_ENDS(i)     ((i) / LANES % BLOCK == BLOCK - 1)

/*
 * Running sums, the plain way: sums inside the vector, and a carry from its last pixel to all of the next
 * one. In two parts, of which one is no longer than BLOCK vectors: whole numbers would not need that, but go
 * this way only for the row above a band.
 */
struct line {
    sums zeros, part, base;
};

/* CARRY for the vector behind the next one, whose lanes may be other channels. */
#define NEXT(i) (((i) + LANES) % HONE_C)
#define TURN(v) __builtin_shufflevector(v, v, L16(NEXT, 0))

inline void begin_line(struct line *l, SUM zero)
{
    l->zeros = zero;
    l->part = zero;
    l->base = zero;
}

inline sums continue_line(struct line *l, sums v, bool block_ends)
{
    v += SHIFT(l->zeros, v, HONE_C);
    v += SHIFT(l->zeros, v, 2 * HONE_C);
#if HONE_C < 4
    v += SHIFT(l->zeros, v, 4 * HONE_C);
#endif
#if HONE_C < 2
    v += SHIFT(l->zeros, v, 8 * HONE_C);
#endif
    v += l->part;
    l->part = CARRY(v);
    v += l->base;
    l->base = TURN(l->base);
    if (block_ends) {
        l->base = CARRY(v);
        l->part = 0;
    }
    return v;
}

inline void integrate_row(__global SUM *row, int stride, SUM zero)
{
    struct line line;
    begin_line(&line, zero);
    for (int i = 0; i < stride; i += LANES)
        STORE_SUMS(row + i, continue_line(&line, LOAD_SUMS(row + i), BLOCK_ENDS(i)));
}

#if HONE_C == 3 && FLOATING
#define TOGETHER 1 /* rows that one struct group serves */
#define PARTS    1 /* vectors after which lanes are the same channels again */
struct group {
    struct line line;
};

inline void begin_group(struct group *g, SUM zero)
{
    begin_line(&g->line, zero);
}

/* From the pixels of TOGETHER rows to the sums along them. */
inline void continue_group(struct group *g, sums rows[], bool block_ends, int phase)
{
    rows[0] = continue_line(&g->line, rows[0], block_ends);
}

/* The sum of a channel at the end of a row. */
inline SUM end_of_row(const struct group *g, int row, int channel)
{
    return g->line.part[channel] + g->line.base[channel];
}

#else
/*
 * The sum of a window as wide as PARTS vectors, for each lane, in steps that double it: v plus v moved by a
 * pixel, that plus itself moved by two, and so on, each moved across from the vectors to the left. A lane's
 * running sum is then its own of so many vectors ago plus its window: no carry has to be handed from the last
 * lane to all others.
 *
 * A window of bytes fits 16 bits: two rows share the steps, one in each half of a lane. Of floats, the
 * running sum is kept in two parts, of which one is no longer than BLOCK vectors.
 */
#define TOGETHER (HONE_T == 0 ? 2 : 1)
#define PARTS    (HONE_C == 3 ? 3 : 1)
struct group {
    sums left[4], before_left, part[PARTS][2], base;
};

inline void begin_group(struct group *g, SUM zero)
{
    for (int k = 0; k < 4; k++)
        g->left[k] = zero;
    for (int k = 0; k < PARTS; k++)
        g->part[k][0] = g->part[k][1] = zero;
    g->before_left = g->base = zero;
}

#define WIDEN(step)                                                                                          \
    {                                                                                                        \
        sums wider = v + SHIFT(g->left[step], v, HONE_C << step);                                            \
        g->left[step] = v;                                                                                   \
        v = wider;                                                                                           \
    }

/* From the pixels of TOGETHER rows to the sums along them. */
inline void continue_group(struct group *g, sums rows[], bool block_ends, int phase)
{
    sums *part = g->part[phase], v = rows[0];
#if HONE_T == 0
    v |= rows[1] << 16u;
#endif
    WIDEN(0)
    WIDEN(1)
#if HONE_C < 4
    WIDEN(2)
#endif
#if HONE_C < 2
    WIDEN(3)
#elif HONE_C == 3 /* by 24 lanes */
    sums wider = v + MOVED(g->before_left, g->left[3], 8);
    g->before_left = g->left[3];
    g->left[3] = v;
    v = wider;
#endif
#if HONE_T == 0
    rows[0] = part[0] += v & 0xffffu;
    rows[1] = part[1] += v >> 16u;
#elif FLOATING
    part[0] += v;
    rows[0] = g->base + part[0];
    if (block_ends) {
        g->base = rows[0];
        part[0] = 0;
    }
#else
    rows[0] = part[0] += v;
#endif
}

/* The sum of a channel at the end of a row. */
inline SUM end_of_row(const struct group *g, int row, int channel)
{
    sums sum = g->base + g->part[PARTS - 1][row];
    return sum[LANES - HONE_C + channel];
}
#endif

/* How rows are stored: through the caches, or past them in whole cache lines; those of rows that begin
 * anywhere are joined from two vectors. */
enum way { CACHED, WHOLE, JOINED };

#if STREAM && defined(__AVX512F__) && defined(__has_builtin)
#if __has_builtin(__builtin_ia32_vpermi2vard512)
#define JOIN __builtin_ia32_vpermi2vard512
#endif
#endif

inline enum way way_of(__global const SUM *out, int pitch)
{
#ifdef JOIN
    const enum way otherwise = JOINED;
#else
    const enum way otherwise = CACHED;
#endif
    return !STREAM ? CACHED : (((ulong)out | (ulong)pitch * sizeof(SUM)) & 63) == 0 ? WHOLE : otherwise;
}

/* Of JOINED rows: the last vector, and how many elements lie before the first whole line. */
struct joint {
    sums last;
    int before;
};

inline void begin_joint(struct joint *j, __global const SUM *row)
{
    j->before = (int)(-(ulong)row % 64 / sizeof(SUM));
}

/* The whole line that vector i fills up. */
inline sums join(struct joint *j, sums v)
{
#ifdef JOIN
    const native_ints lanes = {RUN16(0)};
    union {
        sums s;
        native_ints native;
    } last = {j->last}, next = {v}, joined;
    joined.native = JOIN(last.native, lanes + j->before, next.native);
    j->last = v;
    return joined.s;
#else
    return v;
#endif
}

/* Lanes `first` to `end` - 1 of a vector. */
inline void store_lanes(__global SUM *row, sums v, int first, int end)
{
    SUM lanes[LANES];
    *(sums_at *)lanes = v;
    for (int k = first; k < end; k++)
        row[k] = lanes[k];
}

/* Of JOINED rows nothing else goes to whole lines: that would fetch them again. */
inline void store(struct joint *j, __global SUM *row, int i, sums v, enum way way, bool is_first)
{
    sums joined = way == JOINED ? join(j, v) : v;
    if (way == JOINED && is_first)
        store_lanes(row + i, v, 0, j->before);
    else if (way == CACHED)
        STORE_SUMS(row + i, v);
    else
        __builtin_nontemporal_store(joined,
                                    (__global sums *)(row + i - (way == JOINED ? LANES - j->before : 0)));
}

inline void continue_groups(struct group groups[], sums rows[], bool block_ends, int phase)
{
#pragma unroll
    for (int k = 0; k < LINES / TOGETHER; k++)
        continue_group(&groups[k], rows + k * TOGETHER, block_ends, phase);
}

/* The first pixels of a row behind `lead` zeros. */
inline sums load_head(__global const PIXEL *from, int lead)
{
    SUM head[2 * LANES];
    *(sums_at *)head = 0;
    *(sums_at *)(head + lead) = load(from);
    return *(sums_at *)head;
}

/* The first vector of `lines` rows, as if `lead` columns of zeros were before them. */
inline void begin_lines(struct group groups[], __global const PIXEL *const rows[LINES], __global SUM *out,
                        int out_pitch, __global SUM *above, int lines, int lead)
{
    sums v[LINES], sum = LOAD_SUMS(above);
#pragma unroll
    for (int line = 0; line < LINES; line++)
        v[line] = load_head(rows[line] + lead, lead);
    continue_groups(groups, v, false, PARTS - 1);
#pragma unroll
    for (int line = 0; line < LINES; line++) {
        sum += v[line];
        if (line < lines)
            store_lanes(out + line * out_pitch, sum, lead, LANES);
    }
    STORE_SUMS(above, sum);
}

/* Of so many rows at once, the processor does not foresee the next cache lines. (Small images are in the
 * caches.) */
inline void fetch_rows(__global const PIXEL *const rows[LINES], int i, int ahead)
{
#if STREAM
    if (i % LINE_ELEMENTS >= LANES)
        return;
#pragma unroll
    for (int line = 0; line < LINES; line++)
        __builtin_prefetch(rows[line] + i + ahead);
#endif
}

/* To what is fetched ahead: the next rows, whose beginnings are then there, too; of rows that are too many
 * bytes for the second cache, what follows in these. */
inline int elements_ahead(int pitch)
{
    return LINES * pitch * (int)sizeof(PIXEL) <= 262144 ? LINES * pitch : 8 * LINE_ELEMENTS;
}

/* What is left of PARTS vectors at the end of `lines` rows, from the sums at the left. */
inline void finish_lines(__global const PIXEL *const rows[LINES], __global SUM *out, int out_pitch,
                         __global SUM *above, SUM left[LINES][HONE_C], int lines, int i, int count)
{
    for (int k = 0; k < count - i; k++)
        for (int line = 0; line < lines; line++) {
            left[line][k % HONE_C] += rows[line][i + k];
            above[i + k] += left[line][k % HONE_C];
            out[line * out_pitch + i + k] = above[i + k];
        }
}

/*
 * `lines` rows: sums along each row, and on to those above. Of fewer than LINES rows the last one stands in
 * for the others, whose sums go nowhere. `in` and `out` begin `lead` elements before the rows, which nobody
 * touches.
 */
INLINE void integrate_lines(__global const PIXEL *in, int in_pitch, __global SUM *out, int out_pitch,
                            __global SUM *above, int lines, int lead, int count, SUM zero, enum way way)
{
    struct group groups[LINES / TOGETHER];
    __global const PIXEL *rows[LINES];
    SUM left[LINES][HONE_C];
    struct joint joints[LINES];
    const int ahead = elements_ahead(in_pitch);
    int i = 0;
#pragma unroll
    for (int line = 0; line < LINES; line++)
        rows[line] = in + min(line, lines - 1) * in_pitch;
#pragma unroll
    for (int line = 0; line < LINES; line++)
        begin_joint(&joints[line], out + line * out_pitch);
#pragma unroll
    for (int k = 0; k < LINES / TOGETHER; k++)
        begin_group(&groups[k], zero);
    if (lead > 0) {
        begin_lines(groups, rows, out, out_pitch, above, lines, lead);
        i = LANES;
    }
    const int first = i;
    while (i + PARTS * LANES <= count)
#pragma unroll
        for (int phase = 0; phase < PARTS; phase++, i += LANES) {
            sums sum = LOAD_SUMS(above + i), v[LINES];
#pragma unroll
            for (int line = 0; line < LINES; line++)
                v[line] = load(rows[line] + i);
            fetch_rows(rows, i, ahead);
            continue_groups(groups, v, BLOCK_ENDS(i), phase);
#pragma unroll
            for (int line = 0; line < LINES; line++) {
                sum += v[line];
                if (line < lines)
                    store(&joints[line], out + line * out_pitch, i, sum, way, i == first);
            }
            STORE_SUMS(above + i, sum);
        }
    if (way == JOINED && i > first)
#pragma unroll
        for (int line = 0; line < LINES; line++)
            if (line < lines)
                store_lanes(out + line * out_pitch + i - LANES, joints[line].last, joints[line].before,
                            LANES);
#pragma unroll
    for (int line = 0; line < LINES; line++)
#pragma unroll
        for (int channel = 0; channel < HONE_C; channel++)
            left[line][channel] = end_of_row(&groups[line / TOGETHER], line % TOGETHER, channel);
    finish_lines(rows, out, out_pitch, above, left, lines, i, count);
}

INLINE void integrate_rows(__global const PIXEL *in, int in_pitch, __global SUM *out, int out_pitch,
                           __global SUM *above, int rows, int lead, int count, SUM zero, enum way way)
{
    for (int y = 0; y < rows; y += LINES)
        integrate_lines(in + y * in_pitch, in_pitch, out + y * out_pitch, out_pitch, above,
                        min(LINES, rows - y), lead, count, zero, way);
}

/* A band, whose rows `above` has the sums of all columns over, behind `lead` zeros. */
inline void integrate_band(__global const PIXEL *in, int in_pitch, __global SUM *out, int out_pitch,
                           __global SUM *above, int stride, int lead, int count, int rows)
{
    /* No row is so long. Of zeros that it knows, the compiler makes instructions of twice the cost. */
    const SUM zero = (SUM)((uint)in_pitch >> 31);
    integrate_row(above, stride, zero);
    in -= lead;
    out -= lead;
    count += lead;
    /* The way is known inside of each loop: a choice there would cost it registers. */
    const enum way way = way_of(out, out_pitch);
    if (way == WHOLE)
        integrate_rows(in, in_pitch, out, out_pitch, above, rows, lead, count, zero, WHOLE);
    else if (way == JOINED)
        integrate_rows(in, in_pitch, out, out_pitch, above, rows, lead, count, zero, JOINED);
    else
        integrate_rows(in, in_pitch, out, out_pitch, above, rows, lead, count, zero, CACHED);
}

__kernel void integral_vectors(__global const PIXEL *in, int in_offset, int in_pitch, __global SUM *out,
                               int out_offset, int out_pitch, __global SUM *bands, int stride, int count,
                               int height)
{
    int band = get_global_id(0), y = band * ROWS;
    if (y < height)
        integrate_band(in + in_offset + y * in_pitch, in_pitch, out + out_offset + y * out_pitch, out_pitch,
                       bands + (size_t)band * stride, stride, 0, count, min(ROWS, height - y));
}

#if !FLOATING
/* Elements before a row of the result in its first cache line, where all rows are alike in this; 0 for rows
 * too short to begin with a vector. Stores that cross from one line into the next cost twice. */
inline int lead_of(__global const SUM *out, int pitch, int count)
{
    const bool alike = (pitch * sizeof(SUM) & 63) == 0 && ((ulong)out & (sizeof(SUM) - 1)) == 0;
    return alike && count >= 2 * LANES ? ((ulong)out & 63) / sizeof(SUM) : 0;
}

/* All at once: a band of `rows` rows sums up the rows above it itself. `stride` has room for `lead`. */
__kernel void integral_once_vectors(__global const PIXEL *in, int in_offset, int in_pitch, __global SUM *out,
                                    int out_offset, int out_pitch, __global SUM *bands, int stride, int rows,
                                    int count, int height)
{
    int band = get_global_id(0), y = band * rows;
    if (y >= height)
        return;
    __global SUM *above = bands + (size_t)band * stride;
    const int lead = lead_of(out + out_offset, out_pitch, count);
    in += in_offset;
    STORE_SUMS(above, 0);
    sum_columns(in, in_pitch, above + lead, stride - LANES, count, y);
    integrate_band(in + y * in_pitch, in_pitch, out + out_offset + y * out_pitch, out_pitch, above, stride,
                   lead, count, min(rows, height - y));
}
#endif
