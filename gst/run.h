/* SPDX-License-Identifier: BSD-2-Clause */
/* A chain on a device for frames of one format. */
#ifndef GST_HONE_RUN_H
#define GST_HONE_RUN_H

#include "chain.h"

/* What frames were and what was copied for them, bytes. */
struct tally {
    guint64 frames, zero_copy_frames; /* zero copy: no byte of the frame was copied, by whomever */
    guint64 uploaded, downloaded;     /* by the device */
    guint64 rearranged;               /* by the device: rows realigned, images, mapped memory */
    guint64 staged;  /* by the CPU, between the frame and memory that the device can access */
    guint64 passed;  /* by the CPU: planes that are not filtered */
    guint64 shifted; /* by the CPU: samples that lie in the lower bits */
};

/* Frames come one at a time, from one thread at a time. */
struct run {
    hone_stream *stream;
    GstVideoInfo in, out;
    struct second {
        size_t step;
        hone_image_desc desc;
        hone_image *image;
    } * seconds; /* second images, in the order of their steps */
    size_t second_count;
    unsigned count;
    struct plane planes[HONE_STREAM_PLANES];
    struct {
        guint8 *pixels; /* NULL: the plane is filtered where it lies */
        size_t pitch;
    } shifted[HONE_STREAM_PLANES];
};

struct run_options {
    gboolean all_planes;
    hone_tune tune;
};

/* Builds what frames `in` need to become frames `out`. NULL with *error filled in. Free with run_free. */
struct run *run_new(hone_device *device, const struct video_chain *chain, const GstVideoInfo *in,
                    const GstVideoInfo *out, const struct run_options *options, hone_error *error);
void run_free(struct run *run); /* may be NULL */

/* Filters a frame, and adds to *tally. */
hone_status run_frame(struct run *run, const GstVideoFrame *in, GstVideoFrame *out, struct tally *tally,
                      hone_error *error);

/* "gaussian:bands, sobel:rows": what was chosen for the first plane. The caller frees it. */
char *run_variants(const struct run *run);

#endif
