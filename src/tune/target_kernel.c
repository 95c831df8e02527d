/* SPDX-License-Identifier: BSD-2-Clause */
/* A kernel of the user's own, in the worker process. */
#include "tune/target_kernel.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"
#include "cache/programs.h"
#include "cl/device.h"
#include "cl/selftest.h"
#include "tune/kernel_inspect.h"
#include "tune/kernel_memory.h"
#include "tune/timing.h"

#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_NAMES = 48, MAX_ENTRIES = 16 };

struct kernel_target {
    struct target base;
    hone_device *device;
    struct kernel_spec *spec;
    struct text source;
    char folder[PATH_MAX];
    bool includes;                   /* the source includes files, which no key of a cache would cover */
    bool used[SPACE_MAX_PARAMETERS]; /* parameters that the source mentions: the others compile nothing */
    const char *names[MAX_NAMES];
    int64_t values[MAX_NAMES];
    struct expr_scope scope;
    struct variant_limits limits;
    int64_t first[SPACE_MAX_PARAMETERS]; /* the first legal configuration */
    struct kernel_memory *memory;
    char expected_path[PATH_MAX];
    unsigned char *expected,
        *got;        /* outputs: right ones (NULL: not known yet), and room for those of a run */
    bool repeatable; /* running twice without a reset gives the same outputs */
    struct timing_clock clock;
    struct attempt *incumbent; /* the fastest so far, to keep the device awake with; NULL: none */
    double incumbent_ms;
    pthread_t builder;
    bool building, builder_done;
    pthread_mutex_t lock;
    int64_t builder_values[SPACE_MAX_PARAMETERS];
};

/* A configuration made ready to run. */
struct attempt {
    struct kernel_target *target;
    struct kernel *kernel;
    struct launch launch;
    struct kernel_scope scope;
    int64_t values[SPACE_MAX_PARAMETERS];
};

static struct kernel_target *kernel_target_of(struct target *target)
{
    return (struct kernel_target *)target;
}

/* ---- Building ---- */

static void print_options(const struct kernel_target *t, const int64_t *values, struct text *options)
{
    text_add(options, "-cl-kernel-arg-info");
    for (int i = 0; i < t->spec->parameter_count; i++)
        if (t->used[i])
            text_add(options, " -D%s=%lld", t->spec->parameters[i].name, (long long)values[i]);
    for (int i = 0; i < t->spec->option_count; i++)
        text_add(options, " %s", t->spec->options[i]);
    if (t->includes && t->folder[0])
        text_add(options, " -I%s", t->folder);
}

static hone_status build_from_source(const struct kernel_target *t, const char *options,
                                     struct kernel **kernel, hone_error *error)
{
    struct program *program = NULL;
    hone_status status = program_from_source(&program, t->device, text_view(&t->source), options, error);
    if (!status)
        status = kernel_create(kernel, program, t->spec->kernel, error);
    program_destroy(&program);
    return status;
}

/* The kernel keeps its program alive. */
static hone_status build(const struct kernel_target *t, const int64_t *values, bool from_source,
                         struct kernel **kernel, hone_error *error)
{
    struct text options = {0}, label = {0};
    print_options(t, values, &options);
    text_add(&label, "kernel %s", t->spec->kernel);
    hone_status status;
    *kernel = NULL;
    if (options.failed || label.failed) {
        status = error_memory(error, "compiler options");
    } else if (t->includes || from_source) {
        status = build_from_source(t, text_view(&options), kernel, error);
    } else {
        const struct program_unit unit = {text_view(&label), text_view(&t->source), text_view(&options)};
        status = programs_kernel(kernel, t->device, &unit, t->spec->kernel, error);
    }
    text_finish(&options);
    text_finish(&label);
    return status;
}

static hone_status check_work_group(const struct attempt *a, hone_error *error)
{
    struct kernel_facts facts;
    hone_status status = kernel_get_facts(a->kernel, &facts, error);
    size_t group = a->launch.local[0];
    for (unsigned i = 1; i < a->launch.dimensions; i++)
        group *= a->launch.local[i];
    if (!status && a->launch.local[0] && facts.max_work_group && group > facts.max_work_group)
        status =
            error_set(error, HONE_ERROR_UNSUPPORTED,
                      "a work-group of %zu work-items is more than this kernel can have once compiled: %zu",
                      group, facts.max_work_group);
    if (!status && facts.local_memory > a->target->limits.local_memory)
        status = error_set(
            error, HONE_ERROR_UNSUPPORTED, "needs %llu bytes of local memory, the device has %llu",
            (unsigned long long)facts.local_memory, (unsigned long long)a->target->limits.local_memory);
    return status;
}

static void attempt_finish(struct attempt *a)
{
    kernel_destroy(&a->kernel);
}

/* HONE_ERROR_USAGE and others: the text, rules or limits are broken; nothing was built. */
static hone_status attempt_read(struct attempt *a, struct kernel_target *t, const char *config,
                                hone_error *error)
{
    *a = (struct attempt){.target = t};
    for (int i = 0; i < t->spec->parameter_count; i++)
        a->values[i] = t->spec->parameters[i].values[0];
    hone_status status = kernel_spec_parse(t->spec, config, a->values, error);
    if (!status)
        status = kernel_spec_launch(t->spec, &t->scope, &t->limits, a->values, &a->launch, error);
    kernel_scope_init(&a->scope, t->spec, a->values, &t->scope);
    return status;
}

static hone_status attempt_build(struct attempt *a, hone_error *error)
{
    hone_status status = build(a->target, a->values, false, &a->kernel, error);
    if (status && error && error->log[0]) {
        const char *at = strstr(error->log, "error:"); /* behind the name of a file that the driver made up */
        char first[300];
        at = at ? at : error->log;
        snprintf(first, sizeof first, "%.*s", (int)strcspn(at, "\n"), at);
        error_set(error, status, "does not compile: %s", first);
    }
    return status;
}

static hone_status attempt_bind(struct attempt *a, hone_error *error)
{
    hone_status status = check_work_group(a, error);
    return status ? status : kernel_memory_bind(a->target->memory, a->kernel, &a->scope.scope, error);
}

/* ---- Running ---- */

static double batch(void *context, int count, hone_error *error)
{
    struct attempt *a = context;
    hone_event *first = NULL, *last = NULL;
    hone_status status = HONE_OK;
    uint64_t start = clock_ns();
    for (int i = 0; i < count && !status; i++)
        status = kernel_enqueue(a->kernel, &a->launch, (struct wait_list){0},
                                i == 0           ? &first
                                : i == count - 1 ? &last
                                                 : NULL,
                                error);
    hone_status finished = hone_device_finish(a->target->device, status ? NULL : error);
    double wall = (double)(clock_ns() - start) * 1e-6, ms = -1;
    if (!status && !finished)
        ms = timing_between(&a->target->clock, first, last ? last : first, wall) / count;
    hone_event_destroy(&first);
    hone_event_destroy(&last);
    return ms;
}

static hone_status run_once(struct attempt *a, bool reset, hone_error *error)
{
    struct kernel_target *t = a->target;
    hone_status status = reset ? kernel_memory_reset(t->memory, error) : HONE_OK;
    if (!status && batch(a, 1, error) < 0)
        status = error && error->status ? error->status : HONE_ERROR_DEVICE;
    if (!status)
        status = kernel_memory_check_ends(t->memory, error);
    return status ? status : kernel_memory_read(t->memory, t->got, error);
}

static hone_status compare(struct kernel_target *t, hone_error *error)
{
    return t->expected ? kernel_memory_compare(t->memory, t->got, t->expected, error) : HONE_OK;
}

/* Before timing: from a clean start; and once more on top of that, which tells what timed runs will leave. */
static hone_status check_before(struct attempt *a, hone_error *error)
{
    struct kernel_target *t = a->target;
    hone_status status = run_once(a, true, error);
    if (!status)
        status = compare(t, error);
    if (!status && t->expected) {
        t->repeatable = run_once(a, false, NULL) == HONE_OK && compare(t, NULL) == HONE_OK;
    }
    return status;
}

/* After timing: what the last timed run wrote, where runs leave the right outputs; else one more clean run.
 */
static hone_status check_after(struct attempt *a, hone_error *error)
{
    struct kernel_target *t = a->target;
    hone_status status;
    if (!t->repeatable) {
        status = run_once(a, true, error);
    } else {
        status = kernel_memory_check_ends(t->memory, error);
        if (!status)
            status = kernel_memory_read(t->memory, t->got, error);
    }
    return status ? status : compare(t, error);
}

/* ---- The right outputs ---- */

static hone_status store_expected(struct kernel_target *t, hone_error *error)
{
    size_t bytes = kernel_memory_output_bytes(t->memory);
    int fd = open(t->expected_path, O_WRONLY | O_CLOEXEC);
    bool ok = fd >= 0 && file_write_all(fd, t->got, bytes);
    if (fd >= 0)
        close(fd);
    return ok ? HONE_OK : error_set(error, HONE_ERROR_IO, "the right outputs cannot be kept");
}

static hone_status load_expected(struct kernel_target *t, hone_error *error)
{
    struct text content = {0};
    size_t bytes = kernel_memory_output_bytes(t->memory);
    hone_status status = file_read(t->expected_path, bytes, &content, error);
    if (!status && content.length != bytes)
        status = error_set(error, HONE_ERROR_IO, "the right outputs are not whole");
    if (!status && !t->expected)
        t->expected = mem_new(bytes, 1);
    if (!status && !t->expected)
        status = error_memory(error, "the right outputs");
    if (!status)
        memcpy(t->expected, content.data, bytes);
    text_finish(&content);
    return status;
}

/* Makes the right outputs: by one configuration, by the user's function, or from what the parent has read. */
static hone_status refer(struct attempt *a, hone_error *error)
{
    struct kernel_target *t = a->target;
    hone_status status = HONE_OK;
    if (t->spec->check == CHECK_NONE)
        return HONE_OK;
    if (t->spec->check == CHECK_LIBRARY)
        status = kernel_memory_refer(t->memory, &a->scope.scope, t->got, error);
    else if (t->spec->check == CHECK_BASELINE)
        status = run_once(a, true, error);
    if (!status && t->spec->check != CHECK_FILES)
        status = store_expected(t, error);
    return status ? status : load_expected(t, error);
}

/* ---- What the worker asks ---- */

static void say_built(struct target *target)
{
    if (target->built)
        target->built(target->context);
}

/* Clocks drop while a program is compiled; work brings them back before anything is timed. */
static void wake(struct kernel_target *t, double pause_ms)
{
    uint64_t start = clock_ns();
    while (t->incumbent && pause_ms > timing_awake_ms &&
           (double)(clock_ns() - start) * 1e-6 < timing_awake_ms)
        if (batch(t->incumbent, 1, NULL) < 0)
            return;
}

/* Keeps the attempt if it is the fastest so far, else ends it. */
static void keep_or_finish(struct attempt *a, const struct measured *r)
{
    struct kernel_target *t = a->target;
    if (r->state == STATE_OK && r->ms >= 0 && (!t->incumbent || r->ms < t->incumbent_ms)) {
        if (!t->incumbent)
            t->incumbent = mem_new(1, sizeof *t->incumbent);
        else
            attempt_finish(t->incumbent);
        if (t->incumbent) {
            *t->incumbent = (struct attempt){.target = t, .kernel = a->kernel, .launch = a->launch};
            t->incumbent_ms = r->ms;
            return;
        }
    }
    attempt_finish(a);
}

static void measure_attempt(struct attempt *a, bool reference, double best, struct measured *r,
                            hone_error *error)
{
    const struct timing timing = {batch, a,
                                  (double)hone_device_get_info(a->target->device)->timer_resolution * 1e-6};
    /* What a file or a function says needs no kernel that can run. */
    bool runs = !reference || a->target->spec->check == CHECK_BASELINE;
    hone_status status = runs ? attempt_bind(a, error) : HONE_OK;
    if (!status)
        status = reference ? refer(a, error) : check_before(a, error);
    if (!status && !reference) {
        wake(a->target, r->build_ms);
        timing_score(&timing, best, r);
        if (r->state == STATE_OK)
            status = check_after(a, error);
    }
    if (status) {
        r->state = status == HONE_ERROR_CHECK ? STATE_WRONG : STATE_RUN;
        r->ms = -1;
    }
}

/* The variant "reference" makes the right outputs instead of measuring. */
static void measure_one(struct target *target, const char *variant, const char *config, double best,
                        struct measured *r)
{
    struct attempt a;
    hone_error error = {0};
    uint64_t start = clock_ns();
    *r = (struct measured){.state = STATE_OK, .ms = -1};
    hone_status status = attempt_read(&a, kernel_target_of(target), config, &error);
    if (!status)
        status = attempt_build(&a, &error);
    r->build_ms = (double)(clock_ns() - start) * 1e-6;
    say_built(target);
    if (status)
        r->state = STATE_COMPILE;
    else
        measure_attempt(&a, strcmp(variant, "reference") == 0, best, r, &error);
    if (r->state != STATE_OK && r->state != STATE_SLOW && !r->note[0])
        snprintf(r->note, sizeof r->note, "%.500s", error.message);
    keep_or_finish(&a, r);
}

static void race_round(struct attempt *attempts, const int *batches, int count, double (*runs)[MEASURE_RUNS],
                       int *counts, bool warm_up)
{
    for (int i = 0; i < count; i++) {
        if (!attempts[i].kernel)
            continue;
        double ms = batch(&attempts[i], batches[i], NULL);
        if (ms < 0)
            attempt_finish(&attempts[i]);
        else if (!warm_up && counts[i] < MEASURE_RUNS)
            runs[i][counts[i]++] = ms;
    }
}

static void race(struct target *target, const char *const *variants, const char *const *configs, int count,
                 int rounds, double (*runs)[MEASURE_RUNS], int *counts)
{
    struct kernel_target *t = kernel_target_of(target);
    struct attempt attempts[MAX_ENTRIES];
    int batches[MAX_ENTRIES];
    (void)variants;
    count = count < MAX_ENTRIES ? count : MAX_ENTRIES;
    for (int i = 0; i < count; i++) {
        const struct timing timing = {batch, &attempts[i],
                                      (double)hone_device_get_info(t->device)->timer_resolution * 1e-6};
        counts[i] = 0;
        bool ready = attempt_read(&attempts[i], t, configs[i], NULL) == HONE_OK &&
                     attempt_build(&attempts[i], NULL) == HONE_OK &&
                     attempt_bind(&attempts[i], NULL) == HONE_OK;
        double ms = ready ? batch(&attempts[i], 1, NULL) : -1;
        batches[i] = ms >= 0 ? timing_batch(&timing, ms) : 1;
        if (ms < 0)
            attempt_finish(&attempts[i]);
    }
    for (int round = 0; round < rounds + 1; round++)
        race_round(attempts, batches, count, runs, counts, round == 0);
    for (int i = 0; i < count; i++)
        attempt_finish(&attempts[i]);
}

/* ---- Compiling ahead ---- */

static void *build_ahead(void *argument)
{
    struct kernel_target *t = argument;
    struct kernel *kernel = NULL;
    if (build(t, t->builder_values, false, &kernel, NULL) == HONE_OK)
        kernel_destroy(&kernel);
    pthread_mutex_lock(&t->lock);
    t->builder_done = true;
    pthread_mutex_unlock(&t->lock);
    return NULL;
}

static void prepare(struct target *target, const char *variant, const char *config)
{
    struct kernel_target *t = kernel_target_of(target);
    struct attempt a;
    (void)variant;
    pthread_mutex_lock(&t->lock);
    bool busy = t->building && !t->builder_done;
    pthread_mutex_unlock(&t->lock);
    if (busy || t->includes || attempt_read(&a, t, config, NULL) != HONE_OK)
        return; /* what is not cached would be built twice */
    if (t->building)
        pthread_join(t->builder, NULL);
    memcpy(t->builder_values, a.values, sizeof a.values);
    t->builder_done = false;
    t->building = pthread_create(&t->builder, NULL, build_ahead, t) == 0;
}

/* ---- Opening ---- */

static void close_target(struct target *target)
{
    struct kernel_target *t = kernel_target_of(target);
    if (t->building)
        pthread_join(t->builder, NULL);
    if (t->incumbent)
        attempt_finish(t->incumbent);
    free(t->incumbent);
    kernel_memory_close(&t->memory);
    kernel_spec_free(t->spec);
    text_finish(&t->source);
    free(t->expected);
    free(t->got);
    pthread_mutex_destroy(&t->lock);
    free(t);
}

static const struct target_ops ops = {measure_one, race, prepare, NULL, NULL, close_target};

static void add_name(struct kernel_target *t, const char *name, int64_t value)
{
    t->names[t->scope.count] = name;
    t->values[t->scope.count++] = value;
}

/* What expressions may ask of a device, as in descriptions of filters. */
static hone_status add_names(struct kernel_target *t, hone_error *error)
{
    const hone_device_info *info = hone_device_get_info(t->device);
    t->scope = (struct expr_scope){NULL, t->names, t->values, 0};
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
        kernel_spec_define(t->spec, &device, t->names + device.count, t->values + device.count, error);
    /* Definitions come first in a look-up: they may hide a name of the device. */
    t->scope.count += t->spec->define_count;
    for (int i = 0; i < t->spec->define_count; i++)
        for (int k = 0; k < device.count; k++)
            if (strcmp(t->names[k], t->names[device.count + i]) == 0)
                t->values[k] = t->values[device.count + i];
    t->limits.max_work_group = info->max_work_group;
    memcpy(t->limits.max_work_items, info->max_work_items, sizeof t->limits.max_work_items);
    t->limits.local_memory = info->local_memory;
    return status;
}

static hone_status read_source(struct kernel_target *t, const json_t *request, hone_error *error)
{
    const char *path = json_string_value(json_object_get(request, "source"));
    const char *folder = json_string_value(json_object_get(request, "folder"));
    const char *expected = json_string_value(json_object_get(request, "expected"));
    snprintf(t->folder, sizeof t->folder, "%s", folder ? folder : "");
    snprintf(t->expected_path, sizeof t->expected_path, "%s", expected ? expected : "");
    hone_status status = file_read(path ? path : "", KERNEL_MAX_SOURCE, &t->source, error);
    t->includes = kernel_source_includes(text_view(&t->source));
    for (int i = 0; i < t->spec->parameter_count; i++)
        t->used[i] =
            t->includes || kernel_source_mentions(text_view(&t->source), t->spec->parameters[i].name);
    return status;
}

static void read_data(struct kernel_target *t, const json_t *data)
{
    for (int i = 0; i < t->spec->argument_count; i++) {
        struct kernel_argument_spec *a = &t->spec->arguments[i];
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

static hone_status say_not_built(const struct kernel_target *t, hone_error *error)
{
    struct text config = {0};
    char log[600] = "";
    kernel_spec_print(t->spec, t->first, &config);
    if (error)
        snprintf(log, sizeof log, "%.599s", error->log[0] ? error->log : error->message);
    for (char *at = log; (at = strchr(at, '\n'));)
        *at = ' ';
    hone_status status = error_set(error, HONE_ERROR_USAGE, "kernel '%s' of '%s' cannot be built with %s: %s",
                                   t->spec->kernel, t->spec->file, text_view(&config), log);
    text_finish(&config);
    return status;
}

/* Compiles one configuration to see what arguments the kernel takes. Loaded programs may not tell. */
static hone_status inspect(struct kernel_target *t, hone_error *error)
{
    struct kernel *kernel = NULL;
    struct kernel_facts facts = {0};
    hone_status status = kernel_spec_first(t->spec, &t->scope, &t->limits, t->first, error);
    if (status)
        return status;
    status = build(t, t->first, false, &kernel, error);
    if (!status)
        status = kernel_get_facts(kernel, &facts, error);
    if (!status && facts.arguments > 0 && !facts.has_argument_info) {
        kernel_destroy(&kernel);
        status = build(t, t->first, true, &kernel, error);
    }
    if (status)
        say_not_built(t, error);
    else
        status = kernel_inspect(kernel, t->spec, error);
    kernel_destroy(&kernel);
    return status;
}

static hone_status open_all(struct kernel_target *t, const json_t *request, hone_error *error)
{
    hone_status status = kernel_spec_from(t->spec, json_object_get(request, "settings"), error);
    if (!status)
        status = read_source(t, request, error);
    if (status)
        return status;
    read_data(t, json_object_get(request, "data"));
    status = add_names(t, error);
    if (!status)
        status = inspect(t, error);
    if (!status)
        status = kernel_memory_open(&t->memory, t->device, t->spec, &t->scope, error);
    if (!status)
        t->got = mem_new(kernel_memory_output_bytes(t->memory), 1);
    if (!status && !t->got)
        status = error_memory(error, "outputs");
    if (!status && json_is_true(json_object_get(request, "ready")))
        status = load_expected(t, error);
    return status;
}

hone_status target_kernel_open(struct target **out, hone_device *device, const json_t *request,
                               hone_error *error)
{
    struct kernel_target *t = mem_new(1, sizeof *t);
    *out = NULL;
    if (t)
        t->spec = kernel_spec_new();
    if (!t || !t->spec) {
        free(t);
        return error_memory(error, "a kernel to tune");
    }
    t->base.ops = &ops;
    t->device = device;
    t->clock = timing_clock_of(device);
    pthread_mutex_init(&t->lock, NULL);
    hone_status status = open_all(t, request, error);
    if (status)
        close_target(&t->base);
    else
        *out = &t->base;
    return status;
}

json_t *target_kernel_describe(const struct target *target)
{
    const struct kernel_target *t = (const struct kernel_target *)target;
    json_t *names = json_object();
    for (int i = 0; i < t->scope.count; i++)
        json_object_set_new(names, t->names[i], json_integer(t->values[i]));
    struct text first = {0};
    kernel_spec_print(t->spec, t->first, &first);
    json_t *description = json_pack(
        "{s:o, s:[I, I, I, I, I], s:o, s:s}", "names", names, "limits", (json_int_t)t->limits.max_work_group,
        (json_int_t)t->limits.max_work_items[0], (json_int_t)t->limits.max_work_items[1],
        (json_int_t)t->limits.max_work_items[2], (json_int_t)t->limits.local_memory, "outputs",
        kernel_memory_describe(t->memory), "first", text_view(&first));
    text_finish(&first);
    return description;
}
