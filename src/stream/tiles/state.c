/* SPDX-License-Identifier: BSD-2-Clause */
/* What has been done, as callers hear of it. */
#include "cl/device.h"
#include "stream/tiles.h"
#include "stream/tiles/internal.h"

#include <string.h>

static void add_copies(hone_copies *sum, const hone_copies *more)
{
    sum->count += more->count;
    sum->bytes += more->bytes;
}

static size_t row_bytes(const hone_image_desc *desc)
{
    return desc->pitch ? desc->pitch : hone_image_row_bytes(desc);
}

static void tell(const struct tiles *tiles, const hone_device *device, const hone_command *command,
                 size_t first, const hone_image_desc *in, const hone_image_desc *out)
{
    struct tiles_command told = {*command, device, *in, *out};
    told.c.step += command->step == HONE_NO_STEP ? 0 : first;
    told.in.pitch = row_bytes(in);
    told.out.pitch = row_bytes(out);
    tiles->tell(tiles->tell_user, &told);
}

static void tell_head(const struct tiles *tiles, const hone_device *device, const hone_image_desc *out,
                      const hone_command *command)
{
    hone_image_desc in = tiles->image.desc;
    in.width = tiles->columns.region;
    in.height = tiles->bands.region;
    in.pitch = tiles->strips.pitch;
    tell(tiles, device, command, tiles->first_step, &in, out);
}

void tiles_tell_head(void *user, const hone_command *command)
{
    const struct tiles *tiles = user;
    tell_head(tiles, tiles->device, hone_stream_output(tiles->stream, 0), command);
}

void tiles_note_done(struct tiles *tiles, unsigned device)
{
    pthread_mutex_lock(&tiles->feed.lock);
    tiles->done_by[device]++;
    pthread_mutex_unlock(&tiles->feed.lock);
}

void tiles_note_job(struct tiles *tiles, const struct pool_job *job)
{
    bool works;
    const hone_device *device = pool_device(tiles->pool, job->device, &works);
    for (size_t i = 0; tiles->tell && i < job->command_count; i++)
        tell_head(tiles, device, sharing_output(tiles->sharing), &job->commands[i]);
    pthread_mutex_lock(&tiles->feed.lock);
    copy_counts_add(&tiles->copies, &job->copies);
    add_copies(&tiles->staged, &job->staged);
    pthread_mutex_unlock(&tiles->feed.lock);
    tiles_note_done(tiles, job->device);
}

void tiles_tell_tail(void *user, const hone_command *command)
{
    const struct tiles *tiles = user;
    bool works;
    const hone_device *device =
        tiles->pool ? pool_device(tiles->pool, tail_device(tiles->tail), &works) : tiles->device;
    hone_image_desc band = tiles->between;
    band.height = tiles->tail_rows;
    band.pitch = tiles->band.pitch;
    tell(tiles, device, command, tiles->first_step + tiles->head_steps, &band, tail_output(tiles->tail));
}

void tiles_add_copies(struct tiles *tiles, const hone_copy_counts *copies)
{
    pthread_mutex_lock(&tiles->feed.lock);
    copy_counts_add(&tiles->its_copies, copies);
    pthread_mutex_unlock(&tiles->feed.lock);
}

/* Its copies. */
static void state_of_stream(const struct tiles *tiles, struct tiles_state *state)
{
    hone_stream_stats stats;
    hone_stream_get_stats(tiles->stream, &stats);
    state->copies = stats.copies;
    state->staged = stats.copies_in;
    add_copies(&state->staged, &stats.copies_out);
}

void tiles_note_copies(struct tiles *tiles)
{
    struct tiles_state state;
    if (!tiles->stream)
        return;
    state_of_stream(tiles, &state);
    tiles->copies = state.copies;
    tiles->staged = state.staged;
}

static void add_state(struct tiles_state *sum, const struct tiles_state *more)
{
    sum->bands += more->bands;
    sum->done += more->done;
    sum->memory += more->memory;
    if (sum->region_pixels < more->region_pixels)
        sum->region_pixels = more->region_pixels;
    copy_counts_add(&sum->copies, &more->copies);
    add_copies(&sum->staged, &more->staged);
    for (int i = 0; i < POOL_DEVICES; i++)
        sum->done_by[i] += more->done_by[i];
}

void tiles_get_state(const struct tiles *tiles, struct tiles_state *state)
{
    pthread_mutex_t *lock = (pthread_mutex_t *)&tiles->feed.lock;
    pthread_mutex_lock(lock);
    const uint32_t done = tiles->done;
    const hone_copy_counts its_copies = tiles->its_copies;
    *state = (struct tiles_state){.bands = bands_count(&tiles->bands),
                                  .done = done,
                                  .columns = bands_count(&tiles->columns),
                                  .band_rows = tiles->bands.rows,
                                  .region_pixels = (uint64_t)tiles->bands.region * tiles->image.desc.width,
                                  .memory = tiles->memory,
                                  .copies = tiles->copies,
                                  .staged = tiles->staged};
    memcpy(state->done_by, tiles->done_by, sizeof state->done_by);
    pthread_mutex_unlock(lock);
    if (tiles->stream)
        state_of_stream(tiles, state);
    copy_counts_add(&state->copies, &its_copies);
    if (tiles->source) {
        struct tiles_state before;
        tiles_get_state(source_inner(tiles->source), &before);
        add_state(state, &before);
    }
}

bool tiles_step(const struct tiles *tiles, size_t step, hone_step_info *info)
{
    if (step < tiles->first_step)
        return tiles_step(source_inner(tiles->source), step, info);
    step -= tiles->first_step;
    if (step < tiles->head_steps)
        return tiles->sharing ? sharing_step(tiles->sharing, step, info)
                              : tiles->stream && hone_stream_step(tiles->stream, 0, step, info);
    return step == tiles->head_steps && tiles->tail && tail_step(tiles->tail, info);
}
