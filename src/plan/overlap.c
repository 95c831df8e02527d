/* SPDX-License-Identifier: BSD-2-Clause */
/* Whether two images share memory. */
#include "image/extent.h"
#include "plan/image.h"

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

bool image_overlaps(const hone_image *a, const hone_image *b)
{
    const struct extent one = extent_of(a), other = extent_of(b);
    return extents_overlap(&one, &other);
}
