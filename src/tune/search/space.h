/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * What can be tuned, without knowing what it is: paths (variants of a filter, or a single kernel), each with
 * parameters that take listed values, and a judge that says which combinations are legal.
 *
 * Filters, kernels of the user's own and recorded results (replay) all become such a space, and one search
 * serves all.
 */
#pragma once

#include "hone/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SPACE_MAX_PARAMETERS = 16, SPACE_MAX_VALUES = 32, SPACE_MAX_PATHS = 32 };

struct space_parameter {
    char name[40];
    int64_t values[SPACE_MAX_VALUES]; /* the first is the default */
    int count;
    bool launch_only; /* changing it compiles nothing */
};

struct space_path {
    char name[64];
    struct space_parameter parameters[SPACE_MAX_PARAMETERS];
    int count;
};

struct space {
    struct space_path paths[SPACE_MAX_PATHS];
    int count;
    /* Whether a combination may be tried; cheap, for it is asked often. */
    bool (*legal)(const void *context, int path, const int64_t *values);
    const void *context;
};

/* One combination. Values beyond the path's parameters are 0, so that points compare as bytes. */
struct point {
    int path;
    int64_t values[SPACE_MAX_PARAMETERS];
};

bool point_equal(const struct point *a, const struct point *b);
/* Defaults of a path. */
struct point point_default(const struct space *space, int path);
bool point_legal(const struct space *space, const struct point *point);
/* Whether all values are among those that are listed. */
bool point_listed(const struct space *space, const struct point *point);

/* Number of combinations, legal or not, over all paths; saturates at INT64_MAX. */
int64_t space_size(const struct space *space);
/* Combination `index` (0 <= index < space_size). */
struct point space_at(const struct space *space, int64_t index);
/* Numbers of all legal combinations, in order, to be freed; NULL where there are none, or more than
 * SPACE_MAX_LISTED combinations, or no memory: *count is -1 then, but 0 where there are none. Judging takes
 * less than a microsecond, so all are asked: pruning would save no more than that. */
enum { SPACE_MAX_LISTED = 1 << 20 };
uint32_t *space_list_legal(const struct space *space, int64_t *count);
