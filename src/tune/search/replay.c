/* SPDX-License-Identifier: BSD-2-Clause */
#include "tune/search/replay.h"

#include "base/error.h"
#include "base/mem.h"
#include "image/pattern.h"
#include "tune/measure/measure.h"
#include "tune/search/search.h"

#include <math.h>
#include <stdlib.h>

enum { DRAWS = 3, FINALISTS = 8, MAX_TRACE = 4096 };
static const double good = 0.95, near = 1.02;

const int replay_marks[REPLAY_MARKS] = {10, 20, 50, 100, 200};

struct turn {
    const struct recording *recording;
    uint32_t random;
    double optimum, best;    /* ms, of the truth */
    double trace[MAX_TRACE]; /* share of the optimum after each evaluation */
    int count;
};

/* Costs may be 0, and below 0 where nothing worked. */
static double share_of(double optimum, double cost)
{
    return cost > 0 ? optimum / cost : cost == 0;
}

/* The least of three recorded runs. */
static double evaluate(void *context, const struct point *point, double best)
{
    struct turn *turn = context;
    const struct recorded *r = recording_find(turn->recording, point);
    double least = -1;
    (void)best;
    for (int i = 0; r && r->cost >= 0 && i < DRAWS; i++) {
        double ms = r->runs[pattern_random(&turn->random) % (uint32_t)r->run_count];
        least = least < 0 || ms < least ? ms : least;
    }
    if (least >= 0 && (turn->best < 0 || r->cost < turn->best))
        turn->best = r->cost;
    if (turn->count < MAX_TRACE)
        turn->trace[turn->count++] = share_of(turn->optimum, turn->best);
    return least;
}

static int by_time(const void *a, const void *b)
{
    const struct evaluated *x = a, *y = b;
    if ((x->ms < 0) != (y->ms < 0))
        return x->ms < 0 ? 1 : -1;
    return (x->ms > y->ms) - (x->ms < y->ms);
}

/* The least median among the leaders; negative when nothing worked. */
static double choose_winner(const struct recording *recording, struct search_result *found)
{
    double winner = -1;
    qsort(found->all, found->count, sizeof *found->all, by_time);
    for (size_t i = 0; i < found->count && i < FINALISTS && found->all[i].ms >= 0; i++) {
        const struct recorded *r = recording_find(recording, &found->all[i].point);
        if (r && (winner < 0 || r->cost < winner))
            winner = r->cost;
    }
    return winner;
}

static hone_status play(const struct recording *recording, const struct replay_options *options, int repeat,
                        struct turn *turn, double *winner, hone_error *error)
{
    struct search_result found;
    const struct evaluator evaluator = {evaluate, NULL, NULL, turn};
    const struct search_options search = {recording->seeds,
                                          options->without_seeds ? 0 : recording->seed_count,
                                          options->evaluations, options->random_seed + (uint32_t)repeat};
    turn->recording = recording;
    turn->random = (options->random_seed + (uint32_t)repeat) * 2246822519u | 1;
    turn->count = 0;
    turn->best = -1;
    TRY(search_run(&recording->space, &search, &evaluator, &found, error));
    *winner = choose_winner(recording, &found);
    search_finish(&found);
    return HONE_OK;
}

/* ---- Adding up ---- */

/* After the last evaluation nothing changes any more. */
static double share_at(const struct turn *turn, int evaluations)
{
    int at = evaluations < turn->count ? evaluations : turn->count;
    return at > 0 ? turn->trace[at - 1] : 0;
}

static double to_good(const struct turn *turn)
{
    for (int i = 0; i < turn->count; i++)
        if (turn->trace[i] >= good)
            return i + 1;
    return INFINITY;
}

static void add_turn(struct replay_result *result, const struct turn *turn,
                     const struct replay_options *options)
{
    for (int i = 0; i < REPLAY_MARKS; i++) {
        double share = share_at(turn, replay_marks[i]);
        if (replay_marks[i] > options->evaluations)
            continue;
        result->share[i] += log(share > 1e-9 ? share : 1e-9);
        result->worst[i] = fmin(result->worst[i], share);
    }
    result->evaluations += turn->count;
}

/* Winners within 2 % of the median one. */
static double agreement_of(double *winners, int count)
{
    double usual = measure_median(winners, count);
    int agree = 0;
    for (int i = 0; i < count; i++)
        agree += winners[i] >= 0 && winners[i] <= usual * near && usual <= winners[i] * near;
    return (double)agree / count;
}

static void sum_up(struct replay_result *result, double *winners, double *reached,
                   const struct replay_options *options)
{
    int count = options->repeats;
    double sum = 0;
    for (int i = 0; i < REPLAY_MARKS; i++)
        result->share[i] = replay_marks[i] <= options->evaluations ? exp(result->share[i] / count) : 0;
    result->worst_winner = 1;
    for (int i = 0; i < count; i++) {
        double share = share_of(result->optimum, winners[i]);
        sum += log(share > 1e-9 ? share : 1e-9);
        result->worst_winner = fmin(result->worst_winner, share);
    }
    result->winner = exp(sum / count);
    result->evaluations /= count;
    result->agreement = agreement_of(winners, count);
    result->median_to_95 = measure_median(reached, count);
    if (!isfinite(result->median_to_95))
        result->median_to_95 = -1;
}

hone_status replay_run(const struct recording *recording, const struct replay_options *options,
                       struct replay_result *result, hone_error *error)
{
    double *winners = mem_new((size_t)options->repeats, sizeof *winners);
    double *reached = mem_new((size_t)options->repeats, sizeof *reached);
    struct turn *turn = mem_new(1, sizeof *turn);
    hone_status status = winners && reached && turn ? HONE_OK : error_memory(error, "a replay");
    *result = (struct replay_result){.optimum = -1, .worst = {1, 1, 1, 1, 1}};
    for (size_t i = 0; i < recording->count; i++) {
        const struct recorded *r = &recording->points[i];
        result->legal += r->cost >= 0;
        if (r->cost >= 0 && (result->optimum < 0 || r->cost < result->optimum)) {
            result->optimum = r->cost;
            result->best = r;
        }
    }
    if (!status && result->optimum < 0)
        status = error_unsupported(error, "no configuration of the recording works");
    for (int i = 0; i < options->repeats && !status; i++) {
        turn->optimum = result->optimum;
        status = play(recording, options, i, turn, &winners[i], error);
        if (!status)
            add_turn(result, turn, options);
        reached[i] = to_good(turn);
    }
    if (!status)
        sum_up(result, winners, reached, options);
    free(winners);
    free(reached);
    free(turn);
    return status;
}
