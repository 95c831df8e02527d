/* SPDX-License-Identifier: BSD-2-Clause */
/* What was evaluated, with what is computed of it. */
#include "tune/session/engine.h"

#include "base/mem.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

bool session_by_time(const struct session *s)
{
    return metrics_by_time(s->options->metrics);
}

unsigned session_wanted_figures(const struct session *s)
{
    static const enum record_figure compiled[] = {FIGURE_REGISTERS, FIGURE_SPILLS, FIGURE_WAVES,
                                                  FIGURE_MOST_WAVES};
    const struct metrics *metrics = s->options->metrics;
    unsigned wanted = metrics_need(metrics, FIGURE_ENERGY) ? 1u << FIGURE_ENERGY : 0;
    bool facts = s->options->facts;
    for (size_t i = 0; i < COUNT_OF(compiled); i++)
        facts = facts || metrics_need(metrics, compiled[i]);
    wanted |= facts ? 1u << FIGURE_REGISTERS : 0;
    for (int i = 0; i < FIGURE_COUNT; i++) /* what cannot be known is not waited for */
        if (json_object_get(s->result->missing, record_figure_names[i].name))
            wanted &= ~(1u << i);
    return wanted;
}

/* ---- Metrics ---- */

struct source {
    struct metric_source of;
    const char *names[SPACE_MAX_PARAMETERS];
};

static void source_init(struct source *source, const struct session *s, const struct point *point, double ms,
                        const struct record_figures *figures)
{
    const struct space_path *path = &s->space.paths[point->path];
    for (int i = 0; i < path->count; i++)
        source->names[i] = !s->ops->is_number || s->ops->is_number(s, i) ? path->parameters[i].name : "";
    source->of = (struct metric_source){
        .names = {.outer = &s->scope, .names = source->names, .values = point->values, .count = path->count},
        .ms = ms,
        .figures = figures};
    s->ops->cost(s, point, &source->of.bytes, &source->of.flops);
}

/* The objective's value. */
static double compute(const struct session *s, const struct point *point, double ms,
                      const struct record_figures *figures, double values[METRICS_MOST])
{
    static const struct metrics none;
    const struct metrics *metrics = s->options->metrics ? s->options->metrics : &none;
    struct source source;
    for (int i = 0; i < METRICS_MOST; i++)
        values[i] = NAN;
    if (ms < 0)
        return NAN;
    source_init(&source, s, point, ms, figures);
    metrics_compute(metrics, &source.of, values);
    return metrics_objective(metrics, &source.of, values);
}

/* Each once. */
static int list_tunables(const struct session *s, const char *names[])
{
    int count = 0;
    for (int p = 0; p < s->space.count; p++)
        for (int i = 0; i < s->space.paths[p].count; i++) {
            const char *name = s->space.paths[p].parameters[i].name;
            int known = 0;
            while (known < count && strcmp(names[known], name) != 0)
                known++;
            if (known == count && (!s->ops->is_number || s->ops->is_number(s, i)))
                names[count++] = name;
        }
    return count;
}

hone_status session_check_metrics(const struct session *s, hone_error *error)
{
    const char *names[SPACE_MAX_PATHS * SPACE_MAX_PARAMETERS];
    const struct record_figures nothing = {0};
    const struct point any = point_default(&s->space, 0);
    struct source source;
    if (!s->options->metrics)
        return HONE_OK;
    source_init(&source, s, &any, 1, &nothing);
    return metrics_check(s->options->metrics, &source.of, names, list_tunables(s, names), s->result->missing,
                         error);
}

/* ---- Tries ---- */

const struct session_try *session_find_try(const struct session *s, const struct point *point)
{
    const struct session_result *r = s->result;
    for (size_t i = 0; i < r->try_count; i++)
        if (point_equal(&r->tries[i].point, point))
            return &r->tries[i];
    return NULL;
}

double session_keep_try(struct session *s, const struct point *point, const char *config,
                        const struct measured *m)
{
    struct session_result *r = s->result;
    double values[METRICS_MOST];
    const double ms = session_worked(m) ? m->ms : -1;
    const double objective = compute(s, point, ms, &m->figures, values);
    if (ms >= 0 && (s->fastest < 0 || ms < s->fastest))
        s->fastest = ms;
    /* Without memory the table will be shorter; the search goes on. */
    if (mem_grow(&r->tries, &r->try_capacity, r->try_count + 1, sizeof *r->tries)) {
        struct session_try *t = &r->tries[r->try_count++];
        *t = (struct session_try){
            .point = *point, .measured = *m, .time = (int64_t)time(NULL), .objective = objective};
        snprintf(t->variant, sizeof t->variant, "%s", s->space.paths[point->path].name);
        snprintf(t->config, sizeof t->config, "%s", config);
        memcpy(t->metrics, values, sizeof t->metrics);
        s->ops->cost(s, point, &t->bytes, &t->flops);
    }
    return session_by_time(s) ? ms : metrics_cost(s->options->metrics, objective);
}

void session_rate(const struct session *s, struct finalist *f)
{
    static const struct record_figures nothing;
    const struct session_try *t = session_find_try(s, &f->point);
    f->objective = compute(s, &f->point, f->runs.median, t ? &t->measured.figures : &nothing, f->metrics);
}

void session_result_finish(struct session_result *r)
{
    free(r->tries);
    json_decref(r->missing);
    *r = (struct session_result){.try_count = 0};
}
