/* SPDX-License-Identifier: BSD-2-Clause */
/* What the files of this folder share about a plan. */
#ifndef PLAN_PRIVATE_H
#define PLAN_PRIVATE_H

#include "filter/instance.h"
#include "hone/plan.h"
#include "plan/chain.h"
#include "plan/trial.h"

/* One filter, with the neighbours that run in its kernel. */
struct step {
    struct instance *instance;
    const char *origin;
    char *config;           /* as text, for reports */
    struct memory *between; /* the result, for all steps but the last */
    size_t between_pitch;
    hone_image *second[MAX_FUSED + 1]; /* of each member (case_member()); bound by the caller; not owned */
    struct trial *trial; /* other configurations that take some of the runs; NULL: none, or over */
};

struct hone_plan {
    hone_device *device;
    hone_image_desc input;
    size_t count;
    struct step steps[MAX_STEPS];
    double seconds;
    size_t
        broken; /* steps from this one on (counted from 1) could neither be changed nor put back; 0: none */
};

/* The step in which filter `index` of the chain runs, and which of its members it is; NULL beyond the last.
 */
struct step *plan_find(const hone_plan *plan, size_t index, unsigned *member);

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

/* Fills in instance, origin, config and trial of a step. */
hone_status choosing_make(hone_plan *plan, struct step *step, const struct filter_case *c,
                          const hone_plan_options *options, hone_error *error);

/* The configuration as text, after the instance has changed. */
hone_status choosing_note(struct step *step, hone_error *error);

#endif
