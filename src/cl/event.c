/* SPDX-License-Identifier: BSD-2-Clause */
#include "cl/event.h"

#include "base/mem.h"
#include "cl/internal.h"
#include "cl/selftest.h"
#include "hone/interop.h"

#include <stdlib.h>

hone_status event_adopt(hone_event **out, struct hone_device *device, cl_event event, hone_error *error)
{
    hone_event *made = mem_new(1, sizeof *made);
    if (!made) {
        clReleaseEvent(event);
        return error_memory(error, "an event");
    }
    *made = (hone_event){.command = event, .device = device};
    device_retain(device);
    *out = made;
    return HONE_OK;
}

void event_join(hone_event **first, hone_event **last, hone_event **out)
{
    hone_event *joined = *last, *earliest = joined;
    if (*first != joined && joined->device->profile) {
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
        if (!status)
            end = &(*end)->before;
    }
    if (status)
        hone_event_destroy(&copy);
    *out = copy;
    return status;
}

/* `there`: whether all other arguments are. */
static hone_status check_event(const hone_event *event, bool there, const char *call, const char *needs,
                               hone_error *error)
{
    if (!event || !there)
        return error_set(error, HONE_ERROR_USAGE, "%s needs %s", call, needs);
    return device_check(event->device, call, error);
}

hone_status hone_event_wait(const hone_event *event, hone_error *error)
{
    hone_status status = check_event(event, true, "hone_event_wait", "an event", error);
    if (status)
        return status;
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
        check_event(event, done != NULL, "hone_event_poll", "an event and a place for the answer", error);
    if (status)
        return status;
    cl_int state = CL_QUEUED;
    status = execution_status(event, &state, error);
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

static hone_status check_clock(const hone_event *event, bool there, const char *call, hone_error *error)
{
    hone_status status = check_event(event, there, call, "an event and a place for the times", error);
    if (status)
        return status;
    if (!event->device->profile)
        return error_set(error, HONE_ERROR_UNSUPPORTED,
                         "no time stamps: open the device with `profile` set in its request");
    if (!selftest_holds(event->device, SELFTEST_CLOCK))
        return error_set(error, HONE_ERROR_UNSUPPORTED,
                         "no time stamps: the clock of '%s' failed the self-test", event->device->info.name);
    return HONE_OK;
}

hone_status hone_event_times(const hone_event *event, hone_times *times, hone_error *error)
{
    if (times)
        *times = (hone_times){0};
    hone_status status = check_clock(event, times != NULL, "hone_event_times", error);
    if (status)
        return status;
    const hone_event *first = event;
    while (first->before)
        first = first->before;
    cl_int code = stamp(first->command, CL_PROFILING_COMMAND_QUEUED, &times->queued);
    if (code == CL_SUCCESS)
        code = stamp(first->command, CL_PROFILING_COMMAND_SUBMIT, &times->submitted);
    if (code == CL_SUCCESS)
        code = stamp(first->command, CL_PROFILING_COMMAND_START, &times->started);
    if (code == CL_SUCCESS)
        code = stamp(event->command, CL_PROFILING_COMMAND_END, &times->ended);
    return code == CL_SUCCESS ? HONE_OK : cl_failed(error, code, "clGetEventProfilingInfo");
}

/* Where the time of a command belongs; NULL: nowhere (a marker, a change of owner). */
static uint64_t *share_of(hone_durations *durations, cl_command_type type)
{
    switch (type) {
    case CL_COMMAND_NDRANGE_KERNEL:
    case CL_COMMAND_TASK:
        return &durations->kernels;
    case CL_COMMAND_COPY_BUFFER:
    case CL_COMMAND_COPY_BUFFER_RECT:
    case CL_COMMAND_COPY_BUFFER_TO_IMAGE:
    case CL_COMMAND_COPY_IMAGE_TO_BUFFER:
    case CL_COMMAND_READ_BUFFER:
    case CL_COMMAND_READ_BUFFER_RECT:
    case CL_COMMAND_WRITE_BUFFER:
    case CL_COMMAND_WRITE_BUFFER_RECT:
        return &durations->copies;
    default:
        return NULL;
    }
}

/* From the last command back to the first: a piece without a change of kind is measured from its start to its end. */
static cl_int add_up(const hone_event *event, hone_durations *durations)
{
    uint64_t *share = NULL, start = 0, end = 0;
    cl_int code = CL_SUCCESS;
    for (; event && code == CL_SUCCESS; event = event->before) {
        cl_command_type type = 0;
        uint64_t its_start = 0, its_end = 0;
        code = clGetEventInfo(event->command, CL_EVENT_COMMAND_TYPE, sizeof type, &type, NULL);
        uint64_t *its = share_of(durations, type);
        if (!its || code != CL_SUCCESS)
            continue;
        code = stamp(event->command, CL_PROFILING_COMMAND_START, &its_start);
        if (code == CL_SUCCESS)
            code = stamp(event->command, CL_PROFILING_COMMAND_END, &its_end);
        if (share && its != share)
            *share += end - start;
        end = its == share ? end : its_end;
        start = its_start;
        share = its;
    }
    if (share)
        *share += end - start;
    return code;
}

hone_status hone_event_durations(const hone_event *event, hone_durations *durations, hone_error *error)
{
    if (durations)
        *durations = (hone_durations){0};
    hone_status status = check_clock(event, durations != NULL, "hone_event_durations", error);
    if (status)
        return status;
    cl_int code = add_up(event, durations);
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
    hone_status status =
        check_event(event, function != NULL, "hone_event_notify", "an event and a function", error);
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
        return error_set(error, HONE_ERROR_USAGE, "hone_event_from_cl needs a device and an event");
    *out = NULL;
    hone_status status = device_check(device, "hone_event_from_cl", error);
    if (status)
        return status;
    cl_int code = clRetainEvent(event);
    if (code != CL_SUCCESS)
        return cl_failed(error, code, "clRetainEvent");
    return event_adopt(out, device, event, error);
}

struct _cl_event *hone_event_cl(const hone_event *event)
{
    return event ? event->command : NULL;
}

hone_status waits_init(struct cl_waits *waits, struct wait_list list, hone_error *error)
{
    *waits = (struct cl_waits){0};
    if (list.count == 0)
        return HONE_OK;
    if (!list.events)
        return error_set(error, HONE_ERROR_USAGE, "a list of %zu events to wait for is NULL", list.count);
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
