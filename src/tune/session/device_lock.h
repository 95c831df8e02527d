/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * One process at a time tunes a device: two would time each other's work, and take what the other has just
 * started for a crash.
 *
 * A lock on a file beside the records, which ends with the process at the latest. Devices that records cannot
 * tell apart share one. Where there is no such file (a folder that is read-only, say) tuning goes on without.
 */
#pragma once

#include "choose/records.h"

struct device_lock_wait {
    bool (*interrupted)(void *context); /* asked while another process tunes; may be NULL */
    void (*waiting)(void *context);     /* told once, when there is one; may be NULL */
    void *context;
};

/* False when it was interrupted. *lock is for device_lock_release, whatever comes of it. */
bool device_lock_take(const struct record_device *device, const struct device_lock_wait *wait, int *lock);
void device_lock_release(int *lock);
