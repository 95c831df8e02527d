/* SPDX-License-Identifier: BSD-2-Clause */
/* hone apply: images of several pages. Each is filtered by itself; the results lie in memory until all can be written. */
#include "cli/apply/apply.h"

#include "base/error.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

/* "3" or "2-5", counted from 1. */
bool apply_parse_pages(const char *text, unsigned *first, unsigned *last)
{
    const unsigned long most = 1000000000;
    char *end = NULL;
    if (text[0] < '0' || text[0] > '9')
        return false;
    const unsigned long from = strtoul(text, &end, 10);
    const char *to = *end == '-' ? end + 1 : text;
    if (to[0] < '0' || to[0] > '9')
        return false;
    const unsigned long until = strtoul(to, &end, 10);
    *first = (unsigned)from;
    *last = (unsigned)until;
    return !*end && from >= 1 && until >= from && until <= most;
}

static hone_status begin_stack(struct engine *engine, size_t bytes, unsigned count, hone_error *error)
{
    const hone_device_info *info = hone_device_get_info(engine->device);
    uint64_t held = 0, budget = UINT64_MAX;
    if (info->kind == HONE_DEVICE_CPU)
        hone_device_memory(engine->device, &held, &budget);
    if (held < budget && bytes <= (budget - held) / count / engine->engines)
        engine->stack = mem_new(bytes, count);
    engine->pages = count;
    if (engine->stack)
        return HONE_OK;
    return error_set(
        error, HONE_ERROR_MEMORY,
        "the results of %u pages need %.1f MB of memory, which there is not; --pages A-B takes some of them",
        count, (double)bytes * count * 1e-6);
}

hone_status apply_keep_page(struct engine *engine, unsigned page, unsigned count, hone_error *error)
{
    const size_t bytes = hone_image_bytes(hone_plan_output(engine->plan));
    hone_status status = page == 0 ? begin_stack(engine, bytes, count, error) : HONE_OK;
    if (!status)
        memcpy(engine->stack + bytes * page, engine->out.data, bytes);
    return status;
}

void apply_forget_pages(struct engine *engine)
{
    free(engine->stack);
    engine->stack = NULL;
    engine->pages = 0;
}
