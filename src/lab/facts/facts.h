/* SPDX-License-Identifier: BSD-2-Clause */
/* What is known of a compiled kernel without running it: registers, spills, memory, and waves at once. */
#ifndef LAB_FACTS_FACTS_H
#define LAB_FACTS_FACTS_H

#include "filter/instance.h"
#include "lab/facts/compiled.h"

struct facts {
    const char *kernel;         /* its name */
    struct kernel_facts driver; /* what every driver tells */
    bool has_registers;         /* `compiled` is known */
    struct compiled compiled;
    unsigned waves, most_waves; /* at once, on a vector unit or multiprocessor; 0: not known */
    const char *missing;        /* why registers are not known; NULL when they are */
};

/* Of pass `pass` of an instance. NVIDIA's and AMD's registers take another compilation. */
hone_status facts_of(struct facts *facts, hone_device *device, const struct instance *instance, size_t pass,
                     hone_error *error);

/* A kernel of a program that is no filter's: what it was compiled from, and the work-items of a group (0: not
 * known). */
struct facts_source {
    const char *source, *options, *kernel;
    size_t items;
};
/* `facts` keeps from->kernel. */
hone_status facts_of_kernel(struct facts *facts, hone_device *device, const struct kernel *kernel,
                            const struct facts_source *from, hone_error *error);

#endif
