/* SPDX-License-Identifier: BSD-2-Clause */
/* Records as a T4 file. */
#include "tune/t4/t4.h"

#include "base/error.h"
#include "base/file.h"
#include "base/json_text.h"
#include "choose/lookup.h"
#include "choose/records_json.h"
#include "filter/chain.h"
#include "filter/registry.h"
#include "filter/variant.h"
#include "hone/version.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const char *invalidity_of(enum record_state state)
{
    static const char *const names[STATE_COUNT] = {
        [STATE_OK] = "correct",        [STATE_SLOW] = "correct",    [STATE_COMPILE] = "compile",
        [STATE_RUN] = "runtime",       [STATE_CRASH] = "runtime",   [STATE_TIMEOUT] = "timeout",
        [STATE_WRONG] = "correctness", [STATE_STARTED] = "runtime", [STATE_ABANDONED] = "runtime"};
    return names[state];
}

static void print_time(int64_t seconds, char to[32])
{
    struct tm parts;
    const time_t when = (time_t)seconds;
    if (!gmtime_r(&when, &parts) || strftime(to, 32, "%Y-%m-%dT%H:%M:%SZ", &parts) == 0)
        snprintf(to, 32, "1970-01-01T00:00:00Z");
}

/* Kernels of users have words and fractions among their values, too. */
static json_t *value_json(const char *text)
{
    char *end;
    errno = 0;
    const long long whole = strtoll(text, &end, 10);
    if (end > text && *end == '\0' && errno == 0)
        return json_integer(whole);
    char again[32];
    const double number = strtod(text, &end);
    snprintf(again, sizeof again, "%.6g", number); /* as reals are written here */
    return strcmp(again, text) == 0 && isfinite(number) ? json_real(number) : json_string(text);
}

/* {"variant": "strips", "PX": 16, ...} */
static json_t *configuration_json(const struct record_config *config)
{
    json_t *object = json_pack("{s:s}", "variant", config->variant);
    for (const char *at = config->config + strspn(config->config, " "); *at; at += strspn(at, " ")) {
        char word[sizeof config->config];
        const size_t length = strcspn(at, " ");
        snprintf(word, sizeof word, "%.*s", (int)length, at);
        char *equals = strchr(word, '=');
        if (equals) {
            *equals = '\0';
            json_object_set_new(object, word, value_json(equals + 1));
        }
        at += length;
    }
    return object;
}

static json_t *times_json(const struct record_try *t)
{
    json_t *runs = json_array();
    for (int i = 0; i < t->run_count; i++)
        json_array_append_new(runs, json_real(t->runs[i]));
    /* The schema says compilation_time, its most used writer says compilation: both. */
    return json_pack("{s:f, s:f, s:o, s:i, s:i, s:i}", "compilation_time", t->build_ms, "compilation",
                     t->build_ms, "runtimes", runs, "framework", 0, "search_algorithm", 0, "validation", 0);
}

static json_t *measurement(const char *name, json_t *value, const char *unit)
{
    return json_pack("{s:s, s:o, s:s}", "name", name, "value", value, "unit", unit);
}

static void add_cost(json_t *measurements, const char *name, double value, const char *unit)
{
    if (!isnan(value))
        json_array_append_new(measurements, measurement(name, json_real(value), unit));
}

json_t *t4_result(const struct record_try *t, json_t *configuration, double correctness, struct t4_cost cost)
{
    char when[32];
    json_t *measurements = json_array();
    print_time(t->time, when);
    if (t->state == STATE_OK || t->state == STATE_SLOW)
        json_array_append_new(measurements, measurement("time", json_real(t->config.ms), "ms"));
    json_array_append_new(measurements, measurement("state", json_string(record_state_name(t->state)), ""));
    if (t->note[0])
        json_array_append_new(measurements, measurement("note", json_text(t->note), ""));
    for (int i = 0; i < FIGURE_COUNT; i++)
        if (t->figures.known & 1u << i)
            json_array_append_new(measurements,
                                  measurement(record_figure_names[i].name, json_real(t->figures.values[i]),
                                              record_figure_names[i].unit));
    add_cost(measurements, "bytes", cost.bytes, "bytes");
    add_cost(measurements, "flops", cost.flops, "");
    return json_pack("{s:s, s:o, s:[s], s:o, s:s, s:f, s:o}", "timestamp", when, "configuration",
                     configuration, "objectives", "time", "times", times_json(t), "invalidity",
                     invalidity_of(t->state), "correctness", correctness, "measurements", measurements);
}

json_t *t4_file(const struct record_device *device, int64_t time, json_t *own, json_t *results)
{
    char when[32];
    print_time(time, when);
    return json_pack("{s:s, s:{s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:o}, s:o}", "schema_version", "1.0.0",
                     "metadata", "compute_api", "OpenCL", "platform", device->platform, "device",
                     device->name, "autotuner", "hone", "autotuner_version", HONE_VERSION, "timestamp", when,
                     "timeunit", "milliseconds", "x_hone", own, "results", results);
}

/* Parameters with their values in the order of the table, where this hone knows the filter. */
static json_t *space_json(const struct record_case *c)
{
    const struct hone_filter *filter = registry_find(c->filter);
    json_t *paths = json_array();
    for (size_t i = 0; filter && i < filter->variant_count; i++) {
        const struct variant *variant = &filter->variants[i];
        json_t *parameters = json_array();
        for (size_t k = 0; k < variant_tunable_count(variant); k++) {
            int64_t values[SPACE_MAX_VALUES];
            size_t count = tunable_values(&variant->tunables[k], values, SPACE_MAX_VALUES);
            json_t *list = json_array();
            for (size_t v = 0; v < count && v < SPACE_MAX_VALUES; v++)
                json_array_append_new(list, json_integer(values[v]));
            json_array_append_new(parameters,
                                  json_pack("{s:s, s:b, s:o}", "name", variant->tunables[k].name, "launch",
                                            variant->tunables[k].kind == TUNABLE_LAUNCH, "values", list));
        }
        json_array_append_new(paths,
                              json_pack("{s:s, s:o}", "name", variant->name, "parameters", parameters));
    }
    return paths;
}

static bool is_of(const struct record_device *device, const struct record_case *c,
                  const struct record_try *which)
{
    return memcmp(device, &which->device, sizeof *device) == 0 && memcmp(c, &which->c, sizeof *c) == 0;
}

static json_t *seeds_json(const struct records *records, const struct record_try *which)
{
    json_t *seeds = json_array();
    for (size_t i = records->choice_count; i-- > 0;) {
        const struct record_choice *choice = &records->choices[i];
        if (choice->seed_count == 0 || !is_of(&choice->device, &choice->c, which))
            continue;
        for (int k = 0; k < choice->seed_count; k++)
            json_array_append_new(seeds, configuration_json(&choice->seeds[k]));
        break;
    }
    return seeds;
}

static json_t *own_json(const struct records *records, const struct record_try *which)
{
    return json_pack("{s:i, s:o, s:o, s:o, s:o}", "version", RECORD_VERSION, "device",
                     record_device_json(&which->device), "case", record_case_json(&which->c), "space",
                     space_json(&which->c), "seeds", seeds_json(records, which));
}

static bool is_superseded(const struct records *records, size_t index, const struct record_try *which)
{
    const struct record_try *t = &records->tries[index];
    for (size_t i = index + 1; i < records->try_count; i++)
        if (is_of(&records->tries[i].device, &records->tries[i].c, which) &&
            strcmp(records->tries[i].config.variant, t->config.variant) == 0 &&
            strcmp(records->tries[i].config.config, t->config.config) == 0)
            return true;
    return false;
}

/* The case of records, where this hone's filter is the one that was measured. To be finished when true. */
static bool case_of(const struct record_case *recorded, struct filter_case *c)
{
    struct text chain = {0};
    struct record_case now;
    const hone_image_desc in = {.type = recorded->type,
                                .channels = recorded->channels,
                                .width = recorded->width,
                                .height = recorded->height};
    text_add(&chain, "%s %s", recorded->filter, recorded->parameters);
    bool known = chain_parse_case(c, text_view(&chain), NULL) == HONE_OK;
    text_finish(&chain);
    if (!known)
        return false;
    if (recorded->border[0])
        case_set(c, "border", recorded->border, NULL); /* filters without one refuse it */
    known = case_prepare(c, &in, c->filter->inputs > 1 ? &in : NULL, NULL) == HONE_OK;
    if (known)
        record_case_of(c, &now);
    known = known && strcmp(now.source, recorded->source) == 0;
    if (!known)
        case_finish(c);
    return known;
}

/* By the variant's model. */
static struct t4_cost cost_of(const struct filter_case *c, const struct record_config *tried)
{
    const struct variant *variant = filter_variant(c->filter, tried->variant);
    const double pixels = (double)c->in.width * c->in.height;
    struct t4_cost cost = {NAN, NAN};
    struct config config;
    struct cost_values model;
    if (!variant)
        return cost;
    config_default(variant, &config);
    if (config_parse(variant, tried->config, &config, NULL) ||
        variant_cost(c, variant, &config, &model, NULL))
        return cost;
    cost.bytes = model.bytes > 0 ? model.bytes * pixels : NAN;
    cost.flops = model.operations > 0 ? model.operations * pixels : NAN;
    return cost;
}

hone_status t4_export(const char *path, const struct records *records, const struct record_try *which,
                      hone_error *error)
{
    json_t *results = json_array();
    struct filter_case c;
    const bool known = case_of(&which->c, &c);
    for (size_t i = 0; i < records->try_count; i++) {
        const struct record_try *t = &records->tries[i];
        if (!is_of(&t->device, &t->c, which) || is_superseded(records, i, which))
            continue;
        const struct t4_cost cost = known ? cost_of(&c, &t->config) : (struct t4_cost){NAN, NAN};
        json_array_append_new(results, t4_result(t, configuration_json(&t->config),
                                                 t->state == STATE_OK || t->state == STATE_SLOW, cost));
    }
    if (known)
        case_finish(&c);
    json_t *whole = t4_file(&which->device, which->time, own_json(records, which), results);
    char *text = whole ? json_dumps(whole, JSON_COMPACT | JSON_REAL_PRECISION(6)) : NULL;
    hone_status status =
        text ? file_write(path, text, strlen(text), error) : error_memory(error, "the results to export");
    free(text);
    json_decref(whole);
    return status;
}
