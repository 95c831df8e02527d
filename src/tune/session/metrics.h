/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Metrics of the user's own, computed for each configuration, and the objective: what a session looks for.
 *
 * Names in a metric: those before it; tunables and whatever else expressions of the case may name; time
 * (seconds of a launch), ms, bytes and flops (of a launch), and the figures of records ("registers",
 * "energy").
 */
#pragma once

#include "base/expr.h"
#include "choose/records.h"

#include <jansson.h>

enum { METRICS_MOST = 16 };

struct metric {
    char name[EXPR_MAX_NAME + 1];
    const char *text; /* the user's */
    struct expr expr;
};

/* All zero: no metrics, and time is the objective. */
struct metrics {
    struct metric all[METRICS_MOST];
    int count;
    char objective[EXPR_MAX_NAME + 1]; /* a metric or a name that metrics may use; empty: time */
    bool most;                         /* more of it is better */
};

/* "gbs=bytes/time/1e9"; the text is kept. HONE_ERROR_USAGE says what is wrong, and in which column. */
hone_status metrics_add(struct metrics *metrics, const char *text, hone_error *error);
/* "energy", "gbs:max": after the metrics. Of a metric it must be told whether more or less is better. */
hone_status metrics_set_objective(struct metrics *metrics, const char *text, hone_error *error);
/* "gbs:max"; "time:min" without metrics. */
void metrics_print_objective(const struct metrics *metrics, char *to, size_t size);
/* Whether time is what a session looks for; NULL: it is. */
bool metrics_by_time(const struct metrics *metrics);
/* Whether it is the name of a metric. */
bool metrics_is_metric(const struct metrics *metrics, const char *name);
/* Whether a figure is named by a metric or is the objective; with metrics NULL: no. */
bool metrics_need(const struct metrics *metrics, enum record_figure figure);

/* What metrics are computed from. Numbers that are not known are NAN. */
struct metric_source {
    struct expr_scope names; /* of the configuration; their outer ones are of the case */
    double ms, bytes, flops;
    const struct record_figures *figures;
};

/* Each metric of a configuration to values[METRICS_MOST]; NAN where something it needs is not known, or where
 * it has no value (division by zero). */
void metrics_compute(const struct metrics *metrics, const struct metric_source *source, double *values);
/* The objective's value, with these metrics. */
double metrics_objective(const struct metrics *metrics, const struct metric_source *source,
                         const double *values);
/* As what a search makes least: never negative but for what has no place in it (NAN, below 0): -1. */
double metrics_cost(const struct metrics *metrics, double objective);

/* Before anything is measured. `source`: names of a case with any configuration; `tunables`: names that only
 * some configurations have, so many; `missing`: figures, bytes or flops that are not known here, with the
 * reason. HONE_ERROR_USAGE: an unknown name, with its column and those that there are.
 * HONE_ERROR_UNSUPPORTED: the objective cannot be known here. */
hone_status metrics_check(const struct metrics *metrics, const struct metric_source *source,
                          const char *const *tunables, int count, const json_t *missing, hone_error *error);
