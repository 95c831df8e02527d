/* SPDX-License-Identifier: BSD-2-Clause */
/* Threads that compile ahead: no more than there may be, none lost, all waited for. */
#include "tune/measure/prebuild.h"

#include "test.h"

#include <semaphore.h>
#include <stdatomic.h>

static sem_t begun, may_end;
static atomic_int ended;

static void wait_inside(void *job)
{
    sem_post(&begun);
    sem_wait(&may_end);
    atomic_fetch_add((atomic_int *)job, 1);
}

static void start_all(struct builders *builders)
{
    for (int i = 0; i < builders->count; i++) {
        CHECK(builders_start(builders, wait_inside, &ended));
        sem_wait(&begun);
    }
    CHECK(!builders_start(builders, wait_inside, &ended)); /* all are busy */
}

TEST(as_many_as_there_may_be)
{
    struct builders builders;
    sem_init(&begun, 0, 0);
    sem_init(&may_end, 0, 0);
    builders_init(&builders);
    CHECK(builders.count >= 1 && builders.count <= BUILDERS_MOST);
    builders.count = 3;
    start_all(&builders);
    sem_post(&may_end);
    while (!builders_start(&builders, wait_inside, &ended)) /* where one has ended there is room again */
        ;
    for (int i = 0; i < 3; i++)
        sem_post(&may_end);
    builders_finish(&builders);
    CHECK_EQ(ended, 4);
}

TEST(nothing_to_wait_for)
{
    struct builders builders;
    builders_init(&builders);
    builders_finish(&builders);
}
