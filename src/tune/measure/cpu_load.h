/* SPDX-License-Identifier: BSD-2-Clause */
/* What else the machine's processors did meanwhile. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Processor time until now, in ticks of the clock (usually 10 ms). */
struct load {
    uint64_t busy, total; /* of all processors */
    uint64_t own;         /* of this process, its children of before, and the one at work */
};

/* False where the system does not tell. `worker`: the child at work, or 0. */
bool load_now(struct load *load, pid_t worker);

/* The share of all processors' time that others took between two moments, 0 to 1; negative when too little
 * time went by to tell. */
double load_of_others(const struct load *before, const struct load *after);

/* The same from a moment until now; NULL: it is not known. */
double load_since(const struct load *before, pid_t worker);

/* What /proc/stat and /proc/PID/stat say; for the latter the process with the children that it waited for. */
bool load_parse_machine(const char *text, uint64_t *busy, uint64_t *total);
bool load_parse_process(const char *text, uint64_t *ticks);
