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
