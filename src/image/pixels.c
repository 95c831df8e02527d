/* SPDX-License-Identifier: BSD-2-Clause */
#include "hone/pixels.h"

#include "base/error.h"
#include "base/mem.h"
#include "image/view.h"

#include <string.h>

static const struct {
    const char *name;
    size_t size;
} types[] = {{"u8", 1}, {"u16", 2}, {"f32", 4}, {"s16", 2}, {"u32", 4}};

size_t hone_type_size(hone_type type)
{
    return (unsigned)type < COUNT_OF(types) ? types[type].size : 0;
}

const char *hone_type_name(hone_type type)
{
    return (unsigned)type < COUNT_OF(types) ? types[type].name : "?";
}

hone_status hone_type_parse(hone_type *out, const char *name, hone_error *error)
{
    if (!out || !name)
        return error_usage(error, "hone_type_parse needs a name and a place for the type");
    for (size_t i = 0; i < COUNT_OF(types); i++)
        if (strcmp(types[i].name, name) == 0) {
            *out = (hone_type)i;
            return HONE_OK;
        }
    return error_usage(error, "unknown pixel type '%s'; there are u8, u16, f32, s16, u32", name);
}

hone_status pitch_check_limit(size_t pitch, hone_error *error)
{
    return pitch > (size_t)1 << 40 ? error_usage(error, "a row pitch of %zu bytes is too large", pitch)
                                   : HONE_OK;
}

hone_status hone_image_desc_check(const hone_image_desc *desc, hone_error *error)
{
    if (!desc)
        return error_usage(error, "an image needs a description");
    if (hone_type_size(desc->type) == 0)
        return error_usage(error, "an image has an unknown pixel type (%d)", (int)desc->type);
    if (desc->channels < 1 || desc->channels > 4)
        return error_usage(error, "an image has %u channels; 1 to 4 are possible", desc->channels);
    if (desc->width < 1 || desc->height < 1 || desc->width > HONE_MAX_SIDE || desc->height > HONE_MAX_SIDE)
        return error_usage(error, "an image is %ux%u; each side must be 1 to %d pixels", desc->width,
                           desc->height, HONE_MAX_SIDE);
    if ((uint64_t)desc->width * desc->height > HONE_MAX_PIXELS)
        return error_usage(error, "an image is %ux%u, which is over the limit of 2^30 pixels", desc->width,
                           desc->height);
    if (desc->pitch && (desc->pitch < hone_image_row_bytes(desc) || desc->pitch % hone_type_size(desc->type)))
        return error_usage(
            error,
            "a row pitch of %zu bytes does not fit %u pixels: it must be at least %zu and a multiple "
            "of %zu",
            desc->pitch, desc->width, hone_image_row_bytes(desc), hone_type_size(desc->type));
    return pitch_check_limit(desc->pitch, error);
}

size_t hone_image_row_bytes(const hone_image_desc *desc)
{
    return desc ? (size_t)desc->width * desc->channels * hone_type_size(desc->type) : 0;
}

size_t hone_image_pitch(const hone_image_desc *desc)
{
    return desc && desc->pitch ? desc->pitch : hone_image_row_bytes(desc);
}

size_t hone_image_bytes(const hone_image_desc *desc)
{
    return desc && desc->height ? hone_image_pitch(desc) * (desc->height - 1) + hone_image_row_bytes(desc)
                                : 0;
}

hone_status hone_frame_plane(hone_layout layout, uint32_t width, uint32_t height, size_t pitch,
                             unsigned index, hone_image_desc *plane, size_t *offset, hone_error *error)
{
    static const unsigned planes[] = {2, 3, 2};
    if (!plane || !offset)
        return error_usage(error, "hone_frame_plane needs places for the plane and its offset");
    if ((unsigned)layout >= COUNT_OF(planes) || index >= planes[layout])
        return error_usage(error, "a video frame of this layout has no plane %u", index);
    hone_type type = layout == HONE_P010 ? HONE_U16 : HONE_U8;
    uint32_t half_width = width / 2 + width % 2, half_height = height / 2 + height % 2;
    bool packed_chroma = layout != HONE_I420;
    hone_image_desc luma = {width, height, type, 1, pitch};
    TRY(hone_image_desc_check(&luma, error));
    /* A tight NV12 frame of odd width needs one more byte per chroma row than per luma row. */
    size_t luma_pitch = hone_image_pitch(&luma), tight = (size_t)half_width * 2 * hone_type_size(type);
    size_t chroma_pitch = packed_chroma ? (pitch ? pitch : tight) : luma_pitch / 2 + luma_pitch % 2;
    luma.pitch = luma_pitch;
    *plane = luma;
    *offset = 0;
    if (index > 0) {
        *plane = (hone_image_desc){half_width, half_height, type, packed_chroma ? 2 : 1, chroma_pitch};
        *offset = luma_pitch * height + (index - 1) * chroma_pitch * half_height;
    }
    return hone_image_desc_check(plane, error);
}

const char *hone_border_name(hone_border border)
{
    static const char *const names[] = {"replicate", "reflect",  "reflect101",
                                        "wrap",      "constant", "zero-outside"};
    return (unsigned)border < COUNT_OF(names) ? names[border] : "?";
}
