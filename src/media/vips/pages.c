/* SPDX-License-Identifier: BSD-2-Clause */
/* What the pages of a TIFF say of themselves: results have it of the first page alone. */
#include "media/vips/internal.h"

#include "base/mem.h"
#include "media/tiff_file.h"

#include <stdlib.h>
#include <string.h>

/* Names, descriptions, resolutions and places of a page. */
static bool is_of_page(unsigned tag)
{
    static const unsigned short tags[] = {269, 270, 271, 272, 282, 283, 285, 286, 287, 296, 305, 306, 315};
    bool found = false;
    for (size_t i = 0; i < COUNT_OF(tags) && !found; i++)
        found = tags[i] == tag;
    return found;
}

static bool find_entry(const struct tiff_file *file, uint64_t at, unsigned tag, struct tiff_entry *entry)
{
    uint64_t count = 0, next = 0;
    bool found = false;
    if (!tiff_file_directory(file, at, &count, &next))
        return false;
    for (uint64_t i = 0; i < count && !found; i++)
        found = tiff_file_entry(file, at, i, entry) && entry->tag == tag;
    return found;
}

static bool is_same(const struct tiff_file *file, const struct tiff_entry *a, const struct tiff_entry *b)
{
    unsigned char left[512], right[512];
    bool same = a->type == b->type && a->bytes == b->bytes;
    for (uint64_t done = 0; done < a->bytes && same && a->at != b->at; done += sizeof left) {
        const size_t part = a->bytes - done < sizeof left ? (size_t)(a->bytes - done) : sizeof left;
        same = tiff_file_read(file, left, part, a->at + done) &&
               tiff_file_read(file, right, part, b->at + done) && memcmp(left, right, part) == 0;
    }
    return same;
}

/* Whether a page says what another one does not. */
static bool differs(const struct tiff_file *file, uint64_t page, uint64_t count, uint64_t from)
{
    bool other = false;
    for (uint64_t i = 0; i < count && !other; i++) {
        struct tiff_entry own, first;
        other = tiff_file_entry(file, page, i, &own) && is_of_page(own.tag) &&
                !(find_entry(file, from, own.tag, &first) && is_same(file, &own, &first));
    }
    return other;
}

void vips_tell_pages(const struct media_input *input)
{
    const struct media_info *info = &input->info;
    struct tiff_file file = {.fd = input->fd};
    uint64_t at = 0, count = 0, next = 0, first = 0;
    bool more = strcmp(info->format, "TIFF") == 0 && tiff_file_begin(&file, &at), other = false;
    for (unsigned page = 1; page < info->first_page + info->page_count && more && !other; page++, at = next) {
        more = tiff_file_directory(&file, at, &count, &next);
        if (page == info->first_page)
            first = at;
        else if (page > info->first_page && more)
            other = differs(&file, at, count, first);
    }
    if (other)
        media_note(input, MEDIA_ONCE,
                   "its pages differ in description, resolution or the like; those of page %u are kept, for "
                   "all pages",
                   info->first_page);
}

void vips_first_description(const struct media_input *input, struct text *text)
{
    enum { TAG_DESCRIPTION = 270, MOST = 8 << 20 };
    struct tiff_file file = {.fd = input->fd};
    struct tiff_entry entry;
    uint64_t at = 0;
    if (!tiff_file_begin(&file, &at) || !find_entry(&file, at, TAG_DESCRIPTION, &entry) || entry.bytes > MOST)
        return;
    char *bytes = mem_new((size_t)entry.bytes + 1, 1);
    if (bytes && tiff_file_read(&file, bytes, (size_t)entry.bytes, entry.at))
        text_add(text, "%s", bytes);
    free(bytes);
}
