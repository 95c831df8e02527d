/* SPDX-License-Identifier: BSD-2-Clause */
/* Which variant and configuration to use for a case on a device. */
#ifndef CHOOSE_CHOOSE_H
#define CHOOSE_CHOOSE_H

#include "filter/variant.h"

struct choice {
    const struct variant *variant;
    struct config config;
    const char *origin; /* "forced", "measured here", "hand-written" ...; static */
};

struct choose_request {
    const char *variant;    /* name of a variant or a rung; NULL: free */
    const char *config;     /* tunables to force; NULL: free */
    bool without_measuring; /* hand-written choices only */
    bool without_own;       /* not what was measured here: as if nothing had been tuned */
};

enum { MAX_CHOICES = 24 };

/**
 * Candidates in the order in which to try them, best first: the first whose kernels build, and give right
 * results, is taken. What was measured here or on a like device comes first, from the nearest on (the user's
 * own records before those that ship with hone), then hand-written choices, then what was measured on devices
 * of other vendors and kinds, then every variant there is, with its defaults and with the smallest
 * work-groups. At least one, or an error that says why none can run. A forced variant is the only candidate.
 * Candidates are legal, and the first is usable; what the others need of the device (variant_usable) is to be
 * asked before they are tried. Whether kernels build is not known yet.
 */
hone_status choose(struct choice choices[MAX_CHOICES], size_t *count, hone_device *device,
                   const struct filter_case *c, const struct choose_request *request, hone_error *error);

/* Whether a choice of this origin is merely one of several that can run, of which nothing is known. */
bool choice_is_fallback(const char *origin);

#endif
