/* SPDX-License-Identifier: BSD-2-Clause */
#include "pool.h"

/* GPUs that share the host's memory copy unless they get whole pages; no kernel wants rows at more than 64
 * bytes. */
enum { PAGE_MASK = 4095, ROW_MASK = 63 };

typedef struct {
    GstVideoBufferPool parent;
} GstHonePool;
typedef GstVideoBufferPoolClass GstHonePoolClass;

G_DEFINE_TYPE(GstHonePool, gst_hone_pool, GST_TYPE_VIDEO_BUFFER_POOL)

void pool_allocation(GstAllocationParams *params)
{
    gst_allocation_params_init(params);
    params->align = PAGE_MASK;
}

static gboolean rows_suit(const GstVideoInfo *info)
{
    gboolean suit = TRUE;
    for (unsigned i = 0; i < GST_VIDEO_INFO_N_PLANES(info); i++)
        suit = suit && (GST_VIDEO_INFO_PLANE_STRIDE(info, i) & ROW_MASK) == 0;
    return suit;
}

static gboolean can_pad(GstBufferPool *pool)
{
    const gchar **options = gst_buffer_pool_get_options(pool);
    return options && g_strv_contains(options, GST_BUFFER_POOL_OPTION_VIDEO_ALIGNMENT);
}

void pool_pad(GstBufferPool *pool, GstStructure *config)
{
    GstVideoAlignment align;
    GstAllocationParams params;
    GstAllocator *allocator = NULL;
    GstCaps *caps = NULL;
    GstVideoInfo info;
    gst_buffer_pool_config_get_params(config, &caps, NULL, NULL, NULL);
    if (!caps || !gst_video_info_from_caps(&info, caps) || rows_suit(&info) || !can_pad(pool))
        return;
    /* GStreamer aligns rows as much as the whole: pages would make rows of pages. */
    if (gst_buffer_pool_config_get_allocator(config, &allocator, &params) && params.align == PAGE_MASK) {
        params.align = ROW_MASK;
        gst_buffer_pool_config_set_allocator(config, allocator, &params);
    }
    gst_video_alignment_reset(&align);
    for (int i = 0; i < GST_VIDEO_MAX_PLANES; i++)
        align.stride_align[i] = ROW_MASK;
    gst_buffer_pool_config_add_option(config, GST_BUFFER_POOL_OPTION_VIDEO_ALIGNMENT);
    gst_buffer_pool_config_set_video_alignment(config, &align);
}

static gboolean set_config(GstBufferPool *pool, GstStructure *config)
{
    if (gst_buffer_pool_config_has_option(config, GST_BUFFER_POOL_OPTION_VIDEO_META) &&
        !gst_buffer_pool_config_has_option(config, GST_BUFFER_POOL_OPTION_VIDEO_ALIGNMENT))
        pool_pad(pool, config);
    return GST_BUFFER_POOL_CLASS(gst_hone_pool_parent_class)->set_config(pool, config);
}

static void gst_hone_pool_class_init(GstHonePoolClass *class)
{
    GST_BUFFER_POOL_CLASS(class)->set_config = set_config;
}

static void gst_hone_pool_init(GstHonePool *pool)
{
    (void)pool;
}

GstBufferPool *pool_new(void)
{
    GstBufferPool *pool = g_object_new(gst_hone_pool_get_type(), NULL);
    return gst_object_ref_sink(pool);
}
