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

/* What came of the entry with this index; one that says nothing has no runs. */
static struct measured result_of(const json_t *answer, size_t index)
{
    struct measured m = {.state = STATE_RUN};
    measured_read(&m, json_array_get(json_object_get(answer, "results"), index));
    return m;
}

static size_t result_count(const json_t *answer)
{
    return json_array_size(json_object_get(answer, "results"));
}

/* Whether nobody failed to run: what ran and was wrong harms nobody else. */
static bool is_whole(const json_t *answer)
{
    for (size_t i = 0; i < result_count(answer); i++) {
        const struct measured m = result_of(answer, i);
        if (m.run_count == 0 && m.state != STATE_WRONG)
            return false;
    }
    return result_count(answer) > 0;
}

/* What a last look at the results found wrong is to blame; and what has no runs. */
static void take(struct racer *racer, const struct measured *m)
{
    struct leader *leader = racer->runs;
    if (m->state == STATE_WRONG) {
        blame(racer, STATE_WRONG, m->note[0] ? m->note : "wrong");
    } else if (m->run_count == 0) {
        blame(racer, STATE_RUN, m->note[0] ? m->note : "it could not run any more");
    } else {
        memcpy(leader->runs, m->runs, sizeof m->runs);
        leader->run_count = m->run_count;
        leader_summarise(leader);
    }
}

/* False when nobody has runs, or wrong results, which blames the device rather than all of them. */
static bool read_runs(const json_t *answer, struct racer *racers, int count)
{
    bool any = false;
    size_t next = 0;
    for (size_t i = 0; i < result_count(answer); i++) {
        const struct measured m = result_of(answer, i);
        any = any || m.run_count > 0 || m.state == STATE_WRONG;
    }
    for (int i = 0; i < count && any; i++)
        if (racers[i].fault.state == STATE_OK) {
            const struct measured m = result_of(answer, next++);
            take(&racers[i], &m);
        }
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
        const struct measured m = result_of(answer, 0);
        take(racer, &m);
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
