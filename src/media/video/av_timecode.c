/* SPDX-License-Identifier: BSD-2-Clause */
/* Time codes and chapters: metadata in the libraries' eyes, and tracks in MP4, written anew from that. */
#include "media/video/av.h"

#include <libavutil/timecode.h>

#include <limits.h>
#include <math.h>
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

/* ---- Chapters ---- */

static const double same_time = 0.001; /* seconds */

/* Bytes of a text beside its letters; the latter may be missing. */
enum { SAMPLE_LENGTH = 2, SAMPLE_ENCODING = 12 };

/* Whether an entry of a text track begins with a chapter, and has as many bytes as its title. */
static bool is_title(const AVIndexEntry *entry, const AVStream *stream, const AVChapter *chapter)
{
    const double begin = (double)entry->timestamp * av_q2d(stream->time_base);
    const AVDictionaryEntry *title = av_dict_get(chapter->metadata, "title", NULL, 0);
    const int text = entry->size - SAMPLE_LENGTH, letters = title ? (int)strlen(title->value) : 0;
    return (text == letters || text == letters + SAMPLE_ENCODING) &&
           fabs(begin - (double)chapter->start * av_q2d(chapter->time_base)) <= same_time;
}

/* A track for QuickTime that repeats the list of chapters. */
static bool repeats_chapters(const AVFormatContext *format, const AVStream *stream)
{
    const int count = avformat_index_get_entries_count(stream);
    if (stream->codecpar->codec_id != AV_CODEC_ID_MOV_TEXT || count == 0 || count != (int)format->nb_chapters)
        return false;
    for (int i = 0; i < count; i++)
        if (!is_title(avformat_index_get_entry((AVStream *)stream, i), stream, format->chapters[i]))
            return false;
    return true;
}

void timecode_find_chapters(AVFormatContext *format)
{
    for (unsigned i = 0; i < format->nb_streams; i++) {
        AVStream *stream = format->streams[i];
        if (!repeats_chapters(format, stream))
            continue;
        stream->codecpar->codec_type = AVMEDIA_TYPE_DATA;
        stream->codecpar->codec_id = AV_CODEC_ID_BIN_DATA;
        stream->discard = AVDISCARD_ALL;
    }
}
