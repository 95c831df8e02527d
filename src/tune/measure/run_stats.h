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

/* Whether two medians cannot be told apart: their intervals of about two standard errors overlap, or less
 * than 1 % lies between them. */
bool leader_tied(const struct leader *a, const struct leader *b);
