/* SPDX-License-Identifier: BSD-2-Clause */
/* Inside src/media: the directories of a TIFF, classic or BigTIFF, entry by entry; EXIF blocks are such
 * files, too. Nothing of what is read is trusted. */
#pragma once

#include "base/text.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum tiff_type {
    TIFF_TYPE_SHORT = 3,
    TIFF_TYPE_LONG = 4,
    TIFF_TYPE_RATIONAL = 5,
    TIFF_TYPE_UNDEFINED = 7,
    TIFF_LAST_EXIF_TYPE = 12,
    TIFF_TYPE_LONG8 = 16,
    TIFF_TYPE_IFD8 = 18
};

/* Those that lead to other directories. */
enum tiff_link { TIFF_TAG_EXIF = 34665, TIFF_TAG_GPS = 34853, TIFF_TAG_INTEROP = 40965 };

struct tiff_file {
    int fd;                     /* where `bytes` is NULL */
    uint64_t base;              /* where the TIFF begins in the file behind fd: places count from there */
    const unsigned char *bytes; /* `size` of them */
    size_t size;
    bool big_endian, big; /* byte order; 64-bit offsets */
};

struct tiff_entry {
    unsigned tag, type;
    uint64_t count, bytes; /* elements; bytes of all of them, 0: of an unknown type or too many */
    uint64_t at;           /* of the value in the file */
};

enum { TIFF_MOST_ENTRIES = 1024 };

/* Byte order and kind, with `fd` or `bytes` set before; *first is the place of the first directory. False: no
 * TIFF. */
bool tiff_file_begin(struct tiff_file *file, uint64_t *first);

/* How many entries the directory at `at` has, and the place of the next one (0: none). */
bool tiff_file_directory(const struct tiff_file *file, uint64_t at, uint64_t *count, uint64_t *next);

/* The directory of page `page` (0: the first), from the first one's place. */
bool tiff_file_page(const struct tiff_file *file, unsigned page, uint64_t *at);

/* An entry of the directory at `at`, index < count. */
bool tiff_file_entry(const struct tiff_file *file, uint64_t at, uint64_t index, struct tiff_entry *entry);

/* The first element of an integer entry; 0 where there is none. */
uint64_t tiff_file_number(const struct tiff_file *file, const struct tiff_entry *entry);

/* False where the file ends before. */
bool tiff_file_read(const struct tiff_file *file, void *bytes, size_t count, uint64_t at);

/* Bytes of an entry, of a count of entries or an offset, and of the count before a directory. */
size_t tiff_entry_bytes(const struct tiff_file *file);
size_t tiff_offset_bytes(const struct tiff_file *file);
size_t tiff_count_bytes(const struct tiff_file *file);

/* Bytes of the numbers in an element of a type, which byte order turns round; 0: an unknown type. */
unsigned tiff_number_bytes(unsigned type);

/* Numbers of 1 to 8 bytes. */
uint64_t tiff_get(const struct tiff_file *file, const void *bytes, size_t count);
void tiff_put(const struct tiff_file *file, void *bytes, size_t count, uint64_t value);

/* ---- Writing ---- */

/* An entry, whose value, or the place of it, is as it will stand there. */
struct tiff_field {
    unsigned tag, type;
    uint64_t count;
    unsigned char value[8];
};

/* Directories, and what they lead to, that will stand from `base` on, which is even. */
struct tiff_emission {
    struct tiff_file to; /* byte order and kind */
    struct text bytes;   /* to be finished with text_finish; `failed` where memory was short */
    uint64_t base;
};

void tiff_emit_number(struct tiff_emission *e, size_t size, uint64_t value);
/* The place of what comes next, which is even. */
uint64_t tiff_emit_place(struct tiff_emission *e);
/* A directory but for the place of the next one, which is to follow. Sorts the fields. Gives its place. */
uint64_t tiff_emit_fields(struct tiff_emission *e, struct tiff_field *fields, size_t count);

struct tiff_layout;
/* Gives all pages of a file the resolution of another one, in place; turned: rows are columns there. */
bool tiff_set_resolution(int fd, const struct tiff_layout *from, bool turned);
