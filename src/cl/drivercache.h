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
 * device), or too little room in it (PoCL ends the process when a write fails), each process gets a folder of
 * its own below that for temporary files, or in memory (/dev/shm).
 */
#ifndef CL_DRIVERCACHE_H
#define CL_DRIVERCACHE_H

#include <stddef.h>
#include <stdint.h>

/* Names shared with the program cache. */
#define PROGRAM_FOLDER "programs"
#define PROGRAM_LOCK   "lock"
/* NAME.PID.busy lies beside the program NAME, locked, from before a process loads or builds it until its
 * kernels have run once. */
#define BUSY_SUFFIX ".busy"
/* NAME.crashed1, NAME.crashed2: the driver ended a process in NAME so many times, one after the other. */
#define CRASHED_SUFFIX ".crashed"
/* NAME.ended1 to NAME.ended4: processes ended in NAME, nobody knows of what: a kill from outside, or a crash
 * that nobody saw. */
#define ENDED_SUFFIX ".ended"
enum { MAX_ENDED = 4 };

/* How many such marks there are. Those of more than a day ago, or from before the machine started, are gone. */
int disk_ended(int folder, const char *name);

/* Waits for the lock between processes that compile or load programs: drivers' own caches race. At most two
 * minutes, for whoever holds it longer hangs, and we go on without. `folder` is PROGRAM_FOLDER. Returns a
 * descriptor, to be closed when the work is done, or -1. */
int build_lock(int folder);
/* The same for callers without that folder open; -1 also where it cannot be used. */
int build_lock_anywhere(void);

/* Sets POCL_CACHE_DIR, once per process and only where the user did not (what a process above this one set in
 * our name is ours). */
void driver_cache_prepare(void);

/* A sentence when the usual folder was full, so that another one is used by this process; else NULL. */
const char *driver_cache_moved(void);

/* What became of older folders. */
struct driver_cache_removed {
    unsigned folders, in_use; /* removed; left, as a process still works with them */
    uint64_t bytes;
};

/* Gives the next process a fresh folder, and removes older ones that no process uses. removed: NULL
 * is fine. */
void driver_cache_discard(struct driver_cache_removed *removed);

/* Bytes in all folders. */
uint64_t driver_cache_bytes(void);

/* Machine code in all folders that is not whole: cut off, or not what its name says. The driver loads it
 * unchecked. */
size_t driver_cache_damaged(void);

#endif
