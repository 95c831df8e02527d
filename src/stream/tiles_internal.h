/* SPDX-License-Identifier: BSD-2-Clause */
/* What the files about tiles share. */
#ifndef STREAM_TILES_INTERNAL_H
#define STREAM_TILES_INTERNAL_H

#include "hone/image.h"
#include "stream/strips.h"
#include "stream/tail.h"

enum { TILES_SLOTS = 3 }; /* one result at its reader's, two tiles on their way */

/* A second image: where a tile's part of it is on the device. */
struct tiles_second {
    size_t step; /* of the head */
    struct tiles_image image;
    struct strips strips;
    hone_image *parts[TILES_SLOTS];
};

struct tiles {
    hone_device *device;
    hone_chain *head, *tail_step; /* copies of steps of the request's chain; NULL: none */
    size_t head_steps;
    struct tiles_image image;
    hone_image_desc between, output; /* the result of the head; of all */
    hone_halo halo;                  /* of the head */
    hone_plan_options plan;
    struct tiles_second *seconds;
    hone_image_desc *second_parts; /* of a tile */
    size_t second_count;

    struct bands bands, columns; /* tiles are where bands of rows and of columns meet */
    struct strips strips;
    hone_stream *stream; /* for the head; NULL: there is none */
    struct tail *tail;
    uint32_t tail_rows;    /* that it takes at once */
    unsigned char *joined; /* the head's result for a band of several tiles; NULL: of one */
    uint64_t memory;

    struct tiles_rows band;  /* of the head's result, what is left of it */
    uint64_t pushed, pulled; /* tiles */
    uint32_t done;           /* bands */
    bool ended;
};

/* Chooses bands and columns, and makes all that they need, in so many bytes. HONE_ERROR_MEMORY. */
hone_status tiles_fit(struct tiles *tiles, uint64_t memory, hone_error *error);
/* Frees that. */
void tiles_release(struct tiles *tiles);

#endif
