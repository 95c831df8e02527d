/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Work that a fault in a library may end: it runs in a process of its own, and a second one goes on behind
 * what ended the first.
 */
#pragma once

#include <stdbool.h>

struct survival {
    /* The work, with the exit status to be. ended: NULL, or what ended the process before ("Segmentation
     * fault"), whose last mark is still there. */
    int (*work)(void *user, const char *ended);
    /* Whether something was under way that the next process can leave out; asked once after each end that may
     * be a library's. */
    bool (*goes_on)(void *user);
    void *user;
};

/**
 * Returns in two processes: in the one that did the last work, with its exit status, and in the one that
 * called, with the same status once that has ended. A signal that is no fault ends the caller, too; SIGINT,
 * SIGTERM and SIGHUP are passed on, but for those of a terminal that both get. To be called before there are
 * threads. What the processes tell each other lies in memory of survive_memory.
 */
int survive(const struct survival *survival);

/* Whether this process does such work, and another one watches it. */
bool survive_is_watched(void);

/* Zeroed memory that processes share from here on, until the process ends; NULL: there is none. */
void *survive_memory(unsigned bytes);
