/* SPDX-License-Identifier: BSD-2-Clause */
/* Compiling on other threads what will be measured next. */
#include "tune/measure/state.h"

#include "base/mem.h"
#include "filter/case.h"

#include <stdlib.h>

struct job {
    hone_device *device;
    struct filter_case c;
    const struct variant *variant;
    struct config config;
};

static void finish(struct job *job)
{
    case_finish(&job->c);
    free(job);
}

static void build_ahead(void *argument)
{
    struct job *job = argument;
    struct instance *instance = NULL;
    instance_create(&instance, job->device, &job->c, job->variant, &job->config, NULL);
    instance_destroy(&instance);
    finish(job);
}

bool measure_prepare(struct measure *m, const struct variant *variant, const struct config *config)
{
    struct job *job = mem_new(1, sizeof *job);
    if (!job)
        return false;
    job->device = m->device;
    job->variant = variant;
    job->config = *config;
    if (case_copy(&job->c, &m->c, NULL) != HONE_OK) {
        free(job);
        return false;
    }
    const bool started = builders_start(&m->builders, build_ahead, job);
    if (!started)
        finish(job);
    return started;
}
