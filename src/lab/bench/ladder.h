/* SPDX-License-Identifier: BSD-2-Clause */
/* The steps of a table, or of a filter, climbed on a device. */
#pragma once

#include "lab/bench/limit.h"
#include "lab/bench/row.h"
#include "lab/bench/seeds.h"
#include "lab/probe/probe.h"
#include "tune/facts/facts.h"

enum { LADDER_STEPS = 64 };

struct ladder_step {
    char name[64];
    const char *title;
    const struct variant *variant;
    struct config config;
    const struct rung *twin; /* runs where the step cannot, NULL: none */
    bool seeded;             /* `seed` is filled in */
    struct seed_row seed;
};

/* What is climbed; strings belong to the seeds or to the filter. */
struct ladder {
    const char *name, *title, *chain;
    const struct hone_filter *filter;
    bool is_table; /* `table` is filled in */
    bool facts;    /* those of each kernel are asked */
    bool probes;   /* limiters are found by probes */
    struct seed_table table;
    int count;
    struct ladder_step steps[LADDER_STEPS];
};

/* A table by its name, or a filter's (with parameters: 'box size=31'): all its rungs, and then the variants
 * that no rung has. HONE_ERROR_USAGE lists what there is. Lasts as long as `seeds` and `text`. */
hone_status ladder_of(struct ladder *ladder, const struct seeds *seeds, const char *text, hone_error *error);

/* Leaves only the named steps; an unknown name is HONE_ERROR_USAGE. */
hone_status ladder_keep(struct ladder *ladder, const char *const *names, int count, hone_error *error);

/* Gives the one step that is left another configuration; HONE_ERROR_USAGE if there are several, or it has no
 * such configuration. */
hone_status ladder_configure(struct ladder *ladder, const char *config, hone_error *error);

/* One step on one device. */
struct climbed {
    struct row row;
    struct limit limit;
    double gain; /* over the first step that ran; 0: not known */
    /* Megapixels/s if moving its bytes took all the time, at the device's roof of a copy; 0: the table asks
     * for none. */
    double estimate;
    size_t fact_count;
    struct facts facts[MAX_PASSES];
    bool was_probed;
    struct probed probed;
};

/* Climbs one step; `first_ms` is the time of the first step that ran, 0 before, and becomes this one's
 * then. */
void ladder_climb(const struct ladder *ladder, int step, hone_device *device, const struct roofs_list *roofs,
                  const hone_image_desc *in, double *first_ms, struct climbed *out);
