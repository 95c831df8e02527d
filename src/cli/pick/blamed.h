/* SPDX-License-Identifier: BSD-2-Clause */
/* Which of the installed drivers hangs while it is loaded, where the loader does not come back. */
#pragma once

#include "hone/status.h"

/* The first argument of a process of hone that loads drivers and lists their devices, and does nothing
 * else; the second is how many seconds it may take. */
#define LISTING_ARGUMENT "--list-drivers"
int listing_main(const char *seconds);

/* Where the loader hangs, adds the file of the driver that does to the error, and what to do. */
void blame_driver(hone_error *error);
