/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Planes of bytes: |a - b| = |b - a|, so two pixels of a work-item's strip are compared once and each is
 * added to the other's sum. The strip is PX wide and walks down; a row meets itself and the RADIUS rows below
 * it, whose sums wait in registers until it is their turn. Pixels beside the strip are compared for the
 * strip's side alone.
 *
 * A sum holds the number of its pixels from bit 20 on.
 * Functions are static: C99 gives large inline ones no body where a compiler decides to call them.
 */
#ifndef PX
#define PX 8 /* results across */
#endif
#ifndef ROWS
#define ROWS 32 /* and down */
#endif
#ifndef RADIUS
#define RADIUS 4 /* of the window */
#endif

#define LINE  (PX + 2 * RADIUS)
#define COUNT (1u << 20)

struct strip {
    __global const uchar *in;
    int pitch, width, height, border;
    int at; /* first column */
};

static inline void load_line(int *line, const struct strip *s, int y)
{
    int inside;
    __global const uchar *row = hone_row(s->in, s->pitch, y, s->height, &inside);
    if (s->at >= RADIUS && s->at + PX + RADIUS <= s->width && REAL_ROW(inside)) {
#pragma unroll
        for (int k = 0; k < LINE; k++)
            line[k] = row[s->at - RADIUS + k];
    } else {
#pragma unroll
        for (int k = 0; k < LINE; k++)
            line[k] = hone_at(row, inside, s->at - RADIUS + k, 0, s->width, s->border);
    }
}

/* Columns a of the upper row and b of the lower one; those below RADIUS and from RADIUS + PX on lie beside
 * the strip. */
static inline void meet(uint *upper_sum, uint *lower_sum, const int *upper, const int *lower, int a, int b,
                        int threshold)
{
    bool near = (int)abs(upper[a] - lower[b]) <= threshold;
    if (a >= RADIUS && a < RADIUS + PX)
        upper_sum[a - RADIUS] += near ? (uint)lower[b] + COUNT : 0u;
    if (b >= RADIUS && b < RADIUS + PX)
        lower_sum[b - RADIUS] += near ? (uint)upper[a] + COUNT : 0u;
}

static inline bool in_strip(int column)
{
    return column >= RADIUS && column < RADIUS + PX;
}

/* A row with itself: each pair from left to right. */
static inline void meet_itself(uint *sum, const int *line, int threshold)
{
#pragma unroll
    for (int a = 0; a < LINE; a++)
#pragma unroll
        for (int b = a + 1; b <= a + RADIUS; b++)
            if (b < LINE && (in_strip(a) || in_strip(b)))
                meet(sum, sum, line, line, a, b, threshold);
}

static inline void meet_below(uint *upper_sum, uint *lower_sum, const int *upper, const int *lower,
                              int threshold)
{
#pragma unroll
    for (int a = 0; a < LINE; a++)
#pragma unroll
        for (int b = a - RADIUS; b <= a + RADIUS; b++)
            if (b >= 0 && b < LINE && (in_strip(a) || in_strip(b)))
                meet(upper_sum, lower_sum, upper, lower, a, b, threshold);
}

static inline void store_line(__global uchar *out, const struct strip *s, const uint *sum, const int *line,
                              int y)
{
    for (int k = 0; k < PX && s->at + k < s->width; k++) {
        uint count = (sum[k] >> 20) + 1, total = (sum[k] & (COUNT - 1)) + (uint)line[RADIUS + k];
        int x = s->at + k;
        bool leaves = x < RADIUS || y < RADIUS || x + RADIUS >= s->width || y + RADIUS >= s->height;
        out[k] = HONE_BORDER == BORDER_ZERO_OUTSIDE && leaves ? (uchar)0
                                                              : (uchar)((2 * total + count) / (2 * count));
    }
}

__kernel void epsilon_symmetric(__global const uchar *in, int in_offset, int in_pitch, __global uchar *out,
                                int out_offset, int out_pitch, int width, int height, int border,
                                int threshold)
{
    struct strip s = {in + in_offset, in_pitch, width, height, border, get_global_id(0) * PX};
    int first = get_global_id(1) * ROWS, end = min(first + ROWS, height);
    if (s.at >= width || first >= height)
        return;
    out += out_offset + s.at;
    int line[LINE], below[LINE];
    uint sums[RADIUS + 1][PX]; /* of a row and those below it */
#pragma unroll
    for (int j = 0; j <= RADIUS; j++)
#pragma unroll
        for (int k = 0; k < PX; k++)
            sums[j][k] = 0;
#pragma unroll 1
    for (int y = first - RADIUS; y < end; y++) { /* the rows above the strip only give */
        load_line(line, &s, y);
        meet_itself(sums[0], line, threshold);
#pragma unroll
        for (int j = 1; j <= RADIUS; j++) {
            load_line(below, &s, y + j);
            meet_below(sums[0], sums[j], line, below, threshold);
        }
        if (y >= first)
            store_line(out + y * out_pitch, &s, sums[0], line, y);
#pragma unroll
        for (int j = 0; j <= RADIUS; j++)
#pragma unroll
            for (int k = 0; k < PX; k++)
                sums[j][k] = j < RADIUS ? sums[j < RADIUS ? j + 1 : j][k] : 0u;
    }
}
