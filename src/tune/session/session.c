/* SPDX-License-Identifier: BSD-2-Clause */
#include "tune/session/internal.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/text.h"
#include "choose/lookup.h"
#include "filter/registry.h"
#include "tune/session/device_lock.h"
#include "tune/session/resume.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const double compare_seconds = 120; /* for the slow kernels that the best is compared with */
static const double final_share = 0.2;     /* of the time that is kept for the final */

/* ---- What is known from before ---- */

static bool same_case(const struct record_case *a, const struct record_case *b)
{
    return lookup_distance(a, b) == 0 && a->width == b->width && a->height == b->height;
}

static bool same_device(const struct session *s, const struct record_device *device)
{
    return lookup_level_of(device, &s->worker->device_record) == LEVEL_EXACT;
}

/* What came of a configuration takes the place of its starts, and of what came of it before. */
static void forget(struct records *known, const struct record_config *config)
{
    size_t left = 0;
    for (size_t i = 0; i < known->try_count; i++)
        if (strcmp(known->tries[i].config.variant, config->variant) != 0 ||
            strcmp(known->tries[i].config.config, config->config) != 0) {
            if (left < i)
                known->tries[left] = known->tries[i];
            left++;
        }
    known->try_count = left;
}

static bool keep(struct session *s, const struct record_try *t)
{
    struct records *known = &s->known;
    if (!mem_grow(&known->tries, &known->try_capacity, known->try_count + 1, sizeof *known->tries))
        return false;
    known->tries[known->try_count++] = *t;
    return true;
}

static bool ends_session(const struct record_choice *choice)
{
    return choice->origin == ORIGIN_SESSION || choice->origin == ORIGIN_EXPERIMENT;
}

/* How many tries stand before those that this session takes over. */
static size_t tries_finished(struct session *s, const struct records *all)
{
    struct resume resume = {0};
    for (size_t i = 0; i < all->choice_count; i++)
        if (ends_session(&all->choices[i]) && same_device(s, &all->choices[i].device) &&
            same_case(&all->choices[i].c, &s->record_case))
            resume_add(&resume, &all->choices[i]);
    s->result->choice.continues = !s->options->fresh && resume_goes_on(&resume, s->options->budget);
    return resume_from(&resume, s->options->budget);
}

/* What ended badly or never counts for good, unless the user wants it tried again: it may have had reasons
 * that are gone. What was wrong is in quarantine. */
static bool counts(const struct session *s, const struct record_try *t, bool since_last)
{
    if (s->options->fresh)
        return t->state == STATE_WRONG;
    return since_last || (t->state != STATE_OK && t->state != STATE_SLOW);
}

/* Keeps the tries of this case that count. */
static hone_status load_known(struct session *s, hone_error *error)
{
    struct records all = {0};
    hone_status status = s->worker->no_disk
                             ? HONE_OK
                             : records_load_of(&all, READ_TRIES | READ_CHOICES, s->record_case.filter, error);
    size_t finished = tries_finished(s, &all);
    for (size_t i = 0; i < all.try_count && !status; i++) {
        const struct record_try *t = &all.tries[i];
        if (!same_device(s, &t->device) || !same_case(&t->c, &s->record_case))
            continue;
        if (t->state != STATE_STARTED)
            forget(&s->known, &t->config);
        if (counts(s, t, i >= finished) && !keep(s, t))
            status = error_memory(error, "tuning records");
    }
    s->resumable = s->known.try_count;
    records_finish(&all);
    return status;
}

/* The last word on a configuration. */
const struct record_try *session_known(const struct session *s, const char *variant, const char *config)
{
    for (size_t i = s->known.try_count; i-- > 0;) {
        const struct record_try *t = &s->known.tries[i];
        if (strcmp(t->config.variant, variant) == 0 && strcmp(t->config.config, config) == 0 &&
            (t->state != STATE_STARTED || record_is_left(s->known.tries, i)))
            return t;
    }
    return NULL;
}

static bool recall(struct session *s, const char *variant, const char *config, struct measured *m)
{
    const struct record_try *t = session_known(s, variant, config);
    if (!t)
        return false;
    measured_recall(m, t);
    s->result->resumed += t < s->known.tries + s->resumable;
    return true;
}

/* ---- Evaluating ---- */

void session_record(struct session *s, const char *variant, const char *config, const struct measured *m,
                    enum record_state state)
{
    struct record_try *t = mem_new(1, sizeof *t);
    hone_error error;
    if (!t)
        return;
    t->device = s->worker->device_record;
    t->c = s->record_case;
    measured_record(m, variant, config, state, t);
    if (!s->worker->no_disk && records_add_try(t, &error) != HONE_OK && s->io_error.status == HONE_OK)
        s->io_error = error;
    if (m && state != STATE_ABANDONED &&
        mem_grow(&s->known.tries, &s->known.try_capacity, s->known.try_count + 1, sizeof *s->known.tries))
        s->known.tries[s->known.try_count++] = *t;
    free(t);
}

static double run_limit(const struct session *s, double best)
{
    if (s->comparing && s->options->run_seconds <= 0 && s->options->seconds <= 0)
        return compare_seconds;
    if (best < 0 && s->options->run_seconds <= 0)
        return WORKER_FIRST_SECONDS;
    double least = s->options->run_seconds > 0                        ? s->options->run_seconds
                   : s->worker->device_record.kind == HONE_DEVICE_CPU ? 10
                                                                      : 2;
    double by_best = best > 0 ? best * 1e-3 * 10 * MEASURE_RUNS : 0;
    return by_best > least ? by_best : least;
}

static bool is_lost(struct session *s, enum worker_outcome outcome, const char *note)
{
    return worker_is_lost(outcome, note, &s->failure, &s->result->interrupted);
}

static void ask_aside(struct session *s, const char *what, json_t **answer)
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
    double build = s->options->build_seconds > 0 ? s->options->build_seconds : 60;
    return hold ? worker_hold(s->worker, variant, config, build, run_limit(s, best), m)
                : worker_measure(s->worker, variant, config, best, build, run_limit(s, best), m);
}

void session_try(struct session *s, const char *variant, const char *config, double best, bool hold,
                 struct measured *m)
{
    if (!make_ready(s, m))
        return;
    session_record(s, variant, config, NULL, STATE_STARTED);
    enum worker_outcome outcome = run_once(s, variant, config, best, hold, m);
    if (worker_was_preparing(s->worker, outcome) && make_ready(s, m))
        outcome = run_once(s, variant, config, best, hold, m);
    session_record(s, variant, config, m, m->state);
    is_lost(s, outcome, m->note);
}

void session_measure(struct session *s, const char *variant, const char *config, double best,
                     struct measured *m)
{
    if (recall(s, variant, config, m))
        return;
    session_find_right(s);
    if (!recall(s, variant, config, m)) /* it may have been the one to be compared with */
        session_try(s, variant, config, best, false, m);
}

static double evaluate(void *context, const struct point *point, double best)
{
    struct session *s = context;
    char config[256];
    struct measured m;
    const char *variant = s->space.paths[point->path].name;
    session_config(s, point, config, sizeof config);
    session_measure(s, variant, config, best, &m);
    if (m.state == STATE_ABANDONED)
        return -1;
    s->result->states[m.state]++;
    s->evaluations++;
    if (s->options->progress) {
        struct text text = {0};
        point_print(&s->space, point, &text);
        bool better = m.ms >= 0 && (best < 0 || m.ms < best);
        s->options->progress(s->options->context, s->evaluations, s->options->budget, text_view(&text), &m,
                             better ? m.ms : best);
        text_finish(&text);
    }
    return m.state == STATE_OK || m.state == STATE_SLOW ? m.ms : -1;
}

/* Not on CPUs: compiling would take the cores that are being measured. */
static void upcoming(void *context, const struct point *point)
{
    struct session *s = context;
    char config[256];
    session_config(s, point, config, sizeof config);
    if (s->worker->device_record.kind != HONE_DEVICE_CPU &&
        !session_known(s, s->space.paths[point->path].name, config))
        worker_prepare(s->worker, s->space.paths[point->path].name, config);
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

static void ask_transfers(struct session *s)
{
    json_t *answer = NULL;
    ask_aside(s, "transfers", &answer);
    s->result->upload_ms = json_number_value(json_object_get(answer, "upload_ms"));
    s->result->download_ms = json_number_value(json_object_get(answer, "download_ms"));
    json_decref(answer);
}

/* ---- The whole ---- */

static hone_status fail(const struct session *s, hone_error *error)
{
    if (s->failure.status == HONE_OK)
        return error_set(error, HONE_ERROR_UNSUPPORTED,
                         "interrupted before a configuration of %s was measured", s->c->filter->name);
    if (error)
        *error = s->failure;
    return s->failure.status;
}

/* Before anything is read that another process may be about to add to. */
static hone_status wait_for_turn(struct session *s, hone_error *error)
{
    const struct device_lock_wait wait = {s->options->interrupted, s->options->waiting, s->options->context};
    if (!s->worker->no_disk && !device_lock_take(&s->worker->device_record, &wait, &s->lock)) {
        s->result->interrupted = true;
        return fail(s, error);
    }
    s->start = clock_ns();
    return HONE_OK;
}

json_t *session_request(const struct filter_case *c)
{
    json_t *parameters = json_object();
    size_t count = filter_parameter_count(c->filter);
    for (size_t i = 0; i < count; i++)
        if (c->values[i].text && c->values[i].given)
            json_object_set_new(parameters, c->filter->parameters[i].name, json_string(c->values[i].text));
    if (c->filter->spatial)
        json_object_set_new(parameters, "border", json_string(hone_border_name(c->border)));
    if (c->relaxed)
        json_object_set_new(parameters, "accuracy", json_string("relaxed"));
    if (c->exact)
        json_object_set_new(parameters, "exact", json_string("yes"));
    return json_pack("{s:s, s:s, s:o, s:s, s:i, s:i, s:i}", "do", "filter", "filter", c->filter->name,
                     "parameters", parameters, "type", hone_type_name(c->in.type), "channels",
                     (int)c->in.channels, "width", (int)c->in.width, "height", (int)c->in.height);
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
    bool nothing = s->result->interrupted && found.best < 0;
    if (s->failure.status == HONE_OK && !nothing)
        status = session_final(s, &found, error);
    s->result->interrupted = s->result->interrupted || worker_given_up(s->worker);
    search_finish(&found);
    return s->failure.status == HONE_OK && !nothing ? status : fail(s, error);
}

static hone_status save(struct session *s, hone_error *error)
{
    struct record_choice *choice = &s->result->choice;
    choice->device = s->worker->device_record;
    choice->c = s->record_case;
    choice->origin = s->options->variants ? ORIGIN_EXPERIMENT : ORIGIN_SESSION;
    choice->evaluations = s->evaluations;
    choice->asked = s->options->budget;
    choice->raced = s->result->raced;
    choice->drift = s->result->drift;
    choice->load = s->result->load;
    snprintf(choice->clock, sizeof choice->clock, "%s", s->worker->clock);
    snprintf(s->result->clock_reason, sizeof s->result->clock_reason, "%s", s->worker->clock_reason);
    choice->seconds = session_elapsed(s);
    choice->time = (int64_t)time(NULL);
    for (size_t i = 0; i < s->seed_count && choice->seed_count < RECORD_MAX_RANKED; i++) {
        struct record_config *to = &choice->seeds[choice->seed_count++];
        snprintf(to->variant, sizeof to->variant, "%s", s->space.paths[s->seeds[i].path].name);
        session_config(s, &s->seeds[i], to->config, sizeof to->config);
    }
    hone_status status = HONE_OK;
    if (!s->worker->no_disk && !s->result->interrupted) /* an interrupted session is resumed, not concluded */
        status = records_add_choice(choice, error);
    if (!status && s->io_error.status != HONE_OK) {
        if (error)
            *error = s->io_error;
        status = s->io_error.status;
    }
    return status;
}

hone_status session_tune(struct worker *worker, const struct filter_case *c,
                         const struct session_options *options, struct session_result *result,
                         hone_error *error)
{
    struct session *s = mem_new(1, sizeof *s);
    *result = (struct session_result){0};
    if (!s)
        return error_memory(error, "a tuning session");
    s->worker = worker;
    s->c = c;
    s->options = options;
    s->result = result;
    s->lock = -1;
    worker->give_up = options->give_up;
    worker->stage = options->stage;
    worker->context = options->context;
    record_case_of(c, &s->record_case);
    json_t *request = session_request(c);
    hone_status status = held_file_make(&s->right, "", 0, error);
    if (!status && (!request || json_object_set_new(request, "held", json_string(s->right.path)) != 0))
        status = error_memory(error, "a request");
    if (!status)
        status = wait_for_turn(s, error);
    s->load_known = load_now(&s->load, worker->pid);
    if (!status)
        status = worker_target(worker, request, error);
    json_decref(request);
    if (!status)
        status = session_read_description(s, error);
    if (!status)
        status = load_known(s, error);
    if (!status)
        status = search_and_choose(s, error);
    if (!status) {
        if (!result->interrupted)
            ask_transfers(s);
        status = save(s, error);
    }
    device_lock_release(&s->lock);
    records_finish(&s->known);
    held_file_close(&s->right);
    json_decref(s->description);
    free(s);
    return status;
}
