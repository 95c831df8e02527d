/* SPDX-License-Identifier: BSD-2-Clause */
/* Bytes that the worker can read (and write) by a name: a file without a place in any folder. */
#pragma once

#include "hone/status.h"

#include <stddef.h>

struct held_file {
    int fd;         /* -1: none */
    char path[128]; /* as long as this process lives */
};
hone_status held_file_make(struct held_file *file, const void *bytes, size_t count, hone_error *error);
void held_file_close(struct held_file *file);
