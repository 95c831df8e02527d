/* SPDX-License-Identifier: BSD-2-Clause */
/* The images and videos of a folder. */
#pragma once

#include "hone/status.h"

#include <stdbool.h>
#include <stddef.h>

struct folder_list {
    char **names; /* below the folder, with '/' between, sorted by bytes */
    size_t count, capacity;
};

/**
 * Lists the files whose names say that they are images or videos, and the others, which pipes, devices and
 * symbolic links that lead nowhere are among. Hidden files and folders, and the temporary files of outputs,
 * are left out. A symbolic link to a file counts as a file. One to a folder is not entered: it is one of the
 * others where folders are entered. Nor is the folder `leave_out` (which need not exist, or NULL).
 * HONE_ERROR_IO for a folder that cannot be read. Both lists start zeroed and are to be finished in any
 * case.
 */
hone_status folder_images(struct folder_list *list, struct folder_list *others, const char *folder,
                          bool recursive, const char *leave_out, hone_error *error);
void folder_list_finish(struct folder_list *list);
