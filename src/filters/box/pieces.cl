/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * For GPUs, floats: means of windows of any size, at a cost that hardly depends on the size.
 *
 * Down the columns, as in abreast.clh, each work-item slides the sums of PX columns: the row that enters is
 * added, the one that leaves subtracted. Sums are pairs: what the first one loses to rounding, the second one
 * collects, so that what is left of a value that came and went is below 2^-40 of it. NaNs and infinities
 * would stay for good, and are counted instead.
 *
 * Along the rows nothing is subtracted. A work-item has RUN windows, one pixel after the other of a channel:
 * the columns from each window's first one to the end of the run (tails), those that all the windows share,
 * and those behind, of which each window has one more than the one before. What they share is the sums of the
 * pieces that follow, RUN columns each, which other work-items have summed. RUN=1 is for windows of one
 * column, which need none of this.
 *
 * Errors: along a row at most RUN + KW/RUN + 2 roundings, and one each of the column's sum, of the inverse of
 * the area and of the product with it. Each one is half a last place of a sum of magnitudes, so that the mean
 * is off by (RUN + KW/RUN + 5) * 2^-24 of the largest pixel at most; the host sees that this is below 1e-5.
 */
#ifndef WORDS
#define WORDS 4 /* elements of a work-item and row: 4 or 8 */
#endif
#ifndef BATCH
#define BATCH 4 /* rows at a time */
#endif
#ifndef RUN
#define RUN 16 /* windows of a work-item, at most as many as a window is wide */
#endif
#ifndef WG_X
#define WG_X 128 /* work-items of a group */
#endif
#ifndef IN_PLACE
#define IN_PLACE 0 /* 1: means take the places of sums in local memory */
#endif
#define COLUMN_BITS 32

#include "filters/cells.clh"

#define LANES 32
#define PX    WORDS
#define GROUP (RUN * HONE_C) /* elements of the windows of HONE_C work-items, side by side */
/* A pixel follows each group in local memory, so that neighbours meet in no bank. PX cells lie before. */
#define PLACE(e)   ((e) + (e) / GROUP * HONE_C)
#define ROW_CELLS  (PLACE(WG_X * PX + 2 * GROUP) + 2 * PX)
#define FIND(t, i) (PX + PLACE((i) - (t)->first))
/* Runs in a row of windows, and runs of a work-item. */
#define ROW_RUNS (WG_X * PX / RUN)
#define RUNS     (BATCH * PX / RUN)

/* Elements side by side that local memory takes and gives at once. */
#if HONE_C == 4
#define ALIGNED                4
#define ALIGNED_TYPE           float4
#define ALIGNED_OF(p)          vload4(0, p)
#define FROM_ALIGNED(to, from) vstore4(*(__local const float4 *)(from), 0, to)
#else
#define ALIGNED                1
#define ALIGNED_TYPE           float
#define ALIGNED_OF(p)          (*(p))
#define FROM_ALIGNED(to, from) (*(to) = *(from))
#endif

inline uint counted(uint word)
{
    return word;
}

#include "filters/columns.clh"

struct columns {
    float sums[PX], rests[PX];
    uint odd[PX]; /* what oddity() counted */
};

/* Whether there is a NaN or an infinity. */
inline bool odd_among(uint words[BATCH][WORDS])
{
    uint most = 0;
#pragma unroll
    for (int b = 0; b < BATCH; b++)
#pragma unroll
        for (int w = 0; w < WORDS; w++)
            most = max(most, words[b][w] & 0x7fffffffu);
    return most >= 0x7f800000u;
}

inline bool odd_columns(const struct columns *columns)
{
    uint any = 0;
#pragma unroll
    for (int k = 0; k < PX; k++)
        any |= columns->odd[k];
    return any != 0;
}

/* A row enters the columns, or leaves them. `odd`: there may be NaNs and infinities. */
inline void take_row(struct columns *columns, const uint *words, bool leaves, bool odd)
{
#pragma unroll
    for (int k = 0; k < PX; k++) {
        uint count = odd ? oddity(words[k]) : 0;
        float value = count ? 0.0f : as_float(words[k]), sum = columns->sums[k];
        value = leaves ? -value : value;
        float all = sum + value, back = all - sum;
        columns->sums[k] = all;
        columns->rests[k] += (sum - (all - back)) + (value - back);
        columns->odd[k] += leaves ? -count : count;
    }
}

/* Rows enter, of which the first `rows` count. */
inline void take_rows(struct columns *columns, uint words[BATCH][WORDS], int rows)
{
    if (odd_among(words)) {
#pragma unroll
        for (int b = 0; b < BATCH; b++)
            if (b < rows)
                take_row(columns, words[b], false, true);
    } else {
#pragma unroll
        for (int b = 0; b < BATCH; b++)
            if (b < rows)
                take_row(columns, words[b], false, false);
    }
}

/* Rows `from` to end - 1 enter. Both arrays are lent, so that many loads are under way. */
inline void take_span(struct columns *columns, uint first[BATCH][WORDS], uint second[BATCH][WORDS],
                      const struct tile *t, int from, int end)
{
#pragma unroll 1
    for (; from < end; from += 2 * BATCH) {
        fetch_rows(first, t, from);
        fetch_rows(second, t, from + BATCH);
        take_rows(columns, first, end - from);
        take_rows(columns, second, end - from - BATCH);
    }
}

#if TALL
/* The sums up to a band enter, from those of the first one that it shares them with, or leave. */
inline void take_band(struct columns *columns, const struct tile *t, int band, bool leaves)
{
    __global const uint4 *at = (__global const uint4 *)t->above + (size_t)band * t->above_pitch + t->at;
    uint4 sums[PX];
#pragma unroll
    for (int k = 0; k < PX; k++)
        sums[k] = at[k];
#pragma unroll
    for (int k = 0; k < PX; k++) {
        uint sign = leaves ? 0x80000000u : 0u;
        float sum = columns->sums[k], value = as_float(sums[k].x ^ sign), all = sum + value, back = all - sum;
        columns->sums[k] = all;
        columns->rests[k] += ((sum - (all - back)) + (value - back)) + as_float(sums[k].y ^ sign);
        columns->odd[k] += leaves ? -sums[k].z : sums[k].z;
    }
}

/* Bands from `band` to end - 1 enter. */
inline void take_bands(struct columns *columns, const struct tile *t, int band, int end)
{
    if (band % BANDS)
        take_band(columns, t, band - 1, true);
#pragma unroll 1
    for (int next = (band / BANDS + 1) * BANDS; next < end + BANDS; next += BANDS)
        take_band(columns, t, min(end, next) - 1, false);
}

/* `count` rows beyond the upper or lower edge enter, of which y is one. */
inline void take_outside(struct columns *columns, uint first[BATCH][WORDS], uint second[BATCH][WORDS],
                         const struct tile *t, int y, int count)
{
#if HONE_BORDER == BORDER_REFLECT || HONE_BORDER == BORDER_REFLECT101 || HONE_BORDER == BORDER_WRAP
    take_span(columns, first, second, t, y < 0 ? y - count + 1 : y, y < 0 ? y + 1 : y + count);
#else
    if (count > 0) { /* they are all the same */
        fetch(first[0], t, y);
#pragma unroll
        for (int k = 0; k < PX; k++) {
            uint odd = oddity(first[0][k]);
            float value = odd ? 0.0f : as_float(first[0][k]), all = value * count;
            float sum = columns->sums[k], both = sum + all, back = both - sum;
            columns->sums[k] = both;
            columns->rests[k] += ((sum - (both - back)) + (all - back)) + fma(value, (float)count, -all);
            columns->odd[k] += odd * count;
        }
    }
#endif
}
#endif

/* The sums of the columns for row y - 1. */
inline void begin_columns(struct columns *columns, uint first[BATCH][WORDS], uint second[BATCH][WORDS],
                          const struct tile *t, int y)
{
    int from = y - 1 - t->window_height / 2, end = from + t->window_height;
#pragma unroll
    for (int k = 0; k < PX; k++) {
        columns->sums[k] = columns->rests[k] = 0;
        columns->odd[k] = 0;
    }
#if TALL
    if (t->whole || t->padded) {
        take_outside(columns, first, second, t, -1, -from);
        take_outside(columns, first, second, t, t->height, end - t->height);
        from = max(from, 0);
        end = min(end, t->height);
        int band = (from + t->above_rows - 1) / t->above_rows, last = end / t->above_rows;
        if (band < last) {
            take_bands(columns, t, band, last);
            take_span(columns, first, second, t, from, band * t->above_rows);
            from = last * t->above_rows;
        }
    }
#endif
    if (t->whole || t->padded || t->apart) /* columns beyond the edges take the sums of others */
        take_span(columns, first, second, t, from, end);
}

inline float sum_of(const struct columns *columns, int k, bool odd)
{
    uint count = odd ? columns->odd[k] : 0;
    return count ? odd_sum(count) : columns->sums[k] + columns->rests[k];
}

/* Where the sums of the columns of BATCH rows go: to registers, or to local memory. */
#if RUN == 1
struct sums {
    float rows[BATCH][PX];
};

inline void keep_sums(struct sums *to, int b, const float *sums)
{
#pragma unroll
    for (int k = 0; k < PX; k++)
        to->rows[b][k] = sums[k];
}
#else
struct sums {
    __local float *cells;
    int places[PX / ALIGNED];
    bool edge; /* columns beyond the edges take others' sums */
};

inline void keep_sums(const struct sums *to, int b, const float *sums)
{
#pragma unroll
    for (int k = 0; k < PX / ALIGNED; k++)
        *(__local ALIGNED_TYPE *)(to->cells + b * ROW_CELLS + to->places[k]) = ALIGNED_OF(sums + k * ALIGNED);
}
#endif

inline void slide_down(struct sums *to, struct columns *columns, uint enter[BATCH][WORDS],
                       uint leave[BATCH][WORDS], bool odd)
{
#pragma unroll
    for (int b = 0; b < BATCH; b++) {
        float sums[PX];
        take_row(columns, enter[b], false, odd);
        take_row(columns, leave[b], true, odd);
#pragma unroll
        for (int k = 0; k < PX; k++)
            sums[k] = sum_of(columns, k, odd);
        keep_sums(to, b, sums);
    }
}

inline void sum_columns(struct sums *to, struct columns *columns, uint enter[BATCH][WORDS],
                        uint leave[BATCH][WORDS])
{
    if (odd_among(enter) || odd_among(leave) || odd_columns(columns))
        slide_down(to, columns, enter, leave, true);
    else
        slide_down(to, columns, enter, leave, false);
}

/* ---- Results ---- */

struct results {
    __global RESULT *at;
    int pitch;
    float inverse; /* 1 / area */
};

/* The results of a work-item's columns, which are the windows from element i of row y on, `left` of them. */
inline void store_results(const struct tile *t, const struct results *to, const float *means,
                          const uint *centres, int i, int y, int left)
{
    uint words[WORDS];
    __global RESULT *at = to->at + y * to->pitch + i;
#pragma unroll
    for (int k = 0; k < WORDS; k++)
        words[k] = as_uint(means[k]);
    clear_leaving(words, WORDS, i, y, t->window_width, t->window_height, t->width, t->height);
#pragma unroll
    for (int k = 0; k < WORDS; k++)
        words[k] = copy_alpha(words[k], centres[k], k);
    if (left >= PX) {
        store_together(at, words, WORDS);
    } else {
#pragma unroll
        for (int k = 0; k < PX; k++)
            if (k < left)
                at[k] = as_float(words[k]);
    }
}

#if RUN == 1
/* ---- Windows of one column, whose sums are the windows' ---- */

inline void begin_sums(struct sums *sums, const struct tile *t, __local float *cells) {}

inline void finish_sums(const struct tile *t, const struct results *to, struct sums *sums,
                        uint centres[BATCH][WORDS], int start, int stop, int y, int end)
{
    int i = start + (int)get_local_id(0) * PX, left = stop - i;
#pragma unroll
    for (int b = 0; b < BATCH; b++)
        if (left > 0 && y + b < end) {
#pragma unroll
            for (int k = 0; k < PX; k++)
                sums->rows[b][k] *= to->inverse;
            store_results(t, to, sums->rows[b], centres[b], i, y + b, left);
        }
}

#else
/* ---- Along the rows ---- */

/* Number j of a work-item's runs: its row in the batch, and where its windows are. */
struct run {
    int row, group, channel;
};

inline struct run find_run(int j)
{
    int i = (int)get_local_id(0) + j * WG_X, run = i % ROW_RUNS;
    return (struct run){i / ROW_RUNS, run / HONE_C, run % HONE_C};
}

/* Where the columns of a run's first window begin, and the means of its windows. */
inline int place_of(struct run run)
{
    return run.row * ROW_CELLS + PX + run.group * (GROUP + HONE_C) + run.channel;
}

/* The sums from each column of the run to its last one. */
inline void sum_tails(float *tails, __local const float *own)
{
#pragma unroll
    for (int i = 0; i < RUN; i++)
        tails[i] = own[i * HONE_C];
#pragma unroll
    for (int i = RUN - 2; i >= 0; i--)
        tails[i] += tails[i + 1];
}

/* Of each window its tail becomes the whole sum. `piece` is the sum of the run's columns, among others'. */
inline void sum_windows(float *tails, __local const float *own, __local const float *piece, int window_width)
{
    int pieces = window_width / RUN, rest = window_width % RUN;
    __local const float *behind = own + pieces * (GROUP + HONE_C);
    float shared = 0, head = 0, some = 0;
    for (int k = 1; k < pieces; k++)
        shared += piece[k * HONE_C];
#pragma unroll
    for (int i = 0; i < RUN - 1; i++)
        some += i < rest ? behind[i * HONE_C] : 0.0f;
    shared += some;
    tails[0] += shared;
    behind += rest * HONE_C;
#pragma unroll
    for (int i = 1; i < RUN; i++) {
        head += behind[(i - 1) * HONE_C + (rest + i > RUN ? HONE_C : 0)];
        tails[i] = (tails[i] + shared) + head;
    }
}

/* The results of BATCH rows, of which those before `end` count. `means` are in local memory. */
inline void store_batch(const struct tile *t, const struct results *to, __local const float *means,
                        uint centres[BATCH][WORDS], int i, int y, int end, int left)
{
    int e = (int)get_local_id(0) * PX;
#pragma unroll
    for (int b = 0; b < BATCH; b++)
        if (left > 0 && y + b < end) {
            float own[PX];
#pragma unroll
            for (int k = 0; k < PX; k += ALIGNED)
                FROM_ALIGNED(own + k, means + b * ROW_CELLS + PX + PLACE(e + k));
            store_results(t, to, own, centres[b], i, y + b, left);
        }
}

inline void store_means(__local float *means, const float *sums, float inverse)
{
#pragma unroll
    for (int i = 0; i < RUN; i++)
        means[i * HONE_C] = sums[i] * inverse;
}

/* The windows of BATCH rows from y on. */
inline void finish_batch(const struct tile *t, const struct results *to, __local float *cells,
                         __local float *means, __local float *pieces, uint centres[BATCH][WORDS], int start,
                         int stop, int y, int end)
{
    float tails[RUNS][RUN];
#pragma unroll
    for (int j = 0; j < RUNS; j++) {
        sum_tails(tails[j], cells + place_of(find_run(j)));
        pieces[(int)get_local_id(0) + j * WG_X] = tails[j][0];
    }
    if (t->window_width >= 2 * RUN) /* alike for all */
        barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll
    for (int j = 0; j < RUNS; j++) {
        struct run run = find_run(j);
        if (start + run.group * GROUP + run.channel < stop) {
            int own = place_of(run);
            sum_windows(tails[j], cells + own, pieces + (int)get_local_id(0) + j * WG_X, t->window_width);
#if !IN_PLACE
            store_means(means + own, tails[j], to->inverse);
#endif
        }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
#if IN_PLACE /* the sums have been read */
#pragma unroll
    for (int j = 0; j < RUNS; j++) {
        struct run run = find_run(j);
        if (start + run.group * GROUP + run.channel < stop)
            store_means(means + place_of(run), tails[j], to->inverse);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
#endif
    int i = start + (int)get_local_id(0) * PX;
    store_batch(t, to, means, centres, i, y, end, stop - i);
#if IN_PLACE
    barrier(CLK_LOCAL_MEM_FENCE);
#endif
}

inline void begin_sums(struct sums *sums, const struct tile *t, __local float *cells)
{
    sums->cells = cells;
    sums->edge = t->folds && (t->from < 0 || t->needed > t->width * HONE_C);
#pragma unroll
    for (int k = 0; k < PX / ALIGNED; k++)
        sums->places[k] = FIND(t, t->from + (int)get_local_id(0) * PX + k * ALIGNED);
}

inline void finish_sums(const struct tile *t, const struct results *to, struct sums *sums,
                        uint centres[BATCH][WORDS], int start, int stop, int y, int end)
{
    __local float *cells = sums->cells, *means = cells + (IN_PLACE ? 0 : BATCH * ROW_CELLS),
                  *pieces = means + BATCH * ROW_CELLS;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (sums->edge) {
        fold_columns(t, (__local uint *)cells, (uint2)(sum_outside(t)), BATCH);
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    finish_batch(t, to, cells, means, pieces, centres, start, stop, y, end);
}
#endif

/* Rows y to end - 1 of the elements from `start` to `stop`. */
inline void slide_windows(const struct tile *t, const struct results *to, __local float *cells, int start,
                          int stop, int y, int end)
{
    uint enter[BATCH][WORDS] = {{0}}, leave[BATCH][WORDS] = {{0}}, centres[BATCH][WORDS] = {{0}};
    int i = start + (int)get_local_id(0) * PX;
    struct columns columns;
    struct sums sums;
    begin_sums(&sums, t, cells);
    begin_columns(&columns, enter, leave, t, y);
    fetch_batch(enter, leave, t, y);
#pragma unroll 1
    for (; y < end; y += BATCH) {
        sum_columns(&sums, &columns, enter, leave);
        if (y + BATCH < end)
            fetch_batch(enter, leave, t, y + BATCH);
#pragma unroll
        for (int b = 0; b < BATCH; b++)
            if (i < stop && y + b < end)
                load_alphas(centres[b], t->in + (y + b) * t->pitch, i, stop - i, t->width, WORDS);
        finish_sums(t, to, &sums, centres, start, stop, y, end);
    }
}

__kernel __attribute__((reqd_work_group_size(WG_X, 1, 1))) void
box_pieces(__global const PIXEL *in, int in_offset, int in_pitch, __global RESULT *out, int out_offset,
           int out_pitch, __local float4 *part, int width, int height, int window_width, int window_height,
           BORDER_TYPE border, int size, int rows, int area ABOVE_PARAMETERS)
{
    int start = get_group_id(0) * size, y = get_group_id(1) * rows, stop = min(start + size, width * HONE_C);
    int left = window_width / 2 * HONE_C, right = (window_width - 1 - window_width / 2) * HONE_C;
    if (start >= width * HONE_C || y >= height)
        return;
    float inverse = 1.0f / (float)area;
    const struct results to = {out + out_offset, out_pitch, inverse};
    struct tile t;
    t.in = in + in_offset;
    t.pitch = in_pitch;
    t.width = width;
    t.height = height;
    t.window_width = window_width;
    t.window_height = window_height;
    t.border = border;
#if TALL
    t.above = above;
    t.above_pitch = above_pitch;
    t.above_rows = above_rows;
#endif
    t.first = start - left;
    t.from = start - (left + PX - 1) / PX * PX;
    t.needed = stop + right;
    find_columns(&t);
    slide_windows(&t, &to, (__local float *)part, start, stop, y, min(y + rows, height));
}

#if TALL
#include "filters/above.clh"

#define VECTORS (BANDS_GROUP / BANDS) /* of 16 bytes, of a group's bands */
#define COLUMNS (VECTORS * 4)
#define PARTS   (BANDS_GROUP / COLUMNS) /* of a column's bands */

/* The sum of a value or a sum, and what it loses to rounding. */
inline void take_value(float4 *sum, float4 *rest, float4 value)
{
    float4 all = *sum + value, back = all - *sum;
    *rest += (*sum - (all - back)) + (value - back);
    *sum = all;
}

/* Four columns over the rows of a band. */
inline void take_four(float4 *sum, float4 *rest, uint4 *odd, __global const PIXEL *in, int pitch, int at,
                      int elements)
{
    uint4 rows[BAND];
#pragma unroll
    for (int k = 0; k < BAND; k++)
        rows[k] = above_load(in + k * pitch, at, elements);
#pragma unroll
    for (int k = 0; k < BAND; k++) {
        uint4 v = rows[k];
        if (any((v & 0x7fffffffu) >= (uint4)(0x7f800000u))) {
            uint4 count = {oddity(v.x), oddity(v.y), oddity(v.z), oddity(v.w)};
            *odd += count;
            v = count != 0u ? (uint4)(0) : v;
        }
        take_value(sum, rest, as_float4(v));
    }
}

/* Of BANDS bands, the sums from the first band to each, as the columns have them: sum, rest, odd. */
__kernel __attribute__((reqd_work_group_size(BANDS_GROUP, 1, 1))) void
box_pieces_above(__global const PIXEL *in, int in_offset, int in_pitch, __global uint4 *above, int stride,
                 int bands, int elements, __local float *area)
{
    int lid = get_local_id(0), first = get_group_id(1) * BANDS, from = get_group_id(0) * COLUMNS;
    int vector = lid % VECTORS, band = lid / VECTORS;
    __local float *sums = area, *rests = sums + BANDS * COLUMNS;
    __local uint *odds = (__local uint *)(rests + BANDS * COLUMNS);
    float4 sum = 0, rest = 0;
    uint4 odd = 0;
    if (first + band < bands)
        take_four(&sum, &rest, &odd, in + in_offset + (first + band) * BAND * in_pitch, in_pitch,
                  from + vector * 4, elements);
    vstore4(sum, lid, sums);
    vstore4(rest, lid, rests);
    vstore4(odd, lid, odds);
    barrier(CLK_LOCAL_MEM_FENCE);
    int column = lid % COLUMNS, begin = lid / COLUMNS * (BANDS / PARTS);
    float4 all = 0, lost = 0; /* of which one element counts */
    uint count = 0;
    for (int b = 0; b < begin + BANDS / PARTS; b++) {
        take_value(&all, &lost, (float4)(sums[b * COLUMNS + column], 0, 0, 0));
        lost.x += rests[b * COLUMNS + column];
        count += odds[b * COLUMNS + column];
        if (b >= begin && first + b < bands)
            above[(size_t)(first + b) * stride + from + column] =
                (uint4)(as_uint(all.x), as_uint(lost.x), count, 0);
    }
}
#endif
