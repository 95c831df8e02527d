/* SPDX-License-Identifier: BSD-2-Clause */
/* What is known of configurations beside their time: facts, and the user's metrics. */
#include "cli/tune/tune.h"

#include "base/json_text.h"
#include "base/mem.h"
#include "base/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

hone_status tune_read_wishes(struct tune_wishes *wishes, hone_error *error)
{
    hone_status status = HONE_OK;
    for (int i = 0; i < wishes->texts.count && !status; i++)
        status = metrics_add(&wishes->metrics, wishes->texts.items[i], error);
    if (!status && wishes->objective)
        status = metrics_set_objective(&wishes->metrics, wishes->objective, error);
    return status;
}

void tune_print_metrics(const struct session_result *r, const struct metrics *metrics)
{
    char objective[EXPR_MAX_NAME + 8];
    for (int i = 0; i < metrics->count; i++)
        if (isnan(r->ranked[0].metrics[i]))
            printf("  %-10s not known\n", metrics->all[i].name);
        else
            printf("  %-10s %.4g\n", metrics->all[i].name, r->ranked[0].metrics[i]);
    if (metrics_by_time(metrics))
        return;
    metrics_print_objective(metrics, objective, sizeof objective);
    printf("  objective  %s, %.4g: kept for comparison, and not used by 'hone apply'\n", objective,
           r->ranked[0].objective);
}

/* ---- Facts ---- */

static bool is_known(const struct record_figures *figures, enum record_figure which)
{
    return figures->known & 1u << which;
}

/* In the order of the columns. Waves stand with the most that there could be. */
static const struct column {
    enum record_figure figure;
    const char *title;
} columns[] = {{FIGURE_REGISTERS, "registers"}, {FIGURE_SPILLS, "spills"},     {FIGURE_PRIVATE, "private"},
               {FIGURE_LOCAL, "local"},         {FIGURE_MULTIPLE, "multiple"}, {FIGURE_WAVES, "waves"},
               {FIGURE_ENERGY, "energy/J"}};

static void print_figure(const struct record_figures *figures, enum record_figure which, char to[32])
{
    if (!is_known(figures, which))
        snprintf(to, 32, "-");
    else if (which == FIGURE_WAVES)
        snprintf(to, 32, "%.0f/%.0f", figures->values[which], figures->values[FIGURE_MOST_WAVES]);
    else
        snprintf(to, 32, "%.4g", figures->values[which]);
}

void tune_add_figures(const struct record_figures *figures, struct text *out)
{
    for (size_t i = 0; i < COUNT_OF(columns); i++) {
        char number[32];
        print_figure(figures, columns[i].figure, number);
        if (is_known(figures, columns[i].figure))
            text_add(out, "%s%s %s", out->length ? ", " : "; ", columns[i].title, number);
    }
}

/* ---- The table ---- */

/* Energy has a column where it was measured. */
static size_t count_columns(const struct session_result *r)
{
    for (size_t i = 0; i < r->try_count; i++)
        if (is_known(&r->tries[i].measured.figures, FIGURE_ENERGY))
            return COUNT_OF(columns);
    return COUNT_OF(columns) - 1;
}

/* By the objective, or else by time; what failed comes last. */
static int by_rank(const void *a, const void *b, void *context)
{
    const struct metrics *metrics = context;
    const struct session_try *x = *(const struct session_try *const *)a;
    const struct session_try *y = *(const struct session_try *const *)b;
    const double p = metrics_cost(metrics, x->objective), q = metrics_cost(metrics, y->objective);
    if ((p < 0) != (q < 0))
        return p < 0 ? 1 : -1;
    return (p > q) - (p < q);
}

static void print_row(const struct session_try *t, const struct metrics *metrics, size_t count)
{
    char cell[32];
    if (t->measured.ms >= 0)
        printf("  %9.4g", t->measured.ms);
    else
        printf("  %9s", record_state_name(t->measured.state));
    for (int i = 0; i < metrics->count; i++) {
        snprintf(cell, sizeof cell, isnan(t->metrics[i]) ? "-" : "%.4g", t->metrics[i]);
        printf("  %*s", (int)fmax(9, (double)strlen(metrics->all[i].name)), cell);
    }
    for (size_t i = 0; i < count; i++) {
        print_figure(&t->measured.figures, columns[i].figure, cell);
        printf("  %*s", (int)strlen(columns[i].title), cell);
    }
    printf("  %s%s%s\n", strcmp(t->variant, "kernel") == 0 ? "" : t->variant,
           strcmp(t->variant, "kernel") == 0 || !t->config[0] ? "" : " ", t->config);
}

static void print_titles(const struct metrics *metrics, size_t count)
{
    printf("  every configuration, the best first (times of the search):\n  %9s", "ms");
    for (int i = 0; i < metrics->count; i++)
        printf("  %9s", metrics->all[i].name);
    for (size_t i = 0; i < count; i++)
        printf("  %s", columns[i].title);
    printf("  configuration\n");
}

/* "registers, spills: not known, because ..." */
static void print_missing(const json_t *missing)
{
    const char *told = NULL;
    for (size_t i = 0; i < COUNT_OF(columns); i++) {
        const char *name = record_figure_names[columns[i].figure].name;
        const char *why = json_string_value(json_object_get(missing, name));
        if (!why)
            continue;
        if (told && strcmp(told, why) == 0)
            printf(", %s", columns[i].title);
        else
            printf("%s%s%s  not known  %s", told ? ": " : "", told ? told : "", told ? "\n" : "",
                   columns[i].title);
        told = why;
    }
    if (told)
        printf(": %s\n", told);
}

void tune_print_tries(const struct session_result *r, const struct session_options *options)
{
    const struct metrics *metrics = options->metrics;
    if (!options->facts && metrics->count == 0 && metrics_by_time(metrics))
        return;
    const struct session_try **order = mem_new(r->try_count, sizeof *order);
    if (!order)
        return;
    for (size_t i = 0; i < r->try_count; i++)
        order[i] = &r->tries[i];
    qsort_r(order, r->try_count, sizeof *order, by_rank, (void *)metrics);
    print_titles(metrics, count_columns(r));
    for (size_t i = 0; i < r->try_count; i++)
        print_row(order[i], metrics, count_columns(r));
    print_missing(r->missing);
    free(order);
}

/* ---- For programs ---- */

json_t *tune_metrics_json(const double *values, const struct metrics *metrics)
{
    json_t *object = json_object();
    for (int i = 0; i < metrics->count; i++)
        json_object_set_new(object, metrics->all[i].name, cli_json_real(values[i]));
    return object;
}

/* Each by its name; null where it is not known. */
static json_t *figures_json(const struct record_figures *figures)
{
    json_t *object = json_object();
    for (int i = 0; i < FIGURE_COUNT; i++)
        json_object_set_new(
            object, record_figure_names[i].name,
            cli_json_real(is_known(figures, (enum record_figure)i) ? figures->values[i] : NAN));
    return object;
}

json_t *tune_tries_json(const struct session_result *r, const struct metrics *metrics)
{
    json_t *tries = json_array();
    for (size_t i = 0; i < r->try_count; i++) {
        const struct session_try *t = &r->tries[i];
        json_array_append_new(
            tries,
            json_pack("{s:s, s:s, s:s, s:o, s:o, s:o, s:o}", "variant", t->variant, "config", t->config,
                      "state", record_state_name(t->measured.state), "ms", cli_json_real(t->measured.ms),
                      "note", json_text(t->measured.note), "facts", figures_json(&t->measured.figures),
                      "metrics", tune_metrics_json(t->metrics, metrics)));
    }
    return tries;
}
