/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Work that outlives the process that does it: blocks of one size, each whole or not there, in a private file
 * beside a target. A process that was killed, or a machine that stopped, costs the block under way.
 *
 * A block is `units` units of `unit` bytes, and `extra` bytes behind them. Checks tell blocks that are torn;
 * they do not protect against those who may write to the file, which is the user alone.
 *
 * Threads: one at a time; the file is locked, so that one process uses it.
 */
#pragma once

#include "hone/status.h"

#include <limits.h>
#include <stddef.h>
#include <stdint.h>

struct spool_shape {
    size_t unit, extra; /* extra may be 0 */
    uint32_t units;
};

struct spool {
    int fd; /* -1: not open */
    char path[PATH_MAX];
    struct spool_shape shape;
    uint64_t blocks; /* whole ones */
    uint64_t check;  /* of the block under way */
};

#define SPOOL_NONE ((struct spool){.fd = -1})

enum spool_found {
    SPOOL_NEW,   /* there was nothing */
    SPOOL_OURS,  /* with spool->blocks whole blocks */
    SPOOL_OTHERS /* of another key or shape, or no spool: emptied */
};

/* Opens what belongs to `target`, or makes it. key: what the blocks depend on, as text of at most 100 bytes.
 * HONE_ERROR_IO, also where another process uses it. */
hone_status spool_open(struct spool *spool, const char *target, const char *key,
                       const struct spool_shape *shape, enum spool_found *found, hone_error *error);
/* The next unit of the block under way, and the end of that block. After an error nothing more is to be
 * added. */
hone_status spool_add(struct spool *spool, const void *unit, hone_error *error);
hone_status spool_end_block(struct spool *spool, const void *extra, hone_error *error);
/* Of whole blocks: unit `index`, counted from the first block's first one; what is behind a block's units. */
hone_status spool_read(const struct spool *spool, uint64_t index, void *unit, hone_error *error);
hone_status spool_read_extra(const struct spool *spool, uint64_t block, void *extra, hone_error *error);
/* Fine for SPOOL_NONE. The file stays. */
void spool_close(struct spool *spool);
/* Removes the file that belongs to `target`, if there is one that no other process uses. */
void spool_remove(const char *target);
