/* SPDX-License-Identifier: BSD-2-Clause */
/* TIFF 6.0, section 2, and BigTIFF. */
#include "media/tiff_file.h"

#include "base/file.h"
#include "media/reader.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { VERSION = 42, VERSION_BIG = 43, MOST_TYPES = 19 };

uint64_t tiff_get(const struct tiff_file *file, const void *bytes, size_t count)
{
    const unsigned char *from = bytes;
    uint64_t value = 0;
    for (size_t i = 0; i < count; i++)
        value = value << 8 | from[file->big_endian ? i : count - 1 - i];
    return value;
}

void tiff_put(const struct tiff_file *file, void *bytes, size_t count, uint64_t value)
{
    unsigned char *to = bytes;
    for (size_t i = 0; i < count; i++, value >>= 8)
        to[file->big_endian ? count - 1 - i : i] = (unsigned char)value;
}

size_t tiff_entry_bytes(const struct tiff_file *file)
{
    return file->big ? 20 : 12;
}

size_t tiff_offset_bytes(const struct tiff_file *file)
{
    return file->big ? 8 : 4;
}

size_t tiff_count_bytes(const struct tiff_file *file)
{
    return file->big ? 8 : 2;
}

/* Bytes of an element of a type; 0: an unknown type. */
static unsigned tiff_type_bytes(unsigned type)
{
    static const unsigned char sizes[MOST_TYPES] = {0, 1, 1, 2, 4, 8, 1, 1, 2, 4, 8, 4, 8, 4, 0, 0, 8, 8, 8};
    return type < MOST_TYPES ? sizes[type] : 0;
}

unsigned tiff_number_bytes(unsigned type)
{
    const unsigned signed_rational = 10;
    return type == TIFF_TYPE_RATIONAL || type == signed_rational ? 4 : tiff_type_bytes(type);
}

bool tiff_file_read(const struct tiff_file *file, void *bytes, size_t count, uint64_t at)
{
    if (!file->bytes)
        return at < UINT64_C(1) << 61 && file->base < UINT64_C(1) << 61 &&
               file_read_at(file->fd, bytes, count, (off_t)(file->base + at)) == (ssize_t)count;
    if (at > file->size || count > file->size - at)
        return false;
    memcpy(bytes, file->bytes + at, count);
    return true;
}

bool tiff_file_begin(struct tiff_file *file, uint64_t *first)
{
    unsigned char head[16];
    if (!tiff_file_read(file, head, 8, 0) || (memcmp(head, "II", 2) != 0 && memcmp(head, "MM", 2) != 0))
        return false;
    file->big_endian = head[0] == 'M';
    const uint64_t version = tiff_get(file, head + 2, 2);
    file->big = version == VERSION_BIG;
    if ((version != VERSION && !file->big) || (file->big && !tiff_file_read(file, head, 16, 0)))
        return false;
    *first = tiff_get(file, head + tiff_offset_bytes(file), tiff_offset_bytes(file));
    return true;
}

bool tiff_file_directory(const struct tiff_file *file, uint64_t at, uint64_t *count, uint64_t *next)
{
    unsigned char bytes[8];
    if (at == 0 || at > UINT64_C(1) << 61 || !tiff_file_read(file, bytes, tiff_count_bytes(file), at))
        return false;
    *count = tiff_get(file, bytes, tiff_count_bytes(file));
    *next = 0;
    if (*count > TIFF_MOST_ENTRIES)
        return false;
    if (tiff_file_read(file, bytes, tiff_offset_bytes(file),
                       at + tiff_count_bytes(file) + *count * tiff_entry_bytes(file)))
        *next = tiff_get(file, bytes, tiff_offset_bytes(file));
    return true;
}

/* Where a thread found a page last. Pages are taken one after the other, and each is looked for several
 * times: from the first one on, that would take longer than the pixels of thousands. */
static _Thread_local struct {
    struct stat file;
    unsigned page;
    uint64_t at;
} last;

static bool is_last_file(const struct stat *file)
{
    return file->st_dev == last.file.st_dev && file->st_ino == last.file.st_ino &&
           file->st_size == last.file.st_size && file->st_mtim.tv_sec == last.file.st_mtim.tv_sec &&
           file->st_mtim.tv_nsec == last.file.st_mtim.tv_nsec;
}

bool tiff_file_page(const struct tiff_file *file, unsigned page, uint64_t *at)
{
    struct stat info;
    const bool keeps = page > 0 && !file->bytes && !file->base && fstat(file->fd, &info) == 0;
    const bool skips = keeps && is_last_file(&info) && last.page <= page;
    uint64_t count = 0;
    bool found = true;
    *at = skips ? last.at : *at;
    for (unsigned i = skips ? last.page : 0; i < page && found; i++)
        found = tiff_file_directory(file, *at, &count, at);
    found = found && *at != 0;
    if (keeps && found) {
        last.file = info;
        last.page = page;
        last.at = *at;
    }
    return found;
}

bool tiff_file_entry(const struct tiff_file *file, uint64_t at, uint64_t index, struct tiff_entry *entry)
{
    unsigned char bytes[20];
    const size_t wide = tiff_offset_bytes(file), size = tiff_entry_bytes(file);
    const uint64_t place = at + tiff_count_bytes(file) + index * size;
    if (!tiff_file_read(file, bytes, size, place))
        return false;
    *entry = (struct tiff_entry){.tag = (unsigned)tiff_get(file, bytes, 2),
                                 .type = (unsigned)tiff_get(file, bytes + 2, 2),
                                 .count = tiff_get(file, bytes + 4, wide)};
    entry->bytes = entry->count < UINT64_C(1) << 40 ? entry->count * tiff_type_bytes(entry->type) : 0;
    entry->at = entry->bytes <= wide ? place + 4 + wide : tiff_get(file, bytes + 4 + wide, wide);
    return true;
}

uint64_t tiff_file_number(const struct tiff_file *file, const struct tiff_entry *entry)
{
    unsigned char bytes[8];
    const unsigned size = tiff_number_bytes(entry->type);
    if (size == 0 || entry->bytes < size || !tiff_file_read(file, bytes, size, entry->at))
        return 0;
    return tiff_get(file, bytes, size);
}

/* ---- Writing ---- */

void tiff_emit_number(struct tiff_emission *e, size_t size, uint64_t value)
{
    unsigned char bytes[8];
    tiff_put(&e->to, bytes, size, value);
    text_add_bytes(&e->bytes, bytes, size);
}

uint64_t tiff_emit_place(struct tiff_emission *e)
{
    if (e->bytes.length % 2)
        text_add_bytes(&e->bytes, "", 1);
    return e->base + e->bytes.length;
}

static int by_tag(const void *a, const void *b)
{
    const unsigned left = ((const struct tiff_field *)a)->tag, right = ((const struct tiff_field *)b)->tag;
    return (left > right) - (left < right);
}

uint64_t tiff_emit_fields(struct tiff_emission *e, struct tiff_field *fields, size_t count)
{
    const size_t wide = tiff_offset_bytes(&e->to);
    const uint64_t place = tiff_emit_place(e);
    qsort(fields, count, sizeof *fields, by_tag);
    tiff_emit_number(e, tiff_count_bytes(&e->to), count);
    for (size_t i = 0; i < count; i++) {
        tiff_emit_number(e, 2, fields[i].tag);
        tiff_emit_number(e, 2, fields[i].type);
        tiff_emit_number(e, wide, fields[i].count);
        text_add_bytes(&e->bytes, fields[i].value, wide);
    }
    return place;
}

/* ---- How an image is stored, which libvips does not tell ---- */

enum {
    TAG_SUBFILE = 254,
    TAG_COMPRESSION = 259,
    TAG_ACROSS = 282, /* XResolution */
    TAG_DOWN = 283,
    TAG_UNIT = 296,
    TAG_TILE_WIDTH = 322,
    TAG_TILE_HEIGHT = 323
};

static void take_fraction(const struct tiff_file *file, const struct tiff_entry *entry, unsigned to[2])
{
    unsigned char bytes[8];
    if (entry->type != TIFF_TYPE_RATIONAL || entry->count != 1 ||
        !tiff_file_read(file, bytes, sizeof bytes, entry->at))
        return;
    to[0] = (unsigned)tiff_get(file, bytes, 4);
    to[1] = (unsigned)tiff_get(file, bytes + 4, 4);
}

static void take_entry(const struct tiff_file *file, const struct tiff_entry *entry,
                       struct tiff_layout *layout)
{
    const unsigned value = (unsigned)tiff_file_number(file, entry);
    if (entry->tag == TAG_SUBFILE)
        layout->subfile = value;
    else if (entry->tag == TAG_COMPRESSION)
        layout->compression = value;
    else if (entry->tag == TAG_ACROSS)
        take_fraction(file, entry, layout->across);
    else if (entry->tag == TAG_DOWN)
        take_fraction(file, entry, layout->down);
    else if (entry->tag == TAG_UNIT)
        layout->unit = value;
    else if (entry->tag == TAG_TILE_WIDTH)
        layout->tile_width = value;
    else if (entry->tag == TAG_TILE_HEIGHT)
        layout->tile_height = value;
}

bool media_tiff_layout(const struct media_input *input, struct tiff_layout *layout)
{
    struct tiff_file file = {.fd = input ? input->fd : -1};
    struct tiff_entry entry;
    uint64_t first = 0, count = 0, next = 0;
    if (!input || !tiff_file_begin(&file, &first) ||
        !tiff_file_page(&file, input->info.first_page ? input->info.first_page - 1 : 0, &first) ||
        !tiff_file_directory(&file, first, &count, &next))
        return false;
    *layout = (struct tiff_layout){.big = file.big, .compression = 1, .unit = 2};
    for (uint64_t i = 0; i < count; i++) {
        if (!tiff_file_entry(&file, first, i, &entry))
            return false;
        take_entry(&file, &entry, layout);
    }
    return true;
}

/* ---- Resolution ---- */

static bool set_entry(const struct tiff_file *file, const struct tiff_entry *entry, const unsigned *numbers,
                      size_t count)
{
    unsigned char bytes[8];
    const size_t size = tiff_number_bytes(entry->type);
    if (entry->bytes != count * size || entry->bytes > sizeof bytes)
        return false;
    for (size_t i = 0; i < count; i++)
        tiff_put(file, bytes + i * size, size, numbers[i]);
    return lseek(file->fd, (off_t)entry->at, SEEK_SET) >= 0 &&
           file_write_all(file->fd, bytes, (size_t)entry->bytes);
}

static bool set_page(const struct tiff_file *file, uint64_t at, uint64_t count,
                     const struct tiff_layout *from, bool turned)
{
    struct tiff_entry entry;
    bool ok = true;
    for (uint64_t i = 0; i < count && ok; i++) {
        ok = tiff_file_entry(file, at, i, &entry);
        if (ok && (entry.tag == TAG_ACROSS || entry.tag == TAG_DOWN))
            ok = set_entry(file, &entry, (entry.tag == TAG_DOWN) != turned ? from->down : from->across, 2);
        else if (ok && entry.tag == TAG_UNIT)
            ok = set_entry(file, &entry, &from->unit, 1);
    }
    return ok;
}

bool tiff_set_resolution(int fd, const struct tiff_layout *from, bool turned)
{
    struct tiff_file file = {.fd = fd};
    uint64_t at = 0, count = 0, next = 0;
    bool ok = tiff_file_begin(&file, &at);
    for (; ok && at; at = next)
        ok = tiff_file_directory(&file, at, &count, &next) && set_page(&file, at, count, from, turned);
    return ok;
}
