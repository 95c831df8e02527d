/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * A trace in Chrome's format (JSON; chrome://tracing and ui.perfetto.dev read it).
 *
 * Process 1 is the host: a track of calls, nested. Process 2 is the device: a track of what its queue does,
 * one command after the other, and beside it each command's waiting from being queued to its start.
 */
#pragma once

#include "hone/event.h"

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

/* ---- Its parts, for other traces ---- */

enum { TRACE_HOST = 1 }; /* the host's process; those of devices follow */

struct trace {
    struct json_t *events;
    uint64_t origin; /* clock_ns */
    bool failed;     /* memory ran out */
    unsigned next_id;
};

void trace_begin(struct trace *trace, uint64_t origin);
/* `what`: "process_name" or "thread_name". */
void trace_name(struct trace *trace, int process, int track, const char *what, const char *text);
/* Host times; spans of a track follow each other or lie within each other. `arguments` may be NULL, and is
 * taken over. */
void trace_span(struct trace *trace, int process, int track, const char *text, const char *category,
                uint64_t from, uint64_t to, struct json_t *arguments);
/* A device's; `to_host` added to its times (modulo 2^64) makes them the host's. */
void trace_command(struct trace *trace, int process, int track, const hone_command *command,
                   uint64_t to_host);
/* What is added to a device's times, as far as this command tells: of all commands the least (`first`: there
 * is none before). `ended`: when the host had seen its end. */
uint64_t trace_distance(uint64_t least, bool first, const hone_command *command, uint64_t ended);
/* The whole; NULL when memory ran out. Nothing is left in `trace`. */
struct json_t *trace_end(struct trace *trace, const char *program);
