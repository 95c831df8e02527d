/* SPDX-License-Identifier: BSD-2-Clause */
/* How large the tiles of an image are. */
#include "base/error.h"
#include "base/mem.h"
#include "stream/internal.h"
#include "stream/tiles/internal.h"

#include <stdlib.h>

enum {
    ROW_ALIGN = 64,
    FEWEST = 16,        /* bands for each device, where memory does not want more, so that stages overlap */
    LEAST_ROWS = 64,    /* but not in bands of fewer rows */
    LEAST_COLUMNS = 64, /* nor in columns of fewer pixels */
};

/* What is known: most pixels that a tile may have, bytes for each of them, and how many strips there are. */
struct means {
    uint64_t memory, pixels;
    double each;
    unsigned strips;
};

struct shape {
    struct bands bands, columns;
    double strip_bytes;  /* in host memory, for a row of a region */
    double joined_bytes; /* for a row of a band: results of tiles side by side */
    double work;         /* pixels that are filtered for one of the image */
    uint32_t least;      /* rows of a region */
    unsigned strips;
};

/* ---- Making what tiles of a size need ---- */

void tiles_release(struct tiles *tiles)
{
    feed_end(tiles);
    tiles_note_copies(tiles);
    hone_stream_destroy(&tiles->stream);
    tiles->lost = sharing_destroy(&tiles->sharing, tiles->lost) || tiles->lost;
    void (*const finish)(struct strips *) = tiles->lost ? strips_leave : strips_finish;
    tail_destroy(&tiles->tail);
    finish(&tiles->strips);
    for (size_t i = 0; i < tiles->second_count; i++) {
        finish(&tiles->seconds[i].strips);
        for (int part = 0; part < TILES_SLOTS; part++)
            hone_image_destroy(&tiles->seconds[i].parts[part]);
    }
    if (!tiles->lost)
        free(tiles->joined);
    tiles->joined = NULL;
    tiles->memory = 0;
}

static hone_image_desc part_of(const hone_image_desc *image, const struct tiles *tiles)
{
    hone_image_desc part = *image;
    part.width = tiles->columns.region;
    part.height = tiles->bands.region;
    return part;
}

static hone_status new_second(struct tiles *tiles, struct tiles_second *second, unsigned strips,
                              hone_error *error)
{
    const hone_image_desc part = part_of(&second->image.desc, tiles);
    hone_status status = strips_init(&second->strips, tiles->device, &second->image, &tiles->bands,
                                     &tiles->columns, strips, error);
    for (int i = 0; i < TILES_SLOTS && !tiles->pool && !status; i++)
        status = hone_image_create(&second->parts[i], tiles->device, &part, HONE_MEMORY_DEVICE, error);
    return status;
}

static hone_status new_stream(struct tiles *tiles, hone_error *error)
{
    hone_image_desc here = part_of(&tiles->image.desc, tiles);
    here.pitch = tiles->strips.pitch;
    for (size_t i = 0; i < tiles->second_count; i++)
        tiles->second_parts[i] = part_of(&tiles->seconds[i].image.desc, tiles);
    tiles->plan.second = tiles->second_parts;
    tiles->plan.second_count = tiles->second_count;
    const hone_stream_options options = {.slots = TILES_SLOTS, .plan = &tiles->plan};
    const struct stream_extra extra = {.command = tiles->tell ? tiles_tell_head : NULL, .sends = true};
    return stream_make(&tiles->stream, tiles->device, tiles->head, &here, 1, &options, &extra, error);
}

/* Whether tiles begin where strips do. */
static bool are_whole_rows(const struct tiles *tiles)
{
    return bands_count(&tiles->columns) == 1 && tiles->strips.before == 0;
}

static hone_status new_sharing(struct tiles *tiles, hone_error *error)
{
    const struct sharing_request request = {.pool = tiles->pool,
                                            .chain = tiles->head,
                                            .part = part_of(&tiles->image.desc, tiles),
                                            .seconds = tiles->second_tiles,
                                            .second_count = tiles->second_count,
                                            .slots = tiles->slots,
                                            .lent = are_whole_rows(tiles)};
    for (size_t i = 0; i < tiles->second_count; i++)
        tiles->second_tiles[i] =
            (struct pool_second){tiles->seconds[i].step, part_of(&tiles->seconds[i].image.desc, tiles), NULL};
    return sharing_create(&tiles->sharing, &request, error);
}

static hone_status new_head(struct tiles *tiles, hone_error *error)
{
    return tiles->pool ? new_sharing(tiles, error) : new_stream(tiles, error);
}

static hone_image_desc head_result(const struct tiles *tiles)
{
    hone_image_desc band = tiles->between;
    band.height = tiles->bands.rows;
    return band;
}

/* Its rows are whole; of many columns it takes fewer at once. */
static hone_status new_tail(struct tiles *tiles, hone_error *error)
{
    hone_plan_options plan = tiles->plan;
    hone_image_desc band = head_result(tiles);
    const uint32_t rows = band.height / bands_count(&tiles->columns);
    plan.second = NULL;
    plan.second_count = 0;
    tiles->tail_rows = band.height = rows ? rows : 1;
    hone_status status = tail_create(&tiles->tail, tiles->device, tiles->pool, tiles->tail_step,
                                     tiles->halo.reach, &band, &plan, error);
    if (!status && tiles->tell)
        tail_tell(tiles->tail, tiles_tell_tail, tiles);
    return status;
}

static hone_status new_joined(struct tiles *tiles, hone_error *error)
{
    const hone_image_desc band = head_result(tiles);
    tiles->joined = mem_new(band.height, hone_image_row_bytes(&band));
    return tiles->joined ? HONE_OK : error_memory(error, "the result of a band");
}

static uint64_t host_bytes(const struct tiles *tiles)
{
    const hone_image_desc band = head_result(tiles);
    uint64_t bytes = strips_bytes(&tiles->strips) + (tiles->joined ? hone_image_bytes(&band) : 0) +
                     (tiles->sharing ? sharing_bytes(tiles->sharing) : 0);
    for (size_t i = 0; i < tiles->second_count; i++) {
        const hone_image_desc part = part_of(&tiles->seconds[i].image.desc, tiles);
        bytes += strips_bytes(&tiles->seconds[i].strips);
        if (tiles->pool) /* that devices make for each of their frames */
            bytes += TILES_SLOTS * tiles->device_count * hone_image_bytes(&part);
    }
    return bytes + (tiles->tail ? hone_image_bytes(tail_output(tiles->tail)) : 0);
}

/* By all devices that do tiles. */
static uint64_t held_bytes(const struct tiles *tiles)
{
    uint64_t sum = 0, held = 0;
    hone_device *device;
    bool works;
    if (!tiles->pool)
        hone_device_memory(tiles->device, &sum, NULL);
    for (size_t i = 0; tiles->pool && (device = pool_device(tiles->pool, i, &works)); i++, sum += held)
        hone_device_memory(device, &held, NULL);
    return sum;
}

static uint64_t more_held(const struct tiles *tiles, uint64_t before)
{
    const uint64_t now = held_bytes(tiles);
    return now > before ? now - before : 0;
}

/* Everything for tiles of this size; its bytes in tiles->memory. Of several devices, the first one that comes
 * makes its streams here, and the others later take as much. */
static hone_status try_shape(struct tiles *tiles, const struct shape *shape, hone_error *error)
{
    tiles_release(tiles);
    tiles->bands = shape->bands;
    tiles->columns = shape->columns;
    tiles->work = shape->work;
    const uint64_t before = held_bytes(tiles);
    hone_status status = strips_init(&tiles->strips, tiles->device, &tiles->image, &tiles->bands,
                                     &tiles->columns, shape->strips, error);
    for (size_t i = 0; i < tiles->second_count && !status; i++)
        status = new_second(tiles, &tiles->seconds[i], shape->strips, error);
    if (!status && tiles->head)
        status = new_head(tiles, error);
    if (!status && tiles->tail_step)
        status = new_tail(tiles, error);
    if (!status && bands_count(&tiles->columns) > 1)
        status = new_joined(tiles, error);
    tiles->memory = more_held(tiles, before) * tiles->device_count + host_bytes(tiles);
    return status;
}

/* ---- Choosing the size ---- */

static void weigh_rows(struct shape *shape, const struct tiles *tiles)
{
    const struct bands *columns = &shape->columns;
    size_t pitch = strips_pitch(&tiles->image.desc, columns);
    for (size_t i = 0; i < tiles->second_count; i++)
        pitch += strips_pitch(&tiles->seconds[i].image.desc, columns);
    shape->strip_bytes = (double)(shape->strips * pitch);
    shape->joined_bytes = bands_count(columns) > 1 ? (double)hone_image_row_bytes(&tiles->between) : 0;
}

static double halo_rows(const struct tiles *tiles)
{
    return (double)tiles->halo.top + tiles->halo.bottom;
}

/* As few rows as overlapping stages want, and no more than kernels can index, for results of up to four
 * channels. */
static uint64_t most_rows(const struct tiles *tiles, uint32_t width, const struct means *means)
{
    const uint64_t indexed = INT32_MAX / ((uint64_t)width * 4 + ROW_ALIGN), held = means->pixels / width;
    const uint64_t halo = (uint64_t)halo_rows(tiles);
    uint64_t rows = tiles->image.desc.height / (FEWEST * tiles->device_count);
    rows = rows < 4 * halo ? 4 * halo : rows;
    rows = (rows < LEAST_ROWS ? LEAST_ROWS : rows) + halo;
    rows = rows < indexed ? rows : indexed;
    return rows < held ? rows : held;
}

/* In so many tiles side by side, as high as memory allows. False where it does not. */
static bool shape_in(struct shape *shape, const struct tiles *tiles, uint32_t count,
                     const struct means *means)
{
    const struct side rows = side_of_rows(&tiles->image.desc, &tiles->halo),
                      columns = side_of_columns(&tiles->image.desc, &tiles->halo);
    const uint64_t width = (columns.length + count - 1) / count + (uint64_t)columns.before + columns.behind +
                           (count > 1) * 2 * columns.period;
    *shape = (struct shape){.strips = means->strips};
    if (!bands_make(&shape->columns, &columns, width < columns.length ? (uint32_t)width : columns.length,
                    &shape->least))
        return false;
    const uint32_t wide = shape->columns.region;
    weigh_rows(shape, tiles);
    const uint64_t most = most_rows(tiles, wide, means);
    const double row = means->each * wide + shape->strip_bytes + shape->joined_bytes;
    double room = ((double)means->memory + halo_rows(tiles) * shape->joined_bytes) / row;
    if (room >= rows.length && row * rows.length > (double)means->memory)
        room = rows.length - 1.0; /* one band of all rows has none around it that are not joined */
    if (!bands_make(&shape->bands, &rows, (uint32_t)(room < (double)most ? room : (double)most),
                    &shape->least)) {
        shape->bands.region = 0;
        return false;
    }
    shape->work = (double)wide * bands_count(&shape->columns) / columns.length * shape->bands.region /
                  shape->bands.rows;
    return true;
}

/* A part of the work that is worth a change. */
static const double worth = 0.9;

/* Few large tiles, unless the pixels around them are most of their work. */
static bool choose_shape(struct shape *best, const struct tiles *tiles, const struct means *means)
{
    const uint32_t width = tiles->image.desc.width;
    struct shape shape;
    bool found = shape_in(best, tiles, 1, means);
    for (uint32_t count = 2; tiles->head && width / count >= LEAST_COLUMNS; count *= 2)
        if (shape_in(&shape, tiles, count, means) && (!found || shape.work < worth * best->work)) {
            *best = shape;
            found = true;
        }
    return found;
}

static hone_status does_not_fit(const struct tiles *tiles, const struct shape *shape, uint64_t memory,
                                hone_error *error)
{
    return error_set(error, HONE_ERROR_MEMORY,
                     "the smallest parts of %u rows of %u pixels that the filters can be run in do not fit "
                     "into %.1f MB",
                     shape->least, tiles->image.desc.width, (double)memory * 1e-6);
}

/* Of a pixel in the stream's ring, and a little for what plans need. */
static double expected_bytes(const struct tiles *tiles)
{
    const double in = (double)hone_image_row_bytes(&tiles->image.desc) / tiles->image.desc.width,
                 out = (double)hone_image_row_bytes(&tiles->between) / tiles->between.width;
    bool works;
    const bool shared = memory_is_shared(tiles->pool ? pool_device(tiles->pool, 0, &works) : tiles->device);
    if (!tiles->pool)
        return 1.03 * TILES_SLOTS * (in + out * (shared ? 1 : 2));
    const double streams = shared ? 0 : 2 * (in + out);
    return 1.03 * (TILES_SLOTS * (double)tiles->device_count * streams + tiles->slots * out);
}

/* Memory for a tile is known when it has been taken: what is too large gives way to what should fit by that.
 * If the driver has no memory for the last try, its error is the one that tells. */
static hone_status fit(struct tiles *tiles, struct means means, hone_error *error)
{
    enum { TRIES = 16 };
    const uint64_t memory = means.memory;
    struct shape shape;
    hone_error why = {.status = HONE_OK};
    bool guessed = true;
    for (int i = 0; i < TRIES && (choose_shape(&shape, tiles, &means) || guessed); i++) {
        const uint64_t pixels = (uint64_t)shape.bands.region * shape.columns.region;
        hone_status status = pixels ? try_shape(tiles, &shape, &why) : HONE_OK;
        if (status && status != HONE_ERROR_MEMORY)
            return error_pass(error, &why);
        if (!status)
            why = (hone_error){.status = HONE_OK};
        if (pixels && !status && tiles->memory <= memory)
            return HONE_OK;
        if (status)
            means.pixels = pixels / 2;
        else if (pixels)
            means.each = 1.03 *
                         ((double)tiles->memory - shape.strip_bytes * shape.bands.region -
                          shape.joined_bytes * shape.bands.rows) /
                         (double)pixels;
        else
            means.each /= 2;
        guessed = guessed && !pixels;
    }
    return why.cl_code ? error_pass(error, &why) : does_not_fit(tiles, &shape, memory, error);
}

/* How many strips there are: most, unless bands that are higher by fewer repeat much less. With one alone,
 * reading and filtering take turns, which much less work has to make up for. */
static unsigned choose_strips(const struct tiles *tiles, struct means means)
{
    const double alone = 0.6;
    unsigned best = LEAST_STRIPS;
    double work = 0; /* 0: nothing fits so far */
    for (means.strips = tiles->slots; means.strips >= LEAST_STRIPS; means.strips--) {
        struct shape shape;
        const double less = means.strips > LEAST_STRIPS ? worth : alone;
        if (!choose_shape(&shape, tiles, &means) || (work > 0 && shape.work >= less * work))
            continue;
        best = means.strips;
        work = shape.work;
    }
    return best;
}

hone_status tiles_fit(struct tiles *tiles, uint64_t memory, hone_error *error)
{
    struct means means = {
        .memory = memory, .pixels = UINT64_MAX, .each = tiles->head ? expected_bytes(tiles) : 0};
    means.strips = choose_strips(tiles, means);
    hone_status status = fit(tiles, means, error);
    while (status == HONE_ERROR_MEMORY && means.strips > LEAST_STRIPS) {
        means.strips--;
        status = fit(tiles, means, error);
    }
    return status;
}
