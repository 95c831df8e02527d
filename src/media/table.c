/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Pixels as text that programs read: CSV and JSON.
 *
 * CSV: a line per row, the channels of a pixel one after the other. JSON: an object with width, height,
 * channels, type, and `rows`, an array of rows of pixels; a pixel is a number, or with several channels an
 * array of them. Numbers are written with as many digits as bring the same number back; JSON, which has
 * neither, gets null for NaN and infinities.
 *
 * Counts in bins. CSV: a heading, then a line per bin: its edges, and a count for each channel; then, where
 * there was any, what was outside: from -inf to the first edge, from the last to inf, and NaN. JSON: as
 * above, and `edges`, `below`, `above` and `nan`.
 */
#include "media/reader.h"

#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/text.h"

#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
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

/* ---- Counts in bins ---- */

enum { OUTSIDE = 3 };

/* The counts of one bin, the first after `first`, the others after `between`. */
static void add_counts(struct text *out, const struct media_output *output, size_t bin, const char *first,
                       const char *between)
{
    const size_t channels = output->desc.channels;
    for (size_t i = 0; i < channels; i++)
        text_add(out, "%s%u", i ? between : first, ((const uint32_t *)output->pixels)[bin * channels + i]);
}

static bool is_empty(const struct media_output *output, size_t bin)
{
    const size_t channels = output->desc.channels;
    for (size_t i = 0; i < channels; i++)
        if (((const uint32_t *)output->pixels)[bin * channels + i] > 0)
            return false;
    return true;
}

static void add_csv_line(struct text *out, const struct media_output *output, double from, double to,
                         size_t bin)
{
    text_add_number(out, from);
    text_add(out, ",");
    text_add_number(out, to);
    add_counts(out, output, bin, ",", ",");
    text_add(out, "\n");
}

static void add_csv_counts(struct text *out, const struct media_output *output)
{
    const size_t bins = output->options->edge_count - 1;
    const double *edges = output->options->edges,
                 outside[OUTSIDE][2] = {{-INFINITY, edges[0]}, {edges[bins], INFINITY}, {NAN, NAN}};
    text_add(out, "from,to");
    for (uint32_t i = 1; i <= output->desc.channels; i++)
        text_add(out, output->desc.channels > 1 ? ",count%u" : ",count", i);
    text_add(out, "\n");
    for (size_t i = 0; i < bins; i++)
        add_csv_line(out, output, edges[i], edges[i + 1], i);
    for (size_t i = 0; i < OUTSIDE; i++)
        if (!is_empty(output, bins + i))
            add_csv_line(out, output, outside[i][0], outside[i][1], bins + i);
}

/* A number, or with several channels an array. */
static void add_json_counts(struct text *out, const struct media_output *output, size_t bin)
{
    const bool several = output->desc.channels > 1;
    add_counts(out, output, bin, several ? "[" : "", ", ");
    text_add(out, several ? "]" : "");
}

static void add_json_bins(struct text *out, const struct media_output *output)
{
    static const char *const names[OUTSIDE] = {"below", "above", "nan"};
    const size_t bins = output->options->edge_count - 1;
    text_add(
        out,
        "{\n  \"width\": %zu,\n  \"height\": 1,\n  \"channels\": %u,\n  \"type\": \"u32\",\n  \"edges\": [",
        bins, output->desc.channels);
    for (size_t i = 0; i <= bins; i++) {
        text_add(out, i ? ", " : "");
        text_add_number(out, output->options->edges[i]);
    }
    for (size_t i = 0; i < OUTSIDE; i++) {
        text_add(out, "%s  \"%s\": ", i ? ",\n" : "],\n", names[i]);
        add_json_counts(out, output, bins + i);
    }
    text_add(out, ",\n  \"rows\": [\n    [");
    for (size_t i = 0; i < bins; i++) {
        text_add(out, i ? ", " : "");
        add_json_counts(out, output, i);
    }
    text_add(out, "]\n  ]\n}\n");
}

static hone_status write_counts(const struct media_output *output, bool json, hone_error *error)
{
    struct text all = {0};
    hone_status status = HONE_OK;
    if (json)
        add_json_bins(&all, output);
    else
        add_csv_counts(&all, output);
    if (all.failed)
        status = error_memory(error, "a table of counts");
    else if (!file_write_all(output->fd, text_view(&all), all.length))
        status = media_cannot_write(output, errno, error);
    text_finish(&all);
    return status;
}

/* Row y of an output; `line` holds nothing afterwards. */
static hone_status write_row(const struct media_output *output, uint32_t y, bool json, struct text *line,
                             hone_error *error)
{
    const size_t first = output->rows ? 0 : (size_t)y * output->desc.width * output->desc.channels;
    hone_status status = HONE_OK;
    if (json)
        add_json_row(line, output, first, y + 1 == output->desc.height);
    else
        add_csv_row(line, output, first);
    if (line->failed)
        status = error_memory(error, "a row of a table");
    else if (!file_write_all(output->fd, text_view(line), line->length))
        status = media_cannot_write(output, errno, error);
    text_finish(line);
    return status;
}

static hone_status write_rows(const struct media_output *output, void *row, bool json, hone_error *error)
{
    const bool counts = output->options->edges != NULL; /* which are a single row */
    struct text line = {0};
    hone_status status = HONE_OK;
    if (json && !counts)
        add_json_head(&line, &output->desc);
    for (uint32_t y = 0; y < output->desc.height && !status; y++) {
        if (output->rows)
            status = media_next_rows(output, 1, row);
        THEN(status, counts ? write_counts(output, json, error) : write_row(output, y, json, &line, error));
    }
    text_finish(&line);
    return status;
}

hone_status media_write_table(const struct media_output *output, hone_error *error)
{
    struct media_output here = *output;
    void *row = output->rows ? mem_new(hone_image_row_bytes(&output->desc), 1) : NULL;
    if (output->rows && !row)
        return error_memory(error, "a row of a table");
    if (row)
        here.pixels = row;
    hone_status status = write_rows(&here, row, strcmp(output->suffix, ".json") == 0, error);
    free(row);
    return status;
}
