/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * A trace in Chrome's format (JSON; chrome://tracing and ui.perfetto.dev read it).
 *
 * Process 1 is the host: a track of calls, nested. Process 2 is the device: a track of what its queue does,
 * one command after the other, and beside it each command's waiting from being queued to its start.
 */
#ifndef LAB_TRACE_H
#define LAB_TRACE_H

#include <stdbool.h>
#include <stdint.h>

struct json_t;
struct profile;

/* Something that the host did before the runs. */
struct trace_phase {
    const char *name;
    uint64_t begun, ended; /* clock_ns */
};

/* The whole trace; `phases` end with a name that is NULL, the first of them begins first. NULL when memory
 * ran out; else the caller releases it. */
struct json_t *trace_make(const struct profile *profile, const char *device,
                          const struct trace_phase *phases);

#endif
