/* SPDX-License-Identifier: BSD-2-Clause */
/* Changing what is done with the frames to come. Frames in flight have their kernels enqueued already. */
#include "base/error.h"
#include "image/view.h"
#include "plan/plan.h"
#include "stream/internal.h"

/* Whether plane p has the plan of an earlier one. */
static bool is_shared(const hone_stream *stream, size_t p)
{
    for (size_t i = 0; i < p; i++)
        if (stream->plans[i] == stream->plans[p])
            return true;
    return false;
}

static hone_status check_output(const hone_image_desc *now, const hone_image_desc *then, hone_error *error)
{
    if (desc_same(now, then))
        return HONE_OK;
    return error_usage(error, "the result would be %ux%u %s x%u; the stream was made for %ux%u %s x%u",
                       then->width, then->height, hone_type_name(then->type), then->channels, now->width,
                       now->height, hone_type_name(now->type), now->channels);
}

/* All plans change, or none. */
static hone_status change_all(hone_stream *stream, size_t step, const char *parameters, bool keep,
                              hone_error *error)
{
    struct plan_change *changes[HONE_STREAM_PLANES] = {NULL};
    hone_status status = HONE_OK;
    for (size_t p = 0; p < stream->plane_count && !status; p++) {
        if (is_shared(stream, p))
            continue;
        status = plan_change_make(&changes[p], stream->plans[p], step, parameters, error);
        THEN(status, check_output(&stream->outputs[p], plan_change_output(changes[p]), error));
    }
    for (size_t p = 0; p < stream->plane_count; p++) {
        if (changes[p] && keep && !status)
            plan_change_take(stream->plans[p], &changes[p]);
        plan_change_drop(&changes[p]);
    }
    return status;
}

static hone_status change(hone_stream *stream, const char *call, size_t step, const char *parameters,
                          bool keep, hone_error *error)
{
    hone_status status = stream_check(stream, call, error);
    THEN(status, plan_change_check(stream->plans[0], call, step, parameters, error));
    if (status)
        return status;
    pthread_mutex_lock(&stream->pushing);
    status = change_all(stream, step, parameters, keep, error);
    pthread_mutex_unlock(&stream->pushing);
    return status;
}

hone_status hone_stream_set(hone_stream *stream, size_t step, const char *parameters, hone_error *error)
{
    return change(stream, "hone_stream_set", step, parameters, true, error);
}

hone_status hone_stream_prepare(hone_stream *stream, size_t step, const char *parameters, hone_error *error)
{
    return change(stream, "hone_stream_prepare", step, parameters, false, error);
}

/* What the image still has to hand over goes to the device now, so that no push has to wait for it. */
hone_status hone_stream_bind(hone_stream *stream, size_t step, hone_image *second, hone_error *error)
{
    bool moved = false;
    TRY(stream_check(stream, "hone_stream_bind", error));
    pthread_mutex_lock(&stream->pushing);
    hone_status status = hone_plan_bind(stream->plans[0], step, second, error);
    THEN(status, image_hand_over(second, true, (struct wait_list){0}, &moved, error));
    if (!status && moved && stream->chained)
        status = hone_device_finish(stream->device, error);
    pthread_mutex_unlock(&stream->pushing);
    return status;
}
