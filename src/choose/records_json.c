/* SPDX-License-Identifier: BSD-2-Clause */
#include "choose/records_json.h"

#include "base/json_text.h"
#include "base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- JSON out ---- */

json_t *record_device_json(const struct record_device *d)
{
    return json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:i, s:i}", "name", d->name, "vendor", d->vendor,
                     "platform", d->platform, "driver", d->driver, "architecture", d->architecture, "kind",
                     hone_device_kind_name(d->kind), "vendor_id", (int)d->vendor_id, "compute_units",
                     (int)d->compute_units);
}

json_t *record_case_json(const struct record_case *c)
{
    return json_pack("{s:s, s:s, s:s, s:s, s:s, s:i, s:i, s:i}", "filter", c->filter, "parameters",
                     c->parameters, "border", c->border, "source", c->source, "type", hone_type_name(c->type),
                     "channels", (int)c->channels, "width", (int)c->width, "height", (int)c->height);
}

const struct record_figure_name record_figure_names[FIGURE_COUNT] = {
    [FIGURE_REGISTERS] = {"registers", ""},         [FIGURE_SPILLS] = {"spills", ""},
    [FIGURE_PRIVATE] = {"private_bytes", "bytes"},  [FIGURE_LOCAL] = {"local_bytes", "bytes"},
    [FIGURE_MULTIPLE] = {"preferred_multiple", ""}, [FIGURE_WAVES] = {"waves", ""},
    [FIGURE_MOST_WAVES] = {"most_waves", ""},       [FIGURE_ENERGY] = {"energy", "J"}};

static json_t *record_figures_json(const struct record_figures *figures)
{
    json_t *object = json_object();
    for (int i = 0; i < FIGURE_COUNT; i++)
        if (figures->known & 1u << i)
            json_object_set_new(object, record_figure_names[i].name,
                                i == FIGURE_ENERGY ? json_real(figures->values[i])
                                                   : json_integer((json_int_t)figures->values[i]));
    return object;
}

static json_t *config_json(const struct record_config *c)
{
    return json_pack("{s:s, s:s, s:f}", "variant", c->variant, "config", c->config, "ms", c->ms);
}

json_t *record_outcome_json(const struct record_try *r)
{
    json_t *runs = json_array();
    for (int i = 0; i < r->run_count && i < RECORD_MAX_RUNS; i++)
        json_array_append_new(runs, json_real(r->runs[i]));
    json_t *json = json_pack("{s:o, s:s, s:f, s:o, s:o}", "config", config_json(&r->config), "state",
                             record_state_name(r->state), "build_ms", r->build_ms, "runs", runs, "note",
                             json_text(r->note));
    if (r->figures.known)
        json_object_set_new(json, "figures", record_figures_json(&r->figures));
    return json;
}

json_t *record_try_json(const struct record_try *r)
{
    json_t *json = record_outcome_json(r);
    json_t *about = json_pack("{s:i, s:s, s:I, s:o, s:o}", "v", RECORD_VERSION, "kind", "try", "time",
                              (json_int_t)r->time, "device", record_device_json(&r->device), "case",
                              record_case_json(&r->c));
    if (r->session[0])
        json_object_set_new(about, "session", json_string(r->session));
    const bool whole = about && json_object_update(json, about) == 0;
    json_decref(about);
    if (whole)
        return json;
    json_decref(json);
    return NULL;
}

static json_t *configs_json(const struct record_config *configs, int count)
{
    json_t *array = json_array();
    for (int i = 0; i < count && i < RECORD_MAX_RANKED; i++)
        json_array_append_new(array, config_json(&configs[i]));
    return array;
}

static const char *const origins[ORIGIN_COUNT] = {"session", "trial", "import", "experiment"};

json_t *record_choice_json(const struct record_choice *r)
{
    json_t *json =
        json_pack("{s:i, s:s, s:s, s:I, s:o, s:o, s:o, s:o, s:f, s:f, s:f, s:i, s:f}", "v", RECORD_VERSION,
                  "kind", "choice", "origin", origins[r->origin], "time", (json_int_t)r->time, "device",
                  record_device_json(&r->device), "case", record_case_json(&r->c), "ranked",
                  configs_json(r->ranked, r->count), "seeds", configs_json(r->seeds, r->seed_count),
                  "default_ms", r->default_ms, "first_rung_ms", r->first_rung_ms, "plain_ms", r->plain_ms,
                  "evaluations", r->evaluations, "seconds", r->seconds);
    if (r->asked > 0)
        json_object_set_new(json, "asked", json_integer(r->asked));
    if (r->unfinished)
        json_object_set_new(json, "unfinished", json_true());
    if (r->continues)
        json_object_set_new(json, "continues", json_true());
    if (r->informs)
        json_object_set_new(json, "informs", json_true());
    if (r->objective[0])
        json_object_set_new(json, "objective", json_string(r->objective));
    if (r->raced)
        json_object_set_new(json, "drift", json_real(r->drift));
    if (r->raced && r->load >= 0)
        json_object_set_new(json, "load", json_real(r->load));
    if (r->clock[0])
        json_object_set_new(json, "clock", json_string(r->clock));
    return json;
}

json_t *record_trust_json(const struct record_trust *r)
{
    return json_pack("{s:i, s:s, s:I, s:o, s:s, s:s, s:s, s:s, s:s, s:s, s:s}", "v", RECORD_VERSION, "kind",
                     "trust", "time", (json_int_t)r->time, "device", record_device_json(&r->device),
                     "program", r->program, "filter", r->filter, "variant", r->variant, "config", r->config,
                     "parameters", r->parameters, "verdict", r->right ? "right" : "wrong", "evidence",
                     r->evidence);
}

void record_json_print(json_t *object, struct text *out)
{
    char *line = object ? json_dumps(object, JSON_COMPACT | JSON_SORT_KEYS | JSON_REAL_PRECISION(6)) : NULL;
    if (line)
        text_add(out, "%s", line);
    else
        out->failed = true;
    free(line);
    json_decref(object);
}

void record_choice_print(const struct record_choice *record, struct text *out)
{
    record_json_print(record_choice_json(record), out);
}

/* ---- JSON in: every field may be missing, of another type, or absurd ---- */

static bool copy_string(const json_t *object, const char *key, char *to, size_t size)
{
    const char *text = json_string_value(json_object_get(object, key));
    if (!text || strlen(text) >= size)
        return false;
    memcpy(to, text, strlen(text) + 1);
    return true;
}

static bool copy_number(const json_t *object, const char *key, double least, double most, double *to)
{
    const json_t *value = json_object_get(object, key);
    if (!json_is_number(value))
        return false;
    *to = json_number_value(value);
    return *to >= least && *to <= most;
}

static bool copy_unsigned(const json_t *object, const char *key, unsigned most, unsigned *to)
{
    double number = 0;
    if (!copy_number(object, key, 0, most, &number))
        return false;
    *to = (unsigned)number;
    return true;
}

bool record_read_device(const json_t *object, struct record_device *d)
{
    char kind[32];
    if (!copy_string(object, "name", d->name, sizeof d->name) ||
        !copy_string(object, "vendor", d->vendor, sizeof d->vendor) ||
        !copy_string(object, "platform", d->platform, sizeof d->platform) ||
        !copy_string(object, "driver", d->driver, sizeof d->driver) ||
        !copy_string(object, "architecture", d->architecture, sizeof d->architecture) ||
        !copy_string(object, "kind", kind, sizeof kind) ||
        !copy_unsigned(object, "vendor_id", UINT32_MAX, &d->vendor_id) ||
        !copy_unsigned(object, "compute_units", 1 << 20, &d->compute_units))
        return false;
    for (int k = HONE_DEVICE_CPU; k <= HONE_DEVICE_OTHER; k++)
        if (strcmp(kind, hone_device_kind_name((hone_device_kind)k)) == 0)
            d->kind = (hone_device_kind)k;
    return true;
}

bool record_read_case(const json_t *object, struct record_case *c)
{
    char type[16];
    return copy_string(object, "filter", c->filter, sizeof c->filter) &&
           copy_string(object, "parameters", c->parameters, sizeof c->parameters) &&
           copy_string(object, "border", c->border, sizeof c->border) &&
           copy_string(object, "source", c->source, sizeof c->source) &&
           copy_string(object, "type", type, sizeof type) &&
           hone_type_parse(&c->type, type, NULL) == HONE_OK &&
           copy_unsigned(object, "channels", 4, &c->channels) &&
           copy_unsigned(object, "width", HONE_MAX_SIDE, &c->width) &&
           copy_unsigned(object, "height", HONE_MAX_SIDE, &c->height);
}

static bool read_config(const json_t *object, struct record_config *c)
{
    return copy_string(object, "variant", c->variant, sizeof c->variant) &&
           copy_string(object, "config", c->config, sizeof c->config) &&
           copy_number(object, "ms", -1, 1e9, &c->ms);
}

static int64_t read_time(const json_t *object)
{
    return (int64_t)json_integer_value(json_object_get(object, "time"));
}

/* Adds what is there and makes sense. */
static void record_read_figures(const json_t *object, struct record_figures *figures)
{
    for (int i = 0; i < FIGURE_COUNT; i++)
        if (copy_number(object, record_figure_names[i].name, 0, 1e15, &figures->values[i]))
            figures->known |= 1u << i;
}

bool record_read_outcome(const json_t *object, struct record_try *r)
{
    char state[16];
    const json_t *runs = json_object_get(object, "runs");
    const char *note = json_string_value(json_object_get(object, "note"));
    if (!read_config(json_object_get(object, "config"), &r->config) ||
        !copy_string(object, "state", state, sizeof state) || !note ||
        !copy_number(object, "build_ms", -1, 1e9, &r->build_ms))
        return false;
    snprintf(r->note, sizeof r->note, "%s", note); /* json_text makes what is no UTF-8 longer */
    r->state = STATE_COUNT;
    for (int i = 0; i < STATE_COUNT; i++)
        if (strcmp(state, record_state_name((enum record_state)i)) == 0)
            r->state = (enum record_state)i;
    for (size_t i = 0; i < json_array_size(runs) && i < RECORD_MAX_RUNS; i++)
        r->runs[r->run_count++] = json_number_value(json_array_get(runs, i));
    record_read_figures(json_object_get(object, "figures"), &r->figures);
    return r->state != STATE_COUNT;
}

bool record_read_try(const json_t *object, struct record_try *r)
{
    if (!copy_string(object, "session", r->session, sizeof r->session))
        r->session[0] = '\0';
    r->time = read_time(object);
    return record_read_device(json_object_get(object, "device"), &r->device) &&
           record_read_case(json_object_get(object, "case"), &r->c) && record_read_outcome(object, r);
}

static bool read_configs(const json_t *array, struct record_config configs[RECORD_MAX_RANKED], int *count)
{
    for (size_t i = 0; i < json_array_size(array) && i < RECORD_MAX_RANKED; i++)
        if (!read_config(json_array_get(array, i), &configs[(*count)++]))
            return false;
    return true;
}

/* Lines of earlier versions do not say it: of what they wrote only sessions took time. What a later version
 * may say is no session of ours. */
static enum record_origin read_origin(const json_t *object, double seconds)
{
    const char *text = json_string_value(json_object_get(object, "origin"));
    enum record_origin origin = ORIGIN_SESSION;
    if (!text)
        return seconds > 0 ? ORIGIN_SESSION : ORIGIN_IMPORT;
    while (origin < ORIGIN_COUNT && strcmp(text, origins[origin]) != 0)
        origin++;
    return origin < ORIGIN_COUNT ? origin : ORIGIN_IMPORT;
}

bool record_read_choice(const json_t *object, struct record_choice *r)
{
    unsigned evaluations = 0, asked = 0;
    if (!record_read_device(json_object_get(object, "device"), &r->device) ||
        !record_read_case(json_object_get(object, "case"), &r->c) ||
        !copy_number(object, "default_ms", -1, 1e9, &r->default_ms) ||
        !copy_number(object, "first_rung_ms", -1, 1e9, &r->first_rung_ms) ||
        !copy_number(object, "plain_ms", -1, 1e9, &r->plain_ms) ||
        !copy_number(object, "seconds", 0, 1e9, &r->seconds) ||
        !copy_unsigned(object, "evaluations", 1 << 30, &evaluations))
        return false;
    r->evaluations = (int)evaluations;
    /* What follows is not in records of before. */
    r->raced = copy_number(object, "drift", -1, 1e9, &r->drift);
    if (!copy_number(object, "load", 0, 1, &r->load))
        r->load = -1;
    if (!copy_string(object, "clock", r->clock, sizeof r->clock))
        r->clock[0] = '\0';
    r->asked = copy_unsigned(object, "asked", 1 << 30, &asked) ? (int)asked : 0;
    r->unfinished = json_is_true(json_object_get(object, "unfinished"));
    r->continues = json_is_true(json_object_get(object, "continues"));
    r->origin = read_origin(object, r->seconds);
    r->informs = json_is_true(json_object_get(object, "informs"));
    if (!copy_string(object, "objective", r->objective, sizeof r->objective))
        r->objective[0] = '\0';
    r->time = read_time(object);
    return read_configs(json_object_get(object, "ranked"), r->ranked, &r->count) && r->count > 0 &&
           read_configs(json_object_get(object, "seeds"), r->seeds, &r->seed_count);
}

bool record_read_trust(const json_t *object, struct record_trust *r)
{
    char verdict[16];
    if (!record_read_device(json_object_get(object, "device"), &r->device) ||
        !copy_string(object, "program", r->program, sizeof r->program) ||
        !copy_string(object, "filter", r->filter, sizeof r->filter) ||
        !copy_string(object, "variant", r->variant, sizeof r->variant) ||
        !copy_string(object, "config", r->config, sizeof r->config) ||
        !copy_string(object, "parameters", r->parameters, sizeof r->parameters) ||
        !copy_string(object, "verdict", verdict, sizeof verdict) ||
        !copy_string(object, "evidence", r->evidence, sizeof r->evidence))
        return false;
    r->right = strcmp(verdict, "right") == 0;
    r->time = read_time(object);
    return r->right || strcmp(verdict, "wrong") == 0;
}
