/* SPDX-License-Identifier: BSD-2-Clause */
/* The protocol of measuring, on runs that are written down: what takes how long is no matter of a device. */
#include "tune/measure/timing.h"

#include "test.h"

/* Milliseconds of each run in its order, the last one again and again; negative fails. */
struct script {
    double ms[8];
    int count, asked, launches[16];
};

static double play(void *context, int count, hone_error *error)
{
    struct script *s = context;
    int i = s->asked < s->count ? s->asked : s->count - 1;
    (void)error;
    if (s->asked < 16)
        s->launches[s->asked] = count;
    s->asked++;
    return s->ms[i];
}

static struct measured score(struct script *s, double best)
{
    struct measured r = {.state = STATE_OK, .ms = -1};
    const struct timing timing = {.batch = play, .context = s, .resolution_ms = 1e-6};
    timing_score(&timing, best, &r);
    return r;
}

TEST(the_least_of_three_counts)
{
    struct script s = {.ms = {2, 2, 1.9, 2.2}, .count = 4};
    const struct measured r = score(&s, -1);
    CHECK_EQ(r.state, STATE_OK);
    CHECK(r.ms == 1.9);
    CHECK_EQ(r.run_count, 3);
}

TEST(a_long_cold_run_is_no_score)
{
    struct script s = {.ms = {100, 60, 61}, .count = 3};
    const struct measured r = score(&s, 50); /* 100 is out of the race, 60 is not */
    CHECK_EQ(r.state, STATE_OK);
    CHECK(r.ms == 60);
}

TEST(the_race_judges_a_warm_run)
{
    struct script s = {.ms = {100, 80}, .count = 2};
    const struct measured r = score(&s, 50);
    CHECK_EQ(r.state, STATE_SLOW);
    CHECK(r.ms == 80);
    CHECK_EQ(s.asked, 2);
}

TEST(what_is_hopeless_runs_once)
{
    struct script s = {.ms = {100, 1}, .count = 2};
    const struct measured r = score(&s, 12);
    CHECK_EQ(r.state, STATE_SLOW);
    CHECK(r.ms == 100);
    CHECK_EQ(s.asked, 1);
}

TEST(warm_up_ends_after_six_runs_or_50_ms)
{
    struct script restless = {.ms = {8, 7, 6, 5, 4, 3, 2, 1}, .count = 8},
                  slow = {.ms = {40, 30, 20, 10}, .count = 4};
    struct measured r = score(&restless, 0.5); /* out of the race: no runs behind the warm-up */
    CHECK_EQ(restless.asked, 1);               /* hopeless */
    restless.asked = 0;
    r = score(&restless, 2);
    CHECK_EQ(restless.asked, 6);
    CHECK(r.ms == 3);
    r = score(&slow, 10);
    CHECK_EQ(slow.asked, 3);
    CHECK(r.ms == 20);
}

TEST(a_cold_run_does_not_set_the_batch)
{
    struct script s = {.ms = {30, 0.01}, .count = 2};
    const struct measured r = score(&s, -1);
    CHECK(r.ms == 0.01);
    CHECK_EQ(s.launches[0], 1);
    CHECK_EQ(s.launches[s.asked - 1], 100); /* a millisecond */
}

TEST(a_failure_is_one)
{
    struct script first = {.ms = {-1}, .count = 1}, later = {.ms = {1, 1, -1}, .count = 3};
    CHECK_EQ(score(&first, -1).state, STATE_RUN);
    const struct measured r = score(&later, -1);
    CHECK_EQ(r.state, STATE_RUN);
    CHECK(r.ms < 0);
}

/* ---- The clock ---- */

/* Launches that take `ms` each by the host's clock, and `shown` by the device's. */
struct clocked {
    struct timing_clock clock;
    double ms, shown;
    double longest; /* batch, ms */
};

static double run_clocked(void *context, int count, hone_error *error)
{
    struct clocked *c = context;
    (void)error;
    c->longest = c->ms * count > c->longest ? c->ms * count : c->longest;
    return timing_judge(&c->clock, c->shown * count, c->ms * count) / count;
}

static struct measured score_clocked(struct clocked *c)
{
    struct measured r = {.state = STATE_OK, .ms = -1};
    const struct timing timing = {
        .batch = run_clocked, .context = c, .resolution_ms = 1e-6, .clock = &c->clock};
    c->clock = (struct timing_clock){.believed = true};
    timing_score(&timing, -1, &r);
    return r;
}

static bool near(double a, double b)
{
    return a < b * 1.0001 && b < a * 1.0001;
}

TEST(a_clock_that_is_right_is_believed)
{
    static const double lengths[] = {0.003, 0.2, 30};
    for (size_t i = 0; i < 3; i++) {
        struct clocked c = {.ms = lengths[i], .shown = lengths[i] * 0.8}; /* launching takes time */
        const struct measured r = score_clocked(&c);
        CHECK(c.clock.believed && c.clock.checked);
        CHECK(near(r.ms, c.shown));
        CHECK(c.longest >= 10);
    }
}

TEST(a_clock_that_is_far_off_is_not_believed)
{
    static const double lengths[] = {0.003, 0.2, 30}, factors[] = {0, -1, 0.02, 50};
    for (size_t i = 0; i < 3; i++)
        for (size_t k = 0; k < 4; k++) {
            struct clocked c = {.ms = lengths[i], .shown = lengths[i] * factors[k]};
            const struct measured r = score_clocked(&c);
            CHECK(!c.clock.believed);
            CHECK(near(r.ms, c.ms));
            CHECK_HAS(c.clock.reason, "ms went by");
            for (int run = 0; run < r.run_count; run++)
                CHECK(near(r.runs[run], c.ms));
        }
}

TEST(one_compilation_is_no_proof)
{
    struct timing_clock clock = {.believed = true};
    CHECK(near(timing_judge(&clock, 1, 500), 1)); /* the driver compiled meanwhile */
    CHECK(near(timing_judge(&clock, 14, 15), 14));
    CHECK(clock.believed && clock.checked);
}
