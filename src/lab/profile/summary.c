/* SPDX-License-Identifier: BSD-2-Clause */
/* What the runs have in common. */
#include "base/error.h"
#include "base/mem.h"
#include "lab/profile/internal.h"

#include <stdlib.h>
#include <string.h>

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Sorts. */
static double median_of(double *values, size_t count)
{
    qsort(values, count, sizeof *values, compare);
    return count % 2 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
}

static const struct profile_run *steady(const struct profile *profile, size_t index)
{
    return &profile->runs[profile->warmup + index];
}

static double wall(const struct profile_run *run)
{
    return (double)(run->ended - run->begun[PROFILE_UPLOAD]) * 1e-9;
}

static double call_seconds(const struct profile_run *run, int call)
{
    const uint64_t end = call + 1 < PROFILE_CALLS ? run->begun[call + 1] : run->ended;
    return (double)(end - run->begun[call]) * 1e-9;
}

/* The run that is nearest to the median from below. */
static size_t find_typical(const struct profile *profile)
{
    size_t best = profile->warmup;
    for (size_t i = 0; i < profile->repeat; i++) {
        const double its = wall(steady(profile, i)), before = wall(&profile->runs[best]);
        if (its <= profile->median && (before > profile->median || its > before))
            best = profile->warmup + i;
    }
    return best;
}

static void sum_up_walls(struct profile *profile, double *values)
{
    const size_t count = profile->repeat;
    for (int call = 0; call < PROFILE_CALLS; call++) {
        for (size_t i = 0; i < count; i++)
            values[i] = call_seconds(steady(profile, i), call);
        profile->call_medians[call] = median_of(values, count);
    }
    for (size_t i = 0; i < count; i++)
        values[i] = (double)steady(profile, i)->thread_ns * 1e-9;
    profile->thread_median = median_of(values, count);
    for (size_t i = 0; i < count; i++)
        values[i] = (double)steady(profile, i)->process_ns * 1e-9;
    profile->process_median = median_of(values, count);
    for (size_t i = 0; i < count; i++)
        values[i] = wall(steady(profile, i));
    profile->median = median_of(values, count);
    profile->least = values[0];
    profile->most = values[count - 1];
    profile->first = wall(&profile->runs[0]);
    profile->typical = find_typical(profile);
}

static bool same_commands(const struct profile_run *a, const struct profile_run *b)
{
    bool same = a->count == b->count;
    for (size_t i = 0; i < a->count && same; i++)
        same = a->commands[i].c.kind == b->commands[i].c.kind &&
               strcmp(a->commands[i].c.name, b->commands[i].c.name) == 0;
    return same;
}

static double spent(const struct profile_run *run, size_t index)
{
    const hone_times *t = &run->commands[index].c.times;
    return t->ended > t->started ? (double)(t->ended - t->started) : 0;
}

static double gap_before(const struct profile_run *run, size_t index)
{
    if (index == 0)
        return 0;
    const uint64_t before = run->commands[index - 1].c.times.ended,
                   start = run->commands[index].c.times.started;
    return start > before ? (double)(start - before) : 0;
}

/* Copies inside the device read and write; what crosses the bus is counted on it. */
static double moved(const hone_command *command)
{
    const bool inside = command->kind == HONE_COMMAND_MOVE || command->kind == HONE_COMMAND_CONVERSION;
    return (double)command->bytes * (inside ? 2 : 1);
}

static double roof_of(const struct profile *profile, hone_command_kind kind)
{
    if (!profile->has_roofs)
        return 0;
    return kind == HONE_COMMAND_UPLOAD                              ? profile->roofs.upload
           : kind == HONE_COMMAND_DOWNLOAD                          ? profile->roofs.download
           : kind == HONE_COMMAND_MAP || kind == HONE_COMMAND_OTHER ? 0
                                                                    : profile->roofs.copy;
}

/* `runs`: how many of the steady ones have the same commands as the typical one and count. */
static void fill_row(const struct profile *profile, size_t index, struct profile_row *row, double *values)
{
    const struct profile_run *typical = &profile->runs[profile->typical], *first = &profile->runs[0];
    size_t count = 0;
    row->typical = typical->commands[index];
    for (size_t i = 0; i < profile->repeat; i++)
        if (same_commands(typical, steady(profile, i)))
            values[count++] = gap_before(steady(profile, i), index);
    row->gap = median_of(values, count);
    count = 0;
    for (size_t i = 0; i < profile->repeat; i++)
        if (same_commands(typical, steady(profile, i)))
            values[count++] = spent(steady(profile, i), index);
    row->run = median_of(values, count);
    row->least = values[0];
    row->most = values[count - 1];
    row->first = same_commands(typical, first) ? spent(first, index) : 0;
    row->rate = row->run > 0 ? moved(&row->typical.c) / (row->run * 1e-9) : 0;
    row->roof = roof_of(profile, row->typical.c.kind);
}

void profile_add_traffic(struct profile_traffic *traffic, const hone_command *command)
{
    const hone_command_kind kind = command->kind;
    const bool crosses =
        kind == HONE_COMMAND_UPLOAD || kind == HONE_COMMAND_DOWNLOAD || kind == HONE_COMMAND_MAP;
    traffic->bus += crosses ? command->bytes : 0;
    traffic->memory += (uint64_t)moved(command);
    traffic->launches += kind == HONE_COMMAND_KERNEL;
    traffic->copies += kind != HONE_COMMAND_KERNEL && command->bytes > 0;
}

static void sum_up_commands(struct profile *profile, double *values)
{
    const struct profile_run *typical = &profile->runs[profile->typical];
    for (size_t i = 0; i < profile->repeat; i++)
        profile->changed = profile->changed || !same_commands(typical, steady(profile, i));
    profile->row_count = typical->count;
    for (size_t i = 0; i < typical->count; i++) {
        fill_row(profile, i, &profile->rows[i], values);
        profile_add_traffic(&profile->traffic, &typical->commands[i].c);
        profile->busy += spent(typical, i) * 1e-9;
        profile->idle += gap_before(typical, i) * 1e-9;
    }
}

hone_status summary_make(struct profile *profile, hone_error *error)
{
    double *values = mem_new(profile->repeat, sizeof *values);
    if (values)
        sum_up_walls(profile, values);
    profile->rows = values ? mem_new(profile->runs[profile->typical].count, sizeof *profile->rows) : NULL;
    if (profile->rows)
        sum_up_commands(profile, values);
    free(values);
    return profile->rows ? HONE_OK : error_memory(error, "a profile");
}
