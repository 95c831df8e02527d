/* SPDX-License-Identifier: BSD-2-Clause */
/* The tables of the documents that the filters come from: data/seeds/, compiled in. */
#pragma once

#include "hone/status.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SEED_LISTED = 8 };

/* A row: which rung of the filter's ladder it is, and what the document says of it. */
struct seed_row {
    const char *name, *title, *rung;
    const char *twin;    /* an exact rung that runs where the device lacks what the row needs; NULL: none */
    const json_t *given; /* the row as written */
};

struct seed_table {
    const char *name, *title, *where, *document, *chain;
    const char *device, *data, *note; /* NULL: not given */
    const char *sizes[SEED_LISTED], *formats[SEED_LISTED];
    int size_count, format_count;
    bool bars;     /* drawn as a figure */
    bool facts;    /* about registers and waves */
    bool passes;   /* passes are looked at by themselves */
    bool estimate; /* speed is estimated from what is moved */
    size_t row_count;
    const json_t *given; /* the table as written */
};

struct seeds;

/* Reads what is compiled in. HONE_ERROR_INTERNAL: it is not as it should be. */
hone_status seeds_open(struct seeds **out, hone_error *error);
void seeds_close(struct seeds **seeds);

/* Tables by number, false beyond the last; by name, false when there is none. Strings last as long as
 * `seeds`. */
bool seeds_at(const struct seeds *seeds, size_t index, struct seed_table *table);
bool seeds_find(const struct seeds *seeds, const char *name, struct seed_table *table);
/* Row `index` of a table; false beyond the last. */
bool seeds_row(const struct seed_table *table, size_t index, struct seed_row *row);

/* The number of the image's size in the table's list; -1: the table has another. */
int seeds_size(const struct seed_table *table, uint32_t width, uint32_t height);

/* What a document gives for a row: one number (then both are the same) or a range; of a list of three and
 * more, the one for size number `size` of the table. False: it says nothing, of that size. */
struct seed_figure {
    double least, most;
};
bool seed_figure(const struct seed_row *row, const char *name, int size, struct seed_figure *figure);
