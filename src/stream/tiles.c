/* SPDX-License-Identifier: BSD-2-Clause */
#include "stream/tiles.h"

#include "base/error.h"
#include "base/mem.h"
#include "filter/case.h"
#include "filter/chain.h"
#include "stream/tiles_internal.h"

#include <stdlib.h>
#include <string.h>

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
        if (c->filter->period > 1 && tiles->image.desc.height % c->filter->period)
            return refuse(chain, i, "under border=wrap the height has to be even", error);
    }
    return HONE_OK;
}

/* Counts add up; what is drawn of them does not. */
static hone_status check_counts(const hone_chain *chain, const hone_image_desc *input, hone_error *error)
{
    hone_image_desc part = *input, out;
    part.height = 1;
    hone_status status = hone_chain_output(chain, &part, &out, error);
    if (!status && (out.type != HONE_U32 || out.height != 1))
        return refuse(chain, chain->count - 1,
                      "it makes a picture of all counts; output=table gives the counts", error);
    return status;
}

static hone_status check_chain(const struct tiles *tiles, const hone_chain *chain, const hone_halo *all,
                               hone_error *error)
{
    if (all->reach == HONE_REACH_ELSEWHERE)
        return refuse(chain, all->step, "its pixels move to other places", error);
    if (all->reach != HONE_REACH_WINDOW && all->step + 1 < chain->count)
        return refuse(chain, all->step,
                      "its sums go on over the whole image, so it has to be the last filter", error);
    hone_status status = check_borders(tiles, chain, error);
    return status || all->reach != HONE_REACH_ALL ? status : check_counts(chain, &tiles->image.desc, error);
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
    hone_status status = hone_chain_halo(chain, &tiles->image.desc, &all, error);
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
    struct tiles tiles = {.image = {.desc = *input}};
    hone_status status = split_chain(&tiles, chain, error);
    hone_chain_destroy(&tiles.head);
    hone_chain_destroy(&tiles.tail_step);
    return status;
}

/* ---- Making one ---- */

static uint64_t budget(const struct tiles_request *request)
{
    uint64_t held = 0, most = 0;
    hone_device_memory(request->device, &held, &most);
    most = most > held ? most - held : 0;
    return request->memory && request->memory < most ? request->memory : most;
}

/* The head's result: the size is that of the input. */
static hone_status find_between(struct tiles *tiles, hone_error *error)
{
    hone_image_desc pixel = tiles->image.desc;
    pixel.width = pixel.height = 1;
    tiles->between = tiles->image.desc;
    hone_status status = tiles->head ? hone_chain_output(tiles->head, &pixel, &pixel, error) : HONE_OK;
    tiles->between.type = pixel.type;
    tiles->between.channels = pixel.channels;
    return status;
}

static hone_status check_second(const struct tiles *tiles, const struct tiles_second *second,
                                hone_error *error)
{
    const hone_image_desc *its = &second->image.desc, *first = &tiles->image.desc;
    return its->width == first->width && its->height == first->height
               ? HONE_OK
               : error_set(error, HONE_ERROR_USAGE, "the second image of %s is %ux%u, the first one is %ux%u",
                           hone_chain_filter(tiles->head, second->step), its->width, its->height,
                           first->width, first->height);
}

static hone_status take_seconds(struct tiles *tiles, const struct tiles_request *request, hone_error *error)
{
    hone_status status = HONE_OK;
    if (!request->second_count)
        return HONE_OK;
    tiles->seconds = mem_new(request->second_count, sizeof *tiles->seconds);
    tiles->second_parts = mem_new(request->second_count, sizeof *tiles->second_parts);
    if (!tiles->seconds || !tiles->second_parts)
        return error_memory(error, "second images");
    for (size_t i = 0; i < tiles->head_steps && tiles->second_count < request->second_count && !status; i++)
        if (tiles->head->steps[i].c.filter->inputs > 1) {
            struct tiles_second *second = &tiles->seconds[tiles->second_count];
            *second = (struct tiles_second){.step = i, .image = request->seconds[tiles->second_count]};
            tiles->second_count++;
            status = check_second(tiles, second, error);
        }
    return status;
}

static void find_output(struct tiles *tiles)
{
    tiles->output = tiles->tail ? *tail_output(tiles->tail) : tiles->between;
    if (!tiles->tail || tiles->halo.reach != HONE_REACH_ALL)
        tiles->output.height = tiles->image.desc.height;
    tiles->output.pitch = 0;
}

hone_status tiles_create(struct tiles **out, const struct tiles_request *request, hone_error *error)
{
    struct tiles *tiles = *out = mem_new(1, sizeof *tiles);
    if (!tiles)
        return error_memory(error, "an image in parts");
    tiles->device = request->device;
    tiles->image = request->input;
    if (request->plan)
        tiles->plan = *request->plan;
    hone_status status = split_chain(tiles, request->chain, error);
    if (!status)
        status = take_seconds(tiles, request, error);
    if (!status)
        status = find_between(tiles, error);
    if (!status)
        status = tiles_fit(tiles, budget(request), error);
    if (status)
        tiles_destroy(out);
    else
        find_output(tiles);
    return status;
}

void tiles_destroy(struct tiles **slot)
{
    struct tiles *tiles = *slot;
    *slot = NULL;
    if (!tiles)
        return;
    tiles_release(tiles);
    hone_chain_destroy(&tiles->head);
    hone_chain_destroy(&tiles->tail_step);
    free(tiles->seconds);
    free(tiles->second_parts);
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
                                  .columns = bands_count(&tiles->columns),
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

/* ---- Tiles ---- */

static hone_status fill_strips(struct tiles *tiles, uint32_t band, hone_error *error)
{
    hone_status status = strips_fill(&tiles->strips, band, error);
    for (size_t i = 0; i < tiles->second_count && !status; i++)
        status = strips_fill(&tiles->seconds[i].strips, band, error);
    return status;
}

/* A part that is free: the tile that used it has been pulled. */
static hone_status bind_second(const struct tiles *tiles, const struct tiles_second *second, uint32_t band,
                               const struct band *column, hone_error *error)
{
    hone_image *part = second->parts[tiles->pushed % TILES_SLOTS];
    const struct band rows = bands_at(&tiles->bands, band);
    hone_status status =
        hone_image_upload(part, strips_at(&second->strips, band, column->origin, rows.origin),
                          second->strips.pitch, NULL, 0, NULL, error);
    return status ? status : hone_stream_bind(tiles->stream, second->step, part, error);
}

static hone_status push_tile(struct tiles *tiles, hone_error *error)
{
    const uint32_t across = bands_count(&tiles->columns), band = (uint32_t)(tiles->pushed / across);
    const struct band rows = bands_at(&tiles->bands, band),
                      column = bands_at(&tiles->columns, (uint32_t)(tiles->pushed % across));
    hone_status status = tiles->pushed % across == 0 ? fill_strips(tiles, band, error) : HONE_OK;
    for (size_t i = 0; i < tiles->second_count && !status; i++)
        status = bind_second(tiles, &tiles->seconds[i], band, &column, error);
    const hone_frame frame = {.in = {strips_at(&tiles->strips, band, column.origin, rows.origin)},
                              .in_pitch = {tiles->strips.pitch}};
    if (!status)
        status = hone_stream_push(tiles->stream, &frame, error);
    if (!status)
        tiles->pushed++;
    return status;
}

/* The next tile's result; others are on their way meanwhile. */
static hone_status pull_tile(struct tiles *tiles, hone_stream_result *result, hone_error *error)
{
    const uint64_t all = (uint64_t)bands_count(&tiles->bands) * bands_count(&tiles->columns);
    bool got = false;
    hone_status status = HONE_OK;
    while (!status && tiles->pushed < all && tiles->pushed < tiles->pulled + TILES_SLOTS - 1)
        status = push_tile(tiles, error);
    if (!status)
        status = hone_stream_pull(tiles->stream, result, &got, error);
    if (!status && result->status) {
        if (error)
            *error = *result->error;
        status = result->status;
    }
    tiles->pulled += !status;
    return status;
}

/* ---- Bands ---- */

/* Of the tiles of a band, their pixels without those around. */
static hone_status join_tiles(struct tiles *tiles, const struct band *rows, hone_error *error)
{
    const size_t row = hone_image_row_bytes(&tiles->between), pixel = row / tiles->between.width;
    hone_status status = HONE_OK;
    for (uint32_t i = 0; i < bands_count(&tiles->columns) && !status; i++) {
        const struct band column = bands_at(&tiles->columns, i);
        hone_stream_result result;
        status = pull_tile(tiles, &result, error);
        for (uint32_t y = 0; y < rows->count && !status; y++)
            memcpy(tiles->joined + y * row + column.first * pixel,
                   (const unsigned char *)result.planes[0] +
                       (size_t)(rows->first - rows->origin + y) * result.pitch[0] +
                       (size_t)(column.first - column.origin) * pixel,
                   column.count * pixel);
    }
    tiles->band.pixels = tiles->joined;
    tiles->band.pitch = row;
    return status;
}

static hone_status one_tile(struct tiles *tiles, const struct band *rows, hone_error *error)
{
    hone_stream_result result;
    hone_status status = pull_tile(tiles, &result, error);
    if (status)
        return status;
    tiles->band.pitch = result.pitch[0];
    tiles->band.pixels =
        (const unsigned char *)result.planes[0] + (size_t)(rows->first - rows->origin) * result.pitch[0];
    return HONE_OK;
}

/* Without a head the rows are those of the image. */
static hone_status next_band(struct tiles *tiles, hone_error *error)
{
    const struct band rows = bands_at(&tiles->bands, tiles->done);
    hone_status status;
    if (!tiles->head) {
        status = fill_strips(tiles, tiles->done, error);
        tiles->band.pixels = strips_at(&tiles->strips, tiles->done, 0, rows.first);
        tiles->band.pitch = tiles->strips.pitch;
    } else {
        status = tiles->joined ? join_tiles(tiles, &rows, error) : one_tile(tiles, &rows, error);
    }
    tiles->band.first = rows.first;
    tiles->band.count = status ? 0 : rows.count;
    tiles->done += !status;
    return status;
}

/* ---- Results ---- */

/* Of the band at hand, as many rows as go at once. */
static hone_status take_rows(struct tiles *tiles, struct tiles_rows *rows, hone_error *error)
{
    const void *result = NULL;
    *rows = tiles->band;
    if (tiles->tail && rows->count > tiles->tail_rows)
        rows->count = tiles->tail_rows;
    tiles->band.first += rows->count;
    tiles->band.count -= rows->count;
    tiles->band.pixels = (const unsigned char *)rows->pixels + rows->count * rows->pitch;
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
    while (!status && !rows->pixels && (tiles->band.count || tiles->done < bands_count(&tiles->bands))) {
        if (!tiles->band.count)
            status = next_band(tiles, error);
        if (!status)
            status = take_rows(tiles, rows, error);
    }
    if (status || rows->pixels)
        return status;
    return end_rows(tiles, rows, error);
}
