/* SPDX-License-Identifier: BSD-2-Clause */
/* hone apply: joules of the whole run, where the machine counts them. */
#include "cli/apply/apply.h"

#include "base/clock.h"
#include "base/json_text.h"
#include "tune/energy/gauge.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

/* Loading a vendor's library takes time, and so does asking it: only those who ask for details spend it. */
void apply_energy_begin(struct energy_run *run, const struct common_options *common)
{
    *run = (struct energy_run){.asked = common->verbose};
    if (!run->asked)
        return;
    energy_open(&run->meter, getenv(GAUGE_SYSFS), NULL);
    run->start = clock_ns();
    energy_start(&run->meter);
    for (size_t i = 0; i < run->meter.count; i++)
        cli_note(common, "energy is counted by %s", run->meter.counters[i].name);
}

/* Up to now; false where it is not known, for which there is a reason. */
static bool read_counters(struct energy_run *run, double *seconds, char *why, size_t size)
{
    bool any = false;
    *seconds = (double)(clock_ns() - run->start) * 1e-9;
    energy_stop(&run->meter);
    for (size_t i = 0; i < run->meter.count; i++)
        any = any || run->meter.counters[i].works;
    if (!any)
        snprintf(why, size, "%s",
                 run->meter.why[0] ? run->meter.why : "the machine's counters cannot be read");
    else if (*seconds < ENERGY_LEAST_SECONDS)
        snprintf(why, size, "%.2g s are too short for the machine's counters, which need %g s", *seconds,
                 ENERGY_LEAST_SECONDS);
    return any && *seconds >= ENERGY_LEAST_SECONDS;
}

json_t *apply_energy_json(struct energy_run *run)
{
    char why[sizeof run->meter.why];
    double seconds = 0;
    if (!read_counters(run, &seconds, why, sizeof why))
        return json_pack("{s:f, s:o}", "seconds", seconds, "unknown", json_text(why));
    json_t *counters = json_array();
    for (size_t i = 0; i < run->meter.count; i++)
        if (run->meter.counters[i].works)
            json_array_append_new(counters,
                                  json_pack("{s:o, s:f}", "name", json_text(run->meter.counters[i].name),
                                            "joules", run->meter.counters[i].joules));
    return json_pack("{s:f, s:o}", "seconds", seconds, "counters", counters);
}

void apply_energy_end(struct energy_run *run, const struct common_options *common)
{
    char why[sizeof run->meter.why];
    double seconds = 0;
    if (!run->asked)
        return;
    const bool known = read_counters(run, &seconds, why, sizeof why);
    for (size_t i = 0; i < run->meter.count && known; i++)
        if (run->meter.counters[i].works)
            cli_note(common, "energy: %.3f J of %s in %.2f s, with all else that ran there",
                     run->meter.counters[i].joules, run->meter.counters[i].name, seconds);
    if (!known)
        cli_note(common, "energy: not known: %s", why);
    energy_close(&run->meter);
}
