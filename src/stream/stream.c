/* SPDX-License-Identifier: BSD-2-Clause */
#include "hone/stream.h"

#include "base/error.h"
#include "base/mem.h"
#include "base/options.h"
#include "cl/device.h"
#include "cl/selftest.h"
#include "image/view.h"
#include "plan/plan.h"
#include "stream/internal.h"

#include <stdlib.h>

hone_status stream_check(const hone_stream *stream, const char *call, hone_error *error)
{
    if (!stream)
        return error_usage(error, "%s needs a stream", call);
    return device_check(stream->device, call, error);
}

hone_status stream_check_outside(const hone_stream *stream, const char *call, hone_error *error)
{
    hone_status status = stream_check(stream, call, error);
    if (!status && stream->callback && pthread_equal(pthread_self(), stream->thread))
        return error_usage(error, "%s would wait for the callback that it was called from", call);
    return status;
}

/* ---- Making one ---- */

static hone_status make_plan(hone_stream *stream, size_t p, const hone_chain *chain,
                             const hone_plan_options *options, hone_error *error)
{
    for (size_t i = 0; i < p; i++)
        if (desc_same(&stream->inputs[i], &stream->inputs[p])) {
            stream->plans[p] = stream->plans[i];
            return HONE_OK;
        }
    hone_status status =
        hone_plan_create(&stream->plans[p], stream->device, chain, &stream->inputs[p], options, error);
    if (!status && !stream->trials)
        plan_settle(stream->plans[p]);
    return status;
}

static hone_status make_plans(hone_stream *stream, const hone_chain *chain, const hone_plan_options *options,
                              hone_error *error)
{
    hone_status status = HONE_OK;
    for (size_t p = 0; p < stream->plane_count && !status; p++) {
        status = make_plan(stream, p, chain, options, error);
        if (!status)
            stream->outputs[p] = *hone_plan_output(stream->plans[p]);
        else if (stream->plane_count > 1)
            error_prefix(error, "plane %zu", p);
    }
    return status;
}

static hone_status check_call(hone_device *device, const hone_chain *chain, const hone_image_desc *planes,
                              size_t plane_count, hone_error *error)
{
    if (!device || !chain || !planes || plane_count < 1 || plane_count > HONE_STREAM_PLANES)
        return error_usage(
            error,
            "hone_stream_create needs a device, a chain, the description of 1 to %d planes and a place "
            "for the stream",
            (int)HONE_STREAM_PLANES);
    hone_status status = device_check(device, "hone_stream_create", error);
    for (size_t p = 0; p < plane_count && !status; p++)
        status = hone_image_desc_check(&planes[p], error);
    return status;
}

static hone_status check_options(const hone_stream_options *options, size_t plane_count, hone_error *error)
{
    if (options->slots && (options->slots < MIN_SLOTS || options->slots > MAX_SLOTS))
        return error_usage(error, "a stream has %d to %d slots, not %u", (int)MIN_SLOTS, (int)MAX_SLOTS,
                           options->slots);
    if ((unsigned)options->mode > HONE_STREAM_STAGED)
        return error_usage(error, "%d is no mode of a stream: HONE_STREAM_AUTO, _ZERO_COPY and _STAGED are",
                           (int)options->mode);
    if (options->plan && options->plan->second_count && plane_count > 1)
        return error_usage(error, "a chain with second images takes one plane: make a stream for each");
    return HONE_OK;
}

/* Where kernels run on the host's processors, copies would only take them away. */
static void start_copiers(hone_stream *stream)
{
    const unsigned count = stream->shared || stream->lent ? 0 : copiers_wanted();
    copiers_open(&stream->into, count);
    copiers_open(&stream->from, count);
    stream->has_copiers = true;
}

static void end_copiers(hone_stream *stream)
{
    if (!stream->has_copiers)
        return;
    copiers_close(&stream->into);
    copiers_close(&stream->from);
}

static hone_status start(hone_stream *stream, hone_error *error)
{
    start_copiers(stream);
    int code = pthread_create(&stream->thread, NULL, deliver, stream);
    stream->has_thread = code == 0;
    return code == 0 ? HONE_OK
                     : error_set(error, HONE_ERROR_MEMORY, "the thread of a stream could not be started");
}

static hone_status set_up(hone_stream *stream, const hone_chain *chain, const hone_stream_options *options,
                          hone_error *error)
{
    stream->mode = options->mode;
    stream->callback = options->callback;
    stream->user = options->user;
    stream->shared = options->mode != HONE_STREAM_STAGED && memory_is_shared(stream->device);
    stream->sends = stream->sends && !stream->shared;
    stream->chained = device_is_out_of_order(stream->device);
    stream->clocked = device_profiles(stream->device) && selftest_holds(stream->device, SELFTEST_CLOCK);
    if (options->mode == HONE_STREAM_ZERO_COPY && !stream->shared)
        return error_unsupported(error, "'%s' does not work on host memory: no frame gets there uncopied",
                                 hone_device_get_info(stream->device)->name);
    hone_status status = make_plans(stream, chain, options->plan, error);
    THEN(status, blocks_of(&stream->blocks, stream->device, error));
    if (!status && !stream->shared)
        status = device_open_lanes(stream->device, error);
    THEN(status, ring_create(stream, options->slots, options->memory, error));
    THEN(status, wraps_create(stream, error));
    return status ? status : start(stream, error);
}

static hone_stream *new_stream(hone_device *device, const hone_image_desc *planes, size_t plane_count)
{
    hone_stream *stream = mem_new(1, sizeof *stream);
    if (!stream)
        return NULL;
    stream->device = device;
    device_retain(device);
    stream->plane_count = plane_count;
    for (size_t p = 0; p < plane_count; p++)
        stream->inputs[p] = planes[p];
    pthread_mutex_init(&stream->pushing, NULL);
    pthread_mutex_init(&stream->lock, NULL);
    pthread_cond_init(&stream->work, NULL);
    pthread_cond_init(&stream->news, NULL);
    return stream;
}

hone_status stream_make(hone_stream **out, hone_device *device, const hone_chain *chain,
                        const hone_image_desc *planes, size_t plane_count, const hone_stream_options *options,
                        const struct stream_extra *extra, hone_error *error)
{
    enum { FIRST = sizeof(hone_stream_options) }; /* 0.1 has all members; the next one begins behind them */
    hone_stream_options wanted;
    if (!out)
        return error_usage(error, "hone_stream_create needs a place for the stream");
    *out = NULL;
    hone_status status = check_call(device, chain, planes, plane_count, error);
    THEN(status, options_take(&wanted, options, sizeof wanted, FIRST, "hone_stream_options", error));
    THEN(status, check_options(&wanted, plane_count, error));
    if (status)
        return status;
    hone_stream *stream = new_stream(device, planes, plane_count);
    if (!stream)
        return error_memory(error, "a stream");
    stream->lent = extra->lent;
    stream->trials = extra->trials;
    stream->sends = extra->sends;
    stream->command = extra->command;
    status = set_up(stream, chain, &wanted, error);
    if (status)
        hone_stream_destroy(&stream);
    *out = stream;
    return status;
}

hone_status hone_stream_create(hone_stream **out, hone_device *device, const hone_chain *chain,
                               const hone_image_desc *planes, size_t plane_count,
                               const hone_stream_options *options, hone_error *error)
{
    const struct stream_extra none = {0};
    return stream_make(out, device, chain, planes, plane_count, options, &none, error);
}

/* ---- Ending one ---- */

static void join(hone_stream *stream)
{
    pthread_mutex_lock(&stream->lock);
    stream->stop = true;
    pthread_cond_broadcast(&stream->work);
    pthread_mutex_unlock(&stream->lock);
    if (stream->has_thread)
        pthread_join(stream->thread, NULL);
}

static void destroy_plans(hone_stream *stream)
{
    for (size_t p = stream->plane_count; p-- > 0;) {
        bool shared = false;
        for (size_t i = 0; i < p; i++)
            shared |= stream->plans[i] == stream->plans[p];
        if (!shared)
            hone_plan_destroy(&stream->plans[p]);
    }
}

void hone_stream_destroy(hone_stream **slot)
{
    hone_stream *stream = slot ? *slot : NULL;
    const bool is_here = stream && device_is_here(stream->device);
    if (is_here)
        join(stream); /* a callback that runs may take the stream from there */
    if (slot)
        *slot = NULL;
    if (!is_here)
        return;
    end_copiers(stream);
    hone_event_destroy(&stream->computed);
    wraps_destroy(stream);
    ring_destroy(stream);
    destroy_plans(stream);
    pthread_cond_destroy(&stream->news);
    pthread_cond_destroy(&stream->work);
    pthread_mutex_destroy(&stream->lock);
    pthread_mutex_destroy(&stream->pushing);
    device_release(stream->device);
    free(stream);
}

/* ---- Asking one ---- */

const hone_image_desc *hone_stream_output(const hone_stream *stream, size_t plane)
{
    return stream && plane < stream->plane_count ? &stream->outputs[plane] : NULL;
}

bool hone_stream_step(const hone_stream *stream, size_t plane, size_t step, hone_step_info *info)
{
    return stream && plane < stream->plane_count && hone_plan_step(stream->plans[plane], step, info);
}
