/* SPDX-License-Identifier: BSD-2-Clause */
#include "tune/measure/cache_flush.h"

#include "base/error.h"
#include "base/mem.h"
#include "cl/device.h"
#include "cl/program.h"

#include <stdlib.h>

enum { WORD = 16, LEAST_MB = 32 }; /* some devices have caches that they do not tell of */

struct cold {
    hone_device *device;
    struct kernel *kernel;
    struct memory *memory;
    struct launch launch;
};

/* A kernel, so that every core empties its own caches. It reads, too: stores alone may pass by a cache. */
static const char source[] = "kernel void hone_flush_caches(global uint4 *all)\n"
                             "{\n"
                             "    size_t i = get_global_id(0);\n"
                             "    all[i] = all[i] * 1664525u + 1013904223u;\n"
                             "}\n";

static size_t flush_bytes(const hone_device *device)
{
    const hone_device_info *info = hone_device_get_info(device);
    const uint64_t least = (uint64_t)LEAST_MB << 20, wanted = 2 * info->global_cache;
    uint64_t bytes = wanted > least ? wanted : least;
    if (info->max_allocation && bytes > info->max_allocation)
        bytes = info->max_allocation;
    return (size_t)bytes / WORD * WORD;
}

static hone_status make_kernel(struct cold *cold, hone_error *error)
{
    struct program *program = NULL;
    hone_status status = program_from_source(&program, cold->device, source, "", error);
    THEN(status, kernel_create(&cold->kernel, program, "hone_flush_caches", error));
    program_destroy(&program);
    return status;
}

static hone_status make_memory(struct cold *cold, size_t bytes, hone_error *error)
{
    const unsigned zero = 0;
    TRY(memory_create(&cold->memory, cold->device, bytes, HONE_MEMORY_DEVICE, error));
    TRY(memory_fill(cold->memory, &zero, sizeof zero, bytes, (struct wait_list){0}, NULL, error));
    return kernel_set_memory(cold->kernel, 0, cold->memory, error);
}

hone_status cold_open(struct cold **out, hone_device *device, hone_error *error)
{
    const size_t bytes = flush_bytes(device);
    struct cold *cold = mem_new(1, sizeof *cold);
    *out = cold;
    if (!cold)
        return error_memory(error, "cold caches");
    cold->device = device;
    cold->launch = (struct launch){.dimensions = 1, .global = {bytes / WORD}};
    hone_status status = make_kernel(cold, error);
    THEN(status, make_memory(cold, bytes, error));
    if (status) {
        error_prefix(error, "cold caches");
        cold_close(out);
    }
    return status;
}

hone_status cold_flush(struct cold *cold, hone_error *error)
{
    hone_status status = kernel_enqueue(cold->kernel, &cold->launch, (struct wait_list){0}, NULL, error);
    hone_status finished = hone_device_finish(cold->device, status ? NULL : error);
    return status ? status : finished;
}

void cold_close(struct cold **cold)
{
    if (!*cold)
        return;
    kernel_destroy(&(*cold)->kernel);
    memory_destroy(&(*cold)->memory);
    free(*cold);
    *cold = NULL;
}
