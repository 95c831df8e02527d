/* SPDX-License-Identifier: BSD-2-Clause */
/* The search space of a case, from what the worker says of it. */
#include "tune/session/internal.h"

#include "base/error.h"
#include "base/text.h"
#include "choose/choose.h"
#include "filter/registry.h"

#include <stdio.h>
#include <string.h>

static void read_names(struct session *s, const json_t *names)
{
    const char *name;
    json_t *value;
    int count = 0;
    json_object_foreach((json_t *)names, name, value)
    {
        if (count < MAX_NAMES) {
            s->names[count] = name; /* lives as long as the description */
            s->values[count++] = json_integer_value(value);
        }
    }
    s->scope = (struct expr_scope){.names = s->names, .values = s->values, .count = count};
}

static void read_limits(struct session *s, const json_t *limits)
{
    s->limits.max_work_group = (size_t)json_integer_value(json_array_get(limits, 0));
    for (size_t i = 0; i < 3; i++)
        s->limits.max_work_items[i] = (size_t)json_integer_value(json_array_get(limits, i + 1));
    s->limits.local_memory = (uint64_t)json_integer_value(json_array_get(limits, 4));
}

static void add_path(struct session *s, const struct variant *variant)
{
    struct space_path *path = &s->space.paths[s->space.count];
    if (s->space.count == SPACE_MAX_PATHS)
        return;
    s->variants[s->space.count++] = variant;
    snprintf(path->name, sizeof path->name, "%s", variant->name);
    path->count = (int)variant_tunable_count(variant);
    for (int i = 0; i < path->count; i++) {
        const struct tunable *tunable = &variant->tunables[i];
        struct space_parameter *parameter = &path->parameters[i];
        snprintf(parameter->name, sizeof parameter->name, "%s", tunable->name);
        size_t count = tunable_values(tunable, parameter->values, SPACE_MAX_VALUES);
        parameter->count = (int)(count < SPACE_MAX_VALUES ? count : SPACE_MAX_VALUES);
        parameter->launch_only = tunable->kind == TUNABLE_LAUNCH;
    }
}

static bool legal(const void *context, int path, const int64_t *values)
{
    const struct session *s = context;
    struct config config = {0};
    memcpy(config.values, values, sizeof(int64_t) * (size_t)s->space.paths[path].count);
    return config_legal_within(&s->scope, &s->limits, s->variants[path], &config, NULL) == HONE_OK;
}

static int path_of(const struct session *s, const char *variant)
{
    for (int i = 0; i < s->space.count; i++)
        if (strcmp(s->space.paths[i].name, variant) == 0)
            return i;
    return -1;
}

/* False when the names mean nothing in this space. */
bool session_point(const struct session *s, const char *variant, const char *text, struct point *point)
{
    struct config config;
    int path = path_of(s, variant);
    if (path < 0)
        return false;
    config_default(s->variants[path], &config);
    if (config_parse(s->variants[path], text, &config, NULL) != HONE_OK)
        return false;
    *point = (struct point){.path = path};
    memcpy(point->values, config.values, sizeof(int64_t) * (size_t)s->space.paths[path].count);
    return true;
}

void session_config(const struct session *s, const struct point *point, char *to, size_t size)
{
    struct text text = {0};
    const struct space_path *path = &s->space.paths[point->path];
    for (int i = 0; i < path->count; i++)
        text_add(&text, "%s%s=%lld", i ? " " : "", path->parameters[i].name, (long long)point->values[i]);
    snprintf(to, size, "%s", text_view(&text));
    text_finish(&text);
}

static void add_seed(struct session *s, const struct point *point)
{
    for (size_t i = 0; i < s->seed_count; i++)
        if (point_equal(&s->seeds[i], point))
            return;
    if (s->seed_count < MAX_SEEDS && point->path < s->searched)
        s->seeds[s->seed_count++] = *point;
}

/* The search begins with those of which something is known. */
static void read_candidates(struct session *s, const json_t *list, struct candidates *to)
{
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *one = json_array_get(list, i);
        const char *variant = json_string_value(json_object_get(one, "variant"));
        const char *config = json_string_value(json_object_get(one, "config"));
        struct point point;
        if (!variant || !config || !session_point(s, variant, config, &point))
            continue;
        if (to->count < MAX_CHOICES)
            to->points[to->count++] = point;
        if (json_is_true(json_object_get(one, "known")))
            add_seed(s, &point);
    }
}

/* What can run here, for a message. */
static void list_variants(const json_t *variants, struct text *out)
{
    for (size_t i = 0; i < json_array_size(variants); i++)
        text_add(out, "%s%s", i ? ", " : "", json_string_value(json_array_get(variants, i)));
}

static hone_status none_can_run(const struct session *s, const json_t *variants, hone_error *error)
{
    struct text names = {0};
    list_variants(variants, &names);
    hone_status status =
        names.length == 0
            ? error_set(error, HONE_ERROR_UNSUPPORTED, "no variant of %s can run on '%s' for these images",
                        s->c->filter->name, s->worker->device_record.name)
            : error_set(error, HONE_ERROR_USAGE,
                        "%s has no variant '%s' that can run on '%s' for these images; there are %s",
                        s->c->filter->name, s->options->variants, s->worker->device_record.name,
                        text_view(&names));
    text_finish(&names);
    return status;
}

static bool is_wanted(const struct session *s, const struct variant *variant)
{
    const char *names = s->options->variants;
    size_t length = strlen(variant->name);
    for (; names && *names; names += strcspn(names, ",") + (names[strcspn(names, ",")] == ','))
        if (strcspn(names, ",") == length && strncmp(names, variant->name, length) == 0)
            return true;
    return !names;
}

static void add_paths(struct session *s, const json_t *variants, bool wanted)
{
    for (size_t i = 0; i < json_array_size(variants); i++) {
        const char *name = json_string_value(json_array_get(variants, i));
        const struct variant *variant = filter_variant(s->c->filter, name ? name : "");
        if (variant && is_wanted(s, variant) == wanted)
            add_path(s, variant);
    }
}

hone_status session_read_description(struct session *s, hone_error *error)
{
    const json_t *description = s->description = json_incref(s->worker->description);
    const json_t *variants = json_object_get(description, "variants");
    read_names(s, json_object_get(description, "names"));
    read_limits(s, json_object_get(description, "limits"));
    s->space = (struct space){.legal = legal, .context = s};
    add_paths(s, variants, true);
    s->searched = s->space.count;
    if (s->searched == 0)
        return none_can_run(s, variants, error);
    add_paths(s, variants, false);
    read_candidates(s, json_object_get(description, "seeds"), &s->now);
    read_candidates(s, json_object_get(description, "defaults"), &s->untuned);
    return HONE_OK;
}
