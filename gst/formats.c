/* SPDX-License-Identifier: BSD-2-Clause */
#include "formats.h"

static const GstVideoFormat formats[FORMAT_COUNT] = {
    GST_VIDEO_FORMAT_I420, GST_VIDEO_FORMAT_YV12, GST_VIDEO_FORMAT_NV12,  GST_VIDEO_FORMAT_NV21,
    GST_VIDEO_FORMAT_Y42B, GST_VIDEO_FORMAT_Y444, NATIVE(I420_10),        NATIVE(I422_10),
    NATIVE(Y444_10),       NATIVE(P010_10),       GST_VIDEO_FORMAT_GRAY8, NATIVE(GRAY16_),
    NATIVE(RGBA64_),       GST_VIDEO_FORMAT_RGB,  GST_VIDEO_FORMAT_RGBA,  GST_VIDEO_FORMAT_RGBx,
    GST_VIDEO_FORMAT_BGR,  GST_VIDEO_FORMAT_BGRA, GST_VIDEO_FORMAT_BGRx};

GstVideoFormat format_at(unsigned index)
{
    return formats[index];
}

unsigned format_index(GstVideoFormat format)
{
    unsigned i = 0;
    while (i < FORMAT_COUNT && formats[i] != format)
        i++;
    return i;
}

gboolean format_is_reversed(GstVideoFormat format)
{
    return format == GST_VIDEO_FORMAT_BGR || format == GST_VIDEO_FORMAT_BGRA ||
           format == GST_VIDEO_FORMAT_BGRx;
}

GstVideoFormat format_of(const hone_image_desc *desc)
{
    if (desc->channels == 1 && desc->type == HONE_U8)
        return GST_VIDEO_FORMAT_GRAY8;
    if (desc->channels == 1 && desc->type == HONE_U16)
        return NATIVE(GRAY16_);
    if (desc->channels == 3 && desc->type == HONE_U8)
        return GST_VIDEO_FORMAT_RGB;
    if (desc->channels == 4 && desc->type == HONE_U8)
        return GST_VIDEO_FORMAT_RGBA;
    if (desc->channels == 4 && desc->type == HONE_U16)
        return NATIVE(RGBA64_);
    return GST_VIDEO_FORMAT_UNKNOWN;
}

static unsigned first_component(const GstVideoInfo *info, unsigned plane)
{
    unsigned c = 0;
    while (c + 1 < GST_VIDEO_INFO_N_COMPONENTS(info) && GST_VIDEO_INFO_COMP_PLANE(info, c) != plane)
        c++;
    return c;
}

unsigned format_planes(const GstVideoInfo *info, gboolean all, struct plane planes[HONE_STREAM_PLANES])
{
    const unsigned has = GST_VIDEO_INFO_N_PLANES(info);
    const unsigned count = all || !GST_VIDEO_INFO_IS_YUV(info) ? has : 1;
    for (unsigned i = 0; i < count; i++) {
        const unsigned c = first_component(info, i), depth = GST_VIDEO_INFO_COMP_DEPTH(info, c);
        const unsigned bytes = depth > 8 ? 2 : 1;
        planes[i] =
            (struct plane){.index = i,
                           .desc = {.width = (uint32_t)GST_VIDEO_INFO_COMP_WIDTH(info, c),
                                    .height = (uint32_t)GST_VIDEO_INFO_COMP_HEIGHT(info, c),
                                    .type = bytes == 2 ? HONE_U16 : HONE_U8,
                                    .channels = (uint32_t)GST_VIDEO_INFO_COMP_PSTRIDE(info, c) / bytes,
                                    .pitch = (size_t)GST_VIDEO_INFO_PLANE_STRIDE(info, i)},
                           .up = 8 * bytes - depth - info->finfo->shift[c],
                           .low = 8 * bytes - depth};
    }
    return count;
}

void plane_shift_up(const struct plane *plane, const guint8 *from, size_t from_pitch, guint8 *to,
                    size_t pitch)
{
    const size_t samples = (size_t)plane->desc.width * plane->desc.channels;
    for (uint32_t y = 0; y < plane->desc.height; y++, from += from_pitch, to += pitch) {
        const guint16 *values = (const guint16 *)from;
        guint16 *row = (guint16 *)to;
        for (size_t x = 0; x < samples; x++)
            row[x] = (guint16)(values[x] << plane->up);
    }
}

void plane_round(const struct plane *plane, guint8 *pixels, size_t pitch)
{
    const size_t samples = (size_t)plane->desc.width * plane->desc.channels;
    const unsigned low = plane->low, most = 0xffffu >> low, half = (1u << low) >> 1, back = low - plane->up;
    for (uint32_t y = 0; y < plane->desc.height; y++, pixels += pitch) {
        guint16 *row = (guint16 *)pixels;
        for (size_t x = 0; x < samples; x++)
            row[x] = (guint16)(MIN((row[x] + half) >> low, most) << back);
    }
}
