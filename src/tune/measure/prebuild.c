/* SPDX-License-Identifier: BSD-2-Clause */
#include "tune/measure/prebuild.h"

#include <unistd.h>

void builders_init(struct builders *b)
{
    const long beside = sysconf(_SC_NPROCESSORS_ONLN) - 1;
    *b = (struct builders){.count = beside < 1 ? 1 : beside > BUILDERS_MOST ? BUILDERS_MOST : (int)beside};
    pthread_mutex_init(&b->lock, NULL);
}

static void *work(void *argument)
{
    struct builder *one = argument;
    one->build(one->job);
    pthread_mutex_lock(&one->of->lock);
    one->done = true;
    pthread_mutex_unlock(&one->of->lock);
    return NULL;
}

static void join(struct builder *one)
{
    if (one->started)
        pthread_join(one->thread, NULL);
    one->started = false;
}

/* One that has nothing to do, or NULL. */
static struct builder *find_free(struct builders *b)
{
    struct builder *found = NULL;
    pthread_mutex_lock(&b->lock);
    for (int i = 0; i < b->count && !found; i++)
        if (!b->all[i].started || b->all[i].done)
            found = &b->all[i];
    pthread_mutex_unlock(&b->lock);
    return found;
}

bool builders_start(struct builders *b, void (*build)(void *job), void *job)
{
    struct builder *one = find_free(b);
    if (!one)
        return false;
    join(one);
    *one = (struct builder){.of = b, .build = build, .job = job};
    one->started = pthread_create(&one->thread, NULL, work, one) == 0;
    return one->started;
}

void builders_finish(struct builders *b)
{
    for (int i = 0; i < b->count; i++)
        join(&b->all[i]);
    pthread_mutex_destroy(&b->lock);
}
