/* SPDX-License-Identifier: BSD-2-Clause */
/* An image on its way through bands of rows. */
#pragma once

#include "cli/apply/apply.h"
#include "cli/giant/kept.h"
#include "stream/tiles.h"

struct giant;

/* An image that is read row by row. */
struct reader {
    struct giant *g;
    size_t second;             /* which of the second images; none for the first image */
    struct media_input *input; /* the first one, or one of ours */
    struct media_input *own;   /* opened again, because rows are needed again */
    uint32_t position;         /* the next row of the input */
};

struct given {
    const hone_device *device;
    hone_command command;
};

struct giant {
    struct engine *engine;
    const struct item *item;
    /* As it came, and stays until the end: what readers open again goes while others may be at it. */
    const struct media_input *image;
    struct media_pages *pages; /* what the image is the next page of; NULL: of nothing */
    struct reader first, *seconds;
    size_t second_count;
    hone_image_desc *second_parts; /* excerpts */
    hone_chain *chain;             /* written for this image; NULL: the user's */
    enum alpha_rule rule;
    struct tiles *tiles;
    struct tiles_rows rows;
    uint32_t taken; /* of `rows` */
    struct kept kept;
    uint64_t begun; /* bands that need not be done */
    double *edges;
    size_t edge_count;
    uint64_t start, shown, pass_start; /* clock_ns */
    hone_copy_counts earlier_copies;   /* of the pass that found a range */
    hone_copies earlier_staged;
    struct apply_result *result;
    pthread_mutex_t telling; /* over its traffic, and what follows */
    struct given *commands;  /* for a trace */
    size_t command_count, command_room;
    bool warned; /* of little memory */
    bool lost;   /* there was no memory for one of them */
};

/* So much of an image that every call takes its description. */
hone_image_desc giant_excerpt(const hone_image_desc *desc);
const hone_image_desc *giant_input(const struct giant *g);
/* Opens g->tiles, which run a chain. */
hone_status giant_make_tiles(struct giant *g, const hone_chain *chain, hone_error *error);

/* readers.c: rows of the image, and of second images, for tiles; `user` is a struct reader. */
hone_status giant_read_rows(void *user, uint32_t first, uint32_t count, void *rows, size_t pitch,
                            hone_error *error);
hone_status giant_open_seconds(struct giant *g, hone_error *error);

/* chain.c: g->chain, by the rule for alpha, the output and the range of what is counted. */
hone_status giant_choose_chain(struct giant *g, hone_error *error);

/* results.c */
hone_status giant_next_band(struct giant *g, hone_error *error);
void giant_show_progress(struct giant *g, bool last);
hone_status giant_store_file(struct giant *g, const char *root, hone_error *error);
hone_status giant_store_page(struct giant *g, hone_error *error);
hone_status giant_store_stdout(struct giant *g, hone_error *error);
