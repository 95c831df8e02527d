/* SPDX-License-Identifier: BSD-2-Clause */
/* What other modules may know of an open device. OpenCL's own types stay inside src/cl. */
#pragma once

#include "hone/device.h"

#include <stdbool.h>
#include <stdint.h>

/* HONE_ERROR_USAGE for NULL, and in a process that the device was not opened in: a driver's threads are not
 * copied by fork(), so that its first call would never come back. `call` is the public function that was
 * called. */
hone_status device_check(const struct hone_device *device, const char *call, hone_error *error);
/* Whether this process opened it. In others nothing of it may be touched, not even to give it back. */
bool device_is_here(const struct hone_device *device);

/* What was made on a device keeps it until it is released: closing is the opener's release. */
void device_retain(struct hone_device *device);
void device_release(struct hone_device *device);

/* True when the driver lists the extension for this device (all of them, not only those hone uses). */
bool device_has_extension(const struct hone_device *device, const char *name);

/* True for PoCL's devices, whatever they run on. */
bool device_is_pocl(const struct hone_device *device);
bool device_info_is_pocl(const hone_device_info *info);

/* Sends a message to the log function of the device's request, if there is one. */
void device_log(const struct hone_device *device, hone_log_level level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Queues. Copies that shall run while kernels do have queues of their own where the device's is in order and
 * hone's; else all lanes are that one queue. Commands of different lanes are ordered by events alone. */
enum lane { LANE_MAIN, LANE_UPLOAD, LANE_DOWNLOAD };
/* Makes them; they stay as long as the device. */
hone_status device_open_lanes(struct hone_device *device, hone_error *error);
/* Sends all that is enqueued on its way: what waits for another lane must not wait for a flush of it. */
hone_status device_flush(struct hone_device *device, hone_error *error);

/* From now on each command that gives an event is waited for at once, and its times are the host's: from when
 * enqueuing began to when the wait was over. For devices whose own clock does not work. To be called before
 * other threads use it. */
void device_use_host_clock(struct hone_device *device);

/* From now on the contexts of devices that are closed are left to the end of the process: for one that is
 * about to end. PoCL spends a tenth of a second on taking its compiler apart. Threads: safe. */
void device_leave_contexts(void);

/* Settings from the request. */
bool device_profiles(const struct hone_device *device);
/* Whether events keep times, the device's or the host's; and whether kernels between others need none. */
bool device_keeps_times(const struct hone_device *device);
bool device_times_ends(const struct hone_device *device);
bool device_is_out_of_order(const struct hone_device *device);
bool device_uses_disk(const struct hone_device *device);
/* Folder of kernel sources to use instead of those compiled in, or NULL. */
const char *device_kernel_folder(const struct hone_device *device);
/* Reserves `bytes` of the memory budget, or fails with a message that says how much there is. */
hone_status device_reserve(struct hone_device *device, uint64_t bytes, const char *purpose,
                           hone_error *error);
void device_unreserve(struct hone_device *device, uint64_t bytes);

void device_count_source_build(struct hone_device *device);
void device_count_disk_load(struct hone_device *device);
void device_count_memory_hit(struct hone_device *device);

enum copy_kind { COPY_UPLOAD, COPY_DOWNLOAD, COPY_MOVE, COPY_CONVERSION, COPY_MAP };
void device_count_copy(struct hone_device *device, enum copy_kind kind, size_t bytes);

/* Also counts what this thread copies, on any device, from begin to end. Tallies may lie in one another. */
struct copy_tally {
    hone_copy_counts counts;
    struct copy_tally *outer;
};
void copy_tally_begin(struct copy_tally *tally);
void copy_tally_end(const struct copy_tally *tally);
void copy_counts_add(hone_copy_counts *sum, const hone_copy_counts *more);
/* Whether there was any copy. */
bool copy_counts_any(const hone_copy_counts *counts);

/**
 * A slot by which a higher module keeps something with a device (its programs, its verdicts) without this
 * module knowing it. `key` is any address that the module owns. The first caller's `make` runs under the
 * device's lock, so there is one object per device and key; `destroy` runs when the device closes, before its
 * context goes, last made first.
 */
hone_status device_attachment(struct hone_device *device, const void *key,
                              hone_status (*make)(struct hone_device *device, void **object,
                                                  hone_error *error),
                              void (*destroy)(void *object), void **object, hone_error *error);

/* A thread begins or ends to wait for other processes, which build programs; device NULL: for none in
 * particular. */
void device_waits(struct hone_device *device, bool begins);
/* Calls function(user, true) when the first thread of the process begins to wait, and function(user, false)
 * when the last one ends to. To be called before other threads use a device. */
void device_tell_waits(void (*function)(void *user, bool begins), void *user);
/* How long there was such a thread so far; NULL: on any device. */
uint64_t device_waited_ns(const struct hone_device *device);
/* A clock, ns, that stands still meanwhile. */
uint64_t device_clock_ns(void);

/* Calls function(object) once, when the device has next finished what it was given. One function for all. */
void device_when_finished(struct hone_device *device, void (*function)(void *object), void *object);
/* All that the device was given has been waited for. */
void device_has_finished(struct hone_device *device);

/* Everything about the device and its driver that a compiled program depends on, one item per line,
 * for keys. */
struct text;
void device_identity(const struct hone_device *device, struct text *text);
