/* SPDX-License-Identifier: BSD-2-Clause */
#include "tune/energy/gauge.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Packages hold cores and their caches; "core" and "dram" are parts of them, or of others. */
static bool is_of(const struct energy_counter *counter, const hone_device_info *info)
{
    static const char package[] = "package";
    if (info->kind == HONE_DEVICE_CPU)
        return strncmp(counter->name, package, sizeof package - 1) == 0;
    if (counter->gpu)
        return strcmp(counter->name, info->name) == 0;
    return info->kind == HONE_DEVICE_GPU && strstr(counter->path, "/hwmon/") != NULL;
}

void gauge_open(struct gauge *gauge, const hone_device_info *info)
{
    struct energy_meter *meter = &gauge->meter;
    size_t kept = 0;
    gauge->why[0] = '\0';
    energy_open(meter, getenv(GAUGE_SYSFS), NULL);
    const size_t all = meter->count;
    for (size_t i = 0; i < all; i++)
        if (is_of(&meter->counters[i], info))
            meter->counters[kept++] = meter->counters[i];
    meter->count = kept;
    if (kept == 0)
        snprintf(gauge->why, sizeof gauge->why, "%s",
                 all ? "none of the machine's counters is this device's" : meter->why);
    else if (kept > 1 && info->kind != HONE_DEVICE_CPU) {
        snprintf(gauge->why, sizeof gauge->why, "%zu counters could be this device's", kept);
        meter->count = 0;
    }
}

void gauge_close(struct gauge *gauge)
{
    energy_close(&gauge->meter);
}

void gauge_start(struct gauge *gauge)
{
    energy_start(&gauge->meter);
}

double gauge_stop(struct gauge *gauge)
{
    double joules = 0;
    energy_stop(&gauge->meter);
    for (size_t i = 0; i < gauge->meter.count; i++) {
        if (!gauge->meter.counters[i].works)
            return -1;
        joules += gauge->meter.counters[i].joules;
    }
    return gauge->meter.count ? joules : -1;
}
