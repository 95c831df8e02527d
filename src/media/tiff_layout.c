/* SPDX-License-Identifier: BSD-2-Clause */
/* How the first image of a TIFF file is stored, which libvips does not tell: TIFF 6.0, section 2, and BigTIFF. */
#include "media/reader.h"

#include <string.h>

enum {
    TAG_COMPRESSION = 259,
    TAG_TILE_WIDTH = 322,
    TAG_TILE_HEIGHT = 323,
    TYPE_SHORT = 3,
    MOST_ENTRIES = 1024
};

struct file {
    int fd;
    bool big_endian, big; /* byte order; 64-bit offsets */
};

/* A number of 2, 4 or 8 bytes. */
static uint64_t number_at(const struct file *file, const unsigned char *bytes, int count)
{
    uint64_t value = 0;
    for (int i = 0; i < count; i++)
        value = value << 8 | bytes[file->big_endian ? i : count - 1 - i];
    return value;
}

static bool read_at(const struct file *file, void *bytes, size_t count, uint64_t offset)
{
    return offset < UINT64_C(1) << 62 &&
           media_read_at(file->fd, bytes, count, (off_t)offset) == (ssize_t)count;
}

static void take_entry(const struct file *file, const unsigned char *entry, struct tiff_layout *layout)
{
    const unsigned tag = (unsigned)number_at(file, entry, 2), type = (unsigned)number_at(file, entry + 2, 2);
    const unsigned value =
        (unsigned)number_at(file, entry + (file->big ? 12 : 8), type == TYPE_SHORT ? 2 : 4);
    if (tag == TAG_COMPRESSION)
        layout->compression = value;
    else if (tag == TAG_TILE_WIDTH)
        layout->tile_width = value;
    else if (tag == TAG_TILE_HEIGHT)
        layout->tile_height = value;
}

bool media_tiff_layout(const struct media_input *input, struct tiff_layout *layout)
{
    unsigned char head[16], entry[20];
    if (!input || media_read_at(input->fd, head, sizeof head, 0) != sizeof head)
        return false;
    struct file file = {.fd = input->fd, .big_endian = head[0] == 'M'};
    const bool is_tiff = memcmp(head, "II", 2) == 0 || memcmp(head, "MM", 2) == 0;
    const uint64_t version = number_at(&file, head + 2, 2);
    if (!is_tiff || (version != 42 && version != 43))
        return false;
    file.big = version == 43;
    const int wide = file.big ? 8 : 4, count_bytes = file.big ? 8 : 2, entry_bytes = file.big ? 20 : 12;
    const uint64_t at = number_at(&file, head + wide, wide);
    *layout = (struct tiff_layout){.big = file.big, .compression = 1};
    if (!read_at(&file, entry, (size_t)count_bytes, at))
        return false;
    const uint64_t count = number_at(&file, entry, count_bytes);
    for (uint64_t i = 0; i < count && i < MOST_ENTRIES; i++) {
        if (!read_at(&file, entry, (size_t)entry_bytes,
                     at + (uint64_t)count_bytes + i * (uint64_t)entry_bytes))
            return false;
        take_entry(&file, entry, layout);
    }
    return true;
}
