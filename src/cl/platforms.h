/* SPDX-License-Identifier: BSD-2-Clause */
/* The platforms that the OpenCL loader found, as a diagnosis needs them: also those that do not work. */
#ifndef CL_PLATFORMS_H
#define CL_PLATFORMS_H

#include "hone/status.h"

#include <stddef.h>

struct platform_info {
    char name[128], version[256], vendor[128];
    unsigned devices;     /* that it has */
    unsigned undescribed; /* of these, that answer no questions about themselves and cannot be used */
    int code;             /* of asking it for devices; "none" is CL_SUCCESS */
};

/* *list is freed with free(). No platform at all is HONE_OK with *count 0. */
hone_status platform_list(struct platform_info **list, size_t *count, hone_error *error);

#endif
