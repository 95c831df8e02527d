/* SPDX-License-Identifier: BSD-2-Clause */
/* Filling a hone_error, and passing a status on. Each function returns the status it was given, so that
 * `return error_set(...)` reads well. */
#pragma once

#include "hone/status.h"

/* Writes status and message (printf style). `error` may be NULL. */
hone_status error_set(hone_error *error, hone_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
#define error_usage(error, ...)       error_set(error, HONE_ERROR_USAGE, __VA_ARGS__)
#define error_io(error, ...)          error_set(error, HONE_ERROR_IO, __VA_ARGS__)
#define error_unsupported(error, ...) error_set(error, HONE_ERROR_UNSUPPORTED, __VA_ARGS__)

/* Puts "prefix: " before the message that is there, for a caller that knows more about where it happened. */
void error_prefix(hone_error *error, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Hands `from`, an error of its own, on to a caller. */
hone_status error_pass(hone_error *error, const hone_error *from);

/* HONE_ERROR_MEMORY with a message that names what was wanted. */
hone_status error_memory(hone_error *error, const char *what);

/* Calls what returns a status, and leaves the function with that status if it is an error. */
#define TRY(...)                                                                                             \
    do {                                                                                                     \
        const hone_status tried = (__VA_ARGS__);                                                             \
        if (tried)                                                                                           \
            return tried;                                                                                    \
    } while (0)

/* Where there is something to clean up: calls what returns a status unless `status` is an error, and keeps
 * what it returns in `status`. */
#define THEN(status, ...) ((status) = (status) ? (status) : (__VA_ARGS__))
