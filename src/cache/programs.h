/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Compiled programs: one per device, source and options, kept in memory and on disk.
 *
 * A program binary is native code that drivers load unchecked, so the driver sees only bytes that this module
 * wrote into a private folder and whose header, key, length and SHA-256 it has verified. Anything unexpected
 * counts as a miss. A lock keeps processes apart while they build; a busy mark turns a driver's crash into a
 * quarantine at the next start.
 */
#pragma once

#include "cl/program.h"
#include "hone/device.h"

#include <stdbool.h>
#include <stdint.h>

/* What to build. Strings belong to the caller and are needed only during the call. */
struct program_unit {
    const char *label;   /* "box strips u8": for people */
    const char *source;  /* complete OpenCL C */
    const char *options; /* for the compiler */
};

/* Makes a kernel of the unit's program: from memory, from disk, or by compiling. Threads: safe; the kernel is
 * the caller's, for one thread at a time. A program that crashed its driver twice is HONE_ERROR_UNSUPPORTED.
 * The busy mark stays until the device has finished what was enqueued next: drivers load machine code, and
 * PoCL compiles, when a kernel first runs. */
hone_status programs_kernel(struct kernel **out, struct hone_device *device, const struct program_unit *unit,
                            const char *kernel, hone_error *error);

/* The digest of everything that makes the program: device, driver, options, source. 64 hexadecimal digits. */
hone_status programs_digest(const struct hone_device *device, const struct program_unit *unit,
                            char digest[65], hone_error *error);

/* Whether a program was kept, in memory or on disk, so that it is unlikely to be compiled when it is asked
 * for. */
bool programs_kept(struct hone_device *device, const char digest[65]);

/* Takes back the busy marks of this process, which is about to end on purpose. Safe in signal handlers. */
void programs_take_back(void);
/* Notes in them, and in a self-test under way, that it is the driver that ends the process (a signal of its
 * own, an exit). Likewise. */
void programs_blame(void);

/* From now on this process builds what ended others, too: for workers, whose parent records what crashes.
 * Before the first program. */
void programs_retry_crashed(void);

/* Bytes that programs may take on disk. */
extern const uint64_t programs_disk_limit;
