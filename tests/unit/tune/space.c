/* SPDX-License-Identifier: BSD-2-Clause */
/* Search spaces: counting, numbering, legality, printing. */
#include "tune/search/space.h"

#include "base/text.h"
#include "test.h"

#include <stdlib.h>
#include <string.h>

/* Two paths: A = 3 x 2 combinations, B = 4; those with A's X * Y = 4 are not legal. */
static bool legal(const void *context, int path, const int64_t *values)
{
    (void)context;
    return path != 0 || values[0] * values[1] != 4;
}

static const struct space small = {.paths = {{"a", {{"X", {1, 2, 4}, 3, false}, {"Y", {1, 2}, 2, true}}, 2},
                                             {"b", {{"Z", {8, 16, 32, 64}, 4, true}}, 1}},
                                   .count = 2,
                                   .legal = legal};

/* How many are listed; that they are legal, and in order. */
static int64_t legal_of(const struct space *space)
{
    int64_t count;
    uint32_t *list = space_list_legal(space, &count);
    for (int64_t i = 0; i < count; i++) {
        const struct point point = space_at(space, list[i]);
        CHECK(point_legal(space, &point));
        CHECK(i == 0 || list[i] > list[i - 1]);
    }
    free(list);
    return count;
}

static bool never(const void *context, int path, const int64_t *values)
{
    (void)context, (void)path, (void)values;
    return false;
}

TEST(nothing_legal_is_an_empty_list)
{
    struct space none = small;
    none.legal = never;
    CHECK_EQ(legal_of(&none), 0);
}

TEST(size_is_the_sum_of_products)
{
    CHECK_EQ(space_size(&small), 10);
    CHECK_EQ(legal_of(&small), 8);
}

TEST(size_saturates)
{
    struct space huge = {.count = 2};
    for (int path = 0; path < 2; path++) {
        huge.paths[path].count = SPACE_MAX_PARAMETERS;
        for (int i = 0; i < SPACE_MAX_PARAMETERS; i++)
            huge.paths[path].parameters[i].count = SPACE_MAX_VALUES;
    }
    CHECK_EQ(space_size(&huge), INT64_MAX);
    CHECK_EQ(legal_of(&huge), -1); /* and nobody waits for it */
}

TEST(numbers_reach_every_combination_once)
{
    int64_t size = space_size(&small);
    for (int64_t i = 0; i < size; i++)
        for (int64_t k = 0; k < i; k++) {
            const struct point a = space_at(&small, i), b = space_at(&small, k);
            CHECK(!point_equal(&a, &b));
        }
    const struct point first = space_at(&small, 0), second = space_at(&small, 1),
                       seventh = space_at(&small, 6);
    const struct point start = point_default(&small, 0);
    CHECK(point_equal(&first, &start));
    CHECK_EQ(second.values[1], 2); /* the last parameter is the fastest */
    CHECK_EQ(seventh.path, 1);
    CHECK_EQ(seventh.values[0], 8);
}

TEST(a_space_without_a_judge_is_all_legal)
{
    struct space unjudged = small;
    unjudged.legal = NULL;
    CHECK_EQ(legal_of(&unjudged), 10);
}
