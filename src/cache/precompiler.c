/* SPDX-License-Identifier: BSD-2-Clause */
/* Making the file of programs that are compiled ahead. */
#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"
#include "cache/precompiled.h"
#include "cache/precompiled_file.h"
#include "cl/drivercache.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int precompiled_driver_folder(void)
{
    char name[32], path[PATH_MAX];
    int fd = -1;
    snprintf(name, sizeof name, "driver/%s", driver_cache_kept() ? driver_cache_kept() : "");
    const bool ok = driver_cache_kept() &&
                    file_private_folder("XDG_CACHE_HOME", ".cache", name, path, &fd, NULL) == HONE_OK;
    return ok ? fd : -1;
}

/* What is being collected. */
struct collector {
    struct precompiler *made;
    struct text files, names; /* PoCL's files; our programs, each " NAME" */
};

typedef void add_function(struct collector *all, int folder, const char *name, const char *path);

/* Each entry of `folder`, whose path is `path`, but for hidden ones. */
static void for_each(struct collector *all, int folder, const char *path, add_function *add)
{
    DIR *list = file_list_folder(folder, ".");
    all->made->failed |= !list;
    for (struct dirent *entry; list && (entry = readdir(list));) {
        char below[PRECOMPILED_MAX_NAME];
        const int length = snprintf(below, sizeof below, "%s%s%s", path, path[0] ? "/" : "", entry->d_name);
        if (entry->d_name[0] != '.' && length > 0 && length < (int)sizeof below)
            add(all, folder, entry->d_name, below);
    }
    if (list)
        closedir(list);
}

static void for_each_below(struct collector *all, int folder, const char *name, const char *path,
                           add_function *add)
{
    const int fd = openat(folder, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return; /* a file */
    for_each(all, fd, path, add);
    close(fd);
}

/* True the first time. */
static bool is_new(struct precompiler *made, const char *name)
{
    struct text line = {0};
    text_add(&line, "\n%s\n", name);
    const bool known = strstr(text_view(&made->seen), text_view(&line)) != NULL;
    if (!known)
        text_add_bytes(&made->seen, line.data, line.length);
    made->failed |= line.failed;
    text_finish(&line);
    return !known;
}

static void add_file(struct collector *all, int folder, const char *name, const char *path)
{
    struct text bytes = {0};
    struct stat info;
    const bool there = fstatat(folder, name, &info, AT_SYMLINK_NOFOLLOW) == 0;
    if (there && S_ISREG(info.st_mode) && strcmp(name, "last_accessed") != 0) {
        all->made->failed |=
            file_private_read(folder, name, PRECOMPILED_MAX_PART, &bytes, NULL, NULL) != HONE_OK;
        text_add(&all->files, "%zu %s\n", bytes.length, path);
        text_add_bytes(&all->files, text_view(&bytes), bytes.length);
    } else if (there && S_ISDIR(info.st_mode)) {
        for_each_below(all, folder, name, path, add_file);
    }
    text_finish(&bytes);
}

/* PoCL's programs are folders below those of two letters. */
static void add_program(struct collector *all, int folder, const char *name, const char *path)
{
    if (is_new(all->made, path))
        for_each_below(all, folder, name, path, add_file);
}

static void add_letters(struct collector *all, int folder, const char *name, const char *path)
{
    for_each_below(all, folder, name, path, add_program);
}

static void add_name(struct collector *all, int folder, const char *name, const char *path)
{
    (void)folder;
    if (strlen(name) == SHA256_TEXT_SIZE - 1 && is_new(all->made, path))
        text_add(&all->names, " %s", name);
}

/* What the index says of a name. */
static void add_line(struct precompiler *made, const char *kind, const char *name, size_t at, size_t count,
                     const char *digest)
{
    text_add(&made->index, "%s%s %s %zu %zu %s\n", made->index.length ? "" : "\n", kind, name, at, count,
             digest);
    made->programs += strcmp(kind, PRECOMPILED_PROGRAM) == 0;
}

/* A line for each of the names, which are separated by spaces, and the part that they share. */
static void add_part(struct precompiler *made, const char *kind, char *names, const struct text *part)
{
    char hex[SHA256_TEXT_SIZE], *save = NULL;
    sha256_text_of(text_view(part), part->length, hex);
    for (char *name = strtok_r(names, " ", &save); name; name = strtok_r(NULL, " ", &save))
        add_line(made, kind, name, made->body.length, part->length, hex);
    text_add_bytes(&made->body, text_view(part), part->length);
    made->failed |= part->failed;
}

static void in_folder(struct collector *all, const char *sub, add_function *add)
{
    char path[PATH_MAX];
    int fd = -1;
    all->made->failed |= file_private_folder("XDG_CACHE_HOME", ".cache", sub, path, &fd, NULL) != HONE_OK;
    if (fd >= 0) {
        for_each(all, fd, "", add);
        close(fd);
    }
}

void precompiler_add(struct precompiler *made)
{
    struct collector all = {.made = made};
    const int driver = precompiled_driver_folder();
    if (driver >= 0) {
        for_each(&all, driver, "", add_letters);
        in_folder(&all, "programs", add_name);
        close(driver);
    }
    made->failed |= all.names.failed;
    if (all.names.data && all.files.length)
        add_part(made, PRECOMPILED_PROGRAM, all.names.data, &all.files);
    text_finish(&all.files);
    text_finish(&all.names);
}

/* A line of another file's index, whose part is in `body`; names that share a part follow each other. */
static bool merge_line(struct precompiler *made, const char *line, const char *body, size_t length,
                       size_t shared[2])
{
    char kind[32], name[128], digest[SHA256_TEXT_SIZE], key[sizeof kind + sizeof name];
    size_t at = 0, count = 0;
    if (sscanf(line, "%31s %127s %zu %zu %64[0-9a-f]", kind, name, &at, &count, digest) != 5 || at > length ||
        count > length - at)
        return false;
    snprintf(key, sizeof key, "%s %s", kind, name);
    if (!is_new(made, key))
        return true;
    if (shared[0] != at) {
        shared[0] = at;
        shared[1] = made->body.length;
        text_add_bytes(&made->body, body + at, count);
    }
    add_line(made, kind, name, shared[1], count, digest);
    return true;
}

static bool merge_file(struct precompiler *made, struct text *file)
{
    size_t count = 0, shared[2] = {SIZE_MAX, 0};
    char *save = NULL;
    bool ok = file->length >= PRECOMPILED_HEAD_SIZE &&
              sscanf(file->data, PRECOMPILED_HEAD " %*64[0-9a-f] %12zu", &count) == 1 &&
              count <= file->length - PRECOMPILED_HEAD_SIZE;
    char *index = ok ? mem_copy_text_n(file->data + PRECOMPILED_HEAD_SIZE, count) : NULL;
    const size_t before = PRECOMPILED_HEAD_SIZE + count;
    for (char *line = index ? strtok_r(index, "\n", &save) : NULL; line && ok;
         line = strtok_r(NULL, "\n", &save))
        ok = merge_line(made, line, file->data + before, file->length - before, shared);
    ok = ok && index;
    free(index);
    return ok;
}

hone_status precompiler_merge(struct precompiler *made, const char *path, hone_error *error)
{
    enum { MOST = 1 << 30 };
    struct text file = {0};
    hone_status status = file_read(path, MOST, &file, error);
    if (!status && !merge_file(made, &file))
        status = error_io(error, "'%s' is not what was written there", path);
    text_finish(&file);
    return status;
}

static void add_verdict(struct collector *all, int folder, const char *name, const char *path)
{
    struct text bytes = {0};
    char names[PRECOMPILED_MAX_NAME];
    snprintf(names, sizeof names, "%s", path);
    if (file_private_read(folder, name, 1 << 16, &bytes, NULL, NULL) == HONE_OK)
        add_part(all->made, PRECOMPILED_VERDICT, names, &bytes);
    text_finish(&bytes);
}

static hone_status write_file(const struct precompiler *made, const char *path, hone_error *error)
{
    struct text file = {0};
    char hex[SHA256_TEXT_SIZE];
    sha256_text_of(text_view(&made->index), made->index.length, hex);
    text_add(&file, PRECOMPILED_HEAD " %s %12zu\n", hex, made->index.length);
    text_add_bytes(&file, text_view(&made->index), made->index.length);
    text_add_bytes(&file, text_view(&made->body), made->body.length);
    hone_status status = file.failed ? error_memory(error, "compiled programs")
                                     : file_write(path, file.data, file.length, error);
    text_finish(&file);
    return status;
}

hone_status precompiler_write(struct precompiler *made, const char *path, hone_error *error)
{
    struct collector all = {.made = made};
    in_folder(&all, "verdicts", add_verdict);
    if (made->index.failed || made->body.failed || made->seen.failed)
        return error_memory(error, "compiled programs");
    if (made->failed)
        return error_io(error, "cannot read what was compiled");
    return write_file(made, path, error);
}

void precompiler_finish(struct precompiler *made)
{
    text_finish(&made->index);
    text_finish(&made->body);
    text_finish(&made->seen);
}
