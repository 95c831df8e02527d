/* SPDX-License-Identifier: BSD-2-Clause */
/* hone apply: images of several pages. Each is filtered by itself. Results of one size lie in memory until
 * all can be written; of others, and where that takes too much, each is written before the next page is
 * read. */
#include "cli/apply/apply.h"

#include "base/error.h"
#include "base/mem.h"
#include "base/text.h"
#include "cli/giant/kept.h"

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
    if (!apply_parse_range(text, &from, &until) || from > most || until > most)
        return false;
    *first = from ? (unsigned)from : 1;
    *last = (unsigned)until;
    return true;
}

/* ---- Pages of one size ---- */

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

/* ---- Pages that differ in size or kind, or are many ---- */

/* An image whose pages go one by one to its output. */
struct apart {
    struct engine *engine;
    const struct item *item;
    const char *root;
    struct media_input *input;
    struct store store;
    struct media_pages *pages;
    struct apply_result *result;
};

static hone_status begin_apart(struct apart *a, hone_error *error)
{
    const bool to_stdout = apply_to_stdout(a->engine->options);
    TRY(store_begin(&a->store, a->engine, a->item, a->root, error));
    return media_pages_begin(&a->pages, a->store.fd, a->item->output, to_stdout ? NULL : a->item->output, 0,
                             error);
}

/* Says which page it was. */
static hone_status tell_page(const struct apart *a, hone_status status, bool opening, hone_error *error)
{
    const char *advice = opening ? " (--pages A-B takes other pages)" : "";
    const unsigned page = a->engine->page;
    struct text said = {0};
    if (!status || !error)
        return status;
    text_add(&said, "%s", error->message);
    if (text_starts(text_view(&said), "'"))
        error_set(error, status, "page %u of %s%s", page, text_view(&said), advice);
    else
        error_set(error, status, "page %u of '%s': %s%s", page, a->item->input, text_view(&said), advice);
    text_finish(&said);
    return status;
}

/* The next part of the output. */
static hone_status write_page(const struct apart *a, hone_error *error)
{
    struct guard_watch watch;
    guard_watch(&watch, engine_write_bound(a->engine), "writing '%s'", a->item->output);
    hone_status status = apply_encode(a->engine, a->item, media_pages_file(a->pages), a->input, error);
    guard_unwatch(&watch);
    return status;
}

static hone_status filter_apart(struct apart *a, hone_error *error)
{
    hone_status status = HONE_OK;
    a->engine->place.page = a->engine->page - 1;
    if (giant_apply(a->engine, a->item, a->root, a->input, a->pages, a->result, &status, error))
        return tell_page(a, status, false, error);
    status =
        tell_page(a, engine_filter(a->engine, a->item, a->root, a->input, a->result, error), false, error);
    THEN(status, write_page(a, error));
    apply_forget_pages(a->engine);
    return status;
}

static uint64_t pixels_of(const struct media_info *info)
{
    return (uint64_t)info->desc.width * info->desc.height * info->parts;
}

static hone_status filter_all(struct apart *a, hone_error *error)
{
    const struct media_info *info = media_get_info(a->input);
    const bool alike = info->alike > 0;
    struct apply_result first = *a->result;
    uint64_t pixels = 0;
    hone_status status = HONE_OK;
    unsigned count = 0, parts = 1;
    for (unsigned left = info->apart; left > 0 && !status; left--, count++) {
        if (count > 0)
            status = tell_page(a, engine_next_page(a->engine, a->input, a->item->input, error), true, error);
        THEN(status, filter_apart(a, error));
        THEN(status, media_pages_add(a->pages, a->input, error));
        pixels += pixels_of(info);
        first = count == 0 ? *a->result : first;
        parts = count == 0 ? info->parts : parts;
    }
    a->result->in = first.in;
    a->result->out = first.out;
    a->result->gray_alpha = first.gray_alpha;
    a->result->parts = parts;
    a->result->pages = count;
    if (a->result->bands) /* which are timed with reading and writing */
        a->result->device_seconds = 0;
    a->result->pixels = alike ? 0 : pixels;
    return status;
}

hone_status apply_apart(struct engine *engine, const struct item *item, const char *root,
                        struct media_input *input, struct apply_result *result, hone_error *error)
{
    struct apart a = {
        .engine = engine, .item = item, .root = root, .input = input, .store = STORE_NONE, .result = result};
    const unsigned pages = media_get_info(input)->pages; /* later ones are not counted again */
    engine->page = media_get_info(input)->first_page;
    hone_status status = begin_apart(&a, error);
    THEN(status, filter_all(&a, error));
    THEN(status, media_pages_end(a.pages, error));
    THEN(status, store_commit(&a.store, engine, item, error));
    if (!status && !apply_to_stdout(engine->options))
        kept_remove(item->output, pages);
    media_pages_free(&a.pages);
    store_abort(&a.store);
    engine->page = 0;
    return status;
}
