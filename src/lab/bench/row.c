/* SPDX-License-Identifier: BSD-2-Clause */
#include "lab/bench/row.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/text.h"
#include "filter/chain.h"
#include "filter/check.h"
#include "tune/measure/state.h"

#include <stdio.h>
#include <stdlib.h>

enum { SETTLE_RUNS = 6, LEAST_RUNS = 3, CHECK_WIDTH = 136, CHECK_HEIGHT = 60 };
static const double agreement = 1.05, settle_ms = 300, longest_ms = 1000,
                    slow_ms = 5000; /* after which fewer runs than LEAST_RUNS are enough */

hone_status row_case(struct filter_case *c, const struct variant *variant, const char *text,
                     const hone_image_desc *in, hone_error *error)
{
    hone_status status = chain_parse_case(c, text, error);
    if (status)
        return status;
    if (variant->relaxed)
        status = case_set(c, "accuracy", "relaxed", error);
    else if (variant->exact)
        status = case_set(c, "exact", "yes", error);
    THEN(status, case_prepare(c, in, c->filter->inputs > 1 ? in : NULL, error));
    if (status)
        case_finish(c);
    return status;
}

/* ---- Right or wrong ---- */

static void give_verdict(struct row *row, hone_device *device, const struct filter_case *c)
{
    struct check check;
    struct check_result result;
    hone_error error = {0};
    const struct check_layout tight = {0};
    if (check_init(&check, device, c, PATTERN_STEPS, 7, &error))
        return;
    hone_status status = check_run(&check, device, row->variant, &row->config, tight, &result, &error);
    check_finish(&check);
    if (status)
        return;
    row->verdict = result.right ? ROW_RIGHT : ROW_WRONG;
    if (result.right)
        return;
    struct text why = {0};
    check_explain(&result, &why);
    snprintf(row->note, sizeof row->note, "%s", text_view(&why));
    text_finish(&why);
}

static void check_small(struct row *row, hone_device *device, const char *text, const hone_image_desc *in)
{
    hone_image_desc small = *in;
    struct filter_case c;
    small.width = in->width < CHECK_WIDTH ? in->width : CHECK_WIDTH;
    small.height = in->height < CHECK_HEIGHT ? in->height : CHECK_HEIGHT;
    small.pitch = 0;
    if (row_case(&c, row->variant, text, &small, NULL))
        return;
    give_verdict(row, device, &c);
    case_finish(&c);
}

/* ---- Time ---- */

struct samples {
    double kernels[ROW_RUNS], copies[ROW_RUNS], passes[MAX_PASSES][ROW_RUNS];
    size_t pass_count;
    int count;
};

struct sample {
    double kernels, copies, passes[MAX_PASSES];
    size_t pass_count;
};

static void list_passes(const hone_event *done, struct sample *s)
{
    hone_command command;
    for (size_t i = 0; i < hone_event_command_count(done) && s->pass_count < MAX_PASSES; i++)
        if (hone_event_command(done, i, &command, NULL) == HONE_OK && command.kind == HONE_COMMAND_KERNEL)
            s->passes[s->pass_count++] = (double)(command.times.ended - command.times.started) * 1e-6;
}

/* What is timed. */
struct shot {
    struct measure *m;
    struct instance *instance;
    bool flat;
};

/* One run; with the host's clock, all of it counts as kernels. */
static hone_status run_once(const struct shot *shot, int turn, struct sample *s, hone_error *error)
{
    struct measure *m = shot->m;
    struct surfaces surfaces = {.in = measure_surface(&m->inputs[turn % INPUTS]),
                                .second = measure_surface(&m->second),
                                .out = measure_surface(&m->out)};
    if (shot->flat)
        surfaces.in.pitch = surfaces.second.pitch = 0;
    hone_event *done = NULL;
    hone_durations durations = {0};
    const uint64_t start = clock_ns();
    hone_status status = instance_enqueue(shot->instance, &surfaces, (struct wait_list){0}, &done, error);
    THEN(status, hone_device_finish(m->device, error)); /* waiting for the event would not flush everywhere */
    *s = (struct sample){.kernels = (double)(clock_ns() - start) * 1e-6};
    if (!status && m->clock.believed && hone_event_durations(done, &durations, NULL) == HONE_OK) {
        s->kernels = (double)durations.kernels * 1e-6;
        s->copies = (double)durations.copies * 1e-6;
        list_passes(done, s);
    }
    hone_event_destroy(&done);
    return status;
}

static hone_status settle(const struct shot *shot, hone_error *error)
{
    struct sample last = {0}, now;
    hone_status status = HONE_OK;
    double spent = 0;
    for (int i = 0; i < SETTLE_RUNS && spent < settle_ms && !status; i++) {
        status = run_once(shot, i, &now, error);
        if (i > 0 && now.kernels <= last.kernels * agreement && last.kernels <= now.kernels * agreement)
            break;
        last = now;
        spent += now.kernels;
    }
    return status;
}

static void keep(struct samples *all, const struct sample *s)
{
    const int at = all->count++;
    all->kernels[at] = s->kernels;
    all->copies[at] = s->copies;
    all->pass_count = s->pass_count < MAX_PASSES ? s->pass_count : MAX_PASSES;
    for (size_t p = 0; p < all->pass_count; p++)
        all->passes[p][at] = s->passes[p];
}

static void sum_up(struct samples *all, struct row_times *times)
{
    const int n = all->count;
    times->runs = n;
    times->ms = measure_median(all->kernels, n); /* which puts them in order */
    times->spread = times->ms > 0 ? (all->kernels[(3 * n) / 4] - all->kernels[n / 4]) / 2 / times->ms : 0;
    times->copies = measure_median(all->copies, n);
    times->passes = all->pass_count;
    for (size_t p = 0; p < all->pass_count; p++)
        times->pass_ms[p] = measure_median(all->passes[p], n);
}

hone_status row_time(struct measure *m, struct instance *instance, bool flat, struct row_times *times,
                     hone_error *error)
{
    const struct shot shot = {m, instance, flat};
    struct samples *all = mem_new(1, sizeof *all);
    double spent = 0;
    if (!all)
        return HONE_ERROR_MEMORY;
    hone_status status = settle(&shot, error);
    while (!status && all->count < ROW_RUNS && spent < (all->count < LEAST_RUNS ? slow_ms : longest_ms)) {
        struct sample s;
        status = run_once(&shot, all->count, &s, error);
        spent += s.kernels + s.copies;
        if (!status)
            keep(all, &s);
    }
    if (!status)
        sum_up(all, times);
    times->by_host = !m->clock.believed;
    free(all);
    return status;
}

static hone_status time_case(struct row *row, hone_device *device, const struct filter_case *c,
                             hone_error *error)
{
    struct instance *instance = NULL;
    struct measure *m = NULL;
    hone_status status = variant_cost(c, row->variant, &row->config, &row->cost, error);
    if (!status) /* before there are pictures: most reasons not to run are found here */
        status = instance_create(&instance, device, c, row->variant, &row->config, error);
    THEN(status, measure_open(&m, device, c, NULL, error));
    THEN(status, row_time(m, instance, false, &row->times, error));
    measure_close(&m);
    instance_destroy(&instance);
    return status;
}

static double stored_bytes(const struct filter_case *c)
{
    const hone_image_desc *out = case_result(c), *in = case_input(c);
    return (double)hone_image_row_bytes(out) * out->height / ((double)in->width * in->height);
}

void row_measure(struct row *row, hone_device *device, const char *text, const hone_image_desc *in)
{
    struct filter_case c;
    struct text config = {0};
    hone_error error = {0};
    config_print(row->variant, &row->config, &config);
    snprintf(row->config_text, sizeof row->config_text, "%s", text_view(&config));
    text_finish(&config);
    hone_status status = row_case(&c, row->variant, text, in, &error);
    if (!status) {
        row->stored = stored_bytes(&c);
        status = time_case(row, device, &c, &error);
        case_finish(&c);
    }
    row->ran = status == HONE_OK;
    if (status)
        snprintf(row->note, sizeof row->note, "%.500s", error.message);
    else
        check_small(row, device, text, in);
}
