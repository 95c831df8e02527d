/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/options.h"

#include <stdbool.h>
#include <string.h>

static bool all_zero(const char *bytes, size_t count)
{
    size_t i = 0;
    while (i < count && bytes[i] == 0)
        i++;
    return i == count;
}

hone_status options_take(void *to, const void *from, size_t known, size_t first, const char *name,
                         hone_error *error)
{
    enum { ABSURD = 1 << 16 };
    size_t size = 0;
    memset(to, 0, known);
    if (!from)
        return HONE_OK;
    memcpy(&size, from, sizeof size);
    if (size && (size < first || size > ABSURD))
        return error_usage(error, "size of %s is %zu: it must be sizeof(%s), or 0", name, size, name);
    size = size ? size : first;
    if (size > known && !all_zero((const char *)from + known, size - known))
        return error_unsupported(
            error,
            "%s has options set that this libhone does not know: the program was compiled for a newer one",
            name);
    memcpy(to, from, size < known ? size : known);
    return HONE_OK;
}
