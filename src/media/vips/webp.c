/* SPDX-License-Identifier: BSD-2-Clause */
/* What libvips does not tell of a WebP: whether it is lossless, and the times of its frames, of which it
 * makes 100 ms where they are at most 10, when it reads and when it writes. */
#include "base/file.h"
#include "media/vips/internal.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

enum { CHUNK = 8, FIRST = 12, TIME_AT = 12, TIME_BYTES = 3, FRAME_HEAD = 16 };

static uint32_t size_of(const unsigned char head[CHUNK])
{
    return head[4] | (uint32_t)head[5] << 8 | (uint32_t)head[6] << 16 | (uint32_t)head[7] << 24;
}

bool vips_webp_is_lossless(int fd)
{
    unsigned char head[CHUNK];
    bool lossless = false;
    off_t at = FIRST;
    while (file_read_at(fd, head, CHUNK, at) == CHUNK) {
        if (memcmp(head, "VP8 ", 4) == 0)
            return false;
        lossless |= memcmp(head, "VP8L", 4) == 0;
        /* The pixels of an animation are in chunks within those of its frames. */
        const bool is_frame = memcmp(head, "ANMF", 4) == 0;
        at += CHUNK + (is_frame ? FRAME_HEAD : (off_t)size_of(head) + size_of(head) % 2);
    }
    return lossless;
}

/* The place of the time of the next frame, in the chunks from *at on; 0: there is none. */
static off_t next_time(int fd, off_t *at)
{
    unsigned char head[CHUNK];
    off_t place = 0;
    while (!place && file_read_at(fd, head, CHUNK, *at) == CHUNK) {
        const uint32_t size = size_of(head);
        if (memcmp(head, "ANMF", 4) == 0 && size >= TIME_AT + TIME_BYTES)
            place = *at + CHUNK + TIME_AT;
        *at += CHUNK + (off_t)size + size % 2;
    }
    return place;
}

void vips_read_webp_times(int fd, int *times, unsigned first, unsigned count)
{
    unsigned char time[TIME_BYTES];
    off_t at = FIRST, place;
    for (unsigned i = 0; i < first + count && (place = next_time(fd, &at)) != 0; i++)
        if (i >= first && file_read_at(fd, time, sizeof time, place) == (ssize_t)sizeof time)
            times[i - first] = time[0] | time[1] << 8 | time[2] << 16;
}

int vips_write_webp_times(int fd, const int *times, unsigned count)
{
    off_t at = FIRST, place;
    unsigned frames = 0;
    while (next_time(fd, &at))
        frames++;
    if (frames != count) /* those that are alike have become one */
        return 0;
    at = FIRST;
    for (unsigned i = 0; i < count && (place = next_time(fd, &at)) != 0; i++) {
        const int most = 0xffffff, shown = times[i] < 0 ? 0 : times[i] < most ? times[i] : most;
        const unsigned char time[TIME_BYTES] = {(unsigned char)shown, (unsigned char)(shown >> 8),
                                                (unsigned char)(shown >> 16)};
        if (lseek(fd, place, SEEK_SET) != place || !file_write_all(fd, time, sizeof time))
            return errno;
    }
    return 0;
}
