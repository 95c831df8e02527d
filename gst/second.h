/* SPDX-License-Identifier: BSD-2-Clause */
/* Second images: files, which GStreamer's own decoders read. */
#ifndef GST_HONE_SECOND_H
#define GST_HONE_SECOND_H

#include "chain.h"

/* What the second image of a step must be like. */
struct second_place {
    const GstVideoInfo *frames; /* that come in */
    const struct plane *plane;  /* of these, the one that is filtered */
    hone_image_desc desc;       /* the step's first image */
    const char *filter;
};

/* Reads the first picture of a file in the format that `place` has. Waits for decoders, some seconds at most.
 * Ownership: destroy *out with hone_image_destroy. */
hone_status second_load(hone_image **out, hone_device *device, const char *path,
                        const struct second_place *place, hone_error *error);

#endif
