/* SPDX-License-Identifier: BSD-2-Clause */
/* What the files of this folder share. */
#pragma once

#include "cl/program.h"
#include "hone/pixels.h"
#include "lab/experiments/experiments.h"
#include "tune/measure/timing.h"

/* The folder's *.cl, compiled in; ends with an empty one. */
struct experiment_file {
    const char *name, *text;
};
extern const struct experiment_file experiment_files[];
/* NULL: there is none of this name. */
const char *experiment_file_text(const char *file);

enum { RADIUS = 2 /* of the windows in windows.cl */, ARM_PASSES = 2 };

/* Over what a kernel runs. */
enum region {
    REGION_PIXELS,
    REGION_ROWS,    /* a work-item for each row */
    REGION_COLUMNS, /* and for each column */
    REGION_PADDED,  /* pixels, with RADIUS more on every side */
    REGION_INSIDE,  /* with RADIUS less */
    REGION_EDGE     /* what REGION_INSIDE leaves out, counted along it */
};

struct arm_pass {
    const char *kernel; /* NULL: there is none */
    enum region region;
};

struct arm {
    const char *name, *title;
    struct arm_pass passes[ARM_PASSES];
    const char *options;
    size_t local[2];     /* 0: the experiment's */
    size_t across;       /* pixels of a work-item along a row; 0: 1 */
    bool parts;          /* in launches of `split_ms` at most */
    double split_ms;     /* see parts */
    bool image;          /* reads a 2D image instead of a buffer */
    bool cold;           /* caches are emptied before each run */
    bool any_group;      /* the driver chooses the work-group */
    const char *differs; /* see struct arm_result */
};

/* Makes what is right, of the whole picture or of its first rows; returns how many those are. */
typedef uint32_t right_function(const void *in, void *out, uint32_t width, uint32_t height, int parameter);

struct experiment {
    struct experiment_text text;
    hone_status (*run)(const struct experiment *experiment, hone_device *device,
                       struct experiment_result *result, hone_error *error);
    uint32_t width, height; /* unless others are asked for */
    /* For experiments on kernels (run_kernels) alone. */
    const char *file; /* in this folder; the chain of run_bayer and run_rainbow */
    hone_type in, out;
    unsigned channels;
    size_t local[2];
    int parameter;
    double aim_ms; /* `parameter` grows until the first arm takes so long; 0: it stays */
    double bound;  /* of differences, absolute */
    right_function *right;
    const struct arm *arms;
    size_t arm_count;
};

hone_status run_kernels(const struct experiment *e, hone_device *device, struct experiment_result *result,
                        hone_error *error);
hone_status run_transfers(const struct experiment *e, hone_device *device, struct experiment_result *result,
                          hone_error *error);
hone_status run_bayer(const struct experiment *e, hone_device *device, struct experiment_result *result,
                      hone_error *error);
hone_status run_rainbow(const struct experiment *e, hone_device *device, struct experiment_result *result,
                        hone_error *error);

/* A new arm of a result. NULL where there are too many. */
struct arm_result *arm_add(struct experiment_result *result, const char *name, const char *title);
/* That it does not run, and why. */
void arm_fails(struct arm_result *arm, const hone_error *error);

/* Runs all arms that can, by turns, and fills their times. `run` gives the milliseconds of one run of an
 * arm. */
typedef hone_status arm_run(void *context, size_t arm, double *ms, hone_error *error);
void take_turns(struct experiment_result *result, arm_run *run, void *context);

/* Fills arm->gain: take_turns compares all with the first. */
void compare_with(struct arm_result *arm, const struct arm_result *base);

/* Says in `seen` which arm is the fastest, and how far from it the first one is. */
void say_fastest(struct experiment_result *result);

right_function right_convolution, right_rows, right_columns, right_corners, right_curve, right_windows,
    right_quotients, right_rounds;
