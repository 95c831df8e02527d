/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "filter/filter.h"
#include "hone/chain.h"

enum { MAX_STEPS = 32 };

struct chain_step {
    struct filter_case c; /* parameters only; formats come with the plan */
    int column;           /* of the filter's name, from 1 */
};

struct hone_chain {
    char *text;
    size_t count;
    struct chain_step steps[MAX_STEPS];
};

/* A chain of a single filter, "box size=8". case_finish is due on HONE_OK alone. */
hone_status chain_parse_case(struct filter_case *c, const char *text, hone_error *error);

/* Applies "name=value name=value" to a case. */
hone_status chain_parse_parameters(struct filter_case *c, const char *text, hone_error *error);

/* The cases of all filters (`cases` has room for them) for an input like this, prepared, each on the result
 * of the one before; `second` are the second images of those that take two, in their order.
 * chain_cases_finish is due on HONE_OK alone. */
hone_status chain_cases(struct filter_case *cases, const hone_chain *chain, const hone_image_desc *input,
                        const hone_image_desc *second, size_t second_count, hone_error *error);
/* The halo of one prepared case without regard to what is fused with it. */
hone_status case_halo(const struct filter_case *c, struct hone_halo *halo, hone_error *error);
void chain_cases_finish(struct filter_case *cases, size_t count);

/* Whether rows of the input are columns of the result. */
bool chain_turns(const hone_chain *chain);
