/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * What a tuning session is asked for and what comes of it, for filters (session/filter.h) and for kernels of
 * the user's own (own/session.h).
 *
 * Each configuration is recorded as started before it runs and with its outcome after; those that hung,
 * crashed or were wrong here before are not tried again. A session that was interrupted is resumed: what it
 * measured counts.
 */
#pragma once

#include "choose/records.h"
#include "tune/measure/race.h"
#include "tune/search/space.h"
#include "tune/session/metrics.h"

struct session_options {
    int budget;     /* evaluations at most */
    double seconds; /* time at most, final included; 0: no limit */
    uint32_t random_seed;
    bool fresh; /* start over, and retry failures */
    /* Names, separated by commas, to which the search is limited; NULL: all. Such a session is an experiment:
     * what runs anyway takes part in its final, and stays where nothing is seen to be faster. */
    const char *variants;
    /* Computed for every configuration; with another objective than time the session informs, and chooses
     * nothing. NULL: none. */
    const struct metrics *metrics;
    bool facts; /* registers also where the driver has to compile again for them */
    /* Limits in seconds; 0: 60 for building, for running 60 at first, then 10 on CPUs (PoCL compiles at the
     * first launch) and 2 on others. */
    double build_seconds, run_seconds;
    bool (*interrupted)(void *context); /* asked between evaluations; may be NULL */
    bool (*give_up)(void *context);     /* asked during them: ends the one under way, untried; may be NULL */
    void (*waiting)(void *context);     /* told when another process tunes this device; may be NULL */
    /* Told what is under way beside evaluations: "final, round 3 of 12". May be NULL. */
    void (*stage)(void *context, const char *text);
    /* Told after each evaluation; may be NULL. `of`: the budget. */
    void (*progress)(void *context, int evaluation, int of, const char *configuration,
                     const struct measured *measured, double best_ms);
    void *context;
};

/* One that took part in the final. */
struct finalist {
    struct point point;
    char config[256];
    struct leader runs;
    bool tied;                    /* cannot be told from the fastest */
    double metrics[METRICS_MOST]; /* by the median of the final; NAN: not known */
    double objective;             /* its value; NAN: not known */
};

/* One that was evaluated. */
struct session_try {
    struct point point;
    char variant[64], config[256];
    struct measured measured;
    int64_t time;
    double metrics[METRICS_MOST], objective; /* as in struct finalist */
    double bytes, flops;                     /* of a launch; NAN: not known */
};

struct session_result {
    struct record_choice choice;       /* without a final its ranks are those of the search */
    struct finalist ranked[RACE_MOST]; /* the winner first */
    int ranked_count;
    struct session_try *tries; /* in the order of evaluation; freed by session_result_finish */
    size_t try_count, try_capacity;
    json_t *missing;         /* of figures that are not known here: why, by name */
    int states[STATE_COUNT]; /* evaluations by outcome, and finalists that failed in the final */
    int resumed;             /* of them taken from an earlier session */
    int tied;                /* configurations that cannot be told from the best; -1: times did not decide */
    char clock_reason[128];  /* why times are not of choice.clock "device"; empty: they are */
    double spread;           /* of the winner's runs: median absolute deviation / median */
    double margin;           /* what is slower than the fastest by less, as a part, cannot be told from it */
    int64_t space, legal;    /* combinations; how many of them are legal (-1: too many to count) */
    bool exhausted, interrupted;
    /* ---- Of filters ---- */
    struct record_config asked; /* the best of an experiment's variants; empty: no experiment, or it failed */
    char plain[128]; /* what plain_ms is of: "one pixel per work-item, 16x16 (direct)"; empty: nothing */
    /* Whose result at full size others were compared with: "plain C", or a variant's name. Empty: nobody's;
     * they were right on a small picture. */
    char compared_with[64];
    double upload_ms, download_ms;
};

void session_result_finish(struct session_result *result);
