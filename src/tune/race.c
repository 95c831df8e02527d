/* SPDX-License-Identifier: BSD-2-Clause */
#include "tune/race.h"

#include <math.h>

enum { ROUNDS = 12 };

static json_t *request_for(const struct racer *racers, int count)
{
    json_t *points = json_array();
    for (int i = 0; i < count; i++)
        json_array_append_new(
            points, json_pack("{s:s, s:s}", "variant", racers[i].variant, "config", racers[i].config));
    return json_pack("{s:s, s:o, s:i}", "do", "race", "points", points, "rounds", ROUNDS);
}

/* Ten times what it should take, beside compiling. */
static double time_limit(const struct racer *racers, int count)
{
    double slowest = 0;
    for (int i = 0; i < count; i++)
        slowest = fmax(slowest, racers[i].runs->median);
    return 60 + slowest * 1e-3 * count * (ROUNDS + 2) * 10;
}

static void read_runs(const json_t *answer, const struct racer *racers, int count)
{
    const json_t *all = json_object_get(answer, "runs");
    for (int i = 0; i < count; i++) {
        const json_t *runs = json_array_get(all, (size_t)i);
        struct leader *leader = racers[i].runs;
        leader->run_count = 0;
        for (size_t k = 0; k < json_array_size(runs) && k < MEASURE_RUNS; k++)
            leader->runs[leader->run_count++] = json_number_value(json_array_get(runs, k));
        leader_summarise(leader);
    }
}

void race_by_turns(struct worker *worker, const struct racer *racers, int count, double beside)
{
    char note[512];
    json_t *answer = NULL, *request = request_for(racers, count);
    if (request &&
        worker_ask(worker, request, beside + time_limit(racers, count), &answer, note) == WORKER_ANSWERED)
        read_runs(answer, racers, count);
    json_decref(request);
    json_decref(answer);
}
