/* SPDX-License-Identifier: BSD-2-Clause */
/* hone apply: images that are too large for memory, or for one buffer of the device. They are read, filtered
 * and written in bands of rows; nothing holds a whole one. */
#include "cli/giant/internal.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/mem.h"
#include "cl/device.h"
#include "cli/guard.h"
#include "lab/profile/timeline.h"

#include <stdlib.h>
#include <string.h>

static const uint64_t default_memory = UINT64_C(1) << 30;
/* So little that nothing is asked. */
static const uint64_t small_image = UINT64_C(64) << 20;

uint64_t giant_memory(const struct apply_options *options)
{
    return options->memory ? options->memory : default_memory;
}

/* For bands: drivers, decoders and encoders take some, too. */
static uint64_t band_memory(uint64_t all)
{
    const uint64_t others = UINT64_C(64) << 20;
    return all - (all / 4 < others ? all / 4 : others);
}

uint64_t giant_max_pixels(const struct apply_options *options)
{
    const double otherwise = 0x1p37;
    return (uint64_t)(options->max_pixels > 0 ? options->max_pixels : otherwise);
}

const hone_image_desc *giant_input(const struct giant *g)
{
    return &media_get_info(g->image)->desc;
}

/* So much of an image that every call takes its description. */
hone_image_desc giant_excerpt(const hone_image_desc *desc)
{
    hone_image_desc part = *desc;
    const uint32_t most = HONE_MAX_PIXELS / 4 / part.width;
    part.height = part.height < most ? part.height : most;
    return part;
}

/* ---- Which images ---- */

/* What no plan for the whole image could do on the device. */
static bool is_too_large(const struct engine *engine, const hone_image_desc *desc)
{
    const hone_device_info *info = hone_device_get_info(engine->device);
    const uint64_t pixels = (uint64_t)desc->width * desc->height, bytes = hone_image_bytes(desc);
    uint64_t held = 0, budget = 0;
    hone_device_memory(engine->device, &held, &budget);
    return pixels > HONE_MAX_PIXELS || pixels * desc->channels > INT32_MAX || bytes > info->max_allocation ||
           3 * bytes > budget;
}

static hone_status check_possible(const struct engine *engine, const struct media_input *input,
                                  hone_error *error)
{
    const struct media_info *info = media_get_info(input);
    if (info->page_count > 1 || info->parts > 1)
        return error_unsupported(
            error, "images of this size are filtered in bands of rows, and that is not done with %s",
            info->parts > 1 ? "more than four channels" : "several pages: --pages takes one");
    if (!media_loads_rows(input))
        return error_unsupported(
            error,
            "EXIF turns this image, and an image of this size can only be read row by row: turn its pixels "
            "first ('vips autorot')");
    return tiles_check(engine->given, &info->desc, error);
}

/* ---- What the device was given ---- */

static void note_command(void *user, const struct tiles_command *command)
{
    struct giant *g = user;
    pthread_mutex_lock(&g->telling);
    struct copy_situation situation =
        apply_situation(g->result, command->device, &command->in, &command->out);
    situation.in_parts = true;
    traffic_add(&g->result->traffic, &situation, &command->c, 1);
    if (g->engine->shared->timeline) {
        const bool kept = mem_grow(&g->commands, &g->command_room, g->command_count + 1, sizeof *g->commands);
        if (kept)
            g->commands[g->command_count++] = (struct given){command->device, command->c};
        g->lost = g->lost || !kept;
    }
    pthread_mutex_unlock(&g->telling);
}

/* Once nothing runs any more. */
static hone_status add_to_trace(const struct giant *g, hone_error *error)
{
    const struct shared_device *shared = g->engine->shared;
    if (!shared->timeline)
        return HONE_OK;
    hone_command *own = mem_new(g->command_count, sizeof *own);
    if (g->lost || !own)
        return free(own), error_set(error, HONE_ERROR_MEMORY,
                                    "'%s' is written, but out of memory for the trace", g->item->output);
    for (size_t i = 0; i < shared->count; i++) {
        size_t count = 0;
        for (size_t k = 0; k < g->command_count; k++)
            if (g->commands[k].device == shared->devices[i])
                own[count++] = g->commands[k].command;
        if (count)
            timeline_add(shared->timeline, shared->devices[i], g->item->input, g->start, clock_ns(), own,
                         count);
    }
    free(own);
    return HONE_OK;
}

/* ---- All of it ---- */

static hone_status try_tiles(struct giant *g, const hone_chain *chain, uint64_t memory, hone_error *error)
{
    const struct apply_options *o = g->engine->options;
    const hone_plan_options plan = {.variant = o->variant,
                                    .config = o->config,
                                    .tune = o->tune && strcmp(o->tune, "off") == 0 ? HONE_TUNE_OFF
                                                                                   : HONE_TUNE_AUTO,
                                    .no_fuse = o->no_fuse};
    struct tiles_image *seconds = mem_new(g->second_count + 1, sizeof *seconds);
    struct guard_watch watch;
    const hone_image_desc part = giant_excerpt(giant_input(g));
    if (!seconds)
        return error_memory(error, "second images");
    for (size_t i = 0; i < g->second_count; i++)
        seconds[i] =
            (struct tiles_image){media_get_info(g->seconds[i].input)->desc, giant_read_rows, &g->seconds[i]};
    const struct tiles_request request = {.device = g->engine->device,
                                          .pool = g->engine->shared->pool,
                                          .chain = chain,
                                          .input = {*giant_input(g), giant_read_rows, &g->first},
                                          .seconds = seconds,
                                          .second_count = g->second_count,
                                          .memory = band_memory(memory),
                                          .target = apply_to_stdout(o) ? NULL : g->item->output,
                                          .tell = apply_tells_commands(o) ? note_command : NULL,
                                          .tell_user = g,
                                          .plan = &plan};
    g->pass_start = clock_ns();
    /* One device after the other may be given up meanwhile. */
    guard_watch(&watch, engine_bound(g->engine, &part) * (double)g->engine->shared->count, "preparing '%s'",
                g->engine->chain_text);
    hone_status status = tiles_create(&g->tiles, &request, error);
    guard_unwatch(&watch);
    free(seconds);
    return status;
}

/* Whether so much does, as a whole or in bands. */
static bool does(struct giant *g, const hone_chain *chain, uint64_t memory)
{
    const hone_image_desc *desc = giant_input(g);
    hone_error why;
    if (!is_too_large(g->engine, desc) && 3 * hone_image_bytes(desc) <= memory)
        return true;
    const hone_status status = try_tiles(g, chain, memory, &why);
    tiles_destroy(&g->tiles);
    return status != HONE_ERROR_MEMORY;
}

/* The least --memory that does for a chain and for all of g->chain, of which it may be a part, in MiB: found
 * by trying, because only plans and drivers know what they take. 0: more than the device has. */
static uint64_t least_memory(struct giant *g, const hone_chain *chain)
{
    enum { SHIFT = 20 };
    uint64_t held = 0, budget = 0, less = giant_memory(g->engine->options) >> SHIFT, enough = less;
    bool found = false;
    hone_device_memory(g->engine->device, &held, &budget);
    while (!found && band_memory(enough << SHIFT) <= budget) {
        less = enough;
        enough += enough / 2 + 1;
        found = does(g, chain, enough << SHIFT) && (chain == g->chain || does(g, g->chain, enough << SHIFT));
    }
    while (found && enough - less > 1) {
        const uint64_t middle = less + (enough - less) / 2;
        if (does(g, chain, middle << SHIFT) && (chain == g->chain || does(g, g->chain, middle << SHIFT)))
            enough = middle;
        else
            less = middle;
    }
    return found ? enough : 0;
}

/* Tiles may be so small that a run takes many times as long. */
static void warn_of_work(struct giant *g)
{
    const double work = tiles_work(g->tiles), much = 4;
    if (work > much && !g->warned)
        cli_warn(
            &g->engine->options->common,
            "'%s': in so little memory each pixel is filtered %.0f times; a larger --memory takes less time",
            g->item->input, work);
    g->warned = g->warned || work > much;
}

hone_status giant_make_tiles(struct giant *g, const hone_chain *chain, hone_error *error)
{
    const hone_status status = try_tiles(g, chain, giant_memory(g->engine->options), error);
    if (!status)
        warn_of_work(g);
    if (status != HONE_ERROR_MEMORY || !error || error->cl_code)
        return status; /* of a driver that has none, --memory is no remedy */
    const hone_error plain = *error;
    const uint64_t least = least_memory(g, chain);
    return least ? error_set(error, status, "%s: --memory has to be at least %lluM", plain.message,
                             (unsigned long long)least)
                 : error_set(error, status, "%s", plain.message);
}

static hone_status begin(struct giant *g, hone_error *error)
{
    hone_status status = giant_open_seconds(g, error);
    THEN(status, giant_choose_chain(g, error));
    return status ? status : giant_make_tiles(g, g->chain, error);
}

static hone_status check_output(const struct giant *g, bool several, hone_error *error)
{
    const hone_image_desc *desc = tiles_output(g->tiles);
    const struct apply_options *o = g->engine->options;
    if (apply_to_stdout(o) && !o->format && desc->height > 1)
        return error_usage(
            error,
            "a result of %ux%u is no table: --format says how it goes to standard output, such as "
            "--format png",
            desc->width, desc->height);
    hone_status status =
        media_check_output(g->item->output, desc, media_get_info(g->image), &o->write, error);
    const hone_error plain = error ? *error : (hone_error){0};
    if (status && (several || apply_to_stdout(o)))
        error_set(error, status, "%s (--format gives the outputs another suffix)", plain.message);
    return status;
}

static bool next_of_tiles(const void *tiles, size_t step, hone_step_info *info)
{
    return tiles_step(tiles, step, info);
}

/* For the report, which comes when the tiles are gone. */
static hone_status copy_steps(const struct giant *g, struct apply_result *result, hone_error *error)
{
    result->device = g->engine->device;
    result->alpha_weighed = g->rule == ALPHA_WEIGH;
    free(result->steps); /* of a page before */
    result->steps = pool_copy_steps(&result->step_count, next_of_tiles, g->tiles);
    return result->steps ? HONE_OK : error_memory(error, "a report");
}

static hone_status store(struct giant *g, const char *root, hone_error *error)
{
    if (g->pages)
        return giant_store_page(g, error);
    return apply_to_stdout(g->engine->options) ? giant_store_stdout(g, error)
                                               : giant_store_file(g, root, error);
}

/* Beside what pages before took. */
static void add_to_result(struct giant *g, struct apply_result *result)
{
    struct tiles_state state;
    tiles_get_state(g->tiles, &state);
    result->bands += (unsigned)state.bands;
    for (size_t i = 0; i < POOL_DEVICES; i++)
        result->by_device[i] += state.done_by[i];
    copy_counts_add(&result->copies, &state.copies);
    copy_counts_add(&result->copies, &g->earlier_copies);
    result->staged.count += state.staged.count + g->earlier_staged.count;
    result->staged.bytes += state.staged.bytes + g->earlier_staged.bytes;
    result->wall_seconds += (double)(clock_ns() - g->start) * 1e-9;
}

static hone_status run(struct giant *g, const char *root, struct apply_result *result, hone_error *error)
{
    const struct media_info *info = media_get_info(g->image);
    result->in = info->desc;
    result->format = info->format;
    result->gray_alpha = info->gray_alpha;
    result->pages = result->parts = 1;
    TRY(begin(g, error));
    depths_warn(g->engine, info->desc.type);
    result->out = *tiles_output(g->tiles);
    hone_status status = check_output(g, root != NULL, error);
    THEN(status, copy_steps(g, result, error));
    THEN(status, store(g, root, error));
    add_to_result(g, result);
    giant_show_progress(g, true);
    return status;
}

/* One at a time: each takes all the memory that there may be. */
static hone_status apply_in_bands(struct engine *engine, const struct item *item, const char *root,
                                  struct media_input *input, struct media_pages *pages,
                                  struct apply_result *result, hone_error *error)
{
    static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&turn);
    struct giant g = {.engine = engine,
                      .item = item,
                      .image = input,
                      .pages = pages,
                      .first = {.input = input},
                      .kept = KEPT_NONE,
                      .start = clock_ns(),
                      .result = result,
                      .telling = PTHREAD_MUTEX_INITIALIZER};
    g.first.g = &g;
    hone_status status = run(&g, root, result, error);
    tiles_destroy(&g.tiles); /* with its threads, which read */
    result->settled = g.first.own && media_is_settled(g.first.own);
    THEN(status, add_to_trace(&g, error));
    free(g.commands);
    hone_chain_destroy(&g.chain);
    media_close(&g.first.own);
    for (size_t i = 0; i < g.second_count; i++)
        media_close(&g.seconds[i].own);
    free(g.seconds);
    free(g.second_parts);
    free(g.edges);
    pthread_mutex_unlock(&turn);
    return status;
}

/* Where --memory was asked for, nobody expects more. */
static void warn_of_whole(const struct engine *engine, const struct item *item, uint64_t bytes,
                          const hone_error *why)
{
    if (engine->options->memory)
        cli_warn(&engine->options->common, "'%s': takes about %llu MiB, more than --memory: %s", item->input,
                 (unsigned long long)(bytes >> 20), why->message);
}

bool giant_apply(struct engine *engine, const struct item *item, const char *root, struct media_input *input,
                 struct media_pages *pages, struct apply_result *result, hone_status *status,
                 hone_error *error)
{
    const hone_image_desc *desc = &media_get_info(input)->desc;
    const uint64_t most = giant_memory(engine->options);
    const uint64_t bytes = hone_image_bytes(desc),
                   wanted = 3 * bytes; /* input, result, and something between */
    const hone_image_desc part = giant_excerpt(desc);
    hone_error why;
    if (wanted <= most && bytes <= small_image)
        return false;
    const hone_status possible = check_possible(engine, input, &why);
    *status = engine_open_devices(engine, &part, error);
    if (*status)
        return true;
    const bool must = is_too_large(engine, desc);
    if (!must && (possible || wanted <= most)) {
        if (wanted > most)
            warn_of_whole(engine, item, wanted, &why);
        return false;
    }
    if (possible) {
        if (error)
            *error = why;
        *status = possible;
        return true;
    }
    *status = apply_in_bands(engine, item, root, input, pages, result, error);
    return true;
}
