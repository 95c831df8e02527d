/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * What a device can do at most: how fast it moves and computes, measured once per device and driver (about a
 * tenth of a second) and remembered in $XDG_DATA_HOME/hone/roofs.json.
 */
#pragma once

#include "hone/device.h"

#include <stdbool.h>

struct roofs {
    double copy;             /* bytes/s read and written by a kernel, both counted */
    double upload, download; /* bytes/s between host and device; 0: the device works in the host's memory */
    double launch;           /* seconds from enqueuing a small kernel to knowing that it is done */
    double operations;       /* additions and multiplications of floats per second */
};

enum roofs_known {
    ROOFS_UNKNOWN,
    ROOFS_KNOWN,
    ROOFS_UNFINISHED /* measuring began and never ended: the driver ended the process, or hung */
};

/* What is remembered of a device. */
enum roofs_known roofs_recall(const hone_device_info *device, struct roofs *roofs);

/* Measures and remembers. That it cannot be remembered is no error. */
hone_status roofs_measure(hone_device *device, struct roofs *roofs, hone_error *error);

/* More that was measured of a device, an object kept beside its roofs: what is remembered, a new reference or
 * NULL; remembering, as far as the file can be written. */
struct json_t;
struct json_t *roofs_recall_detail(const hone_device_info *device);
void roofs_remember_detail(const hone_device_info *device, struct json_t *detail);
