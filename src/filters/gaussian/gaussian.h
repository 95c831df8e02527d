/* SPDX-License-Identifier: BSD-2-Clause */
/* Shared inside this folder. */
#pragma once

#include "filter/filter.h"

/* The window reaches so many pixels to each side: what lies beyond sums to less than 1e-6. */
int64_t gaussian_radius(double sigma);
/* The radius that is enough for u8: what lies beyond moves a result by at most 0.24 levels. */
int64_t gaussian_near(double sigma);

/* Of the grid form: pixels from one grid point to the next, and grid points (on GPUs a multiple of 4) to each
 * side: that the filter's taps reach, so far that what they leave out is no more than what the grid errs by
 * itself; and that are gathered, on GPUs less than that where the border rule repeats something: of f32 the
 * window must lie inside, for NaN and infinity. */
struct gaussian_grid {
    int64_t step, taps, reach;
};
/* On GPUs, where the step is a power of two; and of variant `coarse`, where it is as large as can be. */
struct gaussian_grid gaussian_grid(const struct filter_case *c, double sigma);
struct gaussian_grid gaussian_coarse_grid(const struct filter_case *c, double sigma);
void gaussian_grid_table(const struct filter_case *c, struct gaussian_grid grid, float *table, size_t count);

/* The same of `grid_matrix`, where `reach` is how many pixels a point sees to each side. table: its matrices,
 * and what sums of 1024 + value begin with to become those of values - 128, a float. */
struct gaussian_grid gaussian_matrix_grid(const struct filter_case *c, double sigma);
void gaussian_matrix_grid_table(const struct filter_case *c, struct gaussian_grid grid, uint32_t *table,
                                size_t count);

/* weights[0..radius] of a sampled Gaussian, normalised: weights[0] + 2 * (the others) is 1. */
void gaussian_weights(double sigma, int64_t radius, double *weights);
/* The same as parts of `sum`, which is what they make together: each of `count` is rounded, but the centre,
 * which takes what is missing. false: there is no memory. */
bool gaussian_whole_weights(double sigma, int64_t sum, uint32_t *whole, size_t count);
/* The same, but what is missing is shared out, to weights that change least by it: the centre is off by at
 * most one. */
bool gaussian_balanced_weights(double sigma, int64_t sum, uint32_t *whole, size_t count);

/* For u16 as products of bytes: weights are parts of 2^bits, of so many bits that all stay below 65536. What
 * lies beyond the reach moves a result by at most 3 levels. */
int64_t gaussian_bits_16(double sigma);
int64_t gaussian_reach_16(double sigma);

/* exact=yes, see exact.c. The weights are parts of 2^bits; those beyond `reach` are 0. */
int64_t gaussian_exact_bits(bool bytes, double sigma);
int64_t gaussian_exact_reach(const struct filter_case *c);
void gaussian_exact_table(const struct filter_case *c, uint32_t *table, size_t count);
/* Tables for exact_strips.cl: of u16, of u8. */
void gaussian_exact_words(const struct filter_case *c, uint32_t *table, size_t count);
void gaussian_exact_bytes(const struct filter_case *c, uint32_t *table, size_t count);
/* For u16 rounded, with balanced weights. */
void gaussian_words(double sigma, uint32_t *table, size_t count);
void gaussian_exact_reference(const struct filter_case *c, const struct view *in, uint32_t channels,
                              struct view *out);

/* What table() gives to kernels. */
enum {
    TABLE_WEIGHTS,  /* float: weights[0 .. R], or fewer, whose sum is 1, too */
    TABLE_POLES,    /* float: POLE_FLOATS for each complex pole: two for u8, three otherwise */
    TABLE_SECTIONS, /* float: SECTION_FLOATS for each of two real sections of second order */
    TABLE_NEAR,     /* weights[0 .. NEAR]: of u8 ushort, parts of 65536; else float */
    TABLE_GRID,     /* float: what grid.c says: phi, then the taps between GRID_PADDING zeros */
    TABLE_COARSE,   /* float: the same of `coarse` */
    TABLE_EXACT,    /* uint: weights[0 .. EXACT_REACH], parts of 2^EXACT_BITS */
    TABLE_VECTORS,  /* uint: for CPUs, two weights a word: of exact=yes, or of u16 rounded */
    TABLE_16,       /* uint: weights[0 .. REACH_16], parts of 2^BITS_16 */
    TABLE_SEEN,     /* uint: matrices, see gaussian_matrix_grid_table() */
    POLE_FLOATS = 8,
    SECTION_FLOATS = 8,
    GRID_PADDING = 3
};

void gaussian_table(const struct filter_case *c, int index, void *table, size_t bytes);
