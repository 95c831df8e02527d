/* SPDX-License-Identifier: BSD-2-Clause */
/* Which encoder takes the frames of an input, and in which format. */
#include "media/video/av.h"

#include "base/error.h"
#include "base/mem.h"

#include <stdio.h>
#include <string.h>

/* To fewer bits than these no sample is rounded. */
enum { LEAST_BITS = 10 };

/* Of one codec the first of these that takes the frames, before any other. */
static const char *const preferred[] = {"libx264",    "libx264rgb", "libx265", "libsvtav1",
                                        "libaom-av1", "libvpx-vp9", "libvpx",  "mpeg4",
                                        "mpeg2video", "mpeg1video", "mjpeg",   "libtheora"};

/* ---- Formats ---- */

static bool takes(const AVCodec *codec, enum AVPixelFormat format)
{
    for (const enum AVPixelFormat *at = codec->pix_fmts; at && *at != AV_PIX_FMT_NONE; at++)
        if (*at == format)
            return true;
    return codec->pix_fmts == NULL;
}

static int depth(enum AVPixelFormat format)
{
    return av_pix_fmt_desc_get(format)->comp[0].depth;
}

/* The one with most bits, of so many, in which an encoder takes the same samples; NONE. */
static enum AVPixelFormat kin_format(const AVCodec *codec, enum AVPixelFormat format, int least, int most)
{
    enum AVPixelFormat best = AV_PIX_FMT_NONE;
    for (const enum AVPixelFormat *at = codec->pix_fmts; at && *at != AV_PIX_FMT_NONE; at++)
        if (frame_layout_is_kin(*at, format) && frame_layout_unranged(*at) == *at && depth(*at) >= least &&
            depth(*at) <= most && (best == AV_PIX_FMT_NONE || depth(*at) > depth(best)))
            best = *at;
    return best;
}

/* In which format an encoder takes frames without any loss, or NONE. */
static enum AVPixelFormat exact_format(const AVCodec *codec, enum AVPixelFormat format)
{
    const enum AVPixelFormat planar = frame_layout_planar(format);
    const enum AVPixelFormat first = codec->id == AV_CODEC_ID_WRAPPED_AVFRAME ? planar : format;
    const enum AVPixelFormat tries[] = {first, frame_layout_unranged(format), planar};
    for (size_t i = 0; i < COUNT_OF(tries); i++)
        if (takes(codec, tries[i]))
            return tries[i];
    return kin_format(codec, format, depth(format), depth(format));
}

/* The same where an encoder takes fewer bits than the frames have. What is lossless has to stay so. */
static enum AVPixelFormat narrower_format(const AVCodec *codec, enum AVPixelFormat format)
{
    const AVCodecDescriptor *desc = avcodec_descriptor_get(codec->id);
    return desc && desc->props & AV_CODEC_PROP_LOSSY ? kin_format(codec, format, LEAST_BITS, depth(format))
                                                     : AV_PIX_FMT_NONE;
}

static enum AVPixelFormat format_for(const AVCodec *codec, enum AVPixelFormat format, bool narrower)
{
    const enum AVPixelFormat exact = exact_format(codec, format);
    return exact == AV_PIX_FMT_NONE && narrower ? narrower_format(codec, format) : exact;
}

/* ---- Encoders ---- */

/* Alpha of 10 bits is lossless in ProRes, and FFmpeg's first encoders of it lower it a little. */
static bool is_worse(const AVCodec *codec, enum AVPixelFormat format)
{
    return av_pix_fmt_desc_get(format)->flags & AV_PIX_FMT_FLAG_ALPHA &&
           (strcmp(codec->name, "prores") == 0 || strcmp(codec->name, "prores_aw") == 0);
}

/* What is none of these is H.263+, of which the encoder has another codec. */
static bool is_size_of_h263(int width, int height)
{
    static const int sizes[][2] = {{128, 96}, {176, 144}, {352, 288}, {704, 576}, {1408, 1152}};
    for (size_t i = 0; i < COUNT_OF(sizes); i++)
        if (sizes[i][0] == width && sizes[i][1] == height)
            return true;
    return false;
}

/* Sizes that these refuse: fewer samples than so many, or chroma of half a sample. */
static bool fits(const AVCodec *codec, const struct encoder_request *r)
{
    static const struct {
        const char *name;
        int least;
    } particular[] = {{"libx264", 1},   {"libx264rgb", 1}, {"libx265", 16}, {"libsvtav1", 64}, {"prores", 1},
                      {"prores_aw", 1}, {"utvideo", 1},    {"huffyuv", 1},  {"ffvhuff", 1},    {"v210", 1}};
    const AVPixFmtDescriptor *desc = av_pix_fmt_desc_get(r->like->layout.format);
    const int width = r->like->sample->width, height = r->like->sample->height;
    for (size_t i = 0; i < COUNT_OF(particular); i++)
        if (strcmp(particular[i].name, codec->name) == 0)
            return width >= particular[i].least && height >= particular[i].least &&
                   width % (1 << desc->log2_chroma_w) == 0 && height % (1 << desc->log2_chroma_h) == 0;
    return strcmp(codec->name, "h263") != 0 || is_size_of_h263(width, height);
}

static bool choose_named(struct encoder_choice *choice, const AVCodec *codec, enum AVPixelFormat format,
                         bool narrower)
{
    *choice = (struct encoder_choice){codec, format_for(codec, format, narrower)};
    return choice->format != AV_PIX_FMT_NONE;
}

static bool is_usable(const AVCodec *codec)
{
    const int others = AV_CODEC_CAP_EXPERIMENTAL | AV_CODEC_CAP_HARDWARE | AV_CODEC_CAP_HYBRID;
    const bool is_device = strstr(codec->name, "_omx"); /* which does not say so */
    return av_codec_is_encoder(codec) && !(codec->capabilities & others) && !is_device;
}

/* Of a codec; without any loss, or to fewer bits. */
static bool choose_of(struct encoder_choice *choice, enum AVCodecID id, const struct encoder_request *r,
                      bool narrower)
{
    const enum AVPixelFormat format = r->like->layout.format;
    const AVCodec *codec;
    void *at = NULL;
    for (size_t i = 0; i < COUNT_OF(preferred); i++) {
        codec = avcodec_find_encoder_by_name(preferred[i]);
        if (codec && codec->id == id && fits(codec, r) && choose_named(choice, codec, format, narrower))
            return true;
    }
    while ((codec = av_codec_iterate(&at)))
        if (codec->id == id && is_usable(codec) && fits(codec, r) && !is_worse(codec, format) &&
            choose_named(choice, codec, format, narrower))
            return true;
    return false;
}

/* Whatever its frames are. */
static const AVCodec *encoder_of(enum AVCodecID id)
{
    for (size_t i = 0; i < COUNT_OF(preferred); i++) {
        const AVCodec *codec = avcodec_find_encoder_by_name(preferred[i]);
        if (codec && codec->id == id)
            return codec;
    }
    return avcodec_find_encoder(id);
}

/* What --codec names; *is_codec: any encoder of that codec is meant ("mpeg4" is both). */
static const AVCodec *encoder_named(const char *name, bool *is_codec)
{
    const AVCodecDescriptor *desc = avcodec_descriptor_get_by_name(name);
    const AVCodec *codec = desc && desc->type == AVMEDIA_TYPE_VIDEO ? encoder_of(desc->id) : NULL;
    *is_codec = codec != NULL;
    if (!codec)
        codec = avcodec_find_encoder_by_name(name);
    return codec && codec->type == AVMEDIA_TYPE_VIDEO ? codec : NULL;
}

static hone_status find_named(const AVCodec **codec, bool *is_codec, const char *name, hone_error *error)
{
    *codec = encoder_named(name, is_codec);
    return *codec ? HONE_OK
                  : error_usage(
                        error,
                        "there is no encoder '%s' here; try --codec h264, hevc, av1, vp9, ffv1, prores or "
                        "mpeg4, or an encoder that FFmpeg knows, such as libx264",
                        name);
}

hone_status encoder_check(const struct video_write_options *options, hone_error *error)
{
    const AVCodec *codec;
    bool is_codec;
    if (!options->codec)
        return HONE_OK;
    TRY(find_named(&codec, &is_codec, options->codec, error));
    return encoder_check_settings(codec, options, error);
}

/* ---- Choices ---- */

static enum AVCodecID kept(const struct encoder_request *r)
{
    return r->like->stream->codecpar->codec_id;
}

bool encoder_is_stopgap(const struct encoder_request *r, enum AVCodecID id)
{
    const bool is_alike = id == kept(r) && strstr(r->like->format->iformat->name, r->muxer->name);
    return muxer_is_unusual(r->muxer, id) && !is_alike && !r->options->codec;
}

/* The codec of the input, if need be with fewer bits: a container's users expect it. */
static bool choose_kept(struct encoder_choice *choice, const struct encoder_request *r)
{
    const enum AVPixelFormat format = r->like->layout.format;
    return muxer_holds(r->muxer, kept(r)) && !encoder_is_stopgap(r, kept(r)) &&
           muxer_holds_frames(r->muxer, kept(r), frame_layout_unranged(format)) &&
           (choose_of(choice, kept(r), r, false) || choose_of(choice, kept(r), r, true));
}

/* Whether a codec, or none, always gives frames back as they were. */
static bool is_lossless(enum AVCodecID id)
{
    const AVCodecDescriptor *codec = avcodec_descriptor_get(id);
    return codec && (codec->props & (AV_CODEC_PROP_LOSSLESS | AV_CODEC_PROP_LOSSY)) == AV_CODEC_PROP_LOSSLESS;
}

/* Another codec that the format holds, without any loss of bits. */
static bool choose_exact(struct encoder_choice *choice, const struct encoder_request *r)
{
    /* Nobody expects a loss of frames that came without. */
    const bool stays_exact = is_lossless(kept(r)) && !muxer_is_unusual(r->muxer, AV_CODEC_ID_FFV1);
    const enum AVCodecID tries[] = {AV_CODEC_ID_FFV1,      r->muxer->video_codec, AV_CODEC_ID_H264,
                                    AV_CODEC_ID_HEVC,      AV_CODEC_ID_VP9,       AV_CODEC_ID_FFV1,
                                    AV_CODEC_ID_MPEG2VIDEO};
    for (size_t i = stays_exact ? 0 : 1; i < COUNT_OF(tries); i++)
        if (muxer_holds(r->muxer, tries[i]) && choose_of(choice, tries[i], r, false))
            return true;
    return false;
}

enum AVCodecID encoder_exact(const struct encoder_request *r)
{
    struct encoder_choice choice;
    return choose_exact(&choice, r) ? choice.codec->id : AV_CODEC_ID_NONE;
}

static const char without_a_code[] = "a name that ends with .raw takes them as they are";

/* What would take the frames, in words. */
static void find_way_out(char *way_out, size_t size, const struct encoder_request *r)
{
    struct encoder_choice other;
    if (choose_of(&other, AV_CODEC_ID_FFV1, r, false))
        snprintf(way_out, size, "a name that ends with .mkv, with --codec ffv1, keeps them");
    else if (kept(r) == AV_CODEC_ID_RAWVIDEO)
        snprintf(way_out, size, "%s", without_a_code);
    else if (choose_of(&other, kept(r), r, true))
        snprintf(way_out, size, "a name that ends with .mkv, without --codec, keeps %s, with %d bits",
                 avcodec_get_name(kept(r)), depth(other.format));
    else
        snprintf(way_out, size, "ffmpeg converts them before, with -pix_fmt");
}

static hone_status refuse(const struct encoder_request *r, hone_error *error)
{
    char way_out[120];
    find_way_out(way_out, sizeof way_out, r);
    return error_unsupported(error, "'%s': no encoder for %s here takes %dx%d %s frames; %s", r->name,
                             r->muxer->long_name, r->like->sample->width, r->like->sample->height,
                             av_get_pix_fmt_name(r->like->layout.format), way_out);
}

static hone_status check_choice(const struct encoder_choice *choice, const struct encoder_request *r,
                                hone_error *error)
{
    char way_out[120];
    if (!muxer_holds(r->muxer, choice->codec->id))
        return error_usage(error, "'%s': %s does not hold %s; .mkv holds nearly every codec", r->name,
                           r->muxer->long_name, avcodec_get_name(choice->codec->id));
    if (!muxer_holds_frames(r->muxer, choice->codec->id, choice->format))
        return error_usage(error, "'%s': %s has no code for frames of %s that are not encoded; %s", r->name,
                           r->muxer->long_name, av_get_pix_fmt_name(choice->format),
                           avcodec_pix_fmt_to_codec_tag(choice->format) ? ".nut has" : without_a_code);
    if (choice->format != AV_PIX_FMT_NONE)
        return encoder_check_settings(choice->codec, r->options, error);
    find_way_out(way_out, sizeof way_out, r);
    return error_unsupported(error, "the encoder %s takes no %s frames; %s", choice->codec->name,
                             av_get_pix_fmt_name(r->like->layout.format), way_out);
}

hone_status encoder_choose(struct encoder_choice *choice, const struct encoder_request *r, hone_error *error)
{
    const enum AVPixelFormat format = r->like->layout.format;
    const AVCodec *codec;
    bool is_codec;
    if (!r->options->codec)
        return choose_kept(choice, r) || choose_exact(choice, r) ? check_choice(choice, r, error)
                                                                 : refuse(r, error);
    TRY(find_named(&codec, &is_codec, r->options->codec, error));
    const bool is_kept = codec->id == kept(r);
    if (!is_codec ||
        !(choose_of(choice, codec->id, r, false) || (is_kept && choose_of(choice, codec->id, r, true))))
        choose_named(choice, codec, format, is_kept);
    return check_choice(choice, r, error);
}
