/* SPDX-License-Identifier: BSD-2-Clause */
/* A member's thread, and the frames that it has in flight. */
#include "stream/pool/internal.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

static bool next_of_stream(const void *stream, size_t step, hone_step_info *info)
{
    return hone_stream_step(stream, 0, step, info);
}

/* ---- An attempt ---- */

static void enlist(struct member *member, struct attempt *attempt)
{
    struct attempt **at = &member->oldest;
    while (*at)
        at = &(*at)->next;
    *at = attempt;
    member->in_flight++;
    attempt->lane->in_flight++;
    if (member->oldest == attempt)
        member_tell(member, POOL_RUNS, attempt->shape);
}

static void delist(struct member *member, struct attempt *attempt)
{
    struct attempt **at = &member->oldest;
    const bool first = member->oldest == attempt;
    while (*at && *at != attempt)
        at = &(*at)->next;
    if (*at)
        *at = attempt->next;
    member->in_flight--;
    attempt->lane->in_flight--;
    if (first)
        member_tell(member, POOL_RUNS, member->oldest ? member->oldest->shape : NULL);
}

static void forget(struct attempt *attempt)
{
    for (size_t i = 0; attempt->seconds && i < attempt->shape->second_count; i++)
        hone_image_destroy(&attempt->seconds[i]);
    free(attempt->seconds);
    shape_release(attempt->member->pool, attempt->shape);
    free(attempt->steps);
    free(attempt->commands);
    free(attempt);
}

/* What became of a job on a device. There is always one device that takes it. */
static void settle(struct attempt *attempt, hone_status status, const hone_error *error)
{
    struct member *member = attempt->member;
    struct pool_job *job = attempt->job;
    const bool lacks = status == HONE_ERROR_MEMORY || status == HONE_ERROR_UNSUPPORTED;
    hone_error lost;
    attempt->job = NULL;
    if (status == HONE_ERROR_DEVICE && member->state == MEMBER_WORKS && !member_is_last(member))
        member_leave(member, MEMBER_FAILED, error->message);
    const bool refuses = lacks && pool_another_takes(member, job->shape);
    if (refuses)
        job->shape->refused |= (uint64_t)1 << member->index;
    if (attempt->is_using && pool_replace_memory(job, attempt->shape, &lost))
        pool_finish_job(job, lost.status, &lost);
    else if (status && (refuses || member->state != MEMBER_WORKS))
        pool_hand_back(member->pool, job);
    else
        pool_finish_job(job, status, error);
}

/* The first frame of a lane may have had something built for it. */
static void learn_rate(struct member *member, const struct attempt *attempt)
{
    const uint64_t now = clock_ns(),
                   since = attempt->started > member->last_return ? attempt->started : member->last_return;
    const double rate = (double)(now - since) * 1e-9 / (double)hone_image_bytes(&attempt->shape->in);
    member->last_return = now;
    if (attempt->lane->frames++ > 0)
        member->rate = member->rate > 0 ? 0.75 * member->rate + 0.25 * rate : rate;
}

static void complete(struct attempt *attempt)
{
    struct pool_job *job = attempt->job;
    const hone_stream_result *result = &attempt->result;
    job->device = attempt->member->index;
    job->ended = attempt->ended;
    job->seconds = result->seconds;
    job->device_seconds = result->device_seconds;
    job->copies = result->copies;
    job->staged = result->staged;
    if (!result->status) {
        job->steps = attempt->steps;
        job->step_count = attempt->step_count;
        attempt->steps = NULL;
        job->commands = attempt->commands;
        job->command_count = attempt->command_count;
        attempt->commands = NULL;
    }
    settle(attempt, result->status, &attempt->error);
    forget(attempt);
}

static void note_seconds(struct lane *lane)
{
    hone_stream_stats stats;
    hone_stream_get_stats(lane->stream, &stats);
    memcpy(lane->seconds, stats.seconds, sizeof lane->seconds);
}

void pool_command(void *user, const hone_command *command)
{
    struct attempt *attempt = user;
    if (mem_grow(&attempt->commands, &attempt->command_room, attempt->command_count + 1, sizeof *command))
        attempt->commands[attempt->command_count++] = *command;
}

/* Where a wait fails, and fails again, what was enqueued may still run. Without the lock. */
static bool may_run(const struct member *member)
{
    return hone_device_finish(member->device, NULL) && hone_device_finish(member->device, NULL);
}

void pool_returned(void *user, const hone_stream_result *result)
{
    struct member *member = user;
    struct pool *pool = member->pool;
    struct attempt *attempt = result->user;
    const bool is_using = result->status && may_run(member);
    pthread_mutex_lock(&pool->lock);
    attempt->is_using = is_using;
    pool->is_unsure |= is_using;
    attempt->returned = true;
    attempt->ended = clock_ns();
    attempt->result = *result;
    if (result->status)
        attempt->error = *result->error;
    if (member->state != MEMBER_HANGS) { /* else nothing waits for it */
        note_seconds(attempt->lane);
        attempt->lane->stale |= result->status != HONE_OK;
        learn_rate(member, attempt);
        delist(member, attempt);
        if (attempt->pushed)
            complete(attempt);
    }
    pthread_cond_broadcast(&pool->changed);
    pthread_mutex_unlock(&pool->lock);
}

/* ---- The thread ---- */

/* Memory that other frames hold may be what this one lacks. */
static hone_status find_lane(struct lane **lane, struct member *member, struct pool_shape *shape,
                             hone_error *error)
{
    struct pool *pool = member->pool;
    hone_status status = pool_lane(lane, member, shape, error);
    if (status != HONE_ERROR_MEMORY)
        return status;
    pthread_mutex_lock(&pool->lock);
    while (member->in_flight && member->state != MEMBER_HANGS)
        pthread_cond_wait(&pool->changed, &pool->lock);
    pthread_mutex_unlock(&pool->lock);
    pool_lanes_clear(member);
    return pool_lane(lane, member, shape, error);
}

/* Second images of this frame alone: the stream has them until it is over. */
static hone_status bind_own(struct attempt *attempt, const struct pool_second *seconds, hone_error *error)
{
    const size_t count = seconds ? attempt->shape->second_count : 0;
    hone_status status = HONE_OK;
    if (!count)
        return HONE_OK;
    attempt->seconds = mem_new(count, sizeof *attempt->seconds);
    if (!attempt->seconds)
        return error_memory(error, "second images");
    for (size_t i = 0; i < count && !status; i++) {
        hone_image **image = &attempt->seconds[i];
        hone_image_desc tight = seconds[i].desc;
        tight.pitch = 0;
        status = hone_image_create(image, attempt->member->device, &tight, HONE_MEMORY_DEVICE, error);
        THEN(status,
             hone_image_upload(*image, seconds[i].pixels, seconds[i].desc.pitch, NULL, 0, NULL, error));
        THEN(status, hone_stream_bind(attempt->lane->stream, seconds[i].step, *image, error));
    }
    return status;
}

static hone_status push(struct attempt *attempt, const hone_frame *frame, const struct pool_job *job,
                        hone_error *error)
{
    hone_stream *stream = attempt->lane->stream;
    hone_status status =
        job->parameters ? hone_stream_set(stream, job->step, job->parameters, error) : HONE_OK;
    THEN(status, bind_own(attempt, job->own_seconds, error));
    if (!status) {
        attempt->steps = pool_copy_steps(&attempt->step_count, next_of_stream, stream);
        if (!attempt->steps)
            status = error_memory(error, "a frame");
    }
    return status ? status : hone_stream_push(stream, frame, error);
}

/* Under the lock. It is let go while the frame is enqueued. */
static hone_status fly(struct attempt *attempt, hone_error *error)
{
    struct member *member = attempt->member;
    const struct pool_job job = *attempt->job;
    const hone_frame frame = {.in = {job.in},
                              .in_pitch = {job.in_pitch},
                              .out = {job.out},
                              .out_pitch = {job.out_pitch},
                              .user = attempt};
    attempt->started = clock_ns();
    enlist(member, attempt);
    pthread_mutex_unlock(&member->pool->lock);
    hone_status status = push(attempt, &frame, &job, error);
    const bool is_using = status && may_run(member);
    pthread_mutex_lock(&member->pool->lock);
    attempt->is_using |= is_using;
    member->pool->is_unsure |= is_using;
    if (status && member->state != MEMBER_HANGS) {
        attempt->lane->stale |= status != HONE_ERROR_USAGE;
        delist(member, attempt);
    }
    return status;
}

/* The device has the lane. */
static hone_status arrive(struct attempt *attempt, struct lane *lane, hone_error *error)
{
    struct pool_shape *shape = attempt->shape;
    attempt->lane = lane;
    if (!shape->known) {
        shape->out = *hone_stream_output(lane->stream, 0);
        shape->steps = pool_copy_steps(&shape->step_count, next_of_stream, lane->stream);
        if (!shape->steps)
            return error_memory(error, "a chain");
    }
    shape->known = true;
    return attempt->job->in ? fly(attempt, error) : HONE_OK;
}

/* Under the lock, but for what is asked of the device. Of one that was given up meanwhile nothing is
 * touched. */
static void serve(struct member *member, struct attempt *attempt)
{
    struct pool *pool = member->pool;
    struct lane *lane = NULL;
    hone_error error;
    const bool is_frame = attempt->job->in != NULL;
    member->serving = attempt;
    member_tell(member, POOL_PREPARES, attempt->shape);
    pthread_mutex_unlock(&pool->lock);
    hone_status status = find_lane(&lane, member, attempt->shape, &error);
    pthread_mutex_lock(&pool->lock);
    if (!status && member->state != MEMBER_HANGS)
        status = arrive(attempt, lane, &error);
    if (member->state == MEMBER_HANGS)
        return;
    member->serving = NULL;
    member_tell(member, POOL_PREPARES, NULL);
    attempt->pushed = true;
    if (status || !is_frame) {
        settle(attempt, status, &error);
        forget(attempt);
    } else if (attempt->returned) {
        complete(attempt);
    }
}

static struct attempt *begin(struct member *member, struct pool_job *job)
{
    struct attempt *attempt = mem_new(1, sizeof *attempt);
    if (attempt) {
        *attempt = (struct attempt){.job = job, .shape = job->shape, .member = member};
        job->shape->users++;
    } else {
        pool_finish_job(job, error_memory(&job->error, "a frame"), &job->error);
    }
    return attempt;
}

/* Under the lock, which is let go meanwhile: drivers take their time for it. */
static void sweep(struct member *member, const struct pool_shape *stale)
{
    struct pool *pool = member->pool;
    member_tell(member, POOL_PREPARES, stale);
    pthread_mutex_unlock(&pool->lock);
    pool_lanes_sweep(member);
    pthread_mutex_lock(&pool->lock);
    if (member->state != MEMBER_HANGS)
        member_tell(member, POOL_PREPARES, NULL);
    pthread_cond_broadcast(&pool->changed);
}

void *member_work(void *user)
{
    struct member *member = user;
    struct pool *pool = member->pool;
    pthread_mutex_lock(&pool->lock);
    while (member->state == MEMBER_WORKS && !pool->stop) {
        struct pool_job *job = pool_next_job(member);
        struct attempt *attempt = job ? begin(member, job) : NULL;
        const struct pool_shape *stale = job ? NULL : pool_lanes_stale(member);
        if (job && pool->waiting) /* for this device there is more ahead of it now */
            pthread_cond_broadcast(&pool->changed);
        if (attempt)
            serve(member, attempt);
        else if (stale)
            sweep(member, stale);
        else if (!job)
            pthread_cond_wait(&pool->changed, &pool->lock);
    }
    const bool answers = member->state != MEMBER_HANGS;
    pthread_mutex_unlock(&pool->lock);
    if (answers)
        pool_lanes_finish(member);
    return NULL;
}
