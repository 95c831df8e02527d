/* SPDX-License-Identifier: BSD-2-Clause */
/* hone apply: images that are too large for memory, or for one buffer of the device. They are read, filtered
 * and written in bands of rows; nothing holds a whole one. */
#include "cli/apply/apply.h"
#include "cli/giant/kept.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"
#include "cl/device.h"
#include "cli/guard.h"
#include "filter/case.h"
#include "filter/chain.h"
#include "image/view.h"
#include "lab/profile/timeline.h"
#include "stream/tiles.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const uint64_t giant_default_memory = UINT64_C(1) << 30;
/* So little that nothing is asked. */
static const uint64_t small_image = UINT64_C(64) << 20;

/* For bands: drivers, decoders and encoders take some, too. */
static uint64_t band_memory(const struct apply_options *options)
{
    const uint64_t all = options->memory ? options->memory : giant_default_memory, others = UINT64_C(64)
                                                                                            << 20;
    return all - (all / 4 < others ? all / 4 : others);
}

uint64_t giant_max_pixels(const struct apply_options *options)
{
    const double otherwise = 0x1p37;
    return (uint64_t)(options->max_pixels > 0 ? options->max_pixels : otherwise);
}

/* ---- Which images ---- */

/* So much of an image that every call takes its description. */
static hone_image_desc excerpt(const hone_image_desc *desc)
{
    hone_image_desc part = *desc;
    const uint32_t most = HONE_MAX_PIXELS / 4 / part.width;
    part.height = part.height < most ? part.height : most;
    return part;
}

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

/* ---- An image on its way ---- */

struct giant;

/* An image that is read row by row. */
struct reader {
    struct giant *g;
    size_t second;             /* which of the second images; none for the first image */
    struct media_input *input; /* the first one, or one of ours */
    struct media_input *own;   /* opened again, because rows are needed again */
    uint32_t position;         /* the next row of the input */
};

struct giant {
    struct engine *engine;
    const struct item *item;
    struct reader first, *seconds;
    size_t second_count;
    hone_image_desc *second_parts; /* excerpts */
    hone_chain *chain;             /* written for this image; NULL: the user's */
    enum alpha_rule rule;
    struct tiles *tiles;
    struct tiles_rows rows;
    uint32_t taken; /* of `rows` */
    struct kept kept;
    uint64_t begun; /* bands that need not be done */
    double *edges;
    size_t edge_count;
    uint64_t start, shown, pass_start; /* clock_ns */
    hone_copy_counts earlier_copies;   /* of the pass that found a range */
    hone_copies earlier_staged;
    struct apply_result *result;
    pthread_mutex_t telling; /* over its traffic, and what follows */
    hone_command *commands;  /* for a trace */
    size_t command_count, command_room;
    bool lost; /* there was no memory for one of them */
};

static const hone_image_desc *input_of(const struct giant *g)
{
    return &media_get_info(g->first.input)->desc;
}

static const char *path_of(const struct reader *reader)
{
    return reader == &reader->g->first ? reader->g->item->input
                                       : reader->g->engine->seconds[reader->second].path;
}

static hone_status open_reader(struct reader *reader, bool quietly, hone_error *error)
{
    struct giant *g = reader->g;
    if (reader == &g->first)
        return engine_open_input(g->engine, g->item, &reader->own, quietly, error);
    const hone_image_desc part = excerpt(input_of(g));
    return engine_open_second(g->engine, reader->second, &part, giant_max_pixels(g->engine->options), quietly,
                              &reader->own, error);
}

static hone_status reopen(struct reader *reader, hone_error *error)
{
    const hone_image_desc before = media_get_info(reader->input)->desc;
    const struct giant *g = reader->g;
    if (reader == &g->first && g->engine->stream)
        return error_unsupported(
            error,
            "an image of this size has to be read twice for this, which a pipe cannot be: name a file");
    media_close(&reader->own);
    TRY(open_reader(reader, true, error));
    if (!desc_same(&before, &media_get_info(reader->own)->desc) || !media_loads_rows(reader->own))
        return error_io(error, "'%s' has become another image meanwhile", path_of(reader));
    reader->input = reader->own;
    reader->position = 0;
    return HONE_OK;
}

static hone_status skip_to(struct reader *reader, uint32_t row, hone_error *error)
{
    enum { AT_ONCE = 64 };
    const size_t bytes = hone_image_row_bytes(&media_get_info(reader->input)->desc);
    void *rows = reader->position < row ? mem_new(bytes, AT_ONCE) : NULL;
    hone_status status = HONE_OK;
    if (reader->position < row && !rows)
        return error_memory(error, "rows of an image");
    while (reader->position < row && !status) {
        const uint32_t left = row - reader->position, some = left < AT_ONCE ? left : AT_ONCE;
        status = media_load_rows(reader->input, some, rows, 0, error);
        reader->position += some;
    }
    free(rows);
    return status;
}

static hone_status read_rows(void *user, uint32_t first, uint32_t count, void *rows, size_t pitch,
                             hone_error *error)
{
    struct reader *reader = user;
    hone_status status = first < reader->position ? reopen(reader, error) : HONE_OK;
    THEN(status, skip_to(reader, first, error));
    THEN(status, media_load_rows(reader->input, count, rows, pitch, error));
    reader->position += count;
    return status;
}

static hone_status open_second(struct giant *g, size_t i, hone_error *error)
{
    struct reader *reader = &g->seconds[i];
    *reader = (struct reader){.g = g, .second = i};
    hone_status status = open_reader(reader, false, error);
    g->second_count += !status;
    if (status)
        return status;
    reader->input = reader->own;
    g->second_parts[i] = g->engine->seconds[i].desc = excerpt(&media_get_info(reader->own)->desc);
    if (!media_loads_rows(reader->own))
        status = error_unsupported(
            error,
            "EXIF turns '%s', and an image of this size can only be read row by row: turn its "
            "pixels first ('vips autorot')",
            path_of(reader));
    return status;
}

static hone_status open_seconds(struct giant *g, hone_error *error)
{
    const size_t count = g->engine->second_count;
    hone_status status = HONE_OK;
    g->seconds = count ? mem_new(count, sizeof *g->seconds) : NULL;
    g->second_parts = count ? mem_new(count, sizeof *g->second_parts) : NULL;
    if (count && (!g->seconds || !g->second_parts))
        return error_memory(error, "second images");
    for (size_t i = 0; i < count && !status; i++)
        status = open_second(g, i, error);
    return status;
}

/* ---- Alpha ---- */

static hone_status look_at_alpha(struct giant *g, bool *full, hone_error *error)
{
    hone_image_desc strip = *input_of(g);
    const uint32_t height = strip.height, most = 64;
    hone_status status = HONE_OK;
    void *rows = mem_new(hone_image_row_bytes(&strip), most);
    if (!rows)
        return error_memory(error, "rows of an image");
    *full = true;
    for (uint32_t y = 0; y < height && *full && !status; y += strip.height) {
        strip.height = height - y < most ? height - y : most;
        status = read_rows(&g->first, y, strip.height, rows, 0, error);
        *full = !status && alpha_is_full(rows, &strip);
    }
    free(rows);
    return status;
}

/* As for images that are in memory: means weigh colours by alpha, unless it is full everywhere. */
static hone_status find_rule(struct giant *g, hone_error *error)
{
    const struct apply_options *o = g->engine->options;
    const struct media_info *info = media_get_info(g->first.input);
    const hone_image_desc part = excerpt(&info->desc);
    const bool copies = o->variant || o->config || (o->alpha && strcmp(o->alpha, "copy") == 0);
    bool weighs = false, full = true;
    g->rule = info->desc.channels == 4 && info->extra > 0 ? ALPHA_PLAIN : ALPHA_COPY;
    if (info->desc.channels != 4 || info->extra > 0 || copies)
        return HONE_OK;
    hone_status status =
        alpha_weighs(&weighs, g->engine->given, &part, g->second_parts, g->second_count, error);
    if (!status && weighs)
        status = look_at_alpha(g, &full, error);
    if (!status && !full)
        g->rule = ALPHA_WEIGH;
    return status;
}

/* ---- Counts ---- */

static hone_status list_edges(struct giant *g, const struct filter_case *last, size_t bins, hone_error *error)
{
    g->edge_count = bins + 1;
    g->edges = mem_new(g->edge_count, sizeof *g->edges);
    if (!g->edges)
        return error_memory(error, "the edges of bins");
    for (size_t i = 0; i < g->edge_count; i++)
        g->edges[i] = last->filter->bins->edge(last, (int64_t)i);
    return HONE_OK;
}

/* What outputs of this name need of a chain that ends in counts; `last` is its prepared last step. */
static hone_status shape_counts(struct giant *g, struct filter_case *last, struct filter_case *step,
                                hone_error *error)
{
    const struct bins *bins = last->filter->bins;
    const struct value *output = case_value(last, bins->output);
    const bool table = strcmp(output->text, bins->table) == 0, full = strcmp(output->text, bins->full) == 0;
    const uint32_t width = last->out.width - (full ? 3 : 0);
    if (!media_is_table(g->item->output) || !(table || full))
        return HONE_OK;
    hone_status status = list_edges(g, last, width, error);
    return status ? status : case_set(step, bins->output, bins->full, error);
}

/* ---- The chain for this image ---- */

static hone_status copy_chain(struct giant *g, hone_error *error)
{
    const hone_chain *given = g->engine->given;
    const hone_image_desc part = excerpt(input_of(g));
    const size_t length = hone_chain_text(given, NULL, 0) + 1;
    char *text = mem_new(length, 1);
    hone_status status = text ? HONE_OK : error_memory(error, "a chain");
    size_t *moved = mem_new(given->count, sizeof *moved);
    if (!status && !moved)
        status = error_memory(error, "a chain");
    if (!status)
        hone_chain_text(given, text, length);
    THEN(status, g->rule == ALPHA_COPY ? hone_chain_parse(&g->chain, text, error)
                                       : alpha_chain(&g->chain, moved, given, g->rule, &part, g->second_parts,
                                                     g->second_count, error));
    free(moved);
    free(text);
    return status;
}

static hone_status choose_outputs(struct giant *g, hone_error *error)
{
    const hone_image_desc part = excerpt(input_of(g));
    const size_t count = g->chain->count;
    struct filter_case *cases = mem_new(count, sizeof *cases);
    if (!cases)
        return error_memory(error, "a chain");
    hone_status status = chain_cases(cases, g->chain, &part, g->second_parts, g->second_count, error);
    if (!status) {
        if (cases[count - 1].filter->bins)
            status = shape_counts(g, &cases[count - 1], &g->chain->steps[count - 1].c, error);
        chain_cases_finish(cases, count);
    }
    free(cases);
    return status;
}

/* ---- Results ---- */

/* On a terminal, every now and then. */
static void show_progress(struct giant *g, bool last)
{
    const struct common_options *common = &g->engine->options->common;
    const uint64_t now = clock_ns(), often = 200000000;
    struct tiles_state state;
    char line[256], left[32];
    if (common->quiet || common->verbose || !isatty(STDERR_FILENO) || (!last && now - g->shown < often))
        return;
    g->shown = now;
    tiles_get_state(g->tiles, &state);
    const double elapsed = (double)(now - g->pass_start) * 1e-9,
                 part = (double)state.done / (double)state.bands;
    const double each = state.done > g->begun ? elapsed / (double)(state.done - g->begun) : 0;
    apply_show_time(each * (double)(state.bands - state.done), left, sizeof left);
    if (last)
        snprintf(line, sizeof line, "%s", "");
    else
        snprintf(line, sizeof line, "%.0f %%, %s left: %s", part * 100, left, g->item->output);
    cli_make_one_line(line);
    apply_fit_line(line, apply_columns(STDERR_FILENO));
    fprintf(stderr, "%s\033[K\r", line);
    fflush(stderr);
}

/* The device, and the decoder, which both may take their time for one band. */
static void watch_band(const struct giant *g, struct guard_watch *watch)
{
    const double given = g->engine->options->timeout;
    struct tiles_state state;
    hone_image_desc region = *input_of(g);
    tiles_get_state(g->tiles, &state);
    region.height = (uint32_t)(state.region_pixels / region.width + 1);
    /* Rows in front of those that are left are decoded, too. */
    const hone_image_desc *decoded = kept_skips(&g->kept) ? input_of(g) : &region;
    guard_watch(watch,
                given >= 0 ? 2 * given
                           : engine_bound(g->engine, &region) +
                                 2 * media_seconds(decoded) * (double)(1 + g->second_count),
                "filtering '%s' in bands", g->item->input);
}

static hone_status next_band(struct giant *g, hone_error *error)
{
    struct guard_watch watch;
    hone_status status = HONE_OK;
    for (bool ready = false; !ready && !status; show_progress(g, false)) {
        watch_band(g, &watch);
        status = tiles_prepare(g->tiles, &ready, error);
        guard_unwatch(&watch);
    }
    watch_band(g, &watch);
    THEN(status, tiles_next(g->tiles, &g->rows, error));
    guard_unwatch(&watch);
    g->taken = 0;
    show_progress(g, false);
    return status;
}

static hone_status make_row(struct giant *g, void *to, hone_error *error)
{
    TRY(g->taken == g->rows.count ? next_band(g, error) : HONE_OK);
    if (g->rows.count == 0)
        return error_set(error, HONE_ERROR_INTERNAL, "the result has fewer rows than were said");
    memcpy(to, (const unsigned char *)g->rows.pixels + g->taken++ * g->rows.pitch,
           hone_image_row_bytes(tiles_output(g->tiles)));
    return kept_add(&g->kept, g->tiles, to, error);
}

static hone_status give_rows(void *user, uint32_t count, void *to, hone_error *error)
{
    struct giant *g = user;
    const size_t row = hone_image_row_bytes(tiles_output(g->tiles));
    unsigned char *at = to;
    for (; count > 0; count--, at += row)
        TRY(kept_has(&g->kept) ? kept_take(&g->kept, at, error) : make_row(g, at, error));
    return HONE_OK;
}

static hone_status encode(struct giant *g, int fd, hone_error *error)
{
    struct media_write_options options = g->engine->options->write;
    /* Every filter does the same to all colours. */
    const struct media_source source = {.next = give_rows, .user = g, .gray = true};
    options.edges = g->edges;
    options.edge_count = g->edge_count;
    return media_write_rows(fd, g->item->output, tiles_output(g->tiles), &source, g->first.input, &options,
                            error);
}

static hone_status store_file(struct giant *g, const char *root, hone_error *error)
{
    struct guarded_output output = GUARDED_OUTPUT_NONE;
    struct tiles_state state;
    hone_status status = root ? items_make_folders(g->item->output, root, error) : HONE_OK;
    THEN(status, kept_begin(&g->kept, g->engine, g->item, g->tiles, error));
    tiles_get_state(g->tiles, &state);
    g->begun = state.done;
    THEN(status, guard_output_begin(&output, g->item->output, error));
    THEN(status, encode(g, output.file.fd, error));
    if (!status)
        made_mark(g->engine, &g->engine->made, output.file.fd, g->item->output);
    THEN(status, guard_output_commit(&output, g->engine->options->sync, error));
    guard_output_abort(&output);
    kept_end(&g->kept, g->engine, g->item, status);
    return status;
}

/* By way of a file without a name, so that nothing comes out of what fails: memory may be too small for
 * it. */
static hone_status store_stdout(struct giant *g, hone_error *error)
{
    int fd = -1;
    TRY(file_unnamed(&fd, NULL, error));
    hone_status status = encode(g, fd, error);
    if (!status && !apply_copy_to_stdout(fd))
        status = error_io(error, "cannot write to standard output: %s", strerror(errno));
    close(fd);
    return status;
}

/* ---- What the device was given ---- */

static void note_command(void *user, const struct tiles_command *command)
{
    struct giant *g = user;
    pthread_mutex_lock(&g->telling);
    struct copy_situation situation =
        apply_situation(g->result, g->engine->device, &command->in, &command->out);
    situation.in_parts = true;
    traffic_add(&g->result->traffic, &situation, &command->c, 1);
    if (g->engine->shared->timeline) {
        const bool kept = mem_grow(&g->commands, &g->command_room, g->command_count + 1, sizeof *g->commands);
        if (kept)
            g->commands[g->command_count++] = command->c;
        g->lost = g->lost || !kept;
    }
    pthread_mutex_unlock(&g->telling);
}

/* Once nothing runs any more. */
static hone_status add_to_trace(const struct giant *g, hone_error *error)
{
    struct timeline *timeline = g->engine->shared->timeline;
    if (g->lost)
        return error_memory(error, "the trace");
    if (timeline)
        timeline_add(timeline, g->engine->device, g->item->input, g->start, clock_ns(), g->commands,
                     g->command_count);
    return HONE_OK;
}

/* ---- All of it ---- */

static hone_status make_tiles(struct giant *g, const hone_chain *chain, hone_error *error)
{
    const struct apply_options *o = g->engine->options;
    const hone_plan_options plan = {.variant = o->variant,
                                    .config = o->config,
                                    .tune = o->tune && strcmp(o->tune, "off") == 0 ? HONE_TUNE_OFF
                                                                                   : HONE_TUNE_AUTO,
                                    .no_fuse = o->no_fuse};
    struct tiles_image *seconds = mem_new(g->second_count + 1, sizeof *seconds);
    struct guard_watch watch;
    const hone_image_desc part = excerpt(input_of(g));
    if (!seconds)
        return error_memory(error, "second images");
    for (size_t i = 0; i < g->second_count; i++)
        seconds[i] =
            (struct tiles_image){media_get_info(g->seconds[i].input)->desc, read_rows, &g->seconds[i]};
    const struct tiles_request request = {.device = g->engine->device,
                                          .chain = chain,
                                          .input = {*input_of(g), read_rows, &g->first},
                                          .seconds = seconds,
                                          .second_count = g->second_count,
                                          .memory = band_memory(o),
                                          .target = apply_to_stdout(o) ? NULL : g->item->output,
                                          .tell = apply_tells_commands(o) ? note_command : NULL,
                                          .tell_user = g,
                                          .plan = &plan};
    g->pass_start = clock_ns();
    guard_watch(&watch, engine_bound(g->engine, &part), "preparing '%s'", g->engine->chain_text);
    hone_status status = tiles_create(&g->tiles, &request, error);
    guard_unwatch(&watch);
    free(seconds);
    return status;
}

/* All rows of what the last step counts. */
static hone_status read_range(struct giant *g, struct bins_range *range, hone_error *error)
{
    struct tiles_state state;
    hone_image_desc rows = *tiles_output(g->tiles);
    hone_status status;
    while (!(status = next_band(g, error)) && g->rows.count) {
        rows.height = g->rows.count;
        rows.pitch = g->rows.pitch;
        bins_add(range, &rows, g->rule, g->rows.pixels);
    }
    tiles_get_state(g->tiles, &state);
    g->earlier_copies = state.copies;
    g->earlier_staged = state.staged;
    return status;
}

/* Bands are counted in one range: where it is that of the picture, all of it is read and filtered once for that. */
static hone_status find_range(struct giant *g, hone_error *error)
{
    hone_chain *before = mem_new(1, sizeof *before); /* to be looked at only */
    struct bins_range range = BINS_RANGE_NONE;
    if (!before)
        return error_memory(error, "a chain");
    *before = *g->chain;
    before->count--;
    hone_status status = make_tiles(g, before, error);
    free(before);
    THEN(status, read_range(g, &range, error));
    tiles_destroy(&g->tiles);
    TRY(status);
    const size_t last = g->chain->count - 1;
    struct filter_case *c = &g->chain->steps[last].c;
    const struct bins *bins = c->filter->bins;
    char *parameters = bins_parameters(bins, range, hone_chain_parameter(g->chain, last, bins->min),
                                       hone_chain_parameter(g->chain, last, bins->max));
    status = parameters ? chain_parse_parameters(c, parameters, error) : error_memory(error, "a range");
    free(parameters);
    return status;
}

static hone_status wants_range(const struct giant *g, bool *wants, hone_error *error)
{
    const hone_image_desc part = excerpt(input_of(g));
    const size_t count = g->chain->count;
    struct filter_case *cases = mem_new(count, sizeof *cases);
    if (!cases)
        return error_memory(error, "a chain");
    hone_status status = chain_cases(cases, g->chain, &part, g->second_parts, g->second_count, error);
    *wants = !status && bins_wants_range(&cases[count - 1]);
    if (!status)
        chain_cases_finish(cases, count);
    free(cases);
    return status;
}

static hone_status begin(struct giant *g, hone_error *error)
{
    bool ranged = false;
    hone_status status = open_seconds(g, error);
    THEN(status, find_rule(g, error));
    THEN(status, copy_chain(g, error));
    THEN(status, wants_range(g, &ranged, error));
    if (ranged)
        THEN(status, find_range(g, error));
    THEN(status, choose_outputs(g, error));
    return status ? status : make_tiles(g, g->chain, error);
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
        media_check_output(g->item->output, desc, media_get_info(g->first.input), &o->write, error);
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
    result->steps = pool_copy_steps(&result->step_count, next_of_tiles, g->tiles);
    return result->steps ? HONE_OK : error_memory(error, "a report");
}

static hone_status run(struct giant *g, const char *root, struct apply_result *result, hone_error *error)
{
    const struct media_info *info = media_get_info(g->first.input);
    struct tiles_state state;
    result->in = info->desc;
    result->format = info->format;
    result->gray_alpha = info->gray_alpha;
    result->pages = result->parts = 1;
    TRY(begin(g, error));
    depths_warn(g->engine, g->item->input, info->desc.type);
    result->out = *tiles_output(g->tiles);
    hone_status status = check_output(g, root != NULL, error);
    THEN(status, copy_steps(g, result, error));
    THEN(status, apply_to_stdout(g->engine->options) ? store_stdout(g, error) : store_file(g, root, error));
    tiles_get_state(g->tiles, &state);
    result->bands = (unsigned)state.bands;
    result->copies = state.copies;
    result->staged = state.staged;
    copy_counts_add(&result->copies, &g->earlier_copies);
    result->staged.count += g->earlier_staged.count;
    result->staged.bytes += g->earlier_staged.bytes;
    result->wall_seconds = (double)(clock_ns() - g->start) * 1e-9;
    show_progress(g, true);
    return status;
}

/* One at a time: each takes all the memory that there may be. */
static hone_status apply_in_bands(struct engine *engine, const struct item *item, const char *root,
                                  struct media_input *input, struct apply_result *result, hone_error *error)
{
    static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&turn);
    struct giant g = {.engine = engine,
                      .item = item,
                      .first = {.input = input},
                      .kept = KEPT_NONE,
                      .start = clock_ns(),
                      .result = result,
                      .telling = PTHREAD_MUTEX_INITIALIZER};
    g.first.g = &g;
    hone_status status = run(&g, root, result, error);
    result->settled = g.first.own && media_is_settled(g.first.own);
    tiles_destroy(&g.tiles);
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

bool giant_apply(struct engine *engine, const struct item *item, const char *root, struct media_input *input,
                 struct apply_result *result, hone_status *status, hone_error *error)
{
    const hone_image_desc *desc = &media_get_info(input)->desc;
    const uint64_t memory = engine->options->memory, most = memory ? memory : giant_default_memory;
    const uint64_t bytes = hone_image_bytes(desc),
                   wanted = 3 * bytes; /* input, result, and something between */
    const hone_image_desc part = excerpt(desc);
    hone_error why;
    if (wanted <= most && bytes <= small_image)
        return false;
    const hone_status possible = check_possible(engine, input, &why);
    *status = engine_open_devices(engine, &part, error);
    if (*status)
        return true;
    const bool must = is_too_large(engine, desc);
    if (!must && (possible || wanted <= most))
        return false;
    if (possible) {
        if (error)
            *error = why;
        *status = possible;
        return true;
    }
    *status = apply_in_bands(engine, item, root, input, result, error);
    return true;
}
