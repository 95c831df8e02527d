/* SPDX-License-Identifier: BSD-2-Clause */
/* The result of the first filters of a chain as the image that the others read: row by row as it comes, or
 * turned, by way of a temporary file without a name. */
#pragma once

#include "stream/tiles.h"

struct source;

/* Takes over `inner`, on an error, too. turned: its last filter swaps rows and columns. target: as in
 * tiles_request. */
hone_status source_create(struct source **out, struct tiles *inner, bool turned, const char *target,
                          hone_error *error);
void source_destroy(struct source **source);

/* Rows in any order where it is turned, else one after the other. */
struct tiles_image source_image(struct source *source);
bool source_is_turned(const struct source *source);
struct tiles *source_inner(struct source *source);

/* Does a little of what there is to do before rows can be read. */
hone_status source_prepare(struct source *source, bool *ready, hone_error *error);
