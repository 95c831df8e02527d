/* SPDX-License-Identifier: BSD-2-Clause */
/* Files and pipes under FFmpeg's buffers. */
#include "media/video/av.h"

#include "base/file.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BUFFER = 1 << 16 };

/* The libraries try again after some errors: what has failed is not waited for twice. */
static int read_bytes(void *opaque, uint8_t *bytes, int count)
{
    struct descriptor *d = opaque;
    const ssize_t got = d->error ? -1 : file_read_patiently(d->fd, bytes, (size_t)count, &d->patience);
    if (got < 0 && !d->error)
        d->error = errno;
    return got < 0 ? AVERROR(d->error) : got == 0 ? AVERROR_EOF : (int)got;
}

static int write_bytes(void *opaque, written_byte *bytes, int count)
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
