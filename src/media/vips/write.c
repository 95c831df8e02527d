/* SPDX-License-Identifier: BSD-2-Clause */
/* Writing PNG, JPEG, TIFF, WebP, GIF, AVIF and HEIC through libvips, into a descriptor of ours so that every
 * failed write is seen. */
#include "media/vips.h"

#include "base/error.h"
#include "base/file.h"
#include "media/description.h"
#include "media/iptc.h"
#include "media/tiff_exif.h"
#include "media/tiff_file.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Classic TIFF ends at 4 GB; the rest is room for tags and profiles. */
#define BIG_TIFF_BYTES (UINT64_C(4000) << 20)

enum { ROWS_AT_ONCE = 16, WIDE_STRIP = 4 << 20 /* bytes */ };

/* ---- The target: libvips writes, we keep the reason of the first failure ---- */

struct sink {
    int fd, code;                  /* errno */
    struct vips_png_chunks chunks; /* that go behind the header of a PNG */
    const struct vips_cicp *cicp;  /* what a PNG says of its colours, there as well; NULL: nothing */
    bool has_head;                 /* all that goes behind the header is written */
    gint64 written;                /* before that is */
};

/* False: `code` says why. */
static bool write_bytes(struct sink *sink, const void *bytes, size_t count)
{
    if (sink->code == 0 && !file_write_all(sink->fd, bytes, count))
        sink->code = errno;
    return sink->code == 0;
}

static int write_behind_header(const struct sink *sink)
{
    int code = sink->cicp ? vips_write_png_cicp(sink->fd, sink->cicp) : 0;
    if (!code && (sink->chunks.texts || sink->chunks.colours))
        code = vips_copy_png_chunks(&sink->chunks, sink->fd);
    return code;
}

/* Colours have to be told before the pixels, and readers may look for texts there alone. */
static bool write_png(struct sink *sink, const char *bytes, gint64 count)
{
    const gint64 head = PNG_HEADER - sink->written < count ? PNG_HEADER - sink->written : count;
    if (!write_bytes(sink, bytes, (size_t)head))
        return false;
    sink->written += head;
    if (sink->written == PNG_HEADER) {
        sink->code = write_behind_header(sink);
        sink->has_head = true;
    }
    return write_bytes(sink, bytes + head, (size_t)(count - head));
}

static gint64 sink_write(VipsTargetCustom *target, const void *bytes, gint64 count, void *user)
{
    struct sink *sink = user;
    (void)target;
    const bool written =
        sink->has_head ? write_bytes(sink, bytes, (size_t)count) : write_png(sink, bytes, count);
    return written ? count : -1;
}

static gint64 sink_read(VipsTargetCustom *target, void *bytes, gint64 count, void *user)
{
    struct sink *sink = user;
    (void)target;
    ssize_t got = read(sink->fd, bytes, (size_t)count);
    if (got < 0 && sink->code == 0)
        sink->code = errno;
    return got;
}

static gint64 sink_seek(VipsTargetCustom *target, gint64 offset, int whence, void *user)
{
    struct sink *sink = user;
    (void)target;
    off_t at = lseek(sink->fd, offset, whence);
    if (at < 0 && sink->code == 0)
        sink->code = errno;
    return at;
}

static VipsTarget *new_target(struct sink *sink)
{
    VipsTargetCustom *target = vips_target_custom_new();
    g_signal_connect(target, "write", G_CALLBACK(sink_write), sink);
    g_signal_connect(target, "read", G_CALLBACK(sink_read), sink);
    g_signal_connect(target, "seek", G_CALLBACK(sink_seek), sink);
    return VIPS_TARGET(target);
}

/* ---- The image ---- */

static VipsBandFormat band_format(hone_type type)
{
    switch (type) {
    case HONE_U8:
        return VIPS_FORMAT_UCHAR;
    case HONE_U16:
        return VIPS_FORMAT_USHORT;
    case HONE_S16:
        return VIPS_FORMAT_SHORT;
    case HONE_U32:
        return VIPS_FORMAT_UINT;
    case HONE_F32:
        break;
    }
    return VIPS_FORMAT_FLOAT;
}

static VipsInterpretation interpretation(const hone_image_desc *desc)
{
    const bool gray = desc->channels < 3;
    if (desc->type == HONE_U8)
        return gray ? VIPS_INTERPRETATION_B_W : VIPS_INTERPRETATION_sRGB;
    if (desc->type == HONE_U16)
        return gray ? VIPS_INTERPRETATION_GREY16 : VIPS_INTERPRETATION_RGB16;
    return gray ? VIPS_INTERPRETATION_B_W : VIPS_INTERPRETATION_scRGB;
}

/* WebP, AVIF and HEIC hold it as colours. */
static bool stays_gray(const struct media_output *output)
{
    const struct media_info *like = media_get_info(output->like);
    const uint32_t channels = output->desc.channels;
    const bool gray = channels < 3 || (like->parts > 1 && channels - like->extra == 1);
    return gray && !strchr("wah", output->suffix[1]);
}

/* A profile names its colour space in bytes 16 to 19. One for gray on a coloured result, or the other way
 * round, would be refused or worse. */
static void drop_foreign_profile(VipsImage *image, const struct media_output *output)
{
    enum { SPACE_AT = 16, SPACE_LENGTH = 4 };
    const void *profile = NULL;
    size_t bytes = 0;
    if (vips_image_get_typeof(image, VIPS_META_ICC_NAME) == 0 ||
        vips_image_get_blob(image, VIPS_META_ICC_NAME, &profile, &bytes) != 0)
        return;
    const char *space = stays_gray(output) ? "GRAY" : "RGB ";
    if (bytes < SPACE_AT + SPACE_LENGTH || memcmp((const char *)profile + SPACE_AT, space, SPACE_LENGTH) != 0)
        vips_image_remove(image, VIPS_META_ICC_NAME);
}

/* Whether rows of the file that metadata are of are columns of what is written: EXIF's orientation turns
 * images, too. */
static bool is_turned(const struct media_output *output)
{
    const bool upright = output->like && output->like->orientation >= 5;
    return upright != output->options->turned;
}

/* Pixels per millimetre, across and down. */
static void find_resolution(const struct media_output *output, double resolution[2])
{
    const VipsImage *metadata = vips_metadata_of(output->like);
    const bool turned = is_turned(output);
    resolution[turned] = metadata ? metadata->Xres : 1;
    resolution[!turned] = metadata ? metadata->Yres : 1;
}

static void set_resolution(VipsImage *image, const struct media_output *output)
{
    double resolution[2];
    find_resolution(output, resolution);
    image->Xres = resolution[0];
    image->Yres = resolution[1];
}

/* Whether the file says how many pixels there are to the inch or cm; else libvips has made it up. */
static bool has_density(const struct media_output *output)
{
    const VipsImage *metadata = vips_metadata_of(output->like);
    struct tiff_layout layout = {0};
    if (!metadata)
        return false;
    if (media_tiff_layout(output->like, &layout))
        return layout.across[1] && layout.down[1] && layout.unit != TIFF_NO_UNIT;
    if (strcmp(media_get_info(output->like)->format, "PNG") == 0)
        return vips_png_has_density(output->like->fd);
    return metadata->Xres < 1 || metadata->Xres > 1 || metadata->Yres < 1 || metadata->Yres > 1;
}

/* What described a stack, or pixels of another size, describes this image. */
static void correct_description(VipsImage *image, const struct media_output *output)
{
    const char *text = NULL;
    const unsigned alike = media_get_info(output->like)->alike, pages = alike ? alike : output->pages;
    hone_image_desc page = output->desc;
    page.height /= output->pages;
    if (vips_image_get_typeof(image, VIPS_META_IMAGEDESCRIPTION) == 0 ||
        vips_image_get_string(image, VIPS_META_IMAGEDESCRIPTION, &text) != 0)
        return;
    char *corrected = description_of_pages(text, &page, pages, is_turned(output));
    if (!corrected)
        vips_image_remove(image, VIPS_META_IMAGEDESCRIPTION);
    else if (strcmp(corrected, text) != 0) {
        media_note(output->like, description_kind(text) == DESCRIPTION_SHAPED ? MEDIA_DETAIL : MEDIA_ONCE,
                   "its ImageDescription (%s) is of other images than those written, and is "
                   "reduced to what is true of that",
                   description_name(description_kind(text)));
        vips_image_set_string(image, VIPS_META_IMAGEDESCRIPTION, corrected);
    }
    free(corrected);
}

/* Without it the colours would be other ones. */
static void carry_profile(VipsImage *from, VipsImage *to)
{
    const void *profile = NULL;
    size_t bytes = 0;
    if (vips_image_get_typeof(from, VIPS_META_ICC_NAME) &&
        vips_image_get_blob(from, VIPS_META_ICC_NAME, &profile, &bytes) == 0)
        vips_image_set_blob_copy(to, VIPS_META_ICC_NAME, profile, bytes);
}

/* ---- Pixels that come row by row ---- */

static int generate_rows(VipsRegion *region, void *sequence, void *output, void *unused, gboolean *stop)
{
    const VipsRect *area = &region->valid;
    (void)sequence, (void)unused, (void)stop;
    for (int y = area->top; y < VIPS_RECT_BOTTOM(area); y++)
        if (media_next_rows(output, 1, VIPS_REGION_ADDR(region, 0, y)) != HONE_OK)
            return -1;
    return 0;
}

/* An image whose rows are asked for once, from the top. libvips counts on that: what it reads again, it
 * keeps. */
static VipsImage *image_of_rows(const struct media_output *output)
{
    const hone_image_desc *desc = &output->desc;
    VipsImage *rows = vips_image_new(), *image = NULL;
    vips_image_init_fields(rows, (int)desc->width, (int)desc->height, (int)desc->channels,
                           band_format(desc->type), VIPS_CODING_NONE, VIPS_INTERPRETATION_MULTIBAND, 1, 1);
    if (vips_image_pipelinev(rows, VIPS_DEMAND_STYLE_THINSTRIP, NULL) != 0 ||
        vips_image_generate(rows, NULL, generate_rows, NULL, (void *)output, NULL) != 0 ||
        vips_sequential(rows, &image, "tile_height", ROWS_AT_ONCE, NULL) != 0)
        image = NULL;
    g_object_unref(rows);
    return image;
}

static VipsImage *image_of_pixels(const struct media_output *output)
{
    const hone_image_desc *desc = &output->desc;
    return vips_image_new_from_memory(output->pixels, hone_image_bytes(desc), (int)desc->width,
                                      (int)desc->height, (int)desc->channels, band_format(desc->type));
}

static VipsImage *make_image(const struct media_output *output)
{
    const hone_image_desc *desc = &output->desc;
    VipsImage *metadata = vips_metadata_of(output->like), *image = NULL;
    VipsImage *pixels = output->rows ? image_of_rows(output) : image_of_pixels(output);
    if (!pixels)
        return NULL;
    if (vips_copy(pixels, &image, "interpretation", interpretation(desc), NULL) == 0 && metadata) {
        if (output->options->strip)
            carry_profile(metadata, image);
        else
            vips_carry_metadata(metadata, image), vips_tell_lost(output->like);
        set_resolution(image, output); /* after EXIF, which has it, too */
        drop_foreign_profile(image, output);
        correct_description(image, output);
    }
    if (image && !has_density(output))
        vips_image_set_string(image, VIPS_META_RESOLUTION_UNIT, "none");
    if (image && output->pages > 1) {
        vips_image_set_int(image, VIPS_META_PAGE_HEIGHT, (int)(desc->height / output->pages));
        vips_carry_animation(output->like, image);
    }
    g_object_unref(pixels);
    if (image && output->rows)
        image->dhint = VIPS_DEMAND_STYLE_FATSTRIP; /* its threads meet once a strip, not for each row */
    return image;
}

/* ---- Saving ---- */

/* libvips declares every channel beyond gray or colour as alpha. */
static bool mark_channels(const struct media_output *output)
{
    const struct media_info *like = output->like ? media_get_info(output->like) : NULL;
    if (!like || !like->extra || like->desc.channels * like->parts != output->desc.channels)
        return true;
    if (tiff_mark_channels(output->fd, output->desc.channels - like->extra, like->extra))
        return true;
    return vips_error("TIFF", "the channels could not be declared"), false;
}

static const void *find_blob(VipsImage *image, const char *name, size_t *bytes)
{
    const void *blob = NULL;
    if (vips_image_get_typeof(image, name) == 0 || vips_image_get_blob(image, name, &blob, bytes) != 0)
        return NULL;
    return blob;
}

/* What libvips 8.14 does not write into TIFFs: EXIF, and the end of IPTC. */
static int add_extras(const struct media_output *output, VipsImage *metadata)
{
    struct tiff_extras extras = {0};
    size_t bytes = 0;
    extras.exif = find_blob(metadata, VIPS_META_EXIF_NAME, &extras.exif_bytes);
    const void *iptc = find_blob(metadata, VIPS_META_IPTC_NAME, &bytes);
    if (iptc)
        extras.iptc = iptc_records(iptc, bytes, &extras.iptc_bytes);
    if (!extras.exif && !extras.iptc)
        return 0;
    return tiff_add_extras(output->fd, &extras, output->desc.width, output->desc.height / output->pages);
}

/* Lossy ones become none: JPEG in a TIFF would change pixels once more. */
static VipsForeignTiffCompression compression_of_tag(unsigned tag)
{
    switch (tag) {
    case 5:
        return VIPS_FOREIGN_TIFF_COMPRESSION_LZW;
    case 8:
    case 32946:
        return VIPS_FOREIGN_TIFF_COMPRESSION_DEFLATE;
    case 32773:
        return VIPS_FOREIGN_TIFF_COMPRESSION_PACKBITS;
    case 50000:
        return VIPS_FOREIGN_TIFF_COMPRESSION_ZSTD;
    default:
        return VIPS_FOREIGN_TIFF_COMPRESSION_NONE;
    }
}

/* libvips knows pixels to the inch or cm alone. Programs write others without a unit, which ImageJ has in the
 * description. */
static bool keep_resolution(const struct media_output *output, struct tiff_layout *layout)
{
    if ((!layout->across[1] || !layout->down[1]) && !has_density(output)) {
        layout->unit = TIFF_NO_UNIT;
        layout->across[0] = layout->across[1] = layout->down[0] = layout->down[1] = 1;
    }
    if (!layout->across[1] || !layout->down[1] || tiff_set_resolution(output->fd, layout, is_turned(output)))
        return true;
    return vips_error("TIFF", "the resolution could not be written"), false;
}

/* What was asked for may be for other outputs. */
static const char *compression_asked(const struct media_output *output)
{
    const char *word = output->options->compression;
    return media_takes_compression(output->name, word) ? word : NULL;
}

/* As the input was stored, as far as nothing else was asked for. */
static bool save_tiff(const struct media_output *output, VipsImage *image, VipsTarget *target)
{
    struct tiff_layout layout = {0};
    const bool like_input = media_tiff_layout(output->like, &layout);
    const char *asked = compression_asked(output);
    const int compression = asked ? vips_enum_from_nick("hone", VIPS_TYPE_FOREIGN_TIFF_COMPRESSION, asked)
                                  : (int)compression_of_tag(like_input ? layout.compression : 1);
    const bool tiles = layout.tile_width >= 16 && layout.tile_height >= 16 && layout.tile_width <= 32768 &&
                       layout.tile_height <= 32768;
    /* 128 are libvips' own, which holds two strips. Whether rows come one by one or at once, the file is the
     * same. */
    const int strip = hone_image_bytes(&output->desc) / output->desc.height * 128 > WIDE_STRIP ? 16 : 128;
    vips_image_remove(image, VIPS_META_IPTC_NAME);
    const bool big = layout.big || hone_image_bytes(&output->desc) > BIG_TIFF_BYTES;
    return vips_tiffsave_target(image, target, "bigtiff", big, "compression", compression, "tile", tiles,
                                "tile_width", tiles ? (int)layout.tile_width : 128, "tile_height",
                                tiles ? (int)layout.tile_height : strip, NULL) == 0 &&
           mark_channels(output) && keep_resolution(output, &layout);
}

static bool was_lossless(const struct media_output *output)
{
    return output->like && strcmp(media_get_info(output->like)->format, "WebP") == 0 &&
           vips_webp_is_lossless(output->like->fd);
}

/* Without loss if that was asked for, or as a lossless input is, unless a quality was asked for. */
static bool save_webp(const struct media_output *output, VipsImage *image, VipsTarget *target)
{
    const int quality = output->options->quality;
    const bool lossless = compression_asked(output) || (!quality && was_lossless(output));
    return vips_webpsave_target(image, target, "Q", quality ? quality : MEDIA_QUALITY, "lossless", lossless,
                                NULL) == 0;
}

static bool save(const struct media_output *output, VipsImage *image, VipsTarget *target)
{
    const char *suffix = output->suffix;
    const int quality = output->options->quality ? output->options->quality : MEDIA_QUALITY;
    switch (suffix[1]) {
    case 'p':
        return vips_pngsave_target(image, target, NULL) == 0;
    case 't':
        return save_tiff(output, image, target);
    case 'g':
        return vips_gifsave_target(image, target, NULL) == 0;
    case 'w':
        return save_webp(output, image, target);
    case 'a':
    case 'h':
        return vips_save_heif(output, image, target, quality, compression_asked(output) != NULL);
    default:
        return vips_jpegsave_target(image, target, "Q", quality, NULL) == 0;
    }
}

bool media_vips_encodes(const char *suffixes)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static int known[2]; /* HEIC, AVIF; 0: not tried, 1: no, 2: yes */
    const bool avif = suffixes[1] == 'a';
    if (vips_begin(NULL))
        return false;
    if (suffixes[1] == 'g')
        return g_type_from_name("VipsForeignSaveCgifTarget") != 0;
    pthread_mutex_lock(&lock);
    if (!known[avif])
        known[avif] = 1 + vips_try_heif(avif);
    const bool encodes = known[avif] == 2;
    pthread_mutex_unlock(&lock);
    return encodes;
}

bool media_vips_is_lossless(const char *suffixes, unsigned channels)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static int known[2][5]; /* as above, for so many channels */
    const bool avif = suffixes[1] == 'a';
    if (vips_begin(NULL))
        return false;
    pthread_mutex_lock(&lock);
    int *own = &known[avif][channels];
    if (!*own)
        *own = 1 + vips_try_heif_lossless(avif, channels);
    const bool is = *own == 2;
    pthread_mutex_unlock(&lock);
    return is;
}

/* One thread is enough to ask for rows, and libvips, which has one number for all images, holds rows for
 * each. Other images that are written meanwhile take longer at worst. */
static void ask_with_one_thread(bool begins)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static int writers, usual;
    vips_hold_few_rows();
    pthread_mutex_lock(&lock);
    if (begins && writers++ == 0) {
        usual = vips_concurrency_get();
        vips_concurrency_set(1);
    } else if (!begins && --writers == 0) {
        vips_concurrency_set(usual);
    }
    pthread_mutex_unlock(&lock);
}

static bool keeps_metadata(const struct media_output *output)
{
    return !output->options->strip && vips_metadata_of(output->like);
}

/* Like a profile, what colours are like stays with --strip, but is not true of gray that is made of them, and
 * the other way round. */
static struct vips_png_chunks chunks_of(const struct media_output *output)
{
    const struct media_info *info = output->like ? media_get_info(output->like) : NULL;
    if (output->suffix[1] != 'p' || !info || strcmp(info->format, "PNG") != 0)
        return (struct vips_png_chunks){.from = -1};
    const uint32_t colours = 3;
    return (struct vips_png_chunks){.from = output->like->fd,
                                    .texts = keeps_metadata(output),
                                    .colours =
                                        (info->desc.channels < colours) == (output->desc.channels < colours)};
}

/* Gamma or primaries that a PNG alone holds. */
static void tell_gamma(const struct media_output *output)
{
    const struct media_info *info = output->like ? media_get_info(output->like) : NULL;
    if (output->suffix[1] != 'p' && info && strcmp(info->format, "PNG") == 0 &&
        vips_png_looks_other(output->like->fd, info->desc.channels < 3))
        media_note(output->like, MEDIA_ONCE,
                   "how its colours are to be shown (gamma and primaries) is lost in a %s; PNG keeps it",
                   output->suffix);
}

/* What a format cannot hold, PNGs and AVIFs can. 0 or an errno. */
static int complete_colours(const struct media_output *output, const struct vips_cicp *cicp)
{
    bool is_held = !cicp || output->suffix[1] == 'p';
    const int code = !is_held && output->suffix[1] == 'a' ? vips_set_nclx(output->fd, cicp, &is_held) : 0;
    if (code || is_held)
        return code;
    media_note(
        output->like, MEDIA_ONCE,
        "how its colours are to be shown (primaries %u, transfer %u of ITU-T H.273) is lost in a %s; PNG "
        "and AVIF keep it",
        cicp->primaries, cicp->transfer, output->suffix);
    return 0;
}

static int complete_png(const struct media_output *output)
{
    double resolution[2];
    find_resolution(output, resolution);
    const int code = vips_drop_second_exif(output->fd);
    return code ? code : vips_write_png_density(output->fd, resolution, has_density(output));
}

/* What libvips does not write, or twice, or otherwise; 0 or an errno. */
static int complete(const struct media_output *output)
{
    if (output->suffix[1] == 't')
        return keeps_metadata(output) ? add_extras(output, vips_metadata_of(output->like)) : 0;
    const struct vips_kept *kept = output->like ? output->like->kept : NULL;
    if (output->suffix[1] == 'w')
        return kept && output->pages > 1 && kept->delay_count == output->pages
                   ? vips_write_webp_times(output->fd, kept->delays, kept->delay_count)
                   : 0;
    return output->suffix[1] == 'p' ? complete_png(output) : 0;
}

hone_status media_write_vips(const struct media_output *output, hone_error *error)
{
    struct vips_cicp cicp;
    struct sink sink = {.fd = output->fd, .chunks = chunks_of(output)};
    hone_status status = vips_begin(error);
    if (status)
        return status;
    sink.cicp = vips_cicp_of(output->like, &cicp) ? &cicp : NULL;
    sink.has_head = output->suffix[1] != 'p' || (!sink.cicp && sink.chunks.from < 0);
    if (output->rows)
        ask_with_one_thread(true);
    VipsImage *image = make_image(output);
    VipsTarget *target = image ? new_target(&sink) : NULL;
    bool ok = target && save(output, image, target);
    if (output->rows)
        ask_with_one_thread(false);
    if (ok)
        ok = (sink.code = complete(output)) == 0;
    if (ok)
        ok = (sink.code = complete_colours(output, sink.cicp)) == 0;
    if (ok)
        tell_gamma(output);
    if (sink.code) {
        vips_error_clear();
        status = media_cannot_write(output, sink.code, error);
    } else if (!ok) {
        char said[512];
        vips_said(said, sizeof said);
        status = error_io(error, "cannot write '%s': %s", output->name, said);
    }
    if (target)
        g_object_unref(target);
    if (image)
        g_object_unref(image);
    return status;
}
