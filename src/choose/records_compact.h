/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Lines of the user's file that later ones supersede: which they are, and a file without them.
 *
 * Superseded are, each by a later line that is a record: of a configuration's outcomes those of the same kind
 * (times, or one kind of failure), and what says that it was started or called off once an outcome follows;
 * of one case on a device all choices of an import or a trial but the latest; a verdict "right" that is said
 * again. All else stays as it is and where it is: choices of sessions, verdicts "wrong", what is damaged or
 * of a later schema, and of each boot the last start of a case, by which it is seen that the machine ran on.
 */
#pragma once

#include "hone/status.h"

#include <stdbool.h>

/* Rewrites `file`, which is `name` in `folder`, open for reading and locked, when more than half of its bytes
 * are superseded: temporary file, sync, rename. *done tells; then `file` is the one of before, of which the
 * name is gone. A process that ends at any moment leaves the file as it was or as it will be. */
hone_status records_compact_file(int folder, const char *name, int file, bool *done, hone_error *error);
