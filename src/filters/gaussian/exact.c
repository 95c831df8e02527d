/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * exact=yes: what every device can give to the last bit. The weights are whole numbers, parts of 2^bits, and
 * a result is
 *
 *     floor((sum over i, j of w(i) w(j) in(x + i, y + j)) / 4^bits + 1/2),
 *
 * which no order of additions changes. Up to COARSE_SIGMA so few bits are enough that the sum along a line of
 * a window is exact in 32 bits; a picture of noise is off by a part of 10^5 of full scale, the worst one by
 * six parts of 10^4 (u8) or three (u16). Beyond, 24 bits: the whole sum of u16 just fits into 64.
 */
#include "filters/gaussian/gaussian.h"

#include <math.h>
#include <stdlib.h>

static const double coarse_sigma = 6;

int64_t gaussian_exact_bits(bool bytes, double sigma)
{
    return sigma > coarse_sigma ? 24 : bytes ? 15 : 16;
}

/* Each weight rounded, but the centre, which takes what is missing: the sum is 2^bits, and the centre is
 * even. */
static uint32_t *exact_weights(const struct filter_case *c, int64_t radius)
{
    const size_t count = (size_t)radius + 1;
    const double sigma = case_number(c, "sigma");
    const int64_t sum = INT64_C(1) << gaussian_exact_bits(c->in.type == HONE_U8, sigma);
    uint32_t *whole = calloc(count, sizeof *whole);
    if (whole && gaussian_whole_weights(sigma, sum, whole, count))
        return whole;
    free(whole);
    return NULL;
}

int64_t gaussian_exact_reach(const struct filter_case *c)
{
    int64_t reach = gaussian_radius(case_number(c, "sigma"));
    uint32_t *weights = exact_weights(c, reach);
    while (weights && reach > 1 && weights[reach] == 0)
        reach--;
    free(weights);
    return reach;
}

void gaussian_exact_table(const struct filter_case *c, uint32_t *table, size_t count)
{
    int64_t radius = gaussian_radius(case_number(c, "sigma"));
    uint32_t *weights = exact_weights(c, radius);
    for (size_t i = 0; weights && i < count && (int64_t)i <= radius; i++)
        table[i] = weights[i];
    free(weights);
}

/* ---- For CPUs: tables of so many words as the window has pairs ---- */

/* Of two rows, one below the other, their weights in 16 bits. */
static uint32_t two_words(const uint32_t *weights, int64_t reach, int64_t at)
{
    uint32_t first = llabs(at) <= reach ? weights[llabs(at)] : 0;
    return first | (llabs(at + 1) <= reach ? weights[llabs(at + 1)] : 0) << 16;
}

/* Pairs of rows, for a first row of results and for a second, which is one row below. */
static void fill_down(const uint32_t *weights, size_t pairs, uint32_t *even, uint32_t *odd)
{
    int64_t reach = (int64_t)pairs - 1;
    for (size_t k = 0; k < pairs; k++) {
        even[k] = two_words(weights, reach, 2 * (int64_t)k - reach);
        odd[k] = two_words(weights, reach, 2 * (int64_t)k - reach - 1);
    }
}

/* ---- Of u16 ---- */

/* Across: the weight of the pixels on both sides, twice; half of the centre twice. Down, and what the centre
 * has over 15 bits, for the first row and for the second. */
static void fill_words(uint32_t *weights, uint32_t *table, size_t count)
{
    size_t pairs = (count - 2) / 3, reach = pairs - 1;
    uint32_t *rest = table + 3 * pairs;
    for (size_t k = 0; k < pairs; k++)
        table[k] = (k ? weights[k] : weights[0] / 2) * 0x10001;
    uint32_t centre = weights[0] < 32768 ? weights[0] : 32767, over = weights[0] - centre;
    weights[0] = centre;
    fill_down(weights, pairs, table + pairs, table + 2 * pairs);
    rest[0] = reach % 2 ? over << 16 : over;
    rest[1] = reach % 2 ? over : over << 16;
}

void gaussian_exact_words(const struct filter_case *c, uint32_t *table, size_t count)
{
    uint32_t *weights = exact_weights(c, gaussian_radius(case_number(c, "sigma")));
    if (weights)
        fill_words(weights, table, count);
    free(weights);
}

void gaussian_words(double sigma, uint32_t *table, size_t count)
{
    const size_t pairs = (count - 2) / 3;
    uint32_t *weights = calloc(pairs, sizeof *weights);
    if (weights && gaussian_balanced_weights(sigma, 65536, weights, pairs))
        fill_words(weights, table, count);
    free(weights);
}

/* ---- Of u8: weights of 8 bits ---- */

/* A weight is 128 coarse + fine. Until the finer sums are carried, the sums of positive weights and those of
 * negative ones are at most 128 * 255, so that 16 bits hold them. */
struct split {
    int32_t coarse, fine;
};

struct section {
    int32_t positive, negative; /* sums of fine weights since the last carry */
};

static bool fits(const struct section *s, int32_t fine)
{
    return fine > 0 ? s->positive + 2 * fine <= 128 : s->negative - 2 * fine <= 128;
}

/* The split that leaves less to the finer sum; or the other, where that fits and this does not. */
static struct split split_weight(int32_t weight, const struct section *s)
{
    struct split down = {weight / 128, weight % 128}, up = {weight / 128 + 1, weight % 128 - 128};
    bool is_down = down.fine <= 64;
    if (fits(s, down.fine) != fits(s, up.fine))
        is_down = fits(s, down.fine);
    return is_down ? down : up;
}

static void add_section(struct section *s, int32_t fine)
{
    s->positive += fine > 0 ? 2 * fine : 0;
    s->negative += fine < 0 ? -2 * fine : 0;
}

/* Two weights of a pair, for all lanes. */
static uint32_t two_bytes(int32_t first, int32_t second)
{
    uint32_t pair = ((uint32_t)first & 255) | ((uint32_t)second & 255) << 8;
    return pair | pair << 16;
}

/* The centre's pairs: with the pixel before and with the one behind, half of the centre in each. What the two
 * finer weights leave has opposite signs, so that their sums fit. */
static struct section split_centre(const uint32_t *weights, uint32_t *coarse, uint32_t *fine)
{
    const struct section none = {0, 0};
    int32_t centre = (int32_t)weights[0];
    struct split beside = split_weight((int32_t)weights[1], &none), middle = {centre / 128, centre % 128};
    if (beside.fine > 0 && middle.fine > 0)
        middle = (struct split){middle.coarse + 1, middle.fine - 128};
    coarse[0] = two_bytes((middle.coarse + 1) / 2, beside.coarse);
    coarse[1] = two_bytes(middle.coarse / 2, beside.coarse);
    fine[0] = two_bytes(middle.fine, beside.fine);
    fine[1] = two_bytes(0, beside.fine);
    struct section s = {middle.fine > 0 ? middle.fine : 0, middle.fine < 0 ? -middle.fine : 0};
    add_section(&s, beside.fine);
    return s;
}

/* The first pair from which on fine weights are enough. */
static size_t first_fine(const uint32_t *weights, size_t pairs)
{
    size_t k = 2;
    while (k < pairs && weights[k] > 64)
        k++;
    return k;
}

/* Across: coarse and fine. Down. A bit for each pair before which the finer sums are carried, which they are
 * where fine weights begin to be enough, too: the last word. */
void gaussian_exact_bytes(const struct filter_case *c, uint32_t *table, size_t count)
{
    size_t pairs = (count - 2) / 4;
    uint32_t *weights = exact_weights(c, gaussian_radius(case_number(c, "sigma")));
    uint32_t *coarse = table, *fine = table + pairs, *counts = table + 4 * pairs;
    if (!weights)
        return;
    counts[0] = 0;
    struct section s = split_centre(weights, coarse, fine);
    const struct section none = {0, 0};
    size_t fine_from = first_fine(weights, pairs);
    for (size_t k = 2; k < pairs; k++) {
        bool is_fine = k >= fine_from;
        struct split w = split_weight((int32_t)weights[k], is_fine ? &none : &s);
        if (k == fine_from || !fits(&s, w.fine)) {
            s = none;
            w = split_weight((int32_t)weights[k], &s);
            counts[0] |= (uint32_t)1 << k;
        }
        add_section(&s, w.fine);
        coarse[k] = two_bytes(w.coarse, w.coarse);
        fine[k] = two_bytes(w.fine, w.fine);
    }
    counts[1] = (uint32_t)fine_from;
    fill_down(weights, pairs, table + 2 * pairs, table + 3 * pairs);
    free(weights);
}

/* ---- The reference ---- */

/* A line with what the border rule puts on both sides of it. */
struct line {
    uint64_t *values; /* `reach` more on each side */
    const uint32_t *weights;
    int64_t count, reach;
};

static uint64_t weighted(const struct line *line, int64_t at)
{
    uint64_t sum = 0;
    for (int64_t i = -line->reach; i <= line->reach; i++)
        sum += line->weights[i < 0 ? -i : i] * line->values[line->reach + at + i];
    return sum;
}

static void along_rows(const struct filter_case *c, const struct view *in, uint32_t channel, struct line line,
                       uint64_t *rows)
{
    line.count = c->in.width;
    for (int64_t y = 0; y < c->in.height; y++) {
        for (int64_t x = -line.reach; x < line.count + line.reach; x++)
            line.values[x + line.reach] =
                (uint64_t)view_border_get(in, c->border, c->border_value, x, y, channel);
        for (int64_t x = 0; x < line.count; x++)
            rows[y * line.count + x] = weighted(&line, x);
    }
}

static void along_columns(const struct filter_case *c, uint32_t channel, struct line line,
                          const uint64_t *rows, struct view *out)
{
    int64_t bits = case_symbol(c, "EXACT_BITS"), r = case_symbol(c, "R");
    uint64_t outside = (uint64_t)c->border_value << bits, half = (uint64_t)1 << (2 * bits - 1);
    line.count = c->in.height;
    for (int64_t x = 0; x < c->in.width; x++) {
        for (int64_t y = -line.reach; y < line.count + line.reach; y++) {
            int64_t from = border_index(c->border, y, line.count);
            line.values[y + line.reach] = from < 0 ? outside : rows[from * c->in.width + x];
        }
        for (int64_t y = 0; y < line.count; y++) {
            bool leaves =
                c->border == HONE_BORDER_ZERO_OUTSIDE && view_window_leaves(&c->in, x, y, r, r, r, r);
            view_set(out, x, y, channel, leaves ? 0 : (double)((weighted(&line, y) + half) >> 2 * bits));
        }
    }
}

void gaussian_exact_reference(const struct filter_case *c, const struct view *in, uint32_t channels,
                              struct view *out)
{
    int64_t reach = case_symbol(c, "EXACT_REACH"),
            longest = c->in.width > c->in.height ? c->in.width : c->in.height;
    uint32_t *weights = exact_weights(c, gaussian_radius(case_number(c, "sigma")));
    uint64_t *rows = calloc((size_t)c->in.width * c->in.height, sizeof *rows);
    struct line line = {calloc((size_t)(longest + 2 * reach), sizeof *line.values), weights, 0, reach};
    for (uint32_t channel = 0; weights && rows && line.values && channel < channels; channel++) {
        along_rows(c, in, channel, line, rows);
        along_columns(c, channel, line, rows, out);
    }
    free(weights);
    free(rows);
    free(line.values);
}
