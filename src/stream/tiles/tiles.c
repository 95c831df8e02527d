/* SPDX-License-Identifier: BSD-2-Clause */
#include "stream/tiles.h"

#include "base/error.h"
#include "base/mem.h"
#include "cl/device.h"
#include "filter/case.h"
#include "filter/chain.h"
#include "stream/tiles/internal.h"

#include <stdlib.h>
#include <string.h>

/* ---- What can be done in bands ---- */

static hone_status refuse(const hone_chain *chain, size_t step, const char *why, hone_error *error)
{
    return error_unsupported(error, "%s cannot be run in parts, which an image of this size takes here: %s",
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

static hone_status check_chain(const struct tiles *tiles, const hone_chain *chain, const hone_halo *all,
                               hone_error *error)
{
    if (all->reach == HONE_REACH_ELSEWHERE && !chain->steps[all->step].c.filter->turns)
        return refuse(chain, all->step, "its pixels move to other places", error);
    if (all->wraps && tiles->source && !source_is_turned(tiles->source))
        return refuse(chain, 0, "under border=wrap it needs rows twice, which the filter before makes once",
                      error);
    return check_borders(tiles, chain, error);
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

/* Each filter in turn of some of a chain: those with windows, and one that has none. */
static hone_status split_chain(struct tiles *tiles, const hone_chain *chain, hone_error *error)
{
    hone_halo all;
    TRY(hone_chain_halo(chain, &tiles->image.desc, &all, error));
    tiles->halo = all;
    tiles->head_steps = all.reach == HONE_REACH_WINDOW ? chain->count : all.step;
    hone_status status = check_chain(tiles, chain, &all, error);
    THEN(status, part_of(&tiles->head, chain, 0, tiles->head_steps, error));
    if (!status)
        status =
            part_of(&tiles->tail_step, chain, tiles->head_steps, chain->count - tiles->head_steps, error);
    return status;
}

/* What the chain makes of an image of this size and kind, as far as sides stay. */
static hone_status kind_of(const hone_chain *chain, hone_image_desc *image, hone_image_desc *made,
                           hone_error *error)
{
    hone_image_desc row = *image;
    row.height = 1;
    hone_status status = chain ? hone_chain_output(chain, &row, made, error) : HONE_OK;
    if (!chain)
        *made = row;
    image->type = made->type;
    image->channels = made->channels;
    return status;
}

/* Counts add up; other results of all pixels do not. */
static hone_status find_output(struct tiles *tiles, hone_error *error)
{
    const hone_chain *tail = tiles->tail_step;
    hone_image_desc made;
    tiles->between = tiles->image.desc;
    hone_status status = kind_of(tiles->head, &tiles->between, &made, error);
    tiles->output = tiles->between;
    if (status || !tail)
        return status;
    TRY(kind_of(tail, &tiles->output, &made, error));
    if (tail->steps[0].c.filter->turns) {
        tiles->output.width = tiles->between.height;
        tiles->output.height = tiles->between.width;
    } else if (tiles->halo.reach == HONE_REACH_ALL) {
        tiles->output = made;
        if (!case_draws(&tail->steps[0].c) && (made.type != HONE_U32 || made.height != 1))
            return refuse(tail, 0, "its result depends on all pixels at once", error);
    }
    return HONE_OK;
}

/* ---- Chains that are run stage by stage ---- */

/* Whether the result of a step is an image that those behind it read as a new one. */
static bool ends_stage(const hone_chain *chain, size_t step)
{
    const struct hone_filter *filter = chain->steps[step].c.filter;
    return filter->reads != READS_WINDOW && (filter->turns || step + 1 < chain->count);
}

static size_t stages_of(const hone_chain *chain)
{
    size_t stages = 1;
    for (size_t i = 0; i < chain->count; i++)
        stages += ends_stage(chain, i);
    return stages;
}

/* The steps from `first` to the end of their stage: *count, which is 0 where nothing follows a turned image.
 */
static hone_status stage_at(hone_chain **stage, size_t *count, const hone_chain *chain, size_t first,
                            hone_error *error)
{
    *count = 0;
    for (size_t i = first; i < chain->count && (i == first || !ends_stage(chain, i - 1)); i++)
        ++*count;
    return part_of(stage, chain, first, *count, error);
}

/* ---- Making one ---- */

static uint64_t left_of(const hone_device *device)
{
    uint64_t held = 0, most = 0;
    hone_device_memory(device, &held, &most);
    return most > held ? most - held : 0;
}

/* Of several devices, what each has. */
static uint64_t budget(const struct tiles_request *request)
{
    uint64_t least = request->memory ? request->memory : UINT64_MAX;
    const hone_device *device = request->device;
    bool works = true;
    for (size_t i = 0; device; i++) {
        const uint64_t left = works ? left_of(device) : UINT64_MAX;
        least = left < least ? left : least;
        device = request->pool ? pool_device(request->pool, i, &works) : NULL;
    }
    return least;
}

static hone_status check_second(const struct tiles *tiles, const struct tiles_second *second,
                                hone_error *error)
{
    const hone_image_desc *its = &second->image.desc, *first = &tiles->image.desc;
    return its->width == first->width && its->height == first->height
               ? HONE_OK
               : error_usage(error, "the second image of %s is %ux%u, the first one is %ux%u",
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
    tiles->second_tiles = mem_new(request->second_count, sizeof *tiles->second_tiles);
    if (!tiles->seconds || !tiles->second_parts || !tiles->second_tiles)
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

static size_t steps_of(const struct tiles *tiles)
{
    return tiles->first_step + tiles->head_steps + (tiles->tail_step != NULL);
}

/* Of the pool those that work, if they are several. */
static void choose_devices(struct tiles *tiles, const struct tiles_request *request)
{
    hone_device *device, *last = request->device;
    bool works;
    size_t count = 0;
    for (size_t i = 0; request->pool && (device = pool_device(request->pool, i, &works)); i++) {
        count += works;
        last = works ? device : last;
    }
    const bool share = count > 1;
    const size_t slots = 2 * count + 1;
    tiles->device = share ? NULL : last;
    tiles->pool = share ? request->pool : NULL;
    tiles->device_count = share ? count : 1;
    tiles->slots = !share ? TILES_SLOTS : slots < TILES_MOST_SLOTS ? (unsigned)slots : TILES_MOST_SLOTS;
}

/* A stage by itself: the description of what it makes, without memory for it. Takes over the source, on an
 * error, too. */
static hone_status new_stage(struct tiles **out, const hone_chain *chain, const struct tiles_request *request,
                             struct source *source, hone_error *error)
{
    struct tiles *tiles = *out = mem_new(1, sizeof *tiles);
    if (!tiles) {
        source_destroy(&source);
        return error_memory(error, "an image in parts");
    }
    feed_init(&tiles->feed);
    tiles->source = source;
    choose_devices(tiles, request);
    tiles->image = request->input;
    tiles->tell = request->tell;
    tiles->tell_user = request->tell_user;
    tiles->first_step = source ? steps_of(source_inner(source)) : 0;
    tiles->halo.period = 1;
    if (request->plan)
        tiles->plan = *request->plan;
    hone_status status = chain ? split_chain(tiles, chain, error) : HONE_OK;
    THEN(status, find_output(tiles, error));
    if (status)
        tiles_destroy(out);
    return status;
}

static hone_status make_stage(struct tiles **out, const hone_chain *chain,
                              const struct tiles_request *request, struct source *source, hone_error *error)
{
    hone_status status = new_stage(out, chain, request, source, error);
    THEN(status, take_seconds(*out, request, error));
    THEN(status, tiles_fit(*out, request->memory, error));
    if (status && *out)
        tiles_destroy(out);
    return status;
}

hone_status tiles_create(struct tiles **out, const struct tiles_request *request, hone_error *error)
{
    const hone_chain *chain = request->chain;
    struct tiles_request part = *request;
    struct source *source = NULL;
    size_t first = 0, count = 0;
    part.memory = budget(request) / stages_of(chain);
    for (bool last = false; !last; first += count) {
        hone_chain *stage = NULL;
        hone_status status = stage_at(&stage, &count, chain, first, error);
        last = !count || !ends_stage(chain, first + count - 1);
        *out = NULL;
        if (status)
            source_destroy(&source);
        else
            status = make_stage(out, stage, &part, source, error);
        hone_chain_destroy(&stage);
        if (!status && !last) {
            part.seconds += (*out)->second_count;
            part.second_count -= (*out)->second_count;
            status = source_create(&source, *out, chain->steps[first + count - 1].c.filter->turns,
                                   request->target, error);
            *out = NULL;
        }
        if (status)
            return status;
        if (!last)
            part.input = source_image(source);
    }
    return HONE_OK;
}

/* The same without a device. */
hone_status tiles_check(const hone_chain *chain, const hone_image_desc *input, hone_error *error)
{
    struct tiles_request part = {.input = {.desc = *input}};
    hone_status status = HONE_OK;
    size_t first = 0, count = 1;
    for (; count && first < chain->count && !status; first += count) {
        hone_chain *stage = NULL;
        struct tiles *tiles = NULL;
        status = stage_at(&stage, &count, chain, first, error);
        THEN(status, new_stage(&tiles, stage, &part, NULL, error));
        if (!status)
            part.input.desc = tiles->output;
        tiles_destroy(&tiles);
        hone_chain_destroy(&stage);
    }
    return status;
}

void tiles_destroy(struct tiles **slot)
{
    struct tiles *tiles = *slot;
    *slot = NULL;
    if (!tiles)
        return;
    tiles_release(tiles);
    source_destroy(&tiles->source);
    feed_finish(&tiles->feed);
    hone_chain_destroy(&tiles->head);
    hone_chain_destroy(&tiles->tail_step);
    free(tiles->seconds);
    free(tiles->second_parts);
    free(tiles->second_tiles);
    free(tiles);
}

const hone_image_desc *tiles_output(const struct tiles *tiles)
{
    return &tiles->output;
}

double tiles_work(const struct tiles *tiles)
{
    const double before = tiles->source ? tiles_work(source_inner(tiles->source)) : 1;
    return tiles->work > before ? tiles->work : before;
}

hone_status tiles_prepare(struct tiles *tiles, bool *ready, hone_error *error)
{
    *ready = true;
    return tiles->source ? source_prepare(tiles->source, ready, error) : HONE_OK;
}

/* ---- Tiles ---- */

struct result {
    const unsigned char *pixels;
    size_t pitch;
};

static hone_status pull_stream(struct tiles *tiles, struct result *tile, hone_error *error)
{
    hone_stream_result result;
    bool got = false;
    TRY(hone_stream_pull(tiles->stream, &result, &got, error));
    if (!got)
        return feed_failure(&tiles->feed, error);
    if (result.status && error)
        *error = *result.error;
    *tile = (struct result){result.planes[0], result.pitch[0]};
    return result.status;
}

static hone_status pull_shared(struct tiles *tiles, struct result *tile, hone_error *error)
{
    const struct pool_job *job = NULL;
    TRY(feed_wait_pushed(&tiles->feed, tiles->pulled + 1, error));
    TRY(sharing_pull(tiles->sharing, tiles->pulled, &job, error));
    *tile = (struct result){job->out, hone_image_row_bytes(sharing_output(tiles->sharing))};
    tiles_note_job(tiles, job);
    return HONE_OK;
}

/* The next tile's result; others are on their way meanwhile. */
static hone_status pull_tile(struct tiles *tiles, struct result *tile, hone_error *error)
{
    const uint32_t across = bands_count(&tiles->columns);
    feed_release(&tiles->feed, tiles->pulled, tiles->pulled / across);
    TRY(tiles->sharing ? pull_shared(tiles, tile, error) : pull_stream(tiles, tile, error));
    tiles->pulled++;
    return HONE_OK;
}

/* ---- Bands ---- */

/* Of the tiles of a band, their pixels without those around. */
static hone_status join_tiles(struct tiles *tiles, const struct band *rows, hone_error *error)
{
    const size_t row = hone_image_row_bytes(&tiles->between), pixel = row / tiles->between.width;
    hone_status status = HONE_OK;
    for (uint32_t i = 0; i < bands_count(&tiles->columns) && !status; i++) {
        const struct band column = bands_at(&tiles->columns, i);
        struct result tile;
        status = pull_tile(tiles, &tile, error);
        for (uint32_t y = 0; y < rows->count && !status; y++)
            memcpy(tiles->joined + y * row + column.first * pixel,
                   tile.pixels + (size_t)(rows->first - rows->origin + y) * tile.pitch +
                       (size_t)(column.first - column.origin) * pixel,
                   column.count * pixel);
    }
    tiles->band.pixels = tiles->joined;
    tiles->band.pitch = row;
    return status;
}

static hone_status one_tile(struct tiles *tiles, const struct band *rows, hone_error *error)
{
    struct result tile;
    TRY(pull_tile(tiles, &tile, error));
    tiles->band.pitch = tile.pitch;
    tiles->band.pixels = tile.pixels + (size_t)(rows->first - rows->origin) * tile.pitch;
    return HONE_OK;
}

/* Without a head the rows are those of the image. */
static hone_status next_band(struct tiles *tiles, hone_error *error)
{
    const struct band rows = bands_at(&tiles->bands, tiles->done);
    hone_status status = feed_begin(tiles, error);
    if (status)
        return status;
    if (!tiles->head) {
        feed_release(&tiles->feed, 0, tiles->done);
        status = feed_wait(&tiles->feed, tiles->done, error);
        tiles->band.pixels = strips_at(&tiles->strips, tiles->done, 0, rows.first);
        tiles->band.pitch = tiles->strips.pitch;
    } else {
        status = tiles->joined ? join_tiles(tiles, &rows, error) : one_tile(tiles, &rows, error);
    }
    tiles->band.first = rows.first;
    tiles->band.count = status ? 0 : rows.count;
    pthread_mutex_lock(&tiles->feed.lock);
    tiles->done += !status;
    pthread_mutex_unlock(&tiles->feed.lock);
    return status;
}

/* ---- Results ---- */

/* Of the band at hand, as many rows as go at once. Turned, they are columns, and all that there is of them.
 */
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
    const hone_copy_counts copied = tail_copies(tiles->tail);
    tiles_add_copies(tiles, &copied);
    tiles->lost = tiles->lost || tail_has_lost(tiles->tail);
    if (tiles->pool && !status)
        tiles_note_done(tiles, tail_device(tiles->tail));
    rows->pixels = result;
    rows->pitch = hone_image_row_bytes(&tiles->output);
    if (tiles->halo.reach == HONE_REACH_ELSEWHERE)
        rows->pitch = rows->pitch / tiles->output.width * rows->count;
    return status;
}

/* After the last band. */
static hone_status end_rows(struct tiles *tiles, struct tiles_rows *rows, hone_error *error)
{
    const uint32_t y = tiles->ended;
    *rows = (struct tiles_rows){0};
    if (!tiles->tail || tiles->halo.reach != HONE_REACH_ALL || y == tiles->output.height)
        return HONE_OK;
    tiles->ended++;
    *rows = (struct tiles_rows){.first = y, .count = 1, .pitch = hone_image_row_bytes(&tiles->output)};
    return tail_counts(tiles->tail, y, &rows->pixels, error);
}

hone_status tiles_next(struct tiles *tiles, struct tiles_rows *rows, hone_error *error)
{
    hone_status status = HONE_OK;
    *rows = (struct tiles_rows){0};
    for (bool ready = false; !ready && !status;)
        status = tiles_prepare(tiles, &ready, error);
    while (!status && !rows->pixels && (tiles->band.count || tiles->done < bands_count(&tiles->bands))) {
        if (!tiles->band.count)
            status = next_band(tiles, error);
        THEN(status, take_rows(tiles, rows, error));
    }
    if (status || rows->pixels)
        return status;
    return end_rows(tiles, rows, error);
}

/* ---- Beginning later ---- */

bool tiles_can_skip(const struct tiles *tiles)
{
    return (!tiles->source || source_is_turned(tiles->source)) &&
           (!tiles->tail || tiles->halo.reach != HONE_REACH_ALL);
}

size_t tiles_carry_bytes(const struct tiles *tiles)
{
    return tiles->tail ? tail_state_bytes(tiles->tail) : 0;
}

void tiles_get_carry(const struct tiles *tiles, void *carry)
{
    if (tiles->tail)
        tail_get_state(tiles->tail, carry);
}

void tiles_skip(struct tiles *tiles, uint32_t bands, const void *carry)
{
    tiles->pulled = (uint64_t)bands * bands_count(&tiles->columns);
    tiles->done = tiles->strips.begin = bands;
    for (size_t i = 0; i < tiles->second_count; i++)
        tiles->seconds[i].strips.begin = bands;
    if (tiles->tail)
        tail_set_state(tiles->tail, carry);
}
