/* SPDX-License-Identifier: BSD-2-Clause */
/* How many bits the samples of a JPEG 2000 have, which libvips 8.14 does not tell. */
#include "base/file.h"
#include "media/vips/internal.h"

#include <string.h>

enum { BOX = 8, WIDE_BOX = 16, SIZE_AT = 4, COUNT_AT = 40, COMPONENT = 3, MOST_COMPONENTS = 4 };

static uint64_t number(const unsigned char *bytes, size_t count)
{
    uint64_t value = 0;
    for (size_t i = 0; i < count; i++)
        value = value << 8 | bytes[i];
    return value;
}

/* The place of the codestream, which may be all of the file; -1: there is none. */
static off_t find_stream(int fd)
{
    static const unsigned char start[] = {0xff, 0x4f, 0xff, 0x51};
    unsigned char head[WIDE_BOX];
    off_t at = 0;
    if (file_read_at(fd, head, sizeof start, 0) == (ssize_t)sizeof start && memcmp(head, start, 4) == 0)
        return 0;
    while (file_read_at(fd, head, WIDE_BOX, at) == WIDE_BOX) {
        const bool wide = number(head, 4) == 1;
        const uint64_t bytes = wide ? number(head + BOX, 8) : number(head, 4);
        if (memcmp(head + 4, "jp2c", 4) == 0)
            return at + (wide ? WIDE_BOX : BOX);
        if (bytes < BOX || bytes > (uint64_t)1 << 60 || at > (off_t)1 << 60)
            return -1;
        at += (off_t)bytes;
    }
    return -1;
}

unsigned vips_jp2_bits(int fd)
{
    const unsigned is_signed = 0x80;
    unsigned char head[COUNT_AT + 2 + MOST_COMPONENTS * COMPONENT];
    const off_t at = find_stream(fd);
    if (at < 0 || file_read_at(fd, head, sizeof head, at) != (ssize_t)sizeof head ||
        number(head + SIZE_AT - 2, 2) != 0xff51)
        return 0;
    const unsigned count = (unsigned)number(head + COUNT_AT, 2), first = head[COUNT_AT + 2];
    for (unsigned i = 0; i < count && i < MOST_COMPONENTS; i++)
        if (head[COUNT_AT + 2 + i * COMPONENT] != first)
            return 0;
    return first & is_signed ? 0 : first + 1;
}
