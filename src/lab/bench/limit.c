/* SPDX-License-Identifier: BSD-2-Clause */
#include "lab/bench/limit.h"

/* Shorter than so many empty kernels: the launch counts. At such a share of a roof that roof is what
 * limits. */
static const double launches = 5, near = 0.6;

static const struct {
    const char *name, *advice;
} limiters[LIMIT_COUNT] = {
    [LIMIT_UNKNOWN] = {"-", "not known"},
    [LIMIT_MEMORY] =
        {"memory", "wider and neighbouring loads and stores (7.2), local memory or images for what is read "
                   "again (7.1), shorter types (7.2.3), fused kernels (8.1)"},
    [LIMIT_ARITHMETIC] = {"arithmetic",
                          "a cheaper algorithm, fast or native functions where precision allows (8.3), half "
                          "instead of float (7.2.4), no branches (8.5)"},
    [LIMIT_LATENCY] = {"latency",
                       "more work-items at once: fewer registers, another work-group (6.5); more independent "
                       "loads in each (7.2); fewer barriers (6.4)"},
    [LIMIT_LAUNCH] = {"launch",
                      "larger images, fused kernels (8.1), or the processor for so little data (5.3)"},
};

const char *limiter_name(enum limiter limiter)
{
    return limiters[limiter].name;
}

const char *limiter_advice(enum limiter limiter)
{
    return limiters[limiter].advice;
}

struct limit limit_of(const struct row *row, const struct roofs_list *roofs, double pixels, bool is_float)
{
    struct limit limit = {.limiter = LIMIT_UNKNOWN};
    const double seconds = row->times.ms * 1e-3, copy = roofs->values[ROOF_COPY_BUFFER],
                 work = roofs->values[is_float ? ROOF_FLOAT : ROOF_INT];
    if (!row->ran || seconds <= 0)
        return limit;
    if (copy > 0)
        limit.memory = row->cost.bytes * pixels / seconds / copy;
    if (work > 0)
        limit.arithmetic = row->cost.operations * pixels / seconds / work;
    const bool memory = limit.memory >= limit.arithmetic;
    if (seconds < launches * roofs->values[ROOF_EMPTY])
        limit.limiter = LIMIT_LAUNCH;
    else if ((memory ? limit.memory : limit.arithmetic) >= near)
        limit.limiter = memory ? LIMIT_MEMORY : LIMIT_ARITHMETIC;
    else if (copy > 0 && work > 0)
        limit.limiter = LIMIT_LATENCY;
    return limit;
}
