/* SPDX-License-Identifier: BSD-2-Clause */
/* Animations in PNGs, whose first picture alone is what decoders give. */
#include "media/vips/internal.h"

#include "base/file.h"

#include <string.h>

static uint32_t number(const unsigned char *bytes)
{
    return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

unsigned vips_count_png(const struct media_input *input)
{
    enum { SIGNATURE = 8, CHUNK = 12, HEAD = 12 }; /* length, kind, and the first four bytes */
    const unsigned most = 1u << 30;
    unsigned char head[HEAD];
    off_t at = SIGNATURE;
    while (file_read_at(input->fd, head, HEAD, at) == HEAD && memcmp(head + 4, "IDAT", 4) != 0) {
        const uint32_t count = number(head + 8);
        if (memcmp(head + 4, "acTL", 4) == 0)
            return count < 1 ? 1 : count < most ? count : most;
        at += CHUNK + (off_t)number(head);
    }
    return 1;
}
