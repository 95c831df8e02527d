/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/error.h"

#include "base/mem.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const char *hone_status_name(hone_status status)
{
    static const char *const names[] = {"HONE_OK",
                                        "HONE_ERROR_USAGE",
                                        "HONE_ERROR_IO",
                                        "HONE_ERROR_NO_DEVICE",
                                        "HONE_ERROR_DEVICE",
                                        "HONE_ERROR_MEMORY",
                                        "HONE_ERROR_UNSUPPORTED",
                                        "HONE_ERROR_CHECK",
                                        "HONE_ERROR_INTERNAL"};
    return (unsigned)status < COUNT_OF(names) ? names[status] : "unknown status";
}

/* A message is one line: what comes from a driver or a file may hold anything. */
static void make_one_line(char *text)
{
    for (; *text; text++)
        if ((unsigned char)*text < 0x20 || *text == 0x7f)
            *text = ' ';
}

hone_status error_set(hone_error *error, hone_status status, const char *format, ...)
{
    if (!error)
        return status;
    va_list args;
    va_start(args, format);
    error->status = status;
    error->cl_code = 0;
    error->column = 0;
    error->log[0] = '\0';
    vsnprintf(error->message, sizeof error->message, format, args);
    va_end(args);
    make_one_line(error->message);
    return status;
}

void error_prefix(hone_error *error, const char *format, ...)
{
    if (!error)
        return;
    char old[sizeof error->message];
    memcpy(old, error->message, sizeof old);
    va_list args;
    va_start(args, format);
    int used = vsnprintf(error->message, sizeof error->message, format, args);
    va_end(args);
    const int left = (int)sizeof error->message - used;
    if (used >= 0 && left > 0)
        snprintf(error->message + used, (size_t)left, ": %.*s", left, old);
    make_one_line(error->message);
}

hone_status error_memory(hone_error *error, const char *what)
{
    return error_set(error, HONE_ERROR_MEMORY, "out of memory for %s", what);
}

hone_status error_pass(hone_error *error, const hone_error *from)
{
    if (error)
        *error = *from;
    return from->status;
}
