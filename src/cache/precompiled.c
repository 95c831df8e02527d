/* SPDX-License-Identifier: BSD-2-Clause */
#include "cache/precompiled.h"

#include "base/file.h"
#include "cache/precompiled_file.h"
#include "cl/builds.h"
#include "cl/drivercache.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The file, opened by the first who asks. */
static struct {
    int fd; /* -1: there is none, or it is not to be trusted */
    struct text index;
    size_t body; /* where it begins */
} file = {.fd = -1};

void precompiled_usual_place(char path[FILE_BESIDE_SIZE])
{
    static const char *const beside[] = {HONE_PRECOMPILED_BESIDE, NULL};
    if (!beside[0] || !file_beside_program(beside, path))
        snprintf(path, FILE_BESIDE_SIZE, "%s", HONE_PRECOMPILED);
}

static int open_file(void)
{
    static const char *const built[] = {"libexec/hone/precompiled", NULL};
    const char *set = getenv("HONE_PRECOMPILED");
    char path[FILE_BESIDE_SIZE];
    int fd = -1;
    if (set)
        snprintf(path, sizeof path, "%s", set);
    else if (!file_beside_program(built, path))
        precompiled_usual_place(path);
    return path[0] && file_trusted_open(path, &fd, NULL) == HONE_OK ? fd : -1;
}

/* So many bytes from a place in the file, which have the digest. */
static bool read_part(int fd, size_t at, size_t count, const char *digest, struct text *out)
{
    char name[SHA256_TEXT_SIZE];
    char *bytes = count <= PRECOMPILED_MAX_PART ? malloc(count + 1) : NULL;
    bool ok = bytes && file_read_at(fd, bytes, count, (off_t)at) == (ssize_t)count;
    if (ok) {
        sha256_text_of(bytes, count, name);
        ok = strcmp(name, digest) == 0;
    }
    if (ok)
        text_add_bytes(out, bytes, count);
    free(bytes);
    return ok && !out->failed;
}

static bool read_index(int fd)
{
    char head[PRECOMPILED_HEAD_SIZE + 1] = "", digest[SHA256_TEXT_SIZE];
    size_t count = 0;
    if (file_read_at(fd, head, PRECOMPILED_HEAD_SIZE, 0) != PRECOMPILED_HEAD_SIZE ||
        sscanf(head, PRECOMPILED_HEAD " %64[0-9a-f] %12zu", digest, &count) != 2)
        return false;
    file.body = PRECOMPILED_HEAD_SIZE + count;
    return read_part(fd, PRECOMPILED_HEAD_SIZE, count, digest, &file.index);
}

static void load(void)
{
    const int fd = open_file();
    if (fd >= 0 && read_index(fd))
        file.fd = fd;
    else if (fd >= 0)
        close(fd);
}

/* What the index says of a name. */
struct part {
    size_t at, count;
    char digest[SHA256_TEXT_SIZE];
};

static bool find(const char *kind, const char *name, struct part *part)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    char start[128];
    pthread_once(&once, load);
    snprintf(start, sizeof start, "\n%s %s ", kind, name);
    const char *line = file.fd >= 0 ? strstr(text_view(&file.index), start) : NULL;
    return line &&
           sscanf(line + strlen(start), "%zu %zu %64[0-9a-f]", &part->at, &part->count, part->digest) == 3;
}

bool precompiled_has(const char *name)
{
    struct part part;
    return driver_cache_kept() && find(PRECOMPILED_PROGRAM, name, &part);
}

bool build_precompiled_verdict(const char *name, struct text *out)
{
    struct part part;
    return find(PRECOMPILED_VERDICT, name, &part) &&
           read_part(file.fd, file.body + part.at, part.count, part.digest, out);
}

/* ---- Copying to PoCL's folder ---- */

/* A new file, whole under its name or not there at all; one that is there is left. Not synced: what a power
 * cut leaves short is found at the next start. */
static bool put_file(int folder, const char *name, const void *bytes, size_t count)
{
    char self[64];
    const int fd = openat(folder, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (fd < 0)
        return false;
    snprintf(self, sizeof self, "/proc/self/fd/%d", fd);
    const bool ok = file_write_all(fd, bytes, count) &&
                    (linkat(AT_FDCWD, self, folder, name, AT_SYMLINK_FOLLOW) == 0 || errno == EEXIST);
    close(fd);
    return ok;
}

/* Opens the folder `name` of `above`, makes it if need be, and closes `above`. */
static int enter(int above, const char *name)
{
    int below = -1;
    if (mkdirat(above, name, 0700) == 0 || errno == EEXIST)
        below = openat(above, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    close(above);
    return below;
}

/* The folders above `name`, and the file. */
static bool put_below(int folder, const char *name, const void *bytes, size_t count)
{
    char path[PRECOMPILED_MAX_NAME], *rest = path;
    int at = dup(folder);
    snprintf(path, sizeof path, "%s", name);
    for (char *slash; at >= 0 && (slash = strchr(rest, '/')); rest = slash + 1) {
        *slash = '\0';
        at = enter(at, rest);
    }
    const bool ok = at >= 0 && put_file(at, rest, bytes, count);
    if (at >= 0)
        close(at);
    return ok;
}

/* A relative path of plain names. */
static bool is_plain(const char *name)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./";
    return name[0] && name[0] != '/' && name[0] != '.' && !strstr(name, "/.") && !strstr(name, "//") &&
           name[strspn(name, plain)] == '\0';
}

static bool put_files(int folder, const struct text *part)
{
    const char *at = part->data, *end = part->data + part->length;
    while (at < end) {
        char line[PRECOMPILED_MAX_NAME + 32], name[PRECOMPILED_MAX_NAME];
        size_t count = 0;
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        if (!stop || stop - at >= (ptrdiff_t)sizeof line)
            return false;
        snprintf(line, sizeof line, "%.*s", (int)(stop - at), at);
        if (sscanf(line, "%zu %511s", &count, name) != 2 || count > (size_t)(end - stop) - 1 ||
            !is_plain(name) || !put_below(folder, name, stop + 1, count))
            return false;
        at = stop + 1 + count;
    }
    return true;
}

bool precompiled_take(const char *name)
{
    struct part part;
    struct text bytes = {0};
    const int folder = find(PRECOMPILED_PROGRAM, name, &part) ? precompiled_driver_folder() : -1;
    const bool ok = folder >= 0 && read_part(file.fd, file.body + part.at, part.count, part.digest, &bytes) &&
                    put_files(folder, &bytes);
    text_finish(&bytes);
    if (folder >= 0)
        close(folder);
    return ok;
}
