/* SPDX-License-Identifier: BSD-2-Clause */
/** Changes the environment while other threads read it. */
#pragma once

#include <stdbool.h>

/**
 * Sets a variable as setenv() does. Other threads may call getenv() meanwhile; none may change the
 * environment.
 *
 * With glibc, setenv() frees the array of variables that it made before, which getenv() in another thread
 * may be reading. Here the array is replaced by one that is kept, and the next setenv() frees none that is in
 * use: drivers call it when they start.
 *
 * name: NULL sets nothing, only replaces the array. Copies name and value, and keeps the copy for good.
 * Returns false, and changes nothing, where memory is short.
 */
bool environment_set(const char *name, const char *value);
