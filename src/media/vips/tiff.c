/* SPDX-License-Identifier: BSD-2-Clause */
/* What libvips does not tell of a TIFF, and the samples that it does not read, by way of libtiff. */
#include "media/vips.h"

#include "base/mem.h"
#include "media/tiff_file.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifdef HONE_HAVE_TIFF

enum {
    MAX_BAND_BYTES = 1 << 30, /* of a row of tiles, unpacked */
    MOST_CHANNELS = 4,        /* of an image of ours */
    PALETTE = 256,            /* colours of one that is read here */
    COLOURS = 3
};

#define NO_STRIP UINT32_MAX

/* A handle of its own, without mapping the file: one that is cut off meanwhile must not kill us. */
static TIFF *open_tiff(int fd)
{
    const int own = lseek(fd, 0, SEEK_SET) == 0 ? dup(fd) : -1;
    TIFF *tiff = own >= 0 ? TIFFFdOpen(own, "TIFF", "rm") : NULL;
    if (!tiff && own >= 0)
        close(own);
    return tiff;
}

static uint16_t field(TIFF *tiff, uint32_t tag)
{
    uint16_t value = 0;
    return TIFFGetFieldDefaulted(tiff, tag, &value) ? value : 0;
}

/* Channels that make up the colour; the rest are extra samples. */
static unsigned colour_samples(unsigned photometric, unsigned samples)
{
    switch (photometric) {
    case PHOTOMETRIC_MINISWHITE:
    case PHOTOMETRIC_MINISBLACK:
    case PHOTOMETRIC_PALETTE:
        return 1;
    case PHOTOMETRIC_RGB:
    case PHOTOMETRIC_YCBCR:
    case PHOTOMETRIC_CIELAB:
        return 3;
    case PHOTOMETRIC_SEPARATED:
        return 4;
    default:
        return samples;
    }
}

/* Whether the last channel is alpha that colours are multiplied by. */
static bool is_associated(TIFF *tiff)
{
    uint16_t count = 0, *kinds = NULL;
    const unsigned samples = field(tiff, TIFFTAG_SAMPLESPERPIXEL);
    return samples > colour_samples(field(tiff, TIFFTAG_PHOTOMETRIC), samples) &&
           TIFFGetField(tiff, TIFFTAG_EXTRASAMPLES, &count, &kinds) && count > 0 &&
           kinds[count - 1] == EXTRASAMPLE_ASSOCALPHA;
}

static void count_extra(TIFF *tiff, struct tiff_facts *facts)
{
    uint16_t count = 0, *kinds = NULL;
    const unsigned photometric = field(tiff, TIFFTAG_PHOTOMETRIC);
    const unsigned colour = colour_samples(photometric, facts->samples);
    facts->direct = photometric == PHOTOMETRIC_MINISBLACK || photometric == PHOTOMETRIC_RGB;
    const bool apart = facts->samples > 1 && field(tiff, TIFFTAG_PLANARCONFIG) == PLANARCONFIG_SEPARATE;
    facts->planes = photometric == PHOTOMETRIC_MINISBLACK && apart;
    facts->tiled_planes = apart && TIFFIsTiled(tiff);
    facts->extra = facts->samples > colour ? facts->samples - colour : 0;
    facts->associated = is_associated(tiff);
    if (!TIFFGetField(tiff, TIFFTAG_EXTRASAMPLES, &count, &kinds))
        return;
    for (unsigned i = 0; i < count && i < facts->extra; i++)
        facts->alpha += kinds[i] != EXTRASAMPLE_UNSPECIFIED;
}

static const char *name_of_kind(unsigned format)
{
    switch (format) {
    case SAMPLEFORMAT_UINT:
        return "unsigned";
    case SAMPLEFORMAT_INT:
        return "signed";
    case SAMPLEFORMAT_IEEEFP:
        return "float";
    case SAMPLEFORMAT_COMPLEXINT:
    case SAMPLEFORMAT_COMPLEXIEEEFP:
        return "complex";
    default:
        return "undefined";
    }
}

/* Where the directory of a page is; 0: there is none such. */
static uint64_t place_of_page(int fd, unsigned page)
{
    struct tiff_file file = {.fd = fd};
    uint64_t at = 0;
    return tiff_file_begin(&file, &at) && tiff_file_page(&file, page, &at) ? at : 0;
}

/* libtiff would read all directories before this one. */
static bool go_to_directory(TIFF *tiff, int fd, unsigned page)
{
    const uint64_t at = page ? place_of_page(fd, page) : 0;
    return at ? TIFFSetSubDirectory(tiff, at) : !page && TIFFSetDirectory(tiff, 0);
}

/* Luma and chroma of every pixel, which libvips takes for red, green and blue. JPEG has decoders of its own,
 * and libtiff converts chroma of several pixels. */
static bool is_whole_chroma(TIFF *tiff)
{
    const uint16_t compression = field(tiff, TIFFTAG_COMPRESSION);
    uint16_t across = 2, down = 2;
    return field(tiff, TIFFTAG_PHOTOMETRIC) == PHOTOMETRIC_YCBCR && compression != COMPRESSION_JPEG &&
           compression != COMPRESSION_OJPEG &&
           TIFFGetFieldDefaulted(tiff, TIFFTAG_YCBCRSUBSAMPLING, &across, &down) && across == 1 && down == 1;
}

/* Palettes have 16 bits, which mostly are levels of 8 bits times 256 or 257. libvips takes the upper ones. */
static bool has_fine_palette(TIFF *tiff, unsigned bits)
{
    uint16_t *colours[3];
    bool is = false, any_wide = false;
    if (field(tiff, TIFFTAG_PHOTOMETRIC) != PHOTOMETRIC_PALETTE || bits > 8 ||
        !TIFFGetField(tiff, TIFFTAG_COLORMAP, &colours[0], &colours[1], &colours[2]))
        return false;
    for (unsigned i = 0; i < 3u << bits; i++) {
        const unsigned value = colours[i >> bits][i & ((1u << bits) - 1)], low = value & 0xff;
        any_wide = any_wide || value > 0xff;
        is = is || (low != 0 && low != value >> 8);
    }
    return is && any_wide; /* else they are levels of 8 bits as they are */
}

static bool copy_palette(TIFF *tiff, uint16_t (*palette)[COLOURS])
{
    uint16_t *colours[COLOURS];
    if (!TIFFGetField(tiff, TIFFTAG_COLORMAP, &colours[0], &colours[1], &colours[2]))
        return false;
    for (unsigned i = 0; i < PALETTE; i++)
        for (unsigned c = 0; c < COLOURS; c++)
            palette[i][c] = colours[c][i];
    return true;
}

bool tiff_look(int fd, unsigned page, struct tiff_facts *facts)
{
    *facts = (struct tiff_facts){0};
    TIFF *tiff = open_tiff(fd);
    if (tiff && page > 0)
        facts->page = go_to_directory(tiff, fd, page) || !TIFFSetDirectory(tiff, 0) ? page : 0;
    vips_error_clear(); /* libvips takes libtiff's messages */
    if (!tiff)
        return false;
    facts->samples = field(tiff, TIFFTAG_SAMPLESPERPIXEL);
    facts->bits = field(tiff, TIFFTAG_BITSPERSAMPLE);
    facts->kind = name_of_kind(field(tiff, TIFFTAG_SAMPLEFORMAT));
    facts->plain = field(tiff, TIFFTAG_COMPRESSION) == COMPRESSION_NONE &&
                   field(tiff, TIFFTAG_PHOTOMETRIC) != PHOTOMETRIC_YCBCR; /* whose colours may be coarser */
    if (TIFFIsTiled(tiff) && (!TIFFGetField(tiff, TIFFTAG_TILEWIDTH, &facts->tile_width) ||
                              !TIFFGetField(tiff, TIFFTAG_TILELENGTH, &facts->tile_height)))
        facts->tile_width = facts->tile_height = 0;
    count_extra(tiff, facts);
    const uint16_t photometric = field(tiff, TIFFTAG_PHOTOMETRIC);
    facts->negative = photometric == PHOTOMETRIC_MINISWHITE && strcmp(facts->kind, "unsigned") != 0;
    facts->chroma = is_whole_chroma(tiff);
    facts->fine_palette = has_fine_palette(tiff, facts->bits);
    facts->log = photometric == PHOTOMETRIC_LOGL || photometric == PHOTOMETRIC_LOGLUV;
    facts->split = facts->samples > MOST_CHANNELS && facts->alpha == 0 && facts->direct;
    TIFFClose(tiff);
    vips_error_clear();
    return true;
}

bool tiff_has_many(int fd)
{
    const unsigned many = 64;
    return place_of_page(fd, many) != 0;
}

/* ---- Pixels ---- */

/* What libvips calls such samples; halves come as FLOAT. */
static VipsBandFormat band_format(const struct tiff_facts *facts)
{
    static const VipsBandFormat integers[2][3] = {{VIPS_FORMAT_UCHAR, VIPS_FORMAT_USHORT, VIPS_FORMAT_UINT},
                                                  {VIPS_FORMAT_CHAR, VIPS_FORMAT_SHORT, VIPS_FORMAT_INT}};
    const bool is_signed = strcmp(facts->kind, "signed") == 0;
    if (strcmp(facts->kind, "float") == 0)
        return facts->bits == 64                        ? VIPS_FORMAT_DOUBLE
               : facts->bits == 32 || facts->bits == 16 ? VIPS_FORMAT_FLOAT
                                                        : VIPS_FORMAT_NOTSET;
    if ((!is_signed && strcmp(facts->kind, "unsigned") != 0) ||
        (facts->bits != 8 && facts->bits != 16 && facts->bits != 32))
        return VIPS_FORMAT_NOTSET;
    return integers[is_signed][facts->bits / 16];
}

struct rows {
    TIFF *tiff;
    TIFF *planes[MOST_CHANNELS]; /* that are read row by row side by side; NULL: by `tiff` */
    uint32_t width, height;      /* of a page */
    unsigned first, page;        /* directory of the first page, and of the one that the handle is at */
    unsigned samples, bytes;     /* bytes of a sample */
    VipsBandFormat format;
    uint16_t kind, photometric;   /* of the samples, as the file has it */
    bool apart;                   /* each channel by itself, not interleaved */
    bool associated;              /* divide by alpha */
    bool split;                   /* deliver one channel after the other, of each page */
    unsigned channel;             /* the one to deliver, where split */
    bool tolerant;                /* what cannot be read is 0; a message stays in libvips' buffer */
    uint32_t lost[MOST_CHANNELS]; /* of each plane a strip that could not be read to its end, or NO_STRIP */
    uint32_t tile_width, tile_height; /* 0: no tiles */
    /* One row of the file, or one row of tiles, as they are stored: channel by channel where apart. */
    unsigned char *band;
    unsigned char *tile;
    int64_t held;                 /* the row of tiles that the band holds, or -1 */
    uint16_t (*palette)[COLOURS]; /* NULL: samples are no indices */
};

static size_t band_row_bytes(const struct rows *r)
{
    return (size_t)r->width * r->bytes * (r->apart ? 1 : r->samples);
}

static unsigned planes(const struct rows *r)
{
    return r->apart ? r->samples : 1;
}

/* What has to be read: all planes, or that of the channel. */
static unsigned first_plane(const struct rows *r)
{
    return r->apart && r->split ? r->channel : 0;
}

static unsigned end_of_planes(const struct rows *r)
{
    return r->apart && r->split ? r->channel + 1 : planes(r);
}

static unsigned parts(const struct rows *r)
{
    return r->split ? r->samples : 1;
}

static void place_tile(struct rows *r, unsigned plane, uint32_t left)
{
    const size_t pixel = (size_t)r->bytes * (r->apart ? 1 : r->samples), row = band_row_bytes(r);
    const uint32_t width = VIPS_MIN(r->tile_width, r->width - left);
    for (uint32_t y = 0; y < r->tile_height; y++)
        memcpy(r->band + (plane * (size_t)r->tile_height + y) * row + left * pixel,
               r->tile + (size_t)y * r->tile_width * pixel, width * pixel);
}

static bool read_tiles(struct rows *r, uint32_t y)
{
    if (r->held == y / r->tile_height)
        return true;
    r->held = -1;
    for (unsigned plane = first_plane(r); plane < end_of_planes(r); plane++)
        for (uint32_t left = 0; left < r->width; left += r->tile_width) {
            if (TIFFReadTile(r->tiff, r->tile, left, y / r->tile_height * r->tile_height, 0,
                             (uint16_t)plane) < 0) {
                if (!r->tolerant)
                    return false;
                memset(r->tile, 0, (size_t)TIFFTileSize(r->tiff));
            }
            place_tile(r, plane, left);
        }
    r->held = y / r->tile_height;
    return true;
}

static void forget_damage(struct rows *r)
{
    for (unsigned i = 0; i < MOST_CHANNELS; i++)
        r->lost[i] = NO_STRIP;
}

/* Which has just read the row before. */
static TIFF *handle_of(const struct rows *r, unsigned plane)
{
    return !r->split && r->planes[plane] ? r->planes[plane] : r->tiff;
}

/* Behind damage, decoders may take what is left of a strip for other numbers. */
static bool read_line(struct rows *r, uint32_t y, unsigned plane)
{
    unsigned char *to = r->band + plane * band_row_bytes(r);
    const uint32_t strip = TIFFComputeStrip(r->tiff, y, (uint16_t)plane);
    uint32_t *lost = &r->lost[r->split ? 0 : plane];
    if (strip != *lost && TIFFReadScanline(handle_of(r, plane), to, y, (uint16_t)plane) >= 0)
        return true;
    *lost = strip;
    memset(to, 0, band_row_bytes(r));
    return r->tolerant;
}

static bool read_lines(struct rows *r, uint32_t y)
{
    bool read = true;
    for (unsigned plane = first_plane(r); plane < end_of_planes(r) && read; plane++)
        read = read_line(r, y, plane);
    return read;
}

/* The same bits with a wider exponent, whose bias is 112 more; the multiplication makes normal numbers of
 * small ones. */
static float half_value(uint16_t bits)
{
    const uint32_t wide = (uint32_t)(bits & 0x7fff) << 13;
    float size;
    memcpy(&size, &wide, sizeof size);
    size = (bits & 0x7c00) == 0x7c00 ? (bits & 0x3ff ? NAN : INFINITY) : size * 0x1p112f;
    return bits & 0x8000 ? -size : size;
}

/* Where the file's bytes of a sample of row y lie in the band. */
static const unsigned char *sample_at(const struct rows *r, uint32_t y, size_t x, unsigned channel)
{
    const size_t row = band_row_bytes(r), lines = r->tile_height ? r->tile_height : 1, line = y % lines;
    return r->band + (r->apart ? (channel * lines + line) * row + x * r->bytes
                               : line * row + (x * r->samples + channel) * r->bytes);
}

/* Row y to interleaved numbers, or to those of the channel: f32 of halves, others as they are. */
static void interleave(const struct rows *r, uint32_t y, void *to)
{
    const unsigned first = r->split ? r->channel : 0, count = r->split ? 1 : r->samples;
    for (size_t x = 0; x < r->width; x++)
        for (unsigned i = 0; i < count; i++) {
            const unsigned char *from = sample_at(r, y, x, first + i);
            if (r->format == VIPS_FORMAT_FLOAT && r->bytes == 2) {
                uint16_t half;
                memcpy(&half, from, sizeof half);
                ((float *)to)[x * count + i] = half_value(half);
            } else {
                memcpy((char *)to + (x * count + i) * r->bytes, from, r->bytes);
            }
        }
}

static bool has_same_palette(const struct rows *r)
{
    uint16_t palette[PALETTE][COLOURS];
    return !r->palette ||
           (copy_palette(r->tiff, palette) && memcmp(palette, r->palette, sizeof palette) == 0);
}

static bool is_like_first(const struct rows *r)
{
    uint32_t width = 0, height = 0, tile_width = 0, tile_height = 0;
    TIFF *tiff = r->tiff;
    if (TIFFIsTiled(tiff) && (!TIFFGetField(tiff, TIFFTAG_TILEWIDTH, &tile_width) ||
                              !TIFFGetField(tiff, TIFFTAG_TILELENGTH, &tile_height)))
        return false;
    return TIFFGetField(tiff, TIFFTAG_IMAGEWIDTH, &width) &&
           TIFFGetField(tiff, TIFFTAG_IMAGELENGTH, &height) && width == r->width && height == r->height &&
           tile_width == r->tile_width && tile_height == r->tile_height &&
           field(tiff, TIFFTAG_SAMPLESPERPIXEL) == r->samples &&
           field(tiff, TIFFTAG_BITSPERSAMPLE) == 8 * r->bytes &&
           field(tiff, TIFFTAG_SAMPLEFORMAT) == r->kind &&
           field(tiff, TIFFTAG_PHOTOMETRIC) == r->photometric && r->associated == is_associated(tiff) &&
           r->apart == (field(tiff, TIFFTAG_PLANARCONFIG) == PLANARCONFIG_SEPARATE) && has_same_palette(r);
}

static bool go_to_page(struct rows *r, unsigned page)
{
    if (page == r->page)
        return true;
    bool found = page == r->page + 1 ? TIFFReadDirectory(r->tiff) : TIFFSetDirectory(r->tiff, (tdir_t)page);
    for (unsigned i = 0; i < MOST_CHANNELS && found; i++)
        found = !r->planes[i] || TIFFSetDirectory(r->planes[i], (tdir_t)page);
    r->held = -1;
    forget_damage(r);
    r->page = page;
    if (!found)
        return false;
    return is_like_first(r) || (vips_error("TIFF", "page %u is of another size or kind", page + 1), false);
}

/* Before any pixel is read; leaves the handle at the first page. */
static bool all_are_alike(struct rows *r, unsigned count)
{
    for (unsigned i = 1; i < count; i++)
        if (!go_to_page(r, r->first + i))
            return false;
    return go_to_page(r, r->first);
}

static void go_to_channel(struct rows *r, unsigned channel)
{
    if (r->apart && r->channel != channel)
        r->held = -1;
    if (r->channel != channel)
        forget_damage(r);
    r->channel = channel;
}

static int generate(VipsRegion *region, void *sequence, void *state, void *unused, gboolean *stop)
{
    struct rows *r = state;
    (void)sequence, (void)unused, (void)stop;
    const VipsRect *area = &region->valid;
    for (int at = area->top; at < VIPS_RECT_BOTTOM(area); at++) {
        const uint32_t y = (uint32_t)at % r->height;
        const unsigned part = (unsigned)at / r->height;
        go_to_channel(r, part % parts(r));
        if (!go_to_page(r, r->first + part / parts(r)) ||
            !(r->tile_height ? read_tiles(r, y) : read_lines(r, y)))
            return -1;
        interleave(r, y, VIPS_REGION_ADDR(region, area->left, at));
        if (r->associated)
            vips_divide_by_alpha(r->format, VIPS_REGION_ADDR(region, area->left, at), r->width, r->samples);
    }
    return 0;
}

static void end_rows(VipsImage *image, struct rows *r)
{
    (void)image;
    if (r->tiff)
        TIFFClose(r->tiff);
    for (unsigned i = 0; i < MOST_CHANNELS; i++)
        if (r->planes[i])
            TIFFClose(r->planes[i]);
    free(r->band);
    free(r->tile);
    free(r->palette);
    free(r);
}

static bool begin_tiles(struct rows *r)
{
    const tmsize_t bytes = TIFFTileSize(r->tiff);
    if (!TIFFGetField(r->tiff, TIFFTAG_TILEWIDTH, &r->tile_width) ||
        !TIFFGetField(r->tiff, TIFFTAG_TILELENGTH, &r->tile_height) || r->tile_width < 1 ||
        r->tile_height < 1)
        return false;
    const uint64_t wanted = (uint64_t)r->tile_width * r->tile_height * r->bytes * (r->apart ? 1 : r->samples);
    if (bytes <= 0 || (uint64_t)bytes != wanted || wanted > MAX_BAND_BYTES)
        return false;
    return (r->tile = mem_new((size_t)bytes, 1)) != NULL;
}

/* A decoder goes through a strip from its start: one that takes rows of other planes in between would begin
 * each time. */
static bool begin_planes(struct rows *r, int fd)
{
    bool open = true;
    if (r->split || r->tile_height)
        return true;
    for (unsigned i = 1; i < planes(r) && open; i++) {
        r->planes[i] = open_tiff(fd);
        open = r->planes[i] && TIFFSetDirectory(r->planes[i], (tdir_t)r->first);
    }
    return open;
}

static bool begin_palette(struct rows *r)
{
    r->palette = mem_new(PALETTE, sizeof *r->palette);
    return r->palette && copy_palette(r->tiff, r->palette);
}

static bool begin_rows(struct rows *r, int fd, const struct tiff_facts *facts)
{
    r->held = -1;
    forget_damage(r);
    r->tolerant = facts->tolerant && !facts->fine_palette; /* index 0 may be any colour */
    r->samples = facts->samples;
    r->bytes = facts->bits / 8;
    r->format = band_format(facts);
    r->associated = facts->associated;
    r->split = facts->split;
    r->page = r->first;
    if (!(r->tiff = open_tiff(fd)) || !go_to_directory(r->tiff, fd, r->first) ||
        !TIFFGetField(r->tiff, TIFFTAG_IMAGEWIDTH, &r->width) ||
        !TIFFGetField(r->tiff, TIFFTAG_IMAGELENGTH, &r->height))
        return false;
    r->apart = field(r->tiff, TIFFTAG_PLANARCONFIG) == PLANARCONFIG_SEPARATE;
    r->kind = field(r->tiff, TIFFTAG_SAMPLEFORMAT);
    r->photometric = field(r->tiff, TIFFTAG_PHOTOMETRIC);
    if (r->width < 1 || r->width > HONE_MAX_SIDE || r->height < 1 || r->height > HONE_MAX_SIDE)
        return vips_error("TIFF", "%ux%u pixels; each side may have 1 to %d", r->width, r->height,
                          HONE_MAX_SIDE),
               false;
    if (TIFFIsTiled(r->tiff) ? !begin_tiles(r) : TIFFScanlineSize(r->tiff) != (tmsize_t)band_row_bytes(r))
        return vips_error("TIFF", "rows or tiles of an impossible size"), false;
    const uint64_t bytes = (uint64_t)band_row_bytes(r) * planes(r) * (r->tile_height ? r->tile_height : 1);
    if (bytes > MAX_BAND_BYTES)
        return vips_error("TIFF", "tiles of more than %d bytes", MAX_BAND_BYTES), false;
    if (!begin_planes(r, fd) || (facts->fine_palette && !begin_palette(r)))
        return false;
    return (r->band = mem_new((size_t)bytes, 1)) != NULL;
}

static void add_blob(VipsImage *image, TIFF *tiff, uint32_t tag, const char *name, unsigned size)
{
    void *blob = NULL;
    uint32_t count = 0;
    if (TIFFGetField(tiff, tag, &count, &blob) && count)
        vips_image_set_blob_copy(image, name, blob, (size_t)count * size);
}

/* Those that can be read one after the other, as libvips counts them. */
static unsigned count_pages(TIFF *tiff)
{
    unsigned count = TIFFSetDirectory(tiff, 0) != 0;
    while (count && TIFFReadDirectory(tiff))
        count++;
    vips_error_clear(); /* of the directory that ends this */
    return count;
}

/* What the loader of libvips tells, too. */
static void add_metadata(VipsImage *image, TIFF *tiff, unsigned first, unsigned pages)
{
    const char *text = NULL;
    uint16_t orientation = 1;
    TIFFSetDirectory(tiff, (tdir_t)first);
    vips_image_set_int(image, VIPS_META_N_PAGES, (int)pages);
    if (TIFFGetField(tiff, TIFFTAG_IMAGEDESCRIPTION, &text) && text)
        vips_image_set_string(image, VIPS_META_IMAGEDESCRIPTION, text);
    add_blob(image, tiff, TIFFTAG_ICCPROFILE, VIPS_META_ICC_NAME, 1);
    add_blob(image, tiff, TIFFTAG_XMLPACKET, VIPS_META_XMP_NAME, 1);
    add_blob(image, tiff, TIFFTAG_RICHTIFFIPTC, VIPS_META_IPTC_NAME, 4);
    add_blob(image, tiff, TIFFTAG_PHOTOSHOP, VIPS_META_PHOTOSHOP_NAME, 1);
    if (TIFFGetField(tiff, TIFFTAG_ORIENTATION, &orientation))
        vips_image_set_int(image, VIPS_META_ORIENTATION, orientation);
}

/* Pixels per millimetre. */
static double resolution(TIFF *tiff, uint32_t tag)
{
    float value = 0;
    if (!TIFFGetField(tiff, tag, &value) || !isfinite(value) || value <= 0)
        return 1;
    return field(tiff, TIFFTAG_RESOLUTIONUNIT) == RESUNIT_INCH ? value / 25.4 : value / 10;
}

bool tiff_reads(const struct tiff_facts *facts)
{
    const VipsBandFormat format = band_format(facts);
    const bool half = format == VIPS_FORMAT_FLOAT && facts->bits == 16;
    const bool apart_from_libvips =
        facts->planes || half || format == VIPS_FORMAT_DOUBLE ||
        (facts->fine_palette && facts->bits == 8 && facts->samples == 1) ||
        (facts->direct && (facts->associated || facts->tiled_planes || facts->tolerant || facts->many));
    return format != VIPS_FORMAT_NOTSET &&
           (facts->split || (apart_from_libvips && facts->samples >= 1 && facts->samples <= MOST_CHANNELS));
}

/* libvips divides levels of up to 16 bits. */
bool tiff_stays_multiplied(const struct tiff_facts *facts)
{
    if (!facts->associated)
        return false;
    return tiff_reads(facts) ? !vips_divide_by_alpha(band_format(facts), NULL, 0, facts->samples)
                             : facts->bits > 16 || strcmp(facts->kind, "unsigned") != 0;
}

static bool is_gray(uint16_t (*palette)[COLOURS])
{
    bool is = true;
    for (unsigned i = 0; i < PALETTE && is; i++)
        is = palette[i][0] == palette[i][1] && palette[i][0] == palette[i][2];
    return is;
}

/* The colours of an image of indices, which is given away. A palette of grays gives one channel, as libvips
 * has it. */
static VipsImage *coloured(VipsImage *indices, uint16_t (*palette)[COLOURS])
{
    uint16_t grays[PALETTE];
    const bool gray = is_gray(palette);
    for (unsigned i = 0; i < PALETTE; i++)
        grays[i] = palette[i][0];
    VipsImage *made = NULL;
    VipsImage *table =
        gray ? vips_image_new_from_memory_copy(grays, sizeof grays, PALETTE, 1, 1, VIPS_FORMAT_USHORT)
             : vips_image_new_from_memory_copy(palette, PALETTE * sizeof *palette, PALETTE, 1, COLOURS,
                                               VIPS_FORMAT_USHORT);
    if (table && vips_maplut(indices, &made, table, NULL) != 0)
        made = NULL;
    g_clear_object(&table);
    g_object_unref(indices);
    return made;
}

VipsImage *tiff_open_image(int fd, const struct tiff_facts *facts, unsigned first, unsigned count)
{
    struct rows *r = mem_new(1, sizeof *r);
    VipsImage *image = r ? vips_image_new() : NULL;
    if (!image) {
        free(r);
        return NULL;
    }
    g_signal_connect(image, "close", G_CALLBACK(end_rows), r);
    r->first = first;
    if (!begin_rows(r, fd, facts)) {
        g_object_unref(image);
        return NULL;
    }
    const uint64_t height = (uint64_t)r->height * count * parts(r);
    const int most = VIPS_MAX_COORD;
    if (height > (uint64_t)most) {
        g_object_unref(image);
        return vips_error("TIFF", "pages of more than %d rows together", most), NULL;
    }
    vips_image_init_fields(image, (int)r->width, (int)height, r->split ? 1 : (int)r->samples, r->format,
                           VIPS_CODING_NONE, VIPS_INTERPRETATION_MULTIBAND,
                           resolution(r->tiff, TIFFTAG_XRESOLUTION),
                           resolution(r->tiff, TIFFTAG_YRESOLUTION));
    add_metadata(image, r->tiff, first, facts->counted ? first + count : count_pages(r->tiff));
    if (!all_are_alike(r, count)) {
        g_object_unref(image);
        return NULL;
    }
    if (count * parts(r) > 1)
        vips_image_set_int(image, VIPS_META_PAGE_HEIGHT, (int)r->height);
    if (vips_image_pipelinev(image, VIPS_DEMAND_STYLE_THINSTRIP, NULL) != 0 ||
        vips_image_generate(image, NULL, generate, NULL, r, NULL) != 0)
        g_clear_object(&image);
    return image && r->palette ? coloured(image, r->palette) : image;
}

static bool mark_channels(TIFF *tiff, unsigned colour, unsigned extra, const uint16_t *kinds)
{
    const tdir_t pages = TIFFNumberOfDirectories(tiff);
    bool ok = true;
    for (tdir_t page = 0; page < pages && ok; page++)
        ok =
            TIFFSetDirectory(tiff, (tdir_t)page) &&
            TIFFSetField(tiff, TIFFTAG_PHOTOMETRIC, colour == 3 ? PHOTOMETRIC_RGB : PHOTOMETRIC_MINISBLACK) &&
            TIFFSetField(tiff, TIFFTAG_EXTRASAMPLES, extra, kinds) && TIFFRewriteDirectory(tiff);
    return ok;
}

bool tiff_mark_channels(int fd, unsigned colour, unsigned extra)
{
    uint16_t *kinds = mem_new(extra, sizeof *kinds); /* zeroed: EXTRASAMPLE_UNSPECIFIED */
    const int own = kinds && lseek(fd, 0, SEEK_SET) == 0 ? dup(fd) : -1;
    TIFF *tiff = own >= 0 ? TIFFFdOpen(own, "TIFF", "r+m") : NULL;
    if (!tiff && own >= 0)
        close(own);
    const bool ok = tiff && mark_channels(tiff, colour, extra, kinds);
    if (tiff)
        TIFFClose(tiff);
    free(kinds);
    return ok;
}
#else
bool tiff_has_many(int fd)
{
    (void)fd;
    return false;
}

bool tiff_look(int fd, unsigned page, struct tiff_facts *facts)
{
    (void)fd, (void)page;
    *facts = (struct tiff_facts){0};
    return false;
}

bool tiff_reads(const struct tiff_facts *facts)
{
    (void)facts;
    return false;
}

bool tiff_stays_multiplied(const struct tiff_facts *facts)
{
    (void)facts;
    return false;
}

VipsImage *tiff_open_image(int fd, const struct tiff_facts *facts, unsigned first, unsigned count)
{
    (void)fd, (void)facts, (void)first, (void)count;
    return NULL;
}

bool tiff_mark_channels(int fd, unsigned colour, unsigned extra)
{
    (void)fd, (void)colour, (void)extra;
    return false;
}
#endif
