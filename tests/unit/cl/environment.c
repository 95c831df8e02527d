/* SPDX-License-Identifier: BSD-2-Clause */
/* What threads read of the environment stays while variables are added by hone, or by a driver. */
#include "cl/environment.h"
#include "hone/device.h"
#include "support.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

extern char **environ;

static bool watched, lost; /* calls of setenv; one of them lost what others may read */

static size_t variables(char *const *array)
{
    size_t count = 0;
    while (array[count])
        count++;
    return count;
}

/* That of the C library, for the drivers, too. Looks whether a new variable left the array from before as it
 * was, as it may not if that was grown. */
int setenv(const char *name, const char *value, int replace)
{
    int (*const real)(const char *, const char *, int) =
        (int (*)(const char *, const char *, int))dlsym(RTLD_NEXT, "setenv");
    char **before = environ;
    const size_t bytes = (variables(before) + 1) * sizeof *before;
    char **copy = malloc(bytes);
    if (!copy)
        return -1;
    memcpy(copy, before, bytes);
    const bool is_new = !getenv(name);
    const int result = real(name, value, replace);
    lost = lost || (watched && is_new && (environ == before || memcmp(copy, before, bytes) != 0));
    free(copy);
    return result;
}

TEST(variables_are_set_and_replaced)
{
    REQUIRE(environment_set("HONE_TEST_NEW", "1"));
    CHECK_TEXT(getenv("HONE_TEST_NEW"), "1");
    REQUIRE(environment_set("HONE_TEST_NE", "other"));
    REQUIRE(environment_set("HONE_TEST_NEW", "="));
    CHECK_TEXT(getenv("HONE_TEST_NEW"), "=");
    CHECK_TEXT(getenv("HONE_TEST_NE"), "other");
    const size_t count = variables(environ);
    REQUIRE(environment_set("HONE_TEST_NEW", ""));
    REQUIRE(environment_set(NULL, NULL));
    CHECK_TEXT(getenv("HONE_TEST_NEW"), "");
    CHECK(variables(environ) == count);
    CHECK(unsetenv("HONE_TEST_NEW") == 0 && !getenv("HONE_TEST_NEW"));
    CHECK_TEXT(getenv("HONE_TEST_NE"), "other");
}

TEST(a_driver_that_starts_leaves_what_others_read)
{
    hone_device_info *devices = NULL;
    hone_error error;
    size_t count = 0;
    setenv("HONE_TEST_FIRST", "1", 1); /* from here on, the array is the C library's, which it frees */
    watched = true;
    REQUIRE_OK(hone_device_list(&devices, &count, &error));
    watched = false;
    CHECK(!lost);
    CHECK_TEXT(getenv("HONE_TEST_FIRST"), "1");
    hone_device_list_free(&devices);
}
