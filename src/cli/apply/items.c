/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/apply/items.h"

#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/text.h"
#include "media/folder/folder.h"
#include "media/folder/sequence.h"
#include "media/media.h"
#include "media/video/video.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>
#include <wchar.h>

static bool is_folder(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* ---- Pairs ---- */

/* Takes both strings over, also on failure. */
static hone_status add_item(struct items *items, char *input, char *output, hone_error *error)
{
    if (!input || !output ||
        !mem_grow(&items->list, &items->capacity, items->count + 1, sizeof *items->list)) {
        free(input);
        free(output);
        return error_memory(error, "the list of inputs");
    }
    items->list[items->count++] = (struct item){.input = input, .output = output};
    return HONE_OK;
}

static char *join(const char *folder, const char *name, const char *format)
{
    struct text path = {0};
    const size_t length = strlen(folder);
    const char *dot = strrchr(base_name(name), '.');
    const bool changed = format && dot && dot != base_name(name);
    text_add(&path, "%s%s", folder, length && folder[length - 1] == '/' ? "" : "/");
    text_add_bytes(&path, name, changed ? (size_t)(dot - name) : strlen(name));
    if (format)
        text_add(&path, "%s%s", format[0] == '.' ? "" : ".", format);
    return text_take(&path);
}

/* In the format that was asked for (NULL: that of the input). PBM holds no gray, which its pixels become. */
static char *join_output(const char *folder, const char *name, const char *format)
{
    const char *dot = strrchr(base_name(name), '.');
    const bool is_pbm = dot && strcasecmp(dot, ".pbm") == 0;
    return join(folder, name, !format && is_pbm ? ".pgm" : format);
}

/* A name that says the format, as those of files do. */
static char *stdout_name(const char *format)
{
    struct text name = {0};
    text_add(&name, "-%s%s", format && format[0] == '.' ? "" : ".", format ? format : "csv");
    return text_take(&name);
}

static hone_status add_other(struct items *items, const char *folder, const char *name, hone_error *error)
{
    char *path = join(folder, name, NULL);
    if (!path ||
        !mem_grow(&items->others, &items->other_capacity, items->other_count + 1, sizeof *items->others)) {
        free(path);
        return error_memory(error, "the list of inputs");
    }
    items->others[items->other_count++] = path;
    return HONE_OK;
}

/* A --format for pictures leaves out the videos of a folder. */
static bool is_video_format(const char *format)
{
    char name[16];
    snprintf(name, sizeof name, "x.%s", format + (format[0] == '.'));
    return video_is_name(name);
}

/* Whether a pipe is read as a video: its output is one. */
static bool makes_video(const struct items *items, const struct items_request *request)
{
    return items->to_stdout ? request->format && is_video_format(request->format)
                            : video_is_name(request->output);
}

static hone_status add_folder(struct items *items, const struct items_request *request, const char *folder,
                              hone_error *error)
{
    struct folder_list list = {0}, others = {0};
    const size_t before = items->count;
    hone_status status = folder_images(&list, &others, folder, request->recursive, request->output, error);
    for (size_t i = 0; i < list.count && !status; i++)
        if (video_is_name(list.names[i]) && request->format && !is_video_format(request->format))
            status = add_other(items, folder, list.names[i], error);
        else
            status = add_item(items, join(folder, list.names[i], NULL),
                              join_output(request->output, list.names[i], request->format), error);
    for (size_t i = 0; i < others.count && !status; i++)
        status = add_other(items, folder, others.names[i], error);
    folder_list_finish(&list);
    folder_list_finish(&others);
    if (!status && items->count == before)
        status = error_io(error, "no image in the folder '%s'%s (hone formats lists what can be read)",
                          folder, request->recursive ? "" : "; -r looks into the folders below, too");
    return status;
}

/* ---- Sequences ---- */

/* From a sequence: numbers stay. Into a folder: names do. */
static char *name_in_sequence(const struct items *items, const struct items_request *request,
                              const char *input, uint64_t number)
{
    return items->to_folder ? join_output(request->output, base_name(input), request->format)
                            : sequence_name(request->output, number);
}

static hone_status add_sequence(struct items *items, const struct items_request *request, const char *pattern,
                                hone_error *error)
{
    uint64_t first = 0, last = 0;
    if (!items->to_folder && !sequence_is_pattern(request->output))
        return error_usage(
            error, "'%s' is a sequence of pictures, and becomes one: -o out%%04d.png, or -o FOLDER/%s",
            pattern,
            video_is_name(request->output)
                ? "; for a video: ffmpeg -i PATTERN -pix_fmt yuv420p -f yuv4mpegpipe - | hone apply CHAIN "
                  "- -o OUTPUT"
                : "");
    hone_status status = sequence_find(pattern, &first, &last, error);
    for (uint64_t number = first; number <= last && !status; number++) {
        char *input = sequence_name(pattern, number);
        status =
            add_item(items, input, input ? name_in_sequence(items, request, input, number) : NULL, error);
    }
    return status;
}

/* What is one file cannot become a sequence. */
static hone_status check_pattern(const struct items_request *request, const char *input, hone_error *error)
{
    if (!sequence_is_pattern(request->output) || strcmp(request->output, "-") == 0)
        return HONE_OK;
    return error_usage(error,
                       "'%s' is a sequence, which is made of a sequence such as in%%04d.png, not of '%s'%s",
                       request->output, input,
                       video_is_name(input)
                           ? "; for the frames of a video: hone apply CHAIN INPUT -o - --format y4m | ffmpeg "
                             "-i - PATTERN"
                           : "");
}

static hone_status add_input(struct items *items, const struct items_request *request, const char *input,
                             hone_error *error)
{
    if (sequence_is_pattern(input))
        return add_sequence(items, request, input, error);
    TRY(items->to_folder ? HONE_OK : check_pattern(request, input, error));
    const bool is_stream = media_is_stream(input);
    items->from_stream = items->from_stream || (is_stream && !makes_video(items, request));
    if (is_stream && (request->count > 1 || items->to_folder))
        return error_usage(error,
                           "'%s' is read as a pipe, which is the only input and has no name for a file in a "
                           "folder: -o FILE, "
                           "or -o - --format SUFFIX%s",
                           input, strcmp(input, "-") == 0 ? " ('./-' is the file '-')" : "");
    const char *format = request->format ? request->format : video_is_name(input) ? "y4m" : NULL;
    if (items->to_stdout)
        return add_item(items, mem_copy_text(input), stdout_name(format), error);
    if (is_folder(input))
        return add_folder(items, request, input, error);
    return add_item(items, mem_copy_text(input),
                    items->to_folder ? join_output(request->output, base_name(input), request->format)
                                     : mem_copy_text(request->output),
                    error);
}

static hone_status check_stdout(struct items *items, const struct items_request *request, hone_error *error)
{
    items->to_stdout = true;
    if (request->count == 1 && !is_folder(request->inputs[0]))
        return HONE_OK;
    return error_usage(
        error, "standard output takes the result of one image; several inputs and folders need a folder "
               "for the outputs: -o FOLDER/");
}

static hone_status check_output(struct items *items, const struct items_request *request, hone_error *error)
{
    const size_t length = strlen(request->output);
    bool several = request->count > 1 || request->format;
    for (int i = 0; i < request->count; i++)
        several = several || is_folder(request->inputs[i]);
    if (strcmp(request->output, "-") == 0)
        return check_stdout(items, request, error);
    if (length == 0)
        return error_usage(error, "the name of the output is empty");
    TRY(items_check_kind(request->output, error));
    items->to_folder = request->output[length - 1] == '/' || is_folder(request->output);
    if (several && !items->to_folder)
        return error_usage(error,
                           "several inputs, folders and --format need a folder for the outputs: -o '%s/'",
                           request->output);
    return HONE_OK;
}

hone_status items_check_kind(const char *output, hone_error *error)
{
    const char *dot = strrchr(base_name(output), '.');
    if (!file_is_special(output))
        return HONE_OK;
    return error_usage(error,
                       "'%s' is a pipe or a device, which a file would replace: -o - --format %s > '%s'",
                       output, dot ? dot + 1 : "SUFFIX", output);
}

/* The folder of an output, beginning with "/" or "."; with `there`, the nearest above it that is there.
 * False: the name is too long. */
static bool find_folder(const char *output, bool there, char path[PATH_MAX])
{
    struct stat info;
    if (snprintf(path, PATH_MAX, "%s%s", output[0] == '/' ? "" : "./", output) >= PATH_MAX)
        return false;
    do {
        char *slash = strrchr(path, '/');
        slash[slash == path] = '\0'; /* "/" stays */
    } while (there && stat(path, &info) != 0 && errno == ENOENT && strcmp(path, "/") != 0 &&
             strcmp(path, ".") != 0);
    return true;
}

/* ---- Collisions ---- */

struct claim {
    struct item *item;
    wchar_t *name; /* the output, without case */
};

static int by_output(const void *a, const void *b)
{
    const struct claim *first = a, *second = b;
    const int order = wcscmp(first->name, second->name);
    const int exact = order ? order : strcmp(first->item->output, second->item->output);
    return exact ? exact : (first->item > second->item) - (first->item < second->item);
}

static hone_status mark_clash(const struct claim *group, size_t count, hone_error *error)
{
    enum { SHOWN = 4 };
    struct text line = {0};
    for (size_t i = 0; i < count && i < SHOWN; i++)
        text_add(&line, "%s'%s'", i == 0 ? "" : i + 1 == count ? " and " : ", ", group[i].item->input);
    if (count > SHOWN)
        text_add(&line, " and %zu more", count - SHOWN);
    text_add(&line, " would %s become '%s'%s", count > 2 ? "all" : "both", group[0].item->output,
             strcmp(group[0].item->output, group[count - 1].item->output) == 0
                 ? ""
                 : " (its file system does not tell upper from lower case)");
    bool ok = !line.failed;
    for (size_t i = 0; i < count && ok; i++) {
        group[i].item->tell = i == 0;
        ok = (group[i].item->problem = mem_copy_text(text_view(&line))) != NULL;
    }
    text_finish(&line);
    return ok ? HONE_OK : error_memory(error, "the list of outputs");
}

/* Asks the file system of the outputs, if any differ in case alone. */
static bool ignore_case(const struct claim *sorted, size_t count)
{
    char folder[PATH_MAX];
    for (size_t i = 1; i < count; i++)
        if (wcscmp(sorted[i - 1].name, sorted[i].name) == 0 &&
            strcmp(sorted[i - 1].item->output, sorted[i].item->output) != 0)
            return find_folder(sorted[i].item->output, true, folder) && file_ignores_case(folder);
    return false;
}

static bool is_one_output(const struct claim *a, const struct claim *b, bool without_case)
{
    return without_case ? wcscmp(a->name, b->name) == 0 : strcmp(a->item->output, b->item->output) == 0;
}

static hone_status mark_clashes(const struct claim *sorted, size_t count, hone_error *error)
{
    const bool without_case = ignore_case(sorted, count);
    hone_status status = HONE_OK;
    for (size_t i = 0, end; i < count && !status; i = end) {
        for (end = i + 1; end < count && is_one_output(&sorted[i], &sorted[end], without_case);)
            end++;
        if (end - i > 1)
            status = mark_clash(sorted + i, end - i, error);
    }
    return status;
}

static hone_status check_unique(const struct items *items, hone_error *error)
{
    struct claim *claims = mem_new(items->count, sizeof *claims);
    bool ok = claims != NULL;
    for (size_t i = 0; i < items->count && ok; i++) {
        claims[i] = (struct claim){&items->list[i], text_without_case(items->list[i].output)};
        ok = claims[i].name != NULL;
    }
    if (ok)
        qsort(claims, items->count, sizeof *claims, by_output);
    const hone_status status =
        ok ? mark_clashes(claims, items->count, error) : error_memory(error, "the list of outputs");
    for (size_t i = 0; i < items->count && claims; i++)
        free(claims[i].name);
    free(claims);
    return status;
}

/* A file that will be read: the file itself and, where the name is a symbolic link, the link. */
struct identity {
    dev_t device;
    ino_t node;
    const char *name;
};

static int by_identity(const void *a, const void *b)
{
    const struct identity *first = a, *second = b;
    if (first->device != second->device)
        return first->device < second->device ? -1 : 1;
    return (first->node > second->node) - (first->node < second->node);
}

static void identify(const char *name, struct identity *list, size_t *count)
{
    struct stat info;
    if (stat(name, &info) == 0)
        list[(*count)++] = (struct identity){info.st_dev, info.st_ino, name};
    if (lstat(name, &info) == 0 && S_ISLNK(info.st_mode))
        list[(*count)++] = (struct identity){info.st_dev, info.st_ino, name};
}

static bool is_file(const struct stat *info, const char *name)
{
    struct stat own;
    return (stat(name, &own) == 0 && own.st_dev == info->st_dev && own.st_ino == info->st_ino) ||
           (lstat(name, &own) == 0 && own.st_dev == info->st_dev && own.st_ino == info->st_ino);
}

static hone_status check_item(struct item *item, const struct identity *list, size_t count, bool force,
                              hone_error *error)
{
    struct stat info;
    if (item->problem || lstat(item->output, &info) != 0)
        return HONE_OK;
    const struct identity wanted = {info.st_dev, info.st_ino, NULL};
    const struct identity *hit = bsearch(&wanted, list, count, sizeof *list, by_identity);
    const bool is_own = hit && is_file(&info, item->input);
    struct text line = {0};
    if (!hit || (is_own && force))
        return HONE_OK;
    if (is_own)
        text_add(&line, "'%s' is an input; --force allows to replace it", item->output);
    else
        text_add(&line, "the output '%s' of '%s' is the same file as the input '%s'", item->output,
                 item->input, hit->name);
    item->problem = text_take(&line);
    item->tell = true;
    return item->problem ? HONE_OK : error_memory(error, "the list of outputs");
}

static hone_status check_inputs_survive(const struct items *items, const struct items_request *request,
                                        hone_error *error)
{
    size_t count = 0;
    struct identity *list = mem_new(2 * (items->count + request->also_count), sizeof *list);
    if (!list)
        return error_memory(error, "the list of inputs");
    for (size_t i = 0; i < items->count && !items->from_stream; i++)
        identify(items->list[i].input, list, &count);
    for (size_t i = 0; i < request->also_count; i++)
        identify(request->also_read[i], list, &count);
    qsort(list, count, sizeof *list, by_identity);
    hone_status status = HONE_OK;
    for (size_t i = 0; i < items->count && !status; i++)
        status = check_item(&items->list[i], list, count, request->force, error);
    free(list);
    return status;
}

hone_status items_make(struct items *items, const struct items_request *request, hone_error *error)
{
    hone_status status = check_output(items, request, error);
    for (int i = 0; i < request->count && !status; i++)
        status = add_input(items, request, request->inputs[i], error);
    if (status || items->to_stdout)
        return status;
    status = check_unique(items, error);
    return status ? status : check_inputs_survive(items, request, error);
}

void items_finish(struct items *items)
{
    for (size_t i = 0; i < items->count; i++) {
        free(items->list[i].input);
        free(items->list[i].output);
        free(items->list[i].problem);
    }
    for (size_t i = 0; i < items->other_count; i++)
        free(items->others[i]);
    free(items->others);
    free(items->list);
    *items = (struct items){0};
}

/* ---- Folders of outputs ---- */

/* One folder; below the root a symbolic link in its place would lead out of it. */
static hone_status make_folder(const char *path, bool below_root, hone_error *error)
{
    struct stat info;
    if (mkdir(path, 0777) == 0)
        return HONE_OK;
    if (errno != EEXIST)
        return error_io(error, "cannot make the folder '%s': %s", path, strerror(errno));
    if ((below_root ? lstat(path, &info) : stat(path, &info)) != 0)
        return error_io(error, "cannot examine '%s': %s", path, strerror(errno));
    if (S_ISLNK(info.st_mode))
        return error_io(error, "'%s' is a symbolic link, which outputs do not follow", path);
    if (!S_ISDIR(info.st_mode))
        return error_io(error, "'%s' is a file, not a folder", path);
    return HONE_OK;
}

hone_status items_make_folders(const char *output, const char *root, hone_error *error)
{
    char path[PATH_MAX];
    const size_t length = strlen(output), root_length = strlen(root);
    hone_status status = HONE_OK;
    if (length >= sizeof path)
        return error_io(error, "the name of the output is too long: '%s'", output);
    for (size_t i = 1; i < length && !status; i++)
        if (output[i] == '/' && output[i - 1] != '/') {
            memcpy(path, output, i);
            path[i] = '\0';
            status = make_folder(path, i > root_length, error);
        }
    return status;
}

/* By its mode, not by what this user may do: the super-user may do everything. */
static bool is_protected(const char *output)
{
    struct stat info;
    return lstat(output, &info) == 0 && S_ISREG(info.st_mode) && !(info.st_mode & 0222);
}

hone_status items_check_folder(const char *output, bool to_folder, bool force, hone_error *error)
{
    char path[PATH_MAX];
    struct stat info;
    TRY(items_check_kind(output, error));
    if (!force && is_protected(output))
        return error_io(error, "cannot write '%s': the file is write-protected; --force replaces it", output);
    if (!find_folder(output, to_folder, path))
        return error_io(error, "the name of the output is too long: '%s'", output);
    const char *shown = text_starts(path, "./") ? path + 2 : path;
    if (stat(path, &info) != 0)
        return error_io(error, "cannot write '%s': the folder '%s': %s", output, shown, strerror(errno));
    if (!S_ISDIR(info.st_mode))
        return error_io(error, "cannot write '%s': '%s' is not a folder", output, shown);
    if (access(path, W_OK | X_OK) != 0)
        return error_io(error, "cannot write '%s': the folder '%s': %s", output, shown, strerror(errno));
    return HONE_OK;
}
