/* SPDX-License-Identifier: BSD-2-Clause */
/* What runs beside a plan's own configuration takes its place only if it is clearly faster by turns. */
#include "plan/duel.h"

#include "support.h"

/* Rounds until it is over, the other one's runs taking `times` as long. */
static struct duel fight(double times)
{
    struct duel duel = {0};
    for (int i = 0; !duel_over(&duel); i++) {
        const double noise = 1 + i % 5 * 0.2; /* of what else runs, which both meet */
        duel_own(&duel, 2 * noise);
        duel_other(&duel, 2 * noise * times);
    }
    return duel;
}

TEST(what_is_faster_wins)
{
    const struct duel duel = fight(0.9);
    CHECK(duel_won(&duel));
    CHECK(duel.rounds == DUEL_ROUNDS);
    CHECK(duel.wins == DUEL_ROUNDS);
}

TEST(what_is_slower_is_soon_left)
{
    const struct duel duel = fight(1.1);
    CHECK(!duel_won(&duel));
    CHECK(duel.rounds == DUEL_ROUNDS - DUEL_WINS + 1);
}

TEST(little_gain_is_not_enough)
{
    const struct duel duel = fight(0.99);
    CHECK(duel.wins == DUEL_ROUNDS);
    CHECK(!duel_won(&duel));
}

TEST(one_lucky_run_does_not_win)
{
    struct duel duel = {0};
    duel_own(&duel, 2);
    duel_other(&duel, 1);
    while (!duel_over(&duel)) {
        duel_own(&duel, 2);
        duel_other(&duel, 2.5);
    }
    CHECK(!duel_won(&duel));
}

TEST(runs_without_one_of_the_other_before_do_not_count)
{
    struct duel duel = {0};
    for (int i = 0; i < 100; i++)
        duel_other(&duel, 1);
    CHECK(duel.rounds == 0);
    CHECK(!duel_over(&duel));
}

TEST(runs_of_no_known_time_are_lost)
{
    struct duel duel = {0};
    for (int i = 0; i < DUEL_ROUNDS && !duel_over(&duel); i++) {
        duel_own(&duel, 2);
        duel_lost(&duel);
    }
    CHECK(duel_over(&duel));
    CHECK(!duel_won(&duel));
}
