/* SPDX-License-Identifier: BSD-2-Clause */
/* Structures of options that callers fill in and that grow: their first member is the `size_t size` that the
 * caller knows. */
#pragma once

#include "base/error.h"

#include <stddef.h>

/* Copies the caller's structure to `to`, which has room for the `known` bytes of today's. A size of 0 stands
 * for the `first` bytes that there were when the structure was new. What the caller does not know becomes 0;
 * what we do not know must be 0: HONE_ERROR_UNSUPPORTED otherwise. `from` may be NULL: all 0. `name` is the
 * structure's. */
hone_status options_take(void *to, const void *from, size_t known, size_t first, const char *name,
                         hone_error *error);
