/* SPDX-License-Identifier: BSD-2-Clause */
/* Tuning one case of a filter: its search space, from what the worker says of it, and its operations. */
#include "tune/session/filter_internal.h"

#include "base/error.h"
#include "base/mem.h"
#include "base/text.h"
#include "choose/lookup.h"
#include "filter/registry.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void add_path(struct filter_session *f, const struct variant *variant)
{
    struct space *space = &f->base.space;
    struct space_path *path = &space->paths[space->count];
    if (space->count == SPACE_MAX_PATHS)
        return;
    f->variants[space->count++] = variant;
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
    return config_legal_within(&s->scope, &s->limits, filter_session_of(s)->variants[path], &config, NULL) ==
           HONE_OK;
}

static int path_of(const struct session *s, const char *variant)
{
    for (int i = 0; i < s->space.count; i++)
        if (strcmp(s->space.paths[i].name, variant) == 0)
            return i;
    return -1;
}

bool filter_session_point(const struct filter_session *f, const char *variant, const char *text,
                          struct point *point)
{
    struct config config;
    int path = path_of(&f->base, variant);
    if (path < 0)
        return false;
    config_default(f->variants[path], &config);
    if (config_parse(f->variants[path], text, &config, NULL) != HONE_OK)
        return false;
    *point = (struct point){.path = path};
    memcpy(point->values, config.values, sizeof(int64_t) * (size_t)f->base.space.paths[path].count);
    return true;
}

static void print(const struct session *s, const struct point *point, struct text *out)
{
    const struct space_path *path = &s->space.paths[point->path];
    for (int i = 0; i < path->count; i++)
        text_add(out, "%s%s=%lld", i ? " " : "", path->parameters[i].name, (long long)point->values[i]);
}

/* The search begins with those of which something is known. */
static void read_candidates(struct filter_session *f, const json_t *list, struct candidates *to)
{
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *one = json_array_get(list, i);
        const char *variant = json_string_value(json_object_get(one, "variant"));
        const char *config = json_string_value(json_object_get(one, "config"));
        struct point point;
        if (!variant || !config || !filter_session_point(f, variant, config, &point))
            continue;
        if (to->count < MAX_CHOICES)
            to->points[to->count++] = point;
        if (json_is_true(json_object_get(one, "known")))
            session_add_seed(&f->base, &point);
    }
}

/* What can run here, for a message. */
static void list_variants(const json_t *variants, struct text *out)
{
    for (size_t i = 0; i < json_array_size(variants); i++)
        text_add(out, "%s%s", i ? ", " : "", json_string_value(json_array_get(variants, i)));
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

static bool has_wanted(const struct session *s, const struct hone_filter *filter)
{
    for (size_t i = 0; i < filter->variant_count; i++)
        if (is_wanted(s, &filter->variants[i]))
            return true;
    return false;
}

static hone_status none_can_run(const struct session *s, const json_t *variants, hone_error *error)
{
    const struct hone_filter *filter = filter_session_of(s)->c->filter;
    const bool there = has_wanted(s, filter);
    struct text names = {0};
    if (there)
        list_variants(variants, &names);
    else
        filter_list_variants(filter, &names);
    hone_status status =
        !there ? error_usage(error, "%s has no variant '%s'; it has %s", s->name, s->options->variants,
                             text_view(&names))
        : names.length == 0
            ? error_unsupported(error, "no variant of %s can run on '%s' for these images", s->name,
                                s->worker->device_record.name)
            : error_usage(error, "%s has no variant '%s' that can run on '%s' for these images; there are %s",
                          s->name, s->options->variants, s->worker->device_record.name, text_view(&names));
    text_finish(&names);
    return status;
}

static void add_paths(struct filter_session *f, const json_t *variants, bool wanted)
{
    for (size_t i = 0; i < json_array_size(variants); i++) {
        const char *name = json_string_value(json_array_get(variants, i));
        const struct variant *variant = filter_variant(f->c->filter, name ? name : "");
        if (variant && is_wanted(&f->base, variant) == wanted)
            add_path(f, variant);
    }
}

static hone_status describe(struct session *s, hone_error *error)
{
    struct filter_session *f = filter_session_of(s);
    const json_t *variants = json_object_get(s->description, "variants");
    record_case_of(f->c, &s->record_case);
    s->space = (struct space){.legal = legal, .context = s};
    add_paths(f, variants, true);
    s->searched = s->space.count;
    if (s->searched == 0)
        return none_can_run(s, variants, error);
    add_paths(f, variants, false);
    read_candidates(f, json_object_get(s->description, "seeds"), &f->now);
    read_candidates(f, json_object_get(s->description, "defaults"), &f->untuned);
    return session_check_metrics(s, error);
}

/* ---- The other operations ---- */

static json_t *request_of(const struct filter_case *c, const char *held)
{
    json_t *parameters = json_object();
    size_t count = filter_parameter_count(c->filter);
    for (size_t i = 0; i < count; i++)
        if (c->values[i].text && c->values[i].given)
            json_object_set_new(parameters, c->filter->parameters[i].name, json_string(c->values[i].text));
    if (c->filter->spatial)
        json_object_set_new(parameters, "border", json_string(hone_border_name(c->border)));
    if (c->relaxed)
        json_object_set_new(parameters, "accuracy", json_string("relaxed"));
    if (c->exact)
        json_object_set_new(parameters, "exact", json_string("yes"));
    const struct own_source *own = c->filter->own;
    json_t *text = own ? json_pack("{s:s, s:s}", "path", own->path, "text", own->text) : NULL;
    return json_pack("{s:o*, s:s, s:s, s:s, s:o, s:s, s:i, s:i, s:i}", "own", text, "do", "filter", "held",
                     held, "filter", c->filter->name, "parameters", parameters, "type",
                     hone_type_name(c->in.type), "channels", (int)c->in.channels, "width", (int)c->in.width,
                     "height", (int)c->in.height);
}

static hone_status request(struct session *s, hone_error *error)
{
    s->request = request_of(filter_session_of(s)->c, s->right.path);
    return s->request ? HONE_OK : error_memory(error, "a request");
}

static bool same_case(const struct record_case *a, const struct record_case *b)
{
    return lookup_distance(a, b) == 0 && a->width == b->width && a->height == b->height;
}

static void ask_transfers(struct session *s)
{
    json_t *answer = NULL;
    if (s->result->interrupted)
        return;
    session_ask(s, "transfers", &answer);
    s->result->upload_ms = json_number_value(json_object_get(answer, "upload_ms"));
    s->result->download_ms = json_number_value(json_object_get(answer, "download_ms"));
    json_decref(answer);
}

/* By the variant's model. */
static void cost(const struct session *s, const struct point *point, double *bytes, double *flops)
{
    const struct filter_session *f = filter_session_of(s);
    const double pixels = (double)f->c->in.width * f->c->in.height;
    struct config config = {0};
    struct cost_values cost;
    memcpy(config.values, point->values, sizeof(int64_t) * (size_t)s->space.paths[point->path].count);
    const bool known = variant_cost(f->c, f->variants[point->path], &config, &cost, NULL) == HONE_OK;
    *bytes = known && cost.bytes > 0 ? cost.bytes * pixels : NAN;
    *flops = known && cost.operations > 0 ? cost.operations * pixels : NAN;
}

static const struct session_ops ops = {.request = request,
                                       .describe = describe,
                                       .print = print,
                                       .same_case = same_case,
                                       .prepare = filter_session_find_right,
                                       .compare = filter_session_compare,
                                       .cost = cost,
                                       .conclude = ask_transfers};

hone_status filter_session_tune(struct worker *worker, const struct filter_case *c,
                                const struct session_options *options, struct session_result *result,
                                hone_error *error)
{
    struct filter_session *f = mem_new(1, sizeof *f);
    *result = (struct session_result){.missing = NULL};
    if (!f)
        return error_memory(error, "a tuning session");
    f->c = c;
    snprintf(f->base.name, sizeof f->base.name, "%s", c->filter->name);
    hone_status status = session_run(&f->base, &ops, worker, options, result, error);
    free(f);
    return status;
}
