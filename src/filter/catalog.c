/* SPDX-License-Identifier: BSD-2-Clause */
/* The public view of the registry. */
#include "filter/case.h"
#include "filter/registry.h"
#include "hone/filter.h"

#include <stdio.h>
#include <string.h>

static const struct hone_filter *find(const char *name)
{
    return name ? registry_find(name) : NULL;
}

static void list_channels(const struct hone_filter *filter, char *to, size_t size)
{
    size_t used = 0;
    for (unsigned channels = 1; channels <= 4; channels++)
        if (filter->channels & 1u << channels)
            used += (size_t)snprintf(to + used, size - used, "%s%u", used ? ", " : "", channels);
}

static bool describe(const struct hone_filter *filter, hone_filter_info *out)
{
    if (!filter || !out)
        return false;
    *out = (hone_filter_info){.name = filter->name,
                              .summary = filter->summary,
                              .origin = filter->origin,
                              .inputs = filter->inputs,
                              .spatial = filter->spatial,
                              .loaded = filter->own != NULL};
    case_list_types(filter->types, out->types, sizeof out->types);
    case_list_types(case_exact_types(filter), out->exact_types, sizeof out->exact_types);
    for (int type = HONE_U8; type <= HONE_F32; type++)
        out->bounds[type] = filter->bounds[type];
    list_channels(filter, out->channels, sizeof out->channels);
    return true;
}

bool hone_filter_at(size_t index, hone_filter_info *out)
{
    return describe(registry_any_at(index), out);
}

bool hone_filter_find(const char *name, hone_filter_info *out)
{
    return describe(find(name), out);
}

bool hone_filter_parameter(const char *name, size_t index, hone_parameter_info *out)
{
    static const char *const kinds[] = {"integer", "real", "choice", "text", "image"};
    const struct hone_filter *filter = find(name);
    if (!filter || !out)
        return false;
    size_t own = filter_parameter_count(filter);
    const struct parameter *p =
        index < own ? &filter->parameters[index] : case_common_parameter(filter, index - own);
    if (!p)
        return false;
    *out = (hone_parameter_info){p->name,    p->help, kinds[p->kind], p->unit,     p->fallback,
                                 p->choices, p->min,  p->max,         index >= own};
    return true;
}

bool hone_filter_variant(const char *name, size_t index, hone_variant_info *out)
{
    const struct hone_filter *filter = find(name);
    if (!filter || !out || index >= filter->variant_count)
        return false;
    const struct variant *v = &filter->variants[index];
    *out =
        (hone_variant_info){v->name,        v->summary,    v->path,           v->condition,
                            v->specialised, v->relaxed,    v->exact != 0,     (unsigned)variant_pass_count(v),
                            v->cost.bytes,  v->cost.loads, v->cost.operations};
    return true;
}

bool hone_filter_tunable(const char *name, const char *variant, size_t index, hone_tunable_info *out)
{
    const struct hone_filter *filter = find(name);
    const struct variant *v = filter && variant ? filter_variant(filter, variant) : NULL;
    if (!v || !out || index >= variant_tunable_count(v))
        return false;
    const struct tunable *t = &v->tunables[index];
    *out = (hone_tunable_info){t->name, t->help, t->values, t->kind == TUNABLE_LAUNCH};
    return true;
}

static double gain_of(const char *filter, const char *rung)
{
    const struct rung_gain *g = rung_gains;
    while (g->filter && (strcmp(g->filter, filter) != 0 || strcmp(g->rung, rung) != 0))
        g++;
    return g->gain;
}

bool hone_filter_rung(const char *name, size_t index, hone_rung_info *out)
{
    const struct hone_filter *filter = find(name);
    if (!filter || !out || index >= filter->rung_count)
        return false;
    const struct rung *r = &filter->rungs[index];
    *out = (hone_rung_info){
        r->name, r->title, r->variant, r->config ? r->config : "", gain_of(filter->name, r->name), r->where};
    return true;
}
