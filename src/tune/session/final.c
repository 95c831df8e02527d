/* SPDX-License-Identifier: BSD-2-Clause */
/* The end of a session: leaders are measured again by turns, and one of them wins. */
#include "tune/session/engine.h"

#include "tune/session/budget.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double slow_race_ms = 5000; /* for all runs of one that is too slow for the final */

static int by_score(const void *a, const void *b)
{
    const struct evaluated *x = a, *y = b;
    if ((x->ms < 0) != (y->ms < 0))
        return x->ms < 0 ? 1 : -1;
    return (x->ms > y->ms) - (x->ms < y->ms);
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
    const struct session_try *t = session_by_time(s) ? NULL : session_find_try(s, &from->point);
    *to = (struct finalist){.point = from->point, .runs.median = t ? t->measured.ms : from->ms};
    session_config(s, &from->point, to->config);
}

/* What the best is compared with: within `least` to `most` ms, each once. */
static int pick_compared(const struct session *s, double least, double most, struct finalist *picked)
{
    int count = 0;
    for (int i = 0; i < COMPARED; i++)
        if (s->compared[i].ms > least && s->compared[i].ms <= most &&
            !is_taken(picked, count, &s->compared[i].point))
            take(s, &s->compared[i], &picked[count++]);
    return count;
}

/* The fastest, of every path its fastest that is not hopeless, and what the best is compared with. `sorted`
 * is in order. */
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

/* By the objective, with the times of the final. */
static int by_objective(const void *a, const void *b, void *context)
{
    const struct session *s = context;
    const double x = metrics_cost(s->options->metrics, ((const struct finalist *)a)->objective);
    const double y = metrics_cost(s->options->metrics, ((const struct finalist *)b)->objective);
    if ((x < 0) != (y < 0))
        return x < 0 ? 1 : -1;
    return (x > y) - (x < y);
}

static void note_winner(struct session_result *r)
{
    const struct leader *runs = &r->ranked[0].runs;
    r->spread = runs->median > 0 ? runs->deviation / runs->median : 0;
    r->choice.drift = leader_drift(runs);
}

/* What nothing beats that is not seen to be faster: what would run without tuning; for an experiment, what
 * runs as things are. */
static const struct evaluated *standard(const struct session *s)
{
    return &s->compared[s->options->variants ? INCUMBENT : WITHOUT_TUNING];
}

/* Of a race without runs there are none. */
static double margin_of(const struct session_result *r)
{
    double errors[RACE_MOST];
    for (int i = 0; i < r->ranked_count; i++)
        errors[i] = leader_error(&r->ranked[i].runs);
    return leader_margin(&r->ranked[0].runs, errors, r->ranked_count);
}

/* The winner first: the fastest, unless the standard cannot be told from it. Finalists are in order. */
static void crown(struct session *s)
{
    struct session_result *r = s->result;
    const struct evaluated *stays = standard(s);
    const double fastest = r->ranked[0].runs.median, margin = margin_of(r);
    int best = 0;
    r->ranked[0].tied = true;
    r->margin = fastest > 0 ? margin / fastest : 0;
    for (int i = 1; i < r->ranked_count && r->ranked[i].runs.median <= fastest + margin; i++) {
        r->tied++;
        r->ranked[i].tied = true;
        if (stays->ms >= 0 && point_equal(&stays->point, &r->ranked[i].point))
            best = i;
    }
    struct finalist winner = r->ranked[best];
    memmove(&r->ranked[1], &r->ranked[0], sizeof winner * (size_t)best);
    r->ranked[0] = winner;
}

/* The winner first. */
static void put_in_order(struct session *s)
{
    struct session_result *r = s->result;
    for (int i = 0; i < r->ranked_count; i++)
        session_rate(s, &r->ranked[i]);
    if (session_by_time(s)) {
        qsort(r->ranked, (size_t)r->ranked_count, sizeof *r->ranked, by_median);
        crown(s);
    } else {
        qsort_r(r->ranked, (size_t)r->ranked_count, sizeof *r->ranked, by_objective, s);
        r->tied = -1;
    }
    note_winner(r);
}

static void rank(const struct session *s)
{
    struct record_choice *choice = &s->result->choice;
    for (int i = 0; i < s->result->ranked_count && choice->count < RECORD_MAX_RANKED; i++) {
        const struct finalist *f = &s->result->ranked[i];
        struct record_config *to = &choice->ranked[choice->count++];
        snprintf(to->variant, sizeof to->variant, "%s", s->space.paths[f->point.path].name);
        snprintf(to->config, sizeof to->config, "%s", f->config);
        to->ms = f->runs.median;
    }
}

/* In the race where it took part, so that a gain is no trick of the clock; else as it is known. */
static double time_of(const struct finalist *finalists, int count, const struct evaluated *one)
{
    for (int i = 0; i < count && one->ms >= 0; i++)
        if (point_equal(&finalists[i].point, &one->point))
            return finalists[i].runs.median;
    return one->ms;
}

static void compare(struct session *s)
{
    const struct finalist *ranked = s->result->ranked;
    const int count = s->result->ranked_count;
    struct record_choice *choice = &s->result->choice;
    struct record_config *asked = &s->result->asked;
    const struct evaluated *incumbent = &s->compared[INCUMBENT];
    choice->default_ms = time_of(ranked, count, &s->compared[WITHOUT_TUNING]);
    choice->plain_ms = time_of(ranked, count, &s->compared[PLAIN]);
    choice->first_rung_ms = time_of(ranked, count, &s->compared[FIRST_RUNG]);
    const bool stays = incumbent->ms >= 0 && point_equal(&incumbent->point, &ranked[0].point);
    choice->informs =
        !session_by_time(s) || (s->options->variants && (stays || ranked[0].point.path >= s->searched));
    asked->ms = time_of(ranked, count, &s->compared[ASKED]);
    if (asked->ms < 0)
        return;
    const struct point *point = &s->compared[ASKED].point;
    snprintf(asked->variant, sizeof asked->variant, "%s", s->space.paths[point->path].name);
    session_config(s, point, asked->config);
}

/* ---- The final ---- */

/* One that failed in the final is never tried again, and nothing is compared with it. */
static void drop(struct session *s, const struct finalist *f, const struct racer *racer)
{
    session_record(s, racer->variant, racer->config, &racer->fault, racer->fault.state);
    s->result->states[racer->fault.state]++;
    if (s->ops->dropped)
        s->ops->dropped(s, racer->config, &racer->fault);
    for (size_t i = 0; i < COMPARED; i++)
        if (s->compared[i].ms >= 0 && point_equal(&s->compared[i].point, &f->point))
            s->compared[i].ms = -1;
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
    if (s->ops->prepare)
        s->ops->prepare(s); /* where all that was measured was known from before */
    for (int i = 0; i < count; i++)
        racers[i] = (struct racer){.variant = s->space.paths[finalists[i].point.path].name,
                                   .config = finalists[i].config,
                                   .runs = &finalists[i].runs};
    *raced = race_by_turns(s->worker, racers, count, fitting_rounds(s, finalists, count, rounds), s->at_race);
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
static int race_until_some_are_left(struct session *s, struct search_result *found)
{
    struct finalist *finalists = s->result->ranked;
    int count, left = 0;
    session_stage(s, "final");
    do {
        qsort(found->all, found->count, sizeof *found->all, by_score);
        left = count = pick_finalists(s, found->all, found->count, finalists);
        if (count > 0 && !s->result->interrupted)
            left = race(s, found, finalists, count, RACE_ROUNDS, &s->result->choice.raced);
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
    struct finalist slow[COMPARED];
    bool raced = false;
    qsort(found->all, found->count, sizeof *found->all, by_score); /* some may have dropped out */
    int count = pick_compared(s, found->all[0].ms * RACE_LIMIT_BASELINE, INFINITY, slow);
    count = leave_out_slowest(slow, count);
    if (count == 0 || !s->result->choice.raced || session_is_late(s))
        return;
    session_stage(s, "what the best is compared with");
    count = race(s, found, slow, count, RACE_ROUNDS_SLOW, &raced);
    for (int i = 0; i < COMPARED && raced; i++)
        s->compared[i].ms = time_of(slow, count, &s->compared[i]);
}

bool session_searched(const struct search_result *found, struct evaluated *to)
{
    for (size_t i = 0; i < found->count; i++)
        if (point_equal(&found->all[i].point, &to->point)) {
            to->ms = found->all[i].ms;
            return true;
        }
    return false;
}

void session_final(struct session *s, struct search_result *found)
{
    struct session_result *r = s->result;
    for (int i = 0; i < COMPARED; i++)
        s->compared[i].ms = -1;
    if (session_by_time(s))
        s->ops->compare(s, found);
    r->ranked_count = race_until_some_are_left(s, found);
    if (r->ranked_count == 0)
        return;
    race_slow(s, found);
    put_in_order(s);
    rank(s);
    compare(s);
}
