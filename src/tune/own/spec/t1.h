/* SPDX-License-Identifier: BSD-2-Clause */
/* Between the files that read T1: lists of values become those of a setting, "1,2,4", the default first. */
#pragma once

#include <jansson.h>
#include <stdbool.h>

struct text;

/* "[1, 2, 4]", "range(1, 9)". False when it is no such list. */
bool t1_numbers(const char *values, const json_t *otherwise, struct text *out);
/* "[0.5, 1.0]", "['float', 'float4']" */
bool t1_words(const char *values, const json_t *otherwise, struct text *out);
