/* SPDX-License-Identifier: BSD-2-Clause */
/* GStreamer's video formats that hone takes, and their planes as hone sees them. */
#ifndef GST_HONE_FORMATS_H
#define GST_HONE_FORMATS_H

#include "hone/hone.h"

#include <gst/video/video.h>

/* 16-bit samples are taken in the host's byte order. */
#if G_BYTE_ORDER == G_LITTLE_ENDIAN
#define NATIVE(name) GST_VIDEO_FORMAT_##name##LE
#define ORDER        "LE, "
#else
#define NATIVE(name) GST_VIDEO_FORMAT_##name##BE
#define ORDER        "BE, "
#endif
#define FORMATS                                                                                              \
    "{ I420, YV12, NV12, NV21, Y42B, Y444, I420_10" ORDER "I422_10" ORDER "Y444_10" ORDER "P010_10" ORDER    \
    "GRAY8, GRAY16_" ORDER "RGBA64_" ORDER "RGB, RGBA, RGBx, BGR, BGRA, BGRx }"

enum { FORMAT_COUNT = 19 };

/* The formats in the order of FORMATS. */
GstVideoFormat format_at(unsigned index);
/* The place of a format, or FORMAT_COUNT. */
unsigned format_index(GstVideoFormat format);
/* Whether blue comes first: only a chain that treats all colours alike may take it. */
gboolean format_is_reversed(GstVideoFormat format);
/* The format with one plane of such elements, or GST_VIDEO_FORMAT_UNKNOWN. */
GstVideoFormat format_of(const hone_image_desc *desc);

/* A plane that is filtered. */
struct plane {
    unsigned index; /* in the frame */
    hone_image_desc desc;
    /* Samples with fewer bits than their type are filtered in its upper bits: they are `up` bits too low for
     * that, and `low` bits of them mean nothing. 0 and 0: all bits count. P010: 0 and 6. I420_10LE: 6 and
     * 6. */
    unsigned up, low;
};

/* Fills in the planes that are filtered and returns their number: of YUV the luma, or with `all` the chroma,
 * too. */
unsigned format_planes(const GstVideoInfo *info, gboolean all, struct plane planes[HONE_STREAM_PLANES]);

/* Shifts the samples of a plane up into memory with another pitch; both in bytes. */
void plane_shift_up(const struct plane *plane, const guint8 *from, size_t from_pitch, guint8 *to,
                    size_t pitch);
/* Rounds a result in place (halves up) to the bits of the format, where they lie in its samples. */
void plane_round(const struct plane *plane, guint8 *pixels, size_t pitch);

#endif
