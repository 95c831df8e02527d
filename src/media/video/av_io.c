/* SPDX-License-Identifier: BSD-2-Clause */
/* Files and pipes under FFmpeg's buffers. */
#include "media/video/av.h"

#include "base/file.h"

#include <errno.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BUFFER = 1 << 16, WAIT_MS = 100 };

/* Whoever writes the pipe may take all the time there is, but not keep us from stopping. */
static bool wait_for_bytes(const struct descriptor *d)
{
    struct pollfd fd = {.fd = d->fd, .events = POLLIN};
    while (d->stopped && !d->stopped(d->user)) {
        const int ready = poll(&fd, 1, WAIT_MS);
        if (ready > 0 || (ready < 0 && errno != EINTR))
            return true;
    }
    return !d->stopped;
}

static int read_bytes(void *opaque, uint8_t *bytes, int count)
{
    struct descriptor *d = opaque;
    ssize_t got;
    if (!wait_for_bytes(d))
        return AVERROR_EOF;
    do
        got = read(d->fd, bytes, (size_t)count);
    while (got < 0 && errno == EINTR);
    if (got < 0) {
        d->error = errno;
        return AVERROR(errno);
    }
    return got == 0 ? AVERROR_EOF : (int)got;
}

static int write_bytes(void *opaque, uint8_t *bytes, int count)
{
    struct descriptor *d = opaque;
    if (file_write_all(d->fd, bytes, (size_t)count))
        return count;
    d->error = errno;
    return AVERROR(errno);
}

static int64_t seek(void *opaque, int64_t offset, int whence)
{
    const struct descriptor *d = opaque;
    struct stat info;
    if (whence & AVSEEK_SIZE)
        return fstat(d->fd, &info) == 0 ? info.st_size : AVERROR(errno);
    const off_t at = lseek(d->fd, offset, whence & ~AVSEEK_FORCE);
    return at < 0 ? AVERROR(errno) : at;
}

AVIOContext *io_open(struct descriptor *descriptor, bool write, bool seekable)
{
    uint8_t *buffer = av_malloc(BUFFER);
    AVIOContext *io = buffer
                          ? avio_alloc_context(buffer, BUFFER, write, descriptor, write ? NULL : read_bytes,
                                               write ? write_bytes : NULL, seekable ? seek : NULL)
                          : NULL;
    if (!io)
        av_free(buffer);
    return io;
}

void io_close(AVIOContext **io)
{
    if (*io)
        av_freep(&(*io)->buffer);
    avio_context_free(io);
}
