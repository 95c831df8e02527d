/* SPDX-License-Identifier: BSD-2-Clause */
#include "tune/measure_private.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/text.h"
#include "cl/device.h"
#include "cl/selftest.h"
#include "filter/check.h"
#include "filter/registry.h"
#include "tune/timing.h"
#include "tune/trust.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const struct wait_list no_wait;

/* On a CPU that others work on, too, the time of the clock says more of them than of a kernel. Processor time
 * is a makeshift: a kernel that leaves cores idle looks as good as one that does not. */
static unsigned wished_processors(hone_device *device)
{
    const char *wish = getenv("HONE_TUNE_CLOCK");
    const hone_device_info *info = hone_device_get_info(device);
    return wish && strcmp(wish, "processor") == 0 && info->kind == HONE_DEVICE_CPU ? info->compute_units : 0;
}

hone_status measure_open(struct measure **out, hone_device *device, const struct filter_case *c,
                         hone_error *error)
{
    struct measure *m = mem_new(1, sizeof *m);
    *out = NULL;
    if (!m)
        return error_memory(error, "a measurement");
    m->device = device;
    m->clock = timing_clock_of(device);
    m->processors = wished_processors(device);
    pthread_mutex_init(&m->lock, NULL);
    hone_status status = case_copy(&m->c, c, error);
    if (!status)
        status = measure_make_images(m, error);
    if (status)
        measure_close(&m);
    *out = m;
    return status;
}

void measure_close(struct measure **slot)
{
    if (!slot || !*slot)
        return;
    struct measure *m = *slot;
    measure_join_builder(m);
    instance_destroy(&m->incumbent);
    for (int i = 0; i < INPUTS; i++)
        memory_destroy(&m->inputs[i].memory);
    memory_destroy(&m->second.memory);
    memory_destroy(&m->out.memory);
    case_finish(&m->c);
    pthread_mutex_destroy(&m->lock);
    free(m->baseline);
    free(m->result);
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
}

/* ---- Right at full size ---- */

/* Memory is kept from one reading to the next: fresh pages of a large result cost more than the rest. */
static hone_status read_result(struct measure *m, void **bytes, hone_error *error)
{
    const struct span span = {0, m->out.bytes, m->out.bytes, 1};
    if (!*bytes)
        *bytes = mem_new(m->out.bytes, 1);
    if (!*bytes)
        return error_memory(error, "a result");
    return memory_read(m->out.memory, &span, *bytes, m->out.bytes, no_wait, NULL, error);
}

/* Leaves the result on input 0 in m->out, as the last of launches that follow each other as those that are
 * timed: what races, races under load. */
static hone_status make_result(struct measure *m, struct instance *instance, hone_error *error)
{
    hone_status status = HONE_OK;
    for (int i = INPUTS - 1; i >= 0 && !status; i--) {
        const struct surfaces surfaces = {.in = measure_surface(&m->inputs[i]),
                                          .second = measure_surface(&m->second),
                                          .out = measure_surface(&m->out)};
        status = instance_enqueue(instance, &surfaces, no_wait, NULL, error);
    }
    hone_status finished = hone_device_finish(m->device, status ? NULL : error);
    return status ? status : finished;
}

static struct view view_of(const struct measure *m, void *bytes)
{
    struct view view = {m->c.out, bytes};
    view.desc.pitch = m->out.pitch;
    return view;
}

/* The first variant of the table that can run is the plainest one; it was checked against the reference
 * before. */
void measure_baseline(struct measure *m)
{
    const struct hone_filter *filter = m->c.filter;
    for (size_t i = 0; i < filter->variant_count && !m->baseline; i++) {
        struct instance *instance = NULL;
        struct config config;
        config_default(&filter->variants[i], &config);
        if (!filter->variants[i].relaxed &&
            instance_create(&instance, m->device, &m->c, &filter->variants[i], &config, NULL) == HONE_OK &&
            trust_check(m->device, instance, NULL) == HONE_OK && make_result(m, instance, NULL) == HONE_OK &&
            read_result(m, &m->baseline, NULL) != HONE_OK) {
            free(m->baseline);
            m->baseline = NULL;
        }
        instance_destroy(&instance);
    }
}

/* Two results of one bound may lie on both sides of the truth. */
static void compare_full_size(struct measure *m, struct instance *instance, struct measured *r)
{
    struct check_result result = {0};
    struct text evidence = {0};
    struct view got = view_of(m, m->result), wanted = view_of(m, m->baseline);
    double bound = 2 * case_bound(&m->c, instance_variant(instance), type_full_scale(m->c.in.type));
    check_compare(&got, &wanted, bound, &result);
    if (result.wrong) {
        check_explain(&result, &evidence);
        r->state = STATE_WRONG;
        r->ms = -1;
        snprintf(r->note, sizeof r->note, "at %ux%u: %.400s", m->c.in.width, m->c.in.height,
                 text_view(&evidence));
        trust_quarantine(m->device, instance, r->note, NULL);
    }
    text_finish(&evidence);
}

static void check_full_size(struct measure *m, struct instance *instance, const struct measure_phase *phase,
                            struct measured *r)
{
    if (!m->baseline || make_result(m, instance, NULL) != HONE_OK)
        return;
    if (phase->ran)
        phase->ran(phase->context);
    if (read_result(m, &m->result, NULL) == HONE_OK)
        compare_full_size(m, instance, r);
}

const struct filter_case *measure_case(const struct measure *m)
{
    return &m->c;
}

void measure_try(struct measure *m, const struct variant *variant, const struct config *config, double best,
                 struct measure_phase phase, struct measured *r)
{
    struct instance *instance = NULL;
    hone_error error = {0};
    uint64_t start = clock_ns();
    *r = (struct measured){.state = STATE_OK, .ms = -1};
    hone_status status = instance_create(&instance, m->device, &m->c, variant, config, &error);
    r->build_ms = (double)(clock_ns() - start) * 1e-6;
    r->state = status ? STATE_COMPILE : STATE_OK;
    if (!status)
        trust_build(m->device, instance);
    if (phase.built)
        phase.built(phase.context);
    if (!status) {
        status = trust_check(m->device, instance, &error);
        r->state = status == HONE_ERROR_CHECK ? STATE_WRONG : status ? STATE_RUN : STATE_OK;
    }
    if (status)
        snprintf(r->note, sizeof r->note, "%.500s", error.message);
    else {
        wake(m, r->build_ms);
        score(m, instance, best, r);
    }
    if (r->state == STATE_OK)
        check_full_size(m, instance, &phase, r);
    keep_or_destroy(m, &instance, r);
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
        if (!shots[i].instance)
            continue;
        double ms = batch(&shots[i], batches[i], NULL);
        if (ms < 0) {
            instance_destroy(&shots[i].instance);
            entries[i].run_count = 0; /* one that failed has lost, however fast it was before */
        } else if (warm_up) {
            const struct timing timing = timing_of(&shots[i]);
            batches[i] = timing_batch(&timing, ms); /* the run before was a cold one */
        } else if (entries[i].run_count < MEASURE_RUNS)
            entries[i].runs[entries[i].run_count++] = ms;
    }
}

void measure_race(struct measure *m, struct measure_entry *entries, int count, int rounds)
{
    enum { MAX_ENTRIES = 16 };
    struct shot shots[MAX_ENTRIES] = {0};
    int batches[MAX_ENTRIES];
    count = count < MAX_ENTRIES ? count : MAX_ENTRIES;
    for (int i = 0; i < count; i++) {
        shots[i].m = m;
        const struct timing timing = timing_of(&shots[i]);
        entries[i].run_count = 0;
        if (instance_create(&shots[i].instance, m->device, &m->c, entries[i].variant, &entries[i].config,
                            NULL) != HONE_OK)
            continue;
        double ms = batch(&shots[i], 1, NULL);
        batches[i] = ms >= 0 ? timing_batch(&timing, ms) : 1;
    }
    race_round(shots, entries, batches, count, true);
    for (int i = 0; i < rounds; i++)
        race_round(shots, entries, batches, count, false);
    for (int i = 0; i < count; i++)
        instance_destroy(&shots[i].instance);
}
