/* SPDX-License-Identifier: BSD-2-Clause */
/* The command's side of its module for libvips. */
#include "media/vips/internal.h"

#include "base/error.h"
#include "media/module.h"

#include <pthread.h>

static const struct vips_calls *calls; /* NULL: they are not there, and `problem` says why */
static hone_error problem;

static void load(void)
{
    static const char *const places[] = {HONE_VIPS_MODULE, "libexec/hone/vips.so", NULL};
    module_load((const void **)&calls, "images", places, VIPS_CALLS_SYMBOL, sizeof *calls, &problem);
}

hone_status vips_load(hone_error *error)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, load);
    return calls ? HONE_OK : error_pass(error, &problem);
}

const struct vips_calls *vips_calls(void)
{
    vips_load(NULL);
    return calls;
}
