/* SPDX-License-Identifier: BSD-2-Clause */
/* Inside src/media: what the files that speak to libvips share. */
#pragma once

#include "base/text.h"
#include "media/reader.h"

#include "media/vips/calls.h"

/* Loads libvips alone. */
hone_status vips_load(hone_error *error);

/* Loads and starts libvips, once per process. */
hone_status vips_begin(hone_error *error);

/* From now on libvips holds tens of rows of an image that comes row by row, not hundreds: only the options of
 * its own commands say how many. */
void vips_hold_few_rows(void);

/* What libvips said about a failure, as one line without its last newline; empties libvips' buffer. */
void vips_said(char *text, size_t size);

/* What a result gets of a file beside its pixels. */
struct vips_kept {
    VipsImage *metadata; /* an empty image that carries the metadata alone */
    int loop, *delays;   /* of an animation: repetitions, or -1; milliseconds of each page, or NULL */
    unsigned delay_count;
    unsigned bits;    /* of samples that fill 16, where the file has fewer: 8 to 15; else 0 */
    struct text lost; /* numbers of the tags of a TIFF that are not carried */
};

struct vips_kept *vips_kept_new(void);
void vips_kept_free(struct vips_kept *kept); /* NULL is fine */
/* For another process of this program. What comes from there is not trusted: false for what vips_kept_pack
 * would not have written for so many pages. `kept` is a new one. */
void vips_kept_pack(const struct vips_kept *kept, struct text *bytes);
bool vips_kept_unpack(struct vips_kept *kept, const void *bytes, size_t size, unsigned pages);

/* The format of this name, in memory that stays; "an image" for an unknown one. */
const char *vips_format_called(const char *name);

/* Gives `to` the metadata of `from`, less what describes the file (its loader, pages, palette) and not the
 * picture. */
void vips_carry_metadata(VipsImage *from, VipsImage *to);

/* Says which tags of a TIFF the metadata lack. */
void vips_tell_lost(const struct media_input *input);

/* Tells how the pages that an input delivers follow each other: delays, repetitions. */
void vips_carry_animation(const struct media_input *from, VipsImage *to);

/* The metadata of an input that libvips opened; NULL for another reader's. Not owned. */
VipsImage *vips_metadata_of(const struct media_input *input);

/* Of a PNG that was just written: libpng 1.6.39 writes EXIF before the pixels and once more behind them, and
 * one is allowed. 0 or an errno. */
int vips_drop_second_exif(int fd);
/* Whether a PNG says how many pixels there are to the metre. */
bool vips_png_has_density(int fd);
/* Of a PNG that was just written: pixels per millimetre across and down, or only how these relate. libvips
 * 8.16 writes those across twice. 0 or an errno. */
int vips_write_png_density(int fd, const double resolution[2], bool has_unit);

/* Colours by numbers of ITU-T H.273. */
struct vips_cicp {
    unsigned primaries, transfer; /* at most 255 */
};

/* Whether an input says in this way alone that its colours are not the usual ones. */
bool vips_cicp_of(const struct media_input *input, struct vips_cicp *cicp);
/* What a PNG says. */
bool vips_png_cicp(int fd, struct vips_cicp *cicp);
/* Whether gamma or primaries of a PNG, which other formats do not hold, are not those of sRGB. */
bool vips_png_looks_other(int fd, bool gray);
/* Where a PNG is being written, behind its header. 0 or an errno. */
int vips_write_png_cicp(int fd, const struct vips_cicp *cicp);
/* Of an AVIF that was just written, where that is possible. 0 or an errno. */
int vips_set_nclx(int fd, const struct vips_cicp *cicp, bool *is_held);

/* As AVIF or HEIC, after the output's suffix: 16 bits become 12, or in HEIC 10 where the input has no
 * more. */
bool vips_save_heif(const struct media_output *output, VipsImage *image, VipsTarget *target, int quality,
                    bool lossless);
/* Whether that can be done, by encoding a few pixels: that libvips knows the format does not mean that the
 * encoder is there. */
bool vips_try_heif(bool avif);
/* Whether so many channels of 8 bits come back from it as they were, by encoding and decoding a few pixels:
 * libvips 8.14 turns colours into luma and chroma, and rounds these, also where no loss is asked for. */
bool vips_try_heif_lossless(bool avif, unsigned channels);

/* Whether all pixels of a WebP are stored as they are. */
bool vips_webp_is_lossless(int fd);
/* Gives the frames of a WebP that was just written their milliseconds, if there are as many. 0 or an
 * errno. */
int vips_write_webp_times(int fd, const int *times, unsigned count);

/* The first bytes of a PNG, up to where texts may be. */
enum { PNG_HEADER = 33 };
struct vips_png_chunks {
    int from;            /* a PNG; -1: there is none */
    bool texts, colours; /* which of its chunks are meant; colours: gamma, primaries */
};
/* Chunks of a PNG as they are, to where another one is being written: libvips writes UTF-8 as if it were
 * Latin-1, and knows nothing of colours but profiles. 0 or an errno. */
int vips_copy_png_chunks(const struct vips_png_chunks *wanted, int to);

/* ---- TIFF, beyond what libvips tells and reads; without libtiff nothing is known ---- */

/* Of a page. */
struct tiff_facts {
    unsigned page;          /* 0 is the first */
    unsigned samples, bits; /* channels; bits of each */
    const char *kind;       /* of the samples: "float", "signed", "unsigned", "complex", "undefined" */
    unsigned extra, alpha;  /* channels that are no colour; how many of them are declared to be alpha */
    bool direct;            /* gray or RGB, where 0 is black */
    bool associated;        /* colours are multiplied by alpha */
    bool planes;            /* of gray and extra channels, each stored by itself */
    bool tiled_planes;      /* each channel stored by itself, in tiles, which libvips does not read */
    bool log;               /* LogL or LogLuv */
    bool negative;          /* its smallest numbers are white, and stay: they have a sign, or are fractions */
    bool fine_palette;      /* the colours of its palette differ in more than 8 bits */
    bool chroma;            /* YCbCr that is neither JPEG nor coarser than luma */
    bool split;    /* more than four channels of gray or RGB, none of them alpha: each comes by itself */
    bool plain;    /* not compressed: every sample takes its bits */
    bool many;     /* told by the caller: tiff_has_many */
    bool counted;  /* by the caller: how many pages there are need not be told */
    bool tolerant; /* asked for by the caller: what cannot be read of gray and RGB is 0 */
    uint32_t tile_width, tile_height; /* 0: no tiles */
};

/* Of page `page`, or the first where there is none such. False: the file is no TIFF, or not one that can be
 * looked at. */
bool tiff_look(int fd, unsigned page, struct tiff_facts *facts);
/* Whether there are so many pages that libvips is slow: it looks for each of a stack from the first one
 * on. */
bool tiff_has_many(int fd);
/* Whether tiff_open_image is to read such a file: floating point of 16 bits, which comes as f32, and of 64;
 * and planes, which libvips 8.14 mixes up; and what is to be split; and colours that are multiplied by alpha,
 * which libvips takes for levels of 8 or 16 bits and rounds down; and planes in tiles; and where damage is
 * accepted, at which libvips ends; and gray or RGB of many pages; and indices of a byte into colours of 16
 * bits, of which libvips takes 8. */
bool tiff_reads(const struct tiff_facts *facts);
/* Whether neither libvips nor tiff_open_image divides colours by the alpha that they are multiplied
 * by. */
bool tiff_stays_multiplied(const struct tiff_facts *facts);
/* Pages one below the other, from page `first` (0 is the file's first) on, all like it; with facts->split the
 * channels of a page one below the other. Colours are not multiplied by alpha. NULL with a message in
 * libvips' buffer. */
VipsImage *tiff_open_image(int fd, const struct tiff_facts *facts, unsigned first, unsigned count);
/* Declares the channels of each page of a TIFF that libvips wrote: `colour` of gray (1) or colour (3), and
 * `extra` that are no alpha. */
bool tiff_mark_channels(int fd, unsigned colour, unsigned extra);

/* Divides the colours of `count` pixels by their alpha, the last of `samples` channels, in place: integers
 * are rounded half up and at most the full range, floats a quotient. Of alpha 0 colours are 0. False, and
 * nothing changed, for signed integers, whose full range is not known. */
bool vips_divide_by_alpha(VipsBandFormat format, void *pixels, size_t count, unsigned samples);

/* ---- Limits ---- */

/* Whether libvips counts the loader of this class among those that bear files from strangers. */
bool vips_is_hardened(const char *loader);

/* What the size of the file and its header tell of decoding it, before that begins: HONE_ERROR_IO for a file
 * too small for its pixels (unless damage is accepted), and where the decoder would hold more than it may.
 * `image` is as the loader gave it. */
hone_status vips_check_cost(const struct media_input *input, VipsImage *image, const struct tiff_facts *tiff,
                            hone_error *error);
