/* SPDX-License-Identifier: BSD-2-Clause */
/* Whether what a user gives a kernel is what the kernel takes. */
#pragma once

#include "tune/own/spec/spec.h"

/* HONE_ERROR_USAGE names the argument, what it is, and what would fit. Where the driver does not tell types,
 * only the number is checked. */
hone_status own_inspect(const struct kernel *kernel, const struct own_spec *spec, hone_error *error);

/* Whether a source uses a name outside of comments, and whether it includes other files. */
bool own_source_mentions(const char *source, const char *name);
bool own_source_includes(const char *source);

/* The name of the only kernel of a source, to be freed; NULL where there are several, or none is seen. */
char *own_source_only(const char *source);
/* The names of all, for a message. */
void own_source_kernels(struct text *list, const char *source);
