/* SPDX-License-Identifier: BSD-2-Clause */
/* Inside src/media: modules of the command, which are found beside the executable, loaded when they are
 * needed and never unloaded. */
#pragma once

#include "hone/status.h"

#include <stddef.h>

/* Loads the module of the first of these places that is there, NULL behind the last; they are relative to the
 * folder of the executable, as installed, then as built. It exports `symbol`, a struct of `size` bytes that
 * begins with its size and HONE_VERSION. `what`: what it is for, as messages say it. */
hone_status module_load(const void **exported, const char *what, const char *const *places,
                        const char *symbol, size_t size, hone_error *error);
