/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/copiers.h"

#include <string.h>
#include <unistd.h>

/* Below that much a part is copied sooner than a thread wakes up. */
enum { LEAST_PART = 256 << 10, PARTS_EACH = 2 };

unsigned copiers_wanted(void)
{
    const long processors = sysconf(_SC_NPROCESSORS_ONLN) / 4;
    return processors < 0 ? 0 : processors < MOST_COPIERS ? (unsigned)processors : MOST_COPIERS;
}

static void copy_rows(const struct copy_job *job, size_t first, size_t behind)
{
    char *to = job->to + first * job->to_pitch;
    const char *from = job->from + first * job->from_pitch;
    if (job->to_pitch == job->row && job->from_pitch == job->row) {
        memcpy(to, from, job->row * (behind - first));
        return;
    }
    for (size_t y = first; y < behind; y++, to += job->to_pitch, from += job->from_pitch)
        memcpy(to, from, job->row);
}

/* Takes parts until there are none. Called and left with the lock held. */
static void take_parts(struct copiers *copiers)
{
    while (copiers->next < copiers->parts) {
        const struct copy_job job = copiers->job;
        const size_t part = copiers->next++, parts = copiers->parts;
        pthread_mutex_unlock(&copiers->lock);
        copy_rows(&job, job.rows * part / parts, job.rows * (part + 1) / parts);
        pthread_mutex_lock(&copiers->lock);
        if (--copiers->unfinished == 0)
            pthread_cond_broadcast(&copiers->done);
    }
}

static void *help(void *argument)
{
    struct copiers *copiers = argument;
    pthread_mutex_lock(&copiers->lock);
    while (!copiers->stop) {
        take_parts(copiers);
        if (!copiers->stop)
            pthread_cond_wait(&copiers->work, &copiers->lock);
    }
    pthread_mutex_unlock(&copiers->lock);
    return NULL;
}

void copiers_open(struct copiers *copiers, unsigned count)
{
    *copiers = (struct copiers){0};
    pthread_mutex_init(&copiers->lock, NULL);
    pthread_cond_init(&copiers->work, NULL);
    pthread_cond_init(&copiers->done, NULL);
    while (copiers->count < count && copiers->count < MOST_COPIERS &&
           pthread_create(&copiers->threads[copiers->count], NULL, help, copiers) == 0)
        copiers->count++;
}

void copiers_close(struct copiers *copiers)
{
    pthread_mutex_lock(&copiers->lock);
    copiers->stop = true;
    pthread_cond_broadcast(&copiers->work);
    pthread_mutex_unlock(&copiers->lock);
    while (copiers->count > 0)
        pthread_join(copiers->threads[--copiers->count], NULL);
    pthread_cond_destroy(&copiers->done);
    pthread_cond_destroy(&copiers->work);
    pthread_mutex_destroy(&copiers->lock);
}

static size_t parts_of(const struct copiers *copiers, const struct copy_job *job)
{
    const size_t most = (size_t)PARTS_EACH * (copiers->count + 1), parts = job->row * job->rows / LEAST_PART;
    return copiers->count == 0 || parts < 2 ? 1 : parts < most ? parts : most;
}

void copiers_copy(struct copiers *copiers, const struct copy_job *job)
{
    const size_t parts = parts_of(copiers, job);
    if (parts == 1) {
        copy_rows(job, 0, job->rows);
        return;
    }
    pthread_mutex_lock(&copiers->lock);
    copiers->job = *job;
    copiers->parts = copiers->unfinished = parts;
    copiers->next = 0;
    pthread_cond_broadcast(&copiers->work);
    take_parts(copiers);
    while (copiers->unfinished > 0)
        pthread_cond_wait(&copiers->done, &copiers->lock);
    pthread_mutex_unlock(&copiers->lock);
}
