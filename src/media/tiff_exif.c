/* SPDX-License-Identifier: BSD-2-Clause */
#include "media/tiff_exif.h"

#include "base/file.h"
#include "base/mem.h"
#include "media/tiff_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_VALUE_BYTES = 8 << 20 };
enum { TAG_DESCRIPTION = 270, TAG_IPTC = 33723, TAG_PIXELS_X = 40962, TAG_PIXELS_Y = 40963 };

/* A block has these directories; EXIF and GPS hang on the first, and INTEROP on EXIF. */
enum directory_kind { MAIN, EXIF, GPS, INTEROP, DIRECTORIES };

static const char prefix[6] = "Exif\0";

struct tag {
    struct tiff_field field;
    size_t at, bytes; /* in the values */
    bool literal;     /* the field holds what the entry does, which may be the place of the value */
};

struct directory {
    struct tag *tags;
    size_t count, capacity;
};

struct exif {
    struct directory directories[DIRECTORIES];
    struct text values; /* little endian */
    bool failed;        /* memory was short */
};

static void finish(struct exif *exif)
{
    for (size_t i = 0; i < DIRECTORIES; i++)
        free(exif->directories[i].tags);
    text_finish(&exif->values);
}

static void add_tag(struct exif *exif, enum directory_kind kind, const struct tag *tag)
{
    struct directory *directory = &exif->directories[kind];
    if (mem_grow(&directory->tags, &directory->capacity, directory->count + 1, sizeof *directory->tags))
        directory->tags[directory->count++] = *tag;
    else
        exif->failed = true;
}

static void add_value(struct exif *exif, const void *value, size_t bytes)
{
    text_add_bytes(&exif->values, value, bytes);
    exif->failed = exif->failed || exif->values.failed;
}

/* ---- Reading ---- */

static bool is_among(const uint16_t *tags, size_t count, unsigned tag)
{
    bool found = false;
    for (size_t i = 0; i < count && !found; i++)
        found = tags[i] == tag;
    return found;
}

/* Of the first directory: what describes the picture. The rest describes the file, or is carried by
 * libvips. */
static bool describes_picture(unsigned tag)
{
    static const uint16_t tags[] = {
        269 /* DocumentName */, 271 /* Make */,         272 /* Model */,
        285 /* PageName */,     305 /* Software */,     306 /* DateTime */,
        315 /* Artist */,       318 /* WhitePoint */,   319 /* PrimaryChromaticities */,
        316 /* HostComputer */, 18246 /* Rating */,     18249 /* RatingPercent */,
        33432 /* Copyright */,  40091 /* XPTitle */,    40092 /* XPComment */,
        40093 /* XPAuthor */,   40094 /* XPKeywords */, 40095 /* XPSubject */};
    return is_among(tags, sizeof tags / sizeof *tags, tag);
}

/* Of the first directory: how the pixels are stored, which the writer decides anew, and what libvips
 * carries. */
static bool describes_storage(unsigned tag)
{
    static const uint16_t tags[] = {263, 264, 265, 266, 270, 292,   293,   296,   297,  301, 317, 320,
                                    321, 322, 323, 324, 325, 332,   333,   334,   336,  337, 338, 339,
                                    340, 341, 342, 347, 700, 33723, 34377, 34675, 50674 /* LERC's */};
    return (tag >= 254 && tag <= 259) || tag == 262 || (tag >= 273 && tag <= 291 && tag != 285) ||
           (tag >= 512 && tag <= 532) || is_among(tags, sizeof tags / sizeof *tags, tag);
}

static void take_value(struct exif *exif, enum directory_kind kind, const struct tiff_file *file,
                       const struct tiff_entry *entry)
{
    const size_t at = exif->values.length, bytes = (size_t)entry->bytes;
    const unsigned size = tiff_number_bytes(entry->type);
    if (entry->type > TIFF_LAST_EXIF_TYPE || entry->bytes == 0 || entry->bytes > MOST_VALUE_BYTES - at)
        return;
    unsigned char *value = mem_new(bytes, 1);
    if (!value)
        exif->failed = true;
    if (value && tiff_file_read(file, value, bytes, entry->at)) {
        const struct tiff_file little = {0};
        for (size_t i = 0; i < bytes; i += size)
            tiff_put(&little, value + i, size, tiff_get(file, value + i, size));
        add_value(exif, value, bytes);
        add_tag(
            exif, kind,
            &(struct tag){.field = {entry->tag, entry->type, entry->count, {0}}, .at = at, .bytes = bytes});
    }
    free(value);
}

/* The directory that a tag leads to; MAIN: none. */
static enum directory_kind leads_to(enum directory_kind kind, unsigned tag)
{
    return kind == MAIN && tag == TIFF_TAG_EXIF      ? EXIF
           : kind == MAIN && tag == TIFF_TAG_GPS     ? GPS
           : kind == EXIF && tag == TIFF_TAG_INTEROP ? INTEROP
                                                     : MAIN;
}

static void take_directory(struct exif *exif, enum directory_kind kind, const struct tiff_file *file,
                           uint64_t at, struct text *lost)
{
    struct tiff_entry entry;
    uint64_t count = 0, next = 0;
    if (exif->directories[kind].count > 0 || !tiff_file_directory(file, at, &count, &next))
        return;
    for (uint64_t i = 0; i < count && tiff_file_entry(file, at, i, &entry); i++) {
        const enum directory_kind below = leads_to(kind, entry.tag);
        if (below != MAIN)
            take_directory(exif, below, file, tiff_file_number(file, &entry), NULL);
        else if (kind != MAIN || describes_picture(entry.tag) || (!lost && entry.tag == TAG_DESCRIPTION))
            take_value(exif, kind, file, &entry);
        else if (lost && !describes_storage(entry.tag))
            text_add(lost, "%s%u", lost->length ? ", " : "", entry.tag);
    }
}

/* ---- Writing ---- */

/* A value in the byte order of the file: into the entry where it fits. */
static bool place_value(struct tiff_emission *e, const struct exif *exif, struct tag *tag)
{
    const struct tiff_file little = {0};
    const size_t wide = tiff_offset_bytes(&e->to), size = tiff_number_bytes(tag->field.type);
    unsigned char *value = mem_new(tag->bytes, 1);
    if (!value)
        return false;
    for (size_t i = 0; i < tag->bytes; i += size)
        tiff_put(&e->to, value + i, size, tiff_get(&little, exif->values.data + tag->at + i, size));
    memset(tag->field.value, 0, sizeof tag->field.value);
    if (tag->bytes <= wide) {
        memcpy(tag->field.value, value, tag->bytes);
    } else {
        tiff_put(&e->to, tag->field.value, wide, tiff_emit_place(e));
        text_add_bytes(&e->bytes, value, tag->bytes);
    }
    tag->literal = true;
    free(value);
    return true;
}

/* Its place; 0 where it is empty or memory was short. */
static uint64_t emit_directory(struct tiff_emission *e, struct exif *exif, enum directory_kind kind,
                               uint64_t next)
{
    struct directory *d = &exif->directories[kind];
    struct tiff_field *fields = d->count > 0 ? mem_new(d->count, sizeof *fields) : NULL;
    if (d->count == 0)
        return 0;
    exif->failed = exif->failed || !fields;
    for (size_t i = 0; i < d->count && !exif->failed; i++) {
        exif->failed = !d->tags[i].literal && !place_value(e, exif, &d->tags[i]);
        fields[i] = d->tags[i].field;
    }
    const uint64_t place = exif->failed ? 0 : tiff_emit_fields(e, fields, d->count);
    tiff_emit_number(e, tiff_offset_bytes(&e->to), next);
    free(fields);
    exif->failed = exif->failed || e->bytes.failed;
    return exif->failed ? 0 : place;
}

static void link_directory(const struct tiff_emission *e, struct exif *exif, enum directory_kind kind,
                           unsigned tag, uint64_t place)
{
    struct tag link = {.field = {tag, e->to.big ? TIFF_TYPE_IFD8 : TIFF_TYPE_LONG, 1, {0}}, .literal = true};
    tiff_put(&e->to, link.field.value, tiff_offset_bytes(&e->to), place);
    if (place)
        add_tag(exif, kind, &link);
}

/* The place of the first directory, which leads to the others. */
static uint64_t emit_all(struct tiff_emission *e, struct exif *exif, uint64_t next)
{
    link_directory(e, exif, EXIF, TIFF_TAG_INTEROP, emit_directory(e, exif, INTEROP, 0));
    link_directory(e, exif, MAIN, TIFF_TAG_EXIF, emit_directory(e, exif, EXIF, 0));
    link_directory(e, exif, MAIN, TIFF_TAG_GPS, emit_directory(e, exif, GPS, 0));
    return emit_directory(e, exif, MAIN, next);
}

/* ---- Blocks ---- */

bool tiff_exif_read(int fd, unsigned page, struct text *block, struct text *lost)
{
    struct tiff_file file = {.fd = fd};
    struct tiff_emission e = {0};
    struct exif exif = {0};
    uint64_t at = 0;
    if (tiff_file_begin(&file, &at) && tiff_file_page(&file, page, &at))
        take_directory(&exif, MAIN, &file, at, lost);
    text_add_bytes(&e.bytes, "II*\0\0\0\0", 8);
    const uint64_t place = emit_all(&e, &exif, 0);
    if (place) {
        tiff_put(&e.to, e.bytes.data + 4, 4, place);
        text_add_bytes(block, prefix, sizeof prefix);
        text_add_bytes(block, e.bytes.data, e.bytes.length);
    }
    const bool ok = !exif.failed && !block->failed && !lost->failed;
    text_finish(&e.bytes);
    finish(&exif);
    return ok;
}

static void take_block(struct exif *exif, const void *block, size_t bytes)
{
    const bool prefixed = bytes > sizeof prefix && memcmp(block, prefix, sizeof prefix) == 0;
    const size_t skip = prefixed ? sizeof prefix : 0;
    struct tiff_file file = {.bytes = (const unsigned char *)block + skip, .size = bytes - skip};
    uint64_t first = 0;
    if (tiff_file_begin(&file, &first) && !file.big)
        take_directory(exif, MAIN, &file, first, NULL);
}

/* The sizes that EXIF repeats are those of the picture as it is now. */
static void correct_sizes(struct exif *exif, uint32_t width, uint32_t height)
{
    const struct tiff_file little = {0};
    struct directory *d = &exif->directories[EXIF];
    for (size_t i = 0; i < d->count; i++) {
        struct tag *tag = &d->tags[i];
        const unsigned number = tag->field.tag;
        if (number != TAG_PIXELS_X && number != TAG_PIXELS_Y)
            continue;
        unsigned char value[4];
        tiff_put(&little, value, sizeof value, number == TAG_PIXELS_X ? width : height);
        *tag = (struct tag){
            .field = {number, TIFF_TYPE_LONG, 1, {0}}, .at = exif->values.length, .bytes = sizeof value};
        add_value(exif, value, sizeof value);
    }
}

static bool has_tag(const struct directory *directory, unsigned tag)
{
    bool found = false;
    for (size_t i = 0; i < directory->count && !found; i++)
        found = directory->tags[i].field.tag == tag;
    return found;
}

/* The entries that a page has go first: a block adds to them and changes none. False: the file is not
 * whole. */
static bool merge(struct exif *exif, const struct tiff_file *file, uint64_t at, uint64_t *next)
{
    struct directory *d = &exif->directories[MAIN], added = *d;
    const size_t wide = tiff_offset_bytes(file), size = tiff_entry_bytes(file);
    uint64_t count = 0;
    bool ok = tiff_file_directory(file, at, &count, next);
    *d = (struct directory){0};
    for (uint64_t i = 0; i < count && ok; i++) {
        unsigned char entry[20];
        struct tag tag = {.literal = true};
        ok = tiff_file_read(file, entry, size, at + tiff_count_bytes(file) + i * size);
        tag.field.tag = (unsigned)tiff_get(file, entry, 2);
        tag.field.type = (unsigned)tiff_get(file, entry + 2, 2);
        tag.field.count = tiff_get(file, entry + 4, wide);
        memcpy(tag.field.value, entry + 4 + wide, wide);
        add_tag(exif, MAIN, &tag);
    }
    for (size_t i = 0; i < added.count; i++)
        if (!has_tag(d, added.tags[i].field.tag))
            add_tag(exif, MAIN, &added.tags[i]);
    free(added.tags);
    return ok;
}

/* Behind everything else, and the header tells where. */
static int append(int fd, struct tiff_emission *e, uint64_t place)
{
    unsigned char bytes[8];
    const size_t wide = tiff_offset_bytes(&e->to);
    tiff_put(&e->to, bytes, wide, place);
    if (!e->to.big && e->base + e->bytes.length > UINT32_MAX)
        return EFBIG;
    if (lseek(fd, (off_t)e->base, SEEK_SET) < 0 || !file_write_all(fd, e->bytes.data, e->bytes.length) ||
        lseek(fd, (off_t)wide, SEEK_SET) < 0 || !file_write_all(fd, bytes, wide))
        return errno;
    return 0;
}

/* As bytes: readers know them by their marks, whatever the type. */
static void take_iptc(struct exif *exif, const void *records, size_t count)
{
    const struct tag tag = {
        .field = {TAG_IPTC, TIFF_TYPE_UNDEFINED, count, {0}}, .at = exif->values.length, .bytes = count};
    add_value(exif, records, count);
    add_tag(exif, MAIN, &tag);
}

int tiff_add_extras(int fd, const struct tiff_extras *extras, uint32_t width, uint32_t height)
{
    struct exif exif = {0};
    struct tiff_emission e = {.to = {.fd = fd}};
    uint64_t first = 0, next = 0;
    int code = 0;
    if (extras->exif)
        take_block(&exif, extras->exif, extras->exif_bytes);
    correct_sizes(&exif, width, height);
    if (extras->iptc)
        take_iptc(&exif, extras->iptc, extras->iptc_bytes);
    const off_t end = lseek(fd, 0, SEEK_END);
    if (end < 0)
        code = errno;
    else if (!tiff_file_begin(&e.to, &first) || !merge(&exif, &e.to, first, &next))
        code = EIO;
    if (!code) {
        e.base = ((uint64_t)end + 1) / 2 * 2;
        const uint64_t place = emit_all(&e, &exif, next);
        code = place ? append(fd, &e, place) : ENOMEM;
    }
    text_finish(&e.bytes);
    finish(&exif);
    return code;
}
