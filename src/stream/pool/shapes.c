/* SPDX-License-Identifier: BSD-2-Clause */
/* Shapes of frames, and what ran them. */
#include "stream/pool/internal.h"

#include "base/error.h"
#include "base/mem.h"
#include "image/view.h"

#include <stdlib.h>
#include <string.h>

hone_step_info *pool_copy_steps(size_t *count,
                                bool (*next)(const void *of, size_t step, hone_step_info *info),
                                const void *of)
{
    hone_step_info info;
    size_t bytes = 0, n = 0;
    for (; next(of, n, &info); n++)
        bytes += sizeof info + strlen(info.config) + 1;
    hone_step_info *steps = mem_new(bytes, 1);
    char *text = steps ? (char *)(steps + n) : NULL;
    for (*count = 0; steps && *count < n && next(of, *count, &info); ++*count) {
        const size_t length = strlen(info.config) + 1;
        steps[*count] = info;
        steps[*count].config = memcpy(text, info.config, length);
        text += length;
    }
    return steps;
}

static void shape_free(struct pool_shape *shape)
{
    hone_chain_destroy(&shape->chain);
    free(shape->steps);
    free(shape->seconds);
    free(shape->text);
    free(shape);
}

void shape_release(struct pool *pool, struct pool_shape *shape)
{
    if (--shape->users > 0)
        return;
    for (struct pool_shape **at = &pool->shapes; *at; at = &(*at)->next)
        if (*at == shape) {
            *at = shape->next;
            break;
        }
    shape_free(shape);
}

static bool is_same(const struct pool_shape *a, const struct pool_shape *b)
{
    bool same = strcmp(a->text, b->text) == 0 && desc_same(&a->in, &b->in) &&
                a->second_count == b->second_count && a->has_ring == b->has_ring &&
                a->ring.memory == b->ring.memory && a->ring.slots == b->ring.slots &&
                a->ring.lent == b->ring.lent && a->ring.steady == b->ring.steady;
    for (size_t i = 0; i < a->second_count && same; i++)
        same = a->seconds[i].step == b->seconds[i].step && a->seconds[i].pixels == b->seconds[i].pixels;
    return same;
}

static struct pool_shape *shape_new(const hone_chain *chain, const hone_image_desc *in,
                                    const struct pool_second *seconds, size_t second_count,
                                    const struct pool_ring *ring, hone_error *error)
{
    struct pool_shape *shape = mem_new(1, sizeof *shape);
    const size_t length = hone_chain_text(chain, NULL, 0) + 1;
    if (!shape)
        return error_memory(error, "a chain"), NULL;
    shape->text = mem_new(length, 1);
    shape->seconds = mem_new(second_count, sizeof *seconds);
    shape->in = *in;
    shape->in.pitch = 0;
    shape->has_ring = ring != NULL;
    if (ring)
        shape->ring = *ring;
    hone_status status = shape->text && shape->seconds ? HONE_OK : error_memory(error, "a chain");
    if (!status) {
        hone_chain_text(chain, shape->text, length);
        if (second_count)
            memcpy(shape->seconds, seconds, second_count * sizeof *seconds);
        shape->second_count = second_count;
        status = hone_chain_parse(&shape->chain, shape->text, error);
    }
    if (status) {
        shape_free(shape);
        return NULL;
    }
    return shape;
}

/* Takes `shape` over; gives it, or the one that is like it, with one user more. */
static struct pool_shape *keep(struct pool *pool, struct pool_shape *shape)
{
    struct pool_shape *known = pool->shapes;
    while (known && !is_same(known, shape))
        known = known->next;
    if (known) {
        shape_free(shape);
    } else {
        known = shape;
        shape->next = pool->shapes;
        pool->shapes = shape;
    }
    known->users++;
    return known;
}

hone_status pool_shape(struct pool_shape **out, struct pool *pool, const hone_chain *chain,
                       const hone_image_desc *in, const struct pool_second *seconds, size_t second_count,
                       const struct pool_ring *ring, hone_error *error)
{
    *out = NULL;
    struct pool_shape *shape = shape_new(chain, in, seconds, second_count, ring, error);
    if (!shape)
        return HONE_ERROR_MEMORY;
    pthread_mutex_lock(&pool->lock);
    shape = keep(pool, shape);
    const bool known = shape->known;
    pthread_mutex_unlock(&pool->lock);
    struct pool_job job = {.shape = shape};
    if (!known) {
        pool_submit(pool, &job);
        pool_wait(pool, &job);
    }
    if (job.status) {
        if (error)
            *error = job.error;
        pool_release(pool, &shape);
    }
    *out = shape;
    return job.status;
}

const hone_image_desc *pool_output(const struct pool_shape *shape)
{
    return &shape->out;
}

bool pool_step(const struct pool_shape *shape, size_t step, hone_step_info *info)
{
    if (step < shape->step_count)
        *info = shape->steps[step];
    return step < shape->step_count;
}

/* Under the lock. */
static void age_lanes(struct pool *pool, const struct pool_shape *shape)
{
    for (size_t i = 0; i < pool->count; i++)
        for (int lane = 0; lane < POOL_LANES; lane++)
            if (pool->members[i].lanes[lane].shape == shape)
                pool->members[i].lanes[lane].stale = true;
}

void pool_release(struct pool *pool, struct pool_shape **shape)
{
    if (!*shape)
        return;
    pthread_mutex_lock(&pool->lock);
    if ((*shape)->has_ring)
        age_lanes(pool, *shape);
    shape_release(pool, *shape);
    pthread_mutex_unlock(&pool->lock);
    *shape = NULL;
}

/* Whether a device that answers has a stream for it. */
static bool is_held(const struct pool *pool, const struct pool_shape *shape)
{
    for (size_t i = 0; i < pool->count; i++)
        for (int lane = 0; lane < POOL_LANES && pool->members[i].state == MEMBER_WORKS; lane++)
            if (pool->members[i].lanes[lane].shape == shape)
                return true;
    return false;
}

void pool_drop(struct pool *pool, struct pool_shape **slot)
{
    struct pool_shape *shape = *slot;
    *slot = NULL;
    if (!shape)
        return;
    pthread_mutex_lock(&pool->lock);
    age_lanes(pool, shape);
    pthread_cond_broadcast(&pool->changed);
    while (is_held(pool, shape))
        pthread_cond_wait(&pool->changed, &pool->lock);
    shape_release(pool, shape);
    pthread_mutex_unlock(&pool->lock);
}
