/* SPDX-License-Identifier: BSD-2-Clause */
/* hone apply: one video. One thread decodes and gives frames to the device, which reads and writes them where the decoder
 * left them and the encoder takes them, if it can; this one encodes. The libraries have threads of their own within
 * decoding and encoding. */
#include "cli/apply/video.h"

#include "base/clock.h"
#include "base/error.h"
#include "cli/guard.h"
#include "image/view.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What an encoder may take to bring a file to its end after a signal. */
enum { ENDING_SECONDS = 60 };

/* Frames between decoder and encoder: those on the device, and as many before and behind it. */
enum { SLOTS = 4, FRAMES = 2 * SLOTS };

struct film {
    const struct apply_options *options;
    const struct item *item;
    struct engine *engine;
    struct video_input *input;
    struct video_output *output;
    struct unit_queue queue;
    pthread_mutex_t lock; /* what follows */
    hone_status status;   /* of what failed first */
    hone_error error;
    struct video_outcome outcome;
};

/* ---- Options ---- */

bool apply_is_video(const struct item *item)
{
    return video_is_name(item->input) || video_is_name(item->output);
}

const char *apply_video_option(const struct apply_options *options)
{
    return options->codec    ? "--codec"
           : options->preset ? "--preset"
           : options->frames ? "--frames"
           : options->planes ? "--planes"
           : options->raw    ? "--raw"
                             : NULL;
}

hone_status apply_check_video(struct apply_options *options, hone_error *error)
{
    if (options->frames && !apply_parse_range(options->frames, &options->first_frame, &options->last_frame))
        return error_set(error, HONE_ERROR_USAGE,
                         "--frames is A-B, A- or -B, counted from 1, such as --frames 100-250, not '%s'",
                         options->frames);
    if (options->planes && strcmp(options->planes, "luma") != 0 && strcmp(options->planes, "all") != 0)
        return error_set(error, HONE_ERROR_USAGE, "--planes is luma or all, not '%s'", options->planes);
    return HONE_OK;
}

static struct video_write_options write_options(const struct apply_options *options)
{
    return (struct video_write_options){.codec = options->codec,
                                        .preset = options->preset,
                                        .quality = (int)options->quality,
                                        .note = cli_media_note,
                                        .user = (void *)&options->common};
}

/* ---- Stages ---- */

static void fail(struct film *film, hone_status status, const hone_error *error)
{
    pthread_mutex_lock(&film->lock);
    if (!film->status) {
        film->status = status;
        film->error = *error;
    }
    pthread_mutex_unlock(&film->lock);
    queue_stop(&film->queue);
}

static void worked(struct film *film, enum video_stage stage, uint64_t since)
{
    pthread_mutex_lock(&film->lock);
    film->outcome.busy[stage] += (double)(clock_ns() - since) * 1e-9;
    pthread_mutex_unlock(&film->lock);
}

static void fail_frame(struct film *film, const struct video_unit *unit, hone_status status,
                       const hone_error *why)
{
    hone_error error = *why;
    error_prefix(&error, "frame %llu", (unsigned long long)unit->number);
    fail(film, status, &error);
}

/* A stream is done with its planes of a frame. On the stream's thread. */
static void filtered(void *user, const hone_stream_result *result)
{
    struct film *film = user;
    struct queued *place = result->user;
    if (result->status)
        fail_frame(film, place->unit, result->status, result->error);
    queue_done(&film->queue, place);
}

/* Waits while the device has enough to do. */
static hone_status push_frame(struct film *film, struct queued *place, hone_error *error)
{
    const struct engine *engine = film->engine;
    const unsigned each = video_get_info(film->input)->planes / engine->stream_count;
    const struct video_plane *plane = place->unit->planes;
    struct guard_watch watch;
    hone_status status = HONE_OK;
    for (unsigned i = 0; i < engine->stream_count && !status; i++) {
        hone_frame frame = {.user = place};
        for (unsigned p = 0; p < each; p++, plane++) {
            frame.in[p] = plane->in;
            frame.in_pitch[p] = plane->in_pitch;
            frame.out[p] = plane->out;
            frame.out_pitch[p] = plane->out_pitch;
        }
        engine_watch_frame(engine, &watch);
        status = hone_stream_push(engine->streams[i], &frame, error);
        guard_unwatch(&watch);
    }
    return status;
}

/* What has been put in line is freed there, also when it fails: a stream may be at work on it. A packet may be gone at
 * once. */
static hone_status take_in(struct film *film, struct video_unit *unit, bool *more, hone_error *error)
{
    const bool is_frame = unit->is_frame;
    const unsigned long long number = unit->number;
    struct queued *place = queue_put(&film->queue, unit, is_frame ? film->engine->stream_count : 0);
    *more = place != NULL;
    if (!place || !is_frame)
        return HONE_OK;
    hone_status status = push_frame(film, place, error);
    if (status)
        error_prefix(error, "frame %llu", number);
    return status;
}

static void *decode(void *user)
{
    struct film *film = user;
    hone_error error = {0};
    hone_status status = HONE_OK;
    struct video_unit *unit = NULL;
    bool more = true;
    while (more && !status && !guard_is_signalled(NULL)) {
        const uint64_t start = clock_ns();
        status = video_read(film->input, &unit, &error);
        worked(film, VIDEO_DECODE, start);
        more = !status && unit;
        if (more)
            status = take_in(film, unit, &more, &error);
    }
    if (status)
        fail(film, status, &error);
    queue_end(&film->queue);
    return NULL;
}

/* The first unit, once the device is done with it. */
static struct video_unit *next_unit(struct film *film)
{
    struct guard_watch watch;
    if (!queue_wait(&film->queue))
        return NULL;
    engine_watch_frame(film->engine, &watch);
    struct video_unit *unit = queue_take(&film->queue);
    guard_unwatch(&watch);
    return unit;
}

/* With what the streams have measured so far. */
static struct video_outcome outcome_of(struct film *film)
{
    hone_stream_stats stats;
    pthread_mutex_lock(&film->lock);
    struct video_outcome outcome = film->outcome;
    pthread_mutex_unlock(&film->lock);
    for (unsigned i = 0; i < film->engine->stream_count; i++) {
        hone_stream_get_stats(film->engine->streams[i], &stats);
        outcome.busy[VIDEO_COPY] += stats.seconds[HONE_STAGE_COPY_IN] + stats.seconds[HONE_STAGE_COPY_OUT];
        outcome.busy[VIDEO_UPLOAD] += stats.seconds[HONE_STAGE_UPLOAD];
        outcome.busy[VIDEO_KERNELS] += stats.seconds[HONE_STAGE_KERNELS];
        outcome.busy[VIDEO_DOWNLOAD] += stats.seconds[HONE_STAGE_DOWNLOAD];
        if (i == 0 || stats.zero_copy < outcome.zero_copy)
            outcome.zero_copy = stats.zero_copy;
    }
    return outcome;
}

static hone_status encode(struct film *film, hone_error *error)
{
    const uint64_t begun = clock_ns(), of = video_get_info(film->input)->frames;
    hone_status status = HONE_OK;
    struct video_unit *unit;
    while (!status && (unit = next_unit(film))) {
        const uint64_t start = clock_ns();
        film->outcome.frames += unit->is_frame;
        status = video_write(film->output, &unit, error);
        worked(film, VIDEO_ENCODE, start);
        const struct video_outcome outcome = outcome_of(film);
        video_progress(film->options, &outcome, of, (double)(clock_ns() - begun) * 1e-9);
    }
    if (status)
        fail(film, status, error);
    return status;
}

/* The device may be at work on frames still when something else has failed. */
static void settle(struct film *film)
{
    struct guard_watch watch;
    engine_watch_frame(film->engine, &watch);
    for (unsigned i = 0; i < film->engine->stream_count; i++)
        hone_stream_flush(film->engine->streams[i], NULL);
    guard_unwatch(&watch);
    queue_free_units(&film->queue);
}

static hone_status run_stages(struct film *film, hone_error *error)
{
    pthread_t decoder;
    const int code = pthread_create(&decoder, NULL, decode, film);
    if (code)
        return error_set(error, HONE_ERROR_MEMORY, "cannot start a thread: %s", strerror(code));
    encode(film, error);
    pthread_join(decoder, NULL);
    settle(film);
    if (film->status) {
        *error = film->error;
        return film->status;
    }
    const uint64_t start = clock_ns();
    hone_status status = video_finish(film->output, error);
    worked(film, VIDEO_ENCODE, start);
    return status;
}

/* ---- Before and after ---- */

/* With --memory, half of it is for the ring, and half for frames as they are decoded and their results. */
static unsigned most_frames(const struct film *film, const struct video_info *info)
{
    uint64_t bytes = 0;
    for (unsigned i = 0; i < info->planes; i++)
        bytes += 2 * (uint64_t)hone_image_bytes(&info->plane[i]);
    const uint64_t fit = film->options->memory / 2 / bytes;
    return !film->options->memory || fit > FRAMES ? FRAMES : fit > 1 ? (unsigned)fit : 1;
}

static hone_status prepare(struct film *film, struct apply_result *result, hone_error *error)
{
    const struct video_info *info = video_get_info(film->input);
    const hone_stream_options options = {.slots = film->options->memory ? 0 : SLOTS,
                                         .memory = film->options->memory / 2,
                                         .callback = filtered,
                                         .user = film};
    film->queue.most_frames = most_frames(film, info);
    result->in = result->out = info->plane[0];
    hone_status status = engine_open_streams(film->engine, info->plane, info->planes, &options, error);
    if (!status)
        depths_warn_video(film->engine, film->item->input, info->bits);
    return status;
}

static hone_status film_to(struct film *film, int fd, bool seekable, hone_error *error)
{
    const struct video_write_options options = write_options(film->options);
    hone_status status =
        video_create(&film->output, fd, seekable, film->item->output, film->input, &options, error);
    if (!status)
        snprintf(film->outcome.encoder, sizeof film->outcome.encoder, "%s", video_encoder(film->output));
    return status ? status : run_stages(film, error);
}

static hone_status film_to_file(struct film *film, const char *root, hone_error *error)
{
    struct guarded_output output = GUARDED_OUTPUT_NONE;
    hone_status status = root ? items_make_folders(film->item->output, root, error) : HONE_OK;
    if (!status)
        status = guard_output_begin(&output, film->item->output, error);
    if (!status)
        status = film_to(film, output.file.fd, true, error);
    if (!status && film->outcome.frames == 0)
        status =
            error_set(error, HONE_ERROR_IO, "'%s': interrupted before its first frame", film->item->input);
    if (!status)
        status = guard_output_commit(&output, error);
    guard_output_abort(&output);
    return status;
}

/* A signal ends the input, and the file is brought to its proper end before the process is. */
static hone_status run_film(struct film *film, const char *root, hone_error *error)
{
    guard_hold_for(ENDING_SECONDS);
    const uint64_t start = clock_ns();
    hone_status status = apply_to_stdout(film->options) ? film_to(film, STDOUT_FILENO, false, error)
                                                        : film_to_file(film, root, error);
    film->outcome.seconds = (double)(clock_ns() - start) * 1e-9;
    film->outcome.damages = video_damages(film->input);
    if (guard_is_signalled(NULL) && !status)
        cli_warn(&film->options->common, "interrupted: '%s' holds %llu frames", film->item->output,
                 (unsigned long long)film->outcome.frames);
    guard_release();
    return status;
}

static hone_status open_film(struct film *film, const char *root, hone_error *error)
{
    const struct apply_options *o = film->options;
    const struct video_write_options options = write_options(o);
    const struct video_read_options reading = {.raw = o->raw,
                                               .accept_damaged = o->accept_damaged,
                                               .every_plane = o->planes && strcmp(o->planes, "all") == 0,
                                               .strip = o->write.strip,
                                               .memory = (uint64_t)(o->decode_memory * 1048576),
                                               .first = o->first_frame,
                                               .last = o->last_frame,
                                               .stopped = guard_is_signalled,
                                               .note = cli_media_note,
                                               .user = (void *)&o->common};
    hone_status status = video_check_output(film->item->output, &options, error);
    if (!status && !apply_to_stdout(o))
        status = items_check_folder(film->item->output, root != NULL, o->force, error);
    return status ? status : video_open(&film->input, film->item->input, &reading, error);
}

void apply_video(struct engine *engine, const struct item *item, const char *root,
                 struct apply_result *result)
{
    struct film film = {.options = engine->options,
                        .item = item,
                        .engine = engine,
                        .queue = UNIT_QUEUE_INITIALIZER,
                        .lock = PTHREAD_MUTEX_INITIALIZER};
    hone_error *error = &result->error;
    *result = (struct apply_result){.item = item, .is_video = true};
    engine_close_streams(engine);
    hone_status status = open_film(&film, root, error);
    if (!status)
        status = prepare(&film, result, error);
    if (!status)
        status = run_film(&film, root, error);
    if (!status) {
        snprintf(film.outcome.pixels, sizeof film.outcome.pixels, "%s", video_get_info(film.input)->pixels);
        snprintf(film.outcome.codec, sizeof film.outcome.codec, "%s", video_get_info(film.input)->codec);
    }
    result->format = "video";
    result->video = outcome_of(&film);
    for (int stage = VIDEO_COPY; stage < VIDEO_ENCODE; stage++)
        result->wall_seconds += result->video.busy[stage];
    engine_report_streams(engine, result);
    video_output_close(&film.output);
    video_close(&film.input);
    result->exit_status = cli_exit_status(status);
}
