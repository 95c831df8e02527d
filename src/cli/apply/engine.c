/* SPDX-License-Identifier: BSD-2-Clause */
/* hone apply: what is needed before an image can be filtered: its chain, second images, devices. */
#include "cli/apply/apply.h"

#include "base/error.h"
#include "base/mem.h"
#include "filter/chain.h"
#include "image/view.h"

#include <stdlib.h>
#include <string.h>

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
        return error_usage(error, "%s needs a second image: %s %s=FILE", filter, filter, name);
    engine->seconds[engine->second_count++] = (struct second){.step = step, .path = path};
    return HONE_OK;
}

double engine_bound(const struct engine *engine, const hone_image_desc *desc)
{
    return share_bound(engine->shared, (double)desc->width * desc->height);
}

hone_status engine_begin(struct engine *engine, const struct apply_options *options, const hone_chain *chain,
                         struct shared_device *shared, hone_error *error)
{
    const size_t steps = hone_chain_length(chain), length = hone_chain_text(chain, NULL, 0) + 1;
    *engine = (struct engine){.options = options, .chain = chain, .given = chain, .shared = shared};
    engine->seconds = mem_new(steps, sizeof *engine->seconds);
    engine->bound = mem_new(steps, sizeof *engine->bound);
    engine->moved = mem_new(steps, sizeof *engine->moved);
    engine->chain_text = mem_new(length, 1);
    if (!engine->seconds || !engine->bound || !engine->moved || !engine->chain_text)
        return error_memory(error, "a chain");
    hone_chain_text(chain, engine->chain_text, length);
    for (size_t i = 0; i < steps; i++)
        TRY(find_second(engine, i, error));
    return HONE_OK;
}

/* What is opened. */
struct source {
    const struct item *item; /* NULL: a second image */
    const char *path;
    bool keep_s16;
    enum notes notes;
    uint64_t max_pixels;
    bool apart;    /* more than four channels come one by one */
    bool paged;    /* all pages, where they are of one size and kind */
    unsigned page; /* of a second image, this one alone, counted from 1; 0: as `paged` says */
};

static struct media_read_options read_options(const struct engine *engine, const struct source *source)
{
    const char *output = source->item ? source->item->output : NULL;
    const unsigned page = source->item ? engine->page : source->page;
    return (struct media_read_options){.accept_damaged = engine->options->accept_damaged,
                                       .split = output != NULL || source->apart,
                                       .trust = engine->options->trust,
                                       .stack = source->paged ||
                                                (output && media_takes(output, MEDIA_OPTION_PAGES)),
                                       .first_page = page     ? page
                                                     : output ? engine->options->first_page
                                                              : 0,
                                       .last_page = page     ? page
                                                    : output ? engine->options->last_page
                                                             : 0,
                                       .apart = output && media_takes(output, MEDIA_OPTION_APART),
                                       .together = giant_memory(engine->options),
                                       .goes_on = page > 0,
                                       .seconds = engine->options->timeout,
                                       .memory = (uint64_t)(engine->options->decode_memory * 1048576),
                                       .max_pixels = source->max_pixels,
                                       .keep_s16 = source->keep_s16,
                                       .reopened = source->notes != NOTES_ALL,
                                       .note = source->notes == NOTES_NONE ? NULL : cli_media_note,
                                       .user = (void *)&engine->options->common};
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

double engine_decoder_seconds(const struct engine *engine, const hone_image_desc *desc)
{
    const double given = engine->options->timeout, least = 4;
    return given == 0 ? 0 : least + 2 * (given > 0 ? given : media_seconds(desc));
}

void engine_watch_decoder(const struct engine *engine, struct guard_watch *watch, const hone_image_desc *desc,
                          const char *what, const char *path)
{
    const struct guard_late late = {.ask = media_give_up, .key = (uint64_t)pthread_self()};
    guard_watch_or(watch, engine_decoder_seconds(engine, desc), &late, "%s '%s'", what, path);
}

static hone_status open_source(const struct engine *engine, const struct source *source,
                               struct media_input **out, hone_error *error)
{
    const struct media_read_options options = read_options(engine, source);
    const hone_image_desc unknown = {0};
    struct guard_watch watch;
    engine_watch_decoder(engine, &watch, &unknown, "opening", source->path);
    hone_status status = source->item && engine->stream
                             ? media_stream_image(engine->stream, out, &options, error)
                             : media_open(out, source->path, &options, error);
    guard_unwatch(&watch);
    return status;
}

/* Whether signed 16 bits stay what they are; where one filter takes none, f32 is what all of them get, unless
 * that would mean something else to one. */
static bool keeps_s16(const hone_chain *chain)
{
    bool takes = true, scales = false;
    for (size_t i = 0; i < chain->count; i++) {
        takes = takes && chain->steps[i].c.filter->types & TYPE_S16;
        scales = scales || chain->steps[i].c.filter->scales;
    }
    return takes || scales;
}

hone_status engine_open_input(const struct engine *engine, const struct item *item, struct media_input **out,
                              enum notes notes, hone_error *error)
{
    const struct source source = {.item = item,
                                  .path = item->input,
                                  .keep_s16 = keeps_s16(engine->given),
                                  .notes = notes,
                                  .max_pixels = giant_max_pixels(engine->options)};
    return open_source(engine, &source, out, error);
}

hone_status engine_next_page(struct engine *engine, struct media_input *input, const char *path,
                             hone_error *error)
{
    const hone_image_desc unknown = {0};
    struct guard_watch watch;
    engine->page = media_get_info(input)->first_page + 1;
    engine_watch_decoder(engine, &watch, &unknown, "opening", path);
    hone_status status = media_next_page(input, error);
    guard_unwatch(&watch);
    return status;
}

hone_status engine_load(const struct engine *engine, struct media_input *input, const char *path,
                        void *pixels, hone_error *error)
{
    struct guard_watch watch;
    engine_watch_decoder(engine, &watch, &media_get_info(input)->desc, "decoding", path);
    hone_status status = media_load(input, pixels, 0, error);
    guard_unwatch(&watch);
    return status;
}

/* From one page, or one of its channels, to the next. */
static size_t plane_bytes(const hone_image_desc *desc)
{
    return (hone_image_bytes(desc) + POOL_ALIGN - 1) / POOL_ALIGN * POOL_ALIGN;
}

static void *new_pixels(const hone_image_desc *desc, size_t count, hone_error *error)
{
    const size_t bytes = plane_bytes(desc);
    void *data = bytes <= SIZE_MAX / count ? aligned_alloc(POOL_ALIGN, bytes * count) : NULL;
    if (!data)
        error_set(error, HONE_ERROR_MEMORY,
                  "a second image of %ux%u needs %.1f MB of memory, which there is not", desc->width,
                  desc->height, (double)bytes * (double)count * 1e-6);
    return data;
}

/* The pixels that an input delivers. */
static hone_status load_planes(const struct engine *engine, struct media_input *input, const char *path,
                               void **pixels, hone_error *error)
{
    const struct media_info *info = media_get_info(input);
    const size_t count = (size_t)info->page_count * info->parts;
    char *data = new_pixels(&info->desc, count, error);
    hone_status status = data ? HONE_OK : HONE_ERROR_MEMORY;
    for (size_t i = 0; i < count && !status; i++)
        status = engine_load(engine, input, path, data + plane_bytes(&info->desc) * i, error);
    if (status) {
        free(data);
        data = NULL;
    }
    *pixels = data;
    return status;
}

/* The first page of a second image, or all of them; what is told of the file is told once. */
static hone_status read_second(const struct engine *engine, struct second *second,
                               const hone_image_desc *first, bool all, hone_error *error)
{
    const uint64_t most = giant_max_pixels(engine->options);
    const struct source source = {.path = second->path,
                                  .keep_s16 = meets_s16(engine, second->step, first),
                                  .max_pixels = most < HONE_MAX_PIXELS ? most : HONE_MAX_PIXELS,
                                  .notes = second->first ? NOTES_NONE : NOTES_ALL,
                                  .apart = true,
                                  .paged = all};
    struct media_input *input = NULL;
    TRY(open_source(engine, &source, &input, error));
    const struct media_info *info = media_get_info(input);
    hone_status status = HONE_OK;
    if (all && info->page_count != info->pages)
        status = error_set(error, HONE_ERROR_IO,
                           "'%s': its pages differ in size or kind; those of a second image must not",
                           second->path);
    second->desc = info->desc;
    second->pages = info->pages;
    second->parts = info->parts;
    THEN(status, load_planes(engine, input, second->path,
                             info->page_count > 1 ? &second->all : &second->first, error));
    media_close(&input);
    return status;
}

/* Channels that come one by one meet those of a second image, or its only one. */
static hone_status check_channels(const struct place *place, const struct second *second, hone_error *error)
{
    const unsigned own = place->parts > 1 ? place->parts : 0,
                   others = second->parts > 1 ? second->parts : second->desc.channels;
    if ((second->parts == 1 && !own) || others == own || (own && others == 1))
        return HONE_OK;
    if (own)
        return error_usage(
            error,
            "the second image '%s' has %u channels, and '%s' has %u, which are filtered one by "
            "one: it needs as many, or one",
            second->path, others, place->path, own);
    return error_usage(error,
                       "the second image '%s' has %u channels; more than four meet images of as many alone",
                       second->path, others);
}

/* The page of a second image that the image at hand meets. */
static hone_status find_page(const struct place *place, const struct second *second, unsigned *page,
                             hone_error *error)
{
    const bool both = place->pages > 1 && second->pages > 1;
    *page = both && place->pages == second->pages ? place->page : 0;
    if (!both || place->pages == second->pages || !place->several)
        return HONE_OK;
    return error_usage(error,
                       "the second image '%s' has %u pages, and '%s' has %u: it needs as many, or one, which "
                       "all of them meet",
                       second->path, second->pages, place->path, place->pages);
}

hone_status engine_open_second(const struct engine *engine, size_t index, const hone_image_desc *first,
                               uint64_t max_pixels, enum notes notes, struct media_input **out,
                               hone_error *error)
{
    struct second second = engine->seconds[index];
    struct source source = {.path = second.path,
                            .keep_s16 = meets_s16(engine, second.step, first),
                            .max_pixels = max_pixels,
                            .notes = notes,
                            .paged = engine->place.several || engine->place.page > 0};
    TRY(open_source(engine, &source, out, error));
    if (media_get_info(*out)->page_count == 1)
        return HONE_OK;
    second.pages = media_get_info(*out)->pages;
    media_close(out);
    TRY(find_page(&engine->place, &second, &source.page, error));
    source.page++;
    source.notes = notes == NOTES_ALL ? NOTES_OF_ROWS : notes;
    return open_source(engine, &source, out, error);
}

/* What the image at hand meets of a second image. */
static hone_status meet_second(const struct engine *engine, struct second *second,
                               const hone_image_desc *first, void **data, hone_error *error)
{
    const struct place *place = &engine->place;
    unsigned page;
    TRY(check_channels(place, second, error));
    TRY(find_page(place, second, &page, error));
    if (page > 0 && !second->all)
        TRY(read_second(engine, second, first, true, error));
    const unsigned plane = page * second->parts + (second->parts > 1 ? place->part : 0);
    *data = (char *)(second->all ? second->all : second->first) + plane_bytes(&second->desc) * plane;
    return HONE_OK;
}

/* When an image first needs them. Under the lock. */
static hone_status read_seconds(struct engine *engine, const hone_image_desc *first, hone_error *error)
{
    struct shared_device *shared = engine->shared;
    hone_status status = HONE_OK;
    if (!shared->seconds) {
        shared->seconds = mem_new(engine->second_count, sizeof *shared->seconds);
        if (!shared->seconds)
            return error_memory(error, "second images");
    }
    for (size_t i = 0; i < engine->second_count && !status; i++) {
        struct second *second = &shared->seconds[i];
        if (i == shared->second_count) {
            *second = engine->seconds[i];
            status =
                read_second(engine, second, first, engine->place.several || engine->place.page > 0, error);
            shared->second_count += !status;
        }
        THEN(status, meet_second(engine, second, first, &second->data, error));
        if (!status)
            engine->seconds[i] = *second;
    }
    return status;
}

hone_image_desc *engine_seconds(const struct engine *engine, hone_error *error)
{
    hone_image_desc *descs = mem_new(engine->second_count, sizeof *descs);
    if (!descs)
        error_memory(error, "a plan");
    for (size_t i = 0; descs && i < engine->second_count; i++)
        descs[i] = engine->seconds[i].desc;
    return descs;
}

/* Under the lock. */
static hone_status open_devices(struct engine *engine, const hone_image_desc *input,
                                const hone_image_desc *seconds, hone_error *error)
{
    hone_status status = share_open(engine->shared, engine, input, seconds, error);
    if (!status)
        engine->device = engine->shared->devices[0];
    return status;
}

hone_status engine_open(struct engine *engine, const hone_image_desc *input, hone_error *error)
{
    hone_image_desc *descs = NULL;
    pthread_mutex_lock(&engine->shared->lock);
    hone_status status = read_seconds(engine, input, error);
    if (!status && !(descs = engine_seconds(engine, error)))
        status = HONE_ERROR_MEMORY;
    THEN(status, open_devices(engine, input, descs, error));
    pthread_mutex_unlock(&engine->shared->lock);
    free(descs);
    return status;
}

hone_status engine_open_devices(struct engine *engine, const hone_image_desc *input, hone_error *error)
{
    hone_image_desc *descs = engine_seconds(engine, error);
    if (!descs)
        return HONE_ERROR_MEMORY;
    for (size_t i = 0; i < engine->second_count; i++)
        descs[i] = *input;
    pthread_mutex_lock(&engine->shared->lock);
    hone_status status = open_devices(engine, input, descs, error);
    pthread_mutex_unlock(&engine->shared->lock);
    free(descs);
    return status;
}

/* Where outputs have no names of their own, the way out is another suffix for all. */
hone_status engine_suggest(const struct engine *engine, hone_status status, const char *root,
                           hone_error *error)
{
    const hone_error plain = *error;
    if (status && (root || apply_to_stdout(engine->options)))
        error_set(error, status, "%s (--format gives the outputs another suffix)", plain.message);
    return status;
}

void engine_end(struct engine *engine)
{
    hone_chain_destroy(&engine->own);
    media_stream_close(&engine->stream);
    free(engine->seconds);
    free(engine->bound);
    free(engine->moved);
    free(engine->chain_text);
    free(engine->edges);
    free(engine->range);
    *engine = (struct engine){0};
}
