/* SPDX-License-Identifier: BSD-2-Clause */
/* hone apply: images of several pages. Each is filtered by itself; the results lie in memory until all can be
 * written. */
#include "cli/apply/apply.h"

#include "base/error.h"
#include "base/mem.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- Ranges of pages and frames ---- */

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

bool apply_parse_pages(const char *text, unsigned *first, unsigned *last)
{
    const uint64_t most = 1000000000;
    uint64_t from, until;
    if (!apply_parse_range(text, &from, &until) || !from || !until || until > most)
        return false;
    *first = (unsigned)from;
    *last = (unsigned)until;
    return true;
}

/* ---- Pages ---- */

/* Others take memory, too: what fails in company is tried once more alone. */
static hone_status begin_stack(struct engine *engine, size_t bytes, const struct media_info *info,
                               hone_error *error)
{
    const size_t count = (size_t)info->page_count * info->parts;
    struct memory_limit limit;
    share_limit(engine->shared, &limit);
    if (!limit.is_hard || bytes <= limit.bytes / count)
        engine->stack = mem_new(bytes, count);
    engine->pages = info->page_count;
    if (engine->stack)
        return HONE_OK;
    return error_set(
        error, HONE_ERROR_MEMORY,
        "the results of %u pages need %.1f MB of memory, which there is not; --pages A-B takes some of them",
        info->page_count, (double)bytes * (double)count * 1e-6);
}

/* Elements of `size` bytes, one to each pixel of `parts`. */
static void spread(unsigned char *to, const unsigned char *from, size_t bytes, size_t size, size_t parts)
{
    for (size_t at = 0; at < bytes; at += size)
        memcpy(to + at * parts, from + at, size);
}

hone_status apply_keep_page(struct engine *engine, unsigned index, const struct media_info *info,
                            hone_error *error)
{
    const hone_image_desc *desc = &engine->output;
    const size_t bytes = hone_image_bytes(desc), size = hone_type_size(desc->type);
    const unsigned page = index / info->parts, part = index % info->parts;
    hone_status status = index == 0 ? begin_stack(engine, bytes, info, error) : HONE_OK;
    if (!status && info->parts == 1)
        memcpy(engine->stack + bytes * page, engine->out.data, bytes);
    else if (!status)
        spread(engine->stack + bytes * info->parts * page + size * part, engine->out.data, bytes, size,
               info->parts);
    return status;
}

void apply_forget_pages(struct engine *engine)
{
    free(engine->stack);
    engine->stack = NULL;
    engine->pages = 0;
}
