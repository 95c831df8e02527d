/* SPDX-License-Identifier: BSD-2-Clause */
/* What streams need of plans beyond the public interface. */
#pragma once

#include "hone/event.h"
#include "hone/plan.h"

/* From now on its runs try no other configurations: they build nothing and wait for nothing. */
void plan_settle(hone_plan *plan);

/* The addresses and pitches of inputs (of results) that are multiples of this many bytes, 1 or more, need no
 * copy to be aligned. */
size_t plan_alignment(const hone_plan *plan, bool of_results);

/* hone_plan_apply, which tells each command of the run, and of the copies around it, when they are done. tell
 * may be NULL. */
typedef void (*plan_tell)(void *user, const hone_command *command);
hone_status plan_apply(hone_plan *plan, const void *in, size_t in_pitch, void *out, size_t out_pitch,
                       plan_tell tell, void *user, hone_error *error);

/* hone_plan_set in two steps, so that several plans can change together or not at all. The plan must be the
 * same when the change is taken. */
struct plan_change;
hone_status plan_change_check(const hone_plan *plan, const char *call, size_t index, const char *text,
                              hone_error *error);
hone_status plan_change_make(struct plan_change **out, hone_plan *plan, size_t index, const char *parameters,
                             hone_error *error);
const hone_image_desc *plan_change_output(const struct plan_change *change);
void plan_change_take(hone_plan *plan, struct plan_change **change);
void plan_change_drop(struct plan_change **change);
