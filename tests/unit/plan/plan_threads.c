/* SPDX-License-Identifier: BSD-2-Clause */
/* Plans that threads make and apply at the same time on one device: also for ThreadSanitizer. */
#include "hone/plan.h"

#include "base/mem.h"
#include "support.h"

#include <pthread.h>

enum { THREADS = 4, ROUNDS = 4 };

static hone_device *device;
static struct view picture;

struct worker {
    pthread_t thread;
    int number;
    struct view results[ROUNDS];
    hone_status statuses[ROUNDS];
};

static const char *chain_of(int thread, int round)
{
    static const char *const chains[] = {"box size=3", "transpose", "sobel", "box size=5"};
    return chains[(thread + round) % COUNT_OF(chains)];
}

static hone_status apply(const char *text, struct view *out)
{
    hone_error error;
    hone_chain *chain = NULL;
    hone_plan *plan = NULL;
    hone_status status = hone_chain_parse(&chain, text, &error);
    if (!status)
        status = hone_plan_create(&plan, device, chain, &picture.desc, NULL, &error);
    if (!status) {
        *out = view_new(hone_plan_output(plan));
        status = hone_plan_apply(plan, picture.data, 0, out->data, 0, &error);
    }
    hone_plan_destroy(&plan);
    hone_chain_destroy(&chain);
    return status;
}

static void *work(void *user)
{
    struct worker *worker = user;
    for (int round = 0; round < ROUNDS; round++)
        worker->statuses[round] = apply(chain_of(worker->number, round), &worker->results[round]);
    return NULL;
}

static void check(struct worker *worker)
{
    for (int round = 0; round < ROUNDS; round++) {
        struct view wanted = support_expected(chain_of(worker->number, round), &picture);
        CHECK_EQ(worker->statuses[round], HONE_OK);
        if (!worker->statuses[round])
            CHECK_SAME(&worker->results[round], &wanted, 0);
        view_finish(&wanted);
        view_finish(&worker->results[round]);
    }
}

TEST(threads_make_plans_on_one_device)
{
    static struct worker workers[THREADS];
    device = support_open_quick();
    picture = support_picture(67, 41, HONE_U8, 1, 5);
    for (int i = 0; i < THREADS; i++) {
        workers[i].number = i;
        REQUIRE(pthread_create(&workers[i].thread, NULL, work, &workers[i]) == 0);
    }
    for (int i = 0; i < THREADS; i++)
        REQUIRE(pthread_join(workers[i].thread, NULL) == 0);
    for (int i = 0; i < THREADS; i++)
        check(&workers[i]);
    view_finish(&picture);
    hone_device_close(&device);
}
