/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RED_X
#define RED_X 0 /* column of the first red sample, 0 or 1 */
#endif
#ifndef RED_Y
#define RED_Y 0 /* its row */
#endif
#ifndef MALVAR
#define MALVAR 1 /* 1 Malvar, He and Cutler; 0 bilinear */
#endif
#ifndef PX
#define PX 4 /* pixels across per work-item */
#endif
#ifndef ROWS
#define ROWS 8 /* rows per work-item, an even number */
#endif

#define REACH (MALVAR ? 2 : 1)

/*
 * What surrounds a sample: itself; its neighbours in the row, in the column and diagonally; those two away in
 * row and column. T is a type of integers, or of vectors of them that are wide enough for 28 times the
 * largest sample.
 */
#define SITE_TYPE(name, T)                                                                                   \
    struct name {                                                                                            \
        T centre, row, column, diagonal, row2, column2;                                                      \
    }

/* From five rows that can be indexed, the sample at i. */
#if MALVAR
#define SITE(above2, above, here, below, below2, i)                                                          \
    {                                                                                                        \
        (here)[i], (here)[(i)-1] + (here)[(i) + 1], (above)[i] + (below)[i],                                 \
            (above)[(i)-1] + (above)[(i) + 1] + (below)[(i)-1] + (below)[(i) + 1],                           \
            (here)[(i)-2] + (here)[(i) + 2], (above2)[i] + (below2)[i]                                       \
    }
#else
#define SITE(above2, above, here, below, below2, i)                                                          \
    {                                                                                                        \
        (here)[i], (here)[(i)-1] + (here)[(i) + 1], (above)[i] + (below)[i],                                 \
            (above)[(i)-1] + (above)[(i) + 1] + (below)[(i)-1] + (below)[(i) + 1], 0, 0                      \
    }
#endif

/* The filter itself: green at red and blue; the colour of the row's, the column's, the diagonal neighbours.
 * The weights of Malvar, He and Cutler in sixteenths (green: in eighths); half up. */
#if MALVAR
#define MAKE_GREEN(T, s)                                                                                     \
    (((T)4 * (s).centre + (T)2 * ((s).row + (s).column) - ((s).row2 + (s).column2) + (T)4) >> (T)3)
#define MAKE_ALONG(T, s, near, near2, far2)                                                                  \
    (((T)10 * (s).centre + (T)8 * (s).near - (T)2 * ((s).near2 + (s).diagonal) + (s).far2 + (T)8) >> (T)4)
#define MAKE_ACROSS(T, s) MAKE_ALONG(T, s, row, row2, column2)
#define MAKE_DOWN(T, s)   MAKE_ALONG(T, s, column, column2, row2)
#define MAKE_DIAGONAL(T, s)                                                                                  \
    (((T)12 * (s).centre + (T)4 * (s).diagonal - (T)3 * ((s).row2 + (s).column2) + (T)8) >> (T)4)
#else
#define MAKE_GREEN(T, s)    (((s).row + (s).column + (T)2) >> (T)2)
#define MAKE_ACROSS(T, s)   (((s).row + (T)1) >> (T)1)
#define MAKE_DOWN(T, s)     (((s).column + (T)1) >> (T)1)
#define MAKE_DIAGONAL(T, s) (((s).diagonal + (T)2) >> (T)2)
#endif

SITE_TYPE(site, int);

inline int saturated(int value)
{
    return clamp(value, 0, PIXEL_MAX);
}

struct color {
    int red, green, blue;
};

/* Of the sample that is `across` columns and `down` rows (0 or 1 each) away from red. */
inline struct color color_of(struct site s, int across, int down)
{
    int green = saturated(MAKE_GREEN(int, s)), other = saturated(MAKE_DIAGONAL(int, s));
    int beside = saturated(MAKE_ACROSS(int, s)), above = saturated(MAKE_DOWN(int, s));
    struct color c;
    c.red = across ? (down ? other : beside) : (down ? above : s.centre);
    c.green = across == down ? green : s.centre;
    c.blue = across ? (down ? s.centre : above) : (down ? beside : other);
    return c;
}

/* Where a sample outside is read: at one of the same colour. reflect101 keeps colours by itself; the other
 * rules hold for every second sample on its own. A side of one sample has nothing of the other colour. -1:
 * nowhere (constant). */
inline int mosaic_fold(int i, int n)
{
    if ((uint)i < (uint)n)
        return i;
#if HONE_BORDER == BORDER_CONSTANT || HONE_BORDER == BORDER_REFLECT101
    return hone_fold(i, n);
#else
    int phase = i & 1, own = (n + 1 - phase) >> 1;
    return own ? 2 * hone_fold((i - phase) >> 1, own) + phase : 0;
#endif
}

/* A sample by its folded place. */
inline int sample(__global const PIXEL *in, int pitch, int column, int row, int border)
{
#if HONE_BORDER == BORDER_CONSTANT
    int value = in[max(row, 0) * pitch + max(column, 0)];
    return column < 0 || row < 0 ? border : value;
#else
    return in[row * pitch + column];
#endif
}

/* border=zero-outside: 0 where the window leaves the image, else 1. */
inline int is_made(int x, int y, int width, int height)
{
#if HONE_BORDER == BORDER_ZERO_OUTSIDE
    return x >= REACH && y >= REACH && x + REACH < width && y + REACH < height;
#else
    return 1;
#endif
}

inline void store_color(__global RESULT *out, struct color c, int made)
{
    out[0] = (RESULT)(c.red * made);
    out[1] = (RESULT)(c.green * made);
    out[2] = (RESULT)(c.blue * made);
}

#if defined(HONE_ALL) || defined(VARIANT_direct) || defined(VARIANT_vectors)
/* One pixel, all samples that it needs read. */
inline void make_pixel(__global const PIXEL *in, int pitch, __global RESULT *out, int x, int y, int width,
                       int height, int border)
{
    int columns[5], v[5][5];
#pragma unroll
    for (int i = 2 - REACH; i <= 2 + REACH; i++)
        columns[i] = mosaic_fold(x + i - 2, width);
#pragma unroll
    for (int j = 2 - REACH; j <= 2 + REACH; j++) {
        int row = mosaic_fold(y + j - 2, height);
#pragma unroll
        for (int i = 2 - REACH; i <= 2 + REACH; i++)
            v[j][i] = sample(in, pitch, columns[i], row, border);
    }
    struct site s = SITE(v[0], v[1], v[2], v[3], v[4], 2);
    store_color(out, color_of(s, (x ^ RED_X) & 1, (y ^ RED_Y) & 1), is_made(x, y, width, height));
}
#endif

#if defined(HONE_ALL) || defined(VARIANT_direct)
__kernel void demosaic_direct(__global const PIXEL *in, int in_offset, int in_pitch, __global RESULT *out,
                              int out_offset, int out_pitch, int width, int height, int border)
{
    int x = get_global_id(0), y = get_global_id(1);
    if (x < width && y < height)
        make_pixel(in + in_offset, in_pitch, out + out_offset + y * out_pitch + 3 * x, x, y, width, height,
                   border);
}
#endif

#if defined(HONE_ALL) || defined(VARIANT_tile)
/* A work-group's samples and those around them in local memory, then a pixel per work-item. */
__kernel void demosaic_tile(__global const PIXEL *in, int in_offset, int in_pitch, __global RESULT *out,
                            int out_offset, int out_pitch, __local PIXEL *tile, int width, int height,
                            int border)
{
    int lx = get_local_id(0), ly = get_local_id(1), across = get_local_size(0), down = get_local_size(1);
    int x = get_global_id(0), y = get_global_id(1), pitch = across + 4;
    in += in_offset;
    for (int j = ly; j < down + 4; j += down)
        for (int i = lx; i < pitch; i += across)
            tile[j * pitch + i] = (PIXEL)sample(in, in_pitch, mosaic_fold(x - lx + i - 2, width),
                                                mosaic_fold(y - ly + j - 2, height), border);
    barrier(CLK_LOCAL_MEM_FENCE);
    if (x >= width || y >= height)
        return;
    __local const PIXEL *rows = tile + ly * pitch;
    struct site s = SITE(rows, rows + pitch, rows + 2 * pitch, rows + 3 * pitch, rows + 4 * pitch, lx + 2);
    store_color(out + out_offset + y * out_pitch + 3 * x, color_of(s, (x ^ RED_X) & 1, (y ^ RED_Y) & 1),
                is_made(x, y, width, height));
}
#endif

#if defined(HONE_ALL) || defined(VARIANT_quads)
#define SPAN     (PX + 4) /* samples of a row that a strip sees */
#define ELEMENTS (3 * PX)

/* The samples of row y that a strip sees. */
inline void load_row(int to[SPAN], __global const PIXEL *in, int pitch, const int columns[SPAN], int y,
                     int height, int border)
{
    int row = mosaic_fold(y, height);
#pragma unroll
    for (int i = 0; i < SPAN; i++)
        to[i] = sample(in, pitch, columns[i], row, border);
}

#define PER_WORD (4 / (int)sizeof(RESULT))

/* The results that share a word. */
inline uint word_of(const RESULT *colors)
{
    uint word = 0;
#pragma unroll
    for (int i = 0; i < PER_WORD; i++)
        word |= (uint)colors[i] << (i * 8 * sizeof(RESULT));
    return word;
}

/* The largest vectors that a strip's row of results consists of. */
#if 3 * PX % (16 >> HONE_OT) == 0
typedef uint4 piece;
#define PIECE_OF(c)                                                                                          \
    ((uint4)(word_of(c), word_of((c) + PER_WORD), word_of((c) + 2 * PER_WORD), word_of((c) + 3 * PER_WORD)))
#elif 3 * PX % (8 >> HONE_OT) == 0
typedef uint2 piece;
#define PIECE_OF(c) ((uint2)(word_of(c), word_of((c) + PER_WORD)))
#else
typedef uint piece;
#define PIECE_OF(c) word_of(c)
#endif
#define PER_PIECE ((int)sizeof(piece) / (int)sizeof(RESULT))

/* A strip's row of results: in whole pieces where it is all inside and lies on them. */
inline void store_strip(__global RESULT *out, const RESULT *colors, int left)
{
    if (ELEMENTS % PER_PIECE == 0 && left >= PX && (size_t)out % sizeof(piece) == 0) {
#pragma unroll
        for (int i = 0; i < ELEMENTS; i += PER_PIECE)
            *(__global piece *)(out + i) = PIECE_OF(colors + i);
        return;
    }
#pragma unroll
    for (int i = 0; i < ELEMENTS; i++)
        if (i < 3 * left)
            out[i] = colors[i];
}

/* `odd`: row of the strip modulo 2; strips begin at even columns and rows, so that phases are known when
 * compiling. */
inline void make_strip(int v[6][SPAN], int odd, __global RESULT *out, int x, int y, int width, int height)
{
    RESULT colors[ELEMENTS];
#pragma unroll
    for (int i = 0; i < PX; i++) {
        struct site s = SITE(v[odd], v[odd + 1], v[odd + 2], v[odd + 3], v[odd + 4], i + 2);
        struct color c = color_of(s, (i ^ RED_X) & 1, (odd ^ RED_Y) & 1);
        int made = is_made(x + i, y, width, height);
        colors[3 * i] = (RESULT)(c.red * made);
        colors[3 * i + 1] = (RESULT)(c.green * made);
        colors[3 * i + 2] = (RESULT)(c.blue * made);
    }
    store_strip(out, colors, width - x);
}

/* A strip PX pixels wide that walks down two rows at a time, six rows of samples in registers. */
__kernel void demosaic_quads(__global const PIXEL *in, int in_offset, int in_pitch, __global RESULT *out,
                             int out_offset, int out_pitch, int width, int height, int border)
{
    int x = get_global_id(0) * PX, y = get_global_id(1) * ROWS, end = min(y + ROWS, height);
    int columns[SPAN], v[6][SPAN];
    if (x >= width || y >= height)
        return;
    in += in_offset;
    out += out_offset + y * out_pitch + 3 * x;
#pragma unroll
    for (int i = 0; i < SPAN; i++)
        columns[i] = mosaic_fold(x + i - 2, width);
#pragma unroll
    for (int j = 0; j < 4; j++)
        load_row(v[j], in, in_pitch, columns, y + j - 2, height, border);
    for (; y < end; y += 2, out += 2 * out_pitch) {
        load_row(v[4], in, in_pitch, columns, y + 2, height, border);
        load_row(v[5], in, in_pitch, columns, y + 3, height, border);
        make_strip(v, 0, out, x, y, width, height);
        if (y + 1 < end)
            make_strip(v, 1, out + out_pitch, x, y + 1, width, height);
#pragma unroll
        for (int j = 0; j < 4; j++)
#pragma unroll
            for (int i = 0; i < SPAN; i++)
                v[j][i] = v[j + 2][i];
    }
}
#endif

#if defined(HONE_ALL) || defined(VARIANT_vectors)
/*
 * For CPUs: rows in 64-byte vectors of clang's own types. Every lane makes all that its row can need, and a
 * blend by the parity of its column picks. Columns within two of the edges are made one by one.
 */
#if HONE_T == 0
#define LANES 32
#define VALUE short
#else
#define LANES 16
#define VALUE int
#endif

typedef PIXEL pixels __attribute__((ext_vector_type(LANES)));
typedef VALUE values __attribute__((ext_vector_type(LANES)));
typedef pixels pixels_at __attribute__((aligned(sizeof(PIXEL))));

/* A row that can be indexed by the place of a vector. */
#define AT(row, i) __builtin_convertvector(*(__global const pixels_at *)((row) + (i)), values)

SITE_TYPE(sites, values);

struct colors {
    values red, green, blue;
};

struct lines {
    __global const PIXEL *above2, *above, *here, *below, *below2;
    __global const PIXEL *ahead; /* a row that later ones see */
};

inline struct sites sites_at(struct lines r, int i)
{
    struct sites s;
    s.centre = AT(r.here, i);
    s.row = AT(r.here, i - 1) + AT(r.here, i + 1);
    s.column = AT(r.above, i) + AT(r.below, i);
    s.diagonal = (AT(r.above, i - 1) + AT(r.above, i + 1)) + (AT(r.below, i - 1) + AT(r.below, i + 1));
#if MALVAR
    s.row2 = AT(r.here, i - 2) + AT(r.here, i + 2);
    s.column2 = AT(r.above2, i) + AT(r.below2, i);
#endif
    return s;
}

inline values saturated_values(values v)
{
#if MALVAR
    v = v > (values)0 ? v : (values)0;
    v = v < (values)PIXEL_MAX ? v : (values)PIXEL_MAX;
#endif
    return v;
}

/* Lanes of even columns from one vector, of odd ones from the other; vectors begin at even columns. */
#if RED_X == 0
#define BLEND(at_red, beside_red) PICK(at_red, beside_red)
#else
#define BLEND(at_red, beside_red) PICK(beside_red, at_red)
#endif
#define PAIR(i)   (i), (i) + 1 + LANES
#define PAIRS4(i) PAIR(i), PAIR((i) + 2), PAIR((i) + 4), PAIR((i) + 6)
#if LANES == 32
#define PICK(a, b) __builtin_shufflevector(a, b, PAIRS4(0), PAIRS4(8), PAIRS4(16), PAIRS4(24))
#else
#define PICK(a, b) __builtin_shufflevector(a, b, PAIRS4(0), PAIRS4(8))
#endif

inline struct colors colors_of(struct sites s, int down)
{
    values green = BLEND(MAKE_GREEN(values, s), s.centre), across = MAKE_ACROSS(values, s);
    values below = MAKE_DOWN(values, s), diagonal = MAKE_DIAGONAL(values, s);
    struct colors c;
    if (down) {
        green = BLEND(s.centre, MAKE_GREEN(values, s));
        c.red = saturated_values(BLEND(below, diagonal));
        c.blue = saturated_values(BLEND(across, s.centre));
    } else {
        c.red = saturated_values(BLEND(s.centre, across));
        c.blue = saturated_values(BLEND(diagonal, below));
    }
    c.green = saturated_values(green);
    return c;
}

#if HONE_T == 0
typedef uchar bytes __attribute__((ext_vector_type(64)));
typedef uint words __attribute__((ext_vector_type(16)));
typedef uint words12 __attribute__((ext_vector_type(4), aligned(1)));
typedef ushort pairs __attribute__((ext_vector_type(32)));

/* Four bytes to three, inside each quarter of a vector; then the quarters moved together. */
#define THREE(i)   (i), (i) + 1, (i) + 2
#define QUARTER(i) THREE(i), THREE((i) + 4), THREE((i) + 8), THREE((i) + 12), (i), (i), (i), (i)
#define ZIP(i)     (i), (i) + 32
#define ZIP4(i)    ZIP(i), ZIP((i) + 1), ZIP((i) + 2), ZIP((i) + 3)

/* Sixteen colours of four bytes as 48 bytes. */
inline void store_colors16(__global uchar *out, pairs colors)
{
    union {
        pairs colors;
        bytes all;
        words quads;
    } v = {colors};
    v.all = __builtin_shufflevector(v.all, v.all, QUARTER(0), QUARTER(16), QUARTER(32), QUARTER(48));
    v.quads = __builtin_shufflevector(v.quads, v.quads, 0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, 0, 0, 0, 0);
    *(__global words12 *)out = v.quads.s0123;
    *(__global words12 *)(out + 16) = v.quads.s4567;
    *(__global words12 *)(out + 32) = v.quads.s89ab;
}

inline void store_colors(__global uchar *out, struct colors c)
{
    pairs both = __builtin_convertvector(c.red, pairs) | __builtin_convertvector(c.green, pairs) << (pairs)8;
    pairs blue = __builtin_convertvector(c.blue, pairs);
    store_colors16(out, __builtin_shufflevector(both, blue, ZIP4(0), ZIP4(4), ZIP4(8), ZIP4(12)));
    store_colors16(out + 48, __builtin_shufflevector(both, blue, ZIP4(16), ZIP4(20), ZIP4(24), ZIP4(28)));
}
#else
typedef uint words __attribute__((ext_vector_type(16)));
typedef ushort pairs __attribute__((ext_vector_type(32)));
typedef ushort half_pairs __attribute__((ext_vector_type(16)));
typedef pairs pairs_at __attribute__((aligned(2)));
typedef half_pairs half_pairs_at __attribute__((aligned(2)));

/* Red and green of pixel i lie at 2i and 2i + 1 of one vector, blue at 2i of the other. */
#define TRIPLE(i) 2 * (i), 2 * (i) + 1, 2 * (i) + 32

inline void store_colors(__global ushort *out, struct colors c)
{
    union {
        words whole;
        pairs parts;
    } both = {__builtin_convertvector(c.red, words) | __builtin_convertvector(c.green, words) << (words)16},
      blue = {__builtin_convertvector(c.blue, words)};
    *(__global pairs_at *)out =
        __builtin_shufflevector(both.parts, blue.parts, TRIPLE(0), TRIPLE(1), TRIPLE(2), TRIPLE(3), TRIPLE(4),
                                TRIPLE(5), TRIPLE(6), TRIPLE(7), TRIPLE(8), TRIPLE(9), 20, 21);
    *(__global half_pairs_at *)(out + 32) = __builtin_shufflevector(
        both.parts, blue.parts, 20 + 32, TRIPLE(11), TRIPLE(12), TRIPLE(13), TRIPLE(14), TRIPLE(15));
}
#endif

/* The cache lines of a vector's colours: without its line there, a store waits for memory. */
inline void fetch_colors(__global const RESULT *out)
{
    __builtin_prefetch(out, 1);
    __builtin_prefetch((__global const uchar *)out + 48, 1);
}

/* Columns from `x` on, as long as whole vectors see the image alone, the last vector over pixels that are
 * made already; the column where that ends. What a later row reads, and where the next one is stored, `pitch`
 * elements on, is fetched: the processor foresees too little of so many rows at once. */
inline int make_vectors(struct lines r, __global RESULT *out, int pitch, int x, int width, int down)
{
    int last = (width - 2 - LANES) & ~1;
    for (; x <= last; x = x == last ? last + LANES : min(x + LANES, last)) {
        __builtin_prefetch(r.ahead + x);
        fetch_colors(out + pitch + 3 * x);
        store_colors(out + 3 * x, colors_of(sites_at(r, x), down));
    }
    return x;
}

inline __global const PIXEL *line(__global const PIXEL *in, int pitch, int y, int height)
{
    return in + max(mosaic_fold(y, height), 0) * pitch;
}

/* Rows beyond the edge that are not read from the image are left to make_pixel. */
#define ROWS_FOLD (HONE_BORDER != BORDER_CONSTANT && HONE_BORDER != BORDER_ZERO_OUTSIDE)

inline void make_row(__global const PIXEL *in, int pitch, __global RESULT *out, int out_pitch, int y,
                     int width, int height, int border)
{
    bool inside = y >= REACH && y + REACH < height;
    for (int x = 0; x < width; x++) {
        if (x == 2 && (inside || ROWS_FOLD)) {
            struct lines r = {line(in, pitch, y - 2, height), line(in, pitch, y - 1, height),
                              line(in, pitch, y, height),     line(in, pitch, y + 1, height),
                              line(in, pitch, y + 2, height), in + (y + 3L) * pitch};
            x = make_vectors(r, out, out_pitch, x, width, (y ^ RED_Y) & 1);
        }
        if (x < width)
            make_pixel(in, pitch, out + 3 * x, x, y, width, height, border);
    }
}

__kernel void demosaic_vectors(__global const PIXEL *in, int in_offset, int in_pitch, __global RESULT *out,
                               int out_offset, int out_pitch, int width, int height, int border)
{
    int y = get_global_id(0) * ROWS, end = min(y + ROWS, height);
    for (; y < end; y++)
        make_row(in + in_offset, in_pitch, out + out_offset + y * out_pitch, out_pitch, y, width, height,
                 border);
}
#endif
