/* SPDX-License-Identifier: BSD-2-Clause */
/* What lies in hone's cache folder: listed, repaired, cleared. */
#include "hone/cache.h"

#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/text.h"
#include "cache/disk.h"
#include "cache/entry.h"
#include "cache/programs.h"
#include "cl/drivercache.h"
#include "cl/selftest.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NAME_LENGTH = SHA256_TEXT_SIZE - 1 };

/* What a file in the folder of programs is, by its name. */
enum file_kind { FILE_PROGRAM, FILE_MARK, FILE_LEFTOVER, FILE_OTHER };

static enum file_kind kind_of(const char *name)
{
    size_t digits = strspn(name, "0123456789abcdef");
    if (name[0] == '.')
        return strcmp(name, ".") == 0 || strcmp(name, "..") == 0 ? FILE_OTHER : FILE_LEFTOVER;
    if (digits != NAME_LENGTH)
        return FILE_OTHER;
    if (name[digits] == '\0')
        return FILE_PROGRAM;
    const bool mark = text_starts(name + digits, CRASHED_SUFFIX) ||
                      text_starts(name + digits, ENDED_SUFFIX) || text_ends(name, BUSY_SUFFIX);
    return mark ? FILE_MARK : FILE_OTHER;
}

static void copy_line(const char **at, char *to, size_t size)
{
    size_t length = strcspn(*at, "\n");
    snprintf(to, size, "%.*s", (int)(length < size ? length : size - 1), *at);
    *at += length + ((*at)[length] == '\n');
}

/* Lines of the key: version, label, platform, its version, device, vendor, driver ... */
static void read_key(hone_cache_entry *entry, const char *key)
{
    char skipped[512];
    copy_line(&key, skipped, sizeof skipped);
    copy_line(&key, entry->label, sizeof entry->label);
    copy_line(&key, skipped, sizeof skipped);
    copy_line(&key, skipped, sizeof skipped);
    copy_line(&key, entry->device, sizeof entry->device);
    copy_line(&key, skipped, sizeof skipped);
    copy_line(&key, entry->driver, sizeof entry->driver);
}

/* `name` begins with the digest; what follows (of a mark) is left out. */
static void examine(const struct disk *disk, const char *name, hone_cache_entry *entry)
{
    struct text bytes = {0}, key = {0};
    struct stat info;
    *entry = (hone_cache_entry){0};
    snprintf(entry->file, sizeof entry->file, "%.*s", NAME_LENGTH, name);
    const enum disk_mark mark = disk_get_mark(disk, entry->file);
    entry->crashes = mark == DISK_ENDED_OFTEN ? MAX_ENDED : (unsigned)mark;
    entry->present = fstatat(disk->folder, entry->file, &info, AT_SYMLINK_NOFOLLOW) == 0;
    if (entry->present || fstatat(disk->folder, name, &info, AT_SYMLINK_NOFOLLOW) == 0) {
        entry->bytes = (uint64_t)info.st_size;
        entry->used = info.st_mtim.tv_sec;
    }
    entry->valid =
        file_private_read(disk->folder, entry->file, ENTRY_MAX_BYTES, &bytes, NULL, NULL) == HONE_OK &&
        entry_decode(bytes.data, bytes.length, NULL, &key, NULL, NULL);
    if (entry->valid)
        read_key(entry, text_view(&key));
    text_finish(&bytes);
    text_finish(&key);
}

/* A program, or the highest crash mark of one that is not there. */
static bool is_entry(const struct disk *disk, const char *name)
{
    if (kind_of(name) == FILE_PROGRAM)
        return true;
    char program[SHA256_TEXT_SIZE];
    snprintf(program, sizeof program, "%.*s", NAME_LENGTH, name);
    bool highest = text_starts(name + strcspn(name, "."), disk_get_mark(disk, program) == DISK_CRASHED_TWICE
                                                              ? CRASHED_SUFFIX "2"
                                                              : CRASHED_SUFFIX "1");
    return kind_of(name) == FILE_MARK && highest &&
           faccessat(disk->folder, program, F_OK, AT_SYMLINK_NOFOLLOW) != 0;
}

static int last_used_first(const void *a, const void *b)
{
    const hone_cache_entry *first = a, *second = b;
    if (first->used != second->used)
        return first->used < second->used ? 1 : -1;
    return strcmp(first->file, second->file);
}

hone_status hone_cache_list(hone_cache_entry **list, size_t *count, hone_error *error)
{
    struct disk disk;
    size_t capacity = 0;
    if (!list || !count)
        return error_usage(error, "hone_cache_list needs places for the list and its length");
    *list = NULL;
    *count = 0;
    hone_status status = disk_open(&disk, error);
    DIR *names = status ? NULL : file_list_folder(disk.folder, ".");
    for (struct dirent *entry; names && !status && (entry = readdir(names));) {
        if (!is_entry(&disk, entry->d_name))
            continue;
        if (mem_grow(list, &capacity, *count + 1, sizeof **list))
            examine(&disk, entry->d_name, &(*list)[(*count)++]);
        else
            status = error_memory(error, "the list of programs");
    }
    if (names)
        closedir(names);
    disk_close(&disk);
    if (status)
        hone_cache_list_free(list);
    else if (*count)
        qsort(*list, *count, sizeof **list, last_used_first);
    return status;
}

void hone_cache_list_free(hone_cache_entry **list)
{
    if (!list)
        return;
    free(*list);
    *list = NULL;
}

hone_status hone_cache_get_info(hone_cache_info *info, hone_error *error)
{
    int fd = -1;
    if (!info)
        return error_usage(error, "hone_cache_get_info needs a place for the answer");
    *info = (hone_cache_info){.limit = programs_disk_limit};
    TRY(file_private_folder("XDG_CACHE_HOME", ".cache", NULL, info->folder, &fd, error));
    close(fd);
    info->driver_bytes = driver_cache_bytes();
    return HONE_OK;
}

/* Removing */

static bool damaged(const struct disk *disk, const char *name)
{
    hone_cache_entry entry;
    examine(disk, name, &entry);
    return !entry.valid;
}

static void remove_file(const struct disk *disk, const char *name, bool all, hone_cache_removed *removed)
{
    size_t *const counts[] = {[FILE_PROGRAM] = &removed->programs,
                              [FILE_MARK] = &removed->marks,
                              [FILE_LEFTOVER] = &removed->leftovers};
    enum file_kind kind = kind_of(name);
    bool unwanted = kind == FILE_LEFTOVER || (all && kind == FILE_MARK) ||
                    (kind == FILE_PROGRAM && (all || damaged(disk, name)));
    if (unwanted && file_tree_remove(disk->folder, name, &removed->bytes))
        ++*counts[kind];
}

/* Under the lock no process writes programs, so what looks unfinished is. */
static hone_status clean(bool all, hone_cache_removed *removed, hone_error *error)
{
    struct disk disk;
    TRY(disk_open(&disk, error));
    const bool locked = disk_lock(&disk);
    const int code = errno;
    DIR *names = locked ? file_list_folder(disk.folder, ".") : NULL;
    for (struct dirent *entry; names && (entry = readdir(names));)
        remove_file(&disk, entry->d_name, all, removed);
    if (names)
        closedir(names);
    disk_close(&disk);
    if (locked)
        return HONE_OK;
    return code == EWOULDBLOCK
               ? error_io(error, "another process has been building programs for minutes")
               : error_io(error, "the lock of the compiled programs cannot be taken: %s", strerror(code));
}

hone_status hone_cache_repair(hone_cache_removed *removed, hone_error *error)
{
    hone_cache_removed unseen = {0};
    if (removed)
        *removed = unseen;
    if (driver_cache_damaged())
        driver_cache_discard(NULL);
    return clean(false, removed ? removed : &unseen, error);
}

hone_status hone_cache_clear(hone_cache_removed *removed, hone_error *error)
{
    hone_cache_removed unseen = {0};
    struct driver_cache_removed driver = {0};
    removed = removed ? removed : &unseen;
    *removed = (hone_cache_removed){0};
    TRY(clean(true, removed, error));
    selftest_forget(&removed->verdicts, &removed->bytes);
    driver_cache_discard(&driver);
    removed->driver_folders = driver.folders;
    removed->driver_folders_in_use = driver.in_use;
    removed->bytes += driver.bytes;
    return HONE_OK;
}
