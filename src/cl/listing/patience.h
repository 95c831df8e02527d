/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Questions to drivers that may never come back: each is asked in a thread of its own, and one that takes
 * too long is left to it.
 *
 * Threads: all functions are safe.
 */
#pragma once

#include <stdbool.h>

/* What is asked, at the start of a larger structure of malloc's with all that the question needs and finds
 * out. */
struct question {
    void (*ask)(struct question *question);
    /* Frees it: in its thread, if the answer comes too late. The caller calls it otherwise. */
    void (*destroy)(struct question *question);
};

enum answer {
    ANSWER_CAME,
    ANSWER_LATE, /* the question belongs to its thread now */
    ANSWER_NO_MEMORY
};

/* How long a driver may take for one of them, in seconds; 0: any time. Otherwise HONE_DRIVER_TIMEOUT, or 60.
 * Time in which the process was stopped or had no processor does not count. */
void patience_set(double seconds);
double patience_seconds(void);

enum answer patience_ask(struct question *question);

/* What was found to hang is not asked again in this process: `subject` is a handle of the driver's.
 * An empty sentence is not given out. */
void patience_note_late(const void *subject, const char *format, ...) __attribute__((format(printf, 2, 3)));
bool patience_is_late(const void *subject); /* NULL: any */

/* A sentence of patience_note_late that was not given out yet, or NULL. */
const char *patience_take_note(void);
