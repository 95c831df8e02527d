/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Ways of handing memory to the device and back. The host makes a picture, the device inverts it, the host
 * reads all of the result; times are from begin to end, by the host's clock.
 */
#include "lab/experiments/transfers.h"
#include "lab/experiments/internal.h"

#include "base/clock.h"
#include "base/error.h"
#include "cache/programs.h"

#include <stdlib.h>
#include <string.h>

enum { WIDE = 16, PAGE = 4096 };

static const struct {
    const char *name, *title;
} ways[TRANSFER_COUNT] = {
    [TRANSFER_COPY] = {"copied", "a buffer; the picture is made elsewhere, written to it, and read back"},
    [TRANSFER_MAP] = {"mapped", "CL_MEM_ALLOC_HOST_PTR: the picture is made and read in mapped memory"},
    [TRANSFER_SHARE] = {"svm", "shared virtual memory, coarse-grained: made and read in place, mapped"},
    [TRANSFER_WRAP] = {"in place", "CL_MEM_USE_HOST_PTR: the device works on the program's own memory"},
};

/* Of each way, those that are not asked for stay empty. */
struct way {
    enum transfer transfer;
    struct memory *in, *out;
    struct kernel *kernel;
    void *own_in, *own_out; /* the program's memory */
    bool is_wrong;
};

struct transfers {
    hone_device *device;
    size_t bytes;
    const char *source;
    unsigned char turn; /* what the picture is made of */
    struct way ways[TRANSFER_COUNT];
};

static hone_status make_memory(struct transfers *t, struct way *way, hone_error *error)
{
    const hone_memory kind = way->transfer == TRANSFER_MAP     ? HONE_MEMORY_MAPPED
                             : way->transfer == TRANSFER_SHARE ? HONE_MEMORY_SHARED
                                                               : HONE_MEMORY_DEVICE;
    if (way->transfer == TRANSFER_COPY || way->transfer == TRANSFER_WRAP) {
        way->own_in = aligned_alloc(PAGE, t->bytes);
        way->own_out = aligned_alloc(PAGE, t->bytes);
        if (!way->own_in || !way->own_out)
            return error_memory(error, "the experiment");
    }
    if (way->transfer == TRANSFER_WRAP) {
        if (!memory_can_wrap(t->device, way->own_in, t->bytes))
            return error_unsupported(error, "the device does not share memory with the host");
        hone_status status = memory_wrap(&way->in, t->device, way->own_in, t->bytes, error);
        return status ? status : memory_wrap(&way->out, t->device, way->own_out, t->bytes, error);
    }
    hone_status status = memory_create(&way->in, t->device, t->bytes, kind, error);
    return status ? status : memory_create(&way->out, t->device, t->bytes, kind, error);
}

static hone_status open_way(struct transfers *t, struct way *way, hone_error *error)
{
    const struct program_unit unit = {"transfers", t->source, "-cl-std=CL1.2"};
    const int count = (int)(t->bytes / WIDE);
    TRY(make_memory(t, way, error));
    TRY(programs_kernel(&way->kernel, t->device, &unit, "invert", error));
    TRY(kernel_set_memory(way->kernel, 0, way->in, error));
    TRY(kernel_set_memory(way->kernel, 1, way->out, error));
    return kernel_set_value(way->kernel, 2, &count, sizeof count, error);
}

/* Makes the picture where the device will find it. */
static hone_status hand_over(struct transfers *t, struct way *way, hone_error *error)
{
    const struct span whole = {0, t->bytes, t->bytes, 1};
    void *pixels = way->own_in;
    hone_status status = HONE_OK;
    if (way->transfer != TRANSFER_COPY)
        status = memory_map(way->in, true, &pixels, (struct wait_list){0}, NULL, error);
    if (status)
        return status;
    memset(pixels, t->turn, t->bytes);
    if (way->transfer == TRANSFER_COPY)
        return memory_write(way->in, &whole, pixels, t->bytes, (struct wait_list){0}, NULL, error);
    return memory_unmap(way->in, (struct wait_list){0}, NULL, error);
}

static bool is_inverted(const unsigned char *pixels, size_t bytes, unsigned char of)
{
    const unsigned char wanted = (unsigned char)(255 - of);
    return pixels[0] == wanted && memcmp(pixels, pixels + 1, bytes - 1) == 0;
}

static hone_status take_back(struct transfers *t, struct way *way, hone_error *error)
{
    const struct span whole = {0, t->bytes, t->bytes, 1};
    void *pixels = way->own_out;
    hone_status status =
        way->transfer == TRANSFER_COPY
            ? memory_read(way->out, &whole, pixels, t->bytes, (struct wait_list){0}, NULL, error)
            : memory_map(way->out, false, &pixels, (struct wait_list){0}, NULL, error);
    if (status)
        return status;
    way->is_wrong |= !is_inverted(pixels, t->bytes, t->turn);
    return way->transfer == TRANSFER_COPY ? HONE_OK
                                          : memory_unmap(way->out, (struct wait_list){0}, NULL, error);
}

struct transfers_run {
    struct transfers *t;
    enum transfer arms[TRANSFER_COUNT];
};

static hone_status run_way(void *context, size_t arm, double *ms, hone_error *error)
{
    const struct transfers_run *run = context;
    struct transfers *t = run->t;
    struct way *way = &t->ways[run->arms[arm]];
    const struct launch launch = {.dimensions = 1, .global = {t->bytes / WIDE}};
    t->turn = (unsigned char)(t->turn * 5 + 7);
    const uint64_t start = clock_ns();
    hone_status status = hand_over(t, way, error);
    THEN(status, kernel_enqueue(way->kernel, &launch, (struct wait_list){0}, NULL, error));
    THEN(status, take_back(t, way, error));
    THEN(status, hone_device_finish(t->device, error));
    *ms = (double)(clock_ns() - start) * 1e-6;
    return status;
}

static void close_way(struct way *way)
{
    kernel_destroy(&way->kernel);
    memory_destroy(&way->in);
    memory_destroy(&way->out);
    free(way->own_in);
    free(way->own_out);
}

hone_status run_transfers(const struct experiment *e, hone_device *device, struct experiment_result *result,
                          hone_error *error)
{
    struct transfers t = {.device = device, .source = experiment_file_text(e->file)};
    struct transfers_run run = {.t = &t};
    t.bytes = (size_t)result->width * result->height / PAGE * PAGE;
    if (t.bytes == 0)
        return error_usage(error, "a picture of %ux%u is less than a page of memory; at least 64x64",
                           result->width, result->height);
    for (int w = 0; w < TRANSFER_COUNT; w++) {
        hone_error why = {0};
        struct arm_result *arm = e->parameter & 1 << w ? arm_add(result, ways[w].name, ways[w].title) : NULL;
        if (!arm)
            continue;
        run.arms[result->count - 1] = (enum transfer)w;
        t.ways[w].transfer = (enum transfer)w;
        if (open_way(&t, &t.ways[w], &why))
            arm_fails(arm, &why);
    }
    result->by_host = true;
    take_turns(result, run_way, &run);
    for (size_t a = 0; a < result->count; a++)
        if (result->arms[a].ran)
            result->arms[a].verdict = t.ways[run.arms[a]].is_wrong ? ROW_WRONG : ROW_RIGHT;
    for (int w = 0; w < TRANSFER_COUNT; w++)
        close_way(&t.ways[w]);
    say_fastest(result);
    return HONE_OK;
}
