/* SPDX-License-Identifier: BSD-2-Clause */
/* The counters of energy that are of one device: its board's, or for a CPU its packages'. */
#pragma once

#include "hone/device.h"
#include "tune/energy/energy.h"

struct gauge {
    struct energy_meter meter; /* of the device's counters alone */
    char why[256];             /* why it has none; empty: it has */
};

/* Environment variable that names a folder to be read in the place of /sys. */
#define GAUGE_SYSFS "HONE_SYSFS"

/* To be closed in any case. */
void gauge_open(struct gauge *gauge, const hone_device_info *info);
void gauge_close(struct gauge *gauge);

void gauge_start(struct gauge *gauge);
/* Joules since the start; negative: not known. Whatever else ran there is counted, too. */
double gauge_stop(struct gauge *gauge);
