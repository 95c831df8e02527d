/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * The disk cache: compiled programs, crash marks, self-test verdicts, and the driver's own cache folder.
 *
 * It is in $XDG_CACHE_HOME/hone (or ~/.cache/hone). Everything in it can be removed at any time and is
 * recreated when needed. None of these functions uses a device.
 * Threads: all functions are safe, also while other processes use the cache.
 */
#ifndef HONE_CACHE_H
#define HONE_CACHE_H

#include "hone/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** One compiled program, or only the crash mark of a program that was never stored. */
typedef struct hone_cache_entry {
    char file[80];   /**< file name in the folder of programs: a digest of everything the binary depends on */
    char label[128]; /**< for display: "box direct u8"; "" if unreadable */
    char device[256], driver[128];
    uint64_t bytes;
    int64_t used;     /**< when it was written or last loaded, in seconds since 1970 */
    bool present;     /**< false: there is only a crash mark */
    bool valid;       /**< header, key, length and digest are correct; false if there is only a mark */
    unsigned crashes; /**< processes that died while loading or building it; 2: not tried again */
} hone_cache_entry;

/**
 * Lists the entries, most recently used first. Reads and checks every file.
 *
 * Ownership: free *list with hone_cache_list_free.
 * Errors: HONE_ERROR_IO if the folder cannot be used; the message says why.
 */
HONE_API hone_status hone_cache_list(hone_cache_entry **list, size_t *count, hone_error *error);
/** Frees a list and sets *list to NULL; *list may be NULL. */
HONE_API void hone_cache_list_free(hone_cache_entry **list);

/** Where the cache is, and how large. */
typedef struct hone_cache_info {
    char folder[4096];
    uint64_t driver_bytes; /**< size of the driver's own cache */
    uint64_t limit; /**< maximum size of all programs, bytes; the least recently used are removed first */
} hone_cache_info;

/** Fills *info. Errors: HONE_ERROR_IO if there is no usable folder. */
HONE_API hone_status hone_cache_get_info(hone_cache_info *info, hone_error *error);

/** What was removed. */
typedef struct hone_cache_removed {
    size_t programs, marks, verdicts, leftovers; /**< files; leftovers are from unfinished writes */
    size_t driver_folders;                       /**< of the driver's own cache */
    size_t driver_folders_in_use;                /**< kept, because a running process uses them */
    uint64_t bytes;
} hone_cache_removed;

/** Removes damaged programs and leftovers. `removed` may be NULL. */
HONE_API hone_status hone_cache_repair(hone_cache_removed *removed, hone_error *error);

/**
 * Removes everything; from the next process on, the driver gets a new folder. `removed` may be NULL.
 *
 * Programs that processes have in memory remain usable.
 */
HONE_API hone_status hone_cache_clear(hone_cache_removed *removed, hone_error *error);

#ifdef __cplusplus
}
#endif
#endif
