/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * A chain over an image that need not fit into memory: bands of whole rows go through a stream, each with the
 * rows around it that its result depends on. Bands that are too wide for the memory that there is go tile by
 * tile, with the columns around each. The result is that of the whole image.
 *
 * Integral and histogram carry sums from band to band; filters behind them read their rows as they come. A
 * transposed image goes through a temporary file. What cannot be done in bands is HONE_ERROR_UNSUPPORTED, and
 * the message names the filter.
 */
#pragma once

#include "hone/chain.h"
#include "hone/event.h"
#include "hone/stream.h"
#include "stream/pool.h"

/* Fills `rows`, `pitch` bytes apart, with `count` rows of the image from `first` on. That is where the last
 * call ended, except under border=wrap: then the last rows come before the first ones, and the first ones
 * once more at the end. Threads: called from one of the tiles' own, one call at a time; what it returns on
 * an error comes out of tiles_next. */
typedef hone_status (*tiles_read)(void *user, uint32_t first, uint32_t count, void *rows, size_t pitch,
                                  hone_error *error);

struct tiles_image {
    hone_image_desc desc; /* each side at most HONE_MAX_SIDE, of any number of pixels; pitch 0 */
    tiles_read read;
    void *user;
};

/* A command that a device was given, and what it was to be made of what: a part of the image, by the pitches
 * that were chosen for it. */
struct tiles_command {
    hone_command c; /* its step is one of the whole chain */
    const hone_device *device;
    hone_image_desc in, out;
};
/* Told each when it is done. Threads: those of several streams call at once. */
typedef void (*tiles_tell)(void *user, const struct tiles_command *command);

struct tiles_request {
    hone_device *device;
    /* Where it has several devices that work, they share tiles out by their speed, and what one that fails or
     * hangs has not finished is done by the others; `device` does not count then. May be NULL. */
    struct pool *pool;
    const hone_chain *chain;
    struct tiles_image input;
    const struct tiles_image *seconds; /* of the steps that take two images, in their order */
    size_t second_count;
    uint64_t memory; /* bytes, for all that is held at once; 0: what the device's budget has left */
    const hone_plan_options *plan; /* NULL: defaults; its second images do not count */
    tiles_tell tell;               /* NULL: nobody wants to know */
    void *tell_user;
    const char *target; /* in whose folder temporary files are made; NULL: in $TMPDIR or /tmp */
};

/* Whether a chain can be run over images like `input` in bands: HONE_ERROR_UNSUPPORTED says why not. Second
 * images are taken to be like the first. Needs no device. */
hone_status tiles_check(const hone_chain *chain, const hone_image_desc *input, hone_error *error);

/* Threads: one at a time. */
struct tiles;

/* HONE_ERROR_MEMORY where not even the smallest tiles fit. How much would do is known only when it has been
 * taken: a request with more tells. *out is released with tiles_destroy. The chain may be destroyed
 * before. */
hone_status tiles_create(struct tiles **out, const struct tiles_request *request, hone_error *error);
/* *tiles becomes NULL, NULL is fine. */
void tiles_destroy(struct tiles **tiles);

/* Of the whole result, with pitch 0. */
const hone_image_desc *tiles_output(const struct tiles *tiles);

/* Does a part of what there is to do before the first rows come, which may be most of it. tiles_next does
 * what is left. */
hone_status tiles_prepare(struct tiles *tiles, bool *ready, hone_error *error);

/* The next rows of the result, from the top; valid until the next call. `count` is 0 when all have come. */
struct tiles_rows {
    const void *pixels;
    size_t pitch;
    uint32_t first, count;
};
hone_status tiles_next(struct tiles *tiles, struct tiles_rows *rows, hone_error *error);

/* Beginning later: where another object of the same request, on the same device and with as many rows in each
 * band, has done the first bands. Not where sums of all bands are the result, nor behind filters that make
 * their rows once: false. */
bool tiles_can_skip(const struct tiles *tiles);
/* What the next bands need of those before beside the image: so many bytes. To be asked for when all rows of
 * a band have come, and no more. */
size_t tiles_carry_bytes(const struct tiles *tiles);
void tiles_get_carry(const struct tiles *tiles, void *carry);
/* Leaves out so many bands, at most all. Before the first rows, where tiles_can_skip. */
void tiles_skip(struct tiles *tiles, uint32_t bands, const void *carry);

/* What has been done. */
struct tiles_state {
    uint64_t bands, done; /* of all images on the way from the input to the result */
    uint32_t columns;     /* tiles side by side */
    uint32_t band_rows;
    uint64_t region_pixels; /* that one call may read and filter */
    uint64_t memory;        /* bytes held */
    hone_copy_counts copies;
    hone_copies staged;             /* by the processor, as in hone_stream_result */
    uint64_t done_by[POOL_DEVICES]; /* tiles, and bands behind them, by the devices of a pool */
};
/* Threads: safe beside the thread that takes rows. */
void tiles_get_state(const struct tiles *tiles, struct tiles_state *state);

/* Pixels that are filtered for one of the image, in the step from input to result where they are most: many
 * where memory is so little that tiles are small beside what is around them. */
double tiles_work(const struct tiles *tiles);

/* As hone_plan_step; of several devices, what one of them chose. */
bool tiles_step(const struct tiles *tiles, size_t step, hone_step_info *info);
