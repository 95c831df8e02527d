/* SPDX-License-Identifier: BSD-2-Clause */
#include "cl/event.h"

#include "base/mem.h"
#include "cl/private.h"
#include "cl/selftest.h"
#include "hone/interop.h"

#include <stdlib.h>

hone_status event_adopt(hone_event **out, struct hone_device *device, cl_event event, hone_error *error)
{
    hone_event *made = mem_new(1, sizeof *made);
    cl_int code = made ? clRetainEvent(event) : CL_OUT_OF_HOST_MEMORY;
    if (code != CL_SUCCESS) {
        clReleaseEvent(event);
        free(made);
        return cl_failed(error, code, "clRetainEvent");
    }
    *made = (hone_event){event, event, device};
    *out = made;
    return HONE_OK;
}

void event_join(hone_event **first, hone_event **last, hone_event **out)
{
    hone_event *joined = *last;
    if (*first != joined) {
        clReleaseEvent(joined->first);
        joined->first = (*first)->first;
        clReleaseEvent((*first)->last);
        free(*first);
    }
    *first = *last = NULL;
    *out = joined; /* may be the same place as first or last */
}

hone_status event_copy(hone_event **out, const hone_event *event, hone_error *error)
{
    hone_event *made = mem_new(1, sizeof *made);
    if (!made)
        return error_memory(error, "an event");
    cl_int code = clRetainEvent(event->first);
    if (code == CL_SUCCESS) {
        code = clRetainEvent(event->last);
        if (code != CL_SUCCESS)
            clReleaseEvent(event->first);
    }
    if (code != CL_SUCCESS) {
        free(made);
        return cl_failed(error, code, "clRetainEvent");
    }
    *made = *event;
    *out = made;
    return HONE_OK;
}

hone_status hone_event_wait(const hone_event *event, hone_error *error)
{
    if (!event)
        return error_set(error, HONE_ERROR_USAGE, "hone_event_wait needs an event");
    cl_int code = clWaitForEvents(1, &event->last);
    return code == CL_SUCCESS ? HONE_OK : cl_failed(error, code, "clWaitForEvents");
}

static hone_status execution_status(const hone_event *event, cl_int *status, hone_error *error)
{
    cl_int code =
        clGetEventInfo(event->last, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof *status, status, NULL);
    if (code != CL_SUCCESS)
        return cl_failed(error, code, "clGetEventInfo");
    return *status < 0 ? cl_failed(error, *status, "a command failed on the device") : HONE_OK;
}

hone_status hone_event_poll(const hone_event *event, int *done, hone_error *error)
{
    if (!event || !done)
        return error_set(error, HONE_ERROR_USAGE,
                         "hone_event_poll needs an event and a place for the answer");
    cl_int state = CL_QUEUED;
    hone_status status = execution_status(event, &state, error);
    *done = !status && state == CL_COMPLETE;
    return status;
}

static cl_int stamp(cl_event event, cl_profiling_info what, uint64_t *value)
{
    cl_ulong number = 0;
    cl_int code = clGetEventProfilingInfo(event, what, sizeof number, &number, NULL);
    *value = number;
    return code;
}

hone_status hone_event_times(const hone_event *event, hone_times *times, hone_error *error)
{
    if (!event || !times)
        return error_set(error, HONE_ERROR_USAGE,
                         "hone_event_times needs an event and a place for the times");
    *times = (hone_times){0};
    if (!event->device->profile)
        return error_set(error, HONE_ERROR_UNSUPPORTED,
                         "no time stamps: open the device with `profile` set in its request");
    if (!selftest_holds(event->device, SELFTEST_CLOCK))
        return error_set(error, HONE_ERROR_UNSUPPORTED,
                         "no time stamps: the clock of '%s' failed the self-test", event->device->info.name);
    cl_int code = stamp(event->first, CL_PROFILING_COMMAND_QUEUED, &times->queued);
    if (code == CL_SUCCESS)
        code = stamp(event->first, CL_PROFILING_COMMAND_SUBMIT, &times->submitted);
    if (code == CL_SUCCESS)
        code = stamp(event->first, CL_PROFILING_COMMAND_START, &times->started);
    if (code == CL_SUCCESS)
        code = stamp(event->last, CL_PROFILING_COMMAND_END, &times->ended);
    return code == CL_SUCCESS ? HONE_OK : cl_failed(error, code, "clGetEventProfilingInfo");
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
    if (!event || !function)
        return error_set(error, HONE_ERROR_USAGE, "hone_event_notify needs an event and a function");
    struct notification *notification = mem_new(1, sizeof *notification);
    if (!notification)
        return error_memory(error, "a callback");
    *notification = (struct notification){function, user};
    cl_int code = clSetEventCallback(event->last, CL_COMPLETE, notify, notification);
    if (code != CL_SUCCESS) {
        free(notification);
        return cl_failed(error, code, "clSetEventCallback");
    }
    return HONE_OK;
}

void hone_event_destroy(hone_event **event)
{
    if (!event || !*event)
        return;
    clReleaseEvent((*event)->first);
    clReleaseEvent((*event)->last);
    free(*event);
    *event = NULL;
}

hone_status hone_event_from_cl(hone_event **out, hone_device *device, struct _cl_event *event,
                               hone_error *error)
{
    if (!out || !device || !event)
        return error_set(error, HONE_ERROR_USAGE, "hone_event_from_cl needs a device and an event");
    cl_int code = clRetainEvent(event);
    if (code != CL_SUCCESS)
        return cl_failed(error, code, "clRetainEvent");
    return event_adopt(out, device, event, error);
}

struct _cl_event *hone_event_cl(const hone_event *event)
{
    return event ? event->last : NULL;
}

hone_status waits_init(struct cl_waits *waits, struct wait_list list, hone_error *error)
{
    *waits = (struct cl_waits){0};
    if (list.count == 0)
        return HONE_OK;
    waits->events = waits->fixed;
    if (list.count > COUNT_OF(waits->fixed))
        waits->events = mem_new(list.count, sizeof *waits->events);
    if (!waits->events)
        return error_memory(error, "a list of events");
    for (size_t i = 0; i < list.count; i++)
        if (list.events[i])
            waits->events[waits->count++] = list.events[i]->last;
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
