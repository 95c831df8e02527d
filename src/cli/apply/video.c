/* SPDX-License-Identifier: BSD-2-Clause */
/* hone apply: one video. One thread decodes and gives frames to the device, which reads and writes them where
 * the decoder left them and the encoder takes them, if it can; this one encodes. The libraries have threads
 * of their own within decoding and encoding. */
#include "cli/apply/video.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/text.h"
#include "cl/device.h"
#include "cli/guard.h"
#include "cli/show.h"
#include "cli/survive.h"
#include "image/view.h"
#include "lab/profile/timeline.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What an encoder may take to bring a file to its end after a signal. */
enum { ENDING_SECONDS = 60 };

/* Frames between decoder and encoder: those on each device, and some before and behind them. */
enum { FRAMES_AROUND = 4, FRAMES_OF_DEVICE = 4 };

struct film {
    const struct apply_options *options;
    const struct item *item;
    struct engine *engine;
    struct video_input *input;
    struct video_output *output;
    struct pool_shape *shapes[VIDEO_PLANES];
    struct apply_result *result;
    double seconds_before[HONE_STAGE_COUNT]; /* of the pool's streams, with other videos */
    struct unit_queue queue;
    double bound;         /* seconds that the decoder has; 0: any */
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

static size_t count_videos(const struct items *items)
{
    size_t count = 0;
    for (size_t i = 0; i < items->count; i++)
        count += apply_is_video(&items->list[i]);
    return count;
}

bool apply_has_video(const struct items *items)
{
    return count_videos(items) > 0;
}

bool apply_has_videos_only(const struct items *items)
{
    return items->count > 0 && count_videos(items) == items->count;
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

const char *apply_picture_option(const struct apply_options *options)
{
    return options->pages        ? "--pages"
           : options->resume     ? "--resume"
           : options->alpha      ? "--alpha"
           : options->background ? "--background"
                                 : NULL;
}

hone_status apply_check_video(struct apply_options *options, hone_error *error)
{
    if (options->frames && !apply_parse_range(options->frames, &options->first_frame, &options->last_frame))
        return error_usage(error,
                           "--frames is A-B, A- or -B, counted from 1, such as --frames 100-250, not '%s'",
                           options->frames);
    if (options->planes && strcmp(options->planes, "luma") != 0 && strcmp(options->planes, "all") != 0)
        return error_usage(error, "--planes is luma or all, not '%s'", options->planes);
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

/* What has been put in line is freed there: a device may be at work on it. */
static hone_status take_in(struct film *film, struct video_unit *unit, bool *more, hone_error *error)
{
    struct queued queued = {.unit = unit};
    hone_status status = HONE_OK;
    *more = queue_has_room(&film->queue, unit);
    if (*more && unit->is_frame)
        status = planes_submit(&queued.jobs, film->engine, film->shapes, unit, error);
    if (*more && !status)
        queue_put(&film->queue, &queued);
    else
        video_unit_free(&unit);
    return status;
}

/* What decodes in this process ends with it, and the one that watches goes on behind this video. */
static bool give_up_decoder(void *user, uint64_t thread)
{
    const struct film *film = user;
    if (media_give_up(NULL, thread))
        return true;
    if (survive_is_watched()) {
        film->engine->shared->course->hung = film->bound;
        guard_leave(EXIT_IO);
    }
    return false;
}

/* Videos are decoded in this process, once they were tried in another. Of a pipe, the pauses alone are
 * limited, where it is read. */
static void watch_decoder(struct film *film, struct guard_watch *watch, const hone_image_desc *desc,
                          const char *what)
{
    const char *path = film->item->input;
    film->bound = media_is_stream(path) ? 0 : engine_decoder_seconds(film->engine, desc);
    const struct guard_late late = {.ask = give_up_decoder, .user = film, .key = (uint64_t)pthread_self()};
    guard_watch_or(watch, film->bound, &late, "%s '%s'", what, path);
}

static hone_status read_unit(struct film *film, struct video_unit **unit, hone_error *error)
{
    struct guard_watch watch;
    const uint64_t start = clock_ns();
    watch_decoder(film, &watch, &video_get_info(film->input)->plane[0], "decoding");
    hone_status status = video_read(film->input, unit, error);
    guard_unwatch(&watch);
    worked(film, VIDEO_DECODE, start);
    return status;
}

static void *decode(void *user)
{
    struct film *film = user;
    hone_error error = {0};
    hone_status status = HONE_OK;
    struct video_unit *unit = NULL;
    bool more = true;
    while (more && !status) { /* after a signal, too, there may be something to end with */
        status = read_unit(film, &unit, &error);
        more = !status && unit;
        if (more)
            status = take_in(film, unit, &more, &error);
    }
    if (status)
        fail(film, status, &error);
    queue_end(&film->queue);
    return NULL;
}

static bool is_uncopied(const struct pool_job *job)
{
    return !job->staged.count && !copy_counts_any(&job->copies);
}

/* The command of each plane, in a trace under a name of its frame. */
static void add_to_trace(struct film *film, const struct pool_job *job, unsigned long long number,
                         unsigned plane)
{
    struct shared_device *shared = film->engine->shared;
    struct text name = {0};
    if (!shared->timeline)
        return;
    text_add(&name, "%s, frame %llu", film->item->input, number);
    if (film->shapes[1])
        text_add(&name, ", plane %u", plane);
    timeline_add(shared->timeline, shared->devices[job->device], text_view(&name), job->begun, job->ended,
                 job->commands, job->command_count);
    text_finish(&name);
}

static void note_traffic(struct film *film, const struct frame_jobs *jobs, unsigned long long number)
{
    const hone_image_desc *planes = video_get_info(film->input)->plane;
    for (unsigned i = 0; i < jobs->count; i++) {
        const struct pool_job *job = &jobs->job[i];
        apply_add_traffic(film->result, film->engine->shared->devices[job->device], &planes[i], &planes[i],
                          job);
        add_to_trace(film, job, number, i);
    }
}

/* What was chosen for the first plane is what a report tells. */
static void note_frame(struct film *film, struct frame_jobs *jobs, unsigned long long number)
{
    struct apply_result *result = film->result;
    bool uncopied = true;
    for (unsigned i = 0; i < jobs->count; i++)
        uncopied = uncopied && is_uncopied(&jobs->job[i]);
    free(result->steps);
    result->steps = jobs->job[0].steps;
    result->step_count = jobs->job[0].step_count;
    jobs->job[0].steps = NULL;
    note_traffic(film, jobs, number);
    result->device = film->engine->shared->devices[jobs->job[0].device];
    result->by_device[jobs->job[0].device]++;
    film->outcome.zero_copy += uncopied;
}

/* Waits until its planes are filtered. */
static hone_status finish_frame(struct film *film, struct queued *queued, hone_error *error)
{
    const unsigned long long number = queued->unit->number;
    hone_status status = planes_wait(film->engine, queued->jobs, &queued->unit, error);
    queue_leave(&film->queue);
    if (status)
        error_prefix(error, "frame %llu", number);
    else
        note_frame(film, queued->jobs, number);
    planes_free(&queued->jobs);
    return status;
}

/* The next unit, filtered. NULL when there will be none. */
static struct video_unit *next_unit(struct film *film)
{
    struct queued queued;
    hone_error error;
    if (!queue_take(&film->queue, &queued))
        return NULL;
    hone_status status = queued.jobs ? finish_frame(film, &queued, &error) : HONE_OK;
    if (!status)
        return queued.unit;
    fail(film, status, &error);
    video_unit_free(&queued.unit);
    return NULL;
}

/* With what the streams have measured so far. */
static struct video_outcome outcome_of(struct film *film)
{
    double seconds[HONE_STAGE_COUNT];
    pthread_mutex_lock(&film->lock);
    struct video_outcome outcome = film->outcome;
    pthread_mutex_unlock(&film->lock);
    pool_seconds(film->engine->shared->pool, seconds);
    for (int s = 0; s < HONE_STAGE_COUNT; s++)
        seconds[s] -= film->seconds_before[s];
    outcome.busy[VIDEO_COPY] = seconds[HONE_STAGE_COPY_IN] + seconds[HONE_STAGE_COPY_OUT];
    outcome.busy[VIDEO_UPLOAD] = seconds[HONE_STAGE_UPLOAD];
    outcome.busy[VIDEO_KERNELS] = seconds[HONE_STAGE_KERNELS];
    outcome.busy[VIDEO_DOWNLOAD] = seconds[HONE_STAGE_DOWNLOAD];
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

/* A device may be at work on frames still when something else has failed. */
static void settle(struct film *film)
{
    struct queued queued;
    while (queue_drain(&film->queue, &queued)) {
        if (queued.jobs)
            planes_wait(film->engine, queued.jobs, &queued.unit, NULL);
        planes_free(&queued.jobs);
        video_unit_free(&queued.unit);
    }
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
    const unsigned most = FRAMES_AROUND + FRAMES_OF_DEVICE * (unsigned)film->engine->shared->count;
    uint64_t bytes = 0;
    for (unsigned i = 0; i < info->planes; i++)
        bytes += 2 * (uint64_t)hone_image_bytes(&info->plane[i]);
    const uint64_t fit = film->options->memory / 2 / bytes;
    return !film->options->memory || fit > most ? most : fit > 1 ? (unsigned)fit : 1;
}

static hone_status prepare(struct film *film, struct apply_result *result, hone_error *error)
{
    const struct video_info *info = video_get_info(film->input);
    result->in = result->out = info->plane[0];
    TRY(planes_open(film->engine, info->plane, info->planes, film->shapes, error));
    film->queue.most_frames = most_frames(film, info);
    pool_seconds(film->engine->shared->pool, film->seconds_before);
    depths_warn_video(film->engine, film->item->input, info->bits);
    return HONE_OK;
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
    THEN(status, guard_output_begin(&output, film->item->output, error));
    THEN(status, film_to(film, output.file.fd, true, error));
    if (!status && film->outcome.frames == 0)
        status = error_io(error, "'%s': interrupted before its first frame", film->item->input);
    if (!status && !guard_is_signalled(NULL)) /* else it is not all there */
        made_mark(film->engine, &film->engine->made, output.file.fd, film->item->output);
    THEN(status, guard_output_commit(&output, film->options->sync, error));
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
        cli_warn(&film->options->common, "interrupted: '%s' holds %s", film->item->output,
                 show_count(film->outcome.frames, "frame").text);
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
                                               .patience = apply_patience(o),
                                               .stopped = guard_is_signalled,
                                               .note = cli_media_note,
                                               .user = (void *)&o->common};
    hone_status status = video_check_output(film->item->output, &options, error);
    if (!status && !apply_to_stdout(o))
        status = items_check_folder(film->item->output, root != NULL, o->force, error);
    if (status)
        return status;
    struct guard_watch watch;
    const hone_image_desc unknown = {0};
    watch_decoder(film, &watch, &unknown, "opening");
    status = video_try(film->item->input, &reading, o->timeout, error);
    guard_unwatch(&watch);
    if (status)
        return status;
    if (o->first_frame > 1) /* all frames before it are decoded there, which takes what it takes */
        return video_open(&film->input, film->item->input, &reading, error);
    watch_decoder(film, &watch, &unknown, "opening");
    status = video_open(&film->input, film->item->input, &reading, error);
    guard_unwatch(&watch);
    return status;
}

void apply_video(struct engine *engine, const struct item *item, const char *root,
                 struct apply_result *result)
{
    struct film film = {.options = engine->options,
                        .item = item,
                        .engine = engine,
                        .result = result,
                        .queue = UNIT_QUEUE_INITIALIZER,
                        .lock = PTHREAD_MUTEX_INITIALIZER};
    hone_error *error = &result->error;
    *result = (struct apply_result){.item = item, .is_video = true, .pages = 1, .parts = 1};
    hone_status status = open_film(&film, root, error);
    THEN(status, prepare(&film, result, error));
    THEN(status, run_film(&film, root, error));
    if (!status) {
        snprintf(film.outcome.pixels, sizeof film.outcome.pixels, "%s", video_get_info(film.input)->pixels);
        snprintf(film.outcome.codec, sizeof film.outcome.codec, "%s", video_get_info(film.input)->codec);
    }
    result->format = "video";
    result->video = engine->shared->pool ? outcome_of(&film) : film.outcome;
    for (int stage = VIDEO_COPY; stage < VIDEO_ENCODE; stage++)
        result->wall_seconds += result->video.busy[stage];
    planes_close(engine, film.shapes);
    video_output_close(&film.output);
    video_close(&film.input);
    result->exit_status = cli_exit_status(status);
}
