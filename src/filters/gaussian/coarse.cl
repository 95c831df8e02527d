/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * For CPUs: any sigma at the same cost. What a Gaussian leaves is so smooth that every STEP-th row and column
 * of it say all; grid.c has the formula, and how little is lost.
 *
 *   1. gather: rows are weighted onto every STEP-th row, which is then weighted onto every STEP-th column;
 *   2. filter: the filter runs over that grid, down and across;
 *   3. spread: points are weighted onto rows of all columns, and four such rows onto each row of results.
 *
 * Bands are filtered four rows at a time, right before these are spread, so that they stay in the caches.
 *
 * Cell b is the pixels b * STEP .. b * STEP + STEP - 1 and lies between grid points b and b + 1; a pixel
 * counts for the points b - 1 .. b + 2. The grid goes on beyond the edges by `reach` points and those that
 * results there need, so that the border rule matters to `gather` alone. Where it repeats something, points
 * are alike from the second one beyond an edge on: only `beyond` of them are gathered then. Values of a
 * pixel's channels lie side by side everywhere, so that a neighbour is HONE_C elements away.
 *
 * Lines have room for whole vectors: what is computed behind their ends is never read.
 */
#define LANES 16

#define CELL  float
#include "filters/bands.clh"
#include "filters/vectors.clh"

DEFINE_VECTORS(PIXEL, pixels);
DEFINE_VECTORS(float, values);
DEFINE_VECTORS(uint, words);
DEFINE_VECTORS(int, numbers);
DEFINE_STORE_PART(PIXEL, pixels, LANES)
DEFINE_TURNS(values)
DEFINE_CHECK(values)

#define LOAD_PIXELS(p) (*(__global const pixels_at *)(p))
#define LOAD(p)        (*(__global const values_at *)(p))
#define STORE(p, v)    (*(__global values_at *)(p) = (v))

inline values add_product(values sum, values v, values weights)
{
#pragma OPENCL FP_CONTRACT ON
    return sum + v * weights;
}

/* Vectors that are weighted together, so that weights are fetched once for all: as registers allow. */
#if defined(NATIVE) && NATIVE == 64
#define BLOCK 4
#else
#define BLOCK 1
#endif
#define POINTS  4  /* that a pixel counts for */
#define LARGEST 16 /* STEP at most */
#define RUN     16 /* cells that are sorted together */
#define DOWN    4  /* rows of points that are filtered together */
#define PADDING 3  /* zeros before and behind the taps in the table: at least DOWN - 1 */

/* Floats are halved on the grid: its filter overshoots, and must not overflow. */
#if FLOATING
#define GATHER 0.5f
#define SPREAD 2.0f
#else
#define GATHER 1.0f
#define SPREAD 1.0f
#endif

/* An image and the grid over it: all in pixels, cells or points. */
struct sheet {
    struct input_rows rows;
    int width, step, reach; /* reach: beyond the edges, in points that are gathered */
    float border;
};

inline int cells_of(int pixels, int step)
{
    return (pixels + step - 1) / step;
}

/* The first cell that counts, and how many do, of `pixels` in a row or column. */
inline int first_cell(const struct sheet *s)
{
    return -s->reach - 3;
}

inline int gathered_cells(const struct sheet *s, int pixels)
{
    return cells_of(pixels, s->step) + 2 * s->reach + 6;
}

/* Wide rows are cut into pieces, so that lines of all of their columns stay in the second cache. Not where
 * the border rule looks at the other end, nor of floats, whose rows are made again as a whole. */
#define PIECE 8192 /* elements, at least three times what lies beyond an edge */
#define UNCUT (FLOATING || HONE_BORDER == BORDER_WRAP)

/* Where the piece ends that begins with cell `from`, of `across` cells. */
inline int piece_end(int from, int across, int step)
{
    const int cells = PIECE / (step * HONE_C);
    return UNCUT || across - from < 2 * cells ? across : from + cells;
}

/* weights[POINTS * row + point], of which each point's sum to 1. */
inline void scale_weights(__constant const float *phi, float *weights, int step, float scale)
{
    for (int k = 0; k < POINTS * step; k++)
        weights[k] = phi[k] * (scale / (float)step);
}

/* Where cells have two pixels: rows go onto columns first, and come from them last, so that no line of all
 * columns is kept. */
#if defined(NATIVE) && NATIVE == 64
#define PAIRS 1
#else
#define PAIRS 0
#endif

inline bool in_pairs(int step)
{
    return PAIRS && step == 2;
}

/* ---- Gather ---- */

/* The lines of the four points of a cell of rows: the first will be whole, the last one begins. */
struct sums {
    __global float *at[POINTS];
    float border[POINTS]; /* what beyond the edge sums to, where the border is a constant */
};

inline void begin_sums(struct sums *sums, __global float *lines, int line_elements, int count)
{
    for (int k = 0; k < POINTS; k++) {
        sums->at[k] = lines + k * line_elements;
        sums->border[k] = 0;
        for (int i = 0; i < count; i++)
            sums->at[k][i] = 0;
    }
}

inline void next_point(struct sums *sums)
{
    __global float *whole = sums->at[0];
    for (int k = 0; k + 1 < POINTS; k++) {
        sums->at[k] = sums->at[k + 1];
        sums->border[k] = sums->border[k + 1];
    }
    sums->at[POINTS - 1] = whole;
}

/* One value of each row of a cell, of rows narrower than a vector. */
inline void add_element(const struct sums *sums, __global const PIXEL *const *rows, const float *weights,
                        int step, int i)
{
    float parts[POINTS] = {sums->at[0][i], sums->at[1][i], sums->at[2][i], 0};
    for (int row = 0; row < step; row++)
        for (int k = 0; k < POINTS; k++)
            parts[k] += (float)rows[row][i] * weights[POINTS * row + k];
    for (int k = 0; k < POINTS; k++)
        sums->at[k][i] = parts[k];
}

/* `name` adds `count` vectors of each row. */
#define DEFINE_ADD(name, count)                                                                              \
    WIDE_VECTORS inline void name(const struct sums *sums, __global const PIXEL *const *rows,                \
                                  const float *weights, int step, int i)                                     \
    {                                                                                                        \
        values parts[POINTS][count];                                                                         \
        _Pragma("unroll") for (int k = 0; k < POINTS; k++) _Pragma("unroll") for (int n = 0; n < count; n++) \
            parts[k][n] = k + 1 < POINTS ? LOAD(sums->at[k] + i + n * LANES) : (values)0;                    \
        for (int row = 0; row < step; row++)                                                                 \
            _Pragma("unroll") for (int n = 0; n < count; n++)                                                \
            {                                                                                                \
                if (n * sizeof(pixels) % 64 == 0)                                                            \
                    __builtin_prefetch(rows[LARGEST + row] + i + n * LANES);                                 \
                values v = CONVERT(LOAD_PIXELS(rows[row] + i + n * LANES), values);                          \
                _Pragma("unroll") for (int k = 0; k < POINTS; k++) parts[k][n] =                             \
                    add_product(parts[k][n], v, weights[POINTS * row + k]);                                  \
            }                                                                                                \
        _Pragma("unroll") for (int k = 0; k < POINTS; k++) _Pragma("unroll") for (int n = 0; n < count; n++) \
            STORE(sums->at[k] + i + n * LANES, parts[k][n]);                                                 \
    }
DEFINE_ADD(add_block, BLOCK)
DEFINE_ADD(add_vector, 1)

/* The last vector of a row, over the one before it, of which the first `known` elements were added. */
WIDE_VECTORS inline void add_last(const struct sums *sums, __global const PIXEL *const *rows,
                                  const float *weights, int step, int i, int known)
{
    const numbers lane = {L_ALL(SAME_LANE)};
    values parts[POINTS];
#pragma unroll
    for (int k = 0; k < POINTS; k++)
        parts[k] = LOAD(sums->at[k] + i);
    parts[POINTS - 1] = lane < known ? parts[POINTS - 1] : (values)0;
    for (int row = 0; row < step; row++) {
        values v = CONVERT(LOAD_PIXELS(rows[row] + i), values);
        v = lane < known ? (values)0 : v;
#pragma unroll
        for (int k = 0; k < POINTS; k++)
            parts[k] = add_product(parts[k], v, weights[POINTS * row + k]);
    }
#pragma unroll
    for (int k = 0; k < POINTS; k++)
        STORE(sums->at[k] + i, parts[k]);
}

inline void add_rows(const struct sums *sums, __global const PIXEL *const *rows, const float *weights,
                     int number, int count)
{
    int i = 0;
    for (; i + BLOCK * LANES <= count; i += BLOCK * LANES)
        add_block(sums, rows, weights, number, i);
    for (; i + LANES <= count; i += LANES)
        add_vector(sums, rows, weights, number, i);
    if (count >= LANES && i < count)
        add_last(sums, rows, weights, number, count - LANES, i - (count - LANES));
    for (; count < LANES && i < count; i++)
        add_element(sums, rows, weights, number, i);
}

/* Rows beyond an edge that repeat one row: that row, with all of their weights. */
inline void add_repeated(const struct sums *sums, __global const PIXEL *const *rows, const float *weights,
                         int step, int count)
{
    float all[POINTS] = {0};
    for (int row = 0; row < step; row++)
        for (int k = 0; k < POINTS; k++)
            all[k] += weights[POINTS * row + k];
    add_rows(sums, rows, all, 1, count);
}

/* A cell of rows is added to the lines of its points. */
inline void add_cell(const struct sheet *s, struct sums *sums, const float *weights, int cell)
{
    __global const PIXEL *rows[2 * LARGEST]; /* those of the next cell as well */
    bool is_one = true;
    for (int row = 0; row < s->step; row++) {
        rows[row] = row_of(&s->rows, cell * s->step + row);
        rows[LARGEST + row] = row_of(&s->rows, (cell + 1) * s->step + row);
        is_one &= rows[row] == rows[0];
    }
    if (is_one)
        add_repeated(sums, rows, weights, s->step, s->width * HONE_C);
    else
        add_rows(sums, rows, weights, s->step, s->width * HONE_C);
    sums->border[POINTS - 1] = 0;
    for (int k = 0; k < POINTS; k++)
        for (int row = 0; row < s->step; row++)
            sums->border[k] += s->border * weights[POINTS * row + k];
}

inline void copy_pixel(__global const float *from, __global float *to)
{
    float parts[HONE_C];
    for (int channel = 0; channel < HONE_C; channel++)
        parts[channel] = from[channel];
    for (int channel = 0; channel < HONE_C; channel++)
        to[channel] = parts[channel];
}

/* `name` sorts cells of `step` pixels, a whole vector of each place at a time. */
#define STORE_PLACE(to, step, n) STORE((to) + n * pitch + i, apart_##step##_##n(v));
#define DEFINE_SORT(name, step)                                                                              \
    WIDE_VECTORS inline void name(__global const float *line, __global float *sorted, int pitch, int count)  \
    {                                                                                                        \
        for (int i = 0; i < count; i += TURN_ELEMENTS, line += step * TURN_ELEMENTS) {                       \
            values v[step];                                                                                  \
            _Pragma("unroll") for (int n = 0; n < step; n++) v[n] = LOAD(line + n * LANES);                  \
            EACH_TURN_##step(STORE_PLACE, sorted)                                                            \
        }                                                                                                    \
    }
DEFINE_SORT(sort_2, 2)
DEFINE_SORT(sort_3, 3)
DEFINE_SORT(sort_4, 4)

/* A line, from its first cell on, with pixels of the same place in a cell side by side: place d from
 * sorted + d * pitch on. Large cells in runs that stay in the first cache; one value after the other, since
 * processors are slow at gathering. */
inline void sort_line(__global const float *line, __global float *sorted, int pitch, int step, int cells)
{
    if (step == 2)
        return sort_2(line, sorted, pitch, cells * HONE_C);
    if (step == 3)
        return sort_3(line, sorted, pitch, cells * HONE_C);
    if (step == 4)
        return sort_4(line, sorted, pitch, cells * HONE_C);
    for (int first = 0; first < cells; first += RUN)
        for (int d = 0; d < step; d++) {
            __global const float *from = line + (first * step + d) * HONE_C;
            __global float *to = sorted + d * pitch + first * HONE_C;
#if HONE_C < 3
#pragma clang loop vectorize(disable) unroll(full)
#else /* unrolled, it becomes vectors put together from single values, which take longer to compile, too */
#pragma clang loop vectorize(disable) unroll(disable)
#endif
            for (int cell = 0; cell < RUN; cell++, from += step * HONE_C, to += HONE_C)
                copy_pixel(from, to);
        }
}

/* Elements of a row of grid points. */
WIDE_VECTORS inline void gather_across(__global const float *sorted, __global float *points, int pitch,
                                       const float *weights, int step, int count)
{
    for (int i = 0; i < count; i += LANES) {
        values sums[POINTS] = {0, 0, 0, 0};
        for (int d = 0; d < step; d++) {
            __global const float *from = sorted + d * pitch + i;
#pragma unroll
            for (int k = 0; k < POINTS; k++)
                sums[k] =
                    add_product(sums[k], LOAD(from + (POINTS - 1 - k) * HONE_C), weights[POINTS * d + k]);
        }
        STORE(points + i, (sums[0] + sums[1]) + (sums[2] + sums[3]));
    }
}

WIDE_VECTORS inline void convert_pixels(__global float *line, __global const PIXEL *row, int from, int end)
{
    int i = from;
    for (; i + LANES <= end; i += LANES)
        STORE(line + i, CONVERT(LOAD_PIXELS(row + i), values));
    for (; i < end; i++)
        line[i] = (float)row[i];
}

/* A row of the image; `line`: what border rules make of its ends. */
struct ends {
    __global const PIXEL *row, *ahead; /* of the next cell */
    __global float *line;
    int width;
};

/* Even and odd pixels, of floats and of pixels inside of the image. */
inline void take_apart(values *turned, __global const float *from)
{
    const values v[2] = {LOAD(from), LOAD(from + LANES)};
    turned[0] = apart_2_0(v);
    turned[1] = apart_2_1(v);
}

#if FLOATING
#define take_pairs take_apart
#elif HONE_C > 1
#define PLACE_OF_EVEN(i) ((i) % TURN_ELEMENTS / HONE_C * 2 * HONE_C + (i) % TURN_ELEMENTS % HONE_C)
#define PLACE_OF_ODD(i)  (PLACE_OF_EVEN(i) + HONE_C)
typedef PIXEL pairs __attribute__((ext_vector_type(2 * LANES)));
typedef pairs pairs_at __attribute__((aligned(sizeof(PIXEL))));
inline void take_pairs(values *turned, __global const PIXEL *from)
{
    const pairs v = *(__global const pairs_at *)from;
    turned[0] = CONVERT(__builtin_shufflevector(v, v, L_ALL(PLACE_OF_EVEN)), values);
    turned[1] = CONVERT(__builtin_shufflevector(v, v, L_ALL(PLACE_OF_ODD)), values);
}
#else
#if HONE_T == 0
typedef ushort pair;
#define PIXEL_BITS 8
#else
typedef uint pair;
#define PIXEL_BITS 16
#endif
typedef pair pairs __attribute__((ext_vector_type(LANES)));
typedef pairs pairs_at __attribute__((aligned(sizeof(PIXEL))));
inline void take_pairs(values *turned, __global const PIXEL *from)
{
    const words v = CONVERT(*(__global const pairs_at *)from, words);
    turned[0] = CONVERT(v & (uint)((1 << PIXEL_BITS) - 1), values);
    turned[1] = CONVERT(v >> (uint)PIXEL_BITS, values);
}
#endif

/* From element i on, TURN_ELEMENTS of every other pixel, and as many of those between. */
inline void load_pairs(values *turned, const struct ends *e, int i)
{
    if (i >= 0 && i + 2 * LANES <= e->width * HONE_C) {
        __builtin_prefetch(e->ahead + i);
        if (FLOATING)
            __builtin_prefetch(e->ahead + i + LANES);
        take_pairs(turned, e->row + i);
    } else
        take_apart(turned, e->line + i);
}

/* The four pixels from each one on, the next vector's behind the last ones; weights are `step` apart. */
inline values weigh_across(values v, values next, const float *weights, int step)
{
    values sum = v * weights[0];
    sum = add_product(sum, TURN_MOVED(v, next, 1), weights[step]);
    sum = add_product(sum, TURN_MOVED(v, next, 2), weights[2 * step]);
    return add_product(sum, TURN_MOVED(v, next, 3), weights[3 * step]);
}

/* The ends of a row, with `left` pixels before it and `right` behind it. */
inline void make_ends(const struct ends *e, int left, int right, float border)
{
    const int seen = (max(left, right) + 3 * LANES) / LANES * LANES; /* from each edge */
    convert_pixels(e->line, e->row, 0, min(seen, e->width) * HONE_C);
    convert_pixels(e->line, e->row, max(e->width - seen, 0) * HONE_C, e->width * HONE_C);
    extend(e->line, e->width, left, right, border);
}

/* Of a row, from `next` on, which is replaced by the vectors behind it, from element i on. */
inline values pair_points(const struct ends *e, values *next, int i, const float *across)
{
    const values v[2] = {next[0], next[1]};
    load_pairs(next, e, i);
    return weigh_across(v[0], next[0], across + POINTS - 1, -1) +
           weigh_across(v[1], next[1], across + 2 * POINTS - 1, -1);
}

/* Both rows of a cell, from element `from` on, become points, which are added to those of four rows of
 * points; the first of these is whole then. Of each vector of the others TURN_ELEMENTS count. */
WIDE_VECTORS inline void gather_pairs(const struct sums *sums, const struct ends *rows, int from,
                                      __global float *points, int pitch, const float *across,
                                      const float *down, int count)
{
    values upper[2], lower[2];
    load_pairs(upper, &rows[0], from);
    load_pairs(lower, &rows[1], from);
    for (int i = 0, at = 0; i < count; i += TURN_ELEMENTS, at += LANES) {
        from += 2 * TURN_ELEMENTS;
        const values first = pair_points(&rows[0], upper, from, across);
        const values second = pair_points(&rows[1], lower, from, across);
#pragma unroll
        for (int k = 0; k < POINTS; k++) {
            values part = k + 1 == POINTS ? (values)0 : LOAD(sums->at[k] + at);
            part = add_product(add_product(part, first, down[k]), second, down[POINTS + k]);
            if (k == 0) {
                __builtin_prefetch(points + pitch + i, 1);
                STORE(points + i, part);
            } else
                STORE(sums->at[k] + at, part);
        }
    }
}

/* `lines`: two of them, each `line_elements` long, whose pixels 0 are `first` elements on; `cells`:
 * across. */
inline void gather_cell(const struct sheet *s, const struct sums *sums, __global float *lines,
                        int line_elements, int first, __global float *points, int pitch, const float *across,
                        const float *down, int cell, int cells)
{
    const int left = -first_cell(s) * 2, y = 2 * cell;
    struct ends rows[2];
#pragma unroll
    for (int k = 0; k < 2; k++) {
        const struct ends e = {row_of(&s->rows, y + k), row_of(&s->rows, y + k + 2),
                               lines + k * line_elements + first, s->width};
        make_ends(&e, left, 2 * cells - left - s->width, s->border);
        rows[k] = e;
    }
    gather_pairs(sums, rows, -left * HONE_C, points, pitch, across, down, (cells - 3) * HONE_C);
}

/* Points beyond those that were gathered, `more` to each side, are like the first and the last of these. */
inline void repeat_ends(__global float *points, int more, int count)
{
    __global const float *first = points + more * HONE_C, *last = first + count - HONE_C;
    for (int k = 0; k < more; k++)
        for (int channel = 0; channel < HONE_C; channel++) {
            points[k * HONE_C + channel] = first[channel];
            points[(more + k) * HONE_C + count + channel] = last[channel];
        }
}

/* The last rows of points of a band are those that its cells have begun. */
inline void take_points(__global float *points, __global const float *sums, int count)
{
    for (int i = 0; i < count; i += TURN_ELEMENTS, sums += LANES)
        STORE(points + i, LOAD(sums));
}

/* Weights of pixels: down and across; and what a band works with. */
struct gathering {
    float down[POINTS * LARGEST], across[POINTS * LARGEST];
    __global float *lines, *sorted;        /* of sums; of one line */
    int line_elements, pitch, cell, cells; /* cell: the band's first */
};

/* Rows of points where cells have two pixels: all columns. */
inline void gather_in_pairs(const struct sheet *s, const struct gathering *g, __global float *row)
{
    const int across = gathered_cells(s, s->width), left = -first_cell(s) * 2, count = (across - 3) * HONE_C;
    const int first = (left * HONE_C + LANES - 1) / LANES * LANES; /* so that a line's vectors are aligned */
    /* Sums of TURN_ELEMENTS elements fill a whole vector. */
    const int vectors = (count + TURN_ELEMENTS - 1) / TURN_ELEMENTS;
    struct sums sums;
    begin_sums(&sums, g->lines + first, g->line_elements, vectors * LANES);
    for (int k = 0; k < g->cells + 3; k++, row += g->pitch) {
        if (k < g->cells)
            gather_cell(s, &sums, g->sorted, g->line_elements, first, row, g->pitch, g->across, g->down,
                        g->cell + k, across);
        else
            take_points(row, sums.at[0], count);
        row[g->pitch - 1] = FLOATING ? check_line(row, count) : 0;
        next_point(&sums);
    }
}

/* The same of larger cells: those from the image's cell `from` on, up to `end`, and those beyond edges. */
inline void gather_piece(const struct sheet *s, const struct gathering *g, __global float *row, int more,
                         int from, int end)
{
    const int all = gathered_cells(s, s->width), first = first_cell(s), step = s->step;
    const int begin = from ? from - first : 0,
              across = (end * step < s->width ? end - first + 3 : all) - begin;
    /* Pixels that count, of which those from `left` to before `right` are in the image. */
    const int start = (begin + first) * step, behind = start + across * step;
    const int left = max(start, 0), right = min(behind, s->width), count = (right - left) * HONE_C;
    const int room = ((left - start) * HONE_C + LANES - 1) / LANES * LANES; /* vectors are aligned */
    struct sheet piece = *s;
    piece.rows.in += left * HONE_C;
    piece.width = right - left;
    struct sums sums;
    begin_sums(&sums, g->lines + room, g->line_elements, count);
    for (int k = 0; k < g->cells + 3; k++, row += g->pitch) {
        if (k < g->cells)
            add_cell(&piece, &sums, g->down, g->cell + k);
        extend(sums.at[0], piece.width, left - start, behind - right, sums.border[0]);
        sort_line(sums.at[0] - (left - start) * HONE_C, g->sorted, across * HONE_C + 4 * LANES, step, across);
        gather_across(g->sorted, row + (more + begin) * HONE_C, across * HONE_C + 4 * LANES, g->across, step,
                      (across - 3) * HONE_C);
        row[g->pitch - 1] = FLOATING ? check_line(sums.at[0], count) : 0;
        next_point(&sums);
    }
}

/* The sums of the points of `cells` cells of rows: those of the three at either end are whole only together
 * with the next band's. The last element of each row of points is 0, or NaN if something is not finite. */
__kernel void gaussian_coarse_gather(__global const PIXEL *in, int in_offset, int in_pitch,
                                     __global float *gathered, __global float *scratch, int width, int height,
                                     BORDER_TYPE border, __constant const float *phi, int step, int reach,
                                     int beyond_reach, int bands, int cells, int pitch, int line_elements)
{
    int band = get_global_id(0);
    if (band >= bands)
        return;
    scratch += (size_t)band * (7 * line_elements);
    __global PIXEL *beyond = (__global PIXEL *)(scratch + (POINTS + 2) * line_elements);
    /* Pairs have so many points that those beyond are few, and vectors stay aligned. */
    const int more = in_pairs(step) ? 0 : reach - beyond_reach;
    const struct sheet s = {
        {in + in_offset, beyond, in_pitch, height}, width, step, reach - more, (float)border};
    const int across = cells_of(width, step);
    struct gathering g = {.lines = scratch,
                          .sorted = scratch + POINTS * line_elements,
                          .line_elements = line_elements,
                          .pitch = pitch,
                          .cell = band * cells - beyond_reach - 3,
                          .cells = cells};
    fill_beyond(beyond, (PIXEL)border, width * HONE_C);
    scale_weights(phi, g.down, step, GATHER);
    scale_weights(phi, g.across, step, 1);
    __global float *row = gathered + (size_t)band * (cells + 3) * pitch;
    if (in_pairs(step))
        gather_in_pairs(&s, &g, row);
    else
        for (int from = 0, end; from < across; from = end) {
            end = piece_end(from, across, step);
            gather_piece(&s, &g, row, more, from, end);
        }
    for (int k = 0; k < cells + 3; k++)
        repeat_ends(row + k * pitch, more, (gathered_cells(&s, width) - 3) * HONE_C);
}

/* ---- Filter ---- */

/* The grid as it was gathered, and its filter. */
struct grid {
    __global const float *gathered;
    __constant const float *weights;
    int taps, reach; /* how far the filter goes, and the grid beyond the edges, in points */
    int beyond;      /* as many rows of these were gathered; those beyond are like the last of them */
    int count, rows; /* elements of a row of filtered points, and rows of them */
    int cells, pitch;
};

/* Gathered rows of points from one on, downwards: in which band, and where. The first three of a band are
 * whole only together with the last three of the band before, which lie right before them. */
struct rows {
    __global const float *at;
    int place, cells, pitch; /* place: in the band */
    int passed, behind;      /* rows since the first one, less than 0 while it is repeated; rows behind it */
};

/* From the row on that counts first for row `number` of the filtered points where the filter goes `reach`
 * points to each side. */
inline struct rows rows_from(const struct grid *g, int number, int reach)
{
    const int first = number + g->beyond - reach, last = g->rows + 2 * g->beyond - 1;
    const int from = clamp(first, 0, last), place = from + POINTS - 1, band = place / g->cells;
    return (struct rows){g->gathered + (size_t)(place + (POINTS - 1) * band) * g->pitch,
                         place - band * g->cells,
                         g->cells,
                         g->pitch,
                         min(first, 0),
                         last - from};
}

inline bool in_two_bands(const struct rows *r)
{
    return r->place < POINTS - 1;
}

inline __global const float *other_part(const struct rows *r)
{
    return r->at - (POINTS - 1) * r->pitch;
}

inline void next_row(struct rows *r)
{
    if ((uint)r->passed++ >= (uint)r->behind)
        return;
    bool crosses = ++r->place == r->cells;
    r->at += (crosses ? POINTS : 1) * r->pitch;
    r->place = crosses ? 0 : r->place;
}

#define AHEAD (8 * LANES) /* elements that are fetched ahead */

/* Elements from i on of DOWN rows of points, filtered down: each row read counts for all of them. Weight k is
 * that of row k for the first of them; before the first weight and behind the last one there are zeros. Rows
 * that no one has read before are fetched ahead, as are those of results: these are too many at once for the
 * processor to foresee. */
WIDE_VECTORS inline void filter_block(struct rows r, __global float *to, __constant const float *weights,
                                      int count, int i)
{
    values sums[DOWN][BLOCK];
#pragma unroll
    for (int q = 0; q < DOWN; q++)
#pragma unroll
        for (int n = 0; n < BLOCK; n++)
            sums[q][n] = 0;
#pragma unroll
    for (int q = 0; q < DOWN; q++)
#pragma unroll
        for (int n = 0; n < BLOCK; n++)
            __builtin_prefetch(to + q * r.pitch + i + n * LANES + AHEAD, 1);
    for (int k = 0; k < count; k++, next_row(&r))
#pragma unroll
        for (int n = 0; n < BLOCK; n++) {
            if (k >= count - DOWN)
                __builtin_prefetch(r.at + i + n * LANES + AHEAD);
            values v = LOAD(r.at + i + n * LANES);
            if (in_two_bands(&r))
                v += LOAD(other_part(&r) + i + n * LANES);
#pragma unroll
            for (int q = 0; q < DOWN; q++)
                sums[q][n] = add_product(sums[q][n], v, weights[k - q]);
        }
#pragma unroll
    for (int q = 0; q < DOWN; q++)
#pragma unroll
        for (int n = 0; n < BLOCK; n++)
            STORE(to + q * r.pitch + i + n * LANES, sums[q][n]);
}

#if defined(NATIVE) && NATIVE == 64
/* Elements after which neighbours begin at the start of a vector again. */
#define UNIT (HONE_C == 3 ? 48 : 16)
/* The neighbour `at` elements further, where it is one of the filter's. */
#define ADD_NEIGHBOUR(at)                                                                                    \
    if ((at) < UNIT && (at) >= first - i && (at) <= end - i) {                                               \
        const float weight = weights[(i + (at)-first) / HONE_C];                                             \
        _Pragma("unroll") for (int n = 0; n < BLOCK; n++) sums[n] = add_product(                             \
            sums[n], MOVED(v[n + (at) % UNIT / LANES], v[n + (at) % UNIT / LANES + 1], at), weight);         \
    }
#define ADD_FOUR(k)                                                                                          \
    ADD_NEIGHBOUR(HONE_C *(k))                                                                               \
    ADD_NEIGHBOUR(HONE_C *((k) + 1)) ADD_NEIGHBOUR(HONE_C *((k) + 2)) ADD_NEIGHBOUR(HONE_C *((k) + 3))

/* BLOCK vectors, whose first neighbours begin `first` elements further, the last ones `end`. Loads that lie
 * across two lines of the cache take twice as long as others, so vectors between vectors are put together. */
WIDE_VECTORS inline void filter_vectors(__global float *points, __constant const float *weights, int first,
                                        int end)
{
    values sums[BLOCK];
#pragma unroll
    for (int n = 0; n < BLOCK; n++)
        sums[n] = 0;
    for (int i = first / UNIT * UNIT; i <= end; i += UNIT) {
        values v[BLOCK + UNIT / LANES];
#pragma unroll
        for (int n = 0; n < BLOCK + UNIT / LANES; n++)
            v[n] = LOAD(points + i + n * LANES);
        ADD_FOUR(0) ADD_FOUR(4) ADD_FOUR(8) ADD_FOUR(12)
    }
#pragma unroll
    for (int n = 0; n < BLOCK; n++)
        STORE(points + n * LANES, sums[n]);
}

/* What filter_vectors() may read. */
inline int read_elements(int end)
{
    return end / UNIT * UNIT + BLOCK * LANES + UNIT;
}
#endif

/* In place: results stand before all that is still to be read. A row has `pitch` elements. */
WIDE_VECTORS inline void filter_across(__global float *points, __constant const float *centre, int taps,
                                       int ahead, int count, int pitch)
{
    int i = 0;
#if defined(NATIVE) && NATIVE == 64
    const int first = ahead - taps * HONE_C, end = ahead + taps * HONE_C;
    for (; i < count && i + read_elements(end) <= pitch; i += BLOCK * LANES)
        filter_vectors(points + i, centre - taps, first, end);
#endif
    for (; i < count; i += LANES) {
        __global const float *from = points + i + ahead;
        values sum = LOAD(from) * centre[0];
        for (int k = 1; k <= taps; k++)
            sum = add_product(sum, LOAD(from - k * HONE_C) + LOAD(from + k * HONE_C), centre[k]);
        STORE(points + i, sum);
    }
}

/* Not finite, if one of `count` gathered rows is not. */
inline float check_rows(struct rows r, int count)
{
    float sum = 0;
    for (int k = 0; k < count; k++, next_row(&r))
        sum += r.at[r.pitch - 1] + (in_two_bands(&r) ? other_part(&r)[r.pitch - 1] : 0);
    return sum;
}

/* DOWN rows of filtered points, of which row 0 is that of the point one before the image's first. Not finite,
 * if something that counts for them is not. */
inline float filter_rows(const struct grid *g, __global float *to, int row)
{
    for (int i = 0; i < g->count + 2 * g->reach * HONE_C; i += BLOCK * LANES)
        filter_block(rows_from(g, row, g->taps), to, g->weights, 2 * g->taps + DOWN, i);
    for (int q = 0; q < DOWN; q++)
        filter_across(to + q * g->pitch, g->weights + g->taps, g->taps, g->reach * HONE_C, g->count,
                      g->pitch);
    return FLOATING ? check_rows(rows_from(g, row, g->reach), 2 * g->reach + DOWN) : 0;
}

/* Rows of filtered points, one after the other, which are made DOWN at a time. */
struct made {
    __global float *lines;
    int held;                 /* as many rows stay: a power of two */
    int first, number;        /* the first row, and how many were taken */
    float finite, was_finite; /* as filter_rows() tells, of the last lines and of those before */
};

inline __global float *next_points(struct made *made, const struct grid *g)
{
    __global float *line = made->lines + (made->number & (made->held - 1)) * g->pitch;
    if (made->number % DOWN == 0) {
        made->was_finite = made->finite;
        made->finite = filter_rows(g, line, made->first + made->number);
    }
    made->number++;
    return line;
}

/* Of the last POINTS rows. */
inline bool all_finite(const struct made *made)
{
    return made->finite + (made->number % DOWN ? made->was_finite : 0) == 0;
}

/* ---- Spread ---- */

/* The values of a point's channels, again and again, as they stand in vector n of a cell. */
#define CHANNEL_0(i) ((i) % HONE_C)
#define CHANNEL_1(i) (((i) + LANES) % HONE_C)
#define CHANNEL_2(i) (((i) + 2 * LANES) % HONE_C)
inline values repeat(__global const float *point, int n)
{
    values v = LOAD(point);
    return HONE_C != 3 || n == 0 ? __builtin_shufflevector(v, v, L_ALL(CHANNEL_0))
           : n == 1              ? __builtin_shufflevector(v, v, L_ALL(CHANNEL_1))
                                 : __builtin_shufflevector(v, v, L_ALL(CHANNEL_2));
}

/* weights[POINTS * n + k], n < HONE_C: for each lane of vector n of a cell, what point k counts there. */
inline void set_patterns(__constant const float *phi, values *patterns, int step)
{
    for (int i = 0; i < HONE_C * LANES; i++)
        for (int k = 0; k < POINTS; k++)
            patterns[POINTS * (i / LANES) + k][i % LANES] =
                i / HONE_C < step ? phi[POINTS * (i / HONE_C) + k] * SPREAD : 0;
}

/* `name` does so where cells have `step` pixels: a vector of points makes one of each pixel of a cell. */
#define STORE_PIXELS(to, step, n) STORE((to) + n * LANES, together_##step##_##n(v));
#define DEFINE_SPREAD(name, step)                                                                            \
    WIDE_VECTORS inline void name(__global const float *points, __global float *line, const float *weights,  \
                                  int count)                                                                 \
    {                                                                                                        \
        for (int i = 0; i < count; i += TURN_ELEMENTS, line += step * TURN_ELEMENTS) {                       \
            values v[step];                                                                                  \
            _Pragma("unroll") for (int n = 0; n < step; n++) v[n] = LOAD(points + i) * weights[POINTS * n];  \
            _Pragma("unroll") for (int k = 1; k < POINTS; k++)                                               \
                _Pragma("unroll") for (int n = 0; n < step; n++) v[n] =                                      \
                    add_product(v[n], LOAD(points + i + k * HONE_C), weights[POINTS * n + k]);               \
            EACH_TURN_##step(STORE_PIXELS, line)                                                             \
        }                                                                                                    \
    }
DEFINE_SPREAD(spread_2, 2)
DEFINE_SPREAD(spread_3, 3)
DEFINE_SPREAD(spread_4, 4)

/* A row of points becomes one of all columns. What a cell's last vector holds too much, the next cell
 * overwrites. */
WIDE_VECTORS inline void spread_cells(__global const float *points, __global float *line,
                                      const values *patterns, int step, int cells)
{
    for (int cell = 0; cell < cells; cell++)
#pragma unroll
        for (int n = 0; n < HONE_C; n++) {
            values sum = repeat(points + cell * HONE_C, n) * patterns[POINTS * n];
#pragma unroll
            for (int k = 1; k < POINTS; k++)
                sum = add_product(sum, repeat(points + (cell + k) * HONE_C, n), patterns[POINTS * n + k]);
            if (n * LANES < step * HONE_C)
                STORE(line + cell * step * HONE_C + n * LANES, sum);
        }
}

inline void spread_across(__global const float *points, __global float *line, const values *patterns,
                          const float *weights, int step, int cells)
{
    if (step == 2)
        spread_2(points, line, weights, cells * HONE_C);
    else if (step == 3)
        spread_3(points, line, weights, cells * HONE_C);
    else if (step == 4)
        spread_4(points, line, weights, cells * HONE_C);
    else
        spread_cells(points, line, patterns, step, cells);
}

/* Adding 1.5 * 2^23 leaves the nearest integer, ties to even, in the lowest bits. What the filter overshoots
 * in u8 is less than half a level. */
inline words low_words(values v)
{
#if HONE_T == 1
    v = v < 0.0f ? (values)0.0f : v < 65535.0f ? v : (values)65535.0f;
#endif
    return __builtin_astype(v + 12582912.0f, words);
}

inline pixels lower(values v)
{
#if FLOATING
    return v;
#else
    return CONVERT(low_words(v), pixels);
#endif
}

inline void store_result(__global const PIXEL *centre, __global PIXEL *out, values v)
{
    *(__global pixels_at *)out = WITH_ALPHA(lower(v), LOAD_PIXELS(centre));
}

/* Rows of results of a cell. */
struct target {
    __global const PIXEL *in;
    __global PIXEL *out;
    int in_pitch, out_pitch, rows;
};

/* Elements that are stored soon, and with alpha read before: the processor waits for all of their lines at
 * once. */
inline void fetch_result(__global const PIXEL *in, __global PIXEL *out)
{
    __builtin_prefetch(out, 1);
#if HONE_ALPHA
    __builtin_prefetch(in);
#endif
}

/* `name` makes `count` vectors of each of the rows; those of the next cell are fetched ahead. */
#define DEFINE_JOIN(name, count)                                                                             \
    WIDE_VECTORS inline void name(__global float *const *lines, const struct target *t,                      \
                                  const float *weights, int i)                                               \
    {                                                                                                        \
        values parts[POINTS][count];                                                                         \
        _Pragma("unroll") for (int k = 0; k < POINTS; k++) _Pragma("unroll") for (int n = 0; n < count; n++) \
            parts[k][n] = LOAD(lines[k] + i + n * LANES);                                                    \
        __global const PIXEL *in = t->in + i;                                                                \
        __global PIXEL *out = t->out + i;                                                                    \
        const int rows = t->rows, in_pitch = t->in_pitch, out_pitch = t->out_pitch;                          \
        for (int row = 0; row < rows; row++, in += in_pitch, out += out_pitch)                               \
            _Pragma("unroll") for (int n = 0; n < count; n++)                                                \
            {                                                                                                \
                values sum = parts[0][n] * weights[POINTS * row];                                            \
                _Pragma("unroll") for (int k = 1; k < POINTS; k++) sum =                                     \
                    add_product(sum, parts[k][n], weights[POINTS * row + k]);                                \
                if (n * sizeof(pixels) % 64 == 0)                                                            \
                    fetch_result(in + rows * in_pitch + n * LANES, out + rows * out_pitch + n * LANES);      \
                store_result(in + n * LANES, out + n * LANES, sum);                                          \
            }                                                                                                \
    }
DEFINE_JOIN(join_block, BLOCK)
DEFINE_JOIN(join_vector, 1)

inline void join_element(__global float *const *lines, const struct target *t, const float *weights, int i)
{
    for (int row = 0; row < t->rows; row++) {
        float sum = 0;
        for (int k = 0; k < POINTS; k++)
            sum += lines[k][i] * weights[POINTS * row + k];
        t->out[row * t->out_pitch + i] = IS_ALPHA(i & 3) ? t->in[row * t->in_pitch + i] : hone_result(sum);
    }
}

#if PAIRS
/* Elements of four rows of points, joined to each of the two rows of a cell. */
inline void join_points(values *joined, __global float *const *points, const float *down, int i)
{
#pragma unroll
    for (int k = 0; k < POINTS; k++) {
        values v = LOAD(points[k] + i);
#pragma unroll
        for (int row = 0; row < 2; row++)
            joined[row] =
                k == 0 ? v * down[POINTS * row] : add_product(joined[row], v, down[POINTS * row + k]);
    }
}

/* Two vectors of results, of whose elements `left` are in the image: pixels by turns of v. What they hold too
 * much, the next two overwrite. */
inline void store_pairs(__global const PIXEL *centre, __global PIXEL *out, const values *v, int left)
{
#if HONE_T == 1 && HONE_C == 1
    if (left >= 2 * LANES) {
        *(__global words_at *)out = (low_words(v[0]) & 0xffffu) | low_words(v[1]) << 16u;
        return;
    }
#endif
    const values results[2] = {together_2_0(v), together_2_1(v)};
    for (int n = 0; n < 2; n++, left -= LANES, centre += LANES, out += LANES)
        if (left >= LANES)
            store_result(centre, out, results[n]);
        else if (!HONE_ALPHA && left > 0)
            store_pixels(out, lower(results[n]), left);
        else
            for (int i = 0; i < left; i++)
                out[i] = IS_ALPHA(i & 3) ? centre[i] : lower(results[n])[i];
}

/* Rows of points are joined first, so that no line of all columns is stored and read again for each row. */
WIDE_VECTORS inline void spread_pairs(__global float *const *points, const struct target *t,
                                      const float *down, const float *along, int count)
{
    values v[2], next[2];
    join_points(next, points, down, 0);
    for (int i = 0; 2 * i < count; i += TURN_ELEMENTS) {
        v[0] = next[0];
        v[1] = next[1];
        join_points(next, points, down, i + TURN_ELEMENTS);
#pragma unroll
        for (int row = 0; row < 2; row++) {
            const values pair[2] = {weigh_across(v[row], next[row], along, 1),
                                    weigh_across(v[row], next[row], along + POINTS, 1)};
            __global const PIXEL *in = t->in + row * t->in_pitch + 2 * i;
            __global PIXEL *out = t->out + row * t->out_pitch + 2 * i;
            for (int n = 0; n < 2 * LANES; n += 64 / (int)sizeof(PIXEL))
                fetch_result(in + 2 * t->in_pitch + n, out + 2 * t->out_pitch + n);
            if (row < t->rows)
                store_pairs(in, out, pair, count - 2 * i);
        }
    }
}
#endif

/* Four lines of all columns, or of points where cells are spread in pairs, become rows of results. */
inline void join_cell(__global float *const *lines, const struct target *t, const float *weights,
                      const float *along, int step, int count)
{
    int i = 0;
#if PAIRS
    if (step == 2)
        return spread_pairs(lines, t, weights, along, count);
#endif
    for (; i + BLOCK * LANES <= count; i += BLOCK * LANES)
        join_block(lines, t, weights, i);
    for (; i + LANES <= count; i += LANES)
        join_vector(lines, t, weights, i);
    if (count >= LANES && i < count) /* over results of the vector before */
        join_vector(lines, t, weights, count - LANES);
    for (; count < LANES && i < count; i++)
        join_element(lines, t, weights, i);
}

inline void next_line(__global float **lines)
{
    __global float *oldest = lines[0];
    for (int k = 0; k + 1 < POINTS; k++)
        lines[k] = lines[k + 1];
    lines[POINTS - 1] = oldest;
}

/* Points become the last one of the lines. */
inline void take_line(__global float **lines, __global float *points, const values *patterns,
                      const float *weights, int step, int cells)
{
    next_line(lines);
    if (in_pairs(step))
        lines[POINTS - 1] = points;
    else
        spread_across(points, lines[POINTS - 1], patterns, weights, step, cells);
}

/* Every weight of a window of this radius: rows into a line, then along it. Only there do NaN and infinity
 * reach exactly as far as they should. */
inline void weigh_row(const struct sheet *s, __global float *line, __global PIXEL *out, int y,
                      __constant const float *weights, int radius)
{
    int count = s->width * HONE_C;
    __global const PIXEL *centre = row_of(&s->rows, y);
    for (int i = 0; i < count; i++)
        line[i] = (float)centre[i] * weights[0];
    for (int k = 1; k <= radius; k++) {
        __global const PIXEL *above = row_of(&s->rows, y - k), *below = row_of(&s->rows, y + k);
        for (int i = 0; i < count; i++)
            line[i] += ((float)above[i] + (float)below[i]) * weights[k];
    }
    extend(line, s->width, radius, radius, s->border);
    for (int i = 0; i < count; i++) {
        float sum = line[i] * weights[0];
        for (int k = 1; k <= radius; k++)
            sum += (line[i - k * HONE_C] + line[i + k * HONE_C]) * weights[k];
        out[i] = IS_ALPHA(i & 3) ? centre[i] : hone_result(sum);
    }
}

/* What a band of cells of rows, up to cell `end`, becomes results of. */
struct spreading {
    __global float *filtered, *scratch;
    float down[POINTS * LARGEST], along[POINTS * LARGEST];
    values patterns[POINTS * HONE_C];
    int line_elements, cell, end, height;
};

/* Of the columns of `across` cells from `s->rows.in` and `out` on, s->width pixels. Whether all that counts
 * is finite, is told for each cell of rows: rows of others are made again. */
inline void spread_piece(const struct sheet *s, const struct grid *g, const struct spreading *b,
                         __global PIXEL *out, int out_pitch, int across, __constant const float *weights,
                         int radius)
{
    const int step = s->step, in_pitch = s->rows.pitch;
    struct made made = {b->filtered, in_pairs(step) ? 2 * DOWN : DOWN, b->cell, 0, 0, 0};
    __global float *lines[POINTS];
    for (int k = 0; k < POINTS; k++)
        lines[k] = b->scratch + k * b->line_elements;
    for (int k = 0; k + 1 < POINTS; k++)
        take_line(lines, next_points(&made, g), b->patterns, b->along, step, across);
    for (int cell = b->cell; cell < b->end; cell++) {
        take_line(lines, next_points(&made, g), b->patterns, b->along, step, across);
        int y = cell * step, rows = min(step, b->height - y);
        const struct target t = {s->rows.in + y * in_pitch, out + y * out_pitch, in_pitch, out_pitch, rows};
        join_cell(lines, &t, b->down, b->along, step, s->width * HONE_C);
        for (int row = 0; FLOATING && row < rows && !all_finite(&made); row++)
            weigh_row(s, b->scratch + POINTS * b->line_elements + radius * HONE_C,
                      out + (y + row) * out_pitch, y + row, weights, radius);
    }
}

/* Bands of cells of rows: the filter, four rows of points at a time, and what becomes of them. */
__kernel void gaussian_coarse_spread(__global const PIXEL *in, int in_offset, int in_pitch,
                                     __global const float *gathered, __global float *filtered,
                                     __global PIXEL *out, int out_offset, int out_pitch,
                                     __global float *scratch, int width, int height, BORDER_TYPE border,
                                     __constant const float *phi, int step, int taps, int reach,
                                     int beyond_reach, __constant const float *weights, int radius, int cells,
                                     int pitch, int line_elements)
{
    const int band = get_global_id(0), across = cells_of(width, step), down = cells_of(height, step);
    struct spreading b = {.filtered = filtered + (size_t)band * (2 * DOWN * pitch),
                          .scratch = scratch + (size_t)band * (7 * line_elements),
                          .line_elements = line_elements,
                          .cell = band * cells,
                          .end = min((band + 1) * cells, down),
                          .height = height};
    if (b.cell >= b.end)
        return;
    __global PIXEL *beyond = (__global PIXEL *)(b.scratch + (POINTS + 2) * line_elements);
    if (FLOATING)
        fill_beyond(beyond, (PIXEL)border, width * HONE_C);
    set_patterns(phi, b.patterns, step);
    for (int k = 0; k < POINTS * step; k++) {
        b.down[k] = phi[k];
        b.along[k] = phi[k] * SPREAD;
    }
    out += out_offset;
    for (int from = 0, end; from < across; from = end) {
        end = piece_end(from, across, step);
        const int left = from * step, right = min(end * step, width);
        const struct sheet s = {{in + in_offset + left * HONE_C, beyond, in_pitch, height},
                                right - left,
                                step,
                                reach,
                                (float)border};
        const struct grid g = {gathered + from * HONE_C,
                               phi + POINTS * step + PADDING,
                               taps,
                               reach,
                               beyond_reach,
                               (end - from + POINTS - 1) * HONE_C,
                               down + POINTS - 1,
                               cells,
                               pitch};
        spread_piece(&s, &g, &b, out + left * HONE_C, out_pitch, end - from, weights, radius);
    }
    const struct sink sink = {out, out_pitch};
    for (int y = b.cell * step; y < min(b.end * step, height); y++)
        clear_outside(&sink, y, width, height, 2 * radius + 1, 2 * radius + 1);
}
