/* SPDX-License-Identifier: BSD-2-Clause */
#include "tune/session/metrics.h"

#include "base/error.h"
#include "base/mem.h"
#include "base/text.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static const char *const simple_names[] = {"time", "ms", "bytes", "flops"};

static int figure_named(const char *name)
{
    int i = 0;
    while (i < FIGURE_COUNT && strcmp(record_figure_names[i].name, name) != 0)
        i++;
    return i;
}

static bool is_built_in(const char *name)
{
    for (size_t i = 0; i < COUNT_OF(simple_names); i++)
        if (strcmp(simple_names[i], name) == 0)
            return true;
    return figure_named(name) < FIGURE_COUNT;
}

/* Among the first `count`; -1: none. */
static int metric_named(const struct metrics *metrics, int count, const char *name)
{
    int i = count - 1;
    while (i >= 0 && strcmp(metrics->all[i].name, name) != 0)
        i--;
    return i;
}

bool metrics_is_metric(const struct metrics *metrics, const char *name)
{
    return metric_named(metrics, metrics->count, name) >= 0;
}

/* ---- What the user says ---- */

static size_t name_length(const char *text)
{
    size_t length = 0;
    if (isalpha((unsigned char)text[0]) || text[0] == '_')
        while (isalnum((unsigned char)text[length]) || text[length] == '_')
            length++;
    return length;
}

hone_status metrics_add(struct metrics *metrics, const char *text, hone_error *error)
{
    const size_t length = name_length(text);
    struct metric *metric = &metrics->all[metrics->count];
    if (metrics->count == METRICS_MOST)
        return error_usage(error, "--metric is given more than %d times", METRICS_MOST);
    if (length == 0 || length > EXPR_MAX_NAME || text[length] != '=')
        return error_usage(
            error, "--metric '%s': a metric is written NAME=EXPRESSION, such as gbs=bytes/time/1e9", text);
    snprintf(metric->name, sizeof metric->name, "%.*s", (int)length, text);
    if (is_built_in(metric->name) || metric_named(metrics, metrics->count, metric->name) >= 0)
        return error_usage(error, "--metric '%s': there is a '%s' already", text, metric->name);
    metric->text = text;
    hone_status status = expr_parse(&metric->expr, text + length + 1, error);
    metrics->count += !status;
    return status;
}

static hone_status no_direction(const char *name, hone_error *error)
{
    return error_usage(error, "--objective %s: is more of it better, or less? Write %s:max or %s:min", name,
                       name, name);
}

hone_status metrics_set_objective(struct metrics *metrics, const char *text, hone_error *error)
{
    const size_t length = name_length(text);
    const char *way = text + length;
    char name[EXPR_MAX_NAME + 1];
    if (length == 0 || length > EXPR_MAX_NAME ||
        (*way && strcmp(way, ":max") != 0 && strcmp(way, ":min") != 0))
        return error_usage(error, "--objective '%s': an objective is written NAME, NAME:min or NAME:max",
                           text);
    snprintf(name, sizeof name, "%.*s", (int)length, text);
    const bool costs = strcmp(name, "time") == 0 || strcmp(name, "ms") == 0 || strcmp(name, "energy") == 0;
    if (!*way && !costs)
        return no_direction(name, error);
    metrics->most = strcmp(way, ":max") == 0;
    /* Milliseconds are time. */
    const bool time = costs && name[0] != 'e' && !metrics->most;
    snprintf(metrics->objective, sizeof metrics->objective, "%s", time ? "" : name);
    return HONE_OK;
}

void metrics_print_objective(const struct metrics *metrics, char *to, size_t size)
{
    snprintf(to, size, "%s:%s", metrics_by_time(metrics) ? "time" : metrics->objective,
             metrics && metrics->most ? "max" : "min");
}

bool metrics_by_time(const struct metrics *metrics)
{
    return !metrics || !metrics->objective[0];
}

bool metrics_need(const struct metrics *metrics, enum record_figure figure)
{
    const char *name = record_figure_names[figure].name;
    for (int i = 0; metrics && i < metrics->count; i++)
        if (expr_mentions(&metrics->all[i].expr, name))
            return true;
    return metrics && strcmp(metrics->objective, name) == 0;
}

/* ---- Values ---- */

struct lookup {
    const struct metrics *metrics;
    const struct metric_source *source;
    const double *values;
    int count;    /* metrics that can be used */
    bool unknown; /* a name was used that has no value here */
};

static double simple_value(const struct metric_source *source, const char *name)
{
    const int figure = figure_named(name);
    if (figure < FIGURE_COUNT)
        return source->figures->known & 1u << figure ? source->figures->values[figure] : NAN;
    return strcmp(name, "time") == 0    ? source->ms * 1e-3
           : strcmp(name, "ms") == 0    ? source->ms
           : strcmp(name, "bytes") == 0 ? source->bytes
           : strcmp(name, "flops") == 0 ? source->flops
                                        : NAN; /* a tunable that other configurations have */
}

static bool find(void *context, const char *name, double *value)
{
    struct lookup *l = context;
    const int metric = metric_named(l->metrics, l->count, name);
    *value = metric >= 0 ? l->values[metric] : simple_value(l->source, name);
    l->unknown = l->unknown || isnan(*value);
    return true;
}

void metrics_compute(const struct metrics *metrics, const struct metric_source *source, double *values)
{
    for (int i = 0; i < METRICS_MOST; i++)
        values[i] = NAN;
    for (int i = 0; i < metrics->count; i++) {
        struct lookup l = {metrics, source, values, i, false};
        const struct expr_scope outer = {.real = find, .context = &l};
        struct expr_scope names = source->names, of_case = {0};
        if (names.outer)
            of_case = *names.outer;
        of_case.outer = &outer;
        names.outer = &of_case;
        if (expr_real(&metrics->all[i].expr, &names, &values[i], NULL) != HONE_OK || l.unknown ||
            !isfinite(values[i]))
            values[i] = NAN;
    }
}

double metrics_objective(const struct metrics *metrics, const struct metric_source *source,
                         const double *values)
{
    const int metric = metric_named(metrics, metrics->count, metrics->objective);
    int64_t tunable = 0;
    if (metric >= 0)
        return values[metric];
    if (metrics_by_time(metrics))
        return source->ms;
    return expr_lookup(&source->names, metrics->objective, &tunable)
               ? (double)tunable
               : simple_value(source, metrics->objective);
}

double metrics_cost(const struct metrics *metrics, double objective)
{
    if (!(objective >= 0))
        return -1;
    return !metrics->most ? objective : objective > 0 ? fmin(1 / objective, 1e300) : 1e300;
}

/* ---- Checks ---- */

/* Names of the case and of configurations, the first `count` metrics, and what is built in. */
struct known_names {
    const struct metrics *metrics;
    int count;
    const struct metric_source *source;
    const char *const *tunables;
    int tunable_count;
    const json_t *missing;
};

static bool is_tunable(const struct known_names *k, const char *name)
{
    for (int i = 0; i < k->tunable_count; i++)
        if (strcmp(k->tunables[i], name) == 0)
            return true;
    return false;
}

static bool is_known(const struct known_names *k, const char *name)
{
    int64_t value;
    return is_tunable(k, name) || is_built_in(name) || metric_named(k->metrics, k->count, name) >= 0 ||
           expr_lookup(&k->source->names, name, &value);
}

static void list_names(const struct known_names *k, struct text *out)
{
    for (int i = 0; i < k->count; i++)
        text_add(out, "%s, ", k->metrics->all[i].name);
    for (size_t i = 0; i < COUNT_OF(simple_names); i++)
        text_add(out, "%s%s", i ? ", " : "", simple_names[i]);
    for (int i = 0; i < FIGURE_COUNT; i++)
        text_add(out, ", %s", record_figure_names[i].name);
    for (int i = 0; i < k->tunable_count; i++)
        text_add(out, ", %s", k->tunables[i]);
    for (const struct expr_scope *at = k->source->names.outer; at; at = at->outer)
        for (int i = 0; i < at->count; i++)
            text_add(out, ", %s", at->names[i]);
}

static bool find_known(void *context, const char *name, double *value)
{
    *value = 1;
    return is_known(context, name);
}

static hone_status unknown_name(const struct known_names *k, const char *what, const char *name, int column,
                                hone_error *error)
{
    struct text names = {0};
    list_names(k, &names);
    hone_status status = error_usage(error, "%s, column %d: unknown name '%s'; there are %.900s", what,
                                     column, name, text_view(&names));
    if (error)
        error->column = column;
    text_finish(&names);
    return status;
}

/* Bytes and operations, which the user has to say, or a file. */
static hone_status check_amounts(const struct known_names *k, const struct metric *metric, const char *what,
                                 hone_error *error)
{
    for (int i = 0; i < 2; i++) {
        const char *name = i ? "flops" : "bytes";
        const char *why = json_string_value(json_object_get(k->missing, name));
        if (is_tunable(k, name) || !isnan(i ? k->source->flops : k->source->bytes) ||
            !expr_mentions(&metric->expr, name))
            continue;
        if (why)
            return error_usage(error, "%s: '%s' is not known: %s; a number in its place will do", what, name,
                               why);
        return error_usage(error, "%s: '%s' is not known: --%s tells it of a kernel of your own", what, name,
                           name);
    }
    return HONE_OK;
}

static hone_status check_metric(struct known_names *k, int index, hone_error *error)
{
    const struct metric *metric = &k->metrics->all[index];
    const struct expr_scope scope = {.real = find_known, .context = k};
    char what[128];
    int column = 0;
    k->count = index;
    const char *unknown = expr_unknown(&metric->expr, &scope, &column);
    snprintf(what, sizeof what, "--metric '%.100s'", metric->text);
    if (unknown)
        return unknown_name(k, what, unknown, column + (int)strlen(metric->name) + 1, error);
    return check_amounts(k, metric, what, error);
}

/* The first figure that is missing among those that a name stands for; metrics stand for what they
 * mention. */
static const char *missing_for(const struct metrics *metrics, int count, const char *name,
                               const json_t *missing)
{
    const int index = metric_named(metrics, count, name);
    if (index < 0)
        return json_object_get(missing, name) ? name : NULL;
    for (int i = 0; i < metrics->all[index].expr.count; i++) {
        const char *used = metrics->all[index].expr.nodes[i].name;
        const char *found = used[0] ? missing_for(metrics, index, used, missing) : NULL;
        if (found)
            return found;
    }
    return NULL;
}

hone_status metrics_check(const struct metrics *metrics, const struct metric_source *source,
                          const char *const *tunables, int count, const json_t *missing, hone_error *error)
{
    struct known_names k = {metrics, 0, source, tunables, count, missing};
    hone_status status = HONE_OK;
    for (int i = 0; i < metrics->count && !status; i++)
        status = check_metric(&k, i, error);
    k.count = metrics->count;
    if (status || metrics_by_time(metrics))
        return status;
    if (!is_known(&k, metrics->objective)) {
        char what[64];
        snprintf(what, sizeof what, "--objective '%s'", metrics->objective);
        return unknown_name(&k, what, metrics->objective, 1, error);
    }
    const char *name = missing_for(metrics, metrics->count, metrics->objective, missing);
    if (!name)
        return HONE_OK;
    return error_unsupported(error, "--objective %s: '%s' is not known here: %s", metrics->objective, name,
                             json_string_value(json_object_get(missing, name)));
}
