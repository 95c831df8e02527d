/* SPDX-License-Identifier: BSD-2-Clause */
/* The memory of the slots: made once, for as long as the stream lasts. */
#include "base/error.h"
#include "base/mem.h"
#include "cl/device.h"
#include "stream/internal.h"

#include <stdlib.h>

enum { ROW_ALIGN = 64 }; /* rows begin where wide loads like it */

static hone_image_desc padded(const hone_image_desc *desc)
{
    hone_image_desc result = *desc;
    result.pitch = (hone_image_row_bytes(desc) + ROW_ALIGN - 1) / ROW_ALIGN * ROW_ALIGN;
    return result;
}

/* Whether slots are nothing but places in the order of frames. */
static bool needs_no_memory(const hone_stream *stream)
{
    return stream->lent && stream->shared;
}

static uint64_t place_bytes(const hone_image_desc *desc, bool twice)
{
    const hone_image_desc here = padded(desc);
    return (uint64_t)here.pitch * here.height * (twice ? 2 : 1);
}

static uint64_t slot_bytes(const hone_stream *stream)
{
    uint64_t bytes = 0;
    for (size_t p = 0; p < stream->plane_count; p++)
        bytes += place_bytes(&stream->inputs[p], !stream->shared && !stream->sends) +
                 place_bytes(&stream->outputs[p], !stream->shared);
    return bytes;
}

static hone_status choose_count(hone_stream *stream, unsigned wanted, uint64_t memory, hone_error *error)
{
    uint64_t held = 0, budget = 0;
    const uint64_t each = needs_no_memory(stream) ? 1 : slot_bytes(stream);
    hone_device_memory(stream->device, &held, &budget);
    const uint64_t left = budget > held ? budget - held : 0, room = memory && memory < left ? memory : left;
    const unsigned usual = stream->shared || stream->lent ? DEFAULT_SLOTS : STAGED_SLOTS;
    const unsigned most = wanted ? wanted : usual, least = stream->lent ? 1 : wanted ? wanted : MIN_SLOTS;
    if (room / each < least)
        return error_set(error, HONE_ERROR_MEMORY,
                         "%u slots of %.1f MB need more than the %.1f MB that there are for the ring", least,
                         (double)each * 1e-6, (double)room * 1e-6);
    stream->slot_count = room / each < most ? (unsigned)(room / each) : most;
    stream->memory = needs_no_memory(stream) ? 0 : stream->slot_count * each;
    return HONE_OK;
}

hone_status ring_to_host(hone_image *image, void **host, struct wait_list wait, hone_event **done,
                         hone_error *error)
{
    return memory_map(image->memory, true, host, wait, done, error);
}

hone_status ring_to_device(hone_image *image, struct wait_list wait, hone_event **done, hone_error *error)
{
    return memory_is_mapped(image->memory) ? memory_unmap(image->memory, wait, done, error)
                                           : memory_mark(image->memory, wait, done, error);
}

static hone_status make_place(hone_stream *stream, struct place *place, const hone_image_desc *desc,
                              bool sends, hone_error *error)
{
    const hone_image_desc here = padded(desc);
    if (sends)
        return hone_image_create(&place->image, stream->device, &here, HONE_MEMORY_DEVICE, error);
    hone_image **mapped = stream->shared ? &place->image : &place->pinned;
    hone_status status = hone_image_create(mapped, stream->device, &here, HONE_MEMORY_MAPPED, error);
    if (!status && !stream->shared)
        status = hone_image_create(&place->image, stream->device, &here, HONE_MEMORY_DEVICE, error);
    return status ? status : ring_to_host(*mapped, &place->host, (struct wait_list){0}, NULL, error);
}

static hone_status make_slot(hone_stream *stream, struct slot *slot, hone_error *error)
{
    hone_status status = HONE_OK;
    for (size_t p = 0; p < stream->plane_count && !needs_no_memory(stream) && !status; p++) {
        status = make_place(stream, &slot->in[p], &stream->inputs[p], stream->sends, error);
        THEN(status, make_place(stream, &slot->out[p], &stream->outputs[p], false, error));
    }
    return status;
}

hone_status ring_create(hone_stream *stream, unsigned slots, uint64_t memory, hone_error *error)
{
    hone_status status = choose_count(stream, slots, memory, error);
    if (status)
        return status;
    stream->slots = mem_new(stream->slot_count, sizeof *stream->slots);
    if (!stream->slots)
        return error_memory(error, "a stream");
    for (unsigned i = 0; i < stream->slot_count && !status; i++)
        status = make_slot(stream, &stream->slots[i], error);
    return status;
}

static void destroy_place(struct place *place)
{
    hone_image_destroy(&place->image);
    hone_image_destroy(&place->pinned);
}

void ring_destroy(hone_stream *stream)
{
    for (unsigned i = 0; stream->slots && i < stream->slot_count; i++)
        for (size_t p = 0; p < stream->plane_count; p++) {
            destroy_place(&stream->slots[i].in[p]);
            destroy_place(&stream->slots[i].out[p]);
        }
    free(stream->slots);
    stream->slots = NULL;
}

/* Only what the device works on leaves the host's hands. */
static hone_status recover_place(const hone_stream *stream, struct place *place, hone_error *error)
{
    if (!stream->shared || !place->image || memory_is_mapped(place->image->memory))
        return HONE_OK;
    return ring_to_host(place->image, &place->host, (struct wait_list){0}, NULL, error);
}

static void recover_wrap(struct wrap **wrap)
{
    struct wrap *ours = *wrap;
    wraps_give_back(wrap);
    if (ours && !memory_is_mapped(ours->image->memory))
        wraps_forget(ours);
}

hone_status ring_recover(hone_stream *stream, struct slot *slot, hone_error *error)
{
    hone_status status = hone_device_finish(stream->device, error);
    for (size_t p = 0; p < stream->plane_count; p++) {
        struct task *task = &slot->tasks[p];
        for (int e = 0; e < EVENTS; e++)
            hone_event_destroy(&task->events[e]);
        recover_wrap(&task->in);
        recover_wrap(&task->out);
        THEN(status, recover_place(stream, &slot->in[p], error));
        THEN(status, recover_place(stream, &slot->out[p], error));
    }
    return status;
}
