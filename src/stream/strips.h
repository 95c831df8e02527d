/* SPDX-License-Identifier: BSD-2-Clause */
/* The rows that bands of an image are made from, read one after the other from whoever has the image. */
#ifndef STREAM_STRIPS_H
#define STREAM_STRIPS_H

#include "stream/bands.h"
#include "stream/tiles.h"

/* Rows of the band at hand, and of the one before, which may still be in use. */
enum { STRIPS = 2 };

struct strips {
    struct tiles_image image;
    struct bands bands; /* of rows */
    uint32_t before,
        all; /* columns in memory: so many in front of the image's, continued as border=wrap does */
    size_t pixel, pitch; /* bytes */
    unsigned char *rows[STRIPS];
};

/* How many bytes a row of a strip takes where the image is cut into such bands of columns, too. */
size_t strips_pitch(const hone_image_desc *image, const struct bands *columns);
/* In memory, of all rows of all strips. */
uint64_t strips_bytes(const struct strips *strips);

/* strips_finish is due on an error, too. */
hone_status strips_init(struct strips *strips, const struct tiles_image *image, const struct bands *rows,
                        const struct bands *columns, hone_error *error);
void strips_finish(struct strips *strips);

/* The rows of band `index`, the one after that of the last call; at first that of 0. */
hone_status strips_fill(struct strips *strips, uint32_t index, hone_error *error);
/* A pixel of it, by its place in the image. */
unsigned char *strips_at(const struct strips *strips, uint32_t index, int64_t column, int64_t row);

#endif
