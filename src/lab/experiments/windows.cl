/* SPDX-License-Identifier: BSD-2-Clause */
/* Weighted sums of 5x5 pixels, exact in integers: one kernel, written in the ways that sections 6.5.1, 8.2,
 * 8.4, 8.6 and 8.8 of the guide compare. */
#define RADIUS 2
#define SIDE   5
#define ARGUMENTS                                                                                            \
    (__global const uchar *restrict in, __global uchar *restrict out, __global uchar *restrict scratch,      \
     int width, int height, int row, int side)

__constant int weights[SIDE * SIDE] = {1,  4, 6, 4,  1,  4,  16, 24, 16, 4, 6, 24, 36,
                                       24, 6, 4, 16, 24, 16, 4,  1,  4,  6, 4, 1};

inline uchar divide(int sum)
{
    return (uchar)((sum + 128) >> 8);
}

#if !defined INDEX && !defined UNROLL
inline uchar clamped(__global const uchar *in, int x, int y, int width, int height)
{
    int sum = 0;
    for (int l = 0; l < SIDE; l++)
        for (int k = 0; k < SIDE; k++)
            sum += in[clamp(y + l - RADIUS, 0, height - 1) * width + clamp(x + k - RADIUS, 0, width - 1)] *
                   weights[l * SIDE + k];
    return divide(sum);
}

inline uchar plain(__global const uchar *in, int x, int y, int pitch)
{
    int sum = 0;
    for (int l = 0; l < SIDE; l++)
        for (int k = 0; k < SIDE; k++)
            sum += in[(y + l - RADIUS) * pitch + x + k - RADIUS] * weights[l * SIDE + k];
    return divide(sum);
}

__kernel void clamping ARGUMENTS
{
    const int x = get_global_id(0), y = get_global_id(1);
    if (x < width && y < height)
        out[y * width + x] = clamped(in, x, y, width, height);
}

/* ---- 8.6: borders ---- */

__kernel void branching ARGUMENTS
{
    const int x = get_global_id(0), y = get_global_id(1);
    if (x >= width || y >= height)
        return;
    const bool inside = x >= RADIUS && y >= RADIUS && x < width - RADIUS && y < height - RADIUS;
    out[y * width + x] = inside ? plain(in, x, y, width) : clamped(in, x, y, width, height);
}

__kernel void pad ARGUMENTS
{
    const int x = get_global_id(0), y = get_global_id(1), pitch = width + 2 * RADIUS;
    if (x < pitch && y < height + 2 * RADIUS)
        scratch[y * pitch + x] =
            in[clamp(y - RADIUS, 0, height - 1) * width + clamp(x - RADIUS, 0, width - 1)];
}

__kernel void padded ARGUMENTS
{
    const int x = get_global_id(0), y = get_global_id(1);
    if (x < width && y < height)
        out[y * width + x] = plain(scratch, x + RADIUS, y + RADIUS, width + 2 * RADIUS);
}

__kernel void inside ARGUMENTS
{
    const int x = get_global_id(0) + RADIUS, y = get_global_id(1) + RADIUS;
    if (x < width - RADIUS && y < height - RADIUS)
        out[y * width + x] = plain(in, x, y, width);
}

/* The pixels of the border alone, counted along it: rows above and below, then what is left of the
 * columns. */
__kernel void edge ARGUMENTS
{
    const int i = get_global_id(0), across = RADIUS * width, rest = i - 2 * across;
    int x, y;
    if (rest < 0) {
        y = i / width;
        x = i - y * width;
        y += y < RADIUS ? 0 : height - 2 * RADIUS;
    } else {
        y = rest / (2 * RADIUS);
        x = rest - y * (2 * RADIUS);
        x += x < RADIUS ? 0 : width - 2 * RADIUS;
        y += RADIUS;
    }
    if (rest < 2 * RADIUS * (height - 2 * RADIUS))
        out[y * width + x] = clamped(in, x, y, width, height);
}

#ifdef SAMPLER
__constant sampler_t nearest = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP_TO_EDGE | CLK_FILTER_NEAREST;

__kernel void sampled(__read_only image2d_t in, __global uchar *restrict out,
                      __global uchar *restrict scratch, int width, int height, int row, int side)
{
    const int x = get_global_id(0), y = get_global_id(1);
    uint sum = 0;
    if (x >= width || y >= height)
        return;
    for (int l = 0; l < SIDE; l++)
        for (int k = 0; k < SIDE; k++)
            sum += read_imageui(in, nearest, (int2)(x + k - RADIUS, y + l - RADIUS)).x *
                   (uint)weights[l * SIDE + k];
    out[y * width + x] = divide((int)sum);
}
#endif

#endif

/* ---- 8.8: the type of indices ---- */

#ifdef INDEX
__kernel void indexed ARGUMENTS
{
    const INDEX x = get_global_id(0), y = get_global_id(1), w = width, h = height, r = RADIUS;
    if (x >= w || y >= h)
        return;
    int sum = 0;
    for (INDEX l = 0; l < SIDE; l++)
        for (INDEX k = 0; k < SIDE; k++) {
            const INDEX row_at = y + l < r ? 0 : min(y + l - r, h - 1),
                        at = x + k < r ? 0 : min(x + k - r, w - 1);
            sum += in[row_at * w + at] * weights[l * SIDE + k];
        }
    out[y * w + x] = divide(sum);
}

#endif

/* ---- 8.4: loops ---- */

#ifdef UNROLL
#if UNROLL == 1
#define AGAIN  _Pragma("unroll 1")
#define ROUNDS SIDE
#elif UNROLL == 2
#define AGAIN
#define ROUNDS SIDE
#elif UNROLL == 3
#define AGAIN  _Pragma("unroll")
#define ROUNDS SIDE
#elif UNROLL == 4
#define AGAIN  __attribute__((opencl_unroll_hint(5)))
#define ROUNDS SIDE
#else
#define AGAIN
#define ROUNDS side
#endif

__kernel void looping ARGUMENTS
{
    const int x = get_global_id(0), y = get_global_id(1);
    if (x >= width || y >= height)
        return;
    int sum = 0;
    AGAIN
    for (int l = 0; l < ROUNDS; l++) {
        const int from = clamp(y + l - RADIUS, 0, height - 1) * width;
        AGAIN
        for (int k = 0; k < ROUNDS; k++)
            sum += in[from + clamp(x + k - RADIUS, 0, width - 1)] * weights[l * SIDE + k];
    }
    out[y * width + x] = divide(sum);
}

#define TAP(k, weight) in[from + clamp(x + k - RADIUS, 0, width - 1)] * weight
#define TAPS(l, a, b, c)                                                                                     \
    from = clamp(y + l - RADIUS, 0, height - 1) * width;                                                     \
    sum += TAP(0, a) + TAP(1, b) + TAP(2, c) + TAP(3, b) + TAP(4, a);

__kernel void by_hand ARGUMENTS
{
    const int x = get_global_id(0), y = get_global_id(1);
    if (x >= width || y >= height)
        return;
    int sum = 0, from;
    TAPS(0, 1, 4, 6)
    TAPS(1, 4, 16, 24)
    TAPS(2, 6, 24, 36)
    TAPS(3, 4, 16, 24)
    TAPS(4, 1, 4, 6)
    out[y * width + x] = divide(sum);
}
#endif
