/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/error.h"
#include "cl/memory.h"
#include "stream/tiles/internal.h"

#include <stdlib.h>
#include <string.h>

enum { PAGE = 4096, ROW_ALIGN = 64 };

/* Columns that are kept, from the first to the last that a region begins or ends with. */
static uint32_t columns_kept(const struct bands *columns)
{
    const struct band last = bands_at(columns, bands_count(columns) - 1);
    const int64_t end = last.origin + columns->region;
    return (uint32_t)((end > columns->length ? end : columns->length) + columns->before * columns->wraps);
}

size_t strips_pitch(const hone_image_desc *image, const struct bands *columns)
{
    hone_image_desc row = *image;
    row.width = columns_kept(columns);
    return (hone_image_row_bytes(&row) + ROW_ALIGN - 1) / ROW_ALIGN * ROW_ALIGN;
}

static size_t strip_bytes(const struct strips *strips)
{
    return (strips->pitch * strips->bands.region + PAGE - 1) / PAGE * PAGE;
}

uint64_t strips_bytes(const struct strips *strips)
{
    const bool counted = strips->device && !memory_is_shared(strips->device); /* by the device */
    return counted ? 0 : (uint64_t)strips->count * strip_bytes(strips);
}

static hone_status new_rows(const struct strips *strips, void **rows, hone_error *error)
{
    if (strips->device)
        return hone_frame_alloc(rows, strips->device, strip_bytes(strips), error);
    *rows = aligned_alloc(PAGE, strip_bytes(strips));
    return *rows ? HONE_OK : error_memory(error, "rows of an image");
}

hone_status strips_init(struct strips *strips, hone_device *device, const struct tiles_image *image,
                        const struct bands *rows, const struct bands *columns, unsigned count,
                        hone_error *error)
{
    *strips = (struct strips){.device = device,
                              .image = *image,
                              .count = count,
                              .bands = *rows,
                              .before = columns->before * columns->wraps,
                              .all = columns_kept(columns),
                              .pixel = hone_image_row_bytes(&image->desc) / image->desc.width,
                              .pitch = strips_pitch(&image->desc, columns)};
    hone_status status = HONE_OK;
    for (unsigned i = 0; i < count && !status; i++)
        status = new_rows(strips, &strips->rows[i], error);
    return status;
}

void strips_finish(struct strips *strips)
{
    for (unsigned i = 0; i < strips->count; i++)
        if (strips->device)
            hone_frame_free(strips->device, &strips->rows[i]);
        else
            free(strips->rows[i]);
    strips_leave(strips);
}

void strips_leave(struct strips *strips)
{
    *strips = (struct strips){0};
}

/* The row continued beyond its edges by itself. */
static void continue_row(const struct strips *strips, unsigned char *row)
{
    const size_t width = strips->image.desc.width * strips->pixel, all = strips->all * strips->pixel;
    size_t left = strips->before * strips->pixel;
    for (size_t at = left + width; at < all; at += width)
        memcpy(row + at, row + at - width, all - at < width ? all - at : width);
    while (left > 0) {
        const size_t some = left < width ? left : width;
        left -= some;
        memcpy(row + left, row + left + width, some);
    }
}

/* Rows of the image continued beyond its edges by itself. */
static hone_status read_rows(struct strips *strips, int64_t first, uint32_t count, unsigned char *to,
                             hone_error *error)
{
    const int64_t height = strips->image.desc.height;
    hone_status status = HONE_OK;
    while (count > 0 && !status) {
        const int64_t at = (first % height + height) % height;
        const uint32_t some = count < height - at ? count : (uint32_t)(height - at);
        status = strips->image.read(strips->image.user, (uint32_t)at, some,
                                    to + strips->before * strips->pixel, strips->pitch, error);
        for (uint32_t i = 0; i < some && !status; i++)
            continue_row(strips, to + i * strips->pitch);
        first += some;
        count -= some;
        to += (size_t)some * strips->pitch;
    }
    return status;
}

/* What the region before holds of this one is copied from there. */
hone_status strips_fill(struct strips *strips, uint32_t index, hone_error *error)
{
    const struct band band = bands_at(&strips->bands, index);
    const uint32_t region = strips->bands.region;
    unsigned char *to = strips->rows[index % strips->count];
    uint32_t have = 0;
    if (index > strips->begin) {
        const int64_t before = bands_at(&strips->bands, index - 1).origin, end = before + region;
        have = end > band.origin ? (uint32_t)(end - band.origin) : 0;
        memmove(to, /* of one strip alone, within it */
                (unsigned char *)strips->rows[(index - 1) % strips->count] +
                    (size_t)(band.origin - before) * strips->pitch,
                (size_t)have * strips->pitch);
    }
    return read_rows(strips, band.origin + have, region - have, to + (size_t)have * strips->pitch, error);
}

unsigned char *strips_at(const struct strips *strips, uint32_t index, int64_t column, int64_t row)
{
    const int64_t origin = bands_at(&strips->bands, index).origin;
    return (unsigned char *)strips->rows[index % strips->count] + (size_t)(row - origin) * strips->pitch +
           (size_t)(column + strips->before) * strips->pixel;
}
