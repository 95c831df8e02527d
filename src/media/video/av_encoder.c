/* SPDX-License-Identifier: BSD-2-Clause */
/* Opening an encoder. */
#include "media/video/av.h"

#include "base/error.h"
#include "base/mem.h"
#include "base/text.h"

#include <libavutil/mastering_display_metadata.h>
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

/* The usual settings are ones whose loss is hard to see. */
static const struct known {
    const char *name;
    enum rating rating;
    int usual;                /* quality */
    const char *preset;       /* the option, where it has another name */
    const char *usual_preset; /* where the encoder's own takes minutes for a second of video */
} known[] = {{"libx264", RATED_CRF51, 65, NULL, NULL},
             {"libx264rgb", RATED_CRF51, 65, NULL, NULL},
             {"libx265", RATED_CRF51, 61, NULL, NULL},
             {"libsvtav1", RATED_CRF63, 60, NULL, NULL},
             {"libaom-av1", RATED_CRF63, 60, "cpu-used", "6"},
             {"libvpx-vp9", RATED_CRF63, 60, "cpu-used", NULL},
             {"libvpx", RATED_CRF63, 75, "cpu-used", NULL},
             {"mpeg4", RATED_QSCALE, 95, NULL, NULL},
             {"mpeg2video", RATED_QSCALE, 95, NULL, NULL},
             {"mpeg1video", RATED_QSCALE, 95, NULL, NULL},
             {"mjpeg", RATED_QSCALE, 95, NULL, NULL},
             {"libtheora", RATED_TENTHS, 80, NULL, NULL},
             /* Old ones, whose own setting is a rate of 200 kbit/s, whatever the size. */
             {"msmpeg4", RATED_QSCALE, 95, NULL, NULL},
             {"msmpeg4v2", RATED_QSCALE, 95, NULL, NULL},
             {"wmv1", RATED_QSCALE, 95, NULL, NULL},
             {"wmv2", RATED_QSCALE, 95, NULL, NULL},
             {"flv", RATED_QSCALE, 95, NULL, NULL},
             {"h261", RATED_QSCALE, 95, NULL, NULL},
             {"h263", RATED_QSCALE, 95, NULL, NULL},
             {"h263p", RATED_QSCALE, 95, NULL, NULL},
             {"libxvid", RATED_QSCALE, 95, NULL, NULL},
             {"snow", RATED_QSCALE, 95, NULL, NULL},
             {"speedhq", RATED_QSCALE, 95, NULL, NULL}};

static const struct known *find_known(const AVCodec *codec)
{
    for (size_t i = 0; i < COUNT_OF(known); i++)
        if (strcmp(known[i].name, codec->name) == 0)
            return &known[i];
    return NULL;
}

static const char *preset_option(const AVCodec *codec)
{
    const struct known *k = find_known(codec);
    const char *name = k && k->preset ? k->preset : "preset";
    const void *class = &codec->priv_class;
    return codec->priv_class && av_opt_find((void *)class, name, NULL, 0, AV_OPT_SEARCH_FAKE_OBJ) ? name
                                                                                                  : NULL;
}

hone_status encoder_check_settings(const AVCodec *codec, const struct video_write_options *options,
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

/* ---- Settings ---- */

bool encoder_is_given_fields(const struct video_input *input)
{
    return input->stream->codecpar->codec_id == AV_CODEC_ID_HEVC && input->sample->interlaced_frame;
}

/* Fields lie line by line in frames, and only JPEG has them one after the other. What the input says is kept
 * where it has the same field first. */
static enum AVFieldOrder field_order(const struct video_input *input, enum AVCodecID id)
{
    const bool top = input->sample->top_field_first, is_apart = id == AV_CODEC_ID_MJPEG;
    const enum AVFieldOrder told = input->stream->codecpar->field_order;
    if (encoder_is_given_fields(input))
        return id == AV_CODEC_ID_HEVC ? told : AV_FIELD_PROGRESSIVE;
    if (!input->sample->interlaced_frame)
        return AV_FIELD_PROGRESSIVE;
    if (!is_apart &&
        (top ? told == AV_FIELD_TT || told == AV_FIELD_TB : told == AV_FIELD_BB || told == AV_FIELD_BT))
        return told;
    return is_apart ? (top ? AV_FIELD_TT : AV_FIELD_BB) : (top ? AV_FIELD_TB : AV_FIELD_BT);
}

/* Some encoders do not start if they are to code fields by themselves; all take frames with fields. */
static bool takes_fields(enum AVCodecID id)
{
    static const enum AVCodecID others[] = {
        AV_CODEC_ID_MJPEG, AV_CODEC_ID_AMV,  AV_CODEC_ID_SPEEDHQ,   AV_CODEC_ID_MPEG1VIDEO,
        AV_CODEC_ID_H261,  AV_CODEC_ID_H263, AV_CODEC_ID_H263P,     AV_CODEC_ID_FLV1,
        AV_CODEC_ID_RV10,  AV_CODEC_ID_RV20, AV_CODEC_ID_MSMPEG4V2, AV_CODEC_ID_MSMPEG4V3,
        AV_CODEC_ID_WMV1,  AV_CODEC_ID_WMV2};
    for (size_t i = 0; i < COUNT_OF(others); i++)
        if (others[i] == id)
            return false;
    return true;
}

static void set_picture(AVCodecContext *encoder, const struct video_input *input,
                        const struct encoder_choice *choice)
{
    const AVFrame *frame = input->sample;
    AVFrame *guessed = input->sample; /* not changed */
    encoder->width = frame->width;
    encoder->height = frame->height;
    encoder->pix_fmt = choice->format;
    encoder->sample_aspect_ratio = av_guess_sample_aspect_ratio(input->format, input->stream, guessed);
    encoder->color_range = frame->color_range;
    if (frame_layout_unranged(frame->format) != frame->format)
        encoder->color_range = AVCOL_RANGE_JPEG;
    encoder->color_primaries = frame->color_primaries;
    encoder->color_trc = frame->color_trc;
    encoder->colorspace = frame->colorspace;
    encoder->chroma_sample_location = frame->chroma_location;
    encoder->bits_per_raw_sample = av_pix_fmt_desc_get(choice->format)->comp[0].depth;
    encoder->field_order = field_order(input, encoder->codec_id);
    if (frame->interlaced_frame && takes_fields(encoder->codec_id) && !encoder_is_given_fields(input))
        encoder->flags |= AV_CODEC_FLAG_INTERLACED_DCT;
    /* JPEG of limited range says so in a comment, as it does where FFmpeg's command writes it. */
    if (encoder->codec_id == AV_CODEC_ID_MJPEG && encoder->color_range != AVCOL_RANGE_JPEG)
        encoder->strict_std_compliance = FF_COMPLIANCE_UNOFFICIAL;
}

/* Some encoders have an option of their own. */
static void set_profile(AVCodecContext *encoder, int profile)
{
    encoder->profile = profile;
    av_opt_set_int(encoder->priv_data, "profile", profile, 0);
}

/* DNxHD knows a few sizes, each with frames of a few sizes in bytes, which its encoder wants to be told by a
 * rate: any that goes with them. 0: none does. */
static int64_t dnxhd_rate(const struct video_input *input)
{
    static const struct {
        int bytes, megabits;
    } kinds[] = {{188416, 45},  {212992, 60},  {303104, 145}, {417792, 100},
                 {458752, 180}, {606208, 145}, {917504, 185}};
    for (size_t i = 0; i < COUNT_OF(kinds); i++)
        if (kinds[i].bytes == input->sample->pkt_size)
            return kinds[i].megabits * INT64_C(1000000);
    return 0;
}

/* DNxHD, or of DNxHR LB, SQ, HQ, HQX, 444: that of the input, or what the frames need. */
static int dnxhd_profile(const AVCodecContext *encoder, const AVCodecParameters *from)
{
    const AVPixFmtDescriptor *desc = av_pix_fmt_desc_get(encoder->pix_fmt);
    if (from->codec_id == AV_CODEC_ID_DNXHD && (from->profile > FF_PROFILE_DNXHD || encoder->bit_rate))
        return from->profile;
    return desc->log2_chroma_w == 0  ? FF_PROFILE_DNXHR_444
           : desc->comp[0].depth > 8 ? FF_PROFILE_DNXHR_HQX
                                     : FF_PROFILE_DNXHR_HQ;
}

/* ProRes Proxy, LT, Standard, HQ, 4444, 4444 XQ: that of the input. */
static void set_kind(AVCodecContext *encoder, const struct video_input *input)
{
    const AVCodecParameters *from = input->stream->codecpar;
    const bool is_444 = av_pix_fmt_desc_get(encoder->pix_fmt)->log2_chroma_w == 0;
    if (encoder->codec_id == AV_CODEC_ID_DNXHD) {
        encoder->bit_rate =
            from->codec_id == AV_CODEC_ID_DNXHD && from->profile == FF_PROFILE_DNXHD ? dnxhd_rate(input) : 0;
        set_profile(encoder, dnxhd_profile(encoder, from));
        if (encoder->profile != FF_PROFILE_DNXHD) /* DNxHR knows no fields, and does not start for them */
            encoder->flags &= ~AV_CODEC_FLAG_INTERLACED_DCT;
    } else if (encoder->codec_id == AV_CODEC_ID_PRORES && from->codec_id == AV_CODEC_ID_PRORES &&
               is_444 == (from->profile >= FF_PROFILE_PRORES_4444))
        set_profile(encoder, from->profile);
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

/* x264 hears of the first field with each frame, but writes of all that it is the upper one unless it is told
 * before. */
static void set_fields(AVCodecContext *encoder, const struct video_input *input)
{
    const AVFrame *first = input->sample;
    if (first->interlaced_frame && !first->top_field_first && !encoder_is_given_fields(input) &&
        strncmp(encoder->codec->name, "libx264", 7) == 0)
        av_opt_set(encoder->priv_data, "x264-params", "bff=1", 0);
}

/* Of the first frame, or of its stream. */
static const void *find_side_data(const struct video_input *input, enum AVFrameSideDataType of_frame,
                                  enum AVPacketSideDataType of_stream)
{
    const AVFrameSideData *data = av_frame_get_side_data(input->sample, of_frame);
    return data ? data->data : av_stream_get_side_data(input->stream, of_stream, NULL);
}

static unsigned in_parts(AVRational value, int parts)
{
    return (unsigned)av_rescale(value.num, parts, value.den ? value.den : 1);
}

/* What HDR was made for, in H.265's units of 0.00002 and of 0.0001 cd/m2. */
static void add_brightness(struct text *to, const struct video_input *input)
{
    enum { COLOUR = 50000, LIGHT = 10000 };
    const AVMasteringDisplayMetadata *m = find_side_data(input, AV_FRAME_DATA_MASTERING_DISPLAY_METADATA,
                                                         AV_PKT_DATA_MASTERING_DISPLAY_METADATA);
    const AVContentLightMetadata *light =
        find_side_data(input, AV_FRAME_DATA_CONTENT_LIGHT_LEVEL, AV_PKT_DATA_CONTENT_LIGHT_LEVEL);
    if (m && m->has_primaries && m->has_luminance) {
        static const char colours[] = "RGB";
        static const int order[] = {1, 2, 0};
        text_add(to, ":master-display=");
        for (size_t i = 0; i < COUNT_OF(order); i++)
            text_add(to, "%c(%u,%u)", colours[order[i]], in_parts(m->display_primaries[order[i]][0], COLOUR),
                     in_parts(m->display_primaries[order[i]][1], COLOUR));
        text_add(to, "WP(%u,%u)L(%u,%u)", in_parts(m->white_point[0], COLOUR),
                 in_parts(m->white_point[1], COLOUR), in_parts(m->max_luminance, LIGHT),
                 in_parts(m->min_luminance, LIGHT));
    }
    if (light)
        text_add(to, ":max-cll=%u,%u", light->MaxCLL, light->MaxFALL);
}

/* x265 writes to stderr by itself unless it is told not to. It takes single fields, of which each is then
 * what the first is not. */
static hone_status set_x265(AVCodecContext *encoder, const struct video_input *input, hone_error *error)
{
    struct text parameters = {0};
    if (strcmp(encoder->codec->name, "libx265") != 0)
        return HONE_OK;
    text_add(&parameters, "log-level=none");
    if (encoder_is_given_fields(input))
        text_add(&parameters, ":interlace=%s", input->sample->top_field_first ? "tff" : "bff");
    add_brightness(&parameters, input);
    av_opt_set(encoder->priv_data, "x265-params", text_view(&parameters), 0);
    const hone_status status = parameters.failed ? error_memory(error, "an encoder") : HONE_OK;
    text_finish(&parameters);
    return status;
}

static hone_status set_preset(AVCodecContext *encoder, const char *asked, hone_error *error)
{
    char reason[320];
    const struct known *k = find_known(encoder->codec);
    const char *preset = asked ? asked : k ? k->usual_preset : NULL;
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

/* AVI has one time for each packet, in the order of decoding. */
static void set_times(AVCodecContext *encoder, const struct times *times, const AVOutputFormat *muxer)
{
    encoder->time_base = times->encoder;
    encoder->framerate = av_inv_q(times->encoder);
    if (strcmp(muxer->name, "avi") == 0)
        encoder->max_b_frames = 0;
}

hone_status encoder_open(AVCodecContext **out, struct times *times, const struct encoder_request *r,
                         hone_error *error)
{
    struct encoder_choice choice;
    TRY(encoder_choose(&choice, r, error));
    const AVCodec *codec = choice.codec;
    AVCodecContext *encoder = *out = avcodec_alloc_context3(codec);
    if (!encoder)
        return error_memory(error, "an encoder");
    set_picture(encoder, r->like, &choice);
    set_kind(encoder, r->like);
    times_choose(times, r->like, codec, r->muxer);
    set_times(encoder, times, r->muxer);
    encoder->thread_count = 0;
    if (r->muxer->flags & AVFMT_GLOBALHEADER)
        encoder->flags |= AV_CODEC_FLAG_GLOBAL_HEADER;
    set_quality(encoder, find_known(codec), r->options->quality);
    set_fields(encoder, r->like);
    TRY(set_x265(encoder, r->like, error));
    return start(encoder, r, error);
}
