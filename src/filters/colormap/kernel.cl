/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef MAP
#define MAP 0 /* index of the map */
#endif
#ifndef WORDS
#define WORDS 4 /* words of the result per work-item */
#endif

#define LEVELS 256

/* The filter itself, in two steps: the level of a pixel, and (by variant) the colour of a level, which has
 * red, green and blue in its bytes 0, 1 and 2. */
inline uint level_of(PIXEL value)
{
#if HONE_T == 0
    return value;
#elif HONE_T == 1
    return ((uint)value * 255u + 32895u) >> 16; /* exactly (value + 128) / 257 */
#elif HONE_T == 3
    return ((uint)(value + 32768) * 255u + 32895u) >> 16;
#else
    return hone_result(value * 255.0f);
#endif
}

inline void store_color(__global uchar *out, uint color)
{
    vstore3(as_uchar4(color).xyz, 0, out);
}

#if defined(HONE_ALL) || defined(VARIANT_constant)
/* One pixel per work-item, the palette in constant memory. */
__kernel void colormap_constant(__global const RAW *in, int in_offset, int in_pitch, __global uchar *out,
                                int out_offset, int out_pitch, __constant uint *palette, int width,
                                int height FUSED_PARAMETERS)
{
    struct source source = SOURCE_OF(in);
    int x = get_global_id(0), y = get_global_id(1);
    if (x >= width || y >= height)
        return;
    store_color(out + out_offset + y * out_pitch + 3 * x, palette[level_of(source_get(&source, x, y))]);
}
#endif

#if defined(HONE_ALL) || defined(VARIANT_image)
__kernel void colormap_paint(__constant uint *palette, __write_only image2d_t painted)
{
    int level = get_global_id(0);
    if (level < LEVELS)
        write_imageui(painted, (int2)(level, 0), convert_uint4(as_uchar4(palette[level])));
}

/* One pixel per work-item, the palette read through the texture unit. */
__kernel void colormap_image(__global const PIXEL *in, int in_offset, int in_pitch, __global uchar *out,
                             int out_offset, int out_pitch, __read_only image2d_t palette, sampler_t nearest,
                             int width, int height)
{
    int x = get_global_id(0), y = get_global_id(1);
    if (x >= width || y >= height)
        return;
    int level = level_of(in[in_offset + y * in_pitch + x]);
    uchar4 color = convert_uchar4(read_imageui(palette, nearest, (int2)(level, 0)));
    store_color(out + out_offset + y * out_pitch + 3 * x, as_uint(color));
}
#endif

#if defined(HONE_ALL) || defined(VARIANT_formula)
/* The rainbow walks four edges of the colour cube; gray is the level three times. */
inline uint color_by_formula(uint level)
{
#if MAP == 0
    int way = 4 * (int)level;
    uint red = clamp(way - 510, 0, 255), green = min(min(way, 1020 - way), 255),
         blue = clamp(510 - way, 0, 255);
    return red | green << 8 | blue << 16;
#else
    return level * 0x10101u;
#endif
}

__kernel void colormap_formula(__global const PIXEL *in, int in_offset, int in_pitch, __global uchar *out,
                               int out_offset, int out_pitch, int width, int height)
{
    int x = get_global_id(0), y = get_global_id(1);
    if (x >= width || y >= height)
        return;
    uint color = color_by_formula(level_of(in[in_offset + y * in_pitch + x]));
    store_color(out + out_offset + y * out_pitch + 3 * x, color);
}
#endif

#if defined(HONE_ALL) || defined(VARIANT_polynomial)
#define TERMS 15

inline float polynomial(__constant float *terms, float s)
{
    float value = terms[TERMS - 1];
#pragma unroll
    for (int i = TERMS - 2; i >= 0; i--)
        value = value * s + terms[i];
    return value;
}

/* One pixel per work-item, three polynomials of its level. */
__kernel void colormap_polynomial(__global const PIXEL *in, int in_offset, int in_pitch, __global uchar *out,
                                  int out_offset, int out_pitch, __constant float *fit, int width, int height)
{
    int x = get_global_id(0), y = get_global_id(1);
    if (x >= width || y >= height)
        return;
    float s = (float)level_of(in[in_offset + y * in_pitch + x]) * (2.0f / 255.0f) - 1.0f;
    out += out_offset + y * out_pitch + 3 * x;
    for (int channel = 0; channel < 3; channel++)
        out[channel] = convert_uchar_sat_rte(polynomial(fit + channel * TERMS, s));
}
#endif

#if defined(HONE_ALL) || defined(VARIANT_words) || defined(VARIANT_staged)
inline void store_word(__global uchar *out, uint word, int bytes, bool aligned)
{
    if (aligned && bytes >= 4) {
        *(__global uint *)out = word;
        return;
    }
    for (int i = 0; i < min(bytes, 4); i++)
        out[i] = (uchar)(word >> 8 * i);
}
#endif

#if defined(HONE_ALL) || defined(VARIANT_staged)
#ifndef BATCH
#define BATCH 4 /* rows that are loaded together */
#endif

/* Four pixels as they lie, which are taken apart only when all rows of a batch are on their way. */
#if FLOATING
typedef uint4 four_pixels;
#define AS_FOUR(v) as_uint4(v)
#define PARTS(v)   as_float4(v)
#elif HONE_T == 0
typedef uint four_pixels;
#define AS_FOUR(v) as_uint(v)
#define PARTS(v)   as_uchar4(v)
#else
typedef uint2 four_pixels;
#define AS_FOUR(v) as_uint2(v)
#if HONE_T == 1
#define PARTS(v) as_ushort4(v)
#else
#define PARTS(v) as_short4(v)
#endif
#endif

/* Of a row, of which the ones behind its end are the last one again. */
inline four_pixels load_four(const struct source *source, int x, int y, int width)
{
#if !HONE_BEFORE
    __global const PIXEL *from = source->at + y * source->pitch + x;
    if (x + 4 <= width && ((size_t)from & (4 * sizeof(PIXEL) - 1)) == 0)
        return *(__global const four_pixels *)from;
#endif
    VECTOR(PIXEL, 4) v;
    int last = width - 1;
    v.x = source_get(source, min(x, last), y);
    v.y = source_get(source, min(x + 1, last), y);
    v.z = source_get(source, min(x + 2, last), y);
    v.w = source_get(source, min(x + 3, last), y);
    return AS_FOUR(v);
}

inline void load_batch(four_pixels v[BATCH], const struct source *source, int x, int y, int end, int width)
{
#pragma unroll
    for (int k = 0; k < BATCH; k++)
        v[k] = load_four(source, x, min(y + k, end - 1), width);
}

/* Twelve bytes of four colours. */
inline void stage_colors(__local uint *words, __local const uint *palette, four_pixels pixels)
{
    VECTOR(PIXEL, 4) v = PARTS(pixels);
    uint a = palette[level_of(v.x)], b = palette[level_of(v.y)], c = palette[level_of(v.z)],
         d = palette[level_of(v.w)];
    words[0] = a | b << 24;
    words[1] = b >> 8 | c << 16;
    words[2] = c >> 16 | d << 8;
}

/*
 * A work-item looks up four pixels and leaves their twelve bytes in local memory, from where neighbouring
 * work-items write neighbouring words. The rows of a work-group share its copy of the palette, and take two
 * halves of `stage` by turns: one barrier to a row.
 */
__kernel void colormap_staged(__global const RAW *in, int in_offset, int in_pitch, __global uchar *out,
                              int out_offset, int out_pitch, __global const uint *palette, __local uint *near,
                              __local uint *stage, int width, int height, int rows FUSED_PARAMETERS)
{
    struct source source = SOURCE_OF(in);
    int lane = get_local_id(0), lanes = get_local_size(0), x0 = get_group_id(0) * lanes * 4;
    int y = get_group_id(1) * rows, end = min(y + rows, height);
    four_pixels v[BATCH];
    load_batch(v, &source, x0 + 4 * lane, y, end, width);
    for (int i = lane; i < LEVELS; i += lanes)
        near[i] = palette[i];
    barrier(CLK_LOCAL_MEM_FENCE);
    out += out_offset + 3 * x0;
    for (;;) {
#pragma unroll
        for (int k = 0; k < BATCH; k++, y++) {
            if (y >= end)
                return;
            __local uint *words = stage + y % 2 * 3 * lanes;
            stage_colors(words + 3 * lane, near, v[k]);
            barrier(CLK_LOCAL_MEM_FENCE);
            __global uchar *row = out + y * out_pitch;
            bool aligned = ((size_t)row & 3) == 0;
            for (int i = lane; i < 3 * lanes; i += lanes)
                if (4 * i < 3 * (width - x0))
                    store_word(row + 4 * i, words[i], 3 * (width - x0) - 4 * i, aligned);
        }
        if (y >= end)
            return;
        load_batch(v, &source, x0 + 4 * lane, y, end, width);
    }
}
#endif

#if defined(HONE_ALL) || defined(VARIANT_words)
/* Four bytes of the result lie in two pixels; `byte` is the first. */
inline uint word_at(const struct source *source, __local const uint *palette, int byte, int y, int width)
{
    int x = byte / 3;
    ulong two = palette[level_of(source_get(source, x, y))] |
                (ulong)palette[level_of(source_get(source, min(x + 1, width - 1), y))] << 24;
    return (uint)(two >> 8 * (byte - 3 * x));
}

/* Words of the result, so that neighbouring work-items write whole neighbouring words; the palette in local
 * memory, where lanes that want different colours do not wait for each other. */
__kernel void colormap_words(__global const RAW *in, int in_offset, int in_pitch, __global uchar *out,
                             int out_offset, int out_pitch, __global const uint *palette, __local uint *near,
                             int width, int height FUSED_PARAMETERS)
{
    struct source source = SOURCE_OF(in);
    int lane = get_local_id(0), lanes = get_local_size(0), y = get_global_id(1);
    for (int i = lane; i < LEVELS; i += lanes)
        near[i] = palette[i];
    barrier(CLK_LOCAL_MEM_FENCE);
    out += out_offset + y * out_pitch;
    bool aligned = ((size_t)out & 3) == 0;
    int first = get_group_id(0) * lanes * WORDS + lane;
#pragma unroll
    for (int k = 0; k < WORDS; k++) {
        int byte = 4 * (first + k * lanes), left = 3 * width - byte;
        if (left > 0)
            store_word(out + byte, word_at(&source, near, byte, y, width), left, aligned);
    }
}
#endif
