/* SPDX-License-Identifier: BSD-2-Clause */
/* Writing videos: streams, frames, packets, the end. */
#include "media/video/av.h"

#include "base/error.h"
#include "base/mem.h"
#include "base/text.h"

#include <libavutil/opt.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { OPUS_RATE = 48000 }; /* of its samples, whatever it is made from */

struct video_output {
    char *name;
    struct descriptor descriptor;
    AVIOContext *io;
    AVFormatContext *format;
    AVCodecContext *encoder;
    AVStream *stream; /* of the filtered video */
    AVPacket *packet;
    const struct video_input *like;
    struct video_write_options options;
    struct out_stream {
        int index; /* in the output; -1: left out */
        int64_t last_dts;
        struct subtitles *subtitles; /* NULL: packets are copied */
        bool told_damage;
    } * streams; /* by those of the input, as many */
    unsigned stream_count;
    struct times times;
    bool told_times, begun, ended; /* begun, ended: the encoder has a frame, and knows that none follows */
};

static hone_status failed(const struct video_output *output, hone_error *error, const char *what, int code)
{
    char reason[320];
    if (code == AVERROR(ENOMEM))
        return error_memory(error, "a video");
    if (output->descriptor.error)
        return error_io(error, "cannot write %s%s%s: %s", output->name[0] == '-' ? "" : "'",
                        output->name[0] == '-' ? "to standard output" : output->name,
                        output->name[0] == '-' ? "" : "'", strerror(output->descriptor.error));
    av_reason(reason, sizeof reason, code);
    return error_io(error, "'%s': %s: %s", output->name, what, reason);
}

/* ---- Streams ---- */

/* What the old encoding and file were like is no longer true. */
static bool is_stale(const char *key)
{
    static const char *const keys[] = {"BPS",          "DURATION",      "NUMBER_OF_",
                                       "_STATISTICS_", "encoder",       "ENCODER",
                                       "major_brand",  "minor_version", "compatible_brands"};
    for (size_t i = 0; i < COUNT_OF(keys); i++)
        if (strncmp(key, keys[i], strlen(keys[i])) == 0)
            return true;
    return false;
}

static void copy_metadata(AVDictionary **to, const AVDictionary *from, bool drop_stale)
{
    const AVDictionaryEntry *entry = NULL;
    while ((entry = av_dict_get(from, "", entry, AV_DICT_IGNORE_SUFFIX)))
        if (!drop_stale || !is_stale(entry->key))
            av_dict_set(to, entry->key, entry->value, 0);
}

static bool is_of_encoding(enum AVPacketSideDataType type)
{
    return type == AV_PKT_DATA_CPB_PROPERTIES || type == AV_PKT_DATA_NEW_EXTRADATA ||
           type == AV_PKT_DATA_PARAM_CHANGE || type == AV_PKT_DATA_QUALITY_STATS ||
           type == AV_PKT_DATA_DOVI_CONF;
}

/* Rotation, stereo, mastering display and the like. */
static int copy_side_data(AVStream *to, const AVStream *from, bool encoded)
{
    for (int i = 0; i < from->nb_side_data; i++) {
        const AVPacketSideData *data = &from->side_data[i];
        if (encoded && is_of_encoding(data->type))
            continue;
        uint8_t *copy = av_stream_new_side_data(to, data->type, data->size);
        if (!copy)
            return AVERROR(ENOMEM);
        memcpy(copy, data->data, data->size);
    }
    return 0;
}

static void move_timecode(const struct video_output *output, AVDictionary **metadata)
{
    const uint64_t first = output->like->options.first;
    timecode_move(metadata, input_rate(output->like), first > 1 ? first - 1 : 0);
}

static int copy_traits(const struct video_output *output, AVStream *to, const AVStream *from, bool encoded)
{
    to->disposition = from->disposition;
    to->time_base = from->time_base;
    to->avg_frame_rate = from->avg_frame_rate;
    to->r_frame_rate = from->r_frame_rate;
    if (!output->like->options.strip)
        copy_metadata(&to->metadata, from->metadata, encoded);
    move_timecode(output, &to->metadata);
    return copy_side_data(to, from, encoded);
}

/* The tag of the input where the format has no other for this codec. */
static unsigned fitting_tag(const AVOutputFormat *muxer, const AVCodecParameters *p)
{
    unsigned other;
    if (!muxer->codec_tag || av_codec_get_id(muxer->codec_tag, p->codec_tag) == p->codec_id ||
        !av_codec_get_tag2(muxer->codec_tag, p->codec_id, &other))
        return p->codec_tag;
    return 0;
}

static int add_video(struct video_output *output, const AVStream *from)
{
    AVStream *stream = output->stream = avformat_new_stream(output->format, NULL);
    if (!stream)
        return AVERROR(ENOMEM);
    const int code = avcodec_parameters_from_context(stream->codecpar, output->encoder);
    if (code < 0)
        return code;
    if (!stream->codecpar->codec_tag && stream->codecpar->codec_id == from->codecpar->codec_id)
        stream->codecpar->codec_tag = fitting_tag(output->format->oformat, from->codecpar);
    stream->sample_aspect_ratio = output->encoder->sample_aspect_ratio;
    const int traits = copy_traits(output, stream, from, true);
    stream->time_base = output->times.stream;
    return traits < 0 ? traits : losses_avoid(stream, output->format->oformat, output->like->sample);
}

/* AVI tells the time of sound by its bytes where these come in blocks of one size. Those of an AVI that
 * is read are no such blocks for codecs whose packets vary. */
static void count_packets(const AVOutputFormat *muxer, AVCodecParameters *p)
{
    const bool varies =
        p->codec_id == AV_CODEC_ID_AAC || p->codec_id == AV_CODEC_ID_MP3 || p->codec_id == AV_CODEC_ID_AC3;
    if (varies && strcmp(muxer->name, "avi") == 0)
        p->block_align = 0;
}

static int add_copied(struct video_output *output, const AVStream *from)
{
    AVStream *stream = avformat_new_stream(output->format, NULL);
    if (!stream)
        return AVERROR(ENOMEM);
    int code = avcodec_parameters_copy(stream->codecpar, from->codecpar);
    if (code >= 0)
        code = muxer_complete(output->format->oformat, output->io->seekable, stream->codecpar);
    stream->codecpar->codec_tag = fitting_tag(output->format->oformat, from->codecpar);
    count_packets(output->format->oformat, stream->codecpar);
    stream->sample_aspect_ratio = from->sample_aspect_ratio;
    return code < 0 ? code : copy_traits(output, stream, from, false);
}

/* It has no packets. */
static int add_file(struct video_output *output, const AVStream *from)
{
    AVStream *stream = avformat_new_stream(output->format, NULL);
    if (!stream)
        return AVERROR(ENOMEM);
    int code = attach_content(stream->codecpar, from);
    if (code >= 0)
        code = copy_traits(output, stream, from, false);
    stream->disposition &= ~AV_DISPOSITION_ATTACHED_PIC;
    return code < 0 ? code : attach_name(stream, from);
}

/* Text in another codec. Where that does not fit, or cannot be begun, the output has no stream more. */
static int add_subtitles(struct video_output *output, const AVStream *from, struct subtitles **subtitles)
{
    int code = subtitles_open(subtitles, output->format->oformat, from);
    if (code < 0)
        return code;
    AVStream *stream = avformat_new_stream(output->format, NULL);
    if (!stream)
        return AVERROR(ENOMEM);
    code = subtitles_parameters(*subtitles, stream->codecpar);
    video_note(output->options.note, output->options.user, MEDIA_DETAIL,
               "'%s': stream %d of the input (subtitle, %s) is written as %s", output->name, from->index,
               avcodec_get_name(from->codecpar->codec_id), avcodec_get_name(stream->codecpar->codec_id));
    return code < 0 ? code : copy_traits(output, stream, from, true);
}

static void tell_left_out(const struct video_output *output, const AVStream *stream)
{
    char holders[120];
    const char *type = av_get_media_type_string(stream->codecpar->codec_type);
    muxer_list_holders(holders, sizeof holders, stream);
    video_note(output->options.note, output->options.user, MEDIA_WARNING,
               "'%s': stream %d of the input (%s, %s) is left out: %s does not hold it%s%s", output->name,
               stream->index, type ? type : "unknown",
               timecode_is_track(stream) ? "time code" : avcodec_get_name(stream->codecpar->codec_id),
               output->format->oformat->long_name, holders[0] ? ", but these do: " : "", holders);
}

/* What the muxer makes a track of by itself: chapters, and the time code unless it is stripped. */
static bool is_written_anew(const struct video_output *output, const AVStream *stream)
{
    return stream->discard == AVDISCARD_ALL ||
           (timecode_is_track(stream) &&
            (output->like->options.strip || timecode_is_held(output->format->oformat)));
}

static int add_streams(struct video_output *output)
{
    const AVFormatContext *from = output->like->format;
    int code = 0;
    for (unsigned i = 0; i < from->nb_streams && code >= 0; i++) {
        const AVStream *stream = from->streams[i];
        struct out_stream *out = &output->streams[i];
        *out = (struct out_stream){.index = -1, .last_dts = AV_NOPTS_VALUE};
        if (attach_is_file(output->format->oformat, stream)) {
            code = add_file(output, stream);
            continue;
        }
        if (stream == output->like->stream)
            code = add_video(output, stream);
        else if (muxer_copies(output->format->oformat, output->name, stream))
            code = add_copied(output, stream);
        else if ((code = add_subtitles(output, stream, &out->subtitles)) < 0 && code != AVERROR(ENOMEM)) {
            code = 0;
            if (!is_written_anew(output, stream))
                tell_left_out(output, stream);
            continue;
        }
        out->index = (int)output->format->nb_streams - 1;
    }
    return code;
}

/* ---- Chapters and metadata ---- */

/* In which time the frames that are wanted begin and end, as far as that is known before they are read. */
static int64_t wanted_begin(const struct video_input *like)
{
    return av_rescale_q(like->shift, like->stream->time_base, AV_TIME_BASE_Q);
}

static int64_t wanted_end(const struct video_input *like)
{
    const struct video_read_options *o = &like->options;
    if (!o->last)
        return INT64_MAX;
    const uint64_t first = o->first ? o->first : 1;
    return wanted_begin(like) +
           (int64_t)((double)(o->last - first + 1) / av_q2d(input_rate(like)) * AV_TIME_BASE);
}

static int copy_chapter(AVFormatContext *format, const AVChapter *from, int64_t begin, int64_t end)
{
    const AVRational base = {1, AV_TIME_BASE};
    const int64_t start = av_rescale_q(from->start, from->time_base, base);
    const int64_t stop = av_rescale_q(from->end, from->time_base, base);
    if (stop <= begin || start >= end)
        return 0;
    AVChapter **list = av_realloc_array(format->chapters, format->nb_chapters + 1, sizeof *list);
    AVChapter *chapter = av_mallocz(sizeof *chapter);
    if (list)
        format->chapters = list;
    if (!list || !chapter) {
        av_free(chapter);
        return AVERROR(ENOMEM);
    }
    chapter->id = from->id;
    chapter->time_base = from->time_base;
    const int64_t least = av_rescale_q(begin, base, from->time_base);
    chapter->start = (start < begin ? least : from->start) - least;
    chapter->end = (stop > end ? av_rescale_q(end, base, from->time_base) : from->end) - least;
    av_dict_copy(&chapter->metadata, from->metadata, 0);
    format->chapters[format->nb_chapters++] = chapter;
    return 0;
}

static int copy_globals(struct video_output *output)
{
    const struct video_input *like = output->like;
    int code = 0;
    if (like->options.strip)
        return 0;
    const AVProgram *program = av_find_program_from_stream(like->format, NULL, like->stream->index);
    copy_metadata(&output->format->metadata, like->format->metadata, true);
    if (program) /* the names of a broadcast and its sender */
        copy_metadata(&output->format->metadata, program->metadata, true);
    move_timecode(output, &output->format->metadata);
    for (unsigned i = 0; i < like->format->nb_chapters && code >= 0; i++)
        code = copy_chapter(output->format, like->format->chapters[i], wanted_begin(like), wanted_end(like));
    return code;
}

/* ---- Beginning ---- */

/* Microseconds by which transport and program streams are ahead of what is shown, as FFmpeg's command has
 * them: without them a decoder would get a frame when it has to show it. */
enum { AHEAD = 700000 };

static hone_status check_name(const char *name, const AVOutputFormat **muxer, hone_error *error)
{
    const char *wanted = video_muxer(name);
    *muxer = wanted ? av_guess_format(wanted, NULL, NULL) : NULL;
    if (!wanted)
        return error_usage(
            error,
            "cannot write '%s': a video's suffix says the format, such as .mp4 .mkv .mov .webm .avi .y4m "
            "(hone formats lists them)",
            name);
    return *muxer ? HONE_OK
                  : error_unsupported(error, "cannot write '%s': FFmpeg's libraries here cannot", name);
}

hone_status video_check_output(const char *name, const struct video_write_options *options, hone_error *error)
{
    const AVOutputFormat *muxer;
    log_begin();
    hone_status status = check_name(name, &muxer, error);
    return status ? status : encoder_check(options, error);
}

static struct encoder_request request_of(const struct video_output *output)
{
    return (struct encoder_request){output->name, output->like, &output->options, output->format->oformat};
}

static hone_status open_muxer(struct video_output *output, bool seekable, hone_error *error)
{
    const AVOutputFormat *muxer;
    TRY(check_name(output->name, &muxer, error));
    output->io = io_open(&output->descriptor, true, seekable);
    if (!output->io || avformat_alloc_output_context2(&output->format, muxer, NULL, NULL) < 0)
        return error_memory(error, "a video");
    if (muxer_is_blu_ray(muxer, output->name))
        av_opt_set_int(output->format->priv_data, "mpegts_m2ts_mode", 1, 0);
    output->format->pb = output->io;
    output->format->flags |= AVFMT_FLAG_CUSTOM_IO;
    output->format->max_delay = AHEAD;
    output->format->strict_std_compliance = muxer_compliance(muxer);
    const struct encoder_request request = request_of(output);
    return encoder_open(&output->encoder, &output->times, &request, error);
}

/* Phones name what they tell like "com.apple.quicktime.make". MP4 and QuickTime have another table for such
 * names, in which all is written then, and which MP4 has instead of the usual one. */
static bool has_own_names(const AVDictionary *metadata)
{
    const AVDictionaryEntry *entry = NULL;
    bool found = false;
    while (!found && (entry = av_dict_get(metadata, "", entry, AV_DICT_IGNORE_SUFFIX)))
        found = strncmp(entry->key, "com.", strlen("com.")) == 0;
    return found;
}

static hone_status write_header(struct video_output *output, hone_error *error)
{
    log_forget();
    int code = add_streams(output);
    if (code >= 0)
        code = copy_globals(output);
    if (text_has_word("mov mp4", output->format->oformat->name) && has_own_names(output->format->metadata))
        av_opt_set(output->format->priv_data, "movflags", "+use_metadata_tags", 0);
    if (code >= 0)
        code = avformat_write_header(output->format, NULL);
    if (code < 0)
        return failed(output, error, "cannot be begun", code);
    const struct encoder_request request = request_of(output);
    losses_tell(&request, output->encoder, output->stream);
    return HONE_OK;
}

hone_status video_create(struct video_output **out, int fd, bool seekable, const char *name,
                         const struct video_input *like, const struct video_write_options *options,
                         hone_error *error)
{
    struct video_output *output = mem_new(1, sizeof *output);
    *out = output;
    log_begin();
    if (!output || !(output->name = mem_copy_text(name)) || !(output->packet = av_packet_alloc()) ||
        !(output->streams = mem_new(like->format->nb_streams, sizeof *output->streams))) {
        video_output_close(out);
        return error_memory(error, "a video");
    }
    output->descriptor.fd = fd;
    output->like = like;
    output->stream_count = like->format->nb_streams;
    output->options = *options;
    hone_status status = open_muxer(output, seekable, error);
    THEN(status, write_header(output, error));
    if (status)
        video_output_close(out);
    return status;
}

const char *video_encoder(const struct video_output *output)
{
    return output->encoder->codec->name;
}

/* ---- Frames and packets ---- */

static hone_status check_written(const struct video_output *output, int code, hone_error *error)
{
    return code < 0 ? failed(output, error, "cannot be written", code) : HONE_OK;
}

/* Formats take increasing stamps only, which not every input has. */
static void order_stamps(const struct video_output *output, struct out_stream *stream, AVPacket *packet)
{
    const int least = output->format->oformat->flags & AVFMT_TS_NONSTRICT ? 0 : 1;
    if (packet->pts == AV_NOPTS_VALUE)
        packet->pts = packet->dts;
    if (packet->dts != AV_NOPTS_VALUE && stream->last_dts != AV_NOPTS_VALUE &&
        packet->dts < stream->last_dts + least) {
        packet->dts = stream->last_dts + least;
        if (packet->pts < packet->dts)
            packet->pts = packet->dts;
    }
    if (packet->dts != AV_NOPTS_VALUE)
        stream->last_dts = packet->dts;
}

/* All packets that the encoder has ready. */
static hone_status receive(struct video_output *output, hone_error *error)
{
    hone_status status = HONE_OK;
    while (!status) {
        AVPacket *packet = output->packet;
        const int code = avcodec_receive_packet(output->encoder, packet);
        if (code == AVERROR(EAGAIN) || code == AVERROR_EOF)
            break;
        if (code < 0)
            return failed(output, error, "a frame cannot be encoded", code);
        packet->stream_index = output->stream->index;
        times_restore(&output->times, packet, output->stream->time_base);
        order_stamps(output, &output->streams[output->like->stream->index], packet);
        log_forget();
        status = check_written(output, muxer_write(output->format, packet), error);
    }
    return status;
}

/* Where frames are numbered at one rate: whether that moves this one by more than its neighbour. */
static void tell_times(struct video_output *output, int64_t pts, int64_t number)
{
    const struct times *times = &output->times;
    const int64_t moved = av_rescale_q(pts - times->first.pts, times->input, times->encoder) - number;
    if (output->told_times || llabs(moved) < 2 || !muxer_is_y4m(output->format->oformat))
        return;
    output->told_times = true;
    video_note(output->options.note, output->options.user, MEDIA_WARNING,
               "'%s': the frames of the input do not come at a constant rate, and Y4M plays them at %.5g per "
               "second, so they lose their times; .mkv and .nut keep them",
               output->name, av_q2d(av_inv_q(times->encoder)));
}

static hone_status write_frame(struct video_output *output, struct unit *unit, hone_error *error)
{
    AVFrame *frame = NULL;
    TRY(planes_assemble(unit, output->encoder->pix_fmt, &frame, error));
    log_forget();
    const int64_t pts = frame->pts;
    tell_times(output, pts, times_give(&output->times, frame));
    frame->quality = output->encoder->global_quality;
    if (encoder_is_given_fields(output->like)) /* not two in one frame, as some encoders would take it */
        frame->interlaced_frame = 0;
    const int code = avcodec_send_frame(output->encoder, frame);
    output->begun = true;
    av_frame_free(&frame);
    return code < 0 ? failed(output, error, "a frame cannot be encoded", code) : receive(output, error);
}

/* A subtitle in another codec; false: nothing is to be written. What is damaged is left out: the video goes
 * on. */
static bool convert(const struct video_output *output, struct out_stream *stream, AVPacket *packet,
                    AVRational to)
{
    const int number = packet->stream_index, code = subtitles_convert(stream->subtitles, packet, to);
    if (code < 0 && !stream->told_damage) {
        char reason[320];
        stream->told_damage = true;
        av_reason(reason, sizeof reason, code);
        video_note(output->options.note, output->options.user, MEDIA_WARNING,
                   "'%s': a subtitle of stream %d is damaged and left out: %s", output->name, number, reason);
    }
    return code > 0;
}

/* Readers of Matroska take off what an Opus decoder drops at its beginning. */
static void place_copied(const struct video_output *output, AVPacket *packet, const AVStream *to)
{
    const AVCodecParameters *p = to->codecpar;
    const AVRational sample = {1, OPUS_RATE};
    av_packet_rescale_ts(packet, output->like->format->streams[packet->stream_index]->time_base,
                         to->time_base);
    if (MATROSKA_ADDS_PADDING || p->codec_id != AV_CODEC_ID_OPUS ||
        !text_has_word("matroska webm", output->format->oformat->name))
        return;
    const int64_t dropped = av_rescale_q(p->initial_padding, sample, to->time_base);
    if (packet->pts != AV_NOPTS_VALUE)
        packet->pts += dropped;
    if (packet->dts != AV_NOPTS_VALUE)
        packet->dts += dropped;
}

/* A packet that is copied, but has to be understood for that: AAC of a transport stream, say. */
static hone_status refuse_packet(const struct video_output *output, int number, double seconds,
                                 hone_error *error)
{
    const struct video_input *like = output->like;
    struct out_stream *stream = &output->streams[number];
    if (!like->options.accept_damaged)
        return error_io(error, "'%s': stream %d is damaged at %.3f s; --accept-damaged leaves that out",
                        like->path, number, seconds);
    if (!stream->told_damage)
        video_note(output->options.note, output->options.user, MEDIA_WARNING,
                   "'%s': stream %d is damaged at %.3f s, and packets are left out (said once)", like->path,
                   number, seconds);
    stream->told_damage = true;
    return HONE_OK;
}

/* What an edit list hides is heard where the output has none. The last packet before 0 prepares decoders. */
static bool is_hidden(const AVOutputFormat *muxer, const AVPacket *packet)
{
    return packet->flags & AV_PKT_FLAG_DISCARD && packet->pts != AV_NOPTS_VALUE &&
           packet->pts + 2 * packet->duration <= 0 && !text_has_word("mp4 mov", muxer->name);
}

static hone_status write_packet(struct video_output *output, AVPacket *packet, hone_error *error)
{
    const int from = packet->stream_index;
    if (from < 0 || (unsigned)from >= output->stream_count)
        return HONE_OK;
    struct out_stream *stream = &output->streams[from];
    if (stream->index < 0)
        return HONE_OK;
    AVStream *to = output->format->streams[stream->index];
    if (!stream->subtitles)
        place_copied(output, packet, to);
    else if (!convert(output, stream, packet, to->time_base))
        return HONE_OK;
    if (is_hidden(output->format->oformat, packet))
        return HONE_OK;
    packet->stream_index = stream->index;
    packet->pos = -1;
    order_stamps(output, stream, packet);
    const double seconds = (double)packet->pts * av_q2d(to->time_base);
    log_forget();
    const int code = av_interleaved_write_frame(output->format, packet);
    return code == AVERROR_INVALIDDATA ? refuse_packet(output, from, seconds, error)
                                       : check_written(output, code, error);
}

hone_status video_write(struct video_output *output, struct video_unit **slot, hone_error *error)
{
    struct unit *unit = (struct unit *)*slot;
    hone_status status =
        unit->frame ? write_frame(output, unit, error) : write_packet(output, unit->packet, error);
    video_unit_free(slot);
    return status;
}

hone_status video_finish(struct video_output *output, hone_error *error)
{
    log_forget();
    int code = avcodec_send_frame(output->encoder, NULL);
    output->ended = true;
    if (code < 0 && code != AVERROR_EOF)
        return failed(output, error, "cannot be completed", code);
    TRY(receive(output, error));
    code = av_write_trailer(output->format);
    avio_flush(output->io);
    if (code >= 0)
        code = output->io->error;
    return code < 0 ? failed(output, error, "cannot be completed", code) : HONE_OK;
}

static int send_any_frame(AVCodecContext *encoder)
{
    AVFrame *frame = av_frame_alloc();
    if (!frame)
        return AVERROR(ENOMEM);
    frame->format = encoder->pix_fmt;
    frame->width = encoder->width;
    frame->height = encoder->height;
    int code = av_frame_get_buffer(frame, 0);
    if (code >= 0)
        code = avcodec_send_frame(encoder, frame);
    av_frame_free(&frame);
    return code;
}

/* SVT-AV1 complains on stderr when it is closed before its end, and waits for ever before its first frame. */
static void end_encoder(const struct video_output *output)
{
    AVCodecContext *encoder = output->encoder;
    if (!encoder || !avcodec_is_open(encoder) || output->ended ||
        strcmp(encoder->codec->name, "libsvtav1") != 0)
        return;
    int code = output->begun ? 0 : send_any_frame(encoder);
    if (code >= 0)
        code = avcodec_send_frame(encoder, NULL);
    while (code >= 0) {
        code = avcodec_receive_packet(encoder, output->packet);
        av_packet_unref(output->packet);
    }
}

void video_output_close(struct video_output **slot)
{
    struct video_output *output = *slot;
    if (!output)
        return;
    for (unsigned i = 0; i < output->stream_count; i++)
        subtitles_close(&output->streams[i].subtitles);
    end_encoder(output);
    avcodec_free_context(&output->encoder);
    avformat_free_context(output->format);
    io_close(&output->io);
    av_packet_free(&output->packet);
    free(output->streams);
    free(output->name);
    free(output);
    *slot = NULL;
}
