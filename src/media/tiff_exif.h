/* SPDX-License-Identifier: BSD-2-Clause */
/* Inside src/media: EXIF in TIFFs, which libvips neither reads nor writes there, and IPTC, which it cuts off.
 * An EXIF block is what other formats hold: "Exif", two zeros, and a classic TIFF of directories. */
#pragma once

#include "base/text.h"

#include <stdint.h>

/* What page `page` (0: the first) of a TIFF says of camera, place, time and author, as a block, which is as
 * it was where there is nothing. `lost` gets the numbers of the page's tags that nothing here keeps,
 * separated by commas. False: memory was short. */
bool tiff_exif_read(int fd, unsigned page, struct text *block, struct text *lost);

/* What a TIFF gets: an EXIF block, and IPTC records; NULL: none. */
struct tiff_extras {
    const void *exif, *iptc;
    size_t exif_bytes, iptc_bytes;
};

/* Adds extras, all of which may be wrong, to the first page of a TIFF that was just written, of `width` x
 * `height` pixels. 0 or an errno. */
int tiff_add_extras(int fd, const struct tiff_extras *extras, uint32_t width, uint32_t height);
