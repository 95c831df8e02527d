/* SPDX-License-Identifier: BSD-2-Clause */
/* The texts by which programs of microscopes describe all pages of a TIFF in its ImageDescription. */
#pragma once

#include "hone/pixels.h"

#include <stdbool.h>

enum description_kind {
    DESCRIPTION_PLAIN, /* a person's words, or a program's that is not known here */
    DESCRIPTION_IMAGEJ,
    DESCRIPTION_OME,   /* OME-XML */
    DESCRIPTION_SHAPED /* tifffile's {"shape": [...]} */
};

enum description_kind description_kind(const char *text);
/* "ImageJ", "OME-XML" ... for messages. */
const char *description_name(enum description_kind kind);

/**
 * What is true of a file that holds `pages` images like `desc` (with as many channels as are written) and
 * nothing else: `text` itself where it is; else the same kind of text about these pages, which keeps the size
 * of pixels, names and units, and the order of the pages as far as there are as many as it tells of. turned:
 * rows of what `text` is of are columns of these images. NULL when memory ran out. To be freed.
 */
char *description_of_pages(const char *text, const hone_image_desc *desc, unsigned pages, bool turned);
