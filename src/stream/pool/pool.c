/* SPDX-License-Identifier: BSD-2-Clause */
/* Handing frames out to devices, and taking them back from those that fail. */
#include "stream/pool/internal.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

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

hone_device *pool_device(struct pool *pool, size_t index, bool *works)
{
    *works = false;
    if (index >= pool->count)
        return NULL;
    pthread_mutex_lock(&pool->lock);
    *works = pool->members[index].state == MEMBER_WORKS;
    pthread_mutex_unlock(&pool->lock);
    return pool->members[index].device;
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

/* ---- Beginning and end ---- */

/* Not every driver bears several threads at once: Oclgrind 21.10 does not, and PoCL 3.1's `basic` waits for
 * itself when events are released while it runs commands. */
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
            pthread_create(&pool->members[i].thread, NULL, member_work, &pool->members[i]) == 0;
    if (!started) {
        pool_destroy(&pool);
        return error_set(error, HONE_ERROR_MEMORY, "the thread of a device could not be started");
    }
    *out = pool;
    return HONE_OK;
}

bool pool_is_quiet(struct pool *pool)
{
    pthread_mutex_lock(&pool->lock);
    const bool quiet = !pool->is_unsure;
    pthread_mutex_unlock(&pool->lock);
    return quiet;
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
