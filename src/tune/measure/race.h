/* SPDX-License-Identifier: BSD-2-Clause */
/* The end of a session: the leaders are measured again by turns, so that what the machine does meanwhile
 * falls upon all of them. */
#pragma once

#include "tune/measure/run_stats.h"
#include "tune/worker/worker.h"

/* How much slower than the best score one may be to take part; and what the gain is told against. */
#define RACE_LIMIT          1.5
#define RACE_LIMIT_BASELINE 8.0

enum {
    RACE_LEADERS = 8,
    RACE_MOST = RACE_LEADERS + 4, /* with what the best is compared with */
    RACE_ROUNDS = 12,
    RACE_ROUNDS_SLOW = 3 /* for what was too slow to take part */
};

struct racer {
    const char *variant, *config;
    struct leader *runs;   /* the median is its score so far */
    struct measured fault; /* STATE_OK, or how it failed here: then it has no runs */
};

/* At most RACE_MOST. When somebody fails, or the worker dies or hangs, each runs alone in a new process,
 * those with which that happens again are to blame, and the others start anew. False when nobody got runs:
 * the medians are the scores still, and say nothing of a race. `beside`: seconds that it may need for more
 * than launches. */
bool race_by_turns(struct worker *worker, struct racer *racers, int count, int rounds, double beside);
