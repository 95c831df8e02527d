/* SPDX-License-Identifier: BSD-2-Clause */
/* What the files of this folder share about a plan. */
#pragma once

#include "filter/chain.h"
#include "filter/instance.h"
#include "hone/plan.h"
#include "plan/trial.h"

/* One filter, with the neighbours that run in its kernel. */
struct step {
    unsigned owners; /* layouts */
    size_t first;    /* of its filters in the chain */
    struct instance *instance;
    enum choice_origin origin;
    char *config;           /* as text, for reports */
    struct memory *between; /* the result, for all steps but the last */
    size_t between_pitch;
    struct trial *trial; /* other configurations that take some of the runs; NULL: none, or over */
};

/* All steps of a plan, in order. */
struct layout {
    size_t count;
    struct step *steps[MAX_STEPS];
};

struct hone_plan {
    hone_device *device;
    hone_image_desc input, output;
    size_t filter_count;
    struct filter_case cases[MAX_STEPS]; /* of the filters, each by itself, prepared */
    hone_image *second[MAX_STEPS];       /* of each filter; bound by the caller; not owned */
    hone_plan_options options;           /* with strings of its own, without second images */
    struct layout now;
    bool steady; /* see plan_settle() */
    double seconds;
    hone_copy_counts copies; /* of the last run */
};

/* HONE_ERROR_USAGE for NULL and in a forked child; `call` is the public function that was called. */
hone_status plan_check(const hone_plan *plan, const char *call, hone_error *error);

/* HONE_ERROR_USAGE: says how many there are. */
hone_status plan_no_such_filter(const hone_plan *plan, hone_error *error);

/* ---- layout.c ---- */

/* Makes the steps for `cases`, as many as the plan has filters. Steps of the plan as it is now serve again
 * where nothing about them changes; filter `changed` of the chain is made anew in any case. The plan stays as
 * it is. */
hone_status layout_make(struct layout *layout, hone_plan *plan, const struct filter_case *cases,
                        size_t changed, hone_error *error);
void layout_finish(struct layout *layout);

/* What its last step makes. */
const hone_image_desc *layout_output(const struct layout *layout);

/* ---- fusing.c ---- */

/* How many of `count` prepared cases the next step may take together, and in *c the case of that step: a copy
 * of the one whose kernel runs, with the others fused. The caller finishes it. A single case is always
 * possible. */
hone_status fusing_next(struct filter_case *c, size_t *taken, hone_plan *plan,
                        const struct filter_case *cases, size_t count, const hone_plan_options *options,
                        hone_error *error);

/* ---- choosing.c ---- */

/* A forced name that fits no filter of the chain is a mistake that must not go unnoticed. */
hone_status choosing_check(const hone_chain *chain, const hone_plan_options *options, hone_error *error);

/* Fills in instance, origin, config and trial of a step. `other`: the instance that this one would replace,
 * or NULL. */
hone_status choosing_make(hone_plan *plan, struct step *step, const struct filter_case *c,
                          const struct instance *other, hone_error *error);

/* The configuration as text, once the instance has changed. */
hone_status choosing_note(struct step *step, hone_error *error);
