/* SPDX-License-Identifier: BSD-2-Clause */
/* What is found out of a configuration beside its time: its kernels as compiled, and energy. */
#pragma once

#include "tune/energy/gauge.h"
#include "tune/facts/facts.h"
#include "tune/measure/timing.h"

/* What is asked for beyond that which costs no time. */
struct figuring {
    bool compile;        /* registers also where the driver has to compile again for them */
    bool energy;         /* joules per launch, which takes half a second */
    struct gauge *gauge; /* for that */
};

/* Adds what is known of a kernel: what a configuration has of several is the most, of waves the fewest. */
void figures_add(struct record_figures *figures, const struct facts *facts);
void figures_of_instance(struct record_figures *figures, hone_device *device, const struct instance *instance,
                         const struct figuring *asked);
/* Runs what was timed, `ms` a launch, as long as counters need. */
void figures_add_energy(struct record_figures *figures, const struct timing *timing, double ms,
                        const struct figuring *asked);
