/* SPDX-License-Identifier: BSD-2-Clause */
/* The stream's thread, which waits for the device and hands results out; and how the caller takes them. */
#include "base/clock.h"
#include "base/error.h"
#include "cl/event.h"
#include "stream/internal.h"

/* ---- Waiting for a frame ---- */

static void fail(hone_stream *stream, struct slot *slot, hone_status status, const hone_error *why)
{
    if (slot->status)
        return;
    slot->status = status;
    slot->error = *why;
    /* Whether the device is done with the caller's memory is not known otherwise. */
    if (hone_device_finish(stream->device, NULL) == HONE_OK)
        return;
    pthread_mutex_lock(&stream->lock);
    stream->dead = true;
    pthread_mutex_unlock(&stream->lock);
}

/* The stage that an event ends; HONE_STAGE_COUNT: none. */
static hone_stream_stage stage_of(const hone_stream *stream, int event)
{
    static const hone_stream_stage stages[EVENTS] = {[SENT] = HONE_STAGE_UPLOAD,
                                                     [OPENED] = HONE_STAGE_COUNT,
                                                     [COMPUTED] = HONE_STAGE_KERNELS,
                                                     [FETCHED] = HONE_STAGE_DOWNLOAD,
                                                     [RETURNED] = HONE_STAGE_COUNT};
    return stream->shared && event != COMPUTED ? HONE_STAGE_COUNT : stages[event];
}

static void wait_for_task(hone_stream *stream, struct slot *slot, struct task *task, uint64_t *spent)
{
    uint64_t before = clock_ns();
    for (int e = 0; e < EVENTS; e++) {
        hone_error why;
        if (!task->events[e])
            continue;
        hone_status status = hone_event_wait(task->events[e], &why);
        const hone_stream_stage stage = stage_of(stream, e);
        if (status)
            fail(stream, slot, status, &why);
        else if (stage != HONE_STAGE_COUNT)
            spent[stage] += stats_stage(stream, task->events[e], before);
        if (!status && e == COMPUTED)
            slot->device_ns += stats_device(stream, task->events[e]);
        if (!status && stream->command)
            event_each_command(task->events[e], stream->command, slot->frame.user);
        before = clock_ns();
    }
    for (int e = 0; e < EVENTS; e++)
        hone_event_destroy(&task->events[e]);
}

/* Lent memory may be anything once its frame is finished. */
static void give_back(hone_stream *stream, struct wrap **wrap)
{
    struct wrap *ours = *wrap;
    wraps_give_back(wrap);
    if (!ours || !stream->lent)
        return;
    pthread_mutex_lock(&stream->pushing);
    if (atomic_load(&ours->users) == 0)
        wraps_forget(ours);
    pthread_mutex_unlock(&stream->pushing);
}

static void copy_out(hone_stream *stream, struct slot *slot, size_t p, hone_copies *copies)
{
    const hone_image_desc *desc = &stream->outputs[p];
    if (slot->tasks[p].out || slot->tasks[p].fetches || !slot->frame.out[p])
        return;
    const struct copy_job job = {slot->frame.out[p],         slot->out[p].host,
                                 slot->frame.out_pitch[p],   slot->out[p].image->desc.pitch,
                                 hone_image_row_bytes(desc), desc->height};
    copiers_copy(&stream->from, &job);
    copies->count++;
    copies->bytes += hone_image_row_bytes(desc) * desc->height;
    slot->copied = true;
}

static void finish_frame(hone_stream *stream, struct slot *slot)
{
    uint64_t spent[HONE_STAGE_COUNT] = {0};
    hone_copies copies = {0};
    slot->status = HONE_OK;
    slot->device_ns = 0;
    for (size_t p = 0; p < stream->plane_count; p++)
        wait_for_task(stream, slot, &slot->tasks[p], spent);
    const uint64_t start = clock_ns();
    for (size_t p = 0; p < stream->plane_count && !slot->status; p++)
        copy_out(stream, slot, p, &copies);
    for (size_t p = 0; p < stream->plane_count; p++) {
        give_back(stream, &slot->tasks[p].in);
        give_back(stream, &slot->tasks[p].out);
    }
    slot->finished_ns = clock_ns();
    if (copies.count)
        spent[HONE_STAGE_COPY_OUT] = slot->finished_ns - start;
    slot->staged.count += copies.count;
    slot->staged.bytes += copies.bytes;
    pthread_mutex_lock(&stream->lock);
    stream->finished++;
    stream->stats.copies_out.count += copies.count;
    stream->stats.copies_out.bytes += copies.bytes;
    for (int s = 0; s < HONE_STAGE_COUNT; s++)
        stats_add(stream, (hone_stream_stage)s, spent[s]);
    stats_finished(stream, slot, slot->finished_ns);
    pthread_cond_broadcast(&stream->news);
    pthread_mutex_unlock(&stream->lock);
}

/* ---- Handing it out ---- */

static void fill_result(const hone_stream *stream, const struct slot *slot, hone_stream_result *result)
{
    *result = (hone_stream_result){.index = slot->index,
                                   .user = slot->frame.user,
                                   .status = slot->status,
                                   .error = slot->status ? &slot->error : NULL,
                                   .seconds = (double)(slot->finished_ns - slot->pushed_ns) * 1e-9,
                                   .device_seconds = (double)slot->device_ns * 1e-9,
                                   .copies = slot->copies,
                                   .staged = slot->staged};
    for (size_t p = 0; p < stream->plane_count && !slot->status; p++) {
        const bool theirs = slot->frame.out[p] != NULL;
        result->planes[p] = theirs ? slot->frame.out[p] : slot->out[p].host;
        result->pitch[p] = theirs ? slot->frame.out_pitch[p] : slot->out[p].image->desc.pitch;
    }
}

/* Under the lock: the oldest frame's slot is free. */
static void release(hone_stream *stream)
{
    stats_released(stream, clock_ns());
    stream->released++;
    pthread_cond_broadcast(&stream->news);
}

static void call_back(hone_stream *stream, const struct slot *slot)
{
    hone_stream_result result;
    fill_result(stream, slot, &result);
    const uint64_t start = clock_ns();
    stream->callback(stream->user, &result);
    pthread_mutex_lock(&stream->lock);
    stats_add(stream, HONE_STAGE_OUTPUT, clock_ns() - start);
    release(stream);
    pthread_mutex_unlock(&stream->lock);
}

void *deliver(void *argument)
{
    hone_stream *stream = argument;
    for (;;) {
        pthread_mutex_lock(&stream->lock);
        while (stream->finished == stream->pushed && !stream->stop)
            pthread_cond_wait(&stream->work, &stream->lock);
        struct slot *slot = stream->finished < stream->pushed ? stream_slot(stream, stream->finished) : NULL;
        pthread_mutex_unlock(&stream->lock);
        if (!slot)
            return NULL;
        finish_frame(stream, slot);
        pthread_mutex_lock(&stream->lock);
        const bool wanted = stream->callback && !stream->stop;
        pthread_mutex_unlock(&stream->lock);
        if (wanted)
            call_back(stream, slot);
    }
}

/* ---- The caller's side ---- */

static hone_status pull(hone_stream *stream, hone_stream_result *result, bool *got, bool wait,
                        const char *call, hone_error *error)
{
    hone_status status = stream_check_outside(stream, call, error);
    if (!status && (!result || !got))
        status = error_usage(error, "%s needs places for the result and the answer", call);
    if (!status && stream->callback)
        status = error_usage(error, "%s: the results of this stream go to its callback", call);
    if (got)
        *got = false;
    if (status)
        return status;
    *result = (hone_stream_result){0};
    pthread_mutex_lock(&stream->lock);
    if (stream->holding)
        release(stream);
    stream->holding = false;
    stream->puller = pthread_self();
    stream->has_puller = true;
    while (wait && stream->finished == stream->released &&
           !(stream->ended && stream->pushed == stream->released))
        pthread_cond_wait(&stream->news, &stream->lock);
    *got = stream->holding = stream->finished > stream->released;
    if (*got)
        fill_result(stream, stream_slot(stream, stream->released), result);
    pthread_mutex_unlock(&stream->lock);
    return HONE_OK;
}

hone_status hone_stream_pull(hone_stream *stream, hone_stream_result *result, bool *got, hone_error *error)
{
    return pull(stream, result, got, true, "hone_stream_pull", error);
}

hone_status hone_stream_try_pull(hone_stream *stream, hone_stream_result *result, bool *got,
                                 hone_error *error)
{
    return pull(stream, result, got, false, "hone_stream_try_pull", error);
}

hone_status hone_stream_flush(hone_stream *stream, hone_error *error)
{
    TRY(stream_check_outside(stream, "hone_stream_flush", error));
    pthread_mutex_lock(&stream->lock);
    const uint64_t all = stream->pushed;
    while ((stream->callback ? stream->released : stream->finished) < all)
        pthread_cond_wait(&stream->news, &stream->lock);
    pthread_mutex_unlock(&stream->lock);
    return HONE_OK;
}

hone_status hone_stream_end(hone_stream *stream, hone_error *error)
{
    TRY(stream_check(stream, "hone_stream_end", error));
    pthread_mutex_lock(&stream->lock);
    stream->ended = true;
    pthread_cond_broadcast(&stream->news);
    pthread_mutex_unlock(&stream->lock);
    return HONE_OK;
}
