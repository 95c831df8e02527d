/* SPDX-License-Identifier: BSD-2-Clause */
/* The last filter of a chain that is no window. Sums go on from band to band: each band by itself, and then
 * the sums of those before are added. A filter that turns the image turns each band. */
#pragma once

#include "hone/chain.h"
#include "plan/plan.h"
#include "stream/pool.h"

struct tail;

/* `step` is a chain of that filter alone, which must stay; bands are like *band, or shorter. pool: its
 * devices do them, not `device`; NULL: none. */
hone_status tail_create(struct tail **out, hone_device *device, struct pool *pool, const hone_chain *step,
                        hone_reach reach, const hone_image_desc *band, const hone_plan_options *options,
                        hone_error *error);
void tail_destroy(struct tail **tail);

/* Of a band as high as that of tail_create; of counts, the table of all. */
const hone_image_desc *tail_output(const struct tail *tail);
bool tail_step(const struct tail *tail, hone_step_info *info);
/* Has tail_run tell each command. */
void tail_tell(struct tail *tail, plan_tell tell, void *user);

/* Takes the next band of `count` rows. Sums, and turned bands: *out is its result, tight, until the next
 * call. Counts: *out is NULL, and they come by tail_counts. */
hone_status tail_run(struct tail *tail, const void *rows, size_t pitch, uint32_t count, const void **out,
                     hone_error *error);
/* What the last tail_run copied, and which device of the pool did it. */
hone_copy_counts tail_copies(const struct tail *tail);
unsigned tail_device(const struct tail *tail);
/* A device that does not answer may read rows for ever that tail_run was given: their memory is to stay. */
bool tail_has_lost(const struct tail *tail);
/* The sums so far, with which another tail like this one goes on: so many bytes; 0: there are none, or
 * counts. */
size_t tail_state_bytes(const struct tail *tail);
void tail_get_state(const struct tail *tail, void *state);
void tail_set_state(struct tail *tail, const void *state);
/* Of counts, row y of the result, valid until the next call: the table, which has one, or of a picture of
 * them. HONE_ERROR_UNSUPPORTED where a count in a table is over 2^32 - 1. */
hone_status tail_counts(struct tail *tail, uint32_t y, const void **out, hone_error *error);
