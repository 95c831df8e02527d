/* SPDX-License-Identifier: BSD-2-Clause */
#include "cl/drivercache.h"

#include "base/clock.h"
#include "base/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static const char generation_file[] = "generation", variable[] = "POCL_CACHE_DIR";

/* The folder driver/ (sub = NULL) or driver/SUB. */
static int open_driver_folder(const char *sub, char path[PATH_MAX])
{
    char name[32];
    int folder;
    snprintf(name, sizeof name, "driver%s%s", sub ? "/" : "", sub ? sub : "");
    bool ok = file_private_folder("XDG_CACHE_HOME", ".cache", name, path, &folder, NULL) == HONE_OK;
    return ok ? folder : -1;
}

/* The same below the folder for temporary files. */
static int open_temporary_folder(const char *sub, char path[PATH_MAX])
{
    char name[32];
    int folder;
    snprintf(name, sizeof name, "driver%s%s", sub ? "/" : "", sub ? sub : "");
    return file_temporary_folder(name, path, &folder, NULL) == HONE_OK ? folder : -1;
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

static bool ends_with(const char *name, const char *suffix)
{
    size_t length = strlen(name), tail = strlen(suffix);
    return length > tail && strcmp(name + length - tail, suffix) == 0;
}

/* NAME.busy becomes NAME.crashed1, or NAME.crashed2 where that is there. */
static void mark_crashed(int folder, const char *busy)
{
    char once[NAME_MAX + 1], twice[NAME_MAX + 1];
    int stem = (int)(strlen(busy) - strlen(BUSY_SUFFIX));
    snprintf(once, sizeof once, "%.*s%s1", stem, busy, CRASHED_SUFFIX);
    snprintf(twice, sizeof twice, "%.*s%s2", stem, busy, CRASHED_SUFFIX);
    renameat(folder, busy, folder, faccessat(folder, once, F_OK, 0) == 0 ? twice : once);
}

/* With the lock in hand nobody is at work, so whatever still says so ended without a word. */
static bool find_crashes(int folder)
{
    bool any = false;
    DIR *list = list_folder(folder);
    for (struct dirent *entry; list && (entry = readdir(list));)
        if (ends_with(entry->d_name, BUSY_SUFFIX)) {
            mark_crashed(folder, entry->d_name);
            any = true;
        }
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

/* True when a process above this one set the variable to a folder of ours; by now another one may be current.
 */
static bool is_ours(const char *value)
{
    char path[PATH_MAX];
    return is_numbered(value, open_driver_folder(NULL, path), path) ||
           is_numbered(value, open_temporary_folder(NULL, path), path);
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

/* Opens and holds the current folder. Removing runs beside this, so what was current a moment ago may be
 * going; then false, for another try. */
static bool take_folder(char path[PATH_MAX])
{
    char number[16], parent[PATH_MAX];
    int above = open_driver_folder(NULL, parent);
    if (above < 0)
        return false;
    unsigned now = generation(above);
    snprintf(number, sizeof number, "%u", now);
    int folder = open_driver_folder(number, path);
    bool current = hold(folder) && generation(above) == now;
    close(above);
    if (current)
        remove_probes(folder);
    else if (folder >= 0)
        close(folder);
    return current;
}

/* Without a private folder there is neither a lock between processes that build nor a mark of those that
 * crashed: each gets a folder of its own, and removes those of processes that have ended. */
static bool take_temporary(char path[PATH_MAX])
{
    struct driver_cache_removed unseen = {0};
    char number[24], parent[PATH_MAX];
    int above = open_temporary_folder(NULL, parent);
    if (above < 0)
        return false;
    remove_old(above, "", &unseen);
    close(above);
    snprintf(number, sizeof number, "%ld%09u", (long)getpid(), (unsigned)(clock_ns() % 1000000000));
    int folder = open_temporary_folder(number, path);
    bool held = hold(folder);
    if (!held && folder >= 0)
        close(folder);
    return held;
}

static void prepare(void)
{
    enum { TRIES = 5 };
    char path[PATH_MAX];
    if (getenv("HONE_KEEP_ENVIRONMENT"))
        return;
    look_for_crashes();
    const char *set = getenv(variable);
    if (set && !is_ours(set))
        return;
    for (int i = 0; i < 2 * TRIES; i++)
        if (i < TRIES ? take_folder(path) : take_temporary(path)) {
            setenv(variable, path, 1);
            return;
        }
}

void driver_cache_prepare(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, prepare);
}
