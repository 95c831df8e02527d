/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * For CPUs: one work-item owns a band of whole rows and works on 64-byte vectors of clang's own types, since
 * vectorisers do not find these (a factor of 59 was measured for a kernel of this kind).
 *
 * A row of column sums is updated from row to row (add the row that enters the window, subtract the one that
 * leaves it), and turned into a row of prefix sums. A window's sum is then one difference: both steps cost
 * the same for every window. Sums wrap around; differences are right as long as one window's sum fits.
 */
#ifndef SUM_BITS
#define SUM_BITS 16 /* 16 where a window's sum fits, else 32 */
#endif
#ifndef ROWS
#define ROWS 64 /* rows of a band */
#endif

#include "filters/sums.clh"
#define CELL SUM
#include "filters/bands.clh"

DEFINE_VECTORS(PIXEL, pixels);
DEFINE_VECTORS(uint, words);
#if SUM_BITS == 32
typedef ulong longs __attribute__((ext_vector_type(LANES / 2))); /* of as many bytes as sums */
#endif

#define LOAD_SUMS(p)     (*(__global const sums_at *)(p))
#define STORE_SUMS(p, v) (*(__global sums_at *)(p) = (v))

/* Signed pixels are divided 2^15 higher each, as unsigned ones: the host adds that to half_area. */
#define LOWEST (HONE_T == 3 ? 32768 : 0)

/* sum / area, rounded half up: exact, see division_constants(). */
inline PIXEL divide(SUM sum, uint half_area, uint multiplier, uint shift)
{
#if SUM_BITS == 16
    return (PIXEL)((((uint)(SUM)(sum + half_area) * multiplier) >> shift) - LOWEST);
#else
    return (PIXEL)(((ulong)(sum + half_area) * multiplier >> shift) - LOWEST);
#endif
}

inline pixels divide_vector(sums sum, uint half_area, uint multiplier, uint shift)
{
#if SUM_BITS == 16
    /* the host chose 16 <= shift, so that the upper half of the product is all that is needed */
    words product = CONVERT(sum + (ushort)half_area, words) * (words)multiplier;
    sums high = CONVERT(product >> 16u, sums);
    return CONVERT((high >> (ushort)(shift - 16)) - (ushort)LOWEST, pixels);
#else
    /* Even lanes and odd ones apart: products of 64 bits without a lane that moves. */
    longs both = __builtin_astype(sum + half_area, longs);
    longs even = (both & (ulong)UINT_MAX) * (ulong)multiplier >> (ulong)shift;
    longs odd = (both >> 32ul) * (ulong)multiplier >> (ulong)shift << 32ul;
    sums quotient = __builtin_astype(even | odd, sums);
    return CONVERT(quotient - (uint)LOWEST, pixels);
#endif
}

/* A row of the input (y may be outside of the image), or the border value everywhere. */
struct line {
    const struct source *source;
    int y, inside;
};

inline struct line line_of(const struct source *source, int y, int height)
{
    int row = hone_fold(y, height);
    struct line line = {source, max(row, 0), row >= 0};
    return line;
}

inline pixels load_pixels(const struct source *source, int i, int y)
{
    return *(__global const pixels_at *)(source->at + y * source->pitch + i);
}

inline sums row_sums(struct line row, int i, uint outside)
{
    return HONE_BORDER != BORDER_CONSTANT || row.inside ? CONVERT(load_pixels(row.source, i, row.y), sums)
                                                        : (sums)(SUM)outside;
}

inline SUM row_sum(struct line row, int i, uint outside)
{
    return HONE_BORDER != BORDER_CONSTANT || row.inside ? (SUM)source_get(row.source, i, row.y)
                                                        : (SUM)outside;
}

/* columns[i] += enter[i] - leave[i] */
inline void update(__global SUM *columns, int count, struct line enter, struct line leave, uint outside)
{
    int i = 0;
    for (; i + LANES <= count; i += LANES)
        STORE_SUMS(columns + i,
                   LOAD_SUMS(columns + i) + row_sums(enter, i, outside) - row_sums(leave, i, outside));
    for (; i < count; i++)
        columns[i] += row_sum(enter, i, outside) - row_sum(leave, i, outside);
}

inline void add(__global SUM *columns, int count, struct line enter, uint outside)
{
    int i = 0;
    for (; i + LANES <= count; i += LANES)
        STORE_SUMS(columns + i, LOAD_SUMS(columns + i) + row_sums(enter, i, outside));
    for (; i < count; i++)
        columns[i] += row_sum(enter, i, outside);
}

/* prefix[i + C] = prefix[i] + columns[i], starting from zeros. */
inline void integrate(__global const SUM *columns, __global SUM *prefix, int count)
{
    sums carry = 0;
    int i = 0;
    for (int channel = 0; channel < HONE_C; channel++)
        prefix[channel] = 0;
    for (; i + LANES <= count; i += LANES) {
        sums v = scan(LOAD_SUMS(columns + i)) + carry;
        STORE_SUMS(prefix + i + HONE_C, v);
        carry = CARRY(v);
    }
    for (; i < count; i++)
        prefix[i + HONE_C] = prefix[i] + columns[i];
}

inline void store_pixels(const struct sink *sink, int i, int y, pixels v)
{
    *(__global pixels_at *)(sink->at + y * sink->pitch + i) = v;
}

inline void write_row(__global const SUM *prefix, const struct source *source, const struct sink *sink, int y,
                      int count, int kernel_width, uint half_area, uint multiplier, uint shift)
{
    __global const SUM *ahead = prefix + kernel_width * HONE_C;
    int i = 0;
    for (; i + LANES <= count; i += LANES) {
        pixels v = divide_vector(LOAD_SUMS(ahead + i) - LOAD_SUMS(prefix + i), half_area, multiplier, shift);
        store_pixels(sink, i, y, WITH_ALPHA(v, load_pixels(source, i, y)));
    }
    for (; i < count; i++)
        sink_put(sink, i, y,
                 IS_ALPHA(i % HONE_C) ? source_get(source, i, y)
                                      : divide((SUM)(ahead[i] - prefix[i]), half_area, multiplier, shift));
}

__kernel void box_bands(__global const PIXEL *in, int in_offset, int in_pitch, __global RESULT *out,
                        int out_offset, int out_pitch, int width, int height, int kernel_width,
                        int kernel_height, BORDER_TYPE border, uint half_area, uint multiplier, uint shift,
                        __global SUM *scratch, int scratch_elements)
{
    struct source source = SOURCE_OF(in);
    struct sink sink = SINK_OF(out);
    int band = get_global_id(0);
    int y = band * ROWS, end = min(y + ROWS, height);
    int left = kernel_width / 2, right = kernel_width - 1 - left, top = kernel_height / 2;
    int count = width * HONE_C, extended = (width + kernel_width - 1) * HONE_C;
    if (y >= height)
        return;
    __global SUM *columns = scratch + (size_t)band * scratch_elements + left * HONE_C;
    __global SUM *prefix = columns - left * HONE_C + extended;
    for (int i = 0; i < count; i++)
        columns[i] = 0;
    for (int j = 0; j < kernel_height; j++)
        add(columns, count, line_of(&source, y - top + j, height), border);
    for (; y < end; y++) {
        extend(columns, width, left, right, (SUM)(border * kernel_height));
        integrate(columns - left * HONE_C, prefix, extended);
        write_row(prefix, &source, &sink, y, count, kernel_width, half_area, multiplier, shift);
        clear_outside(&sink, y, width, height, kernel_width, kernel_height);
        update(columns, count, line_of(&source, y - top + kernel_height, height),
               line_of(&source, y - top, height), border);
    }
}
