/* SPDX-License-Identifier: BSD-2-Clause */
/* The streams of one device of a pool: one for each of the last few shapes. */
#include "base/error.h"
#include "base/mem.h"
#include "stream/pool/internal.h"

#include <stdlib.h>

static void clear(struct member *member, struct lane *lane)
{
    struct pool *pool = member->pool;
    hone_stream_destroy(&lane->stream);
    pthread_mutex_lock(&pool->lock);
    if (lane->shape)
        shape_release(pool, lane->shape);
    for (int s = 0; s < HONE_STAGE_COUNT; s++)
        pool->seconds[s] += lane->seconds[s];
    *lane = (struct lane){0};
    pthread_mutex_unlock(&pool->lock);
}

static bool is_idle(const struct member *member, const struct lane *lane)
{
    pthread_mutex_lock(&member->pool->lock);
    const bool idle = lane->in_flight == 0;
    pthread_mutex_unlock(&member->pool->lock);
    return idle;
}

static bool is_of(const struct member *member, const struct lane *lane, const struct pool_shape *shape)
{
    pthread_mutex_lock(&member->pool->lock);
    const bool is = lane->shape == shape && !lane->stale;
    pthread_mutex_unlock(&member->pool->lock);
    return is;
}

void pool_lanes_clear(struct member *member)
{
    for (int i = 0; i < POOL_LANES; i++)
        if (is_idle(member, &member->lanes[i]))
            clear(member, &member->lanes[i]);
}

static bool is_swept(const struct lane *lane)
{
    return lane->shape && lane->stale && lane->in_flight == 0;
}

const struct pool_shape *pool_lanes_stale(const struct member *member)
{
    const struct pool_shape *shape = NULL;
    for (int i = 0; i < POOL_LANES && !shape; i++)
        shape = is_swept(&member->lanes[i]) ? member->lanes[i].shape : NULL;
    return shape;
}

void pool_lanes_sweep(struct member *member)
{
    for (int i = 0; i < POOL_LANES; i++) {
        pthread_mutex_lock(&member->pool->lock);
        const bool swept = is_swept(&member->lanes[i]);
        pthread_mutex_unlock(&member->pool->lock);
        if (swept)
            clear(member, &member->lanes[i]);
    }
}

void pool_lanes_finish(struct member *member)
{
    for (int i = 0; i < POOL_LANES; i++) {
        if (member->lanes[i].stream)
            hone_stream_flush(member->lanes[i].stream, NULL);
        clear(member, &member->lanes[i]);
    }
    for (size_t i = 0; i < member->bound_count; i++)
        hone_image_destroy(&member->bounds[i].image);
    free(member->bounds);
    member->bounds = NULL;
    member->bound_count = 0;
}

/* ---- Second images ---- */

static hone_status bound_image(hone_image **out, struct member *member, const struct pool_second *second,
                               hone_error *error)
{
    for (size_t i = 0; i < member->bound_count; i++)
        if (member->bounds[i].pixels == second->pixels) {
            *out = member->bounds[i].image;
            return HONE_OK;
        }
    if (!mem_grow(&member->bounds, &member->bound_room, member->bound_count + 1, sizeof *member->bounds))
        return error_memory(error, "a second image");
    hone_status status = hone_image_wrap(out, member->device, &second->desc, second->pixels, error);
    if (!status)
        member->bounds[member->bound_count++] = (struct bound){second->pixels, *out};
    return status;
}

static hone_status bind_all(struct member *member, const struct lane *lane, hone_error *error)
{
    hone_status status = HONE_OK;
    for (size_t i = 0; i < lane->shape->second_count && !status; i++) {
        hone_image *image;
        if (!lane->shape->seconds[i].pixels)
            continue;
        status = bound_image(&image, member, &lane->shape->seconds[i], error);
        THEN(status, hone_stream_bind(lane->stream, lane->shape->seconds[i].step, image, error));
    }
    return status;
}

/* ---- Making a lane ---- */

static hone_status make_stream(struct member *member, struct lane *lane, const hone_image_desc *seconds,
                               hone_error *error)
{
    const struct pool_shape *shape = lane->shape;
    hone_plan_options plan = member->pool->plan;
    const unsigned frames = member->pool->options.frames;
    const bool lent = !shape->has_ring || shape->ring.lent;
    const hone_stream_options options = {.slots = !lent        ? shape->ring.slots
                                                  : frames < 2 ? 2
                                                               : frames,
                                         .memory = shape->ring.memory,
                                         .callback = pool_returned,
                                         .user = member,
                                         .plan = &plan};
    const struct stream_extra extra = {.lent = lent,
                                       .trials = !shape->ring.steady,
                                       .command = member->pool->options.commands ? pool_command : NULL};
    if (shape->has_ring) /* bands of one image, frames of one video */
        plan.runs = 0;
    plan.second = seconds;
    plan.second_count = shape->second_count;
    return stream_make(&lane->stream, member->device, shape->chain, &shape->in, 1, &options, &extra, error);
}

static hone_status make(struct member *member, struct lane *lane, hone_error *error)
{
    struct pool_shape *shape = lane->shape;
    hone_image_desc *seconds = mem_new(shape->second_count, sizeof *seconds);
    if (!seconds)
        return error_memory(error, "a stream");
    for (size_t i = 0; i < shape->second_count; i++)
        seconds[i] = shape->seconds[i].desc;
    hone_status status = make_stream(member, lane, seconds, error);
    THEN(status, bind_all(member, lane, error));
    free(seconds);
    return status;
}

/* A free one, or that which was not used for longest. */
static struct lane *choose(struct member *member)
{
    struct lane *oldest = NULL;
    for (int i = 0; i < POOL_LANES; i++) {
        struct lane *lane = &member->lanes[i];
        if (is_idle(member, lane) && (!oldest || lane->used < oldest->used))
            oldest = lane;
    }
    return oldest;
}

hone_status pool_lane(struct lane **out, struct member *member, struct pool_shape *shape, hone_error *error)
{
    struct pool *pool = member->pool;
    struct lane *lane = NULL;
    for (int i = 0; i < POOL_LANES && !lane; i++)
        if (is_of(member, &member->lanes[i], shape))
            lane = &member->lanes[i];
    *out = lane;
    if (lane) {
        lane->used = ++member->uses;
        return HONE_OK;
    }
    lane = choose(member);
    clear(member, lane);
    pthread_mutex_lock(&pool->lock);
    lane->shape = shape;
    shape->users++;
    pthread_mutex_unlock(&pool->lock);
    lane->used = ++member->uses;
    hone_status status = make(member, lane, error);
    if (status)
        clear(member, lane);
    else
        *out = lane;
    return status;
}
