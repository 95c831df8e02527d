/* SPDX-License-Identifier: BSD-2-Clause */
/* What the files that read by libvips share. */
#pragma once

#include "media/vips.h"

struct conversion {
    VipsBandFormat format;
    bool to_float;
    unsigned bits; /* of 16, at the top; 0: all */
    size_t count;  /* elements of a row of the file */
    void *numbers, *wide, *blank;
};

struct vips_state {
    VipsImage *image;             /* the pixels to come; NULL when they have come */
    struct conversion conversion; /* while rows of a page are taken */
    bool converts;
    bool lost;              /* the rest of this page */
    unsigned begun;         /* pages that came before those of the image */
    struct tiff_facts tiff; /* zero for other formats */
    const char *distrusted; /* the format of a file that was refused because it takes trust */
};

/* A failure of libvips as one of the input's: what it is, what libvips said, and advice ("": none). */
hone_status vips_bad(const struct media_input *input, const char *what, const char *advice,
                     hone_error *error);

/* Images that an input's image holds one below the other on each page; and the height of one. */
unsigned vips_parts(const struct media_input *input);
int vips_page_height(const struct media_input *input, const VipsImage *image);

/* cut.c: an error, or with damage accepted a note, where a file ends before its last image does, or where all
 * pages of a TIFF are wanted and it leads to more than the `pages` that libtiff finds. */
hone_status vips_check_end(const struct media_input *input, unsigned pages, hone_error *error);

/* pages.c */
/* A note where pages of a TIFF that are delivered together say other things than the first. */
void vips_tell_pages(const struct media_input *input);
/* The ImageDescription of the first page of a TIFF; empty where there is none. */
void vips_first_description(const struct media_input *input, struct text *text);

/* gif.c */
bool vips_is_cut_gif(const struct media_input *input);
/* What no frame covers becomes the background. False: libvips says why. */
bool vips_fill_gif(const struct media_input *input, VipsImage **image);

/* png.c: the frames of an animation, or 1. */
unsigned vips_count_png(const struct media_input *input);

/* jp2.c: of each sample of a JPEG 2000; 0: they differ, are signed or not known. */
unsigned vips_jp2_bits(int fd);

/* cicp.c: bytes of a file. */
struct vips_range {
    off_t at, end;
};
/* What is in the first box of this kind (ISO/IEC 14496-12, 4.2; NULL: of any), without its head. */
bool vips_find_box(int fd, struct vips_range in, const char *kind, struct vips_range *found);

/* nclx.c: of an AVIF of so many bytes that has none. 0 or an errno. */
int vips_add_nclx(int fd, off_t size, const struct vips_cicp *cicp, bool *is_held);

/* webp.c: the milliseconds of `count` frames from `first` (0: the first) on; those that are not found
 * stay. */
void vips_read_webp_times(int fd, int *times, unsigned first, unsigned count);

/* read.c: libvips reads no more of an image after a failure: the pages from `done` on (0: the first that is
 * delivered), as another image. False: libvips may say why. */
bool vips_reopen(struct media_input *input, unsigned done);
/* The same, of a format with a single page, as another image that goes on after damage. */
bool vips_reopen_leniently(struct media_input *input);

/* view.c: a TIFF that holds page `page` (0: the first) of the input's alone; NULL where there is none such.
 * It reads by input->fd. */
VipsSource *vips_page_source(const struct media_input *input, unsigned page);

/* metadata.c */
hone_status vips_keep_metadata(struct media_input *input, VipsImage *image, hone_error *error);

/* colours.c: packed pixels and other colour spaces become gray or RGB; false: libvips says why it cannot. */
bool vips_to_colours(struct media_input *input, VipsImage **image);
hone_status vips_choose_type(struct media_input *input, VipsBandFormat format, hone_type *type,
                             hone_error *error);
/* For messages. */
const char *vips_number_name(VipsBandFormat format);

/* rows.c */
hone_status vips_load_rows(struct media_input *input, uint32_t first, uint32_t count, hone_error *error);
void vips_end_rows(struct vips_state *state);
