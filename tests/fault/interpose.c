/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Fails allocations, file operations or the starting of threads of a program, for LD_PRELOAD. Only calls
 * that come from the program itself count: what libraries and drivers do stays as it is.
 *
 *   INTERPOSE_KIND=memory|files|threads   which calls
 *   INTERPOSE_FAIL=N              fail the N-th (from 1)
 *   INTERPOSE_ONLY=a,b            of these functions; INTERPOSE_SITE=OFFSET: from this place (hexadecimal)
 *   INTERPOSE_STICKY=1            and all after it, from anywhere
 *   INTERPOSE_ERRNO=28            with this error (default: ENOMEM, EIO)
 *   INTERPOSE_SHORT=1             read and write half instead of failing
 *   INTERPOSE_KILL=1              end the process there by SIGKILL instead
 *   INTERPOSE_FULL=FOLDER         the disk with this folder is full: for everybody, libraries and drivers
 *   included; INTERPOSE_WHEN=FILE: as soon as there is this file
 *   INTERPOSE_REPORT=FILE         at exit: `site NAME OFFSET NUMBER`, `failed NAME`, `leak allocation OFFSET
 * BYTES`
 */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

enum kind { MEMORY, FILES, THREADS };
enum { MAX_SITES = 2048, BUCKETS = 8192 };

/* Exported by the C library for this purpose. */
extern void *__libc_malloc(size_t bytes);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *old, size_t bytes);
extern void *__libc_memalign(size_t alignment, size_t bytes);
extern void __libc_free(void *pointer);

static struct {
    bool ready, sticky, shorten, kill;
    enum kind kind;
    long fail;
    uintptr_t site;
    int error;
    const char *only, *report, *full, *when;
    uintptr_t base, low, high; /* the program's code */
} wish;

struct block {
    void *pointer;
    uintptr_t site;
    size_t bytes;
    struct block *next;
};

static struct {
    pthread_mutex_t lock;
    struct {
        const char *name;
        uintptr_t offset;
        long number;
    } sites[MAX_SITES];
    int site_count;
    long counted;
    const char *failed;
    struct block *blocks[BUCKETS];
} seen = {.lock = PTHREAD_MUTEX_INITIALIZER};

static int find_program(struct dl_phdr_info *info, size_t size, void *user)
{
    (void)size, (void)user;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        if (part->p_type == PT_LOAD && (part->p_flags & PF_X)) {
            wish.base = info->dlpi_addr;
            wish.low = info->dlpi_addr + part->p_vaddr;
            wish.high = wish.low + part->p_memsz;
        }
    }
    return 1; /* the program comes first */
}

static long number(const char *name, int base)
{
    const char *value = getenv(name);
    return value ? strtol(value, NULL, base) : 0;
}

__attribute__((constructor)) static void begin(void)
{
    const char *kind = getenv("INTERPOSE_KIND");
    wish.kind = kind && strcmp(kind, "files") == 0     ? FILES
                : kind && strcmp(kind, "threads") == 0 ? THREADS
                                                       : MEMORY;
    wish.fail = number("INTERPOSE_FAIL", 10);
    wish.sticky = number("INTERPOSE_STICKY", 10) != 0;
    wish.shorten = number("INTERPOSE_SHORT", 10) != 0;
    wish.kill = number("INTERPOSE_KILL", 10) != 0;
    wish.site = (uintptr_t)number("INTERPOSE_SITE", 16);
    wish.error = (int)number("INTERPOSE_ERRNO", 10);
    wish.only = getenv("INTERPOSE_ONLY");
    wish.report = getenv("INTERPOSE_REPORT");
    wish.full = getenv("INTERPOSE_FULL");
    wish.when = getenv("INTERPOSE_WHEN");
    unsetenv("LD_PRELOAD"); /* compilers and linkers that a driver starts are none of our business */
    dl_iterate_phdr(find_program, NULL);
    wish.ready = kind != NULL;
}

static void report(void)
{
    FILE *file = wish.report ? fopen(wish.report, "a") : NULL;
    if (!file)
        return;
    for (int i = 0; i < seen.site_count; i++)
        fprintf(file, "site %s %lx %ld\n", seen.sites[i].name, (unsigned long)seen.sites[i].offset,
                seen.sites[i].number);
    if (seen.failed)
        fprintf(file, "failed %s\n", seen.failed);
    for (int i = 0; i < BUCKETS; i++)
        for (const struct block *block = seen.blocks[i]; block; block = block->next)
            fprintf(file, "leak allocation %lx %zu\n", (unsigned long)block->site, block->bytes);
    fclose(file);
}

__attribute__((destructor)) static void end(void)
{
    bool was_ready = wish.ready;
    wish.ready = false;
    if (was_ready)
        report();
}

static bool listed(const char *name)
{
    size_t length = strlen(name);
    if (!wish.only)
        return true;
    for (const char *at = wish.only; (at = strstr(at, name)); at += length)
        if ((at == wish.only || at[-1] == ',') && (at[length] == '\0' || at[length] == ','))
            return true;
    return false;
}

static bool from_program(uintptr_t address)
{
    return wish.ready && address >= wish.low && address < wish.high;
}

static void note_site(const char *name, uintptr_t offset)
{
    int i = 0;
    while (i < seen.site_count && (seen.sites[i].offset != offset || seen.sites[i].name != name))
        i++;
    if (i == MAX_SITES)
        return;
    seen.site_count += i == seen.site_count;
    seen.sites[i].name = name;
    seen.sites[i].offset = offset;
    seen.sites[i].number++;
}

/* Counts a call; true when it is to fail. */
static bool fails(enum kind kind, const char *name, const void *from)
{
    uintptr_t address = (uintptr_t)from, offset = address - wish.base;
    if (!from_program(address) || kind != wish.kind)
        return false;
    pthread_mutex_lock(&seen.lock);
    note_site(name, offset);
    bool lost = wish.sticky && seen.failed, fail = lost;
    if (!lost && listed(name) && (!wish.site || wish.site == offset))
        fail = ++seen.counted == wish.fail;
    if (fail && !seen.failed)
        seen.failed = name;
    if (fail && wish.kill)
        kill(getpid(), SIGKILL);
    pthread_mutex_unlock(&seen.lock);
    if (fail)
        errno = wish.error ? wish.error : kind == MEMORY ? ENOMEM : EIO;
    return fail;
}

#define FAILS(kind, name) fails(kind, name, __builtin_return_address(0))

/* ---- Memory ---- */

static struct block **find_block(const void *pointer)
{
    struct block **slot = &seen.blocks[((uintptr_t)pointer >> 4) * 2654435761u % BUCKETS];
    while (*slot && (*slot)->pointer != pointer)
        slot = &(*slot)->next;
    return slot;
}

/* Remembers what the program took, so that what it never gave back can be told. */
static void *taken(void *pointer, size_t bytes, const void *from)
{
    if (!pointer || !from_program((uintptr_t)from))
        return pointer;
    struct block *block = __libc_malloc(sizeof *block);
    if (!block)
        return pointer;
    *block = (struct block){pointer, (uintptr_t)from - wish.base, bytes, NULL};
    pthread_mutex_lock(&seen.lock);
    struct block **slot = find_block(pointer), *stale = *slot; /* given back behind our back */
    block->next = stale ? stale->next : NULL;
    *slot = block;
    pthread_mutex_unlock(&seen.lock);
    __libc_free(stale);
    return pointer;
}

static void given(const void *pointer)
{
    if (!pointer || !wish.ready)
        return;
    pthread_mutex_lock(&seen.lock);
    struct block **slot = find_block(pointer), *block = *slot;
    if (block)
        *slot = block->next;
    pthread_mutex_unlock(&seen.lock);
    __libc_free(block);
}

void *malloc(size_t bytes)
{
    return FAILS(MEMORY, "malloc") ? NULL : taken(__libc_malloc(bytes), bytes, __builtin_return_address(0));
}

void *calloc(size_t count, size_t size)
{
    return FAILS(MEMORY, "calloc")
               ? NULL
               : taken(__libc_calloc(count, size), count * size, __builtin_return_address(0));
}

void *realloc(void *old, size_t bytes)
{
    if (FAILS(MEMORY, "realloc"))
        return NULL;
    void *moved = __libc_realloc(old, bytes);
    if (moved)
        given(old);
    return taken(moved, bytes, __builtin_return_address(0));
}

int posix_memalign(void **pointer, size_t alignment, size_t bytes)
{
    if (FAILS(MEMORY, "posix_memalign"))
        return ENOMEM;
    *pointer = taken(__libc_memalign(alignment, bytes), bytes, __builtin_return_address(0));
    return *pointer ? 0 : ENOMEM;
}

void free(void *pointer)
{
    given(pointer);
    __libc_free(pointer);
}

/* ---- Threads and files ---- */

/* The function behind ours. */
#define REAL(name)                                                                                           \
    static __typeof__(name) *real;                                                                           \
    if (!real)                                                                                               \
    *(void **)&real = dlsym(RTLD_NEXT, #name)

int pthread_create(pthread_t *thread, const pthread_attr_t *how, void *(*run)(void *), void *argument)
{
    REAL(pthread_create);
    return FAILS(THREADS, "pthread_create") ? EAGAIN : real(thread, how, run, argument);
}

int open(const char *path, int flags, ...)
{
    REAL(open);
    va_list args;
    va_start(args, flags);
    mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(args, mode_t) : 0;
    va_end(args);
    return FAILS(FILES, "open") ? -1 : real(path, flags, mode);
}

int openat(int folder, const char *path, int flags, ...)
{
    REAL(openat);
    va_list args;
    va_start(args, flags);
    mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(args, mode_t) : 0;
    va_end(args);
    return FAILS(FILES, "openat") ? -1 : real(folder, path, flags, mode);
}

ssize_t read(int fd, void *bytes, size_t count)
{
    REAL(read);
    if (!FAILS(FILES, "read"))
        return real(fd, bytes, count);
    return wish.shorten && count > 1 ? real(fd, bytes, count / 2) : -1;
}

/* Whether what `fd` leads to lies on the full disk. */
static bool on_full_disk(int fd)
{
    char link[64], path[PATH_MAX];
    if (!wish.full || (wish.when && access(wish.when, F_OK) != 0))
        return false;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof path);
    size_t wanted = strlen(wish.full);
    return length >= (ssize_t)wanted && strncmp(path, wish.full, wanted) == 0;
}

int fstatvfs(int fd, struct statvfs *info)
{
    REAL(fstatvfs);
    int result = real(fd, info);
    if (result == 0 && on_full_disk(fd))
        info->f_bavail = 0;
    return result;
}

ssize_t write(int fd, const void *bytes, size_t count)
{
    REAL(write);
    if (on_full_disk(fd)) {
        errno = ENOSPC;
        return -1;
    }
    if (!FAILS(FILES, "write"))
        return real(fd, bytes, count);
    return wish.shorten && count > 1 ? real(fd, bytes, count / 2) : -1;
}

/* The descriptor is closed all the same, as Linux does. */
int close(int fd)
{
    REAL(close);
    bool fail = FAILS(FILES, "close");
    int saved = errno, result = real(fd);
    if (fail)
        errno = saved;
    return fail ? -1 : result;
}

#define SIMPLE(type, name, parameters, arguments, failure)                                                   \
    type name parameters                                                                                     \
    {                                                                                                        \
        REAL(name);                                                                                          \
        return FAILS(FILES, #name) ? failure : real arguments;                                               \
    }

SIMPLE(int, fsync, (int fd), (fd), -1)
SIMPLE(int, flock, (int fd, int operation), (fd, operation), -1)
SIMPLE(int, fstat, (int fd, struct stat *info), (fd, info), -1)
SIMPLE(int, stat, (const char *path, struct stat *info), (path, info), -1)
SIMPLE(int, lstat, (const char *path, struct stat *info), (path, info), -1)
SIMPLE(int, fchmod, (int fd, mode_t mode), (fd, mode), -1)
SIMPLE(int, rename, (const char *from, const char *to), (from, to), -1)
SIMPLE(int, renameat, (int a, const char *from, int b, const char *to), (a, from, b, to), -1)
SIMPLE(int, mkdir, (const char *path, mode_t mode), (path, mode), -1)
SIMPLE(int, mkdirat, (int folder, const char *path, mode_t mode), (folder, path, mode), -1)
SIMPLE(int, ftruncate, (int fd, off_t length), (fd, length), -1)
SIMPLE(DIR *, opendir, (const char *path), (path), NULL)
SIMPLE(DIR *, fdopendir, (int fd), (fd), NULL)
SIMPLE(FILE *, fopen, (const char *path, const char *mode), (path, mode), NULL)
SIMPLE(FILE *, fdopen, (int fd, const char *mode), (fd, mode), NULL)
SIMPLE(size_t, fwrite, (const void *bytes, size_t size, size_t count, FILE *file), (bytes, size, count, file),
       0)
SIMPLE(size_t, fread, (void *bytes, size_t size, size_t count, FILE *file), (bytes, size, count, file), 0)
SIMPLE(int, fflush, (FILE * file), (file), EOF)
