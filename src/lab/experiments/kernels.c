/* SPDX-License-Identifier: BSD-2-Clause */
/* Experiments on kernels: the arms of one are kernels of its file, compiled with other options or launched
 * otherwise. */
#include "lab/experiments/internal.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/mem.h"
#include "cache/programs.h"
#include "cl/selftest.h"
#include "image/pattern.h"
#include "lab/experiments/compare.h"
#include "tune/measure/cache_flush.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    SLACK = 64 /* rows and bytes that windows read beyond the picture */,
    MOST_PARTS = 64,
    MOST_PARAMETER = 1 << 22
};

struct bench_arm {
    struct kernel *kernels[ARM_PASSES];
    unsigned parts;
};

struct kernels_run {
    const struct experiment *e;
    hone_device *device;
    struct experiment_result *result;
    struct timing_clock clock;
    struct cold *cold;
    struct memory *in, *out, *scratch, *image;
    void *host_in, *host_out, *right,
        *first; /* the first arm's result, where only rows of the right one are known */
    size_t in_bytes, out_bytes;
    uint32_t right_rows;
    int parameter;
    bool has_first;
    struct bench_arm arms[EXPERIMENT_ARMS];
};

/* ---- Kernels ---- */

static void print_options(const struct arm *arm, char *to, size_t room)
{
    const char *own = arm->options ? arm->options : "";
    snprintf(to, room, "%s %s%s", strstr(own, "-cl-std") ? "" : "-cl-std=CL1.2", own,
             arm->image ? " -DSAMPLER" : "");
}

static hone_status set_arguments(const struct kernels_run *r, const struct arm *arm, struct kernel *kernel,
                                 hone_error *error)
{
    const int width = (int)r->result->width, height = (int)r->result->height, row = 0;
    TRY(kernel_set_memory(kernel, 0, arm->image ? r->image : r->in, error));
    TRY(kernel_set_memory(kernel, 1, r->out, error));
    TRY(kernel_set_memory(kernel, 2, r->scratch, error));
    TRY(kernel_set_value(kernel, 3, &width, sizeof width, error));
    TRY(kernel_set_value(kernel, 4, &height, sizeof height, error));
    TRY(kernel_set_value(kernel, 5, &row, sizeof row, error));
    return kernel_set_value(kernel, 6, &r->parameter, sizeof r->parameter, error);
}

static size_t group_items(const struct experiment *e, const struct arm *arm)
{
    const size_t *local = arm->local[0] ? arm->local : e->local;
    return arm->any_group ? 0 : local[0] * (local[1] ? local[1] : 1);
}

/* The picture as a 2D image, for the arms that read one. */
static hone_status need_image(struct kernels_run *r, hone_error *error)
{
    const struct image_format texels = {HONE_U8, 1, false};
    const size_t width = r->result->width, height = r->result->height;
    if (r->image)
        return HONE_OK;
    if (!selftest_holds(r->device, SELFTEST_IMAGES) ||
        !memory_image_possible(r->device, &texels, width, height))
        return error_unsupported(error, "the device has no such images");
    hone_status status = memory_create_image(&r->image, r->device, &texels, width, height, error);
    if (!status)
        status =
            memory_buffer_to_image(r->in, 0, r->image, width, height, (struct wait_list){0}, NULL, error);
    return status;
}

static hone_status open_arm(struct kernels_run *r, size_t a, hone_error *error)
{
    char options[256];
    const struct arm *arm = &r->e->arms[a];
    const struct program_unit unit = {r->e->text.name, experiment_file_text(r->e->file), options};
    hone_status status = arm->image ? need_image(r, error) : HONE_OK;
    print_options(arm, options, sizeof options);
    r->arms[a].parts = 1;
    if (!status && arm->cold && !r->cold)
        status = cold_open(&r->cold, r->device, error);
    for (int p = 0; p < ARM_PASSES && arm->passes[p].kernel && !status; p++) {
        status = programs_kernel(&r->arms[a].kernels[p], r->device, &unit, arm->passes[p].kernel, error);
        THEN(status, set_arguments(r, arm, r->arms[a].kernels[p], error));
    }
    return status;
}

/* Of the pass that makes the result. */
static void ask_facts(struct kernels_run *r, size_t a)
{
    char options[256];
    const struct arm *arm = &r->e->arms[a];
    const int last = arm->passes[1].kernel ? 1 : 0;
    struct arm_result *result = &r->result->arms[a];
    const struct facts_source source = {experiment_file_text(r->e->file), options, arm->passes[last].kernel,
                                        group_items(r->e, arm)};
    print_options(arm, options, sizeof options);
    result->has_facts =
        facts_of_kernel(&result->facts, r->device, r->arms[a].kernels[last], &source, NULL) == HONE_OK;
}

/* ---- Launching ---- */

static size_t round_up(size_t value, size_t unit)
{
    return (value + unit - 1) / unit * unit;
}

static void extent(const struct kernels_run *r, const struct arm *arm, enum region region, size_t to[2])
{
    const size_t across = arm->across ? arm->across : 1, w = r->result->width, h = r->result->height;
    const size_t extents[][2] = {[REGION_PIXELS] = {w / across, h},
                                 [REGION_ROWS] = {h, 1},
                                 [REGION_COLUMNS] = {w / across, 1},
                                 [REGION_PADDED] = {w + 2 * RADIUS, h + 2 * RADIUS},
                                 [REGION_INSIDE] = {w - 2 * RADIUS, h - 2 * RADIUS},
                                 [REGION_EDGE] = {2 * RADIUS * (w + h - 2 * RADIUS), 1}};
    memcpy(to, extents[region], sizeof extents[region]);
}

static struct launch launch_of(const struct kernels_run *r, const struct arm *arm, enum region region,
                               unsigned parts)
{
    const size_t *local = arm->local[0] ? arm->local : r->e->local;
    struct launch launch = {.dimensions = 2};
    size_t size[2];
    extent(r, arm, region, size);
    const bool line = size[1] == 1;
    size[1] = (size[1] + parts - 1) / parts;
    launch.local[0] = line ? local[0] * (local[1] ? local[1] : 1) : local[0];
    launch.local[1] = line ? 1 : local[1];
    launch.global[0] = round_up(size[0], launch.local[0]);
    launch.global[1] = round_up(size[1], launch.local[1]);
    if (arm->any_group)
        launch = (struct launch){.dimensions = 2, .global = {size[0], size[1]}};
    return launch;
}

static double launch_ms(const hone_event *done)
{
    hone_times times;
    return hone_event_times(done, &times, NULL) ? 0 : (double)(times.ended - times.started) * 1e-6;
}

static void note_longest(struct kernels_run *r, size_t a, hone_event *const *events, unsigned count)
{
    struct arm_result *arm = &r->result->arms[a];
    double longest = 0;
    for (unsigned i = 0; i < count && r->clock.believed; i++)
        longest = fmax(longest, launch_ms(events[i]));
    if (longest > 0 && (arm->longest_ms == 0 || longest < arm->longest_ms))
        arm->longest_ms = longest;
}

/* The launches of an arm, one after the other. */
static hone_status enqueue(struct kernels_run *r, size_t a, hone_event **events, unsigned *count,
                           hone_error *error)
{
    const struct arm *arm = &r->e->arms[a];
    const unsigned parts = r->arms[a].parts;
    hone_status status = HONE_OK;
    for (int p = 0; p < ARM_PASSES && arm->passes[p].kernel && !status; p++)
        for (unsigned part = 0; part < parts && !status; part++) {
            const struct launch launch = launch_of(r, arm, arm->passes[p].region, parts);
            const int row = (int)(part * ((r->result->height + parts - 1) / parts));
            status = kernel_set_value(r->arms[a].kernels[p], 5, &row, sizeof row, error);
            THEN(status, kernel_enqueue(r->arms[a].kernels[p], &launch, (struct wait_list){0},
                                        &events[*count], error));
            *count += !status;
        }
    return status;
}

static hone_status run_arm(void *context, size_t a, double *ms, hone_error *error)
{
    struct kernels_run *r = context;
    hone_event *events[MOST_PARTS * ARM_PASSES] = {NULL};
    unsigned count = 0;
    hone_status status = r->e->arms[a].cold ? cold_flush(r->cold, error) : HONE_OK;
    const uint64_t start = clock_ns();
    THEN(status, enqueue(r, a, events, &count, error));
    THEN(status, hone_device_finish(r->device, error));
    const double wall = (double)(clock_ns() - start) * 1e-6;
    if (!status)
        *ms = timing_between(&r->clock, events[0], events[count - 1], wall);
    if (!status && r->arms[a].parts > 1)
        note_longest(r, a, events, count);
    for (unsigned i = 0; i < count; i++)
        hone_event_destroy(&events[i]);
    return status;
}

/* ---- Results ---- */

/* The first run of an arm, in which some drivers compile: no reason to doubt the device's clock. */
static hone_status run_first(struct kernels_run *r, size_t a, hone_error *error)
{
    const struct timing_clock clock = r->clock;
    double ms;
    hone_status status = run_arm(r, a, &ms, error);
    r->clock = clock;
    return status;
}

/* Runs an arm on an output of nothing, and holds what it writes against what is right. */
static hone_status check_arm(struct kernels_run *r, size_t a, hone_error *error)
{
    const uint32_t nothing = 0;
    const struct span whole = {0, r->out_bytes, r->out_bytes, 1};
    const size_t row = r->out_bytes / r->result->height;
    struct arm_result *arm = &r->result->arms[a];
    hone_status status =
        memory_fill(r->out, &nothing, sizeof nothing, r->out_bytes, (struct wait_list){0}, NULL, error);
    THEN(status, run_first(r, a, error));
    THEN(status, memory_read(r->out, &whole, r->host_out, r->out_bytes, (struct wait_list){0}, NULL, error));
    if (status)
        return status;
    arm->worst = largest_difference(r->e->out, r->host_out, r->right, row * r->right_rows);
    if (!r->has_first)
        memcpy(r->first, r->host_out, r->out_bytes);
    else
        arm->worst = fmax(arm->worst, largest_difference(r->e->out, r->host_out, r->first, r->out_bytes));
    r->has_first = true;
    arm->differs = r->e->arms[a].differs;
    if (!arm->differs)
        arm->verdict = arm->worst <= r->e->bound ? ROW_RIGHT : ROW_WRONG;
    return HONE_OK;
}

/* ---- As long as is asked for ---- */

static hone_status set_parameter(struct kernels_run *r, int value, hone_error *error)
{
    hone_status status = HONE_OK;
    r->parameter = value;
    for (size_t a = 0; a < r->e->arm_count && !status; a++)
        for (int p = 0; p < ARM_PASSES && r->arms[a].kernels[p] && !status; p++)
            status = kernel_set_value(r->arms[a].kernels[p], 6, &r->parameter, sizeof r->parameter, error);
    return status;
}

/* Makes the first arm take `aim_ms`, and then the others as many launches as they need. */
static hone_status aim(struct kernels_run *r, hone_error *error)
{
    double ms = 0;
    hone_status status = run_first(r, 0, error);
    for (int i = 0; i < 3 && !status; i++) {
        status = run_arm(r, 0, &ms, error);
        const double factor = ms > 0 ? r->e->aim_ms / ms : 1;
        const double wanted = fmin(fmax(r->parameter * factor, 1), MOST_PARAMETER);
        THEN(status, set_parameter(r, (int)wanted, error));
    }
    THEN(status, run_arm(r, 0, &ms, error));
    for (size_t a = 0; a < r->e->arm_count; a++)
        if (r->e->arms[a].parts)
            r->arms[a].parts = (unsigned)fmin(fmax(ceil(ms / r->e->arms[a].split_ms), 1),
                                              fmin(MOST_PARTS, r->result->height));
    return status;
}

/* ---- The whole ---- */

static hone_status make_memory(struct kernels_run *r, hone_error *error)
{
    const struct span whole = {0, r->in_bytes, r->in_bytes, 1};
    TRY(memory_create(&r->in, r->device, r->in_bytes, HONE_MEMORY_DEVICE, error));
    TRY(memory_create(&r->scratch, r->device, r->in_bytes, HONE_MEMORY_DEVICE, error));
    TRY(memory_create(&r->out, r->device, r->out_bytes, HONE_MEMORY_DEVICE, error));
    return memory_write(r->in, &whole, r->host_in, r->in_bytes, (struct wait_list){0}, NULL, error);
}

/* The picture has rows below it, for windows that begin at a pixel. */
static hone_status make_pictures(struct kernels_run *r, hone_error *error)
{
    const uint32_t w = r->result->width, h = r->result->height;
    const hone_image_desc desc = {
        .width = w + SLACK, .height = h + SLACK, .type = r->e->in, .channels = r->e->channels};
    struct view view = view_new(&desc);
    r->host_in = view.data;
    r->in_bytes = hone_image_row_bytes(&desc) * desc.height;
    r->out_bytes = (size_t)w * h * r->e->channels * hone_type_size(r->e->out);
    r->host_out = mem_new(r->out_bytes, 1);
    r->right = mem_new(r->out_bytes, 1);
    r->first = mem_new(r->out_bytes, 1);
    if (!r->host_in || !r->host_out || !r->right || !r->first)
        return error_memory(error, "the experiment");
    pattern_fill(&view, PATTERN_RANDOM, 5);
    return make_memory(r, error);
}

static void open_arms(struct kernels_run *r)
{
    for (size_t a = 0; a < r->e->arm_count; a++) {
        hone_error error = {0};
        struct arm_result *arm = arm_add(r->result, r->e->arms[a].name, r->e->arms[a].title);
        if (arm && open_arm(r, a, &error))
            arm_fails(arm, &error);
    }
}

static void check_arms(struct kernels_run *r)
{
    for (size_t a = 0; a < r->result->count; a++) {
        hone_error error = {0};
        if (!r->result->arms[a].ran)
            continue;
        ask_facts(r, a);
        if (check_arm(r, a, &error))
            arm_fails(&r->result->arms[a], &error);
    }
}

static void close_run(struct kernels_run *r)
{
    for (size_t a = 0; a < EXPERIMENT_ARMS; a++)
        for (int p = 0; p < ARM_PASSES; p++)
            kernel_destroy(&r->arms[a].kernels[p]);
    cold_close(&r->cold);
    memory_destroy(&r->in);
    memory_destroy(&r->out);
    memory_destroy(&r->scratch);
    memory_destroy(&r->image);
    free(r->host_in);
    free(r->host_out);
    free(r->right);
    free(r->first);
}

hone_status run_kernels(const struct experiment *e, hone_device *device, struct experiment_result *result,
                        hone_error *error)
{
    struct kernels_run r = {.e = e, .device = device, .result = result, .parameter = e->parameter};
    r.clock = timing_clock_of(device);
    hone_status status = make_pictures(&r, error);
    if (!status) {
        open_arms(&r);
        if (e->aim_ms > 0 && result->arms[0].ran)
            status = aim(&r, error);
    }
    if (!status) {
        r.right_rows = e->right(r.host_in, r.right, result->width, result->height, r.parameter);
        check_arms(&r);
        take_turns(result, run_arm, &r);
        result->by_host = !r.clock.believed;
        say_fastest(result);
    }
    close_run(&r);
    return status;
}
