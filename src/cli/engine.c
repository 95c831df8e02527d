/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/apply.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/mem.h"
#include "cli/guard.h"
#include "media/media.h"

#include <stdlib.h>
#include <string.h>

enum { PAGE = 4096 };

/* ---- Bounds ---- */

/* Generous: a wrong alarm costs a result, a late one only patience. The slowest filters here take about a
 * minute for a megapixel on one core of a CPU. */
static double bound(const struct engine *engine, const hone_image_desc *desc)
{
    const double least = 60, per_megapixel = 60;
    if (engine->options->timeout >= 0)
        return engine->options->timeout;
    const double work = (double)desc->width * desc->height * 1e-6 * (double)hone_chain_length(engine->chain);
    return work * per_megapixel > least ? work * per_megapixel : least;
}

static const char *device_name(const struct engine *engine)
{
    const hone_device_info *info = hone_device_get_info(engine->device);
    return info->board[0] ? info->board : info->name;
}

/* ---- The second images ---- */

static const char *image_parameter(const hone_chain *chain, size_t step)
{
    hone_parameter_info info;
    const char *filter = hone_chain_filter(chain, step);
    for (size_t i = 0; hone_filter_parameter(filter, i, &info); i++)
        if (strcmp(info.kind, "image") == 0)
            return info.name;
    return NULL;
}

static hone_status find_second(struct engine *engine, size_t step, hone_error *error)
{
    hone_filter_info info;
    const char *filter = hone_chain_filter(engine->chain, step), *name = image_parameter(engine->chain, step);
    if (!hone_filter_find(filter, &info) || info.inputs < 2 || !name)
        return HONE_OK;
    const char *path = hone_chain_parameter(engine->chain, step, name);
    if (!path || !*path)
        return error_set(error, HONE_ERROR_USAGE, "%s needs a second image: %s %s=FILE", filter, filter,
                         name);
    engine->seconds[engine->second_count++] = (struct second){.step = step, .path = path};
    return HONE_OK;
}

hone_status engine_begin(struct engine *engine, const struct apply_options *options, const hone_chain *chain,
                         struct shared_device *shared, hone_error *error)
{
    const size_t steps = hone_chain_length(chain), length = hone_chain_text(chain, NULL, 0) + 1;
    *engine = (struct engine){.options = options, .chain = chain, .shared = shared, .engines = 1};
    engine->seconds = mem_new(steps, sizeof *engine->seconds);
    engine->chain_text = mem_new(length, 1);
    if (!engine->seconds || !engine->chain_text)
        return error_memory(error, "a chain");
    hone_chain_text(chain, engine->chain_text, length);
    hone_status status = HONE_OK;
    for (size_t i = 0; i < steps && !status; i++)
        status = find_second(engine, i, error);
    return status;
}

static struct media_read_options read_options(const struct engine *engine)
{
    return (struct media_read_options){.accept_damaged = engine->options->accept_damaged,
                                       .note = cli_media_note,
                                       .user = (void *)&engine->options->common};
}

static void *new_pixels(const hone_image_desc *desc, size_t *size, hone_error *error)
{
    const size_t bytes = (hone_image_bytes(desc) + PAGE - 1) / PAGE * PAGE;
    void *data = aligned_alloc(PAGE, bytes);
    if (!data)
        error_set(error, HONE_ERROR_MEMORY,
                  "an image of %ux%u %s x%u needs %.1f MB of memory, which there is not", desc->width,
                  desc->height, hone_type_name(desc->type), desc->channels, (double)bytes * 1e-6);
    *size = data ? bytes : 0;
    return data;
}

static hone_status read_second(struct engine *engine, struct second *second, hone_error *error)
{
    const struct media_read_options options = read_options(engine);
    struct media_input *input = NULL;
    size_t bytes;
    hone_status status = media_open(&input, second->path, &options, error);
    if (!status) {
        second->desc = media_get_info(input)->desc;
        second->data = new_pixels(&second->desc, &bytes, error);
        status = second->data ? media_load(input, second->data, 0, error) : HONE_ERROR_MEMORY;
    }
    media_close(&input);
    if (status) {
        free(second->data);
        second->data = NULL;
    }
    return status;
}

/* Once, when the first image needs them. */
static hone_status read_seconds(struct engine *engine, hone_error *error)
{
    hone_status status = HONE_OK;
    for (size_t i = 0; i < engine->second_count && !status; i++)
        if (!engine->seconds[i].data)
            status = read_second(engine, &engine->seconds[i], error);
    return status;
}

static hone_status bind_seconds(struct engine *engine, hone_error *error)
{
    hone_status status = HONE_OK;
    for (size_t i = 0; i < engine->second_count && !status; i++) {
        struct second *second = &engine->seconds[i];
        if (!second->image)
            status = hone_image_wrap(&second->image, engine->device, &second->desc, second->data, error);
        if (!status)
            status = hone_plan_bind(engine->plan, second->step, second->image, error);
    }
    return status;
}

/* ---- Device, plan, memory ---- */

/* In the order of the steps that take them; to be freed. */
static hone_image_desc *second_descs(const struct engine *engine, hone_error *error)
{
    hone_image_desc *descs = mem_new(engine->second_count, sizeof *descs);
    if (!descs)
        error_memory(error, "a plan");
    for (size_t i = 0; descs && i < engine->second_count; i++)
        descs[i] = engine->seconds[i].desc;
    return descs;
}

static hone_status open_device(struct engine *engine, const hone_image_desc *input, hone_error *error)
{
    struct guard_watch watch;
    const char *spec = engine->options->common.device;
    hone_status status = HONE_OK;
    if (!engine->shared->device) {
        hone_image_desc *descs = second_descs(engine, error);
        if (!descs)
            return HONE_ERROR_MEMORY;
        guard_watch(&watch, bound(engine, input), "opening the device%s%s", spec ? " " : "",
                    spec ? spec : "");
        status = apply_open_device(engine, input, descs, &engine->shared->device, error);
        guard_unwatch(&watch);
        free(descs);
    }
    engine->device = engine->shared->device;
    return status;
}

static void drop_plan(struct engine *engine)
{
    hone_image_destroy(&engine->in.image);
    hone_image_destroy(&engine->out.image);
    hone_plan_destroy(&engine->plan);
}

static bool same_shape(const hone_image_desc *a, const hone_image_desc *b)
{
    return a->width == b->width && a->height == b->height && a->type == b->type && a->channels == b->channels;
}

static bool tunes(const struct engine *engine, const char *how)
{
    return engine->options->tune && strcmp(engine->options->tune, how) == 0;
}

static hone_status create_plan(struct engine *engine, const hone_image_desc *desc,
                               const hone_image_desc *seconds, hone_error *error)
{
    const hone_plan_options options = {.variant = engine->options->variant,
                                       .config = engine->options->config,
                                       .tune = tunes(engine, "off") ? HONE_TUNE_OFF : HONE_TUNE_AUTO,
                                       .no_fuse = engine->options->no_fuse,
                                       .second = seconds,
                                       .second_count = engine->second_count};
    struct guard_watch watch;
    guard_watch(&watch, bound(engine, desc), "preparing '%s' on %s", engine->chain_text, device_name(engine));
    hone_status status =
        hone_plan_create(&engine->plan, engine->device, engine->chain, desc, &options, error);
    guard_unwatch(&watch);
    return status;
}

static hone_status make_plan(struct engine *engine, const hone_image_desc *desc, hone_error *error)
{
    hone_image_desc *descs = second_descs(engine, error);
    if (!descs)
        return HONE_ERROR_MEMORY;
    hone_status status = tunes(engine, "full") ? apply_tune(engine, desc, descs, error) : HONE_OK;
    if (!status)
        status = create_plan(engine, desc, descs, error);
    free(descs);
    if (!status)
        status = bind_seconds(engine, error);
    engine->planned = *desc;
    return status;
}

static hone_status ensure_plan(struct engine *engine, const hone_image_desc *desc, hone_error *error)
{
    if (engine->plan && same_shape(&engine->planned, desc))
        return HONE_OK;
    drop_plan(engine);
    hone_status status = make_plan(engine, desc, error);
    if (status)
        drop_plan(engine);
    return status;
}

/* A device that works in the host's memory takes its budget from there: better refused than killed by the
 * system. */
static hone_status check_budget(const struct engine *engine, size_t bytes, hone_error *error)
{
    const hone_device_info *info = hone_device_get_info(engine->device);
    uint64_t held = 0, budget = 0;
    hone_device_memory(engine->device, &held, &budget);
    budget /= engine->engines;
    if (info->kind != HONE_DEVICE_CPU || (held <= budget && bytes <= budget - held))
        return HONE_OK;
    return error_set(
        error, HONE_ERROR_MEMORY,
        "input and result need %.1f MB; of the %.1f MB that hone may use here %.1f MB are in use",
        (double)bytes * 1e-6, (double)budget * 1e-6, (double)held * 1e-6);
}

static hone_status ensure_pixels(struct engine *engine, struct pixels *pixels, const hone_image_desc *desc,
                                 hone_error *error)
{
    if (pixels->image)
        return HONE_OK;
    if (pixels->bytes < hone_image_bytes(desc)) {
        free(pixels->data);
        pixels->data = new_pixels(desc, &pixels->bytes, error);
        if (!pixels->data)
            return HONE_ERROR_MEMORY;
    }
    return hone_image_wrap(&pixels->image, engine->device, desc, pixels->data, error);
}

static hone_status ensure_memory(struct engine *engine, hone_error *error)
{
    const hone_image_desc *in = &engine->planned, *out = hone_plan_output(engine->plan);
    hone_status status = check_budget(engine, hone_image_bytes(in) + hone_image_bytes(out), error);
    if (!status)
        status = ensure_pixels(engine, &engine->in, in, error);
    if (!status)
        status = ensure_pixels(engine, &engine->out, out, error);
    return status;
}

void engine_end(struct engine *engine)
{
    if (engine->shared)
        pthread_mutex_lock(&engine->shared->lock);
    drop_plan(engine);
    for (size_t i = 0; i < engine->second_count; i++) {
        hone_image_destroy(&engine->seconds[i].image);
        free(engine->seconds[i].data);
    }
    if (engine->shared)
        pthread_mutex_unlock(&engine->shared->lock);
    free(engine->seconds);
    free(engine->chain_text);
    free(engine->in.data);
    free(engine->out.data);
    *engine = (struct engine){0};
}

/* ---- One image ---- */

/* The pixels of the last image belong to the device until the host takes them back. */
static hone_status take_back_input(struct engine *engine, hone_error *error)
{
    if (!hone_image_is_zero_copy(engine->in.image))
        return HONE_OK;
    return hone_image_download(engine->in.image, NULL, 0, NULL, 0, NULL, error);
}

/* 0 where the device has no clock, or one that says nonsense. */
static double event_seconds(const hone_event *event, double wall)
{
    hone_times times;
    if (hone_event_times(event, &times, NULL) != HONE_OK || times.ended <= times.started)
        return 0;
    const double seconds = (double)(times.ended - times.started) * 1e-9;
    return seconds <= 2 * wall ? seconds : 0;
}

static hone_status compute(struct engine *engine, struct apply_result *result, hone_error *error)
{
    const uint64_t start = clock_ns();
    hone_event *done = NULL;
    struct guard_watch watch;
    guard_watch(&watch, bound(engine, &engine->planned), "running '%s' on %s", engine->chain_text,
                device_name(engine));
    hone_status status = hone_image_upload(engine->in.image, NULL, 0, NULL, 0, NULL, error);
    if (!status)
        status = hone_plan_run(engine->plan, engine->in.image, engine->out.image, NULL, 0, &done, error);
    if (!status)
        status =
            hone_image_download(engine->out.image, NULL, 0, (const hone_event *const *)&done, 1, NULL, error);
    if (!status)
        status = hone_event_wait(done, error);
    result->wall_seconds = (double)(clock_ns() - start) * 1e-9;
    result->device_seconds = status ? 0 : event_seconds(done, result->wall_seconds);
    result->zero_copy =
        hone_image_is_zero_copy(engine->in.image) && hone_image_is_zero_copy(engine->out.image);
    hone_event_destroy(&done);
    if (status) {
        hone_device_finish(engine->device, NULL);
        drop_plan(engine); /* what state a failed command left it in, nobody knows */
    }
    guard_unwatch(&watch);
    return status;
}

/* Where outputs have no names of their own, the way out is another suffix for all. */
static hone_status suggest_format(const struct engine *engine, hone_status status, const char *root,
                                  hone_error *error)
{
    const hone_error plain = *error;
    if (status && (root || apply_to_stdout(engine->options)))
        error_set(error, status, "%s (--format gives the outputs another suffix)", plain.message);
    return status;
}

/* Without a word about the format only what is short becomes numbers: a picture's would fill the terminal. */
static hone_status check_output(const struct engine *engine, const struct item *item, const char *root,
                                bool gray_alpha, hone_error *error)
{
    const hone_image_desc *desc = hone_plan_output(engine->plan);
    if (apply_to_stdout(engine->options) && !engine->options->format && desc->height > 1)
        return error_set(
            error, HONE_ERROR_USAGE,
            "a result of %ux%u is no table: --format says how it goes to standard output, such as "
            "--format png, or --format csv for its numbers",
            desc->width, desc->height);
    return suggest_format(engine, media_check_output(item->output, desc, gray_alpha, error), root, error);
}

/* Everything that can be refused is refused before pixels are decoded. */
static hone_status prepare(struct engine *engine, const struct item *item, const char *root,
                           const struct media_info *info, struct apply_result *result, hone_error *error)
{
    hone_status status = read_seconds(engine, error);
    if (!status)
        status = open_device(engine, &info->desc, error);
    if (status)
        return status;
    status = ensure_plan(engine, &info->desc, error);
    if (!status) {
        result->in = info->desc;
        result->out = *hone_plan_output(engine->plan);
        status = check_output(engine, item, root, info->gray_alpha, error);
    }
    if (!status)
        status = ensure_memory(engine, error);
    return status ? status : take_back_input(engine, error);
}

static hone_status filter(struct engine *engine, const struct item *item, const char *root,
                          struct media_input *input, struct apply_result *result, hone_error *error)
{
    const struct media_info *info = media_get_info(input);
    result->format = info->format;
    result->gray_alpha = info->gray_alpha;
    pthread_mutex_lock(&engine->shared->lock);
    hone_status status = prepare(engine, item, root, info, result, error);
    pthread_mutex_unlock(&engine->shared->lock);
    if (!status)
        status = media_load(input, engine->in.data, 0, error);
    if (!status) {
        pthread_mutex_lock(&engine->shared->lock);
        status = compute(engine, result, error);
        pthread_mutex_unlock(&engine->shared->lock);
    }
    return status ? status : apply_store(engine, item, root, input, error);
}

void engine_apply(struct engine *engine, const struct item *item, const char *root,
                  struct apply_result *result)
{
    const struct media_read_options options = read_options(engine);
    struct media_input *input = NULL;
    hone_error *error = &result->error;
    *result = (struct apply_result){.item = item};
    hone_status status = media_open(&input, item->input, &options, error);
    if (!status)
        status = suggest_format(engine, media_check_name(item->output, error), root, error);
    if (!status && !apply_to_stdout(engine->options))
        status = items_check_folder(item->output, root != NULL, error);
    if (!status)
        status = filter(engine, item, root, input, result, error);
    media_close(&input);
    result->exit_status = cli_exit_status(status);
}
