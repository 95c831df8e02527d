/* SPDX-License-Identifier: BSD-2-Clause */
#include "tune/own/session_internal.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/mem.h"
#include "tune/own/final.h"
#include "tune/search/search.h"
#include "tune/session/device_lock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const double final_share = 0.2;                           /* of the time that is kept for the final */
static const double cold_seconds = 30, cold_final_seconds = 300; /* for flushing caches */

/* ---- Evaluating ---- */

/* Nothing is known of how long a right run takes before the first has ended. */
static double run_limit(const struct own_session *s, double best)
{
    double least = s->worker->device_record.kind == HONE_DEVICE_CPU ? 10 : 2;
    double by_best = best * 1e-3 * 10 * MEASURE_RUNS, beside = s->spec->cold ? cold_seconds : 0;
    if (s->options->run_seconds > 0)
        return s->options->run_seconds + beside;
    return (best < 0 ? WORKER_FIRST_SECONDS : by_best > least ? by_best : least) + beside;
}

static void keep_try(struct own_session *s, const struct point *point, const char *config,
                     const struct measured *m)
{
    struct own_session_result *r = s->result;
    r->states[m->state]++;
    if (!mem_grow(&r->tries, &r->capacity, r->count + 1, sizeof *r->tries))
        return; /* the table will be shorter; the search goes on */
    struct own_try *t = &r->tries[r->count++];
    *t = (struct own_try){.point = *point, .measured = *m, .time = (int64_t)time(NULL)};
    snprintf(t->config, sizeof t->config, "%s", config);
}

static bool is_lost(struct own_session *s, enum worker_outcome outcome, const char *note)
{
    return worker_is_lost(outcome, note, &s->failure, &s->result->interrupted);
}

/* What keeps a worker from starting is no configuration's fault: nothing is recorded before there is one. */
static void measure(struct own_session *s, const char *config, double best, struct measured *m)
{
    *m = (struct measured){.state = STATE_ABANDONED, .ms = -1};
    if (s->failure.status || is_lost(s, worker_ready(s->worker, m->note), m->note))
        return;
    own_session_record(s, config, NULL, STATE_STARTED);
    const double build = own_session_build_limit(s), run = run_limit(s, best);
    enum worker_outcome outcome = worker_measure(s->worker, "kernel", config, best, build, run, m);
    if (worker_was_preparing(s->worker, outcome)) /* it then does not prepare */
        outcome = worker_measure(s->worker, "kernel", config, best, build, run, m);
    own_session_record(s, config, m, m->state);
    is_lost(s, outcome, m->note);
}

static double evaluate(void *context, const struct point *point, double best)
{
    struct own_session *s = context;
    char config[256];
    struct measured m;
    own_session_config(s, point, config);
    if (!own_session_recall(s, config, &m))
        measure(s, config, best, &m);
    if (m.state == STATE_ABANDONED)
        return -1;
    keep_try(s, point, config, &m);
    bool better = m.ms >= 0 && (best < 0 || m.ms < best);
    if (s->options->progress)
        s->options->progress(s->options->context, (int)s->result->count, s->options->budget, config, &m,
                             better ? m.ms : best);
    return m.state == STATE_OK || m.state == STATE_SLOW ? m.ms : -1;
}

/* Not on CPUs: compiling would take the cores that are being measured. */
static void upcoming(void *context, const struct point *point)
{
    struct own_session *s = context;
    char config[256];
    own_session_config(s, point, config);
    if (s->worker->device_record.kind != HONE_DEVICE_CPU && !own_session_known(s, config))
        worker_prepare(s->worker, "kernel", config);
}

double own_session_elapsed(const struct own_session *s)
{
    return (double)(clock_ns() - s->start) * 1e-9;
}

static bool stop(void *context)
{
    struct own_session *s = context;
    if (s->options->interrupted && s->options->interrupted(s->options->context))
        s->result->interrupted = true;
    bool late = s->options->seconds > 0 && own_session_elapsed(s) > s->options->seconds * (1 - final_share);
    s->unfinished = s->unfinished || late;
    return s->result->interrupted || s->failure.status || late;
}

static double cost(const struct own_session *s, const struct formula *formula)
{
    struct own_scope scope;
    double value = 0;
    own_scope_init(&scope, s->spec, s->result->ranked[0].point.values, &s->scope);
    if (!formula || expr_real(&formula->expr, &scope.scope, &value, NULL) != HONE_OK)
        return 0;
    return value;
}

static void note_first(struct own_session *s)
{
    s->result->first_ms = -1;
    for (size_t i = 0; i < s->result->count; i++)
        if (strcmp(s->result->tries[i].config, s->result->first) == 0)
            s->result->first_ms = s->result->tries[i].measured.ms;
    for (int i = 0; i < s->result->ranked_count; i++)
        if (strcmp(s->result->ranked[i].config, s->result->first) == 0)
            s->result->first_ms = s->result->ranked[i].runs.median;
}

/* ---- The whole ---- */

static hone_status search(struct own_session *s, hone_error *error)
{
    struct search_result found;
    const struct search_options options = {s->seeds, s->seed_count, s->options->budget,
                                           s->options->random_seed};
    const struct evaluator evaluator = {evaluate, upcoming, stop, s};
    hone_status status = search_run(&s->space, &options, &evaluator, &found, error);
    if (status)
        return status;
    s->result->exhausted = found.exhausted;
    s->result->space = space_size(&s->space);
    s->result->legal = found.legal;
    search_finish(&found);
    if (s->failure.status) {
        if (error)
            *error = s->failure;
        return s->failure.status;
    }
    if (s->options->stage)
        s->options->stage(s->options->context, "final");
    own_final(s, s->spec->cold ? cold_final_seconds : 0);
    s->result->interrupted = s->result->interrupted || worker_given_up(s->worker);
    s->result->load = load_since(s->load_known ? &s->load : NULL, s->worker->pid);
    snprintf(s->result->clock, sizeof s->result->clock, "%s", s->worker->clock);
    snprintf(s->result->clock_reason, sizeof s->result->clock_reason, "%s", s->worker->clock_reason);
    if (s->result->ranked_count == 0)
        return error_set(
            error, s->result->states[STATE_WRONG] ? HONE_ERROR_CHECK : HONE_ERROR_UNSUPPORTED,
            "%s '%s' could be measured on '%s'%s%s",
            s->result->interrupted ? "interrupted before a configuration of" : "no configuration of",
            s->spec->kernel, s->worker->device_record.name, s->result->count ? "; the last failed: " : "",
            s->result->count ? s->result->tries[s->result->count - 1].measured.note : "");
    note_first(s);
    s->result->bytes = cost(s, s->spec->bytes);
    s->result->flops = cost(s, s->spec->flops);
    return HONE_OK;
}

/* Before anything is read that another process may be about to add to. */
static hone_status wait_for_turn(struct own_session *s, hone_error *error)
{
    const struct device_lock_wait wait = {s->options->interrupted, s->options->waiting, s->options->context};
    if (!s->worker->no_disk && !device_lock_take(&s->worker->device_record, &wait, &s->lock)) {
        s->result->interrupted = true;
        return error_set(error, HONE_ERROR_UNSUPPORTED,
                         "interrupted before a configuration of '%s' was measured", s->spec->kernel);
    }
    s->start = clock_ns();
    return HONE_OK;
}

static hone_status run(struct own_session *s, hone_error *error)
{
    hone_status status = wait_for_turn(s, error);
    s->load_known = load_now(&s->load, s->worker->pid);
    if (!status)
        status = own_session_request(s, error);
    s->worker->build_seconds = own_session_build_limit(s);
    if (!status)
        status = worker_target(s->worker, s->request, error);
    if (status)
        return status;
    own_session_case(s);
    own_session_describe(s);
    s->result->device = s->worker->device_record;
    status = own_session_check_costs(s, error);
    if (!status)
        status = own_session_right(s, error);
    if (!status)
        status = own_session_load(s, error);
    if (!status)
        status = search(s, error);
    s->result->seconds = own_session_elapsed(s);
    return status ? status : own_session_save(s, error);
}

hone_status own_session_tune(struct worker *worker, const struct own_spec *spec,
                             const struct own_session_options *options, struct own_session_result *result,
                             hone_error *error)
{
    struct own_session *s = mem_new(1, sizeof *s);
    *result = (struct own_session_result){0};
    if (!s)
        return error_memory(error, "a tuning session");
    s->worker = worker;
    s->spec = spec;
    s->options = options;
    s->result = result;
    s->source.fd = s->right.fd = s->lock = -1;
    worker->give_up = options->give_up;
    worker->stage = options->stage;
    worker->context = options->context;
    hone_status status = run(s, error);
    json_decref(s->request);
    json_decref(s->description);
    held_file_close(&s->source);
    held_file_close(&s->right);
    device_lock_release(&s->lock);
    records_finish(&s->known);
    free(s);
    return status;
}

void own_session_finish(struct own_session_result *result)
{
    free(result->tries);
    *result = (struct own_session_result){0};
}
