/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * What a device can do at most, by kind: what `hone bench` holds kernels against. Measured once per device
 * and driver (some seconds) and kept with the roofs that choosing goes by (choose/roofs.h).
 */
#pragma once

#include "hone/device.h"

#include <stdbool.h>

enum roof {
    ROOF_COPY_BUFFER, /* bytes/s, read and written both counted */
    ROOF_COPY_IMAGE,
    ROOF_READ_BUFFER, /* bytes/s, nothing written */
    ROOF_LOCAL,       /* bytes/s read from local memory */
    ROOF_FLOAT,       /* additions and multiplications per second */
    ROOF_MAD,         /* the same by mad() alone, which some drivers call as a function */
    ROOF_HALF,
    ROOF_INT,
    ROOF_BYTES,    /* of single bytes in vectors of 16 */
    ROOF_LAUNCH,   /* seconds from enqueuing an empty kernel to knowing that it is done */
    ROOF_EMPTY,    /* seconds of an empty kernel itself */
    ROOF_UPLOAD,   /* bytes/s from the host's memory */
    ROOF_DOWNLOAD, /* and to it */
    ROOF_MAP,      /* bytes/s of mapping a buffer for reading, and unmapping */
    ROOF_COUNT
};

struct roofs_list {
    double values[ROOF_COUNT]; /* 0: the device cannot, or the driver failed */
    bool by_host;              /* the device has no clock to believe */
};

/* "copy by buffer", "launch" ...; "B/s", "op/s" or "s". Static. */
const char *roof_name(enum roof roof);
const char *roof_unit(enum roof roof);

/* What is remembered; false where nothing is. */
bool roofs_recall_all(struct roofs_list *roofs, const hone_device_info *device);
/* What is remembered, or else measured now; `anew`: measured in any case. */
hone_status roofs_know(struct roofs_list *roofs, hone_device *device, bool anew, hone_error *error);
