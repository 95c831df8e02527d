/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Image files: pixels in, pixels out, with the metadata carried from one to the other.
 *
 * PNM, PAM and PFM are read and written here; everything else goes through libvips where the build has it.
 * Every byte of a file is hostile: sizes are refused from the header, before memory is taken, and a file that
 * is not whole is an error unless the caller accepts damage.
 *
 * Threads: each function may run in several threads at once, on different objects.
 */
#ifndef MEDIA_MEDIA_H
#define MEDIA_MEDIA_H

#include "hone/pixels.h"

#include <stdbool.h>
#include <stddef.h>

/* Receives what a user may want to know about a file and is no error, one line each. `warning`: the result
 * holds less than the file did. */
typedef void (*media_note_function)(void *user, bool warning, const char *message);

struct media_read_options {
    bool accept_damaged; /* take what can be decoded of a file that is not whole */
    bool keep_results;   /* deliver signed 16 and unsigned 32 bits as s16 and u32, which filters do not take,
                            not as f32 */
    media_note_function note;
    void *user;
};

/* What media_load will deliver. */
struct media_info {
    hone_image_desc desc; /* upright (the orientation in EXIF is applied); 1, 3 or 4 channels; pitch 0 */
    bool gray_alpha;      /* the file holds gray and alpha; delivered as RGBA with equal colours */
    unsigned pages;       /* in the file; the first is delivered */
    const char *format;   /* "PNG", "JPEG" ... for messages */
};

/* A file that is open for reading. Threads: one at a time. */
struct media_input;

/**
 * Opens an image and reads its header. options may be NULL. A folder, a pipe or a device is refused without
 * waiting for it. HONE_ERROR_IO for whatever is wrong with the file; the message names it. *out is released
 * with media_close.
 */
hone_status media_open(struct media_input **out, const char *path, const struct media_read_options *options,
                       hone_error *error);

/* Valid until the input is closed. */
const struct media_info *media_get_info(const struct media_input *input);

/* Decodes into `pixels`, whose rows are `pitch` bytes apart (0: tight). Once per input. On an error the
 * content of `pixels` is undefined. */
hone_status media_load(struct media_input *input, void *pixels, size_t pitch, hone_error *error);

/* *input becomes NULL, NULL is fine. */
void media_close(struct media_input **input);

/* Whether a file of this name is taken for an image when a folder is searched: by its suffix alone. */
bool media_is_image_name(const char *name);

/* ---- Writing ---- */

struct media_write_options {
    int quality; /* 1..100 for JPEG and WebP; 0: MEDIA_QUALITY */
};

enum { MEDIA_QUALITY = 90 };

/* Whether anything can be written under this name: its suffix is known and this build has a writer for it.
 * HONE_ERROR_USAGE says which suffixes there are. */
hone_status media_check_name(const char *name, hone_error *error);

/* Whether an image like this can be written under this name: type, channels, size. HONE_ERROR_USAGE says what
 * the format holds, what the image is, and which suffix would do. `gray_alpha` as in media_info. */
hone_status media_check_output(const char *name, const hone_image_desc *desc, bool gray_alpha,
                               hone_error *error);

/**
 * Encodes tight pixels into the open file `fd` (empty, positioned at its start, readable and writable); the
 * format goes by the suffix of `name`, which messages quote too. `like` (may be NULL) is the input whose
 * metadata the output gets as far as its format holds it; a gray_alpha input whose result has four channels
 * is written as gray and alpha again. The pixels may be changed. The caller syncs and closes.
 */
hone_status media_write(int fd, const char *name, const hone_image_desc *desc, void *pixels,
                        const struct media_input *like, const struct media_write_options *options,
                        hone_error *error);

#endif
