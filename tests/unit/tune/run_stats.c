/* SPDX-License-Identifier: BSD-2-Clause */
/* What runs say: medians, ties, drift. */
#include "tune/measure/run_stats.h"

#include "test.h"

#include <math.h>

/* Twelve runs of `ms`, every other one `noise` longer, growing by `growth` from first to last. */
static struct leader runs_of(double ms, double noise, double growth)
{
    struct leader leader = {.run_count = MEASURE_RUNS};
    for (int i = 0; i < MEASURE_RUNS; i++)
        leader.runs[i] = ms + (i % 2) * noise + growth * i / (MEASURE_RUNS - 1);
    leader_summarise(&leader);
    return leader;
}

TEST(medians_and_deviations)
{
    const struct leader leader = runs_of(2, 0.5, 0);
    CHECK(leader.median == 2.25);
    CHECK(leader.deviation == 0.25);
    CHECK(leader.runs[1] == 2.5); /* the order stays */
}

TEST(an_outlier_moves_nothing)
{
    struct leader leader = runs_of(2, 0, 0);
    leader.runs[3] = 100;
    leader_summarise(&leader);
    CHECK(leader.median == 2 && leader.deviation == 0);
}

TEST(without_runs_there_is_no_median)
{
    struct leader leader = {.median = 3};
    leader_summarise(&leader);
    CHECK(leader.median < 0);
    CHECK(leader_drift(&leader) == 0);
}

TEST(the_margin_is_a_percent_or_the_noise)
{
    const struct leader steady = runs_of(2, 0, 0), noisy = runs_of(2, 0.3, 0);
    const double own = leader_error(&noisy);
    double quiet[] = {own, 0, 0}, usual[] = {own, 0, own};
    CHECK(own > 0.05 && own < 0.08);
    CHECK(leader_margin(&steady, quiet, 3) == 0.02); /* one noisy rival widens it for nobody */
    CHECK(leader_margin(&steady, usual, 3) == 2 * own);
    CHECK(leader_margin(&noisy, usual, 3) == 4 * own);
}

TEST(drift_is_told)
{
    const struct leader slower = runs_of(1, 0, 0.3), steady = runs_of(1, 0.2, 0);
    CHECK(leader_drift(&slower) > 0.1 && leader_drift(&slower) < 0.3);
    CHECK(fabs(leader_drift(&steady)) < 1e-9);
}
