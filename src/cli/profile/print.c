/* SPDX-License-Identifier: BSD-2-Clause */
/* The report for people. */
#include "cli/profile/profile.h"
#include "cli/show.h"

#include <stdio.h>

static const char *name_of(hone_device *device)
{
    const hone_device_info *info = hone_device_get_info(device);
    return info->board[0] ? info->board : info->name;
}

static void print_subject(hone_device *device, const hone_plan *plan,
                          const struct profile_arguments *arguments, const hone_image_desc *in)
{
    hone_step_info step;
    printf("%s on %s\n", arguments->chain, name_of(device));
    show_row("input", "%s: %ux%u %s, %u channel%s", arguments->input, in->width, in->height,
             hone_type_name(in->type), in->channels, in->channels == 1 ? "" : "s");
    for (size_t i = 0; hone_plan_step(plan, i, &step); i++)
        if (step.fused_with)
            show_row("step", "%zu: %s, in the kernel of %s", i, step.filter, step.fused_with);
        else
            show_row("step", "%zu: %s, variant %s%s%s (%s)", i, step.filter, step.variant,
                     step.config[0] ? " " : "", step.config, step.origin);
}

static void print_preparation(const struct preparation *preparation)
{
    for (size_t i = 0; preparation->phases[i].name; i++) {
        const struct trace_phase *phase = &preparation->phases[i];
        show_row(phase->name, "%.3f ms, %.3f ms of processor time",
                 (double)(phase->ended - phase->begun) * 1e-6, (double)preparation->cpu[i] * 1e-6);
    }
    show_row("programs", "%llu compiled, %llu loaded from disk",
             (unsigned long long)preparation->plan.built_from_source,
             (unsigned long long)preparation->plan.loaded_from_disk);
}

static void print_walls(const struct profile *profile)
{
    if (profile->warmup)
        show_row("warm-up", "%s, the first one %.3f ms", show_count(profile->warmup, "run").text,
                 profile->first * 1e3);
    show_row("steady", "%s, median %.3f ms (%.3f to %.3f)", show_count(profile->repeat, "run").text,
             profile->median * 1e3, profile->least * 1e3, profile->most * 1e3);
    show_row("processor time", "%.3f ms of the calling thread, %.3f ms of all threads",
             profile->thread_median * 1e3, profile->process_median * 1e3);
    show_row("host", "%s %.3f ms, %s %.3f ms, %s %.3f ms, %s %.3f ms", profile_call_names[PROFILE_UPLOAD],
             profile->call_medians[PROFILE_UPLOAD] * 1e3, profile_call_names[PROFILE_PLAN],
             profile->call_medians[PROFILE_PLAN] * 1e3, profile_call_names[PROFILE_DOWNLOAD],
             profile->call_medians[PROFILE_DOWNLOAD] * 1e3, profile_call_names[PROFILE_WAIT],
             profile->call_medians[PROFILE_WAIT] * 1e3);
    show_row("device", "busy for %.3f ms of the typical run, gaps of %.3f ms between its commands",
             profile->busy * 1e3, profile->idle * 1e3);
    show_row("clock", "%s",
             profile->host_clock ? "of the host: every command was waited for" : "of the device");
}

static double from(const struct profile *profile, uint64_t time)
{
    return (double)(int64_t)(time - profile->rows[0].typical.c.times.queued) * 1e-3;
}

static void print_row(const struct profile *profile, const struct profile_row *row)
{
    const hone_command *c = &row->typical.c;
    char rate[16] = "-", roof[16] = "-";
    if (row->rate > 0)
        snprintf(rate, sizeof rate, "%.2f", row->rate * 1e-9);
    if (row->rate > 0 && row->roof > 0)
        snprintf(roof, sizeof roof, "%.0f%%", row->rate / row->roof * 100);
    printf("%9.1f %9.1f %9.1f %9.1f %10.1f %8.1f %10.1f %8.2f %8s %5s  ", from(profile, c->times.queued),
           from(profile, c->times.submitted), from(profile, c->times.started), from(profile, c->times.ended),
           row->run * 1e-3, row->gap * 1e-3, row->first * 1e-3, (double)c->bytes * 1e-6, rate, roof);
    if (c->step != HONE_NO_STEP)
        printf("%zu: ", c->step);
    printf("%s\n", c->name[0] ? c->name : hone_command_kind_name(c->kind));
}

static void print_rows(const struct profile *profile)
{
    printf("\n%9s %9s %9s %9s %10s %8s %10s %8s %8s %5s\n", "queued", "submitted", "started", "ended", "run",
           "gap", "first run", "MB", "GB/s", "roof");
    printf("%9s %9s %9s %9s %10s %8s %10s %8s\n", "us", "us", "us", "us", "median us", "us", "us", "");
    for (size_t i = 0; i < profile->row_count; i++)
        print_row(profile, &profile->rows[i]);
    if (profile->changed)
        puts("The commands were not the same in all runs; those of the typical one are shown.");
    putchar('\n');
}

static void print_traffic(const struct profile *profile)
{
    const struct profile_traffic *t = &profile->traffic;
    show_row("traffic",
             "%.2f MB over the bus and %.2f MB in device memory per run; launches: %zu, copies: %zu",
             (double)t->bus * 1e-6, (double)t->memory * 1e-6, t->launches, t->copies);
    for (size_t i = 0; i < profile->copy_count; i++) {
        const struct profile_copy *copy = &profile->copies[i];
        show_row(i ? "" : "copies", "%s of %s%s: %s", copy->what, show_count(copy->bytes, "byte").text,
                 copy->avoidable ? ", avoidable" : "", copy->why);
    }
}

static void print_energy(const struct profile *profile)
{
    const struct energy_meter *meter = &profile->energy;
    bool any = false;
    for (size_t i = 0; i < meter->count; i++) {
        const struct energy_counter *c = &meter->counters[i];
        if (c->works)
            show_row(any ? "" : "energy",
                     "%.6f J per run of %s, with all else that ran there (%.3f J in %s, %.2f s)",
                     c->joules / profile->energy_runs, c->name, c->joules,
                     show_count(profile->energy_runs, "run").text, profile->energy_seconds);
        any = any || c->works;
    }
    if (!any)
        show_row("energy", "not known: %s", meter->why[0] ? meter->why : "its counters cannot be read");
}

void profile_print(const struct profile *profile, hone_device *device, const hone_plan *plan,
                   const struct profile_arguments *arguments, const hone_image_desc *in,
                   const struct preparation *preparation)
{
    if (!arguments->common.quiet) {
        print_subject(device, plan, arguments, in);
        print_preparation(preparation);
    }
    print_walls(profile);
    print_rows(profile);
    print_traffic(profile);
    print_energy(profile);
}
