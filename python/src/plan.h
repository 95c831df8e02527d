/* SPDX-License-Identifier: BSD-2-Clause */
/** Plan objects, and one run of a plan over a stack. */
#ifndef HONE_PYTHON_PLAN_H
#define HONE_PYTHON_PLAN_H

#include "view.h"

#include <pthread.h>

enum { PLAN_SECONDS = 16 }; /* steps with second images; a chain is rarely longer than three */

/** The options that plans and streams share, as read from Python. */
struct plan_request {
    hone_plan_options options;
    hone_image_desc seconds[PLAN_SECONDS];
    int reproducible;
};

/** Reads (width, height, type, channels)... into request->seconds. Returns false with an exception set. */
bool plan_request_seconds(PyObject *sequence, struct plan_request *request);

/** Parses the chain as the request wants it. */
hone_status plan_request_chain(const struct plan_request *request, const char *text, hone_chain **chain,
                               hone_error *error);

typedef struct plan {
    PyObject_HEAD hone_plan *made;
    PyObject *device;
    pthread_mutex_t lock; /* taken without the GIL only */
    hone_image_desc input;
    size_t second_steps[PLAN_SECONDS], second_count; /* steps that take a second image */
} plan;

/** A second image, for the planes of a stack. */
struct second {
    const view *view;
    void *tight; /* NULL: the planes are used as they lie */
    hone_image *image;
    Py_ssize_t plane; /* that `image` is, or -1 */
};

/** One run: everything that works without the GIL. */
struct run {
    plan *plan;
    hone_device *device;
    const view *in, *out;
    void *in_tight, *out_tight; /* NULL: as it lies */
    struct second seconds[PLAN_SECONDS];
    hone_copy_counts copies;
    unsigned long long gathered, scattered; /* bytes copied by the CPU here */
    double device_seconds;
    PyThreadState *state; /* while the GIL is released */
};

/** Allocates what is to be copied; `through`: the result goes through memory of its own. Needs the GIL. */
bool run_prepare(struct run *run, bool through);
/** Runs all planes, with the GIL released inside. Returns false with an exception set. */
bool run_planes(struct run *run);
void run_finish(struct run *run);

#endif
