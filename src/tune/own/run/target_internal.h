/* SPDX-License-Identifier: BSD-2-Clause */
/* A kernel of the user's own, in the worker process: what the files of it share. */
#pragma once

#include "base/text.h"
#include "tune/measure/cache_flush.h"
#include "tune/measure/prebuild.h"
#include "tune/measure/timing.h"
#include "tune/own/run/memory.h"
#include "tune/own/run/target.h"

#include <limits.h>

enum { KERNEL_TARGET_NAMES = 48 };

struct own_target {
    struct target base;
    hone_device *device;
    struct own_spec *spec;
    struct text source;
    char folder[PATH_MAX];
    bool includes;                   /* the source includes files, which no key of a cache would cover */
    bool used[SPACE_MAX_PARAMETERS]; /* parameters that the source mentions: the others compile nothing */
    const char *names[KERNEL_TARGET_NAMES];
    int64_t values[KERNEL_TARGET_NAMES];
    struct expr_scope scope;
    struct variant_limits limits;
    int64_t first[SPACE_MAX_PARAMETERS]; /* the first legal configuration */
    struct own_memory *memory;
    char expected_path[PATH_MAX];
    unsigned char *expected,
        *got;        /* outputs: right ones (NULL: not known yet), and room for those of a run */
    bool repeatable; /* running twice without a reset gives the same outputs */
    struct timing_clock clock;
    struct cold *cold;         /* NULL: caches are left as they are */
    struct attempt *incumbent; /* the fastest so far, to keep the device awake with; NULL: none */
    double incumbent_ms;
    struct builders builders;
};

/* A configuration made ready to run. */
struct attempt {
    struct own_target *target;
    struct kernel *kernel;
    struct launch launch;
    struct own_scope scope;
    int64_t values[SPACE_MAX_PARAMETERS];
};

static inline struct own_target *own_target_of(struct target *target)
{
    return (struct own_target *)target;
}

/* ---- Building ---- */

/* The kernel keeps its program alive. from_source: past all caches. */
hone_status own_target_build(const struct own_target *target, const int64_t *values, bool from_source,
                             struct kernel **kernel, hone_error *error);
/* HONE_ERROR_USAGE and others: the text, rules or limits are broken; nothing was built. */
hone_status attempt_read(struct attempt *attempt, struct own_target *target, const char *config,
                         hone_error *error);
hone_status attempt_build(struct attempt *attempt, hone_error *error);
/* Checks the work-group against what was compiled, and gives the kernel its arguments. */
hone_status attempt_bind(struct attempt *attempt, hone_error *error);
/* What is known of the kernel as compiled. */
void attempt_figures(const struct attempt *attempt, struct record_figures *figures);
void attempt_finish(struct attempt *attempt);
/* target_ops.prepare: compiles on a thread of its own. */
void own_target_prepare(struct target *target, const char *variant, const char *config);

/* ---- Running ---- */

/* target_ops.measure: the variant "reference" makes the right outputs instead of measuring. */
void own_target_measure(struct target *target, const char *variant, const char *config, double best,
                        struct measured *measured);
void own_target_race(struct target *target, const char *const *variants, const char *const *configs,
                     int count, int rounds, struct measured *results);
/* The right outputs, from the file in which the parent keeps them. */
hone_status own_target_load_expected(struct own_target *target, hone_error *error);
