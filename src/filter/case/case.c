/* SPDX-License-Identifier: BSD-2-Clause */
#include "filter/case/internal.h"

#include "base/error.h"
#include "base/mem.h"
#include "filter/registry.h"
#include "image/view.h"

#include <stdlib.h>
#include <string.h>

hone_status case_init(struct filter_case *c, const struct hone_filter *filter, hone_error *error)
{
    *c = (struct filter_case){.filter = filter};
    hone_status status = HONE_OK;
    size_t count = filter_parameter_count(filter);
    for (size_t i = 0; i < count && !status; i++)
        if (filter->parameters[i].fallback)
            status = case_set_own(c, (int)i, filter->parameters[i].fallback, false, error);
    if (status)
        case_finish(c);
    return status;
}

void case_finish(struct filter_case *c)
{
    for (int i = 0; i < MAX_PARAMETERS; i++)
        free((char *)c->values[i].text);
    for (unsigned i = 0; i < c->fused_count; i++) {
        case_finish(c->fused[i]);
        free(c->fused[i]);
    }
    free(c->data);
    *c = (struct filter_case){0};
}

static hone_status copy_texts(struct filter_case *to, const struct filter_case *from, hone_error *error)
{
    bool ok = true;
    for (int i = 0; i < MAX_PARAMETERS; i++)
        if (from->values[i].text) {
            to->values[i].text = mem_copy_text(from->values[i].text);
            ok = ok && to->values[i].text;
        }
    return ok ? HONE_OK : error_memory(error, "a filter's parameters");
}

static hone_status copy_fused(struct filter_case *to, const struct filter_case *from, hone_error *error)
{
    hone_status status = HONE_OK;
    for (unsigned i = 0; i < from->fused_count && !status; i++) {
        struct filter_case *copy = mem_new(1, sizeof *copy);
        if (!copy)
            return error_memory(error, "a filter's parameters");
        to->fused[to->fused_count++] = copy;
        status = case_copy(copy, from->fused[i], error);
    }
    return status;
}

bool case_draws(const struct filter_case *c)
{
    const struct bins *bins = c->filter->bins;
    return bins && strcmp(case_value(c, bins->output)->text, bins->picture) == 0;
}

hone_status case_copy(struct filter_case *to, const struct filter_case *from, hone_error *error)
{
    *to = *from;
    to->data = NULL;
    to->fused_count = 0;
    hone_status status = copy_texts(to, from, error);
    THEN(status, copy_fused(to, from, error));
    if (!status && from->in.width)
        status = case_prepare(to, case_input(from), from->second.width ? &from->second : NULL, error);
    if (status)
        case_finish(to);
    return status;
}

static bool same_value(const struct value *a, const struct value *b)
{
    bool texts = a->text && b->text;
    return a->number == b->number && a->given == b->given &&
           (texts ? strcmp(a->text, b->text) == 0 : a->text == b->text);
}

bool case_same(const struct filter_case *a, const struct filter_case *b)
{
    bool same = a->filter == b->filter && a->border == b->border && a->border_value == b->border_value &&
                a->relaxed == b->relaxed && a->exact == b->exact && a->filter_alpha == b->filter_alpha &&
                desc_same(&a->in, &b->in) && desc_same(&a->second, &b->second) && a->before == b->before &&
                a->fused_count == b->fused_count;
    for (int i = 0; i < MAX_PARAMETERS && same; i++)
        same = same_value(&a->values[i], &b->values[i]);
    for (unsigned i = 0; i < a->fused_count && same; i++)
        same = case_same(a->fused[i], b->fused[i]);
    return same;
}
