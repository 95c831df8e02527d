/* SPDX-License-Identifier: BSD-2-Clause */
#include "lab/profile/trace.h"

#include "base/json_text.h"
#include "lab/profile/profile.h"

#include <jansson.h>
#include <stdio.h>

enum { DEVICE = TRACE_HOST + 1, TRACK = 1 };

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

void trace_name(struct trace *trace, int process, int track, const char *what, const char *text)
{
    add(trace, json_pack("{s:s, s:s, s:i, s:i}", "ph", "M", "name", what, "pid", process, "tid", track),
        json_pack("{s:o}", "name", json_text(text)));
}

void trace_span(struct trace *trace, int process, int track, const char *text, const char *category,
                uint64_t from, uint64_t to, struct json_t *arguments)
{
    add(trace,
        json_pack("{s:s, s:o, s:s, s:i, s:i, s:f, s:f}", "ph", "X", "name", json_text(text), "cat", category,
                  "pid", process, "tid", track, "ts", at(trace, from), "dur",
                  to > from ? (double)(to - from) * 1e-3 : 0.0),
        arguments);
}

/* A pair of events, which may overlap with others of its kind. */
static void wait(struct trace *trace, int process, int track, const char *text, uint64_t from, uint64_t to)
{
    const uint64_t ends[] = {from, to > from ? to : from};
    for (int i = 0; i < 2; i++)
        add(trace,
            json_pack("{s:s, s:s, s:s, s:i, s:i, s:i, s:f}", "ph", i ? "e" : "b", "name", text, "cat",
                      "waiting", "id", (int)trace->next_id, "pid", process, "tid", track, "ts",
                      at(trace, ends[i])),
            NULL);
    trace->next_id++;
}

void trace_command(struct trace *trace, int process, int track, const hone_command *c, uint64_t to_host)
{
    const char *kind = hone_command_kind_name(c->kind), *text = c->name[0] ? c->name : kind;
    json_t *arguments =
        json_pack("{s:I, s:I, s:I, s:I, s:I}", "bytes", (json_int_t)c->bytes, "queued_ns",
                  (json_int_t)c->times.queued, "submitted_ns", (json_int_t)c->times.submitted, "started_ns",
                  (json_int_t)c->times.started, "ended_ns", (json_int_t)c->times.ended);
    if (arguments && c->step != HONE_NO_STEP)
        json_object_set_new(arguments, "step", json_integer((json_int_t)c->step));
    wait(trace, process, track, text, c->times.queued + to_host, c->times.started + to_host);
    trace_span(trace, process, track, text, kind, c->times.started + to_host, c->times.ended + to_host,
               arguments);
}

void trace_begin(struct trace *trace, uint64_t origin)
{
    *trace = (struct trace){.events = json_array(), .origin = origin};
    trace_name(trace, TRACE_HOST, TRACK, "process_name", "host");
}

struct json_t *trace_end(struct trace *trace, const char *program)
{
    json_t *whole = json_pack("{s:o, s:s, s:{s:s}}", "traceEvents", trace->events, "displayTimeUnit", "ns",
                              "otherData", "program", program);
    if (!whole)
        return NULL;
    if (trace->failed) {
        json_decref(whole);
        return NULL;
    }
    return whole;
}

/* A command was queued before the call that enqueued it came back, and had ended before the host saw the end
 * of the run. The least of these distances is how far the clocks are apart: never too small, and at most as
 * much too large as the call took. */
uint64_t trace_distance(uint64_t least, bool first, const hone_command *c, uint64_t ended)
{
    const uint64_t distances[] = {c->enqueued - c->times.queued, ended - c->times.ended};
    for (int j = 0; j < 2; j++) {
        if (first || (int64_t)(distances[j] - least) < 0)
            least = distances[j];
        first = false;
    }
    return least;
}

static void add_run(struct trace *trace, const struct profile *profile, size_t index)
{
    const struct profile_run *run = &profile->runs[index];
    const bool warm = index >= profile->warmup;
    char text[48];
    snprintf(text, sizeof text, "%s %zu", warm ? "run" : "warm-up", warm ? index - profile->warmup : index);
    trace_span(trace, TRACE_HOST, TRACK, text, warm ? "steady" : "warm-up", run->begun[0], run->ended,
               json_pack("{s:f, s:f}", "thread_cpu_ms", (double)run->thread_ns * 1e-6, "process_cpu_ms",
                         (double)run->process_ns * 1e-6));
    for (int call = 0; call < PROFILE_CALLS; call++)
        trace_span(trace, TRACE_HOST, TRACK, profile_call_names[call], "call", run->begun[call],
                   call + 1 < PROFILE_CALLS ? run->begun[call + 1] : run->ended, NULL);
    for (size_t i = 0; i < run->count; i++)
        trace_command(trace, DEVICE, TRACK, &run->commands[i].c, run->to_host);
}

struct json_t *trace_make(const struct profile *profile, const char *device, const struct trace_phase *phases)
{
    struct trace trace;
    trace_begin(&trace, phases[0].begun);
    trace_name(&trace, TRACE_HOST, TRACK, "thread_name", "calls");
    trace_name(&trace, DEVICE, TRACK, "process_name", device);
    trace_name(&trace, DEVICE, TRACK, "thread_name", profile->host_clock ? "queue (host's clock)" : "queue");
    for (; phases->name; phases++)
        trace_span(&trace, TRACE_HOST, TRACK, phases->name, "preparation", phases->begun, phases->ended,
                   NULL);
    for (size_t i = 0; i < (size_t)profile->warmup + profile->repeat; i++)
        add_run(&trace, profile, i);
    return trace_end(&trace, "hone profile");
}
