/* SPDX-License-Identifier: BSD-2-Clause */
/* The blocks of GIF: extensions and images, of which rows of sub-blocks are parts. */
#pragma once

#include "base/file.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { GIF_IMAGE = 10, GIF_IMAGE_FLAGS = 9 }; /* bytes that an image begins with, and the last of them */

static inline bool gif_bytes(int fd, uint64_t at, void *bytes, size_t count)
{
    return file_read_at(fd, bytes, count, (off_t)at) == (ssize_t)count;
}

/* Bytes of a table of colours that follows these flags. */
static inline unsigned gif_colour_bytes(unsigned flags)
{
    return flags & 0x80 ? 3u << ((flags & 7) + 1) : 0;
}

/* From the first of some sub-blocks to what follows the empty one that ends them. */
static inline bool gif_pass_sub_blocks(int fd, uint64_t *at)
{
    unsigned char length;
    do {
        if (!gif_bytes(fd, *at, &length, 1))
            return false;
        *at += 1u + length;
    } while (length);
    return true;
}

/* Behind all blocks from *at on. false: the file ends within one. */
static inline bool gif_pass_blocks(int fd, uint64_t *at)
{
    unsigned char head[GIF_IMAGE];
    while (gif_bytes(fd, *at, head, 1) && (head[0] == '!' || head[0] == ',')) {
        if (head[0] == ',' && !gif_bytes(fd, *at, head, GIF_IMAGE))
            return false;
        /* a picture's data begin with the length of their codes, an extension's with its kind */
        *at += head[0] == ',' ? GIF_IMAGE + gif_colour_bytes(head[GIF_IMAGE_FLAGS]) + 1 : 2;
        if (!gif_pass_sub_blocks(fd, at))
            return false;
    }
    return true;
}
