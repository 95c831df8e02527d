/* SPDX-License-Identifier: BSD-2-Clause */
/* Pages of any sizes in one TIFF. libvips writes each as a file of its own, whose bytes are taken as they
 * are, with their compression and all that they say. New directories behind them tell where they lie now. */
#include "media/reader.h"

#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/text.h"
#include "media/tiff_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Of a classic TIFF; the rest of its 4 GB is room for directories. */
#define CLASSIC_BYTES (UINT64_C(4000) << 20)

enum { HEADER_BYTES = 16, MOST_ADDED = 2, GAP_BYTES = 1 << 20 };
enum { TAG_NEW_SUBFILE = 254, TAG_SUBFILE = 255, TAG_STRIPS = 273, TAG_PAGE_NUMBER = 297, TAG_TILES = 324 };

struct page {
    uint64_t base; /* where its file begins in the output */
    unsigned kind; /* NewSubfileType */
};

struct media_pages {
    int fd, part; /* the output, and the file of the next page */
    char *name;
    struct page *pages;
    size_t count, capacity;
    uint64_t end; /* of what the output holds */
    uint64_t gap; /* behind the first page of a stack, for the directory of the second; 0: there is none */
    uint64_t classic_bytes;
    bool big; /* one of the pages is a BigTIFF */
};

hone_status media_pages_begin(struct media_pages **out, int fd, const char *name, const char *beside,
                              uint64_t classic_bytes, hone_error *error)
{
    struct media_pages *pages = *out = mem_new(1, sizeof *pages);
    if (!pages || !(pages->name = mem_copy_text(name))) {
        free(pages);
        *out = NULL;
        return error_memory(error, "a file of pages");
    }
    pages->fd = fd;
    pages->part = -1;
    pages->end = HEADER_BYTES;
    pages->classic_bytes = classic_bytes ? classic_bytes : CLASSIC_BYTES;
    hone_status status = file_unnamed(&pages->part, beside, error);
    if (status)
        media_pages_free(out);
    return status;
}

int media_pages_file(const struct media_pages *pages)
{
    return pages->part;
}

void media_pages_free(struct media_pages **slot)
{
    struct media_pages *pages = *slot;
    if (!pages)
        return;
    if (pages->part >= 0)
        close(pages->part);
    free(pages->pages);
    free(pages->name);
    free(pages);
    *slot = NULL;
}

/* ---- Bytes of pages ---- */

static hone_status cannot(const struct media_pages *pages, int code, hone_error *error)
{
    return error_io(error, "cannot write '%s': %s", pages->name, strerror(code));
}

/* The file of the page to the end of the output, from `base` on; 0 or an errno. */
static int copy_part(struct media_pages *pages, uint64_t base)
{
    char bytes[65536];
    ssize_t count = -1;
    if (lseek(pages->part, 0, SEEK_SET) == 0 && lseek(pages->fd, (off_t)base, SEEK_SET) == (off_t)base)
        while ((count = read(pages->part, bytes, sizeof bytes)) > 0)
            if (!file_write_all(pages->fd, bytes, (size_t)count))
                return errno;
    return count == 0 ? 0 : errno;
}

/* Smaller copies of other pages stay what they are; what was a mask is an image now. */
static unsigned kind_of_page(const struct media_input *like)
{
    const unsigned reduced = 1, page = 2;
    struct tiff_layout layout = {0};
    return media_tiff_layout(like, &layout) && layout.subfile & reduced ? layout.subfile & (reduced | page)
                                                                        : page;
}

/* tifffile takes a stack of ImageJ's for one block of pixels where the second directory is behind as many
 * bytes. */
static void leave_gap(struct media_pages *pages)
{
    pages->gap = (pages->end + 1) / 2 * 2;
    pages->end = pages->gap + GAP_BYTES;
}

hone_status media_pages_add(struct media_pages *pages, const struct media_input *like, hone_error *error)
{
    struct tiff_file file = {.fd = pages->part};
    const uint64_t align = 16, base = (pages->end + align - 1) / align * align;
    const off_t size = lseek(pages->part, 0, SEEK_END);
    uint64_t first = 0;
    if (size < 0 || !tiff_file_begin(&file, &first))
        return cannot(pages, size < 0 ? errno : EIO, error);
    if (!mem_grow(&pages->pages, &pages->capacity, pages->count + 1, sizeof *pages->pages))
        return error_memory(error, "a file of pages");
    int code = copy_part(pages, base);
    if (!code && (ftruncate(pages->part, 0) != 0 || lseek(pages->part, 0, SEEK_SET) != 0))
        code = errno;
    if (code)
        return cannot(pages, code, error);
    pages->pages[pages->count++] = (struct page){base, kind_of_page(like)};
    pages->end = base + (uint64_t)size;
    if (pages->count == 1 && like && media_get_info(like)->alike)
        leave_gap(pages);
    pages->big = pages->big || file.big;
    return HONE_OK;
}

/* ---- Directories ---- */

/* The new directories of all pages. */
struct directories {
    struct tiff_emission out, gap;
    struct tiff_emission *last; /* which of them has the directory before; NULL: there is none */
    size_t next;                /* among its bytes: the place that leads to the next directory */
    uint64_t first;
};

/* Places in the page's file, to places in the output. */
static bool take_places(struct tiff_emission *e, const struct tiff_file *from, const struct tiff_entry *entry,
                        struct tiff_field *field)
{
    const unsigned size = tiff_number_bytes(entry->type);
    const size_t wide = tiff_offset_bytes(&e->to);
    const uint64_t place = entry->count > 1 ? tiff_emit_place(e) : 0;
    uint64_t to = 0;
    if (size < 2 || entry->bytes != entry->count * size)
        return false;
    for (uint64_t i = 0; i < entry->count; i++) {
        unsigned char bytes[8];
        if (!tiff_file_read(from, bytes, size, entry->at + i * size))
            return false;
        to = from->base + tiff_get(from, bytes, size);
        if (entry->count > 1)
            tiff_emit_number(e, wide, to);
    }
    field->type = e->to.big ? TIFF_TYPE_LONG8 : TIFF_TYPE_LONG;
    tiff_put(&e->to, field->value, wide, entry->count > 1 ? place : to);
    return true;
}

/* Values stay where they are, unless they fit into the entry. */
static bool take_value(const struct tiff_emission *e, const struct tiff_file *from,
                       const struct tiff_entry *entry, struct tiff_field *field)
{
    const size_t wide = tiff_offset_bytes(&e->to);
    if (entry->bytes <= wide)
        return tiff_file_read(from, field->value, (size_t)entry->bytes, entry->at);
    tiff_put(&e->to, field->value, wide, from->base + entry->at);
    return true;
}

static bool leads_on(unsigned tag)
{
    return tag == TIFF_TAG_EXIF || tag == TIFF_TAG_GPS || tag == TIFF_TAG_INTEROP;
}

static size_t take_entries(struct tiff_emission *e, const struct tiff_file *from, uint64_t at, unsigned depth,
                           struct tiff_field *fields, bool *ok);

/* A directory below another one. Its place; 0: it is not as it was written. */
static uint64_t emit_below(struct tiff_emission *e, const struct tiff_file *from, uint64_t at, unsigned depth)
{
    struct tiff_field *fields = depth ? mem_new(TIFF_MOST_ENTRIES, sizeof *fields) : NULL;
    bool ok = fields != NULL;
    const size_t count = ok ? take_entries(e, from, at, depth - 1, fields, &ok) : 0;
    const uint64_t place = ok ? tiff_emit_fields(e, fields, count) : 0;
    tiff_emit_number(e, tiff_offset_bytes(&e->to), 0);
    free(fields);
    return place;
}

static bool take_link(struct tiff_emission *e, const struct tiff_file *from, const struct tiff_entry *entry,
                      unsigned depth, struct tiff_field *field)
{
    const uint64_t place = emit_below(e, from, tiff_file_number(from, entry), depth);
    field->type = e->to.big ? TIFF_TYPE_IFD8 : TIFF_TYPE_LONG;
    tiff_put(&e->to, field->value, tiff_offset_bytes(&e->to), place);
    return place != 0;
}

/* The entries of the directory at `at`, with those below it. */
static size_t take_entries(struct tiff_emission *e, const struct tiff_file *from, uint64_t at, unsigned depth,
                           struct tiff_field *fields, bool *ok)
{
    struct tiff_entry entry;
    uint64_t entries = 0, next = 0;
    size_t count = 0;
    *ok = tiff_file_directory(from, at, &entries, &next);
    for (uint64_t i = 0; i < entries && *ok; i++) {
        *ok = tiff_file_entry(from, at, i, &entry);
        struct tiff_field *field = &fields[count++];
        *field = (struct tiff_field){entry.tag, entry.type, entry.count, {0}};
        if (*ok && (entry.tag == TAG_STRIPS || entry.tag == TAG_TILES))
            *ok = take_places(e, from, &entry, field);
        else if (*ok && leads_on(entry.tag))
            *ok = take_link(e, from, &entry, depth, field);
        else if (*ok)
            *ok = take_value(e, from, &entry, field);
    }
    return count;
}

/* What pages of a file say of their place in it. */
static size_t add_place(const struct tiff_emission *e, const struct media_pages *pages, size_t index,
                        struct tiff_field *fields, size_t count)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++)
        if (fields[i].tag != TAG_NEW_SUBFILE && fields[i].tag != TAG_SUBFILE &&
            fields[i].tag != TAG_PAGE_NUMBER)
            fields[kept++] = fields[i];
    struct tiff_field *kind = &fields[kept++], *number = &fields[kept++];
    *kind = (struct tiff_field){TAG_NEW_SUBFILE, TIFF_TYPE_LONG, 1, {0}};
    tiff_put(&e->to, kind->value, 4, pages->pages[index].kind);
    *number = (struct tiff_field){TAG_PAGE_NUMBER, TIFF_TYPE_SHORT, 2, {0}};
    tiff_put(&e->to, number->value, 2, index);
    tiff_put(&e->to, number->value + 2, 2, pages->count);
    return kept;
}

/* From the directory before, or the header, to this one; the next will follow from its end. */
static void link_page(struct directories *d, struct tiff_emission *e, uint64_t place)
{
    const size_t wide = tiff_offset_bytes(&e->to);
    if (!d->last)
        d->first = place;
    else if (!d->last->bytes.failed)
        tiff_put(&e->to, d->last->bytes.data + d->next, wide, place);
    d->last = e;
    d->next = e->bytes.length;
    tiff_emit_number(e, wide, 0);
}

static bool emit_page(struct directories *d, const struct media_pages *pages, size_t index,
                      struct tiff_emission *e)
{
    const unsigned deepest = 3; /* a page, EXIF, and what that leads to */
    struct tiff_file from = {.fd = pages->fd, .base = pages->pages[index].base};
    struct tiff_field *fields = mem_new(TIFF_MOST_ENTRIES + MOST_ADDED, sizeof *fields);
    uint64_t first = 0;
    size_t count = 0;
    bool ok = fields && tiff_file_begin(&from, &first);
    e->to.big_endian = from.big_endian; /* that of this machine: libvips writes no other */
    if (ok)
        count = take_entries(e, &from, first, deepest, fields, &ok);
    if (ok) {
        count = add_place(e, pages, index, fields, count);
        link_page(d, e, tiff_emit_fields(e, fields, count));
    }
    free(fields);
    return ok && !e->bytes.failed;
}

static bool emit_any(struct directories *d, const struct media_pages *pages, size_t index)
{
    const struct directories before = *d;
    if (index != 1 || !pages->gap)
        return emit_page(d, pages, index, &d->out);
    if (!emit_page(d, pages, index, &d->gap))
        return false;
    if (d->gap.bytes.length <= GAP_BYTES)
        return true;
    text_finish(&d->gap.bytes);
    *d = before;
    return emit_page(d, pages, index, &d->out);
}

static bool write_at(int fd, const void *bytes, size_t count, uint64_t at)
{
    return lseek(fd, (off_t)at, SEEK_SET) >= 0 && file_write_all(fd, bytes, count);
}

/* 0 or an errno. */
static int write_directories(const struct media_pages *pages, const struct directories *d)
{
    const struct tiff_emission *e = &d->out;
    const unsigned version = e->to.big ? 43 : 42;
    unsigned char header[HEADER_BYTES] = {0};
    memset(header, e->to.big_endian ? 'M' : 'I', 2);
    tiff_put(&e->to, header + 2, 2, version);
    if (e->to.big)
        tiff_put(&e->to, header + 4, 2, tiff_offset_bytes(&e->to));
    tiff_put(&e->to, header + tiff_offset_bytes(&e->to), tiff_offset_bytes(&e->to), d->first);
    if (!e->to.big && e->base + e->bytes.length > UINT32_MAX)
        return EFBIG;
    const bool ok = write_at(pages->fd, e->bytes.data, e->bytes.length, e->base) &&
                    write_at(pages->fd, text_view(&d->gap.bytes), d->gap.bytes.length, d->gap.base) &&
                    write_at(pages->fd, header, sizeof header, 0);
    return ok ? 0 : errno;
}

hone_status media_pages_end(struct media_pages *pages, hone_error *error)
{
    const bool big = pages->big || pages->end > pages->classic_bytes;
    struct directories d = {.out = {.to = {.big = big}, .base = (pages->end + 1) / 2 * 2},
                            .gap = {.to = {.big = big}, .base = pages->gap}};
    bool ok = true;
    for (size_t i = 0; i < pages->count && ok; i++)
        ok = emit_any(&d, pages, i);
    const int code = d.out.bytes.failed || d.gap.bytes.failed ? ENOMEM
                     : ok                                     ? write_directories(pages, &d)
                                                              : EIO;
    text_finish(&d.out.bytes);
    text_finish(&d.gap.bytes);
    return code ? cannot(pages, code, error) : HONE_OK;
}
