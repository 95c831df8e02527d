/* SPDX-License-Identifier: BSD-2-Clause */
/* Runs of a configuration in the final: what they say alone, and beside those of another. */
#pragma once

#include "tune/measure/measure.h"

struct leader {
    double runs[MEASURE_RUNS]; /* ms, in the order they were taken */
    int run_count;
    double median, deviation; /* the latter from the former, median absolute */
};

/* Fills in median and deviation; without runs both are negative. */
void leader_summarise(struct leader *leader);

/* From the first third of the runs to the last: 0.05 is 5 % slower, as on a device that is throttled. */
double leader_drift(const struct leader *leader);

/* The standard error of the median, ms. */
double leader_error(const struct leader *leader);

/* How much slower than the fastest, in ms, one may be that cannot be told from it: two standard errors of the
 * fastest and two usual ones, the median of `errors` (at least one; it sorts them), but at least 1 %. One
 * margin for all of a race: with each one's own error a noisy configuration would tie while a faster one does
 * not. */
double leader_margin(const struct leader *fastest, double *errors, int count);
