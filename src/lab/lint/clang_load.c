/* SPDX-License-Identifier: BSD-2-Clause */
#include "lab/lint/clang.h"

#include "base/mem.h"

#include <dlfcn.h>
#include <string.h>

/* Functions come as data pointers; memcpy is the conversion that C allows. */
static bool find(void *library, const char *name, void *slot)
{
    void *address = dlsym(library, name);
    memcpy(slot, &address, sizeof address);
    return address != NULL;
}

const struct clang *clang_load(void)
{
    static const char *const names[] = {HONE_CLANG_LIBRARY, "libclang.so.1", "libclang.so"};
    static struct clang clang;
    for (size_t i = 0; i < COUNT_OF(names) && !clang.library; i++)
        clang.library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    if (!clang.library)
        return NULL;
    bool whole = true;
#define CLANG_FIND(name) whole = find(clang.library, "clang_" #name, &clang.name) && whole;
    CLANG_CALLS(CLANG_FIND)
    return whole ? &clang : NULL;
}
