/* SPDX-License-Identifier: BSD-2-Clause */
/* The module: nothing but the addresses of what it is linked with. */
#define HONE_VIPS_MODULE_ITSELF
#include "media/vips/calls.h"

#include "hone/version.h"

#define VIPS_CALL_ADDRESS(name) .name = (name),

extern const struct vips_calls hone_vips_calls;

__attribute__((visibility("default"))) const struct vips_calls hone_vips_calls = {
    .size = sizeof(struct vips_calls),
    .version = HONE_VERSION,
    VIPS_CALLS(VIPS_CALL_ADDRESS) GLIB_CALLS(VIPS_CALL_ADDRESS) TIFF_CALLS(VIPS_CALL_ADDRESS)};
