/* SPDX-License-Identifier: BSD-2-Clause */
#include "plan/trial.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/text.h"
#include "cache/programs.h"
#include "choose/choose.h"
#include "choose/records.h"
#include "choose/trust.h"
#include "cl/device.h"
#include "cl/program.h"
#include "cl/selftest.h"
#include "filter/case.h"
#include "hone/event.h"
#include "plan/duel.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum {
    CANDIDATES = 5,
    SAMPLES = 3,         /* timed runs of each before the fastest is compared; the first of them settles */
    START_AFTER = 2,     /* runs before anything is built: most plans run once */
    COMPILE_AFTER = 40,  /* runs in ... */
    COMPILE_S = 5,       /* ... so many seconds at least, before anything is compiled, or ... */
    COMPILE_MS = 3000,   /* ... time of all runs: about what that costs */
    MAX_OWN_PENDING = 8, /* runs of the plan's own whose times are not known yet; of another candidate, one */
    MAX_PENDING = MAX_OWN_PENDING + CANDIDATES
};
static const uint64_t build_time = 2000000000u; /* ns */
static const double hopeless = 2;               /* times slower than another: one run is enough to know */

struct candidate {
    struct choice choice;
    struct instance *instance; /* [0]: the plan's own, not owned */
    int begun, ended;          /* runs that were timed; begun: not counted for [0] */
    double best_ms;            /* -1: no time known */
};

struct pending {
    hone_event *event;
    int candidate;
};

struct trial {
    hone_device *device;
    struct filter_case c;
    struct candidate candidates[CANDIDATES];
    int count;
    int runs;       /* of the plan */
    uint64_t start; /* clock_ns */
    struct pending pending[MAX_PENDING];
    int pending_count;
    int rival; /* the candidate that runs by turns with the plan's own in the end; 0: none yet */
    struct duel duel;
    pthread_t builder;
    bool started;
    bool all_kept;        /* nothing has to be compiled */
    pthread_mutex_t lock; /* over what follows, and the instances from [1] on */
    bool built, stop;
};

static bool worth_trying(hone_device *device, const struct choice *choices, size_t count)
{
    return count > 1 && device_profiles(device) && selftest_holds(device, SELFTEST_CLOCK) &&
           choices[0].origin != CHOICE_MEASURED + LEVEL_EXACT;
}

struct trial *trial_new(hone_device *device, const struct instance *instance, const struct choice *choices,
                        size_t count)
{
    if (!worth_trying(device, choices, count))
        return NULL;
    struct trial *t = mem_new(1, sizeof *t);
    if (!t || case_copy(&t->c, instance_case(instance), NULL) != HONE_OK) {
        free(t);
        return NULL; /* the plan works without */
    }
    t->device = device;
    t->start = clock_ns();
    pthread_mutex_init(&t->lock, NULL);
    for (size_t i = 0; i < count && t->count < CANDIDATES; i++)
        if (choices[i].origin != CHOICE_FALLBACK)
            t->candidates[t->count++] = (struct candidate){.choice = choices[i], .best_ms = -1};
    if (t->count < 2)
        trial_end(&t);
    return t;
}

/* ---- The building thread ---- */

static bool may_build(struct trial *t, uint64_t start)
{
    pthread_mutex_lock(&t->lock);
    bool go = !t->stop && clock_ns() - start < build_time;
    pthread_mutex_unlock(&t->lock);
    hone_error why;
    if (go && program_check_room(t->device, true, &why) != HONE_OK) {
        device_log(t->device, HONE_LOG_INFO, "%s: no other configuration is tried: %s", t->c.filter->name,
                   why.message);
        go = false;
    }
    return go;
}

static void *build(void *argument)
{
    struct trial *t = argument;
    uint64_t start = clock_ns();
    for (int i = 1; i < t->count && may_build(t, start); i++) {
        const struct choice *choice = &t->candidates[i].choice;
        struct instance *instance = NULL;
        if (instance_create(&instance, t->device, &t->c, choice->variant, &choice->config, NULL) == HONE_OK &&
            trust_check(t->device, instance, NULL) != HONE_OK)
            instance_destroy(&instance);
        pthread_mutex_lock(&t->lock);
        t->candidates[i].instance = instance;
        pthread_mutex_unlock(&t->lock);
    }
    pthread_mutex_lock(&t->lock);
    t->built = true;
    pthread_mutex_unlock(&t->lock);
    return NULL;
}

/* ---- Runs ---- */

static double best_of_all(const struct trial *t)
{
    double best = -1;
    for (int i = 0; i < t->count; i++)
        if (t->candidates[i].best_ms >= 0 && (best < 0 || t->candidates[i].best_ms < best))
            best = t->candidates[i].best_ms;
    return best;
}

/* No more runs are wanted of it. */
static bool is_known(const struct trial *t, const struct candidate *candidate)
{
    return !candidate->instance || candidate->ended >= SAMPLES ||
           (candidate->ended > 0 && candidate->best_ms > best_of_all(t) * hopeless);
}

/* Nothing is run again before the time of its last run is known: a frame is not given to what turned out
 * hopeless, and runs of the plan's own come in between. */
static bool may_run(const struct trial *t, int candidate)
{
    const struct candidate *c = &t->candidates[candidate];
    const bool wanted = !is_known(t, c) || (candidate == t->rival && !duel_over(&t->duel));
    return wanted && c->begun == c->ended;
}

static struct instance *take_turn(struct trial *t)
{
    struct instance *next = t->candidates[0].instance;
    pthread_mutex_lock(&t->lock);
    for (int i = is_known(t, &t->candidates[0]) ? 1 : t->count; i < t->count; i++)
        if (may_run(t, i)) {
            t->candidates[i].begun++;
            next = t->candidates[i].instance;
            break;
        }
    pthread_mutex_unlock(&t->lock);
    return next;
}

static bool all_kept(const struct trial *t)
{
    bool kept = true;
    for (int i = 1; i < t->count && kept; i++) {
        const struct choice *choice = &t->candidates[i].choice;
        char digest[65];
        kept = variant_digest(digest, t->device, &t->c, choice->variant, &choice->config, NULL) == HONE_OK &&
               programs_kept(t->device, digest);
    }
    return kept;
}

/* A folder of hundreds of photographs may take less time than one compilation, whose end a plan waits for:
 * nothing is compiled before the plan's own runs took as long, or go on for long, as those on many small
 * images do. */
static bool may_start(const struct trial *t)
{
    const bool many = t->runs > COMPILE_AFTER && clock_ns() - t->start >= COMPILE_S * UINT64_C(1000000000);
    return t->all_kept || many || t->candidates[0].best_ms * t->runs >= COMPILE_MS;
}

struct instance *trial_turn(struct trial *t, struct instance *instance)
{
    t->candidates[0].instance = instance;
    if (t->runs++ < START_AFTER)
        return instance;
    if (t->runs == START_AFTER + 1)
        t->all_kept = all_kept(t);
    if (!t->started && may_start(t))
        t->started = pthread_create(&t->builder, NULL, build, t) == 0;
    return take_turn(t);
}

static int candidate_of(struct trial *t, const struct instance *instance)
{
    int found = 0;
    pthread_mutex_lock(&t->lock);
    for (int i = 0; i < t->count; i++)
        if (t->candidates[i].instance == instance)
            found = i;
    pthread_mutex_unlock(&t->lock);
    return found;
}

/* Of a run that failed, `event` is NULL. */
static void take_time(struct trial *t, int index, const hone_event *event)
{
    struct candidate *candidate = &t->candidates[index];
    hone_times times;
    if (!event || hone_event_times(event, &times, NULL) != HONE_OK || times.ended <= times.started) {
        if (t->rival && index == t->rival)
            duel_lost(&t->duel);
        return;
    }
    double ms = (double)(times.ended - times.started) * 1e-6;
    if (candidate->best_ms < 0 || ms < candidate->best_ms)
        candidate->best_ms = ms;
    if (t->rival && index == 0)
        duel_own(&t->duel, ms);
    else if (t->rival && index == t->rival)
        duel_other(&t->duel, ms);
}

/* Reads the times of runs that are done. */
static void harvest(struct trial *t)
{
    int left = 0;
    for (int i = 0; i < t->pending_count; i++) {
        bool done = false;
        hone_status status = hone_event_poll(t->pending[i].event, &done, NULL);
        if (!status && !done) {
            t->pending[left++] = t->pending[i];
            continue;
        }
        t->candidates[t->pending[i].candidate].ended++;
        take_time(t, t->pending[i].candidate, status ? NULL : t->pending[i].event);
        hone_event_destroy(&t->pending[i].event);
    }
    t->pending_count = left;
}

void trial_note(struct trial *t, const struct instance *instance, hone_event *event)
{
    harvest(t);
    int candidate = candidate_of(t, instance);
    if (t->runs <= START_AFTER || (candidate == 0 && t->pending_count >= MAX_OWN_PENDING))
        hone_event_destroy(&event);
    else
        t->pending[t->pending_count++] = (struct pending){event, candidate};
}

void trial_failed(struct trial *t, const struct instance *instance)
{
    struct candidate *candidate = &t->candidates[candidate_of(t, instance)];
    candidate->ended = SAMPLES;
    candidate->best_ms = -1; /* of no time: it cannot win */
    if (candidate == &t->candidates[t->rival])
        t->duel = (struct duel){.rounds = DUEL_ROUNDS};
}

/* ---- The end ---- */

static void join(struct trial *t)
{
    pthread_mutex_lock(&t->lock);
    t->stop = true;
    pthread_mutex_unlock(&t->lock);
    if (t->started)
        pthread_join(t->builder, NULL);
    t->started = false;
}

void trial_end(struct trial **slot)
{
    if (!slot || !*slot)
        return;
    struct trial *t = *slot;
    join(t);
    if (t->pending_count)
        hone_device_finish(t->device, NULL); /* runs under way use the instances */
    for (int i = 0; i < t->pending_count; i++)
        hone_event_destroy(&t->pending[i].event);
    for (int i = 1; i < t->count; i++)
        instance_destroy(&t->candidates[i].instance);
    pthread_mutex_destroy(&t->lock);
    case_finish(&t->c);
    free(t);
    *slot = NULL;
}

static bool all_known(struct trial *t)
{
    pthread_mutex_lock(&t->lock);
    bool known = t->built;
    for (int i = 0; i < t->count && known; i++)
        known = is_known(t, &t->candidates[i]);
    pthread_mutex_unlock(&t->lock);
    return known;
}

static int fastest(const struct trial *t)
{
    int best = 0;
    for (int i = 1; i < t->count; i++) {
        const struct candidate *c = &t->candidates[i], *b = &t->candidates[best];
        if (c->best_ms >= 0 &&
            (b->best_ms < 0 || c->best_ms < b->best_ms * 0.98)) /* a tie keeps what there is */
            best = i;
    }
    return best;
}

/* The candidate that stays, or -1 while more runs are wanted. What looks fastest takes the place of the
 * plan's own only when it is so by turns, too. */
static int outcome(struct trial *t)
{
    if (!all_known(t))
        return -1;
    if (!t->rival)
        t->rival = fastest(t);
    if (!t->rival)
        return 0;
    if (!duel_over(&t->duel))
        return -1;
    return duel_won(&t->duel) ? t->rival : 0;
}

/* Times by turns compare better than those before. */
static void take_times_of_duel(struct trial *t)
{
    if (!t->rival || t->duel.other_ms <= 0)
        return;
    t->candidates[0].best_ms = t->duel.own_ms;
    t->candidates[t->rival].best_ms = t->duel.other_ms;
}

static void add_ranked(struct record_choice *record, const struct candidate *candidate)
{
    struct text config = {0};
    struct record_config *to = &record->ranked[record->count++];
    config_print(candidate->choice.variant, &candidate->choice.config, &config);
    snprintf(to->variant, sizeof to->variant, "%s", candidate->choice.variant->name);
    snprintf(to->config, sizeof to->config, "%s", text_view(&config));
    to->ms = candidate->best_ms;
    text_finish(&config);
}

static void remember(const struct trial *t, int best)
{
    struct record_choice record = {.origin = ORIGIN_TRIAL,
                                   .default_ms = t->candidates[0].best_ms,
                                   .first_rung_ms = -1,
                                   .plain_ms = -1,
                                   .time = (int64_t)time(NULL)};
    hone_error why;
    record_device_of(t->device, &record.device);
    record_case_of(&t->c, &record.c);
    add_ranked(&record, &t->candidates[best]);
    for (int i = 0; i < t->count; i++) {
        record.evaluations += t->candidates[i].best_ms >= 0;
        if (i != best && t->candidates[i].best_ms >= 0 && record.count < RECORD_MAX_RANKED)
            add_ranked(&record, &t->candidates[i]);
    }
    if (device_uses_disk(t->device) && records_add_choice(&record, &why) != HONE_OK)
        device_log(t->device, HONE_LOG_WARNING, "what was tried is not remembered: %s", why.message);
}

bool trial_conclude(struct trial **slot, struct instance **instance, enum choice_origin *origin)
{
    struct trial *t = *slot;
    harvest(t);
    const int best = outcome(t);
    if (best < 0)
        return false;
    take_times_of_duel(t);
    if (t->candidates[best].best_ms >= 0)
        remember(t, best);
    device_log(t->device, HONE_LOG_INFO, "%s: tried %d configurations on the way; '%s' stays (%.4g ms)",
               t->c.filter->name, t->count, t->candidates[best].choice.variant->name,
               t->candidates[best].best_ms);
    if (best > 0) {
        hone_device_finish(t->device, NULL); /* runs that nobody times may use it still */
        instance_destroy(instance);
        *instance = t->candidates[best].instance;
        t->candidates[best].instance = NULL;
        *origin = CHOICE_TRIED;
    }
    trial_end(slot);
    return true;
}
