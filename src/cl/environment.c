/* SPDX-License-Identifier: BSD-2-Clause */
#include "cl/environment.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

extern char **environ;

static size_t count_of(char *const *array)
{
    size_t count = 0;
    while (array && array[count])
        count++;
    return count;
}

/* In place of the one of its name, or at the end. */
static void put(char **array, size_t count, char *variable, size_t name_length)
{
    size_t i = 0;
    while (i < count && (strncmp(array[i], variable, name_length) != 0 || array[i][name_length] != '='))
        i++;
    array[i] = variable;
}

bool environment_set(const char *name, const char *value)
{
    const size_t count = count_of(environ), array_bytes = (count + 2) * sizeof *environ;
    const size_t variable_bytes = name ? strlen(name) + strlen(value) + 2 : 0;
    void *memory =
        mmap(NULL, array_bytes + variable_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return false;
    char **array = memory;
    if (count > 0)
        memcpy(array, environ, count * sizeof *array);
    if (name) {
        char *variable = (char *)memory + array_bytes;
        snprintf(variable, variable_bytes, "%s=%s", name, value);
        put(array, count, variable, strlen(name));
    }
    __atomic_store_n(&environ, array, __ATOMIC_RELEASE);
    return true;
}
