/* SPDX-License-Identifier: BSD-2-Clause */
/* What libvips keeps of a file beside its pixels. */
#include "media/vips/internal.h"

#include "base/error.h"
#include "base/mem.h"
#include "media/iptc.h"
#include "media/tiff_exif.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_METADATA = 8 << 20 }; /* bytes of profiles, EXIF and the like */

static void *count_field(VipsImage *image, const char *name, GValue *value, void *total)
{
    size_t bytes = 0;
    (void)image, (void)name;
    if (G_VALUE_HOLDS(value, VIPS_TYPE_BLOB))
        vips_value_get_blob(value, &bytes);
    else if (G_VALUE_HOLDS_STRING(value) && g_value_get_string(value))
        bytes = strlen(g_value_get_string(value));
    else if (G_VALUE_HOLDS(value, VIPS_TYPE_REF_STRING) && g_value_get_boxed(value))
        vips_value_get_ref_string(value, &bytes);
    *(size_t *)total += bytes;
    return NULL;
}

static void unswap_iptc(VipsImage *metadata)
{
    const void *bytes = NULL;
    size_t size = 0;
    if (vips_image_get_typeof(metadata, VIPS_META_IPTC_NAME) == 0 ||
        vips_image_get_blob(metadata, VIPS_META_IPTC_NAME, &bytes, &size) != 0 ||
        !iptc_is_swapped(bytes, size))
        return;
    void *copy = mem_new(size, 1);
    if (!copy)
        return;
    memcpy(copy, bytes, size);
    iptc_swap(copy, size);
    vips_image_set_blob_copy(metadata, VIPS_META_IPTC_NAME, copy, size);
    free(copy);
}

/* As JPEG has it. */
static void wrap_iptc(VipsImage *metadata)
{
    const void *bytes = NULL, *records;
    size_t size = 0, count = 0;
    struct text wrapped = {0};
    if (vips_image_get_typeof(metadata, VIPS_META_IPTC_NAME) == 0 ||
        vips_image_get_blob(metadata, VIPS_META_IPTC_NAME, &bytes, &size) != 0 ||
        !(records = iptc_records(bytes, size, &count)))
        return;
    iptc_wrap(&wrapped, records, count);
    if (!wrapped.failed)
        vips_image_set_blob_copy(metadata, VIPS_META_IPTC_NAME, wrapped.data, wrapped.length);
    text_finish(&wrapped);
}

/* XMP may say, too, how to turn the pixels, which has been done. Only a digit changes. */
static void set_upright(VipsImage *metadata)
{
    static const char name[] = "tiff:Orientation";
    const void *bytes = NULL;
    size_t size = 0;
    if (vips_image_get_typeof(metadata, VIPS_META_XMP_NAME) == 0 ||
        vips_image_get_blob(metadata, VIPS_META_XMP_NAME, &bytes, &size) != 0)
        return;
    char *text = mem_new(size + 1, 1);
    if (text)
        memcpy(text, bytes, size);
    for (char *at = text; at && (at = strstr(at, name));) {
        at += strlen(name);
        at += strspn(at, " \t\r\n=\"'>");
        if (*at >= '1' && *at <= '8')
            *at = '1';
    }
    if (text)
        vips_image_set_blob_copy(metadata, VIPS_META_XMP_NAME, text, size);
    free(text);
}

/* What libvips leaves behind in a TIFF, as other formats have it. */
static hone_status keep_exif(struct media_input *input, hone_error *error)
{
    struct vips_kept *kept = input->kept;
    struct text block = {0};
    if (strcmp(input->info.format, "TIFF") != 0)
        return HONE_OK;
    const bool ok = tiff_exif_read(input->fd, input->info.first_page - 1, &block, &kept->lost);
    if (ok && block.length)
        vips_image_set_blob_copy(kept->metadata, VIPS_META_EXIF_NAME, block.data, block.length);
    text_finish(&block);
    return ok ? HONE_OK : error_memory(error, "the metadata of an image");
}

/* libvips shifts the samples of a HEIF and a JPEG 2000 to the top, and white would be a little less than
 * white. */
static unsigned shifted_bits(const struct media_input *input, const VipsImage *image)
{
    const char *field = "heif-bitdepth";
    int bits = 0;
    if (image->BandFmt != VIPS_FORMAT_USHORT)
        return 0;
    if (strcmp(input->info.format, "JPEG 2000") == 0)
        bits = (int)vips_jp2_bits(input->fd);
    else if (vips_image_get_typeof(image, field) == 0 || vips_image_get_int(image, field, &bits) != 0)
        return 0;
    return bits < 8 || bits > 15 ? 0 : (unsigned)bits;
}

hone_status vips_keep_metadata(struct media_input *input, VipsImage *image, hone_error *error)
{
    VipsImage *metadata = input->kept->metadata;
    size_t total = 0;
    vips_image_map(image, count_field, &total);
    if (total > MAX_METADATA)
        return media_bad(input, error, " has %zu bytes of metadata; at most %d are accepted", total,
                         MAX_METADATA);
    hone_status status = keep_exif(input, error); /* which libvips takes resolution and orientation from */
    input->kept->bits = shifted_bits(input, image);
    vips_carry_metadata(image, metadata);
    unswap_iptc(metadata);
    wrap_iptc(metadata);
    if (input->orientation > 1)
        set_upright(metadata);
    metadata->Xres = image->Xres;
    metadata->Yres = image->Yres;
    return status;
}
