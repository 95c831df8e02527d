/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef OUTPUT
#define OUTPUT 0 /* 0 magnitude, 1 dx, 2 dy */
#endif
#ifndef NORM
#define NORM 1 /* of the magnitude: 0 L2, 1 L1 */
#endif

#ifndef MATHS
#define MATHS 0 /* the root of a magnitude: 0 sqrt, 1 native_sqrt */
#endif
#if MATHS
#define ROOT native_sqrt
#else
#define ROOT sqrt
#endif

#if FLOATING
#define SUM float
#else
#define SUM int
#endif

#include "filters/sobel/roots.clh"

/* The result from both gradients. Exact for integers; with MATHS 1, as near as the device takes roots. */
inline RESULT finish(SUM dx, SUM dy)
{
#if OUTPUT == 1
    return (RESULT)dx;
#elif OUTPUT == 2
    return (RESULT)dy;
#elif FLOATING && NORM == 1
    return fabs(dx) + fabs(dy);
#elif FLOATING
    return ROOT(dx * dx + dy * dy);
#elif NORM == 1
    return RESULT_SATURATED(abs(dx) + abs(dy));
#elif HONE_T == 0
    /* sqrt(n) is never half-way between integers, and never nearer to it than 1/1020: far more than sqrt may
     * err */
    return convert_uchar_sat((int)(ROOT((float)(dx * dx + dy * dy)) + 0.5f));
#else
    return (RESULT)short_root(float_of(abs(dx)), float_of(abs(dy)));
#endif
}

/* border=zero-outside: nothing where the window leaves the image. */
inline RESULT inside_or_zero(RESULT result, int x, int y, int width, int height)
{
    return HONE_BORDER == BORDER_ZERO_OUTSIDE && hone_leaves(x - 1, y - 1, 3, 3, width, height) ? (RESULT)0
                                                                                                : result;
}

#if defined(HONE_ALL) || defined(VARIANT_direct) || defined(VARIANT_maths)
/* One result per work-item, nine reads: the guide's starting point. */
__kernel void sobel_direct(__global const RAW *in, int in_offset, int in_pitch, __global FINAL *out,
                           int out_offset, int out_pitch, int width, int height,
                           BORDER_TYPE border FUSED_PARAMETERS)
{
    struct source source = SOURCE_OF(in);
    struct sink sink = SINK_OF(out);
    int x = get_global_id(0), y = get_global_id(1);
    if (x >= width || y >= height)
        return;
    for (int channel = 0; channel < HONE_C; channel++) {
        SUM p[3][3];
        for (int j = 0; j < 3; j++)
            for (int i = 0; i < 3; i++)
                p[j][i] = source_at(&source, x + i - 1, y + j - 1, channel, width, height, border);
        SUM dx = (p[0][2] - p[0][0]) + 2 * (p[1][2] - p[1][0]) + (p[2][2] - p[2][0]);
        SUM dy = (p[2][0] - p[0][0]) + 2 * (p[2][1] - p[0][1]) + (p[2][2] - p[0][2]);
        sink_put(&sink, x * HONE_C + channel, y,
                 IS_ALPHA(channel) ? (RESULT)p[1][1] : inside_or_zero(finish(dx, dy), x, y, width, height));
    }
}
#endif

#if defined(HONE_ALL) || defined(VARIANT_image)
/* The same through the texture unit: the sampler takes care of the edges. */
#include "filters/texels.clh"

__kernel void sobel_image(__read_only image2d_t in, __global RESULT *out, int out_offset, int out_pitch,
                          sampler_t edge, int width, int height)
{
    int x = get_global_id(0), y = get_global_id(1);
    if (x >= width || y >= height)
        return;
    texel p[3][3];
    for (int j = 0; j < 3; j++)
        for (int i = 0; i < 3; i++)
            p[j][i] = READ_IMAGE(in, edge, (int2)(x + i - 1, y + j - 1));
    out += out_offset + y * out_pitch + x * HONE_C;
    for (int channel = 0; channel < HONE_C; channel++) {
#define P(j, i) texel_channel(p[j][i], channel)
        SUM dx = (P(0, 2) - P(0, 0)) + 2 * (P(1, 2) - P(1, 0)) + (P(2, 2) - P(2, 0));
        SUM dy = (P(2, 0) - P(0, 0)) + 2 * (P(2, 1) - P(0, 1)) + (P(2, 2) - P(0, 2));
        out[channel] =
            IS_ALPHA(channel) ? (RESULT)P(1, 1) : inside_or_zero(finish(dx, dy), x, y, width, height);
#undef P
    }
}
#endif

#if defined(HONE_ALL) || defined(VARIANT_separable)
/* The masks are products of a difference and a smoothing: rows first, columns after (guide 9.3.1). Of u8 the
 * row terms fit 16 bits. */
#if FLOATING
#define TERM float
#elif HONE_T == 0
#define TERM short
#else
#define TERM int
#endif

__kernel void sobel_rows(__global const PIXEL *in, int in_offset, int in_pitch, __global TERM *terms,
                         int width, int height, BORDER_TYPE border)
{
    int i = get_global_id(0), y = get_global_id(1) - 1; /* one row above and one below the image */
    if (i >= width * HONE_C || y > height)
        return;
    int inside, x = i / HONE_C, channel = i % HONE_C;
    __global const PIXEL *row = hone_row(in + in_offset, in_pitch, y, height, &inside);
    SUM left = hone_at(row, inside, x - 1, channel, width, border);
    SUM centre = hone_at(row, inside, x, channel, width, border);
    SUM right = hone_at(row, inside, x + 1, channel, width, border);
    __global TERM *term = terms + ((y + 1) * width * HONE_C + i) * 2;
    term[0] = (TERM)(right - left);
    term[1] = (TERM)(left + 2 * centre + right);
}

__kernel void sobel_columns(__global const TERM *terms, __global const PIXEL *in, int in_offset, int in_pitch,
                            __global RESULT *out, int out_offset, int out_pitch, int width, int height)
{
    int i = get_global_id(0), y = get_global_id(1);
    if (i >= width * HONE_C || y >= height)
        return;
    int line = width * HONE_C * 2;
    __global const TERM *term = terms + y * line + i * 2;
    SUM dx = (SUM)term[0] + 2 * (SUM)term[line] + (SUM)term[2 * line];
    SUM dy = (SUM)term[2 * line + 1] - (SUM)term[1];
    out[out_offset + y * out_pitch + i] = IS_ALPHA(i % HONE_C)
                                              ? (RESULT)in[in_offset + y * in_pitch + i]
                                              : inside_or_zero(finish(dx, dy), i / HONE_C, y, width, height);
}
#endif

#if defined(HONE_ALL) || defined(VARIANT_strips)
/* PX neighbouring elements and ROWS rows per work-item: a row is loaded once as one vector and one pixel on
 * either side, and serves three results (guide 9.3.2 and 9.3.3: 16x1 and 16x2 pixels per work-item, tables
 * 9-4 and 9-5). */
#ifndef PX
#define PX 16 /* elements across */
#endif
#ifndef ROWS
#define ROWS 2 /* rows */
#endif

#ifndef SHORT
#define SHORT 0 /* 1: gradients of bytes in vectors of 16 bits */
#endif

#define LEFT  HONE_C
#define RIGHT HONE_C
#if SHORT && HONE_T == 0
#define STRIP_SUM short /* no gradient is over 1020 */
#endif
#include "filters/strips.clh"

#if SHORT && HONE_T == 0
typedef union {
    VECTOR(short, PX) vector;
    short element[PX];
} strip_sums;

/* The PX neighbours that begin k elements into what the strip sees. */
#define SEEN(row, k) PASTE(vload, PX)(0, (row).v + (k))
#define TWO          ((short)2)
#endif

__kernel void sobel_strips(__global const PIXEL *in, int in_offset, int in_pitch, __global RESULT *out,
                           int out_offset, int out_pitch, int width, int height, BORDER_TYPE border)
{
    int i = get_global_id(0) * PX, y = get_global_id(1) * ROWS, count = width * HONE_C;
    if (i >= count || y >= height)
        return;
    in += in_offset;
    out += out_offset + i;
    struct strip_row above = load_strip(in, in_pitch, i, y - 1, width, height, border);
    struct strip_row middle = load_strip(in, in_pitch, i, y, width, height, border);
    for (int end = min(y + ROWS, height); y < end; y++) {
        struct strip_row below = load_strip(in, in_pitch, i, y + 1, width, height, border);
        union {
            VECTOR(RESULT, PX) vector;
            RESULT element[PX];
        } r;
#if SHORT && HONE_T == 0
        strip_sums across, down;
        across.vector = SEEN(above, 2 * HONE_C) - SEEN(above, 0) +
                        TWO * (SEEN(middle, 2 * HONE_C) - SEEN(middle, 0)) + SEEN(below, 2 * HONE_C) -
                        SEEN(below, 0);
        down.vector = SEEN(below, 0) - SEEN(above, 0) + TWO * (SEEN(below, HONE_C) - SEEN(above, HONE_C)) +
                      SEEN(below, 2 * HONE_C) - SEEN(above, 2 * HONE_C);
#endif
        for (int k = 0; k < PX; k++) {
            int right = k + 2 * HONE_C, centre = k + HONE_C;
#if SHORT && HONE_T == 0
            SUM dx = across.element[k], dy = down.element[k];
#else
            SUM dx = (above.v[right] - above.v[k]) + 2 * (middle.v[right] - middle.v[k]) +
                     (below.v[right] - below.v[k]);
            SUM dy = (below.v[k] - above.v[k]) + 2 * (below.v[centre] - above.v[centre]) +
                     (below.v[right] - above.v[right]);
#endif
            r.element[k] = IS_ALPHA((i + k) % HONE_C)
                               ? (RESULT)middle.v[centre]
                               : inside_or_zero(finish(dx, dy), (i + k) / HONE_C, y, width, height);
        }
        if (i + PX <= count)
            *(__global VECTOR(RESULT, PX) *)(out + y * out_pitch) = r.vector;
        else
            for (int k = 0; k < PX && i + k < count; k++)
                out[y * out_pitch + k] = r.element[k];
        above = middle;
        middle = below;
    }
}
#endif
