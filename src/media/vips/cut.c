/* SPDX-License-Identifier: BSD-2-Clause */
/* Files that end too early. Decoders of stacks and animations take the pages that are there for all of them,
 * and say nothing. */
#include "media/vips/internal.h"

#include "base/file.h"
#include "media/tiff_file.h"

#include <string.h>

/* ---- TIFF: each directory says where the next one is ---- */

/* Whether the directory at *at is beyond the end; else *at becomes the place of the next one, 0 after the
 * last. Some writers leave that place out behind the only one. */
static bool ends_before(const struct tiff_file *file, uint64_t size, uint64_t *at)
{
    uint64_t count = 0, next = 0;
    if (*at > size || size - *at < tiff_count_bytes(file))
        return true;
    if (!tiff_file_directory(file, *at, &count, &next))
        next = count = 0;
    const uint64_t bytes = tiff_count_bytes(file) + count * tiff_entry_bytes(file);
    const bool cut = count > 0 && size - *at < bytes;
    *at = next;
    return cut;
}

/* What a file's chain of directories leads to. */
struct chain {
    uint64_t count;
    bool cut, loops;
};

/* A chain may lead back to where it was: now and then a place is marked. */
static struct chain follow_chain(const struct media_input *input)
{
    struct tiff_file file = {.fd = input->fd};
    struct chain chain = {0};
    uint64_t at = 0, marked = 0, until = 1;
    if (!tiff_file_begin(&file, &at))
        return chain;
    while (at && !chain.cut && !chain.loops) {
        if (++chain.count == until) {
            marked = at;
            until *= 2;
        }
        chain.cut = ends_before(&file, (uint64_t)input->bytes, &at);
        chain.loops = at == marked;
    }
    return chain;
}

static hone_status tell_cut(const struct media_input *input, hone_error *error)
{
    if (!input->options.accept_damaged)
        return media_bad(input, error,
                         "the file is cut off: images of it may be missing (--accept-damaged takes what can "
                         "be decoded)");
    media_note(input, MEDIA_WARNING, "the file is cut off: images of it may be missing");
    return HONE_OK;
}

static hone_status tell_missing(const struct media_input *input, const struct chain *chain, unsigned pages,
                                hone_error *error)
{
    if (!input->options.accept_damaged)
        return media_bad(
            input, error,
            " holds %llu images, but the directory of number %u is damaged, and libtiff finds none "
            "from there on (--pages A-B takes images before it, --accept-damaged all of these)",
            (unsigned long long)chain->count, pages + 1);
    media_note(input, MEDIA_WARNING, " holds %llu images, and those from number %u on cannot be read",
               (unsigned long long)chain->count, pages + 1);
    return HONE_OK;
}

hone_status vips_check_end(const struct media_input *input, unsigned pages, hone_error *error)
{
    const char *format = input->info.format;
    const bool all = input->options.stack && !input->options.first_page;
    struct chain chain = {0};
    if (strcmp(format, "TIFF") == 0)
        chain = follow_chain(input);
    if (chain.cut || (strcmp(format, "GIF") == 0 && vips_is_cut_gif(input)))
        return tell_cut(input, error);
    return all && !chain.loops && chain.count > pages ? tell_missing(input, &chain, pages, error) : HONE_OK;
}
