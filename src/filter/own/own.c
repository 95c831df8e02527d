/* SPDX-License-Identifier: BSD-2-Clause */
#include "filter/own/own.h"

#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/text.h"
#include "filter/case.h"
#include "filter/registry.h"
#include "hone/filter.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_TEXT = 1 << 20 };

/* ---- Strings ---- */

static const char *keep(struct own *own, char *text)
{
    if (!text || !mem_grow(&own->texts, &own->text_capacity, own->text_count + 1, sizeof *own->texts)) {
        free(text);
        own->failed = true;
        return "";
    }
    own->texts[own->text_count++] = text;
    return text;
}

const char *own_keep(struct own *own, const char *text, size_t length)
{
    return keep(own, mem_copy_text_n(text, length));
}

const char *own_format(struct own *own, const char *format, ...)
{
    char *made = NULL;
    va_list args;
    va_start(args, format);
    if (vasprintf(&made, format, args) < 0)
        made = NULL;
    va_end(args);
    return keep(own, made);
}

static void release(struct own *own)
{
    for (size_t i = 0; i < own->text_count; i++)
        free(own->texts[i]);
    free(own->texts);
    free(own);
}

/* ---- Those that are there ---- */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct own *newest; /* entries change in `replaced` alone */

static struct own *find(const char *name)
{
    struct own *own = newest;
    while (own &&
           (own->replaced || (strcmp(own->filter.name, name) != 0 && strcmp(own->source.path, name) != 0)))
        own = own->older;
    return own;
}

const struct hone_filter *own_find(const char *name)
{
    pthread_mutex_lock(&lock);
    const struct own *own = find(name);
    pthread_mutex_unlock(&lock);
    return own ? &own->filter : NULL;
}

const struct hone_filter *own_at(size_t index)
{
    const struct own *found = NULL;
    size_t count = 0;
    pthread_mutex_lock(&lock);
    for (const struct own *own = newest; own; own = own->older)
        count += !own->replaced;
    for (const struct own *own = newest; own && index < count; own = own->older)
        if (!own->replaced && --count == index)
            found = own;
    pthread_mutex_unlock(&lock);
    return found ? &found->filter : NULL;
}

void own_forget(const struct hone_filter *filter)
{
    pthread_mutex_lock(&lock);
    for (struct own *own = newest; own; own = own->older)
        own->replaced = own->replaced || &own->filter == filter;
    pthread_mutex_unlock(&lock);
}

static bool is_same(const struct own *own, const char *path, const char *text)
{
    return own && strcmp(own->source.path, path) == 0 && strcmp(own->source.text, text) == 0;
}

/* Two files may not fight for one name; the same file may have changed. */
static hone_status add(struct own *own, hone_error *error)
{
    hone_status status = HONE_OK;
    pthread_mutex_lock(&lock);
    struct own *there = find(own->filter.name);
    if (there && strcmp(there->source.path, own->source.path) != 0) {
        status = error_usage(error, "'%s' and '%s' are both named '%s'; rename one of them",
                             there->source.path, own->source.path, own->filter.name);
    } else {
        if (there)
            there->replaced = true;
        own->older = newest;
        newest = own;
    }
    pthread_mutex_unlock(&lock);
    return status;
}

/* ---- Loading ---- */

/* The name of the file without its folder and its ending. */
static hone_status take_name(struct own *own, hone_error *error)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789_-";
    const char *path = own->source.path, *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    const size_t length = text_ends(name, ".cl") ? strlen(name) - 3 : strlen(name);
    if (strpbrk(path, "\"\\\n"))
        return error_usage(error, "the path of a filter may not contain quotes or backslashes");
    if (length == 0 || length > 31 || strspn(name, letters) < length || name[0] < 'a' || name[0] > 'z')
        return error_usage(
            error,
            "'%s': the filter is named like its file, which must begin with a small letter, go "
            "on with small letters, digits, '-' or '_', and be at most 31 characters long",
            path);
    own->filter.name = own_keep(own, name, length);
    if (registry_built_in(own->filter.name))
        return error_usage(error, "'%s': hone has a filter '%s' already; rename the file", path,
                           own->filter.name);
    return HONE_OK;
}

static hone_status make(struct own *own, const char *path, const char *text, hone_error *error)
{
    own->filter.own = &own->source;
    own->source.path = own_keep(own, path, strlen(path));
    own->source.text = own_keep(own, text, strlen(text));
    hone_status status = take_name(own, error);
    THEN(status, own_parse(own, error));
    THEN(status, own_complete(own, error));
    return !status && own->failed ? error_memory(error, "a filter") : status;
}

/* Loads the filter of a file's text. The same text from the same path is loaded once. */
static hone_status own_load(const struct hone_filter **out, const char *path, const char *text,
                            hone_error *error)
{
    pthread_mutex_lock(&lock);
    const struct own *there = find(path);
    const bool same = is_same(there, path, text);
    pthread_mutex_unlock(&lock);
    if (same) {
        *out = &there->filter;
        return HONE_OK;
    }
    struct own *own = mem_new(1, sizeof *own);
    if (!own)
        return error_memory(error, "a filter");
    hone_status status = make(own, path, text, error);
    THEN(status, add(own, error));
    if (status)
        release(own);
    else
        *out = &own->filter;
    return status;
}

hone_status own_blame(const struct own_source *own, hone_status status, hone_error *error)
{
    const size_t path = strlen(own->path);
    const char *line = error ? error->log : "";
    for (; *line; line += strcspn(line, "\n"), line += *line == '\n') {
        const size_t length = strcspn(line, "\n");
        const char *place = memmem(line, length, own->path, path);
        if (!place || place[path] != ':' || !memmem(line, length, "error", 5))
            continue;
        return error_usage(error, "%.*s", (int)(line + length - place), place);
    }
    return status;
}

static hone_status read_text(struct text *text, const char *path, hone_error *error)
{
    hone_status status = file_read(path, MAX_TEXT, text, error);
    if (!status && strlen(text_view(text)) != text->length)
        status = error_io(error, "'%s' is no text: it has bytes of 0", path);
    return status;
}

hone_status hone_filter_load(const char *path, const char *text, hone_filter_info *out, hone_error *error)
{
    const struct hone_filter *filter = NULL;
    struct text content = {0};
    hone_filter_info info;
    if (!path || !*path)
        return error_usage(error, "hone_filter_load needs the path of a filter");
    hone_status status = text ? HONE_OK : read_text(&content, path, error);
    THEN(status, own_load(&filter, path, text_after_mark(text ? text : text_view(&content)), error));
    text_finish(&content);
    if (!status && hone_filter_find(filter->name, out ? out : &info))
        return HONE_OK;
    return status ? status : error_set(error, HONE_ERROR_INTERNAL, "'%s' is lost", path);
}
