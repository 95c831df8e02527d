/* SPDX-License-Identifier: BSD-2-Clause */
/* The drivers that the OpenCL loader knows, without asking it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum driver_kind {
    DRIVER_FILE,    /* an ICD file, which holds the name of a library in its first line */
    DRIVER_LIBRARY, /* a library, named by OCL_ICD_VENDORS */
    DRIVER_NONE     /* a folder without any */
};

/* Calls `tell` for each, with its path. */
void drivers_each(void (*tell)(void *user, enum driver_kind kind, const char *path), void *user);
