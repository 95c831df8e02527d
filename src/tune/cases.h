/* SPDX-License-Identifier: BSD-2-Clause */
/* Cases to tune, from what a user writes. */
#ifndef TUNE_CASES_H
#define TUNE_CASES_H

#include "filter/filter.h"

/* "box size=8" on images like `in`; values with spaces stand in quotes. To be finished with tune_case_finish.
 */
hone_status tune_case_parse(struct filter_case *c, const char *text, const hone_image_desc *in,
                            hone_error *error);
/* What is wrong with such a text whatever the images are. */
hone_status tune_case_check(const char *text, hone_error *error);
void tune_case_finish(struct filter_case *c);
/* "box size=8" */
struct text;
void tune_case_print(const struct filter_case *c, struct text *out);

/* Filters by number, NULL beyond the last, and what is usual for one: texts for tune_case_parse by number. */
const struct hone_filter *tune_filter_at(size_t index);
const struct hone_filter *tune_filter_find(const char *name);
bool tune_usual(const struct hone_filter *filter, size_t index, struct text *out);
/* Whether the filter takes images like this. */
bool tune_takes(const struct hone_filter *filter, const hone_image_desc *in);

#endif
