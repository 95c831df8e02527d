/* SPDX-License-Identifier: BSD-2-Clause */
#include "tune/own/final.h"

#include "tune/measure/race.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool worked(const struct own_try *t)
{
    return (t->measured.state == STATE_OK || t->measured.state == STATE_SLOW) && t->measured.ms >= 0;
}

static int by_median(const void *a, const void *b)
{
    const struct own_finalist *x = a, *y = b;
    return (x->runs.median > y->runs.median) - (x->runs.median < y->runs.median);
}

static void add(struct own_session_result *r, const struct own_try *t)
{
    struct own_finalist f = {.point = t->point, .runs.median = t->measured.ms};
    snprintf(f.config, sizeof f.config, "%s", t->config);
    if (r->ranked_count < KERNEL_FINALISTS)
        r->ranked[r->ranked_count++] = f;
    else if (f.runs.median < r->ranked[KERNEL_FINALISTS - 1].runs.median)
        r->ranked[KERNEL_FINALISTS - 1] = f;
    qsort(r->ranked, (size_t)r->ranked_count, sizeof *r->ranked, by_median);
}

/* The gain is told against the first configuration: it runs in the final unless it is hopeless. */
static void add_first(struct own_session_result *r)
{
    for (int i = 0; i < r->ranked_count; i++)
        if (strcmp(r->ranked[i].config, r->first) == 0)
            return;
    for (size_t i = 0; i < r->count; i++)
        if (strcmp(r->tries[i].config, r->first) == 0 && worked(&r->tries[i]) &&
            r->tries[i].measured.ms <= r->ranked[0].runs.median * RACE_LIMIT_BASELINE) {
            r->ranked_count -= r->ranked_count == KERNEL_FINALISTS;
            add(r, &r->tries[i]);
            return;
        }
}

/* The fastest tries, in order. */
static void pick(struct own_session_result *r)
{
    double limit = INFINITY;
    for (size_t i = 0; i < r->count; i++)
        if (worked(&r->tries[i]))
            limit = fmin(limit, r->tries[i].measured.ms * RACE_LIMIT);
    for (size_t i = 0; i < r->count; i++)
        if (worked(&r->tries[i]) && r->tries[i].measured.ms <= limit)
            add(r, &r->tries[i]);
    if (r->ranked_count > 0)
        add_first(r);
}

/* One that failed in the final did not work. */
static void drop(struct own_session *s, const struct racer *racer)
{
    struct own_session_result *r = s->result;
    own_session_record(s, racer->config, &racer->fault, racer->fault.state);
    for (size_t i = 0; i < r->count; i++)
        if (strcmp(r->tries[i].config, racer->config) == 0) {
            r->states[r->tries[i].measured.state]--;
            r->states[racer->fault.state]++;
            r->tries[i].measured = racer->fault;
        }
}

static void race(struct own_session *s, double beside)
{
    struct racer racers[RACE_MOST];
    struct own_session_result *r = s->result;
    int count = r->ranked_count;
    for (int i = 0; i < count; i++)
        racers[i] =
            (struct racer){.variant = "kernel", .config = r->ranked[i].config, .runs = &r->ranked[i].runs};
    r->raced = race_by_turns(s->worker, racers, count, RACE_ROUNDS, beside);
    r->ranked_count = 0;
    for (int i = 0; i < count; i++)
        if (racers[i].fault.state == STATE_OK)
            r->ranked[r->ranked_count++] = r->ranked[i];
        else
            drop(s, &racers[i]);
}

/* The fastest wins, unless the first configuration, which would run without tuning, cannot be told
 * from it. */
static void crown(struct own_session_result *r)
{
    int best = 0;
    r->ranked[0].tied = true;
    for (int i = 1; i < r->ranked_count; i++) {
        if (!leader_tied(&r->ranked[0].runs, &r->ranked[i].runs))
            continue;
        r->tied++;
        r->ranked[i].tied = true;
        if (strcmp(r->ranked[i].config, r->first) == 0)
            best = i;
    }
    struct own_finalist winner = r->ranked[best];
    memmove(&r->ranked[1], &r->ranked[0], sizeof winner * (size_t)best);
    r->ranked[0] = winner;
    r->spread = winner.runs.median > 0 ? winner.runs.deviation / winner.runs.median : 0;
    r->drift = leader_drift(&winner.runs);
}

void own_final(struct own_session *s, double beside)
{
    struct own_session_result *r = s->result;
    pick(r);
    if (r->ranked_count == 0)
        return;
    if (!r->interrupted)
        race(s, beside);
    qsort(r->ranked, (size_t)r->ranked_count, sizeof *r->ranked, by_median);
    crown(r);
}
