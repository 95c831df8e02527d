/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/giant/kept.h"

#include "base/error.h"
#include "base/hash.h"
#include "base/mem.h"
#include "cl/device.h"

#include <stdio.h>
#include <stdlib.h>

enum { PLACE = PATH_MAX + 32 };

/* ---- Names ---- */

/* The target of the spool. Pages that are filtered one by one (page 0: there are none) have one each. */
static void find_target(char target[PLACE], const char *output, unsigned page)
{
    snprintf(target, PLACE, page ? "%s.page%u" : "%s", output, page);
}

/* For messages. */
static void name_result(char name[PLACE], const struct engine *engine, const struct item *item)
{
    if (engine->page)
        snprintf(name, PLACE, "page %u of '%s'", engine->page, item->output);
    else
        snprintf(name, PLACE, "'%s'", item->output);
}

/* ---- What rows depend on ---- */

static void add_numbers(struct sha256 *hash, const struct tiles *tiles, unsigned page)
{
    const hone_image_desc *out = tiles_output(tiles);
    struct tiles_state state;
    tiles_get_state(tiles, &state);
    const uint64_t numbers[] = {out->width,      out->height,   out->channels,       (uint64_t)out->type,
                                state.band_rows, state.columns, state.region_pixels, page};
    sha256_add(hash, numbers, sizeof numbers);
}

static void add_devices(struct sha256 *hash, const struct shared_device *shared)
{
    for (size_t i = 0; i < shared->count; i++) {
        const hone_device_info *device = hone_device_get_info(shared->devices[i]);
        sha256_add_text(hash, device->name);
        sha256_add_text(hash, device->driver_version);
    }
}

/* The input, the chain and options; the devices, and how the first one does each step: results of floating
 * point differ in their last digits. */
static void find_key(char key[SHA256_TEXT_SIZE], const struct engine *engine, const struct tiles *tiles)
{
    uint8_t digest[SHA256_SIZE];
    struct sha256 hash;
    hone_step_info step;
    sha256_init(&hash);
    sha256_add_text(&hash, engine->made.key);
    add_devices(&hash, engine->shared);
    add_numbers(&hash, tiles, engine->page);
    for (size_t i = 0; tiles_step(tiles, i, &step); i++) {
        sha256_add_text(&hash, step.filter);
        sha256_add_text(&hash, step.variant);
        sha256_add_text(&hash, step.config);
    }
    sha256_end(&hash, digest);
    sha256_text(digest, key);
}

/* ---- Beginning ---- */

/* NULL: rows can be kept. */
static const char *why_not(const struct engine *engine, const struct tiles *tiles)
{
    if (!engine->made.known)
        return "the input is no file that could be told from another one";
    if (tiles_output(tiles)->height == 1)
        return "the result is one row";
    return tiles_can_skip(tiles) ? NULL : "the chain makes all rows from those before";
}

static hone_status go_on(struct kept *kept, struct tiles *tiles, hone_error *error)
{
    const uint64_t bands = kept->spool.blocks;
    TRY(bands ? spool_read_extra(&kept->spool, bands - 1, kept->carry, error) : HONE_OK);
    kept->rows = (uint32_t)bands * kept->band_rows;
    if (bands)
        tiles_skip(tiles, (uint32_t)bands, kept->carry);
    return HONE_OK;
}

static void tell(const struct kept *kept, const struct engine *engine, const struct item *item,
                 const struct tiles *tiles, enum spool_found found)
{
    const struct common_options *common = &engine->options->common;
    char name[PLACE];
    name_result(name, engine, item);
    if (found == SPOOL_OTHERS)
        cli_warn(common,
                 "%s: the rows that an earlier run kept are of another input, chain, device, memory limit "
                 "or version of hone; "
                 "this run starts at the first row",
                 name);
    else if (kept->rows > 0)
        cli_note(common, "%s: goes on at row %u of %u", name, kept->rows, tiles_output(tiles)->height);
}

hone_status kept_begin(struct kept *kept, const struct engine *engine, const struct item *item,
                       struct tiles *tiles, hone_error *error)
{
    const hone_image_desc *out = tiles_output(tiles);
    struct tiles_state state;
    char key[SHA256_TEXT_SIZE], name[PLACE], target[PLACE];
    enum spool_found found;
    *kept = KEPT_NONE;
    const char *why = engine->options->resume ? why_not(engine, tiles) : NULL;
    name_result(name, engine, item);
    find_target(target, item->output, engine->page);
    if (why)
        cli_warn(&engine->options->common, "%s: --resume keeps no rows: %s", name, why);
    if (why || !engine->options->resume)
        return HONE_OK;
    tiles_get_state(tiles, &state);
    const struct spool_shape shape = {hone_image_row_bytes(out), tiles_carry_bytes(tiles), state.band_rows};
    kept->band_rows = state.band_rows;
    kept->end = out->height / state.band_rows * state.band_rows;
    kept->carry = mem_new(shape.extra + 1, 1);
    if (!kept->carry)
        return error_memory(error, "kept rows");
    find_key(key, engine, tiles);
    hone_status status = spool_open(&kept->spool, target, key, &shape, &found, error);
    kept->on = !status;
    THEN(status, go_on(kept, tiles, error));
    if (!status)
        tell(kept, engine, item, tiles, found);
    return status;
}

/* ---- Rows ---- */

bool kept_has(const struct kept *kept)
{
    return kept->next < kept->rows;
}

hone_status kept_take(struct kept *kept, void *row, hone_error *error)
{
    hone_status status = spool_read(&kept->spool, kept->next, row, error);
    kept->next++;
    return status;
}

bool kept_skips(const struct kept *kept)
{
    return kept->rows > 0 && kept->next == kept->rows;
}

hone_status kept_add(struct kept *kept, const struct tiles *tiles, const void *row, hone_error *error)
{
    if (!kept->on || kept->next >= kept->end)
        return HONE_OK;
    hone_status status = spool_add(&kept->spool, row, error);
    if (status || ++kept->next % kept->band_rows != 0)
        return status;
    tiles_get_carry(tiles, kept->carry);
    return spool_end_block(&kept->spool, kept->carry, error);
}

void kept_end(struct kept *kept, const struct engine *engine, const struct item *item, hone_status status)
{
    char name[PLACE];
    name_result(name, engine, item);
    if (status && kept->on && kept->spool.blocks)
        cli_warn(&engine->options->common, "%s: the same command goes on at row %llu", name,
                 (unsigned long long)(kept->spool.blocks * kept->band_rows));
    spool_close(&kept->spool);
    free(kept->carry);
    *kept = KEPT_NONE;
}

void kept_remove(const char *output, unsigned pages)
{
    char target[PLACE];
    spool_remove(output);
    for (unsigned page = 1; page <= pages && pages > 1; page++) {
        find_target(target, output, page);
        spool_remove(target);
    }
}
