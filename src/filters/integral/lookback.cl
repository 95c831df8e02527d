/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * For GPUs: one launch, and one look at each pixel. A work-group takes a tile of SPAN elements and ROWS
 * rows, and leaves the sums along its rows in local memory. It publishes the sums of its rows and of its
 * columns and adds up what tiles on the left and above have published; what is left of its rows it publishes
 * again, for the tiles below. Then it has all that its results lack.
 *
 * Work-groups take tiles by tickets, down strips of NEAR_ACROSS tiles, so that all that a tile waits for has
 * begun before it. Every so many tiles what has been found is published, too, so that none looks further back
 * than that. What is added to what does not depend on time: floats come out alike in every run, unless
 * somebody gives up.
 *
 * Nobody waits forever: who has looked too often sums up the pixels before the tile by itself. Marks of what
 * is published are another number in each run, so that nobody clears them.
 *
 * D. Merrill, M. Garland, "Single-pass Parallel Prefix Scan with Decoupled Look-back" (2016).
 */
#ifndef WARPS
#define WARPS 8
#endif
#ifndef LINES
#define LINES 8 /* rows of a warp, a power of 2 from 2 on */
#endif
#ifndef STREAM
#define STREAM 1 /* 1: stores go past the caches (PTX) */
#endif
#ifndef TAIL
#define TAIL 1 /* 0: rows are a whole number of vectors of four elements */
#endif
/* How many tiles are looked back at, at most: along a row, of which strips are as wide, and down a column. */
#ifndef NEAR_ACROSS
#define NEAR_ACROSS 7
#endif
#ifndef NEAR_DOWN
#define NEAR_DOWN 15
#endif
#ifndef SPINS
#define SPINS 4000 /* times that a lane looks for what others publish before it gives up */
#endif

/* Without PTX a lane, and a work-group, is one work-item. */
#if !WITH_PTX
#define LANES 1
#endif
#include "filters/integral/lanes.clh"
#include "filters/integral/signals.clh"

#define GROUP (WARPS * LANES)
#define ROWS  (WARPS * LINES)
#define SPAN  (4 * LANES)

/* What a tile publishes, and what it finds: in chunks of a value for each lane. First the sums of rows,
 * channels side by side; then of columns; then what is left of the tile, for each chunk of rows and
 * channel. */
#define ROW_CHUNKS ((ROWS * HONE_C + LANES - 1) / LANES)
#define TOTALS     (ROW_CHUNKS + SPAN / LANES)
#define CHUNKS     (TOTALS + (ROW_CHUNKS * HONE_C + LANES - 1) / LANES)
#define RECORD     (CHUNKS * LANES)

/* Each value is published with the mark of the run, in one access: the value below, the mark above. */
struct spot {
    volatile __global ulong *words; /* records of each tile, of each strip's rows, of NEAR_DOWN rows' tiles */
    uint mark;
    int across, down, tiles, bands; /* where the tile is, of how many */
};

/* ---- Sums over lanes ---- */

/* Rows of bytes go two by two, as halves of words: their sums fit 16 bits. Lines that are scanned together:
 * as many values as registers have room for. */
#define PAIR         (HONE_T == 0 ? 2 : 1)
#define OWN_LINES    (LINES / PAIR)
#define SCANNED_MOST (HONE_C == 1 && OWN_LINES <= 8 ? 8 / PAIR : HONE_C <= 2 ? 4 : 2)
#define SCANNED      (OWN_LINES < SCANNED_MOST ? OWN_LINES : SCANNED_MOST)
#define VALUES       (SCANNED * HONE_C)

/* Of n values of each lane, what the lanes before hold; the lane's own become sums up to and with it. */
#if WITH_PTX
inline void scan_lanes(SUM *before, SUM *values, int n, int lane)
{
#pragma unroll
    for (int k = 0; k < n; k++) {
        SUM before_this = scan_one(&values[k]);
        before[k] = lane > 0 ? before_this : (SUM)0;
    }
}
#else
inline void scan_lanes(SUM *before, const SUM *values, int n, int lane)
{
    for (int k = 0; k < n; k++)
        before[k] = 0;
}
#endif

/* A lane's sums by the channels of the image, of which its first element is of channel `phase`; and back,
 * with HONE_C - phase. */
inline void rotate(SUM *sums, int phase)
{
#if HONE_C == 3
    SUM a = sums[0], b = sums[1], c = sums[2];
    sums[0] = phase % 3 == 0 ? a : phase % 3 == 1 ? c : b;
    sums[1] = phase % 3 == 0 ? b : phase % 3 == 1 ? a : c;
    sums[2] = phase % 3 == 0 ? c : phase % 3 == 1 ? b : a;
#endif
}

/* Four elements become the sums of those of their channel up to them; gives the last ones by channels. */
inline void sum_four(SUM v[4], SUM last[HONE_C], int phase)
{
#pragma unroll
    for (int i = HONE_C; i < 4; i++)
        v[i] += v[i - HONE_C];
#pragma unroll
    for (int c = 0; c < HONE_C; c++)
        last[c] = v[3 - (3 - c) % HONE_C];
    rotate(last, phase);
}

inline void add_before(SUM v[4], SUM before[HONE_C], int phase)
{
    rotate(before, HONE_C - phase);
#pragma unroll
    for (int i = 0; i < 4; i++)
        v[i] += before[i % HONE_C];
}

/* ---- Publishing, and looking back ---- */

inline ulong word_of(SUM value, uint mark)
{
    return (ulong)mark << 32 | as_uint(value);
}

/* Where a chunk is: of a tile; and of what has been found before one of so many tiles. */
inline volatile __global ulong *tile_words(const struct spot *s, int down, int across, int chunk)
{
    return s->words + (size_t)(down * s->tiles + across) * RECORD + chunk * LANES;
}

inline volatile __global ulong *found_words(const struct spot *s, int down, int across, int chunk)
{
    const int strips = (s->tiles + NEAR_ACROSS - 1) / NEAR_ACROSS, first = s->tiles * s->bands;
    const int record = chunk < ROW_CHUNKS ? down * strips + across / NEAR_ACROSS
                                          : s->bands * strips + down / NEAR_DOWN * s->tiles + across;
    return s->words + (size_t)(first + record) * RECORD + chunk * LANES;
}

/* The tiles before this one in its row or, of columns and totals, in its column. */
struct back {
    volatile __global ulong *found, *from; /* what the first one found, and what it published */
    size_t step;                           /* from each to the next */
    int chain, count;                      /* how many there are: 0 or 1 of the former */
};

inline struct back look_back(const struct spot *s, int chunk, int lane)
{
    const bool along = chunk < ROW_CHUNKS;
    const int at = along ? s->across : s->down, near = along ? NEAR_ACROSS : NEAR_DOWN;
    struct back b;
    b.count = at == 0 ? 0 : (at - 1) % near + 1;
    b.chain = at > near;
    const int across = s->across - (along ? b.count : 0), down = s->down - (along ? 0 : b.count);
    b.found = found_words(s, down, across, chunk) + lane;
    b.from = tile_words(s, down, across, chunk) + lane;
    b.step = (size_t)(along ? 1 : s->tiles) * RECORD;
    return b;
}

#define AT_ONCE 8 /* words under way */

inline ulong look_at(const struct back *b, int i)
{
    i = min(i, b->count + b->chain - 1);
    return look_pair(i < b->chain ? b->found : b->from + (i - b->chain) * b->step);
}

/* Adds up what is published there; whether it was, in time. */
inline bool add_up(SUM *sum, const struct back *b, uint mark)
{
    const int count = b->count + b->chain;
    for (int first = 0; first < count; first += AT_ONCE) {
        ulong words[AT_ONCE];
        bool there = false;
        for (int spin = 0; spin < SPINS && !there; spin++) {
#pragma unroll
            for (int i = 0; i < AT_ONCE; i++)
                words[i] = look_at(b, first + i);
            there = true;
#pragma unroll
            for (int i = 0; i < AT_ONCE; i++)
                there = there && words[i] >> 32 == mark;
        }
        if (!there)
            return false;
#pragma unroll
        for (int i = 0; i < AT_ONCE; i++)
            *sum += first + i < count ? PASTE(as_, SUM)((uint)words[i]) : (SUM)0;
    }
    return true;
}

struct picture {
    __global const PIXEL *in;
    int pitch, elements, height;
};

/* Of columns x, x + step and so on before `end`, rows y to y_end - 1; where `chunk` is not negative, those
 * alone whose sums are in that chunk of their tile's. In parts, for floats. */
inline SUM sum_area(const struct picture *p, int x, int step, int end, int y, int y_end, int chunk)
{
    SUM sum = 0;
    while (y < y_end) {
        SUM part = 0;
        for (int last = min(y + 64, y_end); y < last; y++) {
            SUM line = 0;
            if (chunk >= 0 && (y % ROWS * HONE_C + x) / LANES != chunk)
                continue;
            for (int at = x; at < end;) {
                SUM piece = 0;
                for (int stop = min(at + 64 * step, end); at < stop; at += step)
                    piece += p->in[y * p->pitch + at];
                line += piece;
            }
            part += line;
        }
        sum += part;
    }
    return sum;
}

/* The same as looking back, from the pixels. Seldom run, and therefore short. */
inline SUM sum_alone(const struct spot *s, const struct picture *p, int chunk, int lane)
{
    const int x = s->across * SPAN, y = s->down * ROWS, i = chunk * LANES + lane;
    if (chunk < ROW_CHUNKS) {
        const int row = y + i / HONE_C;
        return i < ROWS * HONE_C && row < p->height ? sum_area(p, i % HONE_C, HONE_C, x, row, row + 1, -1)
                                                    : (SUM)0;
    }
    if (chunk < TOTALS) {
        const int column = x + i - ROW_CHUNKS * LANES;
        return column < p->elements ? sum_area(p, column, 1, column + 1, 0, y, -1) : (SUM)0;
    }
    const int total = i - TOTALS * LANES;
    return total < ROW_CHUNKS * HONE_C ? sum_area(p, total % HONE_C, HONE_C, x, 0, y, total / HONE_C)
                                       : (SUM)0;
}

inline SUM find_before(const struct spot *s, const struct picture *p, int chunk, int lane)
{
    const struct back b = look_back(s, chunk, lane);
    SUM found = 0;
    if (!add_up(&found, &b, s->mark))
        found = sum_alone(s, p, chunk, lane);
    if (chunk < ROW_CHUNKS ? s->across % NEAR_ACROSS == 0 : s->down % NEAR_DOWN == 0)
        tell_pair(found_words(s, s->down, s->across, chunk) + lane, word_of(found, s->mark));
    return found;
}

/* ---- A tile ---- */

/* What work-items exchange, and the sums along their own rows, which registers have no room for while the
 * work-group looks back. */
struct shared {
    sums4 along[WARPS][OWN_LINES][LANES];
    sums4 columns[WARPS][LANES];  /* of each warp's rows */
    SUM rows[ROW_CHUNKS * LANES]; /* of the tile */
    SUM found[RECORD];            /* before the tile */
    uint ticket, mark;
};

/* Rows whose loads are under way at once. */
#define LOADED (LINES < 8 || HONE_T == 0 ? LINES : 8)

/* Rows from row y of the image on, those behind its end as the last one. */
inline void load_rows(pixels4 rows[LOADED], const struct picture *p, int y, int at, bool whole)
{
    const int end = p->height - 1;
    if (whole && y + LOADED <= p->height) {
        __global const PIXEL *row = p->in + y * p->pitch + at;
#pragma unroll
        for (int r = 0; r < LOADED; r++, row += p->pitch)
            rows[r] = *(__global const pixels4 *)row;
        return;
    }
#pragma unroll
    for (int r = 0; r < LOADED; r++) {
        const int from = min(y + r, end);
        rows[r] = load4(p->in + from * p->pitch, at, LIMIT(from, end, p->elements), whole);
    }
    if (TAIL && !whole && y + LOADED > end)
#pragma unroll
        for (int r = 0; r < LOADED; r++)
            if (y + r >= end)
                mend4(&rows[r], p->in + end * p->pitch, at, p->elements);
}

/* A line: a row, or two as halves. */
inline void line_of(SUM v[4], const pixels4 *rows)
{
#if HONE_T == 0 && WITH_PTX
    const uint a = as_uint(rows[0]), b = as_uint(rows[1]);
    const uint even = hone_bytes(a, 0, 0x4240u), odd = hone_bytes(a, 0, 0x4341u);
    const uint other_even = hone_bytes(b, 0, 0x4240u), other_odd = hone_bytes(b, 0, 0x4341u);
    v[0] = hone_bytes(even, other_even, 0x5410u);
    v[1] = hone_bytes(odd, other_odd, 0x5410u);
    v[2] = hone_bytes(even, other_even, 0x7632u);
    v[3] = hone_bytes(odd, other_odd, 0x7632u);
#else
    v[0] = rows[0].x;
    v[1] = rows[0].y;
    v[2] = rows[0].z;
    v[3] = rows[0].w;
#if PAIR == 2
    v[0] |= (uint)rows[1].x << 16;
    v[1] |= (uint)rows[1].y << 16;
    v[2] |= (uint)rows[1].z << 16;
    v[3] |= (uint)rows[1].w << 16;
#endif
#endif
}

/* A row's sum, `half` of what a line has. */
#if PAIR == 2
#define HALF(sum, half) ((half) ? (sum) >> 16 : (sum)&0xffffu)
#else
#define HALF(sum, half) (sum)
#endif

/* The sums along SCANNED lines, from the tile's left edge on, and those of whole rows. Adds to the sums of
 * columns. */
inline void scan_block(SUM columns[4], const pixels4 *rows, __local sums4 *along, __local SUM *totals,
                       int lane, int phase)
{
    SUM v[SCANNED][4], last[VALUES], before[VALUES];
#pragma unroll
    for (int r = 0; r < SCANNED; r++) {
        line_of(v[r], rows + PAIR * r);
#pragma unroll
        for (int i = 0; i < 4; i++)
            columns[i] += v[r][i];
        sum_four(v[r], last + r * HONE_C, phase);
    }
    scan_lanes(before, last, VALUES, lane);
    if (lane == LANES - 1)
#pragma unroll
        for (int i = 0; i < PAIR * VALUES; i++)
            totals[i] = HALF(last[i / (PAIR * HONE_C) * HONE_C + i % HONE_C], i / HONE_C % PAIR);
#pragma unroll
    for (int r = 0; r < SCANNED; r++) {
        add_before(v[r], before + r * HONE_C, phase);
        along[r * LANES] = (sums4)(v[r][0], v[r][1], v[r][2], v[r][3]);
    }
}

/* The sums of a warp's rows and columns to local memory. */
inline void sum_rows(__local struct shared *all, const struct picture *p, int y, int at, bool whole, int warp,
                     int lane)
{
    SUM columns[4] = {0, 0, 0, 0};
#pragma unroll 1
    for (int first = 0; first < LINES; first += LOADED) {
        pixels4 rows[LOADED];
        load_rows(rows, p, y + first, at, whole);
#pragma unroll
        for (int r = 0; r < LOADED; r += PAIR * SCANNED)
            scan_block(columns, rows + r, all->along[warp][(first + r) / PAIR] + lane,
                       all->rows + (warp * LINES + first + r) * HONE_C, lane, at % HONE_C);
    }
#pragma unroll
    for (int i = 0; i < 4; i++)
        columns[i] = PAIR == 2 ? HALF(columns[i], 0) + HALF(columns[i], 1) : columns[i];
    all->columns[warp][lane] = (sums4)(columns[0], columns[1], columns[2], columns[3]);
}

/* A chunk of the sums of the tile's rows, or of its columns. */
inline SUM own_sum(__local const struct shared *all, int chunk, int lane)
{
    const int i = chunk * LANES + lane;
    if (chunk < ROW_CHUNKS)
        return i < ROWS * HONE_C ? all->rows[i] : (SUM)0;
    SUM sum = 0;
#pragma unroll
    for (int w = 0; w < WARPS; w++)
        sum += ((__local const SUM *)all->columns[w])[i - ROW_CHUNKS * LANES];
    return sum;
}

/* What is left of a chunk of rows, by channels, for the tiles below. */
inline void tell_totals(const struct spot *s, int chunk, SUM found, int lane)
{
    const int channel = (chunk * LANES + lane) % HONE_C;
    for (int c = 0; c < HONE_C; c++) {
        const SUM sum = lanes_sum(channel == c ? found : (SUM)0);
        if (lane == 0)
            tell_pair(tile_words(s, s->down, s->across, TOTALS) + chunk * HONE_C + c, word_of(sum, s->mark));
    }
}

/* Publishes the tile's sums, and finds what is before it. */
inline void exchange_sums(const struct spot *s, const struct picture *p, __local struct shared *all, int warp,
                          int lane)
{
    for (int chunk = warp; chunk < TOTALS; chunk += WARPS)
        tell_pair(tile_words(s, s->down, s->across, chunk) + lane,
                  word_of(own_sum(all, chunk, lane), s->mark));
    for (int i = ROW_CHUNKS * HONE_C + lane; warp == 0 && i < (CHUNKS - TOTALS) * LANES; i += LANES)
        tell_pair(tile_words(s, s->down, s->across, TOTALS) + i, word_of(0, s->mark)); /* no chunk's */
    for (int chunk = warp; chunk < CHUNKS; chunk += WARPS) {
        const SUM found = find_before(s, p, chunk, lane);
        all->found[chunk * LANES + lane] = found;
        if (chunk < ROW_CHUNKS)
            tell_totals(s, chunk, found, lane);
    }
}

/* What is left of the tile, by channels: above it, and beside the rows before row `end`. */
inline void start_left(SUM left[HONE_C], __local const SUM *found, int end, int lane)
{
#pragma unroll
    for (int c = 0; c < HONE_C; c++) {
        SUM sum = 0;
        for (int y = lane; y < end; y += LANES)
            sum += found[y * HONE_C + c];
        for (int i = lane; i < ROW_CHUNKS; i += LANES)
            sum += found[TOTALS * LANES + i * HONE_C + c];
        left[c] = lanes_sum(sum);
    }
}

/* The results above the warp's rows. */
inline void start_rows(SUM above[4], __local const struct shared *all, int warp, int lane, int phase)
{
    SUM last[HONE_C], before[HONE_C], left[HONE_C];
#pragma unroll
    for (int i = 0; i < 4; i++)
        above[i] = all->found[ROW_CHUNKS * LANES + 4 * lane + i];
    for (int w = 0; w < warp; w++) {
        const sums4 sums = all->columns[w][lane];
        above[0] += sums.x;
        above[1] += sums.y;
        above[2] += sums.z;
        above[3] += sums.w;
    }
    sum_four(above, last, phase);
    scan_lanes(before, last, HONE_C, lane);
    start_left(left, all->found, warp * LINES, lane);
#pragma unroll
    for (int c = 0; c < HONE_C; c++)
        before[c] += left[c];
    add_before(above, before, phase);
}

/* Rows from row y on. */
inline void finish_rows(SUM above[4], const struct picture *p, __global SUM *out, int pitch,
                        __local const struct shared *all, int y, int at, int warp, int lane, bool whole)
{
    const int phase = at % HONE_C;
    __global SUM *row = out + y * pitch;
#pragma unroll
    for (int r = 0; r < LINES; r++, row += pitch) {
        SUM left[HONE_C];
        const sums4 along = all->along[warp][r / PAIR][lane];
        const SUM own[4] = {along.x, along.y, along.z, along.w};
#pragma unroll
        for (int c = 0; c < HONE_C; c++)
            left[c] = all->found[(warp * LINES + r) * HONE_C + c];
        rotate(left, HONE_C - phase);
#pragma unroll
        for (int i = 0; i < 4; i++)
            above[i] += HALF(own[i], r % PAIR) + left[i % HONE_C];
        if (y + r < p->height)
            store4(row, at, p->elements, whole, above);
    }
}

inline void take_tile(struct spot *s, __global uint *counters, __local struct shared *all, int tiles,
                      int height, int lid)
{
    if (lid == 0) {
        all->ticket = atomic_inc(&counters[0]);
        all->mark = look(&counters[2]) + 1;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    const int strips = (tiles + NEAR_ACROSS - 1) / NEAR_ACROSS, bands = (height + ROWS - 1) / ROWS;
    const int strip = min((int)all->ticket / (NEAR_ACROSS * bands), strips - 1),
              at = (int)all->ticket - strip * NEAR_ACROSS * bands,
              width = min(NEAR_ACROSS, tiles - strip * NEAR_ACROSS);
    s->mark = all->mark;
    s->tiles = tiles;
    s->bands = bands;
    s->across = strip * NEAR_ACROSS + at % width;
    s->down = at / width;
}

/* `counters`: tickets, work-groups that have left, and the mark of the run before; then the marks. */
__kernel __attribute__((GROUP_SIZE(GROUP, 1))) void
integral_lookback_tiles(__global const PIXEL *in, int in_offset, int in_pitch, __global SUM *out,
                        int out_offset, int out_pitch, __global uint *counters, int tiles, int elements,
                        int height)
{
    __local struct shared all;
    const int lid = get_local_id(0), lane = lid % LANES, warp = lid / LANES;
    const struct picture p = {in + in_offset, in_pitch, elements, height};
    struct spot s;
    SUM above[4];
    s.words = (volatile __global ulong *)(counters + 4);
    take_tile(&s, counters, &all, tiles, height, lid);
    const int at = s.across * SPAN + 4 * lane, phase = at % HONE_C, y = s.down * ROWS + warp * LINES;
    const bool whole = (s.across + 1) * SPAN <= elements;
    sum_rows(&all, &p, y, at, whole, warp, lane);
    barrier(CLK_LOCAL_MEM_FENCE);
    exchange_sums(&s, &p, &all, warp, lane);
    barrier(CLK_LOCAL_MEM_FENCE);
    start_rows(above, &all, warp, lane, phase);
    finish_rows(above, &p, out + out_offset, out_pitch, &all, y, at, warp, lane, whole);
    if (leave(counters, lid))
        atomic_xchg(&counters[2], s.mark);
}
