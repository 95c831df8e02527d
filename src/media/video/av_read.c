/* SPDX-License-Identifier: BSD-2-Clause */
/* Reading videos: packets, frames, and which of them are wanted. */
#include "media/video/av.h"

#include "base/error.h"
#include "base/mem.h"
#include "base/text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Failures of a demuxer in a row after which the file is over. */
enum { MOST_FAILURES = 1000 };

static const AVRational microseconds = {1, AV_TIME_BASE};

void video_unit_free(struct video_unit **slot)
{
    struct unit *unit = (struct unit *)*slot;
    if (!unit)
        return;
    for (int i = 0; i < VIDEO_PLANES; i++) {
        av_buffer_unref(&unit->in[i]);
        av_buffer_unref(&unit->out[i]);
    }
    av_frame_free(&unit->frame);
    av_packet_free(&unit->packet);
    free(unit);
    *slot = NULL;
}

/* The frame and what was made of it as input are kept by the old unit, too. */
hone_status video_unit_replace(struct video_unit **slot, hone_error *error)
{
    struct unit *old = (struct unit *)*slot, *unit = mem_new(1, sizeof *unit);
    struct video_unit *shown = (struct video_unit *)unit;
    *slot = NULL;
    if (!unit)
        return error_memory(error, "a frame");
    unit->shown = old->shown;
    unit->layout = old->layout;
    unit->frame = av_frame_clone(old->frame);
    hone_status status = unit->frame ? planes_copy(unit, old, error) : error_memory(error, "a frame");
    if (status)
        video_unit_free(&shown);
    *slot = shown;
    return status;
}

static bool is_stopped(const struct video_input *input)
{
    return input->options.stopped && input->options.stopped(input->options.user);
}

/* ---- Packets ---- */

static bool is_text(const AVStream *stream)
{
    const AVCodecDescriptor *codec = avcodec_descriptor_get(stream->codecpar->codec_id);
    return codec && codec->props & AV_CODEC_PROP_TEXT_SUB;
}

/* Text that is still shown when frames begin at `pts`, in the time of its stream. */
static bool is_still_shown(const AVStream *stream, const AVPacket *packet, int64_t pts)
{
    return is_text(stream) && packet->duration > pts - packet->pts;
}

/* Whether frames follow each other by the rate that the file tells, as far as they have come. */
static bool is_even(const struct video_input *input)
{
    const AVStream *stream = input->stream;
    const AVRational rate = stream->avg_frame_rate;
    if (input->last_pts == AV_NOPTS_VALUE || input->frames > INT32_MAX || rate.num <= 0 || rate.den <= 0 ||
        av_cmp_q(rate, stream->r_frame_rate) != 0)
        return false;
    const int64_t frames = (int64_t)input->frames - 1, taken = input->last_pts - input->first_pts;
    return llabs(taken - av_rescale_q(frames, av_inv_q(rate), stream->time_base)) <= input->step;
}

/* Where the last frame that is wanted ends, or at least may end: text comes long before that. */
static int64_t earliest_end(const struct video_input *input)
{
    const uint64_t last = input->options.last;
    const int64_t frame_end = input->last_pts + input->step;
    if (last < input->frames || last > INT32_MAX || !is_even(input))
        return frame_end;
    const AVRational frame = av_inv_q(input->stream->avg_frame_rate);
    const int64_t left = (int64_t)(last - input->frames);
    return frame_end + av_rescale_q(left, frame, input->stream->time_base);
}

/* Text that may be shown longer than the frames that are wanted. */
static bool may_be_cut(const struct video_input *input, const AVStream *stream, const AVPacket *packet)
{
    return is_text(stream) && av_compare_ts(packet->pts + packet->duration, stream->time_base,
                                            earliest_end(input), input->stream->time_base) > 0;
}

/* Text is shown no longer than the frames that are wanted. */
static void end_text(const struct video_input *input, const AVStream *stream, AVPacket *packet)
{
    if (input->end == AV_NOPTS_VALUE || !is_text(stream))
        return;
    const int64_t left = av_rescale_q(input->end, input->stream->time_base, stream->time_base) - packet->pts;
    if (left > 0 && packet->duration > left)
        packet->duration = left;
}

/* Drops what ends before the frames that are wanted can begin. */
static void prune(struct video_input *input, int64_t pts)
{
    struct unit_list *list = &input->held;
    size_t kept = 0;
    for (size_t i = 0; i < list->count; i++) {
        const AVPacket *packet = list->items[i]->packet;
        const AVStream *stream = input->format->streams[packet->stream_index];
        if (stream->disposition & AV_DISPOSITION_ATTACHED_PIC || packet->pts == AV_NOPTS_VALUE ||
            av_compare_ts(packet->pts, stream->time_base, pts, input->stream->time_base) >= 0 ||
            is_still_shown(stream, packet, av_rescale_q(pts, input->stream->time_base, stream->time_base)))
            list->items[kept++] = list->items[i];
        else {
            input->held_bytes -= (uint64_t)packet->size;
            video_unit_free((struct video_unit **)&list->items[i]);
        }
    }
    list->count = kept;
}

/* To the time of the output; false when the packet is outside of the frames that are wanted. */
static bool place_packet(const struct video_input *input, AVPacket *packet)
{
    const AVStream *stream = input->format->streams[packet->stream_index];
    const AVRational from = input->stream->time_base, to = stream->time_base;
    if (stream->disposition & AV_DISPOSITION_ATTACHED_PIC || packet->pts == AV_NOPTS_VALUE)
        return true;
    if (input->end != AV_NOPTS_VALUE && av_compare_ts(packet->pts, to, input->end, from) >= 0)
        return false;
    const int64_t shift = av_rescale_q(input->shift, from, to), missed = shift - packet->pts;
    if (input->options.first > 1 && missed > 0) {
        if (!is_still_shown(stream, packet, shift))
            return false;
        packet->duration -= missed;
        packet->pts = packet->dts = shift;
    }
    end_text(input, stream, packet);
    packet->pts -= shift;
    if (packet->dts != AV_NOPTS_VALUE)
        packet->dts -= shift;
    return true;
}

static struct unit *new_unit(void)
{
    return mem_new(1, sizeof(struct unit));
}

hone_status input_packet_unit(struct video_input *input, struct unit **out, hone_error *error)
{
    struct unit *unit = new_unit();
    if (!unit || !(unit->packet = av_packet_alloc())) {
        free(unit);
        return error_memory(error, "a packet");
    }
    av_packet_move_ref(unit->packet, input->packet);
    *out = unit;
    return HONE_OK;
}

/* What the decoder says of a packet, or of the end. */
static hone_status settle_sent(struct video_input *input, int code, hone_error *error)
{
    if (code == AVERROR(ENOMEM))
        return error_memory(error, "a frame");
    if (code < 0 && code != AVERROR_EOF)
        damage_of_decoder(input, code);
    return HONE_OK;
}

static hone_status send(struct video_input *input, hone_error *error)
{
    AVPacket *packet = input->packet;
    const int64_t number = ++input->packets;
    const bool is_shown = packet->pts != AV_NOPTS_VALUE;
    struct stamp *stamp = &input->stamps[number % STAMPS];
    *stamp = (struct stamp){input, number, is_shown ? packet->pts - input->late : packet->dts, is_shown};
    input->decoder->opaque = stamp;
    packet_number(input->decoder, packet, number);
    marks_note_flag(input, packet);
    marks_reached(input, packet->stream_index, packet->dts);
    damage_note_packet(input, number, packet->pts, packet->flags & AV_PKT_FLAG_KEY);
    const int code = avcodec_send_packet(input->decoder, packet);
    av_packet_unref(packet);
    return settle_sent(input, code, error);
}

/* All that the decoder still has is decoded now. */
static hone_status send_end(struct video_input *input, hone_error *error)
{
    input->done = input->sent_all; /* a decoder that gives nothing more, and no end either */
    if (input->sent_all)
        return HONE_OK;
    input->sent_all = true;
    return settle_sent(input, avcodec_send_packet(input->decoder, NULL), error);
}

static bool is_past_end(const struct video_input *input, const AVPacket *packet)
{
    const int64_t second = av_rescale_q(AV_TIME_BASE, microseconds, input->stream->time_base);
    return packet->dts == AV_NOPTS_VALUE || packet->dts > input->end + second;
}

static bool is_avi(const struct video_input *input)
{
    return strcmp(input->format->iformat->name, "avi") == 0;
}

/* Packets that the file says it has; 0: it does not say. */
static int64_t count_listed(const struct video_input *input)
{
    const char *name = input->format->iformat->name;
    const AVStream *stream = input->stream;
    if (is_avi(input))
        return stream->nb_frames;
    if (strstr(name, "mp4"))
        return avformat_index_get_entries_count(stream);
    if (strcmp(name, "mxf") == 0 && stream->duration != AV_NOPTS_VALUE && stream->r_frame_rate.num > 0)
        return av_rescale_q(stream->duration, stream->time_base, av_inv_q(stream->r_frame_rate));
    return 0;
}

static int64_t number_in_avi(const struct video_input *input, const struct stamp *stamp)
{
    return stamp->pts + (stamp->is_shown ? input->late : 0);
}

/* Packets that there are. AVI counts empty ones, too, which repeat a frame, and its time is their number.
 * They are not read, and as many are behind the last frame as were before it. */
static int64_t count_found(const struct video_input *input)
{
    const struct stamp *last = &input->stamps[input->packets % STAMPS];
    const struct stamp *before = &input->stamps[(input->packets + STAMPS - 1) % STAMPS];
    const bool is_number = is_avi(input) && last->packet > 0 && last->pts != AV_NOPTS_VALUE;
    const bool has_step = is_number && before->packet > 0 && before->pts != AV_NOPTS_VALUE;
    const int64_t at = is_number ? number_in_avi(input, last) : 0;
    const int64_t found = at + (has_step ? at - number_in_avi(input, before) : 1);
    return found > input->packets ? found : input->packets;
}

/* Of demuxers that do not say it: those of Y4M and GIF drop the rest, that of RoQ may have said it while
 * streams were looked for, and that of DV fills it up. */
static bool ends_within(const struct video_input *input)
{
    const char *name = input->format->iformat->name;
    const int64_t end = input->packets_end, at = avio_tell(input->format->pb);
    return (text_has_word("yuv4mpegpipe roq", name) && end > 0 && at > end) ||
           (strcmp(name, "dv") == 0 && at < end) || (strcmp(name, "ogg") == 0 && cut_is_within_page(input)) ||
           (strcmp(name, "gif") == 0 && cut_is_within_gif(input));
}

/* A file that is cut off between two packets says nothing else. */
static void check_whole(struct video_input *input)
{
    char what[96];
    const int64_t listed = count_listed(input), found = count_found(input);
    if (ends_within(input))
        damage_of_demuxer(input, "it ends within a frame");
    if (cut_lacks_packets(input))
        damage_of_demuxer(input, "the file is shorter than its header says");
    if (found >= listed)
        return;
    snprintf(what, sizeof what, "the file lists %" PRId64 " frames and has %" PRId64, listed, found);
    damage_of_demuxer(input, what);
}

hone_status input_read_error(const struct video_input *input, hone_error *error)
{
    const int code = input->descriptor.error;
    return code == ETIME ? error_io(error, MEDIA_STALLED, input->path, input->options.patience)
                         : error_io(error, "cannot read '%s': %s", input->path, strerror(code));
}

/* Of the video that is filtered: into the decoder, unless it belongs to pictures before a cut. */
static hone_status take_packet(struct video_input *input, hone_error *error)
{
    bool is_held = false;
    if (raw_is_short(input, input->packet)) {
        av_packet_unref(input->packet);
        return HONE_OK;
    }
    if (input->end == AV_NOPTS_VALUE) {
        const hone_status status = cut_hold(input, &is_held, error);
        return status || is_held ? status : send(input, error);
    }
    input->done = is_past_end(input, input->packet);
    av_packet_unref(input->packet);
    return HONE_OK;
}

/* The demuxer of RoQ calls the end of a file an error in FFmpeg 5, as it does what is cut off, and that of
 * GIF what lies behind the end. */
static bool is_plain_end(const struct video_input *input, int code)
{
    AVIOContext *io = input->format->pb;
    return (code == AVERROR(EIO) && avio_feof(io) && input->packets_end >= avio_tell(io)) ||
           (code == AVERROR_INVALIDDATA && cut_is_past_gif(input));
}

static hone_status end_reading(struct video_input *input, int code, hone_error *error)
{
    char reason[AV_ERROR_MAX_STRING_SIZE] = "";
    if (is_plain_end(input, code))
        code = AVERROR_EOF;
    av_strerror(code, reason, sizeof reason);
    if (code == AVERROR_EOF && !input->has_begun) {
        cut_stop_holding(input);
        return HONE_OK;
    }
    if (code != AVERROR_EOF)
        damage_of_demuxer(input, reason);
    else if (input->end == AV_NOPTS_VALUE)
        check_whole(input);
    damage_reached(input, INT64_MAX);
    input->read_all = code == AVERROR_EOF || code == AVERROR(ENOMEM) || ++input->failures > MOST_FAILURES;
    return code == AVERROR(ENOMEM) ? error_memory(error, "a packet") : HONE_OK;
}

/* The demuxer of Dirac alone gives the numbers of pictures for times. */
static void number_times(struct video_input *input)
{
    if (strcmp(input->format->iformat->name, "dirac") != 0)
        return;
    const int64_t duration = input->packet->duration;
    av_packet_rescale_ts(input->packet, av_inv_q(input_rate(input)), input->stream->time_base);
    input->packet->duration = duration;
}

/* One packet from the file: into the decoder, or to be copied as *out. */
static hone_status read_packet(struct video_input *input, struct unit **out, hone_error *error)
{
    if (cut_next(input))
        return send(input, error);
    log_reading(input);
    const int code = av_read_frame(input->format, input->packet);
    log_reading(NULL);
    if (input->descriptor.error) { /* a packet may be a part of one */
        av_packet_unref(input->packet);
        return input_read_error(input, error);
    }
    if (code < 0)
        return end_reading(input, code, error);
    input->failures = 0;
    number_times(input);
    damage_reached(input, input->packet->pos);
    if (input->packet->pos >= 0 && input->packet->pos + input->packet->size > input->packets_end)
        input->packets_end = input->packet->pos + input->packet->size;
    if (input->packet->stream_index != input->stream->index) {
        marks_reached(input, input->packet->stream_index, input->packet->dts);
        return input_packet_unit(input, out, error);
    }
    return take_packet(input, error);
}

/* ---- Frames ---- */

static hone_status learn(struct video_input *input, const AVFrame *frame, hone_error *error)
{
    hone_status status = frame_layout_make(&input->layout, frame->format, frame->width, frame->height,
                                           input->options.every_plane, error);
    if (status) {
        error_prefix(error, "'%s'", input->path);
        return status;
    }
    input->sample = av_frame_alloc();
    if (!input->sample || av_frame_copy_props(input->sample, frame) < 0)
        return error_memory(error, "a frame");
    memory_watch_frames(&input->watch, frame);
    input->sample->format = frame->format;
    input->sample->width = frame->width;
    input->sample->height = frame->height;
    return planes_pools_make(&input->pools, &input->layout, error);
}

static bool is_alike(const struct video_input *input, const AVFrame *frame)
{
    const AVFrame *first = input->sample;
    return frame->format == first->format && frame->width == first->width && frame->height == first->height;
}

static hone_status refuse_change(struct video_input *input, const AVFrame *frame, hone_error *error)
{
    char what[128];
    const char *format = av_get_pix_fmt_name(frame->format);
    snprintf(what, sizeof what, "frame %llu is %dx%d %s", (unsigned long long)input->frames, frame->width,
             frame->height, format ? format : "?");
    return damage_tell(input, what, "all frames before it have another size or format", error);
}

static bool has_numbers(const struct video_input *input)
{
    return text_has_word("avi gxf", input->format->iformat->name);
}

/* AVI and GXF number frames as they are decoded, but show the first one at 0 all the same. The libraries
 * take the number that is read when a frame comes: as many frames later as the decoder holds back. So they do
 * where nothing has times, as in a stream of MPEG-2 alone; one of MPEG-1 has a time for its first picture
 * only. Gives the time of the first frame. */
static int64_t note_late(struct video_input *input, const AVFrame *first)
{
    const struct stamp *own = &input->stamps[frame_packet(first) % STAMPS];
    const bool is_numbered = has_numbers(input) && own->packet == frame_packet(first) && !own->is_shown &&
                             own->pts != AV_NOPTS_VALUE;
    const bool is_timeless = input->format->start_time == AV_NOPTS_VALUE && input->format->nb_streams == 1;
    const int64_t told = first->best_effort_timestamp, begin = is_numbered ? own->pts : 0;
    if (told == AV_NOPTS_VALUE)
        return 0;
    if (!is_numbered && !is_timeless)
        return told;
    input->late = (is_numbered || first->pkt_dts == AV_NOPTS_VALUE ? told : first->pkt_dts) - begin;
    for (int i = 0; i < STAMPS; i++)
        if (input->stamps[i].is_shown)
            input->stamps[i].pts -= input->late;
    return begin;
}

/* Increasing stamps: encoders and formats take no others. */
static void stamp_frame(struct video_input *input, AVFrame *frame)
{
    const int64_t usual = av_rescale_q(1, av_inv_q(input_rate(input)), input->stream->time_base);
    const bool first = input->last_pts == AV_NOPTS_VALUE;
    int64_t pts = frame->best_effort_timestamp;
    if (first)
        pts = note_late(input, frame);
    else if (pts == AV_NOPTS_VALUE)
        pts = input->last_pts + input->step;
    else
        pts -= input->late;
    if (!first && pts <= input->last_pts) {
        pts = input->last_pts + 1;
        if (!input->bumped)
            video_note(
                input->options.note, input->options.user, MEDIA_WARNING,
                "'%s': the time stamp of frame %llu is not after the one before it, and changed (said once)",
                input->path, (unsigned long long)input->frames);
        input->bumped = true;
    }
    const int64_t told = has_numbers(input) && !first ? pts - input->last_pts : frame->FRAME_DURATION;
    input->step = told > 0 ? told : usual > 0 ? usual : 1;
    input->first_pts = first ? pts : input->first_pts;
    input->last_pts = pts;
    frame->pts = pts;
    frame->FRAME_DURATION = input->step;
}

static hone_status frame_unit(struct video_input *input, struct unit **out, hone_error *error)
{
    struct unit *unit = new_unit();
    if (!unit || !(unit->frame = av_frame_alloc())) {
        free(unit);
        return error_memory(error, "a frame");
    }
    av_frame_move_ref(unit->frame, input->frame);
    unit->frame->pts -= input->shift;
    unit->layout = input->layout;
    unit->shown.is_frame = true;
    unit->shown.number = input->frames;
    hone_status status = planes_prepare(unit, &input->pools, error);
    *out = unit;
    if (status)
        video_unit_free((struct video_unit **)out);
    return status;
}

/* Packets that came before the first frame waited for it to learn what time it is. */
static hone_status place_held(struct video_input *input, hone_error *error)
{
    struct unit_list *list = &input->held;
    hone_status status = HONE_OK;
    input->held_bytes = 0;
    while (!status && list->first < list->count)
        status = input_keep(input, &input->waiting, list->items[list->first++], error);
    if (!status)
        list->first = list->count = 0;
    return status;
}

/* Decoders give frames later than the demuxer gives what is heard with them: as long as the last frame that
 * is wanted has not come, nobody knows whether a packet behind the frames is. */
static bool is_ahead(const struct video_input *input, const AVPacket *packet)
{
    const AVStream *stream = input->format->streams[packet->stream_index];
    if (!input->options.last || input->end != AV_NOPTS_VALUE || input->done ||
        stream->disposition & AV_DISPOSITION_ATTACHED_PIC || packet->pts == AV_NOPTS_VALUE)
        return false;
    return may_be_cut(input, stream, packet) ||
           av_compare_ts(packet->pts, stream->time_base, input->last_pts + input->step,
                         input->stream->time_base) >= 0;
}

/* The first that need not wait, or the end of the list. What has to wait keeps others waiting, as they keep
 * their order; but text, which waits for seconds, nothing else than text. */
static size_t find_ready(const struct video_input *input)
{
    const struct unit_list *list = &input->waiting;
    bool text_waits = false;
    for (size_t i = list->first; i < list->count; i++) {
        const AVPacket *packet = list->items[i]->packet;
        const bool is_of_text = is_text(input->format->streams[packet->stream_index]);
        const bool waits = (is_of_text && text_waits) || is_ahead(input, packet);
        if (!waits || !is_of_text)
            return waits ? list->count : i;
        text_waits = true;
    }
    return list->count;
}

/* NULL: all have to wait longer. Where reading is stopped, the last frame that came is the last one. */
static struct unit *take_waiting(struct video_input *input)
{
    struct unit_list *list = &input->waiting;
    if (input->end == AV_NOPTS_VALUE && input->last_pts != AV_NOPTS_VALUE && is_stopped(input))
        input->end = input->last_pts + input->step;
    for (size_t i = find_ready(input); i < list->count; i = find_ready(input)) {
        struct unit *unit = list->items[i];
        memmove(list->items + list->first + 1, list->items + list->first,
                (i - list->first) * sizeof *list->items);
        list->first++;
        input->held_bytes -= (uint64_t)unit->packet->size;
        if (place_packet(input, unit->packet))
            return unit;
        video_unit_free((struct video_unit **)&unit);
    }
    if (list->first > 0)
        memmove(list->items, list->items + list->first, (list->count - list->first) * sizeof *list->items);
    list->count -= list->first;
    list->first = 0;
    return NULL;
}

int64_t video_zero(const struct video_input *input, int64_t pts)
{
    const int64_t start = input->format->start_time;
    const bool is_anywhere = input->format->iformat->flags & AVFMT_TS_DISCONT;
    if (start == AV_NOPTS_VALUE || (start < 0 && !is_anywhere && pts >= 0))
        return 0;
    return av_rescale_q(start, microseconds, input->stream->time_base);
}

/* Where the output begins, in the time of the video. */
static int64_t begin(const struct video_input *input, const AVFrame *first)
{
    return input->options.first > 1 ? first->pts : video_zero(input, first->pts);
}

/* A frame that was decoded; *out stays NULL when it is not wanted. */
static hone_status take_frame(struct video_input *input, struct unit **out, hone_error *error)
{
    AVFrame *frame = input->frame;
    const struct video_read_options *o = &input->options;
    if (damage_is_of_cut(input, frame)) {
        av_frame_unref(frame);
        return HONE_OK;
    }
    input->frames++;
    stamp_frame(input, frame);
    hone_status status = damage_settle(input, frame, error);
    if (status)
        return status;
    frame->pict_type = AV_PICTURE_TYPE_NONE; /* the encoder decides anew */
    if (input->frames < o->first) {
        prune(input, frame->pts);
        av_frame_unref(frame);
        return HONE_OK;
    }
    if (!input->sample) {
        input->shift = begin(input, frame);
        status = learn(input, frame, error);
        THEN(status, place_held(input, error));
    } else if (!is_alike(input, frame)) {
        status = refuse_change(input, frame, error);
        av_frame_unref(frame);
        return status;
    }
    if (o->last && input->frames >= o->last) {
        input->end = input->last_pts + input->step;
        input->done = input->format->nb_streams == 1;
    }
    return status ? status : frame_unit(input, out, error);
}

/* The file ended before the last frame that is wanted. */
static void warn_of_early_end(const struct video_input *input)
{
    const struct video_read_options *o = &input->options;
    if (input->sample && input->frames < o->last && !is_stopped(input))
        video_note(o->note, o->user, MEDIA_WARNING,
                   "'%s' has %llu frame%s: --frames ends with that, not with %llu", input->path,
                   (unsigned long long)input->frames, input->frames == 1 ? "" : "s",
                   (unsigned long long)o->last);
}

/* One thing after the other until there is a unit, or the end. */
static hone_status advance(struct video_input *input, struct unit **out, hone_error *error)
{
    int code =
        input->end != AV_NOPTS_VALUE ? AVERROR(EAGAIN) : avcodec_receive_frame(input->decoder, input->frame);
    if (code >= 0)
        return take_frame(input, out, error);
    if (code == AVERROR(ENOMEM))
        return error_memory(error, "a frame");
    if (code == AVERROR_EOF || (code == AVERROR(EAGAIN) && input->read_all && input->end != AV_NOPTS_VALUE)) {
        input->done = true;
        if (code == AVERROR_EOF)
            warn_of_early_end(input);
        return damage_settle(input, NULL, error);
    }
    if (code != AVERROR(EAGAIN)) {
        damage_of_decoder(input, code);
        return HONE_OK;
    }
    return input->read_all ? send_end(input, error) : read_packet(input, out, error);
}

hone_status input_step(struct video_input *input, struct video_unit **out, hone_error *error)
{
    struct unit *unit = take_waiting(input);
    hone_status status = HONE_OK;
    while (!status && !unit && !input->done) {
        status = advance(input, &unit, error);
        if (status || !input->sample || (unit && !unit->packet))
            continue;
        if (unit)
            status = input_keep(input, &input->waiting, unit, error);
        unit = status ? NULL : take_waiting(input);
    }
    *out = (struct video_unit *)unit;
    return status;
}

hone_status video_read(struct video_input *input, struct video_unit **unit, hone_error *error)
{
    struct unit_list *list = &input->held;
    *unit = NULL;
    if (list->first < list->count) {
        *unit = (struct video_unit *)list->items[list->first++];
        return HONE_OK;
    }
    hone_status status = HONE_OK;
    if (!is_stopped(input))
        status = memory_watch_check(&input->watch, input->path, input_step(input, unit, error), error);
    if (status)
        video_unit_free(unit);
    if (!*unit && is_stopped(input) && (!status || status == HONE_ERROR_IO)) {
        *unit = (struct video_unit *)take_waiting(input); /* damage is where it was stopped */
        status = HONE_OK;
    }
    return status;
}
