/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Tuning by real work: while a plan runs frame after frame, other promising configurations are built on a
 * thread of their own (for at most two seconds) and take some of the frames. The fastest one then runs by
 * turns with the plan's own, and stays if it is clearly faster there, too. What stays is remembered with the
 * tuning records. Nobody waits, and no frame is computed twice. Where programs would have to be compiled for
 * it, a plan begins only after its own runs took seconds, or were dozens.
 */
#pragma once

#include "choose/choose.h"
#include "filter/instance.h"

struct trial;

/* Makes a trial among `choices` (the first of which `instance` was built from); NULL where there is nothing
 * to try: a device without a clock, a case that was measured here before, a single candidate. */
struct trial *trial_new(hone_device *device, const struct instance *instance, const struct choice *choices,
                        size_t count);

/* The instance for the next run: one that is to be timed, or `instance`. */
struct instance *trial_turn(struct trial *trial, struct instance *instance);

/* Tells how a run went; takes the event over. */
void trial_note(struct trial *trial, const struct instance *instance, hone_event *event);

/* This one, which trial_turn gave, could not run: it gets no more turns. */
void trial_failed(struct trial *trial, const struct instance *instance);

/* True once when all is known: *instance is replaced by the winner if that is another one (the old one is
 * destroyed), and *origin says so. The trial is over then. */
bool trial_conclude(struct trial **trial, struct instance **instance, enum choice_origin *origin);

/* Gives up: waits for the building thread (not long: one program at most) and keeps the plan's instance. NULL
 * is fine. */
void trial_end(struct trial **trial);
