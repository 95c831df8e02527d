/* SPDX-License-Identifier: BSD-2-Clause */
/* hone apply, images in bands: their rows, and those of second images. */
#include "cli/giant/internal.h"

#include "base/error.h"
#include "base/mem.h"
#include "image/view.h"

#include <stdlib.h>

static const char *path_of(const struct reader *reader)
{
    return reader == &reader->g->first ? reader->g->item->input
                                       : reader->g->engine->seconds[reader->second].path;
}

static hone_status open_reader(struct reader *reader, enum notes notes, hone_error *error)
{
    struct giant *g = reader->g;
    if (reader == &g->first)
        return engine_open_input(g->engine, g->item, &reader->own, notes, error);
    const hone_image_desc part = giant_excerpt(giant_input(g));
    return engine_open_second(g->engine, reader->second, &part, giant_max_pixels(g->engine->options), notes,
                              &reader->own, error);
}

static hone_status reopen(struct reader *reader, hone_error *error)
{
    const hone_image_desc before = media_get_info(reader->input)->desc;
    const struct giant *g = reader->g;
    const enum notes notes = reader->position < before.height ? NOTES_OF_ROWS : NOTES_NONE;
    if (reader == &g->first && g->engine->stream)
        return error_unsupported(
            error,
            "an image of this size has to be read twice for this, which a pipe cannot be: name a file");
    media_close(&reader->own);
    TRY(open_reader(reader, notes, error));
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

hone_status giant_read_rows(void *user, uint32_t first, uint32_t count, void *rows, size_t pitch,
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
    hone_status status = open_reader(reader, NOTES_ALL, error);
    g->second_count += !status;
    if (status)
        return status;
    reader->input = reader->own;
    g->second_parts[i] = g->engine->seconds[i].desc = giant_excerpt(&media_get_info(reader->own)->desc);
    if (!media_loads_rows(reader->own))
        status = error_unsupported(
            error,
            "EXIF turns '%s', and an image of this size can only be read row by row: turn its "
            "pixels first ('vips autorot')",
            path_of(reader));
    return status;
}

hone_status giant_open_seconds(struct giant *g, hone_error *error)
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
