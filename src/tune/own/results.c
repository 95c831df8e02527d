/* SPDX-License-Identifier: BSD-2-Clause */
#include "tune/own/results.h"

#include "base/text.h"
#include "hone/version.h"
#include "tune/t4/t4.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

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

/* The user's metrics are measurements, and the objective is theirs, too. */
static void add_metrics(json_t *result, const struct metrics *metrics, const struct session_try *own)
{
    json_t *measurements = json_object_get(result, "measurements");
    for (int i = 0; metrics && i < metrics->count; i++)
        if (!isnan(own->metrics[i]))
            json_array_append_new(measurements, json_pack("{s:s, s:f, s:s}", "name", metrics->all[i].name,
                                                          "value", own->metrics[i], "unit", ""));
    if (!metrics_by_time(metrics))
        json_object_set_new(result, "objectives", json_pack("[s]", metrics->objective));
}

static json_t *one_result(const struct own_spec *spec, const struct metrics *metrics,
                          const struct session_try *own)
{
    struct record_try t = {0};
    measured_record(&own->measured, "kernel", own->config, own->measured.state, &t);
    t.time = own->time;
    json_t *result = t4_result(&t, configuration(spec, &own->point), correctness(&own->measured),
                               (struct t4_cost){own->bytes, own->flops});
    add_metrics(result, metrics, own);
    return result;
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

json_t *own_results_t4(const struct own_spec *spec, const struct metrics *metrics,
                       const struct own_session_result *r)
{
    const struct record_device *device = &r->base.choice.device;
    json_t *results = json_array();
    for (size_t i = 0; i < r->base.try_count; i++)
        json_array_append_new(results, one_result(spec, metrics, &r->base.tries[i]));
    json_t *own =
        json_pack("{s:s, s:s, s:s, s:s, s:o, s:o, s:[o]}", "kernel", spec->kernel, "driver", device->driver,
                  "first", r->first, "best", r->base.ranked[0].config, "settings", own_spec_settings(spec),
                  "space", space(spec, r), "seeds", first_configuration(spec, r));
    return t4_file(device, (int64_t)time(NULL), own, results);
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
