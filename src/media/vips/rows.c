/* SPDX-License-Identifier: BSD-2-Clause */
/* Rows of pixels from libvips, as filters take them. */
#include "media/vips/internal.h"

#include "base/error.h"
#include "base/mem.h"

#include <math.h>
#include <stdlib.h>

enum { STRIP_BYTES = 1 << 20 }; /* of pixels that are asked for at once */

/* Integers beyond 2^24 that f32 does not hold would come out as other numbers. */
static bool to_float(const void *row, VipsBandFormat format, float *to, size_t count)
{
    bool exact = true;
    for (size_t i = 0; i < count; i++) {
        double value;
        switch (format) {
        case VIPS_FORMAT_CHAR:
            value = ((const int8_t *)row)[i];
            break;
        case VIPS_FORMAT_SHORT:
            value = ((const int16_t *)row)[i];
            break;
        case VIPS_FORMAT_INT:
            value = ((const int32_t *)row)[i];
            break;
        case VIPS_FORMAT_UINT:
            value = ((const uint32_t *)row)[i];
            break;
        default:
            value = ((const double *)row)[i];
            break;
        }
        to[i] = (float)value;
        if (format == VIPS_FORMAT_DOUBLE)
            exact = exact && (isinf(value) || !isinf(to[i]));
        else
            exact = exact && (double)to[i] == value;
    }
    return exact;
}

static bool conversion_init(struct conversion *c, const struct media_input *input, const VipsImage *image)
{
    const hone_image_desc *desc = &input->info.desc;
    *c = (struct conversion){.format = image->BandFmt,
                             .to_float = desc->type == HONE_F32 && image->BandFmt != VIPS_FORMAT_FLOAT,
                             .count = (size_t)image->Xsize * (size_t)image->Bands};
    if (c->to_float)
        c->numbers = mem_new(c->count, sizeof(float));
    if (input->info.gray_alpha)
        c->wide = mem_new(c->count, 2 * hone_type_size(desc->type));
    return (!c->to_float || c->numbers) && (!input->info.gray_alpha || c->wide);
}

static void conversion_finish(struct conversion *c)
{
    free(c->numbers);
    free(c->wide);
    *c = (struct conversion){0};
}

static hone_status take_row(struct media_input *input, const struct conversion *c, uint32_t y,
                            const void *row, hone_error *error)
{
    if (c->to_float) {
        if (!to_float(row, c->format, c->numbers, c->count))
            return media_bad(
                input, error, "row %u holds %s that f32 cannot hold%s", y, vips_number_name(c->format),
                c->format == VIPS_FORMAT_DOUBLE ? "" : " exactly (it holds every integer up to 2^24)");
        row = c->numbers;
    }
    if (c->wide) {
        media_spread_gray_alpha(c->wide, row, c->count / 2, hone_type_size(input->info.desc.type));
        row = c->wide;
    }
    media_put_row(&input->place, y, row);
    return HONE_OK;
}

/* Strips from the top, as decoders work: no more than one is held beside the result. */
static hone_status take_rows(struct media_input *input, VipsRegion *region, uint32_t first, uint32_t count,
                             hone_error *error)
{
    const struct vips_state *state = input->state;
    const VipsImage *image = state->image;
    const size_t row_bytes = VIPS_IMAGE_SIZEOF_LINE(image);
    const int rows = row_bytes > STRIP_BYTES ? 1 : (int)(STRIP_BYTES / row_bytes);
    const int page = (int)input->loaded * vips_page_height(input, image);
    const int begin = page + (int)first, end = begin + (int)count;
    hone_status status = HONE_OK;
    for (int top = begin; top < end && !status; top += rows) {
        const VipsRect strip = {0, top, image->Xsize, VIPS_MIN(rows, end - top)};
        if (vips_region_prepare(region, &strip) != 0)
            return vips_bad(
                input, " is damaged",
                input->options.accept_damaged ? "" : " (--accept-damaged takes what can be decoded)", error);
        for (int y = top; y < top + strip.height && !status; y++)
            status = take_row(input, &state->conversion, (uint32_t)(y - page), VIPS_REGION_ADDR(region, 0, y),
                              error);
        THEN(status, media_check_time(input, error));
    }
    return status;
}

/* With damage accepted, decoders go on and leave a word in libvips' buffer. */
static void tell_damage(const struct media_input *input)
{
    char said[512];
    if (input->options.accept_damaged && *vips_error_buffer()) {
        vips_said(said, sizeof said);
        media_note(input, MEDIA_WARNING, "damaged: %s", said);
    }
}

void vips_end_rows(struct vips_state *state)
{
    conversion_finish(&state->conversion);
    state->converts = false;
}

static hone_status begin_rows(struct media_input *input, hone_error *error)
{
    struct vips_state *state = input->state;
    if (!state->converts && !conversion_init(&state->conversion, input, state->image)) {
        vips_end_rows(state);
        return error_memory(error, "a row of an image");
    }
    state->converts = true;
    return HONE_OK;
}

hone_status vips_load_rows(struct media_input *input, uint32_t first, uint32_t count, hone_error *error)
{
    struct vips_state *state = input->state;
    hone_status status = begin_rows(input, error);
    /* A region belongs to the thread that makes it, and the next rows may be asked for by another one. */
    VipsRegion *region = status ? NULL : vips_region_new(state->image);
    if (!status && !region)
        status = error_memory(error, "a row of an image");
    THEN(status, take_rows(input, region, first, count, error));
    g_clear_object(&region);
    if (!status && first + count < input->place.height)
        return HONE_OK;
    vips_end_rows(state);
    if (input->loaded + 1 == input->info.page_count * vips_parts(input))
        g_clear_object(&state->image); /* the decoder's memory is not needed while the result is written */
    if (!status)
        tell_damage(input);
    return status;
}
