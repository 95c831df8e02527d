/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * For GPUs: a work-item makes a block of PX x ROWS results of one channel. Each row that their windows see is
 * loaded once, as words of one, two or four samples of that channel, and serves all rows of results that it
 * belongs to.
 *
 * bytes: four neighbours of one pixel in a register. With d = |n - centre| in each byte, d is near where d +
 * (127 - threshold) stays below 128, computed in the lower seven bits so that no byte carries into the next.
 * The flags, 128 or 0, are multiplied with the neighbours and with ones by dot products of four bytes: 128
 * times the sum and the count.
 *
 * halves: one neighbour of two pixels in a register, in half precision, which holds integers up to 2048
 * exactly. With d = n - centre, m = saturate(threshold + 1 - |d|) is 1 for what is near and 0 for what is
 * far; sums of m * d are moved to floats before they can pass 2048. 0x6400 | p is 1024 + p, so a byte becomes
 * a number without a conversion.
 *
 * shorts: two neighbours of one sample of 16 bits in a register. With low = centre - threshold (at least 0),
 * n - low, which wraps around, is at most `span` for what is near and larger for what is far. Sums of
 * min(n - low, span) and of min(n - low, span + 1) differ by the number of those that are far.
 *
 * floats: one neighbour in a register. Where it is near, it counts, and its distance is summed.
 */
#ifndef PX
#define PX 8 /* results per work-item, across */
#endif
#ifndef ROWS
#define ROWS 4 /* and down */
#endif
#ifndef RADIUS
#define RADIUS 4 /* of the window */
#endif
#ifndef HIGH
#define HIGH 0 /* 1: the threshold is 128 or more */
#endif
#ifndef FLUSH
#define FLUSH 0 /* neighbours whose sum fits a half; 0: all */
#endif
#ifndef WITH_DPX
#define WITH_DPX 0 /* 1: the compiler takes NVIDIA's instructions for two numbers of 16 bits */
#endif
#define SIDE    (2 * RADIUS + 1)
#define PART    (4 / (int)sizeof(PIXEL))     /* samples of a word */
#define EDGE    ((RADIUS + PART - 1) / PART) /* words left and right of the block */
#define WORDS   (PX / PART)
#define ALL     (WORDS + 2 * EDGE)
#define FIRST   (PART * EDGE - RADIUS)    /* where the first window begins in a row */
#define COLOURS (HONE_ALPHA ? 3 : HONE_C) /* channels that are filtered */

#include "filters/planes.clh"

/* One of a word's samples. */
#if FLOATING
#define LIMITS             float
#define SAMPLE_OF(word, i) as_float(word)
#else
#define LIMITS             uint
#define SAMPLE_OF(word, i) ((PIXEL)((word) >> WORD_BITS * (i)))
#endif

struct block {
    __global const PIXEL *in;
    int pitch, width, height;
    BORDER_TYPE border;
    int at; /* the block's first column */
    struct plane plane;
};

/* Whether all that the block's windows see lies inside the image. */
inline bool inside_image(const struct block *b, int y, int rows)
{
    int from = b->at - PART * EDGE;
    return from >= 0 && from + PART * ALL <= b->width && y >= RADIUS && y + rows + RADIUS <= b->height;
}

inline void load_row(uint *w, const struct block *b, int y, bool plain)
{
    int inside, from = b->at - PART * EDGE;
    if (plain) {
        __global const uint *at = (__global const uint *)(b->in + y * b->pitch + from * HONE_C);
#pragma unroll
        for (int k = 0; k < ALL; k++)
            w[k] = plane_word(at + HONE_C * k, &b->plane);
        return;
    }
    __global const PIXEL *row = hone_row(b->in, b->pitch, y, b->height, &inside);
#pragma unroll
    for (int k = 0; k < ALL; k++)
        w[k] = edge_plane_word(row, inside, from + PART * k, b->plane.channel, b->width, b->border);
}

/* The centres of a row of results; beyond the image, where nothing is stored, its last pixel. */
inline void load_centres(uint *pixel, const struct block *b, int y)
{
    __global const PIXEL *row = b->in + min(y, b->height - 1) * b->pitch + b->plane.channel;
#pragma unroll
    for (int k = 0; k < PX; k++)
        pixel[k] = BITS_OF(row[min(b->at + k, b->width - 1) * HONE_C]);
}

/* Words beyond the last hold only lanes that do not count. */
#define WORD(w, q) ((q) < ALL ? (w)[(q) < ALL ? (q) : 0] : 0u)

/*
 * The nearest whole number, halves upwards, of sum / count for |sum / count| < 256 and counts up to 961: what
 * is no half is at least 1/1922 away from one, and the quotient is off by less than 1/8192.
 */
inline float rounded(float sum, float count)
{
#if WITH_PTX
    float reciprocal = native_recip(count); /* 1 ulp there */
#else
    float reciprocal = 1.0f / count;
#endif
    return floor(sum * reciprocal + (0.5f + 1.0f / 4096));
}

/* `out` is where the block's first pixel goes. */
inline void store_row(__global PIXEL *out, const struct block *b, int y, const uint *result)
{
    int left = b->width - b->at;
#if HONE_C == 1
#pragma unroll
    for (int k = 0; k < WORDS; k++) {
        uint word = clear_leaving(result[k], b->at + PART * k, y, SIDE, SIDE, b->width, b->height);
        if (PART * k + PART <= left)
            *(__global uint *)(out + PART * k) = word;
        else
            for (int i = 0; i < left - PART * k; i++)
                out[PART * k + i] = SAMPLE_OF(word, i);
    }
#else
#pragma unroll
    for (int k = 0; k < PX; k++) {
        bool nothing = HONE_BORDER == BORDER_ZERO_OUTSIDE &&
                       hone_leaves(b->at + k - RADIUS, y - RADIUS, SIDE, SIDE, b->width, b->height);
        if (k < left)
            out[k * HONE_C + b->plane.channel] = nothing ? (PIXEL)0 : SAMPLE_OF(result[k / PART], k % PART);
    }
#endif
#if HONE_ALPHA /* which the work-items of the three colours copy by turns */
    __global const PIXEL *row = b->in + y * b->pitch + b->at * HONE_C;
    for (int k = b->plane.channel; k < min(left, PX); k += COLOURS)
        out[k * HONE_C + 3] = row[k * HONE_C + 3];
#endif
}

#if HONE_T == 0 && !defined(VARIANT_halves)
#define KERNEL epsilon_bytes

#if WITH_PTX
inline uint distances(uint a, uint b)
{
    uint r;
    asm("vabsdiff4.u32.u32.u32 %0, %1, %2, %3;" : "=r"(r) : "r"(a), "r"(b), "r"(0u));
    return r;
}
#else
inline uint distances(uint a, uint b)
{
    return as_uint(abs_diff(as_uchar4(a), as_uchar4(b)));
}
#endif

#define BYTES(n) ((uint)(n)*0x01010101u)

/* Windows whose radius is a multiple of four have whole words left and right of the centre, and above and
 * below it. */
#if RADIUS % 4 == 0
#define CROSS 1
#define STEPS (RADIUS / 2)
#else
#define CROSS 0
#define STEPS ((SIDE + 3) / 4)
#endif

struct sums {
    uint sum[PX], count[PX]; /* times 128 */
    uint centre[PX];         /* in all four bytes */
};

/* Four of the eight bytes of two words, from byte `first` on: 1 to 3. */
inline uint bytes_from(uint low, uint high, int first)
{
#if WITH_PTX
    return hone_bytes(low, high, 0x3210u + 0x1111u * first);
#else
    return (uint)(upsample(high, low) >> 8 * first);
#endif
}

/* The last three bytes of a column's four and a new one: byte `place` of a word. */
inline uint moved_down(uint column, uint word, int place)
{
#if WITH_PTX
    return hone_bytes(column, word, 0x4321u + 0x1000u * place);
#else
    return column >> 8 | word >> 8 * place << 24;
#endif
}

/* The four bytes that begin at element e. */
#define FROM(w, e) ((e) % 4 ? bytes_from(WORD(w, (e) / 4), WORD(w, (e) / 4 + 1), (e) % 4) : WORD(w, (e) / 4))

/* What a row gives to all rows of results. */
struct row {
    uint w[ALL];
    uint down[PX]; /* the last four rows of the centres' columns */
};

inline void clear(struct row *r)
{
#pragma unroll
    for (int k = 0; k < PX; k++)
        r->down[k] = 0;
}

inline void prepare(struct row *r)
{
#if CROSS
#pragma unroll
    for (int k = 0; k < PX; k++)
        r->down[k] = moved_down(r->down[k], r->w[EDGE + k / 4], k % 4);
#endif
}

/* `lanes`: those that count. */
inline void add(struct sums *s, int k, uint n, uint bias, uint lanes)
{
    uint d = distances(n, s->centre[k]);
    uint t = (d & BYTES(127)) + bias;
    uint near = ~(HIGH ? t & d : t | d) & lanes;
    s->count[k] = hone_dot4(near, BYTES(1), s->count[k]);
    s->sum[k] = hone_dot4(near, n, s->sum[k]);
}

/* Whether row `off` below the centre ends four rows above or below it that begin or end beside it. */
#define ENDS_FOUR(off) (((off) < 0 && ((off)&3) == 3) || ((off) > 0 && ((off)&3) == 0))

/* Row `place` of the windows, from 0 on, and with each fourth one the last four rows of the centres'
 * columns. */
inline void add_row(struct sums *s, const struct row *r, int place, uint bias)
{
#pragma unroll
    for (int k = 0; k < PX; k++) {
#pragma unroll
        for (int i = 0; i < STEPS; i++) {
            int e = FIRST + k + 4 * i + (CROSS && i >= STEPS / 2);
            uint lanes = !CROSS && i == STEPS - 1 ? 0x80808080u >> (32 - 8 * (SIDE - 4 * i)) : 0x80808080u;
            add(s, k, FROM(r->w, e), bias, lanes);
        }
    }
#if CROSS
    if (ENDS_FOUR(place - RADIUS)) {
#pragma unroll
        for (int k = 0; k < PX; k++)
            add(s, k, r->down[k], bias, 0x80808080u);
    }
#endif
}

inline void begin(struct sums *s, const uint *pixel, uint limits)
{
#pragma unroll
    for (int k = 0; k < PX; k++) {
        s->centre[k] = BYTES(pixel[k]);
        s->sum[k] = CROSS ? 128 * pixel[k] : 0;
        s->count[k] = CROSS ? 128 : 0;
    }
}

inline void finish(uint *result, const struct sums *s)
{
#pragma unroll
    for (int k = 0; k < PX; k++) {
        uint mean = (uint)rounded((float)s->sum[k], (float)s->count[k]);
        result[k / 4] = (k % 4 ? result[k / 4] : 0u) | mean << 8 * (k % 4);
    }
}

#elif HONE_T == 0
#define KERNEL epsilon_halves
#include "filters/halves.clh"

#if WITH_PTX
/* saturate(reach - |d|) */
inline uint nearness(uint d, uint reach)
{
    uint r;
    asm("{.reg .b32 a; abs.f16x2 a, %1; sub.sat.f16x2 %0, %2, a;}" : "=r"(r) : "r"(d), "r"(reach));
    return r;
}
#else
inline uint nearness(uint d, uint reach)
{
    pair x, y;
    x.bits = d & 0x7fff7fffu;
    y.bits = reach;
    x.value = y.value - x.value;
    uint low = x.bits & 0xffffu, high = x.bits >> 16; /* whole numbers: anything above 0 is at least 1 */
    return (low - 1u < 0x7fffu ? 0x3c00u : 0u) | (high - 1u < 0x7fffu ? 0x3c000000u : 0u);
}
#endif

/* Of each word of four results the even and the odd two. */
struct sums {
    uint sum[2 * WORDS], count[2 * WORDS], centre[2 * WORDS];
#if FLUSH
    float whole[PX];
#endif
};

/* The pair of elements e and e + 2. */
#define PLACE(e)  ((e) / 4 < ALL ? (e) / 4 : 0)
#define BEHIND(e) ((e) / 4 + 1 < ALL ? (e) / 4 + 1 : 0)
#define FROM(even, odd, e)                                                                                   \
    ((e) % 4 == 0   ? (even)[PLACE(e)]                                                                       \
     : (e) % 4 == 1 ? (odd)[PLACE(e)]                                                                        \
     : (e) % 4 == 2 ? FUNNEL((even)[PLACE(e)], (even)[BEHIND(e)])                                            \
                    : FUNNEL((odd)[PLACE(e)], (odd)[BEHIND(e)]))

/* Element of the pair: lane 0 or 1. */
inline float lane_of(uint bits, int lane)
{
    pair p;
    p.bits = bits;
    return lane ? (float)p.value.y : (float)p.value.x;
}

inline void flush(struct sums *s)
{
#if FLUSH
#pragma unroll
    for (int k = 0; k < PX; k++)
        s->whole[k] += lane_of(s->sum[k / 4 * 2 + k % 2], k % 4 / 2);
#pragma unroll
    for (int k = 0; k < 2 * WORDS; k++)
        s->sum[k] = 0;
#endif
}

struct row {
    uint w[ALL];
    uint even[ALL], odd[ALL]; /* the same as numbers */
};

inline void clear(struct row *r) {}

inline void prepare(struct row *r)
{
#pragma unroll
    for (int k = 0; k < ALL; k++) {
        r->even[k] = hone_halves_even(r->w[k]);
        r->odd[k] = hone_halves_odd(r->w[k]);
    }
}

inline void add_row(struct sums *s, const struct row *r, int place, uint reach)
{
#pragma unroll
    for (int i = 0; i < SIDE; i++) {
#pragma unroll
        for (int k = 0; k < 2 * WORDS; k++) {
            uint n = FROM(r->even, r->odd, FIRST + k / 2 * 4 + k % 2 + i);
            uint d = halves_subtract(n, s->centre[k]), m = nearness(d, reach);
            s->sum[k] = halves_fma(m, d, s->sum[k]);
            s->count[k] = halves_add(s->count[k], m);
        }
        if (FLUSH && ((i + 1) % (FLUSH ? FLUSH : 1) == 0 || i + 1 == SIDE))
            flush(s);
    }
}

inline void begin(struct sums *s, const uint *pixel, uint limits)
{
#pragma unroll
    for (int k = 0; k < 2 * WORDS; k++) {
        int first = k / 2 * 4 + k % 2;
        s->centre[k] = 0x64006400u | pixel[first] | pixel[first + 2] << 16;
        s->sum[k] = s->count[k] = 0;
    }
#if FLUSH
#pragma unroll
    for (int k = 0; k < PX; k++)
        s->whole[k] = 0;
#endif
}

inline void finish(uint *result, const struct sums *s)
{
#pragma unroll
    for (int k = 0; k < PX; k++) {
        int place = k / 4 * 2 + k % 2, lane = k % 4 / 2;
#if FLUSH
        float sum = s->whole[k];
#else
        float sum = lane_of(s->sum[place], lane);
#endif
        uint centre = s->centre[place] >> 16 * lane & 0xffu;
        uint mean = (uint)((int)rounded(sum, lane_of(s->count[place], lane)) + (int)centre);
        result[k / 4] = (k % 4 ? result[k / 4] : 0u) | mean << 8 * (k % 4);
    }
}
#elif HONE_T == 1
#define KERNEL epsilon_shorts

/* The smaller of a + b and c in each half, where a + b wraps around. */
inline uint least_of_sum(uint a, uint b, uint c)
{
#if WITH_DPX
    uint r;
    asm("{.reg .b32 t; add.u16x2 t, %1, %2; min.u16x2 %0, t, %3;}" : "=r"(r) : "r"(a), "r"(b), "r"(c));
    return r;
#else
    return as_uint(min(as_ushort2(a) + as_ushort2(b), as_ushort2(c)));
#endif
}

#define TWICE(n)   ((n)*0x00010001u)

/* What is near lies from `low` to `low` + `span`. */
struct sums {
    uint inside[PX], beyond[PX]; /* of distances from `low`, at most `span`, and at most one more */
    uint minus_low[PX], span[PX], more[PX]; /* in both halves */
};

struct row {
    uint w[ALL];
    uint odd[ALL]; /* the pairs that begin at odd elements */
    uint down[PX]; /* the right edges of the windows: of the last row, and above it of this one */
};

/* The pair of elements e and e + 1. */
#define FROM(r, e) ((e) % 2 ? (r)->odd[(e) / 2] : (r)->w[(e) / 2])

inline void clear(struct row *r)
{
#pragma unroll
    for (int k = 0; k < PX; k++)
        r->down[k] = 0;
}

inline void prepare(struct row *r)
{
#pragma unroll
    for (int k = 0; k < ALL; k++)
        r->odd[k] = FUNNEL(r->w[k], WORD(r->w, k + 1));
#pragma unroll
    for (int k = 0; k < PX; k++) {
        int e = FIRST + k + SIDE - 1;
        r->down[k] = e % 2 ? HIGH_SHORTS(r->down[k], r->w[e / 2]) : FUNNEL(r->down[k], r->w[e / 2]);
    }
}

inline void add(struct sums *s, int k, uint n)
{
    s->inside[k] = hone_products_low(0x0101u, least_of_sum(n, s->minus_low[k], s->span[k]), s->inside[k]);
    s->beyond[k] = hone_products_low(0x0101u, least_of_sum(n, s->minus_low[k], s->more[k]), s->beyond[k]);
}

/* Row `place` of the windows, from 0 on: pairs, and of what is left over pairs from above to below; the last
 * one goes with `low`, which adds nothing. */
inline void add_row(struct sums *s, const struct row *r, int place, uint threshold)
{
#pragma unroll
    for (int k = 0; k < PX; k++)
#pragma unroll
        for (int i = 0; i < RADIUS; i++)
            add(s, k, FROM(r, FIRST + k + 2 * i));
    if (place & 1) {
#pragma unroll
        for (int k = 0; k < PX; k++)
            add(s, k, r->down[k]);
    } else if (place == SIDE - 1) {
#pragma unroll
        for (int k = 0; k < PX; k++)
            add(s, k, FUNNEL(r->down[k], -s->minus_low[k]));
    }
}

inline void begin(struct sums *s, const uint *pixel, uint threshold)
{
#pragma unroll
    for (int k = 0; k < PX; k++) {
        uint low = pixel[k] - min(pixel[k], threshold), span = min(pixel[k] + threshold, 65535u) - low;
        s->inside[k] = s->beyond[k] = 0;
        s->minus_low[k] = TWICE(-low & 0xffffu);
        s->span[k] = TWICE(span);
        s->more[k] = TWICE(min(span + 1, 65535u)); /* where all is near, nothing lies beyond */
    }
}

/* n / d for n below 2^27 and a quotient below 2^16: off by one at most before the last step. */
inline uint quotient(uint n, uint d)
{
    uint q = (uint)((float)n / (float)d);
    int rest = (int)(n - q * d);
    return rest < 0 ? q - 1 : rest >= (int)d ? q + 1 : q;
}

inline void finish(uint *result, const struct sums *s)
{
#pragma unroll
    for (int k = 0; k < PX; k++) {
        uint far = s->beyond[k] - s->inside[k], count = SIDE * SIDE - far;
        uint sum = s->inside[k] - far * (s->span[k] & 0xffffu);
        uint low = -s->minus_low[k] & 0xffffu, mean = low + quotient(2 * sum + count, 2 * count);
        result[k / 2] = (k % 2 ? result[k / 2] : 0u) | mean << 16 * (k % 2);
    }
}
#else
#define KERNEL epsilon_floats

struct sums {
    float sum[PX], count[PX], centre[PX]; /* of distances */
};

struct row {
    uint w[ALL];
};

inline void clear(struct row *r) {}

inline void prepare(struct row *r) {}

/* Two additions that a comparison switches: what compilers make of `?:` selects 0 for each first. */
inline void add(float *sum, float *count, float value, float centre, float limit)
{
    float d = value - centre;
#if WITH_PTX
    asm("{.reg .pred near; .reg .f32 size; abs.f32 size, %2; setp.le.f32 near, size, %3;"
        "@near add.f32 %0, %0, %2; @near add.f32 %1, %1, 0f3F800000;}"
        : "+f"(*sum), "+f"(*count)
        : "f"(d), "f"(limit));
#else
    bool near = fabs(d) <= limit;
    *sum += near ? d : 0.0f;
    *count += near ? 1.0f : 0.0f;
#endif
}

inline void add_row(struct sums *s, const struct row *r, int place, float limit)
{
#pragma unroll
    for (int i = 0; i < SIDE; i++)
#pragma unroll
        for (int k = 0; k < PX; k++)
            add(&s->sum[k], &s->count[k], as_float(r->w[k + i]), s->centre[k], limit);
}

inline void begin(struct sums *s, const uint *pixel, float limit)
{
#pragma unroll
    for (int k = 0; k < PX; k++) {
        s->sum[k] = s->count[k] = 0;
        s->centre[k] = as_float(pixel[k]);
    }
}

/* The centre counts even when it is no number, which is not near to itself. */
inline void finish(uint *result, const struct sums *s)
{
#pragma unroll
    for (int k = 0; k < PX; k++)
        result[k] = as_uint(s->centre[k] + s->sum[k] / max(s->count[k], 1.0f));
}
#endif

/* A work-item makes the results of one channel. `limits`: of bytes what is added to distances, in each byte;
 * of halves the threshold + 1 as two numbers; of others the threshold. */
__kernel void KERNEL(__global const PIXEL *in, int in_offset, int in_pitch, __global PIXEL *out,
                     int out_offset, int out_pitch, int width, int height, BORDER_TYPE border, LIMITS limits)
{
    int item = get_global_id(0);
    struct block b = {in + in_offset,          in_pitch, width, height, border, item / COLOURS * PX,
                      plane_of(item % COLOURS)};
    int y = get_global_id(1) * ROWS;
    if (b.at >= width || y >= height)
        return;
    struct sums s[ROWS];
    struct row r;
    uint result[WORDS];
    bool plain = inside_image(&b, y, ROWS);
#pragma unroll
    for (int q = 0; q < ROWS; q++) {
        uint pixel[PX];
        load_centres(pixel, &b, y + q);
        begin(&s[q], pixel, limits);
    }
    clear(&r);
#pragma unroll 1
    for (int j = 0; j < SIDE + ROWS - 1; j++) {
        load_row(r.w, &b, y + j - RADIUS, plain);
        prepare(&r);
#pragma unroll
        for (int q = 0; q < ROWS; q++)
            if ((uint)(j - q) < SIDE)
                add_row(&s[q], &r, j - q, limits);
    }
    out += out_offset + y * out_pitch + b.at * HONE_C;
#pragma unroll
    for (int q = 0; q < ROWS; q++)
        if (y + q < height) {
            finish(result, &s[q]);
            store_row(out + q * out_pitch, &b, y + q, result);
        }
}
