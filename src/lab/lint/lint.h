/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * The guide's advice on kernels as rules, found in the syntax tree of OpenCL C that libclang makes.
 *
 * libclang is loaded when a file is looked at, so that nothing else pays for it. Only what stands in the file
 * itself is judged, not what it includes.
 */
#pragma once

#include "hone/status.h"

#include <stdbool.h>
#include <stddef.h>

/* What is looked for. */
struct lint_rule {
    const char *name;
    const char *section; /* of the guide, see docs/guide-map.md */
    const char *why, *instead;
};

/* NULL beyond the last. */
const struct lint_rule *lint_rule_at(size_t index);
const struct lint_rule *lint_rule_find(const char *name);

struct lint_finding {
    const struct lint_rule *rule;
    unsigned line, column; /* from 1 */
    char what[160];        /* of this place: "'n' is a size_t" */
    char *reason;          /* why a comment allows it; NULL: nothing does */
};

struct lint_options {
    const char *standard;        /* "CL1.2"; NULL: that */
    const char *target;          /* NULL: spir64 */
    const char *const *defines;  /* "NAME=VALUE" */
    const char *const *folders;  /* of included files */
    const char *const *includes; /* files that are included before the first line */
    size_t define_count, folder_count, include_count;
};

struct lint_result {
    struct lint_finding *findings; /* by line and column */
    size_t count, capacity;
    size_t silenced; /* of them, with a reason */
};

/* HONE_ERROR_IO for a file that cannot be read or that does not compile (error->log has the compiler's
 * words), HONE_ERROR_UNSUPPORTED without libclang. On HONE_OK lint_finish is due. */
hone_status lint_file(struct lint_result *result, const char *path, const struct lint_options *options,
                      hone_error *error);
void lint_finish(struct lint_result *result);
