/* SPDX-License-Identifier: BSD-2-Clause */
/* Memory for callers' frames that a device reads and writes itself. Each device knows its own. */
#include "base/error.h"
#include "base/mem.h"
#include "cl/device.h"
#include "stream/internal.h"

#include <stdlib.h>

enum { PAGE = 4096 };

struct block {
    struct block *next;
    char *start;
    size_t bytes;
    struct memory *pinned; /* mapped as long as it lasts; NULL: `start` is the host's */
};

struct blocks {
    hone_device *device;
    pthread_mutex_t lock;
    struct block *first;
};

static hone_status make_blocks(hone_device *device, void **object, hone_error *error)
{
    struct blocks *blocks = *object = mem_new(1, sizeof *blocks);
    if (!blocks)
        return error_memory(error, "memory for frames");
    blocks->device = device;
    pthread_mutex_init(&blocks->lock, NULL);
    return HONE_OK;
}

static void free_block(struct block *block)
{
    if (block->pinned)
        memory_destroy(&block->pinned);
    else
        free(block->start);
    free(block);
}

static void destroy_blocks(void *object)
{
    struct blocks *blocks = object;
    for (struct block *block = blocks->first, *next; block; block = next) {
        next = block->next;
        free_block(block);
    }
    pthread_mutex_destroy(&blocks->lock);
    free(blocks);
}

hone_status blocks_of(struct blocks **out, hone_device *device, hone_error *error)
{
    static const char key;
    void *object = NULL;
    hone_status status = device_attachment(device, &key, make_blocks, destroy_blocks, &object, error);
    *out = object;
    return status;
}

/* What host and device share needs no more than whole pages. */
static hone_status fill_block(struct block *block, hone_device *device, hone_error *error)
{
    void *start = NULL;
    if (memory_is_shared(device)) {
        start = block->start = aligned_alloc(PAGE, block->bytes);
        return start ? HONE_OK : error_memory(error, "frames");
    }
    hone_status status = memory_create(&block->pinned, device, block->bytes, HONE_MEMORY_MAPPED, error);
    THEN(status, memory_map(block->pinned, true, &start, (struct wait_list){0}, NULL, error));
    block->start = start;
    return status;
}

hone_status hone_frame_alloc(void **out, hone_device *device, size_t bytes, hone_error *error)
{
    struct blocks *blocks;
    if (!out || !device || bytes == 0 || bytes > SIZE_MAX - PAGE)
        return error_usage(error, "hone_frame_alloc needs a device, a size and a place for the memory");
    *out = NULL;
    hone_status status = device_check(device, "hone_frame_alloc", error);
    THEN(status, blocks_of(&blocks, device, error));
    if (status)
        return status;
    struct block *block = mem_new(1, sizeof *block);
    if (!block)
        return error_memory(error, "frames");
    block->bytes = (bytes + PAGE - 1) / PAGE * PAGE;
    status = fill_block(block, device, error);
    if (status) {
        free_block(block);
        return status;
    }
    pthread_mutex_lock(&blocks->lock);
    block->next = blocks->first;
    blocks->first = block;
    pthread_mutex_unlock(&blocks->lock);
    *out = block->start;
    return HONE_OK;
}

void hone_frame_free(hone_device *device, void **memory)
{
    struct blocks *blocks;
    struct block *block = NULL;
    if (!memory || !*memory || !device || !device_is_here(device) || blocks_of(&blocks, device, NULL))
        return;
    pthread_mutex_lock(&blocks->lock);
    struct block **at = &blocks->first;
    while (*at && (*at)->start != *memory)
        at = &(*at)->next;
    if (*at) {
        block = *at;
        *at = block->next;
    }
    pthread_mutex_unlock(&blocks->lock);
    if (block)
        free_block(block);
    *memory = NULL;
}

bool blocks_hold(struct blocks *blocks, const void *pixels, size_t bytes)
{
    const char *start = pixels;
    bool holds = false;
    pthread_mutex_lock(&blocks->lock);
    for (const struct block *block = blocks->first; block && !holds; block = block->next)
        holds = start >= block->start && bytes <= block->bytes &&
                (size_t)(start - block->start) <= block->bytes - bytes;
    pthread_mutex_unlock(&blocks->lock);
    return holds;
}
