/* SPDX-License-Identifier: BSD-2-Clause */
/* Ranges of pages and frames. */
#include "cli/apply/apply.h"

#include <errno.h>
#include <stdlib.h>

static bool parse_count(const char **at, uint64_t *to)
{
    char *end = NULL;
    if (**at < '0' || **at > '9')
        return false;
    errno = 0;
    *to = strtoull(*at, &end, 10);
    *at = end;
    return errno == 0 && *to > 0;
}

bool apply_parse_range(const char *text, uint64_t *first, uint64_t *last)
{
    const char *at = text;
    *first = *last = 0;
    if (*at != '-' && !parse_count(&at, first))
        return false;
    if (*at == '\0')
        *last = *first;
    else if (*at++ != '-' || (*at && !parse_count(&at, last)) || *at)
        return false;
    return (*first || *last) && (!*last || *first <= *last);
}
