/* SPDX-License-Identifier: BSD-2-Clause */
/* Time shared out over cases, by a clock that the tests turn. */
#include "tune/session/budget.h"

#include "image/pattern.h"
#include "test.h"

#include <math.h>

static double chance(uint32_t *random)
{
    return pattern_random(random) / 4294967296.0;
}

/* Cases take their share and now and then much longer: those behind them make up for it. */
TEST(shares_keep_to_the_total)
{
    enum { CASES = 36 };
    for (uint32_t seed = 1; seed < 200; seed++) {
        uint32_t random = seed;
        double spent = 0;
        for (int i = 0; i < CASES; i++) {
            double share = budget_share(540, spent, CASES - i);
            CHECK(share >= 1);
            spent += share * (chance(&random) < 0.1 ? 2 : 0.7 + 0.3 * chance(&random));
        }
        CHECK(spent <= 600);
    }
    CHECK(budget_share(0, 100, 3) == 0); /* no limit */
    CHECK(budget_share(60, 100, 3) == 1);
}

TEST(rounds_fit_and_make_a_median)
{
    CHECK_EQ(budget_rounds(10, 100, 12), 12);
    CHECK_EQ(budget_rounds(1, 100, 12), 8); /* and two to line up */
    CHECK_EQ(budget_rounds(0.1, 100, 12), 3);
    CHECK_EQ(budget_rounds(-5, 100, 12), 3);
    CHECK_EQ(budget_rounds(5, 0, 12), 12);
}

/* With a total the time that is left only falls. */
TEST(what_is_left_of_a_total_falls)
{
    struct budget_view view = {.total = 540};
    double before = INFINITY;
    for (double spent = 0; spent < 700; spent += 7) {
        double left = budget_left(&view, spent, 1, 1e6);
        CHECK(left <= before && left >= 0);
        before = left;
    }
    CHECK(before == 0);
}

/* Without one: cases of which each is slower or faster than those before by any factor up to a thousand. */
TEST(what_is_left_never_more_than_doubles)
{
    enum { CASES = 30, EACH = 100 };
    for (uint32_t seed = 1; seed < 50; seed++) {
        uint32_t random = seed;
        struct budget_view view = {0};
        double spent = 0, least = INFINITY;
        for (int i = 0; i < CASES; i++) {
            double pace = pow(10, 3 * chance(&random) - 2);
            for (int k = 0; k < EACH; k++) {
                spent += pace;
                double left = budget_left(&view, spent, i * EACH + k + 1, (CASES - i) * EACH - k - 1);
                CHECK(left <= 2 * least);
                least = fmin(least, left);
            }
        }
    }
}

TEST(a_steady_pace_is_told_as_it_is)
{
    struct budget_view view = {0};
    double left = 0;
    for (int i = 1; i <= 500; i++)
        left = budget_left(&view, i, i, 1000 - i);
    CHECK(fabs(left / 500 - 1) < 0.15);
}
