/* SPDX-License-Identifier: BSD-2-Clause */
/* The report for programs. */
#include "base/json_text.h"
#include "cli/profile/profile.h"

#include <jansson.h>

static json_t *number(uint64_t value)
{
    return json_integer((json_int_t)value);
}

static json_t *ms(double seconds)
{
    return cli_json_real(seconds * 1e3);
}

static json_t *step_number(size_t step)
{
    return step == HONE_NO_STEP ? json_null() : number(step);
}

static json_t *steps_json(const hone_plan *plan)
{
    json_t *steps = json_array();
    hone_step_info step;
    for (size_t i = 0; hone_plan_step(plan, i, &step); i++)
        json_array_append_new(steps,
                              json_pack("{s:s, s:s, s:s, s:s, s:i, s:s?}", "filter", step.filter, "variant",
                                        step.variant, "config", step.config, "origin", step.origin, "passes",
                                        (int)step.passes, "fused_with", step.fused_with));
    return steps;
}

static json_t *phases_json(const struct preparation *preparation)
{
    json_t *phases = json_array();
    for (size_t i = 0; preparation->phases[i].name; i++) {
        const struct trace_phase *phase = &preparation->phases[i];
        json_array_append_new(phases, json_pack("{s:s, s:o, s:o}", "name", phase->name, "ms",
                                                ms((double)(phase->ended - phase->begun) * 1e-9),
                                                "processor_ms", ms((double)preparation->cpu[i] * 1e-9)));
    }
    return phases;
}

static json_t *walls_json(const struct profile *profile)
{
    json_t *calls = json_object();
    for (int i = 0; i < PROFILE_CALLS; i++)
        json_object_set_new(calls, profile_call_names[i], ms(profile->call_medians[i]));
    return json_pack("{s:i, s:i, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "warmup",
                     (int)profile->warmup, "repeat", (int)profile->repeat, "first_ms", ms(profile->first),
                     "median_ms", ms(profile->median), "least_ms", ms(profile->least), "most_ms",
                     ms(profile->most), "thread_processor_ms", ms(profile->thread_median),
                     "process_processor_ms", ms(profile->process_median), "busy_ms", ms(profile->busy),
                     "gaps_ms", ms(profile->idle), "calls_ms", calls);
}

/* A rate or a roof; null where there is none. */
static json_t *rate(double value)
{
    return value > 0 ? json_real(value) : json_null();
}

static json_t *row_json(const struct profile_row *row)
{
    const hone_command *c = &row->typical.c;
    return json_pack("{s:s, s:s, s:o, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "kind",
                     hone_command_kind_name(c->kind), "name", c->name, "step", step_number(c->step), "call",
                     profile_call_names[row->typical.call], "bytes", number(c->bytes), "median_us",
                     cli_json_real(row->run * 1e-3), "range_us",
                     json_pack("[f, f]", row->least * 1e-3, row->most * 1e-3), "first_us",
                     cli_json_real(row->first * 1e-3), "gap_us", cli_json_real(row->gap * 1e-3),
                     "bytes_per_second", rate(row->rate), "roof", rate(row->roof));
}

static json_t *command_json(const struct profile_command *command)
{
    const hone_times *t = &command->c.times;
    return json_pack("{s:s, s:s, s:o, s:o, s:o, s:o}", "kind", hone_command_kind_name(command->c.kind),
                     "name", command->c.name, "queued_ns", number(t->queued), "submitted_ns",
                     number(t->submitted), "started_ns", number(t->started), "ended_ns", number(t->ended));
}

static json_t *runs_json(const struct profile *profile)
{
    json_t *runs = json_array();
    for (size_t i = 0; i < (size_t)profile->warmup + profile->repeat; i++) {
        const struct profile_run *run = &profile->runs[i];
        json_t *commands = json_array();
        for (size_t k = 0; k < run->count; k++)
            json_array_append_new(commands, command_json(&run->commands[k]));
        json_array_append_new(runs, json_pack("{s:b, s:o, s:o}", "warmup", (int)(i < profile->warmup), "ms",
                                              ms((double)(run->ended - run->begun[0]) * 1e-9), "commands",
                                              commands));
    }
    return runs;
}

static json_t *traffic_json(const struct profile *profile)
{
    json_t *copies = json_array();
    for (size_t i = 0; i < profile->copy_count; i++) {
        const struct profile_copy *copy = &profile->copies[i];
        json_array_append_new(copies, json_pack("{s:s, s:o, s:o, s:b, s:s}", "kind", copy->what, "step",
                                                step_number(copy->step), "bytes", number(copy->bytes),
                                                "avoidable", (int)copy->avoidable, "why", copy->why));
    }
    return json_pack("{s:o, s:o, s:o, s:o}", "bus_bytes", number(profile->traffic.bus), "memory_bytes",
                     number(profile->traffic.memory), "launches", number(profile->traffic.launches), "copies",
                     copies);
}

static json_t *energy_json(const struct profile *profile)
{
    const struct energy_meter *meter = &profile->energy;
    json_t *counters = json_array();
    for (size_t i = 0; i < meter->count; i++)
        if (meter->counters[i].works)
            json_array_append_new(counters, json_pack("{s:o, s:f, s:f}", "name",
                                                      json_text(meter->counters[i].name), "joules_per_run",
                                                      meter->counters[i].joules / profile->energy_runs,
                                                      "joules", meter->counters[i].joules));
    json_t *energy = json_pack("{s:o, s:i, s:f}", "counters", counters, "runs", (int)profile->energy_runs,
                               "seconds", profile->energy_seconds);
    if (energy && json_array_size(counters) == 0)
        json_object_set_new(energy, "unknown",
                            json_text(meter->why[0] ? meter->why : "its counters cannot be read"));
    return energy;
}

struct json_t *profile_json(const struct profile *profile, hone_device *device, const hone_plan *plan,
                            const struct profile_arguments *arguments, const hone_image_desc *in,
                            const struct preparation *preparation)
{
    const hone_device_info *info = hone_device_get_info(device);
    json_t *rows = json_array();
    for (size_t i = 0; i < profile->row_count; i++)
        json_array_append_new(rows, row_json(&profile->rows[i]));
    return json_pack(
        "{s:s, s:o, s:o, s:o, s:o, s:{s:i, s:i, s:s, s:i}, s:o, s:s, s:o, s:I, s:I, s:o, s:o, "
        "s:b, s:o, s:o, s:o}",
        "status", "done", "chain", json_text(arguments->chain), "input", json_text(arguments->input),
        "device", json_text(info->board[0] ? info->board : info->name), "driver",
        json_text(info->driver_version), "image", "width", (int)in->width, "height", (int)in->height, "type",
        hone_type_name(in->type), "channels", (int)in->channels, "steps", steps_json(plan), "clock",
        profile->host_clock ? "host" : "device", "preparation", phases_json(preparation), "programs_compiled",
        (json_int_t)preparation->plan.built_from_source, "programs_loaded",
        (json_int_t)preparation->plan.loaded_from_disk, "runs", walls_json(profile), "commands", rows,
        "commands_changed", (int)profile->changed, "traffic", traffic_json(profile), "energy",
        energy_json(profile), "all_runs", runs_json(profile));
}
