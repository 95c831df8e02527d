/* SPDX-License-Identifier: BSD-2-Clause */
#include "tune/worker/target.h"

#include "base/error.h"
#include "base/mem.h"
#include "base/text.h"
#include "choose/choose.h"
#include "cl/device.h"
#include "filter/case.h"
#include "filter/registry.h"
#include "hone/filter.h"

#include <stdio.h>
#include <stdlib.h>

struct filter_target {
    struct target base;
    hone_device *device;
    const struct hone_filter *filter;
    struct measure *measure;
};

static struct filter_target *filter_target_of(struct target *target)
{
    return (struct filter_target *)target;
}

static bool find(const struct filter_target *t, const char *variant_name, const char *text,
                 const struct variant **variant, struct config *config, hone_error *error)
{
    *variant = filter_variant(t->filter, variant_name);
    if (!*variant)
        return error_usage(error, "%s has no variant '%s'", t->filter->name, variant_name), false;
    config_default(*variant, config);
    return config_parse(*variant, text, config, error) == HONE_OK;
}

static bool find_or_fail(const struct filter_target *t, const char *variant_name, const char *text,
                         const struct variant **variant, struct config *config, struct measured *result)
{
    hone_error error = {0};
    if (find(t, variant_name, text, variant, config, &error))
        return true;
    *result = (struct measured){.state = STATE_COMPILE, .ms = -1};
    snprintf(result->note, sizeof result->note, "%.500s", error.message);
    return false;
}

static struct measure_phase phase_of(const struct target *target)
{
    return (struct measure_phase){target->built, target->ran, target->round, target->context};
}

static void measure_one(struct target *target, const char *variant_name, const char *text, double best,
                        struct measured *result)
{
    struct filter_target *t = filter_target_of(target);
    const struct measure_phase phase = phase_of(target);
    const struct variant *variant;
    struct config config;
    if (find_or_fail(t, variant_name, text, &variant, &config, result))
        measure_try(t->measure, variant, &config, best, phase, result);
}

static void hold(struct target *target, const char *variant_name, const char *text, struct measured *result)
{
    struct filter_target *t = filter_target_of(target);
    const struct measure_phase phase = phase_of(target);
    const struct variant *variant;
    struct config config;
    if (find_or_fail(t, variant_name, text, &variant, &config, result))
        measure_hold(t->measure, variant, &config, phase, result);
}

static void race(struct target *target, const char *const *variants, const char *const *configs, int count,
                 int rounds, struct measured *results)
{
    enum { MAX_ENTRIES = 16 };
    struct filter_target *t = filter_target_of(target);
    const struct measure_phase phase = phase_of(target);
    struct measure_entry entries[MAX_ENTRIES] = {0};
    int used = 0, places[MAX_ENTRIES];
    for (int i = 0; i < count; i++) {
        results[i] = (struct measured){.state = STATE_OK, .ms = -1};
        if (used < MAX_ENTRIES &&
            find(t, variants[i], configs[i], &entries[used].variant, &entries[used].config, NULL))
            places[used++] = i;
    }
    measure_race(t->measure, entries, used, rounds, &phase);
    for (int i = 0; i < used; i++)
        results[places[i]] = entries[i].result;
}

static void prepare(struct target *target, const char *variant_name, const char *text)
{
    struct filter_target *t = filter_target_of(target);
    const struct variant *variant;
    struct config config;
    if (find(t, variant_name, text, &variant, &config, NULL))
        measure_prepare(t->measure, variant, &config);
}

/* Without memory for it there is nothing to compare with, as where it takes too long. */
static void refer(struct target *target, double seconds)
{
    struct filter_target *t = filter_target_of(target);
    hone_error error = {0};
    if (measure_refer(t->measure, seconds, &error) != HONE_OK)
        device_log(t->device, HONE_LOG_WARNING, "no reference at full size: %s", error.message);
}

static void transfers(struct target *target, double *upload_ms, double *download_ms)
{
    measure_transfers(filter_target_of(target)->measure, upload_ms, download_ms);
}

static const char *clock_of(const struct target *target, const char **reason)
{
    return measure_clock(((const struct filter_target *)target)->measure, reason);
}

static void close_target(struct target *target)
{
    struct filter_target *t = filter_target_of(target);
    measure_close(&t->measure);
    free(t);
}

static const struct target_ops ops = {.measure = measure_one,
                                      .race = race,
                                      .prepare = prepare,
                                      .refer = refer,
                                      .hold = hold,
                                      .transfers = transfers,
                                      .clock = clock_of,
                                      .close = close_target};

/* "size=8 kernel=..." with the separator that requests use between parameters: a newline. */
static hone_status set_parameters(struct filter_case *c, const json_t *request, hone_error *error)
{
    const char *name;
    json_t *value;
    hone_status status = HONE_OK;
    json_t *parameters = json_object_get(request, "parameters");
    json_object_foreach(parameters, name, value) if (!status) status =
        case_set(c, name, json_string_value(value) ? json_string_value(value) : "", error);
    return status;
}

static hone_status make_case(struct filter_case *c, const struct hone_filter *filter, const json_t *request,
                             hone_error *error)
{
    const char *type = json_string_value(json_object_get(request, "type"));
    hone_image_desc in = {.width = (uint32_t)json_integer_value(json_object_get(request, "width")),
                          .height = (uint32_t)json_integer_value(json_object_get(request, "height")),
                          .channels = (uint32_t)json_integer_value(json_object_get(request, "channels"))};
    hone_status status = hone_type_parse(&in.type, type ? type : "", error);
    THEN(status, case_init(c, filter, error));
    if (status)
        return status;
    status = set_parameters(c, request, error);
    THEN(status, case_prepare(c, &in, filter->inputs > 1 ? &in : NULL, error));
    if (status)
        case_finish(c);
    return status;
}

/* A filter of one's own comes with its text: the file may have changed since. */
static hone_status load_own(const json_t *own, hone_error *error)
{
    const char *path = json_string_value(json_object_get(own, "path"));
    const char *text = json_string_value(json_object_get(own, "text"));
    return path && text ? hone_filter_load(path, text, NULL, error) : HONE_OK;
}

hone_status target_filter_open(struct target **out, hone_device *device, const json_t *request,
                               hone_error *error)
{
    const char *name = json_string_value(json_object_get(request, "filter"));
    struct filter_case c;
    *out = NULL;
    TRY(load_own(json_object_get(request, "own"), error));
    const struct hone_filter *filter = registry_find(name ? name : "");
    if (!filter)
        return error_usage(error, "there is no filter '%s'", name ? name : "");
    hone_status status = make_case(&c, filter, request, error);
    if (status)
        return status;
    struct filter_target *t = mem_new(1, sizeof *t);
    if (!t)
        status = error_memory(error, "a measurement");
    else
        status =
            measure_open(&t->measure, device, &c, json_string_value(json_object_get(request, "held")), error);
    case_finish(&c);
    if (status) {
        free(t);
        return status;
    }
    t->base.ops = &ops;
    measure_ask(t->measure, &t->base.asked);
    t->filter = filter;
    t->device = device;
    *out = &t->base;
    return HONE_OK;
}

static json_t *names_json(const struct expr_scope *scope)
{
    json_t *names = json_object();
    for (int i = 0; i < scope->count; i++)
        json_object_set_new(names, scope->names[i], json_integer(scope->values[i]));
    return names;
}

static json_t *variants_json(const struct filter_target *t, const struct filter_case *c)
{
    json_t *variants = json_array();
    for (size_t i = 0; i < t->filter->variant_count; i++) {
        const struct variant *variant = &t->filter->variants[i];
        if (variant_usable(t->device, c, variant, NULL) == HONE_OK)
            json_array_append_new(variants, json_string(variant->name));
    }
    return variants;
}

/* Candidates in the order of choosing; with what was measured here, or as if nothing had been. */
static json_t *seeds_json(const struct filter_target *t, const struct filter_case *c, bool without_own)
{
    struct choice choices[MAX_CHOICES];
    const struct choose_request request = {.without_own = without_own};
    json_t *seeds = json_array();
    size_t count = 0;
    if (choose(choices, &count, t->device, c, &request, NULL) != HONE_OK)
        return seeds;
    for (size_t i = 0; i < count; i++) {
        struct text config = {0};
        if (variant_usable(t->device, c, choices[i].variant, NULL) != HONE_OK)
            continue;
        config_print(choices[i].variant, &choices[i].config, &config);
        json_array_append_new(seeds,
                              json_pack("{s:s, s:s, s:b}", "variant", choices[i].variant->name, "config",
                                        text_view(&config), "known", choices[i].origin != CHOICE_FALLBACK));
        text_finish(&config);
    }
    return seeds;
}

json_t *target_filter_describe(const struct target *target)
{
    const struct filter_target *t = (const struct filter_target *)target;
    const struct filter_case *c = measure_case(t->measure);
    const hone_device_info *info = hone_device_get_info(t->device);
    struct case_scope scope;
    case_scope_init(&scope, c, t->device);
    case_scope_complete(&scope);
    return json_pack("{s:o, s:o, s:o, s:o, s:[I, I, I, I, I]}", "names", names_json(&scope.scope), "variants",
                     variants_json(t, c), "seeds", seeds_json(t, c, false), "defaults",
                     seeds_json(t, c, true), "limits", (json_int_t)info->max_work_group,
                     (json_int_t)info->max_work_items[0], (json_int_t)info->max_work_items[1],
                     (json_int_t)info->max_work_items[2], (json_int_t)info->local_memory);
}
