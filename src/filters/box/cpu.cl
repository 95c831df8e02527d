/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * For CPUs: one work-item owns a band of whole rows and works on 64-byte vectors of clang's own types, since vectorisers
 * do not find these (a factor of 59 was measured for a kernel of this kind).
 *
 * A row of column sums is updated from row to row (add the row that enters the window, subtract the one that leaves it), and
 * turned into a row of prefix sums. A window's sum is then one difference: both steps cost the same for every window.
 * Sums wrap around; differences are right as long as one window's sum fits.
 */
#ifndef SUM_BITS
#define SUM_BITS 16 /* 16 where a window's sum fits, else 32 */
#endif
#ifndef ROWS
#define ROWS 64 /* rows of a band */
#endif

#if SUM_BITS == 16
#define SUM   ushort
#define LANES 32
#else
#define SUM   uint
#define LANES 16
#endif

typedef SUM sums __attribute__((ext_vector_type(LANES)));
typedef PIXEL pixels __attribute__((ext_vector_type(LANES)));
typedef ulong longs __attribute__((ext_vector_type(LANES)));
typedef uint words __attribute__((ext_vector_type(LANES)));
typedef sums sums_at __attribute__((aligned(sizeof(SUM))));
typedef pixels pixels_at __attribute__((aligned(sizeof(PIXEL))));

#define LOAD_SUMS(p)     (*(__global const sums_at *)(p))
#define STORE_SUMS(p, v) (*(__global sums_at *)(p) = (v))
#define LOAD_PIXELS(p)   (*(__global const pixels_at *)(p))

/* Lane i of the result is lane i-k of v; the first k are 0. */
#define FROM(i, k) ((i) < (k) ? 0 : LANES + (i) - (k))
#define FROM4(i, k) FROM(i, k), FROM((i) + 1, k), FROM((i) + 2, k), FROM((i) + 3, k)
#define FROM16(i, k) FROM4(i, k), FROM4((i) + 4, k), FROM4((i) + 8, k), FROM4((i) + 12, k)
/* The running sums at the end of one vector, for every lane of the next: lane i continues lane LANES - C + i % C. */
#define LAST(i) (LANES - HONE_C + (i) % HONE_C)
#define LAST4(i) LAST(i), LAST((i) + 1), LAST((i) + 2), LAST((i) + 3)
#define LAST16(i) LAST4(i), LAST4((i) + 4), LAST4((i) + 8), LAST4((i) + 12)
#if LANES == 32
#define SHIFT(v, k) __builtin_shufflevector((sums)0, v, FROM16(0, k), FROM16(16, k))
#define CARRY(v)    __builtin_shufflevector(v, v, LAST16(0), LAST16(16))
#else
#define SHIFT(v, k) __builtin_shufflevector((sums)0, v, FROM16(0, k))
#define CARRY(v)    __builtin_shufflevector(v, v, LAST16(0))
#endif

/* Running sums over pixels inside a vector: channels are HONE_C elements apart. */
inline sums scan(sums v)
{
    v += SHIFT(v, HONE_C);
    v += SHIFT(v, 2 * HONE_C);
    v += SHIFT(v, 4 * HONE_C);
#if 8 * HONE_C < LANES
    v += SHIFT(v, 8 * HONE_C);
#endif
#if 16 * HONE_C < LANES
    v += SHIFT(v, 16 * HONE_C);
#endif
    return v;
}

/* sum / area, rounded half up: exact, see division_constants(). */
inline PIXEL divide(SUM sum, uint half_area, uint multiplier, uint shift)
{
#if SUM_BITS == 16
    return (PIXEL)((((uint)sum + half_area) * multiplier) >> shift);
#else
    return (PIXEL)(((ulong)(sum + half_area) * multiplier) >> shift);
#endif
}

inline pixels divide_vector(sums sum, uint half_area, uint multiplier, uint shift)
{
#if SUM_BITS == 16
    /* the host chose 16 <= shift, so that the upper half of the product is all that is needed */
    words product = __builtin_convertvector(sum + (ushort)half_area, words) * (words)multiplier;
    sums high = __builtin_convertvector(product >> 16u, sums);
    return __builtin_convertvector(high >> (ushort)(shift - 16), pixels);
#else
    longs product = __builtin_convertvector(sum + half_area, longs) * (longs)multiplier;
    return __builtin_convertvector(product >> (ulong)shift, pixels);
#endif
}

/* The elements of an input row, or the border value everywhere. */
struct source_row {
    __global const PIXEL *at;
    int inside;
};

inline struct source_row source_row(__global const PIXEL *in, int pitch, int y, int height)
{
    struct source_row row;
    row.at = hone_row(in, pitch, y, height, &row.inside);
    return row;
}

inline sums row_sums(struct source_row row, int i, uint outside)
{
    return HONE_BORDER != BORDER_CONSTANT || row.inside ? __builtin_convertvector(LOAD_PIXELS(row.at + i), sums)
                                                        : (sums)(SUM)outside;
}

inline SUM row_sum(struct source_row row, int i, uint outside)
{
    return HONE_BORDER != BORDER_CONSTANT || row.inside ? (SUM)row.at[i] : (SUM)outside;
}

/* columns[i] += enter[i] - leave[i] */
inline void update(__global SUM *columns, int count, struct source_row enter, struct source_row leave, uint outside)
{
    int i = 0;
    for (; i + LANES <= count; i += LANES)
        STORE_SUMS(columns + i, LOAD_SUMS(columns + i) + row_sums(enter, i, outside) - row_sums(leave, i, outside));
    for (; i < count; i++)
        columns[i] += row_sum(enter, i, outside) - row_sum(leave, i, outside);
}

inline void add(__global SUM *columns, int count, struct source_row enter, uint outside)
{
    int i = 0;
    for (; i + LANES <= count; i += LANES)
        STORE_SUMS(columns + i, LOAD_SUMS(columns + i) + row_sums(enter, i, outside));
    for (; i < count; i++)
        columns[i] += row_sum(enter, i, outside);
}

/* The columns beyond both edges hold what the border rule says: sums of the columns they fold onto. */
inline void extend(__global SUM *columns, int width, int left, int right, SUM outside)
{
    for (int x = -left; x < width + right; x++) {
        if (x == 0)
            x = width;
        int from = hone_fold(x, width);
        for (int channel = 0; channel < HONE_C && x < width + right; channel++)
            columns[x * HONE_C + channel] = from < 0 ? outside : columns[from * HONE_C + channel];
    }
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

#if HONE_C == 4
#define ALPHA1 0, 0, 0, 1
#define ALPHA4 ALPHA1, ALPHA1, ALPHA1, ALPHA1
#if LANES == 32
#define ALPHA ALPHA4, ALPHA4
#else
#define ALPHA ALPHA4
#endif
#endif

inline void write_row(__global const SUM *prefix, __global const PIXEL *centre, __global RESULT *out, int count,
                      int kernel_width, uint half_area, uint multiplier, uint shift)
{
    __global const SUM *ahead = prefix + kernel_width * HONE_C;
    int i = 0;
    for (; i + LANES <= count; i += LANES) {
        pixels v = divide_vector(LOAD_SUMS(ahead + i) - LOAD_SUMS(prefix + i), half_area, multiplier, shift);
#if HONE_C == 4
        const pixels alpha = {ALPHA};
        v = v * ((PIXEL)1 - alpha) + LOAD_PIXELS(centre + i) * alpha;
#endif
        *(__global pixels_at *)(out + i) = v;
    }
    for (; i < count; i++)
        out[i] = IS_ALPHA(i % HONE_C)
                     ? centre[i]
                     : divide((SUM)(ahead[i] - prefix[i]), half_area, multiplier, shift);
}

inline void clear_outside(__global RESULT *out, int y, int width, int height, int kernel_width, int kernel_height)
{
    int top = kernel_height / 2, left = kernel_width / 2, right = kernel_width - 1 - left;
    bool row_leaves = y < top || y + kernel_height - 1 - top >= height;
    for (int x = 0; x < width; x++) {
        if (!row_leaves && x == left)
            x = max(left, width - right);
        for (int channel = 0; channel < HONE_C && x < width; channel++)
            if (!IS_ALPHA(channel))
                out[x * HONE_C + channel] = 0;
    }
}

__kernel void box_bands(__global const PIXEL *in, int in_offset, int in_pitch, __global RESULT *out, int out_offset,
                        int out_pitch, int width, int height, int kernel_width, int kernel_height,
                        BORDER_TYPE border, uint half_area, uint multiplier, uint shift, __global SUM *scratch,
                        int scratch_elements)
{
    int band = get_global_id(0);
    int y = band * ROWS, end = min(y + ROWS, height);
    int left = kernel_width / 2, right = kernel_width - 1 - left, top = kernel_height / 2;
    int count = width * HONE_C, extended = (width + kernel_width - 1) * HONE_C;
    if (y >= height)
        return;
    __global SUM *columns = scratch + (size_t)band * scratch_elements + left * HONE_C;
    __global SUM *prefix = columns - left * HONE_C + extended;
    in += in_offset;
    out += out_offset;
    for (int i = 0; i < count; i++)
        columns[i] = 0;
    for (int j = 0; j < kernel_height; j++)
        add(columns, count, source_row(in, in_pitch, y - top + j, height), border);
    for (; y < end; y++) {
        extend(columns, width, left, right, (SUM)(border * kernel_height));
        integrate(columns - left * HONE_C, prefix, extended);
        write_row(prefix, in + y * in_pitch, out + y * out_pitch, count, kernel_width, half_area, multiplier, shift);
#if HONE_BORDER == BORDER_ZERO_OUTSIDE
        clear_outside(out + y * out_pitch, y, width, height, kernel_width, kernel_height);
#endif
        update(columns, count, source_row(in, in_pitch, y - top + kernel_height, height),
               source_row(in, in_pitch, y - top, height), border);
    }
}
