/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "tune/energy/energy.h"

/* A new counter, or NULL when there are too many. */
struct energy_counter *energy_add(struct energy_meter *meter);

void nvml_open(struct energy_meter *meter, const char *name);
void nvml_close(struct energy_meter *meter);
bool nvml_read(const struct energy_meter *meter, const struct energy_counter *counter, double *joules);
