/* SPDX-License-Identifier: BSD-2-Clause */
#include "tune/search/judge.h"

#include "base/error.h"
#include "base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_NAMES = SPACE_MAX_PATHS * SPACE_MAX_PARAMETERS + RECORDING_MAX_FIGURES };

static int figure_named(const struct recording *r, const char *name)
{
    int i = r->figure_count - 1;
    while (i >= 0 && strcmp(r->figures[i], name) != 0)
        i--;
    return i;
}

/* NAN: the result does not tell it. */
static double figure_of(const struct recording *r, const struct recorded *p, const char *name)
{
    const int figure = figure_named(r, name);
    return figure >= 0 ? p->figures[figure] : NAN;
}

/* ---- The names of one result ---- */

struct names {
    const struct recording *recording;
    const struct recorded *recorded;
    const char *tunables[SPACE_MAX_PARAMETERS];
    int64_t values[SPACE_MAX_PARAMETERS];
    struct expr_scope figures;
};

static bool find(void *context, const char *name, double *value)
{
    const struct names *names = context;
    const struct space_path *path = &names->recording->space.paths[names->recorded->point.path];
    *value = figure_of(names->recording, names->recorded, name);
    for (int i = 0; i < path->count; i++)
        if (strcmp(path->parameters[i].name, name) == 0)
            *value = recording_number(names->recording, names->recorded->point.values[i]);
    return !isnan(*value);
}

static struct metric_source source_of(struct names *names, const struct recording *r,
                                      const struct recorded *p, double ms)
{
    static const struct record_figures none = {0};
    const struct space_path *path = &r->space.paths[p->point.path];
    int count = 0;
    *names = (struct names){.recording = r, .recorded = p};
    for (int i = 0; i < path->count; i++)
        if (!recording_word(r, p->point.values[i])) {
            names->tunables[count] = path->parameters[i].name;
            names->values[count++] = p->point.values[i];
        }
    names->figures = (struct expr_scope){.real = find, .context = names};
    return (struct metric_source){.names = {.outer = &names->figures,
                                            .names = names->tunables,
                                            .values = names->values,
                                            .count = count},
                                  .ms = ms,
                                  .bytes = figure_of(r, p, "bytes"),
                                  .flops = figure_of(r, p, "flops"),
                                  .figures = &none};
}

static double value_at(const struct recording *r, const struct recorded *p, const struct metrics *metrics,
                       double ms, double *values)
{
    struct names names;
    const struct metric_source source = source_of(&names, r, p, ms);
    double value;
    metrics_compute(metrics, &source, values);
    value = metrics_objective(metrics, &source, values);
    return isnan(value) && !metrics_by_time(metrics) && !metrics_is_metric(metrics, metrics->objective)
               ? find(&names, metrics->objective, &value) ? value : NAN
               : value;
}

double recording_value(const struct recording *r, const struct recorded *p, const struct metrics *metrics,
                       double *values)
{
    return value_at(r, p, metrics, p->ms, values);
}

/* ---- Checks ---- */

static int list_names(const struct recording *r, const char *list[MAX_NAMES])
{
    int count = 0;
    for (int i = 0; i < r->figure_count; i++)
        list[count++] = r->figures[i];
    for (int i = 0; i < r->space.count; i++)
        for (int k = 0; k < r->space.paths[i].count; k++) {
            const char *name = r->space.paths[i].parameters[k].name;
            int known = 0;
            while (known < count && strcmp(list[known], name) != 0)
                known++;
            list[known] = name;
            count += known == count;
        }
    return count;
}

/* What sessions measure, and this file does not have. */
static json_t *list_missing(const struct recording *r)
{
    json_t *missing = json_object();
    for (int i = 0; i < FIGURE_COUNT + 2; i++) {
        const char *name = i < FIGURE_COUNT    ? record_figure_names[i].name
                           : i == FIGURE_COUNT ? "bytes"
                                               : "flops";
        if (figure_named(r, name) < 0)
            json_object_set_new(missing, name, json_string("the file does not tell it"));
    }
    return missing;
}

static hone_status check(const struct recording *r, const struct metrics *metrics, hone_error *error)
{
    const char **names = mem_new(MAX_NAMES, sizeof *names);
    json_t *missing = list_missing(r);
    struct names first;
    hone_status status = names && missing ? HONE_OK : error_memory(error, "metrics");
    if (!status) {
        const struct metric_source source = source_of(&first, r, &r->points[0], 1);
        status = metrics_check(metrics, &source, names, list_names(r, names), missing, error);
    }
    json_decref(missing);
    free(names);
    return status;
}

/* ---- Costs ---- */

/* False where the objective is not known. */
static bool judge(const struct recording *r, struct recorded *p, const struct metrics *metrics)
{
    double values[METRICS_MOST];
    p->cost = p->ms < 0 ? -1 : metrics_cost(metrics, value_at(r, p, metrics, p->ms, values));
    for (int i = 0; i < p->run_count && p->cost >= 0; i++)
        p->runs[i] = metrics_cost(metrics, value_at(r, p, metrics, p->runs[i], values));
    return p->cost >= 0;
}

hone_status recording_judge(struct recording *r, const struct metrics *metrics, hone_error *error)
{
    size_t judged = 0;
    hone_status status = check(r, metrics, error);
    if (status || metrics_by_time(metrics))
        return status;
    for (size_t i = 0; i < r->count; i++)
        judged += judge(r, &r->points[i], metrics);
    return judged ? HONE_OK
                  : error_unsupported(error,
                                      "--objective %s: no result of the file that works tells what it needs",
                                      metrics->objective);
}
