/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * For CPUs: a work-item owns a band of whole rows. A row of results takes two steps: the rows of the window
 * are weighted into a line of its own, which stays in the first cache, and the line is weighted along itself.
 * Both work on 64-byte vectors of clang's own types, on four of them at a time, so that a weight is fetched
 * once for all.
 *
 * u8 computes in 16 bits: a line holds levels times 128, weights are parts of 65536, and the upper half of a
 * product is all that is kept. Each of the products drops at most one unit, half of one on average, which
 * `bias` gives back; 17 products a step are off by at most 0.13 levels.
 *
 * TURNED, of u16 and f32: as many rows at a time as a vector has lanes. Down, then blocks are turned in
 * registers, so that a vector is a column, along those, and turned back. Four results at a time share what is
 * loaded. EXACT: exact=yes of u8, in floats, and again where these cannot tell.
 */
#ifndef ROWS
#define ROWS 32 /* rows of a band */
#endif
#ifndef REACH
#define REACH 64 /* the window's radius is at most this */
#endif

#include "filters/vectors.clh"

#ifdef TURNED
#if NATIVE == 64
#define LANES 16
#else
#define LANES 8
#endif
#define VALUE float
#elif HONE_T == 0
#define LANES 32
#define VALUE ushort
#else
#define LANES 16
#define VALUE float
#endif

DEFINE_VECTORS(PIXEL, pixels);
DEFINE_VECTORS(VALUE, values);
DEFINE_VECTORS(uint, words);

#ifdef TURNED
#define CELL values
#else
#define CELL VALUE
#endif
#include "filters/bands.clh"

#if defined(TURNED) && FLOATING
DEFINE_CHECK(values)
#endif

#define LOAD_PIXELS(p) CONVERT(*(__global const pixels_at *)(p), values)
#define LOAD_VALUES(p) (*(__global const values_at *)(p))
#define STORE(p, v)    (*(__global values_at *)(p) = (v))

/* Vectors as arguments also make clang take the widest registers. */
#if HONE_T == 0 && !defined(TURNED)
inline values weigh(values v, VALUE weight)
{
    words product = CONVERT(v, words) * CONVERT((values)weight, words);
    return CONVERT(product >> 16u, values);
}
#define RAISE(v) ((v) << (VALUE)7)
#define LOWER(v) CONVERT(((v) + (VALUE)64) >> (VALUE)7, pixels)
#else
inline values weigh(values v, VALUE weight)
{
    return v * weight;
}
#define RAISE(v) (v)
#endif

#ifdef EXACT
#define LOWER(v) CONVERT(CONVERT(v, words), pixels)
#elif HONE_T == 1
/* Values are positive and below 2^16, so that adding 2^23 leaves the nearest integer, ties to even. */
inline pixels lower(values v)
{
    v = v < 65535.0f ? v : (values)65535.0f;
    return CONVERT(CONVERT((v + 8388608.0f) - 8388608.0f, words), pixels);
}
#define LOWER(v) lower(v)
#elif HONE_T == 2
#define LOWER(v) (v)
#endif

/* sum + v * weight; in one expression, so that floats are multiplied and added by one instruction. */
#if HONE_T == 0 && !defined(TURNED)
#define ADD_WEIGHED(sum, v, weight) ((sum) + weigh(v, weight))
#else
#define ADD_WEIGHED(sum, v, weight) ((sum) + (v) * (weight))
#endif

#ifdef EXACT
#define WEIGHT uint /* parts of 2^24 */
#else
#define WEIGHT VALUE
#endif
struct window {
    __global const PIXEL *const *rows; /* 2 * radius + 1 */
    __constant const WEIGHT *weights;
    int radius;
    VALUE bias;
    long ahead; /* elements from a row to the one that is fetched ahead */
};

inline void write(__global PIXEL *out, __global const PIXEL *centre, values sum)
{
    *(__global pixels_at *)out = WITH_ALPHA(LOWER(sum), *(__global const pixels_at *)centre);
}

/* So many rows from `first` on; those that lie nowhere are `beyond`, a row of border values. */
inline void find_rows(__global const PIXEL *in, int pitch, __global PIXEL *beyond, PIXEL border, int width,
                      int height, int first, __global const PIXEL **rows, int count)
{
    const struct input_rows input = {in, beyond, pitch, height};
    fill_beyond(beyond, border, width * HONE_C);
    for (int k = 0; k < count; k++)
        rows[k] = row_of(&input, first + k);
}

#ifndef TURNED
DEFINE_STORE_PART(PIXEL, pixels, LANES)

#define CACHED 24576 /* bytes of the rows of a window that stay in the first cache */

/* What two rows of the window add, from element i on. */
inline values add_rows(values sum, __global const PIXEL *above, __global const PIXEL *below, VALUE weight)
{
#pragma OPENCL FP_CONTRACT ON
    return ADD_WEIGHED(sum, RAISE(LOAD_PIXELS(above) + LOAD_PIXELS(below)), weight);
}

inline values centre_row(const struct window *w, int i)
{
    return weigh(RAISE(LOAD_PIXELS(w->rows[w->radius] + i)), w->weights[0]) + w->bias;
}

/* One vector of the line. */
inline void weigh_rows(const struct window *w, __global VALUE *line, int i)
{
    values sum = centre_row(w, i);
    for (int k = 1; k <= w->radius; k++)
        sum = add_rows(sum, w->rows[w->radius - k] + i, w->rows[w->radius + k] + i, w->weights[k]);
    STORE(line + i, sum);
}

/* Four of them: sums that compilers are sure to keep in registers. Of rows that nobody has read before the
 * processor foresees too little, while it reads a whole window of them. */
inline void weigh_rows_block(const struct window *w, __global VALUE *line, int i)
{
#pragma unroll
    for (int k = 0; k < 4 * LANES; k += LINE_ELEMENTS)
        __builtin_prefetch(w->rows[2 * w->radius] + w->ahead + i + k);
    values a = centre_row(w, i), b = centre_row(w, i + LANES);
    values c = centre_row(w, i + 2 * LANES), d = centre_row(w, i + 3 * LANES);
    for (int k = 1; k <= w->radius; k++) {
        __global const PIXEL *above = w->rows[w->radius - k] + i, *below = w->rows[w->radius + k] + i;
        VALUE weight = w->weights[k];
        a = add_rows(a, above, below, weight);
        b = add_rows(b, above + LANES, below + LANES, weight);
        c = add_rows(c, above + 2 * LANES, below + 2 * LANES, weight);
        d = add_rows(d, above + 3 * LANES, below + 3 * LANES, weight);
    }
    STORE(line + i, a);
    STORE(line + i + LANES, b);
    STORE(line + i + 2 * LANES, c);
    STORE(line + i + 3 * LANES, d);
}

inline values add_columns(values sum, __global const VALUE *left, __global const VALUE *right, VALUE weight)
{
#pragma OPENCL FP_CONTRACT ON
    return ADD_WEIGHED(sum, LOAD_VALUES(left) + LOAD_VALUES(right), weight);
}

inline values centre_column(const struct window *w, __global const VALUE *line)
{
    return weigh(LOAD_VALUES(line), w->weights[0]) + w->bias;
}

inline values line_sum(const struct window *w, __global const VALUE *line)
{
    values sum = centre_column(w, line);
    for (int k = 1; k <= w->radius; k++)
        sum = add_columns(sum, line - k * HONE_C, line + k * HONE_C, w->weights[k]);
    return sum;
}

inline void weigh_line(const struct window *w, __global const VALUE *line, __global const PIXEL *centre,
                       __global PIXEL *out)
{
    write(out, centre, line_sum(w, line));
}

inline void weigh_line_block(const struct window *w, __global const VALUE *line, __global const PIXEL *centre,
                             __global PIXEL *out)
{
    values a = centre_column(w, line), b = centre_column(w, line + LANES);
    values c = centre_column(w, line + 2 * LANES), d = centre_column(w, line + 3 * LANES);
    for (int k = 1; k <= w->radius; k++) {
        __global const VALUE *left = line - k * HONE_C, *right = line + k * HONE_C;
        VALUE weight = w->weights[k];
        a = add_columns(a, left, right, weight);
        b = add_columns(b, left + LANES, right + LANES, weight);
        c = add_columns(c, left + 2 * LANES, right + 2 * LANES, weight);
        d = add_columns(d, left + 3 * LANES, right + 3 * LANES, weight);
    }
    write(out, centre, a);
    write(out + LANES, centre + LANES, b);
    write(out + 2 * LANES, centre + 2 * LANES, c);
    write(out + 3 * LANES, centre + 3 * LANES, d);
}

/* Rows narrower than a vector are copied, with what fills one. */
inline void pad_rows(__global const PIXEL **rows, int number, int count, __global PIXEL *copies)
{
    for (int k = 0; k < number; k++, copies += LANES) {
        for (int i = 0; i < LANES; i++)
            copies[i] = i < count ? rows[k][i] : (PIXEL)0;
        rows[k] = copies;
    }
}

inline void narrow_row(const struct window *w, __global VALUE *line, __global PIXEL *out, int width,
                       VALUE outside)
{
    weigh_rows(w, line, 0);
    extend(line, width, w->radius, w->radius, outside);
    const pixels results = LOWER(line_sum(w, line));
    store_pixels(out, WITH_ALPHA(results, *(__global const pixels_at *)w->rows[w->radius]), width * HONE_C);
}

/* The results of columns from `left` to `right` - 1. */
inline void wide_row(const struct window *w, __global VALUE *line, __global PIXEL *out, int width, int left,
                     int right, VALUE outside)
{
    __global const PIXEL *centre = w->rows[w->radius];
    const int first = max(left - w->radius, 0) * HONE_C / LANES * LANES,
              last = min(right + w->radius, width) * HONE_C;
    const int start = left * HONE_C, end = right * HONE_C;
    int i = first;
    for (; i + 4 * LANES <= last; i += 4 * LANES)
        weigh_rows_block(w, line, i);
    for (; i < last; i += LANES)
        weigh_rows(w, line, min(i, last - LANES));
    extend(line, width, left ? 0 : w->radius, right < width ? 0 : w->radius, outside);
    for (i = start; i + 4 * LANES <= end; i += 4 * LANES)
        weigh_line_block(w, line + i, centre + i, out + i);
    for (; i < end; i += LANES) {
        int at = min(i, end - LANES);
        weigh_line(w, line + at, centre + at, out + at);
    }
}

/* Bytes take little room, and of u16 in colour longer pieces, which are fetched ahead, gain as much. */
#define UNCUT (HONE_T == 0 || (HONE_T == 1 && HONE_C > 1) || HONE_BORDER == BORDER_WRAP)

/* Columns of a piece of a row, so that of each piece all rows of a window stay in the first cache; uncut
 * where the border rule looks at the other end. Pieces begin where whole vectors do. */
inline int piece_of(int width, int radius)
{
    const int fitting = CACHED / (int)sizeof(PIXEL) / HONE_C / (2 * radius + 1);
    const int columns = max(max(fitting, 8 * radius) / LANES, 4) * LANES;
    return UNCUT ? width : min(width, columns);
}

/* `reach` is what the border rules go by, `radius` what is weighted: for u8 a little less. */
__kernel void gaussian_bands(__global const PIXEL *in, int in_offset, int in_pitch, __global PIXEL *out,
                             int out_offset, int out_pitch, int width, int height, BORDER_TYPE border,
                             __constant const VALUE *weights, int radius, int reach, __global VALUE *scratch,
                             int scratch_elements)
{
    int band = get_global_id(0), y = band * ROWS, end = min(y + ROWS, height), count = width * HONE_C;
    if (y >= height)
        return;
    __global VALUE *line = scratch + (size_t)band * scratch_elements + radius * HONE_C;
    __global PIXEL *beyond = (__global PIXEL *)(line + count + radius * HONE_C); /* a row of border values */
    const VALUE outside = HONE_T == 0 ? (VALUE)(border * 128) : (VALUE)border;
    const struct sink sink = {out + out_offset, out_pitch};
    __global const PIXEL *rows[ROWS + 2 * REACH];
    struct window w;
    w.weights = weights;
    w.radius = radius;
    w.ahead = 2L * in_pitch;
    w.bias = HONE_T == 0 ? (VALUE)((radius + 1) / 2) : 0;
    find_rows(in + in_offset, in_pitch, beyond, (PIXEL)border, width, height, y - radius, rows,
              end - y + 2 * radius);
    if (count < LANES)
        pad_rows(rows, end - y + 2 * radius, count,
                 (__global PIXEL *)(scratch + (size_t)(band + 1) * scratch_elements) -
                     LANES * (ROWS + 2 * radius));
    const int piece = count >= LANES ? piece_of(width, radius) : width;
    for (int left = 0, right; left < width; left = right) {
        right = width - left < 2 * piece ? width : left + piece;
        for (int k = 0; k < end - y; k++) {
            w.rows = rows + k;
            if (count >= LANES)
                wide_row(&w, line, sink.at + (y + k) * out_pitch, width, left, right, outside);
            else
                narrow_row(&w, line, sink.at + (y + k) * out_pitch, width, outside);
        }
    }
    for (; y < end; y++)
        clear_outside(&sink, y, width, height, 2 * reach + 1, 2 * reach + 1);
}

#else
/* ---- Turned ---- */

/* Rows become columns: elements of 32 bits. Pairs of vectors are put together inside of pieces of 128 bits,
 * which costs little, then pieces. */
#if NATIVE == 64
#define LOWER_ONES   ONES(0), ONES(4), ONES(8), ONES(12)
#define UPPER_ONES   ONES(2), ONES(6), ONES(10), ONES(14)
#define LOWER_TWOS   TWOS(0), TWOS(4), TWOS(8), TWOS(12)
#define UPPER_TWOS   TWOS(2), TWOS(6), TWOS(10), TWOS(14)
#define LOWER_HALVES RUN_8(0), RUN_8(16)
#define UPPER_HALVES RUN_8(8), RUN_8(24)
#define EVEN_PIECES  RUN4(0), RUN4(8), RUN4(16), RUN4(24)
#define ODD_PIECES   RUN4(4), RUN4(12), RUN4(20), RUN4(28)
#else
#define LOWER_ONES   ONES(0), ONES(4)
#define UPPER_ONES   ONES(2), ONES(6)
#define LOWER_TWOS   TWOS(0), TWOS(4)
#define UPPER_TWOS   TWOS(2), TWOS(6)
#define LOWER_HALVES RUN4(0), RUN4(8)
#define UPPER_HALVES RUN4(4), RUN4(12)
#endif
#define ONES(i) (i), LANES + (i), (i) + 1, LANES + (i) + 1
#define TWOS(i) (i), (i) + 1, LANES + (i), LANES + (i) + 1

/* Of four vectors that are `by` apart, a square of elements or of pieces is turned: two and two are put
 * together, then what came of them. */
#define DEFINE_SQUARE(name, by, LOWER, UPPER, FIRST, SECOND)                                                 \
    INLINE void name(values *v)                                                                              \
    {                                                                                                        \
        const values a = __builtin_shufflevector(v[0], v[by], LOWER),                                        \
                     b = __builtin_shufflevector(v[0], v[by], UPPER),                                        \
                     c = __builtin_shufflevector(v[2 * by], v[3 * by], LOWER),                               \
                     d = __builtin_shufflevector(v[2 * by], v[3 * by], UPPER);                               \
        v[0] = __builtin_shufflevector(a, c, FIRST);                                                         \
        v[by] = __builtin_shufflevector(a, c, SECOND);                                                       \
        v[2 * by] = __builtin_shufflevector(b, d, FIRST);                                                    \
        v[3 * by] = __builtin_shufflevector(b, d, SECOND);                                                   \
    }
DEFINE_SQUARE(turn_squares, 1, LOWER_ONES, UPPER_ONES, LOWER_TWOS, UPPER_TWOS)
#if NATIVE == 64
DEFINE_SQUARE(turn_pieces, 4, LOWER_HALVES, UPPER_HALVES, EVEN_PIECES, ODD_PIECES)
#else
INLINE void turn_pieces(values *v)
{
    const values a = v[0], b = v[4];
    v[0] = __builtin_shufflevector(a, b, LOWER_HALVES);
    v[4] = __builtin_shufflevector(a, b, UPPER_HALVES);
}
#endif

INLINE void turn(values *v)
{
#pragma unroll
    for (int k = 0; k < LANES; k += 4)
        turn_squares(v + k);
#pragma unroll
    for (int k = 0; k < 4; k++)
        turn_pieces(v + k);
}

/* Four results of lines that follow each other: what their windows see at one distance, before and behind.
 * One line further away, the others move on. */
#define DEFINE_FOUR(type, name)                                                                              \
    struct name {                                                                                            \
        type a, b, c, d;                                                                                     \
    };                                                                                                       \
    inline struct name name##_before(struct name lines, type next)                                           \
    {                                                                                                        \
        struct name moved = {next, lines.a, lines.b, lines.c};                                               \
        return moved;                                                                                        \
    }                                                                                                        \
    inline struct name name##_behind(struct name lines, type next)                                           \
    {                                                                                                        \
        struct name moved = {lines.b, lines.c, lines.d, next};                                               \
        return moved;                                                                                        \
    }
DEFINE_FOUR(values, four)

/* Sums of vectors of such numbers. */
#define DEFINE_SUMS(name, number)                                                                            \
    inline struct name name##_add(struct name sums, struct name before, struct name behind, number weight)   \
    {                                                                                                        \
        _Pragma("OPENCL FP_CONTRACT ON") sums.a = sums.a + (before.a + behind.a) * weight;                   \
        sums.b = sums.b + (before.b + behind.b) * weight;                                                    \
        sums.c = sums.c + (before.c + behind.c) * weight;                                                    \
        sums.d = sums.d + (before.d + behind.d) * weight;                                                    \
        return sums;                                                                                         \
    }                                                                                                        \
    inline struct name name##_centres(struct name lines, number weight)                                      \
    {                                                                                                        \
        struct name sums = {lines.a * weight, lines.b * weight, lines.c * weight, lines.d * weight};         \
        return sums;                                                                                         \
    }
DEFINE_SUMS(four, float)

/* LINE(k): the line k behind the first of the four. */
#define WEIGH_SUMS(name, number, sums, w, LINE)                                                              \
    const struct name centres = {LINE(0), LINE(1), LINE(2), LINE(3)};                                        \
    struct name before = centres, behind = centres;                                                          \
    struct name sums = name##_centres(centres, (number)(w)->weights[0]);                                     \
    for (int k = 1; k <= (w)->radius; k++) {                                                                 \
        before = name##_before(before, LINE(-k));                                                            \
        behind = name##_behind(behind, LINE(3 + k));                                                         \
        sums = name##_add(sums, before, behind, (number)(w)->weights[k]);                                    \
    }
#define WEIGH_FOUR(sums, w, LINE) WEIGH_SUMS(four, float, sums, w, LINE)

#ifdef EXACT
/* exact=yes of u8: sums of rows are exact in 32 bits, and columns hold them, 2^31 less. Along those, sums of
 * floats are off by less than 2^-17 levels for each weight, for they are at most 128 levels; results as near
 * as that to a tie are summed again in 64 bits. */
DEFINE_VECTORS(int, numbers);
DEFINE_FOUR(words, four_words)
DEFINE_SUMS(four_words, uint)
#define MIDDLE              0x80000000u
#define ROW_LINES           four_words
#define ROW(k)              CONVERT(*(__global const pixels_at *)(rows[k] + i), words)
#define COLUMN(k)           CONVERT(__builtin_astype(column[(k)*HONE_C], numbers), values)
#define WEIGH_ROWS(sums, w) WEIGH_SUMS(four_words, uint, sums, w, ROW)
#define AS_CELLS(v)         __builtin_astype((v) ^ MIDDLE, values)
#define OUTSIDE(border)     AS_CELLS((words)((uint)(border) << 24u))
#else
#define ROW_LINES           four
#define ROW(k)              LOAD_PIXELS(rows[k] + i)
#define COLUMN(k)           column[(k)*HONE_C]
#define WEIGH_ROWS(sums, w) WEIGH_FOUR(sums, w, ROW)
#define AS_CELLS(v)         (v)
#define OUTSIDE(border)     ((values)(VALUE)(border))
#endif

/* Rows are too many at once for the processor to foresee them: those that are read for the first time,
 * further ahead where little is done meanwhile; and those that the rows above have read, which have left the
 * first cache. */
#define AHEAD(bytes) ((bytes) / (int)sizeof(PIXEL))
inline void fetch_rows(const struct window *w, int first, int i)
{
    for (int k = 0; k < 4; k++)
        __builtin_prefetch(w->rows[first + 2 * w->radius + k] + i + AHEAD(w->radius < 8 ? 512 : 256));
}

inline void fetch_window(const struct window *w, int i)
{
    for (int k = 0; k < 2 * w->radius; k++)
        __builtin_prefetch(w->rows[k] + i + AHEAD(128));
}

/* Down: of four rows that begin `first` rows below the window's, from element i on. */
WIDE_VECTORS inline struct ROW_LINES four_rows(const struct window *w, int first, int i)
{
    __global const PIXEL *const *rows = w->rows + first + w->radius;
    fetch_rows(w, first, i);
    WEIGH_ROWS(sums, w);
    return sums;
}

/* The sum of all lanes. */
inline float check_lanes(values v)
{
    float sum = 0;
    for (int lane = 0; lane < LANES; lane++)
        sum += v[lane];
    return sum;
}

/* The elements from `from` to before `to` of LANES rows, as columns. Whether those of floats are finite. */
WIDE_VECTORS inline bool down_columns(const struct window *w, int from, int to, __global values *columns)
{
    values checks = (values)0;
    for (int i = from; i < to; i += LANES) {
        const int at = min(i, to - LANES);
        values block[LANES];
        fetch_window(w, at);
        for (int row = 0; row < LANES; row += 4) {
            struct ROW_LINES sums = four_rows(w, row, at);
            block[row] = AS_CELLS(sums.a);
            block[row + 1] = AS_CELLS(sums.b);
            block[row + 2] = AS_CELLS(sums.c);
            block[row + 3] = AS_CELLS(sums.d);
        }
        turn(block);
#pragma unroll
        for (int k = 0; k < LANES; k++) {
            columns[at - from + k] = block[k];
            checks += FLOATING ? block[k] - block[k] : (values)0;
        }
    }
    return !FLOATING || check_lanes(checks) == 0;
}

#ifdef EXACT
/* Of one lane: a row. */
inline float exact_level(const struct window *w, __global const values *column, int lane)
{
    __global const uint *at = (__global const uint *)column + lane;
    const long step = LANES * HONE_C;
    ulong sum = w->weights[0] * (ulong)(*at ^ MIDDLE);
    for (int k = 1; k <= w->radius; k++)
        sum += w->weights[k] * ((ulong)(at[-k * step] ^ MIDDLE) + (at[k * step] ^ MIDDLE));
    return (float)((sum + (1ul << 47)) >> 48);
}

/* A level and a half, and how near that is to a whole number. */
inline values levels(values sum)
{
    return sum * 0x1p-48f + 128.5f;
}

inline values nearness(values level)
{
    values fraction = level - CONVERT(CONVERT(level, words), values);
    return fraction < 0.5f ? fraction : 1.0f - fraction;
}

inline bool any_near(values v, float near)
{
#if LANES == 16
    float8 eight = v.lo < v.hi ? v.lo : v.hi;
#else
    float8 eight = v;
#endif
    float4 four = eight.lo < eight.hi ? eight.lo : eight.hi;
    float2 two = four.lo < four.hi ? four.lo : four.hi;
    return two.x < near || two.y < near;
}

/* What rounding the level itself is off by is 2^-17, too. */
inline float near_of(const struct window *w)
{
    return (float)(w->radius + 8) * 0x1p-17f;
}

WIDE_VECTORS inline void settle_vector(const struct window *w, __global const values *column, values *level)
{
    union {
        values v;
        float lanes[LANES];
    } nearest, exact;
    nearest.v = nearness(*level);
    if (!any_near(nearest.v, near_of(w)))
        return;
    exact.v = *level;
#pragma unroll 1
    for (int lane = 0; lane < LANES; lane++)
        if (nearest.lanes[lane] < near_of(w))
            exact.lanes[lane] = exact_level(w, column, lane);
    *level = exact.v;
}

inline values smaller(values a, values b)
{
    return a < b ? a : b;
}

INLINE void settle(const struct window *w, __global const values *column, struct four *sums)
{
    struct four level = {levels(sums->a), levels(sums->b), levels(sums->c), levels(sums->d)};
    values nearest =
        smaller(smaller(nearness(level.a), nearness(level.b)), smaller(nearness(level.c), nearness(level.d)));
    if (any_near(nearest, near_of(w))) {
        settle_vector(w, column, &level.a);
        settle_vector(w, column + HONE_C, &level.b);
        settle_vector(w, column + 2 * HONE_C, &level.c);
        settle_vector(w, column + 3 * HONE_C, &level.d);
    }
    *sums = level;
}
#else
INLINE void settle(const struct window *w, __global const values *column, struct four *sums) {}
#endif

/* Along: four pixels of a channel. Their results are stored where the first of their windows begins, which
 * no other one sees. */
WIDE_VECTORS inline void four_columns(const struct window *w, __global values *column)
{
    WEIGH_FOUR(sums, w, COLUMN);
    settle(w, column, &sums);
    __global values *first = column - w->radius * HONE_C;
    first[0] = sums.a;
    first[HONE_C] = sums.b;
    first[2 * HONE_C] = sums.c;
    first[3 * HONE_C] = sums.d;
}

/* The results of `count` rows, from element `start` on. Where they will be stored next is fetched ahead: of
 * so many rows at once, the processor would wait for each of their lines. */
WIDE_VECTORS inline void write_columns(const struct window *w, __global const values *results, int start,
                                       int length, int count, const struct sink *sink)
{
    for (int i = 0; i < length; i += LANES) {
        const int at = min(i, length - LANES);
        values block[LANES];
        for (int row = 0; row < count; row++)
            __builtin_prefetch(sink->at + row * sink->pitch + start + at + AHEAD(128), 1);
#pragma unroll
        for (int k = 0; k < LANES; k++)
            block[k] = results[at + k];
        turn(block);
        for (int row = 0; row < count; row++)
            write(sink->at + row * sink->pitch + start + at, w->rows[w->radius + row] + start + at,
                  block[row]);
    }
}

/* The first `count` of LANES rows. `columns` has room for twice a piece of a row and what its windows see. */
WIDE_VECTORS inline bool turned_rows(const struct window *w, int width, int piece, values outside, int count,
                                     const struct sink *sink, __global values *columns)
{
    const int r = w->radius;
    __global values *first = columns + r * HONE_C; /* column of the piece */
    bool finite = true;
    for (int left = 0, right; left < width; left = right) {
        right = width - left < 2 * piece ? width : left + piece;
        const int from = left ? left + r : 0, to = min(right + r, width);
        finite &= down_columns(w, from * HONE_C, to * HONE_C, first + (from - left) * HONE_C);
        extend(first - left * HONE_C, width, left ? 0 : r, right < width ? 0 : r, outside);
        for (int x = 0; x < right - left; x += 4)
            for (int channel = 0; channel < HONE_C - HONE_ALPHA; channel++)
                four_columns(w, first + x * HONE_C + channel);
        write_columns(w, columns, left * HONE_C, (right - left) * HONE_C, count, sink);
        for (int i = 0; i < 2 * r * HONE_C && right < width; i++)
            columns[i] = columns[(right - left) * HONE_C + i];
    }
    return finite;
}

#if FLOATING
/* Whether all of so many rows are finite numbers. */
inline bool are_finite(__global const PIXEL *const *rows, int number, int count)
{
    float sum = 0;
    for (int k = 0; k < number; k++)
        sum += check_line(rows[k], count);
    return sum == 0;
}
#endif

/* The first `count` of LANES rows, whose windows begin at `rows`. NaN and infinity of the rows that are
 * weighted show in sums; the others are looked through. Where there are some, all weights are taken. */
WIDE_VECTORS inline void finite_rows(struct window *w, __global const PIXEL *const *rows, int reach,
                                     __constant const float *all_weights, int width, int piece,
                                     values outside, int count, const struct sink *sink,
                                     __global values *columns)
{
    const int beyond = reach - w->radius;
    w->rows = rows + beyond;
#if FLOATING
    const int elements = width * HONE_C;
    bool finite = outside[0] - outside[0] == 0 && are_finite(rows, beyond, elements) &&
                  are_finite(rows + LANES + 2 * reach - beyond, beyond, elements);
    if (finite || !beyond)
        finite = turned_rows(w, width, piece, outside, count, sink, columns);
    if (!finite && beyond) {
        const struct window whole = {rows, all_weights, reach, 0, 0};
        turned_rows(&whole, width, piece, outside, count, sink, columns);
    }
#else
    turned_rows(w, width, piece, outside, count, sink, columns);
#endif
}

/* `reach` is what the border rules go by, and NaN and infinity; `radius` is enough for all else. A piece is
 * so many pixels of a row, at least four times the reach. */
__kernel void gaussian_turned(__global const PIXEL *in, int in_offset, int in_pitch, __global PIXEL *out,
                              int out_offset, int out_pitch, int width, int height, BORDER_TYPE border,
                              __constant const WEIGHT *weights, int radius,
                              __constant const float *all_weights, int reach, int piece,
                              __global float *scratch, int scratch_elements, int beyond_at)
{
    int band = get_global_id(0), y = band * ROWS, end = min(y + ROWS, height);
    if (y >= height)
        return;
    __global float *own = scratch + (size_t)band * scratch_elements;
    __global const PIXEL *rows[ROWS + 2 * REACH];
    find_rows(in + in_offset, in_pitch, (__global PIXEL *)(own + beyond_at), (PIXEL)border, width, height,
              y - reach, rows, ROWS + 2 * reach);
    struct window w = {rows, weights, radius, 0, 0};
    for (int first = y; first < end; first += LANES) {
        const struct sink sink = {out + out_offset + first * out_pitch, out_pitch};
        finite_rows(&w, rows + first - y, reach, all_weights, width, piece, OUTSIDE(border),
                    min(end - first, LANES), &sink, (__global values *)own);
    }
    const struct sink sink = {out + out_offset, out_pitch};
    for (; y < end; y++)
        clear_outside(&sink, y, width, height, 2 * reach + 1, 2 * reach + 1);
}
#endif
