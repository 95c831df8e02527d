/* SPDX-License-Identifier: BSD-2-Clause */
/* What the files about tiles share. */
#pragma once

#include "hone/image.h"
#include "stream/bands.h"
#include "stream/source.h"
#include "stream/tail.h"

/* ---- strips.c: the rows that bands are made from, read from whoever has the image ---- */

/* Rows of the band at hand, and of the one before, which may still be in use. */
enum { STRIPS = 2 };

struct strips {
    struct tiles_image image;
    struct bands bands;   /* of rows */
    uint32_t before, all; /* columns in memory; those in front of the image's continue it (border=wrap) */
    size_t pixel, pitch;  /* bytes */
    uint32_t begin;       /* the band that is filled first */
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

/* The rows of band `index`, the one after that of the last call; at first that of strips->begin. */
hone_status strips_fill(struct strips *strips, uint32_t index, hone_error *error);
/* A pixel of it, by its place in the image. */
unsigned char *strips_at(const struct strips *strips, uint32_t index, int64_t column, int64_t row);

/* ---- Tiles ---- */

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
    struct source *source;           /* of it, where filters before make it; NULL: it is the caller's */
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
    hone_copy_counts copies;     /* of the stream that was there last */
    hone_copies staged;          /* the same */
    hone_copy_counts its_copies; /* beside the stream's */
    tiles_tell tell;
    void *tell_user;
    size_t first_step; /* of the head, in the whole chain */

    struct tiles_rows band;  /* of the head's result, what is left of it */
    uint64_t pushed, pulled; /* tiles */
    uint32_t done;           /* bands */
    uint32_t ended;          /* rows of what comes after the last band */
};

/* Chooses bands and columns, and makes all that they need, in so many bytes. HONE_ERROR_MEMORY. */
hone_status tiles_fit(struct tiles *tiles, uint64_t memory, hone_error *error);
/* For streams and tails: tells of a command of the head, of the tail. */
void tiles_tell_head(void *tiles, const hone_command *command);
void tiles_tell_tail(void *tiles, const hone_command *command);
/* What its stream has copied. */
void tiles_note_copies(struct tiles *tiles);
/* Frees that; what has been done, and how, is still known. */
void tiles_release(struct tiles *tiles);
