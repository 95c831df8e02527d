/* SPDX-License-Identifier: BSD-2-Clause */
/* hone apply: one chain on one device, image after image. */
#ifndef CLI_APPLY_H
#define CLI_APPLY_H

#include "cli/cli.h"
#include "cli/items.h"
#include "hone/hone.h"

#include <pthread.h>

struct apply_options {
    struct common_options common;
    const char *output, *variant, *config, *tune, *format;
    bool force, accept_damaged, recursive, no_fuse;
    double quality; /* 0: the default */
    double timeout; /* seconds; 0: none; negative: by the size of the work */
    double jobs;    /* images at a time; 0: as many as there are processors */
};

/* What became of one input. */
struct apply_result {
    const struct item *item;
    int exit_status;
    hone_error error;        /* unless exit_status is EXIT_DONE */
    hone_image_desc in, out; /* the images */
    const char *format;      /* of the input: "PNG" */
    bool gray_alpha;         /* the output was written as gray and alpha */
    double device_seconds;   /* 0: the device has no clock */
    double wall_seconds;     /* from handing the pixels over to having the result */
    bool zero_copy;
};

/* The device, opened when the first image needs it, for all engines. What is asked of it happens under the
 * lock: its queue does one thing after the other anyway, and not every driver bears several threads at once
 * (Oclgrind 21.10 does not). */
struct shared_device {
    pthread_mutex_t lock;
    hone_device *device;
};

/**
 * Everything that stays from one image to the next: the plan (as long as images have the same shape), the
 * pixels, and the second images of filters that take two. Threads: one at a time.
 */
struct engine {
    const struct apply_options *options;
    const hone_chain *chain;
    struct shared_device *shared;
    unsigned engines; /* that share the memory at this time */
    char *chain_text;
    hone_device *device; /* the shared one, once it is open */
    hone_plan *plan;
    hone_image_desc planned; /* the input that the plan was made for */
    struct pixels {
        void *data; /* page-aligned, so that devices that share memory need no copy */
        size_t bytes;
        hone_image *image;
    } in, out;
    struct second {
        size_t step;
        const char *path;
        hone_image_desc desc;
        void *data;
        hone_image *image;
    } * seconds;
    size_t second_count;
};

/* Finds the second images that the chain names, without reading them. engine_end is due in any case. */
hone_status engine_begin(struct engine *engine, const struct apply_options *options, const hone_chain *chain,
                         struct shared_device *shared, hone_error *error);
/* Leaves it zeroed, so that it may come twice. */
void engine_end(struct engine *engine);

/* One input to one output; `result` says what came of it. */
void engine_apply(struct engine *engine, const struct item *item, const char *root,
                  struct apply_result *result);

/* Whether the result goes to standard output (-o -). */
bool apply_to_stdout(const struct apply_options *options);
/* Writes the result of the plan's last run, `input` being the image that it was made of. */
struct media_input;
hone_status apply_store(const struct engine *engine, const struct item *item, const char *root,
                        const struct media_input *input, hone_error *error);

/* Opens the device that the options name, or the one that is expected to be done first. */
hone_status apply_open_device(const struct engine *engine, const hone_image_desc *input,
                              const hone_image_desc *second, hone_device **out, hone_error *error);
/* Tunes the chain for images like `input` on the engine's device where that has not been done. */
hone_status apply_tune(const struct engine *engine, const hone_image_desc *input,
                       const hone_image_desc *second, hone_error *error);

/* All items, several at a time, reported in their order. Gives the largest exit status. */
int apply_items(const struct apply_options *options, const hone_chain *chain, const struct items *items);

/* Reports one result of `count`: messages to stderr, one line on a terminal, or JSON. */
void apply_report(const struct engine *engine, struct apply_result *result, size_t count);
/* Shows on a terminal which input is being worked on; `index` counts from 0. */
void apply_progress(const struct apply_options *options, size_t index, size_t count);

#endif
