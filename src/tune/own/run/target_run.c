/* SPDX-License-Identifier: BSD-2-Clause */
/* Running a kernel of the user's own: right before fast, then timed. */
#include "tune/own/run/target_internal.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"
#include "cl/device.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { MAX_ENTRIES = 16, COLD_LAUNCHES = 3 };

static double batch(void *context, int count, hone_error *error)
{
    struct attempt *a = context;
    hone_event *first = NULL, *last = NULL;
    hone_status status = HONE_OK;
    uint64_t start = clock_ns();
    for (int i = 0; i < count && !status; i++)
        status = kernel_enqueue(a->kernel, &a->launch, (struct wait_list){0},
                                i == 0           ? &first
                                : i == count - 1 ? &last
                                                 : NULL,
                                error);
    hone_status finished = hone_device_finish(a->target->device, status ? NULL : error);
    double wall = (double)(clock_ns() - start) * 1e-6, ms = -1;
    if (!status && !finished)
        ms = timing_between(&a->target->clock, first, last ? last : first, wall) / count;
    hone_event_destroy(&first);
    hone_event_destroy(&last);
    return ms;
}

/* Each launch behind a flush, which is not timed; few of them, for a flush may take a tenth of a second. */
static double cold_batch(void *context, int count, hone_error *error)
{
    struct attempt *a = context;
    double sum = 0;
    if (count > COLD_LAUNCHES)
        count = COLD_LAUNCHES;
    for (int i = 0; i < count; i++) {
        double ms = cold_flush(a->target->cold, error) ? -1 : batch(a, 1, error);
        if (ms < 0)
            return ms;
        sum += ms;
    }
    return sum / count;
}

static struct timing timing_of(struct attempt *a)
{
    return (struct timing){.batch = a->target->cold ? cold_batch : batch,
                           .context = a,
                           .resolution_ms =
                               (double)hone_device_get_info(a->target->device)->timer_resolution * 1e-6,
                           .clock = &a->target->clock,
                           .batch_as_is = batch};
}

static hone_status run_once(struct attempt *a, bool reset, hone_error *error)
{
    struct own_target *t = a->target;
    hone_status status = reset ? own_memory_reset(t->memory, error) : HONE_OK;
    if (!status && batch(a, 1, error) < 0)
        status = error && error->status ? error->status : HONE_ERROR_DEVICE;
    THEN(status, own_memory_check_ends(t->memory, error));
    return status ? status : own_memory_read(t->memory, t->got, error);
}

static hone_status compare(struct own_target *t, hone_error *error)
{
    return t->expected ? own_memory_compare(t->memory, t->got, t->expected, error) : HONE_OK;
}

/* Before timing: from a clean start; and once more on top of that, which tells what timed runs will leave. */
static hone_status check_before(struct attempt *a, hone_error *error)
{
    struct own_target *t = a->target;
    hone_status status = run_once(a, true, error);
    THEN(status, compare(t, error));
    if (!status && t->expected) {
        t->repeatable = run_once(a, false, NULL) == HONE_OK && compare(t, NULL) == HONE_OK;
    }
    return status;
}

/* After timing: what the last timed run wrote, where runs leave the right outputs; else one more
 * clean run. */
static hone_status check_after(struct attempt *a, hone_error *error)
{
    struct own_target *t = a->target;
    hone_status status;
    if (!t->repeatable) {
        status = run_once(a, true, error);
    } else {
        status = own_memory_check_ends(t->memory, error);
        THEN(status, own_memory_read(t->memory, t->got, error));
    }
    return status ? status : compare(t, error);
}

/* ---- The right outputs ---- */

static hone_status store_expected(struct own_target *t, hone_error *error)
{
    size_t bytes = own_memory_output_bytes(t->memory);
    int fd = open(t->expected_path, O_WRONLY | O_CLOEXEC);
    bool ok = fd >= 0 && file_write_all(fd, t->got, bytes);
    if (fd >= 0)
        close(fd);
    return ok ? HONE_OK : error_io(error, "the right outputs cannot be kept");
}

hone_status own_target_load_expected(struct own_target *t, hone_error *error)
{
    struct text content = {0};
    size_t bytes = own_memory_output_bytes(t->memory);
    hone_status status = file_read(t->expected_path, bytes, &content, error);
    if (!status && content.length != bytes)
        status = error_io(error, "the right outputs are not whole");
    if (!status && !t->expected)
        t->expected = mem_new(bytes, 1);
    if (!status && !t->expected)
        status = error_memory(error, "the right outputs");
    if (!status)
        memcpy(t->expected, content.data, bytes);
    text_finish(&content);
    return status;
}

/* Makes the right outputs: by one configuration, by the user's function, or from what the parent has read. */
static hone_status refer(struct attempt *a, hone_error *error)
{
    struct own_target *t = a->target;
    hone_status status = HONE_OK;
    if (t->spec->check == CHECK_NONE)
        return HONE_OK;
    if (t->spec->check == CHECK_LIBRARY)
        status = own_memory_refer(t->memory, &a->scope.scope, t->got, error);
    else if (t->spec->check == CHECK_BASELINE)
        status = run_once(a, true, error);
    if (!status && t->spec->check != CHECK_FILES)
        status = store_expected(t, error);
    return status ? status : own_target_load_expected(t, error);
}

/* ---- What the worker asks ---- */

static void say_built(struct target *target)
{
    if (target->built)
        target->built(target->context);
}

/* Clocks drop while a program is compiled; work brings them back before anything is timed. */
static void wake(struct own_target *t, double pause_ms)
{
    uint64_t start = clock_ns();
    while (t->incumbent && pause_ms > timing_awake_ms &&
           (double)(clock_ns() - start) * 1e-6 < timing_awake_ms)
        if (batch(t->incumbent, 1, NULL) < 0)
            return;
}

/* Keeps the attempt if it is the fastest so far, else ends it. */
static void keep_or_finish(struct attempt *a, const struct measured *r)
{
    struct own_target *t = a->target;
    if (r->state == STATE_OK && r->ms >= 0 && (!t->incumbent || r->ms < t->incumbent_ms)) {
        if (!t->incumbent)
            t->incumbent = mem_new(1, sizeof *t->incumbent);
        else
            attempt_finish(t->incumbent);
        if (t->incumbent) {
            *t->incumbent = (struct attempt){.target = t, .kernel = a->kernel, .launch = a->launch};
            t->incumbent_ms = r->ms;
            return;
        }
    }
    attempt_finish(a);
}

static void measure_attempt(struct attempt *a, bool reference, double best, struct measured *r,
                            hone_error *error)
{
    const struct timing timing = timing_of(a);
    /* What a file or a function says needs no kernel that can run. */
    bool runs = !reference || a->target->spec->check == CHECK_BASELINE;
    hone_status status = runs ? attempt_bind(a, error) : HONE_OK;
    THEN(status, reference ? refer(a, error) : check_before(a, error));
    if (!status && !reference) {
        wake(a->target, r->build_ms);
        timing_score(&timing, best, r);
        if (r->state == STATE_OK)
            status = check_after(a, error);
        if (r->state == STATE_OK && !status)
            figures_add_energy(&r->figures, &timing, r->ms, &a->target->base.asked);
    }
    if (status) {
        r->state = status == HONE_ERROR_CHECK ? STATE_WRONG : STATE_RUN;
        r->ms = -1;
    }
}

void own_target_measure(struct target *target, const char *variant, const char *config, double best,
                        struct measured *r)
{
    struct attempt a;
    hone_error error = {0};
    uint64_t start = device_clock_ns();
    *r = (struct measured){.state = STATE_OK, .ms = -1};
    hone_status status = attempt_read(&a, own_target_of(target), config, &error);
    THEN(status, attempt_build(&a, &error));
    r->build_ms = (double)(device_clock_ns() - start) * 1e-6;
    say_built(target);
    if (status)
        r->state = STATE_COMPILE;
    else
        attempt_figures(&a, &r->figures);
    if (!status)
        measure_attempt(&a, strcmp(variant, "reference") == 0, best, r, &error);
    if (r->state != STATE_OK && r->state != STATE_SLOW && !r->note[0])
        snprintf(r->note, sizeof r->note, "%.500s", error.message);
    keep_or_finish(&a, r);
}

static void race_round(struct attempt *attempts, int *batches, int count, struct measured *results,
                       bool warm_up)
{
    for (int i = 0; i < count; i++) {
        if (!attempts[i].kernel)
            continue;
        const struct timing timing = timing_of(&attempts[i]);
        double ms = timing.batch(&attempts[i], batches[i], NULL);
        if (ms < 0) {
            attempt_finish(&attempts[i]);
            results[i].run_count = 0; /* one that failed has lost, however fast it was before */
        } else if (warm_up)
            batches[i] = timing_batch(&timing, ms); /* the run before was a cold one */
        else if (results[i].run_count < MEASURE_RUNS)
            results[i].runs[results[i].run_count++] = ms;
    }
}

void own_target_race(struct target *target, const char *const *variants, const char *const *configs,
                     int count, int rounds, struct measured *results)
{
    struct own_target *t = own_target_of(target);
    struct attempt attempts[MAX_ENTRIES];
    int batches[MAX_ENTRIES];
    (void)variants;
    count = count < MAX_ENTRIES ? count : MAX_ENTRIES;
    for (int i = 0; i < count; i++) {
        results[i] = (struct measured){.state = STATE_OK, .ms = -1};
        bool ready = attempt_read(&attempts[i], t, configs[i], NULL) == HONE_OK &&
                     attempt_build(&attempts[i], NULL) == HONE_OK &&
                     attempt_bind(&attempts[i], NULL) == HONE_OK;
        const struct timing timing = timing_of(&attempts[i]);
        double ms = ready ? timing.batch(&attempts[i], 1, NULL) : -1;
        batches[i] = ms >= 0 ? timing_batch(&timing, ms) : 1;
        if (ms < 0)
            attempt_finish(&attempts[i]);
    }
    for (int round = 0; round < rounds + 1; round++) {
        if (round > 0 && target->round)
            target->round(target->context, round, rounds);
        race_round(attempts, batches, count, results, round == 0);
    }
    for (int i = 0; i < count; i++)
        attempt_finish(&attempts[i]);
}
