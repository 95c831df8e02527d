/* SPDX-License-Identifier: BSD-2-Clause */
/* Which variant and configuration to use for a case on a device. */
#pragma once

#include "choose/lookup.h"
#include "filter/variant.h"

/* Why something is a candidate. Measured and shipped ones have an origin for each level of lookup.h. */
enum choice_origin {
    CHOICE_FORCED,
    CHOICE_MEASURED,                                /* + level: by the user's own records */
    CHOICE_SHIPPED = CHOICE_MEASURED + LEVEL_COUNT, /* + level: by what comes with hone */
    CHOICE_HAND_WRITTEN = CHOICE_SHIPPED + LEVEL_COUNT,
    CHOICE_BRIEF,    /* compiled sooner than others, for a few runs */
    CHOICE_COMPILED, /* not the best one, but compiled already, for a few runs */
    CHOICE_TRIED,    /* by a plan while it ran */
    CHOICE_ONLY,     /* the filter has no other variant */
    CHOICE_FALLBACK, /* merely one of several that can run: nothing is known of it */
    CHOICE_ORIGIN_COUNT
};

/* "forced", "measured here", "hand-written" ...: for people and JSON. Static. */
const char *choice_origin_name(enum choice_origin origin);

struct choice {
    const struct variant *variant;
    struct config config;
    enum choice_origin origin;
};

struct choose_request {
    const char *variant;    /* name of a variant or a rung; NULL: free */
    const char *config;     /* tunables to force; NULL: free */
    bool without_measuring; /* hand-written choices only */
    bool without_own;       /* not what was measured here: as if nothing had been tuned */
    uint32_t runs;          /* how often it will run; 0: often */
};

enum { MAX_CHOICES = 24 };

/**
 * Candidates in the order in which to try them, best first: the first whose kernels build, and give right
 * results, is taken. What was measured here or on a like device comes first, from the nearest on (the user's
 * own records before those that ship with hone), then hand-written choices, then what was measured on devices
 * of other vendors and kinds, then every variant there is, with its defaults and with the smallest
 * work-groups. Before all of them comes a variant that is compiled already, or has a short program, where
 * there are few `runs`, see hone_plan_options. At least one, or an error that says why none can run. A forced
 * variant is the only candidate. Candidates are legal, and the first is usable; what the others need of the
 * device (variant_usable) is to be asked before they are tried. Whether kernels build is not known yet.
 */
hone_status choose(struct choice choices[MAX_CHOICES], size_t *count, hone_device *device,
                   const struct filter_case *c, const struct choose_request *request, hone_error *error);
