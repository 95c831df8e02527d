/* SPDX-License-Identifier: BSD-2-Clause */
#if FLOATING
#define SUM float
#else
#define SUM uint
#endif

/* Half up, exactly. Floats sum differences from the centre, which are small whatever the pixels are. */
inline RESULT mean(NUMBER centre, SUM sum, SUM count)
{
#if FLOATING
    return centre + sum / count;
#else
    return (RESULT)((2 * (sum + centre) + count) / (2 * count));
#endif
}

/* What a near pixel adds to the sum. */
inline SUM term(NUMBER value, NUMBER centre)
{
    return FLOATING ? value - centre : value;
}

inline bool is_near(NUMBER value, NUMBER centre, NUMBER threshold)
{
#if FLOATING
    return fabs(value - centre) <= threshold;
#else
    return (NUMBER)abs(value - centre) <= threshold;
#endif
}

#if defined(HONE_ALL) || defined(VARIANT_direct)
/* One result per work-item, every pixel of the window read. */
__kernel void epsilon_direct(__global const PIXEL *in, int in_offset, int in_pitch, __global RESULT *out,
                             int out_offset, int out_pitch, int width, int height, int radius,
                             BORDER_TYPE border, NUMBER threshold)
{
    int x = get_global_id(0), y = get_global_id(1);
    if (x >= width || y >= height)
        return;
    in += in_offset;
    out += out_offset + y * out_pitch + x * HONE_C;
    bool leaves = hone_leaves(x - radius, y - radius, 2 * radius + 1, 2 * radius + 1, width, height);
    for (int channel = 0; channel < HONE_C; channel++) {
        NUMBER centre = in[y * in_pitch + x * HONE_C + channel];
        SUM sum = 0, count = 1;
        for (int j = -radius; j <= radius; j++) {
            int inside;
            __global const PIXEL *row = hone_row(in, in_pitch, y + j, height, &inside);
            for (int i = -radius; i <= radius; i++) {
                NUMBER value = hone_at(row, inside, x + i, channel, width, border);
                bool counts = (i != 0 || j != 0) && is_near(value, centre, threshold);
                sum += counts ? term(value, centre) : 0;
                count += counts;
            }
        }
        RESULT result = HONE_BORDER == BORDER_ZERO_OUTSIDE && leaves ? (RESULT)0 : mean(centre, sum, count);
        out[channel] = IS_ALPHA(channel) ? (RESULT)centre : result;
    }
}
#endif

#if defined(HONE_ALL) || defined(VARIANT_image)
/* The same through the texture unit, pixels read as whole numbers (floats: as they are). */
#include "filters/texels.clh"

__kernel void epsilon_image(__read_only image2d_t in, __global RESULT *out, int out_offset, int out_pitch,
                            sampler_t edge, int width, int height, int radius, NUMBER threshold)
{
    int x = get_global_id(0), y = get_global_id(1);
    if (x >= width || y >= height)
        return;
    texel centre = READ_IMAGE(in, edge, (int2)(x, y));
    SUM sum[HONE_C], count[HONE_C];
    for (int channel = 0; channel < HONE_C; channel++) {
        sum[channel] = 0;
        count[channel] = 1;
    }
    for (int j = -radius; j <= radius; j++)
        for (int i = -radius; i <= radius; i++) {
            texel t = READ_IMAGE(in, edge, (int2)(x + i, y + j));
            for (int channel = 0; channel < HONE_C; channel++) {
                NUMBER value = texel_channel(t, channel), middle = texel_channel(centre, channel);
                bool counts = (i != 0 || j != 0) && is_near(value, middle, threshold);
                sum[channel] += counts ? term(value, middle) : 0;
                count[channel] += counts;
            }
        }
    bool leaves = hone_leaves(x - radius, y - radius, 2 * radius + 1, 2 * radius + 1, width, height);
    out += out_offset + y * out_pitch + x * HONE_C;
    for (int channel = 0; channel < HONE_C; channel++) {
        NUMBER middle = texel_channel(centre, channel);
        RESULT result = HONE_BORDER == BORDER_ZERO_OUTSIDE && leaves
                            ? (RESULT)0
                            : mean(middle, sum[channel], count[channel]);
        out[channel] = IS_ALPHA(channel) ? (RESULT)middle : result;
    }
}
#endif

#if defined(HONE_ALL) || defined(VARIANT_unorm) || defined(VARIANT_unorm_half)
/* The guide's first two steps as they stand: pixels read as 0..1, sums of them in floats or in halves, and
 * the texture unit's own rounding on the way out. */
#if !defined(VARIANT_unorm_half)
#define NORMALISED epsilon_unorm
typedef float number;
#else
#define NORMALISED epsilon_unorm_half
#include "filters/halves.clh"
#endif

__kernel void NORMALISED(__read_only image2d_t in, __write_only image2d_t out, sampler_t edge, int width,
                         int height, int radius, float threshold)
{
    int x = get_global_id(0), y = get_global_id(1);
    if (x >= width || y >= height)
        return;
    /* Half a level beyond the whole one, so that rounding does not decide what is near. */
    const number zero = (number)0, one = (number)1, limit = (number)((threshold + 0.5f) / 255.0f);
    number centre = (number)read_imagef(in, edge, (int2)(x, y)).x, sum = zero, count = zero;
    for (int j = -radius; j <= radius; j++)
        for (int i = -radius; i <= radius; i++) {
            number p = (number)read_imagef(in, edge, (int2)(x + i, y + j)).x;
            number d = centre - p;
            bool near = (d < zero ? -d : d) <= limit;
            sum += near ? p : zero;
            count += near ? one : zero;
        }
    write_imagef(out, (int2)(x, y), (float4)((float)(sum / count), 0.0f, 0.0f, 1.0f));
}
#endif
