/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Is a variant right? Runs it on a picture that is meant to break it and compares every element with the
 * reference.
 *
 * Input and output lie in larger buffers: at an offset, with rows wider than the picture, everything around
 * the pixels poisoned before and looked at afterwards. Tests, the tuner and `hone doctor` ask here.
 */
#pragma once

#include "filter/instance.h"
#include "image/pattern.h"

/* One picture and what the reference makes of it. */
struct check {
    struct filter_case c; /* a copy */
    struct view in, expected;
    struct view second[MAX_FUSED + 1]; /* of each member, see case_member() */
    double magnitude;                  /* largest finite |input|: the unit of bounds for f32 */
};

/* `device` is for filters of one's own, whose reference is a variant. */
hone_status check_init(struct check *check, hone_device *device, const struct filter_case *c,
                       enum pattern pattern, uint32_t seed, hone_error *error);
void check_finish(struct check *check);

struct check_result {
    bool right;
    double largest; /* difference, in levels of the result's format */
    double bound;   /* what was allowed, in the same unit */
    uint64_t wrong; /* elements outside the bound */
    int64_t x, y;   /* the first of them */
    uint32_t channel;
    double got, wanted;
    uint64_t damaged; /* bytes outside the result that changed */
    /* elements that differ in a second run over another content of output and scratch memory: never written,
     * or made of what was not */
    uint64_t unsteady;
};

/* How pictures lie in memory, in elements. */
struct check_layout {
    size_t pad;    /* more than a row needs, at the end of each */
    size_t offset; /* before the first row */
    size_t shift;  /* not 0: in wrapped host memory so far from an aligned address, where the device works on
                      that */
    bool keep_scratch; /* scratch memory is not filled: for simulators, which follow what was written */
};

/* HONE_OK: the check ran, result->right says how it went. Another status: it could not run (the kernel did
 * not build or launch). */
hone_status check_run(const struct check *check, hone_device *device, const struct variant *variant,
                      const struct config *config, struct check_layout layout, struct check_result *result,
                      hone_error *error);

/* Only launches, once, and waits: on a picture of the case's size, whose result nobody looks at. */
hone_status check_launch(hone_device *device, const struct filter_case *c, const struct variant *variant,
                         const struct config *config, hone_error *error);

/* "pixel (3,0) channel 0 is 17, should be 18 (bound 0); 12 elements are wrong" */
struct text;
void check_explain(const struct check_result *result, struct text *out);

/* Compares two pictures of the same description by the rule of the contract: NaN equals NaN, infinities must
 * match. */
void check_compare(const struct view *got, const struct view *wanted, double bound,
                   struct check_result *result);
