/* SPDX-License-Identifier: BSD-2-Clause */
/* Weights as whole numbers, so that integer formats have exact sums; the product of a row and a column. */
#include "filters/convolve/convolve.h"

#include <math.h>
#include <stdlib.h>

/* How far whole weights may take a result away from the weights as written, in levels, before it is
 * rounded. */
#define ERROR_MOST (1.0 / 64)

static int taps(const struct weights *w)
{
    return w->width * w->height;
}

double weights_total(const struct weights *w)
{
    double total = 0;
    for (int i = 0; i < taps(w); i++)
        total += fabs(w->real[i]);
    return total;
}

int64_t weights_whole_total(const struct weights *w)
{
    int64_t total = 0;
    for (int i = 0; i < taps(w); i++)
        total += llabs(w->whole[i]);
    return total;
}

int64_t weights_whole_most(const struct weights *w)
{
    int64_t most = 0;
    for (int i = 0; i < taps(w); i++)
        most = llabs(w->whole[i]) > most ? llabs(w->whole[i]) : most;
    return most;
}

bool weights_hold_zero(const struct weights *w)
{
    for (int i = 0; i < taps(w); i++)
        if (w->real[i] == 0)
            return true;
    return false;
}

/* The larger of what the two lanes of 16 bits get from a row, per level of the brightest pixel. */
static int64_t lane_total(const struct weights *w, int row)
{
    int64_t lanes[2] = {0, 0};
    for (int i = 0; i < w->width; i++)
        lanes[i / 2 % 2] += llabs(w->whole[row * w->width + i]);
    return lanes[0] > lanes[1] ? lanes[0] : lanes[1];
}

int weights_capacity(const struct weights *w)
{
    int capacity = w->height;
    for (int first = 0; first < w->height; first++) {
        int64_t total = 0;
        for (int j = first; j < w->height && j < first + capacity; j++) {
            total += lane_total(w, j);
            if (total * UINT8_MAX > INT16_MAX)
                capacity = j - first;
        }
    }
    return weights_whole_most(w) <= INT8_MAX ? capacity : 0;
}

/* What all columns of two rows give, per level; nothing lies beside the kernel. */
static int64_t pair_total(const struct weights *w, int first)
{
    int64_t total = 0;
    for (int j = first; j < first + 2; j++)
        for (int i = 0; i < w->width && 0 <= j && j < w->height; i++)
            total += llabs(w->whole[j * w->width + i]);
    return total;
}

int weights_woven_capacity(const struct weights *w, bool biased)
{
    const int64_t room = biased ? INT16_MAX + 1 : INT16_MAX, level = biased ? 128 : UINT8_MAX;
    int capacity = w->height;
    for (int i = 0; i < taps(w); i++)
        if (w->whole[i] > INT8_MAX || w->whole[i] < (biased ? 0 : -INT8_MAX))
            return 0;
    for (int first = -1; first < w->height; first++) {
        int64_t total = 0;
        for (int n = 0; n < capacity && first + 2 * n < w->height; n++) {
            total += pair_total(w, first + 2 * n);
            if (total * level > room)
                capacity = n;
        }
    }
    return capacity;
}

int weights_limbs(const struct weights *w)
{
    int64_t most = weights_whole_most(w);
    return w->sums != SUMS_32 || most > 256 * INT8_MAX + INT8_MAX ? 0 : most > INT8_MAX ? 2 : 1;
}

/* Multiplies and rounds. Sums must fit: products and sums of 64 bits always do once weights fit 32. */
static bool set_whole(struct weights *w, double denominator, double most)
{
    for (int i = 0; i < taps(w); i++) {
        double value = rint(w->real[i] * denominator);
        if (!(fabs(value) <= most))
            return false;
        w->whole[i] = (int32_t)value;
    }
    w->denominator = denominator;
    return true;
}

static bool fits_32(const struct weights *w, double full)
{
    return (double)weights_whole_total(w) * full <= INT32_MAX;
}

/* Whether nothing was lost: decimal fractions are off by the last bit of a double. */
static bool is_exact(const struct weights *w)
{
    for (int i = 0; i < taps(w); i++) {
        double value = w->real[i] * w->denominator;
        if (fabs(value - w->whole[i]) > fabs(value) * 0x1p-51)
            return false;
    }
    return true;
}

/* The smallest power of 2 or 10 that makes all weights whole numbers. */
static bool find_denominator(struct weights *w)
{
    for (double power = 1; power <= 0x1p20; power *= 2)
        if (set_whole(w, power, INT32_MAX) && is_exact(w))
            return true;
    for (double power = 10; power <= 1e9; power *= 10)
        if (set_whole(w, power, INT32_MAX) && is_exact(w))
            return true;
    return false;
}

/* The largest error of a result, in levels, before it is rounded. */
static double largest_error(const struct weights *w, double full, double scale)
{
    double error = 0;
    for (int i = 0; i < taps(w); i++)
        error += fabs(w->real[i] - w->whole[i] / w->denominator);
    return error * full * fabs(scale);
}

/* The finest power of two with weights of at most `most` and, where asked for, sums of 32 bits. */
static bool quantise(struct weights *w, double most, bool narrow, double full)
{
    double largest = 0;
    for (int i = 0; i < taps(w); i++)
        largest = fabs(w->real[i]) > largest ? fabs(w->real[i]) : largest;
    int exponent = (int)floor(log2(most / largest));
    while (!set_whole(w, ldexp(1, exponent), most) || (narrow && !fits_32(w, full)))
        exponent--;
    return isfinite(w->denominator);
}

/* Sums of 32 bits and weights of 16 are fastest, so fractions get them wherever that keeps the promise; whole
 * numbers as written stay as they are. */
static bool choose_precision(struct weights *w, double full, double scale)
{
    bool exact = find_denominator(w);
    struct weights found = *w;
    found.sums = exact && fits_32(w, full) ? SUMS_32 : SUMS_64;
    bool narrow = found.sums == SUMS_32 && weights_whole_most(w) <= INT16_MAX;
    w->sums = SUMS_32;
    if (!(exact && (w->denominator == 1 || narrow)) && quantise(w, INT16_MAX, true, full) &&
        largest_error(w, full, scale) <= ERROR_MOST)
        return true;
    if (!exact && quantise(w, INT32_MAX, true, full) && largest_error(w, full, scale) <= ERROR_MOST)
        return true;
    *w = found;
    return exact || quantise(w, INT32_MAX, false, full);
}

static int64_t gcd(int64_t a, int64_t b)
{
    while (b) {
        int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return llabs(a);
}

/* Splits whole weights into a row times a column of whole numbers. */
static bool factorise(struct weights *w)
{
    int row = 0, column = 0;
    int64_t divisor = 0;
    for (int i = 0; i < taps(w) && divisor == 0; i++)
        if (w->whole[i]) {
            row = i / w->width;
            column = i % w->width;
            divisor = 1;
        }
    if (divisor == 0)
        return false;
    const int32_t *first = w->whole + row * w->width;
    divisor = 0;
    for (int i = 0; i < w->width; i++)
        divisor = gcd(divisor, first[i]);
    for (int i = 0; i < w->width; i++)
        w->across[i] = (int32_t)(first[i] / divisor);
    for (int j = 0; j < w->height; j++) {
        const int32_t *line = w->whole + j * w->width;
        w->down[j] = line[column] / w->across[column];
        for (int i = 0; i < w->width; i++)
            if ((int64_t)w->down[j] * w->across[i] != line[i])
                return false;
    }
    return true;
}

bool weights_make_whole(struct weights *w, bool integer, double full, double scale)
{
    bool whole = integer ? choose_precision(w, full, scale) : find_denominator(w);
    w->separable = whole && factorise(w);
    w->factor = (float)(integer ? scale / w->denominator : scale);
    return whole || !integer;
}
