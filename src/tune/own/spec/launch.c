/* SPDX-License-Identifier: BSD-2-Clause */
/* Configurations of a kernel of the user's own: their text, whether they are legal, how they are launched. */
#include "tune/own/spec/spec.h"

#include "base/error.h"
#include "base/mem.h"
#include "base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool own_has_words(const struct own_spec *spec, int parameter)
{
    return spec->words[parameter].list[0][0] != '\0';
}

void own_value_print(const struct own_spec *spec, int parameter, int64_t value, struct text *out)
{
    if (own_has_words(spec, parameter) && value >= 0 && value < spec->parameters[parameter].count)
        text_add(out, "%s", spec->words[parameter].list[value]);
    else
        text_add(out, "%lld", (long long)value);
}

void own_spec_print(const struct own_spec *spec, const int64_t *values, struct text *out)
{
    for (int i = 0; i < spec->parameter_count; i++) {
        text_add(out, "%s%s=", i ? " " : "", spec->parameters[i].name);
        own_value_print(spec, i, values[i], out);
    }
}

static int find_parameter(const struct own_spec *spec, const char *name, size_t length)
{
    for (int i = 0; i < spec->parameter_count; i++)
        if (strlen(spec->parameters[i].name) == length &&
            strncmp(spec->parameters[i].name, name, length) == 0)
            return i;
    return -1;
}

/* Behind "NAME=": the value, and where the text goes on. */
static hone_status parse_value(const struct own_spec *spec, int parameter, const char *text, int64_t *value,
                               const char **end, hone_error *error)
{
    const size_t length = strcspn(text, " ");
    const struct own_words *words = &spec->words[parameter];
    char *stop;
    *end = text + length;
    for (int i = 0; own_has_words(spec, parameter) && i < spec->parameters[parameter].count; i++)
        if (strlen(words->list[i]) == length && strncmp(words->list[i], text, length) == 0) {
            *value = i;
            return HONE_OK;
        }
    if (own_has_words(spec, parameter))
        return error_usage(error, "'%.*s' is no value of %s", (int)length, text,
                           spec->parameters[parameter].name);
    *value = strtoll(text, &stop, 10);
    if (stop != text && stop == *end)
        return HONE_OK;
    return error_usage(error, "'%s' is no whole number", text);
}

hone_status own_spec_parse(const struct own_spec *spec, const char *config, int64_t *values,
                           hone_error *error)
{
    while (*config) {
        size_t length = strcspn(config, "= ");
        int index = find_parameter(spec, config, length);
        if (index < 0 || config[length] != '=')
            return error_usage(error, "'%s' does not begin with NAME=VALUE of a parameter", config);
        TRY(parse_value(spec, index, config + length + 1, &values[index], &config, error));
        config += strspn(config, " ");
    }
    return HONE_OK;
}

hone_status own_spec_define(const struct own_spec *spec, const struct expr_scope *outer, const char **names,
                            int64_t *values, hone_error *error)
{
    hone_status status = HONE_OK;
    for (int i = 0; i < spec->define_count && !status; i++) {
        const struct expr_scope scope = {.outer = outer, .names = names, .values = values, .count = i};
        names[i] = spec->defines[i].name;
        status = formula_value(spec->defines[i].value, &scope, "--define", &values[i], error);
    }
    return status;
}

void own_scope_init(struct own_scope *scope, const struct own_spec *spec, const int64_t *values,
                    const struct expr_scope *outer)
{
    for (int i = 0; i < spec->parameter_count; i++)
        scope->names[i] = spec->parameters[i].name;
    scope->scope = (struct expr_scope){
        .outer = outer, .names = scope->names, .values = values, .count = spec->parameter_count};
}

static hone_status illegal(hone_error *error, const char *what, const char *text)
{
    return error_unsupported(error, "%s '%s' does not hold", what, text);
}

static hone_status check_rules(const struct own_spec *spec, const struct expr_scope *scope, hone_error *error)
{
    for (int i = 0; i < spec->rule_count; i++) {
        int64_t holds = 0;
        hone_status status = formula_value(spec->rules[i], scope, "--restrict", &holds, error);
        if (!status && !holds)
            status = illegal(error, "--restrict", spec->rules[i]->text);
        if (status)
            return status;
    }
    return HONE_OK;
}

static hone_status size_of(struct formula *const *sizes, int i, const struct expr_scope *scope,
                           const char *what, size_t *size, hone_error *error)
{
    int64_t value = 0;
    hone_status status = formula_value(sizes[i], scope, what, &value, error);
    if (!status && (value < 1 || value > (int64_t)1 << 40))
        status = error_unsupported(error, "%s '%s' is %lld", what, sizes[i]->text, (long long)value);
    *size = (size_t)value;
    return status;
}

/* One dimension of the launch. */
static hone_status add_dimension(const struct own_spec *spec, int i, const struct expr_scope *scope,
                                 const struct variant_limits *limits, struct launch *launch,
                                 hone_error *error)
{
    hone_status status = size_of(spec->global, i, scope, "--global", &launch->global[i], error);
    if (status || !spec->local[0])
        return status;
    TRY(size_of(spec->local, i, scope, "--local", &launch->local[i], error));
    if (spec->global_in_groups)
        launch->global[i] *= launch->local[i];
    if (launch->local[i] > limits->max_work_items[i])
        return error_unsupported(error, "--local %zu is more than the device takes in dimension %d: %zu",
                                 launch->local[i], i + 1, limits->max_work_items[i]);
    if (launch->global[i] % launch->local[i] != 0)
        return error_unsupported(
            error,
            "--global %zu is no multiple of --local %zu; write roundup(%s,%s) where the kernel "
            "checks its bounds",
            launch->global[i], launch->local[i], spec->global[i]->text, spec->local[i]->text);
    return HONE_OK;
}

static hone_status check_local(const struct own_spec *spec, const struct expr_scope *scope,
                               const struct variant_limits *limits, hone_error *error)
{
    uint64_t bytes = 0;
    for (int i = 0; i < spec->argument_count; i++) {
        const struct own_argument *a = &spec->arguments[i];
        size_t count = 0;
        if (a->kind != OWN_LOCAL)
            continue;
        TRY(size_of(a->sizes, 0, scope, "--arg local", &count, error));
        bytes += count * element_size(a->element);
    }
    if (bytes > limits->local_memory)
        return error_unsupported(error, "%llu bytes of local memory are more than the device has: %llu",
                                 (unsigned long long)bytes, (unsigned long long)limits->local_memory);
    return HONE_OK;
}

hone_status own_spec_launch(const struct own_spec *spec, const struct expr_scope *outer,
                            const struct variant_limits *limits, const int64_t *values, struct launch *launch,
                            hone_error *error)
{
    struct own_scope scope;
    own_scope_init(&scope, spec, values, outer);
    *launch = (struct launch){0};
    hone_status status = check_rules(spec, &scope.scope, error);
    size_t group = 1;
    for (int i = 0; i < 3 && spec->global[i] && !status; i++) {
        status = add_dimension(spec, i, &scope.scope, limits, launch, error);
        group *= spec->local[0] ? launch->local[i] : 1;
        launch->dimensions = (unsigned)i + 1;
    }
    if (!status && group > limits->max_work_group)
        return error_unsupported(error, "a work-group of %zu work-items is more than the device takes: %zu",
                                 group, limits->max_work_group);
    return status ? status : check_local(spec, &scope.scope, limits, error);
}

void own_spec_space(const struct own_spec *spec, struct space *space)
{
    *space = (struct space){.count = 1};
    struct space_path *path = &space->paths[0];
    snprintf(path->name, sizeof path->name, "kernel");
    memcpy(path->parameters, spec->parameters, sizeof path->parameters);
    path->count = spec->parameter_count;
}

hone_status own_spec_first(const struct own_spec *spec, const struct expr_scope *outer,
                           const struct variant_limits *limits, int64_t *values, hone_error *error)
{
    enum { MOST_TRIES = 1 << 20 };
    struct space *space = mem_new(1, sizeof *space);
    struct launch launch;
    if (!space)
        return error_memory(error, "a search space");
    own_spec_space(spec, space);
    int64_t size = space_size(space);
    hone_status status = HONE_ERROR_USAGE;
    for (int64_t i = 0; i < size && i < MOST_TRIES && status; i++) {
        const struct point point = space_at(space, i);
        status = own_spec_launch(spec, outer, limits, point.values, &launch, i == 0 ? error : NULL);
        memcpy(values, point.values, sizeof point.values);
    }
    free(space);
    if (status) {
        error_prefix(error, "no configuration is legal; with the first values");
        if (error)
            error->status = HONE_ERROR_USAGE;
    }
    return status ? HONE_ERROR_USAGE : HONE_OK;
}
