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
                             int out_offset, int out_pitch, int width, int height, int radius, BORDER_TYPE border,
                             NUMBER threshold)
{
    int x = get_global_id(0), y = get_global_id(1);
    if (x >= width || y >= height)
        return;
    in += in_offset;
    out += out_offset + y * out_pitch + x * HONE_C;
    bool leaves = x < radius || y < radius || x + radius >= width || y + radius >= height;
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
