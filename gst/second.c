/* SPDX-License-Identifier: BSD-2-Clause */
#include "second.h"

static const GstClockTime patience = 20 * GST_SECOND;

/* ---- The pipeline that decodes ---- */

/* Caps without a size: a picture of another one is told, not scaled. NULL where GStreamer has no such
 * format. */
static GstCaps *wanted_caps(const struct second_place *place)
{
    static const char *const kept[] = {"colorimetry", "chroma-site"};
    const hone_image_desc *frame = &place->plane->desc, *desc = &place->desc;
    const gboolean alike = desc->type == frame->type && desc->channels == frame->channels;
    const GstVideoFormat format = alike ? GST_VIDEO_INFO_FORMAT(place->frames) : format_of(desc);
    if (format == GST_VIDEO_FORMAT_UNKNOWN)
        return NULL;
    GstCaps *made =
        gst_caps_new_simple("video/x-raw", "format", G_TYPE_STRING, gst_video_format_to_string(format), NULL);
    GstCaps *from = gst_video_info_to_caps(place->frames);
    for (gsize i = 0; alike && i < G_N_ELEMENTS(kept); i++) {
        const GValue *value = gst_structure_get_value(gst_caps_get_structure(from, 0), kept[i]);
        if (value)
            gst_caps_set_value(made, kept[i], value);
    }
    gst_caps_unref(from);
    return made;
}

static void set_in(GstElement *pipeline, const char *element, const char *property, gconstpointer value)
{
    GstElement *found = gst_bin_get_by_name(GST_BIN(pipeline), element);
    g_object_set(found, property, value, NULL);
    gst_object_unref(found);
}

static hone_status refuse_file(hone_error *error, const char *path, const char *why)
{
    return refuse(error, HONE_ERROR_IO, "the second image '%s' cannot be read: %s", path, why);
}

static hone_status refuse_because(hone_error *error, const char *path, GError *why)
{
    const gboolean missing = g_error_matches(why, GST_CORE_ERROR, GST_CORE_ERROR_MISSING_PLUGIN);
    char *text = g_strconcat(
        why->message, missing ? " The package gstreamer1.0-plugins-good has decoders for PNG and JPEG." : "",
        NULL);
    const hone_status status = refuse_file(error, path, text);
    g_free(text);
    g_error_free(why);
    return status;
}

/* Waits until the first picture has come. */
static hone_status wait_for_picture(GstElement *pipeline, const char *path, hone_error *error)
{
    GError *why = NULL;
    GstBus *bus = gst_element_get_bus(pipeline);
    gst_element_set_state(pipeline, GST_STATE_PAUSED); /* a failure is a message, too */
    GstMessage *message =
        gst_bus_timed_pop_filtered(bus, patience, GST_MESSAGE_ASYNC_DONE | GST_MESSAGE_ERROR);
    gst_object_unref(bus);
    if (!message)
        return refuse_file(error, path, "no picture comes");
    if (GST_MESSAGE_TYPE(message) == GST_MESSAGE_ERROR)
        gst_message_parse_error(message, &why, NULL);
    gst_message_unref(message);
    return why ? refuse_because(error, path, why) : HONE_OK;
}

static GstSample *take_picture(GstElement *pipeline)
{
    GstSample *sample = NULL;
    GstElement *sink = gst_bin_get_by_name(GST_BIN(pipeline), "sink");
    g_object_get(sink, "last-sample", &sample, NULL);
    gst_object_unref(sink);
    return sample;
}

static hone_status decode(GstSample **out, const char *path, const GstCaps *caps, hone_error *error)
{
    GError *why = NULL;
    GstElement *pipeline = gst_parse_launch_full("filesrc name=file ! decodebin ! videoconvert ! "
                                                 "capsfilter name=format ! fakesink name=sink sync=false",
                                                 NULL, GST_PARSE_FLAG_FATAL_ERRORS, &why);
    if (!pipeline)
        return refuse_because(error, path, why);
    set_in(pipeline, "file", "location", path);
    set_in(pipeline, "format", "caps", caps);
    hone_status status = wait_for_picture(pipeline, path, error);
    *out = status ? NULL : take_picture(pipeline);
    if (!status && !*out)
        status = refuse_file(error, path, "it has no picture");
    gst_element_set_state(pipeline, GST_STATE_NULL);
    gst_object_unref(pipeline);
    return status;
}

/* ---- The picture ---- */

static hone_status upload_shifted(hone_image *image, const struct plane *plane, const GstVideoFrame *frame,
                                  hone_error *error)
{
    const size_t pitch = hone_image_row_bytes(&plane->desc);
    guint8 *pixels = g_try_malloc_n(plane->desc.height, pitch);
    if (!pixels)
        return refuse(error, HONE_ERROR_MEMORY, "out of memory for a second image");
    plane_shift_up(plane, GST_VIDEO_FRAME_PLANE_DATA(frame, 0),
                   (size_t)GST_VIDEO_FRAME_PLANE_STRIDE(frame, 0), pixels, pitch);
    const hone_status status = hone_image_upload(image, pixels, pitch, NULL, 0, NULL, error);
    g_free(pixels);
    return status;
}

static hone_status upload(hone_image **out, hone_device *device, const struct second_place *place,
                          const GstVideoFrame *frame, hone_error *error)
{
    hone_status status = hone_image_create(out, device, &place->desc, HONE_MEMORY_DEVICE, error);
    if (status)
        return status;
    status = place->plane->up
                 ? upload_shifted(*out, place->plane, frame, error)
                 : hone_image_upload(*out, GST_VIDEO_FRAME_PLANE_DATA(frame, 0),
                                     (size_t)GST_VIDEO_FRAME_PLANE_STRIDE(frame, 0), NULL, 0, NULL, error);
    if (status)
        hone_image_destroy(out);
    return status;
}

static hone_status take(hone_image **out, hone_device *device, const char *path,
                        const struct second_place *place, GstSample *sample, hone_error *error)
{
    GstVideoInfo info;
    GstVideoFrame frame;
    if (!gst_video_info_from_caps(&info, gst_sample_get_caps(sample)))
        return refuse_file(error, path, "its pictures have no size");
    const guint width = (guint)GST_VIDEO_INFO_WIDTH(&info), height = (guint)GST_VIDEO_INFO_HEIGHT(&info);
    if (width != place->desc.width || height != place->desc.height)
        return refuse(error, HONE_ERROR_USAGE, "the second image '%s' is %ux%u; %s gets frames of %ux%u",
                      path, width, height, place->filter, place->desc.width, place->desc.height);
    if (!gst_video_frame_map(&frame, &info, gst_sample_get_buffer(sample), GST_MAP_READ))
        return refuse_file(error, path, "its picture cannot be mapped");
    const hone_status status = upload(out, device, place, &frame, error);
    gst_video_frame_unmap(&frame);
    return status;
}

hone_status second_load(hone_image **out, hone_device *device, const char *path,
                        const struct second_place *place, hone_error *error)
{
    GstSample *sample = NULL;
    GstCaps *caps = wanted_caps(place);
    *out = NULL;
    if (!caps)
        return refuse(error, HONE_ERROR_UNSUPPORTED, "%s gets %s with %u channels, which no picture has",
                      place->filter, hone_type_name(place->desc.type), place->desc.channels);
    hone_status status = decode(&sample, path, caps, error);
    gst_caps_unref(caps);
    if (status)
        return status;
    status = take(out, device, path, place, sample, error);
    gst_sample_unref(sample);
    return status;
}
