/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Numbers for kernels, computed in double precision on the host, so that a new sigma compiles nothing.
 *
 * The recursive filters are Deriche's: one side of the Gaussian as a sum of damped oscillations,
 *     h(n) = sum of Re(a p^n),  p = exp((-decay + i frequency) / sigma),  a = (cosine - i sine) / total,
 * run once from each side, both over the input, and added. `total` makes the sum of all weights 1.
 */
#include "filters/gaussian/gaussian.h"

#include <complex.h>
#include <math.h>
#include <stdlib.h>

struct oscillation {
    double cosine, sine, frequency, decay;
};

/* R. Deriche, "Recursively implementing the Gaussian and its derivatives", INRIA report 1893, 1993: 4th
 * order. With weights that sum to 1, the worst error of a picture is 0.14 of 255 levels. */
static const struct oscillation fourth_order[] = {{1.680, 3.735, 0.6318, 1.783},
                                                  {-0.6803, -0.2598, 1.997, 1.723}};

/* The same form with three pairs, fitted by least squares: its worst error is 0.002 of 255 levels. */
static const struct oscillation sixth_order[] = {{3.1559225710, 7.3226169623, 0.5266296338, 2.1832722009},
                                                 {-2.3146743962, -0.9233317103, 1.6162028927, 2.1521804845},
                                                 {0.1587430097, -0.0436655173, 2.8568481120, 2.0798244669}};

struct pole {
    double complex p, a; /* a is scaled so that all weights sum to 1 */
};

static void find_poles(const struct oscillation *set, size_t count, double sigma, struct pole *poles)
{
    double total = 0;
    for (size_t i = 0; i < count; i++) {
        poles[i].p = cexp((-set[i].decay + I * set[i].frequency) / sigma);
        poles[i].a = set[i].cosine - I * set[i].sine;
        total += creal(poles[i].a * (1 + poles[i].p) / (1 - poles[i].p));
    }
    for (size_t i = 0; i < count; i++)
        poles[i].a /= total;
}

static void fill_poles(const struct filter_case *c, float *table, size_t count)
{
    struct pole poles[3];
    find_poles(count == 2 ? fourth_order : sixth_order, count, case_number(c, "sigma"), poles);
    for (size_t i = 0; i < count; i++) {
        double complex before = poles[i].a * poles[i].p, still = 1 / (1 - poles[i].p);
        const double values[POLE_FLOATS] = {creal(poles[i].p),  cimag(poles[i].p), creal(poles[i].a),
                                            -cimag(poles[i].a), creal(before),     -cimag(before),
                                            creal(still),       cimag(still)};
        for (size_t k = 0; k < POLE_FLOATS; k++)
            table[i * POLE_FLOATS + k] = (float)values[k];
    }
}

/* Re(a / (1 - p z)) = (b0 + b1 z) / (1 - a1 z - a2 z^2) */
static void fill_sections(const struct filter_case *c, float *table, size_t count)
{
    struct pole poles[2];
    find_poles(fourth_order, 2, case_number(c, "sigma"), poles);
    for (size_t i = 0; i < count; i++) {
        double complex p = poles[i].p, forward = poles[i].a, backward = forward * p;
        double a1 = 2 * creal(p), a2 = -creal(p * conj(p)), still = 1 / (1 - a1 - a2);
        double b0 = creal(forward), b1 = -creal(forward * conj(p));
        double c0 = creal(backward), c1 = -creal(backward * conj(p));
        const double values[SECTION_FLOATS] = {b0, b1, c0, c1, a1, a2, (b0 + b1) * still, (c0 + c1) * still};
        for (size_t k = 0; k < SECTION_FLOATS; k++)
            table[i * SECTION_FLOATS + k] = (float)values[k];
    }
}

static void fill_weights(double sigma, float *table, size_t count)
{
    double *weights = calloc(count, sizeof *weights);
    if (!weights)
        return;
    gaussian_weights(sigma, (int64_t)count - 1, weights);
    for (size_t i = 0; i < count; i++)
        table[i] = (float)weights[i];
    free(weights);
}

int64_t gaussian_near(double sigma)
{
    return (int64_t)ceil(fmax(1, 3.5 * sigma - 0.5));
}

int64_t gaussian_reach_16(double sigma)
{
    return (int64_t)ceil(fmax(1, 4.25 * sigma - 0.5));
}

int64_t gaussian_bits_16(double sigma)
{
    double sum = 1; /* of weights whose centre is 1 */
    for (int64_t i = gaussian_reach_16(sigma); i > 0; i--)
        sum += 2 * exp(-0.5 * (double)(i * i) / (sigma * sigma));
    int64_t bits = 16;
    while (ldexp(1, (int)bits + 1) / sum < 65500)
        bits++;
    return bits;
}

bool gaussian_whole_weights(double sigma, int64_t sum, uint32_t *whole, size_t count)
{
    double *weights = calloc(count, sizeof *weights);
    if (!weights)
        return false;
    gaussian_weights(sigma, (int64_t)count - 1, weights);
    int64_t rest = sum;
    for (size_t i = 1; i < count; i++) {
        whole[i] = (uint32_t)lrint(weights[i] * (double)sum);
        rest -= 2 * whole[i];
    }
    whole[0] = (uint32_t)rest;
    free(weights);
    return true;
}

/* Which weight but the centre is the best one to be more or less by one: -1 or 1. */
static size_t nearest_to_change(const double *exact, const uint32_t *whole, size_t count, int by)
{
    size_t best = 1;
    double least = INFINITY;
    for (size_t i = 1; i < count; i++) {
        const double error = (whole[i] - exact[i]) * by;
        if (error < least && (by > 0 || whole[i] > 0)) {
            least = error;
            best = i;
        }
    }
    return best;
}

bool gaussian_balanced_weights(double sigma, int64_t sum, uint32_t *whole, size_t count)
{
    double *weights = calloc(count, sizeof *weights);
    if (!weights || !gaussian_whole_weights(sigma, sum, whole, count)) {
        free(weights);
        return false;
    }
    gaussian_weights(sigma, (int64_t)count - 1, weights);
    for (size_t i = 0; i < count; i++)
        weights[i] *= (double)sum;
    for (double rest = whole[0] - weights[0]; fabs(rest) > 1; rest = whole[0] - weights[0]) {
        const int by = rest > 0 ? 1 : -1;
        whole[nearest_to_change(weights, whole, count, by)] += (uint32_t)by;
        whole[0] -= 2 * (uint32_t)by;
    }
    free(weights);
    return true;
}

static void fill_near_weights(double sigma, uint16_t *table, size_t count)
{
    uint32_t *weights = calloc(count, sizeof *weights);
    if (weights && gaussian_whole_weights(sigma, 65536, weights, count))
        for (size_t i = 0; i < count; i++)
            table[i] = (uint16_t)weights[i];
    free(weights);
}

void gaussian_table(const struct filter_case *c, int index, void *table, size_t bytes)
{
    double sigma = case_number(c, "sigma");
    if (index == TABLE_POLES)
        fill_poles(c, table, bytes / sizeof(float) / POLE_FLOATS);
    else if (index == TABLE_SECTIONS)
        fill_sections(c, table, bytes / sizeof(float) / SECTION_FLOATS);
    else if (index == TABLE_NEAR && c->in.type == HONE_U8)
        fill_near_weights(sigma, table, bytes / sizeof(uint16_t));
    else if (index == TABLE_EXACT)
        gaussian_exact_table(c, table, bytes / sizeof(uint32_t));
    else if (index == TABLE_16)
        gaussian_whole_weights(sigma, INT64_C(1) << gaussian_bits_16(sigma), table, bytes / sizeof(uint32_t));
    else if (index == TABLE_VECTORS && !c->exact)
        gaussian_words(sigma, table, bytes / sizeof(uint32_t));
    else if (index == TABLE_VECTORS && c->in.type == HONE_U8)
        gaussian_exact_bytes(c, table, bytes / sizeof(uint32_t));
    else if (index == TABLE_VECTORS)
        gaussian_exact_words(c, table, bytes / sizeof(uint32_t));
    else if (index == TABLE_GRID)
        gaussian_grid_table(c, gaussian_grid(c, sigma), table, bytes / sizeof(float));
    else if (index == TABLE_COARSE)
        gaussian_grid_table(c, gaussian_coarse_grid(c, sigma), table, bytes / sizeof(float));
    else if (index == TABLE_SEEN)
        gaussian_matrix_grid_table(c, gaussian_matrix_grid(c, sigma), table, bytes / sizeof(uint32_t));
    else
        fill_weights(sigma, table, bytes / sizeof(float));
}
