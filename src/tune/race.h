/* SPDX-License-Identifier: BSD-2-Clause */
/* The end of a session: the leaders are measured again by turns, so that what the machine does meanwhile
 * falls upon all of them. */
#ifndef TUNE_RACE_H
#define TUNE_RACE_H

#include "tune/leader.h"
#include "tune/worker.h"

/* How much slower than the best score one may be to take part; and what the gain is told against. */
#define RACE_LIMIT          1.5
#define RACE_LIMIT_BASELINE 8.0

enum { RACE_MOST = 8 };

struct racer {
    const char *variant, *config;
    struct leader *runs; /* the median is its score so far */
};

/* At most RACE_MOST. Where the worker fails, medians stay what they were. `beside`: seconds that it may need
 * for more than launches. */
void race_by_turns(struct worker *worker, const struct racer *racers, int count, double beside);

#endif
