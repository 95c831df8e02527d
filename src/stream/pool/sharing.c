/* SPDX-License-Identifier: BSD-2-Clause */
/* Which device does which frame, and what becomes of the frames of one that fails. */
#include "stream/pool/internal.h"

#include "base/error.h"
#include "cl/builds.h"

#include <math.h>
#include <stdlib.h>

static bool takes(const struct member *member, const struct pool_shape *shape)
{
    return member->state == MEMBER_WORKS && !(shape->refused & (uint64_t)1 << member->index);
}

bool pool_another_takes(const struct member *member, const struct pool_shape *shape)
{
    const struct pool *pool = member->pool;
    bool takes_it = false;
    for (size_t i = 0; i < pool->count && !takes_it; i++)
        takes_it = i != member->index && takes(&pool->members[i], shape);
    return takes_it;
}

bool member_is_last(const struct member *member)
{
    const struct pool *pool = member->pool;
    for (size_t i = 0; i < pool->count; i++)
        if (i != member->index && pool->members[i].state == MEMBER_WORKS)
            return false;
    return true;
}

/* Frames that a device has taken. */
static unsigned load_of(const struct member *member)
{
    const bool enlists = member->serving && !member->serving->lane;
    return member->in_flight + enlists;
}

/* How soon the other devices would be done with what they have and the first `count` frames that wait, in
 * seconds for a byte of each; HUGE_VAL where nothing is known of them. */
static double others_need(const struct member *member, const struct pool_shape *shape, size_t count)
{
    const struct pool *pool = member->pool;
    double frames = (double)count, speed = 0, soonest = HUGE_VAL;
    for (size_t i = 0; i < pool->count; i++) {
        const struct member *other = &pool->members[i];
        if (other == member || !takes(other, shape) || other->rate == 0)
            continue;
        frames += load_of(other);
        speed += 1 / other->rate;
        soonest = fmin(soonest, (load_of(other) + 1) * other->rate);
    }
    return speed > 0 ? fmax(frames / speed, soonest) : HUGE_VAL;
}

/* Whether the others would be done with a frame before this device is, `ahead` of it those that wait before
 * it. One of unknown speed is tried with one frame at a time. */
static bool leaves_it(const struct member *member, const struct pool_job *job, size_t ahead)
{
    const double theirs = others_need(member, job->shape, ahead + 1);
    if (!job->in || theirs == HUGE_VAL)
        return false;
    return member->rate > 0 ? (member->in_flight + 1) * member->rate > theirs : member->in_flight > 0;
}

/* What is asked without a frame takes memory by the device that answers, by which callers choose sizes. */
static bool leaves_the_question(const struct member *member, const struct pool_job *job)
{
    for (unsigned i = 0; i < member->index && !job->in && job->shape->ring.steady; i++)
        if (takes(&member->pool->members[i], job->shape))
            return true;
    return false;
}

struct pool_job *pool_next_job(struct member *member)
{
    struct pool *pool = member->pool;
    size_t ahead = 0;
    if (member->most == 1 && member->in_flight)
        return NULL;
    for (struct pool_job **at = &pool->waiting; *at; at = &(*at)->next, ahead++) {
        struct pool_job *job = *at;
        if (takes(member, job->shape) && (!job->in || member->in_flight < member->most) &&
            !leaves_it(member, job, ahead) && !leaves_the_question(member, job)) {
            *at = job->next;
            return job;
        }
    }
    return NULL;
}

void pool_finish_job(struct pool_job *job, hone_status status, const hone_error *error)
{
    job->status = status;
    if (status)
        job->error = *error;
    job->done = true;
    pthread_cond_signal(&job->finished);
}

void pool_hand_back(struct pool *pool, struct pool_job *job)
{
    job->next = pool->waiting;
    pool->waiting = job;
    pthread_cond_broadcast(&pool->changed);
}

void member_leave(struct member *member, enum member_state state, const char *why)
{
    struct pool *pool = member->pool;
    member->state = state;
    if (pool->options.left)
        pool->options.left(pool->options.user, member->index, why);
    for (struct pool_shape *shape = pool->shapes; shape; shape = shape->next)
        shape->refused = 0;
    pthread_cond_broadcast(&pool->changed);
}

void member_tell(struct member *member, enum pool_wait what, const struct pool_shape *shape)
{
    struct pool *pool = member->pool;
    const hone_image_desc *in = shape ? &shape->in : NULL;
    pool->number[member->index][what] = ++pool->waits;
    if (pool->options.waits)
        pool->options.waits(pool->options.user, member->index, what, in ? (double)in->width * in->height : 0,
                            pool->waits);
}

/* ---- Giving a device up ---- */

hone_status pool_replace_memory(struct pool_job *job, const struct pool_shape *shape, hone_error *error)
{
    if (!job->in)
        return HONE_OK;
    const size_t least = hone_image_bytes(&shape->out),
                 wanted = job->out_bytes > least ? job->out_bytes : least;
    const size_t bytes = (wanted + POOL_ALIGN - 1) / POOL_ALIGN * POOL_ALIGN;
    job->in_is_lost = true;
    job->out = aligned_alloc(POOL_ALIGN, bytes);
    return job->out ? HONE_OK : error_memory(error, "a result");
}

static void take_away(struct pool *pool, struct attempt *attempt)
{
    hone_error error;
    struct pool_job *job = attempt->job;
    attempt->job = NULL;
    if (!job)
        return;
    hone_status status = attempt->lane ? pool_replace_memory(job, attempt->shape, &error) : HONE_OK;
    if (status)
        pool_finish_job(job, status, &error);
    else
        pool_hand_back(pool, job);
}

bool pool_give_up(struct pool *pool, unsigned index, enum pool_wait what, uint64_t number, const char *why)
{
    struct member *member = &pool->members[index];
    pthread_mutex_lock(&pool->lock);
    const bool over = pool->number[index][what] != number || member->state == MEMBER_HANGS,
               last = !over && member_is_last(member);
    if (!over && !last) {
        member_leave(member, MEMBER_HANGS, why);
        build_lock_abandon(member->device);
        if (!pool->stop) { /* else it is waited for already */
            pthread_detach(member->thread);
            member->started = false;
        }
        for (struct attempt *attempt = member->oldest; attempt; attempt = attempt->next)
            take_away(pool, attempt);
        if (member->serving)
            take_away(pool, member->serving);
        for (int wait = 0; wait < POOL_WAITS; wait++)
            member_tell(member, (enum pool_wait)wait, NULL);
    }
    pthread_mutex_unlock(&pool->lock);
    return !last;
}
