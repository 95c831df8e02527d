/* SPDX-License-Identifier: BSD-2-Clause */
#include "stream/tiles/source.h"

#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"
#include "stream/tiles/internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A turned band: the columns of the result from `first` on, in the file behind those before. */
struct block {
    uint32_t first, count;
};

struct source {
    struct tiles *inner;
    struct tiles_rows rows; /* of it, what is left; not turned */
    hone_image_desc desc;
    size_t pixel;
    bool turned, ready;
    int file; /* -1: not made yet */
    char *target;
    struct block *blocks;
    size_t count, capacity;
};

hone_status source_create(struct source **out, struct tiles *inner, bool turned, const char *target,
                          hone_error *error)
{
    struct source *source = *out = mem_new(1, sizeof *source);
    if (!source) {
        tiles_destroy(&inner);
        return error_memory(error, "an image in parts");
    }
    source->inner = inner;
    source->desc = *tiles_output(inner);
    source->pixel = hone_image_row_bytes(&source->desc) / source->desc.width;
    source->turned = turned;
    source->file = -1;
    source->target = target ? mem_copy_text(target) : NULL;
    if (source->target || !target)
        return HONE_OK;
    source_destroy(out);
    return error_memory(error, "an image in parts");
}

void source_destroy(struct source **slot)
{
    struct source *source = *slot;
    *slot = NULL;
    if (!source)
        return;
    tiles_destroy(&source->inner);
    if (source->file >= 0)
        close(source->file);
    free(source->blocks);
    free(source->target);
    free(source);
}

bool source_is_turned(const struct source *source)
{
    return source->turned;
}

struct tiles *source_inner(struct source *source)
{
    return source->inner;
}

/* ---- Turned ---- */

static hone_status no_file(const char *what, hone_error *error)
{
    return error_io(error, "cannot %s the temporary file that the image is turned in: %s", what,
                    errno ? strerror(errno) : "it has become shorter");
}

static hone_status keep_block(struct source *source, const struct tiles_rows *turned, hone_error *error)
{
    TRY(source->file < 0 ? file_unnamed(&source->file, source->target, error) : HONE_OK);
    if (!mem_grow(&source->blocks, &source->capacity, source->count + 1, sizeof *source->blocks))
        return error_memory(error, "a turned image");
    source->blocks[source->count++] = (struct block){turned->first, turned->count};
    if (!file_write_all(source->file, turned->pixels, turned->pitch * source->desc.height))
        return no_file("write", error);
    return HONE_OK;
}

hone_status source_prepare(struct source *source, bool *ready, hone_error *error)
{
    struct tiles_rows turned;
    bool begun = false;
    *ready = source->ready;
    hone_status status = source->ready ? HONE_OK : tiles_prepare(source->inner, &begun, error);
    if (status || !begun)
        return status;
    if (source->turned) {
        status = tiles_next(source->inner, &turned, error);
        if (!status && turned.count)
            return keep_block(source, &turned, error);
        tiles_release(source->inner);
    }
    *ready = source->ready = !status;
    return status;
}

/* Rows of one block to their places in rows of the image. */
static hone_status read_block(const struct source *source, const struct block *block, uint32_t first,
                              uint32_t count, unsigned char *to, size_t pitch, hone_error *error)
{
    const size_t row = block->count * source->pixel;
    unsigned char *rows = mem_new(count, row), *at = to + block->first * source->pixel;
    if (!rows)
        return error_memory(error, "a turned image");
    const uint64_t from =
        (uint64_t)block->first * source->pixel * source->desc.height + (uint64_t)first * row;
    errno = 0;
    hone_status status = file_read_at(source->file, rows, count * row, (off_t)from) == (ssize_t)(count * row)
                             ? HONE_OK
                             : no_file("read", error);
    for (uint32_t i = 0; i < count && !status; i++)
        memcpy(at + i * pitch, rows + i * row, row);
    free(rows);
    return status;
}

static hone_status read_turned(void *user, uint32_t first, uint32_t count, void *rows, size_t pitch,
                               hone_error *error)
{
    enum { AT_ONCE = 1 << 20 };
    const struct source *source = user;
    hone_status status = HONE_OK;
    for (size_t i = 0; i < source->count; i++) {
        const struct block *block = &source->blocks[i];
        const size_t row = block->count * source->pixel;
        const uint32_t most = row < AT_ONCE ? (uint32_t)(AT_ONCE / row) : 1;
        for (uint32_t y = 0; y < count && !status; y += most)
            status = read_block(source, block, first + y, count - y < most ? count - y : most,
                                (unsigned char *)rows + y * pitch, pitch, error);
    }
    return status;
}

/* ---- As it comes ---- */

static hone_status read_next(void *user, uint32_t first, uint32_t count, void *rows, size_t pitch,
                             hone_error *error)
{
    struct source *source = user;
    struct tiles_rows *left = &source->rows;
    const size_t row = hone_image_row_bytes(&source->desc);
    hone_status status = HONE_OK;
    (void)first;
    for (uint32_t y = 0; y < count && !status; y++) {
        if (left->count == 0)
            status = tiles_next(source->inner, left, error);
        if (!status && left->count == 0)
            status =
                error_set(error, HONE_ERROR_INTERNAL, "a part of the chain has fewer rows than were said");
        if (status)
            break;
        memcpy((unsigned char *)rows + y * pitch, left->pixels, row);
        left->pixels = (const unsigned char *)left->pixels + left->pitch;
        left->count--;
    }
    return status;
}

struct tiles_image source_image(struct source *source)
{
    return (struct tiles_image){source->desc, source->turned ? read_turned : read_next, source};
}
