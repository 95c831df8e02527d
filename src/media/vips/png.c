/* SPDX-License-Identifier: BSD-2-Clause */
/* Chunks of PNGs: animations, whose first picture alone is what decoders give, and EXIF. */
#include "media/vips/internal.h"

#include "base/file.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

enum { SIGNATURE = 8, CHUNK = 12, HEAD = 12 }; /* length, kind, and the first four bytes */

static uint32_t number(const unsigned char *bytes)
{
    return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

/* The head of a chunk of this kind before the pixels; false: there is none. */
static bool find_chunk(int fd, const char *kind, unsigned char head[HEAD])
{
    off_t at = SIGNATURE;
    while (file_read_at(fd, head, HEAD, at) == HEAD && memcmp(head + 4, "IDAT", 4) != 0) {
        if (memcmp(head + 4, kind, 4) == 0)
            return true;
        at += CHUNK + (off_t)number(head);
    }
    return false;
}

unsigned vips_count_png(const struct media_input *input)
{
    const unsigned most = 1u << 30;
    unsigned char head[HEAD];
    const uint32_t count = find_chunk(input->fd, "acTL", head) ? number(head + 8) : 1;
    return count < 1 ? 1 : count < most ? count : most;
}

/* The bytes of the EXIF chunk before the pixels; 0: there is none. */
static off_t exif_bytes(int fd)
{
    unsigned char head[HEAD];
    return find_chunk(fd, "eXIf", head) ? CHUNK + (off_t)number(head) : 0;
}

int vips_drop_second_exif(int fd)
{
    unsigned char head[HEAD], last[CHUNK]; /* IEND has no bytes */
    const off_t bytes = exif_bytes(fd), end = lseek(fd, 0, SEEK_END), second = end - CHUNK - bytes;
    if (!bytes || second < SIGNATURE || file_read_at(fd, head, HEAD, second) != HEAD ||
        memcmp(head + 4, "eXIf", 4) != 0 || CHUNK + (off_t)number(head) != bytes ||
        file_read_at(fd, last, CHUNK, end - CHUNK) != CHUNK)
        return 0;
    if (lseek(fd, second, SEEK_SET) != second || !file_write_all(fd, last, CHUNK) ||
        ftruncate(fd, second + CHUNK) != 0)
        return errno;
    return 0;
}
