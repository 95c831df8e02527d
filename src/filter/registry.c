/* SPDX-License-Identifier: BSD-2-Clause */
#include "filter/registry.h"

#include "base/text.h"
#include "filter/own/own.h"

#include <string.h>

/* Generated: each ends with an entry of NULL. */
extern const struct kernel_file registry_files[];
extern const struct hone_filter *const registry_filters[];

const struct hone_filter *registry_at(size_t index)
{
    const struct hone_filter *const *filter = registry_filters;
    while (*filter && index-- > 0)
        filter++;
    return *filter;
}

const struct hone_filter *registry_any_at(size_t index)
{
    size_t count = 0;
    while (count < index && registry_filters[count])
        count++;
    return registry_filters[count] ? registry_filters[count] : own_at(index - count);
}

static const struct hone_filter *built_in(const char *name)
{
    const struct hone_filter *const *filter = registry_filters;
    while (*filter && strcmp((*filter)->name, name) != 0)
        filter++;
    return *filter;
}

bool registry_built_in(const char *name)
{
    return built_in(name) != NULL;
}

const struct hone_filter *registry_find(const char *name)
{
    const struct hone_filter *filter = built_in(name);
    return filter ? filter : own_find(name);
}

const char *registry_text(const char *path)
{
    const struct kernel_file *file = registry_files;
    while (file->path && strcmp(file->path, path) != 0)
        file++;
    return file->text;
}

const struct hone_filter *registry_nearest(const char *name)
{
    const struct hone_filter *nearest = NULL;
    unsigned best = 4;
    for (const struct hone_filter *const *filter = registry_filters; *filter; filter++) {
        unsigned distance = text_distance(name, (*filter)->name, best);
        if (distance < best && distance < strlen((*filter)->name) && distance < strlen(name)) {
            best = distance;
            nearest = *filter;
        }
    }
    return nearest;
}
