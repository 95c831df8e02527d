/* SPDX-License-Identifier: BSD-2-Clause */
#include "tune/worker/memory_file.h"

#include "base/error.h"
#include "base/file.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

hone_status held_file_make(struct held_file *file, const void *bytes, size_t count, hone_error *error)
{
    file->fd = memfd_create("hone", MFD_CLOEXEC);
    if (file->fd < 0 || !file_write_all(file->fd, bytes, count)) {
        hone_status status =
            error_set(error, HONE_ERROR_MEMORY, "%zu bytes cannot be held: %s", count, strerror(errno));
        held_file_close(file);
        return status;
    }
    snprintf(file->path, sizeof file->path, "/proc/%ld/fd/%d", (long)getpid(), file->fd);
    return HONE_OK;
}

void held_file_close(struct held_file *file)
{
    if (file->fd >= 0)
        close(file->fd);
    file->fd = -1;
}
