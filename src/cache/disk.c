/* SPDX-License-Identifier: BSD-2-Clause */
#include "cache/disk.h"

#include "base/file.h"
#include "base/mem.h"
#include "cache/entry.h"
#include "cl/drivercache.h"

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

hone_status disk_open(struct disk *disk, hone_error *error)
{
    char path[PATH_MAX];
    *disk = (struct disk){-1, -1};
    return file_private_folder("XDG_CACHE_HOME", ".cache", PROGRAM_FOLDER, path, &disk->folder, error);
}

void disk_close(struct disk *disk)
{
    disk_unlock(disk);
    if (disk->folder >= 0)
        close(disk->folder);
    disk->folder = -1;
}

bool disk_lock(struct disk *disk)
{
    disk->lock = build_lock(disk->folder);
    return disk->lock >= 0;
}

void disk_unlock(struct disk *disk)
{
    if (disk->lock >= 0)
        close(disk->lock);
    disk->lock = -1;
}

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
    int ended = disk_ended(disk->folder, name);
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

bool disk_read(const struct disk *disk, const char *name, struct text *bytes)
{
    if (file_private_read(disk->folder, name, ENTRY_MAX_BYTES + ENTRY_MAX_KEY + 4096, bytes, NULL, NULL) !=
        HONE_OK)
        return false;
    utimensat(disk->folder, name, NULL, AT_SYMLINK_NOFOLLOW); /* it was used: trimming goes by this */
    return true;
}

hone_status disk_write(const struct disk *disk, const char *name, const struct text *bytes, hone_error *error)
{
    return file_private_write(disk->folder, name, bytes->data, bytes->length, error);
}

void disk_remove(const struct disk *disk, const char *name)
{
    unlinkat(disk->folder, name, 0);
}

struct file_age {
    char name[SHA256_TEXT_SIZE];
    struct timespec used;
    uint64_t bytes;
};

static int oldest_first(const void *a, const void *b)
{
    const struct timespec *x = &((const struct file_age *)a)->used, *y = &((const struct file_age *)b)->used;
    if (x->tv_sec != y->tv_sec)
        return x->tv_sec < y->tv_sec ? -1 : 1;
    return (x->tv_nsec > y->tv_nsec) - (x->tv_nsec < y->tv_nsec);
}

static size_t collect(const struct disk *disk, struct file_age **ages, uint64_t *total)
{
    size_t count = 0, capacity = 0;
    int copy = openat(disk->folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *list = copy >= 0 ? fdopendir(copy) : NULL;
    if (!list && copy >= 0)
        close(copy);
    for (struct dirent *entry; list && (entry = readdir(list));) {
        struct stat info;
        if (strlen(entry->d_name) != SHA256_TEXT_SIZE - 1 ||
            fstatat(disk->folder, entry->d_name, &info, AT_SYMLINK_NOFOLLOW) != 0 ||
            !mem_grow(ages, &capacity, count + 1, sizeof **ages))
            continue;
        memcpy((*ages)[count].name, entry->d_name, SHA256_TEXT_SIZE);
        (*ages)[count].used = info.st_mtim;
        (*ages)[count].bytes = (uint64_t)info.st_size;
        *total += (uint64_t)info.st_size;
        count++;
    }
    if (list)
        closedir(list);
    return count;
}

void disk_trim(const struct disk *disk, uint64_t limit)
{
    struct file_age *ages = NULL;
    uint64_t total = 0;
    size_t count = collect(disk, &ages, &total);
    if (total > limit)
        qsort(ages, count, sizeof *ages, oldest_first);
    for (size_t i = 0; i < count && total > limit; i++) {
        disk_remove(disk, ages[i].name);
        total -= ages[i].bytes;
    }
    free(ages);
}
