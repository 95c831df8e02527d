/* SPDX-License-Identifier: BSD-2-Clause */
/* What is known of a compiled kernel without running it: registers, spills, memory, and waves at once. */
#pragma once

#include "filter/instance.h"
#include "tune/facts/compiled.h"

struct facts {
    const char *kernel;         /* its name */
    struct kernel_facts driver; /* what every driver tells */
    bool has_registers;         /* `compiled` is known */
    struct compiled compiled;
    unsigned waves, most_waves; /* at once, on a vector unit or multiprocessor; 0: not known */
    const char *missing;        /* why registers are not known; NULL when they are */
};

/* Why registers cannot be known of any kernel of a device, in words that stay; NULL: they can. `again`: by
 * compiling again, which NVIDIA's driver needs. */
const char *facts_missing(const hone_device_info *info, bool again);

/* Of pass `pass` of an instance. */
hone_status facts_of(struct facts *facts, hone_device *device, const struct instance *instance, size_t pass,
                     bool again, hone_error *error);

/* A kernel of a program that is no filter's. */
struct facts_source {
    const char *source, *options; /* what it was compiled from; NULL: it is not compiled again */
    const char *kernel;           /* its name */
    size_t items;                 /* of a work-group; 0: not known */
};
/* `facts` keeps from->kernel. */
hone_status facts_of_kernel(struct facts *facts, hone_device *device, const struct kernel *kernel,
                            const struct facts_source *from, hone_error *error);
