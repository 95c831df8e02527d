/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/pick/opening.h"

#include "base/error.h"
#include "base/mem.h"
#include "cl/builds.h"
#include "cl/selftest.h"
#include "cli/guard.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum stage { OPENS, TESTS };

struct opening {
    struct opening_request request;
    char *spec;
    pthread_t thread;
    struct guard_watch watch; /* the thread's */
    pthread_mutex_t lock;     /* over all that follows */
    pthread_cond_t changed;
    enum stage stage;
    bool done, hangs;
    hone_device *device;
    bool passes;
    hone_status status;
    hone_error error;
    struct opening *next;
};

/* Those that hang: their threads may come back at any time. */
static struct opening *left;

/* From the guard's thread. */
static bool give_up(void *user, uint64_t stage)
{
    struct opening *opening = user;
    pthread_mutex_lock(&opening->lock);
    const bool over = opening->done || opening->stage != (enum stage)stage,
               lives_with = over || !opening->request.is_only;
    if (!over && lives_with) {
        opening->hangs = true;
        opening->status =
            error_set(&opening->error, HONE_ERROR_DEVICE, "%s took longer than %g s",
                      stage == OPENS ? "opening it" : "its self-test", opening->request.seconds);
        if (opening->device)
            build_lock_abandon(opening->device);
        pthread_cond_signal(&opening->changed);
    }
    pthread_mutex_unlock(&opening->lock);
    return lives_with;
}

static void run_tests(struct opening *opening, hone_device *device)
{
    const struct guard_late late = {give_up, opening, TESTS, device};
    guard_watch_or(&opening->watch, opening->request.seconds, &late, "testing the device %s",
                   cli_device_name(device));
    const bool passes = selftest_passes(device);
    if (opening->request.clock)
        selftest_holds(device, SELFTEST_CLOCK);
    guard_unwatch(&opening->watch);
    pthread_mutex_lock(&opening->lock);
    opening->passes = passes;
    pthread_mutex_unlock(&opening->lock);
}

/* Whether somebody still waits for the device, which is being tested from now on. */
static bool note_open(struct opening *opening, hone_device *device, hone_status status,
                      const hone_error *error)
{
    pthread_mutex_lock(&opening->lock);
    const bool awaited = !opening->hangs;
    opening->device = device;
    if (awaited) {
        opening->stage = TESTS;
        opening->status = status;
        if (status)
            opening->error = *error;
    }
    pthread_mutex_unlock(&opening->lock);
    return awaited;
}

static void *open_and_test(void *user)
{
    struct opening *opening = user;
    const struct guard_late late = {.ask = give_up, .user = opening, .key = OPENS};
    hone_device *device = NULL;
    hone_error error = {.status = HONE_OK};
    guard_watch_or(&opening->watch, opening->request.seconds, &late, "opening the device %s", opening->spec);
    const hone_status status = cli_open_device(&device, opening->request.common, opening->spec, &error);
    guard_unwatch(&opening->watch);
    if (note_open(opening, device, status, &error) && !status && opening->request.tests)
        run_tests(opening, device);
    pthread_mutex_lock(&opening->lock);
    opening->done = true;
    pthread_cond_signal(&opening->changed);
    pthread_mutex_unlock(&opening->lock);
    return NULL;
}

static void destroy(struct opening *opening)
{
    pthread_mutex_destroy(&opening->lock);
    pthread_cond_destroy(&opening->changed);
    free(opening->spec);
    free(opening);
}

static hone_status begin(struct opening **out, const struct opening_request *request, hone_error *error)
{
    struct opening *opening = mem_new(1, sizeof *opening);
    char *spec = mem_copy_text(request->spec);
    if (opening && spec) {
        opening->request = *request;
        opening->spec = spec;
        pthread_mutex_init(&opening->lock, NULL);
        pthread_cond_init(&opening->changed, NULL);
        *out = opening;
        if (pthread_create(&opening->thread, NULL, open_and_test, opening) == 0)
            return HONE_OK;
        destroy(opening);
    } else {
        free(opening);
        free(spec);
    }
    return error_memory(error, "the opening of a device");
}

/* Whether it came to its end. */
static bool await(struct opening *opening)
{
    pthread_mutex_lock(&opening->lock);
    while (!opening->done && !opening->hangs)
        pthread_cond_wait(&opening->changed, &opening->lock);
    const bool hangs = opening->hangs;
    pthread_mutex_unlock(&opening->lock);
    if (hangs)
        pthread_detach(opening->thread);
    else
        pthread_join(opening->thread, NULL);
    return !hangs;
}

hone_status opening_run(hone_device **out, bool *passes, const struct opening_request *request,
                        hone_error *error)
{
    struct opening *opening = NULL;
    *out = NULL;
    TRY(begin(&opening, request, error));
    const bool ended = await(opening);
    const hone_status status = opening->status;
    if (status)
        error_pass(error, &opening->error);
    if (!ended) {
        opening->next = left;
        left = opening;
        return status;
    }
    *out = opening->device;
    if (passes)
        *passes = opening->passes;
    destroy(opening);
    return status;
}

bool opening_hangs(const char *spec)
{
    const struct opening *opening = left;
    while (opening && spec && strtoul(opening->spec, NULL, 10) != strtoul(spec, NULL, 10))
        opening = opening->next;
    return opening;
}
