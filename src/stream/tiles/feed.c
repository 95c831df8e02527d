/* SPDX-License-Identifier: BSD-2-Clause */
/* The thread that reads bands and gives their tiles to the device, while others take the results. */
#include "base/error.h"
#include "cl/device.h"
#include "cl/event.h"
#include "stream/tiles/internal.h"

void feed_init(struct feed *feed)
{
    pthread_mutex_init(&feed->lock, NULL);
    pthread_cond_init(&feed->news, NULL);
}

void feed_finish(struct feed *feed)
{
    pthread_cond_destroy(&feed->news);
    pthread_mutex_destroy(&feed->lock);
}

/* ---- The thread ---- */

static hone_status fill_strips(struct tiles *tiles, uint32_t band, hone_error *error)
{
    hone_status status = strips_fill(&tiles->strips, band, error);
    for (size_t i = 0; i < tiles->second_count && !status; i++)
        status = strips_fill(&tiles->seconds[i].strips, band, error);
    return status;
}

/* Waits for it. */
static hone_status upload_part(struct tiles *tiles, hone_image *part, const struct strips *strips,
                               const void *pixels, hone_error *error)
{
    hone_event *done = NULL;
    struct copy_tally tally;
    copy_tally_begin(&tally);
    hone_status status =
        hone_image_upload(part, pixels, strips->pitch, NULL, 0, tiles->tell ? &done : NULL, error);
    copy_tally_end(&tally);
    tiles_add_copies(tiles, &tally.counts);
    if (!status && done)
        status = hone_event_wait(done, error);
    if (!status)
        event_each_command(done, tiles_tell_head, tiles);
    hone_event_destroy(&done);
    return status;
}

/* A part that is free: the tile that used it has been pulled. */
static hone_status bind_second(struct tiles *tiles, const struct tiles_second *second, uint64_t tile,
                               uint32_t band, const struct band *column, hone_error *error)
{
    hone_image *part = second->parts[tile % TILES_SLOTS];
    const struct band rows = bands_at(&tiles->bands, band);
    hone_status status = upload_part(tiles, part, &second->strips,
                                     strips_at(&second->strips, band, column->origin, rows.origin), error);
    return status ? status : hone_stream_bind(tiles->stream, second->step, part, error);
}

/* Their parts of second images go with a tile: any device may do it. */
static void share_tile(struct tiles *tiles, uint64_t tile, uint32_t band, const struct band *rows,
                       const struct band *column)
{
    for (size_t i = 0; i < tiles->second_count; i++) {
        const struct strips *strips = &tiles->seconds[i].strips;
        tiles->second_tiles[i].pixels = strips_at(strips, band, column->origin, rows->origin);
        tiles->second_tiles[i].desc.pitch = strips->pitch;
    }
    sharing_push(tiles->sharing, tile, strips_at(&tiles->strips, band, column->origin, rows->origin),
                 tiles->strips.pitch, tiles->second_tiles);
    feed_tell_pushed(&tiles->feed);
}

static hone_status push_tile(struct tiles *tiles, uint64_t tile, hone_error *error)
{
    const uint32_t across = bands_count(&tiles->columns), band = (uint32_t)(tile / across);
    const struct band rows = bands_at(&tiles->bands, band),
                      column = bands_at(&tiles->columns, (uint32_t)(tile % across));
    hone_status status = HONE_OK;
    if (tiles->sharing) {
        share_tile(tiles, tile, band, &rows, &column);
        return HONE_OK;
    }
    for (size_t i = 0; i < tiles->second_count && !status; i++)
        status = bind_second(tiles, &tiles->seconds[i], tile, band, &column, error);
    const hone_frame frame = {.in = {strips_at(&tiles->strips, band, column.origin, rows.origin)},
                              .in_pitch = {tiles->strips.pitch},
                              .user = tiles};
    return status ? status : hone_stream_push(tiles->stream, &frame, error);
}

/* Until number `index` is less than `ahead` before *done, one of the feed's counts. False to stop. */
static bool wait_until_near(struct feed *feed, uint64_t index, const uint64_t *done, unsigned ahead)
{
    pthread_mutex_lock(&feed->lock);
    while (!feed->stop && index >= *done + ahead)
        pthread_cond_wait(&feed->news, &feed->lock);
    const bool goes_on = !feed->stop;
    pthread_mutex_unlock(&feed->lock);
    return goes_on;
}

static void tell_filled(struct feed *feed, uint32_t bands)
{
    pthread_mutex_lock(&feed->lock);
    feed->filled = bands;
    pthread_cond_broadcast(&feed->news);
    pthread_mutex_unlock(&feed->lock);
}

static bool feed_band(struct tiles *tiles, uint32_t band, hone_status *status, hone_error *error)
{
    const uint32_t across = bands_count(&tiles->columns);
    if (!wait_until_near(&tiles->feed, band, &tiles->feed.needed, tiles->strips.count))
        return false;
    *status = fill_strips(tiles, band, error);
    if (!*status)
        tell_filled(&tiles->feed, band + 1);
    for (uint32_t i = 0; tiles->head && i < across && !*status; i++) {
        const uint64_t tile = (uint64_t)band * across + i;
        /* A push would wait for a slot itself, but not end when it is told to stop. */
        if (!wait_until_near(&tiles->feed, tile, &tiles->feed.released, tiles->slots))
            return false;
        *status = push_tile(tiles, tile, error);
    }
    return !*status;
}

static void *run(void *argument)
{
    struct tiles *tiles = argument;
    struct feed *feed = &tiles->feed;
    hone_error error = {0};
    hone_status status = HONE_OK;
    uint32_t band = tiles->strips.begin;
    while (band < bands_count(&tiles->bands) && feed_band(tiles, band, &status, &error))
        band++;
    pthread_mutex_lock(&feed->lock);
    feed->ended = true;
    feed->status = status;
    feed->error = error;
    pthread_cond_broadcast(&feed->news);
    pthread_mutex_unlock(&feed->lock);
    if (tiles->stream)
        hone_stream_end(tiles->stream, NULL); /* whoever pulls does not wait for what will not come */
    return NULL;
}

/* ---- Those who take the results ---- */

hone_status feed_begin(struct tiles *tiles, hone_error *error)
{
    struct feed *feed = &tiles->feed;
    if (feed->runs)
        return HONE_OK;
    feed->needed = feed->filled = tiles->strips.begin;
    feed->pushed = tiles->pulled;
    feed->runs = pthread_create(&feed->thread, NULL, run, tiles) == 0;
    return feed->runs
               ? HONE_OK
               : error_set(error, HONE_ERROR_MEMORY, "the thread that reads bands could not be started");
}

void feed_end(struct tiles *tiles)
{
    struct feed *feed = &tiles->feed;
    if (!feed->runs)
        return;
    pthread_mutex_lock(&feed->lock);
    feed->stop = true;
    pthread_cond_broadcast(&feed->news);
    pthread_mutex_unlock(&feed->lock);
    pthread_join(feed->thread, NULL);
    feed->runs = false;
}

/* Under the lock. */
static hone_status failure_of(const struct feed *feed, hone_error *error)
{
    if (!feed->status)
        return error_set(error, HONE_ERROR_INTERNAL, "bands ended before the image did");
    if (error)
        *error = feed->error;
    return feed->status;
}

hone_status feed_failure(struct feed *feed, hone_error *error)
{
    pthread_mutex_lock(&feed->lock);
    hone_status status = failure_of(feed, error);
    pthread_mutex_unlock(&feed->lock);
    return status;
}

void feed_release(struct feed *feed, uint64_t tiles, uint64_t bands)
{
    pthread_mutex_lock(&feed->lock);
    feed->released = tiles;
    feed->needed = bands;
    pthread_cond_broadcast(&feed->news);
    pthread_mutex_unlock(&feed->lock);
}

void feed_tell_pushed(struct feed *feed)
{
    pthread_mutex_lock(&feed->lock);
    feed->pushed++;
    pthread_cond_broadcast(&feed->news);
    pthread_mutex_unlock(&feed->lock);
}

hone_status feed_wait_pushed(struct feed *feed, uint64_t tiles, hone_error *error)
{
    pthread_mutex_lock(&feed->lock);
    while (feed->pushed < tiles && !feed->ended)
        pthread_cond_wait(&feed->news, &feed->lock);
    hone_status status = feed->pushed >= tiles ? HONE_OK : failure_of(feed, error);
    pthread_mutex_unlock(&feed->lock);
    return status;
}

hone_status feed_wait(struct feed *feed, uint32_t band, hone_error *error)
{
    pthread_mutex_lock(&feed->lock);
    while (feed->filled <= band && !feed->ended)
        pthread_cond_wait(&feed->news, &feed->lock);
    hone_status status = feed->filled > band ? HONE_OK : failure_of(feed, error);
    pthread_mutex_unlock(&feed->lock);
    return status;
}
