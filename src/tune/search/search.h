/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Finding a fast point of a space in few evaluations: seeds, coordinate line search from the best, the same
 * within every path that is not hopeless, restarts from the best of ten random points.
 *
 * On recorded spaces this equals or beats genetic algorithms and Gaussian processes (Falch and Elster 2017
 * find the same for image filters); with shipped seeds a handful of evaluations reaches 95 % of the optimum.
 * What measures is the caller's: a device, or a recording.
 */
#pragma once

#include "tune/search/space.h"

struct evaluator {
    /* Milliseconds, or a negative number for a point that failed. `best`: the best so far, or a negative
     * number; a point that is clearly slower need not be measured well. */
    double (*evaluate)(void *context, const struct point *point, double best);
    /* A point that will probably be evaluated next but one: its program may be compiled meanwhile. May be
     * NULL. */
    void (*upcoming)(void *context, const struct point *point);
    /* Time is up, or the user wants to stop. May be NULL. */
    bool (*stop)(void *context);
    void *context;
};

struct search_options {
    const struct point *seeds; /* tried first, in this order; not legal ones are skipped */
    size_t seed_count;
    int budget;           /* evaluations at most */
    uint32_t random_seed; /* the same gives the same search */
};

struct evaluated {
    struct point point;
    double ms; /* negative: failed */
};

struct search_result {
    struct evaluated *all; /* in the order of evaluation; freed by search_finish */
    size_t count;
    int best;       /* index, or -1 when every point failed */
    bool exhausted; /* every legal point was evaluated, but for paths that do not work */
    int64_t legal;  /* points; -1: too many combinations to count */
};

/* Where the space has at most `budget` legal points, all of them are evaluated. */
hone_status search_run(const struct space *space, const struct search_options *options,
                       const struct evaluator *evaluator, struct search_result *result, hone_error *error);
void search_finish(struct search_result *result);
