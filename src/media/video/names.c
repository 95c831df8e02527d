/* SPDX-License-Identifier: BSD-2-Clause */
/* Formats of video files by their suffixes. */
#include "media/video/video.h"

#include "base/mem.h"
#include "base/text.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_SUFFIX = 7 };

#define RAW "rawvideo"

static const struct {
    const char *name, *suffixes, *muxer, *holds;
} formats[] = {
    {"MP4", ".mp4 .m4v", "mp4", "sound, subtitles, chapters"},
    {"QuickTime", ".mov", "mov", "sound, subtitles, chapters"},
    {"Matroska", ".mkv", "matroska", "sound, subtitles, chapters, any codec"},
    {"WebM", ".webm", "webm", "VP8, VP9, AV1; Vorbis, Opus; subtitles"},
    {"AVI", ".avi", "avi", "sound; constant frame rate"},
    {"MPEG-TS", ".ts .m2ts .mts", "mpegts", "sound, DVB subtitles"},
    {"MPEG-PS", ".mpg .mpeg .vob", "vob", "MPEG-1, MPEG-2; sound"},
    {"Ogg", ".ogv", "ogg", "Theora, VP8; sound"},
    {"NUT", ".nut", "nut", "sound, any codec"},
    {"Y4M", ".y4m", "yuv4mpegpipe", "planar frames without loss, constant frame rate, no sound"},
    {"raw", ".yuv .rgb .raw", RAW, "frames alone, one after the other; --raw says what an input's are"},
};

/* Of the others that FFmpeg's libraries recognise, those that people have. */
static const char read_only[] = ".flv .f4v .wmv .asf .mxf .gxf .3gp .3g2 .dv .ivf .obu .mk3d .ogm .divx .qt "
                                ".rm .rmvb .wtv .m1v .m2v .h264 .264 .h265 .265 .hevc";

/* "" where there is none, or no video has one so long. */
static void find_suffix(char suffix[MAX_SUFFIX + 1], const char *name)
{
    const char *slash = strrchr(name, '/'), *base = slash ? slash + 1 : name, *dot = strrchr(base, '.');
    suffix[0] = '\0';
    if (!dot || dot == base || strlen(dot) > MAX_SUFFIX)
        return;
    for (size_t i = 0; i <= strlen(dot); i++)
        suffix[i] = (char)tolower((unsigned char)dot[i]);
}

static int find(const char *name)
{
    char suffix[MAX_SUFFIX + 1];
    find_suffix(suffix, name);
    for (size_t i = 0; i < COUNT_OF(formats); i++)
        if (text_has_word(formats[i].suffixes, suffix))
            return (int)i;
    return -1;
}

void video_silence(void)
{
    setenv("SVT_LOG", "1", 0); /* errors only */
}

bool video_is_name(const char *name)
{
    char suffix[MAX_SUFFIX + 1];
    find_suffix(suffix, name);
    return find(name) >= 0 || text_has_word(read_only, suffix);
}

const char *video_muxer(const char *name)
{
    const int index = find(name);
    return index < 0 ? NULL : formats[index].muxer;
}

bool video_is_raw_name(const char *name)
{
    const char *muxer = video_muxer(name);
    return muxer && strcmp(muxer, RAW) == 0;
}

bool video_format_at(size_t index, struct video_format_info *out)
{
    if (index >= COUNT_OF(formats))
        return false;
    *out = (struct video_format_info){.name = formats[index].name,
                                      .suffixes = formats[index].suffixes,
                                      .muxer = formats[index].muxer,
                                      .holds = formats[index].holds};
    return true;
}
