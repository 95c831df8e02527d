/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * The T4 format of the FAIR auto-tuning toolkits, schema 1.0.0: what was measured of one case on one device,
 * to be shared with other tuners and to be searched again without a device.
 *
 * Files of hone say more under metadata.x_hone (device, case, the order of values, seeds); files of others
 * are read for replay, but nothing in them says which filter they are of.
 */
#pragma once

#include "base/expr.h"
#include "choose/records.h"
#include "tune/search/space.h"

#include <jansson.h>

/* ---- Records to files and back ---- */

/* Writes what is recorded of the case of a try on its device: of each configuration its last outcome. */
hone_status t4_export(const char *path, const struct records *records, const struct record_try *which,
                      hone_error *error);

/* What a launch does; NAN: not known. */
struct t4_cost {
    double bytes, flops;
};

/* The parts of such a file: one result, and the whole, whose time is in seconds since 1970. JSON that is
 * given is taken over; NULL without memory. `correctness`: the share of right results. */
json_t *t4_result(const struct record_try *t, json_t *configuration, double correctness, struct t4_cost cost);
json_t *t4_file(const struct record_device *device, int64_t time, json_t *own, json_t *results);

/* Adds what a file of hone holds to the user's records: every configuration, and a choice made of the
 * fastest. *added counts the lines; 0 when they are there already. */
hone_status t4_import(const char *path, size_t *added, hone_error *error);

/* The whole file as JSON with a list of results, also where it is a cache file of Kernel Tuner; or an error
 * that says what it is not. */
hone_status t4_load(const char *path, json_t **root, hone_error *error);

/* Whether the file looks like T4, or a cache file, rather than lines of records. */
bool t4_is_one(const char *path);

/* ---- A file as a space to search ---- */

enum { RECORDING_MAX_WORDS = 64, RECORDING_MAX_FIGURES = 24 };

struct recorded {
    struct point point;
    double runs[RECORD_MAX_RUNS]; /* ms, or what they cost by another objective */
    int run_count;
    double ms;   /* their median; negative: it failed */
    double cost; /* what a search makes least: ms, or that of another objective; negative: as above */
    double figures[RECORDING_MAX_FIGURES]; /* those of the recording; NAN: not told */
};

struct recording {
    struct space space;      /* of it exactly the recorded points are legal */
    struct recorded *points; /* in order, for finding them */
    size_t count, capacity;
    struct point seeds[RECORD_MAX_RANKED];
    size_t seed_count;
    char *words[RECORDING_MAX_WORDS]; /* values that are no integers, numbered behind all that are */
    int word_count;
    char figures[RECORDING_MAX_FIGURES][EXPR_MAX_NAME + 1]; /* that results tell of beside their time */
    int figure_count;
};

/* Not to be moved once read: the space points to it. */
hone_status recording_read(struct recording *recording, const char *path, hone_error *error);
void recording_finish(struct recording *recording);
/* The word or the fraction that a value stands for; NULL: it is an integer. */
const char *recording_word(const struct recording *recording, int64_t value);
/* The number that a value is; NAN: a word. */
double recording_number(const struct recording *recording, int64_t value);
/* NULL for a point that was not recorded. */
const struct recorded *recording_find(const struct recording *recording, const struct point *point);
