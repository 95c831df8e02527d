/* SPDX-License-Identifier: BSD-2-Clause */
#include "tune/measure/state.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/mem.h"
#include "choose/trust.h"
#include "cl/device.h"
#include "tune/measure/race.h"
#include "tune/measure/timing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const struct wait_list no_wait;
static const struct figuring nothing_asked;

/* On a CPU that others work on, too, the time of the clock says more of them than of a kernel. Processor time
 * is a makeshift: a kernel that leaves cores idle looks as good as one that does not. */
static unsigned wished_processors(hone_device *device)
{
    enum timing_wish wish;
    const hone_device_info *info = hone_device_get_info(device);
    const bool wished = timing_wish(&wish, NULL) == HONE_OK && wish == TIMING_PROCESSOR;
    return wished && info->kind == HONE_DEVICE_CPU ? info->compute_units : 0;
}

hone_status measure_open(struct measure **out, hone_device *device, const struct filter_case *c,
                         const char *held, hone_error *error)
{
    struct measure *m = mem_new(1, sizeof *m);
    *out = NULL;
    if (!m)
        return error_memory(error, "a measurement");
    m->held = -1;
    m->device = device;
    m->clock = timing_clock_of(device);
    m->asked = &nothing_asked;
    m->processors = wished_processors(device);
    builders_init(&m->builders);
    hone_status status = case_copy(&m->c, c, error);
    THEN(status, measure_make_images(m, error));
    THEN(status, measure_open_right(m, held, error));
    if (status)
        measure_close(&m);
    *out = m;
    return status;
}

void measure_ask(struct measure *m, const struct figuring *asked)
{
    m->asked = asked;
}

void measure_close(struct measure **slot)
{
    if (!slot || !*slot)
        return;
    struct measure *m = *slot;
    builders_finish(&m->builders);
    instance_destroy(&m->incumbent);
    for (int i = 0; i < INPUTS; i++)
        memory_destroy(&m->inputs[i].memory);
    memory_destroy(&m->second.memory);
    memory_destroy(&m->out.memory);
    measure_close_right(m);
    case_finish(&m->c);
    free(m);
    *slot = NULL;
}

/* ---- Timing ---- */

static double processor_ms(void)
{
    struct timespec spent;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &spent);
    return (double)spent.tv_sec * 1e3 + (double)spent.tv_nsec * 1e-6;
}

const char *measure_clock(const struct measure *m, const char **reason)
{
    if (m->processors) {
        *reason = "HONE_TUNE_CLOCK wishes processor time, divided by the number of cores";
        return "processor";
    }
    *reason = m->clock.reason;
    return m->clock.believed ? "device" : "host";
}

/* `count` launches one after the other; milliseconds per launch, or negative with the error set. */
static double time_batch(struct measure *m, struct instance *instance, int count, int *turn,
                         hone_error *error)
{
    hone_event *first = NULL, *last = NULL;
    hone_status status = HONE_OK;
    uint64_t start = clock_ns();
    double busy = m->processors ? processor_ms() : 0;
    for (int i = 0; i < count && !status; i++) {
        const struct surfaces surfaces = {.in = measure_surface(&m->inputs[(*turn)++ % INPUTS]),
                                          .second = measure_surface(&m->second),
                                          .out = measure_surface(&m->out)};
        bool timed = i == 0 || i == count - 1;
        hone_event *done = NULL;
        status = instance_enqueue(instance, &surfaces, no_wait, timed ? &done : NULL, error);
        if (!first)
            first = done;
        else if (done)
            last = done;
    }
    if (!status)
        status = hone_device_finish(m->device, error);
    else
        hone_device_finish(m->device, NULL);
    double wall = (double)(clock_ns() - start) * 1e-6, ms = -1;
    if (!status && m->processors)
        ms = (processor_ms() - busy) / m->processors / count;
    else if (!status)
        ms = timing_between(&m->clock, first, last ? last : first, wall) / count;
    hone_event_destroy(&first);
    hone_event_destroy(&last);
    return ms;
}

/* Clocks drop while a program is compiled; work brings them back before anything is timed. */
static void wake(struct measure *m, double pause_ms)
{
    int turn = 0;
    uint64_t start = clock_ns();
    while (m->incumbent && pause_ms > timing_awake_ms &&
           (double)(clock_ns() - start) * 1e-6 < timing_awake_ms)
        if (time_batch(m, m->incumbent, 1, &turn, NULL) < 0)
            return;
}

/* Keeps the instance if it is the fastest so far, else destroys it. */
static void keep_or_destroy(struct measure *m, struct instance **instance, const struct measured *r)
{
    if (r->state == STATE_OK && (!m->incumbent || r->ms < m->incumbent_ms)) {
        instance_destroy(&m->incumbent);
        m->incumbent = *instance;
        m->incumbent_ms = r->ms;
        *instance = NULL;
    }
    instance_destroy(instance);
}

/* An instance with the input that is its turn. */
struct shot {
    struct measure *m;
    struct instance *instance;
    int turn;
};

static double batch(void *context, int count, hone_error *error)
{
    struct shot *shot = context;
    return time_batch(shot->m, shot->instance, count, &shot->turn, error);
}

static struct timing timing_of(struct shot *shot)
{
    double resolution = (double)hone_device_get_info(shot->m->device)->timer_resolution * 1e-6;
    return (struct timing){.batch = batch,
                           .context = shot,
                           .resolution_ms = resolution,
                           .clock = shot->m->processors ? NULL : &shot->m->clock};
}

static void score(struct measure *m, struct instance *instance, double best, struct measured *r)
{
    struct shot shot = {m, instance, 0};
    const struct timing timing = timing_of(&shot);
    timing_score(&timing, best, r);
    if (r->state == STATE_OK)
        figures_add_energy(&r->figures, &timing, r->ms, m->asked);
}

/* ---- Right at full size ---- */

static void fail(struct measured *r, const hone_error *error)
{
    r->state = STATE_RUN;
    r->ms = -1;
    snprintf(r->note, sizeof r->note, "%.500s", error->message);
}

/* As if something this fast were known, in ms: what is kept for others to be compared with is often the
 * plainest, and what takes a second need not do that again and again. */
static const double held_best_ms = 125;

/* What takes part in the final, or may be told the gain against. */
static bool may_be_chosen(const struct measured *r, double best)
{
    return r->state == STATE_OK ||
           (r->state == STATE_SLOW && (best < 0 || r->ms <= best * RACE_LIMIT_BASELINE));
}

/* Without a right result there is nothing to compare with, which the session has told. */
static void check_full_size(struct measure *m, struct instance *instance, bool hold,
                            const struct measure_phase *phase, struct measured *r)
{
    hone_error error = {0};
    bool found = false;
    hone_status status = hold ? HONE_OK : measure_find_right(m, &found, &error);
    if (!status && !hold && !found)
        return;
    THEN(status, measure_make_result(m, instance, &error));
    if (phase->ran)
        phase->ran(phase->context);
    if (!status && hold)
        status = measure_keep_result(m, &error);
    else if (!status)
        measure_compare(m, instance, r);
    if (status)
        fail(r, &error);
}

const struct filter_case *measure_case(const struct measure *m)
{
    return &m->c;
}

/* Builds the instance, and checks it on a small picture. */
static hone_status prepare(struct measure *m, struct instance *instance, hone_status built,
                           const struct measure_phase *phase, struct measured *r, hone_error *error)
{
    r->state = built ? STATE_COMPILE : STATE_OK;
    if (!built)
        trust_build(m->device, instance);
    if (phase->built)
        phase->built(phase->context);
    if (built)
        return built;
    hone_status status = trust_check(m->device, instance, error);
    r->state = status == HONE_ERROR_CHECK ? STATE_WRONG : status ? STATE_RUN : STATE_OK;
    return status;
}

static void try_one(struct measure *m, const struct variant *variant, const struct config *config,
                    double best, bool hold, const struct measure_phase *phase, struct measured *r)
{
    struct instance *instance = NULL;
    hone_error error = {0};
    uint64_t start = device_clock_ns();
    *r = (struct measured){.state = STATE_OK, .ms = -1};
    hone_status status = instance_create(&instance, m->device, &m->c, variant, config, &error);
    r->build_ms = (double)(device_clock_ns() - start) * 1e-6;
    status = prepare(m, instance, status, phase, r, &error);
    if (status)
        snprintf(r->note, sizeof r->note, "%.500s", error.message);
    else {
        figures_of_instance(&r->figures, m->device, instance, m->asked);
        wake(m, r->build_ms);
        score(m, instance, best, r);
    }
    if (may_be_chosen(r, hold ? -1 : best))
        check_full_size(m, instance, hold, phase, r);
    keep_or_destroy(m, &instance, r);
}

void measure_try(struct measure *m, const struct variant *variant, const struct config *config, double best,
                 struct measure_phase phase, struct measured *r)
{
    try_one(m, variant, config, best, false, &phase, r);
}

void measure_hold(struct measure *m, const struct variant *variant, const struct config *config,
                  struct measure_phase phase, struct measured *r)
{
    try_one(m, variant, config, held_best_ms, true, &phase, r);
}

/* ---- The final ---- */

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double measure_median(double *values, int count)
{
    qsort(values, (size_t)count, sizeof *values, compare_doubles);
    return count == 0 ? -1 : count % 2 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
}

static void race_round(struct shot *shots, struct measure_entry *entries, int *batches, int count,
                       bool warm_up)
{
    for (int i = 0; i < count; i++) {
        struct measured *r = &entries[i].result;
        if (!shots[i].instance)
            continue;
        double ms = batch(&shots[i], batches[i], NULL);
        if (ms < 0) {
            instance_destroy(&shots[i].instance);
            r->run_count = 0; /* one that failed has lost, however fast it was before */
        } else if (warm_up) {
            const struct timing timing = timing_of(&shots[i]);
            batches[i] = timing_batch(&timing, ms); /* the run before was a cold one */
        } else if (r->run_count < MEASURE_RUNS)
            r->runs[r->run_count++] = ms;
    }
}

/* The same, and each result is looked at. The right one is that of input 0, so the last launch gets that. */
static void race_checked(struct measure *m, struct shot *shots, struct measure_entry *entries, int *batches,
                         int count)
{
    uint64_t ended = clock_ns();
    for (int i = 0; i < count; i++) {
        struct measured *r = &entries[i].result;
        hone_error error = {0};
        if (!shots[i].instance)
            continue;
        wake(m, (double)(clock_ns() - ended) * 1e-6); /* comparing the one before took its time */
        if (measure_poison(m, &error) != HONE_OK || hone_device_finish(m->device, &error) != HONE_OK)
            fail(r, &error);
        shots[i].turn = INPUTS - (batches[i] - 1) % INPUTS;
        race_round(&shots[i], &entries[i], &batches[i], 1, false);
        ended = clock_ns();
        if (shots[i].instance && r->state == STATE_OK)
            measure_compare(m, shots[i].instance, r);
        if (r->state != STATE_OK)
            r->run_count = 0;
    }
}

/* Builds, warms up, and says how many launches make a sample. */
static void line_up(struct measure *m, struct shot *shot, struct measure_entry *entry, int *launches)
{
    shot->m = m;
    entry->result = (struct measured){.state = STATE_OK, .ms = -1};
    *launches = 1;
    if (instance_create(&shot->instance, m->device, &m->c, entry->variant, &entry->config, NULL) != HONE_OK)
        return;
    const struct timing timing = timing_of(shot);
    double ms = batch(shot, 1, NULL);
    if (ms >= 0)
        *launches = timing_batch(&timing, ms);
}

void measure_race(struct measure *m, struct measure_entry *entries, int count, int rounds,
                  const struct measure_phase *phase)
{
    enum { MAX_ENTRIES = 16 };
    struct shot shots[MAX_ENTRIES] = {0};
    int batches[MAX_ENTRIES];
    bool checked = false;
    hone_error error = {0};
    count = count < MAX_ENTRIES ? count : MAX_ENTRIES;
    hone_status status = measure_find_right(m, &checked, &error);
    for (int i = 0; i < count; i++)
        line_up(m, &shots[i], &entries[i], &batches[i]);
    race_round(shots, entries, batches, count, true);
    for (int i = 0; i < rounds - checked; i++) {
        if (phase->round)
            phase->round(phase->context, i + 1, rounds);
        race_round(shots, entries, batches, count, false);
    }
    if (checked && !status && phase->round)
        phase->round(phase->context, rounds, rounds);
    if (checked && !status)
        race_checked(m, shots, entries, batches, count);
    for (int i = 0; i < count; i++) {
        if (status) {
            fail(&entries[i].result, &error);
            entries[i].result.run_count = 0;
        }
        instance_destroy(&shots[i].instance);
    }
}
