/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * What hone keeps on disk: compiled programs, crash marks, self-test verdicts, and the folder given to the
 * driver for its own cache. All of it lies in $XDG_CACHE_HOME/hone (or ~/.cache/hone), can be removed at any
 * time, and comes back when it is needed. Nothing here touches a device. Threads: all safe, also beside other
 * processes.
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

/** One compiled program, or the mark that is left of one that never came to be. */
typedef struct hone_cache_entry {
    char file[80];   /**< its name in the folder of programs: a digest of all that the binary depends on */
    char label[128]; /**< for people: "box direct u8"; "" when it cannot be read */
    char device[256], driver[128];
    uint64_t bytes;
    int64_t used;     /**< when it was written or last loaded, seconds since 1970 */
    bool present;     /**< false: there is a crash mark alone */
    bool valid;       /**< header, key, length and digest are right; false for a mark alone */
    unsigned crashes; /**< processes that ended while they loaded or built it; after two it is not tried any
                         more */
} hone_cache_entry;

/** Lists the entries, last used first; *list is freed with hone_cache_list_free. Reads and checks every file.
 *  HONE_ERROR_IO says why the folder cannot be used. */
HONE_API hone_status hone_cache_list(hone_cache_entry **list, size_t *count, hone_error *error);
HONE_API void hone_cache_list_free(hone_cache_entry **list);

typedef struct hone_cache_info {
    char folder[4096];
    uint64_t driver_bytes; /**< in the driver's own cache */
    uint64_t limit;        /**< programs are held under so many bytes; those that were not used for longest go first */
} hone_cache_info;

HONE_API hone_status hone_cache_get_info(hone_cache_info *info, hone_error *error);

/** What was removed. */
typedef struct hone_cache_removed {
    size_t programs, marks, verdicts, leftovers; /**< files; leftovers are pieces of writes that never ended */
    size_t driver_folders;                       /**< of the driver's own cache */
    size_t driver_folders_in_use;                /**< left, because a process that still runs works with them */
    uint64_t bytes;
} hone_cache_removed;

/** Removes programs that are damaged, and leftovers. `removed` may be NULL. */
HONE_API hone_status hone_cache_repair(hone_cache_removed *removed, hone_error *error);

/** Removes everything, and gives the driver a fresh folder from the next process on. `removed` may be NULL.
 *  Programs that processes hold in memory stay with them. */
HONE_API hone_status hone_cache_clear(hone_cache_removed *removed, hone_error *error);

#ifdef __cplusplus
}
#endif
#endif
