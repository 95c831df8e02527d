/* SPDX-License-Identifier: BSD-2-Clause */
/* Giving frames to a stream. */
#include "base/clock.h"
#include "base/error.h"
#include "base/options.h"
#include "image/extent.h"
#include "image/view.h"
#include "stream/internal.h"

#include <stdint.h>

static hone_status check_pixels(const hone_image_desc *desc, const void *pixels, size_t pitch, size_t plane,
                                const char *what, hone_error *error)
{
    const size_t element = hone_type_size(desc->type), row = hone_image_row_bytes(desc);
    if ((uintptr_t)pixels % element != 0 || pitch % element != 0)
        return error_usage(error, "%s of plane %zu: address and pitch must be multiples of %zu bytes", what,
                           plane, element);
    if (pitch < row)
        return error_usage(error, "%s of plane %zu: a pitch of %zu bytes is shorter than a row of %zu", what,
                           plane, pitch, row);
    return pitch_check_limit(pitch, error);
}

/* Fills in the pitches of a plane, and checks what can be checked. */
static hone_status complete_plane(const hone_stream *stream, hone_frame *frame, size_t p, hone_error *error)
{
    const hone_image_desc *in = &stream->inputs[p], *out = &stream->outputs[p];
    const bool in_place = frame->out[p] && frame->out[p] == frame->in[p];
    if (!frame->in[p])
        return error_usage(error, "the frame has no plane %zu; the stream filters %zu", p,
                           stream->plane_count);
    if (!frame->in_pitch[p])
        frame->in_pitch[p] = hone_image_pitch(in);
    if (!frame->out_pitch[p])
        frame->out_pitch[p] = in_place ? frame->in_pitch[p] : hone_image_row_bytes(out);
    hone_status status = check_pixels(in, frame->in[p], frame->in_pitch[p], p, "the input", error);
    if (!status && frame->out[p])
        status = check_pixels(out, frame->out[p], frame->out_pitch[p], p, "the result", error);
    if (!status && in_place && (!desc_same(in, out) || frame->in_pitch[p] != frame->out_pitch[p]))
        status = error_usage(
            error, "plane %zu cannot be filtered in place: input and result differ in size, format or pitch",
            p);
    return status;
}

static struct extent extent_of(const hone_image_desc *desc, const void *pixels, size_t pitch)
{
    return (struct extent){
        .start = (size_t)pixels, .pitch = pitch, .row = hone_image_row_bytes(desc), .rows = desc->height};
}

static hone_status refuse_overlap(size_t p, const char *what, size_t q, hone_error *error)
{
    return error_usage(
        error,
        "the result of plane %zu overlaps %s of plane %zu in memory: it must lie elsewhere, or "
        "exactly where the input of its own plane does",
        p, what, q);
}

/* The result of plane p, by the other planes that are written and all that are read. */
static hone_status check_overlap(const hone_stream *stream, const hone_frame *frame, size_t p,
                                 hone_error *error)
{
    const struct extent out = extent_of(&stream->outputs[p], frame->out[p], frame->out_pitch[p]);
    for (size_t q = 0; q < stream->plane_count; q++) {
        const bool in_place = q == p && frame->out[p] == frame->in[p];
        const struct extent in = extent_of(&stream->inputs[q], frame->in[q], frame->in_pitch[q]),
                            other = extent_of(&stream->outputs[q], frame->out[q], frame->out_pitch[q]);
        if (!in_place && extents_overlap(&out, &in))
            return refuse_overlap(p, "the input", q, error);
        if (q < p && frame->out[q] && extents_overlap(&out, &other))
            return refuse_overlap(p, "the result", q, error);
    }
    return HONE_OK;
}

static hone_status take_frame(hone_frame *to, const hone_stream *stream, const hone_frame *from,
                              hone_error *error)
{
    enum { FIRST = sizeof(hone_frame) }; /* 0.1 has all members; the next one begins behind them */
    hone_status status = from ? options_take(to, from, sizeof *to, FIRST, "hone_frame", error)
                              : error_usage(error, "there is no frame");
    for (size_t p = 0; p < stream->plane_count && !status; p++)
        status = complete_plane(stream, to, p, error);
    for (size_t p = 0; p < stream->plane_count && !status; p++)
        status = to->out[p] ? check_overlap(stream, to, p, error) : HONE_OK;
    return status;
}

/* Under the lock. */
static hone_status check_open(const hone_stream *stream, hone_error *error)
{
    if (stream->dead)
        return error_set(
            error, HONE_ERROR_DEVICE,
            "the stream is dead: after an earlier failure the device could not be brought to a known state");
    return stream->ended ? error_usage(error, "hone_stream_end was called: no frames can follow") : HONE_OK;
}

static bool is_full(const hone_stream *stream)
{
    return stream->pushed - stream->released == stream->slot_count;
}

/* What failed to be enqueued leaves nothing behind, or the stream is dead. */
static void give_up(hone_stream *stream, struct slot *slot)
{
    if (ring_recover(stream, slot, NULL) == HONE_OK)
        return;
    pthread_mutex_lock(&stream->lock);
    stream->dead = true;
    pthread_mutex_unlock(&stream->lock);
}

static void announce(hone_stream *stream, struct slot *slot)
{
    pthread_mutex_lock(&stream->lock);
    slot->index = stream->pushed;
    stats_pushed(stream, slot, clock_ns());
    stream->pushed++;
    pthread_cond_signal(&stream->work);
    pthread_mutex_unlock(&stream->lock);
}

/* Takes the frame if there is a slot now. */
static hone_status push_now(hone_stream *stream, const hone_frame *frame, bool *taken, hone_error *error)
{
    pthread_mutex_lock(&stream->pushing);
    pthread_mutex_lock(&stream->lock);
    hone_status status = check_open(stream, error);
    *taken = !status && !is_full(stream);
    struct slot *slot = stream_slot(stream, stream->pushed);
    pthread_mutex_unlock(&stream->lock);
    if (*taken) {
        slot->frame = *frame;
        slot->pushed_ns = clock_ns();
        status = enqueue_frame(stream, slot, error);
        if (status)
            give_up(stream, slot);
        else
            announce(stream, slot);
        *taken = !status;
    }
    pthread_mutex_unlock(&stream->pushing);
    return status;
}

static hone_status wait_for_slot(hone_stream *stream, hone_error *error)
{
    hone_status status = HONE_OK;
    pthread_mutex_lock(&stream->lock);
    while (is_full(stream) && !stream->dead && !stream->ended && !status)
        if (stream->has_puller && pthread_equal(stream->puller, pthread_self()))
            status = error_usage(
                error,
                "all %u slots are taken, and this thread is the one that pulls: it would wait for "
                "itself; pull first, or call hone_stream_try_push",
                stream->slot_count);
        else
            pthread_cond_wait(&stream->news, &stream->lock);
    pthread_mutex_unlock(&stream->lock);
    return status;
}

hone_status hone_stream_push(hone_stream *stream, const hone_frame *given, hone_error *error)
{
    hone_frame frame;
    bool taken = false;
    hone_status status = stream_check_outside(stream, "hone_stream_push", error);
    THEN(status, take_frame(&frame, stream, given, error));
    while (!status && !taken) {
        status = wait_for_slot(stream, error);
        THEN(status, push_now(stream, &frame, &taken, error));
    }
    return status;
}

hone_status hone_stream_try_push(hone_stream *stream, const hone_frame *given, bool *taken, hone_error *error)
{
    hone_frame frame;
    hone_status status = stream_check(stream, "hone_stream_try_push", error);
    if (!status && !taken)
        status = error_usage(error, "hone_stream_try_push needs a place for the answer");
    if (taken)
        *taken = false;
    THEN(status, take_frame(&frame, stream, given, error));
    return status ? status : push_now(stream, &frame, taken, error);
}
