/* SPDX-License-Identifier: BSD-2-Clause */
/* How long threads wait for a processor: on a busy machine that is no sign of a hang. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* What was seen the last time. Zeroed at first. */
struct starved {
    struct starved_thread *threads;
    size_t count, capacity;
    uint64_t at;
};

/**
 * The time, since the last call, for which the thread that waited longest could have run and did not, in ns;
 * 0 for the first call, and where the system does not tell. `folder` has a folder for each thread with a file
 * "schedstat": STARVED_OWN for this process. `now` is clock_ns(). Threads: one at a time on one object.
 */
uint64_t starved_since(struct starved *starved, const char *folder, uint64_t now);
void starved_finish(struct starved *starved);

#define STARVED_OWN "/proc/self/task"
