/* SPDX-License-Identifier: BSD-2-Clause */
/* Timing by turns: what the machine does meanwhile meets all arms alike. */
#include "lab/experiments/internal.h"

#include "tune/measure/state.h"

#include <stdio.h>

enum { LEAST_TURNS = 3, SETTLING = 2 /* runs of each arm that do not count */ };
static const double longest_ms = 1500,
                    slow_ms = 8000; /* after which fewer turns than LEAST_TURNS are enough */

struct arm_result *arm_add(struct experiment_result *result, const char *name, const char *title)
{
    if (result->count == EXPERIMENT_ARMS)
        return NULL;
    struct arm_result *arm = &result->arms[result->count++];
    *arm = (struct arm_result){.title = title, .ran = true, .worst = -1};
    snprintf(arm->name, sizeof arm->name, "%s", name);
    return arm;
}

void arm_fails(struct arm_result *arm, const hone_error *error)
{
    arm->ran = false;
    snprintf(arm->note, sizeof arm->note, "%.250s", error->message);
}

struct turns {
    double ms[EXPERIMENT_ARMS][EXPERIMENT_TURNS];
    int count;
};

/* One run of each; `turn` negative: it does not count. Returns the milliseconds of all. */
static double one_turn(struct experiment_result *result, arm_run *run, void *context, struct turns *turns,
                       int turn)
{
    double spent = 0;
    for (size_t a = 0; a < result->count; a++) {
        double ms = 0;
        hone_error error = {0};
        struct arm_result *arm = &result->arms[a];
        if (!arm->ran)
            continue;
        if (run(context, a, &ms, &error)) {
            arm_fails(arm, &error);
            continue;
        }
        spent += ms;
        if (turn >= 0)
            turns->ms[a][turn] = ms;
    }
    return spent;
}

static void sum_up(struct arm_result *arm, double *ms, int count)
{
    arm->turns = count;
    arm->ms = measure_median(ms, count); /* which puts them in order */
    arm->spread = arm->ms > 0 ? (ms[3 * count / 4] - ms[count / 4]) / 2 / arm->ms : 0;
}

void compare_with(struct arm_result *arm, const struct arm_result *base)
{
    arm->gain = arm->ran && base->ran && arm->ms > 0 ? base->ms / arm->ms : 0;
}

void take_turns(struct experiment_result *result, arm_run *run, void *context)
{
    struct turns turns = {.count = 0};
    double spent = 0;
    for (int i = 0; i < SETTLING && spent < longest_ms; i++)
        spent += one_turn(result, run, context, &turns, -1);
    spent = 0;
    while (turns.count < EXPERIMENT_TURNS && spent < (turns.count < LEAST_TURNS ? slow_ms : longest_ms)) {
        spent += one_turn(result, run, context, &turns, turns.count);
        turns.count++;
    }
    for (size_t a = 0; a < result->count; a++)
        if (result->arms[a].ran)
            sum_up(&result->arms[a], turns.ms[a], turns.count);
    for (size_t a = 0; a < result->count; a++)
        compare_with(&result->arms[a], &result->arms[0]);
}

void say_fastest(struct experiment_result *result)
{
    const struct arm_result *first = &result->arms[0], *best = NULL;
    bool differs = false;
    for (size_t a = 0; a < result->count; a++) {
        const struct arm_result *arm = &result->arms[a];
        differs |= arm->ran && arm->differs;
        if (arm->ran && !arm->differs && (!best || arm->ms < best->ms))
            best = arm;
    }
    if (!best)
        snprintf(result->seen, sizeof result->seen, "nothing ran");
    else if (best->gain <= 0)
        snprintf(result->seen, sizeof result->seen, "'%s' is the fastest", best->name);
    else if (best->gain - 1 < best->spread + first->spread)
        snprintf(result->seen, sizeof result->seen, "nothing%s is faster than '%s'%s",
                 differs ? " that must be right" : "", first->name,
                 best == first ? "" : " by more than the spreads");
    else
        snprintf(result->seen, sizeof result->seen, "'%s' is the fastest, %.2f times as fast as '%s'",
                 best->name, best->gain, first->name);
}
