/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * A row of a table: one variant in one configuration, measured on one device and held against the reference.
 *
 * Kernels are timed apart from the copies that a variant needs around them (a 2D image made of a buffer), for
 * the documents' programs begin with images. Inputs are noise, three of them by turns.
 */
#pragma once

#include "filter/variant.h"
#include "hone/device.h"

enum { ROW_RUNS = 15 };

struct row_times {
    double ms;     /* median of the kernels' time */
    double spread; /* half of what lies between the quartiles, as a share of the median */
    double copies; /* ms, median; 0: none, or they cannot be told apart */
    int runs;
    size_t passes; /* kernels of a run whose times are known by themselves */
    double pass_ms[MAX_PASSES];
    bool by_host; /* the device has no clock to believe: the host's, copies and launches included */
};

enum row_verdict { ROW_UNCHECKED, ROW_RIGHT, ROW_WRONG };

struct row {
    const struct variant *variant;
    struct config config;
    char config_text[256];
    bool ran;
    char note[512]; /* why it did not run, or what is wrong, or what else ran */
    enum row_verdict verdict;
    struct row_times times;
    struct cost_values cost; /* for a pixel, by the variant's own model */
    double stored;           /* bytes of the result for a pixel */
};

/* Whether results are right is asked on a small picture, by the reference in plain C. Fills all of *row but
 * variant and config, which the caller sets. `text` is the filter with its parameters, `in` what it gets.
 * Failures are in the row. */
void row_measure(struct row *row, hone_device *device, const char *text, const hone_image_desc *in);

/* Times an instance on the pictures of `measure`; `flat`: with all rows of the input being the first one. */
struct measure;
struct instance;
hone_status row_time(struct measure *measure, struct instance *instance, bool flat, struct row_times *times,
                     hone_error *error);

/* The case of a row: relaxed where the variant asks for it. case_finish is due on HONE_OK alone. */
hone_status row_case(struct filter_case *c, const struct variant *variant, const char *text,
                     const hone_image_desc *in, hone_error *error);
