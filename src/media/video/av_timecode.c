/* SPDX-License-Identifier: BSD-2-Clause */
/* Time codes: metadata in the libraries' eyes, and a track in MP4, which is written anew from that. */
#include "media/video/av.h"

#include <libavutil/timecode.h>

#include <limits.h>
#include <string.h>

bool timecode_is_track(const AVStream *stream)
{
    return stream->codecpar->codec_type == AVMEDIA_TYPE_DATA &&
           stream->codecpar->codec_tag == MKTAG('t', 'm', 'c', 'd');
}

bool timecode_is_held(const AVOutputFormat *muxer)
{
    return strcmp(muxer->name, "mov") == 0 || strcmp(muxer->name, "mp4") == 0 ||
           strcmp(muxer->name, "matroska") == 0;
}

void timecode_move(AVDictionary **metadata, AVRational rate, uint64_t frames)
{
    AVTimecode code;
    char text[AV_TIMECODE_STR_SIZE];
    const AVDictionaryEntry *entry = av_dict_get(*metadata, "timecode", NULL, 0);
    if (!entry || frames == 0 || frames > INT_MAX ||
        av_timecode_init_from_string(&code, rate, entry->value, NULL) < 0)
        return;
    av_dict_set(metadata, entry->key, av_timecode_make_string(&code, text, (int)frames), 0);
}
