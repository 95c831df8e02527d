/* SPDX-License-Identifier: BSD-2-Clause */
/* What building and running an instance share. */
#pragma once

#include "filter/arguments.h"
#include "filter/case.h"
#include "filter/instance.h"

enum { MAX_TABLES = 10, READINGS = 3 };

struct instance {
    hone_device *device;
    struct filter_case c;
    const struct variant *variant;
    struct config config;
    const struct instance *other;       /* see instance_create_beside(); while it is set up */
    const struct instance_probe *probe; /* not NULL, likewise */
    char digest[65];
    struct argument_list arguments[MAX_PASSES], fused_arguments[MAX_FUSED];
    struct kernel *kernels[MAX_PASSES];
    struct pass_geometry geometry[MAX_PASSES];
    struct memory *scratch[MAX_SCRATCH];
    struct memory *images[SURFACE_COUNT][READINGS]; /* for passes that read or write image objects */
    struct memory *tight;                           /* rows without padding, on the way to or from an image */
    struct memory *tables[MAX_TABLES];
    struct memory *fused_tables[MAX_FUSED];
    /* copies of surfaces that the variant cannot read or write where they are */
    struct memory *aligned[SURFACE_COUNT];
};

/* The picture that plays a role, seen from outside: with what is fused. */
const hone_image_desc *instance_role(const struct instance *instance, enum surface_role role);

/* Three arguments of a kernel: pointer, offset, pitch. */
hone_status instance_set_surface(struct kernel *kernel, unsigned slot, const struct surface *surface,
                                 const hone_image_desc *desc, hone_error *error);

/* ---- instance_fused.c ---- */

/* The arguments that fused filters take, behind those of the pass; those that stay from run to run; their
 * second images. */
hone_status fused_parse(struct instance *instance, hone_error *error);
hone_status fused_set_fixed(struct instance *instance, hone_error *error);
hone_status fused_set_surfaces(struct instance *instance, const struct surfaces *surfaces, hone_error *error);
