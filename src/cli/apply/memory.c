/* SPDX-License-Identifier: BSD-2-Clause */
/* hone apply: memory for pixels. All images under way together take no more than is free; who
 * comes too late waits. */
#include "cli/apply/apply.h"

#include "base/error.h"
#include "stream/pool.h"

#include <stdlib.h>

static size_t whole_pages(const hone_image_desc *desc)
{
    return (hone_image_bytes(desc) + POOL_ALIGN - 1) / POOL_ALIGN * POOL_ALIGN;
}

/* ---- Under the lock ---- */

static void drop_kept(struct pixel_memory *memory, size_t i)
{
    memory->kept_bytes -= memory->kept[i].bytes;
    free(memory->kept[i].data);
    memory->kept[i] = memory->kept[--memory->kept_count];
}

/* Memory that was used before has its pages already. One that is much larger stays for larger images. */
static void *take_kept(struct pixel_memory *memory, size_t bytes, size_t *capacity)
{
    for (size_t i = 0; i < memory->kept_count; i++)
        if (memory->kept[i].bytes >= bytes && memory->kept[i].bytes / 2 <= bytes) {
            void *data = memory->kept[i].data;
            *capacity = memory->kept[i].bytes;
            memory->kept_bytes -= *capacity;
            memory->kept[i] = memory->kept[--memory->kept_count];
            return data;
        }
    return NULL;
}

static bool is_room(struct pixel_memory *memory, uint64_t bytes, uint64_t limit)
{
    while (memory->kept_count && memory->used + memory->kept_bytes + bytes > limit)
        drop_kept(memory, 0);
    return memory->used + bytes <= limit;
}

/* *fresh: its pages are not there yet. */
static void *new_pixels(struct pixel_memory *memory, const hone_image_desc *desc, struct pixels *pixels,
                        bool *fresh, hone_error *error)
{
    const size_t bytes = whole_pages(desc);
    pixels->data = take_kept(memory, bytes, &pixels->bytes);
    *fresh = !pixels->data;
    if (*fresh) {
        pixels->data = aligned_alloc(POOL_ALIGN, bytes);
        pixels->bytes = bytes;
    }
    if (!pixels->data) {
        pixels->bytes = 0;
        error_set(error, HONE_ERROR_MEMORY,
                  "an image of %ux%u %s x%u needs %.1f MB of memory, which there is not", desc->width,
                  desc->height, hone_type_name(desc->type), desc->channels, (double)bytes * 1e-6);
    }
    memory->used += pixels->bytes;
    return pixels->data;
}

static void give(struct pixel_memory *memory, struct pixels *pixels)
{
    memory->used -= pixels->bytes;
    if (pixels->data && memory->kept_count < KEPT_PIXELS) {
        memory->kept[memory->kept_count++] = *pixels;
        memory->kept_bytes += pixels->bytes;
    } else {
        free(pixels->data);
    }
    *pixels = (struct pixels){0};
}

/* ---- For engines ---- */

void memory_give(struct pixel_memory *memory, struct pixels *in, struct pixels *out)
{
    pthread_mutex_lock(&memory->lock);
    give(memory, in);
    give(memory, out);
    pthread_cond_broadcast(&memory->given);
    pthread_mutex_unlock(&memory->lock);
}

void memory_lose(struct pixel_memory *memory, struct pixels *pixels)
{
    pthread_mutex_lock(&memory->lock);
    memory->used -= pixels->bytes;
    *pixels = (struct pixels){0};
    pthread_cond_broadcast(&memory->given);
    pthread_mutex_unlock(&memory->lock);
}

/* What devices hold changes while this waits. */
static hone_status wait_for_room(struct shared_device *shared, uint64_t bytes, hone_error *error)
{
    struct pixel_memory *memory = &shared->memory;
    struct memory_limit limit;
    share_limit(shared, &limit);
    while (!is_room(memory, bytes, limit.bytes) && memory->used > 0) {
        pthread_cond_wait(&memory->given, &memory->lock);
        share_limit(shared, &limit);
    }
    if (!limit.is_hard || is_room(memory, bytes, limit.bytes))
        return HONE_OK;
    return error_set(
        error, HONE_ERROR_MEMORY,
        "input and result need %.1f MB; of the %.1f MB that hone may use here %.1f MB are in use",
        (double)bytes * 1e-6, (double)(limit.bytes + limit.held) * 1e-6, (double)limit.held * 1e-6);
}

/* By the thread that has the image, beside others: results of a device come one by one, and each would wait
 * for pages. */
static void touch(const struct pixels *pixels)
{
    volatile char *at = pixels->data;
    for (size_t i = 0; i < pixels->bytes; i += POOL_ALIGN)
        at[i] = 0;
}

hone_status memory_take(struct shared_device *shared, const hone_image_desc *in_desc,
                        const hone_image_desc *out_desc, struct pixels *in, struct pixels *out,
                        hone_error *error)
{
    struct pixel_memory *memory = &shared->memory;
    const uint64_t bytes = (uint64_t)whole_pages(in_desc) + whole_pages(out_desc);
    pthread_mutex_lock(&memory->lock);
    bool fresh = false;
    hone_status status = wait_for_room(shared, bytes, error);
    if (!status && (!new_pixels(memory, in_desc, in, &fresh, error) ||
                    !new_pixels(memory, out_desc, out, &fresh, error)))
        status = HONE_ERROR_MEMORY;
    if (status) {
        give(memory, in);
        give(memory, out);
    }
    pthread_mutex_unlock(&memory->lock);
    if (!status && fresh)
        touch(out);
    return status;
}

void memory_finish(struct pixel_memory *memory)
{
    pthread_mutex_lock(&memory->lock);
    while (memory->kept_count)
        drop_kept(memory, 0);
    pthread_mutex_unlock(&memory->lock);
}
