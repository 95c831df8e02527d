/* SPDX-License-Identifier: BSD-2-Clause */
/* What the files of `hone cache` share. */
#pragma once

#include "cli/cli.h"

/* Every case that was tuned, everything in quarantine; an exit status. */
int cache_tuning(const struct common_options *common);
/* The same in one line; nothing when there is no file that could be read. */
void cache_print_tuning_totals(void);
/* Compiles the usual filters into `file`, NULL: where this installation looks; an exit status. */
int cache_precompile(const struct common_options *common, const char *file);
