/* SPDX-License-Identifier: BSD-2-Clause */
#include "lab/probe/verdict.h"

#include <math.h>

/* Of what was added, so much shows where the kernel has none of it to spare. */
static const double shows = 0.5;
/* Loads that show so much where arithmetic does not even show so little: they meet others in the caches, of
 * which a kernel with scattered loads asks more than of the memory behind them. */
static const double shows_some = 0.1, shows_none = 0.05;
/* A kernel whose loads come from a cache is so much faster, at most, where it does not wait for memory. */
static const double waits = 0.75;
/* A share of the roof of memory below which waiting is for single loads, not for all of them. */
static const double crowded = 0.3;
/* A share of a roof that is enough where nothing that was added shows: it may have come from a cache. */
static const double near_roof = 0.6;
/* Where half of the work takes nearly as long, it is not the work that counts: for so few launches they do,
 * and beyond that single work-groups. Where half cannot be timed, so many launches tell. */
static const double few_launches = 1.25, launches = 5, less_long = 0.75, as_long = 0.9;

static double shown(const struct evidence *e, double ms)
{
    return ms >= 0 && e->ms > 0 && e->added > 0 ? (ms - e->ms) / (e->added * e->ms) : -1;
}

double evidence_of_work(const struct evidence *e)
{
    return shown(e, e->more_work_ms);
}

double evidence_of_loads(const struct evidence *e)
{
    return shown(e, e->more_loads_ms);
}

static bool is_launch(const struct evidence *e)
{
    if (e->half_ms < 0)
        return e->ms < launches * e->launch_ms;
    return e->ms < e->launch_ms || (e->half_ms > less_long * e->ms && e->ms < few_launches * e->launch_ms);
}

/* Devices that do not compute while they wait show whatever is added: there, what goes away with the loads
 * counts. */
static enum limiter by_waiting(const struct evidence *e)
{
    const bool waiting = e->cached_ms >= 0 && e->cached_ms < waits * e->ms;
    if (e->memory_share >= crowded && (waiting || e->memory_share >= 2 * crowded))
        return LIMIT_MEMORY;
    return waiting ? LIMIT_LATENCY : LIMIT_ARITHMETIC;
}

enum limiter evidence_verdict(const struct evidence *e)
{
    if (e->ms <= 0)
        return LIMIT_UNKNOWN;
    if (is_launch(e))
        return LIMIT_LAUNCH;
    if (e->half_ms > as_long * e->ms)
        return LIMIT_LATENCY;
    if (e->more_work_ms < 0 || e->more_loads_ms < 0)
        return LIMIT_UNKNOWN;
    const bool work = evidence_of_work(e) >= shows, loads = evidence_of_loads(e) >= shows;
    if (work && loads)
        return by_waiting(e);
    if (!work && evidence_of_work(e) < shows_none && evidence_of_loads(e) >= shows_some)
        return LIMIT_MEMORY;
    if (!work && !loads && fmax(e->memory_share, e->work_share) >= near_roof)
        return e->memory_share >= e->work_share ? LIMIT_MEMORY : LIMIT_ARITHMETIC;
    return work ? LIMIT_ARITHMETIC : loads ? LIMIT_MEMORY : LIMIT_LATENCY;
}
