/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * The process that owns the device while something is tuned.
 *
 * Kernels under test may hang, crash their process, eat its memory or be wrong, and drivers cannot be
 * interrupted. So the device belongs to a child, this same program started with --tune-worker; the parent
 * keeps search and records, sends one request at a time as a line of JSON, and kills a child that does not
 * answer in time or that takes most of the machine's memory. A child whose parent is gone ends.
 */
#pragma once

#include "tune/measure/measure.h"

#include <jansson.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

/* ---- The child ---- */

/* Descriptors that a child is started with. */
enum { WORKER_IN = 3, WORKER_OUT = 4 };

/* The signal that calls a child off: it ends, and what it is compiling does not count as crashed. */
#define WORKER_CALL_OFF SIGRTMIN

/* The whole life of the child: answers requests from descriptor `in` on descriptor `out`; the exit status. */
int worker_main(int in, int out);

/* ---- The parent ---- */

/* How long a configuration may run before the first one was measured: nothing is known yet. */
#define WORKER_FIRST_SECONDS 60.0

struct worker {
    pid_t pid; /* 0: not running */
    int to, from;
    char device[300]; /* spec */
    bool no_disk;
    json_t *target;       /* the request that opened the target, sent again to a new child */
    json_t *description;  /* the answer to it */
    uint64_t memory;      /* bytes that the child may hold; a larger one is killed. Set by worker_start */
    double build_seconds; /* limit for compiling while a target opens */
    uint64_t left_ns;     /* of the limit when the child began to wait for other processes */
    char compiling[256];  /* the configuration at which that is; empty: at none */
    double run_seconds;   /* limit from "built" on, in the request under way */
    bool preparing;       /* the child was asked to compile ahead, and may be about it */
    bool taken;           /* the child has read the request under way: what happens now is its doing */
    int started;          /* children so far */
    int stuck;            /* of them those that could not be killed */
    char clock[16],
        clock_reason[128]; /* what the last times were read from, see measure_clock; empty: none yet */
    /* Asked while the child works; true ends it, and no other is started. May be NULL. */
    bool (*give_up)(void *context);
    /* Whether the user wants to end: a child that dies afterwards is not to blame. May be NULL. */
    bool (*interrupted)(void *context);
    /* Told how far the final is: "final, round 3 of 12". May be NULL. */
    void (*stage)(void *context, const char *text);
    void *context;
    char name[256]; /* of the device, as the child opened it */
    struct record_device device_record;
    char pending[1 << 16]; /* bytes of an answer that is not whole yet */
    size_t pending_length;
};

/* What became of a request. UNABLE: there is no child to ask, and none can be started. GIVEN_UP: the user
 * does not want to wait for the answer. */
enum worker_outcome {
    WORKER_ANSWERED,
    WORKER_TIMED_OUT,
    WORKER_TOO_LARGE,
    WORKER_DIED,
    WORKER_UNABLE,
    WORKER_GIVEN_UP
};

hone_status worker_start(struct worker *worker, const char *device, bool no_disk, hone_error *error);
/* Opens what is to be measured; `request` ({"do": "filter", ...} or {"do": "kernel", ...}) is retained. */
hone_status worker_target(struct worker *worker, json_t *request, hone_error *error);
void worker_stop(struct worker *worker);
/* Ends the child, whatever it does; the next question starts another. */
void worker_end(struct worker *worker);

/* Starts a child, and opens its target, where none is running: WORKER_ANSWERED, or what keeps it from that in
 * `note`. To be called before something is recorded as started. */
enum worker_outcome worker_ready(struct worker *worker, char note[512]);

/* Sends a request and waits for the answer, after worker_ready. A child that ended before it took the request
 * is not the request's fault: the next one gets it. After any outcome but WORKER_ANSWERED the child is gone,
 * and the text says how. *answer belongs to the caller. */
enum worker_outcome worker_ask(struct worker *worker, json_t *request, double seconds, json_t **answer,
                               char note[512]);

/* Measures one configuration, building it within `build_seconds` and running it within `run_seconds`. What
 * happens is in the result; after WORKER_UNABLE and WORKER_GIVEN_UP that is STATE_ABANDONED. */
enum worker_outcome worker_measure(struct worker *worker, const char *variant, const char *config,
                                   double best, double build_seconds, double run_seconds,
                                   struct measured *result);
/* The same, and its result is kept for others to be compared with: see measure_hold. */
enum worker_outcome worker_hold(struct worker *worker, const char *variant, const char *config,
                                double build_seconds, double run_seconds, struct measured *result);
/* Whether a session must end after this outcome; then *failure says why, unless it says something already, or
 * *interrupted is set. */
bool worker_is_lost(enum worker_outcome outcome, const char *note, hone_error *failure, bool *interrupted);
/* Whether the user wants to wait for nothing any more. */
bool worker_given_up(const struct worker *worker);
/* Whether the child that this outcome is about may have ended by what it compiled ahead: then the measured
 * configuration deserves another child, which does nothing beside, before it is blamed. To be asked before
 * that one starts. */
bool worker_was_preparing(const struct worker *worker, enum worker_outcome outcome);
/* Lets the child compile what is measured next, beside its work. */
void worker_prepare(struct worker *worker, const char *variant, const char *config);
