/* SPDX-License-Identifier: BSD-2-Clause */
/* Colours by code points in an AVIF that libheif wrote without: a box of them (ISO/IEC 14496-12, 12.1.5)
 * becomes a property of its picture (ISO/IEC 23008-12, 9.3), and what follows moves. */
#include "base/bytes.h"
#include "base/file.h"
#include "base/mem.h"
#include "media/vips/internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { HEAD = 8, COLOURS = 19, MOST_META = 1 << 20, MOST_PROPERTIES = 127, PIECE = 1 << 16 };
enum {
    BT_601_MATRIX = 6,
    FULL_RANGE = 0x80
}; /* what libheif converts RGB with unless it is told otherwise */

/* The box of all that is said of pictures, and where the boxes in it are that change, without their heads. */
struct meta {
    unsigned char *bytes;
    off_t at;
    size_t length, added;
    struct vips_range whole, properties, list, uses, places, primary;
};

static unsigned char *at_file(const struct meta *meta, off_t at)
{
    return meta->bytes + (at - meta->at);
}

static void add_to(unsigned char *number, int width, uint64_t value)
{
    value += big_endian(number, width);
    for (int i = width; i-- > 0; value >>= 8)
        number[i] = (unsigned char)value;
}

static bool find(int fd, off_t end, struct meta *meta)
{
    const struct vips_range file = {0, end};
    struct vips_range inside;
    if (!vips_find_box(fd, file, "meta", &meta->whole) || meta->whole.end - meta->whole.at > MOST_META)
        return false;
    meta->at = meta->whole.at - HEAD;
    meta->length = (size_t)(meta->whole.end - meta->at);
    inside = (struct vips_range){meta->whole.at + 4, meta->whole.end}; /* behind version and flags */
    return vips_find_box(fd, inside, "iprp", &meta->properties) &&
           vips_find_box(fd, meta->properties, "ipco", &meta->list) &&
           vips_find_box(fd, meta->properties, "ipma", &meta->uses) &&
           vips_find_box(fd, inside, "iloc", &meta->places) &&
           vips_find_box(fd, inside, "pitm", &meta->primary) && meta->list.end <= meta->uses.at;
}

static unsigned count_properties(int fd, struct vips_range list)
{
    struct vips_range box;
    unsigned count = 0;
    for (; count <= MOST_PROPERTIES && vips_find_box(fd, list, NULL, &box); list.at = box.end)
        count++;
    return count;
}

/* Bytes of a number of a property of a picture. */
static size_t use_bytes(const struct meta *meta)
{
    return at_file(meta, meta->uses.at)[3] & 1 ? 2 : 1;
}

/* The byte that counts the properties of the picture that is shown, whose numbers follow; NULL: it is not
 * listed. */
static unsigned char *uses_of_shown(const struct meta *meta)
{
    const unsigned char *shown = at_file(meta, meta->primary.at);
    unsigned char *head = at_file(meta, meta->uses.at), *end = at_file(meta, meta->uses.end);
    const int bytes = head[0] ? 4 : 2;
    const uint64_t number = big_endian(shown + 4, shown[0] ? 4 : 2);
    unsigned char *at = head + 8;
    for (uint64_t left = big_endian(head + 4, 4); left && end - at > bytes; left--) {
        unsigned char *count = at + bytes;
        const size_t size = 1 + *count * use_bytes(meta);
        if ((size_t)(end - count) < size)
            return NULL;
        if (big_endian(at, bytes) == number)
            return *count < MOST_PROPERTIES ? count : NULL;
        at = count + size;
    }
    return NULL;
}

/* Where pixels are in the file: from a base, or in each of their parts. Those within another box stay. */
static bool move_places(const struct meta *meta, uint64_t by)
{
    const unsigned char *head = at_file(meta, meta->places.at);
    const unsigned char *end = at_file(meta, meta->places.end);
    const int version = head[0], offset = head[4] >> 4, length = head[4] & 15, base = head[5] >> 4;
    const int index = version ? head[5] & 15 : 0, number = version < 2 ? 2 : 4;
    const int before = number + (version ? 2 : 0) + 2, part = index + offset + length;
    unsigned char *at = at_file(meta, meta->places.at + 6 + number);
    for (uint64_t left = big_endian(head + 6, number); left; left--) {
        if (end - at < before + base + 2)
            return false;
        const bool is_in_file = !version || (at[number + 1] & 15) == 0;
        if (is_in_file && base)
            add_to(at + before, base, by);
        uint64_t parts = big_endian(at + before + base, 2);
        for (at += before + base + 2; parts; parts--, at += part) {
            if (end - at < part)
                return false;
            if (is_in_file && !base)
                add_to(at + index, offset, by);
        }
    }
    return true;
}

static void insert(struct meta *meta, unsigned char *at, const unsigned char *bytes, size_t count)
{
    memmove(at + count, at, meta->length + meta->added - (size_t)(at - meta->bytes));
    memcpy(at, bytes, count);
    meta->added += count;
}

static void grow(const struct meta *meta, const struct vips_range *box, uint64_t by)
{
    add_to(at_file(meta, box->at) - HEAD, 4, by);
}

static bool change(int fd, struct meta *meta, const struct vips_cicp *cicp)
{
    const unsigned char primaries = (unsigned char)cicp->primaries, transfer = (unsigned char)cicp->transfer;
    const unsigned char box[COLOURS] = {0,   0,        0,   COLOURS,       'c',       'o', 'l',
                                        'r', 'n',      'c', 'l',           'x',       0,   primaries,
                                        0,   transfer, 0,   BT_601_MATRIX, FULL_RANGE};
    const unsigned property = count_properties(fd, meta->list) + 1;
    const unsigned char use[2] = {0, (unsigned char)property};
    const size_t bytes = use_bytes(meta);
    unsigned char *count = uses_of_shown(meta);
    if (!count || property > MOST_PROPERTIES || !move_places(meta, COLOURS + bytes))
        return false;
    grow(meta, &meta->whole, COLOURS + bytes);
    grow(meta, &meta->properties, COLOURS + bytes);
    grow(meta, &meta->uses, bytes);
    grow(meta, &meta->list, COLOURS);
    insert(meta, count + 1 + *count * bytes, use + sizeof use - bytes, bytes);
    ++*count;
    insert(meta, at_file(meta, meta->list.end), box, COLOURS);
    return true;
}

/* The last piece first, as they go where others are. */
static int move_rest(int fd, off_t from, off_t end, size_t by)
{
    unsigned char piece[PIECE];
    int code = 0;
    while (end > from && !code) {
        const size_t count = end - from < PIECE ? (size_t)(end - from) : PIECE;
        end -= (off_t)count;
        if (file_read_at(fd, piece, count, end) != (ssize_t)count)
            code = EIO;
        else if (!file_write_at(fd, piece, count, end + (off_t)by))
            code = errno;
    }
    return code;
}

int vips_add_nclx(int fd, off_t size, const struct vips_cicp *cicp, bool *is_held)
{
    struct meta meta = {0};
    *is_held = false;
    if (!find(fd, size, &meta))
        return 0;
    if (!(meta.bytes = mem_new(meta.length + COLOURS + 2, 1)))
        return ENOMEM;
    int code = file_read_at(fd, meta.bytes, meta.length, meta.at) == (ssize_t)meta.length ? 0 : EIO;
    if (!code && change(fd, &meta, cicp)) {
        *is_held = true;
        code = move_rest(fd, meta.whole.end, size, meta.added);
        if (!code && !file_write_at(fd, meta.bytes, meta.length + meta.added, meta.at))
            code = errno;
    }
    free(meta.bytes);
    return code;
}
