/* SPDX-License-Identifier: BSD-2-Clause */
/* Packets that the demuxer marks as damaged: cut off, or with a gap in the counters of a transport stream. */
#include "media/video/av.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char where[] = "the file is cut off or changed there";

static bool is_transport(const struct video_input *input)
{
    return strcmp(input->format->iformat->name, "mpegts") == 0;
}

void marks_note_flag(struct video_input *input, const AVPacket *packet)
{
    /* In transport streams frames are found later than the damage around them: the flag is on the one before,
     * or on none. */
    if (packet->flags & AV_PKT_FLAG_CORRUPT && !is_transport(input))
        damages_add(&input->damages, DAMAGE_IN, input->packets, where);
}

static bool is_noted(const struct marks *marks, const struct mark *mark)
{
    for (unsigned i = 0; i < marks->count; i++)
        if (marks->list[i].stream == mark->stream && marks->list[i].dts == mark->dts)
            return true;
    return marks->count == MAX_MARKS;
}

bool marks_hear(struct video_input *input, const char *line)
{
    struct mark mark = {0};
    struct marks *marks = &input->marks;
    if (sscanf(line, "Packet corrupt (stream = %d, dts = %" SCNd64, &mark.stream, &mark.dts) != 2 ||
        mark.stream < 0 || (unsigned)mark.stream >= input->format->nb_streams)
        return false;
    const enum AVMediaType type = input->format->streams[mark.stream]->codecpar->codec_type;
    /* A recording ends anywhere, within packets of sound as well. Subtitles and data that are damaged are
     * left alone: the video goes on. */
    const bool is_end = cut_is_usual(input) && input->format->pb->eof_reached;
    const bool matters =
        type == AVMEDIA_TYPE_VIDEO ? is_transport(input) : type == AVMEDIA_TYPE_AUDIO && !is_end;
    if (matters && !is_noted(marks, &mark))
        marks->list[marks->count++] = mark;
    return true;
}

void marks_reached(struct video_input *input, int stream, int64_t dts)
{
    char what[64];
    struct marks *marks = &input->marks;
    unsigned kept = 0;
    for (unsigned i = 0; i < marks->count; i++) {
        const struct mark *mark = &marks->list[i];
        if (mark->stream != stream || mark->dts > dts) {
            marks->list[kept++] = *mark;
            continue;
        }
        snprintf(what, sizeof what, "stream %d is cut off or changed there", stream);
        if (input->has_begun)
            damage_of_demuxer(input, stream == input->stream->index ? where : what);
    }
    marks->count = kept;
}
