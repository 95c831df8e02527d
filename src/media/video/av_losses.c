/* SPDX-License-Identifier: BSD-2-Clause */
/* What a format or an encoder drops of a video without a word. */
#include "media/video/av.h"

#include "base/mem.h"
#include "base/text.h"

#include <libavutil/dovi_meta.h>
#include <libavutil/spherical.h>
#include <libavutil/stereo3d.h>

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static void tell(const struct encoder_request *r, const char *lost, const char *way_out)
{
    video_note(r->options->note, r->options->user, MEDIA_WARNING, "'%s': %s; %s", r->name, lost, way_out);
}

static bool is_one_of(const AVOutputFormat *muxer, const char *names)
{
    return text_has_word(names, muxer->name);
}

static const uint8_t *side_data(const AVStream *stream, enum AVPacketSideDataType type)
{
    return av_stream_get_side_data(stream, type, NULL);
}

/* ---- Rotation ---- */

static bool is_turned(const AVStream *stream)
{
    const int32_t *matrix = (const void *)side_data(stream, AV_PKT_DATA_DISPLAYMATRIX);
    return matrix && (matrix[0] <= 0 || matrix[1] || matrix[3] || matrix[4] <= 0);
}

/* ---- Alpha ---- */

/* VP8 and VP9 have it beside their packets, in Matroska's own way; other encoders within. */
static bool loses_alpha(const struct encoder_request *r, const AVCodecContext *encoder)
{
    const AVPixFmtDescriptor *desc = av_pix_fmt_desc_get(encoder->pix_fmt);
    const bool is_beside = encoder->codec_id == AV_CODEC_ID_VP8 || encoder->codec_id == AV_CODEC_ID_VP9;
    return desc->flags & AV_PIX_FMT_FLAG_ALPHA && is_beside && !is_one_of(r->muxer, "matroska webm");
}

/* ---- Range ---- */

/* Of what is not listed, the decoder knows the range from the format at best. */
static bool loses_range(const struct encoder_request *r, const AVCodecContext *encoder)
{
    static const enum AVCodecID telling[] = {AV_CODEC_ID_H264,  AV_CODEC_ID_HEVC,
                                             AV_CODEC_ID_VP9,   AV_CODEC_ID_AV1,
                                             AV_CODEC_ID_MJPEG, AV_CODEC_ID_WRAPPED_AVFRAME};
    const AVPixFmtDescriptor *desc = av_pix_fmt_desc_get(encoder->pix_fmt);
    if (encoder->color_range != AVCOL_RANGE_JPEG || desc->flags & AV_PIX_FMT_FLAG_RGB)
        return false;
    if (encoder->codec_id == AV_CODEC_ID_MPEG1VIDEO || encoder->codec_id == AV_CODEC_ID_MPEG2VIDEO)
        return true;
    for (size_t i = 0; i < COUNT_OF(telling); i++)
        if (telling[i] == encoder->codec_id)
            return false;
    return !is_one_of(r->muxer, "matroska webm");
}

/* Only a comment in JPEG tells, which FFmpeg writes and reads. */
static bool gains_range(const struct encoder_request *r, const AVCodecContext *encoder)
{
    return encoder->codec_id == AV_CODEC_ID_MJPEG && encoder->color_range != AVCOL_RANGE_JPEG &&
           r->like->stream->codecpar->codec_id != AV_CODEC_ID_MJPEG;
}

/* ---- Fields ---- */

/* Encoders that mark frames as two fields. Decoders of what is not encoded go by the file. */
static bool marks_fields(const AVCodecContext *encoder)
{
    static const enum AVCodecID marking[] = {AV_CODEC_ID_H264,   AV_CODEC_ID_MPEG2VIDEO, AV_CODEC_ID_MPEG4,
                                             AV_CODEC_ID_PRORES, AV_CODEC_ID_DVVIDEO,    AV_CODEC_ID_FFV1};
    if (encoder->codec_id == AV_CODEC_ID_DNXHD)
        return encoder->profile == FF_PROFILE_DNXHD;
    for (size_t i = 0; i < COUNT_OF(marking); i++)
        if (marking[i] == encoder->codec_id)
            return true;
    return false;
}

static bool is_plain(enum AVCodecID id)
{
    return id == AV_CODEC_ID_RAWVIDEO || id == AV_CODEC_ID_V210 || id == AV_CODEC_ID_WRAPPED_AVFRAME;
}

static void tell_fields(const struct encoder_request *r, const AVCodecContext *encoder)
{
    const bool is_held = is_one_of(r->muxer, "matroska mp4 mov yuv4mpegpipe");
    const char *way_out = "--codec h264, mpeg2video, prores and ffv1 keep it where the format holds them";
    char lost[200];
    if (!r->like->sample->interlaced_frame || marks_fields(encoder) ||
        (is_held && is_plain(encoder->codec_id)))
        return;
    snprintf(lost, sizeof lost,
             is_held
                 ? "that frames are interlaced is told by the file alone, because the encoder %s here does "
                   "not mark them, and most programs look at frames"
                 : "that frames are interlaced is lost, because the encoder %s here does not mark them",
             encoder->codec->name);
    tell(r, lost, way_out);
}

/* Every second picture is the other half of the one before. */
static void tell_single_fields(const struct encoder_request *r, const AVCodecContext *encoder)
{
    if (strcmp(encoder->codec->name, "libx265") != 0)
        tell(r, "the pictures are single fields of interlaced frames, and that is lost",
             "--codec libx265 keeps it where the format holds HEVC");
}

/* ---- Shape ---- */

static bool is_near(double a, double b)
{
    const double tolerance = 0.03; /* standards differ by as much on what is 4:3 */
    return fabs(a / b - 1) < tolerance;
}

/* MPEG-2 knows square pixels and three shapes of pictures, MPEG-1 a list of pixels, height by width. */
static bool loses_shape(const AVCodecContext *encoder)
{
    static const double pictures[] = {4.0 / 3, 16.0 / 9, 2.21};
    static const double pixels[] = {1,      0.6735, 0.7031, 0.7615, 0.8055, 0.8437, 0.8935,
                                    0.9157, 0.9815, 1.0255, 1.0695, 1.0950, 1.1575, 1.2015};
    const double shape = av_q2d(encoder->sample_aspect_ratio);
    bool is_held = encoder->sample_aspect_ratio.num == 0 || is_near(shape, 1);
    if (encoder->codec_id == AV_CODEC_ID_MPEG2VIDEO)
        for (size_t i = 0; i < COUNT_OF(pictures); i++)
            is_held |= is_near(shape * encoder->width / encoder->height, pictures[i]);
    else if (encoder->codec_id == AV_CODEC_ID_MPEG1VIDEO)
        for (size_t i = 0; i < COUNT_OF(pixels); i++)
            is_held |= is_near(1 / shape, pixels[i]);
    else
        is_held = true;
    return !is_held;
}

/* ---- HDR ---- */

static int add_from_frame(AVStream *to, const AVFrame *frame, enum AVPacketSideDataType type,
                          enum AVFrameSideDataType of_frame)
{
    const AVFrameSideData *data = av_frame_get_side_data(frame, of_frame);
    if (!data || side_data(to, type))
        return 0;
    uint8_t *copy = av_stream_new_side_data(to, type, data->size);
    if (!copy)
        return AVERROR(ENOMEM);
    memcpy(copy, data->data, data->size);
    return 0;
}

/* MP4 has an old box that says how both pictures are packed, and a new one that says only that there are two:
 * FFmpeg writes both, and reads the new one over the old one. */
static void say_packing_once(AVStream *to)
{
#if LIBAVFORMAT_VERSION_INT >= WITH_VIEW_BOX
    AVStereo3D *stereo = (void *)av_stream_get_side_data(to, AV_PKT_DATA_STEREO3D, NULL);
    if (stereo && (stereo->type == AV_STEREO3D_TOPBOTTOM || stereo->type == AV_STEREO3D_SIDEBYSIDE) &&
        stereo->view == AV_STEREO3D_VIEW_PACKED && !stereo->flags)
        stereo->view = AV_STEREO3D_VIEW_UNSPEC; /* what is left out */
#else
    (void)to;
#endif
}

int losses_avoid(AVStream *to, const AVOutputFormat *muxer, const AVFrame *frame)
{
    if (is_one_of(muxer, "mp4"))
        say_packing_once(to);
    const int code = add_from_frame(to, frame, AV_PKT_DATA_MASTERING_DISPLAY_METADATA,
                                    AV_FRAME_DATA_MASTERING_DISPLAY_METADATA);
    return code < 0 ? code
                    : add_from_frame(to, frame, AV_PKT_DATA_CONTENT_LIGHT_LEVEL,
                                     AV_FRAME_DATA_CONTENT_LIGHT_LEVEL);
}

/* x265 is told, and writes it into the stream. */
static bool loses_brightness(const struct encoder_request *r, const AVCodecContext *encoder,
                             const AVStream *stream)
{
    return strcmp(encoder->codec->name, "libx265") != 0 &&
           (side_data(stream, AV_PKT_DATA_MASTERING_DISPLAY_METADATA) ||
            side_data(stream, AV_PKT_DATA_CONTENT_LIGHT_LEVEL)) &&
           !is_one_of(r->muxer, "matroska webm mp4 mov");
}

/* It describes what lies between the pictures, which decoders leave out. */
static void tell_dolby_vision(const struct encoder_request *r)
{
    const AVDOVIDecoderConfigurationRecord *dovi =
        (const void *)side_data(r->like->stream, AV_PKT_DATA_DOVI_CONF);
    if (dovi)
        tell(r, "Dolby Vision is lost, because no encoder here writes it",
             dovi->dv_bl_signal_compatibility_id ? "the pictures can be shown without, as HDR or SDR"
                                                 : "without it the pictures have wrong colours");
}

/* HDR10+ says frame by frame what Dolby Vision says in its own way. */
static void tell_dynamic(const struct encoder_request *r)
{
    if (av_frame_get_side_data(r->like->sample, AV_FRAME_DATA_DYNAMIC_HDR_PLUS))
        tell(r, "HDR10+ is lost, because no encoder here writes it",
             "the pictures can be shown without, as HDR10");
}

/* ---- Closed captions ---- */

static void tell_captions(const struct encoder_request *r, const AVCodecContext *encoder)
{
    char lost[160];
    if (!av_frame_get_side_data(r->like->sample, AV_FRAME_DATA_A53_CC) ||
        encoder->codec_id == AV_CODEC_ID_H264 || encoder->codec_id == AV_CODEC_ID_MPEG2VIDEO)
        return;
    snprintf(lost, sizeof lost,
             "closed captions in the frames are lost, because the encoder %s here does not write them",
             encoder->codec->name);
    tell(r, lost, "--codec h264 and mpeg2video keep them where the format holds these");
}

/* ---- Projection ---- */

/* In QuickTime: its box has a code for the kind of a view, and none for where one looks first. */
static bool is_held_by_quicktime(const AVSphericalMapping *view)
{
    return LIBAVFORMAT_VERSION_INT >= WITH_VIEW_BOX && view->projection == AV_SPHERICAL_EQUIRECTANGULAR &&
           !view->yaw && !view->pitch && !view->roll;
}

static bool loses_projection(const struct encoder_request *r, const AVStream *stream)
{
    const AVStereo3D *stereo = (const void *)side_data(stream, AV_PKT_DATA_STEREO3D);
    const AVSphericalMapping *view = (const void *)side_data(stream, AV_PKT_DATA_SPHERICAL);
    if (is_one_of(r->muxer, "matroska webm mp4"))
        return false;
    return (stereo && stereo->type != AV_STEREO3D_2D) ||
           (view && !(is_one_of(r->muxer, "mov") && is_held_by_quicktime(view)));
}

/* ---- The codec ---- */

/* Where the format would hold the input's codec, nobody expects another one. */
static void tell_codec(const struct encoder_request *r, const AVCodecContext *encoder)
{
    const enum AVCodecID id = r->like->stream->codecpar->codec_id;
    char lost[200];
    if (id == AV_CODEC_ID_DNXHD && encoder->codec_id == id &&
        r->like->stream->codecpar->profile == FF_PROFILE_DNXHD && encoder->profile != FF_PROFILE_DNXHD)
        tell(r, "DNxHD becomes DNxHR, because its encoder here does not know frames of so many bytes",
             "--codec chooses another codec");
    if (encoder_is_stopgap(r, encoder->codec_id))
        tell(r, "few programs read FFV1 in QuickTime, and no other encoder here takes these frames",
             "a name that ends with .mkv is the usual one for FFV1");
    if (r->options->codec || encoder->codec_id == id || !muxer_holds(r->muxer, id) ||
        encoder_is_stopgap(r, id))
        return;
    const bool is_held = muxer_holds_frames(r->muxer, id, r->like->layout.format);
    snprintf(lost, sizeof lost, "%s becomes %s, because %s %dx%d %s frames", avcodec_get_name(id),
             avcodec_get_name(encoder->codec_id),
             is_held ? "no encoder of it here takes" : "this format has no code for", encoder->width,
             encoder->height, av_get_pix_fmt_name(r->like->layout.format));
    tell(r, lost, "--codec chooses another");
}

static void tell_bits(const struct encoder_request *r, const AVCodecContext *encoder)
{
    const unsigned bits = (unsigned)av_pix_fmt_desc_get(encoder->pix_fmt)->comp[0].depth;
    const enum AVCodecID exact = encoder_exact(r);
    const char *codec = avcodec_get_name(encoder->codec_id);
    char lost[200], way_out[100] = "no other encoder for this format takes them all";
    if (bits >= r->like->layout.bits)
        return;
    snprintf(lost, sizeof lost,
             "samples of %u bits are rounded to %u, because the encoders of %s here take no more",
             r->like->layout.bits, bits, codec);
    if (exact != AV_CODEC_ID_NONE)
        snprintf(way_out, sizeof way_out, "--codec %s takes all", avcodec_get_name(exact));
    tell(r, lost, way_out);
}

void losses_tell(const struct encoder_request *r, const AVCodecContext *encoder, const AVStream *stream)
{
    if (is_one_of(r->muxer, "rawvideo")) /* frames alone say nothing of themselves */
        return;
    tell_codec(r, encoder);
    tell_bits(r, encoder);
    if (is_turned(stream) && !is_one_of(r->muxer, "mp4 mov"))
        tell(r, "the rotation of the input is lost", "it can be written to .mp4 and .mov only");
    if (loses_alpha(r, encoder))
        tell(r, "alpha is lost", "a name that ends with .webm or .mkv keeps it");
    if (loses_range(r, encoder))
        tell(r, "samples of full range will be taken for limited range",
             "--codec h264 tells the range, and .mkv holds it");
    if (gains_range(r, encoder))
        tell(r,
             "samples of limited range will be taken for full range by programs without FFmpeg's libraries",
             "ffmpeg converts them before, with -pix_fmt yuvj420p");
    if (encoder_is_given_fields(r->like))
        tell_single_fields(r, encoder);
    else
        tell_fields(r, encoder);
    if (loses_shape(encoder))
        tell(r, "the shape of pixels is lost, because MPEG-1 and MPEG-2 have codes for a few shapes only",
             "--codec h264 keeps it where the format holds that, such as .mp4, .mkv and .ts");
    if (loses_brightness(r, encoder, stream))
        tell(r, "the brightness that HDR was made for (mastering display, content light level) is lost",
             ".mkv, .mp4 and .mov hold it, and --codec libx265 keeps it");
    tell_dolby_vision(r);
    tell_dynamic(r);
    tell_captions(r, encoder);
    if (loses_projection(r, stream))
        tell(r, "how the pictures are to be shown (a view all around, or one for each eye) is lost",
             "a name that ends with .mp4 or .mkv keeps it");
}
