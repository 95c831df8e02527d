/* SPDX-License-Identifier: BSD-2-Clause */
#include "lab/bench/seeds.h"

#include "base/error.h"
#include "base/mem.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern const char *const seeds_texts[]; /* generated: scripts/embed.cmake */

struct seeds {
    json_t *documents; /* an array of what the files hold */
};

static bool is_table(const json_t *table)
{
    static const char *const texts[] = {"name", "title", "where", "chain", "format"};
    for (size_t i = 0; i < COUNT_OF(texts); i++)
        if (!json_is_string(json_object_get(table, texts[i])))
            return false;
    return json_array_size(json_object_get(table, "sizes")) > 0 &&
           json_array_size(json_object_get(table, "rows")) > 0;
}

static bool is_document(const json_t *document)
{
    size_t index;
    const json_t *table;
    if (!json_is_string(json_object_get(document, "document")))
        return false;
    json_array_foreach(json_object_get(document, "tables"), index, table) if (!is_table(table)) return false;
    return true;
}

hone_status seeds_open(struct seeds **out, hone_error *error)
{
    struct seeds *seeds = mem_new(1, sizeof *seeds);
    *out = seeds;
    if (!seeds)
        return error_memory(error, "the seeds' tables");
    seeds->documents = json_array();
    for (size_t i = 0; seeds_texts[i]; i++) {
        json_error_t where = {0};
        json_t *document = json_loads(seeds_texts[i], 0, &where);
        const bool good = is_document(document);
        const int added = json_array_append(seeds->documents, document);
        json_decref(document);
        if (good && added == 0)
            continue;
        seeds_close(out);
        return error_set(error, HONE_ERROR_INTERNAL, "text %zu of data/seeds is not as it should be: %s", i,
                         good            ? "memory ran out"
                         : where.text[0] ? where.text
                                         : "a table lacks something");
    }
    return HONE_OK;
}

void seeds_close(struct seeds **slot)
{
    if (!slot || !*slot)
        return;
    json_decref((*slot)->documents);
    free(*slot);
    *slot = NULL;
}

static const char *text_of(const json_t *object, const char *key)
{
    return json_string_value(json_object_get(object, key));
}

static int list_of(const json_t *list, const char **texts)
{
    int count = 0;
    for (size_t i = 0; i < json_array_size(list) && count < SEED_LISTED; i++)
        texts[count++] = json_string_value(json_array_get(list, i));
    return count;
}

static void read_table(const json_t *document, const json_t *given, struct seed_table *table)
{
    *table = (struct seed_table){.name = text_of(given, "name"),
                                 .title = text_of(given, "title"),
                                 .where = text_of(given, "where"),
                                 .document = text_of(document, "document"),
                                 .chain = text_of(given, "chain"),
                                 .device = text_of(given, "device"),
                                 .data = text_of(given, "data"),
                                 .note = text_of(given, "note"),
                                 .bars = json_is_true(json_object_get(given, "bars")),
                                 .facts = json_is_true(json_object_get(given, "facts")),
                                 .estimate = json_is_true(json_object_get(given, "estimate")),
                                 .passes = json_is_true(json_object_get(given, "passes")),
                                 .row_count = json_array_size(json_object_get(given, "rows")),
                                 .given = given};
    table->size_count = list_of(json_object_get(given, "sizes"), table->sizes);
    table->format_count = list_of(json_object_get(given, "formats"), table->formats);
    if (table->format_count == 0)
        table->formats[table->format_count++] = text_of(given, "format");
}

bool seeds_at(const struct seeds *seeds, size_t index, struct seed_table *table)
{
    for (size_t i = 0; i < json_array_size(seeds->documents); i++) {
        const json_t *document = json_array_get(seeds->documents, i),
                     *tables = json_object_get(document, "tables");
        if (index < json_array_size(tables)) {
            read_table(document, json_array_get(tables, index), table);
            return true;
        }
        index -= json_array_size(tables);
    }
    return false;
}

bool seeds_find(const struct seeds *seeds, const char *name, struct seed_table *table)
{
    for (size_t i = 0; seeds_at(seeds, i, table); i++)
        if (strcmp(table->name, name) == 0)
            return true;
    return false;
}

bool seeds_row(const struct seed_table *table, size_t index, struct seed_row *row)
{
    const json_t *given = json_array_get(json_object_get(table->given, "rows"), index);
    if (!given)
        return false;
    *row = (struct seed_row){.name = text_of(given, "name"),
                             .title = text_of(given, "title"),
                             .rung = text_of(given, "rung"),
                             .twin = text_of(given, "twin"),
                             .given = given};
    return row->name && row->title && row->rung;
}

int seeds_size(const struct seed_table *table, uint32_t width, uint32_t height)
{
    char text[32];
    snprintf(text, sizeof text, "%ux%u", width, height);
    for (int i = 0; i < table->size_count; i++)
        if (strcmp(text, table->sizes[i]) == 0)
            return i;
    return -1;
}

bool seed_figure(const struct seed_row *row, const char *name, int size, struct seed_figure *figure)
{
    const json_t *given = json_object_get(row->given, name);
    const bool range = json_array_size(given) == 2;
    const json_t *least = range                  ? json_array_get(given, 0)
                          : json_is_array(given) ? json_array_get(given, size < 0 ? SIZE_MAX : (size_t)size)
                                                 : given;
    *figure = (struct seed_figure){json_number_value(least),
                                   json_number_value(range ? json_array_get(given, 1) : least)};
    return figure->most > 0;
}
