/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * The protocol of measuring, for whatever can be launched.
 *
 * Run until two samples agree (clocks and caches settle after each compilation); give up early on what is
 * clearly slower than the best; else take the least of three. Short launches run in batches.
 */
#pragma once

#include "hone/event.h"
#include "tune/measure/measure.h"

/* The device's clock, as long as it can be believed. */
struct timing_clock {
    bool believed, checked; /* checked: was seen to agree with the host's */
    int doubts;             /* readings in a row that cannot be */
    double wall;            /* of the last reading */
    char reason[128];       /* why it is not believed */
};
struct timing_clock timing_clock_of(hone_device *device);

/* What HONE_TUNE_CLOCK asks for: the device's clock, as it does without it, the host's, or processor time. */
enum timing_wish { TIMING_DEVICE, TIMING_HOST, TIMING_PROCESSOR };
/* HONE_ERROR_USAGE for any other word; *wish is then TIMING_DEVICE. */
hone_status timing_wish(enum timing_wish *wish, hone_error *error);

/* Milliseconds from the start of the first command to the end of the last; `wall` went by on the host. A
 * clock that stands still, runs backwards or is over ten times off over several long batches is not asked
 * again. */
double timing_between(struct timing_clock *clock, const hone_event *first, const hone_event *last,
                      double wall);
/* The same of what the device's clock says, `ms`: not positive where it says nothing. */
double timing_judge(struct timing_clock *clock, double ms, double wall);

/* Work for so long after a pause of `awake_ms` or more brings a device's clocks back. */
extern const double timing_awake_ms;

struct timing {
    /* Runs `count` launches one after the other; milliseconds per launch, or negative with the error set. */
    double (*batch)(void *context, int count, hone_error *error);
    void *context;
    double resolution_ms; /* of the clock */
    /* what batch() reads, held against the host's at the first score; may be NULL */
    struct timing_clock *clock;
    /* As batch, but without emptying caches, for that comparison; NULL: batch itself. */
    double (*batch_as_is)(void *context, int count, hone_error *error);
};

/* Fills state, ms, runs and, on a failure, the note. `best`: the best score so far, or negative. */
void timing_score(const struct timing *timing, double best, struct measured *result);

/* Launches per sample for something that takes `ms`, so that a sample is long against the clock's steps and
 * the cost of a launch. */
int timing_batch(const struct timing *timing, double ms);
