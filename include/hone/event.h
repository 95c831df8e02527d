/* SPDX-License-Identifier: BSD-2-Clause */
/** Events: the end of work that was enqueued, to wait for, to chain on, to time. */
#ifndef HONE_EVENT_H
#define HONE_EVENT_H

#include "hone/status.h"

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** The completion of enqueued work. Threads: may be waited for and queried by several threads at once; destroying it
 *  must come last. */
typedef struct hone_event hone_event;

/** The four time stamps of a command, nanoseconds on the device's clock. All 0 where the device has none (a device that
 *  was not opened with `profile`, or whose clock failed the self-test). For a plan's event they span its commands:
 *  queued, submitted and started of the first, ended of the last. */
typedef struct hone_times {
    uint64_t queued, submitted, started, ended;
} hone_times;

/** Blocks until the work is done. HONE_ERROR_DEVICE when it failed on the device. */
HONE_API hone_status hone_event_wait(const hone_event *event, hone_error *error);

/** *done becomes 1 when the work is done, else 0; does not block. */
HONE_API hone_status hone_event_poll(const hone_event *event, int *done, hone_error *error);

/** Reads the time stamps of work that is done. HONE_ERROR_UNSUPPORTED when there are none. */
HONE_API hone_status hone_event_times(const hone_event *event, hone_times *times, hone_error *error);

/** Calls `function(user, status)` once when the work is done (HONE_OK) or failed, on a thread of the driver: the
 * function must not block and must not call into OpenCL or hone. */
HONE_API hone_status hone_event_notify(const hone_event *event, void (*function)(void *user, hone_status status),
                                       void *user, hone_error *error);

/** Releases an event; the work goes on. *event becomes NULL, NULL is fine. */
HONE_API void hone_event_destroy(hone_event **event);

#ifdef __cplusplus
}
#endif
#endif
