/* SPDX-License-Identifier: BSD-2-Clause */
/* What events tell of time: stamps, their division, and each command by itself. */
#include "cl/event.h"

#include "base/mem.h"
#include "cl/internal.h"
#include "cl/selftest.h"

#include <stdio.h>

hone_command_kind command_kind_of(cl_event event)
{
    cl_command_type type = 0;
    if (clGetEventInfo(event, CL_EVENT_COMMAND_TYPE, sizeof type, &type, NULL) != CL_SUCCESS)
        return HONE_COMMAND_OTHER;
    switch (type) {
    case CL_COMMAND_NDRANGE_KERNEL:
    case CL_COMMAND_TASK:
        return HONE_COMMAND_KERNEL;
    case CL_COMMAND_COPY_BUFFER:
    case CL_COMMAND_COPY_BUFFER_RECT:
        return HONE_COMMAND_MOVE;
    case CL_COMMAND_COPY_BUFFER_TO_IMAGE:
    case CL_COMMAND_COPY_IMAGE_TO_BUFFER:
        return HONE_COMMAND_CONVERSION;
    case CL_COMMAND_READ_BUFFER:
    case CL_COMMAND_READ_BUFFER_RECT:
        return HONE_COMMAND_DOWNLOAD;
    case CL_COMMAND_WRITE_BUFFER:
    case CL_COMMAND_WRITE_BUFFER_RECT:
        return HONE_COMMAND_UPLOAD;
    case CL_COMMAND_MAP_BUFFER:
    case CL_COMMAND_UNMAP_MEM_OBJECT:
        return HONE_COMMAND_MAP;
    default:
        return HONE_COMMAND_OTHER;
    }
}

const char *hone_command_kind_name(hone_command_kind kind)
{
    static const char *const names[] = {"kernel", "upload", "download", "move", "conversion", "map", "other"};
    return (unsigned)kind < COUNT_OF(names) ? names[kind] : "?";
}

static hone_status check_clock(const hone_event *event, bool there, const char *call, hone_error *error)
{
    hone_status status = event_check(event, there, call, "an event and a place for the times", error);
    if (status || event->device->host_clock)
        return status;
    if (!event->device->profile)
        return error_unsupported(error, "no time stamps: open the device with `profile` set in its request");
    if (!selftest_holds(event->device, SELFTEST_CLOCK))
        return error_unsupported(error, "no time stamps: the clock of '%s' failed the self-test",
                                 event->device->info.name);
    return HONE_OK;
}

static cl_int stamp(cl_event event, cl_profiling_info what, uint64_t *value)
{
    cl_ulong number = 0;
    cl_int code = clGetEventProfilingInfo(event, what, sizeof number, &number, NULL);
    *value = number;
    return code;
}

/* Of one command. */
static cl_int stamps(const hone_event *event, hone_times *times)
{
    *times = event->note.host;
    if (event->device->host_clock)
        return CL_SUCCESS;
    cl_int code = stamp(event->command, CL_PROFILING_COMMAND_QUEUED, &times->queued);
    if (code == CL_SUCCESS)
        code = stamp(event->command, CL_PROFILING_COMMAND_SUBMIT, &times->submitted);
    if (code == CL_SUCCESS)
        code = stamp(event->command, CL_PROFILING_COMMAND_START, &times->started);
    if (code == CL_SUCCESS)
        code = stamp(event->command, CL_PROFILING_COMMAND_END, &times->ended);
    if (code != CL_SUCCESS)
        *times = (hone_times){0};
    return code;
}

hone_status hone_event_times(const hone_event *event, hone_times *times, hone_error *error)
{
    if (times)
        *times = (hone_times){0};
    TRY(check_clock(event, times != NULL, "hone_event_times", error));
    const hone_event *first = event;
    hone_times last = {0};
    while (first->before)
        first = first->before;
    cl_int code = stamps(first, times);
    if (code == CL_SUCCESS)
        code = stamps(event, &last);
    times->ended = last.ended;
    if (code == CL_SUCCESS)
        return HONE_OK;
    *times = (hone_times){0};
    return cl_failed(error, code, "clGetEventProfilingInfo");
}

/* Where the time of a command belongs; NULL: nowhere (a marker, a change of owner). */
static uint64_t *share_of(hone_durations *durations, hone_command_kind kind)
{
    const bool copies = kind == HONE_COMMAND_UPLOAD || kind == HONE_COMMAND_DOWNLOAD ||
                        kind == HONE_COMMAND_MOVE || kind == HONE_COMMAND_CONVERSION;
    return kind == HONE_COMMAND_KERNEL ? &durations->kernels : copies ? &durations->copies : NULL;
}

/* From the last command back to the first: a piece without a change of kind is measured from its start to its
 * end. */
static cl_int add_up(const hone_event *event, hone_durations *durations)
{
    uint64_t *share = NULL, start = 0, end = 0;
    cl_int code = CL_SUCCESS;
    for (; event && code == CL_SUCCESS; event = event->before) {
        uint64_t *its = share_of(durations, event->note.kind);
        hone_times times;
        if (!its)
            continue;
        code = stamps(event, &times);
        if (share && its != share)
            *share += end - start;
        end = its == share ? end : times.ended;
        start = times.started;
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
    TRY(check_clock(event, durations != NULL, "hone_event_durations", error));
    cl_int code = add_up(event, durations);
    return code == CL_SUCCESS ? HONE_OK : cl_failed(error, code, "clGetEventProfilingInfo");
}

size_t hone_event_command_count(const hone_event *event)
{
    size_t count = 0;
    for (; event; event = event->before)
        count++;
    return count;
}

/* Without times. */
static hone_command describe(const hone_event *event)
{
    hone_command command = {.kind = event->note.kind,
                            .step = event->note.step,
                            .bytes = event->note.bytes,
                            .enqueued = event->note.enqueued};
    snprintf(command.name, sizeof command.name, "%s", event->note.name);
    return command;
}

hone_status hone_event_command(const hone_event *event, size_t index, hone_command *command,
                               hone_error *error)
{
    if (command)
        *command = (hone_command){.kind = HONE_COMMAND_OTHER};
    TRY(check_clock(event, command != NULL, "hone_event_command", error));
    const size_t count = hone_event_command_count(event);
    if (index >= count)
        return error_usage(error, "there is no command %zu: the event has %zu, from 0", index, count);
    for (size_t i = count - 1; i > index; i--)
        event = event->before;
    *command = describe(event);
    cl_int code = stamps(event, &command->times);
    return code == CL_SUCCESS ? HONE_OK : cl_failed(error, code, "clGetEventProfilingInfo");
}

void event_each_command(const hone_event *event, void (*tell)(void *user, const hone_command *command),
                        void *user)
{
    const bool clock = event && check_clock(event, true, "event_each_command", NULL) == HONE_OK;
    const size_t count = hone_event_command_count(event);
    for (size_t i = 0; i < count; i++) {
        const hone_event *one = event;
        for (size_t k = count - 1; k > i; k--)
            one = one->before;
        hone_command command = describe(one);
        if (!clock || stamps(one, &command.times) == CL_SUCCESS)
            tell(user, &command);
    }
}
