/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * What holds for every filter, checked from its description: harness_describe() looks at the description and
 * its kernel files, harness_variant() runs a variant over configurations, formats, borders, sizes and
 * contents and compares with the reference. Both write into a report, so that tests can check that broken
 * filters are caught.
 */
#ifndef TESTS_HARNESS_H
#define TESTS_HARNESS_H

#include "base/text.h"
#include "filter/check.h"
#include "filter/filter.h"
#include "hone/device.h"

enum effort {
    EFFORT_LEAST,   /* each parameter set once, one picture, nothing copied aside; for what takes minutes
                       otherwise */
    EFFORT_QUICK,   /* as tiny, with fewer configurations, more channels and one larger picture, and what of
                       descriptions needs no building */
    EFFORT_TINY,    /* for simulators: small pictures, few of everything */
    EFFORT_DEFAULT, /* each format, border, parameter set and value of a tunable, but not each with each */
    EFFORT_ALL      /* each with each */
};

struct report {
    unsigned long runs;     /* comparisons with the reference */
    unsigned long programs; /* configurations and formats that ran */
    unsigned long refused;  /* those that the device cannot do, as it or the description says */
    unsigned long failures;
    struct text text;     /* of the first failures, a line each */
    struct text refusals; /* the last reason for not running */
    bool needs_driver;    /* the variant needs what this driver lacks: not running is right */
};

void report_finish(struct report *report);
/* Adds a failure (printf style). */
void report_add(struct report *report, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Makes it the last reason for not running. */
void report_refuse(struct report *report, const hone_error *error);

void harness_describe(const struct hone_filter *filter, hone_device *device, enum effort effort,
                      struct report *report);
void harness_variant(const struct hone_filter *filter, const struct variant *variant, hone_device *device,
                     enum effort effort, struct report *report);

/* So many cases that the variant takes, each of random parameters, format, border, size, contents, layout and
 * configuration. The same seed gives the same cases on the same device. */
void harness_random(const struct hone_filter *filter, const struct variant *variant, hone_device *device,
                    unsigned long count, uint32_t seed, struct report *report);

/* Prints "FILE<tab>OPTIONS" for kernel files and compiler options that filters use, for compiling them
 * elsewhere. */
void harness_print_options(hone_device *device, enum effort effort);

/* ---- Shared between the parts ---- */

/* The parameter sets to try: filter->trials, or the defaults and every choice once. Returns how many. */
enum { MAX_TRIALS = 64, MAX_TRIAL_TEXT = 200 };
size_t harness_trials(const struct hone_filter *filter, char texts[MAX_TRIALS][MAX_TRIAL_TEXT]);

/* One way to use a filter. */
struct shape {
    const char *parameters;
    hone_type type;
    uint32_t channels;
    hone_border border;
};

/* A case with the shape's parameters, prepared for a size. The border value is one that shows. */
hone_status shape_case(struct filter_case *c, const struct hone_filter *filter, const struct variant *variant,
                       const struct shape *shape, uint32_t width, uint32_t height, hone_error *error);

/* The shapes for an effort, no one twice; the list is freed with free(). */
size_t harness_shapes(const struct hone_filter *filter, enum effort effort, char (*texts)[MAX_TRIAL_TEXT],
                      size_t text_count, struct shape **list);

/* The configurations for an effort: the default, each value of each tunable, those that seeds and rungs name,
 * and a sample of the rest (or all of it). */
size_t harness_configs(const struct hone_filter *filter, const struct variant *variant, enum effort effort,
                       struct config **list);

/* A picture with what the reference makes of it. */
struct picture {
    struct check check;
    struct check_layout layout;
    enum pattern pattern;
};

/* Fills everything but the layout. A case that the filter refuses, and says so, is added to the report's
 * refusals; another failure to its failures. False after both. Ended by check_finish(&picture->check). */
bool harness_picture(struct picture *picture, hone_device *device, const struct hone_filter *filter,
                     const struct variant *variant, const struct shape *shape, uint32_t width,
                     uint32_t height, enum pattern pattern, uint32_t seed, struct report *report);

/* Compares once. HONE_ERROR_UNSUPPORTED: the device cannot run it. Another status: it should have run. */
hone_status harness_compare(const struct picture *picture, hone_device *device, const struct variant *variant,
                            const struct config *config, struct report *report);

#endif
