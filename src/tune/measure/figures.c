/* SPDX-License-Identifier: BSD-2-Clause */
#include "tune/measure/figures.h"

#include "base/clock.h"
#include "filter/instance.h"
#include "filter/registry.h"

#include <math.h>

static const double gauge_seconds = 0.5; /* counters go in steps of 1 to 100 ms */

static void set(struct record_figures *figures, enum record_figure which, double value)
{
    const unsigned bit = 1u << which;
    const bool least = which == FIGURE_WAVES;
    double *to = &figures->values[which];
    *to = !(figures->known & bit) ? value : least ? fmin(*to, value) : fmax(*to, value);
    figures->known |= bit;
}

void figures_add(struct record_figures *figures, const struct facts *facts)
{
    const struct kernel_facts *driver = &facts->driver;
    set(figures, FIGURE_LOCAL, (double)driver->local_memory);
    if (driver->has_private)
        set(figures, FIGURE_PRIVATE, (double)driver->private_memory);
    if (driver->has_multiple)
        set(figures, FIGURE_MULTIPLE, (double)driver->preferred_multiple);
    if (facts->has_registers) {
        set(figures, FIGURE_REGISTERS, facts->compiled.registers);
        set(figures, FIGURE_SPILLS, facts->compiled.spills);
    }
    if (facts->most_waves && facts->waves) {
        set(figures, FIGURE_WAVES, facts->waves);
        set(figures, FIGURE_MOST_WAVES, facts->most_waves);
    }
}

void figures_of_instance(struct record_figures *figures, hone_device *device, const struct instance *instance,
                         const struct figuring *asked)
{
    struct facts facts;
    for (size_t p = 0; p < variant_pass_count(instance_variant(instance)); p++)
        if (facts_of(&facts, device, instance, p, asked->compile, NULL) == HONE_OK)
            figures_add(figures, &facts);
}

void figures_add_energy(struct record_figures *figures, const struct timing *timing, double ms,
                        const struct figuring *asked)
{
    /* Emptying caches would be counted with the launches. */
    double (*batch)(void *, int, hone_error *) = timing->batch_as_is ? timing->batch_as_is : timing->batch;
    const int count = timing_batch(timing, ms);
    double launches = 0;
    if (!asked->energy || !asked->gauge || ms < 0)
        return;
    const uint64_t start = clock_ns();
    gauge_start(asked->gauge);
    while ((double)(clock_ns() - start) * 1e-9 < gauge_seconds) {
        if (batch(timing->context, count, NULL) < 0)
            return;
        launches += count;
    }
    const double joules = gauge_stop(asked->gauge);
    if (joules >= 0)
        set(figures, FIGURE_ENERGY, joules / launches);
}
