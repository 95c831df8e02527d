/* SPDX-License-Identifier: BSD-2-Clause */
/* Lines of records as text: what can be told of them without a parser, and reading them one by one. */
#pragma once

#include "hone/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct record_span {
    const char *at; /* NULL: the line does not have it */
    size_t length;
};

/* Values of a line, as they stand there. */
struct record_line {
    struct record_span version, kind, device, of_case, origin, informs, time;
    struct record_span state, session, config, variant, program, verdict;
};

/* False where the line does not have the form that hone writes: then it has to be parsed. True does not say
 * that a parser would take it. */
bool record_line_scan(const char *line, size_t length, struct record_line *out);

bool record_span_is(struct record_span span, const char *text);
/* As the parser reads it: what is no whole number is 0. */
int64_t record_span_number(const struct record_span *span);

/* A disk that failed leaves zero bytes; they must not end a text. */
void record_blank_zeros(char *bytes, size_t count);

/* Takes one line, without its newline. Zero bytes in it have become spaces. */
typedef hone_status record_line_taker(void *context, const char *line, size_t length, off_t at,
                                      hone_error *error);

/* Gives all lines of an open file to `take`, in order, with little memory; empty ones, and those longer than
 * RECORD_MAX_LINE, are left out. *too_long counts the latter. */
hone_status record_lines_read(int file, record_line_taker *take, void *context, size_t *too_long,
                              hone_error *error);
