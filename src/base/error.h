/* SPDX-License-Identifier: BSD-2-Clause */
/* Filling a hone_error. Each function returns the status it was given, so that `return error_set(...)` reads
 * well. */
#ifndef BASE_ERROR_H
#define BASE_ERROR_H

#include "hone/status.h"

/* Writes status and message (printf style). `error` may be NULL. */
hone_status error_set(hone_error *error, hone_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Puts "prefix: " before the message that is there, for a caller that knows more about where it happened. */
void error_prefix(hone_error *error, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* HONE_ERROR_MEMORY with a message that names what was wanted. */
hone_status error_memory(hone_error *error, const char *what);

#endif
