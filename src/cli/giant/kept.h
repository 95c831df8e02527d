/* SPDX-License-Identifier: BSD-2-Clause */
/* hone apply --resume: rows of a giant result are kept beside the output until that is complete, so that the
 * same command goes on behind them after an interruption. */
#pragma once

#include "base/spool.h"
#include "cli/apply/apply.h"
#include "stream/tiles.h"

struct kept {
    bool on;
    struct spool spool;
    uint32_t band_rows;
    uint32_t rows; /* that an earlier run kept */
    uint32_t next; /* row of the result */
    uint32_t end;  /* behind the last row of a whole band: nothing is kept after it */
    void *carry;
};

#define KEPT_NONE ((struct kept){.spool = {.fd = -1}})

/* Opens what an earlier run kept for this output, and lets the tiles begin behind it. Where that cannot be, a
 * warning says so, and nothing is kept. kept_end is due in any case. */
hone_status kept_begin(struct kept *kept, const struct engine *engine, const struct item *item,
                       struct tiles *tiles, hone_error *error);
/* Whether the next row is there already: then it goes to `row`. */
bool kept_has(const struct kept *kept);
hone_status kept_take(struct kept *kept, void *row, hone_error *error);
/* Whether there were such rows and the first one behind them has not been made. */
bool kept_skips(const struct kept *kept);
/* The next row, which the tiles have just made. */
hone_status kept_add(struct kept *kept, const struct tiles *tiles, const void *row, hone_error *error);
/* status: what came of the rows. They stay until kept_remove. */
void kept_end(struct kept *kept, const struct engine *engine, const struct item *item, hone_status status);
/* When the output is in place: what was kept for it, or for any of the `pages` of its input. */
void kept_remove(const char *output, unsigned pages);
