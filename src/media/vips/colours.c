/* SPDX-License-Identifier: BSD-2-Clause */
/* To colours and numbers that filters take. */
#include "media/vips/internal.h"

/* Replaces *image by what an operation made of it; `code` is what the operation returned. */
static bool replace(VipsImage **image, VipsImage *const *made, int code)
{
    if (code != 0)
        return false;
    g_object_unref(*image);
    *image = *made;
    return true;
}

static bool unpack(VipsImage **image)
{
    VipsImage *made = NULL;
    if ((*image)->Coding == VIPS_CODING_RAD)
        return replace(image, &made, vips_rad2float(*image, &made, NULL));
    if ((*image)->Coding == VIPS_CODING_LABQ)
        return replace(image, &made, vips_LabQ2Lab(*image, &made, NULL));
    return true;
}

static bool convert_cmyk(struct media_input *input, VipsImage **image)
{
    VipsImage *made = NULL;
    const int depth = (*image)->BandFmt == VIPS_FORMAT_UCHAR ? 8 : 16;
    const bool own = vips_image_get_typeof(*image, VIPS_META_ICC_NAME) != 0;
    if (own)
        media_note(input, MEDIA_DETAIL, "CMYK is converted to sRGB by its own profile");
    else
        media_note(input, MEDIA_ONCE,
                   "CMYK without a profile is converted to sRGB by a common one, so its colours may be other "
                   "than those that were meant");
    return replace(image, &made,
                   vips_icc_transform(*image, &made, "srgb", "embedded", TRUE, "input_profile", "cmyk",
                                      "depth", depth, NULL));
}

static bool convert_colours(struct media_input *input, VipsImage **image)
{
    VipsImage *made = NULL;
    const bool wide = (*image)->Type == VIPS_INTERPRETATION_LABS; /* 16 bits */
    switch ((*image)->Type) {
    case VIPS_INTERPRETATION_CMYK:
        return convert_cmyk(input, image);
    case VIPS_INTERPRETATION_LAB:
    case VIPS_INTERPRETATION_LABS:
    case VIPS_INTERPRETATION_LABQ:
    case VIPS_INTERPRETATION_LCH:
    case VIPS_INTERPRETATION_CMC:
    case VIPS_INTERPRETATION_XYZ:
    case VIPS_INTERPRETATION_YXY:
    case VIPS_INTERPRETATION_HSV:
        media_note(input, MEDIA_DETAIL, "%s is converted to sRGB",
                   vips_enum_nick(VIPS_TYPE_INTERPRETATION, (*image)->Type));
        return replace(image, &made,
                       vips_colourspace(*image, &made,
                                        wide ? VIPS_INTERPRETATION_RGB16 : VIPS_INTERPRETATION_sRGB, NULL));
    default:
        return true;
    }
}

bool vips_to_colours(struct media_input *input, VipsImage **image)
{
    return unpack(image) && convert_colours(input, image);
}

const char *vips_number_name(VipsBandFormat format)
{
    switch (format) {
    case VIPS_FORMAT_CHAR:
        return "signed 8-bit integers";
    case VIPS_FORMAT_SHORT:
        return "signed 16-bit integers";
    case VIPS_FORMAT_INT:
        return "signed 32-bit integers";
    case VIPS_FORMAT_UINT:
        return "unsigned 32-bit integers";
    case VIPS_FORMAT_DOUBLE:
        return "64-bit floating point";
    case VIPS_FORMAT_COMPLEX:
    case VIPS_FORMAT_DPCOMPLEX:
        return "complex";
    default:
        return "unknown";
    }
}

hone_status vips_choose_type(struct media_input *input, VipsBandFormat format, hone_type *type,
                             hone_error *error)
{
    switch (format) {
    case VIPS_FORMAT_UCHAR:
        return *type = HONE_U8, HONE_OK;
    case VIPS_FORMAT_USHORT:
        return *type = HONE_U16, HONE_OK;
    case VIPS_FORMAT_FLOAT:
        return *type = HONE_F32, HONE_OK;
    case VIPS_FORMAT_SHORT:
        if (input->options.keep_s16)
            return *type = HONE_S16, HONE_OK;
        break;
    case VIPS_FORMAT_UINT:
        if (input->options.keep_u32)
            return *type = HONE_U32, HONE_OK;
        break;
    case VIPS_FORMAT_CHAR:
    case VIPS_FORMAT_INT:
        break;
    case VIPS_FORMAT_DOUBLE:
        return *type = HONE_F32, HONE_OK; /* which has been said */
    default:
        return media_bad(input, error, " holds %s numbers, which cannot be read", vips_number_name(format));
    }
    media_note(input, MEDIA_ONCE, "%s are read as f32, and the result is f32", vips_number_name(format));
    return *type = HONE_F32, HONE_OK;
}
