/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The plain forms: weights pixel by pixel, and the write-up's recursive ones, a line per work-item.
 *
 * WEIGHTS of table 0 are the window's right half, WEIGHTS[0] its centre; they reach `radius` pixels.
 */
#ifndef SECTIONS
#define SECTIONS 0 /* recursion by 0: coupled complex poles, 1: real sections of second order */
#endif
#ifndef PAIRS
#define PAIRS 2 /* pairs of poles: 2 is 4th order, 3 is 6th */
#endif

/* A line of the image or of floats between passes, `step` elements from one to the next. */
struct line {
    __global const PIXEL *pixels; /* or 0 */
    __global const float *floats;
    int step, count;
    float outside; /* beyond the edges, under a constant border */
};

inline float line_inside(const struct line *l, int i)
{
    return l->floats ? l->floats[i * l->step] : (float)l->pixels[i * l->step];
}

inline float line_at(const struct line *l, int i)
{
    int at = hone_fold(i, l->count);
    return HONE_BORDER == BORDER_CONSTANT && at < 0 ? l->outside : line_inside(l, at);
}

/* One weighted sum. In parts, so that rounding errors of long windows stay those of short ones. */
inline float weighted(const struct line *l, int at, __constant const float *weights, int radius)
{
    float sum = 0;
    for (int far = radius; far > 0; far -= 32) {
        float part = 0;
#pragma unroll 1 /* unrolled by NVIDIA's compiler, it takes twice as long to compile and is 15 % faster */
        for (int i = far; i > max(far - 32, 0); i--)
            part += weights[i] * line_at(l, at - i) + weights[i] * line_at(l, at + i);
        sum += part;
    }
    return sum + weights[0] * line_at(l, at);
}

/* border=zero-outside: nothing where the window leaves the image. */
inline RESULT finish(float value, int x, int y, int width, int height, int radius)
{
    bool leaves = x < radius || y < radius || x + radius >= width || y + radius >= height;
    return HONE_BORDER == BORDER_ZERO_OUTSIDE && leaves ? (RESULT)0 : hone_result(value);
}

#if defined(HONE_ALL) || defined(VARIANT_direct)
__kernel void gaussian_direct_rows(__global const PIXEL *in, int in_offset, int in_pitch,
                                   __global float *rows, int width, int height, BORDER_TYPE border,
                                   __constant const float *weights, int radius)
{
    int i = get_global_id(0), y = get_global_id(1);
    if (i >= width * HONE_C || y >= height)
        return;
    int x = i / HONE_C, channel = i - x * HONE_C;
    struct line l = {in + in_offset + y * in_pitch + channel, 0, HONE_C, width, (float)border};
    rows[y * width * HONE_C + i] = IS_ALPHA(channel) ? line_inside(&l, x) : weighted(&l, x, weights, radius);
}

__kernel void gaussian_direct_columns(__global const float *rows, __global RESULT *out, int out_offset,
                                      int out_pitch, int width, int height, BORDER_TYPE border,
                                      __constant const float *weights, int radius)
{
    int i = get_global_id(0), y = get_global_id(1);
    if (i >= width * HONE_C || y >= height)
        return;
    struct line l = {0, rows + i, width * HONE_C, height, (float)border};
    out[out_offset + y * out_pitch + i] =
        IS_ALPHA(i & 3) ? (RESULT)line_inside(&l, y)
                        : finish(weighted(&l, y, weights, radius), i / HONE_C, y, width, height, radius);
}
#endif

/* Where a line of results goes: floats, and from them to pixels when `results` is not 0. */
struct target {
    __global float *floats; /* also holds what the first sweep found */
    int step;
    __global RESULT *results;
    int result_step;
    int x, y; /* of the line's first pixel; it goes right or down */
    int width, height, radius;
};

inline void line_store(const struct target *t, int i, float value, bool down)
{
    if (t->results)
        t->results[i * t->result_step] =
            finish(value, t->x + (down ? 0 : i), t->y + (down ? i : 0), t->width, t->height, t->radius);
    else
        t->floats[i * t->step] = value;
}

#if SECTIONS
/* As written: u = b0 x + b1 x' + a1 u' + a2 u''. The sum of two such sections is the filter of 4th order,
 * which as one recursion of four terms would lose all digits in single precision. */
struct state {
    float before, u1[2], u2[2];
};
enum { NUMBERS = 8 };

INLINE void start(struct state *s, __constant const float *t, float x, int backward)
{
    s->before = x;
    for (int k = 0; k < 2; k++)
        s->u1[k] = s->u2[k] = x * t[NUMBERS * k + 6 + backward];
}

INLINE float advance(struct state *s, __constant const float *t, float x, int backward)
{
    float y = 0;
    for (int k = 0; k < 2; k++) {
        __constant const float *n = t + NUMBERS * k;
        float u = n[2 * backward] * x + n[2 * backward + 1] * s->before + n[4] * s->u1[k] + n[5] * s->u2[k];
        s->u2[k] = s->u1[k];
        s->u1[k] = u;
        y += u;
    }
    s->before = x;
    return y;
}

INLINE float forward(struct state *s, __constant const float *t, float x)
{
    return advance(s, t, x, 0);
}

/* Gives the result beside x, then takes x in. */
INLINE float backward(struct state *s, __constant const float *t, float x)
{
    float y = s->u1[0] + s->u1[1];
    advance(s, t, x, 1);
    return y;
}

INLINE bool damaged(const struct state *s)
{
    return !isfinite(s->u1[0] + s->u1[1] + s->u2[0] + s->u2[1] + s->before);
}
#else
/* Coupled: w = p w + x with a complex pole p; what is wanted is a sum of real parts. Loses nothing for any
 * sigma. */
struct state {
    float re[PAIRS], im[PAIRS];
};
enum { NUMBERS = 8 };

INLINE void start(struct state *s, __constant const float *t, float x, int backward)
{
    for (int k = 0; k < PAIRS; k++) {
        s->re[k] = x * t[NUMBERS * k + 6];
        s->im[k] = x * t[NUMBERS * k + 7];
    }
}

INLINE void take(struct state *s, __constant const float *t, float x)
{
    for (int k = 0; k < PAIRS; k++) {
        __constant const float *n = t + NUMBERS * k;
        float re = n[0] * s->re[k] - n[1] * s->im[k] + x;
        s->im[k] = n[0] * s->im[k] + n[1] * s->re[k];
        s->re[k] = re;
    }
}

INLINE float give(const struct state *s, __constant const float *t, int at)
{
    float y = 0;
    for (int k = 0; k < PAIRS; k++)
        y += t[NUMBERS * k + at] * s->re[k] + t[NUMBERS * k + at + 1] * s->im[k];
    return y;
}

INLINE float forward(struct state *s, __constant const float *t, float x)
{
    take(s, t, x);
    return give(s, t, 2);
}

INLINE float backward(struct state *s, __constant const float *t, float x)
{
    float y = give(s, t, 4);
    take(s, t, x);
    return y;
}

INLINE bool damaged(const struct state *s)
{
    float sum = 0;
    for (int k = 0; k < PAIRS; k++)
        sum += s->re[k] + s->im[k];
    return !isfinite(sum);
}
#endif

/* Both sweeps over pixels first..last-1 of a line. What lies beyond them, in the image or outside, is swept
 * too, as far as the window reaches; beyond that, the line is taken to go on as it is there. NaN and infinity
 * never leave a recursion: where one came in, the pixels are done again with weights. */
inline void filter_line(const struct line *l, const struct target *t, bool down, int first, int last,
                        __constant const float *weights, __constant const float *numbers)
{
    int radius = t->radius;
    struct state s;
    start(&s, numbers, line_at(l, first - radius), 0);
    for (int i = first - radius; i < last; i++) {
        float y = forward(&s, numbers, line_at(l, i));
        if (i >= first)
            t->floats[i * t->step] = y;
    }
    bool bad = FLOATING && damaged(&s);
    start(&s, numbers, line_at(l, last - 1 + radius), 1);
    for (int i = last - 1 + radius; i >= first; i--) {
        float y = backward(&s, numbers, line_at(l, i));
        if (i < last)
            line_store(t, i, t->floats[i * t->step] + y, down);
    }
    if (FLOATING && (bad || damaged(&s)))
        for (int i = first; i < last; i++)
            line_store(t, i, weighted(l, i, weights, radius), down);
}

/* Alpha goes along as it is. */
inline void copy_line(const struct line *l, const struct target *t, int first, int last)
{
    for (int i = first; i < last; i++)
        if (t->results)
            t->results[i * t->result_step] = (RESULT)line_inside(l, i);
        else
            t->floats[i * t->step] = line_inside(l, i);
}

#if defined(HONE_ALL) || defined(VARIANT_lines) || defined(VARIANT_lines4)
/* rgH: a work-item for each row (and channel). */
__kernel void gaussian_lines_rows(__global const PIXEL *in, int in_offset, int in_pitch, __global float *rows,
                                  int width, int height, BORDER_TYPE border, __constant const float *weights,
                                  __constant const float *numbers, int radius)
{
    int i = get_global_id(0), y = i / HONE_C, channel = i - y * HONE_C;
    if (y >= height)
        return;
    struct line l = {in + in_offset + y * in_pitch + channel, 0, HONE_C, width, (float)border};
    struct target t = {rows + y * width * HONE_C + channel, HONE_C, 0, 0, 0, y, width, height, radius};
    if (IS_ALPHA(channel))
        copy_line(&l, &t, 0, l.count);
    else
        filter_line(&l, &t, false, 0, l.count, weights, numbers);
}

/* rgV: a work-item for each column. */
__kernel void gaussian_lines_columns(__global const float *rows, __global float *sweep, __global RESULT *out,
                                     int out_offset, int out_pitch, int width, int height, BORDER_TYPE border,
                                     __constant const float *weights, __constant const float *numbers,
                                     int radius)
{
    int i = get_global_id(0), step = width * HONE_C;
    if (i >= step)
        return;
    struct line l = {0, rows + i, step, height, (float)border};
    struct target t = {sweep + i, step,  out + out_offset + i, out_pitch, i / HONE_C, 0, width,
                       height,    radius};
    if (IS_ALPHA(i & 3))
        copy_line(&l, &t, 0, l.count);
    else
        filter_line(&l, &t, true, 0, l.count, weights, numbers);
}
#endif

#if defined(HONE_ALL) || defined(VARIANT_transposed) || defined(VARIANT_transposed4)
#ifndef TILES
#define TILES 0 /* 1: transposes go through local memory */
#endif
#define SIDE 16 /* pixels of a block's side, as written */

/* rgV on the image. */
__kernel void gaussian_down_pixels(__global const PIXEL *in, int in_offset, int in_pitch,
                                   __global float *columns, int width, int height, BORDER_TYPE border,
                                   __constant const float *weights, __constant const float *numbers,
                                   int radius)
{
    int i = get_global_id(0), step = width * HONE_C;
    if (i >= step)
        return;
    struct line l = {in + in_offset + i, 0, in_pitch, height, (float)border};
    struct target t = {columns + i, step, 0, 0, 0, 0, width, height, radius};
    if (IS_ALPHA(i & 3))
        copy_line(&l, &t, 0, l.count);
    else
        filter_line(&l, &t, true, 0, l.count, weights, numbers);
}

/* rgV on the transposed floats: `across` lines of `count`. Channels stay together: pixels are transposed. */
__kernel void gaussian_down_floats(__global const float *in, __global float *out, int across, int count,
                                   BORDER_TYPE border, __constant const float *weights,
                                   __constant const float *numbers, int radius)
{
    int i = get_global_id(0), step = across * HONE_C;
    if (i >= step)
        return;
    struct line l = {0, in + i, step, count, (float)border};
    struct target t = {out + i, step, 0, 0, 0, 0, across, count, radius};
    if (IS_ALPHA(i & 3))
        copy_line(&l, &t, 0, l.count);
    else
        filter_line(&l, &t, true, 0, l.count, weights, numbers);
}

inline void store_pixel(__global RESULT *to, const float *value, int x, int y, int width, int height,
                        int radius)
{
    for (int channel = 0; channel < HONE_C; channel++)
        to[channel] =
            IS_ALPHA(channel) ? (RESULT)value[channel] : finish(value[channel], x, y, width, height, radius);
}
#if TILES
#define TRANSPOSE(name) __kernel __attribute__((reqd_work_group_size(SIDE, SIDE, 1))) void name

/* transposeL: blocks of 16x16 go through local memory, so that both sides go along rows. */
TRANSPOSE(gaussian_transpose)(__global const float *in, __global float *out, int width, int height)
{
    __local float block[SIDE * SIDE * HONE_C];
    int ix = get_local_id(0), iy = get_local_id(1), bx = get_group_id(0) * SIDE, by = get_group_id(1) * SIDE;
    for (int channel = 0; channel < HONE_C; channel++)
        if (bx + ix < width && by + iy < height)
            block[(iy + ix * SIDE) * HONE_C + channel] = in[((by + iy) * width + bx + ix) * HONE_C + channel];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int channel = 0; channel < HONE_C; channel++)
        if (bx + iy < width && by + ix < height)
            out[((bx + iy) * height + by + ix) * HONE_C + channel] =
                block[(ix + iy * SIDE) * HONE_C + channel];
}

/* Back, and to pixels: `in` has `height` pixels a row. */
TRANSPOSE(gaussian_transpose_back)
(__global const float *in, __global RESULT *out, int out_offset, int out_pitch, int width, int height,
 int radius)
{
    __local float block[SIDE * SIDE * HONE_C];
    int ix = get_local_id(0), iy = get_local_id(1), by = get_group_id(0) * SIDE, bx = get_group_id(1) * SIDE;
    for (int channel = 0; channel < HONE_C; channel++)
        if (by + ix < height && bx + iy < width)
            block[(iy + ix * SIDE) * HONE_C + channel] =
                in[((bx + iy) * height + by + ix) * HONE_C + channel];
    barrier(CLK_LOCAL_MEM_FENCE);
    int x = bx + ix, y = by + iy;
    if (x < width && y < height) {
        float value[HONE_C];
        for (int channel = 0; channel < HONE_C; channel++)
            value[channel] = block[(ix + iy * SIDE) * HONE_C + channel];
        store_pixel(out + out_offset + y * out_pitch + x * HONE_C, value, x, y, width, height, radius);
    }
}
#else
/* Reads along rows, writes along columns. */
__kernel void gaussian_transpose(__global const float *in, __global float *out, int width, int height)
{
    int x = get_global_id(0), y = get_global_id(1);
    if (x < width && y < height)
        for (int channel = 0; channel < HONE_C; channel++)
            out[(x * height + y) * HONE_C + channel] = in[(y * width + x) * HONE_C + channel];
}

/* Back, and to pixels: `in` has `height` pixels a row. */
__kernel void gaussian_transpose_back(__global const float *in, __global RESULT *out, int out_offset,
                                      int out_pitch, int width, int height, int radius)
{
    int y = get_global_id(0), x = get_global_id(1);
    if (x < width && y < height) {
        float value[HONE_C];
        for (int channel = 0; channel < HONE_C; channel++)
            value[channel] = in[(x * height + y) * HONE_C + channel];
        store_pixel(out + out_offset + y * out_pitch + x * HONE_C, value, x, y, width, height, radius);
    }
}
#endif
#endif

#if defined(HONE_ALL) || defined(VARIANT_segments)
#ifndef LINES
#define LINES 32 /* lines of a work-group in the pass along rows, one for each work-item */
#endif
#define PART 32 /* pixels of each line in local memory at a time */

/* The lines of a work-group: numbers `line`, line + 1 ... stand for rows and channels. */
struct lines {
    __global const PIXEL *in;
    int pitch, width, height, line, item;
    float outside;
};

/* Pixels x..x+PART-1 of all lines. Neighbouring work-items read neighbouring pixels. */
inline void load_part(const struct lines *l, __local float *part, int x)
{
    for (int e = l->item; e < LINES * PART; e += LINES) {
        int q = e / PART, i = e - q * PART;
        int line = min(l->line + q, l->height * HONE_C - 1), y = line / HONE_C;
        struct line one = {l->in + y * l->pitch + (line - y * HONE_C), 0, HONE_C, l->width, l->outside};
        part[q * (PART + 1) + i] = line_at(&one, x + i);
    }
}

/* The same for floats between the sweeps, those of first..last-1; `store`: from local memory, else to it. */
inline void move_part(const struct lines *l, __local float *part, __global float *floats, int x, int first,
                      int last, bool store)
{
    for (int e = l->item; e < LINES * PART; e += LINES) {
        int q = e / PART, i = e - q * PART, line = l->line + q, y = line / HONE_C;
        if (line >= l->height * HONE_C || x + i < first || x + i >= last)
            continue;
        __global float *at = floats + (y * l->width + x + i) * HONE_C + (line - y * HONE_C);
        if (store)
            *at = part[q * (PART + 1) + i];
        else
            part[q * (PART + 1) + i] = *at;
    }
}

/* Along rows: a work-item owns a line, and a work-group moves pixels between memory and local memory for all
 * of its lines. Segments of a line are independent: each begins where the window of its first pixel does. */
__kernel __attribute__((reqd_work_group_size(LINES, 1, 1))) void
gaussian_segments_rows(__global const PIXEL *in, int in_offset, int in_pitch, __global float *rows, int width,
                       int height, BORDER_TYPE border, __constant const float *weights,
                       __constant const float *numbers, int radius, int segment)
{
    __local float part[LINES * (PART + 1)], sums[LINES * (PART + 1)];
    struct lines l = {in + in_offset,          in_pitch,        width,        height,
                      get_group_id(0) * LINES, get_local_id(0), (float)border};
    __local float *own = part + l.item * (PART + 1), *own_sums = sums + l.item * (PART + 1);
    int first = get_group_id(1) * segment, last = min(first + segment, width);
    int line = min(l.line + l.item, height * HONE_C - 1), y = line / HONE_C, channel = line - y * HONE_C;
    int parts = (last - first + radius + PART - 1) / PART;
    bool bad = false, alpha = IS_ALPHA(channel);
    struct state s;
    for (int sweep = 0; sweep < 2; sweep++) {
        for (int n = 0; n < parts; n++) {
            int x = sweep ? last + radius - PART * (n + 1) : first - radius + PART * n;
            load_part(&l, part, x);
            if (sweep)
                move_part(&l, sums, rows, x, first, last, false);
            barrier(CLK_LOCAL_MEM_FENCE);
            if (n == 0)
                start(&s, numbers, own[sweep ? PART - 1 : 0], sweep);
            for (int i = 0; i < PART; i++) {
                int k = sweep ? PART - 1 - i : i;
                if (x + k < first - radius || x + k >= last + radius)
                    continue;
                float sum =
                    sweep ? own_sums[k] + backward(&s, numbers, own[k]) : forward(&s, numbers, own[k]);
                own_sums[k] = alpha ? own[k] : sum;
            }
            barrier(CLK_LOCAL_MEM_FENCE);
            move_part(&l, sums, rows, x, first, last, true);
            barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
        }
        bad = FLOATING && (bad || damaged(&s));
    }
    if (bad && !alpha && l.line + l.item < height * HONE_C) {
        struct line whole = {l.in + y * in_pitch + channel, 0, HONE_C, width, l.outside};
        for (int x = first; x < last; x++)
            rows[(y * width + x) * HONE_C + channel] = weighted(&whole, x, weights, radius);
    }
}

/* Along columns: a work-item for each column and segment; neighbours read neighbours anyway. */
__kernel void gaussian_segments_columns(__global const float *rows, __global float *sweep,
                                        __global RESULT *out, int out_offset, int out_pitch, int width,
                                        int height, BORDER_TYPE border, __constant const float *weights,
                                        __constant const float *numbers, int radius, int segment)
{
    int i = get_global_id(0), first = get_global_id(1) * segment, last = min(first + segment, height);
    int step = width * HONE_C;
    if (i >= step || first >= height)
        return;
    struct line l = {0, rows + i, step, height, (float)border};
    struct target t = {sweep + i, step,  out + out_offset + i, out_pitch, i / HONE_C, 0, width,
                       height,    radius};
    if (IS_ALPHA(i & 3))
        copy_line(&l, &t, first, last);
    else
        filter_line(&l, &t, true, first, last, weights, numbers);
}
#endif

#if defined(HONE_ALL) || defined(VARIANT_tile)
#define ACROSS 32 /* pixels of a tile */
#define DOWN   32
#ifndef ITEMS
#define ITEMS 256 /* work-items of a tile; each makes four results, beside or below each other, at a time */
#endif

/* Weighted sums of four neighbours that lie `step` apart, from `at` on, which is the first pixel of the first
 * one's window. Each pixel is read once for all four; none sees what is outside of its own window. */
INLINE void weighted_four(__local const float *at, int step, __constant const float *weights, int radius,
                          float *sums)
{
    float v0 = at[0], v1 = at[step], v2 = at[2 * step];
    float w0 = weights[max(radius - 2, 2 - radius)], w1 = weights[radius - 1], w2 = weights[radius];
    float a = w2 * v0 + w1 * v1 + w0 * v2, b = w2 * v1 + w1 * v2, c = w2 * v2, d = 0;
    int last = 2 * radius;
    for (int k = 3; k <= last; k++) {
        float v = at[k * step], w = weights[max(k - radius, radius - k)];
        a += w * v;
        b += w0 * v;
        c += w1 * v;
        d += w2 * v;
        w2 = w1;
        w1 = w0;
        w0 = w;
    }
    float v = at[(last + 1) * step], far = at[(last + 2) * step];
    sums[0] = a;
    sums[1] = b + w0 * v;
    sums[2] = c + w1 * v + w0 * far;
    sums[3] = d + w2 * v + w1 * far + w0 * at[(last + 3) * step];
}

/* Both passes over a tile in local memory: the picture is read and written once. */
__kernel __attribute__((reqd_work_group_size(ITEMS, 1, 1))) void
gaussian_tile(__global const PIXEL *in, int in_offset, int in_pitch, __global RESULT *out, int out_offset,
              int out_pitch, int width, int height, BORDER_TYPE border, __constant const float *weights,
              int radius, int reach, __local float *source, __local float *rows)
{
    int item = get_local_id(0), left = get_group_id(0) * ACROSS, top = get_group_id(1) * DOWN;
    int across = ACROSS + 2 * radius, down = DOWN + 2 * radius;
    in += in_offset;
    out += out_offset;
    for (int channel = 0; channel < HONE_C; channel++) {
        bool alpha = IS_ALPHA(channel);
        for (int e = item; e < across * down; e += ITEMS) {
            int j = e / across, inside;
            __global const PIXEL *row = hone_row(in, in_pitch, top - radius + j, height, &inside);
            source[e] = (float)hone_at(row, inside, left - radius + e - j * across, channel, width, border);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int e = item; e < ACROSS / 4 * down; e += ITEMS) {
            int j = e / (ACROSS / 4), i = (e - j * (ACROSS / 4)) * 4;
            float sums[4];
            weighted_four(source + j * across + i, 1, weights, radius, sums);
            for (int k = 0; k < 4; k++)
                rows[j * ACROSS + i + k] = sums[k];
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int e = item; e < ACROSS * DOWN / 4; e += ITEMS) {
            int row = e / ACROSS, i = e - row * ACROSS, x = left + i, at = x * HONE_C + channel;
            float sums[4];
            weighted_four(rows + row * 4 * ACROSS + i, ACROSS, weights, radius, sums);
            for (int k = 0; k < 4; k++) {
                int y = top + row * 4 + k;
                if (x < width && y < height)
                    out[y * out_pitch + at] =
                        alpha ? (RESULT)in[y * in_pitch + at] : finish(sums[k], x, y, width, height, reach);
            }
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}
#endif
