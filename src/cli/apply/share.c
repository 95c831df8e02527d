/* SPDX-License-Identifier: BSD-2-Clause */
/* hone apply: what all images of a run share: the devices, the pool that hands images out to them, and the
 * bounds on how long they may take. */
#include "cli/apply/apply.h"

#include "base/error.h"
#include "base/mem.h"
#include "cl/device.h"
#include "cl/platforms.h"
#include "cl/selftest.h"
#include "cli/guard.h"
#include "cli/pick/blamed.h"
#include "cli/pick/opening.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Generous: a wrong alarm costs a result, a late one only patience. The slowest filters here take about a
 * minute for a megapixel on one core of a CPU. */
static double usual_bound(const struct shared_device *shared, double pixels)
{
    const double least = 60, per_megapixel = 60;
    const double work = pixels * 1e-6 * (double)hone_chain_length(shared->chain) * per_megapixel;
    return work > least ? work : least;
}

double share_bound(const struct shared_device *shared, double pixels)
{
    const double given = shared->options->timeout;
    return given >= 0 ? given : usual_bound(shared, pixels);
}

double share_write_bound(const struct shared_device *shared, double pixels)
{
    const double given = shared->options->timeout, usual = usual_bound(shared, pixels);
    return given == 0 || given > usual ? given : usual;
}

/* ---- What the pool says ---- */

/* From the guard's thread. Without another device the process ends. */
static bool give_up(void *user, uint64_t number)
{
    struct device_watch *watch = user;
    const char *doing = watch->what == POOL_RUNS ? "running" : "preparing";
    char why[256];
    snprintf(why, sizeof why, "%s took longer than %g s", doing, watch->guard.seconds);
    return pool_give_up(watch->shared->pool, watch->index, watch->what, number, why);
}

static void waits(void *user, unsigned index, enum pool_wait what, double pixels, uint64_t number)
{
    struct shared_device *shared = user;
    struct device_watch *watch = &shared->watches[index][what];
    guard_unwatch(&watch->guard);
    const struct guard_late late = {give_up, watch, number, shared->devices[index]};
    if (pixels > 0)
        guard_watch_or(&watch->guard, share_bound(shared, pixels), &late, "%s '%s' on %s",
                       what == POOL_RUNS ? "running" : "preparing", shared->chain_text,
                       cli_device_name(shared->devices[index]));
}

static void left(void *user, unsigned index, const char *why)
{
    struct shared_device *shared = user;
    const hone_device_info *info = hone_device_get_info(shared->devices[index]);
    cli_warn(&shared->options->common,
             "device %u (%s) is left out from here on, and its work is done by others: %s", info->index,
             cli_device_name(shared->devices[index]), why);
}

/* ---- Opening ---- */

/* "0,2": numbers alone. Other lists are alternatives. */
static bool is_list(const char *spec)
{
    return strchr(spec, ',') && strspn(spec, "0123456789,") == strlen(spec) && spec[0] != ',' &&
           !strstr(spec, ",,") && spec[strlen(spec) - 1] != ',';
}

static hone_status none_left(hone_error *error)
{
    return opening_hangs(NULL) ? error_set(error, HONE_ERROR_DEVICE, "no device is left that answers")
                               : error_set(error, HONE_ERROR_NO_DEVICE, "no device; `hone doctor` says why");
}

static bool is_open(const struct shared_device *shared, const char *spec)
{
    for (size_t i = 0; i < shared->count; i++)
        if ((unsigned long)hone_device_get_info(shared->devices[i])->index == strtoul(spec, NULL, 10))
            return true;
    return false;
}

/* One of several. Whatever hangs is left out, and with it what may do so. */
static hone_status add_device(struct shared_device *shared, const struct engine *engine,
                              struct opening_request *request, bool *passes, hone_error *error)
{
    if (shared->count == POOL_DEVICES)
        return error_usage(error, "--device takes at most %d devices", (int)POOL_DEVICES);
    request->common = &engine->options->common;
    request->clock = shared->options->trace;
    request->seconds = share_bound(shared, 0);
    request->is_only = request->is_only && shared->count == 0;
    TRY(opening_run(&shared->devices[shared->count], passes, request, error));
    shared->count++;
    return HONE_OK;
}

static void warn_left_out(const struct engine *engine, const char *spec, const hone_error *error)
{
    cli_warn(&engine->options->common, "device %s is left out: %s", spec, error->message);
}

/* `number` of a list; `rest` is what follows it. One that does not open is an error, but for one that
 * hangs. */
static hone_status add_named(struct shared_device *shared, const struct engine *engine, const char *number,
                             const char *rest, hone_error *error)
{
    struct opening_request request = {.spec = number, .is_only = !*rest};
    if (is_open(shared, number) || opening_hangs(number))
        return HONE_OK;
    const hone_status status = add_device(shared, engine, &request, NULL, error);
    if (!status || !opening_hangs(number))
        return status;
    warn_left_out(engine, number, error);
    return HONE_OK;
}

static hone_status open_list(struct shared_device *shared, const struct engine *engine, const char *spec,
                             hone_error *error)
{
    hone_status status = HONE_OK;
    for (const char *at = spec; *at && !status; at += *at == ',') {
        const size_t length = strcspn(at, ",");
        char *number = mem_copy_text_n(at, length);
        at += length;
        status =
            number ? add_named(shared, engine, number, at, error) : error_memory(error, "a list of devices");
        free(number);
    }
    return status || shared->count > 0 ? status : none_left(error);
}

/* Whose results cannot be trusted, while there is another. */
static void leave_out_failing(struct shared_device *shared, const struct engine *engine,
                              const bool passed[POOL_DEVICES])
{
    size_t fit = 0, kept = 0;
    for (size_t i = 0; i < shared->count; i++)
        fit += passed[i];
    for (size_t i = 0; i < shared->count && fit > 0; i++) {
        hone_device *device = shared->devices[i];
        shared->devices[i] = NULL;
        if (passed[i]) {
            shared->devices[kept++] = device;
            continue;
        }
        cli_warn(&engine->options->common,
                 "device %u (%s) is left out: it failed its self-test (`hone doctor`)",
                 hone_device_get_info(device)->index, cli_device_name(device));
        hone_device_close(&device);
    }
    shared->count = fit > 0 ? kept : shared->count;
}

/* One that cannot be opened is left out while there is another. */
static hone_status open_every(struct shared_device *shared, const struct engine *engine, hone_error *error)
{
    bool passed[POOL_DEVICES];
    size_t count = 0;
    hone_status status = platform_count_devices(&count, error), last = HONE_OK;
    for (size_t i = 0; i < count && !status; i++) {
        char number[24];
        snprintf(number, sizeof number, "%zu", i);
        struct opening_request request = {.spec = number, .tests = true, .is_only = i + 1 == count};
        if (opening_hangs(number))
            continue;
        const hone_status one = add_device(shared, engine, &request, &passed[shared->count], error);
        if (one && one != HONE_ERROR_MEMORY)
            warn_left_out(engine, number, error);
        last = one ? one : last;
    }
    leave_out_failing(shared, engine, passed);
    if (!status && shared->count == 0)
        status = last ? last : none_left(error);
    return status;
}

static hone_status open_one(struct shared_device *shared, const struct engine *engine, const char *spec,
                            const hone_image_desc *input, const hone_image_desc *second, hone_error *error)
{
    struct guard_watch watch;
    const double pixels = (double)input->width * input->height;
    guard_watch(&watch, share_bound(shared, pixels), "opening the device%s%s", spec ? " " : "",
                spec ? spec : "");
    hone_status status = apply_open_device(engine, input, second, &shared->devices[0], error);
    guard_unwatch(&watch);
    shared->count = status ? 0 : 1;
    return status;
}

/* Drivers may hang there, too. */
static void await_early(struct shared_device *shared)
{
    struct guard_watch watch;
    guard_watch(&watch, share_bound(shared, 0), "opening the device");
    apply_await_early(shared);
    guard_unwatch(&watch);
}

/* Finds out what hangs while devices are listed, with a bound of its own: what comes after it leaves that
 * out. Devices that are named by numbers are not asked about themselves: that is opening's. */
static hone_status list_first(const struct common_options *common, const char *spec, hone_error *error)
{
    hone_device_info *list = NULL;
    size_t count = 0;
    const bool by_number = spec && (strcmp(spec, "all") == 0 || strspn(spec, "0123456789,") == strlen(spec));
    if (!by_number) {
        TRY(cli_list_devices(&list, &count, common, error));
        hone_device_list_free(&list);
        return HONE_OK;
    }
    const hone_status status = platform_count_devices(&count, error);
    cli_warn_of_hanging(common);
    if (status)
        blame_driver(error);
    return status;
}

static hone_status open_devices(struct shared_device *shared, const struct engine *engine,
                                const hone_image_desc *input, const hone_image_desc *second,
                                hone_error *error)
{
    const struct common_options *common = &engine->options->common;
    const char *spec = apply_device_spec(common);
    TRY(list_first(common, spec, error));
    await_early(shared);
    if (spec && strcmp(spec, "all") == 0)
        return open_every(shared, engine, error);
    return spec && is_list(spec) ? open_list(shared, engine, spec, error)
                                 : open_one(shared, engine, common->device, input, second, error);
}

static bool tune_is(const struct apply_options *options, const char *how)
{
    return options->tune && strcmp(options->tune, how) == 0;
}

static hone_status make_pool(struct shared_device *shared, hone_error *error)
{
    const struct apply_options *o = shared->options;
    const bool often = shared->often || tune_is(o, "full");
    const hone_plan_options plan = {.variant = o->variant,
                                    .config = o->config,
                                    .tune = tune_is(o, "off") ? HONE_TUNE_OFF : HONE_TUNE_AUTO,
                                    .no_fuse = o->no_fuse,
                                    .runs = often ? 0 : (uint32_t)shared->course->tally.count};
    const struct pool_options options = {
        .plan = &plan, .commands = apply_tells_commands(o), .waits = waits, .left = left, .user = shared};
    for (unsigned i = 0; i < shared->count; i++)
        for (int what = 0; what < POOL_WAITS; what++)
            shared->watches[i][what] = (struct device_watch){shared, i, (enum pool_wait)what, {0}};
    return pool_create(&shared->pool, shared->devices, shared->count, &options, error);
}

/* Before anything else uses the devices. */
static void find_clocks(const struct shared_device *shared)
{
    for (size_t i = 0; i < shared->count; i++)
        if (!selftest_holds(shared->devices[i], SELFTEST_CLOCK)) {
            cli_warn(&shared->options->common,
                     "%s has no clock that works: times of the trace are the host's, and each command is "
                     "waited for",
                     cli_device_name(shared->devices[i]));
            device_use_host_clock(shared->devices[i]);
        }
}

hone_status share_open(struct shared_device *shared, const struct engine *engine,
                       const hone_image_desc *input, const hone_image_desc *second, hone_error *error)
{
    hone_status status = HONE_OK;
    if (!shared->pool) {
        status = open_devices(shared, engine, input, second, error);
        if (!status && shared->options->trace)
            find_clocks(shared);
        THEN(status, make_pool(shared, error));
        for (size_t i = 0; i < shared->count && status; i++)
            hone_device_close(&shared->devices[i]);
        shared->count = status ? 0 : shared->count;
    }
    return status;
}

void share_limit(const struct shared_device *shared, struct memory_limit *limit)
{
    *limit = (struct memory_limit){.bytes = shared->options->memory ? shared->options->memory : UINT64_MAX};
    for (size_t i = 0; i < shared->count; i++) {
        uint64_t held = 0, budget = 0;
        if (hone_device_get_info(shared->devices[i])->kind != HONE_DEVICE_CPU)
            continue;
        hone_device_memory(shared->devices[i], &held, &budget);
        const uint64_t left = budget > held ? budget - held : 0;
        if (left < limit->bytes)
            *limit = (struct memory_limit){.bytes = left, .held = held, .is_hard = true};
    }
}

static double closing_bound(const struct shared_device *shared)
{
    const double otherwise = 60, seconds = shared->options->timeout;
    return seconds >= 0 ? seconds : otherwise;
}

/* All that there was to do is done and said. From the guard's thread. */
static bool leave_open(void *user, uint64_t unused)
{
    const struct shared_device *shared = user;
    (void)unused;
    cli_warn(&shared->options->common,
             "closing the device took longer than %g s, and is left to the end of the process; no result is "
             "concerned",
             closing_bound(shared));
    fflush(stdout);
    guard_leave(shared->course->worst);
}

/* Drivers may hang in the end, too. */
bool share_close(struct shared_device *shared)
{
    struct guard_watch watch;
    const struct guard_late late = {.ask = leave_open, .user = shared};
    await_early(shared);
    guard_watch_or(&watch, closing_bound(shared), &late, "closing the device");
    const bool quiet = !shared->pool || pool_is_quiet(shared->pool);
    const bool in_vain = shared->early.begun && !shared->pool,
               answers = pool_destroy(&shared->pool) && !in_vain && !opening_hangs(NULL);
    device_leave_contexts();
    for (size_t i = 0; i < shared->count && answers; i++)
        hone_device_close(&shared->devices[i]);
    guard_unwatch(&watch);
    memory_finish(&shared->memory);
    for (size_t i = 0; i < shared->second_count && answers; i++) {
        free(shared->seconds[i].first);
        free(shared->seconds[i].all);
    }
    free(shared->seconds);
    return answers && quiet;
}
