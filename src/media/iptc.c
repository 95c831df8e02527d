/* SPDX-License-Identifier: BSD-2-Clause */
#include "media/iptc.h"

#include <string.h>

enum { RECORD = 0x1c, RESOURCE_IPTC = 0x0404 };

static const char photoshop[14] = "Photoshop 3.0", resource[] = "8BIM";

/* Bytes of the header of a resource: "8BIM", a number, a name of an even length with its own, and the length
 * of what follows; 0 where there is none. */
static size_t header_bytes(const unsigned char *at, size_t left)
{
    const size_t fixed = 6, length = 4;
    if (left < fixed + 2 || memcmp(at, resource, 4) != 0)
        return 0;
    const size_t name = ((size_t)at[fixed] + 2) / 2 * 2;
    return fixed + name + length <= left ? fixed + name + length : 0;
}

bool iptc_is_swapped(const void *bytes, size_t size)
{
    const unsigned char *at = bytes;
    return size >= 4 && size % 4 == 0 && at[0] != RECORD && at[3] == RECORD;
}

void iptc_swap(void *bytes, size_t size)
{
    uint32_t number;
    for (unsigned char *at = bytes; size >= sizeof number; at += sizeof number, size -= sizeof number) {
        memcpy(&number, at, sizeof number);
        number = __builtin_bswap32(number);
        memcpy(at, &number, sizeof number);
    }
}

const void *iptc_records(const void *bytes, size_t size, size_t *count)
{
    const unsigned char *at = bytes, *end = at + size;
    if (size > 0 && at[0] == RECORD)
        return *count = size, bytes;
    if (size < sizeof photoshop || memcmp(at, photoshop, sizeof photoshop) != 0)
        return NULL;
    at += sizeof photoshop;
    for (size_t header; (header = header_bytes(at, (size_t)(end - at))) > 0;) {
        const bool found = (at[4] << 8 | at[5]) == RESOURCE_IPTC;
        const unsigned char *length = at + header - 4;
        *count = (size_t)length[0] << 24 | (size_t)length[1] << 16 | (size_t)length[2] << 8 | length[3];
        at += header;
        if (*count > (size_t)(end - at))
            return NULL;
        if (found)
            return *count ? at : NULL;
        at += *count + (*count % 2 && *count < (size_t)(end - at));
    }
    return NULL;
}

void iptc_wrap(struct text *out, const void *records, size_t count)
{
    const unsigned char header[] = {RESOURCE_IPTC >> 8,
                                    RESOURCE_IPTC & 0xff,
                                    0,
                                    0,
                                    (unsigned char)(count >> 24),
                                    (unsigned char)(count >> 16),
                                    (unsigned char)(count >> 8),
                                    (unsigned char)count};
    text_add_bytes(out, photoshop, sizeof photoshop);
    text_add_bytes(out, resource, 4);
    text_add_bytes(out, header, sizeof header);
    text_add_bytes(out, records, count);
    text_add_bytes(out, "", count % 2);
}
