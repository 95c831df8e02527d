/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Something to be tuned, as the worker process sees it: it turns names of variants and configurations into
 * measurements. A filter's case is one kind, a kernel of the user's own is another.
 */
#pragma once

#include "tune/measure/figures.h"
#include "tune/measure/measure.h"

#include <jansson.h>

struct target;

struct target_ops {
    /* Measures one configuration. Failures are in the result. */
    void (*measure)(struct target *target, const char *variant, const char *config, double best,
                    struct measured *result);
    /* Measures several again, by turns: runs and run_count, 0 for one that failed; where a last look found
     * one wrong, state and note say so. */
    void (*race)(struct target *target, const char *const *variants, const char *const *configs, int count,
                 int rounds, struct measured *results);
    /* Begins to compile one that will be measured soon. */
    void (*prepare)(struct target *target, const char *variant, const char *config);
    /* Keeps what plain C makes of the whole input, if that takes at most so many seconds. May be NULL. */
    void (*refer)(struct target *target, double seconds);
    /* The same as measure, but the result is kept, for others to be compared with. May be NULL. */
    void (*hold)(struct target *target, const char *variant, const char *config, struct measured *result);
    /* Milliseconds of moving inputs and outputs. May be NULL. */
    void (*transfers)(struct target *target, double *upload_ms, double *download_ms);
    /* What times are read from, as measure_clock. */
    const char *(*clock)(const struct target *target, const char **reason);
    void (*close)(struct target *target);
};

struct target {
    const struct target_ops *ops;
    /* Called by measure() between building and running: from then on another time limit counts. May
     * be NULL. */
    void (*built)(void *context);
    /* Called by measure() when no kernel runs any more: what is left is the host's work. May be NULL. */
    void (*ran)(void *context);
    /* Called by race() as it goes. May be NULL. */
    void (*round)(void *context, int round, int of);
    void *context;
    struct figuring asked;
};

/* What the parent must know of an open filter's case to search: usable variants, names and limits for
 * expressions, seeds. */
json_t *target_filter_describe(const struct target *target);

/* Makes a filter's case of {"filter", "parameters", "border", "relaxed", "type", "channels", "width",
 * "height"}, and "held": see measure_open. */
hone_status target_filter_open(struct target **out, hone_device *device, const json_t *request,
                               hone_error *error);
