/* SPDX-License-Identifier: BSD-2-Clause */
/* What decoding a file by libvips will cost, told from its header: a file of a kilobyte can ask for
 * gigabytes. */
#include "media/vips.h"

#include "base/file.h"

#include <string.h>

bool vips_is_hardened(const char *loader)
{
    /* libvips lists it with the rest; but these formats are a header and plain numbers. */
    if (strstr(loader, "LoadPpm"))
        return true;
    const VipsOperationClass *operation = g_type_class_ref(g_type_from_name(loader));
    return operation && !(operation->flags & VIPS_OPERATION_UNTRUSTED);
}

/* ---- The least size of a file ---- */

static uint64_t least_of_jpeg(uint64_t pixels)
{
    return pixels / 64 / 8; /* each block of 64 takes at least one bit */
}

/* Deflate makes at most 1032 bytes of one. The header is the first chunk, at a place of its own. */
static uint64_t least_of_png(const struct media_input *input, uint64_t pixels)
{
    static const uint8_t channels[] = {1, 0, 3, 1, 2, 0, 4};
    uint8_t head[26];
    if (file_read_at(input->fd, head, sizeof head, 0) != sizeof head || head[25] >= sizeof channels)
        return 0;
    return pixels * channels[head[25]] * head[24] / 8 / 1032;
}

/* P1 to P4, which libvips reads: a digit for each pixel, a digit and a space for each number, or bits. */
static uint64_t least_of_pnm(const struct media_input *input, const VipsImage *image, uint64_t pixels)
{
    uint8_t head[2];
    if (file_read_at(input->fd, head, sizeof head, 0) != sizeof head)
        return 0;
    switch (head[1]) {
    case '1':
        return pixels;
    case '2':
    case '3':
        return pixels * (uint64_t)image->Bands * 2 - 1;
    case '4':
        return ((uint64_t)image->Xsize + 7) / 8 * (uint64_t)image->Ysize;
    default:
        return 0;
    }
}

static uint64_t least_of_tiff(const struct tiff_facts *tiff, uint64_t pixels)
{
    return tiff->plain ? pixels * (tiff->split ? 1 : tiff->samples) * tiff->bits / 8 : 0;
}

/* 0: nothing is known. */
static uint64_t least_bytes(const struct media_input *input, const VipsImage *image,
                            const struct tiff_facts *tiff)
{
    const uint64_t pixels = (uint64_t)image->Xsize * (uint64_t)image->Ysize;
    const char *format = input->info.format;
    return strcmp(format, "JPEG") == 0   ? least_of_jpeg(pixels)
           : strcmp(format, "PNG") == 0  ? least_of_png(input, pixels)
           : strcmp(format, "PNM") == 0  ? least_of_pnm(input, image, pixels)
           : strcmp(format, "TIFF") == 0 ? least_of_tiff(tiff, pixels)
                                         : 0;
}

/* ---- Memory ---- */

static bool has_mark(VipsImage *image, const char *name)
{
    int value = 0;
    return vips_image_get_typeof(image, name) != 0 && vips_image_get_int(image, name, &value) == 0 && value;
}

/* The rows of tiles that libvips keeps. A tile may be larger than the image. */
static uint64_t memory_of_tiles(const VipsImage *image, const struct tiff_facts *tiff)
{
    const uint64_t most = 1 << 24; /* so that the product is none of another number */
    const uint64_t across = VIPS_MAX((uint64_t)image->Xsize, VIPS_MIN(tiff->tile_width, most));
    return 2 * across * VIPS_MIN(tiff->tile_height, most) * VIPS_IMAGE_SIZEOF_PEL(image) *
           (tiff->split ? tiff->samples : 1);
}

/* Bytes that the decoder holds at once; 0 for those that go from row to row. */
static uint64_t decoder_bytes(const struct media_input *input, VipsImage *image,
                              const struct tiff_facts *tiff)
{
    static const struct {
        const char *format;
        unsigned copies; /* of the whole image */
    } whole[] = {{"WebP", 3}, {"GIF", 3}, {"HEIF", 4}, {"JPEG 2000", 8}, {"JPEG XL", 8}, {"SVG", 4}};
    const uint64_t bytes =
        (uint64_t)VIPS_IMAGE_SIZEOF_LINE(image) * (uint64_t)vips_image_get_page_height(image);
    const char *format = input->info.format;
    if (strcmp(format, "TIFF") == 0)
        return memory_of_tiles(image, tiff);
    if (strcmp(format, "JPEG") == 0) /* coefficients of 16 bits; at worst no channel is coarser */
        return has_mark(image, "jpeg-multiscan") ? 2 * bytes : 0;
    if (strcmp(format, "PNG") == 0)
        return has_mark(image, "interlaced") ? bytes : 0;
    for (size_t i = 0; i < G_N_ELEMENTS(whole); i++)
        if (strcmp(format, whole[i].format) == 0)
            return bytes * whole[i].copies;
    return 0;
}

hone_status vips_check_cost(const struct media_input *input, VipsImage *image, const struct tiff_facts *tiff,
                            hone_error *error)
{
    const uint64_t least = least_bytes(input, image, tiff), there = (uint64_t)input->bytes;
    const uint64_t memory = decoder_bytes(input, image, tiff);
    const uint64_t most = input->options.memory ? input->options.memory : MEDIA_MEMORY;
    if (there < least && !input->options.accept_damaged)
        return media_bad(
            input, error,
            "the file is cut off: %llu bytes cannot hold the %dx%d pixels of its header, which take at "
            "least %llu (--accept-damaged takes what can be decoded)",
            (unsigned long long)there, image->Xsize, image->Ysize, (unsigned long long)least);
    if (memory > most)
        return media_bad(
            input, error,
            "decoding a %s file like this of %dx%d pixels takes up to %llu MiB of memory, and %llu MiB "
            "are the limit (--decode-memory sets it)",
            input->info.format, image->Xsize, image->Ysize, (unsigned long long)(memory >> 20),
            (unsigned long long)(most >> 20));
    return HONE_OK;
}
