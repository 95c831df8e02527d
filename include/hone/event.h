/* SPDX-License-Identifier: BSD-2-Clause */
/** Events: wait for enqueued work, order it, and time it. */
#ifndef HONE_EVENT_H
#define HONE_EVENT_H

#include "hone/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * The completion of enqueued work.
 *
 * Threads: several threads may wait for one event and query it; no thread may use it once it is destroyed.
 */
typedef struct hone_event hone_event;

/**
 * The four time stamps of a command, in nanoseconds on the device's clock.
 *
 * For a plan's event they span all its commands: queued, submitted and started of the first, ended of the last.
 */
typedef struct hone_times {
    uint64_t queued, submitted, started, ended;
} hone_times;

/** Blocks until the work is done. Errors: HONE_ERROR_DEVICE if it failed on the device. */
HONE_API hone_status hone_event_wait(const hone_event *event, hone_error *error);

/** Sets *done to whether the work is done. Does not block. */
HONE_API hone_status hone_event_poll(const hone_event *event, bool *done, hone_error *error);

/** How the time of a plan's run divides, in nanoseconds on the device's clock. */
typedef struct hone_durations {
    uint64_t kernels; /**< kernels, including the gaps between consecutive ones */
    /** Copies before, between and after kernels: buffers copied to images for variants that read images, and rows
     *  realigned for a variant. hone_plan_copies counts them. */
    uint64_t copies;
} hone_durations;

/**
 * Reads the time stamps of finished work.
 *
 * Precondition: the work is done.
 * Errors: on failure all are 0. HONE_ERROR_UNSUPPORTED if the device was not opened with `profile`, or if its clock
 * failed the self-test.
 */
HONE_API hone_status hone_event_times(const hone_event *event, hone_times *times, hone_error *error);

/** The same, split into kernels and copies; hone_event_times covers both. */
HONE_API hone_status hone_event_durations(const hone_event *event, hone_durations *durations, hone_error *error);

/**
 * Calls `function(user, status)` once, when the work is done (HONE_OK) or has failed.
 *
 * Threads: the call comes from a thread of the driver. The function must not block or call OpenCL or hone.
 */
HONE_API hone_status hone_event_notify(const hone_event *event, void (*function)(void *user, hone_status status),
                                       void *user, hone_error *error);

/** Releases an event and sets *event to NULL; *event may be NULL. The work continues. */
HONE_API void hone_event_destroy(hone_event **event);

#ifdef __cplusplus
}
#endif
#endif
