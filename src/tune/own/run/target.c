/* SPDX-License-Identifier: BSD-2-Clause */
/* A kernel of the user's own, in the worker process: opened, described and closed. */
#include "tune/own/run/target_internal.h"

#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"
#include "cl/device.h"
#include "cl/selftest.h"
#include "tune/own/spec/inspect.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void close_target(struct target *target)
{
    struct own_target *t = own_target_of(target);
    builders_finish(&t->builders);
    if (t->incumbent)
        attempt_finish(t->incumbent);
    free(t->incumbent);
    cold_close(&t->cold);
    own_memory_close(&t->memory);
    own_spec_free(t->spec);
    text_finish(&t->source);
    free(t->expected);
    free(t->got);
    free(t);
}

static const char *clock_of(const struct target *target, const char **reason)
{
    const struct own_target *t = (const struct own_target *)target;
    *reason = t->clock.reason;
    return t->clock.believed ? "device" : "host";
}

static const struct target_ops ops = {.measure = own_target_measure,
                                      .race = own_target_race,
                                      .prepare = own_target_prepare,
                                      .clock = clock_of,
                                      .close = close_target};

static void add_name(struct own_target *t, const char *name, int64_t value)
{
    t->names[t->scope.count] = name;
    t->values[t->scope.count++] = value;
}

/* What expressions may ask of a device, as in descriptions of filters. */
static hone_status add_names(struct own_target *t, hone_error *error)
{
    const hone_device_info *info = hone_device_get_info(t->device);
    t->scope = (struct expr_scope){.names = t->names, .values = t->values};
    add_name(t, "CPU", info->kind == HONE_DEVICE_CPU);
    add_name(t, "GPU", info->kind == HONE_DEVICE_GPU);
    add_name(t, "CU", info->compute_units);
    add_name(t, "MAXWG", (int64_t)info->max_work_group);
    add_name(t, "LMEM", (int64_t)info->local_memory);
    add_name(t, "WARP", info->simd_width);
    add_name(t, "UNIFIED", info->unified_memory);
    add_name(t, "IMAGES", selftest_holds(t->device, SELFTEST_IMAGES));
    add_name(t, "HALF", selftest_holds(t->device, SELFTEST_HALF));
    add_name(t, "SUBGROUPS", selftest_holds(t->device, SELFTEST_SUBGROUPS));
    const struct expr_scope device = t->scope;
    hone_status status =
        own_spec_define(t->spec, &device, t->names + device.count, t->values + device.count, error);
    if (status)
        return status;
    /* Definitions come first in a look-up: they may hide a name of the device. */
    t->scope.count += t->spec->define_count;
    for (int i = 0; i < t->spec->define_count; i++)
        for (int k = 0; k < device.count; k++)
            if (strcmp(t->names[k], t->names[device.count + i]) == 0)
                t->values[k] = t->values[device.count + i];
    t->limits.max_work_group = info->max_work_group;
    memcpy(t->limits.max_work_items, info->max_work_items, sizeof t->limits.max_work_items);
    t->limits.local_memory = info->local_memory;
    return HONE_OK;
}

static hone_status read_source(struct own_target *t, const json_t *request, hone_error *error)
{
    const char *path = json_string_value(json_object_get(request, "source"));
    const char *folder = json_string_value(json_object_get(request, "folder"));
    const char *expected = json_string_value(json_object_get(request, "expected"));
    snprintf(t->folder, sizeof t->folder, "%s", folder ? folder : "");
    snprintf(t->expected_path, sizeof t->expected_path, "%s", expected ? expected : "");
    hone_status status = file_read(path ? path : "", OWN_MAX_SOURCE, &t->source, error);
    t->includes = own_source_includes(text_view(&t->source));
    for (int i = 0; i < t->spec->parameter_count; i++)
        t->used[i] = t->includes || own_source_mentions(text_view(&t->source), t->spec->parameters[i].name);
    return status;
}

static void read_data(struct own_target *t, const json_t *data)
{
    for (int i = 0; i < t->spec->argument_count; i++) {
        struct own_argument *a = &t->spec->arguments[i];
        const json_t *one = json_array_get(data, (size_t)i);
        const char *path = json_string_value(json_object_get(one, "path"));
        int lanes;
        if (a->fill != FILL_FILE || !path)
            continue;
        const char *type = json_string_value(json_object_get(one, "type"));
        element_parse(type, strlen(type), &a->data.element, &lanes);
        a->element = a->data.element;
        snprintf(a->data.path, sizeof a->data.path, "%s", path);
        a->data.bytes = (uint64_t)json_integer_value(json_object_get(one, "bytes"));
        a->data.channels = (uint32_t)json_integer_value(json_object_get(one, "channels"));
        a->data.width = (uint32_t)json_integer_value(json_object_get(one, "width"));
        a->data.height = (uint32_t)json_integer_value(json_object_get(one, "height"));
    }
}

static hone_status say_not_built(const struct own_target *t, hone_error *error)
{
    struct text config = {0};
    char log[600] = "";
    own_spec_print(t->spec, t->first, &config);
    if (error)
        snprintf(log, sizeof log, "%.599s", error->log[0] ? error->log : error->message);
    for (char *at = log; (at = strchr(at, '\n'));)
        *at = ' ';
    hone_status status = error_usage(error, "kernel '%s' of '%s' cannot be built with %s: %s",
                                     t->spec->kernel, t->spec->file, text_view(&config), log);
    text_finish(&config);
    return status;
}

/* A compiler that hangs or crashes now is no fault of the device: whoever waits is told. */
static hone_status build_first(struct own_target *t, const struct target_opening *opening, bool from_source,
                               struct kernel **kernel, hone_error *error)
{
    struct text config = {0};
    own_spec_print(t->spec, t->first, &config);
    opening->compiling(opening->context, text_view(&config));
    text_finish(&config);
    hone_status status = own_target_build(t, t->first, from_source, kernel, error);
    opening->compiling(opening->context, NULL);
    return status;
}

/* Compiles one configuration to see what arguments the kernel takes. Loaded programs may not tell. */
static hone_status inspect(struct own_target *t, const struct target_opening *opening, hone_error *error)
{
    struct kernel *kernel = NULL;
    struct kernel_facts facts = {0};
    TRY(own_spec_first(t->spec, &t->scope, &t->limits, t->first, error));
    hone_status status = build_first(t, opening, false, &kernel, error);
    THEN(status, kernel_get_facts(kernel, &facts, error));
    if (!status && facts.arguments > 0 && !facts.has_argument_info) {
        kernel_destroy(&kernel);
        status = build_first(t, opening, true, &kernel, error);
    }
    if (status)
        say_not_built(t, error);
    else
        status = own_inspect(kernel, t->spec, error);
    kernel_destroy(&kernel);
    return status;
}

static hone_status open_all(struct own_target *t, const json_t *request, const struct target_opening *opening,
                            hone_error *error)
{
    hone_status status = own_spec_from(t->spec, json_object_get(request, "settings"), error);
    THEN(status, read_source(t, request, error));
    if (status)
        return status;
    read_data(t, json_object_get(request, "data"));
    status = add_names(t, error);
    THEN(status, inspect(t, opening, error));
    THEN(status, own_memory_open(&t->memory, t->device, t->spec, &t->scope, error));
    if (!status)
        t->got = mem_new(own_memory_output_bytes(t->memory), 1);
    if (!status && !t->got)
        status = error_memory(error, "outputs");
    if (!status && t->spec->cold)
        status = cold_open(&t->cold, t->device, error);
    if (!status && json_is_true(json_object_get(request, "ready")))
        status = own_target_load_expected(t, error);
    return status;
}

hone_status own_target_open(struct target **out, hone_device *device, const json_t *request,
                            const struct target_opening *opening, hone_error *error)
{
    struct own_target *t = mem_new(1, sizeof *t);
    *out = NULL;
    if (t)
        t->spec = own_spec_new();
    if (!t || !t->spec) {
        free(t);
        return error_memory(error, "a kernel to tune");
    }
    t->base.ops = &ops;
    t->device = device;
    t->clock = timing_clock_of(device);
    builders_init(&t->builders);
    hone_status status = open_all(t, request, opening, error);
    if (status)
        close_target(&t->base);
    else
        *out = &t->base;
    return status;
}

json_t *own_target_describe(const struct target *target)
{
    const struct own_target *t = (const struct own_target *)target;
    json_t *names = json_object();
    for (int i = 0; i < t->scope.count; i++)
        json_object_set_new(names, t->names[i], json_integer(t->values[i]));
    struct text first = {0};
    own_spec_print(t->spec, t->first, &first);
    json_t *description = json_pack(
        "{s:o, s:[I, I, I, I, I], s:o, s:s}", "names", names, "limits", (json_int_t)t->limits.max_work_group,
        (json_int_t)t->limits.max_work_items[0], (json_int_t)t->limits.max_work_items[1],
        (json_int_t)t->limits.max_work_items[2], (json_int_t)t->limits.local_memory, "outputs",
        own_memory_describe(t->memory), "first", text_view(&first));
    text_finish(&first);
    return description;
}
