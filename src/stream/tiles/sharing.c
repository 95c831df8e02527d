/* SPDX-License-Identifier: BSD-2-Clause */
#include "stream/tiles/sharing.h"

#include "base/error.h"
#include "base/mem.h"
#include "stream/tiles/internal.h"

#include <stdlib.h>
#include <string.h>

/* One tile: its job, and where its result goes. */
struct place {
    struct pool_job job;
    void *pixels;
    struct pool_second *seconds;
    bool under_way; /* pushed, and not waited for */
};

struct sharing {
    struct pool *pool;
    struct pool_shape *shape;
    struct place *places;
    unsigned count;
    size_t second_count, bytes; /* of a result */
    bool lost;
};

static hone_status make_place(struct sharing *sharing, struct place *place, hone_error *error)
{
    place->pixels = aligned_alloc(POOL_ALIGN, sharing->bytes);
    place->seconds = mem_new(sharing->second_count, sizeof *place->seconds);
    return place->pixels && place->seconds ? HONE_OK : error_memory(error, "results of tiles");
}

static hone_status set_up(struct sharing *sharing, const struct sharing_request *request, hone_error *error)
{
    const struct pool_ring ring = {.slots = TILES_SLOTS, .lent = request->lent, .steady = true};
    TRY(pool_shape(&sharing->shape, request->pool, request->chain, &request->part, request->seconds,
                   request->second_count, &ring, error));
    sharing->bytes = (hone_image_bytes(sharing_output(sharing)) + POOL_ALIGN - 1) / POOL_ALIGN * POOL_ALIGN;
    sharing->places = mem_new(request->slots, sizeof *sharing->places);
    if (!sharing->places)
        return error_memory(error, "results of tiles");
    sharing->count = request->slots;
    hone_status status = HONE_OK;
    for (unsigned i = 0; i < sharing->count && !status; i++)
        status = make_place(sharing, &sharing->places[i], error);
    return status;
}

hone_status sharing_create(struct sharing **out, const struct sharing_request *request, hone_error *error)
{
    struct sharing *sharing = *out = mem_new(1, sizeof *sharing);
    if (!sharing)
        return error_memory(error, "tiles for several devices");
    sharing->pool = request->pool;
    sharing->second_count = request->second_count;
    hone_status status = set_up(sharing, request, error);
    if (status)
        sharing_destroy(out, false);
    return status;
}

const hone_image_desc *sharing_output(const struct sharing *sharing)
{
    return pool_output(sharing->shape);
}

uint64_t sharing_bytes(const struct sharing *sharing)
{
    return (uint64_t)sharing->count * sharing->bytes;
}

/* ---- Tiles ---- */

static struct place *place_of(struct sharing *sharing, uint64_t index)
{
    return &sharing->places[index % sharing->count];
}

static void forget(struct place *place)
{
    free(place->job.steps);
    free(place->job.commands);
    place->job = (struct pool_job){0};
}

void sharing_push(struct sharing *sharing, uint64_t index, const void *pixels, size_t pitch,
                  const struct pool_second *seconds)
{
    struct place *place = place_of(sharing, index);
    forget(place);
    if (sharing->second_count)
        memcpy(place->seconds, seconds, sharing->second_count * sizeof *seconds);
    place->job = (struct pool_job){.shape = sharing->shape,
                                   .in = pixels,
                                   .in_pitch = pitch,
                                   .out = place->pixels,
                                   .out_bytes = sharing->bytes,
                                   .own_seconds = sharing->second_count ? place->seconds : NULL};
    place->under_way = true;
    pool_submit(sharing->pool, &place->job);
}

static hone_status settle(struct sharing *sharing, struct place *place)
{
    hone_status status = pool_wait(sharing->pool, &place->job);
    place->under_way = false;
    place->pixels = place->job.out;
    sharing->lost = sharing->lost || place->job.in_is_lost;
    return status;
}

hone_status sharing_pull(struct sharing *sharing, uint64_t index, const struct pool_job **job,
                         hone_error *error)
{
    struct place *place = place_of(sharing, index);
    hone_status status = settle(sharing, place);
    *job = &place->job;
    if (status && error)
        *error = place->job.error;
    return status;
}

bool sharing_destroy(struct sharing **slot, bool stay)
{
    struct sharing *sharing = *slot;
    *slot = NULL;
    if (!sharing)
        return false;
    for (unsigned i = 0; i < sharing->count; i++) {
        if (sharing->places[i].under_way)
            settle(sharing, &sharing->places[i]);
        forget(&sharing->places[i]);
        if (!stay)
            free(sharing->places[i].pixels);
    }
    const bool lost = sharing->lost;
    for (unsigned i = 0; i < sharing->count && !lost; i++)
        free(sharing->places[i].seconds);
    pool_drop(sharing->pool, &sharing->shape);
    free(sharing->places);
    free(sharing);
    return lost;
}

bool sharing_step(const struct sharing *sharing, size_t step, hone_step_info *info)
{
    return pool_step(sharing->shape, step, info);
}
