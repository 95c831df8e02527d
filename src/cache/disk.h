/* SPDX-License-Identifier: BSD-2-Clause */
/* The folder of compiled programs on disk, and the lock over it. */
#ifndef CACHE_DISK_H
#define CACHE_DISK_H

#include "base/hash.h"
#include "base/text.h"
#include "hone/status.h"

#include <stdbool.h>

struct disk {
    int folder, lock; /* descriptors; -1: none */
};

/* What is known of a program beside its bytes. */
enum disk_mark { DISK_CLEAN, DISK_CRASHED_ONCE, DISK_CRASHED_TWICE };

hone_status disk_open(struct disk *disk, hone_error *error);
void disk_close(struct disk *disk);

/* Waits for the lock over building (at most two minutes: whoever holds it longer hangs, and we go on
 * without). */
bool disk_lock(struct disk *disk);
void disk_unlock(struct disk *disk);

enum disk_mark disk_get_mark(const struct disk *disk, const char *name);
/* Only under the lock. A busy mark that is still there at the next start says that the process ended in
 * between. */
void disk_set_busy(const struct disk *disk, const char *name);
void disk_clear_busy(const struct disk *disk, const char *name);
/* Clears the mark that this process set last, if it is still set and disk_will_take_back was called before.
 * Safe in signal handlers; for processes with one device. */
void disk_will_take_back(void);
void disk_take_back(void);

/* The whole file of a program; a miss of any kind is false. */
bool disk_read(const struct disk *disk, const char *name, struct text *bytes);
hone_status disk_write(const struct disk *disk, const char *name, const struct text *bytes,
                       hone_error *error);
void disk_remove(const struct disk *disk, const char *name);
/* Removes what was not used for longest until the folder holds at most `limit` bytes. */
void disk_trim(const struct disk *disk, uint64_t limit);

#endif
