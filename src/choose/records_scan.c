/* SPDX-License-Identifier: BSD-2-Clause */
#include "choose/records_scan.h"

#include "base/error.h"
#include "base/mem.h"
#include "choose/records.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- One line ---- */

/* Behind a string that begins at `at`; NULL: it does not end. */
static const char *skip_string(const char *at, const char *end)
{
    for (at++; at < end && *at != '"'; at++)
        if (*at == '\\')
            at++;
    return at < end ? at + 1 : NULL;
}

/* Behind a value that begins at `at`; NULL: it does not end, or there are spaces in it. */
static const char *skip_value(const char *at, const char *end)
{
    int depth = 0;
    while (at && at < end) {
        if (*at == '"') {
            at = skip_string(at, end);
        } else if (*at == ' ' || *at == '\t' || *at == '\r') {
            return NULL;
        } else if (depth == 0 && (*at == ',' || *at == '}')) {
            return at;
        } else {
            depth += (*at == '{' || *at == '[') - (*at == '}' || *at == ']');
            at++;
        }
        if (depth < 0)
            return NULL;
    }
    return NULL;
}

static void keep_value(struct record_line *line, const char *key, size_t length, const char *at, size_t size)
{
    const struct {
        const char *name;
        struct record_span *to;
    } wanted[] = {
        {"\"v\"", &line->version},      {"\"kind\"", &line->kind},       {"\"device\"", &line->device},
        {"\"case\"", &line->of_case},   {"\"origin\"", &line->origin},   {"\"informs\"", &line->informs},
        {"\"time\"", &line->time},      {"\"state\"", &line->state},     {"\"session\"", &line->session},
        {"\"config\"", &line->config},  {"\"variant\"", &line->variant}, {"\"program\"", &line->program},
        {"\"verdict\"", &line->verdict}};
    for (size_t i = 0; i < COUNT_OF(wanted); i++)
        if (strlen(wanted[i].name) == length && memcmp(key, wanted[i].name, length) == 0)
            *wanted[i].to = (struct record_span){at, size};
}

bool record_line_scan(const char *line, size_t length, struct record_line *out)
{
    const char *at = line + 1, *end = line + length;
    *out = (struct record_line){0};
    if (length < 2 || line[0] != '{' || end[-1] != '}')
        return false;
    while (at < end) {
        const char *key = at, *colon = *at == '"' ? skip_string(at, end) : NULL;
        if (!colon || colon == end || *colon != ':' || memchr(key, '\\', (size_t)(colon - key)))
            return false;
        const char *value = colon + 1, *behind = skip_value(value, end);
        if (!behind)
            return false;
        keep_value(out, key, (size_t)(colon - key), value, (size_t)(behind - value));
        if (behind == end - 1)
            return true;
        if (*behind != ',')
            return false;
        at = behind + 1;
    }
    return false;
}

bool record_span_is(struct record_span span, const char *text)
{
    return span.at && span.length == strlen(text) && memcmp(span.at, text, span.length) == 0;
}

int64_t record_span_number(const struct record_span *span)
{
    char text[32], *end;
    if (!span->at || span->length >= sizeof text)
        return 0;
    memcpy(text, span->at, span->length);
    text[span->length] = '\0';
    const long long number = strtoll(text, &end, 10);
    return end > text && *end == '\0' ? number : 0;
}

/* ---- Many lines ---- */

enum { BUFFER = 1 << 20 };

struct reading {
    char *buffer;
    size_t held;  /* bytes in the buffer */
    off_t at;     /* of its first byte in the file */
    bool passing; /* in the middle of a line that is too long */
    record_line_taker *take;
    void *context;
    size_t *too_long;
};

void record_blank_zeros(char *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (bytes[i] == '\0')
            bytes[i] = ' ';
}

static hone_status take_line(struct reading *r, size_t from, size_t length, hone_error *error)
{
    const bool passed = r->passing;
    r->passing = false;
    if (!passed && length > 0 && length <= RECORD_MAX_LINE)
        return r->take(r->context, r->buffer + from, length, r->at + (off_t)from, error);
    *r->too_long += length > RECORD_MAX_LINE || passed;
    return HONE_OK;
}

/* Takes the whole lines of the buffer, and moves what is left to its beginning. */
static hone_status take_lines(struct reading *r, bool last, hone_error *error)
{
    hone_status status = HONE_OK;
    size_t from = 0;
    char *newline;
    while (!status && (newline = memchr(r->buffer + from, '\n', r->held - from))) {
        const size_t length = (size_t)(newline - r->buffer) - from;
        status = take_line(r, from, length, error);
        from += length + 1;
    }
    if (!status && last && (from < r->held || r->passing))
        status = take_line(r, from, r->held - from, error);
    memmove(r->buffer, r->buffer + from, r->held - from);
    r->held -= from;
    r->at += (off_t)from;
    if (r->held > RECORD_MAX_LINE) { /* its end is nowhere yet */
        r->passing = true;
        r->at += (off_t)r->held;
        r->held = 0;
    }
    return status;
}

hone_status record_lines_read(int file, record_line_taker *take, void *context, size_t *too_long,
                              hone_error *error)
{
    struct reading r = {.buffer = mem_new(BUFFER, 1), .take = take, .context = context, .too_long = too_long};
    hone_status status = r.buffer ? HONE_OK : error_memory(error, "tuning records");
    *too_long = 0;
    for (ssize_t got = 1; !status && got > 0;) {
        got = pread(file, r.buffer + r.held, BUFFER - r.held, r.at + (off_t)r.held);
        if (got < 0 && errno == EINTR) {
            got = 1;
        } else if (got < 0) {
            status = error_io(error, "cannot read the tuning records: %s", strerror(errno));
        } else {
            record_blank_zeros(r.buffer + r.held, (size_t)got);
            r.held += (size_t)got;
            status = take_lines(&r, got == 0, error);
        }
    }
    free(r.buffer);
    return status;
}
