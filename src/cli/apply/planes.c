/* SPDX-License-Identifier: BSD-2-Clause */
/* hone apply: the streams of a video, on the first device. */
#include "cli/apply/apply.h"

#include "base/error.h"
#include "image/view.h"

#include <stdlib.h>
#include <string.h>

static bool tune_is(const struct engine *engine, const char *how)
{
    return engine->options->tune && strcmp(engine->options->tune, how) == 0;
}

static double bound(const struct engine *engine)
{
    return share_bound(engine->shared, (double)engine->input.width * engine->input.height);
}

static hone_status check_stream(const struct engine *engine, const hone_stream *stream,
                                const hone_image_desc *planes, unsigned count, hone_error *error)
{
    for (unsigned i = 0; i < count; i++) {
        const hone_image_desc *out = hone_stream_output(stream, i), *desc = &planes[i];
        if (!desc_same(out, desc))
            return error_set(
                error, HONE_ERROR_USAGE,
                "'%s' makes %ux%u %s with %u channels of a plane of %ux%u %s; in a video, size and "
                "type have to stay",
                engine->chain_text, out->width, out->height, hone_type_name(out->type), out->channels,
                desc->width, desc->height, hone_type_name(desc->type));
    }
    return HONE_OK;
}

static hone_status bind_seconds(struct engine *engine, hone_stream *stream, hone_error *error)
{
    hone_status status = HONE_OK;
    for (size_t i = 0; i < engine->second_count && !status; i++) {
        const struct second *second = &engine->seconds[i];
        if (!engine->images[i])
            status = hone_image_wrap(&engine->images[i], engine->device, &second->desc, second->data, error);
        if (!status)
            status = hone_stream_bind(stream, second->step, engine->images[i], error);
    }
    return status;
}

static hone_status open_stream(struct engine *engine, const hone_image_desc *planes, unsigned count,
                               const hone_stream_options *options, const hone_image_desc *seconds,
                               hone_error *error)
{
    const hone_plan_options plan = {.variant = engine->options->variant,
                                    .config = engine->options->config,
                                    .tune = tune_is(engine, "off") ? HONE_TUNE_OFF : HONE_TUNE_AUTO,
                                    .no_fuse = engine->options->no_fuse,
                                    .second = seconds,
                                    .second_count = engine->second_count};
    hone_stream_options own = *options;
    hone_stream **stream = &engine->streams[engine->stream_count];
    struct guard_watch watch;
    own.plan = &plan;
    guard_watch(&watch, bound(engine), "preparing '%s' on %s", engine->chain_text,
                share_device_name(engine->device));
    hone_status status =
        hone_stream_create(stream, engine->device, engine->chain, planes, count, &own, error);
    guard_unwatch(&watch);
    if (status)
        return status;
    engine->stream_count++;
    status = check_stream(engine, *stream, planes, count, error);
    return status ? status : bind_seconds(engine, *stream, error);
}

static hone_status tune_planes(const struct engine *engine, const hone_image_desc *planes, unsigned count,
                               const hone_image_desc *seconds, hone_error *error)
{
    hone_status status = HONE_OK;
    for (unsigned i = 0; i < count && !status; i++)
        if (i == 0 || !desc_same(&planes[i], &planes[i - 1]))
            status = apply_tune(engine, engine->device, &planes[i], seconds, error);
    return status;
}

/* A stream with second images takes one plane. */
hone_status engine_open_streams(struct engine *engine, const hone_image_desc *planes, unsigned count,
                                const hone_stream_options *options, hone_error *error)
{
    const unsigned each = engine->second_count ? 1 : count;
    engine_close_streams(engine);
    hone_status status = engine_open(engine, &planes[0], error);
    hone_image_desc *seconds = status ? NULL : engine_seconds(engine, error);
    if (!seconds)
        return status ? status : HONE_ERROR_MEMORY;
    engine->rule = ALPHA_COPY;
    engine->input = planes[0];
    engine->chain = engine->given;
    if (tune_is(engine, "full"))
        status = tune_planes(engine, planes, count, seconds, error);
    for (unsigned i = 0; i < count && !status; i += each)
        status = open_stream(engine, &planes[i], each, options, seconds, error);
    free(seconds);
    return status;
}

void engine_watch_frame(const struct engine *engine, struct guard_watch *watch)
{
    guard_watch(watch, bound(engine), "running '%s' on %s", engine->chain_text,
                share_device_name(engine->device));
}

void engine_close_streams(struct engine *engine)
{
    struct guard_watch watch;
    if (!engine->stream_count)
        return;
    engine_watch_frame(engine, &watch);
    while (engine->stream_count)
        hone_stream_destroy(&engine->streams[--engine->stream_count]);
    guard_unwatch(&watch);
}

static bool next_of_stream(const void *stream, size_t step, hone_step_info *info)
{
    return hone_stream_step(stream, 0, step, info);
}

void engine_report_streams(const struct engine *engine, struct apply_result *result)
{
    result->device = engine->device;
    if (engine->stream_count)
        result->steps = pool_copy_steps(&result->step_count, next_of_stream, engine->streams[0]);
}
