/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Tuning a kernel of the user's own: search, measuring in the worker, records, the final.
 *
 * Like session.h for filters: each configuration is recorded as started before it runs and with its outcome
 * after; those that hung, crashed or were wrong here before are never tried again, and what an interrupted
 * session measured counts.
 */
#ifndef TUNE_OWN_SESSION_H
#define TUNE_OWN_SESSION_H

#include "tune/measure/race.h"
#include "tune/own/spec/spec.h"
#include "tune/worker/memory_file.h"
#include "tune/worker/worker.h"

enum { KERNEL_FINALISTS = RACE_LEADERS };

struct own_session_options {
    const char *source; /* text of the kernel's file */
    const char *folder; /* for #include; may be NULL */
    int budget;         /* evaluations at most */
    double seconds;     /* time at most, final included; 0: no limit */
    uint32_t random_seed;
    bool fresh;           /* forget what was measured before */
    double build_seconds; /* limits; 0: 60 for building; for running 60 at first, then by the best */
    double run_seconds;
    /* Reads the right outputs of output `index` (--check FILE): `count` elements to `to`. */
    hone_status (*read_right)(void *context, int index, enum element element, size_t count, void *to,
                              hone_error *error);
    bool (*interrupted)(void *context); /* asked between evaluations; may be NULL */
    bool (*give_up)(void *context);     /* asked during them: ends the one under way, untried; may be NULL */
    void (*waiting)(void *context);     /* told when another process tunes this device; may be NULL */
    /* Told what is under way beside evaluations: "final, round 3 of 12". May be NULL. */
    void (*stage)(void *context, const char *text);
    void (*progress)(void *context, int evaluation, int of, const char *config,
                     const struct measured *measured, double best_ms); /* may be NULL */
    void *context;
};

struct own_try {
    struct point point;
    char config[256];
    struct measured measured;
    int64_t time;
};

struct own_finalist {
    struct point point;
    char config[256];
    struct leader runs;
    bool tied; /* cannot be told from the fastest */
};

struct own_session_result {
    struct own_try *tries; /* in the order of evaluation */
    size_t count, capacity;
    struct own_finalist ranked[KERNEL_FINALISTS]; /* the winner first */
    int ranked_count;
    char first[256]; /* the baseline: the first legal configuration */
    double first_ms; /* negative: not measured */
    int states[STATE_COUNT], resumed, tied;
    char clock[16], clock_reason[128]; /* as in record_choice and session_result */
    bool raced;                        /* a final took place; without one the ranks are those of the search */
    double drift;                      /* of the winner's runs during the final, see leader_drift */
    double load;                       /* as in record_choice */
    double spread;                     /* of the winner's runs: median absolute deviation / median */
    int64_t space, legal;              /* combinations; how many of them are legal (-1: too many to count) */
    bool exhausted, interrupted;
    bool launch[SPACE_MAX_PARAMETERS]; /* parameters that compile nothing */
    double seconds;
    double bytes, flops; /* of one launch of the winner; 0: not known */
    struct record_device device;
};

hone_status own_session_tune(struct worker *worker, const struct own_spec *spec,
                             const struct own_session_options *options, struct own_session_result *result,
                             hone_error *error);
void own_session_finish(struct own_session_result *result);

#endif
