/* SPDX-License-Identifier: BSD-2-Clause */
/* Reading what libvips reads. */
#include "media/vips.h"

#include "base/error.h"
#include "base/mem.h"
#include "base/text.h"
#include "media/description.h"
#include "media/iptc.h"
#include "media/tiff_exif.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    STRIP_BYTES = 1 << 20,  /* of pixels that are asked for at once */
    MAX_METADATA = 8 << 20, /* bytes of profiles, EXIF and the like */
};

struct conversion {
    VipsBandFormat format;
    bool to_float;
    size_t count; /* elements of a row of the file */
    void *numbers, *wide;
};

struct vips_state {
    VipsImage *image;             /* the pixels to come; NULL when they have come */
    struct conversion conversion; /* while rows of a page are taken */
    bool converts;
    struct tiff_facts tiff; /* zero for other formats */
    const char *distrusted; /* the format of a file that was refused because it takes trust */
};

/* ---- Starting libvips ---- */

static void ignore_message(const gchar *domain, GLogLevelFlags level, const gchar *message, gpointer user)
{
    (void)domain, (void)level, (void)message, (void)user;
}

static bool started;

static void start(void)
{
    if (vips_init("hone") != 0)
        return;
    /* What it warns of is in its error buffer too, which is where we take it from. */
    g_log_set_handler("VIPS", G_LOG_LEVEL_WARNING | G_LOG_LEVEL_MESSAGE | G_LOG_LEVEL_INFO, ignore_message,
                      NULL);
    vips_cache_set_max(0);
    /* ImageMagick starts other programs for some formats. */
    vips_operation_block_set("VipsForeignLoadMagick", TRUE);
    started = true;
}

const char *vips_running_version(void)
{
    return vips_version_string();
}

hone_status vips_begin(hone_error *error)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, start);
    if (started)
        return HONE_OK;
    char said[512];
    vips_said(said, sizeof said);
    return error_set(error, HONE_ERROR_INTERNAL, "libvips does not start: %s", said);
}

void vips_said(char *text, size_t size)
{
    char *buffer = vips_error_buffer_copy(); /* empties it */
    size_t length = strlen(buffer);
    while (length > 0 && (buffer[length - 1] == '\n' || buffer[length - 1] == ' '))
        buffer[--length] = '\0';
    for (char *at = buffer; *at; at++)
        if (*at == '\n')
            *at = ';';
    g_snprintf(text, size, "%s", length ? buffer : "libvips gives no reason");
    g_free(buffer);
}

static hone_status vips_bad(const struct media_input *input, const char *what, const char *advice,
                            hone_error *error)
{
    char said[512];
    vips_said(said, sizeof said);
    return media_bad(input, error, "%s: %s%s", what, said, advice);
}

/* ---- Metadata ---- */

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

static hone_status keep_metadata(struct media_input *input, VipsImage *image, hone_error *error)
{
    VipsImage *metadata = input->kept->metadata;
    size_t total = 0;
    vips_image_map(image, count_field, &total);
    if (total > MAX_METADATA)
        return media_bad(input, error, "has %zu bytes of metadata; at most %d are accepted", total,
                         MAX_METADATA);
    hone_status status = keep_exif(input, error); /* which libvips takes resolution and orientation from */
    vips_carry_metadata(image, metadata);
    wrap_iptc(metadata);
    metadata->Xres = image->Xres;
    metadata->Yres = image->Yres;
    return status;
}

/* ---- Opening ---- */

/* libvips recognises files by more than their first bytes: it is asked last, for everything. */
static bool claims(const uint8_t *head, size_t count)
{
    (void)head;
    return count > 0;
}

/* libjpeg reports corrupt data as warnings; other decoders warn of harmless things and report damage as
 * errors. */
static VipsFailOn fail_level(const struct media_input *input, const char *loader)
{
    if (input->options.accept_damaged)
        return VIPS_FAIL_ON_NONE;
    return strstr(loader, "Jpeg") ? VIPS_FAIL_ON_WARNING : VIPS_FAIL_ON_ERROR;
}

static const struct {
    const char *part, *name;
} names[] = {{"Jpeg", "JPEG"},       {"Png", "PNG"},   {"Tiff", "TIFF"},      {"Webp", "WebP"},
             {"gif", "GIF"},         {"Heif", "HEIF"}, {"Jp2k", "JPEG 2000"}, {"Jxl", "JPEG XL"},
             {"Svg", "SVG"},         {"Pdf", "PDF"},   {"Ppm", "PNM"},        {"Rad", "Radiance"},
             {"Openexr", "OpenEXR"}, {"Fits", "FITS"}, {"", "an image"}};

static const char *format_name(const char *loader)
{
    size_t i = 0;
    while (!strstr(loader, names[i].part))
        i++;
    return names[i].name;
}

const char *vips_format_called(const char *name)
{
    size_t i = 0;
    while (i + 1 < COUNT_OF(names) && strcmp(names[i].name, name) != 0)
        i++;
    return names[i].name;
}

/* A loader of libvips that is to be used; NULL also for the last resort, which is blocked, and for one that
 * takes trust. */
static const char *usable(struct media_input *input, const char *loader)
{
    struct vips_state *state = input->state;
    if (!loader || strstr(loader, "Magick"))
        return NULL;
    if (input->options.trust || vips_is_hardened(loader))
        return loader;
    state->distrusted = format_name(loader);
    return NULL;
}

/* Formats that cannot be read through a descriptor go by name; there a bracket would start options. */
static VipsImage *open_by_name(struct media_input *input)
{
    char name[32];
    snprintf(name, sizeof name, "/proc/self/fd/%d", input->fd);
    const char *path = input->no_path ? name : input->path;
    const char *loader = strchr(path, '[') ? NULL : usable(input, vips_foreign_find_load(path));
    if (!loader)
        return NULL;
    input->info.format = format_name(loader);
    return vips_image_new_from_file(path, "access", VIPS_ACCESS_SEQUENTIAL, "fail_on",
                                    fail_level(input, loader), NULL);
}

/* Pages of one size, one below the other. */
static VipsImage *open_pages(struct media_input *input, unsigned first, unsigned count)
{
    const struct vips_state *state = input->state;
    if (state->tiff.samples && tiff_reads(&state->tiff))
        return tiff_open_image(input->fd, &state->tiff, first, count);
    VipsSource *source =
        lseek(input->fd, 0, SEEK_SET) == 0 ? vips_source_new_from_descriptor(input->fd) : NULL;
    VipsImage *image =
        source ? vips_image_new_from_source(source, "", "access", VIPS_ACCESS_SEQUENTIAL, "fail_on",
                                            fail_level(input, ""), "page", (int)first, "n", (int)count, NULL)
               : NULL;
    if (source)
        g_object_unref(source);
    return image;
}

static VipsImage *open_by_descriptor(struct media_input *input, VipsSource *source, const char *loader)
{
    struct vips_state *state = input->state;
    input->info.format = format_name(loader);
    const bool looked = strcmp(input->info.format, "TIFF") == 0 && tiff_look(input->fd, &state->tiff);
    state->tiff.split = state->tiff.split && input->options.split;
    if (looked && tiff_reads(&state->tiff)) {
        input->info.parts = state->tiff.split ? state->tiff.samples : 1;
        if (strcmp(state->tiff.kind, "float") == 0 && state->tiff.bits != 32)
            media_note(input, MEDIA_ONCE, "%u-bit floating point is read as f32", state->tiff.bits);
        return tiff_open_image(input->fd, &state->tiff, 0, 1);
    }
    return vips_image_new_from_source(source, "", "access", VIPS_ACCESS_SEQUENTIAL, "fail_on",
                                      fail_level(input, loader), NULL);
}

static VipsImage *open_image(struct media_input *input, bool *known)
{
    VipsSource *source =
        lseek(input->fd, 0, SEEK_SET) == 0 ? vips_source_new_from_descriptor(input->fd) : NULL;
    const char *loader = source ? usable(input, vips_foreign_find_load_source(source)) : NULL;
    VipsImage *image;
    *known = loader != NULL;
    if (loader) {
        image = open_by_descriptor(input, source, loader);
    } else {
        image = ((struct vips_state *)input->state)->distrusted ? NULL : open_by_name(input);
        *known = input->info.format != NULL;
    }
    if (source)
        g_object_unref(source);
    return image;
}

/* ---- To colours and numbers that filters take ---- */

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
    media_note(input, MEDIA_DETAIL, "CMYK is converted to sRGB by %s",
               own ? "its own profile" : "a common CMYK profile");
    return replace(image, &made,
                   vips_icc_transform(*image, &made, "srgb", "embedded", TRUE, "input_profile", "cmyk",
                                      "depth", depth, NULL));
}

static bool convert_colours(struct media_input *input, VipsImage **image)
{
    VipsImage *made = NULL;
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
        return replace(image, &made, vips_colourspace(*image, &made, VIPS_INTERPRETATION_sRGB, NULL));
    default:
        return true;
    }
}

/* For messages. */
static const char *number_name(VipsBandFormat format)
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

static hone_status choose_type(struct media_input *input, VipsBandFormat format, hone_type *type,
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
        return media_bad(input, error, "holds %s numbers, which cannot be read", number_name(format));
    }
    media_note(input, MEDIA_ONCE, "%s are read as f32, and the result is f32", number_name(format));
    return *type = HONE_F32, HONE_OK;
}

static unsigned parts(const struct media_input *input)
{
    return input->info.parts ? input->info.parts : 1;
}

/* Which of the channels are alpha: as a TIFF declares them; other formats have no other kind of second and
 * fourth channel. */
static hone_status describe_channels(struct media_input *input, const VipsImage *image, hone_error *error)
{
    const struct tiff_facts *tiff = &((const struct vips_state *)input->state)->tiff;
    const bool as_stored = tiff->samples == (unsigned)image->Bands;
    if (parts(input) > 1) {
        input->info.extra = tiff->extra;
        media_note(input, MEDIA_DETAIL, "%u channels, which are filtered one by one", parts(input));
        return HONE_OK;
    }
    if (as_stored && tiff->alpha > 0 && tiff->extra > 1)
        return media_bad(
            input, error,
            "has %u channels, of which %u are alpha and %u are no colour; alpha can stand beside gray or "
            "RGB alone: write the other channels to files of their own",
            tiff->samples, tiff->alpha, tiff->extra - tiff->alpha);
    input->info.extra = as_stored && tiff->alpha == 0 ? tiff->extra : 0;
    input->info.gray_alpha = image->Bands == 2 && !input->info.extra;
    if (input->info.extra)
        media_note(input, MEDIA_DETAIL, "%d channels, none of them declared as alpha: all are filtered",
                   image->Bands);
    return HONE_OK;
}

static int page_height(const struct media_input *input, const VipsImage *image)
{
    return image->Ysize / (int)(input->info.page_count * parts(input));
}

static hone_status describe(struct media_input *input, const VipsImage *image, hone_error *error)
{
    hone_type type = HONE_U8;
    if (image->Bands < 1 || image->Bands > 4)
        return media_bad(input, error, "has %d channels; 1 to 4 can be read", image->Bands);
    hone_status status = choose_type(input, image->BandFmt, &type, error);
    THEN(status, describe_channels(input, image, error));
    if (status)
        return status;
    input->info.desc = (hone_image_desc){(uint32_t)image->Xsize, (uint32_t)page_height(input, image), type,
                                         input->info.gray_alpha ? 4 : (uint32_t)image->Bands, 0};
    return HONE_OK;
}

/* Formats whose pages or frames are written again; elsewhere, as in JPEG 2000, "pages" may be something
 * else. */
static bool has_pages(const struct media_input *input)
{
    return strcmp(input->info.format, "TIFF") == 0 || strcmp(input->info.format, "GIF") == 0 ||
           strcmp(input->info.format, "WebP") == 0;
}

/* Programs of microscopes describe all pages at the first one. */
static void keep_description(VipsImage *first, VipsImage *stack)
{
    const char *text = NULL;
    if (vips_image_get_typeof(first, VIPS_META_IMAGEDESCRIPTION) &&
        vips_image_get_string(first, VIPS_META_IMAGEDESCRIPTION, &text) == 0 &&
        description_kind(text) != DESCRIPTION_PLAIN)
        vips_image_set_string(stack, VIPS_META_IMAGEDESCRIPTION, text);
}

/* Where pages differ in size the first one stands alone, unless they were asked for. */
static hone_status choose_pages(struct media_input *input, VipsImage **image, hone_error *error)
{
    const struct media_read_options *o = &input->options;
    struct media_info *info = &input->info;
    if (strcmp(info->format, "JPEG 2000") != 0)
        info->pages = (unsigned)vips_image_get_n_pages(*image);
    const unsigned pages = has_pages(input) ? info->pages : 1;
    info->first_page = o->first_page ? o->first_page : 1;
    info->page_count = o->first_page ? o->last_page - o->first_page + 1 : o->stack ? pages : 1;
    hone_status status = media_check_pages(input, pages, error);
    if (status || (info->first_page == 1 && info->page_count == 1))
        return status;
    VipsImage *stack = open_pages(input, info->first_page - 1, info->page_count);
    if (stack) {
        keep_description(*image, stack);
        g_object_unref(*image);
        *image = stack;
        return HONE_OK;
    }
    if (o->first_page)
        return vips_bad(input, "its pages cannot be read together", "", error);
    vips_error_clear();
    info->page_count = 1;
    return HONE_OK;
}

/* Before the pages are turned into numbers: what makes an animation of them. */
static hone_status keep_animation(struct media_input *input, VipsImage *image, hone_error *error)
{
    struct vips_kept *kept = input->kept;
    const struct media_info *info = &input->info;
    int count = 0, *delays = NULL;
    if (info->page_count == 1)
        return HONE_OK;
    if (vips_image_get_typeof(image, "loop") && vips_image_get_int(image, "loop", &kept->loop) != 0)
        kept->loop = -1;
    if (!vips_image_get_typeof(image, "delay") ||
        vips_image_get_array_int(image, "delay", &delays, &count) != 0)
        return HONE_OK;
    kept->delays = mem_new(info->page_count, sizeof *kept->delays);
    if (!kept->delays)
        return error_memory(error, "the delays of an animation");
    kept->delay_count = info->page_count;
    const unsigned skipped = (unsigned)count >= info->pages ? info->first_page - 1 : 0;
    for (unsigned i = 0; i < info->page_count; i++)
        kept->delays[i] = i + skipped < (unsigned)count ? delays[i + skipped] : delays[count - 1];
    return HONE_OK;
}

static hone_status examine(struct media_input *input, VipsImage **image, hone_error *error)
{
    const struct tiff_facts *tiff = &((const struct vips_state *)input->state)->tiff;
    hone_status status =
        media_check_size(input, (uint64_t)(*image)->Xsize, (uint64_t)(*image)->Ysize / parts(input), error);
    THEN(status, choose_pages(input, image, error));
    if (!status)
        status =
            media_check_size(input, (uint64_t)(*image)->Xsize, (uint64_t)page_height(input, *image), error);
    THEN(status, vips_check_cost(input, *image, tiff, error));
    THEN(status, keep_animation(input, *image, error));
    if (status)
        return status;
    input->orientation = (unsigned)vips_image_get_orientation(*image);
    if (!unpack(image) || !convert_colours(input, image))
        return vips_bad(input, "its colours cannot be converted", "", error);
    status = describe(input, *image, error);
    return status ? status : keep_metadata(input, *image, error);
}

/* A sound TIFF may hold what cannot be read: that is no damage. */
static hone_status not_opened(struct media_input *input, hone_error *error)
{
    const struct tiff_facts *tiff = &((const struct vips_state *)input->state)->tiff;
    const bool whole = strcmp(tiff->kind ? tiff->kind : "", "float") != 0;
    if (tiff->samples > 4 && !tiff->split)
        return media_bad(input, error, "has %u channels; 1 to 4 can be read", tiff->samples);
    if (tiff->bits > 32 || tiff->bits == 24 || (tiff->samples && strcmp(tiff->kind, "other") == 0))
        return media_bad(input, error,
                         "holds %s of %u bits, which cannot be read: integers of at most 32 bits can, and "
                         "floating point of 16, 32 and 64",
                         whole ? "integers" : "floating point", tiff->bits);
    return vips_bad(input, "is damaged or of an unknown kind", "", error);
}

static hone_status open_vips(struct media_input *input, hone_error *error)
{
    hone_status status = vips_begin(error);
    struct vips_state *state = input->state = mem_new(1, sizeof *state);
    bool known = false;
    if (!status)
        input->kept = vips_kept_new();
    if (status || !state || !input->kept)
        return status ? status : error_memory(error, "an image file");
    vips_error_clear(); /* what it said of files before, also of those that went well */
    state->image = open_image(input, &known);
    if (!state->image && state->distrusted) {
        vips_error_clear();
        return media_bad(
            input, error,
            "is %s, whose decoder is not meant for untrusted files (--trust reads it nevertheless)",
            state->distrusted);
    }
    if (!state->image && !known) {
        vips_error_clear();
        return media_bad(
            input, error,
            "is not an image of a format that can be read here (hone formats lists them), or is damaged "
            "at its start");
    }
    if (!state->image)
        return not_opened(input, error);
    return examine(input, &state->image, error);
}

/* ---- Pixels ---- */

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
                input, error, "row %u holds %s that f32 cannot hold%s", y, number_name(c->format),
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
    const int page = (int)input->loaded * page_height(input, image);
    const int begin = page + (int)first, end = begin + (int)count;
    hone_status status = HONE_OK;
    for (int top = begin; top < end && !status; top += rows) {
        const VipsRect strip = {0, top, image->Xsize, VIPS_MIN(rows, end - top)};
        if (vips_region_prepare(region, &strip) != 0)
            return vips_bad(
                input, "is damaged",
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

static void end_rows(struct vips_state *state)
{
    conversion_finish(&state->conversion);
    state->converts = false;
}

static hone_status begin_rows(struct media_input *input, hone_error *error)
{
    struct vips_state *state = input->state;
    if (!state->converts && !conversion_init(&state->conversion, input, state->image)) {
        end_rows(state);
        return error_memory(error, "a row of an image");
    }
    state->converts = true;
    return HONE_OK;
}

static hone_status load_vips(struct media_input *input, uint32_t first, uint32_t count, hone_error *error)
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
    end_rows(state);
    if (input->loaded + 1 == input->info.page_count * parts(input))
        g_clear_object(&state->image); /* the decoder's memory is not needed while the result is written */
    if (!status)
        tell_damage(input);
    return status;
}

static void close_vips(struct media_input *input)
{
    struct vips_state *state = input->state;
    vips_kept_free(input->kept);
    input->kept = NULL;
    if (!state)
        return;
    end_rows(state);
    g_clear_object(&state->image);
    free(state);
    input->state = NULL;
}

const struct media_reader media_reader_vips = {claims, open_vips, load_vips, close_vips};

/* ---- Suffixes ---- */

/* Tables of numbers are images to libvips, but not to someone who filters a folder of pictures. */
static bool is_table(const char *suffix)
{
    return strcmp(suffix, ".csv") == 0 || strcmp(suffix, ".mat") == 0;
}

struct wanted {
    const char *suffix;
    bool hardened;
};

static void *has_suffix(GType type, void *user)
{
    const struct wanted *wanted = user;
    const VipsForeignClass *loader = g_type_class_ref(type);
    void *found = NULL;
    for (const char **at = loader->suffs; at && *at && !found; at++)
        if (strcmp(*at, wanted->suffix) == 0 && (!wanted->hardened || vips_is_hardened(g_type_name(type))))
            found = user;
    return found;
}

bool media_vips_knows(const char *suffix, bool hardened)
{
    struct wanted wanted = {suffix, hardened};
    if (vips_begin(NULL) || is_table(suffix))
        return false;
    return vips_type_map_all(g_type_from_name("VipsForeignLoad"), has_suffix, &wanted) != NULL;
}
