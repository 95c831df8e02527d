/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/apply/apply.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/mem.h"
#include "cl/device.h"
#include "cli/guard.h"
#include "filter/chain.h"
#include "image/view.h"
#include "media/media.h"

#include <stdlib.h>
#include <string.h>

enum { PAGE = 4096 };

/* ---- Bounds ---- */

/* Generous: a wrong alarm costs a result, a late one only patience. The slowest filters here take about a
 * minute for a megapixel on one core of a CPU. */
double engine_bound(const struct engine *engine, const hone_image_desc *desc)
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
    *engine =
        (struct engine){.options = options, .chain = chain, .given = chain, .shared = shared, .engines = 1};
    engine->seconds = mem_new(steps, sizeof *engine->seconds);
    engine->moved = mem_new(steps, sizeof *engine->moved);
    engine->chain_text = mem_new(length, 1);
    if (!engine->seconds || !engine->moved || !engine->chain_text)
        return error_memory(error, "a chain");
    hone_chain_text(chain, engine->chain_text, length);
    hone_status status = HONE_OK;
    for (size_t i = 0; i < steps && !status; i++)
        status = find_second(engine, i, error);
    return status;
}

/* Whether signed 16 bits can stay what they are; where one filter takes none, f32 is what all of them get. */
static bool takes_s16(const hone_chain *chain)
{
    bool takes = true;
    for (size_t i = 0; i < chain->count && takes; i++)
        takes = chain->steps[i].c.filter->types & TYPE_S16;
    return takes;
}

/* output: the name of the result; NULL for a second image. */
static struct media_read_options read_options(const struct engine *engine, bool keep_s16, const char *output)
{
    return (struct media_read_options){.accept_damaged = engine->options->accept_damaged,
                                       .split = output != NULL,
                                       .trust = engine->options->trust,
                                       .stack = output && media_takes(output, MEDIA_OPTION_PAGES),
                                       .first_page = output ? engine->options->first_page : 0,
                                       .last_page = output ? engine->options->last_page : 0,
                                       .seconds = engine->options->timeout,
                                       .memory = (uint64_t)(engine->options->decode_memory * 1048576),
                                       .max_pixels = output ? giant_max_pixels(engine->options) : 0,
                                       .keep_s16 = keep_s16,
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

/* Whether the filters before make s16 of such an input, so that a second image has to be s16, too. */
static bool meets_s16(const struct engine *engine, size_t step, const hone_image_desc *input)
{
    hone_image_desc seconds[MAX_STEPS] = {{0}};
    struct filter_case *cases = mem_new(step, sizeof *cases);
    hone_chain *before = mem_new(1, sizeof *before);
    hone_type type = step ? HONE_F32 : input->type;
    if (before && cases && step > 0) {
        *before = *engine->chain; /* to be looked at only */
        before->count = step;
        for (size_t i = 0; i < engine->second_count; i++)
            seconds[i] = engine->seconds[i].desc;
        if (chain_cases(cases, before, input, seconds, engine->second_count, NULL) == HONE_OK) {
            type = cases[step - 1].out.type;
            chain_cases_finish(cases, step);
        }
    }
    free(before);
    free(cases);
    return type == HONE_S16;
}

/* A decoder is asked between rows whether its time is over, which fails one image. One that does not come to the end
 * of its row within twice the time cannot be stopped: the process ends. */
static double patience(const struct engine *engine, const hone_image_desc *desc)
{
    return 2 * (engine->options->timeout >= 0 ? engine->options->timeout : media_seconds(desc));
}

/* item: NULL for a second image. */
static hone_status open_input(const struct engine *engine, const struct item *item, struct media_input **out,
                              const char *path, bool keep_s16, bool quietly, hone_error *error)
{
    struct media_read_options options = read_options(engine, keep_s16, item ? item->output : NULL);
    const hone_image_desc unknown = {0};
    if (quietly)
        options.note = NULL;
    struct guard_watch watch;
    guard_watch(&watch, patience(engine, &unknown), "opening '%s'", path);
    hone_status status = item && engine->stream ? media_stream_image(engine->stream, out, &options, error)
                                                : media_open(out, path, &options, error);
    guard_unwatch(&watch);
    return status;
}

hone_status engine_open_input(const struct engine *engine, const struct item *item, struct media_input **out,
                              bool quietly, hone_error *error)
{
    return open_input(engine, item, out, item->input, takes_s16(engine->given), quietly, error);
}

static hone_status load_input(const struct engine *engine, struct media_input *input, const char *path,
                              void *pixels, hone_error *error)
{
    struct guard_watch watch;
    guard_watch(&watch, patience(engine, &media_get_info(input)->desc), "decoding '%s'", path);
    hone_status status = media_load(input, pixels, 0, error);
    guard_unwatch(&watch);
    return status;
}

static hone_status read_second(struct engine *engine, struct second *second, const hone_image_desc *first,
                               hone_error *error)
{
    struct media_input *input = NULL;
    size_t bytes;
    hone_status status =
        open_input(engine, NULL, &input, second->path, meets_s16(engine, second->step, first), false, error);
    if (!status) {
        second->desc = media_get_info(input)->desc;
        second->data = new_pixels(&second->desc, &bytes, error);
        status =
            second->data ? load_input(engine, input, second->path, second->data, error) : HONE_ERROR_MEMORY;
    }
    media_close(&input);
    if (status) {
        free(second->data);
        second->data = NULL;
    }
    return status;
}

/* Once, when the first image needs them. */
static hone_status read_seconds(struct engine *engine, const hone_image_desc *first, hone_error *error)
{
    hone_status status = HONE_OK;
    for (size_t i = 0; i < engine->second_count && !status; i++)
        if (!engine->seconds[i].data)
            status = read_second(engine, &engine->seconds[i], first, error);
    return status;
}

static hone_status wrap_second(const struct engine *engine, struct second *second, hone_error *error)
{
    return second->image
               ? HONE_OK
               : hone_image_wrap(&second->image, engine->device, &second->desc, second->data, error);
}

static hone_status bind_seconds(struct engine *engine, hone_error *error)
{
    hone_status status = HONE_OK;
    for (size_t i = 0; i < engine->second_count && !status; i++) {
        struct second *second = &engine->seconds[i];
        status = wrap_second(engine, second, error);
        if (!status)
            status = hone_plan_bind(engine->plan, engine->moved[second->step], second->image, error);
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
        guard_watch(&watch, engine_bound(engine, input), "opening the device%s%s", spec ? " " : "",
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

static bool tunes(const struct engine *engine, const char *how)
{
    return engine->options->tune && strcmp(engine->options->tune, how) == 0;
}

static hone_plan_options plan_options(const struct engine *engine, const hone_image_desc *seconds)
{
    return (hone_plan_options){.variant = engine->options->variant,
                               .config = engine->options->config,
                               .tune = tunes(engine, "off") ? HONE_TUNE_OFF : HONE_TUNE_AUTO,
                               .no_fuse = engine->options->no_fuse,
                               .second = seconds,
                               .second_count = engine->second_count};
}

static hone_status create_plan(struct engine *engine, const hone_image_desc *desc,
                               const hone_image_desc *seconds, hone_error *error)
{
    const hone_plan_options options = plan_options(engine, seconds);
    struct guard_watch watch;
    guard_watch(&watch, engine_bound(engine, desc), "preparing '%s' on %s", engine->chain_text,
                device_name(engine));
    hone_status status =
        hone_plan_create(&engine->plan, engine->device, engine->chain, desc, &options, error);
    guard_unwatch(&watch);
    return status;
}

/* The user's chain, or one written for the channels of these images. */
static hone_status choose_chain(struct engine *engine, const hone_image_desc *desc,
                                const hone_image_desc *seconds, hone_error *error)
{
    hone_status status = HONE_OK;
    hone_chain_destroy(&engine->own);
    for (size_t i = 0; i < hone_chain_length(engine->given); i++)
        engine->moved[i] = i;
    if (engine->rule != ALPHA_COPY)
        status = alpha_chain(&engine->own, engine->moved, engine->given, engine->rule, desc, seconds,
                             engine->second_count, error);
    engine->chain = engine->own ? engine->own : engine->given;
    return status;
}

static hone_status make_plan(struct engine *engine, const hone_image_desc *desc, hone_error *error)
{
    hone_image_desc *descs = second_descs(engine, error);
    if (!descs)
        return HONE_ERROR_MEMORY;
    hone_status status = choose_chain(engine, desc, descs, error);
    if (!status && tunes(engine, "full"))
        status = apply_tune(engine, desc, descs, error);
    if (!status)
        status = create_plan(engine, desc, descs, error);
    free(descs);
    if (!status)
        status = bind_seconds(engine, error);
    engine->planned = *desc;
    return status;
}

static hone_status ensure_plan(struct engine *engine, const hone_image_desc *desc, enum alpha_rule rule,
                               hone_error *error)
{
    if (engine->plan && desc_same(&engine->planned, desc) && engine->rule == rule)
        return HONE_OK;
    drop_plan(engine);
    engine->rule = rule;
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

/* Only while no image is wrapped around what there is. */
static hone_status reserve_pixels(struct pixels *pixels, const hone_image_desc *desc, hone_error *error)
{
    if (pixels->bytes >= hone_image_bytes(desc))
        return HONE_OK;
    free(pixels->data);
    pixels->data = new_pixels(desc, &pixels->bytes, error);
    return pixels->data ? HONE_OK : HONE_ERROR_MEMORY;
}

static hone_status ensure_pixels(struct engine *engine, struct pixels *pixels, const hone_image_desc *desc,
                                 hone_error *error)
{
    if (pixels->image)
        return HONE_OK;
    hone_status status = reserve_pixels(pixels, desc, error);
    return status ? status : hone_image_wrap(&pixels->image, engine->device, desc, pixels->data, error);
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
    engine_close_streams(engine);
    if (engine->shared)
        pthread_mutex_lock(&engine->shared->lock);
    drop_plan(engine);
    hone_chain_destroy(&engine->own);
    for (size_t i = 0; i < engine->second_count; i++) {
        hone_image_destroy(&engine->seconds[i].image);
        free(engine->seconds[i].data);
    }
    if (engine->shared)
        pthread_mutex_unlock(&engine->shared->lock);
    media_stream_close(&engine->stream);
    free(engine->seconds);
    free(engine->moved);
    free(engine->chain_text);
    free(engine->edges);
    free(engine->steps);
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

static hone_status set_range(struct engine *engine, hone_error *error)
{
    struct guard_watch watch;
    guard_watch(&watch, engine_bound(engine, &engine->planned), "finding the range of '%s' on %s",
                engine->chain_text, device_name(engine));
    hone_status status = bins_range(engine, error);
    guard_unwatch(&watch);
    return status;
}

static hone_status compute(struct engine *engine, struct apply_result *result, hone_error *error)
{
    const uint64_t start = clock_ns();
    hone_event *done = NULL;
    struct guard_watch watch;
    struct copy_tally tally;
    copy_tally_begin(&tally);
    guard_watch(&watch, engine_bound(engine, &engine->planned), "running '%s' on %s", engine->chain_text,
                device_name(engine));
    hone_status status = hone_image_upload(engine->in.image, NULL, 0, NULL, 0, NULL, error);
    if (!status)
        status = hone_plan_run(engine->plan, engine->in.image, engine->out.image, NULL, 0, &done, error);
    if (!status)
        status =
            hone_image_download(engine->out.image, NULL, 0, (const hone_event *const *)&done, 1, NULL, error);
    if (!status)
        status = hone_event_wait(done, error);
    const double wall = (double)(clock_ns() - start) * 1e-9;
    result->wall_seconds += wall;
    result->device_seconds += status ? 0 : event_seconds(done, wall);
    copy_tally_end(&tally);
    result->copies = tally.counts;
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
                                const struct media_info *info, hone_error *error)
{
    const hone_image_desc *desc = hone_plan_output(engine->plan);
    if (apply_to_stdout(engine->options) && !engine->options->format && desc->height > 1)
        return error_set(
            error, HONE_ERROR_USAGE,
            "a result of %ux%u is no table: --format says how it goes to standard output, such as "
            "--format png, or --format csv for its numbers",
            desc->width, desc->height);
    return suggest_format(
        engine, media_check_output(item->output, desc, info, &engine->options->write, error), root, error);
}

/* What plans are made of. */
static hone_status open_all(struct engine *engine, const hone_image_desc *desc, hone_error *error)
{
    hone_status status = read_seconds(engine, desc, error);
    return status ? status : open_device(engine, desc, error);
}

hone_status engine_open(struct engine *engine, const hone_image_desc *input, hone_error *error)
{
    pthread_mutex_lock(&engine->shared->lock);
    hone_status status = open_all(engine, input, error);
    pthread_mutex_unlock(&engine->shared->lock);
    return status;
}

/* A filter that does not take any number of channels works on several together, or makes several. */
static hone_status check_parts(const struct engine *engine, const char *name, const struct media_info *info,
                               hone_error *error)
{
    for (size_t i = 0; i < engine->given->count && info->parts > 1; i++) {
        const struct hone_filter *filter = engine->given->steps[i].c.filter;
        if (filter->channels != CHANNELS_ALL)
            return error_set(error, HONE_ERROR_USAGE,
                             "the %u channels of '%s' are filtered one by one, and %s does not treat each "
                             "channel by itself",
                             info->parts, name, filter->name);
    }
    return HONE_OK;
}

static hone_status prepare(struct engine *engine, const struct item *item, const char *root,
                           const struct media_info *info, enum alpha_rule rule, struct apply_result *result,
                           hone_error *error)
{
    hone_status status = check_parts(engine, item->input, info, error);
    if (!status)
        status = open_all(engine, &info->desc, error);
    if (!status)
        status = ensure_plan(engine, &info->desc, rule, error);
    if (!status)
        status = bins_shape(engine, item->output, error);
    if (!status) {
        result->in = info->desc;
        depths_warn(engine, item->input, info->desc.type);
        result->out = *hone_plan_output(engine->plan);
        status = check_output(engine, item, root, info, error);
    }
    if (!status)
        status = ensure_memory(engine, error);
    return status ? status : take_back_input(engine, error);
}

/* Whoever reads standard output may take all the time there is. */
static hone_status store(const struct engine *engine, const struct item *item, const char *root,
                         const struct media_input *input, hone_error *error)
{
    struct guard_watch watch;
    const double seconds =
        apply_to_stdout(engine->options) ? 0 : engine_bound(engine, hone_plan_output(engine->plan));
    guard_watch(&watch, seconds, "writing '%s'", item->output);
    hone_status status = apply_store(engine, item, root, input, error);
    guard_unwatch(&watch);
    return status;
}

/* Whether the pixels decide what becomes of alpha, and memory for them while there is no plan yet. */
static hone_status look_at_alpha(struct engine *engine, const hone_image_desc *desc, bool *look,
                                 hone_error *error)
{
    hone_image_desc *descs = NULL;
    hone_status status = open_all(engine, desc, error);
    if (!status && !(descs = second_descs(engine, error)))
        status = HONE_ERROR_MEMORY;
    if (!status)
        status = alpha_weighs(look, engine->given, desc, descs, engine->second_count, error);
    free(descs);
    if (status || !*look)
        return status;
    if (engine->in.image && desc_same(&engine->planned, desc))
        return take_back_input(engine, error);
    drop_plan(engine);
    status = check_budget(engine, hone_image_bytes(desc), error);
    return status ? status : reserve_pixels(&engine->in, desc, error);
}

/* An image with alpha is decoded first where that decides on the plan, which comes after it. */
static hone_status find_rule(struct engine *engine, struct media_input *input, const char *name,
                             enum alpha_rule *rule, bool *loaded, hone_error *error)
{
    const struct media_info *info = media_get_info(input);
    const struct apply_options *o = engine->options;
    /* A forced kernel is meant for the chain as it stands. */
    const bool copies = o->variant || o->config || (o->alpha && strcmp(o->alpha, "copy") == 0);
    *rule = info->desc.channels == 4 && info->extra > 0 ? ALPHA_PLAIN : ALPHA_COPY;
    *loaded = false;
    if (info->desc.channels != 4 || info->extra > 0 || copies)
        return HONE_OK;
    pthread_mutex_lock(&engine->shared->lock);
    hone_status status = look_at_alpha(engine, &info->desc, loaded, error);
    pthread_mutex_unlock(&engine->shared->lock);
    if (!status && *loaded)
        status = load_input(engine, input, name, engine->in.data, error);
    if (!status && *loaded && !alpha_is_full(engine->in.data, &info->desc))
        *rule = ALPHA_WEIGH;
    return status;
}

/* Everything else that can be refused is refused before pixels are decoded. */
static hone_status filter_page(struct engine *engine, const struct item *item, const char *root,
                               struct media_input *input, struct apply_result *result, hone_error *error)
{
    const struct media_info *info = media_get_info(input);
    enum alpha_rule rule;
    bool loaded;
    result->format = info->format;
    result->gray_alpha = info->gray_alpha;
    hone_status status = find_rule(engine, input, item->input, &rule, &loaded, error);
    if (status)
        return status;
    pthread_mutex_lock(&engine->shared->lock);
    status = prepare(engine, item, root, info, rule, result, error);
    pthread_mutex_unlock(&engine->shared->lock);
    if (!status && !loaded)
        status = load_input(engine, input, item->input, engine->in.data, error);
    if (!status) {
        pthread_mutex_lock(&engine->shared->lock);
        status = set_range(engine, error);
        if (!status)
            status = compute(engine, result, error);
        pthread_mutex_unlock(&engine->shared->lock);
    }
    return status;
}

static hone_status filter(struct engine *engine, const struct item *item, const char *root,
                          struct media_input *input, struct apply_result *result, hone_error *error)
{
    const struct media_info *info = media_get_info(input);
    const unsigned count = info->page_count * info->parts;
    hone_status status = HONE_OK;
    if (info->page_count > 1 && !media_takes(item->output, MEDIA_OPTION_PAGES))
        return error_set(
            error, HONE_ERROR_USAGE,
            "'%s' holds one image: --pages takes one page for it; .tif, .webp and .gif hold several",
            item->output);
    result->pages = info->page_count;
    result->parts = info->parts;
    for (unsigned i = 0; i < count && !status; i++) {
        status = filter_page(engine, item, root, input, result, error);
        if (!status && count > 1)
            status = apply_keep_page(engine, i, info, error);
    }
    if (!status)
        status = store(engine, item, root, input, error);
    apply_forget_pages(engine);
    return status;
}

/* ---- Planes of videos ---- */

static hone_status check_stream(const struct engine *engine, const hone_stream *stream,
                                const hone_image_desc *planes, unsigned count, hone_error *error)
{
    for (unsigned i = 0; i < count; i++) {
        const hone_image_desc *out = hone_stream_output(stream, i), *desc = &planes[i];
        if (!desc_same(out, desc))
            return error_set(
                error, HONE_ERROR_USAGE,
                "'%s' makes %ux%u %s with %u channels of a plane of %ux%u %s; in a video, size and "
                "type have to stay",
                engine->chain_text, out->width, out->height, hone_type_name(out->type), out->channels,
                desc->width, desc->height, hone_type_name(desc->type));
    }
    return HONE_OK;
}

static hone_status open_stream(struct engine *engine, const hone_image_desc *planes, unsigned count,
                               const hone_stream_options *options, const hone_image_desc *seconds,
                               hone_error *error)
{
    const hone_plan_options plan = plan_options(engine, seconds);
    hone_stream_options own = *options;
    hone_stream **stream = &engine->streams[engine->stream_count];
    struct guard_watch watch;
    own.plan = &plan;
    guard_watch(&watch, engine_bound(engine, planes), "preparing '%s' on %s", engine->chain_text,
                device_name(engine));
    hone_status status =
        hone_stream_create(stream, engine->device, engine->chain, planes, count, &own, error);
    guard_unwatch(&watch);
    if (status)
        return status;
    engine->stream_count++;
    status = check_stream(engine, *stream, planes, count, error);
    for (size_t i = 0; i < engine->second_count && !status; i++) {
        struct second *second = &engine->seconds[i];
        status = wrap_second(engine, second, error);
        if (!status)
            status = hone_stream_bind(*stream, engine->moved[second->step], second->image, error);
    }
    return status;
}

static hone_status tune_planes(const struct engine *engine, const hone_image_desc *planes, unsigned count,
                               const hone_image_desc *seconds, hone_error *error)
{
    hone_status status = HONE_OK;
    for (unsigned i = 0; i < count && !status; i++)
        if (i == 0 || !desc_same(&planes[i], &planes[i - 1]))
            status = apply_tune(engine, &planes[i], seconds, error);
    return status;
}

/* Under the lock. A stream with second images takes one plane. */
static hone_status open_streams(struct engine *engine, const hone_image_desc *planes, unsigned count,
                                const hone_stream_options *options, hone_error *error)
{
    const unsigned each = engine->second_count ? 1 : count;
    hone_status status = open_all(engine, &planes[0], error);
    hone_image_desc *seconds = status ? NULL : second_descs(engine, error);
    if (!seconds)
        return status ? status : HONE_ERROR_MEMORY;
    drop_plan(engine);
    engine->rule = ALPHA_COPY;
    engine->planned = planes[0];
    status = choose_chain(engine, &planes[0], seconds, error);
    if (!status && tunes(engine, "full"))
        status = tune_planes(engine, planes, count, seconds, error);
    for (unsigned i = 0; i < count && !status; i += each)
        status = open_stream(engine, &planes[i], each, options, seconds, error);
    free(seconds);
    return status;
}

hone_status engine_open_streams(struct engine *engine, const hone_image_desc *planes, unsigned count,
                                const hone_stream_options *options, hone_error *error)
{
    engine_close_streams(engine);
    pthread_mutex_lock(&engine->shared->lock);
    hone_status status = open_streams(engine, planes, count, options, error);
    pthread_mutex_unlock(&engine->shared->lock);
    return status;
}

void engine_watch_frame(const struct engine *engine, struct guard_watch *watch)
{
    guard_watch(watch, engine_bound(engine, &engine->planned), "running '%s' on %s", engine->chain_text,
                device_name(engine));
}

void engine_close_streams(struct engine *engine)
{
    struct guard_watch watch;
    if (!engine->stream_count)
        return;
    engine_watch_frame(engine, &watch);
    while (engine->stream_count)
        hone_stream_destroy(&engine->streams[--engine->stream_count]);
    guard_unwatch(&watch);
}

bool engine_step(const struct engine *engine, size_t step, hone_step_info *info)
{
    if (engine->steps) {
        if (step < engine->step_count)
            *info = engine->steps[step];
        return step < engine->step_count;
    }
    return engine->stream_count ? hone_stream_step(engine->streams[0], 0, step, info)
                                : hone_plan_step(engine->plan, step, info);
}

/* ---- Pictures ---- */

static void forget_steps(struct engine *engine)
{
    free(engine->steps);
    engine->steps = NULL;
    engine->step_count = 0;
}

void engine_apply(struct engine *engine, const struct item *item, const char *root,
                  struct apply_result *result)
{
    struct media_input *input = NULL;
    hone_error *error = &result->error;
    *result = (struct apply_result){.item = item};
    engine_close_streams(engine);
    forget_steps(engine);
    hone_status status = engine_open_input(engine, item, &input, false, error);
    if (!status)
        status = suggest_format(engine, media_check_name(item->output, error), root, error);
    if (!status && !apply_to_stdout(engine->options))
        status = items_check_folder(item->output, root != NULL, engine->options->force, error);
    if (!status && !giant_apply(engine, item, root, input, result, &status, error))
        status = filter(engine, item, root, input, result, error);
    result->late = media_is_late(input);
    media_close(&input);
    result->exit_status = cli_exit_status(status);
}
