/* SPDX-License-Identifier: BSD-2-Clause */
/* Rows of pixels from libvips, as filters take them. */
#include "media/vips/internal.h"

#include "base/error.h"
#include "base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

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

/* Where damage is accepted, the rest of a page of a TIFF is 0; decoders of other formats see to it. */
static bool bears_loss(const struct media_input *input)
{
    return input->options.accept_damaged && strcmp(input->info.format, "TIFF") == 0;
}

/* To the full range: the upper bits once more below. */
static void widen(const uint16_t *row, unsigned bits, uint16_t *to, size_t count)
{
    for (size_t i = 0; i < count; i++)
        to[i] = (uint16_t)(row[i] | row[i] >> bits);
}

static bool conversion_init(struct conversion *c, const struct media_input *input, const VipsImage *image)
{
    const hone_image_desc *desc = &input->info.desc;
    *c = (struct conversion){.format = image->BandFmt,
                             .to_float = desc->type == HONE_F32 && image->BandFmt != VIPS_FORMAT_FLOAT,
                             .bits = input->kept->bits,
                             .count = (size_t)image->Xsize * (size_t)image->Bands};
    if (c->to_float || c->bits)
        c->numbers = mem_new(c->count, sizeof(float));
    if (input->info.gray_alpha)
        c->wide = mem_new(c->count, 2 * hone_type_size(desc->type));
    if (bears_loss(input))
        c->blank = mem_new(input->place.width, input->place.pixel_bytes);
    return ((!c->to_float && !c->bits) || c->numbers) && (!input->info.gray_alpha || c->wide) &&
           (!bears_loss(input) || c->blank);
}

static void conversion_finish(struct conversion *c)
{
    free(c->numbers);
    free(c->wide);
    free(c->blank);
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
    } else if (c->bits) {
        widen(row, c->bits, c->numbers, c->count);
        row = c->numbers;
    }
    if (c->wide) {
        media_spread_gray_alpha(c->wide, row, c->count / 2, hone_type_size(input->info.desc.type));
        row = c->wide;
    }
    media_put_row(&input->place, y, row);
    return HONE_OK;
}

static int top_of_page(const struct media_input *input)
{
    const struct vips_state *state = input->state;
    return (int)(input->loaded - state->begun) * (int)input->place.height;
}

static bool prepare(const struct media_input *input, VipsRegion *region, uint32_t first, uint32_t rows)
{
    const struct vips_state *state = input->state;
    const VipsRect strip = {0, top_of_page(input) + (int)first, state->image->Xsize, (int)rows};
    return vips_region_prepare(region, &strip) == 0;
}

/* After the image was opened anew. */
static bool prepare_anew(const struct media_input *input, VipsRegion **region, uint32_t first, uint32_t rows)
{
    const struct vips_state *state = input->state;
    g_object_unref(*region);
    *region = vips_region_new(state->image);
    return *region && prepare(input, *region, first, rows);
}

/* Where pages lie one below the other, libvips decodes rows together that are of several strips. */
static bool prepare_alone(struct media_input *input, VipsRegion **region, uint32_t first, uint32_t rows)
{
    struct vips_state *state = input->state;
    if (state->begun == input->loaded)
        return false;
    vips_error_clear();
    return vips_reopen(input, input->loaded) && prepare_anew(input, region, first, rows);
}

/* A PNG's damage, which is known now. */
static bool prepare_leniently(struct media_input *input, VipsRegion **region, uint32_t first, uint32_t rows)
{
    return input->options.accept_damaged && strcmp(input->info.format, "PNG") == 0 &&
           vips_reopen_leniently(input) && prepare_anew(input, region, first, rows);
}

static hone_status take_strip(struct media_input *input, VipsRegion **region, uint32_t first, uint32_t rows,
                              hone_error *error)
{
    struct vips_state *state = input->state;
    hone_status status = HONE_OK;
    if (!state->lost && !prepare(input, *region, first, rows) &&
        !prepare_leniently(input, region, first, rows))
        state->lost = !bears_loss(input) || !prepare_alone(input, region, first, rows);
    if (state->lost && !bears_loss(input))
        return vips_bad(input, " is damaged",
                        input->options.accept_damaged ? "" : " (--accept-damaged takes what can be decoded)",
                        error);
    for (uint32_t y = first; y < first + rows && !status; y++)
        if (state->lost)
            media_put_row(&input->place, y, state->conversion.blank);
        else
            status = take_row(input, &state->conversion, y,
                              VIPS_REGION_ADDR(*region, 0, top_of_page(input) + (int)y), error);
    return status;
}

/* Strips from the top, as decoders work: no more than one is held beside the result. Where a page may end in
 * damage, single rows, so that all in front of it come. */
static hone_status take_rows(struct media_input *input, VipsRegion **region, uint32_t first, uint32_t count,
                             hone_error *error)
{
    const struct vips_state *state = input->state;
    const size_t row_bytes = VIPS_IMAGE_SIZEOF_LINE(state->image);
    const uint32_t end = first + count, rows = bears_loss(input) || row_bytes > STRIP_BYTES
                                                   ? 1
                                                   : (uint32_t)(STRIP_BYTES / row_bytes);
    hone_status status = HONE_OK;
    for (uint32_t top = first; top < end && !status; top += rows) {
        status = take_strip(input, region, top, rows < end - top ? rows : end - top, error);
        THEN(status, media_check_time(input, error));
    }
    return status;
}

/* With damage accepted, decoders go on and leave a word in libvips' buffer. */
static void tell_damage(const struct media_input *input)
{
    char said[512];
    const struct media_info *info = &input->info;
    if (!input->options.accept_damaged || !*vips_error_buffer())
        return;
    vips_said(said, sizeof said);
    if (info->pages > 1)
        media_note(input, MEDIA_WARNING, "page %u is damaged: %s",
                   info->first_page + input->loaded / vips_parts(input), said);
    else
        media_note(input, MEDIA_WARNING, "damaged: %s", said);
}

/* After damage in this page. */
static hone_status begin_next(struct media_input *input, hone_error *error)
{
    struct vips_state *state = input->state;
    const bool lost = state->lost;
    state->lost = false;
    return !lost || vips_reopen(input, input->loaded + 1) ? HONE_OK
                                                          : vips_bad(input, " is damaged", "", error);
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
    THEN(status, take_rows(input, &region, first, count, error));
    g_clear_object(&region);
    if (!status && first + count < input->place.height)
        return HONE_OK;
    vips_end_rows(state);
    if (!status)
        tell_damage(input);
    if (input->loaded + 1 < input->info.page_count * vips_parts(input))
        return status ? status : begin_next(input, error);
    g_clear_object(&state->image); /* the decoder's memory is not needed while the result is written */
    return status;
}
