/* SPDX-License-Identifier: BSD-2-Clause */
/* Whether two images share memory. */
#include "plan/image.h"

/* Rows of pixels, bytes: the first `start` into `space` (see memory_home()). */
struct extent {
    const void *space;
    size_t start, pitch, row, rows;
};

static struct extent extent_of(const hone_image *image)
{
    const hone_image_desc *desc = &image->desc;
    struct extent e = {.pitch = desc->pitch, .row = hone_image_row_bytes(desc), .rows = desc->height};
    if (image->host) {
        e.start = (size_t)image->host;
        e.pitch = image->host_pitch;
        return e;
    }
    memory_home(image->object ? image->object : image->memory, &e.space, &e.start);
    e.start += image->offset;
    return e;
}

static size_t bytes_of(const struct extent *e)
{
    return e->pitch * (e->rows - 1) + e->row;
}

/* The second one begins in row `distance / pitch` of the first, or in the gap behind it. */
static bool rows_overlap(const struct extent *first, const struct extent *second)
{
    size_t distance = second->start - first->start;
    size_t row = distance / first->pitch, column = distance % first->pitch;
    bool beside = row < first->rows && column < first->row;
    bool around = row + 1 < first->rows && column + second->row > first->pitch;
    return beside || around;
}

bool image_overlaps(const hone_image *a, const hone_image *b)
{
    const struct extent one = extent_of(a), other = extent_of(b);
    const struct extent *first = one.start <= other.start ? &one : &other,
                        *second = first == &one ? &other : &one;
    if (one.space != other.space || second->start - first->start >= bytes_of(first))
        return false;
    return first->pitch != second->pitch || rows_overlap(first, second);
}
