/* SPDX-License-Identifier: BSD-2-Clause */
/* hone apply: what becomes of the fourth channel. The library copies it; here the chain is written anew where
 * that would be wrong. */
#include "cli/apply/apply.h"

#include "base/error.h"
#include "base/mem.h"
#include "base/text.h"
#include "filter/case.h"
#include "filter/chain.h"
#include "image/view.h"

#include <stdlib.h>
#include <string.h>

static const char premultiply[] = "premultiply", unpremultiply[] = "unpremultiply";

/* A user who multiplies by alpha says what becomes of it. */
static bool is_left_alone(const hone_chain *chain)
{
    bool found = false;
    for (size_t i = 0; i < chain->count && !found; i++) {
        const char *name = chain->steps[i].c.filter->name;
        found = strcmp(name, premultiply) == 0 || strcmp(name, unpremultiply) == 0;
    }
    return found;
}

/* Alpha of signed pixels has no full scale to weigh by. */
static bool is_weighed(const struct filter_case *c)
{
    return c->in.type != HONE_S16 && c->filter->averages && case_copies_alpha(c) && !c->alpha_given &&
           c->filter->averages(c);
}

/* ---- The chain as text ---- */

struct rewriting {
    struct text text;
    size_t steps; /* written so far */
};

static void begin_step(struct rewriting *r)
{
    text_add(&r->text, "%s", r->steps++ ? " | " : "");
}

static void add_step(struct rewriting *r, const struct filter_case *c, bool filter_alpha)
{
    begin_step(r);
    case_describe(c, &r->text);
    if (filter_alpha && !c->filter_alpha)
        text_add(&r->text, " alpha=filter");
}

static void filter_every_channel(struct rewriting *r, size_t *moved, const struct filter_case *cases,
                                 size_t count)
{
    for (size_t i = 0; i < count; i++) {
        moved[i] = r->steps;
        add_step(r, &cases[i], cases[i].filter->spatial && case_copies_alpha(&cases[i]));
    }
}

/* The type within the run of means that begins with the first case. Sixteen bits hold what eight become under
 * low alpha, floats what sixteen become; but floats are not computed to the last bit. */
static hone_type between(const struct filter_case *cases, size_t count)
{
    const hone_type type = cases[0].in.type;
    bool exact = false;
    for (size_t i = 0; i < count && is_weighed(&cases[i]); i++)
        exact = exact || cases[i].exact;
    return type == HONE_U8 || (type == HONE_U16 && exact) ? HONE_U16 : HONE_F32;
}

static void convert(struct rewriting *r, const char *filter, hone_type type)
{
    begin_step(r);
    text_add(&r->text, "%s type=%s", filter, hone_type_name(type));
}

static void add_weighed(struct rewriting *r, const struct filter_case *c, hone_type type)
{
    struct filter_case scaled = *c; /* for its description alone */
    scaled.border_value *= type_full_scale(type) / type_full_scale(c->in.type);
    add_step(r, &scaled, true);
}

/* Runs of means between multiplying by alpha and dividing by it. */
static void weigh_colours(struct rewriting *r, size_t *moved, const struct filter_case *cases, size_t count)
{
    hone_type type = HONE_F32;
    for (size_t i = 0; i < count; i++) {
        const bool weighed = is_weighed(&cases[i]);
        if (weighed && (i == 0 || !is_weighed(&cases[i - 1]))) {
            type = between(cases + i, count - i);
            convert(r, premultiply, type);
        }
        moved[i] = r->steps;
        if (weighed)
            add_weighed(r, &cases[i], type);
        else
            add_step(r, &cases[i], false);
        if (weighed && (i + 1 == count || !is_weighed(&cases[i + 1])))
            convert(r, unpremultiply, cases[i].in.type);
    }
}

/* ---- What apply asks ---- */

static struct filter_case *prepared(const hone_chain *chain, const hone_image_desc *input,
                                    const hone_image_desc *second, size_t second_count, hone_status *status,
                                    hone_error *error)
{
    struct filter_case *cases = mem_new(chain->count, sizeof *cases);
    *status = cases ? chain_cases(cases, chain, input, second, second_count, error)
                    : error_memory(error, "a chain");
    if (*status) {
        free(cases);
        return NULL;
    }
    return cases;
}

static void release(struct filter_case *cases, size_t count)
{
    chain_cases_finish(cases, count);
    free(cases);
}

hone_status alpha_weighs(bool *weighs, const hone_chain *chain, const hone_image_desc *input,
                         const hone_image_desc *second, size_t second_count, hone_error *error)
{
    hone_status status;
    struct filter_case *cases = prepared(chain, input, second, second_count, &status, error);
    *weighs = false;
    if (!cases)
        return status;
    for (size_t i = 0; i < chain->count && !is_left_alone(chain); i++)
        *weighs = *weighs || is_weighed(&cases[i]);
    release(cases, chain->count);
    return HONE_OK;
}

#define IS_FULL(type, full)                                                                                  \
    for (size_t i = 0; i < count && is_full; i++)                                                            \
    is_full = ((const type *)pixels)[4 * i + 3] == (full)

bool alpha_is_full(const void *pixels, const hone_image_desc *desc)
{
    const size_t count = (size_t)desc->width * desc->height;
    bool is_full = true;
    if (desc->type == HONE_U8)
        IS_FULL(uint8_t, UINT8_MAX);
    else if (desc->type == HONE_U16)
        IS_FULL(uint16_t, UINT16_MAX);
    else
        IS_FULL(float, 1.0F);
    return is_full;
}

hone_status alpha_chain(hone_chain **out, size_t *moved, const hone_chain *chain, enum alpha_rule rule,
                        const hone_image_desc *input, const hone_image_desc *second, size_t second_count,
                        hone_error *error)
{
    hone_status status;
    struct rewriting r = {0};
    struct filter_case *cases = prepared(chain, input, second, second_count, &status, error);
    *out = NULL;
    if (!cases)
        return status;
    if (rule == ALPHA_PLAIN)
        filter_every_channel(&r, moved, cases, chain->count);
    else
        weigh_colours(&r, moved, cases, chain->count);
    release(cases, chain->count);
    status =
        r.text.failed ? error_memory(error, "a chain") : hone_chain_parse(out, text_view(&r.text), error);
    text_finish(&r.text);
    return status;
}
