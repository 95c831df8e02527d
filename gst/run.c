/* SPDX-License-Identifier: BSD-2-Clause */
#include "run.h"

#include "second.h"

#include <stdlib.h>
#include <string.h>

enum { PAGE = 4096, ROW = 64 };

static gboolean same_desc(const hone_image_desc *a, const hone_image_desc *b)
{
    return a->width == b->width && a->height == b->height && a->type == b->type && a->channels == b->channels;
}

/* The results are what the negotiated output has. */
static hone_status check_outputs(const struct run *run, gboolean all, hone_error *error)
{
    struct plane planes[HONE_STREAM_PLANES];
    const unsigned count = format_planes(&run->out, all, planes);
    gboolean alike = count == run->count;
    for (unsigned i = 0; i < count && alike; i++)
        alike = same_desc(hone_stream_output(run->stream, i), &planes[i].desc);
    return alike ? HONE_OK
                 : refuse(error, HONE_ERROR_UNSUPPORTED, "the chain does not make %s of %dx%d",
                          GST_VIDEO_INFO_NAME(&run->out), GST_VIDEO_INFO_WIDTH(&run->out),
                          GST_VIDEO_INFO_HEIGHT(&run->out));
}

static hone_status make_shifted(struct run *run, unsigned i, hone_error *error)
{
    hone_image_desc *desc = &run->planes[i].desc;
    if (run->planes[i].up == 0)
        return HONE_OK;
    desc->pitch = (hone_image_row_bytes(desc) + ROW - 1) / ROW * ROW;
    const size_t bytes = (desc->pitch * desc->height + PAGE - 1) / PAGE * PAGE;
    run->shifted[i].pitch = desc->pitch;
    run->shifted[i].pixels = aligned_alloc(PAGE, bytes);
    if (!run->shifted[i].pixels)
        return refuse(error, HONE_ERROR_MEMORY, "out of memory: a plane takes %zu bytes", bytes);
    memset(run->shifted[i].pixels, 0, bytes);
    return HONE_OK;
}

static hone_status load_second(struct run *run, hone_device *device, const hone_chain *chain, size_t step,
                               hone_error *error)
{
    struct second *second = &run->seconds[run->second_count];
    const char *path = chain_second(chain, step);
    struct second_place place = {
        .frames = &run->in, .plane = run->planes, .filter = hone_chain_filter(chain, step)};
    if (!path)
        return HONE_OK;
    hone_status status = chain_before(chain, step, &run->planes[0].desc, &place.desc, error);
    place.desc.pitch = 0;
    if (!status)
        status = second_load(&second->image, device, path, &place, error);
    second->step = step;
    second->desc = place.desc;
    run->second_count += status == HONE_OK;
    return status;
}

static hone_status load_seconds(struct run *run, hone_device *device, const hone_chain *chain,
                                hone_error *error)
{
    const size_t steps = hone_chain_length(chain);
    hone_status status = HONE_OK;
    run->seconds = g_new0(struct second, steps);
    for (size_t i = 0; i < steps && !status; i++)
        status = load_second(run, device, chain, i, error);
    return status;
}

static hone_status bind_seconds(struct run *run, hone_error *error)
{
    hone_status status = HONE_OK;
    for (size_t i = 0; i < run->second_count && !status; i++)
        status = hone_stream_bind(run->stream, run->seconds[i].step, run->seconds[i].image, error);
    return status;
}

static hone_status make_stream(struct run *run, hone_device *device, const hone_chain *chain, hone_tune tune,
                               hone_error *error)
{
    hone_image_desc *seconds = g_new(hone_image_desc, run->second_count);
    for (size_t i = 0; i < run->second_count; i++)
        seconds[i] = run->seconds[i].desc;
    /* A frame is done before the next one comes, so the fewest slots do. */
    const hone_plan_options plan = {
        .size = sizeof plan, .tune = tune, .second = seconds, .second_count = run->second_count};
    const hone_stream_options options = {.size = sizeof options, .slots = 2, .plan = &plan};
    hone_image_desc descs[HONE_STREAM_PLANES];
    for (unsigned i = 0; i < run->count; i++)
        descs[i] = run->planes[i].desc;
    const hone_status status =
        hone_stream_create(&run->stream, device, chain, descs, run->count, &options, error);
    g_free(seconds);
    return status;
}

struct run *run_new(hone_device *device, const struct video_chain *chain, const GstVideoInfo *in,
                    const GstVideoInfo *out, const struct run_options *options, hone_error *error)
{
    struct run *run = g_new0(struct run, 1);
    hone_status status = HONE_OK;
    run->in = *in;
    run->out = *out;
    run->count = format_planes(in, options->all_planes, run->planes);
    for (unsigned i = 0; i < run->count && !status; i++)
        status = make_shifted(run, i, error);
    if (!status)
        status = load_seconds(run, device, chain->chain, error);
    if (!status)
        status = make_stream(run, device, chain->chain, options->tune, error);
    if (!status)
        status = check_outputs(run, options->all_planes, error);
    if (!status)
        status = bind_seconds(run, error);
    if (!status)
        return run;
    run_free(run);
    return NULL;
}

void run_free(struct run *run)
{
    if (!run)
        return;
    hone_stream_destroy(&run->stream);
    for (size_t i = 0; i < run->second_count; i++)
        hone_image_destroy(&run->seconds[i].image);
    g_free(run->seconds);
    for (unsigned i = 0; i < run->count; i++)
        free(run->shifted[i].pixels);
    g_free(run);
}

/* ---- A frame ---- */

static hone_status refuse_rows(const GstVideoFrame *frame, unsigned plane, hone_error *error)
{
    return refuse(error, HONE_ERROR_UNSUPPORTED,
                  "plane %u has rows %d bytes apart; hone takes frames from top to bottom", plane,
                  GST_VIDEO_FRAME_PLANE_STRIDE(frame, plane));
}

static hone_status describe_plane(struct run *run, unsigned i, const GstVideoFrame *in, GstVideoFrame *out,
                                  hone_frame *frame, struct tally *tally, hone_error *error)
{
    const struct plane *plane = &run->planes[i];
    const int in_stride = GST_VIDEO_FRAME_PLANE_STRIDE(in, plane->index);
    const int out_stride = GST_VIDEO_FRAME_PLANE_STRIDE(out, plane->index);
    if (in_stride <= 0 || out_stride <= 0)
        return refuse_rows(in_stride <= 0 ? in : out, plane->index, error);
    frame->in[i] = GST_VIDEO_FRAME_PLANE_DATA(in, plane->index);
    frame->in_pitch[i] = (size_t)in_stride;
    frame->out[i] = GST_VIDEO_FRAME_PLANE_DATA(out, plane->index);
    frame->out_pitch[i] = (size_t)out_stride;
    if (!run->shifted[i].pixels)
        return HONE_OK;
    plane_shift_up(plane, frame->in[i], frame->in_pitch[i], run->shifted[i].pixels, run->shifted[i].pitch);
    frame->in[i] = run->shifted[i].pixels;
    frame->in_pitch[i] = run->shifted[i].pitch;
    tally->shifted += hone_image_row_bytes(&plane->desc) * plane->desc.height;
    return HONE_OK;
}

/* Planes that are not filtered. */
static hone_status pass_planes(const struct run *run, const GstVideoFrame *in, GstVideoFrame *out,
                               struct tally *tally, hone_error *error)
{
    for (unsigned i = run->count; i < GST_VIDEO_FRAME_N_PLANES(in); i++) {
        if (!gst_video_frame_copy_plane(out, in, i))
            return refuse(error, HONE_ERROR_INTERNAL, "plane %u cannot be copied", i);
        tally->passed += (guint64)GST_VIDEO_INFO_COMP_WIDTH(&run->in, i) *
                         GST_VIDEO_INFO_COMP_PSTRIDE(&run->in, i) * GST_VIDEO_INFO_COMP_HEIGHT(&run->in, i);
    }
    return HONE_OK;
}

static void count_result(struct tally *tally, const hone_stream_result *result)
{
    const hone_copy_counts *copies = &result->copies;
    tally->uploaded += copies->uploads.bytes;
    tally->downloaded += copies->downloads.bytes;
    tally->rearranged += copies->moves.bytes + copies->conversions.bytes + copies->maps.bytes;
    tally->staged += result->staged.bytes;
}

static guint64 copied(const struct tally *tally)
{
    return tally->uploaded + tally->downloaded + tally->rearranged + tally->staged + tally->passed +
           tally->shifted;
}

/* The result, which is waited for in any case: the device works on the frame's memory. */
static hone_status take_result(struct run *run, struct tally *tally, hone_error *error)
{
    hone_stream_result result;
    bool got = false;
    hone_status status = hone_stream_pull(run->stream, &result, &got, error);
    if (status)
        return status;
    if (!got)
        return refuse(error, HONE_ERROR_INTERNAL, "the stream has lost a frame");
    if (result.status && error)
        *error = *result.error;
    count_result(tally, &result);
    return result.status;
}

hone_status run_frame(struct run *run, const GstVideoFrame *in, GstVideoFrame *out, struct tally *tally,
                      hone_error *error)
{
    struct tally now = *tally;
    hone_frame frame = {.size = sizeof frame};
    hone_status status = HONE_OK;
    for (unsigned i = 0; i < run->count && !status; i++)
        status = describe_plane(run, i, in, out, &frame, &now, error);
    if (!status)
        status = hone_stream_push(run->stream, &frame, error);
    if (status)
        return status;
    hone_error failure;
    const hone_status passed = pass_planes(run, in, out, &now, &failure); /* while the device works */
    status = take_result(run, &now, error);
    if (!status && passed) {
        *error = failure;
        status = passed;
    }
    for (unsigned i = 0; i < run->count && !status; i++)
        if (run->planes[i].low)
            plane_round(&run->planes[i], frame.out[i], frame.out_pitch[i]);
    now.frames++;
    now.zero_copy_frames += copied(&now) == copied(tally);
    if (!status)
        *tally = now;
    return status;
}

char *run_variants(const struct run *run)
{
    GString *text = g_string_new(NULL);
    hone_step_info info;
    for (size_t i = 0; hone_stream_step(run->stream, 0, i, &info); i++)
        g_string_append_printf(text, "%s%s:%s", i ? ", " : "", info.filter, info.variant);
    return g_string_free(text, FALSE);
}
