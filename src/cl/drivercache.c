/* SPDX-License-Identifier: BSD-2-Clause */
#include "cl/drivercache.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "cl/builds.h"
#include "cl/environment.h"

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
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

static const char generation_file[] = "generation", boot_file[] = "boot", variable[] = "POCL_CACHE_DIR";
static const char in_memory[] = "/dev/shm";

/* What PoCL writes for a few programs. It ends the process when a write fails. Of hone's programs, its
 * largest file has 0.1 MB. */
enum { LEAST_ROOM = 16 << 20, LEAST_FILES = 256, LEAST_FILE = 256 << 10 };

static char moved[2 * PATH_MAX + 256]; /* why another folder than the usual one is used; "": it is not */
static char used[PATH_MAX];            /* the folder that PoCL writes to; "": not known */
static char lasting[16]; /* the name of the folder that outlives this process; "": there is none */

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
    DIR *list = file_list_folder(folder, ".");
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
    DIR *list = depth > 0 ? file_list_folder(folder, ".") : NULL;
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
            count += text_ends(entry->d_name, ".so") && !text_starts(entry->d_name, "tempfile_") &&
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

/* Under which start of the machine the folder was looked at last. */
static bool was_looked_at(int folder, const struct text *boot)
{
    struct text last = {0};
    const bool was = file_private_read(folder, boot_file, 64, &last, NULL, NULL) == HONE_OK &&
                     strcmp(text_view(&last), text_view(boot)) == 0;
    text_finish(&last);
    return was;
}

/* A power cut leaves files short that were written before it: the first process after each start of the
 * machine looks at all of them. Nothing is compiled yet where there is no folder. */
static bool was_cut_off(void)
{
    char path[PATH_MAX], number[16];
    struct text boot = {0};
    int above = open_driver_folder(NULL, path);
    if (above < 0)
        return false;
    snprintf(number, sizeof number, "%u", generation(above));
    const bool looks = faccessat(above, number, F_OK, 0) == 0 &&
                       file_read("/proc/sys/kernel/random/boot_id", 64, &boot, NULL) == HONE_OK &&
                       !was_looked_at(above, &boot);
    const bool was = looks && driver_cache_damaged() > 0;
    if (looks)
        file_private_write(above, boot_file, text_view(&boot), boot.length, NULL);
    text_finish(&boot);
    close(above);
    return was;
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
    DIR *list = file_list_folder(folder, ".");
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

/* PoCL removes what it compiled, at its end, where it is told not to keep it. */
static bool driver_keeps(void)
{
    const char *set = getenv("POCL_KERNEL_CACHE");
    return !set || set[0] == '1';
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
            if (place == PLACE_PRIVATE && driver_keeps())
                snprintf(lasting, sizeof lasting, "%s", strrchr(at, '/') + 1);
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

/* false: the variable stays as it is. */
static bool choose(char path[PATH_MAX])
{
    const bool crashed = build_crashes_found();
    if (was_cut_off() || crashed)
        driver_cache_discard(NULL);
    const char *set = getenv(variable);
    return (!set || is_ours(set)) && choose_folder(path);
}

/* The environment is renewed in any case, for PoCL sets a variable of its own. Where memory is short, it
 * stays as it is, and PoCL takes its shared folder. */
static void prepare(void)
{
    char path[PATH_MAX];
    const bool keep = getenv("HONE_KEEP_ENVIRONMENT");
    const bool chosen = !keep && choose(path);
    environment_set(chosen ? variable : NULL, path);
    const char *set = keep ? NULL : getenv(variable);
    if (set && strlen(set) < sizeof used)
        snprintf(used, sizeof used, "%s", set);
}

static hone_status check_disk(uint64_t bytes, hone_error *error)
{
    const int folder = used[0] ? open(used, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
    if (folder < 0)
        return HONE_OK;
    const uint64_t there = room(folder);
    close(folder);
    if (there >= bytes)
        return HONE_OK;
    return error_io(
        error,
        "the disk with '%s' has %.1f MB left, and PoCL needs %.0f there to compile; free some, or set "
        "XDG_CACHE_HOME to a folder on another disk",
        used, (double)there * 1e-6, (double)bytes * 1e-6);
}

static hone_status check_limit(hone_error *error)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY ||
        limit.rlim_cur >= LEAST_FILE)
        return HONE_OK;
    return error_io(
        error, "files of this process are limited to %llu bytes, and PoCL needs %d to compile (ulimit -f)",
        (unsigned long long)limit.rlim_cur, LEAST_FILE);
}

hone_status driver_cache_check_room(uint64_t bytes, hone_error *error)
{
    hone_status status = check_limit(error);
    return status ? status : check_disk(bytes, error);
}

const char *driver_cache_moved(void)
{
    return moved[0] ? moved : NULL;
}

const char *driver_cache_kept(void)
{
    return lasting[0] ? lasting : NULL;
}

void driver_cache_prepare(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, prepare);
}
