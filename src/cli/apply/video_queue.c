/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/apply/video.h"

static bool has_room(const struct unit_queue *queue, const struct video_unit *unit)
{
    return queue->count < QUEUE_UNITS && (!unit->is_frame || queue->frames < QUEUE_FRAMES);
}

bool queue_put(struct unit_queue *queue, struct video_unit *unit)
{
    pthread_mutex_lock(&queue->lock);
    while (!queue->stopped && !has_room(queue, unit))
        pthread_cond_wait(&queue->changed, &queue->lock);
    const bool put = !queue->stopped;
    if (put) {
        queue->units[(queue->first + queue->count++) % QUEUE_UNITS] = unit;
        queue->frames += unit->is_frame;
    }
    pthread_cond_broadcast(&queue->changed);
    pthread_mutex_unlock(&queue->lock);
    if (!put)
        video_unit_free(&unit);
    return put;
}

static struct video_unit *pop(struct unit_queue *queue)
{
    struct video_unit *unit = queue->units[queue->first];
    queue->first = (queue->first + 1) % QUEUE_UNITS;
    queue->count--;
    queue->frames -= unit->is_frame;
    return unit;
}

struct video_unit *queue_take(struct unit_queue *queue)
{
    pthread_mutex_lock(&queue->lock);
    while (!queue->stopped && !queue->ended && queue->count == 0)
        pthread_cond_wait(&queue->changed, &queue->lock);
    struct video_unit *unit = !queue->stopped && queue->count ? pop(queue) : NULL;
    pthread_cond_broadcast(&queue->changed);
    pthread_mutex_unlock(&queue->lock);
    return unit;
}

void queue_end(struct unit_queue *queue)
{
    pthread_mutex_lock(&queue->lock);
    queue->ended = true;
    pthread_cond_broadcast(&queue->changed);
    pthread_mutex_unlock(&queue->lock);
}

void queue_stop(struct unit_queue *queue)
{
    pthread_mutex_lock(&queue->lock);
    queue->stopped = true;
    while (queue->count) {
        struct video_unit *unit = pop(queue);
        video_unit_free(&unit);
    }
    pthread_cond_broadcast(&queue->changed);
    pthread_mutex_unlock(&queue->lock);
}
