/* SPDX-License-Identifier: BSD-2-Clause */
#include "cl/event.h"

#include "base/clock.h"
#include "base/mem.h"
#include "cl/internal.h"
#include "hone/interop.h"

#include <stdlib.h>

/* Takes over one reference of `event`. On failure the reference is released. */
static hone_status event_adopt(hone_event **out, struct hone_device *device, cl_event event,
                               hone_error *error)
{
    hone_event *made = mem_new(1, sizeof *made);
    if (!made) {
        clReleaseEvent(event);
        return error_memory(error, "an event");
    }
    *made = (hone_event){
        .command = event, .device = device, .note = {.kind = HONE_COMMAND_OTHER, .step = HONE_NO_STEP}};
    device_retain(device);
    *out = made;
    return HONE_OK;
}

/* By the host's clock: the command has to be over before the next one begins. What fails, the caller's wait
 * tells. */
static void stamp_by_host(hone_event *event, uint64_t begun)
{
    clWaitForEvents(1, &event->command);
    event->note.host = (hone_times){begun, begun, begun, clock_ns()};
}

hone_status event_made(hone_event **out, struct hone_device *device, cl_event event,
                       const struct command_note *note, uint64_t begun, hone_error *error)
{
    TRY(event_adopt(out, device, event, error));
    (*out)->note = *note;
    (*out)->note.enqueued = clock_ns();
    if (device->host_clock)
        stamp_by_host(*out, begun);
    return HONE_OK;
}

void event_note_bytes(hone_event *event, uint64_t bytes)
{
    if (event)
        event->note.bytes = bytes;
}

void event_note_step(hone_event *event, size_t step)
{
    for (; event; event = event->before)
        event->note.step = step;
}

void event_join(hone_event **first, hone_event **last, hone_event **out)
{
    hone_event *joined = *last, *earliest = joined;
    if (*first != joined && device_keeps_times(joined->device)) {
        while (earliest->before)
            earliest = earliest->before;
        earliest->before = *first;
    } else if (*first != joined) {
        hone_event_destroy(first); /* nobody will ask when it began */
    }
    *first = *last = NULL;
    *out = joined; /* may be the same place as first or last */
}

hone_status event_copy(hone_event **out, const hone_event *event, hone_error *error)
{
    hone_event *copy = NULL, **end = &copy;
    hone_status status = HONE_OK;
    for (; event && !status; event = event->before) {
        cl_int code = clRetainEvent(event->command);
        status = code == CL_SUCCESS ? event_adopt(end, event->device, event->command, error)
                                    : cl_failed(error, code, "clRetainEvent");
        if (!status) {
            (*end)->note = event->note;
            end = &(*end)->before;
        }
    }
    if (status)
        hone_event_destroy(&copy);
    *out = copy;
    return status;
}

hone_status event_check(const hone_event *event, bool there, const char *call, const char *needs,
                        hone_error *error)
{
    if (!event || !there)
        return error_usage(error, "%s needs %s", call, needs);
    return device_check(event->device, call, error);
}

hone_status hone_event_wait(const hone_event *event, hone_error *error)
{
    TRY(event_check(event, true, "hone_event_wait", "an event", error));
    cl_int code = clWaitForEvents(1, &event->command);
    if (code != CL_SUCCESS)
        return cl_failed(error, code, "clWaitForEvents");
    device_has_finished(event->device);
    return HONE_OK;
}

static hone_status execution_status(const hone_event *event, cl_int *status, hone_error *error)
{
    cl_int code =
        clGetEventInfo(event->command, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof *status, status, NULL);
    if (code != CL_SUCCESS)
        return cl_failed(error, code, "clGetEventInfo");
    return *status < 0 ? cl_failed(error, *status, "a command failed on the device") : HONE_OK;
}

hone_status hone_event_poll(const hone_event *event, bool *done, hone_error *error)
{
    hone_status status =
        event_check(event, done != NULL, "hone_event_poll", "an event and a place for the answer", error);
    if (status)
        return status;
    cl_int state = CL_QUEUED;
    status = execution_status(event, &state, error);
    *done = !status && state == CL_COMPLETE;
    return status;
}

struct notification {
    void (*function)(void *user, hone_status status);
    void *user;
};

static void CL_CALLBACK notify(cl_event event, cl_int code, void *user)
{
    struct notification *notification = user;
    (void)event;
    notification->function(notification->user, code == CL_COMPLETE ? HONE_OK : HONE_ERROR_DEVICE);
    free(notification);
}

hone_status hone_event_notify(const hone_event *event, void (*function)(void *user, hone_status status),
                              void *user, hone_error *error)
{
    hone_status status =
        event_check(event, function != NULL, "hone_event_notify", "an event and a function", error);
    if (status)
        return status;
    struct notification *notification = mem_new(1, sizeof *notification);
    if (!notification)
        return error_memory(error, "a callback");
    *notification = (struct notification){function, user};
    cl_int code = clSetEventCallback(event->command, CL_COMPLETE, notify, notification);
    if (code != CL_SUCCESS) {
        free(notification);
        return cl_failed(error, code, "clSetEventCallback");
    }
    return HONE_OK;
}

void hone_event_destroy(hone_event **slot)
{
    hone_event *event = slot ? *slot : NULL;
    while (event && device_is_here(event->device)) {
        hone_event *before = event->before;
        clReleaseEvent(event->command);
        device_release(event->device);
        free(event);
        event = before;
    }
    if (slot)
        *slot = NULL;
}

hone_status hone_event_from_cl(hone_event **out, hone_device *device, struct _cl_event *event,
                               hone_error *error)
{
    if (!out || !device || !event)
        return error_usage(error, "hone_event_from_cl needs a device and an event");
    *out = NULL;
    TRY(device_check(device, "hone_event_from_cl", error));
    cl_int code = clRetainEvent(event);
    if (code != CL_SUCCESS)
        return cl_failed(error, code, "clRetainEvent");
    hone_status status = event_adopt(out, device, event, error);
    if (!status)
        (*out)->note.kind = command_kind_of(event);
    return status;
}

struct _cl_event *hone_event_cl(const hone_event *event)
{
    return event ? event->command : NULL;
}

hone_status waits_init(struct cl_waits *waits, struct wait_list list, hone_error *error)
{
    *waits = (struct cl_waits){.begun = clock_ns()};
    if (list.count == 0)
        return HONE_OK;
    if (!list.events)
        return error_usage(error, "a list of %zu events to wait for is NULL", list.count);
    waits->events = waits->fixed;
    if (list.count > COUNT_OF(waits->fixed))
        waits->events = mem_new(list.count, sizeof *waits->events);
    if (!waits->events)
        return error_memory(error, "a list of events");
    for (size_t i = 0; i < list.count; i++)
        if (list.events[i])
            waits->events[waits->count++] = list.events[i]->command;
    if (waits->count == 0)
        waits_finish(waits);
    return HONE_OK;
}

void waits_finish(struct cl_waits *waits)
{
    if (waits->events != waits->fixed)
        free(waits->events);
    waits->events = NULL;
}
