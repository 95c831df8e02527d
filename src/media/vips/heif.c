/* SPDX-License-Identifier: BSD-2-Clause */
/* AVIF and HEIC: how many bits their samples get, and what 16 bits become then. */
#include "base/mem.h"
#include "media/vips/internal.h"

#include <stdlib.h>

enum { LEVELS = 65536, WHITE = LEVELS - 1, MOST_BITS = 12, FEW_BITS = 10 };

/* Those of the input, where the format has as many. Of 10 bits, libheif 1.15 tells the encoder of AV1 a
 * profile that has none, which ends the process. */
static unsigned bits_for(const struct media_output *output, bool avif)
{
    const struct vips_kept *kept = output->like ? output->like->kept : NULL;
    if (output->desc.type == HONE_U8)
        return 8;
    return !avif && kept && kept->bits && kept->bits <= FEW_BITS ? FEW_BITS : MOST_BITS;
}

/* libvips shifts the lower bits out: white would be darker than it was, and all else by half a level. */
static VipsImage *rounded(VipsImage *image, unsigned bits, uint16_t *levels)
{
    const uint32_t most = (1u << bits) - 1;
    VipsImage *table, *mapped = NULL, *made = NULL;
    for (uint32_t i = 0; i < LEVELS; i++)
        levels[i] = (uint16_t)((i * most + WHITE / 2) / WHITE << (16 - bits));
    table = vips_image_new_from_memory(levels, LEVELS * sizeof *levels, LEVELS, 1, 1, VIPS_FORMAT_USHORT);
    if (table && vips_maplut(image, &mapped, table, NULL) == 0 &&
        vips_copy(mapped, &made, "interpretation", image->Type, NULL) != 0)
        made = NULL;
    g_clear_object(&mapped);
    g_clear_object(&table);
    return made;
}

enum { LOSSLESS = 100 }; /* a quality that the encoder of AV1 takes for that; others want it said */

static VipsForeignHeifCompression coding(bool avif)
{
    return avif ? VIPS_FOREIGN_HEIF_COMPRESSION_AV1 : VIPS_FOREIGN_HEIF_COMPRESSION_HEVC;
}

static bool save(VipsImage *image, VipsTarget *target, int quality, unsigned bits, bool avif)
{
    return vips_heifsave_target(image, target, "Q", quality, "bitdepth", (int)bits, "compression",
                                coding(avif), NULL) == 0;
}

bool vips_save_heif(const struct media_output *output, VipsImage *image, VipsTarget *target, int quality,
                    bool lossless)
{
    const bool avif = output->suffix[1] == 'a';
    const unsigned bits = bits_for(output, avif);
    if (lossless)
        return vips_heifsave_target(image, target, "Q", LOSSLESS, "lossless", TRUE, "bitdepth", (int)bits,
                                    "compression", coding(avif), NULL) == 0;
    if (bits == 8)
        return save(image, target, quality, bits, avif);
    uint16_t *levels = mem_new(LEVELS, sizeof *levels);
    VipsImage *fitting = levels ? rounded(image, bits, levels) : NULL;
    const bool ok = fitting && save(fitting, target, quality, bits, avif);
    g_clear_object(&fitting);
    free(levels);
    return ok;
}

enum { TRY_SIDE = 16 };

/* Samples of all levels, `channels` of them to a pixel, as an image of that many. */
static VipsImage *sample_image(unsigned char *samples, unsigned channels)
{
    const int bytes = TRY_SIDE * TRY_SIDE * (int)channels;
    VipsImage *made = NULL, *image;
    uint32_t random = 1;
    for (int i = 0; i < bytes; i++) {
        random = random * 1664525 + 1013904223;
        samples[i] = (unsigned char)(random >> 24);
    }
    image = vips_image_new_from_memory(samples, (size_t)bytes, TRY_SIDE, TRY_SIDE, (int)channels,
                                       VIPS_FORMAT_UCHAR);
    if (image && vips_copy(image, &made, "interpretation",
                           channels < 3 ? VIPS_INTERPRETATION_B_W : VIPS_INTERPRETATION_sRGB, NULL) != 0)
        made = NULL;
    g_clear_object(&image);
    return made;
}

/* Gray comes back as three channels. */
static bool are_same(const unsigned char *samples, unsigned channels, const unsigned char *back,
                     unsigned back_channels)
{
    bool same = back_channels == channels || (channels == 1 && back_channels == 3);
    for (unsigned i = 0; i < TRY_SIDE * TRY_SIDE * back_channels && same; i++)
        same = back[i] == samples[i / back_channels * channels + i % back_channels % channels];
    return same;
}

bool vips_try_heif_lossless(bool avif, unsigned channels)
{
    unsigned char samples[TRY_SIDE * TRY_SIDE * 4];
    VipsImage *image = sample_image(samples, channels), *read = NULL;
    void *file = NULL, *back = NULL;
    size_t size = 0;
    if (image && vips_heifsave_buffer(image, &file, &size, "Q", LOSSLESS, "lossless", TRUE, "compression",
                                      coding(avif), NULL) == 0)
        read = vips_image_new_from_buffer(file, size, "", NULL);
    if (read)
        back = vips_image_write_to_memory(read, &size);
    const bool same = back && size == (size_t)TRY_SIDE * TRY_SIDE * (size_t)read->Bands &&
                      are_same(samples, channels, back, (unsigned)read->Bands);
    g_clear_object(&image);
    g_clear_object(&read);
    g_free(file);
    g_free(back);
    vips_error_clear();
    return same;
}

bool vips_try_heif(bool avif)
{
    static const unsigned char black[16 * 16 * 3];
    VipsImage *image = vips_image_new_from_memory(black, sizeof black, 16, 16, 3, VIPS_FORMAT_UCHAR);
    VipsImage *colours = NULL;
    VipsTarget *target = vips_target_new_to_memory();
    const int most = 50;
    const bool ok = image && target &&
                    vips_copy(image, &colours, "interpretation", VIPS_INTERPRETATION_sRGB, NULL) == 0 &&
                    save(colours, target, most, 8, avif);
    g_clear_object(&colours);
    g_clear_object(&image);
    g_clear_object(&target);
    vips_error_clear();
    return ok;
}
