/* SPDX-License-Identifier: BSD-2-Clause */
/* Choosing and opening an encoder. */
#include "media/video/av.h"

#include "base/error.h"
#include "base/mem.h"

#include <libavutil/opt.h>

#include <string.h>

/* How --quality becomes an encoder's own measure. */
enum rating {
    RATED_NOT,    /* lossless, or a rate of its own */
    RATED_CRF51,  /* the option crf of 51 (worst) to 0 */
    RATED_CRF63,  /* of 63 to 0 */
    RATED_QSCALE, /* quantizers 31 to 1 */
    RATED_TENTHS  /* the same, of which the encoder knows 10 (0 to 10) */
};

/* Of one codec the first that there is. The usual settings are ones whose loss is hard to see. */
static const struct known {
    const char *name;
    enum rating rating;
    int usual;          /* quality */
    const char *preset; /* the option, where it has another name */
} known[] = {{"libx264", RATED_CRF51, 65, NULL},          {"libx264rgb", RATED_CRF51, 65, NULL},
             {"libx265", RATED_CRF51, 61, NULL},          {"libsvtav1", RATED_CRF63, 60, NULL},
             {"libaom-av1", RATED_CRF63, 60, "cpu-used"}, {"libvpx-vp9", RATED_CRF63, 60, "cpu-used"},
             {"libvpx", RATED_CRF63, 75, "cpu-used"},     {"mpeg4", RATED_QSCALE, 95, NULL},
             {"mpeg2video", RATED_QSCALE, 95, NULL},      {"mpeg1video", RATED_QSCALE, 95, NULL},
             {"mjpeg", RATED_QSCALE, 95, NULL},           {"libtheora", RATED_TENTHS, 80, NULL}};

static const struct known *find_known(const AVCodec *codec)
{
    for (size_t i = 0; i < COUNT_OF(known); i++)
        if (strcmp(known[i].name, codec->name) == 0)
            return &known[i];
    return NULL;
}

static const AVCodec *encoder_of(enum AVCodecID id)
{
    for (size_t i = 0; i < COUNT_OF(known); i++) {
        const AVCodec *codec = avcodec_find_encoder_by_name(known[i].name);
        if (codec && codec->id == id)
            return codec;
    }
    return avcodec_find_encoder(id);
}

static const AVCodec *encoder_named(const char *name)
{
    const AVCodec *codec = avcodec_find_encoder_by_name(name);
    const AVCodecDescriptor *desc = avcodec_descriptor_get_by_name(name);
    if (desc && desc->type == AVMEDIA_TYPE_VIDEO && encoder_of(desc->id))
        codec = encoder_of(desc->id); /* "mpeg4" is both */
    return codec && codec->type == AVMEDIA_TYPE_VIDEO ? codec : NULL;
}

static const char *preset_option(const AVCodec *codec)
{
    const struct known *k = find_known(codec);
    const char *name = k && k->preset ? k->preset : "preset";
    const void *class = &codec->priv_class;
    return codec->priv_class && av_opt_find((void *)class, name, NULL, 0, AV_OPT_SEARCH_FAKE_OBJ) ? name
                                                                                                  : NULL;
}

static hone_status check_settings(const AVCodec *codec, const struct video_write_options *options,
                                  hone_error *error)
{
    const struct known *k = find_known(codec);
    if (options->quality && !k)
        return error_usage(
            error, "--quality means nothing to the encoder %s, which is lossless or sets its own rate",
            codec->name);
    if (options->preset && !preset_option(codec))
        return error_usage(error, "the encoder %s has no presets, so --preset means nothing to it",
                           codec->name);
    return HONE_OK;
}

hone_status encoder_check(const AVCodec **codec, const struct video_write_options *options, hone_error *error)
{
    *codec = NULL;
    if (!options->codec)
        return HONE_OK;
    *codec = encoder_named(options->codec);
    if (!*codec)
        return error_usage(
            error,
            "there is no encoder '%s' here; try --codec h264, hevc, av1, vp9, ffv1, prores or mpeg4, or "
            "an encoder that FFmpeg knows, such as libx264",
            options->codec);
    return check_settings(*codec, options, error);
}

/* ---- Which ---- */

static enum AVPixelFormat without_j(enum AVPixelFormat format)
{
    switch (format) {
    case AV_PIX_FMT_YUVJ420P:
        return AV_PIX_FMT_YUV420P;
    case AV_PIX_FMT_YUVJ422P:
        return AV_PIX_FMT_YUV422P;
    case AV_PIX_FMT_YUVJ444P:
        return AV_PIX_FMT_YUV444P;
    default:
        return format;
    }
}

static bool takes(const AVCodec *codec, enum AVPixelFormat format)
{
    for (const enum AVPixelFormat *at = codec->pix_fmts; at && *at != AV_PIX_FMT_NONE; at++)
        if (*at == format)
            return true;
    return codec->pix_fmts == NULL;
}

bool encoder_counts(const AVOutputFormat *muxer)
{
    return muxer_is_y4m(muxer) || muxer->flags & AVFMT_NOTIMESTAMPS;
}

/* In which format an encoder takes frames without any loss, or NONE. */
static enum AVPixelFormat format_for(const AVCodec *codec, enum AVPixelFormat format)
{
    const enum AVPixelFormat planar = frame_layout_planar(format);
    const enum AVPixelFormat first = codec->id == AV_CODEC_ID_WRAPPED_AVFRAME ? planar : format;
    const enum AVPixelFormat tries[] = {first, without_j(format), planar};
    for (size_t i = 0; i < COUNT_OF(tries); i++)
        if (takes(codec, tries[i]))
            return tries[i];
    return AV_PIX_FMT_NONE;
}

static bool fits(const AVOutputFormat *muxer, const AVCodec *codec, enum AVPixelFormat format)
{
    return codec && muxer_holds(muxer, codec->id) && format_for(codec, format) != AV_PIX_FMT_NONE;
}

static const AVCodec *choose(const AVOutputFormat *muxer, enum AVCodecID like, enum AVPixelFormat format)
{
    const enum AVCodecID tries[] = {like,
                                    muxer->video_codec,
                                    AV_CODEC_ID_H264,
                                    AV_CODEC_ID_HEVC,
                                    AV_CODEC_ID_VP9,
                                    AV_CODEC_ID_FFV1,
                                    AV_CODEC_ID_MPEG2VIDEO};
    for (size_t i = 0; i < COUNT_OF(tries); i++) {
        const AVCodec *codec = encoder_of(tries[i]);
        if (fits(muxer, codec, format))
            return codec;
    }
    return NULL;
}

static hone_status find_encoder(const AVCodec **codec, const struct encoder_request *r, hone_error *error)
{
    const enum AVPixelFormat format = r->like->layout.format;
    TRY(encoder_check(codec, r->options, error));
    if (!*codec)
        *codec = choose(r->muxer, r->like->stream->codecpar->codec_id, format);
    if (!*codec)
        return error_unsupported(
            error,
            "'%s': no encoder here takes %s frames for this format; a name that ends with .mkv, with "
            "--codec ffv1, holds nearly everything",
            r->name, av_get_pix_fmt_name(format));
    if (!muxer_holds(r->muxer, (*codec)->id))
        return error_usage(error, "'%s': %s does not hold %s; .mkv holds nearly every codec", r->name,
                           r->muxer->long_name, avcodec_get_name((*codec)->id));
    if (format_for(*codec, format) == AV_PIX_FMT_NONE)
        return error_unsupported(error, "the encoder %s takes no %s frames; --codec ffv1 (into .mkv) does",
                                 (*codec)->name, av_get_pix_fmt_name(format));
    return check_settings(*codec, r->options, error);
}

/* ---- Settings ---- */

/* Without changing them: some codecs count in steps of their own. */
static AVRational time_base(const AVCodec *codec, const struct video_input *input)
{
    AVRational base = input->stream->time_base;
    if (codec->supported_framerates) {
        const AVRational rate = input_rate(input);
        return av_inv_q(
            codec->supported_framerates[av_find_nearest_q_idx(rate, codec->supported_framerates)]);
    }
    if (codec->id == AV_CODEC_ID_MPEG4)
        for (int by = 2; base.den > UINT16_MAX && by < 100; by++)
            while (base.den > UINT16_MAX && base.den % by == 0)
                base.den /= by;
    if (codec->id == AV_CODEC_ID_MPEG4 && base.den > UINT16_MAX)
        base = av_inv_q(input_rate(input));
    return base;
}

static void set_picture(AVCodecContext *encoder, const struct video_input *input)
{
    const AVFrame *frame = input->sample;
    AVFrame *guessed = input->sample; /* not changed */
    encoder->width = frame->width;
    encoder->height = frame->height;
    encoder->pix_fmt = format_for(encoder->codec, frame->format);
    encoder->sample_aspect_ratio = av_guess_sample_aspect_ratio(input->format, input->stream, guessed);
    encoder->color_range = frame->color_range;
    if (without_j(frame->format) != frame->format)
        encoder->color_range = AVCOL_RANGE_JPEG;
    encoder->color_primaries = frame->color_primaries;
    encoder->color_trc = frame->color_trc;
    encoder->colorspace = frame->colorspace;
    encoder->chroma_sample_location = frame->chroma_location;
    encoder->bits_per_raw_sample = (int)input->layout.bits;
    if (frame->interlaced_frame) {
        encoder->flags |= AV_CODEC_FLAG_INTERLACED_DCT;
        encoder->field_order = frame->top_field_first ? AV_FIELD_TT : AV_FIELD_BB;
    } else {
        encoder->field_order = AV_FIELD_PROGRESSIVE;
    }
}

/* ProRes Proxy, LT, Standard, HQ: that of the input. */
static void set_kind(AVCodecContext *encoder, const struct video_input *input)
{
    const AVCodecParameters *from = input->stream->codecpar;
    if (encoder->codec_id == AV_CODEC_ID_PRORES && from->codec_id == AV_CODEC_ID_PRORES)
        encoder->profile = from->profile;
}

static void set_quality(AVCodecContext *encoder, const struct known *k, int quality)
{
    const int asked = quality ? quality : k ? k->usual : 0;
    const int crf_most = k && k->rating == RATED_CRF51 ? 51 : 63;
    if (!k || k->rating == RATED_NOT)
        return;
    if (k->rating == RATED_CRF51 || k->rating == RATED_CRF63) {
        av_opt_set_double(encoder->priv_data, "crf", (double)(crf_most * (100 - asked) / 100), 0);
        encoder->bit_rate = 0;
        return;
    }
    encoder->flags |= AV_CODEC_FLAG_QSCALE;
    encoder->global_quality =
        FF_QP2LAMBDA * (k->rating == RATED_TENTHS ? asked / 10 : 1 + 30 * (100 - asked) / 99);
}

/* Encoders that talk to stderr by themselves are told not to. */
static void set_silence(AVCodecContext *encoder)
{
    if (strcmp(encoder->codec->name, "libx265") == 0)
        av_opt_set(encoder->priv_data, "x265-params", "log-level=none", 0);
}

static hone_status set_preset(AVCodecContext *encoder, const char *preset, hone_error *error)
{
    char reason[320];
    if (!preset)
        return HONE_OK;
    const int code = av_opt_set(encoder->priv_data, preset_option(encoder->codec), preset, 0);
    if (code >= 0)
        return HONE_OK;
    av_reason(reason, sizeof reason, code);
    return error_usage(error, "the encoder %s has no preset '%s': %s", encoder->codec->name, preset, reason);
}

static hone_status start(AVCodecContext *encoder, const struct encoder_request *r, hone_error *error)
{
    char reason[320];
    const AVCodec *codec = encoder->codec; /* a failure takes it out of the context */
    TRY(set_preset(encoder, r->options->preset, error));
    log_forget();
    const int code = avcodec_open2(encoder, codec, NULL);
    if (code >= 0)
        return HONE_OK;
    av_reason(reason, sizeof reason, code);
    return error_set(error, code == AVERROR(ENOMEM) ? HONE_ERROR_MEMORY : HONE_ERROR_USAGE,
                     "'%s': the encoder %s does not start for %dx%d %s%s%s: %s", r->name, codec->name,
                     encoder->width, encoder->height, av_get_pix_fmt_name(encoder->pix_fmt),
                     r->options->preset ? " with the preset " : "",
                     r->options->preset ? r->options->preset : "", reason);
}

hone_status encoder_open(AVCodecContext **out, const struct encoder_request *r, hone_error *error)
{
    const AVCodec *codec;
    TRY(find_encoder(&codec, r, error));
    AVCodecContext *encoder = *out = avcodec_alloc_context3(codec);
    if (!encoder)
        return error_memory(error, "an encoder");
    set_picture(encoder, r->like);
    set_kind(encoder, r->like);
    encoder->time_base = encoder_counts(r->muxer) ? av_inv_q(input_rate(r->like)) : time_base(codec, r->like);
    encoder->framerate = input_rate(r->like);
    encoder->thread_count = 0;
    if (r->muxer->flags & AVFMT_GLOBALHEADER)
        encoder->flags |= AV_CODEC_FLAG_GLOBAL_HEADER;
    set_quality(encoder, find_known(codec), r->options->quality);
    set_silence(encoder);
    return start(encoder, r, error);
}
