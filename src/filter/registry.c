/* SPDX-License-Identifier: BSD-2-Clause */
#include "filter/registry.h"

#include "base/text.h"

#include <string.h>

/* Generated: ends with an entry whose filter is NULL. */
extern const struct filter_entry registry_entries[];
extern const char registry_header_text[], registry_fuse_text[];

const struct hone_filter *registry_at(size_t index)
{
    for (size_t i = 0; registry_entries[i].filter; i++)
        if (i == index)
            return registry_entries[i].filter;
    return NULL;
}

static const struct filter_entry *find_entry(const char *name)
{
    const struct filter_entry *entry = registry_entries;
    while (entry->filter && strcmp(entry->filter->name, name) != 0)
        entry++;
    return entry->filter ? entry : NULL;
}

const struct hone_filter *registry_find(const char *name)
{
    const struct filter_entry *entry = find_entry(name);
    return entry ? entry->filter : NULL;
}

const char *registry_source(const struct hone_filter *filter, const char *file)
{
    const struct filter_entry *entry = find_entry(filter->name);
    for (const struct filter_source *source = entry ? entry->sources : NULL; source && source->file; source++)
        if (strcmp(source->file, file) == 0)
            return source->text;
    return NULL;
}

const struct hone_filter *registry_nearest(const char *name)
{
    const struct hone_filter *nearest = NULL;
    unsigned best = 4;
    for (const struct filter_entry *entry = registry_entries; entry->filter; entry++) {
        unsigned distance = text_distance(name, entry->filter->name, best);
        if (distance < best && distance < strlen(entry->filter->name)) {
            best = distance;
            nearest = entry->filter;
        }
    }
    return nearest;
}

const char *registry_header(void)
{
    return registry_header_text;
}

const char *registry_fuse_header(void)
{
    return registry_fuse_text;
}

const struct variant *filter_variant(const struct hone_filter *filter, const char *name)
{
    for (size_t i = 0; i < filter->variant_count; i++)
        if (strcmp(filter->variants[i].name, name) == 0)
            return &filter->variants[i];
    return NULL;
}

const struct rung *filter_rung(const struct hone_filter *filter, const char *name)
{
    for (size_t i = 0; i < filter->rung_count; i++)
        if (strcmp(filter->rungs[i].name, name) == 0)
            return &filter->rungs[i];
    return NULL;
}

size_t filter_parameter_count(const struct hone_filter *filter)
{
    size_t count = 0;
    while (count < MAX_PARAMETERS && filter->parameters[count].name)
        count++;
    return count;
}

int filter_parameter(const struct hone_filter *filter, const char *name)
{
    size_t count = filter_parameter_count(filter);
    for (size_t i = 0; i < count; i++)
        if (strcmp(filter->parameters[i].name, name) == 0)
            return (int)i;
    return -1;
}

size_t variant_tunable_count(const struct variant *variant)
{
    size_t count = 0;
    while (count < MAX_TUNABLES && variant->tunables[count].name)
        count++;
    return count;
}

size_t variant_pass_count(const struct variant *variant)
{
    size_t count = 0;
    while (count < MAX_PASSES && variant->passes[count].kernel)
        count++;
    return count;
}

size_t variant_scratch_count(const struct variant *variant)
{
    size_t count = 0;
    while (count < MAX_SCRATCH && (variant->scratch[count].bytes || variant->scratch[count].width))
        count++;
    return count;
}
