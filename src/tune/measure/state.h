/* SPDX-License-Identifier: BSD-2-Clause */
/* What a measurement works with: its images on the device, and the right result. */
#pragma once

#include "tune/measure/figures.h"
#include "tune/measure/measure.h"
#include "tune/measure/prebuild.h"
#include "tune/measure/timing.h"

enum { INPUTS = 3 /* rotated */ };

/* An image on the device with rows that begin where wide loads like it. */
struct bench_image {
    struct memory *memory;
    size_t pitch, bytes;
};

struct measure {
    hone_device *device;
    struct filter_case c;
    struct timing_clock clock;
    unsigned processors;        /* not 0: times are processor time, divided by so many */
    struct instance *incumbent; /* the fastest so far, to keep the device awake with */
    double incumbent_ms;
    struct bench_image inputs[INPUTS], second, out;
    int held;     /* the file with the right result on input 0; -1: none */
    void *right;  /* that file, mapped; NULL until it is known to hold one */
    void *result; /* the one that is compared with it */
    struct builders builders;
    const struct figuring *asked;
};

/* ---- images.c ---- */

hone_status measure_make_images(struct measure *measure, hone_error *error);
struct surface measure_surface(const struct bench_image *image);
/* The pixels of input 0 to INPUTS - 1, or (INPUTS) of the second input. */
void measure_fill(struct view *view, uint32_t input);

/* ---- right.c ---- */

/* Opens the file; closes it. */
hone_status measure_open_right(struct measure *measure, const char *path, hone_error *error);
void measure_close_right(struct measure *measure);
/* Whether there is something to compare with; it can be compared with from then on. */
hone_status measure_find_right(struct measure *measure, bool *found, hone_error *error);
/* So that what a kernel leaves out is not what the one before it has left there. */
hone_status measure_poison(struct measure *measure, hone_error *error);
/* Runs on the inputs so that m->out has the result on input 0, as the last of launches that follow each other
 * as those that are timed: what races, races under load. */
hone_status measure_make_result(struct measure *measure, struct instance *instance, hone_error *error);
/* Compares what m->out has with the right result, which is there: a wrong one goes to quarantine. State, ms
 * and note say so. */
void measure_compare(struct measure *measure, struct instance *instance, struct measured *result);
/* Keeps what m->out has as the right result. Only reading it is the configuration's failure. */
hone_status measure_keep_result(struct measure *measure, hone_error *error);
