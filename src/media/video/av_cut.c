/* SPDX-License-Identifier: BSD-2-Clause */
/* Streams that may be cut anywhere, as recordings of broadcasts are: they begin within a group. And files
 * that end too early. */
#include "media/video/av.h"

#include "base/bytes.h"
#include "base/error.h"
#include "base/mem.h"
#include "media/gif.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Packets without a key frame after which there may be none: some broadcasts refresh pictures in parts. */
enum { MOST_BEFORE_KEY = 600 };

/* Other formats begin with a key frame, or do not say reliably which frames are. */
bool cut_is_usual(const struct video_input *input)
{
    static const char *const names[] = {"mpegts", "mpeg", "mpegvideo", "h264", "hevc", "m4v"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(input->format->iformat->name, names[i]) == 0)
            return true;
    return false;
}

void cut_stop_holding(struct video_input *input)
{
    struct unit_list *list = &input->before_key;
    for (size_t i = list->first; i < list->count; i++)
        input->held_bytes -= (uint64_t)list->items[i]->packet->size;
    input->has_begun = true;
}

static void leave_out(struct video_input *input)
{
    struct unit_list *list = &input->before_key;
    const struct video_read_options *o = &input->options;
    for (; list->first < list->count; list->first++)
        video_unit_free((struct video_unit **)&list->items[list->first]);
    input->was_cut = list->count > 0;
    if (input->was_cut)
        video_note(
            o->note, o->user, MEDIA_WARNING,
            "'%s' begins within a group of pictures: what comes before its first key frame is left out "
            "(packets: %zu)",
            input->path, list->count);
}

hone_status cut_hold(struct video_input *input, bool *is_held, hone_error *error)
{
    struct unit_list *list = &input->before_key;
    struct unit *unit = NULL;
    const bool is_key = input->packet->flags & AV_PKT_FLAG_KEY;
    *is_held = !input->has_begun && !is_key && cut_is_usual(input);
    if (*is_held) {
        TRY(input_packet_unit(input, &unit, error));
        TRY(input_keep(input, list, unit, error));
        if (list->count >= MOST_BEFORE_KEY)
            cut_stop_holding(input);
    } else if (!input->has_begun) {
        if (input->packet->dts != AV_NOPTS_VALUE)
            marks_reached(input, input->stream->index, input->packet->dts - 1);
        cut_stop_holding(input);
        leave_out(input);
    }
    return HONE_OK;
}

bool cut_next(struct video_input *input)
{
    struct unit_list *list = &input->before_key;
    if (!input->has_begun || list->first >= list->count)
        return false;
    struct unit **unit = &list->items[list->first++];
    av_packet_move_ref(input->packet, (*unit)->packet);
    video_unit_free((struct video_unit **)unit);
    return true;
}

/* ---- Files that end too early ---- */

enum { PAGE_HEAD = 27, MOST_PAGE_BYTES = 65307 }; /* of Ogg (RFC 3533) */

/* What a page takes that begins here; as much as its head where not even that is there. */
static size_t page_size(const unsigned char *page, size_t left)
{
    size_t size = PAGE_HEAD;
    const size_t segments = left < PAGE_HEAD ? 0 : page[PAGE_HEAD - 1];
    for (size_t i = 0; i < segments; i++)
        size += 1 + (PAGE_HEAD + i < left ? page[PAGE_HEAD + i] : 0);
    return size;
}

bool cut_is_within_page(const struct video_input *input)
{
    struct stat info;
    const int fd = input->descriptor.fd;
    unsigned char *end = mem_new(MOST_PAGE_BYTES, 1);
    bool is_within = false;
    if (end && fstat(fd, &info) == 0 && S_ISREG(info.st_mode)) {
        const off_t from = info.st_size > MOST_PAGE_BYTES ? info.st_size - MOST_PAGE_BYTES : 0;
        const ssize_t got = file_read_at(fd, end, MOST_PAGE_BYTES, from);
        ssize_t at = got - 4;
        while (at >= 0 && memcmp(end + at, "OggS", 4) != 0)
            at--;
        is_within = at >= 0 && page_size(end + at, (size_t)(got - at)) > (size_t)(got - at);
    }
    free(end);
    return is_within;
}

/* What the demuxer gives no packet for lies behind those that it gave. */
bool cut_is_within_gif(const struct video_input *input)
{
    enum { MOST_BYTES = 1 << 26 };
    struct stat info;
    const int fd = input->descriptor.fd;
    uint64_t at = (uint64_t)input->packets_end;
    return fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && at > 0 &&
           info.st_size - input->packets_end <= MOST_BYTES && !gif_pass_blocks(fd, &at);
}

bool cut_is_past_gif(const struct video_input *input)
{
    char next = 0;
    return strcmp(input->format->iformat->name, "gif") == 0 && input->packets_end > 0 &&
           file_read_at(input->descriptor.fd, &next, 1, input->packets_end) == 1 && next == ';';
}

/* Objects of ASF begin with 16 bytes that name them and 8 of their size. */
enum {
    ASF_SIZE = 16,
    ASF_OBJECT = 24,
    ASF_HEADER = 30,
    ASF_DATA = 50,
    ASF_PROPERTIES = 100,
    MOST_OBJECTS = 1000
};

/* Where the packets end that a header of so many bytes lists; 0: it lists none, as where they are sent while
 * they are made. */
static uint64_t asf_end(const unsigned char *properties, uint64_t header)
{
    const uint64_t count = little_endian(properties + 56, 8), least = little_endian(properties + 92, 4);
    const bool is_sent = properties[88] & 1, is_even = least == little_endian(properties + 96, 4);
    return is_sent || !is_even || count > UINT32_MAX ? 0 : header + ASF_DATA + count * least;
}

bool cut_lacks_packets(const struct video_input *input)
{
    static const unsigned char name[ASF_SIZE] = {0xa1, 0xdc, 0xab, 0x8c, 0x47, 0xa9, 0xcf, 0x11,
                                                 0x8e, 0xe4, 0x00, 0xc0, 0x0c, 0x20, 0x53, 0x65};
    unsigned char object[ASF_PROPERTIES];
    struct stat info;
    const int fd = input->descriptor.fd;
    if (strcmp(input->format->iformat->name, "asf") != 0 || fstat(fd, &info) != 0 || !S_ISREG(info.st_mode) ||
        file_read_at(fd, object, ASF_HEADER, 0) != ASF_HEADER)
        return false;
    const uint64_t header = little_endian(object + ASF_SIZE, 8), length = (uint64_t)info.st_size;
    uint64_t at = ASF_HEADER, size = 0;
    for (int i = 0; i < MOST_OBJECTS && at < header && header < length; i++, at += size) {
        if (file_read_at(fd, object, sizeof object, (off_t)at) != sizeof object)
            return false;
        if (memcmp(object, name, sizeof name) == 0)
            return asf_end(object, header) > length;
        size = little_endian(object + ASF_SIZE, 8);
        if (size < ASF_OBJECT || size > header)
            return false;
    }
    return false;
}
