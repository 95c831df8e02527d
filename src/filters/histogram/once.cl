/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One launch of few work-groups that stay: each counts a share of the image in local memory, adds what it
 * found to counters in global memory, and the last one to end makes the result of these and leaves them as it
 * found them, 0.
 *
 * That it is the last one says a ticket. That all counts have arrived says their sum: every element is in one
 * of them. So no order of memory accesses is assumed between work-groups.
 *
 * Rows are read in vectors of 16 bytes as memory has them, whatever they begin with, and what is no whole
 * vector by itself; an image without gaps is a single row.
 */
#include "filters/histogram/bins.clh"

#ifndef COPIES
#define COPIES 8 /* of the counters of a work-group, for each channel */
#endif
#ifndef AHEAD
#define AHEAD 2 /* vectors that are loaded before they are counted */
#endif
#ifndef WG_X
#define WG_X 256 /* work-items of a work-group */
#endif

#define PIXEL_BYTES (HONE_T == 0 ? 1 : HONE_T == 2 ? 4 : 2)
#define PER         (16 / PIXEL_BYTES) /* elements in a vector */
#define PATIENCE    (1 << 20)          /* times that the last work-group looks for counts */

/* What has no bin at once is counted behind all others, for nothing. */
#define NOWHERE(bins)      COUNTERS(bins)
#define ALL_COUNTERS(bins) (COUNTERS(bins) + (RANGED && HONE_T != 0))

/*
 * Work-items that run at once are to meet different banks of local memory. With 32 copies each has its own;
 * with fewer, neighbours take the channels of a pixel in different order, so that copies times channels
 * suffice.
 */
#if COPIES < 32 && (HONE_C == 2 || HONE_C == 4)
#define TURNS HONE_C
#else
#define TURNS 1
#endif

struct rows {
    __global const PIXEL *first;
    int pitch, elements, height; /* `elements` of a row */
};

inline struct rows rows_of(__global const PIXEL *in, int pitch, int width, int height)
{
    int count = width * HONE_C;
    bool gaps = pitch != count;
    struct rows rows = {in, pitch, gaps ? count : count * height, gaps ? height : 1};
    return rows;
}

/* Elements of a row before its first whole vector. */
inline int elements_before(__global const PIXEL *row, int elements)
{
    return min((int)(-(size_t)row & 15) / PIXEL_BYTES, elements);
}

/* A work-item's place among others. */
struct own {
    __local uint *copy;
    int turn; /* its order of channels: i ^ turn */
};

#if RANGED && HONE_T != 0
/* How most values find their bin: numbers that stay the same. */
struct quick {
#if FLOATING
    float top, reach; /* the place above the range; how far from the middle of a bin values are sure of it */
#else
    NUMBER low, high;
    uint times, plus; /* see the host's quick_division() */
#endif
};

#if FLOATING
#define IS_SLOW(q) false

/* Bins lie behind what is below the range. */
#define PLACE(slot, bins) ((slot) < (bins) ? (slot) + 1 : (slot) == (bins) ? 0 : (slot))
#define SLOT(place, bins) ((place) == 0 ? (bins) : (place) <= (bins) ? (place)-1 : (place))

inline struct quick quick_of(RANGE_PARAMETERS)
{
    struct quick q = {bins, 0.5f - margin};
    return q;
}

/* From -1 to `top`; NaN as it is. */
inline float limited(float at, float top)
{
#if WITH_PTX
    asm("max.NaN.f32 %0, %0, 0fbf800000;" : "+f"(at));
    asm("min.NaN.f32 %0, %0, %1;" : "+f"(at) : "f"(top));
    return at;
#else
    return at < -1 ? -1 : at > top ? top : at;
#endif
}

/* Only for what lies as far from all edges as `sure` says. The places of bins are rounded to by an addition;
 * their middles are whole numbers. */
inline int find_place(NUMBER value, bool *sure, const struct quick *q, RANGE_PARAMETERS)
{
    float at = limited((value - origin) * scale - 0.5f, q->top);
    float shifted = at + 12582912.0f, nearest = shifted - 12582912.0f;
    *sure = fabs(at - nearest) < q->reach;
    return *sure ? (int)(as_uint(shifted) - 0x4b3fffffu) : NOWHERE(bins);
}
#else
#define IS_SLOW(q)        ((q)->times == 0)
#define PLACE(slot, bins) (slot)
#define SLOT(place, bins) (place)

inline struct quick quick_of(RANGE_PARAMETERS)
{
    struct quick q = {edges[0], edges[bins], edges[bins + 1], edges[bins + 2]};
    return q;
}

inline int find_place(NUMBER value, bool *sure, const struct quick *q, RANGE_PARAMETERS)
{
    const bool below = value < q->low, above = value >= q->high;
    int bin = min((int)(((ulong)(uint)(value - q->low) * q->times + q->plus) >> 32), bins - 1);
    *sure = true;
    return below ? bins : above ? bins + 1 : bin;
}
#endif
#else
struct quick {
    int none;
};

#define IS_SLOW(q)        false
#define PLACE(slot, bins) (slot)
#define SLOT(place, bins) (place)

inline struct quick quick_of(RANGE_PARAMETERS)
{
    struct quick q = {0};
    return q;
}

inline int find_place(NUMBER value, bool *sure, const struct quick *q, RANGE_PARAMETERS)
{
    *sure = true;
    return COUNTER(value);
}
#endif

/* Where any value is counted. */
inline int place_of(NUMBER value, RANGE_PARAMETERS)
{
    const int slot = COUNTER(value);
    return PLACE(slot, bins);
}

/* `to`: the counters of a channel. */
inline void count_one(__local uint *to, uint counter)
{
    atomic_inc((__local uint *)((__local char *)to + counter * (HONE_C * COPIES * 4)));
}

/* Element i of a word, in a work-item's order. */
inline NUMBER element(uint word, int i, int turn)
{
#if HONE_T == 0 && WITH_PTX
    uint byte;
    asm("prmt.b32 %0, %1, 0, %2;" : "=r"(byte) : "r"(word), "r"(0x4440 | (i ^ turn)));
    return byte;
#elif HONE_T == 0
    return word >> (i ^ turn) * 8 & 0xffu;
#elif HONE_T == 1
    return word >> (i ^ (turn & 1)) * 16 & 0xffffu;
#elif HONE_T == 3
    return (short)(word >> (i ^ (turn & 1)) * 16);
#else
    return as_float(word);
#endif
}

/* Words of pixels that fill several, in a work-item's order. */
inline uint4 turned(uint4 v, int turn)
{
#if TURNS > 1 && PIXEL_BYTES == 4
    v = turn & 1 ? v.yxwz : v;
    return turn & 2 ? v.zwxy : v;
#elif TURNS > 2 && PIXEL_BYTES == 2
    return turn & 2 ? v.yxwz : v;
#else
    return v;
#endif
}

/* The counters of the channel of element i of a vector whose first one is of channel `phase`. */
inline __local uint *counters_of(const struct own *own, int phase, int i)
{
    return own->copy + (phase + (i % HONE_C ^ own->turn)) % HONE_C * COPIES;
}

/* Elements of a vector that are known by a bit each, one at a time. */
inline void count_slowly(const struct own *own, uint4 v, int phase, uint elements, RANGE_PARAMETERS)
{
    for (int i = 0; elements >> i > 0; i++) {
        int word = i / (PER / 4);
        uint w = word == 0 ? v.x : word == 1 ? v.y : word == 2 ? v.z : v.w;
        if (elements >> i & 1)
            count_one(counters_of(own, phase, i), place_of(element(w, i % (PER / 4), own->turn), RANGE));
    }
}

inline void count_vector(const struct own *own, uint4 vector, int phase, const struct quick *q,
                         RANGE_PARAMETERS)
{
    const uint4 v = turned(vector, own->turn);
    const uint words[4] = {v.x, v.y, v.z, v.w};
    __local uint *to[HONE_C];
    uint unsure = 0;
    if (IS_SLOW(q)) {
        count_slowly(own, v, phase, (1u << PER) - 1, RANGE);
        return;
    }
#pragma unroll
    for (int i = 0; i < HONE_C; i++)
        to[i] = counters_of(own, phase, i);
#pragma unroll
    for (int i = 0; i < PER; i++) {
        bool sure;
        int place = find_place(element(words[i / (PER / 4)], i % (PER / 4), own->turn), &sure, q, RANGE);
        unsure |= sure ? 0u : 1u << i;
        count_one(to[i % HONE_C], place);
    }
    if (unsure > 0)
        count_slowly(own, v, phase, unsure, RANGE);
}

/* The same of an image without gaps, whose vectors are one row: every one of a work-item begins with the same
 * channel. */
inline void count_stretch(const struct own *own, const struct rows *rows, int first, int all,
                          RANGE_PARAMETERS)
{
    const struct quick q = quick_of(RANGE);
    const int stride = HONE_C == 3 ? all - all % 3 : all,
              before = elements_before(rows->first, rows->elements);
    const int vectors = (rows->elements - before) / PER, phase = (before + first * PER) % HONE_C;
    __global const uint4 *from = (__global const uint4 *)(rows->first + before);
    int at = first < stride ? first : vectors;
    for (; at < vectors - (AHEAD - 1) * stride; at += AHEAD * stride) {
        uint4 v[AHEAD];
#pragma unroll
        for (int k = 0; k < AHEAD; k++)
            v[k] = from[at + k * stride];
#pragma unroll
        for (int k = 0; k < AHEAD; k++)
            count_vector(own, v[k], phase, &q, RANGE);
    }
    for (; at < vectors; at += stride)
        count_vector(own, from[at], phase, &q, RANGE);
}

/* The share of a work-item: every `stride`th whole vector. */
inline void count_vectors(const struct own *own, const struct rows *rows, uint first, uint stride,
                          RANGE_PARAMETERS)
{
    const struct quick q = quick_of(RANGE);
    const int vectors = max(rows->elements / PER, 1), step_y = stride / vectors, step = stride % vectors;
    int y = first / vectors, at = first % vectors;
    while (y < rows->height) {
        uint4 v[AHEAD];
        int phase[AHEAD];
        bool whole[AHEAD];
#pragma unroll
        for (int k = 0; k < AHEAD; k++) {
            __global const PIXEL *row = rows->first + (y < rows->height ? y : 0) * rows->pitch;
            int from = elements_before(row, rows->elements) + at * PER;
            whole[k] = y < rows->height && from + PER <= rows->elements;
            phase[k] = from % HONE_C;
            if (whole[k])
                v[k] = *(__global const uint4 *)(row + from);
            at += step;
            y += step_y + (at >= vectors);
            at -= at >= vectors ? vectors : 0;
        }
#pragma unroll
        for (int k = 0; k < AHEAD; k++)
            if (whole[k])
                count_vector(own, v[k], phase[k], &q, RANGE);
    }
}

/* What lies before and behind the whole vectors of rows. */
inline void count_ends(const struct own *own, const struct rows *rows, uint first, uint stride,
                       RANGE_PARAMETERS)
{
    for (uint i = first; i < (uint)rows->height * 2 * PER; i += stride) {
        __global const PIXEL *row = rows->first + i / (2 * PER) * rows->pitch;
        int before = elements_before(row, rows->elements), place = i % (2 * PER);
        int behind = before + (rows->elements - before) / PER * PER;
        int at = place < PER ? place : behind + place - PER;
        if (at < (place < PER ? before : rows->elements))
            count_one(own->copy + at % HONE_C * COPIES, place_of(row[at], RANGE));
    }
}

/* Adds what the work-group found. */
inline void add_up(__local const uint *area, __global uint *counts, RANGE_PARAMETERS)
{
    for (int i = get_local_id(0); i < COUNTERS(bins) * HONE_C; i += WG_X) {
        uint sum = 0;
#pragma unroll
        for (int k = 0; k < COPIES; k++)
            sum += area[i * COPIES + (i / (32 / COPIES) + k) % COPIES];
#if HONE_T == 0
        int at = sum > 0 ? bin_of(i / HONE_C, RANGE) * HONE_C + i % HONE_C : 0;
#else
        int at = SLOT(i / HONE_C, bins) * HONE_C + i % HONE_C;
#endif
        if (sum > 0)
            atomic_add(counts + at, sum);
    }
}

/* Moves `count` counts, which add up to `all`, into local memory; `sum` is a word of it. */
inline void collect(__local uint *area, __local uint *sum, __global uint *counts, int count, uint all)
{
    int lid = get_local_id(0), group = get_local_size(0);
    uint missing = all;
    for (int i = lid; i < count; i += group)
        area[i] = 0;
    for (int tries = 0; missing > 0 && tries < PATIENCE; tries++) {
        if (lid == 0)
            *sum = 0;
        barrier(CLK_LOCAL_MEM_FENCE);
        uint found = 0;
        for (int i = lid; i < count; i += group) {
            uint here = atomic_xchg(counts + i, 0u);
            area[i] += here;
            found += here;
        }
        if (found > 0)
            atomic_add(sum, found);
        barrier(CLK_LOCAL_MEM_FENCE);
        missing -= *sum;
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}

#if HONE_OT == 0
#define PICTURE_HEIGHT 256
/* Bars, scaled to the largest count; alpha is opaque and scales nothing. */
inline void write_result(__local const uint *area, __local uint *largest, __global RESULT *out, int pitch,
                         int width, int counted)
{
    int lid = get_local_id(0), group = get_local_size(0);
    if (lid == 0)
        *largest = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int i = lid; i < width; i += group)
        if (!IS_ALPHA(i % HONE_C))
            atomic_max(largest, area[i]);
    barrier(CLK_LOCAL_MEM_FENCE);
    ulong most = max(*largest, 1u);
    for (int i = lid; i < width; i += group) {
        int bar = ((ulong)area[i] * PICTURE_HEIGHT + most - 1) / most;
        for (int y = 0; y < PICTURE_HEIGHT; y++)
            out[y * pitch + i] = IS_ALPHA(i % HONE_C) || PICTURE_HEIGHT - y <= bar ? 255 : 0;
    }
}
#else
/* What was not counted, because there is none, is 0. */
inline void write_result(__local const uint *area, __local uint *largest, __global RESULT *out, int pitch,
                         int width, int counted)
{
    for (int i = get_local_id(0); i < width; i += get_local_size(0))
        out[i] = i < counted ? area[i] : 0;
}
#endif

/* `counts` has a counter for each slot and channel, and behind them one of work-groups that are through.
 * `result` is the width of a row of the result, in elements. */
__kernel __attribute__((reqd_work_group_size(WG_X, 1, 1))) void
histogram_once(__global const PIXEL *in, int in_offset, int in_pitch, __global uint *counts,
               __global RESULT *out, int out_offset, int out_pitch, __local uint *area, int width, int height,
               int result, RANGE_PARAMETERS)
{
    const int lid = get_local_id(0), group = get_local_size(0), counted = SLOTS(bins) * HONE_C;
    const struct rows rows = rows_of(in + in_offset, in_pitch, width, height);
    const struct own own = {area + lid / TURNS % COPIES, lid % TURNS};
    __local uint *note = area + counted; /* behind what collect() needs */
    for (int i = lid; i < ALL_COUNTERS(bins) * HONE_C * COPIES; i += group)
        area[i] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (rows.height == 1 && get_global_size(0) >= 3)
        count_stretch(&own, &rows, get_global_id(0), get_global_size(0), RANGE);
    else
        count_vectors(&own, &rows, get_global_id(0), get_global_size(0), RANGE);
    count_ends(&own, &rows, get_global_id(0), get_global_size(0), RANGE);
    barrier(CLK_LOCAL_MEM_FENCE);
    add_up(area, counts, RANGE);
    barrier(CLK_GLOBAL_MEM_FENCE | CLK_LOCAL_MEM_FENCE);
    if (lid == 0)
        *note = atomic_inc(counts + counted);
    barrier(CLK_LOCAL_MEM_FENCE);
    if (*note + 1 < get_num_groups(0))
        return;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (lid == 0)
        atomic_xchg(counts + counted, 0u);
    collect(area, note, counts, counted, (uint)width * height * HONE_C);
    write_result(area, note, out + out_offset, out_pitch, result, counted);
}
