/* SPDX-License-Identifier: BSD-2-Clause */
/* Inside src/media: what the readers and writers of formats share. */
#pragma once

#include "media/media.h"

#include <stdint.h>
#include <sys/types.h>

enum { MEDIA_HEAD = 16 };

struct media_reader {
    /* Whether the first bytes of a file (count of them, at most MEDIA_HEAD) are of this reader's formats. */
    bool (*claims)(const uint8_t *head, size_t count);
    /* Reads the header: fills info (whose desc is not yet turned upright), orientation and state. */
    hone_status (*open)(struct media_input *input, hone_error *error);
    /* Calls media_put_row for `count` rows of the file from `first` on, which is where the last call ended,
     * or 0; page by page. */
    hone_status (*load)(struct media_input *input, uint32_t first, uint32_t count, hone_error *error);
    void (*close)(struct media_input *input); /* state may be NULL */
};

/* Where rows of a file go in the image: EXIF's orientation 1 to 8 turns and mirrors them. */
struct placement {
    unsigned char *pixels;
    size_t pitch, pixel_bytes;
    uint32_t width, height; /* of the file, before turning */
    unsigned orientation;
    uint32_t first; /* row of the image that is the first of `pixels` */
};

struct media_input {
    const struct media_reader *reader;
    char *path;   /* its name, for messages */
    bool no_path; /* the name is no file's */
    int fd;
    off_t bytes; /* size of the file */
    struct media_read_options options;
    struct media_info info;
    unsigned orientation; /* 1..8 as in EXIF */
    struct placement place;
    bool opened;
    unsigned loaded;       /* pages that have come */
    uint32_t rows;         /* that have come of the next one */
    uint64_t spent, since; /* CPU time, ns: of calls that are over; when this one began */
    bool settled;
    struct vips_kept *kept; /* what a result gets of the file; NULL without libvips */
    void *state;
};

extern const struct media_reader media_reader_pnm;

/* How long the image is that `length` bytes begin with, P5, P6, P7, PF or Pf; 0 where its header is not
 * whole, or wrong. */
uint64_t media_pnm_bytes(const char *text, size_t length);
/* Of an open input: whether the header of a P1 to P4 file is sound; libvips takes what stands before a NUL.
 * Of other files HONE_OK. `head`: the file's first bytes. */
hone_status media_check_plain_pnm(const struct media_input *input, const uint8_t *head, size_t count,
                                  hone_error *error);

/* media_open for the regular file behind `fd`, which it closes in any case. */
hone_status media_open_descriptor(struct media_input **out, int fd, const char *name,
                                  const struct media_read_options *options, hone_error *error);

/* One that nothing is open of yet; NULL with the error set. */
struct media_input *media_new_input(const char *name, const struct media_read_options *options,
                                    hone_error *error);
/* From what a reader says of a file to what callers are told of the image. */
void media_turn_upright(struct media_input *input);

/* Copies a row of the file (place.width pixels of place.pixel_bytes) to where it belongs. */
void media_put_row(const struct placement *place, uint32_t y, const void *row);

/* Spreads `count` pixels of gray and alpha (elements of `size` bytes) to red, green, blue, alpha. from and to
 * must not overlap. */
void media_spread_gray_alpha(void *to, const void *from, size_t count, size_t size);

/* HONE_ERROR_IO: "'path': message"; a message that begins with a space goes on: "'path' is damaged". */
hone_status media_bad(const struct media_input *input, hone_error *error, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

void media_note(const struct media_input *input, enum media_note kind, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Whether there are the pages that the options ask for. */
hone_status media_check_pages(const struct media_input *input, unsigned pages, hone_error *error);

/* Limits on what a header may claim. */
hone_status media_check_size(const struct media_input *input, uint64_t width, uint64_t height,
                             hone_error *error);

/* Whether the time of the options is over; to be asked between rows. */
hone_status media_check_time(struct media_input *input, hone_error *error);

/* ---- Writing ---- */

struct media_output {
    int fd;
    const char *name;        /* for messages */
    const char *suffix;      /* small letters, with its dot */
    hone_image_desc desc;    /* of all pages, one below the other; 2 channels: gray and alpha */
    unsigned pages;          /* at least 1 */
    const void *pixels;      /* tight */
    struct row_source *rows; /* not NULL: instead of `pixels`, they come by media_next_rows */
    const struct media_input *like;
    const struct media_write_options *options;
};

enum { TIFF_NO_UNIT = 1 };

/* How the first page that an input delivers is stored in its TIFF file; false where it is none. */
struct tiff_layout {
    bool big;
    unsigned compression, tile_width, tile_height; /* as in its tags; tiles 0: strips */
    unsigned subfile;                              /* what the page is to others (NewSubfileType) */
    unsigned unit;                                 /* of the resolution: TIFF_NO_UNIT, 2 an inch, 3 a cm */
    unsigned across[2], down[2];                   /* its fractions; 0: not given */
};
bool media_tiff_layout(const struct media_input *input, struct tiff_layout *layout);

/* Whether rows of an output without `pixels` are lent, and so many of the next ones. */
bool media_lends_rows(const struct media_output *output);
hone_status media_lend_rows(const struct media_output *output, uint32_t most, struct media_rows *lent);
/* The next `count` rows of an output without `pixels`, tight, as its desc says. Rows that fail stay so. */
hone_status media_next_rows(const struct media_output *output, uint32_t count, void *rows);

hone_status media_write_pnm(const struct media_output *output, hone_error *error);
hone_status media_write_table(const struct media_output *output, hone_error *error);

/* HONE_ERROR_IO: "cannot write 'name': " and the text of `code` (an errno). */
hone_status media_cannot_write(const struct media_output *output, int code, hone_error *error);

#ifdef HONE_HAVE_VIPS
extern const struct media_reader media_reader_vips;
hone_status media_write_vips(const struct media_output *output, hone_error *error);
/* Whether libvips can encode the format of this suffix here: its encoder may be a package of its own. */
bool media_vips_encodes(const char *suffixes);
/* Whether such a format gives so many channels of 8 bits back as they were, where no loss is asked for. */
bool media_vips_is_lossless(const char *suffixes, unsigned channels);
const char *vips_running_version(void);
/* Whether a loader of libvips goes by this suffix (with its dot); one meant for untrusted files, where
 * `hardened`. */
bool media_vips_knows(const char *suffix, bool hardened);
#endif
