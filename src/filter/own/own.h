/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Filters of one's own: an OpenCL C file whose `//@filter` lines describe it (docs/own-filters.md). They
 * become the same structures as those of the folders in src/filters, and are found beside them.
 *
 * A filter that was loaded stays until the process ends, so that whoever holds one need not count; a changed
 * file becomes a new filter, which takes the old one's name.
 */
#pragma once

#include "filter/filter.h"

/* The filter that was loaded last by this name, or from this path; NULL: none. Threads: safe. */
const struct hone_filter *own_find(const char *name);
/* In the order of loading, without those that were replaced; NULL beyond the last. Threads: safe. */
const struct hone_filter *own_at(size_t index);
/* Another file may have the name of this one from now on. What has the filter keeps it. */
void own_forget(const struct hone_filter *filter);

/* Makes a failed build the author's mistake, with file, line and column, if the compiler's log names a place
 * in the text: then HONE_ERROR_USAGE, else `status`. */
hone_status own_blame(const struct own_source *own, hone_status status, hone_error *error);

/* ---- Within this folder ---- */

/* A filter and all that its description points to. */
struct own {
    struct hone_filter filter;
    struct own_source source;
    struct variant variants[8];
    unsigned passes[8], scratch[8]; /* of each variant, so far */
    size_t variant_count;
    struct seed seeds[5];  /* the last one ends them */
    const char *window[4]; /* left, right, top, bottom */
    int window_line;       /* of the file, from 1 */
    struct own *older;     /* loaded before */
    bool replaced;
    char **texts; /* all strings */
    size_t text_count, text_capacity;
    bool failed; /* memory ran out */
};

/* A copy of `length` bytes that lives as long as the filter; "" when memory runs out, which is remembered. */
const char *own_keep(struct own *own, const char *text, size_t length);
const char *own_format(struct own *own, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Reads the `//@filter` lines of own->source.text. */
hone_status own_parse(struct own *own, hone_error *error);
/* Completes what was read: the variants of a pixel function, or the checks of kernels. */
hone_status own_complete(struct own *own, hone_error *error);
