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
 * For a plan's event they span all its commands: queued, submitted and started of the first, ended of the
 * last.
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
    /** Copies before, between and after kernels: buffers copied to images for variants that read images, and
     *  rows realigned for a variant. hone_plan_copies counts them. */
    uint64_t copies;
} hone_durations;

/**
 * Reads the time stamps of finished work.
 *
 * Precondition: the work is done.
 * Errors: on failure all are 0. HONE_ERROR_UNSUPPORTED if the device was not opened with `profile`, or if its
 * clock failed the self-test.
 */
HONE_API hone_status hone_event_times(const hone_event *event, hone_times *times, hone_error *error);

/** The same, split into kernels and copies; hone_event_times covers both. */
HONE_API hone_status hone_event_durations(const hone_event *event, hone_durations *durations,
                                          hone_error *error);

/** What a command does. */
typedef enum hone_command_kind {
    HONE_COMMAND_KERNEL = 0,
    HONE_COMMAND_UPLOAD = 1,     /**< from host memory to the device */
    HONE_COMMAND_DOWNLOAD = 2,   /**< to host memory */
    HONE_COMMAND_MOVE = 3,       /**< between buffers */
    HONE_COMMAND_CONVERSION = 4, /**< between a buffer and a 2D image */
    HONE_COMMAND_MAP = 5,        /**< mapping or unmapping: hands memory from one side to the other */
    HONE_COMMAND_OTHER = 6       /**< a marker, a change of owner, or an unknown command of the caller's */
} hone_command_kind;

/** "kernel", "upload", "download", "move", "conversion", "map", "other"; "?" for an invalid kind. Static. */
HONE_API const char *hone_command_kind_name(hone_command_kind kind);

/** hone_command.step of a command that belongs to no filter of a chain. */
#define HONE_NO_STEP ((size_t)-1)

/** One command of finished work. */
typedef struct hone_command {
    hone_command_kind kind;
    char name[64]; /**< of a kernel: the function; else "" */
    /** The filter of the chain it works for, from 0 (the first of those that share a kernel), or
     *  HONE_NO_STEP. */
    size_t step;
    /** Of a kernel: the bytes of the images and scratch buffers it is given, each counted once, which is its
     *  memory traffic if every element is read or written once. Of a copy: the bytes copied (read once and
     *  written once). Of a mapping: 0 if the memory is handed over in place. */
    uint64_t bytes;
    hone_times times;
    uint64_t enqueued; /**< nanoseconds of CLOCK_MONOTONIC, when the call that enqueued it returned */
} hone_command;

/**
 * The number of commands an event stands for, in the order in which they were enqueued.
 *
 * For a plan's event these are all kernels and copies of the run, if the device was opened with `profile`,
 * else the last one. 0 for NULL.
 */
HONE_API size_t hone_event_command_count(const hone_event *event);

/**
 * Reads command `index` (from 0) of finished work, with its own four time stamps.
 *
 * Precondition: the work is done.
 * Errors: on failure *command has no times. HONE_ERROR_USAGE if there is no such command; otherwise as
 * hone_event_times.
 */
HONE_API hone_status hone_event_command(const hone_event *event, size_t index, hone_command *command,
                                        hone_error *error);

/**
 * Calls `function(user, status)` once, when the work is done (HONE_OK) or has failed.
 *
 * Threads: the call comes from a thread of the driver. The function must not block or call OpenCL or hone.
 */
HONE_API hone_status hone_event_notify(const hone_event *event,
                                       void (*function)(void *user, hone_status status), void *user,
                                       hone_error *error);

/** Releases an event and sets *event to NULL; *event may be NULL. The work continues. */
HONE_API void hone_event_destroy(hone_event **event);

#ifdef __cplusplus
}
#endif
#endif
