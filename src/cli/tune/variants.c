/* SPDX-License-Identifier: BSD-2-Clause */
/* The names of --variant: each is one of a filter that is tuned. */
#include "cli/tune/tune.h"

#include "base/error.h"
#include "base/text.h"
#include "filter/case.h"
#include "filter/chain.h"
#include "filter/registry.h"

#include <string.h>

struct filters {
    const struct hone_filter *all[MAX_CASES];
    size_t count;
};

static void add_filter(struct filters *filters, const struct hone_filter *filter)
{
    for (size_t i = 0; i < filters->count; i++)
        if (filters->all[i] == filter)
            return;
    if (filters->count < MAX_CASES)
        filters->all[filters->count++] = filter;
}

static hone_status list_filters(struct filters *filters, const struct operands *operands, hone_error *error)
{
    filters->count = 0;
    for (size_t i = 0; operands->count == 0 && registry_at(i); i++)
        add_filter(filters, registry_at(i));
    for (int i = 0; i < operands->count; i++) {
        struct filter_case c;
        TRY(chain_parse_case(&c, operands->items[i], error));
        add_filter(filters, c.filter);
        case_finish(&c);
    }
    return HONE_OK;
}

/* Whether one of the first `count` filters has a variant of this name. */
static bool is_known(const struct filters *filters, size_t count, const char *name, size_t length)
{
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < filters->all[i]->variant_count; k++) {
            const char *known = filters->all[i]->variants[k].name;
            if (strlen(known) == length && strncmp(known, name, length) == 0)
                return true;
        }
    return false;
}

static void list_variants(const struct filters *filters, struct text *out)
{
    for (size_t i = 0; i < filters->count; i++)
        for (size_t k = 0; k < filters->all[i]->variant_count; k++) {
            const char *name = filters->all[i]->variants[k].name;
            if (!is_known(filters, i, name, strlen(name)))
                text_add(out, "%s%s", out->length ? ", " : "", name);
        }
}

static hone_status unknown(const struct filters *filters, const char *name, size_t length, hone_error *error)
{
    const bool one = filters->count == 1;
    struct text names = {0};
    list_variants(filters, &names);
    hone_status status = error_usage(
        error, "%s %s variant '%.*s'; %s %s", one ? filters->all[0]->name : "none of these filters",
        one ? "has no" : "has a", (int)length, name, one ? "it has" : "they have", text_view(&names));
    text_finish(&names);
    return status;
}

hone_status tune_check_variants(const char *variants, const struct operands *operands, hone_error *error)
{
    struct filters filters;
    if (!variants)
        return HONE_OK;
    TRY(list_filters(&filters, operands, error));
    for (const char *at = variants;; at++) {
        const size_t length = strcspn(at, ",");
        if (!is_known(&filters, filters.count, at, length))
            return unknown(&filters, at, length, error);
        at += length;
        if (!*at)
            return HONE_OK;
    }
}
