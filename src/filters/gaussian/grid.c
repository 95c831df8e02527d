/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Numbers of the grid form. Pixels are gathered onto every STEP-th row and column with a kernel `phi`, a
 * filter runs over that grid, and phi spreads it over all pixels:
 *
 *     h(x,y) = sum over j, k of phi(x - k STEP) taps(k - j) phi(y - j STEP) / STEP        along each axis
 *
 * Cell b is the pixels b STEP .. b STEP + STEP - 1; grid point b stands half a pixel before the first of
 * them, so that phi is the same from both sides. phi reaches two cells to each side; of each pixel, the
 * weights for the four grid points around it sum to 1. The two polynomials that make it were fitted so that
 * the best taps leave the least error: one for STEP = sigma / 1.5 (u8), one for sigma / 2.5 (finer formats).
 * `taps` is the least-squares fit to the Gaussian over all positions of x and y. The sum of |h - Gaussian| of
 * both axes is 0.4 of 255 levels at sigma / STEP = 1.25 and 0.1 at 1.5; with the second phi 1.8e-4 at 1.75,
 * 7e-5 at 2 and 2e-5 at 2.5. A picture between 0 and full scale errs by at most half of the sum of both axes,
 * that is by as much.
 */
#include "filters/gaussian/gaussian.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { DEGREE = 6, SUPPORT = 4, BAND = 2 * SUPPORT - 2, LARGEST = 16 };

/* Highest power first: of the distance t below one cell, of 2 - t beyond. */
static const double coarse_phi[2][DEGREE + 1] = {
    {-0.104921, -0.0356144, 0.7913645, 0.1765735, -2.1938781, 0.1345229, 1.915997},
    {0.1168556, -0.323681, 0.2820283, 0.3666458, 0.1428365, 0.1004096, 0.002749}};
static const double fine_phi[2][DEGREE + 1] = {
    {-0.0405194, 0.2223448, -0.4154657, 1.5047475, -2.3868448, -0.140099, 1.8603612},
    {0.0432361, -0.0347108, 0.0289327, 0.4577592, 0.0287543, 0.0809954, 0.0005756}};

/* How far taps and window reach on a grid of this step, as multiples of `whole`. */
static struct gaussian_grid grid_of(const struct filter_case *c, double sigma, int64_t step, int64_t whole)
{
    double ratio = sigma / (double)step;
    double windows = c->in.type != HONE_U8 ? 4 : ratio < 6.5 ? 3.2 : 3.4;
    int64_t taps = ((int64_t)ceil(windows * ratio) + whole - 1) / whole * whole;
    int64_t cells = ((int64_t)ceil(5 * ratio) + whole - 1) / whole * whole;
    return (struct gaussian_grid){step, taps, c->in.type == HONE_F32 ? cells : taps};
}

/* A cell of 16 rows of anything but gray u8 is more code than a processor keeps at hand, and more than twice
 * as slow. */
struct gaussian_grid gaussian_grid(const struct filter_case *c, double sigma)
{
    bool bytes = c->in.type == HONE_U8;
    double least = bytes ? 1.25 : 1.75;
    int64_t step = 1, largest = bytes && c->in.channels == 1 ? LARGEST : LARGEST / 2;
    while (step < largest && (double)(2 * step) * least <= sigma)
        step *= 2;
    struct gaussian_grid grid = grid_of(c, sigma, step, 4);
    /* Beyond the edges of what repeats there, points are alike from the second one on. */
    if (c->border != HONE_BORDER_REFLECT && c->border != HONE_BORDER_REFLECT101 &&
        c->border != HONE_BORDER_WRAP)
        grid.reach = 4;
    return grid;
}

struct gaussian_grid gaussian_coarse_grid(const struct filter_case *c, double sigma)
{
    double step = fmin(LARGEST, fmax(1, sigma / (c->in.type == HONE_U8 ? 1.25 : 1.75)));
    return grid_of(c, sigma, (int64_t)step, 1);
}

struct gaussian_grid gaussian_matrix_grid(const struct filter_case *c, double sigma)
{
    struct gaussian_grid grid = grid_of(c, sigma, 4, 2);
    grid.reach = (grid.taps + SUPPORT / 2) * grid.step;
    return grid;
}

static double polynomial(const double *coefficients, double t)
{
    double value = 0;
    for (int i = 0; i <= DEGREE; i++)
        value = value * t + coefficients[i];
    return value;
}

/* phi[d * SUPPORT + i]: the weight of a cell's pixel d for grid point i - 1 counted from the cell's own. */
static void find_phi(bool bytes, int64_t step, double *phi)
{
    const double(*set)[DEGREE + 1] = bytes ? coarse_phi : fine_phi;
    for (int64_t d = 0; d < step; d++) {
        double sum = 0;
        for (int i = 0; i < SUPPORT; i++) {
            double t = fabs(((double)d + 0.5) / (double)step - (i - 1));
            phi[d * SUPPORT + i] = t < 1 ? polynomial(set[0], t) : polynomial(set[1], 2 - t);
            sum += phi[d * SUPPORT + i];
        }
        for (int i = 0; i < SUPPORT; i++)
            phi[d * SUPPORT + i] /= sum;
    }
}

/* phi by distance from the grid point: pixel n of its support, 0 .. SUPPORT * step - 1. */
static double phi_at(const double *phi, int64_t step, int64_t n)
{
    if (n < 0 || n >= SUPPORT * step)
        return 0;
    return phi[n % step * SUPPORT + SUPPORT - 1 - n / step];
}

/* What phi leaves of itself `shift` pixels further, over step^2. */
static double correlation(const double *phi, int64_t step, int64_t shift)
{
    double sum = 0;
    for (int64_t n = 0; n < SUPPORT * step; n++)
        sum += phi_at(phi, step, n) * phi_at(phi, step, n + shift);
    return sum / (double)(step * step);
}

/* Solves the banded symmetric system for two right sides at once; no pivots, since it is positive
 * definite. */
static void solve(double (*rows)[BAND + 1], double (*sides)[2], int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        for (int64_t k = 1; k <= BAND && i + k < count; k++) {
            double factor = rows[i][k] / rows[i][0];
            for (int64_t m = k; m <= BAND; m++)
                rows[i + k][m - k] -= factor * rows[i][m];
            for (int s = 0; s < 2; s++)
                sides[i + k][s] -= factor * sides[i][s];
        }
    for (int64_t i = count - 1; i >= 0; i--)
        for (int s = 0; s < 2; s++) {
            for (int64_t k = 1; k <= BAND && i + k < count; k++)
                sides[i][s] -= rows[i][k] * sides[i + k][s];
            sides[i][s] /= rows[i][0];
        }
}

/* The normal equations: rows hold the upper band, sides the Gaussian seen through phi, and ones for the
 * constraint. */
static void set_up(const double *phi, int64_t step, double sigma, int64_t reach, double (*rows)[BAND + 1],
                   double (*sides)[2])
{
    double seen[2 * SUPPORT * LARGEST + 1], same[BAND + 1];
    int64_t span = SUPPORT * step;
    for (int64_t n = -span; n <= span; n++)
        seen[n + span] = correlation(phi, step, n);
    for (int64_t d = 0; d <= BAND; d++) {
        same[d] = 0;
        for (int64_t m = -SUPPORT; m + d <= SUPPORT; m++)
            same[d] += (double)step * seen[m * step + span] * seen[(m + d) * step + span];
    }
    for (int64_t k = -reach; k <= reach; k++) {
        double sum = 0;
        for (int64_t n = -span; n <= span; n++)
            sum += seen[n + span] * exp(-0.5 * pow((double)(k * step + n) / sigma, 2));
        sides[k + reach][0] = sum / (sigma * sqrt(2 * M_PI));
        sides[k + reach][1] = 1;
        for (int64_t d = 0; d <= BAND; d++)
            rows[k + reach][d] = same[d];
    }
}

/* taps[0 .. 2 * reach], their sum 1. */
static void find_taps(const double *phi, int64_t step, double sigma, int64_t reach, float *taps)
{
    const size_t size = 2 * (size_t)reach + 1;
    const int64_t count = (int64_t)size;
    double(*rows)[BAND + 1] = calloc(size, sizeof *rows);
    double(*sides)[2] = calloc(size, sizeof *sides);
    if (rows && sides) {
        set_up(phi, step, sigma, reach, rows, sides);
        solve(rows, sides, count);
        double sums[2] = {0, 0};
        for (int64_t i = 0; i < count; i++)
            for (int s = 0; s < 2; s++)
                sums[s] += sides[i][s];
        for (int64_t i = 0; i < count; i++)
            taps[i] = (float)(sides[i][0] + sides[i][1] * (1 - sums[0]) / sums[1]);
    }
    free(rows);
    free(sides);
}

void gaussian_grid_table(const struct filter_case *c, struct gaussian_grid grid, float *table, size_t count)
{
    double phi[SUPPORT * LARGEST];
    find_phi(c->in.type == HONE_U8, grid.step, phi);
    for (int64_t i = 0; i < SUPPORT * grid.step && i < (int64_t)count; i++)
        table[i] = (float)phi[i];
    int64_t first = SUPPORT * grid.step + GRID_PADDING;
    if ((int64_t)count < first + 2 * grid.taps + 1 + GRID_PADDING)
        return;
    for (int64_t i = SUPPORT * grid.step; i < (int64_t)count; i++)
        table[i] = 0;
    find_taps(phi, grid.step, case_number(c, "sigma"), grid.taps, table + first);
}

/* What a point sees of pixels at distances 0 .. reach - 1 to one side of it. */
static void find_seen(const double *phi, struct gaussian_grid grid, const float *taps, double *seen)
{
    for (int64_t n = 0; n < grid.reach; n++) {
        seen[n] = 0;
        for (int64_t i = 0; i < SUPPORT; i++) {
            const int64_t point = n / grid.step + i - 1;
            if (point <= grid.taps)
                seen[n] += phi[n % grid.step * SUPPORT + i] * taps[grid.taps + point] / (double)grid.step;
        }
    }
}

/* A number as a half keeps it, and its bits. */
static double as_half(double value)
{
    int exponent;
    frexp(value, &exponent);
    const double unit = ldexp(1, exponent < -13 ? -24 : exponent - 11);
    return rint(value / unit) * unit;
}

static uint32_t half_bits(double value)
{
    int exponent;
    const double size = fabs(as_half(value)), part = frexp(size, &exponent);
    const uint32_t sign = value < 0 ? 0x8000 : 0;
    if (size == 0 || exponent < -13)
        return sign | (uint32_t)ldexp(size, 24);
    return sign | ((uint32_t)(exponent + 14) << 10 | (uint32_t)(ldexp(part, 11) - 1024));
}

/* Rounds all to halves, but the largest takes what is missing to `sum` before. */
static void round_to_halves(double *values, int64_t count, double sum)
{
    int64_t largest = 0;
    for (int64_t i = 1; i < count; i++)
        if (values[i] > values[largest])
            largest = i;
    for (int64_t i = 0; i < count; i++)
        if (i != largest)
            sum -= values[i] = as_half(values[i]);
    values[largest] = as_half(sum);
}

/* What makes the matrices on the left of products. */
struct matrices {
    struct gaussian_grid grid;
    double phi[SUPPORT * LARGEST];
    double *seen; /* by a point, at distances 0 .. grid.reach - 1 */
};

/* What pixel k of a block gives to point i. */
static double seen_of(const struct matrices *m, int64_t block, int64_t i, int64_t pixel)
{
    const int64_t distance = 16 * block + pixel - m->grid.step * i - m->grid.reach;
    const int64_t at = distance < 0 ? -1 - distance : distance;
    return at < m->grid.reach ? m->seen[at] : 0;
}

/* What a point, so many behind the first one that a block of cells sees, gives to a pixel of it. */
static double phi_of(const struct matrices *m, int64_t pixel, int64_t point)
{
    const int64_t from = point - pixel / m->grid.step;
    return from >= 0 && from < SUPPORT ? m->phi[pixel % m->grid.step * SUPPORT + from] : 0;
}

/* Row i, column k of matrix `number`: what points see of rows of pixels; results of rows of points, for each
 * of two tiles of 16; results of columns of points, where four products make four neighbours each of 16
 * pixels, so that a lane has them all, and four more add what the next points give; and what points see of
 * columns of pixels, four neighbours of which are in one word. */
static double left_of(const struct matrices *m, int64_t number, int64_t i, int64_t k)
{
    const int64_t depth = (60 + 2 * m->grid.reach + 15) / 16;
    if (number < depth)
        return seen_of(m, number, i, k);
    number -= depth;
    if (number < 2)
        return phi_of(m, 16 * number + i, k);
    number -= 2;
    if (number < 8)
        return phi_of(m, 16 * (i % 8 / 2) + 4 * (number % 4) + 2 * (i / 8) + i % 2, k + 16 * (number / 4));
    return seen_of(m, number - 8, i, 4 * (k % 8 / 2) + k % 2 + 2 * (k / 8));
}

/* Each matrix as its 32 lanes hold it: four pairs of halves. */
static void fill_matrices(const struct matrices *m, uint32_t *table, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const int64_t lane = i / 4 % 32, row = lane / 4 + i % 2 * 8, column = 2 * (lane % 4) + i / 2 % 2 * 8;
        table[i] = half_bits(left_of(m, (int64_t)i / 128, row, column)) |
                   half_bits(left_of(m, (int64_t)i / 128, row, column + 1)) << 16;
    }
}

void gaussian_matrix_grid_table(const struct filter_case *c, struct gaussian_grid grid, uint32_t *table,
                                size_t count)
{
    struct matrices m = {.grid = grid, .seen = calloc((size_t)grid.reach, sizeof(double))};
    float *taps = calloc(2 * (size_t)grid.taps + 1, sizeof *taps);
    if (taps && m.seen && count > 0) {
        find_phi(c->in.type == HONE_U8, grid.step, m.phi);
        find_taps(m.phi, grid.step, case_number(c, "sigma"), grid.taps, taps);
        find_seen(m.phi, grid, taps, m.seen);
        round_to_halves(m.seen, grid.reach, 0.5);
        for (int64_t d = 0; d < grid.step; d++)
            round_to_halves(m.phi + d * SUPPORT, SUPPORT, 1);
        double sum = 0;
        for (int64_t i = 0; i < grid.reach; i++)
            sum += 2 * m.seen[i];
        const float start = (float)(-1152 * sum);
        fill_matrices(&m, table, count - 1);
        memcpy(table + count - 1, &start, sizeof start);
    }
    free(taps);
    free(m.seen);
}
