/* SPDX-License-Identifier: BSD-2-Clause */
/* All filters: those of a table that is generated from the folders in src/filters, and those that were
 * loaded. */
#pragma once

#include "filter/filter.h"

/* A kernel file, as compiled in. */
struct kernel_file {
    const char *path; /* below src: "filters/box/kernel.cl" */
    const char *text;
};

/* The filters that come with hone in alphabetical order; NULL beyond the last. */
const struct hone_filter *registry_at(size_t index);
/* These, and behind them those that were loaded. */
const struct hone_filter *registry_any_at(size_t index);
/* A filter by its name, or a loaded one by its path. */
const struct hone_filter *registry_find(const char *name);
bool registry_built_in(const char *name);
/* The compiled-in text of a kernel file by its path below src, "filters/box/kernel.cl"; NULL when there is
 * none. */
const char *registry_text(const char *path);
/* The filter whose name is nearest to a misspelt one, or NULL when none is near. */
const struct hone_filter *registry_nearest(const char *name);
/* Adds "there is no filter 'NAME'" and what would be right: the nearest name, or what does here what goes by
 * this name elsewhere. */
struct text;
void registry_answer_unknown(const char *name, struct text *message);

/* What documents say of rungs: the speed over the first one. From data/seeds/; ends with a filter that is
 * NULL. */
struct rung_gain {
    const char *filter, *rung;
    double gain;
};
extern const struct rung_gain rung_gains[];

const struct variant *filter_variant(const struct hone_filter *filter, const char *name);
/* "direct, image" */
void filter_list_variants(const struct hone_filter *filter, struct text *out);
const struct rung *filter_rung(const struct hone_filter *filter, const char *name);
size_t filter_parameter_count(const struct hone_filter *filter);
/* What 100 % of a parameter in levels are in a format; p may be NULL: of border-value. */
double parameter_full_scale(const struct parameter *p, hone_type type);
/* Index of a parameter, or -1. */
int filter_parameter(const struct hone_filter *filter, const char *name);

/* What is usual for a filter, by number: "box size=8"; false beyond the last. */
struct text;
bool filter_usual(const struct hone_filter *filter, size_t index, struct text *out);
/* The same of what else is compiled ahead. */
bool filter_ahead(const struct hone_filter *filter, size_t index, struct text *out);
/* The first type and number of channels that it takes. */
void filter_first_format(const struct hone_filter *filter, hone_image_desc *in);
/* Whether it takes images of this type and number of channels. */
bool filter_takes(const struct hone_filter *filter, const hone_image_desc *in);

size_t variant_tunable_count(const struct variant *variant);
size_t variant_pass_count(const struct variant *variant);
size_t variant_scratch_count(const struct variant *variant);
