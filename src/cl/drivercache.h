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
#pragma once

#include "hone/status.h"

#include <stddef.h>
#include <stdint.h>

/* Sets POCL_CACHE_DIR, once per process and only where the user did not (what a process above this one set in
 * our name is ours). */
void driver_cache_prepare(void);

/* A sentence when the usual folder was full, so that another one is used by this process; else NULL. */
const char *driver_cache_moved(void);

/* The name, N of driver/N, of the folder where PoCL keeps what this process compiles for later ones; NULL
 * where that is not known: it was set by the user, goes with the process, or PoCL was told to keep
 * nothing. */
const char *driver_cache_kept(void);

/* HONE_ERROR_IO unless PoCL can write so many bytes of files now. What goes on beside a run may fill the
 * disk. Threads: safe once there are devices. */
hone_status driver_cache_check_room(uint64_t bytes, hone_error *error);

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
