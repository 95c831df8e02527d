/* SPDX-License-Identifier: BSD-2-Clause */
/* What several test programs need: folders, files, child processes, devices, expected results. */
#ifndef TESTS_SUPPORT_H
#define TESTS_SUPPORT_H

#include "hone/hone.h"
#include "image/view.h"
#include "test.h"

#include <limits.h>
#include <sys/types.h>

/* A new empty folder below $TMPDIR; static storage, good until the test ends. Whoever runs the tests removes
 * it. */
const char *support_folder(void);
/* "folder/name" in one of some static buffers. */
const char *support_path(const char *folder, const char *name);
void support_write(const char *path, const void *bytes, size_t count);
/* The whole file, with a zero byte behind it; the caller frees it. NULL when it cannot be read. */
char *support_read(const char *path, size_t *count);
bool support_exists(const char *path);
/* Number of names in a folder that contain `part` (NULL: all). */
size_t support_count_files(const char *folder, const char *part);

/* From now on permissions bind this process even when it belongs to root. */
void support_obey_permissions(void);

/* Runs a function in a child process; returns the status as wait gives it. */
int support_in_child(void (*function)(void *user), void *user);

/* Opens a device; a failure ends the test. */
hone_device *support_open(const hone_device_request *request);
/* The first device, for tests that compile much: PoCL's without programs on disk. Asked for a binary to keep,
 * it would compile every kernel a second time, for work-groups of any size; what it keeps itself it finds
 * again all the same. */
hone_device *support_open_quick(void);
bool support_is_pocl(const hone_device *device);

/* A folder laid out like src/ with the kernels of one filter, for hone_device_request.kernel_folder. */
const char *support_kernel_folder(const char *filter, const char *from);
/* The path of a file that was built beside the test program. */
const char *support_beside_program(const char *name);

/* A plan for a chain, made or the test ends. */
hone_plan *support_plan(hone_device *device, const char *chain, const hone_image_desc *input,
                        const hone_plan_options *options);

/* What the reference makes of a picture for a chain of one filter: a view to be finished by the caller. */
struct view support_expected(const char *chain, const struct view *in);
/* A picture with random content. */
struct view support_picture(uint32_t width, uint32_t height, hone_type type, uint32_t channels,
                            uint32_t seed);
/* Compares pixels (not padding); false after noting the first difference as a failure. */
bool support_same(const char *file, int line, const struct view *got, const struct view *wanted,
                  double bound);
#define CHECK_SAME(got, wanted, bound) support_same(__FILE__, __LINE__, got, wanted, bound)

/* Collects log messages of a device: request.log = support_log, request.log_user = &log. */
struct support_log {
    char text[4096];
};
void support_log(void *user, hone_log_level level, const char *message);

#endif
