/* SPDX-License-Identifier: BSD-2-Clause */
/* Configurations of a kernel of the user's own: from text to a kernel that can be launched. */
#include "tune/own/run/target_internal.h"

#include "base/error.h"
#include "base/mem.h"
#include "cache/programs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void print_options(const struct own_target *t, const int64_t *values, struct text *options)
{
    text_add(options, "-cl-kernel-arg-info");
    for (int i = 0; i < t->spec->parameter_count; i++)
        if (t->used[i]) {
            text_add(options, " -D%s=", t->spec->parameters[i].name);
            own_value_print(t->spec, i, values[i], options);
        }
    for (int i = 0; i < t->spec->option_count; i++)
        text_add(options, " %s", t->spec->options[i]);
    if (t->includes && t->folder[0])
        text_add(options, " -I%s", t->folder);
}

static hone_status build_from_source(const struct own_target *t, const char *options, struct kernel **kernel,
                                     hone_error *error)
{
    struct program *program = NULL;
    hone_status status = program_from_source(&program, t->device, text_view(&t->source), options, error);
    THEN(status, kernel_create(kernel, program, t->spec->kernel, error));
    program_destroy(&program);
    return status;
}

hone_status own_target_build(const struct own_target *t, const int64_t *values, bool from_source,
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
        status = error_unsupported(
            error, "a work-group of %zu work-items is more than this kernel can have once compiled: %zu",
            group, facts.max_work_group);
    if (!status && facts.local_memory > a->target->limits.local_memory)
        status = error_unsupported(error, "needs %llu bytes of local memory, the device has %llu",
                                   (unsigned long long)facts.local_memory,
                                   (unsigned long long)a->target->limits.local_memory);
    return status;
}

void attempt_figures(const struct attempt *a, struct record_figures *figures)
{
    const struct own_target *t = a->target;
    struct facts facts;
    struct text options = {0};
    size_t items = a->launch.local[0];
    for (unsigned i = 1; i < a->launch.dimensions; i++)
        items *= a->launch.local[i];
    print_options(t, a->values, &options);
    const struct facts_source from = {t->base.asked.compile ? text_view(&t->source) : NULL,
                                      text_view(&options), t->spec->kernel, items};
    if (!options.failed && facts_of_kernel(&facts, t->device, a->kernel, &from, NULL) == HONE_OK)
        figures_add(figures, &facts);
    text_finish(&options);
}

void attempt_finish(struct attempt *a)
{
    kernel_destroy(&a->kernel);
}

hone_status attempt_read(struct attempt *a, struct own_target *t, const char *config, hone_error *error)
{
    *a = (struct attempt){.target = t};
    for (int i = 0; i < t->spec->parameter_count; i++)
        a->values[i] = t->spec->parameters[i].values[0];
    hone_status status = own_spec_parse(t->spec, config, a->values, error);
    THEN(status, own_spec_launch(t->spec, &t->scope, &t->limits, a->values, &a->launch, error));
    own_scope_init(&a->scope, t->spec, a->values, &t->scope);
    return status;
}

hone_status attempt_build(struct attempt *a, hone_error *error)
{
    hone_status status = own_target_build(a->target, a->values, false, &a->kernel, error);
    if (status && error && error->log[0]) {
        const char *at = strstr(error->log, "error:"); /* behind the name of a file that the driver made up */
        char first[300];
        at = at ? at : error->log;
        snprintf(first, sizeof first, "%.*s", (int)strcspn(at, "\n"), at);
        error_set(error, status, "does not compile: %s", first);
    }
    return status;
}

hone_status attempt_bind(struct attempt *a, hone_error *error)
{
    hone_status status = check_work_group(a, error);
    return status ? status : own_memory_bind(a->target->memory, a->kernel, &a->scope.scope, error);
}

/* ---- Compiling ahead ---- */

struct job {
    const struct own_target *target;
    int64_t values[SPACE_MAX_PARAMETERS];
};

static void build_ahead(void *argument)
{
    struct job *job = argument;
    struct kernel *kernel = NULL;
    if (own_target_build(job->target, job->values, false, &kernel, NULL) == HONE_OK)
        kernel_destroy(&kernel);
    free(job);
}

void own_target_prepare(struct target *target, const char *variant, const char *config)
{
    struct own_target *t = own_target_of(target);
    struct attempt a;
    (void)variant;
    if (t->includes || attempt_read(&a, t, config, NULL) != HONE_OK)
        return; /* what is not cached would be built twice */
    struct job *job = mem_new(1, sizeof *job);
    if (!job)
        return;
    job->target = t;
    memcpy(job->values, a.values, sizeof job->values);
    if (!builders_start(&t->builders, build_ahead, job))
        free(job);
}
