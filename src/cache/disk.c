/* SPDX-License-Identifier: BSD-2-Clause */
#include "cache/disk.h"

#include "base/file.h"
#include "base/mem.h"
#include "cache/entry.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

hone_status disk_open(struct disk *disk, hone_error *error)
{
    char path[PATH_MAX];
    *disk = (struct disk){.folder = -1, .lock = -1};
    return file_private_folder("XDG_CACHE_HOME", ".cache", "programs", path, &disk->folder, error);
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
    disk->lock = disk_wait_for_lock(disk->folder, disk->device);
    return disk->lock >= 0;
}

void disk_unlock(struct disk *disk)
{
    disk_let_go(disk->lock);
    disk->lock = -1;
}

bool disk_has(const struct disk *disk, const char *name)
{
    return faccessat(disk->folder, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
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
    DIR *list = file_list_folder(disk->folder, ".");
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
