/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * A recording judged by another objective than time: the user's, as sessions have it (see metrics.h).
 *
 * Metrics and the objective may name tunables, what the file tells of each result beside its time
 * ("registers", "energy", "GFLOP_s": other characters than letters and digits become _), time (seconds) and
 * ms, and the metrics before. What a result lacks makes a metric that needs it NAN there.
 */
#pragma once

#include "tune/session/metrics.h"
#include "tune/t4/t4.h"

/* Sets the costs of all results, of each recorded run by its own time. A result that does not tell what the
 * objective needs counts as one that failed. HONE_ERROR_USAGE: an unknown name, with those that there are;
 * HONE_ERROR_UNSUPPORTED: no result tells what the objective needs. Nothing changes where time is the
 * objective. */
hone_status recording_judge(struct recording *recording, const struct metrics *metrics, hone_error *error);

/* The objective's value of a result that works, with its usual time, and its metrics in
 * values[METRICS_MOST]. */
double recording_value(const struct recording *recording, const struct recorded *recorded,
                       const struct metrics *metrics, double *values);
