/* SPDX-License-Identifier: BSD-2-Clause */
/* One run, and all of them. */
#include "base/clock.h"
#include "base/error.h"
#include "base/mem.h"
#include "cl/device.h"
#include "cl/selftest.h"
#include "lab/profile/internal.h"
#include "lab/profile/trace.h"
#include "lab/roofs/roofs.h"
#include "plan/plan.h"
#include "stream/pool.h"

#include <stdlib.h>

enum { ENERGY_MOST_RUNS = 20000 };

const char *const profile_call_names[PROFILE_CALLS] = {"hand over", "enqueue", "take back", "wait"};

struct ends {
    hone_event *of[PROFILE_WAIT];
};

/* The queue is in order: nothing has to wait for an event. */
static hone_status enqueue(struct profile_run *run, const struct subject *s, struct ends *ends,
                           hone_error *error)
{
    run->begun[PROFILE_UPLOAD] = clock_ns();
    hone_status status = hone_image_upload(s->in, NULL, 0, NULL, 0, &ends->of[PROFILE_UPLOAD], error);
    run->begun[PROFILE_PLAN] = clock_ns();
    THEN(status, hone_plan_run(s->plan, s->in, s->out, NULL, 0, &ends->of[PROFILE_PLAN], error));
    run->begun[PROFILE_DOWNLOAD] = clock_ns();
    THEN(status, hone_image_download(s->out, NULL, 0, NULL, 0, &ends->of[PROFILE_DOWNLOAD], error));
    run->begun[PROFILE_WAIT] = clock_ns();
    return status;
}

static hone_status collect(struct profile_run *run, const struct ends *ends, hone_error *error)
{
    size_t count = 0;
    for (int call = 0; call < PROFILE_WAIT; call++)
        count += hone_event_command_count(ends->of[call]);
    run->commands = mem_new(count, sizeof *run->commands);
    if (!run->commands)
        return error_memory(error, "the times of a run");
    hone_status status = HONE_OK;
    for (int call = 0; call < PROFILE_WAIT && !status; call++)
        for (size_t i = 0; i < hone_event_command_count(ends->of[call]) && !status; i++) {
            struct profile_command *command = &run->commands[run->count++];
            command->call = (enum profile_call)call;
            status = hone_event_command(ends->of[call], i, &command->c, error);
        }
    if (status) {
        free(run->commands);
        run->commands = NULL;
    }
    return status;
}

static uint64_t distance_of_clocks(const struct profile_run *run)
{
    uint64_t least = 0;
    for (size_t i = 0; i < run->count; i++)
        least = trace_distance(least, i == 0, &run->commands[i].c, run->ended);
    return least;
}

/* What was handed over belongs to the host again, so that the next run hands it over, too. */
static hone_status take_back_input(const struct subject *s, hone_error *error)
{
    if (!hone_image_is_zero_copy(s->in))
        return HONE_OK;
    return hone_image_download(s->in, NULL, 0, NULL, 0, NULL, error);
}

hone_status run_once(struct profile_run *run, const struct subject *subject, hone_error *error)
{
    struct ends ends = {{NULL}};
    *run = (struct profile_run){.thread_ns = clock_thread_ns(), .process_ns = clock_process_ns()};
    hone_status status = enqueue(run, subject, &ends, error);
    THEN(status, hone_event_wait(ends.of[PROFILE_DOWNLOAD], error));
    run->ended = clock_ns();
    run->thread_ns = clock_thread_ns() - run->thread_ns;
    run->process_ns = clock_process_ns() - run->process_ns;
    if (status)
        hone_device_finish(subject->device, NULL);
    else
        status = collect(run, &ends, error);
    for (int call = 0; call < PROFILE_WAIT; call++)
        hone_event_destroy(&ends.of[call]);
    run->to_host = status ? 0 : distance_of_clocks(run);
    return status ? status : take_back_input(subject, error);
}

static hone_status watched_run(struct profile_run *run, const struct subject *subject,
                               const struct profile_options *options, hone_error *error)
{
    if (options->watch)
        options->watch(options->user, true);
    hone_status status = run_once(run, subject, error);
    if (options->watch)
        options->watch(options->user, false);
    return status;
}

/* By themselves: reading counters takes time. */
static hone_status measure_energy(struct profile *profile, const struct subject *subject,
                                  const struct profile_options *options, hone_error *error)
{
    hone_status status = HONE_OK;
    energy_open(&profile->energy, options->sysfs, options->nvml);
    if (!profile->energy.count)
        return HONE_OK;
    const uint64_t start = clock_ns();
    energy_start(&profile->energy);
    while (profile->energy_seconds < ENERGY_LEAST_SECONDS && profile->energy_runs < ENERGY_MOST_RUNS &&
           !status) {
        struct profile_run run;
        status = watched_run(&run, subject, options, error);
        free(run.commands);
        profile->energy_runs++;
        profile->energy_seconds = (double)(clock_ns() - start) * 1e-9;
    }
    energy_stop(&profile->energy);
    return status;
}

/* Those of `hone bench roofs`, whose pictures fit no cache, come first. */
static void find_roofs(struct profile *profile, hone_device *device)
{
    struct roofs_list all;
    const enum roofs_known known = roofs_recall(hone_device_get_info(device), &profile->roofs);
    profile->has_roofs = known == ROOFS_KNOWN;
    if (known == ROOFS_UNKNOWN) /* what did not come to its end before is not tried again */
        profile->has_roofs = roofs_measure(device, &profile->roofs, NULL) == HONE_OK;
    if (profile->has_roofs && roofs_recall_all(&all, hone_device_get_info(device)))
        profile->roofs.copy = all.values[ROOF_COPY_BUFFER];
}

static hone_status choose_clock(struct profile *profile, hone_device *device, enum profile_clock wanted,
                                hone_error *error)
{
    const bool works = device_profiles(device) && selftest_holds(device, SELFTEST_CLOCK);
    if (wanted == PROFILE_CLOCK_DEVICE && !works)
        return error_unsupported(error, "the clock of '%s' does not work: --clock host uses the host's",
                                 hone_device_get_info(device)->name);
    profile->host_clock = wanted == PROFILE_CLOCK_HOST || !works;
    return HONE_OK;
}

static hone_status measure(struct profile *profile, const struct subject *subject,
                           const struct profile_options *options, hone_error *error)
{
    const size_t count = (size_t)options->warmup + options->repeat;
    hone_status status = choose_clock(profile, subject->device, options->clock, error);
    if (status)
        return status;
    find_roofs(profile, subject->device); /* before the warm-up: it works the device, too */
    if (profile->host_clock)
        device_use_host_clock(subject->device);
    profile->runs = mem_new(count, sizeof *profile->runs);
    if (!profile->runs)
        return error_memory(error, "the times of all runs");
    for (size_t i = 0; i < count && !status; i++)
        status = watched_run(&profile->runs[i], subject, options, error);
    THEN(status, measure_energy(profile, subject, options, error));
    return status ? status : summary_make(profile, error);
}

static bool next_of_plan(const void *plan, size_t step, hone_step_info *info)
{
    return hone_plan_step(plan, step, info);
}

static hone_status explain_copies(struct profile *profile, const struct subject *s, hone_error *error)
{
    struct copy_situation situation = {
        .device = s->device, .in = *hone_image_get_desc(s->in), .out = *hone_image_get_desc(s->out)};
    hone_step_info *steps = pool_copy_steps(&situation.step_count, next_of_plan, s->plan);
    profile->copies = mem_new(profile->row_count, sizeof *profile->copies);
    situation.steps = steps;
    for (size_t i = 0; steps && profile->copies && i < profile->row_count; i++)
        profile->copy_count += profile_explain_copy(&situation, &profile->rows[i].typical.c,
                                                    &profile->copies[profile->copy_count]);
    const bool told = steps && profile->copies;
    free(steps);
    return told ? HONE_OK : error_memory(error, "a profile");
}

hone_status profile_measure(struct profile *profile, hone_device *device, hone_plan *plan, hone_image *in,
                            hone_image *out, const struct profile_options *options, hone_error *error)
{
    const struct subject subject = {device, plan, in, out};
    *profile = (struct profile){.warmup = options->warmup, .repeat = options->repeat};
    plan_settle(plan);
    hone_status status = measure(profile, &subject, options, error);
    THEN(status, explain_copies(profile, &subject, error));
    if (status)
        profile_finish(profile);
    return status;
}

void profile_finish(struct profile *profile)
{
    for (size_t i = 0; profile->runs && i < (size_t)profile->warmup + profile->repeat; i++)
        free(profile->runs[i].commands);
    free(profile->runs);
    free(profile->rows);
    free(profile->copies);
    energy_close(&profile->energy);
    *profile = (struct profile){0};
}
