/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Counters of energy that a machine tells of: RAPL by way of /sys/class/powercap, GPUs by way of
 * /sys/class/hwmon and of NVIDIA's management library (NVML, loaded when it is there).
 *
 * They count whole packages and boards, with whatever else runs there. Threads: one at a time per meter.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ENERGY_MOST = 16 };
/* Counters move every millisecond at best, those of boards every 100: what is shorter cannot be told. */
#define ENERGY_LEAST_SECONDS 0.6

struct energy_counter {
    char name[64];  /* "package-0", "dram", "NVIDIA H200" */
    char path[512]; /* the file; "": a GPU of NVML's */
    void *gpu;      /* its handle there */
    double start;   /* joules, when it was last read */
    double wrap;    /* the counter begins again behind so many joules; 0: never */
    double joules;  /* from the start to the last stop */
    bool works;
};

struct energy_meter {
    struct energy_counter counters[ENERGY_MOST];
    size_t count;
    void *library; /* NVML */
    char why[256]; /* where there is no counter: why */
};

/* Finds the counters. `sysfs`: "/sys"; `nvml`: the library's name; NULL for both: the usual ones. That there
 * are none is no error: count is 0, and `why` says what was looked for. To be closed. */
void energy_open(struct energy_meter *meter, const char *sysfs, const char *nvml);
void energy_close(struct energy_meter *meter);

void energy_start(struct energy_meter *meter);
/* Fills `joules`; a counter that cannot be read any more no longer `works`. It may come several times after a
 * start, and should before a counter has come round twice. */
void energy_stop(struct energy_meter *meter);
