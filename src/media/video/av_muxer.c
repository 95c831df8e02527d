/* SPDX-License-Identifier: BSD-2-Clause */
/* What formats hold, beyond what the libraries tell. */
#include "media/video/av.h"

#include "base/mem.h"
#include "base/text.h"

#include <libavutil/imgutils.h>
#include <stdio.h>
#include <string.h>

enum { MAX_HELD = 24 };

struct list {
    const char *muxer;
    enum AVCodecID ids[MAX_HELD]; /* up to AV_CODEC_ID_NONE */
};

/* These muxers have no list of codecs that could be asked for, and some write what no demuxer recognises. */
static const struct list held[] = {
    {"mpegts",
     {AV_CODEC_ID_MPEG1VIDEO, AV_CODEC_ID_MPEG2VIDEO, AV_CODEC_ID_MPEG4,        AV_CODEC_ID_H264,
      AV_CODEC_ID_HEVC,       AV_CODEC_ID_CAVS,       AV_CODEC_ID_DIRAC,        AV_CODEC_ID_VC1,
      AV_CODEC_ID_MP2,        AV_CODEC_ID_MP3,        AV_CODEC_ID_AAC,          AV_CODEC_ID_AAC_LATM,
      AV_CODEC_ID_AC3,        AV_CODEC_ID_EAC3,       AV_CODEC_ID_DTS,          AV_CODEC_ID_TRUEHD,
      AV_CODEC_ID_OPUS,       AV_CODEC_ID_S302M,      AV_CODEC_ID_DVB_SUBTITLE, AV_CODEC_ID_DVB_TELETEXT,
      AV_CODEC_ID_SMPTE_KLV,  AV_CODEC_ID_TIMED_ID3}},
    {"vob",
     {AV_CODEC_ID_MPEG1VIDEO, AV_CODEC_ID_MPEG2VIDEO, AV_CODEC_ID_MP1, AV_CODEC_ID_MP2, AV_CODEC_ID_MP3,
      AV_CODEC_ID_AC3, AV_CODEC_ID_DTS, AV_CODEC_ID_PCM_S16BE, AV_CODEC_ID_PCM_DVD,
      AV_CODEC_ID_DVD_SUBTITLE}},
    {"ogg",
     {AV_CODEC_ID_THEORA, AV_CODEC_ID_VP8, AV_CODEC_ID_VORBIS, AV_CODEC_ID_OPUS, AV_CODEC_ID_FLAC,
      AV_CODEC_ID_SPEEX}},
    {"yuv4mpegpipe", {AV_CODEC_ID_WRAPPED_AVFRAME}},
};

/* What these write, and demuxers read, though their lists do not have it. */
static const struct list unlisted[] = {
    {"mov", {AV_CODEC_ID_FFV1, AV_CODEC_ID_CFHD}},
    {"matroska", {AV_CODEC_ID_DNXHD}},
    {"nut", {AV_CODEC_ID_DNXHD, AV_CODEC_ID_PRORES}},
};

/* What transport streams of Blu-ray hold besides. */
static const struct list blu_ray = {"mpegts", {AV_CODEC_ID_PCM_BLURAY, AV_CODEC_ID_HDMV_PGS_SUBTITLE}};

/* What these refuse, or write so that it cannot be read, though their lists of codecs have it: NUT does not
 * store the size of blocks that decoders need, and the times of G.726 in Matroska become wrong. */
static const struct list refused[] = {
    {"mov",
     {AV_CODEC_ID_VP8, AV_CODEC_ID_VP9, AV_CODEC_ID_AV1, AV_CODEC_ID_FLAC, AV_CODEC_ID_OPUS,
      AV_CODEC_ID_TRUEHD}},
    {"mp4", {AV_CODEC_ID_TRUEHD}},
    {"matroska",
     {AV_CODEC_ID_RV10, AV_CODEC_ID_RV20, AV_CODEC_ID_RV30, AV_CODEC_ID_RV40, AV_CODEC_ID_ADPCM_G726}},
    {"nut",
     {AV_CODEC_ID_WMAV1, AV_CODEC_ID_WMAV2, AV_CODEC_ID_WMAPRO, AV_CODEC_ID_WMAVOICE, AV_CODEC_ID_WMALOSSLESS,
      AV_CODEC_ID_COOK, AV_CODEC_ID_ATRAC3, AV_CODEC_ID_SIPR, AV_CODEC_ID_RA_288, AV_CODEC_ID_ADPCM_G726}},
};

/* Frames that are not encoded, of which these have a code for few layouts: others are refused, or written so
 * that they are read as something else. */
static const struct {
    const char *name;
    enum AVPixelFormat held[MAX_HELD]; /* up to AV_PIX_FMT_NONE */
} raw_muxers[] = {
    {"matroska",
     {AV_PIX_FMT_GRAY8, AV_PIX_FMT_YUV420P, AV_PIX_FMT_YUV422P, AV_PIX_FMT_YUV411P, AV_PIX_FMT_YUV410P,
      AV_PIX_FMT_NV12, AV_PIX_FMT_NV21, AV_PIX_FMT_YUYV422, AV_PIX_FMT_UYVY422, AV_PIX_FMT_YVYU422,
      AV_PIX_FMT_RGBA, AV_PIX_FMT_NONE}},
    {"avi",
     {AV_PIX_FMT_GRAY8, AV_PIX_FMT_YUV420P, AV_PIX_FMT_YUV422P, AV_PIX_FMT_YUV411P, AV_PIX_FMT_YUV410P,
      AV_PIX_FMT_NV12, AV_PIX_FMT_NV21, AV_PIX_FMT_YUYV422, AV_PIX_FMT_UYVY422, AV_PIX_FMT_YVYU422,
      AV_PIX_FMT_RGBA, AV_PIX_FMT_BGR24, AV_PIX_FMT_BGRA, AV_PIX_FMT_NONE}},
    {"mov",
     {AV_PIX_FMT_YUYV422, AV_PIX_FMT_UYVY422, AV_PIX_FMT_RGB24, AV_PIX_FMT_BGR24, AV_PIX_FMT_RGBA,
      AV_PIX_FMT_BGRA, AV_PIX_FMT_ARGB, AV_PIX_FMT_ABGR, AV_PIX_FMT_NONE}},
};

/* NUT takes FFmpeg's codes, and frames without one (P010 ...) are read back as 15 bits of RGB. */
bool muxer_holds_frames(const AVOutputFormat *muxer, enum AVCodecID id, enum AVPixelFormat format)
{
    if (id == AV_CODEC_ID_RAWVIDEO && strcmp(muxer->name, "nut") == 0)
        return avcodec_pix_fmt_to_codec_tag(format) != 0;
    for (size_t i = 0; i < COUNT_OF(raw_muxers) && id == AV_CODEC_ID_RAWVIDEO; i++) {
        const enum AVPixelFormat *at = raw_muxers[i].held;
        if (strcmp(raw_muxers[i].name, muxer->name) != 0)
            continue;
        while (*at != AV_PIX_FMT_NONE && *at != format)
            at++;
        return *at == format;
    }
    return true;
}

/* AudioSpecificConfig of ISO 14496-3: type, rate and channels in 5, 4 and 4 bits. */
static int make_aac_header(AVCodecParameters *p)
{
    static const int rates[] = {96000, 88200, 64000, 48000, 44100, 32000, 24000,
                                22050, 16000, 12000, 11025, 8000,  7350};
    const int channels = p->ch_layout.nb_channels == 8 ? 7 : p->ch_layout.nb_channels;
    unsigned rate = 0;
    while (rate < COUNT_OF(rates) && rates[rate] != p->sample_rate)
        rate++;
    if (rate == COUNT_OF(rates) || channels < 1 || channels > 7)
        return 0;
    p->extradata = av_mallocz(2 + AV_INPUT_BUFFER_PADDING_SIZE);
    if (!p->extradata)
        return AVERROR(ENOMEM);
    p->extradata_size = 2;
    const unsigned bits = (unsigned)(p->profile + 1) << 11 | rate << 7 | (unsigned)channels << 3;
    p->extradata[0] = (uint8_t)(bits >> 8);
    p->extradata[1] = (uint8_t)bits;
    return 0;
}

int muxer_complete(const AVOutputFormat *muxer, bool seekable, AVCodecParameters *p)
{
    const bool is_told_later = seekable || strcmp(muxer->name, "matroska") != 0;
    return is_told_later || p->codec_id != AV_CODEC_ID_AAC || p->extradata_size ||
                   p->profile != FF_PROFILE_AAC_LOW
               ? 0
               : make_aac_header(p);
}

bool muxer_is_y4m(const AVOutputFormat *muxer)
{
    return strcmp(muxer->name, "yuv4mpegpipe") == 0;
}

/* FFmpeg halves the bytes of chroma's rows, not the samples: of an odd width, those of two bytes are cut. */
static void write_y4m(AVIOContext *to, const AVFrame *frame)
{
    const enum AVPixelFormat format = (enum AVPixelFormat)frame->format;
    static const unsigned char head[] = {'F', 'R', 'A', 'M', 'E', '\n'};
    avio_write(to, head, sizeof head);
    for (int plane = 0; plane < av_pix_fmt_count_planes(format); plane++) {
        const int shift = plane == 1 || plane == 2 ? av_pix_fmt_desc_get(format)->log2_chroma_h : 0;
        const int rows = AV_CEIL_RSHIFT(frame->height, shift),
                  bytes = av_image_get_linesize(format, frame->width, plane);
        for (int y = 0; y < rows; y++)
            avio_write(to, frame->data[plane] + (ptrdiff_t)y * frame->linesize[plane], bytes);
    }
    avio_flush(to);
}

int muxer_write(AVFormatContext *output, AVPacket *packet)
{
    if (!muxer_is_y4m(output->oformat))
        return av_interleaved_write_frame(output, packet);
    write_y4m(output->pb, (const AVFrame *)packet->data);
    av_packet_unref(packet);
    return output->pb->error;
}

int muxer_compliance(const AVOutputFormat *muxer)
{
    if (muxer_is_y4m(muxer)) /* more than 8 bits */
        return FF_COMPLIANCE_UNOFFICIAL;
    /* FLAC, which is standardized since FFmpeg called it an experiment, and views all around. */
    return strcmp(muxer->name, "mp4") == 0 ? FF_COMPLIANCE_EXPERIMENTAL : FF_COMPLIANCE_NORMAL;
}

/* NUT does not store how long packets last, and text says that nowhere else. */
static bool loses_text(const AVOutputFormat *muxer, enum AVCodecID id)
{
    const AVCodecDescriptor *codec = avcodec_descriptor_get(id);
    return codec && codec->props & AV_CODEC_PROP_TEXT_SUB && strcmp(muxer->name, "nut") == 0;
}

/* Matroska takes what AVI and WAV have tags for, too, which its muxer writes but does not list. */
static bool holds_by_tag(const AVOutputFormat *muxer, enum AVCodecID id)
{
    const struct AVCodecTag *const tags[] = {avformat_get_riff_video_tags(), avformat_get_riff_audio_tags(),
                                             NULL};
    unsigned tag;
    return strcmp(muxer->name, "matroska") == 0 && av_codec_get_tag2(tags, id, &tag);
}

bool muxer_is_unusual(const AVOutputFormat *muxer, enum AVCodecID id)
{
    return id == AV_CODEC_ID_FFV1 && strcmp(muxer->name, "mov") == 0;
}

static const struct list *find(const struct list *lists, size_t count, const AVOutputFormat *muxer)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(lists[i].muxer, muxer->name) == 0)
            return &lists[i];
    return NULL;
}

static bool has(const struct list *list, enum AVCodecID id)
{
    const enum AVCodecID *at = list->ids;
    while (*at != AV_CODEC_ID_NONE && *at != id)
        at++;
    return *at == id && id != AV_CODEC_ID_NONE;
}

bool muxer_holds(const AVOutputFormat *muxer, enum AVCodecID id)
{
    const struct list *all = find(held, COUNT_OF(held), muxer);
    const struct list *others = find(refused, COUNT_OF(refused), muxer);
    const struct list *more = find(unlisted, COUNT_OF(unlisted), muxer);
    if (all)
        return has(all, id);
    if ((others && has(others, id)) || loses_text(muxer, id))
        return false;
    return (more && has(more, id)) || holds_by_tag(muxer, id) ||
           avformat_query_codec(muxer, id, FF_COMPLIANCE_NORMAL) == 1;
}

bool muxer_is_blu_ray(const AVOutputFormat *muxer, const char *name)
{
    return strcmp(muxer->name, blu_ray.muxer) == 0 && av_match_ext(name, "m2ts,mts");
}

/* MP4 marks any such data as those of GoPro's cameras. */
static bool is_mistaken(const AVOutputFormat *muxer, const AVCodecParameters *p)
{
    return p->codec_id == AV_CODEC_ID_BIN_DATA && p->codec_tag != MKTAG('g', 'p', 'm', 'd') &&
           text_has_word("mov mp4", muxer->name);
}

bool muxer_copies(const AVOutputFormat *muxer, const char *name, const AVStream *stream)
{
    const AVCodecParameters *p = stream->codecpar;
    if (muxer_is_y4m(muxer) || strcmp(muxer->name, "rawvideo") == 0)
        return false;
    if (attach_is_file(muxer, stream))
        return true;
    if (p->codec_type == AVMEDIA_TYPE_ATTACHMENT || is_mistaken(muxer, p))
        return false;
    return muxer_holds(muxer, p->codec_id) || (muxer_is_blu_ray(muxer, name) && has(&blu_ray, p->codec_id));
}

static bool takes(const AVOutputFormat *muxer, const char *name, const AVStream *stream)
{
    return muxer_copies(muxer, name, stream) || subtitles_fit(muxer, stream) ||
           (timecode_is_track(stream) && timecode_is_held(muxer));
}

/* The first suffix of a format for files that take a stream; false: there is none. */
static bool find_suffix(char *suffix, size_t size, const struct video_format_info *format,
                        const AVStream *stream)
{
    const AVOutputFormat *muxer = av_guess_format(format->muxer, NULL, NULL);
    for (const char *at = format->suffixes; muxer && *at; at += strcspn(at, " "), at += strspn(at, " ")) {
        snprintf(suffix, size, "%.*s", (int)strcspn(at, " "), at);
        if (takes(muxer, suffix, stream))
            return true;
    }
    return false;
}

void muxer_list_holders(char *to, size_t size, const AVStream *stream)
{
    struct video_format_info format;
    char suffix[16];
    size_t length = 0;
    to[0] = '\0';
    for (size_t i = 0; video_format_at(i, &format) && length < size; i++)
        if (find_suffix(suffix, sizeof suffix, &format, stream))
            length += (size_t)snprintf(to + length, size - length, "%s%s", length ? ", " : "", suffix);
}
