/* SPDX-License-Identifier: BSD-2-Clause */
/* Reading what libvips reads. */
#include "media/vips/internal.h"

#include "base/error.h"
#include "base/mem.h"
#include "media/description.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- Opening ---- */

/* libvips recognises files by more than their first bytes: it is asked last, for everything. */
static bool claims(const uint8_t *head, size_t count)
{
    (void)head;
    return count > 0;
}

/* With libspng, libvips looks at the checksums of a PNG where errors are to fail; up to 8.15, where they are
 * not, and cut files are. With libpng it does in both cases. */
static VipsFailOn png_level(void)
{
    int major = 0, minor = 0;
    const bool known = sscanf(vips_version_string(), "%d.%d", &major, &minor) == 2;
    return known && major == 8 && minor < 16 ? VIPS_FAIL_ON_TRUNCATED : VIPS_FAIL_ON_ERROR;
}

/* libjpeg reports corrupt data as warnings; other decoders warn of harmless things and report damage as
 * errors. libvips says nothing of damage in a PNG that it goes on after: damage is found first. */
static VipsFailOn fail_level(const struct media_input *input, const char *loader)
{
    if (strstr(loader, "Png"))
        return png_level();
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

static VipsSource *source_of(const struct media_input *input)
{
    return lseek(input->fd, 0, SEEK_SET) == 0 ? vips_source_new_from_descriptor(input->fd) : NULL;
}

/* Pages of one size, one below the other. */
static VipsImage *open_pages(struct media_input *input, unsigned first, unsigned count)
{
    const struct vips_state *state = input->state;
    if (state->tiff.samples && tiff_reads(&state->tiff))
        return tiff_open_image(input->fd, &state->tiff, first, count);
    const bool alone = input->options.goes_on && count == 1;
    VipsSource *source = alone ? vips_page_source(input, first) : source_of(input);
    VipsImage *image = source ? vips_image_new_from_source(source, "", "access", VIPS_ACCESS_SEQUENTIAL,
                                                           "fail_on", fail_level(input, ""), "page",
                                                           alone ? 0 : (int)first, "n", (int)count, NULL)
                              : NULL;
    if (source)
        g_object_unref(source);
    return image;
}

static bool is_alike(const VipsImage *a, const VipsImage *b)
{
    return a->Xsize == b->Xsize && a->Bands == b->Bands && a->BandFmt == b->BandFmt;
}

/* As the pages from `done` on, in place of the image, if it fits; it is given away. */
static bool take_over(struct media_input *input, VipsImage *rest, unsigned done)
{
    struct vips_state *state = input->state;
    const unsigned left = input->info.page_count - done;
    const bool alike = rest && vips_to_colours(input, &rest) && is_alike(rest, state->image) &&
                       (uint64_t)rest->Ysize == (uint64_t)left * input->place.height;
    if (alike) {
        g_object_unref(state->image);
        state->image = rest;
        state->begun = done;
    } else if (rest) {
        g_object_unref(rest);
    }
    return alike;
}

bool vips_reopen(struct media_input *input, unsigned done)
{
    const struct media_info *info = &input->info;
    const unsigned left = info->page_count - done;
    return vips_parts(input) == 1 &&
           take_over(input, open_pages(input, info->first_page - 1 + done, left), done);
}

bool vips_reopen_leniently(struct media_input *input)
{
    VipsSource *source = source_of(input);
    VipsImage *image = source ? vips_image_new_from_source(source, "", "access", VIPS_ACCESS_SEQUENTIAL,
                                                           "fail_on", VIPS_FAIL_ON_NONE, NULL)
                              : NULL;
    if (source)
        g_object_unref(source);
    return take_over(input, image, 0);
}

static VipsImage *open_by_descriptor(struct media_input *input, VipsSource *source, const char *loader)
{
    struct vips_state *state = input->state;
    input->info.format = format_name(loader);
    const unsigned wanted = input->options.first_page ? input->options.first_page - 1 : 0;
    const bool looked = strcmp(input->info.format, "TIFF") == 0 && tiff_look(input->fd, wanted, &state->tiff);
    if (looked && (state->tiff.log || state->tiff.chroma))
        return NULL;
    state->tiff.split = state->tiff.split && input->options.split;
    state->tiff.tolerant = input->options.accept_damaged;
    state->tiff.counted = input->options.goes_on;
    state->tiff.many = looked && !input->options.goes_on && tiff_has_many(input->fd);
    if (looked && state->tiff.negative)
        media_note(
            input, MEDIA_ONCE,
            "its smallest numbers are white; they are kept as they are, and the result does not say so");
    if (looked && state->tiff.tiled_planes && !tiff_reads(&state->tiff))
        return NULL;
    if (looked && tiff_reads(&state->tiff)) {
        input->info.parts = state->tiff.split ? state->tiff.samples : 1;
        if (strcmp(state->tiff.kind, "float") == 0 && state->tiff.bits != 32)
            media_note(input, MEDIA_ONCE, "%u-bit floating point is read as f32", state->tiff.bits);
        return tiff_open_image(input->fd, &state->tiff, state->tiff.page, 1);
    }
    if (state->tiff.page > 0)
        return open_pages(input, state->tiff.page, 1);
    return vips_image_new_from_source(source, "", "access", VIPS_ACCESS_SEQUENTIAL, "fail_on",
                                      fail_level(input, loader), NULL);
}

static VipsImage *open_image(struct media_input *input, bool *known)
{
    VipsSource *source = source_of(input);
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

/* ---- What the image is ---- */

unsigned vips_parts(const struct media_input *input)
{
    return input->info.parts ? input->info.parts : 1;
}

static hone_status mixed_alpha(const struct media_input *input, hone_error *error)
{
    const struct tiff_facts *tiff = &((const struct vips_state *)input->state)->tiff;
    return media_bad(
        input, error,
        " has %u channels, of which %u are alpha and %u are no colour; alpha can stand beside gray or "
        "RGB alone: write the other channels to files of their own, or declare no channel as alpha "
        "(ExtraSamples 0)",
        tiff->samples, tiff->alpha, tiff->extra - tiff->alpha);
}

static hone_status too_many_channels(const struct media_input *input, unsigned channels, hone_error *error)
{
    const struct tiff_facts *tiff = &((const struct vips_state *)input->state)->tiff;
    if (tiff->alpha > 0 && tiff->extra > 1)
        return mixed_alpha(input, error);
    return media_bad(
        input, error, " has %u channels; 1 to 4 can be read here%s", channels,
        tiff->samples > 4 && !tiff->direct ? ", and more of a TIFF of gray or RGB: convert it to that" : "");
}

/* Which of the channels are alpha: as a TIFF declares them; other formats have no other kind of second and
 * fourth channel. */
static hone_status describe_channels(struct media_input *input, const VipsImage *image, hone_error *error)
{
    const struct tiff_facts *tiff = &((const struct vips_state *)input->state)->tiff;
    const bool as_stored = tiff->samples == (unsigned)image->Bands;
    if (vips_parts(input) > 1) {
        input->info.extra = tiff->extra;
        media_note(input, MEDIA_DETAIL, "%u channels, which are filtered one by one", vips_parts(input));
        return HONE_OK;
    }
    if (as_stored && tiff->alpha > 0 && tiff->extra > 1)
        return mixed_alpha(input, error);
    if (as_stored && tiff_stays_multiplied(tiff))
        return media_bad(
            input, error,
            " holds %s numbers of %u bits whose colours are multiplied by alpha (ExtraSamples 1); "
            "such colours can be read as unsigned integers or floating point of gray or RGB: save "
            "it with unassociated alpha (ExtraSamples 2)",
            tiff->kind, tiff->bits);
    if (tiff->fine_palette && !tiff_reads(tiff) && !input->options.goes_on)
        media_note(input, MEDIA_WARNING, "its palette has colours of 16 bits, of which the upper 8 are read");
    input->info.extra = as_stored && tiff->alpha == 0 ? tiff->extra : 0;
    input->info.gray_alpha = image->Bands == 2 && !input->info.extra;
    if (input->info.extra)
        media_note(input, MEDIA_DETAIL, "%d channels, none of them declared as alpha: all are filtered",
                   image->Bands);
    return HONE_OK;
}

int vips_page_height(const struct media_input *input, const VipsImage *image)
{
    return image->Ysize / (int)(input->info.page_count * vips_parts(input));
}

static hone_status describe(struct media_input *input, const VipsImage *image, hone_error *error)
{
    hone_type type = HONE_U8;
    if (image->Bands < 1 || image->Bands > 4)
        return too_many_channels(input, (unsigned)image->Bands, error);
    hone_status status = vips_choose_type(input, image->BandFmt, &type, error);
    THEN(status, describe_channels(input, image, error));
    if (status)
        return status;
    input->info.desc = (hone_image_desc){(uint32_t)image->Xsize, (uint32_t)vips_page_height(input, image),
                                         type, input->info.gray_alpha ? 4 : (uint32_t)image->Bands, 0};
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
static void keep_description(const struct media_input *input, VipsImage *image)
{
    struct text text = {0};
    if (strcmp(input->info.format, "TIFF") == 0 && !input->options.goes_on)
        vips_first_description(input, &text);
    if (text.length > 0 && description_kind(text_view(&text)) != DESCRIPTION_PLAIN)
        vips_image_set_string(image, VIPS_META_IMAGEDESCRIPTION, text_view(&text));
    text_finish(&text);
}

/* The page that was opened at first: without libtiff, and of animations, the file's first one. */
static unsigned opened_page(const struct media_input *input)
{
    return ((const struct vips_state *)input->state)->tiff.page;
}

/* libvips has the resolution of the last page. False: libvips says why. */
static bool keep_resolution(struct media_input *input, VipsImage *first, VipsImage *stack)
{
    const unsigned page = input->info.first_page - 1;
    VipsImage *own = page != opened_page(input) ? open_pages(input, page, 1) : first;
    if (!own)
        return false;
    stack->Xres = own->Xres;
    stack->Yres = own->Yres;
    if (own != first)
        g_object_unref(own);
    return true;
}

static void count_pages(struct media_input *input, VipsImage *image)
{
    const struct media_read_options *o = &input->options;
    struct media_info *info = &input->info;
    if (o->goes_on)
        info->pages = o->last_page; /* they were counted before */
    else if (strcmp(info->format, "PNG") == 0)
        info->pages = vips_count_png(input);
    else if (strcmp(info->format, "JPEG 2000") != 0)
        info->pages = (unsigned)vips_image_get_n_pages(image);
    info->first_page = o->first_page ? o->first_page : 1;
    const bool to_end = !o->last_page && has_pages(input) && (o->first_page || o->stack);
    const unsigned last = to_end ? info->pages : o->last_page;
    info->page_count = last >= info->first_page ? last - info->first_page + 1 : 1;
}

/* Instead of *image, all pages that are wanted, which is the one that it shows or others. False: libvips says
 * why. */
static bool take_pages(struct media_input *input, VipsImage **image)
{
    const struct media_info *info = &input->info;
    const unsigned first = info->first_page - 1;
    VipsImage *stack = info->page_count == 1 && first == opened_page(input)
                           ? *image
                           : open_pages(input, first, info->page_count);
    if (!stack || (stack != *image && !keep_resolution(input, *image, stack))) {
        g_clear_object(&stack);
        return false;
    }
    if (stack != *image)
        g_object_unref(*image);
    *image = stack;
    if (info->first_page > 1 || info->page_count > 1)
        keep_description(input, stack);
    if (info->page_count > 1 && !input->options.alone)
        vips_tell_pages(input);
    return true;
}

enum { MOST_APART = 4096 };

/* Whether pages that are alike, of which `image` is one, are too much to be delivered together. */
static bool is_too_much(struct media_input *input, const VipsImage *image)
{
    const struct media_read_options *o = &input->options;
    const struct media_info *info = &input->info;
    if (!o->apart || !o->together || info->page_count < 2 || info->page_count > MOST_APART ||
        strcmp(info->format, "TIFF") != 0 || VIPS_IMAGE_SIZEOF_IMAGE(image) <= o->together / info->page_count)
        return false;
    VipsImage *stack = open_pages(input, info->first_page - 1, info->page_count);
    const bool alike = stack != NULL;
    g_clear_object(&stack);
    return alike;
}

/* The first page of those that go one by one. Each takes a search through all directories before it. */
static hone_status begin_apart(struct media_input *input, VipsImage **image, hone_error *error)
{
    struct media_info *info = &input->info;
    vips_error_clear();
    info->apart = info->page_count;
    info->page_count = 1;
    if (info->apart > MOST_APART)
        return media_bad(input, error,
                         " holds %u pages that differ in size or kind, and at most %u of such are filtered: "
                         "--pages A-B takes some of them",
                         info->apart, MOST_APART);
    return take_pages(input, image) ? HONE_OK : vips_bad(input, "its pages cannot be read", "", error);
}

/* Where pages differ in size the first one stands alone, unless they were asked for. */
static hone_status choose_pages(struct media_input *input, VipsImage **image, hone_error *error)
{
    const struct media_read_options *o = &input->options;
    struct media_info *info = &input->info;
    count_pages(input, *image);
    TRY(media_check_pages(input, has_pages(input) ? info->pages : 1, error));
    if (is_too_much(input, *image)) {
        info->alike = info->page_count;
        return begin_apart(input, image, error);
    }
    if (take_pages(input, image))
        return HONE_OK;
    if (o->apart && info->page_count > 1 && strcmp(info->format, "TIFF") == 0)
        return begin_apart(input, image, error);
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
    if (strcmp(info->format, "WebP") == 0)
        vips_read_webp_times(input->fd, kept->delays, info->first_page - 1, info->page_count);
    return HONE_OK;
}

static hone_status examine(struct media_input *input, VipsImage **image, hone_error *error)
{
    const struct tiff_facts *tiff = &((const struct vips_state *)input->state)->tiff;
    hone_status status = media_check_size(input, (uint64_t)(*image)->Xsize,
                                          (uint64_t)(*image)->Ysize / vips_parts(input), error);
    if (!input->options.goes_on)
        THEN(status, vips_check_end(input, (unsigned)vips_image_get_n_pages(*image), error));
    THEN(status, choose_pages(input, image, error));
    if (!status)
        status = media_check_size(input, (uint64_t)(*image)->Xsize, (uint64_t)vips_page_height(input, *image),
                                  error);
    THEN(status, vips_check_cost(input, *image, tiff, error));
    THEN(status, keep_animation(input, *image, error));
    if (status)
        return status;
    input->orientation = (unsigned)vips_image_get_orientation(*image);
    if (!vips_to_colours(input, image) || !vips_fill_gif(input, image))
        return vips_bad(input, "its colours cannot be converted", "", error);
    status = describe(input, *image, error);
    return status ? status : vips_keep_metadata(input, *image, error);
}

static const char *kind_in_words(const struct tiff_facts *tiff)
{
    return strcmp(tiff->kind, "float") == 0       ? "floating point"
           : strcmp(tiff->kind, "complex") == 0   ? "complex numbers"
           : strcmp(tiff->kind, "undefined") == 0 ? "samples of an undefined kind"
                                                  : "integers";
}

static bool has_readable_samples(const struct tiff_facts *tiff)
{
    const bool is_float = tiff->kind && strcmp(tiff->kind, "float") == 0;
    if (tiff->kind && (strcmp(tiff->kind, "complex") == 0 || strcmp(tiff->kind, "undefined") == 0))
        return false;
    if (tiff->bits == 1 || tiff->bits == 2 || tiff->bits == 4)
        return tiff->samples == 1 && !is_float;
    return tiff->bits == 0 || tiff->bits == 16 || tiff->bits == 32 || tiff->bits == (is_float ? 64 : 8);
}

/* A sound TIFF may hold what cannot be read: that is no damage. */
static hone_status not_opened(struct media_input *input, hone_error *error)
{
    const struct tiff_facts *tiff = &((const struct vips_state *)input->state)->tiff;
    if (tiff->log)
        return media_bad(
            input, error,
            " holds LogLuv or LogL samples, which cannot be read: writers disagree on their white; "
            "save it as floating-point RGB");
    if (tiff->chroma)
        return media_bad(
            input, error,
            " holds YCbCr samples that are not compressed as JPEG, which cannot be read: save it "
            "as RGB");
    if (tiff->samples > 4 && !tiff->split)
        return too_many_channels(input, tiff->samples, error);
    if (!has_readable_samples(tiff))
        return media_bad(
            input, error,
            " holds %s of %u bit%s%s, which cannot be read: integers of 8, 16 and 32 bits can, of 1, 2 "
            "and 4 in a single channel, and floating point of 16, 32 and 64",
            kind_in_words(tiff), tiff->bits, tiff->bits > 1 ? "s" : "",
            tiff->samples > 1 ? " in several channels" : "");
    if (tiff->tiled_planes)
        return media_bad(
            input, error,
            " holds each channel by itself in tiles, which can be read of gray and RGB with samples of 8, "
            "16 or 32 bits alone: save it with the channels of a pixel together (PlanarConfiguration 1)");
    return vips_bad(input, " is damaged or of an unknown kind", "", error);
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
            " is %s, whose decoder is not meant for untrusted files (--trust reads it nevertheless)",
            state->distrusted);
    }
    if (!state->image && !known) {
        vips_error_clear();
        return media_bad(
            input, error,
            " is not an image of a format that can be read here (hone formats lists them), or is damaged "
            "at its start");
    }
    if (!state->image)
        return not_opened(input, error);
    return examine(input, &state->image, error);
}

static void close_vips(struct media_input *input)
{
    struct vips_state *state = input->state;
    vips_kept_free(input->kept);
    input->kept = NULL;
    if (!state)
        return;
    vips_end_rows(state);
    g_clear_object(&state->image);
    free(state);
    input->state = NULL;
}

const struct media_reader media_reader_vips = {claims, open_vips, vips_load_rows, close_vips};
