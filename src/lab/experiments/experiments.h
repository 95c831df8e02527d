/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * The open questions of the documents that the filters come from, asked of a device: each an experiment of
 * two or more ways of doing the same, timed by turns, with results compared wherever they must agree.
 */
#pragma once

#include "hone/device.h"
#include "lab/bench/row.h"
#include "tune/facts/facts.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { EXPERIMENT_ARMS = 24, EXPERIMENT_TURNS = 9, EXPERIMENT_UNIT = 16 };

struct experiment;

/* Static. */
struct experiment_text {
    const char *name;     /* "local-memory" */
    const char *title;    /* in a few words */
    const char *where;    /* which document and section asks */
    const char *question; /* a sentence or two */
};

/* One way of doing it. */
struct arm_result {
    char name[64];
    const char *title;   /* static */
    const char *differs; /* why its result need not be right; NULL: it must be. Static */
    bool ran;
    char note[256]; /* why it did not run */
    enum row_verdict verdict;
    double worst; /* largest difference from what is right; negative: not compared */
    double ms;    /* median */
    double spread;
    double gain; /* over the first arm, or over the one that it is to be compared with; 0: that did not run */
    int turns;
    double longest_ms; /* the longest launch of the best run, where the work is split; else 0 */
    bool has_facts;
    struct facts facts;
};

struct experiment_result {
    uint32_t width, height;
    bool by_host; /* times are the host's clock's */
    size_t count;
    struct arm_result arms[EXPERIMENT_ARMS];
    char seen[512]; /* what the figures say, in a sentence */
};

size_t experiments_count(void);
const struct experiment *experiments_at(size_t index);
/* NULL: there is none of this name. */
const struct experiment *experiments_find(const char *name);
struct experiment_text experiment_describe(const struct experiment *experiment);

/* Runs one on pictures of width x height, both multiples of EXPERIMENT_UNIT (0: its own size). What single
 * arms cannot do is in the result; only what the whole experiment needs is an error. */
hone_status experiment_run(const struct experiment *experiment, hone_device *device, uint32_t width,
                           uint32_t height, struct experiment_result *result, hone_error *error);
