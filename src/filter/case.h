/* SPDX-License-Identifier: BSD-2-Clause */
/* Setting up one use of a filter: checking parameters and formats, names for expressions. */
#pragma once

#include "base/expr.h"
#include "filter/filter.h"
#include "hone/device.h"

/* Parameters at their defaults; formats unknown. */
hone_status case_init(struct filter_case *c, const struct hone_filter *filter, hone_error *error);
void case_finish(struct filter_case *c);

/* Sets a parameter (or border, border-value, accuracy, exact) from text. A name that does not exist is
 * answered with the nearest one; error->column is 1 when the name is wrong and 2 when the value is. */
hone_status case_set(struct filter_case *c, const char *name, const char *text, hone_error *error);

/* A parameter's value as text, the default if none was set; NULL if it has none, or the filter has no such
 * parameter. */
const char *case_text(const struct filter_case *c, const char *name);

/* The parameters that a filter takes beside its own (border, border-value, accuracy, exact); NULL beyond the
 * last.
 */
const struct parameter *case_common_parameter(const struct hone_filter *filter, size_t index);

/* Types of pixels that exact=yes takes, a sum of TYPE_x. */
unsigned case_exact_types(const struct hone_filter *filter);
/* "u8, f32" */
void case_list_types(unsigned types, char *to, size_t size);
/* Whether exact=yes changes which variants may run: not where all are exact. */
bool case_needs_exact(const struct filter_case *c);

/* Parameters without a default that were not given are an error here. Then checks the formats and runs the
 * filter's prepare(): afterwards out, symbols and reals are right. second may be NULL. Fused filters follow:
 * `in` is what the first of all reads. */
hone_status case_prepare(struct filter_case *c, const hone_image_desc *in, const hone_image_desc *second,
                         hone_error *error);
/* The same for a case without regard to what is fused with it. */
hone_status case_prepare_alone(struct filter_case *c, const hone_image_desc *in,
                               const hone_image_desc *second, hone_error *error);

/* Whether its result is a picture of counts. */
bool case_draws(const struct filter_case *c);

/* A copy with strings of its own; prepared again. */
hone_status case_copy(struct filter_case *to, const struct filter_case *from, hone_error *error);

/* Whether two prepared cases, and what is fused with them, compute the same on the same pictures: as far as
 * their parameters say, files that these name are not looked at. */
bool case_same(const struct filter_case *a, const struct filter_case *b);

/* Lets prepared point filters run in the kernel of a case: the first `before` of them on its input, the
 * others on its result. They are copied. What comes after becomes part of `c`: copied and finished with it,
 * its checks include them. HONE_ERROR_UNSUPPORTED when one of them cannot (formats do not fit, too many). */
hone_status case_fuse(struct filter_case *c, const struct filter_case *points, unsigned before,
                      unsigned count, hone_error *error);
/* The picture that the kernel reads, and the one that it writes: with nothing fused, c->in and c->out. */
const hone_image_desc *case_input(const struct filter_case *c);
const hone_image_desc *case_result(const struct filter_case *c);
/* The case and what is fused with it in the order in which they see the pixels; index 0 to c->fused_count. */
struct filter_case *case_member(const struct filter_case *c, unsigned index);
/* What the references of all members make of pictures; `second` has a view for each member, without data for
 * those of one input. */
hone_status case_reference(const struct filter_case *c, const struct view *in, const struct view *second,
                           struct view *out, hone_error *error);

/* The parameters that differ from their defaults, as a chain writes them: "box size=8". */
struct text;
void case_describe(const struct filter_case *c, struct text *out);

enum { MAX_CASE_NAMES = 64 };

/* Names of a case and (unless NULL) of a device for expressions; valid as long as this struct is not moved.
 * What the self-test has to find out (WIDE, PTX ...) is asked when an expression needs it. */
struct case_scope {
    struct expr_scope scope;
    const char *names[MAX_CASE_NAMES];
    int64_t values[MAX_CASE_NAMES];
    char spelled[MAX_PARAMETERS][32]; /* parameter names with '_' */
};
void case_scope_init(struct case_scope *scope, const struct filter_case *c, hone_device *device);
/* Asks for all of them now, so that the list of names is complete. */
void case_scope_complete(struct case_scope *scope);

/* A real number by name: a real of the filter, a parameter, or "border-value". */
bool case_real(const struct filter_case *c, const char *name, double *value);

/* The bound that a variant's result must keep (NULL: the filter's own), in levels, or for f32 as a number:
 * `magnitude` is the largest finite one of the input. */
double case_bound(const struct filter_case *c, const struct variant *variant, double magnitude);
