/* SPDX-License-Identifier: BSD-2-Clause */
/* A kernel from text: "3x3: 0 1 0 1 -4 1 0 1 0", in the parameter or in a file, or a file with a row per
 * line. */
#include "filters/convolve/convolve.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FILE_LIMIT = 1 << 18, SHOWN = 40 };

static const char SEPARATORS[] = " \t\r\n,;";

struct reader {
    const char *file; /* NULL: the text is the parameter itself */
    const char *start, *at;
    hone_error *error;
};

/* Where `place` is, for people. */
static void describe_place(const struct reader *r, const char *place, char *to, size_t size)
{
    int line = 1;
    const char *begin = r->start;
    for (const char *at = r->start; at < place; at++)
        if (*at == '\n') {
            line++;
            begin = at + 1;
        }
    if (r->file)
        snprintf(to, size, "'%.200s', line %d, column %d", r->file, line, (int)(place - begin) + 1);
    else
        snprintf(to, size, "kernel=, column %d", (int)(place - r->start) + 1);
}

static int word_length(const char *word)
{
    size_t length = strcspn(word, SEPARATORS);
    return (int)(length < SHOWN ? length : SHOWN);
}

static hone_status wrong_at(const struct reader *r, const char *place, const char *what)
{
    char where[300];
    describe_place(r, place, where, sizeof where);
    return case_wrong(r->error, "convolve: %s: %s", where, what);
}

/* Skips separators and comments; true when a line ended on the way. */
static bool skip(struct reader *r)
{
    bool line = false;
    for (;;) {
        size_t length = strspn(r->at, SEPARATORS);
        line = line || memchr(r->at, '\n', length);
        r->at += length;
        if (*r->at != '#')
            return line;
        r->at += strcspn(r->at, "\n");
    }
}

static hone_status read_number(struct reader *r, double *number)
{
    char what[160], *end = NULL;
    int length = word_length(r->at);
    *number = case_parse_number(r->at, &end);
    bool plain = strspn(r->at, "0123456789+-.eE") == strcspn(r->at, SEPARATORS); /* no "nan", "inf", "0x1" */
    if (!plain || end != r->at + strcspn(r->at, SEPARATORS)) {
        snprintf(what, sizeof what, "'%.*s' is no weight; weights are numbers such as 4, -0.5 or 1e-3",
                 length, r->at);
        return wrong_at(r, r->at, what);
    }
    if (!(fabs(*number) <= 1e30) || (*number != 0 && fabs(*number) < 1e-30)) {
        snprintf(what, sizeof what,
                 "the weight %.*s is out of range; it may be 0, or 1e-30 to 1e30 with any sign", length,
                 r->at);
        return wrong_at(r, r->at, what);
    }
    r->at = end;
    return HONE_OK;
}

/* "31x7"; moves on when there is one. */
static bool read_size(struct reader *r, long *width, long *height)
{
    char *end = NULL;
    if (!(*r->at >= '0' && *r->at <= '9'))
        return false;
    long w = strtol(r->at, &end, 10);
    if ((*end != 'x' && *end != 'X') || !(end[1] >= '0' && end[1] <= '9'))
        return false;
    *width = w;
    *height = strtol(end + 1, &end, 10);
    r->at = end;
    return true;
}

static hone_status check_size(const struct reader *r, const char *place, long width, long height)
{
    char what[160];
    if (width >= 1 && width <= SIDE_MOST && height >= 1 && height <= SIDE_MOST)
        return HONE_OK;
    snprintf(what, sizeof what, "a kernel of %ldx%ld is not possible; each side is 1 to %d", width, height,
             (int)SIDE_MOST);
    return wrong_at(r, place, what);
}

static hone_status read_weights(struct reader *r, struct kernel *kernel)
{
    int wanted = kernel->width * kernel->height, count = 0;
    char what[160];
    double number;
    for (skip(r); *r->at; skip(r), count++) {
        hone_status status = read_number(r, &number);
        if (status)
            return status;
        if (count < wanted)
            kernel->weights[count] = number;
    }
    if (count == wanted)
        return HONE_OK;
    snprintf(what, sizeof what, "a kernel of %dx%d has %d weights, not %d", kernel->width, kernel->height,
             wanted, count);
    return wrong_at(r, r->at, what);
}

static hone_status read_sized(struct reader *r, struct kernel *kernel)
{
    const char *place = r->at;
    long width = 0, height = 0;
    if (!read_size(r, &width, &height))
        return wrong_at(r, place, "a kernel is written 'WIDTHxHEIGHT: weights', for example '3x1: -1 0 1'");
    hone_status status = check_size(r, place, width, height);
    if (status)
        return status;
    r->at += strspn(r->at, " \t");
    if (*r->at != ':')
        return wrong_at(r, r->at, "a ':' is missing between the size and the weights, as in '3x1: -1 0 1'");
    r->at++;
    kernel->width = (int)width;
    kernel->height = (int)height;
    return read_weights(r, kernel);
}

/* A file without a size: as many weights on every line. */
static hone_status read_rows(struct reader *r, struct kernel *kernel)
{
    char what[160];
    long width = 0, height = 0, in_line = 0;
    while (*r->at) {
        const char *place = r->at;
        double number;
        hone_status status = read_number(r, &number);
        if (!status && (in_line >= SIDE_MOST || height >= SIDE_MOST))
            status = check_size(r, place, in_line >= SIDE_MOST ? in_line + 1 : width, height + 1);
        if (status)
            return status;
        kernel->weights[height * (height ? width : 0) + in_line++] = number;
        if (!skip(r) && *r->at)
            continue;
        width = height++ ? width : in_line;
        if (in_line != width) {
            snprintf(what, sizeof what, "a row of %ld weights, where the first has %ld", in_line, width);
            return wrong_at(r, place, what);
        }
        in_line = 0;
    }
    kernel->width = (int)width;
    kernel->height = (int)height;
    return height > 0 ? HONE_OK : wrong_at(r, r->at, "there are no weights");
}

/* It may not have been meant for a file's name. */
static hone_status no_file(hone_status status, hone_error *error)
{
    const size_t length = error ? strlen(error->message) : 0;
    if (error)
        snprintf(error->message + length, sizeof error->message - length,
                 "; kernel= is a file or 'WIDTHxHEIGHT: weights', for example '3x1: -1 0 1'");
    return status;
}

static hone_status read_file(struct kernel *kernel, const char *path, hone_error *error)
{
    char *content = NULL;
    long width, height;
    hone_status status = case_read_file(path, FILE_LIMIT, &content, error);
    if (status)
        return no_file(status, error);
    struct reader r = {path, content, content, error};
    skip(&r);
    struct reader ahead = r;
    status = read_size(&ahead, &width, &height) ? read_sized(&r, kernel) : read_rows(&r, kernel);
    free(content);
    return status;
}

/* A text that begins with a size, or is a list of numbers, names no file. */
static bool is_kernel(const char *text)
{
    struct reader r = {NULL, text, text, NULL};
    long width, height;
    if (strchr(text, ':') && !strchr(text, '/'))
        return true;
    if (read_size(&r, &width, &height))
        return *r.at == '\0' || strchr(SEPARATORS, *r.at);
    return strspn(text, "0123456789+-.eE,; ") == strlen(text);
}

hone_status kernel_read(struct kernel *kernel, const char *text, hone_error *error)
{
    const char *begin = text + strspn(text, " \t\r\n");
    struct reader r = {NULL, text, begin, error};
    return is_kernel(begin) ? read_sized(&r, kernel) : read_file(kernel, text, error);
}
