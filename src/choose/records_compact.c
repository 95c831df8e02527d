/* SPDX-License-Identifier: BSD-2-Clause */
#include "choose/records_compact.h"

#include "base/error.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/mem.h"
#include "choose/records.h"
#include "choose/records_scan.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct line {
    off_t at;
    size_t length;
    bool dropped, kept; /* kept: whatever supersedes it */
};

/* What a line is to others of the same key. The first that is a record and supersedes drops those behind it
 * that may be dropped, in the order of by_key. */
enum role { SUPERSEDES = 1, DROPPABLE = 2, KEPT_AS_LAST = 4 };
struct entry {
    uint64_t key;
    int64_t time; /* of choices */
    size_t line;
    unsigned roles;
};

struct compaction {
    int file;
    struct line *lines;
    size_t line_count, line_capacity;
    struct entry *entries;
    size_t entry_count, entry_capacity;
};

static uint64_t hash_span(struct record_span span)
{
    return span.at ? hash_fnv(span.at, span.length) : 0;
}

static bool add(struct compaction *c, uint64_t key, int64_t time, unsigned roles)
{
    if (!mem_grow(&c->entries, &c->entry_capacity, c->entry_count + 1, sizeof *c->entries))
        return false;
    c->entries[c->entry_count++] = (struct entry){key, time, c->line_count - 1, roles};
    return true;
}

/* Everything of a session behind the '@'. */
static uint64_t boot_of(struct record_span session)
{
    const char *at = session.at ? memchr(session.at, '@', session.length) : NULL;
    return at ? hash_fnv(at, session.length - (size_t)(at - session.at)) : 0;
}

static bool add_try(struct compaction *c, const struct record_line *line)
{
    struct record_line config;
    if (!line->of_case.at || !line->config.at ||
        !record_line_scan(line->config.at, line->config.length, &config) || !config.variant.at ||
        !config.config.at)
        return true;
    const uint64_t of_case[] = {hash_span(line->device), hash_span(line->of_case)};
    const uint64_t tried[] = {of_case[0], of_case[1], hash_span(config.variant), hash_span(config.config),
                              't'};
    const uint64_t key = hash_fnv(tried, sizeof tried);
    const bool started = record_span_is(line->state, "\"started\"");
    if (started || record_span_is(line->state, "\"abandoned\"")) {
        const uint64_t boot[] = {of_case[0], of_case[1], boot_of(line->session), 'b'};
        return add(c, key, 0, DROPPABLE) &&
               (!started || add(c, hash_fnv(boot, sizeof boot), 0, KEPT_AS_LAST));
    }
    const bool fine = record_span_is(line->state, "\"ok\"") || record_span_is(line->state, "\"slow\"");
    const uint64_t outcome[] = {key, fine ? 0 : hash_span(line->state), 'o'};
    return add(c, key, 0, SUPERSEDES) && add(c, hash_fnv(outcome, sizeof outcome), 0, SUPERSEDES | DROPPABLE);
}

/* Sessions go by the choices of those before. */
static bool add_choice(struct compaction *c, const struct record_line *line)
{
    const uint64_t parts[] = {hash_span(line->device), hash_span(line->of_case), hash_span(line->origin),
                              hash_span(line->informs), 'c'};
    if (!line->of_case.at ||
        !(record_span_is(line->origin, "\"trial\"") || record_span_is(line->origin, "\"import\"")))
        return true;
    return add(c, hash_fnv(parts, sizeof parts), record_span_number(&line->time), SUPERSEDES | DROPPABLE);
}

static bool add_trust(struct compaction *c, const struct record_line *line)
{
    const uint64_t parts[] = {hash_span(line->program), 'v'};
    return !line->program.at || !record_span_is(line->verdict, "\"right\"") ||
           add(c, hash_fnv(parts, sizeof parts), 0, SUPERSEDES | DROPPABLE);
}

static hone_status take_line(void *context, const char *text, size_t length, off_t at, hone_error *error)
{
    struct compaction *c = context;
    struct record_line line;
    bool ok = mem_grow(&c->lines, &c->line_capacity, c->line_count + 1, sizeof *c->lines);
    if (!ok)
        return error_memory(error, "tuning records");
    c->lines[c->line_count++] = (struct line){.at = at, .length = length};
    if (!record_line_scan(text, length, &line) || !line.device.at || !record_span_is(line.version, "1"))
        return HONE_OK;
    if (record_span_is(line.kind, "\"try\""))
        ok = add_try(c, &line);
    else if (record_span_is(line.kind, "\"choice\""))
        ok = add_choice(c, &line);
    else if (record_span_is(line.kind, "\"trust\""))
        ok = add_trust(c, &line);
    return ok ? HONE_OK : error_memory(error, "tuning records");
}

/* The latest first; of equals the last line. */
static int by_key(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;
    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    if (x->time != y->time)
        return x->time > y->time ? -1 : 1;
    return (x->line < y->line) - (x->line > y->line);
}

/* A line that only looks like a record supersedes nothing. */
static hone_status is_record(const struct compaction *c, const struct line *line, bool *is, hone_error *error)
{
    struct records one = {0};
    char *text = mem_new(line->length, 1);
    hone_status status = text ? HONE_OK : error_memory(error, "tuning records");
    *is = false;
    if (!status && pread(c->file, text, line->length, line->at) == (ssize_t)line->length) {
        record_blank_zeros(text, line->length);
        status = records_parse_line(&one, text, line->length, READ_ALL, error);
        *is = !status && one.skipped == 0;
    }
    records_finish(&one);
    free(text);
    return status;
}

static hone_status mark(struct compaction *c, hone_error *error)
{
    hone_status status = HONE_OK;
    bool superseded = false;
    if (c->entry_count)
        qsort(c->entries, c->entry_count, sizeof *c->entries, by_key);
    for (size_t i = 0; i < c->entry_count && !status; i++) {
        const struct entry *e = &c->entries[i];
        const bool first = i == 0 || e[-1].key != e->key, more = i + 1 < c->entry_count && e[1].key == e->key;
        superseded = superseded && !first;
        if (first && e->roles & KEPT_AS_LAST)
            c->lines[e->line].kept = true;
        else if (superseded && e->roles & DROPPABLE)
            c->lines[e->line].dropped = true;
        else if (!superseded && more && e->roles & SUPERSEDES)
            status = is_record(c, &c->lines[e->line], &superseded, error);
    }
    return status;
}

/* ---- The new file ---- */

static bool copy(int from, int to, off_t at, off_t end)
{
    char buffer[1 << 16];
    while (at < end) {
        const size_t wanted = end - at < (off_t)sizeof buffer ? (size_t)(end - at) : sizeof buffer;
        const ssize_t got = pread(from, buffer, wanted, at);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0 || !file_write_all(to, buffer, (size_t)got))
            return false;
        at += got;
    }
    return true;
}

/* All but the lines that are dropped, each with its newline. */
static bool copy_rest(const struct compaction *c, int to, off_t size)
{
    off_t at = 0;
    bool ok = true;
    for (size_t i = 0; i < c->line_count && ok; i++) {
        const struct line *line = &c->lines[i];
        if (!line->dropped || line->kept)
            continue;
        ok = copy(c->file, to, at, line->at);
        at = line->at + (off_t)line->length + 1;
    }
    return ok && (at >= size || copy(c->file, to, at, size));
}

static hone_status rewrite(const struct compaction *c, int folder, const char *name, off_t size,
                           hone_error *error)
{
    char temporary[NAME_MAX + 1];
    snprintf(temporary, sizeof temporary, ".%.100s.compact",
             name); /* of one process at a time: it has the lock */
    unlinkat(folder, temporary, 0);
    int to = openat(folder, temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    bool ok = to >= 0 && copy_rest(c, to, size) && fsync(to) == 0;
    if (to >= 0)
        ok = close(to) == 0 && ok;
    if (ok && renameat(folder, temporary, folder, name) == 0) {
        fsync(folder); /* else a power cut may bring back the old file, which says the same */
        return HONE_OK;
    }
    hone_status status =
        error_io(error, "cannot write '%s' without what is superseded: %s", name, strerror(errno));
    unlinkat(folder, temporary, 0);
    return status;
}

static off_t dropped_bytes(const struct compaction *c)
{
    off_t bytes = 0;
    for (size_t i = 0; i < c->line_count; i++)
        bytes += c->lines[i].dropped && !c->lines[i].kept ? (off_t)c->lines[i].length + 1 : 0;
    return bytes;
}

hone_status records_compact_file(int folder, const char *name, int file, bool *done, hone_error *error)
{
    struct compaction c = {.file = file};
    struct stat info = {0};
    size_t too_long;
    *done = false;
    hone_status status = fstat(file, &info) == 0
                             ? record_lines_read(file, take_line, &c, &too_long, error)
                             : error_io(error, "cannot look at '%s': %s", name, strerror(errno));
    THEN(status, mark(&c, error));
    if (!status && dropped_bytes(&c) > info.st_size / 2) {
        status = rewrite(&c, folder, name, info.st_size, error);
        *done = !status;
    }
    free(c.lines);
    free(c.entries);
    return status;
}
