/* SPDX-License-Identifier: BSD-2-Clause */
#include "lab/profile/trace.h"

#include "base/json_text.h"
#include "lab/profile/profile.h"

#include <jansson.h>
#include <stdio.h>

enum { HOST = 1, DEVICE = 2, TRACK = 1 };

struct trace {
    json_t *events;
    uint64_t origin; /* clock_ns */
    bool failed;
    unsigned next_id;
};

/* Takes `event` over, and `arguments` (may be NULL). */
static void add(struct trace *trace, json_t *event, json_t *arguments)
{
    if (event && arguments && json_object_set_new(event, "args", arguments) != 0)
        trace->failed = true;
    trace->failed = json_array_append_new(trace->events, event) != 0 || trace->failed;
}

/* Microseconds since the origin. */
static double at(const struct trace *trace, uint64_t host_ns)
{
    return (double)(int64_t)(host_ns - trace->origin) * 1e-3;
}

static void name(struct trace *trace, const char *what, int process, const char *text)
{
    add(trace, json_pack("{s:s, s:s, s:i, s:i}", "ph", "M", "name", what, "pid", process, "tid", TRACK),
        json_pack("{s:o}", "name", json_text(text)));
}

static void span(struct trace *trace, int process, const char *text, const char *category, uint64_t from,
                 uint64_t to, json_t *arguments)
{
    add(trace,
        json_pack("{s:s, s:s, s:s, s:i, s:i, s:f, s:f}", "ph", "X", "name", text, "cat", category, "pid",
                  process, "tid", TRACK, "ts", at(trace, from), "dur",
                  to > from ? (double)(to - from) * 1e-3 : 0.0),
        arguments);
}

/* A pair of events, which may overlap with others of its kind. */
static void wait(struct trace *trace, const char *text, uint64_t from, uint64_t to)
{
    const uint64_t ends[] = {from, to > from ? to : from};
    for (int i = 0; i < 2; i++)
        add(trace,
            json_pack("{s:s, s:s, s:s, s:i, s:i, s:i, s:f}", "ph", i ? "e" : "b", "name", text, "cat",
                      "waiting", "id", (int)trace->next_id, "pid", DEVICE, "tid", TRACK, "ts",
                      at(trace, ends[i])),
            NULL);
    trace->next_id++;
}

static void add_command(struct trace *trace, const struct profile_run *run,
                        const struct profile_command *command)
{
    const hone_command *c = &command->c;
    const char *kind = hone_command_kind_name(c->kind), *text = c->name[0] ? c->name : kind;
    json_t *arguments =
        json_pack("{s:I, s:I, s:I, s:I, s:I}", "bytes", (json_int_t)c->bytes, "queued_ns",
                  (json_int_t)c->times.queued, "submitted_ns", (json_int_t)c->times.submitted, "started_ns",
                  (json_int_t)c->times.started, "ended_ns", (json_int_t)c->times.ended);
    if (arguments && c->step != HONE_NO_STEP)
        json_object_set_new(arguments, "step", json_integer((json_int_t)c->step));
    wait(trace, text, c->times.queued + run->to_host, c->times.started + run->to_host);
    span(trace, DEVICE, text, kind, c->times.started + run->to_host, c->times.ended + run->to_host,
         arguments);
}

static void add_run(struct trace *trace, const struct profile *profile, size_t index)
{
    const struct profile_run *run = &profile->runs[index];
    const bool warm = index >= profile->warmup;
    char text[48];
    snprintf(text, sizeof text, "%s %zu", warm ? "run" : "warm-up", warm ? index - profile->warmup : index);
    span(trace, HOST, text, warm ? "steady" : "warm-up", run->begun[0], run->ended,
         json_pack("{s:f, s:f}", "thread_cpu_ms", (double)run->thread_ns * 1e-6, "process_cpu_ms",
                   (double)run->process_ns * 1e-6));
    for (int call = 0; call < PROFILE_CALLS; call++)
        span(trace, HOST, profile_call_names[call], "call", run->begun[call],
             call + 1 < PROFILE_CALLS ? run->begun[call + 1] : run->ended, NULL);
    for (size_t i = 0; i < run->count; i++)
        add_command(trace, run, &run->commands[i]);
}

struct json_t *trace_make(const struct profile *profile, const char *device, const struct trace_phase *phases)
{
    struct trace trace = {.events = json_array(), .origin = phases[0].begun};
    name(&trace, "process_name", HOST, "host");
    name(&trace, "thread_name", HOST, "calls");
    name(&trace, "process_name", DEVICE, device);
    name(&trace, "thread_name", DEVICE, profile->host_clock ? "queue (host's clock)" : "queue");
    for (; phases->name; phases++)
        span(&trace, HOST, phases->name, "preparation", phases->begun, phases->ended, NULL);
    for (size_t i = 0; i < (size_t)profile->warmup + profile->repeat; i++)
        add_run(&trace, profile, i);
    json_t *whole = json_pack("{s:o, s:s, s:{s:s}}", "traceEvents", trace.events, "displayTimeUnit", "ns",
                              "otherData", "program", "hone profile");
    if (!whole)
        return NULL;
    if (trace.failed) {
        json_decref(whole);
        return NULL;
    }
    return whole;
}
