/* SPDX-License-Identifier: BSD-2-Clause */
/* The folder of compiled programs on disk, and the lock over it. */
#pragma once

#include "base/hash.h"
#include "base/text.h"
#include "hone/status.h"

#include <stdbool.h>

#define PROGRAM_LOCK "lock"
/* NAME.PID.busy lies beside the program NAME, locked, from before a process loads or builds it until its
 * kernels have run once. */
#define BUSY_SUFFIX ".busy"
/* NAME.crashed1, NAME.crashed2: the driver ended a process in NAME so many times, one after the other. */
#define CRASHED_SUFFIX ".crashed"
/* NAME.ended1 to NAME.ended4: processes ended in NAME, nobody knows of what: a kill from outside, or a crash
 * that nobody saw. */
#define ENDED_SUFFIX ".ended"
enum { MAX_ENDED = 4 };

struct hone_device;

struct disk {
    int folder, lock;           /* descriptors; -1: none */
    struct hone_device *device; /* that builds; NULL: none in particular */
};

/* What is known of a program beside its bytes. Suspect: a process ended in it, and it has not worked
 * since. */
enum disk_mark { DISK_CLEAN, DISK_SUSPECT, DISK_CRASHED_TWICE, DISK_ENDED_OFTEN };

/* A file beside a program that says: a process is at work in it. It holds a lock that goes with the
 * process. */
struct disk_busy {
    int fd; /* -1: none */
    int slot;
};
#define DISK_IDLE ((struct disk_busy){-1, -1})

hone_status disk_open(struct disk *disk, hone_error *error);
void disk_close(struct disk *disk);

/* Waits for the lock over building (at most two minutes: whoever holds it longer hangs, and we go on
 * without). False: errno says why. */
bool disk_lock(struct disk *disk);
void disk_unlock(struct disk *disk);
/* The same for an open folder: a descriptor for disk_let_go, or -1. `device` as in struct disk. */
int disk_wait_for_lock(int folder, struct hone_device *device);
void disk_let_go(int lock);

enum disk_mark disk_get_mark(const struct disk *disk, const char *name);
/* The program works: what was held against it is forgotten. */
void disk_forgive(const struct disk *disk, const char *name);

/* Only under the lock. A busy mark whose process is gone says that it ended in between. */
struct disk_busy disk_set_busy(const struct disk *disk, const char *name);
void disk_clear_busy(struct disk_busy *busy);
/* Clears all marks of this process. Safe in signal handlers. */
void disk_take_back(void);
/* Writes into all marks of this process that it is the driver that ends it. Safe in signal handlers. */
void disk_blame(void);

/* Whether there is a file of the program; what it holds is not looked at. */
bool disk_has(const struct disk *disk, const char *name);
/* The whole file of a program; a miss of any kind is false. */
bool disk_read(const struct disk *disk, const char *name, struct text *bytes);
hone_status disk_write(const struct disk *disk, const char *name, const struct text *bytes,
                       hone_error *error);
void disk_remove(const struct disk *disk, const char *name);
/* Removes what was not used for longest until the folder holds at most `limit` bytes. */
void disk_trim(const struct disk *disk, uint64_t limit);
