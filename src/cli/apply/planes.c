/* SPDX-License-Identifier: BSD-2-Clause */
/* hone apply: the planes of a video's frames, each of which the pool gives to a device that is free. */
#include "cli/apply/video.h"

#include "base/error.h"
#include "base/mem.h"
#include "image/view.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Before the first frame ---- */

static hone_status check_shape(const struct engine *engine, const hone_image_desc *desc, hone_error *error)
{
    const hone_image_desc *out = &engine->output;
    if (desc_same(out, desc))
        return HONE_OK;
    char channels[32] = "";
    if (out->channels > 1)
        snprintf(channels, sizeof channels, " with %u channels", out->channels);
    return error_usage(error,
                       "'%s' makes %ux%u %s%s of a plane of %ux%u %s; in a video, size and type have to stay",
                       engine->chain_text, out->width, out->height, hone_type_name(out->type), channels,
                       desc->width, desc->height, hone_type_name(desc->type));
}

static unsigned count_kinds(const hone_image_desc *planes, unsigned count)
{
    unsigned kinds = 0;
    for (unsigned i = 0; i < count; i++)
        kinds += i == 0 || !desc_same(&planes[i], &planes[i - 1]);
    return kinds;
}

hone_status planes_open(struct engine *engine, const hone_image_desc *planes, unsigned count,
                        struct pool_shape *shapes[VIDEO_PLANES], hone_error *error)
{
    engine->place = (struct place){0};
    hone_status status = engine_open(engine, &planes[0], error);
    const uint64_t rings = count_kinds(planes, count) * engine->shared->count;
    engine->rule = ALPHA_COPY;
    for (unsigned i = 0; i < count && !status; i++) {
        const struct pool_ring ring = {.memory = engine->options->memory / 2 / rings};
        status = engine_find_shape(engine, &shapes[i], &planes[i], NULL, &ring, error);
        THEN(status, check_shape(engine, &planes[i], error));
    }
    return status;
}

void planes_close(struct engine *engine, struct pool_shape *shapes[VIDEO_PLANES])
{
    for (int i = 0; i < VIDEO_PLANES; i++)
        pool_release(engine->shared->pool, &shapes[i]);
}

/* ---- A frame ---- */

static size_t result_bytes(const struct video_plane *plane, const struct pool_shape *shape)
{
    return plane->out_pitch * pool_output(shape)->height;
}

hone_status planes_submit(struct frame_jobs **out, struct engine *engine,
                          struct pool_shape *const shapes[VIDEO_PLANES], const struct video_unit *unit,
                          hone_error *error)
{
    struct frame_jobs *jobs = *out = mem_new(1, sizeof *jobs);
    if (!jobs)
        return error_memory(error, "a frame");
    for (unsigned i = 0; i < VIDEO_PLANES && shapes[i]; i++, jobs->count++) {
        const struct video_plane *plane = &unit->planes[i];
        jobs->job[i] = (struct pool_job){.shape = shapes[i],
                                         .in = plane->in,
                                         .in_pitch = plane->in_pitch,
                                         .out = plane->out,
                                         .out_pitch = plane->out_pitch,
                                         .out_bytes = result_bytes(plane, shapes[i])};
        pool_submit(engine->shared->pool, &jobs->job[i]);
    }
    return HONE_OK;
}

static bool is_lost(const struct frame_jobs *jobs)
{
    bool lost = false;
    for (unsigned i = 0; i < jobs->count; i++)
        lost |= jobs->job[i].in_is_lost;
    return lost;
}

/* Results that were made in other memory go where the encoder takes them. */
static hone_status move_results(struct frame_jobs *jobs, struct video_unit **unit, hone_error *error)
{
    hone_status status = video_unit_replace(unit, error);
    for (unsigned i = 0; i < jobs->count; i++) {
        struct pool_job *job = &jobs->job[i];
        if (!job->in_is_lost)
            continue;
        if (!status && job->status == HONE_OK)
            memcpy((*unit)->planes[i].out, job->out, job->out_bytes);
        free(job->out);
    }
    return status;
}

hone_status planes_wait(struct engine *engine, struct frame_jobs *jobs, struct video_unit **unit,
                        hone_error *error)
{
    hone_status status = HONE_OK;
    for (unsigned i = 0; i < jobs->count; i++) {
        const hone_status one = pool_wait(engine->shared->pool, &jobs->job[i]);
        if (one && !status && error)
            *error = jobs->job[i].error;
        status = status ? status : one;
    }
    const hone_status moved = is_lost(jobs) ? move_results(jobs, unit, status ? NULL : error) : HONE_OK;
    return status ? status : moved;
}

void planes_free(struct frame_jobs **jobs)
{
    for (unsigned i = 0; *jobs && i < (*jobs)->count; i++) {
        free((*jobs)->job[i].steps);
        free((*jobs)->job[i].commands);
    }
    free(*jobs);
    *jobs = NULL;
}
