/* SPDX-License-Identifier: BSD-2-Clause */
/* Tiles that several devices share out, by their speed: what goes in comes out in the same order, and what a
 * device that fails or hangs has not finished is done by another. */
#pragma once

#include "stream/pool.h"

struct sharing;

struct sharing_request {
    struct pool *pool;
    const hone_chain *chain;
    hone_image_desc part;              /* a tile */
    const struct pool_second *seconds; /* without pixels */
    size_t second_count;
    unsigned slots; /* tiles under way, and one result at its reader's */
    bool lent;      /* tiles begin at pages */
};

/* HONE_ERROR_MEMORY, and errors of pool_shape. The request's chain may be destroyed before. */
hone_status sharing_create(struct sharing **out, const struct sharing_request *request, hone_error *error);
/* Waits for what is under way. True if a device that does not answer may read tiles for ever: then their
 * memory is to stay. stay: that of results is, too. *sharing becomes NULL; NULL is fine. */
bool sharing_destroy(struct sharing **sharing, bool stay);

const hone_image_desc *sharing_output(const struct sharing *sharing);
/* Of its host memory. */
uint64_t sharing_bytes(const struct sharing *sharing);

/* Threads: one pushes, another one pulls; the other functions are of the one that pulls. */
/* Tile `index`, `pitch` bytes between rows, and its second images; all stays until it has been pulled. */
void sharing_push(struct sharing *sharing, uint64_t index, const void *pixels, size_t pitch,
                  const struct pool_second *seconds);
/* Waits for a tile that has been pushed. *job, with its pixels in job->out, stays until its place is needed:
 * `slots` tiles later. */
hone_status sharing_pull(struct sharing *sharing, uint64_t index, const struct pool_job **job,
                         hone_error *error);

/* As pool_step. */
bool sharing_step(const struct sharing *sharing, size_t step, hone_step_info *info);
