/* SPDX-License-Identifier: BSD-2-Clause */
#include "tune/session/engine.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/text.h"
#include "tune/session/device_lock.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const double compare_seconds = 120; /* for the slow kernels that the best is compared with */
static const double final_share = 0.2;     /* of the time that is kept for the final */

double session_build_limit(const struct session *s)
{
    return s->options->build_seconds > 0 ? s->options->build_seconds : 60;
}

void session_stage(const struct session *s, const char *text)
{
    if (s->options->stage)
        s->options->stage(s->options->context, text);
}

double session_elapsed(const struct session *s)
{
    return (double)(clock_ns() - s->start) * 1e-9;
}

bool session_is_late(const struct session *s)
{
    return s->options->seconds > 0 && session_elapsed(s) > s->options->seconds;
}

bool session_worked(const struct measured *m)
{
    return m->state == STATE_OK || m->state == STATE_SLOW;
}

void session_config(const struct session *s, const struct point *point, char to[256])
{
    struct text text = {0};
    s->ops->print(s, point, &text);
    snprintf(to, 256, "%s", text_view(&text));
    text_finish(&text);
}

void session_add_seed(struct session *s, const struct point *point)
{
    for (size_t i = 0; i < s->seed_count; i++)
        if (point_equal(&s->seeds[i], point))
            return;
    if (s->seed_count < SESSION_MAX_SEEDS && point->path < s->searched)
        s->seeds[s->seed_count++] = *point;
}

/* ---- Measuring ---- */

/* Nothing is known of how long a right run takes before the first has ended. */
static double run_limit(const struct session *s, double best)
{
    const double wish = s->options->run_seconds;
    if (!session_by_time(s))
        best = s->fastest;
    if (s->comparing && wish <= 0 && s->options->seconds <= 0)
        return compare_seconds;
    if (best < 0 && wish <= 0)
        return WORKER_FIRST_SECONDS + s->beside;
    double least = wish > 0 ? wish : s->worker->device_record.kind == HONE_DEVICE_CPU ? 10 : 2;
    return fmax(least, best > 0 ? best * 1e-3 * 10 * MEASURE_RUNS : 0) + s->beside;
}

static bool is_lost(struct session *s, enum worker_outcome outcome, const char *note)
{
    return worker_is_lost(outcome, note, &s->failure, &s->result->interrupted);
}

void session_ask(struct session *s, const char *what, json_t **answer)
{
    char note[512];
    json_t *request = json_pack("{s:s}", "do", what);
    if (request)
        is_lost(s, worker_ask(s->worker, request, 120, answer, note), note);
    json_decref(request);
}

/* Before a configuration is recorded as started there is a worker: what keeps it from starting is no
 * configuration's fault. */
static bool make_ready(struct session *s, struct measured *m)
{
    *m = (struct measured){.state = STATE_ABANDONED, .ms = -1};
    if (s->failure.status == HONE_OK)
        is_lost(s, worker_ready(s->worker, m->note), m->note);
    return s->failure.status == HONE_OK && !worker_given_up(s->worker);
}

static enum worker_outcome run_once(struct session *s, const char *variant, const char *config, double best,
                                    bool hold, struct measured *m)
{
    const double build = session_build_limit(s), limit = run_limit(s, best);
    if (!session_by_time(s))
        best = -1; /* what is slow may be what is looked for, and has to be measured well */
    return hold ? worker_hold(s->worker, variant, config, build, limit, m)
                : worker_measure(s->worker, variant, config, best, build, limit, m);
}

void session_try(struct session *s, const char *variant, const char *config, double best, bool hold,
                 struct measured *m)
{
    if (!make_ready(s, m))
        return;
    session_record(s, variant, config, NULL, STATE_STARTED);
    enum worker_outcome outcome = run_once(s, variant, config, best, hold, m);
    if (worker_was_preparing(s->worker, outcome) && make_ready(s, m)) /* it then does not prepare */
        outcome = run_once(s, variant, config, best, hold, m);
    session_record(s, variant, config, m, m->state);
    is_lost(s, outcome, m->note);
}

void session_measure(struct session *s, const char *variant, const char *config, double best,
                     struct measured *m)
{
    if (session_recall(s, variant, config, m))
        return;
    if (s->ops->prepare)
        s->ops->prepare(s);
    if (!session_recall(s, variant, config, m)) /* preparing may have measured it */
        session_try(s, variant, config, best, false, m);
}

/* ---- The search ---- */

static void show_progress(const struct session *s, const struct point *point, const char *config,
                          const struct measured *m, double best)
{
    struct text text = {0};
    if (!s->own)
        text_add(&text, "%s%s", s->space.paths[point->path].name, config[0] ? " " : "");
    text_add(&text, "%s", config);
    s->options->progress(s->options->context, s->evaluations, s->options->budget, text_view(&text), m,
                         !session_by_time(s)                        ? -1
                         : m->ms >= 0 && (best < 0 || m->ms < best) ? m->ms
                                                                    : best);
    text_finish(&text);
}

static double evaluate(void *context, const struct point *point, double best)
{
    struct session *s = context;
    char config[256];
    struct measured m;
    session_config(s, point, config);
    session_measure(s, s->space.paths[point->path].name, config, best, &m);
    if (m.state == STATE_ABANDONED)
        return -1;
    s->result->states[m.state]++;
    s->evaluations++;
    const double cost = session_keep_try(s, point, config, &m);
    if (!session_worked(&m))
        memcpy(s->failed, m.note, sizeof s->failed);
    else if (cost < 0)
        snprintf(s->failed, sizeof s->failed, "the objective has no value, or one below 0");
    if (s->options->progress)
        show_progress(s, point, config, &m, best);
    return cost;
}

/* Not on CPUs: compiling would take the cores that are being measured. */
static void upcoming(void *context, const struct point *point)
{
    struct session *s = context;
    const char *variant = s->space.paths[point->path].name;
    char config[256];
    session_config(s, point, config);
    if (s->worker->device_record.kind != HONE_DEVICE_CPU && !session_known(s, variant, config))
        worker_prepare(s->worker, variant, config);
}

static bool stop(void *context)
{
    struct session *s = context;
    if (s->options->interrupted && s->options->interrupted(s->options->context))
        s->result->interrupted = true;
    bool late = s->evaluations > 0 && s->options->seconds > 0 &&
                session_elapsed(s) > s->options->seconds * (1 - final_share);
    s->result->choice.unfinished = s->result->choice.unfinished || late;
    return s->result->interrupted || s->failure.status || late;
}

static hone_status fail(const struct session *s, hone_error *error)
{
    if (s->failure.status && error)
        *error = s->failure;
    if (s->failure.status)
        return s->failure.status;
    return error_set(error, s->result->states[STATE_WRONG] ? HONE_ERROR_CHECK : HONE_ERROR_UNSUPPORTED,
                     "%s %s could be measured on '%s'%s%s",
                     s->result->interrupted ? "interrupted before a configuration of" : "no configuration of",
                     s->name, s->worker->device_record.name, s->failed[0] ? "; the last failed: " : "",
                     s->failed);
}

/* How sure the times are. */
static void note_times(struct session *s)
{
    struct record_choice *choice = &s->result->choice;
    choice->load = load_since(s->load_known ? &s->load : NULL, s->worker->pid);
    snprintf(choice->clock, sizeof choice->clock, "%s", s->worker->clock);
    snprintf(s->result->clock_reason, sizeof s->result->clock_reason, "%s", s->worker->clock_reason);
}

static hone_status search_and_choose(struct session *s, hone_error *error)
{
    struct search_result found;
    const struct search_options options = {s->seeds, s->seed_count, s->options->budget,
                                           s->options->random_seed};
    const struct evaluator evaluator = {evaluate, upcoming, stop, s};
    const int paths = s->space.count;
    s->space.count = s->searched;
    hone_status status = search_run(&s->space, &options, &evaluator, &found, error);
    s->result->space = space_size(&s->space);
    s->space.count = paths; /* the final may need any of them */
    if (status)
        return status;
    s->result->exhausted = found.exhausted;
    s->result->legal = found.legal;
    if (s->failure.status == HONE_OK && !(s->result->interrupted && found.best < 0))
        session_final(s, &found);
    s->result->interrupted = s->result->interrupted || worker_given_up(s->worker);
    search_finish(&found);
    note_times(s);
    return s->failure.status == HONE_OK && s->result->ranked_count > 0 ? HONE_OK : fail(s, error);
}

/* ---- The whole ---- */

/* Before anything is read that another process may be about to add to. */
static hone_status wait_for_turn(struct session *s, hone_error *error)
{
    const struct device_lock_wait wait = {s->options->interrupted, s->options->waiting, s->options->context};
    if (!s->worker->no_disk && !device_lock_take(&s->worker->device_record, &wait, &s->lock)) {
        s->result->interrupted = true;
        return fail(s, error);
    }
    s->start = clock_ns();
    s->load_known = load_now(&s->load, s->worker->pid);
    return HONE_OK;
}

/* What expressions may name, and what the device allows. */
static void read_description(struct session *s)
{
    const json_t *limits = json_object_get(s->description, "limits");
    const char *name;
    json_t *value;
    int count = 0;
    json_object_foreach(json_object_get(s->description, "names"), name, value)
    {
        if (count < SESSION_MAX_NAMES) {
            s->names[count] = name; /* lives as long as the description */
            s->values[count++] = json_integer_value(value);
        }
    }
    s->scope = (struct expr_scope){.names = s->names, .values = s->values, .count = count};
    s->limits.max_work_group = (size_t)json_integer_value(json_array_get(limits, 0));
    for (size_t i = 0; i < 3; i++)
        s->limits.max_work_items[i] = (size_t)json_integer_value(json_array_get(limits, i + 1));
    s->limits.local_memory = (uint64_t)json_integer_value(json_array_get(limits, 4));
}

static void ask_figures(struct session *s)
{
    const unsigned wanted = session_wanted_figures(s);
    json_object_set_new(s->request, "facts", json_boolean(wanted & 1u << FIGURE_REGISTERS));
    json_object_set_new(s->request, "energy", json_boolean(wanted & 1u << FIGURE_ENERGY));
}

static hone_status open_case(struct session *s, hone_error *error)
{
    hone_status status = held_file_make(&s->right, "", 0, error);
    THEN(status, s->ops->request(s, error));
    if (!status)
        ask_figures(s);
    s->worker->build_seconds = session_build_limit(s);
    THEN(status, worker_target(s->worker, s->request, error));
    if (status)
        return status;
    s->description = json_incref(s->worker->description);
    read_description(s);
    s->result->missing = json_incref(json_object_get(s->description, "missing"));
    status = s->ops->describe(s, error);
    s->result->choice.device = s->worker->device_record;
    s->result->choice.c = s->record_case;
    return status;
}

static hone_status run(struct session *s, hone_error *error)
{
    hone_status status = wait_for_turn(s, error);
    THEN(status, open_case(s, error));
    THEN(status, session_load_known(s, error));
    THEN(status, search_and_choose(s, error));
    if (!status && s->ops->conclude)
        s->ops->conclude(s);
    return status ? status : session_save(s, error);
}

hone_status session_run(struct session *s, const struct session_ops *ops, struct worker *worker,
                        const struct session_options *options, struct session_result *result,
                        hone_error *error)
{
    s->ops = ops;
    s->worker = worker;
    s->options = options;
    s->result = result;
    s->right.fd = s->lock = -1;
    s->fastest = -1;
    s->worker->give_up = s->options->give_up;
    s->worker->interrupted = s->options->interrupted;
    s->worker->stage = s->options->stage;
    s->worker->context = s->options->context;
    hone_status status = run(s, error);
    device_lock_release(&s->lock);
    records_finish(&s->known);
    held_file_close(&s->right);
    json_decref(s->description);
    json_decref(s->request);
    return status;
}
