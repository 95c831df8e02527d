/* SPDX-License-Identifier: BSD-2-Clause */
/* Text subtitles in the codec that the output's format holds. */
#include "media/video/av.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

enum { LARGEST_TEXT = 1 << 20 }; /* bytes of one subtitle, as FFmpeg's command takes them */

struct subtitles {
    AVCodecContext *decoder, *encoder;
    uint8_t *text;
};

static bool is_text(enum AVCodecID id)
{
    const AVCodecDescriptor *codec = avcodec_descriptor_get(id);
    return codec && codec->type == AVMEDIA_TYPE_SUBTITLE && codec->props & AV_CODEC_PROP_TEXT_SUB;
}

/* NULL: the format holds no text that can be written here. */
static const AVCodec *find_encoder(const AVOutputFormat *muxer)
{
    const enum AVCodecID wanted[] = {muxer->subtitle_codec, AV_CODEC_ID_MOV_TEXT, AV_CODEC_ID_ASS,
                                     AV_CODEC_ID_WEBVTT};
    for (size_t i = 0; i < COUNT_OF(wanted); i++) {
        const AVCodec *codec = is_text(wanted[i]) ? avcodec_find_encoder(wanted[i]) : NULL;
        if (codec && muxer_holds(muxer, codec->id))
            return codec;
    }
    return NULL;
}

bool subtitles_fit(const AVOutputFormat *muxer, const AVStream *from)
{
    const enum AVCodecID id = from->codecpar->codec_id;
    return is_text(id) && avcodec_find_decoder(id) && find_encoder(muxer);
}

static int open_decoder(struct subtitles *s, const AVStream *from, const AVCodec *codec)
{
    s->decoder = avcodec_alloc_context3(codec);
    if (!s->decoder)
        return AVERROR(ENOMEM);
    s->decoder->pkt_timebase = from->time_base;
    const int code = avcodec_parameters_to_context(s->decoder, from->codecpar);
    return code < 0 ? code : avcodec_open2(s->decoder, codec, NULL);
}

/* Styles are in the decoder's header. */
static int open_encoder(struct subtitles *s, const AVOutputFormat *muxer, const AVCodec *codec)
{
    const size_t size = (size_t)s->decoder->subtitle_header_size;
    s->encoder = avcodec_alloc_context3(codec);
    if (!s->encoder || !(s->encoder->subtitle_header = av_mallocz(size + 1)))
        return AVERROR(ENOMEM);
    if (size)
        memcpy(s->encoder->subtitle_header, s->decoder->subtitle_header, size);
    s->encoder->subtitle_header_size = (int)size;
    s->encoder->time_base = AV_TIME_BASE_Q;
    if (muxer->flags & AVFMT_GLOBALHEADER)
        s->encoder->flags |= AV_CODEC_FLAG_GLOBAL_HEADER;
    return avcodec_open2(s->encoder, codec, NULL);
}

int subtitles_open(struct subtitles **out, const AVOutputFormat *muxer, const AVStream *from)
{
    const enum AVCodecID id = from->codecpar->codec_id;
    const AVCodec *decoder = is_text(id) ? avcodec_find_decoder(id) : NULL;
    const AVCodec *encoder = decoder ? find_encoder(muxer) : NULL;
    if (!encoder)
        return decoder ? AVERROR_ENCODER_NOT_FOUND : AVERROR_DECODER_NOT_FOUND;
    struct subtitles *s = *out = mem_new(1, sizeof *s);
    if (!s || !(s->text = malloc(LARGEST_TEXT)))
        return AVERROR(ENOMEM);
    const int code = open_decoder(s, from, decoder);
    return code < 0 ? code : open_encoder(s, muxer, encoder);
}

int subtitles_parameters(const struct subtitles *s, AVCodecParameters *to)
{
    return avcodec_parameters_from_context(to, s->encoder);
}

/* Milliseconds that a subtitle is shown for; those of its packet where it does not say. */
static int64_t shown_for(const AVSubtitle *subtitle, const AVPacket *packet, AVRational base)
{
    const AVRational milliseconds = {1, 1000};
    if (subtitle->end_display_time == UINT32_MAX ||
        subtitle->end_display_time <= subtitle->start_display_time)
        return av_rescale_q(packet->duration, base, milliseconds);
    return (int64_t)subtitle->end_display_time - subtitle->start_display_time;
}

static int encode(struct subtitles *s, AVSubtitle *subtitle, AVPacket *packet, AVRational base)
{
    const AVRational milliseconds = {1, 1000};
    const int64_t shown = shown_for(subtitle, packet, s->decoder->pkt_timebase);
    const int64_t pts = av_rescale_q(packet->pts, s->decoder->pkt_timebase, base) +
                        av_rescale_q(subtitle->start_display_time, milliseconds, base);
    subtitle->start_display_time = 0;
    subtitle->end_display_time = (uint32_t)shown;
    const int size = avcodec_encode_subtitle(s->encoder, s->text, LARGEST_TEXT, subtitle);
    if (size < 0)
        return size;
    av_packet_unref(packet);
    const int code = av_new_packet(packet, size);
    if (code < 0)
        return code;
    memcpy(packet->data, s->text, (size_t)size);
    packet->pts = packet->dts = pts;
    packet->duration = av_rescale_q(shown, milliseconds, base);
    packet->flags |= AV_PKT_FLAG_KEY;
    return size;
}

int subtitles_convert(struct subtitles *s, AVPacket *packet, AVRational to)
{
    AVSubtitle subtitle = {0};
    int is_whole = 0, code = avcodec_decode_subtitle2(s->decoder, &subtitle, &is_whole, packet);
    if (code >= 0)
        code = is_whole && subtitle.num_rects && packet->pts != AV_NOPTS_VALUE
                   ? encode(s, &subtitle, packet, to)
                   : 0;
    avsubtitle_free(&subtitle);
    return code;
}

void subtitles_close(struct subtitles **slot)
{
    struct subtitles *s = *slot;
    if (!s)
        return;
    avcodec_free_context(&s->decoder);
    avcodec_free_context(&s->encoder);
    free(s->text);
    free(s);
    *slot = NULL;
}
