/* SPDX-License-Identifier: BSD-2-Clause */
/* What building and running an instance share. */
#ifndef FILTER_INSTANCE_PRIVATE_H
#define FILTER_INSTANCE_PRIVATE_H

#include "filter/arguments.h"
#include "filter/instance.h"

enum { MAX_TABLES = 8, READINGS = 3 };

struct instance {
    hone_device *device;
    struct filter_case c;
    const struct variant *variant;
    struct config config;
    char *options; /* of the programs that are loaded */
    char digest[65];
    struct kernel *kernels[MAX_PASSES];
    struct pass_geometry geometry[MAX_PASSES];
    struct memory *scratch[MAX_SCRATCH];
    struct memory *images[SURFACE_COUNT][READINGS]; /* for passes that read or write image objects */
    struct memory *tight;                           /* rows without padding, on the way to or from an image */
    struct memory *tables[MAX_TABLES];
    struct memory
        *aligned[SURFACE_COUNT]; /* copies of surfaces that the variant cannot read or write where they are */
};

/* The picture that plays a role. */
const hone_image_desc *instance_role(const struct instance *instance, enum surface_role role);

#endif
