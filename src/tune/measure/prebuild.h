/* SPDX-License-Identifier: BSD-2-Clause */
/* Threads that compile what will be measured soon, so that it is found in the cache then. */
#pragma once

#include <pthread.h>
#include <stdbool.h>

enum { BUILDERS_MOST = 4 };

struct builders {
    pthread_mutex_t lock; /* over `done` */
    int count;            /* that may work side by side */
    struct builder {
        struct builders *of;
        pthread_t thread;
        bool started, done;
        void (*build)(void *job);
        void *job;
    } all[BUILDERS_MOST];
};

/* As many threads as the host has processors beside the one that measures; at least one. */
void builders_init(struct builders *builders);
/* Calls build(job) on another thread, which takes the job over. False, and nothing is taken, while all of
 * them are busy. To be called from one thread. */
bool builders_start(struct builders *builders, void (*build)(void *job), void *job);
/* Waits for all. */
void builders_finish(struct builders *builders);
