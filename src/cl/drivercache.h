/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * The driver's own cache of compiled kernels, kept in a folder of ours so that it can be thrown away.
 *
 * PoCL keeps what it compiled in one folder for all programs. A damaged file there ends every later process,
 * and its loading races between processes. The folder given to it is driver/N below hone's cache folder; when
 * a process that was loading or building a program ended without saying so, N is counted up before the next
 * process makes its first OpenCL call. A process holds a shared lock on its folder until it ends; a folder
 * that is no longer current is removed when nobody holds it.
 *
 * Where there is no private folder (no HOME, or one that cannot be written, without which PoCL shows no
 * device), each process gets a folder of its own below that for temporary files.
 */
#ifndef CL_DRIVERCACHE_H
#define CL_DRIVERCACHE_H

#include <stdint.h>

/* Names shared with the program cache. */
#define PROGRAM_FOLDER "programs"
#define PROGRAM_LOCK   "lock"
/* NAME.busy lies beside the program NAME while a process that holds the lock loads or builds it. */
#define BUSY_SUFFIX ".busy"
/* NAME.crashed1, NAME.crashed2: a process ended in NAME so many times. */
#define CRASHED_SUFFIX ".crashed"

/* Waits for the lock between processes that compile or load programs: drivers' own caches race. At most two
 * minutes, for whoever holds it longer hangs, and we go on without. `folder` is PROGRAM_FOLDER. Returns a
 * descriptor, to be closed when the work is done, or -1. */
int build_lock(int folder);
/* The same for callers without that folder open; -1 also where it cannot be used. */
int build_lock_anywhere(void);

/* Sets POCL_CACHE_DIR, once per process and only where the user did not (what a process above this one set in
 * our name is ours). */
void driver_cache_prepare(void);

/* What became of older folders. */
struct driver_cache_removed {
    unsigned folders, in_use; /* removed; left, as a process still works with them */
    uint64_t bytes;
};

/* Gives the next process a fresh folder, and removes older ones that no process uses. removed: NULL is fine.
 */
void driver_cache_discard(struct driver_cache_removed *removed);

/* Bytes in all folders. */
uint64_t driver_cache_bytes(void);

#endif
