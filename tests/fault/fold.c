/* SPDX-License-Identifier: BSD-2-Clause */
/* Takes names below a folder without case, as exFAT and NTFS do, for LD_PRELOAD.  FOLD_FOLDER=FOLDER */
#include <ctype.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define NEXT(name, ...) ((__typeof__(&(name)))dlsym(RTLD_NEXT, #name))(__VA_ARGS__)

static const char *fold(const char *path, char folded[PATH_MAX])
{
    const char *folder = getenv("FOLD_FOLDER");
    const size_t length = folder ? strlen(folder) : 0;
    if (!length || strncmp(path, folder, length) != 0 || strlen(path) >= PATH_MAX)
        return path;
    strcpy(folded, path);
    for (char *at = folded + length; *at; at++)
        *at = (char)tolower((unsigned char)*at);
    return folded;
}

int open(const char *path, int flags, ...)
{
    char folded[PATH_MAX];
    va_list more;
    va_start(more, flags);
    const mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(more, mode_t) : 0;
    va_end(more);
    return NEXT(open, fold(path, folded), flags, mode);
}

int stat(const char *path, struct stat *info)
{
    char folded[PATH_MAX];
    return NEXT(stat, fold(path, folded), info);
}

int lstat(const char *path, struct stat *info)
{
    char folded[PATH_MAX];
    return NEXT(lstat, fold(path, folded), info);
}

int access(const char *path, int how)
{
    char folded[PATH_MAX];
    return NEXT(access, fold(path, folded), how);
}

int mkdir(const char *path, mode_t mode)
{
    char folded[PATH_MAX];
    return NEXT(mkdir, fold(path, folded), mode);
}

int unlink(const char *path)
{
    char folded[PATH_MAX];
    return NEXT(unlink, fold(path, folded));
}

int rename(const char *from, const char *to)
{
    char folded[2][PATH_MAX];
    return NEXT(rename, fold(from, folded[0]), fold(to, folded[1]));
}
