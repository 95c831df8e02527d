/* SPDX-License-Identifier: BSD-2-Clause */
/* What the files of `hone bench` share. */
#pragma once

#include "base/text.h"
#include "cli/cli.h"
#include "cli/guard.h"
#include "lab/bench/ladder.h"
#include "lab/roofs/roofs.h"

#include <jansson.h>

enum { BENCH_DEVICES = 8, BENCH_SIZES = 16, BENCH_FORMATS = 8 };

struct bench_run {
    struct common_options common;
    const char *sizes, *format;
    struct option_list rungs;
    const char *config; /* of the one row, NULL: its own */
    bool facts, probes;
    const char *html; /* the page to write; NULL: none */
    struct text command, page;
    struct guarded_output page_file;
    int page_count; /* of what stands in it */
    bool anew;      /* roofs are measured again */
    struct seeds *seeds;
    hone_device *devices[BENCH_DEVICES];
    struct roofs_list roofs[BENCH_DEVICES];
    int device_count;
    hone_image_desc images[BENCH_SIZES * BENCH_FORMATS]; /* all formats of a size, then those of the next */
    int image_count, format_count;
    struct ladder *ladder; /* the one that is climbed */
    json_t *report;
};

/* What is climbed of run->ladder on run->images[image]: before; after a step, of one device; after all of
 * them, with a result for each step of each device. */
void bench_print_begin(const struct bench_run *run, int image);
void bench_print_step(const struct bench_run *run, int image, int step, const struct climbed *result);
void bench_print_end(const struct bench_run *run, int image, const struct climbed *results);
json_t *bench_json(const struct bench_run *run, int image, const struct climbed *results);
/* Whether the host's clock timed one of the device's steps. */
bool bench_by_host(const struct bench_run *run, int device, const struct climbed *results);
/* Over all images, where there are several sizes: `results` of all of them, one after the other. */
void bench_print_sizes(const struct bench_run *run, const struct climbed *results);

/* `hone bench` alone, and `hone bench roofs`. */
int bench_list_tables(const struct bench_run *run);
int bench_show_roofs(const struct bench_run *run);

/* `hone bench probes`: kernels built to be limited by one thing each. */
int bench_prove_probes(const struct bench_run *run);

/* Opens the devices that are asked for, side by side; their roofs are known or measured. */
hone_status bench_open_devices(struct bench_run *run, hone_error *error);
/* "index", "name", "driver", "clock". */
json_t *bench_device_json(const struct bench_run *run, int device, bool by_host);
json_t *bench_facts_json(const struct facts *facts);

/* `hone bench experiments [NAME...]`; no name: all of them. */
int bench_experiments(struct bench_run *run, char *const *names, int count);
void bench_list_experiments(void);

/* --html: how the command was called; the page begun, unless there is no gnuplot; smaller images, where there
 * is one size; what was climbed; the page written, whose place was taken when it was begun. Without --html
 * these do nothing. */
void html_note_command(struct text *command, int argc, char **argv);
hone_status html_begin(struct bench_run *run, hone_error *error);
void html_add_sizes(struct bench_run *run);
hone_status html_add(struct bench_run *run, const struct climbed *results, hone_error *error);
hone_status html_end(struct bench_run *run, hone_error *error);

/* What a row's kernels are made of and what probes found, under the row; the same for --json. */
void bench_print_closer(const struct climbed *result);
void bench_add_closer(json_t *row, const struct climbed *result);
