/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * What pixels look like: element types, images in memory, video frames as planes, borders.
 * Plain data and pure functions; nothing here touches a device. Threads: all safe.
 */
#ifndef HONE_PIXELS_H
#define HONE_PIXELS_H

#include "hone/status.h"

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** The type of one channel of one pixel. Values are stored in the byte order of the host. */
typedef enum hone_type {
    HONE_U8 = 0,  /**< 0..255 */
    HONE_U16 = 1, /**< 0..65535 */
    HONE_F32 = 2, /**< IEEE single; images usually span 0..1, filters do not require it */
    HONE_S16 = 3, /**< -32768..32767; results only (gradients of u8) */
    HONE_U32 = 4  /**< 0..2^32-1; results only (sums) */
} hone_type;

/** Bytes of one element: 1, 2, 4, 2, 4; 0 for a value that is no type. */
HONE_API size_t hone_type_size(hone_type type);
/** "u8", "u16", "f32", "s16", "u32"; "?" for a value that is no type. Static. */
HONE_API const char *hone_type_name(hone_type type);
/** Finds a type by its name. HONE_ERROR_USAGE lists the names. */
HONE_API hone_status hone_type_parse(hone_type *out, const char *name, hone_error *error);

/**
 * An image in memory: rows from top to bottom, `channels` interleaved elements per pixel.
 * One channel is gray (or a plane), three are colour, four are colour and alpha: filters that look at neighbours copy
 * the fourth channel. Two channels occur as the colour plane of NV12 and P010 and are both filtered.
 */
typedef struct hone_image_desc {
    uint32_t width, height; /**< Pixels, each 1 .. 2^20, and width * height at most 2^30. */
    hone_type type;
    uint32_t channels; /**< 1 to 4. */
    size_t pitch;      /**< Bytes from one row to the next; 0: rows are tight. A multiple of the element's size. */
} hone_image_desc;

enum { HONE_MAX_SIDE = 1 << 20, HONE_MAX_PIXELS = 1 << 30 };

/** Checks an image description against the limits above. The message says which one is broken. */
HONE_API hone_status hone_image_desc_check(const hone_image_desc *desc, hone_error *error);
/** Bytes of the pixels of one row, without padding. */
HONE_API size_t hone_image_row_bytes(const hone_image_desc *desc);
/** The pitch in use: desc->pitch, or the tight one where that is 0. */
HONE_API size_t hone_image_pitch(const hone_image_desc *desc);
/** Bytes from the first pixel to the end of the last: pitch * (height - 1) + row bytes. */
HONE_API size_t hone_image_bytes(const hone_image_desc *desc);

/** How a video frame lies in memory. */
typedef enum hone_layout {
    HONE_NV12 = 0, /**< u8: a plane of luma, then a plane of half width and height with 2 channels (U, V) */
    HONE_I420 = 1, /**< u8: luma, then U and V, each of half width and height */
    HONE_P010 = 2  /**< like NV12 in u16, 10 significant bits in the upper bits */
} hone_layout;

/**
 * Describes plane `index` of a frame of width x height (luma) pixels in one piece of memory whose luma rows are `pitch`
 * bytes apart (0: tight); chroma pitch follows as video APIs have it (equal for NV12 and P010, half for I420).
 * *offset gets the byte at which the plane begins. Odd sizes round chroma up.
 * Returns HONE_ERROR_USAGE for an index beyond the layout's planes (2, 3, 2), so a caller may simply count up.
 */
HONE_API hone_status hone_frame_plane(hone_layout layout, uint32_t width, uint32_t height, size_t pitch, unsigned index,
                                      hone_image_desc *plane, size_t *offset, hone_error *error);

/** What a filter sees beyond the edge of an image "abcdefgh". */
typedef enum hone_border {
    HONE_BORDER_REPLICATE = 0,   /**< aaa|abcdefgh|hhh (default) */
    HONE_BORDER_REFLECT = 1,     /**< cba|abcdefgh|hgf */
    HONE_BORDER_REFLECT101 = 2,  /**< dcb|abcdefgh|gfe */
    HONE_BORDER_WRAP = 3,        /**< fgh|abcdefgh|abc */
    HONE_BORDER_CONSTANT = 4,    /**< vvv|abcdefgh|vvv with v = border-value */
    HONE_BORDER_ZERO_OUTSIDE = 5 /**< the result is 0 wherever the window leaves the image */
} hone_border;

/** "replicate", "reflect", "reflect101", "wrap", "constant", "zero-outside"; "?" otherwise. Static. */
HONE_API const char *hone_border_name(hone_border border);

#ifdef __cplusplus
}
#endif
#endif
