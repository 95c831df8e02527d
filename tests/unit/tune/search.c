/* SPDX-License-Identifier: BSD-2-Clause */
/* Search on made-up landscapes whose optimum is known. */
#include "tune/search/search.h"

#include "test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SIDE = 12 };

/* Path 0: a bowl with its least time, 1 ms, at X = 7, Y = 3. Path 1: 1.5 times slower, 2 values. Path 2
 * always fails. */
struct landscape {
    struct space space;
    int evaluations, of_path[3];
    int64_t seen[512][3];
    int announced, expected; /* evaluations that were announced before */
    int64_t soon[4096][3];
    bool twice;
    int stop_after; /* 0: never */
    bool random;    /* a landscape without any order */
};

static bool legal(const void *context, int path, const int64_t *values)
{
    (void)context;
    return path != 0 || values[0] + values[1] < 2 * SIDE - 4;
}

static bool only_the_last(const void *context, int path, const int64_t *values)
{
    (void)context, (void)values;
    return path == 2;
}

static void init(struct landscape *l)
{
    *l = (struct landscape){0};
    l->space = (struct space){.count = 3, .legal = legal};
    for (int path = 0; path < 3; path++) {
        struct space_path *p = &l->space.paths[path];
        p->name[0] = (char)('a' + path);
        p->count = path == 1 ? 1 : 2;
        for (int i = 0; i < p->count; i++) {
            p->parameters[i] = (struct space_parameter){.count = path == 1 ? 2 : SIDE, .launch_only = i == 1};
            p->parameters[i].name[0] = (char)('X' + i);
            for (int64_t k = 0; k < p->parameters[i].count; k++)
                p->parameters[i].values[k] = k;
        }
    }
}

static double time_of(const struct landscape *l, const struct point *p)
{
    if (p->path == 2)
        return -1;
    if (p->path == 1)
        return 1.5;
    if (l->random)
        return 1 + (double)((p->values[0] * 2654435761u + p->values[1] * 40503u) % 97);
    return 1 + 0.1 * (double)llabs(p->values[0] - 7) + 0.2 * (double)llabs(p->values[1] - 3);
}

static bool was_announced(const struct landscape *l, const int64_t id[3])
{
    for (int i = 0; i < l->announced; i++)
        if (memcmp(l->soon[i], id, sizeof l->soon[i]) == 0)
            return true;
    return false;
}

static double evaluate(void *context, const struct point *point, double best)
{
    struct landscape *l = context;
    (void)best;
    const int64_t id[3] = {point->path, point->values[0], point->values[1]};
    l->expected += was_announced(l, id);
    for (int i = 0; i < l->evaluations; i++)
        l->twice = l->twice || memcmp(l->seen[i], id, sizeof id) == 0;
    memcpy(l->seen[l->evaluations++], id, sizeof id);
    l->of_path[point->path]++;
    return time_of(l, point);
}

static void upcoming(void *context, const struct point *point)
{
    struct landscape *l = context;
    const int64_t id[3] = {point->path, point->values[0], point->values[1]};
    for (int i = 0; i < l->evaluations; i++)
        CHECK(memcmp(l->seen[i], id, sizeof id) != 0); /* what is known needs no compiling */
    REQUIRE(l->announced < 4096);
    memcpy(l->soon[l->announced++], id, sizeof id);
}

static bool stop(void *context)
{
    const struct landscape *l = context;
    return l->stop_after && l->evaluations >= l->stop_after;
}

static struct search_result run(struct landscape *l, int budget, uint32_t random_seed,
                                const struct point *seeds, size_t count)
{
    hone_error error;
    struct search_result result;
    const struct search_options options = {seeds, count, budget, random_seed};
    const struct evaluator evaluator = {evaluate, upcoming, stop, l};
    REQUIRE_OK(search_run(&l->space, &options, &evaluator, &result, &error));
    CHECK_EQ(result.count, l->evaluations);
    CHECK(!l->twice);
    return result;
}

TEST(a_bowl_is_descended_from_a_seed)
{
    struct landscape l;
    const struct point seed = {0, {1, 1}};
    init(&l);
    struct search_result result = run(&l, 40, 1, &seed, 1);
    REQUIRE(result.best >= 0);
    CHECK(result.all[result.best].ms < 1.0001);
    CHECK(point_equal(&result.all[0].point, &seed));
    /* Of each line the first point comes unannounced, and so does the default of each path. */
    CHECK(l.expected >= l.evaluations * 3 / 4);
    search_finish(&result);
}

TEST(small_spaces_are_evaluated_whole)
{
    struct landscape l;
    init(&l);
    l.random = true;
    struct search_result result = run(&l, 500, 1, NULL, 0);
    CHECK(result.exhausted);
    const int legal_of_bowl = SIDE * SIDE - 6; /* sums of 20 to 22 are not: 3 + 2 + 1 */
    CHECK_EQ(result.legal, legal_of_bowl + 2 + SIDE * SIDE);
    CHECK_EQ(result.count, legal_of_bowl + 2 + l.of_path[2]); /* the rest is a dead path */
    double least = INFINITY;
    for (size_t i = 0; i < result.count; i++)
        least = result.all[i].ms >= 0 ? fmin(least, result.all[i].ms) : least;
    CHECK(result.all[result.best].ms <= least);
    search_finish(&result);
}

/* A million combinations, of which the 32 with four equal values are legal: no line leads from one to the
 * other. Each evaluation is a gain, so that the search has no reason to end. */
static bool four_equal(const void *context, int path, const int64_t *values)
{
    (void)context, (void)path;
    return values[0] == values[1] && values[1] == values[2] && values[2] == values[3];
}

static double ever_faster(void *context, const struct point *point, double best)
{
    (void)context, (void)point;
    return best < 0 ? 1 : best * 0.9;
}

TEST(sparse_spaces_are_searched_to_the_budget)
{
    struct space space = {.count = 1, .legal = four_equal};
    space.paths[0].count = 4;
    for (int i = 0; i < 4; i++) {
        space.paths[0].parameters[i].count = 32;
        for (int64_t k = 0; k < 32; k++)
            space.paths[0].parameters[i].values[k] = k;
    }
    const struct evaluator evaluator = {.evaluate = ever_faster};
    for (int budget = 31; budget <= 33; budget++) {
        hone_error error;
        struct search_result result;
        const struct search_options options = {.budget = budget, .random_seed = 1};
        REQUIRE_OK(search_run(&space, &options, &evaluator, &result, &error));
        CHECK_EQ(result.legal, 32);
        CHECK_EQ(result.count, budget < 32 ? budget : 32);
        CHECK(result.exhausted == (budget >= 32));
        search_finish(&result);
    }
}

TEST(the_budget_holds)
{
    for (int budget = 1; budget < 60; budget += 7) {
        struct landscape l;
        init(&l);
        l.random = true;
        struct search_result result = run(&l, budget, 3, NULL, 0);
        CHECK(result.count <= (size_t)budget);
        CHECK(!result.exhausted);
        search_finish(&result);
    }
}

TEST(the_same_seed_gives_the_same_search)
{
    struct landscape a, b;
    init(&a);
    init(&b);
    a.random = b.random = true;
    struct search_result x = run(&a, 60, 9, NULL, 0), y = run(&b, 60, 9, NULL, 0);
    REQUIRE(x.count == y.count);
    for (size_t i = 0; i < x.count; i++)
        CHECK(point_equal(&x.all[i].point, &y.all[i].point));
    search_finish(&x);
    search_finish(&y);
}

TEST(a_failing_path_is_given_up)
{
    struct landscape l;
    init(&l);
    struct search_result result = run(&l, 150, 2, NULL, 0);
    CHECK(l.of_path[2] > 0);
    CHECK(l.of_path[2] <= 3);
    search_finish(&result);
}

TEST(nothing_works)
{
    struct landscape l;
    const struct point seed = {2, {5, 5}};
    init(&l);
    l.space.paths[0].count = l.space.paths[1].count = 0; /* never legal, below */
    l.space.legal = only_the_last;
    struct search_result result = run(&l, 50, 1, &seed, 1);
    CHECK_EQ(result.best, -1);
    CHECK(result.count > 0 && result.count <= 12);
    search_finish(&result);
}

TEST(a_stop_ends_it)
{
    struct landscape l;
    init(&l);
    l.stop_after = 5;
    struct search_result result = run(&l, 100, 1, NULL, 0);
    CHECK_EQ(result.count, 5);
    CHECK(!result.exhausted);
    search_finish(&result);
}

TEST(seeds_that_are_not_legal_are_passed_over)
{
    struct landscape l;
    const struct point seeds[] = {{0, {SIDE - 1, SIDE - 1}}, {1, {1}}};
    init(&l);
    struct search_result result = run(&l, 1, 1, seeds, 2);
    CHECK_EQ(result.count, 1);
    CHECK_EQ(result.all[0].point.path, 1);
    search_finish(&result);
}
