/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * What a session takes over from the one before, on the same case and device.
 *
 * One that was interrupted left no choice: the next one goes on from its tries. One that was concluded is
 * measured anew when it is asked for again, unless there is more to do: more evaluations are asked for, or it
 * ran out of time.
 */
#pragma once

#include "choose/records.h"

/* Zeroed at the start. */
struct resume {
    const struct record_choice *last; /* of the sessions that were concluded */
    size_t from;                      /* the try that the last one began with */
};

/* Takes the choices of sessions in the order of the records, which must stay where they are. */
void resume_add(struct resume *resume, const struct record_choice *choice);
/* Whether a session of so many evaluations goes on where a concluded one ended. */
bool resume_goes_on(const struct resume *resume, int evaluations);
/* The first of the tries that such a session takes over, as `tries_before` counts. */
size_t resume_from(const struct resume *resume, int evaluations);
