/* SPDX-License-Identifier: BSD-2-Clause */
#include "tune/own/results.h"

#include "base/text.h"
#include "hone/version.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static const char *invalidity(enum record_state state)
{
    switch (state) {
    case STATE_OK:
    case STATE_SLOW:
        return "correct";
    case STATE_COMPILE:
        return "compile";
    case STATE_TIMEOUT:
        return "timeout";
    case STATE_WRONG:
        return "correctness";
    default:
        return "runtime";
    }
}

/* The share of right elements; evidence of wrong ones counts them. */
static double correctness(const struct measured *m)
{
    size_t wrong = 0, all = 0;
    const char *counts = strstr(m->note, "': ");
    if (m->state == STATE_OK || m->state == STATE_SLOW)
        return 1;
    if (m->state != STATE_WRONG || !counts || sscanf(counts + 3, "%zu of %zu", &wrong, &all) != 2 || all == 0)
        return 0;
    return 1 - (double)wrong / (double)all;
}

static json_t *value_json(const struct own_spec *spec, int parameter, int64_t value)
{
    struct text word = {0};
    char *end;
    if (!own_has_words(spec, parameter))
        return json_integer(value);
    own_value_print(spec, parameter, value, &word);
    const double number = text_number(text_view(&word), &end);
    json_t *json = *end || !isfinite(number) ? json_string(text_view(&word)) : json_real(number);
    text_finish(&word);
    return json;
}

static json_t *configuration(const struct own_spec *spec, const struct point *point)
{
    json_t *object = json_object();
    for (int i = 0; i < spec->parameter_count; i++)
        json_object_set_new(object, spec->parameters[i].name, value_json(spec, i, point->values[i]));
    return object;
}

static void print_time(int64_t seconds, char text[32])
{
    time_t when = (time_t)seconds;
    struct tm parts;
    gmtime_r(&when, &parts);
    strftime(text, 32, "%Y-%m-%dT%H:%M:%SZ", &parts);
}

static json_t *times(const struct measured *m)
{
    json_t *runs = json_array();
    for (int i = 0; i < m->run_count; i++)
        json_array_append_new(runs, json_real(m->runs[i]));
    return json_pack("{s:f, s:f, s:o, s:f, s:f, s:f}", "compilation_time", m->build_ms, "compilation",
                     m->build_ms, "runtimes", runs, "framework", 0.0, "search_algorithm", 0.0, "validation",
                     0.0);
}

static json_t *measurement(const char *name, json_t *value, const char *unit)
{
    return json_pack("{s:s, s:o, s:s}", "name", name, "value", value, "unit", unit);
}

static json_t *one_result(const struct own_spec *spec, const struct own_try *t)
{
    char when[32];
    const struct measured *m = &t->measured;
    json_t *measurements = json_array();
    print_time(t->time, when);
    if (m->ms >= 0)
        json_array_append_new(measurements, measurement("time", json_real(m->ms), "ms"));
    json_array_append_new(measurements, measurement("state", json_string(record_state_name(m->state)), ""));
    if (m->note[0])
        json_array_append_new(measurements, measurement("note", json_string(m->note), ""));
    return json_pack("{s:s, s:o, s:[s], s:o, s:s, s:f, s:o}", "timestamp", when, "configuration",
                     configuration(spec, &t->point), "objectives", "time", "times", times(m), "invalidity",
                     invalidity(m->state), "correctness", correctness(m), "measurements", measurements);
}

/* Values in their order, for a search that is to be run again on this file. */
static json_t *space(const struct own_spec *spec, const struct own_session_result *r)
{
    json_t *parameters = json_array();
    for (int i = 0; i < spec->parameter_count; i++) {
        const struct space_parameter *p = &spec->parameters[i];
        json_t *values = json_array();
        for (int k = 0; k < p->count; k++)
            json_array_append_new(values, value_json(spec, i, p->values[k]));
        json_array_append_new(parameters, json_pack("{s:s, s:b, s:o}", "name", p->name, "launch",
                                                    r->launch[i], "values", values));
    }
    return json_pack("[{s:s, s:o}]", "name", "all", "parameters", parameters);
}

static json_t *first_configuration(const struct own_spec *spec, const struct own_session_result *r)
{
    struct point first = {0};
    own_spec_parse(spec, r->first, first.values, NULL);
    return configuration(spec, &first);
}

static json_t *metadata(const struct own_spec *spec, const struct own_session_result *r)
{
    char when[32];
    print_time((int64_t)time(NULL), when);
    json_t *own = json_pack("{s:s, s:s, s:s, s:s, s:o, s:o, s:[o]}", "kernel", spec->kernel, "driver",
                            r->base.choice.device.driver, "first", r->first, "best", r->base.ranked[0].config,
                            "settings", own_spec_settings(spec), "space", space(spec, r), "seeds",
                            first_configuration(spec, r));
    return json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:o}", "compute_api", "OpenCL", "platform",
                     r->base.choice.device.platform, "device", r->base.choice.device.name, "autotuner",
                     "hone", "autotuner_version", HONE_VERSION, "timestamp", when, "timeunit", "milliseconds",
                     "x_hone", own);
}

json_t *own_results_t4(const struct own_spec *spec, const struct own_session_result *r)
{
    json_t *results = json_array();
    for (size_t i = 0; i < r->count; i++)
        json_array_append_new(results, one_result(spec, &r->tries[i]));
    return json_pack("{s:s, s:o, s:o}", "schema_version", "1.0.0", "metadata", metadata(spec, r), "results",
                     results);
}

/* Names of devices come from drivers: they must not end the comment. */
static void add_comment(struct text *out, const char *text)
{
    for (; *text; text++)
        text_add(out, "%c", (*text == '*' && text[1] == '/') || *text == '\n' || *text == '\\' ? ' ' : *text);
}

void own_results_header(const struct own_spec *spec, const struct own_session_result *r, struct text *out)
{
    const struct finalist *best = &r->base.ranked[0];
    text_add(out, "/* Kernel '");
    add_comment(out, spec->kernel);
    text_add(out, "', tuned by hone %s on ", HONE_VERSION);
    add_comment(out, r->base.choice.device.name);
    text_add(out, "\n * (");
    add_comment(out, r->base.choice.device.platform);
    text_add(out, ", driver ");
    add_comment(out, r->base.choice.device.driver);
    text_add(out, "): %.4g ms", best->runs.median);
    if (r->base.choice.default_ms > 0 && best->runs.median > 0)
        text_add(out, "; %.3gx of the first configuration", r->base.choice.default_ms / best->runs.median);
    text_add(out, ". */\n");
    for (int i = 0; i < spec->parameter_count; i++) {
        text_add(out, "#define %s ", spec->parameters[i].name);
        own_value_print(spec, i, best->point.values[i], out);
        text_add(out, "\n");
    }
}
