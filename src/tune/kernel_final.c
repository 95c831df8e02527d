/* SPDX-License-Identifier: BSD-2-Clause */
#include "tune/kernel_final.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FINAL_ROUNDS = 12 };
static const double first_limit = 8;
static const double leader_limit = 1.5; /* finalists are at most so much slower than the best score */

static bool worked(const struct kernel_try *t)
{
    return (t->measured.state == STATE_OK || t->measured.state == STATE_SLOW) && t->measured.ms >= 0;
}

static int by_median(const void *a, const void *b)
{
    const struct kernel_finalist *x = a, *y = b;
    return (x->runs.median > y->runs.median) - (x->runs.median < y->runs.median);
}

static void add(struct kernel_session_result *r, const struct kernel_try *t)
{
    struct kernel_finalist f = {.point = t->point, .runs.median = t->measured.ms};
    snprintf(f.config, sizeof f.config, "%s", t->config);
    if (r->ranked_count < KERNEL_FINALISTS)
        r->ranked[r->ranked_count++] = f;
    else if (f.runs.median < r->ranked[KERNEL_FINALISTS - 1].runs.median)
        r->ranked[KERNEL_FINALISTS - 1] = f;
    qsort(r->ranked, (size_t)r->ranked_count, sizeof *r->ranked, by_median);
}

/* The gain is told against the first configuration: it runs in the final unless it is hopeless. */
static void add_first(struct kernel_session_result *r)
{
    for (int i = 0; i < r->ranked_count; i++)
        if (strcmp(r->ranked[i].config, r->first) == 0)
            return;
    for (size_t i = 0; i < r->count; i++)
        if (strcmp(r->tries[i].config, r->first) == 0 && worked(&r->tries[i]) &&
            r->tries[i].measured.ms <= r->ranked[0].runs.median * first_limit) {
            r->ranked_count -= r->ranked_count == KERNEL_FINALISTS;
            add(r, &r->tries[i]);
            return;
        }
}

/* The fastest tries, in order. */
static void pick(struct kernel_session_result *r)
{
    double limit = INFINITY;
    for (size_t i = 0; i < r->count; i++)
        if (worked(&r->tries[i]))
            limit = fmin(limit, r->tries[i].measured.ms * leader_limit);
    for (size_t i = 0; i < r->count; i++)
        if (worked(&r->tries[i]) && r->tries[i].measured.ms <= limit)
            add(r, &r->tries[i]);
    if (r->ranked_count > 0)
        add_first(r);
}

static void race(struct worker *worker, struct kernel_session_result *r)
{
    char note[512];
    json_t *answer = NULL, *points = json_array();
    for (int i = 0; i < r->ranked_count; i++)
        json_array_append_new(points,
                              json_pack("{s:s, s:s}", "variant", "kernel", "config", r->ranked[i].config));
    json_t *request = json_pack("{s:s, s:o, s:i}", "do", "race", "points", points, "rounds", FINAL_ROUNDS);
    double seconds =
        60 + r->ranked[r->ranked_count - 1].runs.median * 1e-3 * r->ranked_count * (FINAL_ROUNDS + 2) * 10;
    if (request && worker_ask(worker, request, seconds, &answer, note) == WORKER_ANSWERED)
        for (int i = 0; i < r->ranked_count; i++) {
            const json_t *runs = json_array_get(json_object_get(answer, "runs"), (size_t)i);
            struct leader *leader = &r->ranked[i].runs;
            for (size_t k = 0; k < json_array_size(runs) && k < MEASURE_RUNS; k++)
                leader->runs[leader->run_count++] = json_number_value(json_array_get(runs, k));
            leader_summarise(leader);
        }
    json_decref(request);
    json_decref(answer);
}

static bool earlier(const struct point *a, const struct point *b)
{
    for (int i = 0; i < SPACE_MAX_PARAMETERS; i++)
        if (a->values[i] != b->values[i])
            return a->values[i] < b->values[i];
    return false;
}

static void crown(struct kernel_session_result *r)
{
    int best = 0;
    r->ranked[0].tied = true;
    for (int i = 1; i < r->ranked_count; i++) {
        if (!leader_tied(&r->ranked[0].runs, &r->ranked[i].runs))
            continue;
        r->tied++;
        r->ranked[i].tied = true;
        if (earlier(&r->ranked[i].point, &r->ranked[best].point))
            best = i;
    }
    struct kernel_finalist winner = r->ranked[best];
    memmove(&r->ranked[1], &r->ranked[0], sizeof winner * (size_t)best);
    r->ranked[0] = winner;
    r->spread = winner.runs.median > 0 ? winner.runs.deviation / winner.runs.median : 0;
    r->drift = leader_drift(&winner.runs);
}

void kernel_final(struct worker *worker, struct kernel_session_result *r)
{
    pick(r);
    if (r->ranked_count == 0)
        return;
    if (!r->interrupted)
        race(worker, r);
    qsort(r->ranked, (size_t)r->ranked_count, sizeof *r->ranked, by_median);
    crown(r);
}
