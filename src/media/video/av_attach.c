/* SPDX-License-Identifier: BSD-2-Clause */
/* Files within videos: Matroska holds fonts and covers as such, other formats covers as streams. */
#include "media/video/av.h"

#include "base/mem.h"

#include <string.h>

/* Of covers, which need a name and a type as files. */
static const struct {
    enum AVCodecID id;
    const char *name, *type;
} pictures[] = {{AV_CODEC_ID_MJPEG, "cover.jpg", "image/jpeg"},
                {AV_CODEC_ID_PNG, "cover.png", "image/png"},
                {AV_CODEC_ID_GIF, "cover.gif", "image/gif"},
                {AV_CODEC_ID_TIFF, "cover.tiff", "image/tiff"}};

static size_t find_picture(enum AVCodecID id)
{
    size_t i = 0;
    while (i < COUNT_OF(pictures) && pictures[i].id != id)
        i++;
    return i;
}

bool attach_is_file(const AVOutputFormat *muxer, const AVStream *stream)
{
    if (strcmp(muxer->name, "matroska") != 0)
        return false;
    return stream->codecpar->codec_type == AVMEDIA_TYPE_ATTACHMENT ||
           (stream->disposition & AV_DISPOSITION_ATTACHED_PIC && stream->attached_pic.size > 0 &&
            find_picture(stream->codecpar->codec_id) < COUNT_OF(pictures));
}

static int keep_or_set(AVDictionary **to, const AVDictionary *from, const char *key, const char *otherwise)
{
    const AVDictionaryEntry *entry = av_dict_get(from, key, NULL, 0);
    return av_dict_set(to, key, entry ? entry->value : otherwise, 0);
}

int attach_name(AVStream *to, const AVStream *from)
{
    const size_t i = find_picture(from->codecpar->codec_id);
    const bool is_picture = i < COUNT_OF(pictures);
    const int code =
        keep_or_set(&to->metadata, from->metadata, "filename", is_picture ? pictures[i].name : "attachment");
    return code < 0 ? code
                    : keep_or_set(&to->metadata, from->metadata, "mimetype",
                                  is_picture ? pictures[i].type : "application/octet-stream");
}

int attach_content(AVCodecParameters *to, const AVStream *from)
{
    const AVPacket *packet = &from->attached_pic;
    if (from->codecpar->codec_type == AVMEDIA_TYPE_ATTACHMENT)
        return avcodec_parameters_copy(to, from->codecpar);
    to->codec_type = AVMEDIA_TYPE_ATTACHMENT;
    to->codec_id = from->codecpar->codec_id;
    to->extradata = av_mallocz((size_t)packet->size + AV_INPUT_BUFFER_PADDING_SIZE);
    if (!to->extradata)
        return AVERROR(ENOMEM);
    to->extradata_size = packet->size;
    memcpy(to->extradata, packet->data, (size_t)packet->size);
    return 0;
}
