/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * What this module asks of the keeper of compiled programs, which stands above it: declared where it is
 * needed, defined in src/cache (lock.c, marks.c, precompiled.c).
 */
#pragma once

#include <stdbool.h>

struct hone_device;

/* Waits for the lock between processes that compile or load programs: drivers' own caches race. At most two
 * minutes, for whoever holds it longer hangs, and we go on without. Returns what build_unlock takes when the
 * work is done, or -1, also where there is no folder for programs. */
int build_lock(struct hone_device *device);
void build_unlock(int lock);

/* A thread that may have the lock for this device does not come back from its driver: others of this process
 * go on all the same. */
void build_lock_abandon(const struct hone_device *device);

/* Whether a process ended while it built or loaded a program, and nobody has noticed yet; notes it for that
 * program. False while another process builds. */
bool build_crashes_found(void);

/* Appends the self-test's verdict that was found at hone's installation; false: there is none of this
 * name. */
struct text;
bool build_precompiled_verdict(const char *name, struct text *out);
