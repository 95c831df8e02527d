/* SPDX-License-Identifier: BSD-2-Clause */
/* What other modules may know of an open device. OpenCL's own types stay inside src/cl. */
#ifndef CL_DEVICE_H
#define CL_DEVICE_H

#include "hone/device.h"

#include <stdbool.h>
#include <stdint.h>

/* True when the driver lists the extension for this device (all of them, not only those hone uses). */
bool device_has_extension(const struct hone_device *device, const char *name);

/* Sends a message to the log function of the device's request, if there is one. */
void device_log(const struct hone_device *device, hone_log_level level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Settings from the request. */
bool device_profiles(const struct hone_device *device);
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

/* Everything about the device and its driver that a compiled program depends on, one item per line, for keys.
 */
struct text;
void device_identity(const struct hone_device *device, struct text *text);

#endif
