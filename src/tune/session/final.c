/* SPDX-License-Identifier: BSD-2-Clause */
/* The end of a session: leaders are measured again by turns, and one of them wins. */
#include "tune/session/internal.h"

#include "base/error.h"
#include "base/mem.h"
#include "tune/measure/race.h"
#include "tune/session/budget.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COMPARED = 5 };
static const double slow_race_ms = 5000; /* for all runs of one that is too slow for the final */

struct finalist {
    struct point point;
    char config[256];
    struct leader runs;
};

static int by_score(const void *a, const void *b)
{
    const struct evaluated *x = a, *y = b;
    if ((x->ms < 0) != (y->ms < 0))
        return x->ms < 0 ? 1 : -1;
    return (x->ms > y->ms) - (x->ms < y->ms);
}

/* What takes part in any case, or where it is too slow for that is timed right after. */
static void list_compared(struct session *s, struct evaluated *compared[COMPARED])
{
    struct evaluated *const all[COMPARED] = {&s->without_tuning, &s->incumbent, &s->asked, &s->plain,
                                             &s->first_rung};
    memcpy(compared, all, sizeof all);
}

static bool is_taken(const struct finalist *finalists, int count, const struct point *point)
{
    for (int i = 0; i < count; i++)
        if (point_equal(&finalists[i].point, point))
            return true;
    return false;
}

static void take(const struct session *s, const struct evaluated *from, struct finalist *to)
{
    *to = (struct finalist){.point = from->point, .runs.median = from->ms};
    session_config(s, &from->point, to->config, sizeof to->config);
}

/* What the best is compared with: within `least` to `most` ms, each once. */
static int pick_compared(struct session *s, double least, double most, struct finalist *picked)
{
    struct evaluated *compared[COMPARED];
    int count = 0;
    list_compared(s, compared);
    for (int i = 0; i < COMPARED; i++)
        if (compared[i]->ms > least && compared[i]->ms <= most &&
            !is_taken(picked, count, &compared[i]->point))
            take(s, compared[i], &picked[count++]);
    return count;
}

/* The fastest, of every path its fastest that is not hopeless, and what the best is compared with. `sorted` is
 * in order. */
static int pick_finalists(struct session *s, const struct evaluated *sorted, size_t count,
                          struct finalist finalists[RACE_MOST])
{
    bool taken[SPACE_MAX_PATHS] = {0};
    if (count == 0 || sorted[0].ms < 0)
        return 0;
    int picked = pick_compared(s, -1, sorted[0].ms * RACE_LIMIT_BASELINE, finalists);
    int most = picked > 1 ? RACE_LEADERS + picked - 1 : RACE_LEADERS;
    for (int pass = 0; pass < 2; pass++) /* the first of each path, then the rest */
        for (size_t i = 0; i < count && picked < most && sorted[i].ms >= 0; i++) {
            int path = sorted[i].point.path;
            if (sorted[i].ms > sorted[0].ms * RACE_LIMIT)
                break;
            if ((pass == 0 && taken[path]) || is_taken(finalists, picked, &sorted[i].point))
                continue;
            taken[path] = true;
            take(s, &sorted[i], &finalists[picked++]);
        }
    return picked;
}

static int by_median(const void *a, const void *b)
{
    const struct finalist *x = a, *y = b;
    return (x->runs.median > y->runs.median) - (x->runs.median < y->runs.median);
}

/* What nothing beats that is not seen to be faster: what would run without tuning; for an experiment, what
 * runs as things are. */
static const struct evaluated *standard(const struct session *s)
{
    return s->options->variants ? &s->incumbent : &s->without_tuning;
}

/* The fastest, unless the standard cannot be told from it. `finalists` are in order. */
static int winner(const struct session *s, const struct finalist *finalists, int count, int *ties)
{
    const struct evaluated *stays = standard(s);
    int best = 0;
    *ties = 0;
    for (int i = 1; i < count; i++) {
        if (!leader_tied(&finalists[0].runs, &finalists[i].runs))
            continue;
        ++*ties;
        if (stays->ms >= 0 && point_equal(&stays->point, &finalists[i].point))
            best = i;
    }
    return best;
}

static void rank(struct session *s, const struct finalist *finalists, int count, int first)
{
    struct record_choice *choice = &s->result->choice;
    for (int turn = 0; turn < count + 1 && choice->count < RECORD_MAX_RANKED; turn++) {
        int i = turn == 0 ? first : turn - 1;
        if (turn > 0 && i == first)
            continue;
        struct record_config *to = &choice->ranked[choice->count++];
        snprintf(to->variant, sizeof to->variant, "%s", s->space.paths[finalists[i].point.path].name);
        snprintf(to->config, sizeof to->config, "%s", finalists[i].config);
        to->ms = finalists[i].runs.median;
    }
}

/* ---- Comparisons that users want to see ---- */

static bool is_late(const struct session *s)
{
    return s->options->seconds > 0 && session_elapsed(s) > s->options->seconds;
}

static bool was_searched(const struct search_result *found, struct evaluated *to)
{
    for (size_t i = 0; i < found->count; i++)
        if (point_equal(&found->all[i].point, &to->point)) {
            to->ms = found->all[i].ms;
            return true;
        }
    return false;
}

/* A point of the search, or one that is measured now and takes part from here on: what is compared with may
 * turn out the best. False when it cannot run. */
static bool find_time(struct session *s, struct search_result *found, struct evaluated *to)
{
    struct measured m;
    char config[256];
    double best = found->best >= 0 ? found->all[found->best].ms : -1;
    size_t capacity = found->count;
    to->ms = -1;
    if (was_searched(found, to))
        return to->ms >= 0;
    if (s->result->interrupted || s->failure.status || !point_legal(&s->space, &to->point))
        return false;
    session_config(s, &to->point, config, sizeof config);
    session_measure(s, s->space.paths[to->point.path].name, config, best, &m);
    to->ms = m.state == STATE_OK || m.state == STATE_SLOW ? m.ms : -1;
    if (to->ms >= 0 && mem_grow(&found->all, &capacity, found->count + 1, sizeof *found->all))
        found->all[found->count++] = *to;
    return to->ms >= 0;
}

/* The first that works is what runs. However late it is, and whatever the search was limited to: nobody shall
 * get something slower by tuning. */
static void find_first(struct session *s, struct search_result *found, const struct candidates *candidates,
                       struct evaluated *to)
{
    to->ms = -1;
    for (int i = 0; i < candidates->count && to->ms < 0; i++) {
        to->point = candidates->points[i];
        find_time(s, found, to);
    }
}

/* What is only told: of the variants that are searched, and as long as there is time. */
static bool compare_with(struct session *s, struct search_result *found, const char *variant,
                         const char *config, struct evaluated *to)
{
    to->ms = -1;
    if (!session_point(s, variant, config, &to->point) || to->point.path >= s->searched)
        return false;
    return is_late(s) ? was_searched(found, to) && to->ms >= 0 : find_time(s, found, to);
}

/* The pass of a variant, with its defaults, that has a work-item for each pixel or each of its channels;
 * false when it has none. */
static bool plain_pass(const struct session *s, const struct variant *variant, struct pass_geometry *g,
                       int64_t *items)
{
    struct config config;
    struct config_scope scope;
    config_default(variant, &config);
    config_scope_init(&scope, variant, &config, &s->scope);
    for (int p = 0; p < MAX_PASSES && variant->passes[p].kernel; p++) {
        if (pass_geometry(&variant->passes[p], &scope.scope, g, NULL) != HONE_OK)
            return false;
        *items = g->extent[0] * g->extent[1] * g->extent[2];
        if (g->block[0] * g->block[1] * g->block[2] == 1 &&
            *items >= (int64_t)s->c->in.width * s->c->in.height)
            return true;
    }
    return false;
}

/* The first variant of the table is the plain one, where it leaves a work-item one pixel. */
static void measure_plain(struct session *s, struct search_result *found)
{
    const struct variant *variant = &s->c->filter->variants[0];
    struct session_result *r = s->result;
    struct pass_geometry g;
    int64_t items;
    if (!plain_pass(s, variant, &g, &items) || !compare_with(s, found, variant->name, "", &s->plain)) {
        s->plain.ms = -1;
        return;
    }
    const char *what = items > (int64_t)s->c->in.width * s->c->in.height ? "element" : "pixel";
    if (g.local[0] > 0)
        snprintf(r->plain, sizeof r->plain, "one %s per work-item, %lldx%lld (%s)", what,
                 (long long)g.local[0], (long long)g.local[1], variant->name);
    else
        snprintf(r->plain, sizeof r->plain, "one %s per work-item (%s)", what, variant->name);
}

static void measure_comparisons(struct session *s, struct search_result *found)
{
    session_stage(s, "what the best is compared with");
    const struct hone_filter *filter = s->c->filter;
    s->comparing = true;
    s->asked.ms = s->plain.ms = s->first_rung.ms = -1;
    if (s->options->variants && found->best >= 0)
        s->asked = found->all[found->best];
    find_first(s, found, &s->untuned, &s->without_tuning);
    find_first(s, found, &s->now, &s->incumbent);
    measure_plain(s, found);
    for (size_t i = 0; i < filter->rung_count; i++)
        if (compare_with(s, found, filter->rungs[i].variant, filter->rungs[i].config, &s->first_rung))
            return;
    s->first_rung.ms = -1;
}

/* In the race where it took part, so that a gain is no trick of the clock; else as it is known. */
static double time_of(const struct finalist *finalists, int count, const struct evaluated *one)
{
    for (int i = 0; i < count && one->ms >= 0; i++)
        if (point_equal(&finalists[i].point, &one->point))
            return finalists[i].runs.median;
    return one->ms;
}

static void compare(struct session *s, const struct finalist *finalists, int count, int first)
{
    struct record_choice *choice = &s->result->choice;
    struct record_config *asked = &s->result->asked;
    choice->default_ms = time_of(finalists, count, &s->without_tuning);
    choice->plain_ms = time_of(finalists, count, &s->plain);
    choice->first_rung_ms = time_of(finalists, count, &s->first_rung);
    choice->informs = s->options->variants && s->incumbent.ms >= 0 &&
                      point_equal(&s->incumbent.point, &finalists[first].point);
    asked->ms = time_of(finalists, count, &s->asked);
    if (asked->ms < 0)
        return;
    snprintf(asked->variant, sizeof asked->variant, "%s", s->space.paths[s->asked.point.path].name);
    session_config(s, &s->asked.point, asked->config, sizeof asked->config);
}

/* ---- The final ---- */

/* One that failed in the final is never tried again, and nothing is compared with it. */
static void drop(struct session *s, const struct finalist *f, const struct racer *racer)
{
    struct evaluated *compared[COMPARED];
    list_compared(s, compared);
    session_record(s, racer->variant, racer->config, &racer->fault, racer->fault.state);
    s->result->states[racer->fault.state]++;
    for (size_t i = 0; i < COMPARED; i++)
        if (compared[i]->ms >= 0 && point_equal(&compared[i]->point, &f->point))
            compared[i]->ms = -1;
}

static void forget(struct search_result *found, const struct point *point)
{
    for (size_t i = 0; i < found->count; i++)
        if (point_equal(&found->all[i].point, point))
            found->all[i].ms = -1;
}

/* As many rounds as the time that a session has allows. */
static int fitting_rounds(const struct session *s, const struct finalist *finalists, int count, int rounds)
{
    double round_ms = 0;
    for (int i = 0; i < count; i++)
        round_ms += finalists[i].runs.median;
    return s->options->seconds > 0 ? budget_rounds(s->options->seconds - session_elapsed(s), round_ms, rounds)
                                   : rounds;
}

/* How many are left. */
static int race(struct session *s, struct search_result *found, struct finalist *finalists, int count,
                int rounds, bool *raced)
{
    struct racer racers[RACE_MOST];
    int left = 0;
    session_find_right(s); /* where all that was measured was known from before */
    for (int i = 0; i < count; i++)
        racers[i] = (struct racer){.variant = s->space.paths[finalists[i].point.path].name,
                                   .config = finalists[i].config,
                                   .runs = &finalists[i].runs};
    *raced = race_by_turns(s->worker, racers, count, fitting_rounds(s, finalists, count, rounds), 0);
    for (int i = 0; i < count; i++)
        if (racers[i].fault.state == STATE_OK) {
            finalists[left++] = finalists[i];
        } else {
            drop(s, &finalists[i], &racers[i]);
            forget(found, &finalists[i].point);
        }
    return left;
}

/* Where all that took part fail, those behind them follow. */
static int race_until_some_are_left(struct session *s, struct search_result *found,
                                    struct finalist finalists[RACE_MOST])
{
    int count, left = 0;
    session_stage(s, "final");
    do {
        qsort(found->all, found->count, sizeof *found->all, by_score);
        left = count = pick_finalists(s, found->all, found->count, finalists);
        if (count > 0 && !s->result->interrupted)
            left = race(s, found, finalists, count, RACE_ROUNDS, &s->result->raced);
    } while (left == 0 && count > 0);
    return left;
}

/* What would take long even so keeps the time of its search. */
static int leave_out_slowest(struct finalist *slow, int count)
{
    int left = 0;
    for (int i = 0; i < count; i++)
        if (slow[i].runs.median * (RACE_ROUNDS_SLOW + 2) <= slow_race_ms)
            slow[left++] = slow[i];
    return left;
}

/* Medians are compared with medians: what was too slow for the final has a short one of its own. */
static void race_slow(struct session *s, struct search_result *found)
{
    struct evaluated *compared[COMPARED];
    struct finalist slow[COMPARED];
    bool raced = false;
    qsort(found->all, found->count, sizeof *found->all, by_score); /* some may have dropped out */
    int count = pick_compared(s, found->all[0].ms * RACE_LIMIT_BASELINE, INFINITY, slow);
    count = leave_out_slowest(slow, count);
    if (count == 0 || !s->result->raced || is_late(s))
        return;
    session_stage(s, "what the best is compared with");
    list_compared(s, compared);
    count = race(s, found, slow, count, RACE_ROUNDS_SLOW, &raced);
    for (int i = 0; i < COMPARED && raced; i++)
        compared[i]->ms = time_of(slow, count, compared[i]);
}

hone_status session_final(struct session *s, struct search_result *found, hone_error *error)
{
    struct finalist finalists[RACE_MOST] = {0};
    measure_comparisons(s, found);
    int count = race_until_some_are_left(s, found, finalists), ties = 0;
    if (count == 0)
        return error_set(error, HONE_ERROR_UNSUPPORTED, "no configuration of %s could be measured on '%s'",
                         s->c->filter->name, s->worker->device_record.name);
    race_slow(s, found);
    qsort(finalists, (size_t)count, sizeof *finalists, by_median);
    int first = winner(s, finalists, count, &ties);
    const struct leader *runs = &finalists[first].runs;
    s->result->tied = ties;
    s->result->spread = runs->median > 0 ? runs->deviation / runs->median : 0;
    s->result->drift = leader_drift(runs);
    s->result->load = load_since(s->load_known ? &s->load : NULL, s->worker->pid);
    rank(s, finalists, count, first);
    compare(s, finalists, count, first);
    return HONE_OK;
}
