/* SPDX-License-Identifier: BSD-2-Clause */
/* T4 files of hone back into the user's records. */
#include "tune/t4/t4.h"

#include "base/error.h"
#include "base/mem.h"
#include "base/text.h"
#include "choose/records_json.h"
#include "tune/measure/measure.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static void print_configuration(const json_t *configuration, struct record_config *to)
{
    const char *key, *variant = json_string_value(json_object_get(configuration, "variant"));
    json_t *value;
    struct text text = {0};
    snprintf(to->variant, sizeof to->variant, "%s", variant ? variant : "");
    json_object_foreach((json_t *)configuration, key, value)
    {
        const char *space = text.length ? " " : "";
        if (json_is_integer(value))
            text_add(&text, "%s%s=%lld", space, key, (long long)json_integer_value(value));
        else if (json_is_real(value))
            text_add(&text, "%s%s=%.6g", space, key, json_real_value(value));
        else if (json_is_string(value) && strcmp(key, "variant") != 0)
            text_add(&text, "%s%s=%s", space, key, json_string_value(value));
    }
    snprintf(to->config, sizeof to->config, "%s", text_view(&text));
    text_finish(&text);
}

/* The state and the note are among the measurements. */
static const char *told(const json_t *result, const char *what)
{
    const json_t *list = json_object_get(result, "measurements");
    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *name = json_string_value(json_object_get(json_array_get(list, i), "name"));
        const char *value = json_string_value(json_object_get(json_array_get(list, i), "value"));
        if (name && value && strcmp(name, what) == 0)
            return value;
    }
    return "";
}

/* Numbers among the measurements; -1: there is none of that name. */
static double number_told(const json_t *result, const char *what)
{
    const json_t *list = json_object_get(result, "measurements");
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *one = json_array_get(list, i), *value = json_object_get(one, "value");
        const char *name = json_string_value(json_object_get(one, "name"));
        if (name && strcmp(name, what) == 0 && json_is_number(value))
            return json_number_value(value);
    }
    return -1;
}

static void read_figures(const json_t *result, struct record_figures *figures)
{
    for (int i = 0; i < FIGURE_COUNT; i++) {
        const double value = number_told(result, record_figure_names[i].name);
        if (value >= 0) {
            figures->values[i] = value;
            figures->known |= 1u << i;
        }
    }
}

static bool read_result(const json_t *result, struct record_try *t)
{
    const json_t *times = json_object_get(result, "times"), *runs = json_object_get(times, "runtimes");
    const char *state = told(result, "state");
    t->state = STATE_COUNT;
    for (int i = 0; i < STATE_COUNT; i++)
        if (strcmp(state, record_state_name((enum record_state)i)) == 0)
            t->state = (enum record_state)i;
    print_configuration(json_object_get(result, "configuration"), &t->config);
    t->config.ms = number_told(result, "time");
    read_figures(result, &t->figures);
    t->build_ms = json_number_value(json_object_get(times, "compilation_time"));
    snprintf(t->note, sizeof t->note, "%s", told(result, "note"));
    for (size_t i = 0; i < json_array_size(runs) && i < RECORD_MAX_RUNS; i++)
        t->runs[t->run_count++] = json_number_value(json_array_get(runs, i));
    return t->state != STATE_COUNT && t->state != STATE_STARTED && t->state != STATE_ABANDONED &&
           t->config.variant[0];
}

/* Keeps the fastest, in order. */
static void rank(struct record_choice *choice, const struct record_config *config)
{
    int at = choice->count;
    while (at > 0 && choice->ranked[at - 1].ms > config->ms)
        at--;
    if (at == RECORD_MAX_RANKED)
        return;
    if (choice->count < RECORD_MAX_RANKED)
        choice->count++;
    memmove(&choice->ranked[at + 1], &choice->ranked[at],
            sizeof choice->ranked[0] * (size_t)(choice->count - 1 - at));
    choice->ranked[at] = *config;
}

static bool same_try(const struct record_try *a, const struct record_try *b)
{
    return memcmp(&a->device, &b->device, sizeof a->device) == 0 && memcmp(&a->c, &b->c, sizeof a->c) == 0 &&
           strcmp(a->config.variant, b->config.variant) == 0 &&
           strcmp(a->config.config, b->config.config) == 0 && a->state == b->state &&
           a->config.ms == b->config.ms;
}

static bool is_there(const struct records *records, const struct record_try *t)
{
    for (size_t i = 0; i < records->try_count; i++)
        if (same_try(&records->tries[i], t))
            return true;
    return false;
}

static hone_status add_results(const json_t *root, struct record_try *t, size_t *added, hone_error *error)
{
    struct records own = {0};
    struct record_choice choice = {.origin = ORIGIN_IMPORT,
                                   .device = t->device,
                                   .c = t->c,
                                   .default_ms = -1,
                                   .first_rung_ms = -1,
                                   .plain_ms = -1,
                                   .time = t->time};
    const json_t *results = json_object_get(root, "results");
    hone_status status = records_load_of(&own, READ_TRIES, t->c.filter, error);
    for (size_t i = 0; i < json_array_size(results) && !status; i++) {
        struct record_try one = *t;
        if (!read_result(json_array_get(results, i), &one))
            continue;
        if (one.state == STATE_OK && one.config.ms >= 0)
            rank(&choice, &one.config);
        choice.evaluations++;
        if (!is_there(&own, &one)) {
            status = records_add_try(&one, error);
            *added += !status;
        }
    }
    records_finish(&own);
    return status || choice.count == 0 || *added == 0 ? status : records_add_choice(&choice, error);
}

/* When it was measured, not when it was imported: of two results for a case the later one counts. */
static int64_t time_in(const json_t *metadata)
{
    struct tm parts = {0};
    const char *when = json_string_value(json_object_get(metadata, "timestamp"));
    const char *end = when ? strptime(when, "%Y-%m-%dT%H:%M:%SZ", &parts) : NULL;
    return end && *end == '\0' ? (int64_t)timegm(&parts) : 0;
}

static hone_status refuse(const char *path, const json_t *own, hone_error *error)
{
    if (json_is_string(json_object_get(own, "kernel")))
        return error_unsupported(
            error,
            "'%s' holds the results of a kernel of one's own: import the tuning.jsonl of that "
            "machine, of which its sessions are a part",
            path);
    return error_unsupported(
        error, "'%s' was not exported by hone: nothing in it says which filter on which images", path);
}

/* A record that has no file name stands for all files with such a kernel. */
static bool is_chosen(const struct records *records, const struct record_choice *choice)
{
    for (size_t i = 0; i < records->choice_count; i++) {
        const struct record_choice *c = &records->choices[i];
        if (c->origin == ORIGIN_IMPORT && memcmp(&c->c, &choice->c, sizeof c->c) == 0 &&
            strcmp(c->device.name, choice->device.name) == 0 &&
            strcmp(c->ranked[0].config, choice->ranked[0].config) == 0)
            return true;
    }
    return false;
}

/* The median of the runs; negative: it failed. */
static double median_of(const json_t *result)
{
    const json_t *runs = json_object_get(json_object_get(result, "times"), "runtimes");
    const char *invalidity = json_string_value(json_object_get(result, "invalidity"));
    double times[RECORD_MAX_RUNS];
    int count = 0;
    for (size_t i = 0; i < json_array_size(runs) && count < RECORD_MAX_RUNS; i++)
        if (json_number_value(json_array_get(runs, i)) > 0)
            times[count++] = json_number_value(json_array_get(runs, i));
    return invalidity && strcmp(invalidity, "correct") == 0 && count > 0 ? measure_median(times, count) : -1;
}

/* The fastest of a kernel become a choice, which sessions with this kernel begin with. Times of another tuner
 * are no tries of ours. */
static hone_status add_kernel(const json_t *root, const json_t *source, size_t *added, hone_error *error)
{
    struct records own = {0};
    struct record_choice *choice = mem_new(1, sizeof *choice);
    const json_t *results = json_object_get(root, "results");
    if (!choice)
        return error_memory(error, "results");
    *choice = (struct record_choice){
        .origin = ORIGIN_IMPORT, .default_ms = -1, .first_rung_ms = -1, .plain_ms = -1, .time = time(NULL)};
    choice->device.kind = HONE_DEVICE_OTHER;
    choice->c = (struct record_case){.type = HONE_U8, .channels = 1, .width = 1, .height = 1};
    snprintf(choice->device.name, sizeof choice->device.name, "%s",
             json_string_value(json_object_get(source, "device")));
    snprintf(choice->c.filter, sizeof choice->c.filter, "kernel:%.50s",
             json_string_value(json_object_get(source, "kernel")));
    for (size_t i = 0; i < json_array_size(results); i++) {
        struct record_config config = {.variant = "kernel", .ms = median_of(json_array_get(results, i))};
        print_configuration(json_object_get(json_array_get(results, i), "configuration"), &config);
        snprintf(config.variant, sizeof config.variant, "kernel");
        choice->evaluations++;
        if (config.ms >= 0 && config.config[0])
            rank(choice, &config);
    }
    hone_status status = records_load_of(&own, READ_CHOICES, choice->c.filter, error);
    if (!status && choice->count > 0 && !is_chosen(&own, choice)) {
        status = records_add_choice(choice, error);
        *added = !status;
    }
    records_finish(&own);
    free(choice);
    return status;
}

hone_status t4_import(const char *path, size_t *added, hone_error *error)
{
    json_t *root = NULL;
    struct record_try *t = mem_new(1, sizeof *t);
    *added = 0;
    hone_status status = t ? t4_load(path, &root, error) : error_memory(error, "results");
    const json_t *metadata = json_object_get(root, "metadata"), *own = json_object_get(metadata, "x_hone");
    const json_t *source = json_object_get(metadata, "kernel_tuner");
    if (!status && (own || source) && json_array_size(json_object_get(root, "results")) == 0)
        status =
            error_io(error, "'%s' holds no results: nothing was measured, or the session is not over", path);
    if (!status && json_is_string(json_object_get(source, "kernel")) &&
        json_is_string(json_object_get(source, "device"))) {
        status = add_kernel(root, source, added, error);
    } else if (!status) {
        if (!record_read_device(json_object_get(own, "device"), &t->device) ||
            !record_read_case(json_object_get(own, "case"), &t->c))
            status = refuse(path, own, error);
        t->time = time_in(metadata);
        THEN(status, add_results(root, t, added, error));
    }
    json_decref(root);
    free(t);
    return status;
}
