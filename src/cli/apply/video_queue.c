/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/apply/video.h"

static bool has_room(const struct unit_queue *queue, const struct video_unit *unit)
{
    return queue->count < QUEUE_UNITS && (!unit->is_frame || queue->frames < queue->most_frames);
}

struct queued *queue_put(struct unit_queue *queue, struct video_unit *unit, unsigned pending)
{
    struct queued *place = NULL;
    pthread_mutex_lock(&queue->lock);
    while (!queue->stopped && !has_room(queue, unit))
        pthread_cond_wait(&queue->changed, &queue->lock);
    if (!queue->stopped) {
        place = &queue->units[(queue->first + queue->count++) % QUEUE_UNITS];
        *place = (struct queued){unit, pending};
        queue->frames += unit->is_frame;
    }
    pthread_cond_broadcast(&queue->changed);
    pthread_mutex_unlock(&queue->lock);
    if (!place)
        video_unit_free(&unit);
    return place;
}

void queue_done(struct unit_queue *queue, struct queued *place)
{
    pthread_mutex_lock(&queue->lock);
    place->pending--;
    pthread_cond_broadcast(&queue->changed);
    pthread_mutex_unlock(&queue->lock);
}

static struct video_unit *pop(struct unit_queue *queue)
{
    struct video_unit *unit = queue->units[queue->first].unit;
    queue->first = (queue->first + 1) % QUEUE_UNITS;
    queue->count--;
    queue->frames -= unit->is_frame;
    return unit;
}

bool queue_wait(struct unit_queue *queue)
{
    pthread_mutex_lock(&queue->lock);
    while (!queue->stopped && !queue->ended && queue->count == 0)
        pthread_cond_wait(&queue->changed, &queue->lock);
    const bool some = !queue->stopped && queue->count > 0;
    pthread_mutex_unlock(&queue->lock);
    return some;
}

struct video_unit *queue_take(struct unit_queue *queue)
{
    pthread_mutex_lock(&queue->lock);
    while (!queue->stopped && queue->units[queue->first].pending > 0)
        pthread_cond_wait(&queue->changed, &queue->lock);
    struct video_unit *unit = queue->stopped ? NULL : pop(queue);
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
    pthread_cond_broadcast(&queue->changed);
    pthread_mutex_unlock(&queue->lock);
}

void queue_free_units(struct unit_queue *queue)
{
    while (queue->count) {
        struct video_unit *unit = pop(queue);
        video_unit_free(&unit);
    }
}
