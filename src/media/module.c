/* SPDX-License-Identifier: BSD-2-Clause */
#include "media/module.h"

#include "base/error.h"
#include "base/file.h"
#include "hone/version.h"

#include <dlfcn.h>
#include <string.h>

hone_status module_load(const void **exported, const char *what, const char *const *places,
                        const char *symbol, size_t size, hone_error *error)
{
    char path[FILE_BESIDE_SIZE];
    const struct {
        size_t size;
        const char *version;
    } * found;
    if (!file_beside_program(places, path))
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
