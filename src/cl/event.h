/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "hone/event.h"

/* One event for a sequence: its times are those of both, waiting ends with *last. Both are consumed; they may
 * be the same event. */
void event_join(hone_event **first, hone_event **last, hone_event **out);

/* Another reference to the same end of work. */
hone_status event_copy(hone_event **out, const hone_event *event, hone_error *error);

/* Of a single command: the bytes that it moves. NULL is fine. */
void event_note_bytes(hone_event *event, uint64_t bytes);
/* Of all commands of a sequence: the filter of the chain for which they work. NULL is fine. */
void event_note_step(hone_event *event, size_t step);

/* Tells each command of finished work in the order of enqueueing; without times where the device has no clock
 * that works. NULL is fine. */
void event_each_command(const hone_event *event, void (*tell)(void *user, const hone_command *command),
                        void *user);
