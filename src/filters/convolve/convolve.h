/* SPDX-License-Identifier: BSD-2-Clause */
/* Shared inside this folder. */
#pragma once

#include "filter/filter.h"

enum { SIDE_MOST = 31, TAPS_MOST = SIDE_MOST * SIDE_MOST };

/* A kernel as written, row by row. */
struct kernel {
    int width, height;
    double weights[TAPS_MOST];
};

/* What integer sums of a whole window fit. */
enum sums { SUMS_32, SUMS_64 };

/**
 * What prepare() makes of the parameters. A result is
 *
 *     factor * (sum of weight * pixel) + offset
 *
 * where integer formats take the weights of `whole`, so that every sum is exact in any order, and f32 those
 * of `real`. The last step is one multiplication and one addition in single precision, in this order
 * everywhere.
 */
struct weights {
    int width, height, left, top; /* the window reaches `left` pixels left of the result's place */
    double real[TAPS_MOST];       /* flipped already where that was asked for */
    int32_t whole[TAPS_MOST];
    enum sums sums;
    float factor;
    bool separable; /* whole (of f32: real * denominator) is the product of across and down */
    int32_t across[SIDE_MOST], down[SIDE_MOST];
    double denominator; /* what the weights were multiplied by to become whole */
};

/* Reads "3x3: 0 1 0 ...", or the file that the text names. */
hone_status kernel_read(struct kernel *kernel, const char *text, hone_error *error);

/* Fills whole, sums and the factorisation from real; `scale` is that of the parameters, `full` the largest
 * magnitude of a pixel. False where the weights of an integer format are too large to be made whole. */
bool weights_make_whole(struct weights *w, bool integer, double full, double scale);

/* Sum of the weights' magnitudes. */
double weights_total(const struct weights *w);
int64_t weights_whole_total(const struct weights *w);
int64_t weights_whole_most(const struct weights *w);
bool weights_hold_zero(const struct weights *w);

/* Of dots.cl, which adds products with u8 pixels in pairs in lanes of 16 bits: how many rows of the kernel in
 * a row such a lane always holds; 0: not even one. */
int weights_capacity(const struct weights *w);

/* The same of woven.cl: how many pairs of rows, all columns of them. `biased`: of pixels less 128, for
 * weights none of which is negative. */
int weights_woven_capacity(const struct weights *w, bool biased);

/* Of matrix.cl: signed bytes that make a weight, 1 or 2; 0: more, or sums do not fit 32 bits. */
int weights_limbs(const struct weights *w);

void convolve_table(const struct filter_case *c, int index, void *table, size_t bytes);
