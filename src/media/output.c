/* SPDX-License-Identifier: BSD-2-Clause */
/* Which format holds what, and writing through the right one. */
#include "media/reader.h"

#include "base/error.h"
#include "base/mem.h"
#include "base/text.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum {
    BITS_8 = 1 << HONE_U8,
    BITS_16 = 1 << HONE_U16,
    FLOAT_32 = 1 << HONE_F32,
    ANY_TYPE = (1 << (HONE_U32 + 1)) - 1,
    GRAY = 1 << 1,
    GRAY_ALPHA = 1 << 2,
    RGB = 1 << 3,
    RGB_ALPHA = 1 << 4,
    ANY_CHANNELS = GRAY | GRAY_ALPHA | RGB | RGB_ALPHA,
    MAX_SUFFIX = 7
};

#ifdef HONE_HAVE_VIPS
#define BY_VIPS media_write_vips
#else
#define BY_VIPS NULL /* known, but this build cannot write it */
#endif

struct format {
    const char *name, *suffixes;
    unsigned types, channels;    /* sums of the above */
    const char *depth, *colours; /* the same in words */
    uint32_t max_side;
    hone_status (*write)(const struct media_output *output, hone_error *error);
};

/* In the order in which they are recommended. */
static const struct format formats[] = {
    {"PNG", ".png", BITS_8 | BITS_16, ANY_CHANNELS, "8 or 16 bits", "any channels", HONE_MAX_SIDE, BY_VIPS},
    {"TIFF", ".tif .tiff", ANY_TYPE, ANY_CHANNELS, "any type", "any channels", HONE_MAX_SIDE, BY_VIPS},
    {"JPEG", ".jpg .jpeg .jpe", BITS_8, GRAY | RGB, "8 bits", "no alpha", 65500, BY_VIPS},
    {"WebP", ".webp", BITS_8, GRAY | RGB | RGB_ALPHA, "8 bits", "any channels", 16383, BY_VIPS},
    {"PAM", ".pam", BITS_8 | BITS_16, ANY_CHANNELS, "8 or 16 bits", "any channels", HONE_MAX_SIDE,
     media_write_pnm},
    {"PGM", ".pgm", BITS_8 | BITS_16, GRAY, "8 or 16 bits", "one channel", HONE_MAX_SIDE, media_write_pnm},
    {"PPM", ".ppm", BITS_8 | BITS_16, RGB, "8 or 16 bits", "three channels", HONE_MAX_SIDE, media_write_pnm},
    {"PNM", ".pnm", BITS_8 | BITS_16, GRAY | RGB, "8 or 16 bits", "one or three channels", HONE_MAX_SIDE,
     media_write_pnm},
    {"PFM", ".pfm", FLOAT_32, GRAY | RGB, "float", "one or three channels", HONE_MAX_SIDE, media_write_pnm},
    {"CSV", ".csv", ANY_TYPE, ANY_CHANNELS, "any type", "any channels", HONE_MAX_SIDE, media_write_table},
    {"JSON", ".json", ANY_TYPE, ANY_CHANNELS, "any type", "any channels", HONE_MAX_SIDE, media_write_table},
};

/* The suffix of a name in small letters, with its dot; "" when there is none or a long one. */
static void suffix_of(const char *name, char suffix[MAX_SUFFIX + 1])
{
    const char *slash = strrchr(name, '/'), *base = slash ? slash + 1 : name, *dot = strrchr(base, '.');
    suffix[0] = '\0';
    if (!dot || dot == base || strlen(dot) > MAX_SUFFIX)
        return;
    size_t i = 0;
    for (; dot[i]; i++)
        suffix[i] = (char)tolower((unsigned char)dot[i]);
    suffix[i] = '\0';
}

static const struct format *find_format(const char *name)
{
    char suffix[MAX_SUFFIX + 1];
    suffix_of(name, suffix);
    for (size_t i = 0; i < COUNT_OF(formats); i++)
        if (text_has_word(formats[i].suffixes, suffix))
            return &formats[i];
    return NULL;
}

/* ".png, .tif" ... the first suffix of every format that this build writes and that `fits` (NULL: all)
 * accepts. */
static void list_suffixes(struct text *list, bool (*fits)(const struct format *format, const void *what),
                          const void *what, const char *between, size_t limit)
{
    size_t count = 0;
    for (size_t i = 0; i < COUNT_OF(formats) && count < limit; i++)
        if (formats[i].write && (!fits || fits(&formats[i], what)))
            text_add(list, "%s%.*s", count++ ? between : "", (int)strcspn(formats[i].suffixes, " "),
                     formats[i].suffixes);
}

/* The format of a name; NULL, with HONE_ERROR_USAGE in *error, when this build cannot write it. */
static const struct format *writable_format(const char *name, hone_error *error)
{
    const struct format *format = find_format(name);
    if (format && format->write)
        return format;
    struct text list = {0};
    list_suffixes(&list, NULL, NULL, " ", COUNT_OF(formats));
    if (format)
        error_set(error, HONE_ERROR_USAGE,
                  "cannot write '%s': this build of hone has no libvips, and without it writes %s only", name,
                  text_view(&list));
    else
        error_set(error, HONE_ERROR_USAGE, "cannot write '%s': the suffix says the format, one of %s", name,
                  text_view(&list));
    text_finish(&list);
    return NULL;
}

hone_status media_check_name(const char *name, hone_error *error)
{
    return writable_format(name, error) ? HONE_OK : HONE_ERROR_USAGE;
}

/* The channels in a file: gray and alpha where it came so and the format has it. */
static uint32_t stored_channels(const struct format *format, const hone_image_desc *desc, bool gray_alpha)
{
    return gray_alpha && desc->channels == 4 && (format->channels & GRAY_ALPHA) ? 2 : desc->channels;
}

static const char *const channels_in_words[] = {"", "one channel", "gray and alpha", "three channels",
                                                "four channels (colour and alpha)"};

/* Whether a format is to be proposed for a result; tables are no pictures. */
static bool holds(const struct format *format, const void *what)
{
    const hone_image_desc *desc = what;
    return format->write != media_write_table && (format->types & 1u << desc->type) &&
           (format->channels & 1u << desc->channels) && desc->width <= format->max_side &&
           desc->height <= format->max_side;
}

static hone_status wrong_format(const char *name, const char *why, const hone_image_desc *desc,
                                hone_error *error)
{
    struct text list = {0};
    list_suffixes(&list, holds, desc, " or ", 2);
    if (!list.length) /* of pictures, TIFF holds everything */
        text_add(&list, ".tif with a build of hone that has libvips; this one has not");
    hone_status status =
        error_set(error, HONE_ERROR_USAGE, "'%s': %s: write a %s", name, why, text_view(&list));
    text_finish(&list);
    return status;
}

static hone_status check_format(const struct format *format, const char *name, const hone_image_desc *desc,
                                bool gray_alpha, hone_error *error)
{
    char why[160];
    const uint32_t channels = stored_channels(format, desc, gray_alpha);
    if (!(format->types & 1u << desc->type))
        snprintf(why, sizeof why, "%s holds %s; this result is %s", format->name, format->depth,
                 hone_type_name(desc->type));
    else if (!(format->channels & 1u << channels))
        snprintf(why, sizeof why, "%s holds %s; this result has %s", format->name, format->colours,
                 channels_in_words[desc->channels]);
    else if (desc->width > format->max_side || desc->height > format->max_side)
        snprintf(why, sizeof why, "%s holds sides of at most %u pixels; this result has %ux%u", format->name,
                 format->max_side, desc->width, desc->height);
    else
        return HONE_OK;
    return wrong_format(name, why, desc, error);
}

hone_status media_check_output(const char *name, const hone_image_desc *desc, bool gray_alpha,
                               hone_error *error)
{
    const struct format *format = writable_format(name, error);
    return format ? check_format(format, name, desc, gray_alpha, error) : HONE_ERROR_USAGE;
}

/* ---- Gray and alpha again ---- */

/* A filter may have made colours of gray: then alpha is all that is left of the input's format. */
static bool colours_are_equal(const unsigned char *pixels, uint64_t count, size_t size)
{
    for (; count > 0; count--, pixels += 4 * size)
        if (memcmp(pixels, pixels + size, size) != 0 || memcmp(pixels, pixels + 2 * size, size) != 0)
            return false;
    return true;
}

static void drop_colours(unsigned char *pixels, uint64_t count, size_t size)
{
    unsigned char *to = pixels;
    for (; count > 0; count--, pixels += 4 * size, to += 2 * size) {
        memmove(to, pixels, size);
        memmove(to + size, pixels + 3 * size, size);
    }
}

static void restore_gray_alpha(struct media_output *output, const struct format *format, void *pixels)
{
    const bool gray_alpha = output->like && media_get_info(output->like)->gray_alpha;
    const uint64_t count = (uint64_t)output->desc.width * output->desc.height;
    const size_t size = hone_type_size(output->desc.type);
    if (stored_channels(format, &output->desc, gray_alpha) != 2 || !colours_are_equal(pixels, count, size))
        return;
    drop_colours(pixels, count, size);
    output->desc.channels = 2;
}

hone_status media_write(int fd, const char *name, const hone_image_desc *desc, void *pixels,
                        const struct media_input *like, const struct media_write_options *options,
                        hone_error *error)
{
    char suffix[MAX_SUFFIX + 1];
    const struct format *format = writable_format(name, error);
    if (!format)
        return HONE_ERROR_USAGE;
    hone_status status = check_format(format, name, desc, like && media_get_info(like)->gray_alpha, error);
    if (status)
        return status;
    suffix_of(name, suffix);
    struct media_output output = {.fd = fd,
                                  .name = name,
                                  .suffix = suffix,
                                  .desc = *desc,
                                  .pixels = pixels,
                                  .like = like,
                                  .quality = options && options->quality ? options->quality : MEDIA_QUALITY};
    output.desc.pitch = 0;
    restore_gray_alpha(&output, format, pixels);
    return format->write(&output, error);
}

hone_status media_cannot_write(const struct media_output *output, int code, hone_error *error)
{
    return error_set(error, HONE_ERROR_IO, "cannot write '%s': %s", output->name, strerror(code));
}

/* ---- Names of inputs ---- */

bool media_is_image_name(const char *name)
{
    char suffix[MAX_SUFFIX + 1];
    suffix_of(name, suffix);
    if (!suffix[0])
        return false;
    const struct format *format = find_format(name);
    if (format && format->write == media_write_pnm)
        return true;
#ifdef HONE_HAVE_VIPS
    return media_vips_knows(suffix);
#else
    return false;
#endif
}
