/* SPDX-License-Identifier: BSD-2-Clause */
/* What the parts of measuring share. */
#ifndef TUNE_MEASURE_PRIVATE_H
#define TUNE_MEASURE_PRIVATE_H

#include "tune/measure.h"
#include "tune/timing.h"

#include <pthread.h>

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
    void *baseline; /* the first rung's result on input 0; NULL until it is known */
    void *result;   /* the one that is compared with it */
    pthread_t builder;
    bool building, builder_done;
    pthread_mutex_t lock;
    struct filter_case builder_case;
    const struct variant *builder_variant;
    struct config builder_config;
};

/* ---- measure_images.c ---- */

hone_status measure_make_images(struct measure *measure, hone_error *error);
struct surface measure_surface(const struct bench_image *image);

/* ---- measure_ahead.c ---- */

/* Waits for the thread that compiles, if there is one. */
void measure_join_builder(struct measure *measure);

#endif
