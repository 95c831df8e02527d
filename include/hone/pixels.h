/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * Pixel formats: element types, images in memory, planes of video frames, borders.
 *
 * Plain data and pure functions; none of them uses a device.
 * Threads: all functions are safe.
 */
#ifndef HONE_PIXELS_H
#define HONE_PIXELS_H

#include "hone/status.h"

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** The type of an element: one channel of one pixel, in the byte order of the host. */
typedef enum hone_type {
    HONE_U8 = 0,  /**< 0..255 */
    HONE_U16 = 1, /**< 0..65535 */
    HONE_F32 = 2, /**< IEEE single; images usually span 0..1, filters do not require it */
    HONE_S16 = 3, /**< -32768..32767; gradients of u8, and what filters that take it make of them */
    HONE_U32 = 4  /**< 0..2^32-1; results only (sums) */
} hone_type;

/** Bytes per element: 1, 2, 4, 2, 4; 0 for an invalid type. */
HONE_API size_t hone_type_size(hone_type type);
/** "u8", "u16", "f32", "s16", "u32"; "?" for an invalid type. Static. */
HONE_API const char *hone_type_name(hone_type type);
/** Finds a type by name. Errors: HONE_ERROR_USAGE; the message lists the names. */
HONE_API hone_status hone_type_parse(hone_type *out, const char *name, hone_error *error);

/**
 * An image in memory: rows from top to bottom, `channels` interleaved elements per pixel.
 *
 * One channel is gray (or a plane), three are colour, four are colour and alpha. Two are the colour plane of
 * NV12 and P010; both are filtered. Filters that read neighbouring pixels copy the fourth channel unless the
 * chain says alpha=filter.
 */
typedef struct hone_image_desc {
    uint32_t width, height; /**< pixels; each 1 to 2^20, and width * height at most 2^30 */
    hone_type type;
    uint32_t channels; /**< 1 to 4 */
    size_t pitch;      /**< bytes from one row to the next, a multiple of the element size; 0: tight rows */
} hone_image_desc;

enum { HONE_MAX_SIDE = 1 << 20, HONE_MAX_PIXELS = 1 << 30 };

/** Checks an image description against these limits. The error message names the violated one. */
HONE_API hone_status hone_image_desc_check(const hone_image_desc *desc, hone_error *error);
/** Bytes of one row without padding. */
HONE_API size_t hone_image_row_bytes(const hone_image_desc *desc);
/** The actual pitch in bytes: desc->pitch or, if that is 0, the bytes of one row. */
HONE_API size_t hone_image_pitch(const hone_image_desc *desc);
/** Bytes from the first pixel to the end of the last: pitch * (height - 1) + row bytes. */
HONE_API size_t hone_image_bytes(const hone_image_desc *desc);

/** Memory layouts of video frames. */
typedef enum hone_layout {
    HONE_NV12 = 0, /**< u8: a plane of luma, then a plane of half width and height with 2 channels (U, V) */
    HONE_I420 = 1, /**< u8: luma, then U and V, each of half width and height */
    HONE_P010 = 2  /**< like NV12 in u16, 10 significant bits in the upper bits */
} hone_layout;

/**
 * Describes plane `index` of a frame that is in one block of memory.
 *
 * `width` and `height` are those of the luma plane in pixels; odd sizes round chroma up. Luma rows are
 * `pitch` bytes apart (0: tight); the chroma pitch is the same for NV12 and P010, and half of it for I420.
 * *offset gets the byte offset of the plane.
 * Errors: HONE_ERROR_USAGE for an index past the last plane (NV12 has 2, I420 3, P010 2), so that a loop can
 * count up until it fails.
 */
HONE_API hone_status hone_frame_plane(hone_layout layout, uint32_t width, uint32_t height, size_t pitch,
                                      unsigned index, hone_image_desc *plane, size_t *offset,
                                      hone_error *error);

/** What a filter reads beyond the edges of an image "abcdefgh". */
typedef enum hone_border {
    HONE_BORDER_REPLICATE = 0,   /**< aaa|abcdefgh|hhh (default) */
    HONE_BORDER_REFLECT = 1,     /**< cba|abcdefgh|hgf */
    HONE_BORDER_REFLECT101 = 2,  /**< dcb|abcdefgh|gfe */
    HONE_BORDER_WRAP = 3,        /**< fgh|abcdefgh|abc */
    HONE_BORDER_CONSTANT = 4,    /**< vvv|abcdefgh|vvv with v = border-value */
    HONE_BORDER_ZERO_OUTSIDE = 5 /**< the result is 0 where the window leaves the image */
} hone_border;

/** "replicate", "reflect", "reflect101", "wrap", "constant", "zero-outside"; "?" for an invalid border.
 *  Static. */
HONE_API const char *hone_border_name(hone_border border);

#ifdef __cplusplus
}
#endif
#endif
