/* SPDX-License-Identifier: BSD-2-Clause */
/* Images one after the other from a pipe. Decoders seek, so each image is first copied into a file in memory;
 * where it ends, its format says. What does so for no format here is taken for one image up to the end of the
 * stream. */
#include "media/reader.h"

#include "base/bytes.h"
#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* As long as the longest header of a PNM file that is read, and more. */
enum { BUFFER_BYTES = 1 << 17 };

struct media_stream {
    const char *name; /* for messages */
    char *owned_name;
    int fd;
    unsigned number; /* of the image that was taken last */
    unsigned char *buffer;
    size_t at, filled; /* what was read and not taken yet */
    bool ended;
    int code;  /* errno of a read that failed, or of the copy; ETIME: nothing came for too long */
    bool told; /* with the image that was taken last */
    bool full;
    bool strange; /* what was taken last does not begin like an image */
    bool endless; /* its end was not found: all that followed was taken for it */
    int copy;     /* the image that was taken last; -1: opened, or none */
    uint64_t copied, most;
    struct file_patience patience;
};

bool media_is_stream(const char *path)
{
    struct stat info;
    return strcmp(path, "-") == 0 ||
           (stat(path, &info) == 0 && (S_ISFIFO(info.st_mode) || S_ISSOCK(info.st_mode)));
}

hone_status media_stream_open(struct media_stream **out, const char *path, uint64_t memory, double seconds,
                              hone_error *error)
{
    const bool standard = strcmp(path, "-") == 0;
    struct media_stream *s = mem_new(1, sizeof *s);
    *out = NULL;
    if (!s || !(s->buffer = mem_new(BUFFER_BYTES, 1)) || !(s->owned_name = mem_copy_text(path))) {
        free(s ? s->buffer : NULL);
        free(s);
        return error_memory(error, "what a pipe brings");
    }
    s->name = standard ? "standard input" : s->owned_name;
    s->most = memory ? memory : MEDIA_MEMORY;
    s->patience.seconds = seconds;
    s->copy = -1;
    s->fd = standard ? STDIN_FILENO
                     : open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | (seconds > 0 ? O_NONBLOCK : 0));
    hone_status status = HONE_OK;
    if (s->fd < 0)
        status = error_io(error, "cannot open '%s': %s", path, strerror(errno));
    else if (isatty(s->fd))
        status = error_io(error, "'%s' is a terminal: an image comes from a file or a pipe", s->name);
    if (status)
        media_stream_close(&s);
    *out = s;
    return status;
}

void media_stream_close(struct media_stream **slot)
{
    struct media_stream *s = *slot;
    if (!s)
        return;
    if (s->copy >= 0)
        close(s->copy);
    if (s->fd > STDIN_FILENO)
        close(s->fd);
    free(s->buffer);
    free(s->owned_name);
    free(s);
    *slot = NULL;
}

/* ---- Bytes ---- */

/* At least `count` bytes (at most BUFFER_BYTES) that are not taken yet; NULL: the stream ends before. */
static const unsigned char *look(struct media_stream *s, size_t count)
{
    if (s->at + count > BUFFER_BYTES) {
        memmove(s->buffer, s->buffer + s->at, s->filled - s->at);
        s->filled -= s->at;
        s->at = 0;
    }
    while (s->filled - s->at < count && !s->ended) {
        const ssize_t got =
            file_read_patiently(s->fd, s->buffer + s->filled, BUFFER_BYTES - s->filled, &s->patience);
        if (got < 0)
            s->code = errno;
        s->ended = got <= 0;
        s->filled += got > 0 ? (size_t)got : 0;
    }
    return s->filled - s->at >= count ? s->buffer + s->at : NULL;
}

/* Bytes of the buffer go to the copy. */
static bool copy_buffered(struct media_stream *s, size_t count)
{
    s->full = s->full || s->copied + count > s->most;
    if (s->full || s->code)
        return false;
    if (!file_write_all(s->copy, s->buffer + s->at, count)) {
        s->code = errno;
        return false;
    }
    s->at += count;
    s->copied += count;
    return true;
}

/* So many bytes of the stream. False: it ends before, or they cannot be kept. */
static bool take(struct media_stream *s, uint64_t count)
{
    while (count > 0) {
        if (!look(s, 1))
            return false;
        const size_t there = s->filled - s->at, part = there < count ? there : (size_t)count;
        if (!copy_buffered(s, part))
            return false;
        count -= part;
    }
    return true;
}

static void take_rest(struct media_stream *s)
{
    while (look(s, 1) && copy_buffered(s, s->filled - s->at))
        ;
}

/* ---- Where images end. Each takes one, or, where it cannot tell, all that is left ---- */

static void take_png(struct media_stream *s)
{
    const unsigned char *chunk;
    bool last = false;
    if (!take(s, 8))
        return;
    while (!last && (chunk = look(s, 8))) {
        last = memcmp(chunk + 4, "IEND", 4) == 0;
        if (!take(s, 12 + big_endian(chunk, 4)))
            return;
    }
    if (!last)
        take_rest(s);
}

/* Entropy-coded data, up to the next marker. */
static bool take_scan(struct media_stream *s)
{
    while (look(s, 2)) {
        const unsigned char *from = s->buffer + s->at;
        const unsigned char *mark = memchr(from, 0xff, s->filled - s->at - 1);
        if (!mark) {
            if (!copy_buffered(s, s->filled - s->at - 1))
                return false;
            continue;
        }
        const bool stuffed = mark[1] == 0 || (mark[1] >= 0xd0 && mark[1] <= 0xd7);
        if (!copy_buffered(s, (size_t)(mark - from) + (stuffed ? 2 : 0)))
            return false;
        if (!stuffed)
            return true;
    }
    return false;
}

static void take_jpeg(struct media_stream *s)
{
    enum { START = 0xd8, END = 0xd9, SCAN = 0xda };
    const unsigned char *mark;
    bool more = take(s, 2);
    while (more && (mark = look(s, 2)) && mark[0] == 0xff && mark[1] != END) {
        if (mark[1] == START)
            return; /* this one is cut off, and the next one begins */
        const unsigned char kind = mark[1];
        if (kind == 0xff) {
            more = take(s, 1);
            continue;
        }
        mark = look(s, 4);
        more = mark && take(s, 2 + big_endian(mark + 2, 2)) && (kind != SCAN || take_scan(s));
    }
    mark = more ? look(s, 2) : NULL;
    if (mark && mark[0] == 0xff) {
        take(s, 2);
        return;
    }
    s->endless = mark != NULL;
    take_rest(s);
}

static void take_riff(struct media_stream *s)
{
    const unsigned char *head = look(s, 8);
    if (!head)
        return take_rest(s);
    const uint64_t bytes =
        (uint64_t)head[4] | (uint64_t)head[5] << 8 | (uint64_t)head[6] << 16 | (uint64_t)head[7] << 24;
    take(s, 8 + bytes + bytes % 2);
}

static void take_pnm(struct media_stream *s)
{
    uint64_t bytes = 0;
    for (size_t wanted = 16; !bytes && wanted <= BUFFER_BYTES; wanted = s->filled - s->at + 1) {
        const bool some = look(s, wanted) != NULL;
        bytes = media_pnm_bytes((const char *)s->buffer + s->at, s->filled - s->at);
        if (!some)
            break;
    }
    if (bytes)
        take(s, bytes);
    else
        take_rest(s);
}

static const struct {
    const char *start;
    size_t length;
    void (*take)(struct media_stream *s);
} kinds[] = {{"\x89PNG\r\n\x1a\n", 8, take_png},
             {"\xff\xd8\xff", 3, take_jpeg},
             {"RIFF", 4, take_riff},
             {"P5", 2, take_pnm},
             {"P6", 2, take_pnm},
             {"P7", 2, take_pnm},
             {"PF", 2, take_pnm},
             {"Pf", 2, take_pnm}};

/* The kind of the image that begins here, or -1. */
static int kind_of(struct media_stream *s)
{
    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        const unsigned char *head = look(s, kinds[i].length);
        if (head && memcmp(head, kinds[i].start, kinds[i].length) == 0)
            return (int)i;
    }
    return -1;
}

/* ---- Images ---- */

bool media_stream_more(struct media_stream *s)
{
    return s->number == 0 || kind_of(s) >= 0 || (s->code && !s->told);
}

bool media_stream_is_over(struct media_stream *s)
{
    return !look(s, 1);
}

bool media_stream_take(struct media_stream *s)
{
    const bool more = media_stream_more(s);
    if (!more && media_stream_is_over(s))
        return false;
    const int kind = kind_of(s);
    if (s->copy >= 0)
        close(s->copy);
    s->number++;
    s->copied = 0;
    s->endless = false;
    s->strange = !more;
    s->copy = memfd_create("hone-input", MFD_CLOEXEC);
    if (s->copy < 0)
        s->code = errno;
    else if (s->strange)
        ; /* nor would anything be known of what is behind it */
    else if (kind >= 0)
        kinds[kind].take(s);
    else
        take_rest(s);
    s->told = s->code != 0;
    return true;
}

static hone_status check_copy(const struct media_stream *s, const char *name, hone_error *error)
{
    if (s->code == ETIME)
        return error_io(error, MEDIA_STALLED, name, s->patience.seconds);
    if (s->code)
        return error_io(error, "cannot read '%s': %s", name, strerror(s->code));
    if (s->full)
        return error_io(error,
                        "'%s': an image of more than %.0f MiB, which is the limit (--decode-memory sets it)",
                        name, (double)s->most / 1048576);
    if (s->strange)
        return error_io(error,
                        "'%s': what comes does not begin like an image that can follow others, so the rest "
                        "of the pipe cannot be read (--accept-damaged leaves it out)",
                        name);
    if (s->copied == 0)
        return error_io(error, "'%s': nothing came", name);
    return HONE_OK;
}

static const char endless[] = " is damaged so that its end cannot be found, and images behind it are lost";

hone_status media_stream_image(struct media_stream *s, struct media_input **out,
                               const struct media_read_options *options, hone_error *error)
{
    char name[4096];
    snprintf(name, sizeof name, s->number > 1 ? "%s, image %u" : "%s", s->name, s->number);
    *out = NULL;
    TRY(check_copy(s, name, error));
    if (s->endless && !(options && options->accept_damaged))
        return error_io(error, "'%s'%s (--accept-damaged takes what can be decoded)", name, endless);
    const int fd = s->copy;
    s->copy = -1;
    TRY(media_open_descriptor(out, fd, name, options, error));
    if (s->endless)
        media_note(*out, MEDIA_WARNING, "%s", endless);
    return HONE_OK;
}
