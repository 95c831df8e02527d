/* SPDX-License-Identifier: BSD-2-Clause */
/* Configurations of variants: values of tunables, their text form, and whether they are legal on a device. */
#pragma once

#include "base/expr.h"
#include "filter/case.h"
#include "filter/filter.h"

/* Values of a variant's tunables, in their order. */
struct config {
    int64_t values[MAX_TUNABLES];
};

void config_default(const struct variant *variant, struct config *config);
/* Changes a configuration by "WG_X=32 ROWS=8". Unknown names and values that are not legal are
 * HONE_ERROR_USAGE. */
hone_status config_parse(const struct variant *variant, const char *text, struct config *config,
                         hone_error *error);
struct text;
void config_print(const struct variant *variant, const struct config *config, struct text *out);

/* The legal values of a tunable; at most `capacity` are written, the number of all is returned. */
size_t tunable_values(const struct tunable *tunable, int64_t *values, size_t capacity);

/* Names for expressions with a configuration's values innermost. `outer` must outlive it. */
struct config_scope {
    struct expr_scope scope;
    const char *names[MAX_TUNABLES];
    int64_t values[MAX_TUNABLES];
};
void config_scope_init(struct config_scope *scope, const struct variant *variant, const struct config *config,
                       const struct expr_scope *outer);

/* Whether the accuracy asked for admits the variant. HONE_ERROR_USAGE says what would. */
hone_status variant_allowed(const struct filter_case *c, const struct variant *variant, hone_error *error);

/* Whether the variant can do the case on the device at all, and then whether the configuration keeps its
 * constraints and the device's limits. HONE_ERROR_UNSUPPORTED says why not. variant_fits leaves out what the
 * variant `needs` of the device, which may have to be asked: accuracy, condition, image formats and sizes. */
hone_status variant_fits(hone_device *device, const struct filter_case *c, const struct variant *variant,
                         hone_error *error);
hone_status variant_usable(hone_device *device, const struct filter_case *c, const struct variant *variant,
                           hone_error *error);
hone_status config_legal(hone_device *device, const struct filter_case *c, const struct variant *variant,
                         const struct config *config, hone_error *error);

/* The same without a device at hand: `names` must hold what case_scope_complete() gives for it. */
struct variant_limits {
    size_t max_work_group, max_work_items[3];
    uint64_t local_memory;
};
hone_status config_legal_within(const struct expr_scope *names, const struct variant_limits *limits,
                                const struct variant *variant, const struct config *config,
                                hone_error *error);

/* Values of expressions in a pass. */
struct pass_geometry {
    unsigned dimensions;
    int64_t extent[3], block[3], local[3], global[3];
};
hone_status pass_geometry(const struct pass *pass, const struct expr_scope *scope,
                          struct pass_geometry *geometry, hone_error *error);

/* Bytes of scratch memory, buffers and images together. */
hone_status variant_scratch_bytes(hone_device *device, const struct filter_case *c,
                                  const struct variant *variant, const struct config *config, size_t *bytes,
                                  hone_error *error);

/* The cost model for one pixel, summed over passes by the description itself. */
struct cost_values {
    double bytes, loads, operations;
};
hone_status variant_cost(const struct filter_case *c, const struct variant *variant,
                         const struct config *config, struct cost_values *cost, hone_error *error);
