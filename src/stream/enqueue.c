/* SPDX-License-Identifier: BSD-2-Clause */
/* One frame on its way through the device: commands and the events between them. Nothing here waits. */
#include "base/clock.h"
#include "base/error.h"
#include "cl/device.h"
#include "cl/event.h"
#include "stream/internal.h"

struct wait_list stream_after(const hone_stream *stream, const hone_event *const *events, size_t count)
{
    return stream->chained ? (struct wait_list){events, count} : (struct wait_list){0};
}

/* The place for an event that is only needed where commands may overtake each other. */
static hone_event **chain_slot(const hone_stream *stream, hone_event **event)
{
    return stream->chained ? event : NULL;
}

/* All of a buffer of the stream's, as one row. */
static struct span whole(const hone_image *image)
{
    const size_t bytes = image->desc.pitch * image->desc.height;
    return (struct span){0, bytes, bytes, 1};
}

/* Up to the end of the last row. */
static struct span to_the_end(const hone_image *image)
{
    const size_t bytes = hone_image_bytes(&image->desc);
    return (struct span){0, bytes, bytes, 1};
}

static hone_status run_plane(hone_stream *stream, size_t p, struct task *task, hone_image *in,
                             hone_image *out, struct wait_list wait, hone_error *error)
{
    hone_status status =
        hone_plan_run(stream->plans[p], in, out, wait.events, wait.count, &task->events[COMPUTED], error);
    if (status || !stream->chained)
        return status;
    hone_event_destroy(&stream->computed);
    return event_copy(&stream->computed, task->events[COMPUTED], error);
}

/* The rows of one without what lies between them. */
static struct span rows_of(const hone_image *image)
{
    return (struct span){0, image->desc.pitch, hone_image_row_bytes(&image->desc), image->desc.height};
}

static hone_status upload(struct slot *slot, size_t p, hone_error *error)
{
    const struct place *in = &slot->in[p];
    const bool direct = slot->tasks[p].sends, alike = slot->frame.in_pitch[p] == in->image->desc.pitch;
    const struct span span = !direct ? whole(in->image)
                             : alike ? to_the_end(in->image) /* what lies between rows goes with them */
                                     : rows_of(in->image);
    return memory_send(in->image->memory, &span, direct ? slot->frame.in[p] : in->host,
                       direct && !alike ? slot->frame.in_pitch[p] : span.pitch, (struct wait_list){0},
                       &slot->tasks[p].events[SENT], error);
}

static hone_status download(struct slot *slot, size_t p, struct wait_list wait, hone_error *error)
{
    const struct place *out = &slot->out[p];
    const bool direct = slot->tasks[p].fetches;
    const struct span span = direct ? rows_of(out->image) : whole(out->image);
    return memory_fetch(out->image->memory, &span, direct ? slot->frame.out[p] : out->host,
                        direct ? slot->frame.out_pitch[p] : span.pitch, wait, &slot->tasks[p].events[FETCHED],
                        error);
}

/* Through pinned memory, the slot's or the caller's, with copies in lanes of their own. */
static hone_status enqueue_staged(hone_stream *stream, struct slot *slot, size_t p, hone_error *error)
{
    struct task *task = &slot->tasks[p];
    struct place *in = &slot->in[p], *out = &slot->out[p];
    hone_status status = upload(slot, p, error);
    const hone_event *const before[] = {task->events[SENT], stream->computed};
    THEN(status, run_plane(stream, p, task, in->image, out->image, (struct wait_list){before, 2}, error));
    const hone_event *const computed[] = {task->events[COMPUTED]};
    return status ? status : download(slot, p, (struct wait_list){computed, 1}, error);
}

static const hone_event *last_use(const struct wrap *wrap)
{
    return wrap ? wrap->back : NULL;
}

/* The host has the pixels again after `computed`; whoever lends them next waits for that. */
static hone_status take_back(hone_stream *stream, hone_image *image, struct wrap *wrap, void **host,
                             const hone_event *computed, hone_event **done, hone_error *error)
{
    hone_status status = ring_to_host(image, host, stream_after(stream, &computed, 1), done, error);
    if (status || !wrap || !stream->chained)
        return status;
    hone_event_destroy(&wrap->back);
    return event_copy(&wrap->back, *done, error);
}

/* In memory that host and device share: it only changes hands. */
static hone_status enqueue_shared(hone_stream *stream, struct slot *slot, size_t p, hone_error *error)
{
    struct task *task = &slot->tasks[p];
    hone_event **events = task->events;
    void *theirs = NULL; /* the caller knows where its own pixels are */
    hone_image *in = task->in ? task->in->image : slot->in[p].image,
               *out = task->out ? task->out->image : slot->out[p].image;
    const hone_event *in_back = last_use(task->in), *out_back = last_use(task->out);
    hone_status status =
        ring_to_device(in, stream_after(stream, &in_back, 1), chain_slot(stream, &events[SENT]), error);
    THEN(status,
         ring_to_device(out, stream_after(stream, &out_back, 1), chain_slot(stream, &events[OPENED]), error));
    const hone_event *const before[] = {events[SENT], events[OPENED], stream->computed};
    THEN(status, run_plane(stream, p, task, in, out, stream_after(stream, before, 3), error));
    THEN(status, take_back(stream, out, task->out, task->out ? &theirs : &slot->out[p].host, events[COMPUTED],
                           &events[FETCHED], error));
    THEN(status, take_back(stream, in, task->in, task->in ? &theirs : &slot->in[p].host, events[COMPUTED],
                           &events[RETURNED], error));
    return status;
}

static hone_status refuse_copy(size_t plane, const char *what, hone_error *error)
{
    return error_unsupported(
        error,
        "%s of plane %zu would have to be copied: the address or pitch is not aligned for the kernels, "
        "it is filtered in place, or the device has memory of its own",
        what, plane);
}

/* Whether the device reads or writes rows of the caller's itself. */
static bool moves_itself(const hone_stream *stream, const hone_image_desc *desc, const void *pixels)
{
    return !stream->shared && pixels && blocks_hold(stream->blocks, pixels, hone_image_bytes(desc));
}

/* Decides where the kernels find and leave the pixels of a plane. */
static hone_status choose_places(hone_stream *stream, struct slot *slot, size_t p, hone_error *error)
{
    const hone_frame *frame = &slot->frame;
    struct task *task = &slot->tasks[p];
    const bool may = stream->mode != HONE_STREAM_STAGED, must = stream->mode == HONE_STREAM_ZERO_COPY;
    const bool lent = stream->lent && stream->shared;
    bool in_direct = lent || (may && wraps_suit(stream, p, false, frame->in[p], frame->in_pitch[p]));
    bool out_direct = lent || (may && frame->out[p] && frame->out[p] != frame->in[p] &&
                               wraps_suit(stream, p, true, frame->out[p], frame->out_pitch[p]));
    hone_image_desc in = stream->inputs[p], out = stream->outputs[p];
    in.pitch = frame->in_pitch[p];
    out.pitch = frame->out_pitch[p];
    task->sends = moves_itself(stream, &in, frame->in[p]);
    task->fetches = moves_itself(stream, &out, frame->out[p]);
    if (must && (!in_direct || (frame->out[p] && !out_direct)))
        return refuse_copy(p, in_direct ? "the result" : "the input", error);
    hone_status status = HONE_OK;
    if (in_direct)
        status = wraps_take(&task->in, stream, &in, (void *)frame->in[p], error);
    if (!status && out_direct)
        status = wraps_take(&task->out, stream, &out, frame->out[p], error);
    return status;
}

static void copy_in(hone_stream *stream, struct slot *slot, size_t p)
{
    const hone_image_desc *desc = &stream->inputs[p];
    if (slot->tasks[p].in || slot->tasks[p].sends)
        return;
    const uint64_t start = clock_ns();
    const struct copy_job job = {
        slot->in[p].host,        slot->frame.in[p],          slot->in[p].image->desc.pitch,
        slot->frame.in_pitch[p], hone_image_row_bytes(desc), desc->height};
    copiers_copy(&stream->into, &job);
    slot->copied = true;
    slot->staged.count++;
    slot->staged.bytes += hone_image_row_bytes(desc) * desc->height;
    pthread_mutex_lock(&stream->lock);
    stream->stats.copies_in.count++;
    stream->stats.copies_in.bytes += hone_image_row_bytes(desc) * desc->height;
    stats_add(stream, HONE_STAGE_COPY_IN, clock_ns() - start);
    pthread_mutex_unlock(&stream->lock);
}

static hone_status enqueue_plane(hone_stream *stream, struct slot *slot, size_t p, hone_error *error)
{
    TRY(choose_places(stream, slot, p, error));
    copy_in(stream, slot, p);
    return stream->shared ? enqueue_shared(stream, slot, p, error) : enqueue_staged(stream, slot, p, error);
}

/* Behind kernels that failed, no others would run. */
static void forget_failure(hone_stream *stream)
{
    bool done = false;
    if (stream->computed && hone_event_poll(stream->computed, &done, NULL) != HONE_OK)
        hone_event_destroy(&stream->computed);
}

hone_status enqueue_frame(hone_stream *stream, struct slot *slot, hone_error *error)
{
    struct copy_tally tally;
    hone_status status = HONE_OK;
    slot->copied = false;
    slot->staged = (hone_copies){0};
    forget_failure(stream);
    copy_tally_begin(&tally);
    for (size_t p = 0; p < stream->plane_count && !status; p++)
        status = enqueue_plane(stream, slot, p, error);
    THEN(status, device_flush(stream->device, error));
    copy_tally_end(&tally);
    slot->copies = tally.counts;
    pthread_mutex_lock(&stream->lock);
    copy_counts_add(&stream->stats.copies, &tally.counts);
    slot->copied |= copy_counts_any(&tally.counts);
    pthread_mutex_unlock(&stream->lock);
    return status;
}
