/* SPDX-License-Identifier: BSD-2-Clause */
#include "media/folder/folder.h"

#include "base/error.h"
#include "base/mem.h"
#include "base/text.h"
#include "media/media.h"
#include "media/video/video.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAX_DEPTH = 64 };

struct walk {
    struct folder_list *list, *others;
    const char *root;
    bool recursive, leaves_out;
    struct stat left_out;
    hone_error *error;
};

static hone_status enter(struct walk *walk, int at, const char *name, const char *below, int depth);

static hone_status cannot_read(struct walk *walk, const char *below)
{
    return error_io(walk->error, "cannot read the folder '%s%s%s': %s", walk->root, *below ? "/" : "", below,
                    strerror(errno));
}

static hone_status add_name(struct walk *walk, struct folder_list *list, const char *name)
{
    char *copy = mem_copy_text(name);
    if (!copy || !mem_grow(&list->names, &list->capacity, list->count + 1, sizeof *list->names)) {
        free(copy);
        return error_memory(walk->error, "the list of a folder");
    }
    list->names[list->count++] = copy;
    return HONE_OK;
}

static bool is_left_out(const struct walk *walk, const struct stat *info)
{
    return walk->leaves_out && info->st_dev == walk->left_out.st_dev && info->st_ino == walk->left_out.st_ino;
}

/* What was deleted meanwhile is left out. A link that leads nowhere, a pipe or a device is no image, whatever
 * its name says. */
static hone_status take_entry(struct walk *walk, int folder, const char *name, const char *path, int depth)
{
    struct stat info, target;
    if (fstatat(folder, name, &info, AT_SYMLINK_NOFOLLOW) != 0)
        return HONE_OK;
    if (S_ISDIR(info.st_mode))
        return walk->recursive && !is_left_out(walk, &info) ? enter(walk, folder, name, path, depth + 1)
                                                            : HONE_OK;
    if (S_ISLNK(info.st_mode) && fstatat(folder, name, &target, 0) == 0)
        info = target;
    if (S_ISDIR(info.st_mode)) /* a link to it: following it could lead in circles */
        return walk->recursive && !is_left_out(walk, &info) ? add_name(walk, walk->others, path) : HONE_OK;
    if (strstr(name, ".hone-"))
        return HONE_OK;
    const bool is_video = video_is_built() && video_muxer(name) && !video_is_raw_name(name),
               is_image = S_ISREG(info.st_mode) && (is_video || media_is_image_name(name));
    return add_name(walk, is_image ? walk->list : walk->others, path);
}

static hone_status take_entries(struct walk *walk, DIR *stream, const char *below, int depth)
{
    hone_status status = HONE_OK;
    while (!status) {
        errno = 0;
        const struct dirent *entry = readdir(stream);
        if (!entry)
            return errno ? cannot_read(walk, below) : HONE_OK;
        if (entry->d_name[0] == '.')
            continue;
        struct text path = {0};
        text_add(&path, "%s%s%s", below, *below ? "/" : "", entry->d_name);
        status = path.failed ? error_memory(walk->error, "the list of a folder")
                             : take_entry(walk, dirfd(stream), entry->d_name, text_view(&path), depth);
        text_finish(&path);
    }
    return status;
}

static hone_status enter(struct walk *walk, int at, const char *name, const char *below, int depth)
{
    if (depth > MAX_DEPTH)
        return error_io(walk->error, "the folder '%s/%s' is nested over %d deep", walk->root, below,
                        MAX_DEPTH);
    int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | (depth ? O_NOFOLLOW : 0));
    DIR *stream = fd >= 0 ? fdopendir(fd) : NULL;
    if (!stream) {
        hone_status status = cannot_read(walk, below);
        if (fd >= 0)
            close(fd);
        return status;
    }
    hone_status status = take_entries(walk, stream, below, depth);
    closedir(stream);
    return status;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void sort(struct folder_list *list)
{
    if (list->count > 1)
        qsort(list->names, list->count, sizeof *list->names, by_name);
}

hone_status folder_images(struct folder_list *list, struct folder_list *others, const char *folder,
                          bool recursive, const char *leave_out, hone_error *error)
{
    struct walk walk = {
        .list = list, .others = others, .root = folder, .recursive = recursive, .error = error};
    walk.leaves_out = leave_out && stat(leave_out, &walk.left_out) == 0;
    hone_status status = enter(&walk, AT_FDCWD, folder, "", 0);
    sort(list);
    sort(others);
    return status;
}

void folder_list_finish(struct folder_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        free(list->names[i]);
    free(list->names);
    *list = (struct folder_list){0};
}
