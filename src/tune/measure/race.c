/* SPDX-License-Identifier: BSD-2-Clause */
#include "tune/measure/race.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static json_t *request_for(const struct racer *racers, int count, int rounds)
{
    json_t *points = json_array();
    for (int i = 0; i < count; i++)
        if (racers[i].fault.state == STATE_OK)
            json_array_append_new(
                points, json_pack("{s:s, s:s}", "variant", racers[i].variant, "config", racers[i].config));
    return json_pack("{s:s, s:o, s:i}", "do", "race", "points", points, "rounds", rounds);
}

/* Ten times what it should take, beside compiling. */
static double time_limit(const struct racer *racers, int count, int rounds)
{
    double slowest = 0;
    for (int i = 0; i < count; i++)
        slowest = fmax(slowest, racers[i].runs->median);
    return 60 + slowest * 1e-3 * count * (rounds + 2) * 10;
}

static enum worker_outcome ask(struct worker *worker, const struct racer *racers, int count, int rounds,
                               double beside, json_t **answer, char note[512])
{
    json_t *request = request_for(racers, count, rounds);
    *answer = NULL;
    enum worker_outcome outcome =
        request ? worker_ask(worker, request, beside + time_limit(racers, count, rounds), answer, note)
                : WORKER_UNABLE;
    json_decref(request);
    return outcome;
}

static void blame(struct racer *racer, enum record_state state, const char *note)
{
    racer->fault = (struct measured){.state = state, .ms = -1};
    racer->runs->run_count = 0;
    snprintf(racer->fault.note, sizeof racer->fault.note, "in the final: %.480s", note);
}

static void take_runs(struct racer *racer, const json_t *runs, const char *note)
{
    struct leader *leader = racer->runs;
    if (json_array_size(runs) == 0) {
        blame(racer, STATE_RUN, note && *note ? note : "it could not run any more");
        return; /* the median stays what the search found: it may not be to blame */
    }
    leader->run_count = 0;
    for (size_t k = 0; k < json_array_size(runs) && k < MEASURE_RUNS; k++)
        leader->runs[leader->run_count++] = json_number_value(json_array_get(runs, k));
    leader_summarise(leader);
}

/* What a last look at the results found wrong. */
static bool is_wrong(const json_t *answer, size_t index)
{
    const char *state = json_string_value(json_array_get(json_object_get(answer, "states"), index));
    return state && strcmp(state, record_state_name(STATE_WRONG)) == 0;
}

/* Whether nobody failed to run: what ran and was wrong harms nobody else. */
static bool is_whole(const json_t *answer)
{
    const json_t *runs, *all = json_object_get(answer, "runs");
    size_t i;
    json_array_foreach(all, i, runs) if (json_array_size(runs) == 0 && !is_wrong(answer, i)) return false;
    return json_array_size(all) > 0;
}

static void take(struct racer *racer, const json_t *answer, size_t index)
{
    const char *note = json_string_value(json_array_get(json_object_get(answer, "notes"), index));
    if (is_wrong(answer, index))
        blame(racer, STATE_WRONG, note ? note : "wrong");
    else
        take_runs(racer, json_array_get(json_object_get(answer, "runs"), index), note);
}

/* False when nobody has runs, or wrong results, which blames the device rather than all of them. */
static bool read_runs(const json_t *answer, struct racer *racers, int count)
{
    const json_t *all = json_object_get(answer, "runs");
    bool any = false;
    size_t next = 0;
    for (size_t i = 0; i < json_array_size(all); i++)
        any = any || json_array_size(json_array_get(all, i)) > 0 || is_wrong(answer, i);
    for (int i = 0; i < count && any; i++)
        if (racers[i].fault.state == STATE_OK)
            take(&racers[i], answer, next++);
    return any;
}

/* Nobody was asked, or nobody waits for the answer: that is about no configuration. */
static bool was_in_vain(enum worker_outcome outcome)
{
    return outcome == WORKER_UNABLE || outcome == WORKER_GIVEN_UP;
}

/* How it goes for one alone, for a round. False when there is no answer to be had. */
static bool try_alone(struct worker *worker, struct racer *racer, double beside)
{
    char note[512];
    json_t *answer;
    enum worker_outcome outcome = ask(worker, racer, 1, 1, beside, &answer, note);
    if (outcome == WORKER_ANSWERED && !is_whole(answer)) {
        take(racer, answer, 0);
        worker_end(worker);
    } else if (outcome != WORKER_ANSWERED && !was_in_vain(outcome)) {
        blame(racer, outcome == WORKER_TIMED_OUT ? STATE_TIMEOUT : STATE_CRASH, note);
    }
    json_decref(answer);
    return !was_in_vain(outcome);
}

/* Somebody failed, and may have taken the process along, or the context, in which nobody else runs any more
 * then. False when there is no answer to be had, or when nobody can run: then it is not they. */
static bool find_culprits(struct worker *worker, struct racer *racers, int count, double beside)
{
    int left = 0;
    bool alive = true;
    worker_end(worker);
    for (int i = 0; i < count && alive; i++) {
        alive = try_alone(worker, &racers[i], beside);
        left += alive && racers[i].fault.state == STATE_OK;
    }
    if (alive && left > 0)
        return true;
    for (int i = 0; i < count; i++)
        racers[i].fault.state = STATE_OK;
    return false;
}

bool race_by_turns(struct worker *worker, struct racer *racers, int count, int rounds, double beside)
{
    char note[512];
    json_t *answer;
    for (int i = 0; i < count; i++)
        racers[i].fault.state = STATE_OK;
    enum worker_outcome outcome = ask(worker, racers, count, rounds, beside, &answer, note);
    bool failed = !was_in_vain(outcome) && (outcome != WORKER_ANSWERED || !is_whole(answer));
    if (failed) {
        json_decref(answer);
        answer = NULL;
        outcome = find_culprits(worker, racers, count, beside)
                      ? ask(worker, racers, count, rounds, beside, &answer, note)
                      : WORKER_UNABLE;
    }
    bool raced = outcome == WORKER_ANSWERED && read_runs(answer, racers, count);
    json_decref(answer);
    return raced;
}
