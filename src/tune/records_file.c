/* SPDX-License-Identifier: BSD-2-Clause */
/* The user's file of records: reading, appending, merging. */
#include "tune/records.h"

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "tune/records_json.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static const char file_name[] = "tuning.jsonl";
static const size_t max_file = 256u << 20;

/* ---- The user's file ---- */

static hone_status open_folder(char path[PATH_MAX], int *folder, hone_error *error)
{
    return file_private_folder("XDG_DATA_HOME", ".local/share", NULL, path, folder, error);
}

hone_status records_path(char path[], hone_error *error)
{
    int folder;
    hone_status status = open_folder(path, &folder, error);
    if (status)
        return status;
    close(folder);
    if (strlen(path) + sizeof file_name + 1 > PATH_MAX)
        return error_set(error, HONE_ERROR_IO, "the path of the tuning records is too long");
    strcat(strcat(path, "/"), file_name);
    return HONE_OK;
}

/* A disk that failed leaves zero bytes; they must not end the text. */
static void blank_zeros(struct text *text)
{
    for (size_t i = 0; i < text->length; i++)
        if (text->data[i] == '\0')
            text->data[i] = ' ';
}

hone_status records_load(struct records *records, unsigned kinds, hone_error *error)
{
    char path[PATH_MAX];
    int folder;
    struct text text = {0};
    bool missing = false;
    hone_status status = open_folder(path, &folder, error);
    if (status)
        return status;
    status = file_private_read(folder, file_name, max_file, &text, &missing, error);
    close(folder);
    blank_zeros(&text);
    if (!status)
        status = records_parse(records, text_view(&text), kinds, error);
    text_finish(&text);
    return missing ? HONE_OK : status;
}

hone_status records_load_file(struct records *records, const char *path, unsigned kinds, hone_error *error)
{
    struct text text = {0};
    hone_status status = file_read(path, max_file, &text, error);
    blank_zeros(&text);
    if (!status)
        status = records_parse(records, text_view(&text), kinds, error);
    text_finish(&text);
    return status;
}

static hone_status append_failed(hone_error *error, const char *path)
{
    return error_set(error, HONE_ERROR_IO, "cannot add to the tuning records in '%s': %s", path,
                     strerror(errno));
}

/* Whether the file ends in the middle of a line: then a newline comes first, so that only that line is lost.
 */
static bool ends_open(int file)
{
    char last = '\n';
    off_t end = lseek(file, 0, SEEK_END);
    return end > 0 && pread(file, &last, 1, end - 1) == 1 && last != '\n';
}

static hone_status write_line(int file, const char *path, struct text *line, hone_error *error)
{
    struct stat before;
    if (flock(file, LOCK_EX) != 0 || fstat(file, &before) != 0)
        return append_failed(error, path);
    if (ends_open(file) && !file_write_all(file, "\n", 1))
        return append_failed(error, path);
    if (file_write_all(file, line->data, line->length) && fsync(file) == 0)
        return HONE_OK;
    hone_status status = append_failed(error, path);
    /* Half a line is skipped by readers; none is better, but not worth another error. */
    int ignored = ftruncate(file, before.st_size);
    (void)ignored;
    return status;
}

static hone_status append(struct text *line, hone_error *error)
{
    char path[PATH_MAX];
    int folder;
    text_add(line, "\n");
    if (line->failed)
        return error_memory(error, "a tuning record");
    hone_status status = open_folder(path, &folder, error);
    if (status)
        return status;
    int file =
        openat(folder, file_name, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
    struct stat info;
    if (file < 0)
        status = append_failed(error, path);
    else if (fstat(file, &info) != 0 || !S_ISREG(info.st_mode) || info.st_uid != geteuid())
        status = error_set(error, HONE_ERROR_IO, "'%s/%s' is not a file of this user's", path, file_name);
    else
        status = write_line(file, path, line, error);
    if (file >= 0)
        close(file);
    close(folder);
    return status;
}

static hone_status append_json(json_t *object, hone_error *error)
{
    struct text line = {0};
    record_json_print(object, &line);
    hone_status status = append(&line, error);
    text_finish(&line);
    return status;
}

hone_status records_add_try(const struct record_try *record, hone_error *error)
{
    return append_json(record_try_json(record), error);
}

hone_status records_add_choice(const struct record_choice *record, hone_error *error)
{
    return append_json(record_choice_json(record), error);
}

hone_status records_add_trust(const struct record_trust *record, hone_error *error)
{
    return append_json(record_trust_json(record), error);
}

/* ---- Merging ---- */

/* The line in our own form, whoever wrote it, and a choice as imported if wanted; empty when it is no record.
 */
static hone_status normalise(const char *line, size_t length, bool imported, struct text *out,
                             hone_error *error)
{
    struct records one = {0};
    json_t *object = json_loadb(line, length, JSON_REJECT_DUPLICATES, NULL);
    const char *kind = json_string_value(json_object_get(object, "kind"));
    if (imported && kind && strcmp(kind, "choice") == 0)
        json_object_set_new(object, "origin", json_string("import"));
    if (object)
        record_json_print(object, out);
    hone_status status = records_parse(&one, text_view(out), READ_ALL, error);
    if (one.skipped)
        text_finish(out);
    records_finish(&one);
    return status;
}

/* Copies of a line that the user's file has already are left out. */
static hone_status merge_lines(const char *ours, const char *theirs, size_t *added, hone_error *error)
{
    hone_status status = HONE_OK;
    while (*theirs && !status) {
        size_t length = strcspn(theirs, "\n");
        struct text line = {0}, plain = {0};
        status = normalise(theirs, length, false, &plain, error);
        if (!status)
            status = normalise(theirs, length, true, &line, error);
        if (!status && line.length > 0 && !strstr(ours, text_view(&plain)) &&
            !strstr(ours, text_view(&line))) {
            status = append(&line, error);
            *added += !status;
        }
        text_finish(&plain);
        text_finish(&line);
        theirs += length + (theirs[length] == '\n');
    }
    return status;
}

hone_status records_merge(const char *path, size_t *added, hone_error *error)
{
    char own[PATH_MAX];
    struct text ours = {0}, theirs = {0};
    int folder;
    bool missing = false;
    *added = 0;
    hone_status status = file_read(path, max_file, &theirs, error);
    if (!status)
        status = open_folder(own, &folder, error);
    if (!status) {
        status = file_private_read(folder, file_name, max_file, &ours, &missing, error);
        close(folder);
        status = missing ? HONE_OK : status;
    }
    blank_zeros(&ours);
    blank_zeros(&theirs);
    if (!status)
        status = merge_lines(text_view(&ours), text_view(&theirs), added, error);
    text_finish(&ours);
    text_finish(&theirs);
    return status;
}
