/* SPDX-License-Identifier: BSD-2-Clause */
/* What the files about tiles share. */
#pragma once

#include "hone/image.h"
#include "stream/tiles/bands.h"
#include "stream/tiles/sharing.h"
#include "stream/tiles/source.h"
#include "stream/tiles/tail.h"

#include <pthread.h>

/* ---- strips.c: the rows that bands are made from, read from whoever has the image ---- */

/* Rows of two bands that are in use, and of the one that is read meanwhile. Where memory is short, only one
 * is in use; where it is very short, nothing is read meanwhile. */
enum { LEAST_STRIPS = 1 };
/* Tiles under way, as many strips at most: one result at its reader's, two on their way; where devices share
 * tiles out, two on each. */
enum { TILES_SLOTS = 3, TILES_MOST_SLOTS = 17 };

struct strips {
    hone_device *device; /* NULL: several */
    struct tiles_image image;
    struct bands bands;   /* of rows */
    uint32_t before, all; /* columns in memory; those in front of the image's continue it (border=wrap) */
    size_t pixel, pitch;  /* bytes */
    uint32_t begin;       /* the band that is filled first */
    unsigned count;
    void *rows[TILES_MOST_SLOTS]; /* of hone_frame_alloc; without a device, of aligned_alloc */
};

/* How many bytes a row of a strip takes where the image is cut into such bands of columns, too. */
size_t strips_pitch(const hone_image_desc *image, const struct bands *columns);
/* Of all rows of all strips, as far as they do not count in hone_device_memory. */
uint64_t strips_bytes(const struct strips *strips);

/* strips_finish is due on an error, too. */
hone_status strips_init(struct strips *strips, hone_device *device, const struct tiles_image *image,
                        const struct bands *rows, const struct bands *columns, unsigned count,
                        hone_error *error);
void strips_finish(struct strips *strips);
/* The same, but their memory stays as it is for ever: who knows who reads it. */
void strips_leave(struct strips *strips);

/* The rows of band `index`, the one after that of the last call; at first that of strips->begin. */
hone_status strips_fill(struct strips *strips, uint32_t index, hone_error *error);
/* A pixel of it, by its place in the image. */
unsigned char *strips_at(const struct strips *strips, uint32_t index, int64_t column, int64_t row);

/* ---- feed.c: a thread that reads bands and pushes their tiles, ahead of whoever takes the results ---- */

struct feed {
    pthread_t thread;
    bool runs;            /* the thread, to be joined */
    pthread_mutex_t lock; /* over all that follows, and what tiles_get_state tells */
    pthread_cond_t news;
    uint32_t filled;   /* bands whose rows are in strips */
    uint64_t pushed;   /* tiles */
    uint64_t needed;   /* the first band whose rows still are */
    uint64_t released; /* tiles whose slots are free */
    bool stop, ended;
    hone_status status; /* once it has ended */
    hone_error error;
};

void feed_init(struct feed *feed);
void feed_finish(struct feed *feed);
/* Starts the thread, unless it runs: it reads from strips.begin on. */
hone_status feed_begin(struct tiles *tiles, hone_error *error);
/* Stops it, after the read that is under way. Without a thread: nothing. */
void feed_end(struct tiles *tiles);
/* So many tiles and bands are not needed any more. */
void feed_release(struct feed *feed, uint64_t tiles, uint64_t bands);
/* One more tile is on its way. */
void feed_tell_pushed(struct feed *feed);
/* Waits until so many are. */
hone_status feed_wait_pushed(struct feed *feed, uint64_t tiles, hone_error *error);
/* Waits until the rows of a band are there. */
hone_status feed_wait(struct feed *feed, uint32_t band, hone_error *error);
/* Why no tiles follow. */
hone_status feed_failure(struct feed *feed, hone_error *error);

/* ---- Tiles ---- */

/* A second image: where a tile's part of it is, if there is one device. */
struct tiles_second {
    size_t step; /* of the head */
    struct tiles_image image;
    struct strips strips;
    hone_image *parts[TILES_SLOTS];
};

struct tiles {
    hone_device *device; /* NULL: several */
    struct pool *pool;   /* these; else NULL */
    bool lost;           /* a device that does not answer may use memory of theirs for ever */
    size_t device_count;
    unsigned slots;
    hone_chain *head, *tail_step; /* copies of steps of the request's chain; NULL: none */
    size_t head_steps;
    struct tiles_image image;
    struct source *source;           /* of it, where filters before make it; NULL: it is the caller's */
    hone_image_desc between, output; /* the result of the head; of all */
    hone_halo halo;                  /* of the head */
    hone_plan_options plan;
    struct tiles_second *seconds;
    hone_image_desc *second_parts;    /* of a tile */
    struct pool_second *second_tiles; /* the same, for several devices */
    size_t second_count;

    struct bands bands, columns; /* tiles are where bands of rows and of columns meet */
    struct strips strips;
    hone_stream *stream; /* for the head; NULL: there is none, or several devices share it */
    struct sharing *sharing;
    struct tail *tail;
    uint32_t tail_rows;    /* that it takes at once */
    unsigned char *joined; /* the head's result for a band of several tiles; NULL: of one */
    uint64_t memory;
    double work;                    /* pixels that are filtered for one of the image */
    hone_copy_counts copies;        /* of the stream that was there last, or of several devices' */
    hone_copies staged;             /* the same */
    uint64_t done_by[POOL_DEVICES]; /* tiles */
    hone_copy_counts its_copies;    /* beside the stream's */
    tiles_tell tell;
    void *tell_user;
    size_t first_step; /* of the head, in the whole chain */

    struct feed feed;
    struct tiles_rows band; /* of the head's result, what is left of it */
    uint64_t pulled;        /* tiles */
    uint32_t done;          /* bands */
    uint32_t ended;         /* rows of what comes after the last band */
};

/* Chooses bands and columns, and makes all that they need, in so many bytes. HONE_ERROR_MEMORY. */
hone_status tiles_fit(struct tiles *tiles, uint64_t memory, hone_error *error);
/* For streams and tails: tells of a command of the head, of the tail. */
void tiles_tell_head(void *tiles, const hone_command *command);
void tiles_tell_tail(void *tiles, const hone_command *command);
/* Beside the stream's. Threads: safe. */
void tiles_add_copies(struct tiles *tiles, const hone_copy_counts *copies);
/* What its stream has copied. */
void tiles_note_copies(struct tiles *tiles);
/* Which device of several did a tile, or what is behind them. */
void tiles_note_done(struct tiles *tiles, unsigned device);
/* What became of a tile of theirs. */
void tiles_note_job(struct tiles *tiles, const struct pool_job *job);
/* Frees that; what has been done, and how, is still known. */
void tiles_release(struct tiles *tiles);
