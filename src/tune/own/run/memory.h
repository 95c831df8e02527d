/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * What a kernel of the user's own works on: its arguments on the device, and its outputs compared with the
 * right ones. In the worker process only.
 */
#pragma once

#include "tune/own/spec/spec.h"

struct own_memory;

/* Makes and fills everything whose size does not depend on a configuration. `names`: definitions and the
 * device. `spec` must outlive it. */
hone_status own_memory_open(struct own_memory **out, hone_device *device, const struct own_spec *spec,
                            const struct expr_scope *names, hone_error *error);
void own_memory_close(struct own_memory **memory);

/* Gives the kernel its arguments; `scope` holds a configuration's values. */
hone_status own_memory_bind(struct own_memory *memory, struct kernel *kernel, const struct expr_scope *scope,
                            hone_error *error);

/* Outputs become zero, arguments that are both become what they were. */
hone_status own_memory_reset(struct own_memory *memory, hone_error *error);

/* The outputs one behind the other, and their description for the parent. */
size_t own_memory_output_bytes(const struct own_memory *memory);
hone_status own_memory_read(struct own_memory *memory, unsigned char *outputs, hone_error *error);
json_t *own_memory_describe(const struct own_memory *memory);

/* HONE_ERROR_CHECK when something was written behind the end of an output. */
hone_status own_memory_check_ends(struct own_memory *memory, hone_error *error);

/* HONE_ERROR_CHECK with the first wrong element when outputs are not what they should be. */
hone_status own_memory_compare(const struct own_memory *memory, const unsigned char *outputs,
                               const unsigned char *right, hone_error *error);

/* Lets the function of "library.so:function" compute the outputs. */
hone_status own_memory_refer(struct own_memory *memory, const struct expr_scope *scope,
                             unsigned char *outputs, hone_error *error);
