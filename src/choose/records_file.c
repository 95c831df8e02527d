/* SPDX-License-Identifier: BSD-2-Clause */
/* The user's file of records: reading, appending, merging. */
#include "choose/records.h"

#include "base/error.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/text.h"
#include "choose/records_compact.h"
#include "choose/records_json.h"
#include "choose/records_scan.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static const char file_name[] = "tuning.jsonl";
static const size_t max_file = 256u << 20;
/* Each run reads all of the user's own: one that a disk has left longer would hold it up for minutes. */
static const off_t most_own = (off_t)1 << 30;

/* ---- The user's file ---- */

static hone_status open_folder(char path[PATH_MAX], int *folder, hone_error *error)
{
    return file_private_folder("XDG_DATA_HOME", ".local/share", NULL, path, folder, error);
}

hone_status records_path(char path[], hone_error *error)
{
    int folder;
    TRY(open_folder(path, &folder, error));
    close(folder);
    if (strlen(path) + sizeof file_name + 1 > PATH_MAX)
        return error_io(error, "the path of the tuning records is too long");
    strcat(strcat(path, "/"), file_name);
    return HONE_OK;
}

/* A choice that may be superseded by another one of the same key. */
struct candidate {
    uint64_t key;
    int64_t time;
    off_t at;
    size_t length;
};

struct loading {
    struct records *records;
    unsigned kinds;
    char filter[96]; /* "filter":"NAME", or empty: of all */
    struct candidate *candidates;
    size_t count, capacity;
};

static uint64_t key_of(const struct record_line *line)
{
    const uint64_t parts[] = {hash_fnv(line->device.at, line->device.length),
                              hash_fnv(line->of_case.at, line->of_case.length),
                              line->origin.at ? hash_fnv(line->origin.at, line->origin.length) : 0,
                              line->informs.at ? hash_fnv(line->informs.at, line->informs.length) : 0};
    return hash_fnv(parts, sizeof parts);
}

static hone_status add_candidate(struct loading *l, const struct record_line *line, size_t length, off_t at,
                                 hone_error *error)
{
    if (!mem_grow(&l->candidates, &l->capacity, l->count + 1, sizeof *l->candidates))
        return error_memory(error, "tuning records");
    l->candidates[l->count++] = (struct candidate){key_of(line), record_span_number(&line->time), at, length};
    return HONE_OK;
}

static hone_status load_line(void *context, const char *line, size_t length, off_t at, hone_error *error)
{
    struct loading *l = context;
    struct record_line parts;
    const unsigned kinds = records_line_kinds(line, length);
    if (!(kinds & l->kinds))
        return HONE_OK;
    const bool trust = kinds == READ_TRUSTS;
    if (!trust && l->filter[0] && kinds != READ_ALL && !memmem(line, length, l->filter, strlen(l->filter)))
        return HONE_OK;
    if (kinds == READ_CHOICES && !(l->kinds & READ_TRIES) && record_line_scan(line, length, &parts) &&
        parts.device.at && parts.of_case.at)
        return add_candidate(l, &parts, length, at, error);
    return records_parse_line(l->records, line, length, l->kinds, error);
}

static int by_key(const void *a, const void *b)
{
    const struct candidate *x = a, *y = b;
    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    if (x->time != y->time)
        return x->time > y->time ? -1 : 1;
    return (x->at < y->at) - (x->at > y->at); /* of equals the last line */
}

static int by_place(const void *a, const void *b)
{
    const struct candidate *x = a, *y = b;
    return (x->at > y->at) - (x->at < y->at);
}

static hone_status read_candidate(int file, const struct candidate *c, struct records *to, hone_error *error)
{
    char *line = mem_new(c->length, 1);
    hone_status status = line ? HONE_OK : error_memory(error, "tuning records");
    if (!status && pread(file, line, c->length, c->at) == (ssize_t)c->length) {
        record_blank_zeros(line, c->length);
        status = records_parse_line(to, line, c->length, READ_CHOICES, error);
    }
    free(line);
    return status;
}

/* Of each key the first that is a record, in the order of the file. */
static hone_status read_candidates(struct loading *l, int file, hone_error *error)
{
    struct records found = {0};
    hone_status status = HONE_OK;
    size_t kept = 0;
    if (l->count > 0)
        qsort(l->candidates, l->count, sizeof *l->candidates, by_key);
    for (size_t i = 0; i < l->count && !status; i++) {
        if (kept > 0 && l->candidates[kept - 1].key == l->candidates[i].key)
            continue;
        status = read_candidate(file, &l->candidates[i], &found, error);
        if (found.choice_count > 0)
            l->candidates[kept++] = l->candidates[i];
        l->records->skipped += found.skipped;
        records_finish(&found);
    }
    if (kept > 0)
        qsort(l->candidates, kept, sizeof *l->candidates, by_place);
    for (size_t i = 0; i < kept && !status; i++)
        status = read_candidate(file, &l->candidates[i], l->records, error);
    return status;
}

static hone_status load_open(struct loading *l, int file, hone_error *error)
{
    size_t too_long;
    hone_status status = record_lines_read(file, load_line, l, &too_long, error);
    l->records->skipped += too_long;
    THEN(status, read_candidates(l, file, error));
    free(l->candidates);
    return status;
}

static hone_status check_length(int file, hone_error *error)
{
    struct stat info;
    if (fstat(file, &info) != 0 || info.st_size <= most_own)
        return HONE_OK;
    return error_io(error, "'%s' is not used: it has %.1f GB, and may have %.1f; move it away", file_name,
                    (double)info.st_size * 1e-9, (double)most_own * 1e-9);
}

/* Opens the user's file for reading; *file is -1 where there is none. */
static hone_status open_to_read(int *file, hone_error *error)
{
    char path[PATH_MAX];
    int folder;
    bool missing = false;
    *file = -1;
    TRY(open_folder(path, &folder, error));
    hone_status status = file_private_open(folder, file_name, file, &missing, error);
    close(folder);
    if (status) {
        *file = -1;
    } else if ((status = check_length(*file, error))) {
        close(*file);
        *file = -1;
    }
    return missing ? HONE_OK : status;
}

hone_status records_load_of(struct records *records, unsigned kinds, const char *filter, hone_error *error)
{
    int file;
    struct loading l = {.records = records, .kinds = kinds};
    if (filter && !strpbrk(filter, "\\\"")) /* else it does not stand there as it is */
        snprintf(l.filter, sizeof l.filter, "\"filter\":\"%.64s\"", filter);
    hone_status status = open_to_read(&file, error);
    if (!status && file >= 0)
        status = load_open(&l, file, error);
    if (file >= 0)
        close(file);
    return status;
}

/* A line that has what a try has is taken for one; others are left to the parser. */
static hone_status count_line(void *context, const char *line, size_t length, off_t at, hone_error *error)
{
    struct record_try_counts *counts = context;
    struct record_line parts;
    struct records one = {0};
    (void)at;
    if (records_line_kinds(line, length) != READ_TRIES)
        return HONE_OK;
    if (record_line_scan(line, length, &parts) && parts.device.at && parts.of_case.at && parts.config.at &&
        parts.state.at && record_span_number(&parts.version) == RECORD_VERSION) {
        const bool called_off = record_span_is(parts.state, "\"abandoned\"");
        counts->tries += called_off ? (size_t)-1 : 1; /* its start was counted */
        counts->measured += !called_off && !record_span_is(parts.state, "\"started\"");
        return HONE_OK;
    }
    hone_status status = records_parse_line(&one, line, length, READ_TRIES, error);
    counts->tries += one.try_count;
    counts->measured += one.try_count && one.tries[0].state != STATE_STARTED;
    counts->skipped += one.skipped;
    records_finish(&one);
    return status;
}

hone_status records_count_tries(struct record_try_counts *counts, hone_error *error)
{
    int file;
    size_t too_long;
    *counts = (struct record_try_counts){0};
    hone_status status = open_to_read(&file, error);
    if (!status && file >= 0)
        status = record_lines_read(file, count_line, counts, &too_long, error);
    if (file >= 0)
        close(file);
    return status;
}

hone_status records_load(struct records *records, unsigned kinds, hone_error *error)
{
    return records_load_of(records, kinds, NULL, error);
}

hone_status records_load_file(struct records *records, const char *path, unsigned kinds, hone_error *error)
{
    struct text text = {0};
    hone_status status = file_read(path, max_file, &text, error);
    record_blank_zeros(text.data, text.length);
    THEN(status, records_parse(records, text_view(&text), kinds, error));
    text_finish(&text);
    return status;
}

static hone_status append_failed(hone_error *error, const char *path)
{
    return error_io(error, "cannot add to the tuning records in '%s': %s", path, strerror(errno));
}

/* Whether the file ends in the middle of a line: then a newline comes first, so that only that line
 * is lost. */
static bool ends_open(int file)
{
    char last = '\n';
    off_t end = lseek(file, 0, SEEK_END);
    return end > 0 && pread(file, &last, 1, end - 1) == 1 && last != '\n';
}

static hone_status write_line(int file, const char *path, struct text *line, hone_error *error)
{
    struct stat before;
    if (fstat(file, &before) != 0)
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

/* Whether the file still has its name: another process may have put a shorter one in its place before this
 * one got the lock. */
static bool has_name(int folder, int file)
{
    struct stat opened, named;
    return fstat(file, &opened) == 0 && fstatat(folder, file_name, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
           opened.st_ino == named.st_ino && opened.st_dev == named.st_dev;
}

/* Opens the user's file and locks it. */
static hone_status open_locked(int folder, const char *path, int *file, hone_error *error)
{
    struct stat info;
    for (;;) {
        *file = openat(folder, file_name, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK,
                       0600);
        if (*file < 0)
            return append_failed(error, path);
        hone_status status = HONE_OK;
        if (fstat(*file, &info) != 0 || !S_ISREG(info.st_mode) || info.st_uid != geteuid())
            status = error_io(error, "'%s/%s' is not a file of this user's", path, file_name);
        else if (flock(*file, LOCK_EX) != 0)
            status = append_failed(error, path);
        if (!status && has_name(folder, *file))
            return HONE_OK;
        close(*file);
        if (status)
            return status;
    }
}

/* Each time the file has grown by another so many bytes it is looked at whether most of it is superseded. */
enum { COMPACT_STEP = 4 << 20 };

/* Whether a file that can be compacted now is; one that cannot stays as it is, and is as good. */
static void compact_sometimes(int folder, int file, size_t added)
{
    struct stat info;
    bool done;
    if (fstat(file, &info) == 0 &&
        info.st_size / COMPACT_STEP != (info.st_size - (off_t)added) / COMPACT_STEP)
        records_compact_file(folder, file_name, file, &done, NULL);
}

static hone_status append(struct text *line, hone_error *error)
{
    char path[PATH_MAX];
    int folder, file;
    text_add(line, "\n");
    if (line->failed)
        return error_memory(error, "a tuning record");
    TRY(open_folder(path, &folder, error));
    hone_status status = open_locked(folder, path, &file, error);
    if (!status) {
        status = write_line(file, path, line, error);
        if (!status)
            compact_sometimes(folder, file, line->length);
        close(file);
    }
    close(folder);
    return status;
}

hone_status records_compact(bool *done, hone_error *error)
{
    char path[PATH_MAX];
    int folder, file;
    *done = false;
    TRY(open_folder(path, &folder, error));
    hone_status status = open_locked(folder, path, &file, error);
    if (!status) {
        status = records_compact_file(folder, file_name, file, done, error);
        close(file);
    }
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

/* The line in our own form, whoever wrote it, and a choice as imported if wanted; empty when it is
 * no record. */
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
        THEN(status, normalise(theirs, length, true, &line, error));
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
    THEN(status, open_folder(own, &folder, error));
    if (!status) {
        status = file_private_read(folder, file_name, max_file, &ours, &missing, error);
        close(folder);
        status = missing ? HONE_OK : status;
    }
    record_blank_zeros(ours.data, ours.length);
    record_blank_zeros(theirs.data, theirs.length);
    THEN(status, merge_lines(text_view(&ours), text_view(&theirs), added, error));
    text_finish(&ours);
    text_finish(&theirs);
    return status;
}
