/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/apply/video.h"

static bool has_room(const struct unit_queue *queue, const struct video_unit *unit)
{
    return queue->count < QUEUE_UNITS && (!unit->is_frame || queue->frames < queue->most_frames);
}

bool queue_has_room(struct unit_queue *queue, const struct video_unit *unit)
{
    pthread_mutex_lock(&queue->lock);
    while (!queue->stopped && !has_room(queue, unit))
        pthread_cond_wait(&queue->changed, &queue->lock);
    const bool has = !queue->stopped;
    pthread_mutex_unlock(&queue->lock);
    return has;
}

void queue_put(struct unit_queue *queue, const struct queued *queued)
{
    pthread_mutex_lock(&queue->lock);
    queue->units[(queue->first + queue->count++) % QUEUE_UNITS] = *queued;
    queue->frames += queued->unit->is_frame;
    pthread_cond_broadcast(&queue->changed);
    pthread_mutex_unlock(&queue->lock);
}

static void pop(struct unit_queue *queue, struct queued *queued)
{
    *queued = queue->units[queue->first];
    queue->first = (queue->first + 1) % QUEUE_UNITS;
    queue->count--;
}

bool queue_take(struct unit_queue *queue, struct queued *queued)
{
    pthread_mutex_lock(&queue->lock);
    while (!queue->stopped && !queue->ended && queue->count == 0)
        pthread_cond_wait(&queue->changed, &queue->lock);
    const bool some = !queue->stopped && queue->count > 0;
    if (some)
        pop(queue, queued);
    pthread_cond_broadcast(&queue->changed);
    pthread_mutex_unlock(&queue->lock);
    return some;
}

void queue_leave(struct unit_queue *queue)
{
    pthread_mutex_lock(&queue->lock);
    queue->frames--;
    pthread_cond_broadcast(&queue->changed);
    pthread_mutex_unlock(&queue->lock);
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
    pthread_cond_broadcast(&queue->changed);
    pthread_mutex_unlock(&queue->lock);
}

bool queue_drain(struct unit_queue *queue, struct queued *queued)
{
    pthread_mutex_lock(&queue->lock);
    const bool some = queue->count > 0;
    if (some)
        pop(queue, queued);
    pthread_mutex_unlock(&queue->lock);
    return some;
}
