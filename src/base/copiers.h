/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Threads that help to copy rows: one thread alone moves about a quarter of what the bus of a large GPU does.
 */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

enum { MOST_COPIERS = 3 };

/* Rows between memory that does not overlap. Pitches in bytes, from row to row. */
struct copy_job {
    char *to;
    const char *from;
    size_t to_pitch, from_pitch, row, rows;
};

struct copiers {
    pthread_mutex_t lock; /* over all that follows */
    pthread_cond_t work, done;
    struct copy_job job;
    size_t parts, next, unfinished; /* of the job; next: the first that nobody has taken */
    bool stop;
    pthread_t threads[MOST_COPIERS];
    unsigned count;
};

/* How many helpers suit the machine: of each four processors one, since as many copy the other way. */
unsigned copiers_wanted(void);

/* Starts up to `count` helpers. Fewer are no failure: the caller copies too. */
void copiers_open(struct copiers *copiers, unsigned count);
void copiers_close(struct copiers *copiers);

/* Returns when all is copied. One caller at a time. Small copies are made by the caller alone. */
void copiers_copy(struct copiers *copiers, const struct copy_job *job);
