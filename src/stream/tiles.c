/* SPDX-License-Identifier: BSD-2-Clause */
#include "stream/tiles.h"

#include "base/error.h"
#include "base/mem.h"
#include "filter/case.h"
#include "filter/chain.h"
#include "stream/bands.h"
#include "stream/tail.h"

#include <stdlib.h>
#include <string.h>

enum {
    PAGE = 4096,
    ROW_ALIGN = 64,
    SLOTS = 3,   /* one result at its reader's, two bands on their way */
    FEWEST = 16, /* bands that an image is cut into where memory does not want more, so that stages overlap */
    LEAST_ROWS = 64 /* but not in bands of fewer rows */
};

struct tiles {
    hone_device *device;
    hone_chain *head, *tail_step; /* copies of steps of the request's chain */
    hone_image_desc input, output;
    hone_halo halo; /* of the head */
    hone_plan_options plan;
    tiles_read read;
    void *user;

    struct bands bands;
    hone_stream *stream; /* for the head; NULL: there is only a tail */
    struct tail *tail;
    size_t head_steps;
    unsigned char *regions[SLOTS]; /* of the input */
    size_t pitch;
    uint32_t pushed, done; /* bands */
    bool ended;
    uint64_t memory;
};

/* ---- What can be done in bands ---- */

static hone_status refuse(const hone_chain *chain, size_t step, const char *why, hone_error *error)
{
    return error_set(error, HONE_ERROR_UNSUPPORTED,
                     "%s cannot be run in parts, which an image of this size takes here: %s",
                     hone_chain_filter(chain, step), why);
}

/* Rows beyond an edge have to be the same for all filters. */
static hone_status check_borders(const struct tiles *tiles, const hone_chain *chain, hone_error *error)
{
    for (size_t i = 0; i < tiles->head_steps && tiles->halo.wraps; i++) {
        const struct filter_case *c = &chain->steps[i].c;
        if (c->filter->spatial && c->border != HONE_BORDER_WRAP)
            return refuse(chain, i, "another filter of the chain has border=wrap, and this one has not",
                          error);
        if (c->filter->period > 1 && tiles->input.height % c->filter->period)
            return refuse(chain, i, "under border=wrap the height has to be even", error);
    }
    return HONE_OK;
}

/* Counts add up; what is drawn of them does not. */
static hone_status check_counts(const hone_chain *chain, const hone_image_desc *input, hone_error *error)
{
    struct filter_case *cases = mem_new(chain->count, sizeof *cases);
    hone_image_desc part = *input;
    part.height = 1;
    if (!cases)
        return error_memory(error, "a chain");
    hone_status status = chain_cases(cases, chain, &part, NULL, 0, error);
    const hone_image_desc out = status ? part : cases[chain->count - 1].out;
    if (!status)
        chain_cases_finish(cases, chain->count);
    free(cases);
    if (!status && (out.type != HONE_U32 || out.height != 1))
        return refuse(chain, chain->count - 1,
                      "it makes a picture of all counts; output=table gives the counts", error);
    return status;
}

static hone_status check_chain(const struct tiles *tiles, const hone_chain *chain, const hone_halo *all,
                               hone_error *error)
{
    for (size_t i = 0; i < chain->count; i++)
        if (chain->steps[i].c.filter->inputs > 1)
            return refuse(chain, i, "its second image would have to be read in parts, too", error);
    if (all->reach == HONE_REACH_ELSEWHERE)
        return refuse(chain, all->step, "its pixels move to other places", error);
    if (all->reach != HONE_REACH_WINDOW && all->step + 1 < chain->count)
        return refuse(chain, all->step,
                      "its sums go on over the whole image, so it has to be the last filter", error);
    hone_status status = check_borders(tiles, chain, error);
    return status || all->reach != HONE_REACH_ALL ? status : check_counts(chain, &tiles->input, error);
}

/* *part stays NULL where count is 0. Released with hone_chain_destroy, on an error, too. */
static hone_status part_of(hone_chain **part, const hone_chain *chain, size_t first, size_t count,
                           hone_error *error)
{
    hone_status status = HONE_OK;
    *part = count ? mem_new(1, sizeof **part) : NULL;
    if (count && !*part)
        return error_memory(error, "a chain");
    for (size_t i = 0; i < count && !status; i++) {
        struct chain_step *to = &(*part)->steps[i];
        *to = chain->steps[first + i];
        status = case_copy(&to->c, &chain->steps[first + i].c, error);
        (*part)->count += !status;
    }
    return status;
}

static hone_status split_chain(struct tiles *tiles, const hone_chain *chain, hone_error *error)
{
    hone_halo all;
    hone_status status = hone_chain_halo(chain, &tiles->input, &all, error);
    if (status)
        return status;
    tiles->halo = all;
    tiles->head_steps = all.reach == HONE_REACH_WINDOW ? chain->count : all.step;
    status = check_chain(tiles, chain, &all, error);
    if (!status)
        status = part_of(&tiles->head, chain, 0, tiles->head_steps, error);
    if (!status)
        status =
            part_of(&tiles->tail_step, chain, tiles->head_steps, chain->count - tiles->head_steps, error);
    return status;
}

hone_status tiles_check(const hone_chain *chain, const hone_image_desc *input, hone_error *error)
{
    struct tiles tiles = {.input = *input};
    hone_status status = split_chain(&tiles, chain, error);
    hone_chain_destroy(&tiles.head);
    hone_chain_destroy(&tiles.tail_step);
    return status;
}

/* ---- How large bands are ---- */

static hone_status new_regions(struct tiles *tiles, hone_error *error)
{
    const size_t bytes = (tiles->pitch * tiles->bands.region + PAGE - 1) / PAGE * PAGE;
    for (int i = 0; i < (tiles->stream ? SLOTS : 1); i++) {
        tiles->regions[i] = aligned_alloc(PAGE, bytes);
        if (!tiles->regions[i])
            return error_memory(error, "the rows of a band");
        tiles->memory += bytes;
    }
    return HONE_OK;
}

static hone_status new_stream(struct tiles *tiles, const hone_image_desc *region, hone_error *error)
{
    hone_image_desc here = *region;
    here.pitch = tiles->pitch;
    const hone_stream_options options = {.slots = SLOTS, .plan = &tiles->plan};
    return hone_stream_create(&tiles->stream, tiles->device, tiles->head, &here, 1, &options, error);
}

static hone_status new_tail(struct tiles *tiles, const hone_image_desc *region, hone_error *error)
{
    hone_image_desc band = tiles->stream ? *hone_stream_output(tiles->stream, 0) : *region;
    band.height = tiles->bands.rows;
    band.pitch = 0;
    return tail_create(&tiles->tail, tiles->device, tiles->tail_step, tiles->halo.reach, &band, &tiles->plan,
                       error);
}

static void release(struct tiles *tiles)
{
    hone_stream_destroy(&tiles->stream);
    tail_destroy(&tiles->tail);
    for (int i = 0; i < SLOTS; i++) {
        free(tiles->regions[i]);
        tiles->regions[i] = NULL;
    }
    tiles->memory = 0;
}

/* Everything for regions of this size; its bytes in tiles->memory. */
static hone_status try_regions(struct tiles *tiles, hone_error *error)
{
    hone_image_desc region = tiles->input;
    uint64_t before = 0, after = 0;
    hone_status status = HONE_OK;
    region.height = tiles->bands.region;
    release(tiles);
    hone_device_memory(tiles->device, &before, NULL);
    if (tiles->head)
        status = new_stream(tiles, &region, error);
    if (!status && tiles->tail_step)
        status = new_tail(tiles, &region, error);
    hone_device_memory(tiles->device, &after, NULL);
    tiles->memory = after > before ? after - before : 0;
    if (!status && tiles->tail)
        tiles->memory += hone_image_bytes(tail_output(tiles->tail));
    return status ? status : new_regions(tiles, error);
}

/* As few rows as overlapping stages want, and no more than kernels can index, for results of up to four
 * channels. */
static uint32_t most_rows(const struct tiles *tiles)
{
    const uint64_t indexed = INT32_MAX / ((uint64_t)tiles->input.width * 4 + ROW_ALIGN);
    const uint64_t halo = (uint64_t)tiles->halo.top + tiles->halo.bottom;
    uint64_t rows = tiles->input.height / FEWEST;
    rows = rows < 4 * halo ? 4 * halo : rows;
    rows = (rows < LEAST_ROWS ? LEAST_ROWS : rows) + halo;
    return (uint32_t)(rows < indexed ? rows : indexed);
}

static hone_status does_not_fit(const struct tiles *tiles, uint32_t least, double needed, uint64_t memory,
                                hone_error *error)
{
    return error_set(error, HONE_ERROR_MEMORY,
                     "the smallest parts of %u rows of %u pixels that the filters can be run in need about "
                     "%.1f MB, and %.1f MB are the limit",
                     least, tiles->input.width, needed * 1e-6, (double)memory * 1e-6);
}

/* Memory for a region is known when it has been taken: what is too large gives way to what should fit by
 * that. */
static hone_status choose_regions(struct tiles *tiles, uint64_t memory, hone_error *error)
{
    enum { TRIES = 12 };
    uint32_t least = 0, region = most_rows(tiles);
    double each = 3.0 * SLOTS * (double)tiles->pitch; /* bytes for a row; a guess until it is known */
    for (int i = 0; i < TRIES && bands_make(&tiles->bands, tiles->input.height, &tiles->halo, region, &least);
         i++) {
        const uint32_t made = tiles->bands.region;
        hone_status status = try_regions(tiles, error);
        if (status && status != HONE_ERROR_MEMORY)
            return status;
        if (!status && tiles->memory <= memory)
            return HONE_OK;
        if (!status)
            each = (double)tiles->memory / made;
        region = status ? made / 2 : (uint32_t)(0.97 * (double)memory / each);
        if (region < least && made > least)
            region = least;
    }
    return does_not_fit(tiles, least, each * least, memory, error);
}

/* ---- Making one ---- */

static uint64_t budget(const struct tiles_request *request)
{
    uint64_t held = 0, most = 0;
    hone_device_memory(request->device, &held, &most);
    most = most > held ? most - held : 0;
    return request->memory && request->memory < most ? request->memory : most;
}

static hone_image_desc whole_output(const struct tiles *tiles)
{
    hone_image_desc output = tiles->tail ? *tail_output(tiles->tail) : *hone_stream_output(tiles->stream, 0);
    if (!tiles->tail || tiles->halo.reach != HONE_REACH_ALL)
        output.height = tiles->input.height;
    output.pitch = 0;
    return output;
}

hone_status tiles_create(struct tiles **out, const struct tiles_request *request, hone_error *error)
{
    struct tiles *tiles = *out = mem_new(1, sizeof *tiles);
    if (!tiles)
        return error_memory(error, "an image in parts");
    tiles->device = request->device;
    tiles->input = request->input;
    if (request->plan)
        tiles->plan = *request->plan;
    tiles->read = request->read;
    tiles->user = request->user;
    tiles->pitch = (hone_image_row_bytes(&tiles->input) + ROW_ALIGN - 1) / ROW_ALIGN * ROW_ALIGN;
    hone_status status = split_chain(tiles, request->chain, error);
    if (!status)
        status = choose_regions(tiles, budget(request), error);
    if (status)
        tiles_destroy(out);
    else
        tiles->output = whole_output(tiles);
    return status;
}

void tiles_destroy(struct tiles **slot)
{
    struct tiles *tiles = *slot;
    *slot = NULL;
    if (!tiles)
        return;
    release(tiles);
    hone_chain_destroy(&tiles->head);
    hone_chain_destroy(&tiles->tail_step);
    free(tiles);
}

const hone_image_desc *tiles_output(const struct tiles *tiles)
{
    return &tiles->output;
}

void tiles_get_state(const struct tiles *tiles, struct tiles_state *state)
{
    *state = (struct tiles_state){.bands = bands_count(&tiles->bands),
                                  .done = tiles->done,
                                  .band_rows = tiles->bands.rows,
                                  .region_rows = tiles->bands.region,
                                  .memory = tiles->memory};
    if (tiles->stream) {
        hone_stream_stats stats;
        hone_stream_get_stats(tiles->stream, &stats);
        state->copies = stats.copies;
    }
}

bool tiles_step(const struct tiles *tiles, size_t step, hone_step_info *info)
{
    if (step < tiles->head_steps)
        return hone_stream_step(tiles->stream, 0, step, info);
    return step == tiles->head_steps && tiles->tail && tail_step(tiles->tail, info);
}

/* ---- Reading ---- */

/* Rows of the image continued beyond its edges by itself. */
static hone_status read_rows(struct tiles *tiles, int64_t first, uint32_t count, unsigned char *to,
                             hone_error *error)
{
    const int64_t height = tiles->input.height;
    hone_status status = HONE_OK;
    while (count > 0 && !status) {
        const int64_t at = (first % height + height) % height;
        const uint32_t some = count < height - at ? count : (uint32_t)(height - at);
        status = tiles->read(tiles->user, (uint32_t)at, some, to, tiles->pitch, error);
        first += some;
        count -= some;
        to += (size_t)some * tiles->pitch;
    }
    return status;
}

/* What the region before holds of this one is copied from there. */
static hone_status fill_region(struct tiles *tiles, uint32_t index, hone_error *error)
{
    const struct band band = bands_at(&tiles->bands, index);
    const uint32_t region = tiles->bands.region;
    unsigned char *to = tiles->regions[index % SLOTS];
    uint32_t have = 0;
    if (index > 0) {
        const int64_t before = bands_at(&tiles->bands, index - 1).origin, end = before + region;
        have = end > band.origin ? (uint32_t)(end - band.origin) : 0;
        memcpy(to, tiles->regions[(index - 1) % SLOTS] + (size_t)(band.origin - before) * tiles->pitch,
               (size_t)have * tiles->pitch);
    }
    return read_rows(tiles, band.origin + have, region - have, to + (size_t)have * tiles->pitch, error);
}

static hone_status push_band(struct tiles *tiles, hone_error *error)
{
    hone_status status = fill_region(tiles, tiles->pushed, error);
    const hone_frame frame = {.in = {tiles->regions[tiles->pushed % SLOTS]}, .in_pitch = {tiles->pitch}};
    if (!status)
        status = hone_stream_push(tiles->stream, &frame, error);
    if (!status)
        tiles->pushed++;
    return status;
}

/* ---- Results ---- */

/* Rows of the head's result, or of the input where there is no head. */
static hone_status next_band(struct tiles *tiles, const struct band *band, struct tiles_rows *rows,
                             hone_error *error)
{
    hone_stream_result result;
    bool got = false;
    hone_status status = HONE_OK;
    *rows = (struct tiles_rows){.first = band->first, .count = band->count, .pitch = tiles->pitch};
    if (!tiles->stream) {
        rows->pixels = tiles->regions[0];
        return read_rows(tiles, band->first, band->count, tiles->regions[0], error);
    }
    while (!status && tiles->pushed < bands_count(&tiles->bands) && tiles->pushed < tiles->done + SLOTS - 1)
        status = push_band(tiles, error);
    if (!status)
        status = hone_stream_pull(tiles->stream, &result, &got, error);
    if (status)
        return status;
    if (result.status) {
        if (error)
            *error = *result.error;
        return result.status;
    }
    rows->pitch = result.pitch[0];
    rows->pixels =
        (const unsigned char *)result.planes[0] + (size_t)(band->first - band->origin) * rows->pitch;
    return HONE_OK;
}

static hone_status finish_rows(struct tiles *tiles, struct tiles_rows *rows, hone_error *error)
{
    const void *result = NULL;
    if (!tiles->tail)
        return HONE_OK;
    hone_status status = tail_run(tiles->tail, rows->pixels, rows->pitch, rows->count, &result, error);
    rows->pixels = result;
    rows->pitch = hone_image_row_bytes(&tiles->output);
    return status;
}

/* After the last band. */
static hone_status end_rows(struct tiles *tiles, struct tiles_rows *rows, hone_error *error)
{
    *rows = (struct tiles_rows){0};
    if (tiles->ended || !tiles->tail || tiles->halo.reach != HONE_REACH_ALL)
        return HONE_OK;
    tiles->ended = true;
    *rows = (struct tiles_rows){.count = 1, .pitch = hone_image_row_bytes(&tiles->output)};
    return tail_counts(tiles->tail, &rows->pixels, error);
}

hone_status tiles_next(struct tiles *tiles, struct tiles_rows *rows, hone_error *error)
{
    hone_status status = HONE_OK;
    *rows = (struct tiles_rows){0};
    while (!status && !rows->pixels && tiles->done < bands_count(&tiles->bands)) {
        const struct band band = bands_at(&tiles->bands, tiles->done);
        status = next_band(tiles, &band, rows, error);
        if (!status)
            status = finish_rows(tiles, rows, error);
        tiles->done += !status;
    }
    if (status || rows->pixels)
        return status;
    return end_rows(tiles, rows, error);
}
