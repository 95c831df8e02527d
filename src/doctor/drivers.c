/* SPDX-License-Identifier: BSD-2-Clause */
#include "doctor/drivers.h"

#include <dirent.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char vendor_folder[] = "/etc/OpenCL/vendors";

static bool is_folder(const char *path)
{
    DIR *folder = opendir(path);
    if (folder)
        closedir(folder);
    return folder != NULL;
}

static void look_into(const char *folder, void (*tell)(void *, enum driver_kind, const char *), void *user)
{
    char pattern[4096];
    glob_t found = {0};
    snprintf(pattern, sizeof pattern, "%s/*.icd", folder);
    if (glob(pattern, 0, NULL, &found) != 0 || found.gl_pathc == 0)
        tell(user, DRIVER_NONE, folder);
    for (size_t i = 0; i < found.gl_pathc; i++)
        tell(user, DRIVER_FILE, found.gl_pathv[i]);
    globfree(&found);
}

/* By the rules of the common loaders: OCL_ICD_VENDORS is a folder, an ICD file (without a slash: one of the
 * usual folder), or a library. */
void drivers_each(void (*tell)(void *user, enum driver_kind kind, const char *path), void *user)
{
    const char *set = getenv("OCL_ICD_VENDORS");
    char path[4096];
    if (!set || !*set)
        set = getenv("OPENCL_VENDOR_PATH");
    if (!set || !*set)
        set = vendor_folder;
    const size_t length = strlen(set);
    snprintf(path, sizeof path, "%s%s%s", strchr(set, '/') ? "" : vendor_folder, strchr(set, '/') ? "" : "/",
             set);
    if (set == vendor_folder || is_folder(set))
        look_into(set, tell, user);
    else if (length > 4 && strcmp(set + length - 4, ".icd") == 0)
        tell(user, DRIVER_FILE, path);
    else
        tell(user, DRIVER_LIBRARY, set);
}
