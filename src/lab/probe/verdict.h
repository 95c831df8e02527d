/* SPDX-License-Identifier: BSD-2-Clause */
/* What limits a kernel, from how it takes more and less work (guide 5.6.1). */
#pragma once

#include "lab/bench/limit.h"

/* What the probes found. Times in ms; negative: that probe could not be made. */
struct evidence {
    double ms;            /* as it is */
    double launch_ms;     /* of all passes, empty */
    double more_work_ms;  /* with arithmetic added that alone would take `added` of the time */
    double more_loads_ms; /* the same with loads */
    double added;         /* 0.5: half as long as the kernel */
    double half_ms;       /* with half of the work-groups */
    double cached_ms;     /* with every row of the input being the first: loads come from a cache */
    double memory_share;  /* of the roof, by the cost model */
    double work_share;
};

/* How much of what was added shows: 0 nothing, 1 all of it; negative: not known. */
double evidence_of_work(const struct evidence *evidence);
double evidence_of_loads(const struct evidence *evidence);

enum limiter evidence_verdict(const struct evidence *evidence);
