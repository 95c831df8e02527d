/* SPDX-License-Identifier: BSD-2-Clause */
/* Opening videos: what is in the file, and whether it can be taken. */
#include "media/video/av.h"

#include "base/error.h"
#include "base/mem.h"
#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

/* Frames that a decoder holds (16 for reference and one for each thread), of three planes, at most. */
enum { BYTES_PER_PIXEL = 32 };

void video_note(media_note_function note, void *user, enum media_note kind, const char *format, ...)
{
    char message[512];
    va_list args;
    if (!note)
        return;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    note(user, kind, message);
}

AVRational input_rate(const struct video_input *input)
{
    const AVRational rate = av_guess_frame_rate(input->format, input->stream, NULL), otherwise = {25, 1};
    return rate.num > 0 && rate.den > 0 ? rate : otherwise;
}

static hone_status bad(const struct video_input *input, hone_error *error, const char *what, int code)
{
    char reason[320];
    if (input->descriptor.error)
        return input_read_error(input, error);
    av_reason(reason, sizeof reason, code);
    return code == AVERROR(ENOMEM) ? error_memory(error, "a video")
                                   : error_io(error, "'%s': %s: %s", input->path, what, reason);
}

/* ---- The file ---- */

/* What is no file may keep us waiting, but not from stopping, nor for longer than the user said. */
static struct file_patience patience_of(const struct video_read_options *options)
{
    return (struct file_patience){options->patience, options->stopped, options->user};
}

static hone_status open_descriptor(struct video_input *input, bool *seekable, hone_error *error)
{
    struct stat info;
    const bool is_standard = strcmp(input->path, "-") == 0;
    struct descriptor *d = &input->descriptor;
    if (!is_standard && stat(input->path, &info) == 0 && S_ISDIR(info.st_mode))
        return error_io(error, "'%s' is a folder, not a video", input->path);
    d->fd = is_standard ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3)
                        : open(input->path, O_RDONLY | O_CLOEXEC | O_NOCTTY |
                                                (input->options.patience > 0 ? O_NONBLOCK : 0));
    if (d->fd < 0 || fstat(d->fd, &info) != 0)
        return error_io(error, "cannot open '%s': %s", input->path, strerror(errno));
    if (S_ISREG(info.st_mode) && info.st_size == 0)
        return error_io(error, "'%s': the file is empty", input->path);
    *seekable = S_ISREG(info.st_mode) && !is_standard;
    if (!*seekable)
        d->patience = patience_of(&input->options);
    return HONE_OK;
}

/* Lists of other files (HLS, DASH, concat) are not followed. */
static int refuse_file(AVFormatContext *format, AVIOContext **io, const char *url, int flags,
                       AVDictionary **options)
{
    struct video_input *input = format->opaque;
    (void)io, (void)url, (void)flags, (void)options;
    input->is_list = true;
    return AVERROR(EPERM);
}

/* Concat and DASH open their files without asking us, and may not. */
static bool is_other_list(const struct video_input *input)
{
    char head[512];
    const ssize_t got = file_read_at(input->descriptor.fd, head, sizeof head - 1, 0);
    head[got > 0 ? got : 0] = '\0';
    return strncmp(head, "ffconcat", strlen("ffconcat")) == 0 || strstr(head, "<MPD") != NULL;
}

static hone_status cannot_open(const struct video_input *input, int code, hone_error *error)
{
    if (input->is_list || is_other_list(input))
        return error_io(error,
                        "'%s' is a list of other files, which are not opened for it; join them first: "
                        "ffmpeg -i '%s' -c copy joined.mkv",
                        input->path, input->path);
    return bad(input, error, "cannot be read as a video", code);
}

/* Motion JPEG alone looks like a picture to the libraries; NULL: they find out. */
static const AVInputFormat *format_of(const struct video_input *input)
{
    const char *dot = strrchr(input->path, '.');
    const bool is_motion_jpeg = dot && (strcasecmp(dot, ".mjpeg") == 0 || strcasecmp(dot, ".mjpg") == 0);
    return is_motion_jpeg ? av_find_input_format("mjpeg") : NULL;
}

static hone_status open_format(struct video_input *input, hone_error *error)
{
    bool seekable = false;
    hone_status status = open_descriptor(input, &seekable, error);
    if (!status && input->options.raw)
        status = raw_check_file(input, error);
    if (status)
        return status;
    input->io = io_open(&input->descriptor, false, seekable);
    input->format = avformat_alloc_context();
    if (!input->io || !input->format || !(input->format->protocol_whitelist = av_strdup("none")))
        return error_memory(error, "a video");
    input->format->pb = input->io;
    input->format->flags |= AVFMT_FLAG_CUSTOM_IO;
    input->format->io_open = refuse_file;
    input->format->opaque = input;
    const int code = input->options.raw
                         ? raw_open(input)
                         : avformat_open_input(&input->format, input->path, format_of(input), NULL);
    if (code < 0)
        return cannot_open(input, code, error);
    timecode_find_chapters(input->format);
    return HONE_OK;
}

/* MP4 may list its packets behind them, and a pipe does not go back. */
static hone_status check_reach(const struct video_input *input, hone_error *error)
{
    AVIOContext *io = input->format->pb;
    int64_t first = INT64_MAX;
    if (io->seekable & AVIO_SEEKABLE_NORMAL || !strstr(input->format->iformat->name, "mp4"))
        return HONE_OK;
    for (unsigned i = 0; i < input->format->nb_streams; i++) {
        const AVIndexEntry *entry = avformat_index_get_entry(input->format->streams[i], 0);
        if (entry && entry->pos < first)
            first = entry->pos;
    }
    if (first >= avio_tell(io) || avio_seek(io, first, SEEK_SET) >= 0)
        return HONE_OK;
    return error_io(
        error,
        "'%s': what this MP4 lists of its frames comes behind them, so no pipe can bring it; name "
        "the file itself, or move that to its start: ffmpeg -i in.mp4 -c copy -movflags "
        "+faststart out.mp4",
        input->path);
}

static uint64_t most_bytes(const struct video_input *input)
{
    return input->options.memory ? input->options.memory : MEDIA_MEMORY;
}

/* Of one allocation by the libraries, which is what they can limit; those of outputs are among them. */
static void limit_allocations(const struct video_input *input)
{
    const uint64_t most = most_bytes(input), least = 64 << 20;
    av_max_alloc(most < least ? least : most < INT_MAX ? most : INT_MAX);
}

static int64_t most_pixels(const struct video_input *input)
{
    const uint64_t most = most_bytes(input) / BYTES_PER_PIXEL;
    return (int64_t)(most < HONE_MAX_PIXELS ? most : HONE_MAX_PIXELS);
}

static bool is_too_large(const struct video_input *input, int width, int height)
{
    return width > HONE_MAX_SIDE || height > HONE_MAX_SIDE || (int64_t)width * height > most_pixels(input);
}

/* What a header tells is gone when the libraries have met their own limit. */
static void keep_told_size(struct video_input *input)
{
    for (unsigned i = 0; i < input->format->nb_streams; i++) {
        const AVCodecParameters *p = input->format->streams[i]->codecpar;
        if (p->codec_type == AVMEDIA_TYPE_VIDEO && is_too_large(input, p->width, p->height)) {
            input->told_width = p->width;
            input->told_height = p->height;
        }
    }
}

/* The libraries decode some frames to find out: within the same limits. */
static hone_status find_streams(struct video_input *input, hone_error *error)
{
    const unsigned count = input->format->nb_streams;
    keep_told_size(input);
    AVDictionary **options = mem_new(count, sizeof(AVDictionary *));
    if (!options)
        return error_memory(error, "a video");
    for (unsigned i = 0; i < count; i++) {
        av_dict_set_int(&options[i], "max_pixels", most_pixels(input), 0);
        av_dict_set(&options[i], "threads", "1", 0);
    }
    input->looking = true;
    log_reading(input);
    const int code = avformat_find_stream_info(input->format, options);
    log_reading(NULL);
    input->looking = false;
    damage_not_passed(input);
    for (unsigned i = 0; i < count; i++)
        av_dict_free(&options[i]);
    free(options);
    return code < 0 || input->descriptor.error ? bad(input, error, "its streams cannot be found", code)
                                               : HONE_OK;
}

/* ---- The stream ---- */

static hone_status check_size(const struct video_input *input, hone_error *error)
{
    const AVCodecParameters *p = input->stream->codecpar;
    const bool is_known = p->width > 0 && p->height > 0;
    const int width = is_known ? p->width : input->told_width;
    const int height = is_known ? p->height : input->told_height;
    if (width < 1 || height < 1)
        return error_io(error, "'%s': the size of its frames cannot be found; is it cut off?", input->path);
    if (is_too_large(input, width, height))
        return error_io(
            error,
            "'%s': frames of %dx%d are over the limit of %.0f megapixels for the memory that decoding "
            "may use (--decode-memory sets it)",
            input->path, width, height, (double)most_pixels(input) * 1e-6);
    return HONE_OK;
}

static bool is_picture(const AVInputFormat *format)
{
    const size_t length = strlen(format->name);
    const char pipe[] = "_pipe";
    return strcmp(format->name, "image2") == 0 ||
           (length > sizeof pipe && strcmp(format->name + length - strlen(pipe), pipe) == 0 &&
            strcmp(format->name, "yuv4mpegpipe") != 0);
}

static hone_status find_video(struct video_input *input, const AVCodec **codec, hone_error *error)
{
    const int index = av_find_best_stream(input->format, AVMEDIA_TYPE_VIDEO, -1, -1, codec, 0);
    if (is_picture(input->format->iformat))
        return error_usage(error,
                           "'%s' is a picture, not a video: its output is a picture, too, such as -o out.png",
                           input->path);
    if (index == AVERROR_DECODER_NOT_FOUND)
        return error_io(error, "'%s': FFmpeg's libraries here have no decoder for its video", input->path);
    if (index < 0 || input->format->streams[index]->disposition & AV_DISPOSITION_ATTACHED_PIC)
        return error_io(error, "'%s' holds no video", input->path);
    input->stream = input->format->streams[index];
    for (unsigned i = 0; i < input->format->nb_streams; i++) {
        const AVStream *other = input->format->streams[i];
        if (other != input->stream && other->codecpar->codec_type == AVMEDIA_TYPE_VIDEO &&
            !(other->disposition & AV_DISPOSITION_ATTACHED_PIC))
            video_note(input->options.note, input->options.user, MEDIA_WARNING,
                       "'%s': stream %u is a further video, and copied as it is", input->path, i);
    }
    return check_size(input, error);
}

static hone_status open_decoder(struct video_input *input, const AVCodec *codec, hone_error *error)
{
    AVCodecContext *decoder = input->decoder = avcodec_alloc_context3(codec);
    if (!decoder || avcodec_parameters_to_context(decoder, input->stream->codecpar) < 0)
        return error_memory(error, "a decoder");
    decoder->pkt_timebase = input->stream->time_base;
    decoder->thread_count = input->options.one_thread ? 1 : 0;
    decoder->max_pixels = most_pixels(input);
    input->stamps[0] = (struct stamp){input, AV_NOPTS_VALUE, AV_NOPTS_VALUE, false};
    decoder->opaque = &input->stamps[0];
    packets_have_numbers(decoder);
    decoder->err_recognition |= AV_EF_CRCCHECK;
    if (input->options.accept_damaged)
        decoder->flags |= AV_CODEC_FLAG_OUTPUT_CORRUPT;
    const int code = avcodec_open2(decoder, codec, NULL);
    return code < 0 ? bad(input, error, "its decoder does not start", code) : HONE_OK;
}

/* ---- What is told of it ---- */

static uint64_t count_frames(const struct video_input *input)
{
    const AVStream *stream = input->stream;
    const struct video_read_options *o = &input->options;
    const int64_t length = input->format->duration;
    uint64_t frames = stream->nb_frames > 0 ? (uint64_t)stream->nb_frames : 0;
    if (!frames && length > 0)
        frames = (uint64_t)((double)length / AV_TIME_BASE * av_q2d(input_rate(input)) + 0.5);
    if (o->last && (!frames || o->last < frames))
        frames = o->last;
    return o->first > 1 ? (frames >= o->first ? frames - o->first + 1 : 0) : frames;
}

static void describe(struct video_input *input)
{
    const struct layout *layout = &input->layout;
    struct video_info *info = &input->info;
    snprintf(input->codec, sizeof input->codec, "%s", avcodec_get_name(input->stream->codecpar->codec_id));
    *info = (struct video_info){.width = (uint32_t)input->sample->width,
                                .height = (uint32_t)input->sample->height,
                                .bits = layout->bits,
                                .codec = input->codec,
                                .pixels = av_get_pix_fmt_name(layout->format),
                                .frames = count_frames(input),
                                .planes = layout->filtered};
    for (unsigned i = 0; i < layout->filtered; i++)
        info->plane[i] = (hone_image_desc){.width = layout->component[i].width,
                                           .height = layout->component[i].height,
                                           .type = layout->sample_bytes == 1 ? HONE_U8 : HONE_U16,
                                           .channels = 1};
}

static hone_status check_held(const struct video_input *input, hone_error *error)
{
    if (input->held_bytes <= most_bytes(input))
        return HONE_OK;
    return error_io(error,
                    "'%s': more than %llu MiB of other streams come before the frames of their time "
                    "(--decode-memory sets how much may be kept)",
                    input->path, (unsigned long long)(most_bytes(input) >> 20));
}

hone_status input_keep(struct video_input *input, struct unit_list *list, struct unit *unit,
                       hone_error *error)
{
    if (!mem_grow(&list->items, &list->capacity, list->count + 1, sizeof *list->items)) {
        video_unit_free((struct video_unit **)&unit);
        return error_memory(error, "a video");
    }
    list->items[list->count++] = unit;
    input->held_bytes += unit->packet ? (uint64_t)unit->packet->size : 0;
    return check_held(input, error);
}

/* Reads on to the first frame that is wanted, which says what all frames are like. */
static hone_status read_first(struct video_input *input, hone_error *error)
{
    struct video_unit *unit = NULL;
    hone_status status;
    do {
        status = input_step(input, &unit, error);
        if (unit)
            THEN(status, input_keep(input, &input->held, (struct unit *)unit, error));
    } while (!status && unit && !unit->is_frame);
    if (status || unit)
        return status;
    if (input->frames > 0)
        return error_usage(error, "'%s' has %llu frames, so --frames cannot begin with %llu", input->path,
                           (unsigned long long)input->frames, (unsigned long long)input->options.first);
    return error_io(error, "'%s': not one frame can be decoded", input->path);
}

static hone_status check_raw(struct video_input *input, hone_error *error)
{
    if (input->options.raw)
        return raw_parse(&input->raw, input->options.raw, error);
    if (video_is_raw_name(input->path))
        return error_usage(error,
                           "'%s': frames alone do not say what they are like; --raw does, such as --raw "
                           "yuv420p:1920x1080@25",
                           input->path);
    return HONE_OK;
}

static hone_status open_all(struct video_input *input, hone_error *error)
{
    const AVCodec *codec = NULL;
    hone_status status = check_raw(input, error);
    THEN(status, open_format(input, error));
    THEN(status, check_reach(input, error));
    THEN(status, find_streams(input, error));
    THEN(status, find_video(input, &codec, error));
    THEN(status, open_decoder(input, codec, error));
    input->packet = av_packet_alloc();
    input->frame = av_frame_alloc();
    if (!status && (!input->packet || !input->frame))
        status = error_memory(error, "a video");
    input->started = true;
    THEN(status, read_first(input, error));
    if (!status)
        describe(input);
    return status;
}

hone_status video_open(struct video_input **out, const char *path, const struct video_read_options *options,
                       hone_error *error)
{
    struct video_input *input = mem_new(1, sizeof *input);
    *out = NULL;
    log_begin();
    log_forget();
    if (!input || !(input->path = mem_copy_text(path))) {
        free(input);
        return error_memory(error, "a video");
    }
    input->descriptor.fd = -1;
    input->end = input->last_pts = AV_NOPTS_VALUE;
    pthread_mutex_init(&input->damages.lock, NULL);
    pthread_mutex_init(&input->early.lock, NULL);
    if (options)
        input->options = *options;
    limit_allocations(input);
    if (!input->options.one_thread) /* else it is tried, within limits of the system */
        memory_watch_begin(&input->watch, most_bytes(input));
    hone_status status = memory_watch_check(&input->watch, path, open_all(input, error), error);
    if (status)
        video_close(&input);
    *out = input;
    return status;
}

const struct video_info *video_get_info(const struct video_input *input)
{
    return &input->info;
}

uint64_t video_damages(const struct video_input *input)
{
    return input->damage_count;
}

static void free_units(struct unit_list *list)
{
    for (size_t i = list->first; i < list->count; i++)
        video_unit_free((struct video_unit **)&list->items[i]);
    free(list->items);
}

void video_close(struct video_input **slot)
{
    struct video_input *input = *slot;
    if (!input)
        return;
    memory_watch_end(&input->watch);
    free_units(&input->held);
    free_units(&input->waiting);
    free_units(&input->before_key);
    avcodec_free_context(&input->decoder);
    avformat_close_input(&input->format);
    io_close(&input->io);
    av_packet_free(&input->packet);
    av_frame_free(&input->frame);
    av_frame_free(&input->sample);
    planes_pools_free(&input->pools);
    if (input->descriptor.fd >= 0)
        close(input->descriptor.fd);
    pthread_mutex_destroy(&input->damages.lock);
    pthread_mutex_destroy(&input->early.lock);
    free(input->path);
    free(input);
    *slot = NULL;
}
