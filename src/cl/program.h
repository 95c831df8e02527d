/* SPDX-License-Identifier: BSD-2-Clause */
/* Programs and kernels. */
#pragma once

#include "cl/memory.h"
#include "hone/device.h"

#include <stdbool.h>
#include <stddef.h>

struct text;
struct program;
struct kernel;

/* Whether the driver has space for what it writes while it compiles: PoCL ends the process where a write
 * fails. `beside`: beside work that must not be lost, whose outputs may take space meanwhile.
 * HONE_ERROR_IO. */
hone_status program_check_room(const struct hone_device *device, bool beside, hone_error *error);
/* Compiles, if there is space. On failure error->log holds the start of the compiler's output. Counts as a
 * source build. */
hone_status program_from_source(struct program **out, struct hone_device *device, const char *source,
                                const char *options, hone_error *error);
/* The same for what the driver was seen to keep compiled: not counted as a compilation. */
hone_status program_from_driver(struct program **out, struct hone_device *device, const char *source,
                                const char *options, hone_error *error);
/* Loads a binary that program_binary gave. The driver does not check it: the caller must have. */
hone_status program_from_binary(struct program **out, struct hone_device *device, const void *bytes,
                                size_t count, const char *options, hone_error *error);
/* Appends the program's binary for its one device. */
hone_status program_binary(const struct program *program, struct text *out, hone_error *error);
/* The compiler's output, warnings included; "" when there is none. */
hone_status program_log(const struct program *program, struct text *out, hone_error *error);
void program_destroy(struct program **program);

hone_status kernel_create(struct kernel **out, struct program *program, const char *name, hone_error *error);
void kernel_destroy(struct kernel **kernel);

/* What the driver says of a compiled kernel on its device. */
struct kernel_facts {
    size_t max_work_group, preferred_multiple;
    uint64_t local_memory, private_memory;
    bool has_multiple, has_private; /* what not every driver tells; else they are 1 and 0 */
    unsigned arguments;
    bool has_argument_info; /* the program was built with -cl-kernel-arg-info */
};
hone_status kernel_get_facts(const struct kernel *kernel, struct kernel_facts *facts, hone_error *error);

/* Appends the binary of the program that the kernel is of. */
hone_status kernel_binary(const struct kernel *kernel, struct text *out, hone_error *error);

/* One argument as the source declares it. address: 'g' global, 'c' constant, 'l' local, 'p' private (a
 * value). access: 'r' read_only, 'w' write_only, 'b' read_write, '-' where it is no image. is_const: of what
 * it points to. */
struct kernel_argument {
    char name[64], type[64], address, access;
    bool is_const;
};
hone_status kernel_get_argument(const struct kernel *kernel, unsigned index, struct kernel_argument *argument,
                                hone_error *error);

hone_status kernel_set_value(struct kernel *kernel, unsigned index, const void *value, size_t bytes,
                             hone_error *error);
hone_status kernel_set_memory(struct kernel *kernel, unsigned index, const struct memory *memory,
                              hone_error *error);
hone_status kernel_set_local(struct kernel *kernel, unsigned index, size_t bytes, hone_error *error);
/* A nearest-neighbour sampler with integer coordinates; how it reads beyond the edge follows `border` as far
 * as samplers can: replicate and constant 0. */
hone_status kernel_set_sampler(struct kernel *kernel, unsigned index, hone_border border, hone_error *error);

/* Any sampler. Repeating needs coordinates from 0 to 1 (normalised). */
enum sampler_edge {
    SAMPLER_EDGE_NONE,
    SAMPLER_EDGE_REPLICATE,
    SAMPLER_EDGE_ZERO,
    SAMPLER_EDGE_REPEAT,
    SAMPLER_EDGE_MIRROR
};
struct sampler {
    bool linear, normalised;
    enum sampler_edge edge;
};
/* At most four of them in a kernel. */
hone_status kernel_set_any_sampler(struct kernel *kernel, unsigned index, const struct sampler *sampler,
                                   hone_error *error);

/* Where work-items run. local[0] == 0 lets the driver choose the work-group. */
struct launch {
    unsigned dimensions;
    size_t global[3], local[3];
};
hone_status kernel_enqueue(struct kernel *kernel, const struct launch *launch, struct wait_list wait,
                           hone_event **done, hone_error *error);
