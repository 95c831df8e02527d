/* SPDX-License-Identifier: BSD-2-Clause */
/* Which device takes which frame: runs with devices of known speeds and a clock that is counted, against how
 * long the same frames take otherwise. */
#include "stream/pool/internal.h"
#include "support.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

enum { MOST_DEVICES = 4, MOST_FRAMES = 200 };

struct run {
    struct pool pool;
    struct member members[MOST_DEVICES];
    struct pool_shape shape;
    struct pool_job jobs[MOST_FRAMES];
    double speeds[MOST_DEVICES]; /* seconds for a frame, whether known or not */
    double ends[MOST_DEVICES][POOL_FRAMES];
    unsigned done[MOST_DEVICES];
    double now;
};

static void begin(struct run *run, const double *seconds, size_t devices)
{
    *run = (struct run){.pool = {.count = devices}};
    run->pool.members = run->members;
    for (size_t i = 0; i < devices; i++) {
        run->members[i] = (struct member){.pool = &run->pool,
                                          .index = (unsigned)i,
                                          .state = MEMBER_WORKS,
                                          .most = POOL_FRAMES,
                                          .rate = seconds[i]};
        run->speeds[i] = seconds[i];
    }
}

static void submit(struct run *run, struct pool_job *job)
{
    struct pool_job **at = &run->pool.waiting;
    *job = (struct pool_job){.shape = &run->shape, .in = run};
    while (*at)
        at = &(*at)->next;
    *at = job;
}

/* Until nobody wants any more: each that takes a frame may change another's mind. */
static void share_out(struct run *run)
{
    for (bool some = true; some;) {
        some = false;
        for (size_t i = 0; i < run->pool.count; i++) {
            struct member *member = &run->members[i];
            if (!pool_next_job(member))
                continue;
            const double start = member->in_flight ? run->ends[i][member->in_flight - 1] : run->now;
            run->ends[i][member->in_flight++] = start + run->speeds[i];
            run->done[i]++;
            some = true;
        }
    }
}

static double next_end(const struct run *run)
{
    double next = HUGE_VAL;
    for (size_t i = 0; i < run->pool.count; i++)
        if (run->members[i].in_flight)
            next = fmin(next, run->ends[i][0]);
    return next;
}

static void finish_frames(struct run *run)
{
    for (size_t i = 0; i < run->pool.count; i++)
        while (run->members[i].in_flight && run->ends[i][0] <= run->now) {
            run->members[i].in_flight--;
            for (unsigned n = 0; n < run->members[i].in_flight; n++)
                run->ends[i][n] = run->ends[i][n + 1];
        }
}

/* Frames come `apart` seconds from each other. Gives when the last one is done. */
static double go(struct run *run, unsigned frames, double apart)
{
    unsigned came = 0;
    double last = 0;
    for (;;) {
        for (; came < frames && came * apart <= run->now; came++)
            submit(run, &run->jobs[came]);
        share_out(run);
        const double end = next_end(run), arrival = came < frames ? came * apart : HUGE_VAL;
        if (end == HUGE_VAL && arrival == HUGE_VAL)
            break;
        last = end < HUGE_VAL ? fmax(last, end) : last;
        run->now = fmin(end, arrival);
        finish_frames(run);
    }
    CHECK(!run->pool.waiting); /* else nobody takes a frame, and its caller waits for ever */
    return last;
}

static double time_of(const double *seconds, size_t devices, unsigned frames, double apart)
{
    static struct run run;
    begin(&run, seconds, devices);
    return go(&run, frames, apart);
}

TEST(equal_devices_take_equal_parts)
{
    static struct run run;
    begin(&run, (const double[]){1, 1}, 2);
    CHECK(fabs(go(&run, 100, 0) - 50) < 1e-9);
    CHECK_EQ(run.done[0], 50);
}

TEST(all_devices_together_take_about_the_least_time)
{
    CHECK(time_of((const double[]){1, 10}, 2, 100, 0) <= 100 / 1.1 + 2);
    CHECK(time_of((const double[]){3, 1, 1}, 3, 70, 0) <= 30 + 3);
    CHECK(time_of((const double[]){1, 1, 1, 1}, 4, 200, 0) <= 50 + 1e-9);
}

TEST(a_device_that_would_be_late_gets_nothing)
{
    static struct run run;
    begin(&run, (const double[]){100, 1}, 2);
    CHECK(fabs(go(&run, 40, 0) - 40) < 1e-9);
    CHECK_EQ(run.done[0], 0);
}

/* Files that are decoded slowly: the fast device is done with each before the next one comes. */
TEST(a_slow_device_gets_nothing_while_the_fast_one_waits_for_frames)
{
    static struct run run;
    begin(&run, (const double[]){10, 1}, 2);
    CHECK(fabs(go(&run, 100, 1.5) - (99 * 1.5 + 1)) < 1e-9);
    CHECK_EQ(run.done[0], 0);
}

TEST(a_device_of_unknown_speed_is_tried_with_one_frame_at_a_time)
{
    static struct run run;
    begin(&run, (const double[]){0, 1}, 2);
    run.speeds[0] = 1000;
    CHECK(fabs(go(&run, 40, 0) - 1000) < 1e-9);
    CHECK_EQ(run.done[0], 1);
    begin(&run, (const double[]){0, 0}, 2);
    run.speeds[0] = run.speeds[1] = 1;
    CHECK(fabs(go(&run, 40, 0) - 20) < 1e-9);
}

/* By whose memory the parts of an image get their size: the same in the next run, which goes on where this
 * one ended. */
TEST(what_is_asked_of_parts_is_asked_of_the_first_device_that_takes_them)
{
    static struct run run;
    struct pool_job question = {.shape = &run.shape};
    for (int steady = 0; steady < 2; steady++) {
        begin(&run, (const double[]){100, 1, 1}, 3);
        run.shape.ring.steady = steady;
        run.pool.waiting = &question;
        CHECK(pool_next_job(&run.members[1]) == (steady ? NULL : &question));
    }
    run.members[0].state = MEMBER_FAILED;
    CHECK(!pool_next_job(&run.members[2]));
    run.shape.refused = 1 << 1;
    CHECK(!pool_next_job(&run.members[1]));
    CHECK(pool_next_job(&run.members[2]) == &question);
}

static double draw(uint32_t *state, double least, double most)
{
    *state = *state * 1664525u + 1013904223u;
    return least + (most - least) * (*state >> 8) / (1 << 24);
}

/* But for a frame of the fastest one, 1 s, for each: how much of a frame is done already is not known. */
TEST(another_device_never_makes_all_of_it_last_longer)
{
    uint32_t state = 5;
    for (int round = 0; round < 500; round++) {
        const unsigned frames = 1 + (unsigned)draw(&state, 0, MOST_FRAMES - 1);
        const double apart = round % 3 ? draw(&state, 0, 2) : 0;
        double seconds[MOST_DEVICES] = {1};
        const size_t devices = 2 + (size_t)draw(&state, 0, MOST_DEVICES - 1.001);
        for (size_t i = 1; i < devices; i++)
            seconds[i] = pow(10, draw(&state, 0, 2));
        CHECK(time_of(seconds, devices, frames, apart) <
              time_of(seconds, 1, frames, apart) + (double)(devices - 1));
    }
}
