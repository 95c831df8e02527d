/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * The search on a recorded space: how good is it, without a device?
 *
 * Each configuration "measured" is the least of three of its recorded runs, drawn anew, as the tuner would
 * have it; the final takes the medians of the eight leaders. The truth is the median of all runs of a
 * configuration.
 */
#pragma once

#include "tune/t4/t4.h"

struct replay_options {
    int evaluations; /* at most, of each search */
    int repeats;
    uint32_t random_seed;
    bool without_seeds; /* from scratch instead of from what the recorded session began with */
};

enum { REPLAY_MARKS = 5 };
extern const int replay_marks[REPLAY_MARKS]; /* 10, 20, 50, 100, 200 evaluations */

struct replay_result {
    double optimum;              /* least cost: ms, unless the recording was judged by something else */
    const struct recorded *best; /* has it */
    int64_t legal;               /* configurations that work */
    double share[REPLAY_MARKS];  /* of the optimum's speed after so many evaluations, geometric mean; 0 beyond
                                   the budget */
    double worst[REPLAY_MARKS];
    double winner, worst_winner; /* the same of what was chosen in the end */
    double agreement;            /* share of the repeats whose winners are within 2 % of the usual one */
    double median_to_95; /* evaluations until 95 % of the optimum; negative: not reached in half of the
                            repeats */
    double evaluations;  /* mean */
};

hone_status replay_run(const struct recording *recording, const struct replay_options *options,
                       struct replay_result *result, hone_error *error);
