/* SPDX-License-Identifier: BSD-2-Clause */
/* hone tune --kernel-file: what came of it. */
#include "cli/tune/own.h"
#include "cli/tune/tune.h"

#include "base/json_text.h"
#include "base/text.h"
#include "cli/show.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* The first of each kind of failure, with what was seen. */
static void print_failures(const struct own_session_result *r)
{
    bool told[STATE_COUNT] = {[STATE_OK] = true, [STATE_SLOW] = true};
    for (size_t i = 0; i < r->base.try_count; i++) {
        const struct session_try *t = &r->base.tries[i];
        if (!told[t->measured.state])
            printf("  %-10s %s: %s\n", record_state_name(t->measured.state), t->config, t->measured.note);
        told[t->measured.state] = true;
    }
}

/* Against the best, which may be slower by a hair than the fastest if nothing is seen to be faster. */
static double loss(const struct own_session_result *r, int index)
{
    return (r->base.ranked[index].runs.median / r->base.ranked[0].runs.median - 1) * 100;
}

static void print_ranks(const struct own_session_result *r)
{
    if (r->base.tied < 0)
        return; /* the table of all has them in their order */
    if (r->base.tied && strcmp(r->base.ranked[0].config, r->first) == 0)
        printf("  stays      the best is the first configuration: nothing is seen to be faster\n");
    for (int i = 1; i < r->base.ranked_count; i++) {
        printf("  %+7.1f %%  %s (%.4g ms", loss(r, i), r->base.ranked[i].config,
               r->base.ranked[i].runs.median);
        if (r->base.ranked[i].tied)
            printf(", within the %.1f %% that cannot be told apart", r->base.margin * 100);
        printf(")\n");
    }
}

static bool differs_in_one(const struct point *a, const struct point *b, int index)
{
    for (int i = 0; i < SPACE_MAX_PARAMETERS; i++)
        if ((a->values[i] != b->values[i]) != (i == index))
            return false;
    return true;
}

/* The winner's time as the search saw it: the final is fair among finalists only. */
static double search_ms(const struct own_session_result *r)
{
    for (size_t i = 0; i < r->base.try_count; i++)
        if (point_equal(&r->base.tries[i].point, &r->base.ranked[0].point))
            return r->base.tries[i].measured.ms;
    return r->base.ranked[0].runs.median;
}

/* What a neighbour of the winner costs against it: in the final where it took part, else in the search. */
static double neighbour_loss(const struct own_session_result *r, const struct session_try *t)
{
    for (int i = 1; i < r->base.ranked_count; i++)
        if (point_equal(&r->base.ranked[i].point, &t->point))
            return loss(r, i);
    return (t->measured.ms / search_ms(r) - 1) * 100;
}

/* What the winner would lose with another value of one parameter, as far as the search has seen it. */
static void print_neighbours(const struct kernel_run *run)
{
    const struct own_session_result *r = &run->result;
    const struct point *best = &r->base.ranked[0].point;
    bool told = false;
    for (int i = 0; i < run->spec->parameter_count; i++) {
        struct text line = {0}, own = {0};
        for (size_t k = 0; k < r->base.try_count; k++) {
            const struct session_try *t = &r->base.tries[k];
            if (!differs_in_one(&t->point, best, i))
                continue;
            text_add(&line, line.length ? ", " : "");
            own_value_print(run->spec, i, t->point.values[i], &line);
            text_add(&line, " ");
            if (t->measured.ms >= 0)
                text_add(&line, "%+.0f %%", neighbour_loss(r, t));
            else
                text_add(&line, "%s", record_state_name(t->measured.state));
        }
        own_value_print(run->spec, i, best->values[i], &own);
        if (line.length && !told)
            printf("  one value changed, in the final or else in the search before it:\n");
        told = told || line.length;
        if (line.length)
            printf("  %-10s %s; with %s\n", run->spec->parameters[i].name, text_view(&own), text_view(&line));
        text_finish(&line);
        text_finish(&own);
    }
}

static void print_best(const struct kernel_run *run)
{
    const struct own_session_result *r = &run->result;
    double ms = r->base.ranked[0].runs.median;
    printf("%s of %s on %s\n", run->spec->kernel, run->spec->file, r->base.choice.device.name);
    printf("  best       %s: %.4g ms", r->base.ranked[0].config, ms);
    if (r->bytes > 0 && ms > 0)
        printf(", %.4g GB/s", r->bytes / ms * 1e-6);
    if (r->flops > 0 && ms > 0)
        printf(", %.4g GFLOP/s", r->flops / ms * 1e-6);
    printf("\n");
    tune_print_metrics(&r->base, run->session.metrics);
    if (r->base.choice.default_ms > 0 && ms > 0)
        printf("  %8.3gx  the first configuration, %s (%.4g ms)\n", r->base.choice.default_ms / ms, r->first,
               r->base.choice.default_ms);
}

static void print_table(const struct kernel_run *run)
{
    const struct own_session_result *r = &run->result;
    print_best(run);
    print_ranks(r);
    if (r->base.tied >= 0)
        print_neighbours(run);
    print_failures(r);
    printf("  how        %s%s in %.1f s, %d of them from before; space of %lld",
           show_count(r->base.try_count, "evaluation").text, r->base.exhausted ? " (all there are)" : "",
           r->base.choice.seconds, r->base.resumed, (long long)r->base.space);
    if (r->base.legal >= 0)
        printf(", %lld legal", (long long)r->base.legal);
    tune_print_failures(r->base.states);
    printf("%s\n", run->spec->cold ? "; caches cold" : "");
    tune_print_sureness(&r->base);
    tune_print_tries(&r->base, &run->session);
}

static json_t *ranked_json(const struct own_session_result *r)
{
    json_t *ranked = json_array();
    for (int i = 0; i < r->base.ranked_count; i++)
        json_array_append_new(ranked, json_pack("{s:s, s:o}", "config", r->base.ranked[i].config, "ms",
                                                cli_json_real(r->base.ranked[i].runs.median)));
    return ranked;
}

static json_t *report_json(const struct kernel_run *run)
{
    const struct own_session_result *r = &run->result;
    json_t *report = json_pack(
        "{s:s, s:o, s:s, s:s, s:s, s:o, s:o, s:o, s:I, s:b, s:f, s:o}", "kernel", run->spec->kernel, "file",
        json_text(run->spec->file), "device", r->base.choice.device.name, "best", r->base.ranked[0].config,
        "first", r->first, "first_ms", cli_json_real(r->base.choice.default_ms), "ranked", ranked_json(r),
        "tries", tune_tries_json(&r->base, run->session.metrics), "legal", (json_int_t)r->base.legal,
        "exhausted", r->base.exhausted, "seconds", r->base.choice.seconds, "load",
        cli_json_real(r->base.choice.load >= 0 ? r->base.choice.load : NAN));
    tune_add_outcome(report, &r->base, run->session.random_seed);
    json_object_set_new(report, "bytes", cli_json_real(r->bytes));
    json_object_set_new(report, "flops", cli_json_real(r->flops));
    return report;
}

bool tune_kernel_report(const struct kernel_run *run)
{
    if (run->common.json)
        return cli_print_json(report_json(run));
    if (!run->common.quiet)
        print_table(run);
    return true;
}
