/* SPDX-License-Identifier: BSD-2-Clause */
/* Which format holds what, and writing through the right one. */
#include "media/channels.h"
#include "media/reader.h"

#include "base/error.h"
#include "base/mem.h"
#include "base/text.h"

#include <ctype.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

/* Traits of formats. */
enum {
    LOSSY = 1,    /* has a quality */
    ENCODER = 2,  /* needs an encoder that a machine may lack */
    SEQUENCE = 4, /* says where it ends: several may follow each other */
    PAGES = 8,    /* holds several images */
    APART = 16,   /* and they may be of different sizes and kinds */
    LOSSLESS = 32 /* has a quality, or none is lost */
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
    unsigned traits;
    hone_status (*write)(const struct media_output *output, hone_error *error);
};

/* In the order in which they are recommended. */
static const struct format formats[] = {
    {"PNG", ".png", BITS_8 | BITS_16, ANY_CHANNELS, "8 or 16 bits", "any channels", HONE_MAX_SIDE, SEQUENCE,
     BY_VIPS},
    {"TIFF", ".tif .tiff", ANY_TYPE, ANY_CHANNELS, "any type", "any number of channels", HONE_MAX_SIDE,
     PAGES | APART, BY_VIPS},
    {"JPEG", ".jpg .jpeg .jpe", BITS_8, GRAY | RGB, "8 bits", "no alpha", 65500, LOSSY | SEQUENCE, BY_VIPS},
    {"WebP", ".webp", BITS_8, GRAY | RGB | RGB_ALPHA, "8 bits", "any channels", 16383,
     LOSSY | LOSSLESS | SEQUENCE | PAGES, BY_VIPS},
    {"GIF", ".gif", BITS_8, GRAY | RGB | RGB_ALPHA, "8 bits", "any channels", 65535, ENCODER | PAGES,
     BY_VIPS},
    {"AVIF", ".avif", BITS_8 | BITS_16, GRAY | RGB | RGB_ALPHA, "8 or 12 bits", "any channels", 16384,
     LOSSY | LOSSLESS | ENCODER, BY_VIPS},
    {"HEIC", ".heic .heif", BITS_8 | BITS_16, GRAY | RGB | RGB_ALPHA, "8, 10 or 12 bits", "any channels",
     16384, LOSSY | LOSSLESS | ENCODER, BY_VIPS},
    {"PAM", ".pam", BITS_8 | BITS_16, ANY_CHANNELS, "8 or 16 bits", "any channels", HONE_MAX_SIDE, SEQUENCE,
     media_write_pnm},
    {"PGM", ".pgm", BITS_8 | BITS_16, GRAY, "8 or 16 bits", "one channel", HONE_MAX_SIDE, SEQUENCE,
     media_write_pnm},
    {"PPM", ".ppm", BITS_8 | BITS_16, RGB, "8 or 16 bits", "three channels", HONE_MAX_SIDE, SEQUENCE,
     media_write_pnm},
    {"PNM", ".pnm", BITS_8 | BITS_16, GRAY | RGB, "8 or 16 bits", "one or three channels", HONE_MAX_SIDE,
     SEQUENCE, media_write_pnm},
    {"PFM", ".pfm", FLOAT_32, GRAY | RGB, "float", "one or three channels", HONE_MAX_SIDE, SEQUENCE,
     media_write_pnm},
    {"CSV", ".csv", ANY_TYPE, ANY_CHANNELS, "any type", "any channels", HONE_MAX_SIDE, 0, media_write_table},
    {"JSON", ".json", ANY_TYPE, ANY_CHANNELS, "any type", "any channels", HONE_MAX_SIDE, 0,
     media_write_table},
};

/* What libvips may read and nothing here writes. */
static const struct {
    const char *name, *suffixes;
} read_only[] = {{"PBM", ".pbm"},     {"JPEG 2000", ".jp2 .j2k .jpt .j2c .jpc"},
                 {"JPEG XL", ".jxl"}, {"SVG", ".svg .svgz"},
                 {"PDF", ".pdf"},     {"Radiance", ".hdr"},
                 {"OpenEXR", ".exr"}, {"FITS", ".fits .fit .fts"},
                 {"Aperio", ".svs"},  {"Hamamatsu", ".vms .vmu .ndpi"},
                 {"Leica", ".scn"},   {"MIRAX", ".mrxs"},
                 {"Ventana", ".bif"}, {"NIfTI", ".nii"},
                 {"Analyze", ".img"}, {"VIPS", ".v .vips"}};

const char media_compressions[] = "none|lzw|deflate|packbits|zstd|lossless";
static const char lossless[] = "lossless";

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

static bool is_writable(const struct format *format)
{
#ifdef HONE_HAVE_VIPS
    if (format->traits & ENCODER)
        return media_vips_encodes(format->suffixes);
#endif
    return format->write != NULL;
}

const char *media_vips_version(void)
{
#ifdef HONE_HAVE_VIPS
    return vips_running_version();
#else
    return NULL;
#endif
}

bool media_takes(const char *name, enum media_option option)
{
    static const unsigned traits[] = {[MEDIA_OPTION_QUALITY] = LOSSY,
                                      [MEDIA_OPTION_SEQUENCE] = SEQUENCE,
                                      [MEDIA_OPTION_PAGES] = PAGES,
                                      [MEDIA_OPTION_APART] = APART};
    const struct format *format = find_format(name);
    return format && (format->traits & traits[option]);
}

bool media_takes_compression(const char *name, const char *word)
{
    const struct format *format = find_format(name);
    if (!format || !word)
        return false;
    return strcmp(word, lossless) == 0 ? format->traits & LOSSLESS : strcmp(format->name, "TIFF") == 0;
}

static bool is_read(const char *name, bool hardened);

/* Tables are written alone. */
static bool is_readable(const char *suffixes, bool hardened)
{
    char name[MAX_SUFFIX + 2];
    snprintf(name, sizeof name, "x%.*s", (int)strcspn(suffixes, " "), suffixes);
    return is_read(name, hardened);
}

bool media_format_at(size_t index, struct media_format_info *out)
{
    if (index < COUNT_OF(formats)) {
        const struct format *format = &formats[index];
        const bool writes = is_writable(format) && (format->write != BY_VIPS || media_vips_version() != NULL);
        *out = (struct media_format_info){.name = format->name,
                                          .suffixes = format->suffixes,
                                          .reads = is_readable(format->suffixes, false),
                                          .trust = !is_readable(format->suffixes, true),
                                          .writes = writes,
                                          .depth = writes ? format->depth : NULL,
                                          .channels = writes ? format->colours : NULL};
        return true;
    }
    index -= COUNT_OF(formats);
    if (index >= COUNT_OF(read_only))
        return false;
    *out = (struct media_format_info){.name = read_only[index].name,
                                      .suffixes = read_only[index].suffixes,
                                      .reads = is_readable(read_only[index].suffixes, false),
                                      .trust = !is_readable(read_only[index].suffixes, true)};
    return true;
}

/* ".png, .tif" ... the first suffix of every format that this build writes and that `fits` (NULL: all)
 * accepts. */
static void list_suffixes(struct text *list, bool (*fits)(const struct format *format, const void *what),
                          const void *what, const char *between, size_t limit)
{
    size_t count = 0;
    for (size_t i = 0; i < COUNT_OF(formats) && count < limit; i++)
        if (is_writable(&formats[i]) && (!fits || fits(&formats[i], what)))
            text_add(list, "%s%.*s", count++ ? between : "", (int)strcspn(formats[i].suffixes, " "),
                     formats[i].suffixes);
}

#define HEIF_PACKAGES "apt install libheif-plugin-aomenc libheif-plugin-x265"

/* The format of a name; NULL, with HONE_ERROR_USAGE in *error, when this build cannot write it. */
static const struct format *writable_format(const char *name, hone_error *error)
{
    const struct format *format = find_format(name);
    if (format && is_writable(format))
        return format;
    struct text list = {0};
    list_suffixes(&list, NULL, NULL, " ", COUNT_OF(formats));
    if (format && format->write)
        error_usage(error, "cannot write '%s': libvips has no encoder for it on this machine%s; one of %s",
                    name, format->suffixes[1] == 'g' ? "" : " (Debian 13: " HEIF_PACKAGES ")",
                    text_view(&list));
    else if (format)
        error_usage(error,
                    "cannot write '%s': this build of hone has no libvips, and without it writes %s only",
                    name, text_view(&list));
    else
        error_usage(error, "cannot write '%s': the suffix says the format, one of %s", name,
                    text_view(&list));
    text_finish(&list);
    return NULL;
}

hone_status media_check_name(const char *name, hone_error *error)
{
    return writable_format(name, error) ? HONE_OK : HONE_ERROR_USAGE;
}

bool media_is_table(const char *name)
{
    const struct format *format = find_format(name);
    return format && format->write == media_write_table;
}

/* The channels in a file: gray and alpha where it came so and the format has it. */
static uint32_t stored_channels(const struct format *format, const hone_image_desc *desc,
                                const struct media_info *like)
{
    return like && like->gray_alpha && desc->channels == 4 && (format->channels & GRAY_ALPHA)
               ? 2
               : desc->channels;
}

static const char *const channels_in_words[] = {"", "one channel", "gray and alpha", "three channels",
                                                "four channels (colour and alpha)"};

/* Channels that are neither colour nor alpha: every other picture's second and fourth channel is alpha. */
static bool keeps_channels(const struct format *format, const hone_image_desc *desc,
                           const struct media_info *like)
{
    const bool plain = like && like->extra > 0 && (desc->channels == 2 || desc->channels == 4);
    return !plain || format->write == media_write_table || strcmp(format->name, "TIFF") == 0;
}

/* Whether a format is to be proposed for a result; tables are no pictures. */
static bool holds(const struct format *format, const void *what)
{
    const hone_image_desc *desc = what;
    return format->write != media_write_table && (format->types & 1u << desc->type) &&
           (format->channels & 1u << desc->channels) && desc->width <= format->max_side &&
           desc->height <= format->max_side;
}

/* `also` is one more way out; "": there is none. */
static hone_status wrong_format(const char *name, const char *why, const hone_image_desc *desc,
                                const char *also, hone_error *error)
{
    struct text list = {0};
    list_suffixes(&list, holds, desc, " or ", 2);
    if (!list.length) /* of pictures, TIFF holds everything */
        text_add(&list, ".tif with a build of hone that has libvips; this one has not");
    hone_status status = error_usage(error, "'%s': %s: write a %s%s", name, why, text_view(&list), also);
    text_finish(&list);
    return status;
}

/* Of results that come in parts: they go together again. */
static hone_status check_parts(const struct format *format, const char *name, const hone_image_desc *desc,
                               const struct media_info *like, hone_error *error)
{
    if (desc->channels != 1)
        return error_usage(
            error,
            "'%s': the %u channels of the input are filtered one by one, and of each the chain "
            "makes %u channels; it has to make one",
            name, like->parts, desc->channels);
    if (strcmp(format->name, "TIFF") != 0)
        return error_usage(error, "'%s': %s holds at most four channels; this result has %u: write a .tif",
                           name, format->name, like->parts);
    return HONE_OK;
}

static hone_status check_format(const struct format *format, const char *name, const hone_image_desc *desc,
                                const struct media_info *like, hone_error *error)
{
    char why[160];
    const char *also = "";
    const uint32_t channels = stored_channels(format, desc, like);
    TRY(like && like->parts > 1 ? check_parts(format, name, desc, like, error) : HONE_OK);
    if (!keeps_channels(format, desc, like))
        return error_usage(
            error,
            "'%s': %s takes the last channel for alpha, and none of the %u channels of this result is: "
            "write a .tif",
            name, format->name, desc->channels);
    if (!(format->types & 1u << desc->type))
        snprintf(why, sizeof why, "%s holds %s; this result is %s", format->name, format->depth,
                 hone_type_name(desc->type));
    else if (!(format->channels & 1u << channels)) {
        snprintf(why, sizeof why, "%s holds %s; this result has %s", format->name, format->colours,
                 channels_in_words[desc->channels]);
        if (desc->channels == 4 && (format->channels & RGB) && !(like && like->extra))
            also = ", or blend it over a --background";
    } else if (desc->width > format->max_side || desc->height > format->max_side)
        snprintf(why, sizeof why, "%s holds sides of at most %u pixels; this result has %ux%u", format->name,
                 format->max_side, desc->width, desc->height);
    else
        return HONE_OK;
    return wrong_format(name, why, desc, also, error);
}

/* Where a result has to come back as it is, which formats with encoders of their own cannot always do. */
static hone_status check_lossless(const struct format *format, const char *name, const hone_image_desc *desc,
                                  const struct media_write_options *options, hone_error *error)
{
    char why[160];
    const bool asked = options && options->compression && strcmp(options->compression, lossless) == 0;
    if (!asked || (format->traits & (LOSSLESS | ENCODER)) != (LOSSLESS | ENCODER))
        return HONE_OK;
#ifdef HONE_HAVE_VIPS
    if (desc->type == HONE_U8 && media_vips_is_lossless(format->suffixes, desc->channels))
        return HONE_OK;
    if (desc->type == HONE_U8)
        snprintf(why, sizeof why, "libvips %s writes %s of %s with losses in any case", media_vips_version(),
                 format->name, channels_in_words[desc->channels]);
    else
#endif
        snprintf(why, sizeof why, "%s holds %s, so that --compression lossless cannot keep all of %s",
                 format->name, format->depth, hone_type_name(desc->type));
    return wrong_format(name, why, desc, "", error);
}

/* What is left of four channels over a background. */
static bool flattens(const hone_image_desc *desc, const struct media_info *like,
                     const struct media_write_options *options)
{
    return options && options->flatten && desc->channels == 4 && !(like && like->extra);
}

hone_status media_check_output(const char *name, const hone_image_desc *desc, const struct media_info *like,
                               const struct media_write_options *options, hone_error *error)
{
    const struct format *format = writable_format(name, error);
    hone_image_desc stored = *desc;
    if (flattens(desc, like, options))
        stored.channels = 3;
    if (!format)
        return HONE_ERROR_USAGE;
    hone_status status = check_format(format, name, &stored, like, error);
    return status ? status : check_lossless(format, name, &stored, options, error);
}

/* ---- Alpha over a background ---- */

static hone_status check_flattens(const struct media_output *output, bool *does, hone_error *error)
{
    const hone_type type = output->desc.type;
    const struct media_info *like = output->like ? media_get_info(output->like) : NULL;
    *does = flattens(&output->desc, like, output->options);
    if (!*does || type == HONE_U8 || type == HONE_U16 || type == HONE_F32)
        return HONE_OK;
    return error_usage(error, "'%s': --background does not go with %s", output->name, hone_type_name(type));
}

static hone_status flatten(struct media_output *output, void *pixels, hone_error *error)
{
    const uint64_t count = (uint64_t)output->desc.width * output->desc.height;
    bool does;
    hone_status status = check_flattens(output, &does, error);
    if (status || !does)
        return status;
    channels_flatten(output->desc.type, pixels, count, output->options->background);
    output->desc.channels = 3;
    return HONE_OK;
}

/* ---- Gray and alpha again ---- */

/* A filter may have made colours of gray: then alpha is all that is left of the input's format. */
static void restore_gray_alpha(struct media_output *output, const struct format *format, void *pixels)
{
    const struct media_info *like = output->like ? media_get_info(output->like) : NULL;
    const uint64_t count = (uint64_t)output->desc.width * output->desc.height;
    const size_t size = hone_type_size(output->desc.type);
    if (stored_channels(format, &output->desc, like) != 2 || output->desc.channels != 4 ||
        !channels_are_gray(pixels, count, size))
        return;
    channels_drop_colours(pixels, count, size);
    output->desc.channels = 2;
}

/* What is written, and what it points to: it stays where it is. */
struct writing {
    struct media_output output;
    struct media_write_options options;
    char suffix[MAX_SUFFIX + 1];
    const struct format *format;
};

static hone_status begin_writing(struct writing *w, int fd, const char *name, const hone_image_desc *desc,
                                 const struct media_input *like, const struct media_write_options *options,
                                 hone_error *error)
{
    const struct media_info *info = like ? media_get_info(like) : NULL;
    TRY(media_check_output(name, desc, info, options, error));
    w->format = writable_format(name, error);
    w->options = options ? *options : (struct media_write_options){0};
    suffix_of(name, w->suffix);
    w->output = (struct media_output){.fd = fd,
                                      .name = name,
                                      .suffix = w->suffix,
                                      .desc = *desc,
                                      .pages = w->options.pages > 1 ? w->options.pages : 1,
                                      .like = like,
                                      .options = &w->options};
    w->output.desc.pitch = 0;
    w->output.desc.height *= w->output.pages;
    w->output.desc.channels *= info ? info->parts : 1;
    return HONE_OK;
}

hone_status media_write(int fd, const char *name, const hone_image_desc *desc, void *pixels,
                        const struct media_input *like, const struct media_write_options *options,
                        hone_error *error)
{
    struct writing w;
    TRY(begin_writing(&w, fd, name, desc, like, options, error));
    w.output.pixels = pixels;
    hone_status status = flatten(&w.output, pixels, error);
    if (!status)
        restore_gray_alpha(&w.output, w.format, pixels);
    return status ? status : w.format->write(&w.output, error);
}

/* ---- Row by row ---- */

struct row_source {
    struct media_source from;
    hone_image_desc desc; /* of what comes from there */
    bool flattens;
    void *wide; /* rows of it, where fewer channels are written */
    uint32_t wide_rows;
    hone_status failed;
    hone_error error;
};

static void narrow(const struct media_output *output, const struct row_source *rows, uint32_t count)
{
    const uint64_t pixels = (uint64_t)rows->desc.width * count;
    if (rows->flattens)
        channels_flatten(rows->desc.type, rows->wide, pixels, output->options->background);
    else
        channels_drop_colours(rows->wide, pixels, hone_type_size(rows->desc.type));
}

static hone_status next_narrowed(const struct media_output *output, struct row_source *rows, uint32_t count,
                                 unsigned char *to)
{
    const size_t row = hone_image_row_bytes(&output->desc);
    hone_status status = HONE_OK;
    for (uint32_t done = 0, some; done < count && !status; done += some) {
        some = count - done < rows->wide_rows ? count - done : rows->wide_rows;
        status = rows->from.next(rows->from.user, some, rows->wide, &rows->error);
        if (status)
            break;
        narrow(output, rows, some);
        memcpy(to + done * row, rows->wide, some * row);
    }
    return status;
}

hone_status media_next_rows(const struct media_output *output, uint32_t count, void *to)
{
    struct row_source *rows = output->rows;
    if (!rows->failed)
        rows->failed = rows->wide ? next_narrowed(output, rows, count, to)
                                  : rows->from.next(rows->from.user, count, to, &rows->error);
    return rows->failed;
}

bool media_lends_rows(const struct media_output *output)
{
    return output->rows && output->rows->from.lend && !output->rows->wide;
}

hone_status media_lend_rows(const struct media_output *output, uint32_t most, struct media_rows *lent)
{
    struct row_source *rows = output->rows;
    if (!rows->failed)
        rows->failed = rows->from.lend(rows->from.user, most, lent, &rows->error);
    return rows->failed;
}

/* The failure of the rows' source, if there was one; else `status`, which *error tells. */
static hone_status media_row_failure(const struct media_output *output, hone_status status, hone_error *error)
{
    if (!output->rows || !output->rows->failed)
        return status;
    if (error)
        *error = output->rows->error;
    return output->rows->failed;
}

/* Decides what becomes of four channels before the first pixel is seen. */
static hone_status narrow_channels(struct media_output *output, const struct format *format,
                                   struct row_source *rows, hone_error *error)
{
    enum { AT_ONCE = 16 };
    const struct media_info *like = output->like ? media_get_info(output->like) : NULL;
    hone_status status = check_flattens(output, &rows->flattens, error);
    const bool two = !rows->flattens && rows->from.gray && rows->desc.channels == 4 &&
                     stored_channels(format, &output->desc, like) == 2;
    if (status || (!rows->flattens && !two))
        return status;
    output->desc.channels = two ? 2 : 3;
    rows->wide_rows = AT_ONCE;
    rows->wide = mem_new(hone_image_row_bytes(&rows->desc), AT_ONCE);
    return rows->wide ? HONE_OK : error_memory(error, "rows of an image");
}

hone_status media_write_rows(int fd, const char *name, const hone_image_desc *desc,
                             const struct media_source *source, const struct media_input *like,
                             const struct media_write_options *options, hone_error *error)
{
    struct writing w;
    struct row_source rows = {.from = *source, .desc = *desc};
    TRY(begin_writing(&w, fd, name, desc, like, options, error));
    rows.desc.pitch = 0;
    w.output.rows = &rows;
    hone_status status = narrow_channels(&w.output, w.format, &rows, error);
    THEN(status, media_row_failure(&w.output, w.format->write(&w.output, error), error));
    free(rows.wide);
    return status;
}

hone_status media_cannot_write(const struct media_output *output, int code, hone_error *error)
{
    return error_io(error, "cannot write '%s': %s", output->name, strerror(code));
}

/* ---- Names of inputs ---- */

/* Whether files of this name are read; without trust, where `hardened`. */
static bool is_read(const char *name, bool hardened)
{
    char suffix[MAX_SUFFIX + 1];
    suffix_of(name, suffix);
    if (!suffix[0])
        return false;
    const struct format *format = find_format(name);
    if (format && format->write == media_write_pnm)
        return true;
#ifdef HONE_HAVE_VIPS
    return media_vips_knows(suffix, hardened);
#else
    (void)hardened;
    return false;
#endif
}

bool media_is_image_name(const char *name)
{
    return is_read(name, false);
}

bool media_needs_libvips(const char *name)
{
    const struct format *format = find_format(name);
    char suffix[MAX_SUFFIX + 1];
    suffix_of(name, suffix);
    bool foreign = false;
    for (size_t i = 0; i < COUNT_OF(read_only) && *suffix && !foreign; i++)
        foreign = text_has_word(read_only[i].suffixes, suffix);
    return foreign || (format && format->write != media_write_pnm && format->write != media_write_table);
}
