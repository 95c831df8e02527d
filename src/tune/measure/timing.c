/* SPDX-License-Identifier: BSD-2-Clause */
#include "tune/measure/timing.h"

#include "base/error.h"
#include "base/mem.h"
#include "cl/device.h"
#include "cl/selftest.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    SETTLE_RUNS = 6,     /* at most, until two agree */
    SCORE_RUNS = 3,      /* of which the least counts */
    MAX_BATCH = 4096,    /* launches between two looks at the clock */
    MAX_CHECK = 1 << 16, /* the same where the clock itself is looked at */
    CHECK_BATCHES = 12,  /* to find how many launches are long enough, and then to be sure */
    MAX_DOUBTS = 3
};
static const double long_ms = 10, clock_ratio = 10; /* when the device's clock is held against the host's */
const double timing_awake_ms = 20;
static const double agreement = 1.05, race_limit = 1.3, hopeless = 8;
static const double settle_ms = 50, sample_ms = 1, short_ms = 0.05;

hone_status timing_wish(enum timing_wish *wish, hone_error *error)
{
    static const char *const words[] = {
        [TIMING_DEVICE] = "device", [TIMING_HOST] = "host", [TIMING_PROCESSOR] = "processor"};
    const char *set = getenv("HONE_TUNE_CLOCK");
    *wish = TIMING_DEVICE;
    if (!set || !*set)
        return HONE_OK;
    for (size_t i = 0; i < COUNT_OF(words); i++)
        if (strcmp(set, words[i]) == 0) {
            *wish = (enum timing_wish)i;
            return HONE_OK;
        }
    return error_usage(error, "HONE_TUNE_CLOCK is device, host or processor, not '%s'", set);
}

struct timing_clock timing_clock_of(hone_device *device)
{
    struct timing_clock c = {.believed = false};
    enum timing_wish wish;
    if (timing_wish(&wish, NULL) == HONE_OK && wish == TIMING_HOST)
        snprintf(c.reason, sizeof c.reason, "HONE_TUNE_CLOCK wishes it");
    else if (!device_profiles(device))
        snprintf(c.reason, sizeof c.reason, "the device gives no time stamps");
    else if (!selftest_holds(device, SELFTEST_CLOCK))
        snprintf(c.reason, sizeof c.reason, "the device's failed the self-test");
    else
        c.believed = true;
    return c;
}

/* A single reading proves nothing: drivers compile in the middle of a first launch. */
static void doubt(struct timing_clock *c, double ms, double wall)
{
    bool far = ms < wall / clock_ratio || ms > wall * clock_ratio;
    c->wall = wall;
    if (wall < long_ms && (!far || ms < wall)) /* launching alone takes longer than a short kernel */
        return;
    c->doubts = far ? c->doubts + 1 : 0;
    c->checked = c->checked || !far;
    if (c->doubts < MAX_DOUBTS)
        return;
    c->believed = false;
    snprintf(c->reason, sizeof c->reason, "the device's shows %.3g ms where %.3g ms went by", ms, wall);
}

double timing_judge(struct timing_clock *c, double ms, double wall)
{
    if (c->believed)
        doubt(c, ms, wall);
    return ms > 0 && c->believed ? ms : wall;
}

double timing_between(struct timing_clock *c, const hone_event *first, const hone_event *last, double wall)
{
    hone_times begin, end;
    double ms = 0;
    if (c->believed && hone_event_times(first, &begin, NULL) == HONE_OK &&
        hone_event_times(last, &end, NULL) == HONE_OK)
        ms = (double)(int64_t)(end.ended - begin.started) * 1e-6;
    return timing_judge(c, ms, wall);
}

/* Samples of short launches are too short to say anything of a clock: once there are batches of 10 ms by the
 * host's, until one agrees or three do not. */
static void check_clock(const struct timing *t)
{
    struct timing_clock *c = t->clock;
    double (*batch)(void *, int, hone_error *) = t->batch_as_is ? t->batch_as_is : t->batch;
    int count = 1;
    for (int i = 0; i < CHECK_BATCHES && c->believed && !c->checked; i++) {
        if (batch(t->context, count, NULL) < 0)
            return;
        double more = c->wall < long_ms ? ceil(1.5 * long_ms / fmax(c->wall, 1e-3)) : 1;
        count = more * count < MAX_CHECK ? (int)more * count : MAX_CHECK;
    }
}

int timing_batch(const struct timing *t, double ms)
{
    if (ms >= short_ms && ms >= 20 * t->resolution_ms)
        return 1;
    double wanted = fmax(sample_ms, 20 * t->resolution_ms);
    double batch = ceil(wanted / fmax(ms, 1e-4));
    return batch < MAX_BATCH ? (int)batch : MAX_BATCH;
}

/* Runs until two samples agree, or it is clear that this will not win; *batch becomes the launches per
 * sample. The first run is a cold one, which compiles on some drivers: unless it is hopeless there is
 * another, however long it takes. */
static double settle(const struct timing *t, double best, int *batch, struct measured *r, hone_error *error)
{
    double last = t->batch(t->context, 1, error), spent = 0;
    if (last < 0)
        return last;
    if (best >= 0 && last > best * hopeless) {
        r->state = STATE_SLOW;
        return last;
    }
    *batch = timing_batch(t, last);
    for (int i = 1; i < SETTLE_RUNS && spent < settle_ms; i++) {
        double now = t->batch(t->context, *batch, error);
        if (now < 0)
            return now;
        spent += now * *batch;
        int wanted = timing_batch(t, now); /* more, where the cold run was long */
        bool agree = now <= last * agreement && last <= now * agreement && wanted <= 2 * *batch;
        *batch = wanted;
        last = now;
        if (agree)
            break;
    }
    return last;
}

static void add_run(struct measured *r, double ms)
{
    if (r->run_count < MEASURE_RUNS)
        r->runs[r->run_count++] = ms;
}

static void score(const struct timing *t, double best, struct measured *r)
{
    hone_error error = {0};
    int batch = 1;
    double least = settle(t, best, &batch, r, &error);
    if (least >= 0)
        add_run(r, least);
    if (least >= 0 && r->state != STATE_SLOW && best >= 0 && least > best * race_limit)
        r->state = STATE_SLOW;
    for (int i = 1; i < SCORE_RUNS && least >= 0 && r->state != STATE_SLOW; i++) {
        double ms = t->batch(t->context, batch, &error);
        if (ms >= 0)
            add_run(r, ms);
        least = ms < least ? ms : least;
    }
    r->ms = least;
    if (least < 0) {
        r->state = STATE_RUN;
        snprintf(r->note, sizeof r->note, "%.500s", error.message);
    }
}

void timing_score(const struct timing *t, double best, struct measured *r)
{
    const bool believed = t->clock && t->clock->believed;
    score(t, best, r);
    if (believed && r->state != STATE_RUN)
        check_clock(t);
    if (!believed || t->clock->believed || r->state == STATE_RUN)
        return;
    r->state = STATE_OK; /* what the clock said is worth nothing */
    r->run_count = 0;
    score(t, best, r);
}
