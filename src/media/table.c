/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Pixels as text that programs read: CSV and JSON.
 *
 * CSV: a line per row, the channels of a pixel one after the other. JSON: an object with width, height,
 * channels, type, and `rows`, an array of rows of pixels; a pixel is a number, or with several channels an
 * array of them. Numbers are written with as many digits as bring the same number back; JSON, which has
 * neither, gets null for NaN and infinities.
 */
#include "media/reader.h"

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"

#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

static void add_float(struct text *line, float number, bool json)
{
    if (json && !isfinite(number))
        text_add(line, "null");
    else
        text_add_float(line, number);
}

static void add_element(struct text *line, const struct media_output *output, size_t at, bool json)
{
    switch (output->desc.type) {
    case HONE_U8:
        text_add(line, "%u", ((const uint8_t *)output->pixels)[at]);
        break;
    case HONE_U16:
        text_add(line, "%u", ((const uint16_t *)output->pixels)[at]);
        break;
    case HONE_S16:
        text_add(line, "%d", ((const int16_t *)output->pixels)[at]);
        break;
    case HONE_U32:
        text_add(line, "%u", ((const uint32_t *)output->pixels)[at]);
        break;
    case HONE_F32:
        add_float(line, ((const float *)output->pixels)[at], json);
        break;
    }
}

static void add_csv_row(struct text *line, const struct media_output *output, size_t first)
{
    const size_t count = (size_t)output->desc.width * output->desc.channels;
    for (size_t i = 0; i < count; i++) {
        text_add(line, i ? "," : "");
        add_element(line, output, first + i, false);
    }
    text_add(line, "\n");
}

static void add_json_row(struct text *line, const struct media_output *output, size_t first, bool last)
{
    const size_t channels = output->desc.channels, count = output->desc.width * channels;
    text_add(line, "    [");
    for (size_t i = 0; i < count; i++) {
        text_add(line, "%s%s", i ? ", " : "", channels > 1 && i % channels == 0 ? "[" : "");
        add_element(line, output, first + i, true);
        text_add(line, channels > 1 && i % channels + 1 == channels ? "]" : "");
    }
    text_add(line, last ? "]\n  ]\n}\n" : "],\n");
}

static void add_json_head(struct text *line, const hone_image_desc *desc)
{
    text_add(
        line,
        "{\n  \"width\": %u,\n  \"height\": %u,\n  \"channels\": %u,\n  \"type\": \"%s\",\n  \"rows\": [\n",
        desc->width, desc->height, desc->channels, hone_type_name(desc->type));
}

hone_status media_write_table(const struct media_output *output, hone_error *error)
{
    const hone_image_desc *desc = &output->desc;
    const bool json = strcmp(output->suffix, ".json") == 0;
    struct text line = {0};
    hone_status status = HONE_OK;
    if (json)
        add_json_head(&line, desc);
    for (uint32_t y = 0; y < desc->height && !status; y++) {
        const size_t first = (size_t)y * desc->width * desc->channels;
        if (json)
            add_json_row(&line, output, first, y + 1 == desc->height);
        else
            add_csv_row(&line, output, first);
        if (line.failed)
            status = error_memory(error, "a row of a table");
        else if (!file_write_all(output->fd, text_view(&line), line.length))
            status = media_cannot_write(output, errno, error);
        text_finish(&line);
    }
    return status;
}
