/* SPDX-License-Identifier: BSD-2-Clause */
/* Frames that hone takes without a copy: pages, and rows that suit every kernel. */
#ifndef GST_HONE_POOL_H
#define GST_HONE_POOL_H

#include <gst/video/gstvideopool.h>
#include <gst/video/video.h>

/* Where frames should begin, for gst_query_add_allocation_param. */
void pool_allocation(GstAllocationParams *params);

/* A pool of video frames. Rows are padded if who configures it asks for GST_BUFFER_POOL_OPTION_VIDEO_META,
 * and so heeds the strides that the frames tell. */
GstBufferPool *pool_new(void);

/* Lets a pool that can pad rows do it where they do not suit: call it when `config` is otherwise complete. */
void pool_pad(GstBufferPool *pool, GstStructure *config);

#endif
