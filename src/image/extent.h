/* SPDX-License-Identifier: BSD-2-Clause */
/* Where the pixels of an image lie. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Rows of pixels, bytes: the first `start` into `space`, which is any address that stands for a memory; NULL:
 * the host's. */
struct extent {
    const void *space;
    size_t start, pitch, row, rows;
};

/* Whether a pixel of one lies where a pixel of the other does. Those whose rows are equally far apart may
 * interleave: the halves of a picture do not overlap. */
bool extents_overlap(const struct extent *one, const struct extent *other);
