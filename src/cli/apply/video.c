/* SPDX-License-Identifier: BSD-2-Clause */
/* hone apply: one video. One thread decodes, one filters, and this one encodes; the libraries have threads of their own
 * within decoding and encoding. */
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

struct film {
    const struct apply_options *options;
    const struct item *item;
    struct engine *engine;               /* of the first plane */
    struct engine others[VIDEO_PLANES];  /* of planes that have another shape */
    struct engine *planes[VIDEO_PLANES]; /* for each plane the engine of its shape */
    struct video_input *input;
    struct video_output *output;
    struct unit_queue decoded, filtered;
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
    queue_stop(&film->decoded);
    queue_stop(&film->filtered);
}

static void worked(struct film *film, enum video_stage stage, uint64_t since)
{
    pthread_mutex_lock(&film->lock);
    film->outcome.busy[stage] += (double)(clock_ns() - since) * 1e-9;
    pthread_mutex_unlock(&film->lock);
}

static void *decode(void *user)
{
    struct film *film = user;
    hone_error error = {0};
    hone_status status = HONE_OK;
    struct video_unit *unit = NULL;
    bool more = true;
    while (more && !guard_is_signalled(NULL)) {
        const uint64_t start = clock_ns();
        status = video_read(film->input, &unit, &error);
        worked(film, VIDEO_DECODE, start);
        more = !status && unit && queue_put(&film->decoded, unit);
    }
    if (status)
        fail(film, status, &error);
    queue_end(&film->decoded);
    return NULL;
}

static hone_status filter_frame(struct film *film, struct video_unit *unit, hone_error *error)
{
    const struct video_info *info = video_get_info(film->input);
    hone_status status = HONE_OK;
    for (unsigned i = 0; i < info->planes && !status; i++) {
        const struct video_plane *plane = &unit->planes[i];
        status = engine_run_plane(film->planes[i], plane->in, plane->in_pitch, plane->out, plane->out_pitch,
                                  error);
    }
    if (status)
        error_prefix(error, "frame %llu", (unsigned long long)unit->number);
    return status;
}

static void *filter(void *user)
{
    struct film *film = user;
    hone_error error = {0};
    hone_status status = HONE_OK;
    struct video_unit *unit;
    while (!status && (unit = queue_take(&film->decoded))) {
        const uint64_t start = clock_ns();
        if (unit->is_frame)
            status = filter_frame(film, unit, &error);
        worked(film, VIDEO_FILTER, start);
        if (status)
            video_unit_free(&unit);
        else if (!queue_put(&film->filtered, unit))
            break;
    }
    if (status)
        fail(film, status, &error);
    queue_end(&film->filtered);
    return NULL;
}

static hone_status encode(struct film *film, hone_error *error)
{
    const uint64_t begun = clock_ns(), of = video_get_info(film->input)->frames;
    hone_status status = HONE_OK;
    struct video_unit *unit;
    while (!status && (unit = queue_take(&film->filtered))) {
        const uint64_t start = clock_ns();
        film->outcome.frames += unit->is_frame;
        status = video_write(film->output, &unit, error);
        worked(film, VIDEO_ENCODE, start);
        pthread_mutex_lock(&film->lock);
        const struct video_outcome outcome = film->outcome;
        pthread_mutex_unlock(&film->lock);
        video_progress(film->options, &outcome, of, (double)(clock_ns() - begun) * 1e-9);
    }
    if (status)
        fail(film, status, error);
    return status;
}

static hone_status run_stages(struct film *film, hone_error *error)
{
    pthread_t decoder, filterer;
    const int first = pthread_create(&decoder, NULL, decode, film);
    const int second = first ? first : pthread_create(&filterer, NULL, filter, film);
    hone_status status = HONE_OK;
    if (second) {
        error_set(error, HONE_ERROR_MEMORY, "cannot start a thread: %s", strerror(second));
        fail(film, HONE_ERROR_MEMORY, error);
    } else {
        encode(film, error);
        pthread_join(filterer, NULL);
    }
    if (!first)
        pthread_join(decoder, NULL);
    if (film->status) {
        *error = film->error;
        return film->status;
    }
    const uint64_t start = clock_ns();
    status = video_finish(film->output, error);
    worked(film, VIDEO_ENCODE, start);
    return status;
}

/* ---- Before and after ---- */

static hone_status prepare_plane(struct film *film, unsigned i, hone_error *error)
{
    const struct video_info *info = video_get_info(film->input);
    for (unsigned k = 0; k < i; k++)
        if (desc_same(&info->plane[k], &info->plane[i])) {
            film->planes[i] = film->planes[k];
            return HONE_OK;
        }
    hone_status status = HONE_OK;
    film->planes[i] = i ? &film->others[i] : film->engine;
    if (i)
        status =
            engine_begin(film->planes[i], film->options, film->engine->given, film->engine->shared, error);
    return status ? status : engine_prepare_plane(film->planes[i], &info->plane[i], error);
}

static hone_status prepare(struct film *film, struct apply_result *result, hone_error *error)
{
    const struct video_info *info = video_get_info(film->input);
    hone_status status = HONE_OK;
    result->in = result->out = info->plane[0];
    for (unsigned i = 0; i < info->planes && !status; i++)
        status = prepare_plane(film, i, error);
    if (!status)
        depths_warn_video(film->engine, film->item->input, info->bits);
    return status;
}

static void release(struct film *film)
{
    for (int i = 1; i < VIDEO_PLANES; i++)
        if (film->planes[i] == &film->others[i])
            engine_end(&film->others[i]);
    video_output_close(&film->output);
    video_close(&film->input);
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
    const struct video_read_options reading = {.accept_damaged = o->accept_damaged,
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
                        .decoded = UNIT_QUEUE_INITIALIZER,
                        .filtered = UNIT_QUEUE_INITIALIZER,
                        .lock = PTHREAD_MUTEX_INITIALIZER};
    hone_error *error = &result->error;
    *result = (struct apply_result){.item = item, .is_video = true};
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
    result->video = film.outcome;
    result->wall_seconds = film.outcome.busy[VIDEO_FILTER];
    release(&film);
    result->exit_status = cli_exit_status(status);
}
