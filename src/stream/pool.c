/* SPDX-License-Identifier: BSD-2-Clause */
/* Handing frames out to devices, and taking them back from those that fail. */
#include "stream/pool.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/mem.h"
#include "image/view.h"
#include "stream/pool_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- Steps ---- */

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

static bool next_of_stream(const void *stream, size_t step, hone_step_info *info)
{
    return hone_stream_step(stream, 0, step, info);
}

/* ---- Shapes ---- */

static void shape_free(struct pool_shape *shape)
{
    hone_chain_destroy(&shape->chain);
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
                a->ring.memory == b->ring.memory;
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

/* ---- Who does what ---- */

static bool takes(const struct member *member, const struct pool_shape *shape)
{
    return member->state == MEMBER_WORKS && !(shape->refused & (uint64_t)1 << member->index);
}

static bool another_takes(const struct member *member, const struct pool_shape *shape)
{
    const struct pool *pool = member->pool;
    bool takes_it = false;
    for (size_t i = 0; i < pool->count && !takes_it; i++)
        takes_it = i != member->index && takes(&pool->members[i], shape);
    return takes_it;
}

static bool is_last(const struct member *member)
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

/* How soon the other devices would be done with what they have and the first `count` frames that wait, in seconds for a byte of
 * each; HUGE_VAL where nothing is known of them. */
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

/* Whether the others would be done with a frame before this device is, `ahead` of it those that wait before it. One of unknown speed
 * is tried with one frame at a time. */
static bool leaves_it(const struct member *member, const struct pool_job *job, size_t ahead)
{
    const double theirs = others_need(member, job->shape, ahead + 1);
    if (!job->in || theirs == HUGE_VAL)
        return false;
    return member->rate > 0 ? (member->in_flight + 1) * member->rate > theirs : member->in_flight > 0;
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
            !leaves_it(member, job, ahead)) {
            *at = job->next;
            return job;
        }
    }
    return NULL;
}

static void finish(struct pool_job *job, hone_status status, const hone_error *error)
{
    job->status = status;
    if (status)
        job->error = *error;
    job->done = true;
    pthread_cond_signal(&job->finished);
}

/* Back to the head of those that wait. */
static void hand_back(struct pool *pool, struct pool_job *job)
{
    job->next = pool->waiting;
    pool->waiting = job;
    pthread_cond_broadcast(&pool->changed);
}

/* A device leaves. What the others refused they try again: nobody else is left to do it, perhaps. */
static void leave(struct member *member, enum member_state state, const char *why)
{
    struct pool *pool = member->pool;
    member->state = state;
    if (pool->options.left)
        pool->options.left(pool->options.user, member->index, why);
    for (struct pool_shape *shape = pool->shapes; shape; shape = shape->next)
        shape->refused = 0;
    pthread_cond_broadcast(&pool->changed);
}

/* ---- Waits ---- */

static void tell(struct member *member, enum pool_wait what, const struct attempt *attempt)
{
    struct pool *pool = member->pool;
    const hone_image_desc *in = attempt ? &attempt->shape->in : NULL;
    pool->number[member->index][what] = ++pool->waits;
    if (pool->options.waits)
        pool->options.waits(pool->options.user, member->index, what, in ? (double)in->width * in->height : 0,
                            pool->waits);
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
        tell(member, POOL_RUNS, attempt);
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
        tell(member, POOL_RUNS, member->oldest);
}

static void forget(struct attempt *attempt)
{
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
    attempt->job = NULL;
    if (status == HONE_ERROR_DEVICE && member->state == MEMBER_WORKS && !is_last(member))
        leave(member, MEMBER_FAILED, error->message);
    const bool refuses = lacks && another_takes(member, job->shape);
    if (refuses)
        job->shape->refused |= (uint64_t)1 << member->index;
    if (status && (refuses || member->state != MEMBER_WORKS))
        hand_back(member->pool, job);
    else
        finish(job, status, error);
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

void pool_returned(void *user, const hone_stream_result *result)
{
    struct member *member = user;
    struct pool *pool = member->pool;
    struct attempt *attempt = result->user;
    pthread_mutex_lock(&pool->lock);
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

/* ---- A member's thread ---- */

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

static hone_status push(struct attempt *attempt, const hone_frame *frame, size_t step, const char *parameters,
                        hone_error *error)
{
    hone_stream *stream = attempt->lane->stream;
    hone_status status = parameters ? hone_stream_set(stream, step, parameters, error) : HONE_OK;
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
    hone_status status = push(attempt, &frame, job.step, job.parameters, error);
    pthread_mutex_lock(&member->pool->lock);
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
    if (!shape->known)
        shape->out = *hone_stream_output(lane->stream, 0);
    shape->known = true;
    return attempt->job->in ? fly(attempt, error) : HONE_OK;
}

/* Under the lock, but for what is asked of the device. Of one that was given up meanwhile nothing is touched. */
static void serve(struct member *member, struct attempt *attempt)
{
    struct pool *pool = member->pool;
    struct lane *lane = NULL;
    hone_error error;
    const bool is_frame = attempt->job->in != NULL;
    member->serving = attempt;
    tell(member, POOL_PREPARES, attempt);
    pthread_mutex_unlock(&pool->lock);
    hone_status status = find_lane(&lane, member, attempt->shape, &error);
    pthread_mutex_lock(&pool->lock);
    if (!status && member->state != MEMBER_HANGS)
        status = arrive(attempt, lane, &error);
    if (member->state == MEMBER_HANGS)
        return;
    member->serving = NULL;
    tell(member, POOL_PREPARES, NULL);
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
        finish(job, error_memory(&job->error, "a frame"), &job->error);
    }
    return attempt;
}

static void *work(void *user)
{
    struct member *member = user;
    struct pool *pool = member->pool;
    pthread_mutex_lock(&pool->lock);
    while (member->state == MEMBER_WORKS && !pool->stop) {
        struct pool_job *job = pool_next_job(member);
        struct attempt *attempt = job ? begin(member, job) : NULL;
        if (job && pool->waiting) /* for this device there is more ahead of it now */
            pthread_cond_broadcast(&pool->changed);
        if (attempt)
            serve(member, attempt);
        else if (!job)
            pthread_cond_wait(&pool->changed, &pool->lock);
    }
    const bool answers = member->state != MEMBER_HANGS;
    pthread_mutex_unlock(&pool->lock);
    if (answers)
        pool_lanes_finish(member);
    return NULL;
}

/* ---- The caller's side ---- */

void pool_submit(struct pool *pool, struct pool_job *job)
{
    job->begun = clock_ns();
    job->next = NULL;
    pthread_cond_init(&job->finished, NULL);
    pthread_mutex_lock(&pool->lock);
    struct pool_job **at = &pool->waiting;
    while (*at)
        at = &(*at)->next;
    *at = job;
    pthread_cond_broadcast(&pool->changed);
    pthread_mutex_unlock(&pool->lock);
}

hone_status pool_wait(struct pool *pool, struct pool_job *job)
{
    pthread_mutex_lock(&pool->lock);
    while (!job->done)
        pthread_cond_wait(&job->finished, &pool->lock);
    pthread_mutex_unlock(&pool->lock);
    pthread_cond_destroy(&job->finished);
    return job->status;
}

void pool_seconds(struct pool *pool, double seconds[HONE_STAGE_COUNT])
{
    pthread_mutex_lock(&pool->lock);
    for (int s = 0; s < HONE_STAGE_COUNT; s++) {
        seconds[s] = pool->seconds[s];
        for (size_t i = 0; i < pool->count; i++)
            for (int lane = 0; lane < POOL_LANES; lane++)
                seconds[s] += pool->members[i].lanes[lane].seconds[s];
    }
    pthread_mutex_unlock(&pool->lock);
}

/* ---- Giving a device up ---- */

/* It may use the memory of its frame for ever. */
static hone_status replace_memory(struct pool_job *job, const struct pool_shape *shape, hone_error *error)
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
    hone_status status = attempt->lane ? replace_memory(job, attempt->shape, &error) : HONE_OK;
    if (status)
        finish(job, status, &error);
    else
        hand_back(pool, job);
}

bool pool_give_up(struct pool *pool, unsigned index, enum pool_wait what, uint64_t number, const char *why)
{
    struct member *member = &pool->members[index];
    pthread_mutex_lock(&pool->lock);
    const bool over = pool->number[index][what] != number || member->state == MEMBER_HANGS,
               last = !over && is_last(member);
    if (!over && !last) {
        leave(member, MEMBER_HANGS, why);
        if (!pool->stop) { /* else it is waited for already */
            pthread_detach(member->thread);
            member->started = false;
        }
        for (struct attempt *attempt = member->oldest; attempt; attempt = attempt->next)
            take_away(pool, attempt);
        if (member->serving)
            take_away(pool, member->serving);
        for (int wait = 0; wait < POOL_WAITS; wait++)
            tell(member, (enum pool_wait)wait, NULL);
    }
    pthread_mutex_unlock(&pool->lock);
    return !last;
}

/* ---- Beginning and end ---- */

/* Not every driver bears several threads at once: Oclgrind 21.10 does not, and PoCL 3.1's `basic` waits for itself when events are
 * released while it runs commands. */
static bool is_serial(const hone_device *device)
{
    const hone_device_info *info = hone_device_get_info(device);
    return strstr(info->platform, "Oclgrind") || strncmp(info->name, "basic", strlen("basic")) == 0;
}

static struct pool *pool_new(hone_device *const *devices, size_t count, const struct pool_options *options)
{
    struct pool *pool = mem_new(1, sizeof *pool);
    struct member *members = mem_new(count, sizeof *members);
    if (!pool || !members) {
        free(pool);
        free(members);
        return NULL;
    }
    pool->options = *options;
    if (options->frames == 0 || options->frames > POOL_FRAMES)
        pool->options.frames = POOL_FRAMES;
    if (options->plan)
        pool->plan = *options->plan;
    pool->members = members;
    pool->count = count;
    pthread_mutex_init(&pool->lock, NULL);
    pthread_cond_init(&pool->changed, NULL);
    for (size_t i = 0; i < count; i++)
        members[i] = (struct member){.pool = pool,
                                     .index = (unsigned)i,
                                     .device = devices[i],
                                     .most = is_serial(devices[i]) ? 1 : pool->options.frames};
    return pool;
}

hone_status pool_create(struct pool **out, hone_device *const *devices, size_t count,
                        const struct pool_options *options, hone_error *error)
{
    *out = NULL;
    if (count < 1 || count > POOL_DEVICES)
        return error_usage(error, "1 to %d devices can work together, not %zu", (int)POOL_DEVICES, count);
    struct pool *pool = pool_new(devices, count, options);
    if (!pool)
        return error_memory(error, "a pool of devices");
    bool started = true;
    for (size_t i = 0; i < count && started; i++)
        started = pool->members[i].started =
            pthread_create(&pool->members[i].thread, NULL, work, &pool->members[i]) == 0;
    if (!started) {
        pool_destroy(&pool);
        return error_set(error, HONE_ERROR_MEMORY, "the thread of a device could not be started");
    }
    *out = pool;
    return HONE_OK;
}

bool pool_destroy(struct pool **slot)
{
    struct pool *pool = *slot;
    bool answers = true;
    *slot = NULL;
    if (!pool)
        return true;
    pthread_mutex_lock(&pool->lock);
    pool->stop = true;
    pthread_cond_broadcast(&pool->changed);
    for (size_t i = 0; i < pool->count; i++)
        answers = answers && pool->members[i].state != MEMBER_HANGS;
    pthread_mutex_unlock(&pool->lock);
    for (size_t i = 0; i < pool->count; i++)
        if (pool->members[i].started)
            pthread_join(pool->members[i].thread, NULL);
    if (!answers)
        return false;
    pthread_cond_destroy(&pool->changed);
    pthread_mutex_destroy(&pool->lock);
    free(pool->members);
    free(pool);
    return true;
}
