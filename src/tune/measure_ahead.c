/* SPDX-License-Identifier: BSD-2-Clause */
/* Compiling on another thread what will be measured next. */
#include "tune/measure_private.h"

#include "filter/case.h"

void measure_join_builder(struct measure *m)
{
    if (m->building)
        pthread_join(m->builder, NULL);
    m->building = false;
}

static void *build_ahead(void *argument)
{
    struct measure *m = argument;
    struct instance *instance = NULL;
    instance_create(&instance, m->device, &m->builder_case, m->builder_variant, &m->builder_config, NULL);
    instance_destroy(&instance);
    case_finish(&m->builder_case);
    pthread_mutex_lock(&m->lock);
    m->builder_done = true;
    pthread_mutex_unlock(&m->lock);
    return NULL;
}

bool measure_prepare(struct measure *m, const struct variant *variant, const struct config *config)
{
    pthread_mutex_lock(&m->lock);
    bool busy = m->building && !m->builder_done;
    pthread_mutex_unlock(&m->lock);
    if (busy)
        return false;
    measure_join_builder(m);
    m->builder_variant = variant;
    m->builder_config = *config;
    m->builder_done = false;
    if (case_copy(&m->builder_case, &m->c, NULL) != HONE_OK)
        return false;
    m->building = pthread_create(&m->builder, NULL, build_ahead, m) == 0;
    if (!m->building)
        case_finish(&m->builder_case);
    return m->building;
}
