/* SPDX-License-Identifier: BSD-2-Clause */
#include "media/module.h"

#include "base/error.h"
#include "hone/version.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static bool find(const char *const *places, char *path, size_t size)
{
    char folder[PATH_MAX];
    const ssize_t length = readlink("/proc/self/exe", folder, sizeof folder - 1);
    folder[length > 0 ? length : 0] = '\0';
    char *slash = strrchr(folder, '/');
    if (!slash)
        return false;
    *slash = '\0';
    for (const char *const *place = places; *place; place++) {
        const int written = snprintf(path, size, "%s/%s", folder, *place);
        if (written > 0 && (size_t)written < size && access(path, F_OK) == 0)
            return true;
    }
    snprintf(path, size, "%s/%s", folder, places[0]);
    return false;
}

hone_status module_load(const void **exported, const char *what, const char *const *places,
                        const char *symbol, size_t size, hone_error *error)
{
    char path[PATH_MAX * 2] = "";
    const struct {
        size_t size;
        const char *version;
    } * found;
    if (!find(places, path, sizeof path))
        return error_unsupported(error, "hone's module for %s is missing: '%s' belongs to its installation",
                                 what, path);
    void *handle = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
    found = handle ? dlsym(handle, symbol) : NULL;
    if (!found)
        return error_unsupported(error, "hone's module for %s cannot be loaded: %s", what, dlerror());
    if (found->size != size || strcmp(found->version, HONE_VERSION) != 0)
        return error_unsupported(error,
                                 "hone's module for %s, '%s', is of another version than hone " HONE_VERSION
                                 ": install both anew",
                                 what, path);
    *exported = found;
    return HONE_OK;
}
