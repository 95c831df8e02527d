/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef ALONG
#define ALONG 1 /* neighbouring work-items take neighbours in a row (1) or in a column (0) */
#endif
#ifndef MAD24
#define MAD24 1 /* indices by mul24 and mad24 */
#endif
#ifndef CAST
#define CAST 1 /* vectors through a cast pointer (1) or by vload4 and vstore4 (0) */
#endif
#ifndef ROWS
#define ROWS 4 /* rows per work-item */
#endif

/* The filter itself, for one element. */
inline PIXEL add_pixel(PIXEL a, PIXEL b)
{
#if FLOATING
    return a + b;
#else
    return add_sat(a, b);
#endif
}

#if defined(HONE_ALL) || defined(VARIANT_scalar)
/* One element per work-item: the guide's starting point, whose neighbouring work-items walk down a column. */
__kernel void add_scalar(__global const RAW *in, int in_offset, int in_pitch, __global const PIXEL *second,
                         int second_offset, int second_pitch, __global FINAL *out, int out_offset,
                         int out_pitch, int count, int height FUSED_PARAMETERS)
{
    struct source source = SOURCE_OF(in);
    struct sink sink = SINK_OF(out);
    int i = get_global_id(ALONG ? 0 : 1), y = get_global_id(ALONG ? 1 : 0);
    if (i >= count || y >= height)
        return;
    sink_put(&sink, i, y, add_pixel(source_get(&source, i, y), second[second_offset + y * second_pitch + i]));
}
#endif

#if defined(HONE_ALL) || defined(VARIANT_float4)
typedef VECTOR(PIXEL, 4) pixels;

inline pixels add_pixels(pixels a, pixels b)
{
#if FLOATING
    return a + b;
#else
    return add_sat(a, b);
#endif
}

/* row * pitch + 4 * i. The 24-bit multiplication is right for factors below 2^23; only callers with very long
 * padded rows have others. */
inline int vector_index(int i, int y, int pitch)
{
#if MAD24
    return pitch < (1 << 23) ? mad24(i, 4, mul24(y, pitch)) : y * pitch + i * 4;
#else
    return y * pitch + i * 4;
#endif
}

inline pixels load4(__global const PIXEL *p)
{
    return CAST ? *(__global const pixels *)p : vload4(0, p);
}

/* Four elements per work-item, as the guide's second listing has it; the last ones of a row one by one. */
__kernel void add_float4(__global const PIXEL *in, int in_offset, int in_pitch, __global const PIXEL *second,
                         int second_offset, int second_pitch, __global RESULT *out, int out_offset,
                         int out_pitch, int count, int height)
{
    int i = get_global_id(0), y = get_global_id(1), left = count - 4 * i;
    if (left <= 0 || y >= height)
        return;
    in += in_offset + vector_index(i, y, in_pitch);
    second += second_offset + vector_index(i, y, second_pitch);
    out += out_offset + vector_index(i, y, out_pitch);
    if (left < 4) {
        for (int k = 0; k < left; k++)
            out[k] = add_pixel(in[k], second[k]);
        return;
    }
    pixels sum = add_pixels(load4(in), load4(second));
    if (CAST)
        *(__global pixels *)out = sum;
    else
        vstore4(sum, 0, out);
}
#endif

#if defined(HONE_ALL) || defined(VARIANT_wide16)
#if HONE_T == 0
#define TOPS 0x80808080u /* the highest bit of each element in a word */
#define BITS 8
#elif HONE_T == 1
#define TOPS 0x80008000u
#define BITS 16
#endif
#define PER 16 / sizeof(PIXEL) /* elements of a vector */

/* Saturating sums of all elements that share a word, without unpacking: sums of all bits but the highest
 * carry into the highest; where that carries out, all bits are set. */
inline uint4 add_words(uint4 a, uint4 b)
{
#if FLOATING
    return as_uint4(as_float4(a) + as_float4(b));
#elif HONE_T == 3
    return as_uint4(add_sat(as_short8(a), as_short8(b)));
#else
    uint4 low = (a & ~TOPS) + (b & ~TOPS);
    uint4 over = ((a & b) | ((a | b) & low)) & TOPS;
    return (low ^ ((a ^ b) & TOPS)) | ((over - (over >> (BITS - 1))) | over);
#endif
}

/* `left` elements of some rows one by one, at the end of a row. */
inline void add_elements(const struct source *source, const struct sink *sink, __global const PIXEL *second,
                         int second_pitch, int i, int y, int left, int rows)
{
    for (int j = y; j < y + rows; j++)
        for (int k = i; k < i + left; k++)
            sink_put(sink, k, j, add_pixel(source_get(source, k, j), second[j * second_pitch + k]));
}

/* 16 bytes of each of ROWS rows per work-item: all loads are under way before the first sum is stored. */
__kernel void add_wide16(__global const PIXEL *in, int in_offset, int in_pitch, __global const PIXEL *second,
                         int second_offset, int second_pitch, __global RESULT *out, int out_offset,
                         int out_pitch, int count, int height)
{
    struct source source = SOURCE_OF(in);
    struct sink sink = SINK_OF(out);
    int i = get_global_id(0) * PER, y = get_global_id(1) * ROWS, rows = min(ROWS, height - y);
    if (i >= count || rows <= 0)
        return;
    second += second_offset;
    if (i + (int)(PER) > count) {
        add_elements(&source, &sink, second, second_pitch, i, y, min((int)(PER), count - i), rows);
        return;
    }
    in += in_offset + y * in_pitch + i;
    second += y * second_pitch + i;
    out += out_offset + y * out_pitch + i;
    uint4 a[ROWS], b[ROWS];
#pragma unroll
    for (int j = 0; j < ROWS; j++) {
        int row =
            min(j, rows - 1); /* a row too many is read again, not left out: no branch between the loads */
        a[j] = *(__global const uint4 *)(in + row * in_pitch);
        b[j] = *(__global const uint4 *)(second + row * second_pitch);
    }
#pragma unroll
    for (int j = 0; j < ROWS; j++)
        if (j < rows)
            *(__global uint4 *)(out + j * out_pitch) = add_words(a[j], b[j]);
}
#endif
