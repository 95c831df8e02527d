/* SPDX-License-Identifier: BSD-2-Clause */
/* The marks that tell in which program a process ended. */
#include "base/clock.h"
#include "base/file.h"
#include "cache/disk.h"
#include "cl/builds.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* ---- Crashes of earlier processes ---- */

static int count_ended(int folder, const char *name)
{
    char mark[NAME_MAX + 1];
    struct stat info;
    int count = 0;
    for (int i = 1; i <= MAX_ENDED; i++) {
        snprintf(mark, sizeof mark, "%.100s%s%d", name, ENDED_SUFFIX, i);
        if (fstatat(folder, mark, &info, AT_SYMLINK_NOFOLLOW) == 0 && clock_is_recent(info.st_mtime))
            count = i;
    }
    return count;
}

/* NAME.PID.busy becomes NAME.crashed1, or NAME.crashed2 where that is there; or the next NAME.endedN. */
static void mark_end(int folder, const char *busy, bool crashed)
{
    char name[NAME_MAX + 1], mark[NAME_MAX + 1];
    int number = 1;
    snprintf(name, sizeof name, "%.*s", (int)strcspn(busy, "."), busy);
    if (crashed) {
        snprintf(mark, sizeof mark, "%.100s%s1", name, CRASHED_SUFFIX);
        number += faccessat(folder, mark, F_OK, 0) == 0;
    } else {
        number += count_ended(folder, name);
    }
    snprintf(mark, sizeof mark, "%.100s%s%d", name, crashed ? CRASHED_SUFFIX : ENDED_SUFFIX,
             number < MAX_ENDED ? number : MAX_ENDED);
    renameat(folder, busy, folder, mark);
}

/* True when the process of this mark has ended; then the mark is made out. */
static bool find_end(int folder, const char *busy)
{
    struct stat info;
    int fd = openat(folder, busy, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    bool ended = fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0 && fstat(fd, &info) == 0;
    if (ended && (info.st_size > 0 || clock_is_recent(info.st_mtime)))
        mark_end(folder, busy, info.st_size > 0);
    else if (ended)
        unlinkat(folder, busy, 0);
    if (fd >= 0)
        close(fd);
    return ended;
}

/* With the lock in hand nobody sets a mark, so those that are not locked were left behind. */
static bool find_crashes(int folder)
{
    bool any = false;
    DIR *list = file_list_folder(folder, ".");
    for (struct dirent *entry; list && (entry = readdir(list));)
        any |= text_ends(entry->d_name, BUSY_SUFFIX) && find_end(folder, entry->d_name);
    if (list)
        closedir(list);
    return any;
}

bool build_crashes_found(void)
{
    struct disk disk;
    if (disk_open(&disk, NULL) != HONE_OK)
        return false;
    disk.lock = openat(disk.folder, PROGRAM_LOCK, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    bool any = disk.lock >= 0 && flock(disk.lock, LOCK_EX | LOCK_NB) == 0 && find_crashes(disk.folder);
    disk_close(&disk);
    return any;
}

/* ---- Marks of one program ---- */

static bool has(const struct disk *disk, const char *name, const char *suffix)
{
    char path[NAME_MAX + 1];
    snprintf(path, sizeof path, "%.100s%s", name, suffix);
    return faccessat(disk->folder, path, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

static void mark_name(char path[NAME_MAX + 1], const char *name, const char *suffix, int number)
{
    snprintf(path, NAME_MAX + 1, "%.100s%s%d", name, suffix, number);
}

enum disk_mark disk_get_mark(const struct disk *disk, const char *name)
{
    int ended = count_ended(disk->folder, name);
    if (has(disk, name, CRASHED_SUFFIX "2"))
        return DISK_CRASHED_TWICE;
    if (ended >= MAX_ENDED)
        return DISK_ENDED_OFTEN;
    return ended > 1 || has(disk, name, CRASHED_SUFFIX "1") ? DISK_SUSPECT : DISK_CLEAN;
}

void disk_forgive(const struct disk *disk, const char *name)
{
    char path[NAME_MAX + 1];
    for (int i = 1; i <= MAX_ENDED; i++) {
        mark_name(path, name, ENDED_SUFFIX, i);
        unlinkat(disk->folder, path, 0);
    }
    mark_name(path, name, CRASHED_SUFFIX, 1);
    unlinkat(disk->folder, path, 0);
}

/* The marks of this process, for signal handlers. Where there are more, the others have none. */
enum { MAX_MARKS = 48 };
static struct {
    volatile sig_atomic_t set;
    int fd, folder;
    char path[NAME_MAX + 1];
} marks[MAX_MARKS];
static pthread_mutex_t marks_lock = PTHREAD_MUTEX_INITIALIZER;

static int free_slot(void)
{
    for (int i = 0; i < MAX_MARKS; i++)
        if (!marks[i].set)
            return i;
    return -1;
}

static bool fill_slot(int slot, const struct disk *disk, const char *name)
{
    snprintf(marks[slot].path, sizeof marks[slot].path, "%.100s.%ld-%d" BUSY_SUFFIX, name, (long)getpid(),
             slot);
    marks[slot].folder = disk->folder;
    marks[slot].fd =
        openat(disk->folder, marks[slot].path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (marks[slot].fd < 0)
        return false;
    flock(marks[slot].fd, LOCK_EX | LOCK_NB);
    marks[slot].set = 1;
    return true;
}

struct disk_busy disk_set_busy(const struct disk *disk, const char *name)
{
    struct disk_busy busy = DISK_IDLE;
    pthread_mutex_lock(&marks_lock);
    int slot = free_slot();
    if (slot >= 0 && fill_slot(slot, disk, name))
        busy = (struct disk_busy){marks[slot].fd, slot};
    pthread_mutex_unlock(&marks_lock);
    return busy;
}

void disk_clear_busy(struct disk_busy *busy)
{
    if (busy->fd < 0)
        return;
    pthread_mutex_lock(&marks_lock);
    unlinkat(marks[busy->slot].folder, marks[busy->slot].path, 0);
    marks[busy->slot].set = 0;
    pthread_mutex_unlock(&marks_lock);
    close(busy->fd);
    *busy = DISK_IDLE;
}

void disk_take_back(void)
{
    for (int i = 0; i < MAX_MARKS; i++)
        if (marks[i].set)
            unlinkat(marks[i].folder, marks[i].path, 0);
}

void disk_blame(void)
{
    for (int i = 0; i < MAX_MARKS; i++)
        if (marks[i].set && write(marks[i].fd, "x", 1) != 1)
            continue; /* the end stays unexplained */
}
