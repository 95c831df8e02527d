/* SPDX-License-Identifier: BSD-2-Clause */
/* What drivers are asked while devices are listed: one that hangs is left out from then on, and noted. Shared
 * inside src/cl only. */
#pragma once

#include "cl/internal.h"

struct question;

/* HONE_OK if it was answered, and is the caller's again; it is not after an error, which is
 * HONE_ERROR_MEMORY or, where the answer did not come in time, HONE_ERROR_DEVICE. */
hone_status question_ask(struct question *question, const char *what, hone_error *error);

enum { MAX_PLATFORMS = 32, MAX_DEVICES = 128 };

/* At most MAX_PLATFORMS. None at all is HONE_OK. */
hone_status question_platforms(cl_platform_id platforms[MAX_PLATFORMS], cl_uint *count, hone_error *error);

/* The devices of a platform, at most MAX_DEVICES; none is HONE_OK. name: what the platform calls itself. */
hone_status question_devices(cl_platform_id platform, cl_device_id ids[MAX_DEVICES], cl_uint *count,
                             char name[128], hone_error *error);

/* platform_describe of the first of `count` devices that were found. */
hone_status question_describe(const struct found_device *found, size_t count, hone_device_info *info,
                              char **extensions, hone_error *error);
