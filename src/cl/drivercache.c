/* SPDX-License-Identifier: BSD-2-Clause */
#include "cl/drivercache.h"

#include "base/clock.h"
#include "base/file.h"

#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

static const char generation_file[] = "generation", variable[] = "POCL_CACHE_DIR";
static const char in_memory[] = "/dev/shm";

/* What PoCL writes for a few programs. It ends the process when a write fails. */
enum { LEAST_ROOM = 16 << 20, LEAST_FILES = 256 };

static char moved[2 * PATH_MAX + 256]; /* why another folder than the usual one is used; "": it is not */

/* The folder driver/ (sub = NULL) or driver/SUB. */
static int open_driver_folder(const char *sub, char path[PATH_MAX])
{
    char name[32];
    int folder;
    snprintf(name, sizeof name, "driver%s%s", sub ? "/" : "", sub ? sub : "");
    bool ok = file_private_folder("XDG_CACHE_HOME", ".cache", name, path, &folder, NULL) == HONE_OK;
    return ok ? folder : -1;
}

/* The same below the folder for temporary files (base = NULL), or below `base`. */
static int open_temporary_folder(const char *base, const char *sub, char path[PATH_MAX])
{
    char name[32];
    int folder;
    snprintf(name, sizeof name, "driver%s%s", sub ? "/" : "", sub ? sub : "");
    return file_temporary_folder(base, name, path, &folder, NULL) == HONE_OK ? folder : -1;
}

static DIR *list_folder(int folder)
{
    int copy = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *list = copy >= 0 ? fdopendir(copy) : NULL;
    if (!list && copy >= 0)
        close(copy);
    return list;
}

static unsigned generation(int folder)
{
    struct text text = {0};
    unsigned number = 0;
    if (file_private_read(folder, generation_file, 64, &text, NULL, NULL) == HONE_OK)
        number = (unsigned)strtoul(text_view(&text), NULL, 10);
    text_finish(&text);
    return number;
}

static bool is_number(const char *name)
{
    return *name && name[strspn(name, "0123456789")] == '\0';
}

/* The exclusive lock proves that no process works in the folder, and keeps new ones out until it is gone. */
static void remove_unused(int folder, const char *name, struct driver_cache_removed *removed)
{
    int fd = openat(folder, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return;
    if (flock(fd, LOCK_EX | LOCK_NB) == 0 && file_tree_remove(folder, name, &removed->bytes))
        removed->folders++;
    else
        removed->in_use++;
    close(fd);
}

static void remove_old(int folder, const char *kept, struct driver_cache_removed *removed)
{
    DIR *list = list_folder(folder);
    for (struct dirent *entry; list && (entry = readdir(list));)
        if (is_number(entry->d_name) && strcmp(entry->d_name, kept) != 0)
            remove_unused(folder, entry->d_name, removed);
    if (list)
        closedir(list);
}

void driver_cache_discard(struct driver_cache_removed *removed)
{
    struct driver_cache_removed unseen = {0};
    char path[PATH_MAX], number[16];
    int folder = open_driver_folder(NULL, path);
    if (folder < 0)
        return;
    snprintf(number, sizeof number, "%u", generation(folder) + 1);
    if (file_private_write(folder, generation_file, number, strlen(number), NULL) == HONE_OK)
        remove_old(folder, number, removed ? removed : &unseen);
    close(folder);
}

uint64_t driver_cache_bytes(void)
{
    char path[PATH_MAX];
    uint64_t bytes = 0;
    int folder = open_driver_folder(NULL, path);
    if (folder < 0)
        return 0;
    file_tree_bytes(folder, ".", &bytes);
    close(folder);
    return bytes;
}

static bool ends_with(const char *name, const char *suffix)
{
    size_t length = strlen(name), tail = strlen(suffix);
    return length > tail && strcmp(name + length - tail, suffix) == 0;
}

/* Linkers write the table of sections last. */
static bool is_whole_object(int folder, const char *name)
{
    Elf64_Ehdr header;
    struct stat info;
    int fd = openat(folder, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    bool whole = fd >= 0 && fstat(fd, &info) == 0 && pread(fd, &header, sizeof header, 0) == sizeof header &&
                 memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 &&
                 (header.e_ident[EI_CLASS] != ELFCLASS64 ||
                  (header.e_shoff <= (uint64_t)info.st_size &&
                   (uint64_t)header.e_shnum * header.e_shentsize <= (uint64_t)info.st_size - header.e_shoff));
    if (fd >= 0)
        close(fd);
    return whole;
}

/* PoCL's folders are program/kernel/work-group below one of two letters. */
static size_t count_damaged(int folder, int depth)
{
    size_t count = 0;
    DIR *list = depth > 0 ? list_folder(folder) : NULL;
    for (struct dirent *entry; list && (entry = readdir(list));) {
        struct stat info;
        if (entry->d_name[0] == '.' || fstatat(folder, entry->d_name, &info, AT_SYMLINK_NOFOLLOW) != 0)
            continue;
        int sub = S_ISDIR(info.st_mode)
                      ? openat(folder, entry->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW)
                      : -1;
        if (sub >= 0) {
            count += count_damaged(sub, depth - 1);
            close(sub);
        } else {
            count += ends_with(entry->d_name, ".so") && !text_starts(entry->d_name, "tempfile_") &&
                     !is_whole_object(folder, entry->d_name);
        }
    }
    if (list)
        closedir(list);
    return count;
}

size_t driver_cache_damaged(void)
{
    enum { DEPTH = 8 };
    char path[PATH_MAX];
    int folder = open_driver_folder(NULL, path);
    if (folder < 0)
        return 0;
    size_t count = count_damaged(folder, DEPTH);
    close(folder);
    return count;
}

int build_lock(int folder)
{
    const uint64_t patience = 120000000000u, start = clock_ns();
    const struct timespec pause = {0, 5000000};
    int lock = openat(folder, PROGRAM_LOCK, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    while (lock >= 0 && flock(lock, LOCK_EX | LOCK_NB) != 0) {
        if ((errno != EWOULDBLOCK && errno != EINTR) || clock_ns() - start > patience) {
            close(lock);
            return -1;
        }
        nanosleep(&pause, NULL);
    }
    return lock;
}

int build_lock_anywhere(void)
{
    char path[PATH_MAX];
    int folder;
    if (file_private_folder("XDG_CACHE_HOME", ".cache", PROGRAM_FOLDER, path, &folder, NULL) != HONE_OK)
        return -1;
    int lock = build_lock(folder);
    close(folder);
    return lock;
}

/* Crashes of earlier processes */

/* Power that failed, and memory that ran out yesterday, say nothing of a program. */
static bool is_recent(time_t when)
{
    enum { DAY = 24 * 60 * 60 };
    struct timespec up;
    const time_t now = time(NULL);
    return clock_gettime(CLOCK_BOOTTIME, &up) == 0 && when > now - DAY && when >= now - up.tv_sec - 1;
}

int disk_ended(int folder, const char *name)
{
    char mark[NAME_MAX + 1];
    struct stat info;
    int count = 0;
    for (int i = 1; i <= MAX_ENDED; i++) {
        snprintf(mark, sizeof mark, "%.100s%s%d", name, ENDED_SUFFIX, i);
        if (fstatat(folder, mark, &info, AT_SYMLINK_NOFOLLOW) == 0 && is_recent(info.st_mtime))
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
        number += disk_ended(folder, name);
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
    if (ended && (info.st_size > 0 || is_recent(info.st_mtime)))
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
    DIR *list = list_folder(folder);
    for (struct dirent *entry; list && (entry = readdir(list));)
        any |= ends_with(entry->d_name, BUSY_SUFFIX) && find_end(folder, entry->d_name);
    if (list)
        closedir(list);
    return any;
}

static void look_for_crashes(void)
{
    char path[PATH_MAX];
    int folder;
    if (file_private_folder("XDG_CACHE_HOME", ".cache", PROGRAM_FOLDER, path, &folder, NULL) != HONE_OK)
        return;
    int lock = openat(folder, PROGRAM_LOCK, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (lock >= 0 && flock(lock, LOCK_EX | LOCK_NB) == 0 && find_crashes(folder))
        driver_cache_discard(NULL);
    if (lock >= 0)
        close(lock);
    close(folder);
}

/* This process's folder */

static bool is_numbered(const char *value, int folder, const char *path)
{
    if (folder < 0)
        return false;
    close(folder);
    return text_starts(value, path) && value[strlen(path)] == '/' && is_number(value + strlen(path) + 1);
}

/* True when a process above this one set the variable to a folder of ours; by now another one may be
 * current. */
static bool is_ours(const char *value)
{
    char path[PATH_MAX];
    return is_numbered(value, open_driver_folder(NULL, path), path) ||
           is_numbered(value, open_temporary_folder(NULL, NULL, path), path) ||
           is_numbered(value, open_temporary_folder(in_memory, NULL, path), path);
}

/* PoCL leaves an empty tempfile_XXXXXX behind each time it looks whether it can write. A young one may be in
 * use. */
static void remove_probes(int folder)
{
    enum { DAY = 24 * 60 * 60 };
    const time_t now = time(NULL);
    struct stat info;
    DIR *list = list_folder(folder);
    for (struct dirent *entry; list && (entry = readdir(list));)
        if (text_starts(entry->d_name, "tempfile_") &&
            fstatat(folder, entry->d_name, &info, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(info.st_mode) &&
            info.st_size == 0 && info.st_mtime < now - DAY)
            unlinkat(folder, entry->d_name, 0);
    if (list)
        closedir(list);
}

/* Locks a folder for the rest of the process: the descriptor is kept. False when it is being removed. */
static bool hold(int folder)
{
    struct stat info;
    /* A file system that cannot lock folders never lets remove_unused() in either. */
    return folder >= 0 && (flock(folder, LOCK_SH | LOCK_NB) == 0 || errno != EWOULDBLOCK) &&
           fstat(folder, &info) == 0 && info.st_nlink > 0;
}

/* Bytes that may be written there; 0 also where programs cannot be loaded from, or no more files be made. */
static uint64_t room(int folder)
{
    struct statvfs info;
    if (fstatvfs(folder, &info) != 0)
        return UINT64_MAX; /* not known: as if there were no limit */
    const bool usable =
        !(info.f_flag & (ST_RDONLY | ST_NOEXEC)) && (info.f_files == 0 || info.f_favail >= LEAST_FILES);
    return usable ? (uint64_t)info.f_bavail * info.f_frsize : 0;
}

/* Opens and holds the current folder. Removing runs beside this, so what was current a moment ago may be
 * going; then -1, for another try. */
static int try_private(char path[PATH_MAX])
{
    char number[16], parent[PATH_MAX];
    int above = open_driver_folder(NULL, parent);
    if (above < 0)
        return -1;
    unsigned now = generation(above);
    snprintf(number, sizeof number, "%u", now);
    int folder = open_driver_folder(number, path);
    bool current = hold(folder) && generation(above) == now;
    close(above);
    if (current) {
        remove_probes(folder);
        return folder;
    }
    if (folder >= 0)
        close(folder);
    return -1;
}

static int take_private(char path[PATH_MAX])
{
    enum { TRIES = 5 };
    int folder = -1;
    for (int i = 0; i < TRIES && folder < 0; i++)
        folder = try_private(path);
    return folder;
}

/* Without the private folder there is neither a lock between processes that build nor a mark of those that
 * crashed: each gets a folder of its own, and removes those of processes that have ended. */
static int take_temporary(const char *base, char path[PATH_MAX])
{
    struct driver_cache_removed unseen = {0};
    char number[24], parent[PATH_MAX];
    int above = open_temporary_folder(base, NULL, parent);
    if (above < 0)
        return -1;
    remove_old(above, "", &unseen);
    close(above);
    snprintf(number, sizeof number, "%ld%09u", (long)getpid(), (unsigned)(clock_ns() % 1000000000));
    int folder = open_temporary_folder(base, number, path);
    if (hold(folder))
        return folder;
    if (folder >= 0)
        close(folder);
    return -1;
}

enum place { PLACE_PRIVATE, PLACE_TEMPORARY, PLACE_MEMORY, PLACES };

/* A folder that is taken stays open until the process ends, and with it its lock. */
static int take_place(enum place place, char path[PATH_MAX])
{
    return place == PLACE_PRIVATE ? take_private(path)
                                  : take_temporary(place == PLACE_MEMORY ? in_memory : NULL, path);
}

static void say_moved(const char *from, uint64_t bytes, const char *to)
{
    snprintf(
        moved, sizeof moved,
        "the disk with '%s' has %.1f MB left and PoCL needs %d: what it compiles goes to '%s' and is lost "
        "afterwards",
        from, (double)bytes * 1e-6, LEAST_ROOM / 1000000, to);
}

/* The first place with room for what PoCL writes. Where none has, the first that there is. */
static bool choose_folder(char path[PATH_MAX])
{
    char first[PATH_MAX] = "", at[PATH_MAX];
    uint64_t first_room = 0;
    for (int place = 0; place < PLACES; place++) {
        int folder = take_place((enum place)place, at);
        const uint64_t bytes = folder >= 0 ? room(folder) : 0;
        if (folder < 0)
            continue;
        if (bytes >= LEAST_ROOM) {
            memcpy(path, at, sizeof at);
            if (first[0])
                say_moved(first, first_room, path);
            return true;
        }
        if (first[0]) {
            close(folder);
        } else {
            memcpy(first, at, sizeof at);
            first_room = bytes;
        }
    }
    memcpy(path, first, sizeof first);
    return first[0] != '\0';
}

static void prepare(void)
{
    char path[PATH_MAX];
    if (getenv("HONE_KEEP_ENVIRONMENT"))
        return;
    look_for_crashes();
    const char *set = getenv(variable);
    if ((!set || is_ours(set)) && choose_folder(path))
        setenv(variable, path, 1);
}

const char *driver_cache_moved(void)
{
    return moved[0] ? moved : NULL;
}

void driver_cache_prepare(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, prepare);
}
