/* SPDX-License-Identifier: BSD-2-Clause */
/* Inside src/media: what the two files that speak to libvips share. */
#ifndef MEDIA_VIPS_H
#define MEDIA_VIPS_H

#include "media/reader.h"

#include <vips/vips.h>

/* Starts libvips, once per process. */
hone_status vips_begin(hone_error *error);

/* What libvips said about a failure, as one line without its last newline; empties libvips' buffer. */
void vips_said(char *text, size_t size);

/* Gives `to` the metadata of `from`, less what describes the file (its loader, pages, palette) and not the
 * picture. */
void vips_carry_metadata(VipsImage *from, VipsImage *to);

/* The metadata of an input that the reader for libvips opened; NULL for another reader's. Not owned. */
VipsImage *vips_metadata_of(const struct media_input *input);

#endif
