/* SPDX-License-Identifier: BSD-2-Clause */
/* hone profile: the parts of the command. */
#pragma once

#include "cli/cli.h"
#include "hone/hone.h"
#include "lab/profile/profile.h"
#include "lab/profile/trace.h"

#include <stdint.h>

struct profile_arguments {
    struct common_options common;
    const char *chain, *input, *variant, *config, *trace, *clock;
    double repeat, warmup, timeout, decode_memory; /* the latter in MiB; 0: the default */
    double max_pixels;                             /* of an image; 0: the default */
    bool no_fuse, trust;
};

/* A picture in memory of the host. */
struct picture {
    hone_image_desc desc;
    void *data; /* page-aligned */
    hone_image *image;
};

enum { PICTURES_MOST = 32 };

/* The input, and the second images that the chain names, with their steps. All zero is empty. */
struct pictures {
    struct picture in, out, second[PICTURES_MOST];
    size_t steps[PICTURES_MOST], second_count;
};

hone_status pictures_load(struct pictures *pictures, const struct profile_arguments *arguments,
                          const hone_chain *chain, hone_error *error);
/* Images around them on the device, and memory for a result like this; second images are bound to the
 * plan. */
hone_status pictures_wrap(struct pictures *pictures, hone_device *device, hone_plan *plan, hone_error *error);
/* The descriptions of the second images, one after the other; the caller frees them. */
hone_image_desc *pictures_seconds(const struct pictures *pictures, hone_error *error);
void pictures_finish(struct pictures *pictures);

/* What happened before the runs. */
struct preparation {
    struct trace_phase phases[4]; /* decode, device, plan; the last one without a name */
    uint64_t cpu[3];              /* processor time of the process in each, ns */
    hone_device_counts plan;      /* what making the plan counted: programs */
};

/* To standard output. */
void profile_print(const struct profile *profile, hone_device *device, const hone_plan *plan,
                   const struct profile_arguments *arguments, const hone_image_desc *in,
                   const struct preparation *preparation);
/* The same as JSON; NULL when memory ran out. */
struct json_t *profile_json(const struct profile *profile, hone_device *device, const hone_plan *plan,
                            const struct profile_arguments *arguments, const hone_image_desc *in,
                            const struct preparation *preparation);
