/* SPDX-License-Identifier: BSD-2-Clause */
/** Chains: a sequence of filters, written as text. */
#ifndef HONE_CHAIN_H
#define HONE_CHAIN_H

#include "hone/pixels.h"
#include "hone/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * A parsed chain.
 *
 * Threads: read-only after parsing; several threads may share one.
 */
typedef struct hone_chain hone_chain;

/**
 * Parses `filter name=value ... | filter ...`.
 *
 * Put values that contain spaces or bars in single or double quotes. Each parameter may be given once.
 * Ownership: free *out with hone_chain_destroy.
 * Errors: HONE_ERROR_USAGE; the message and error->column give the column, and the message says what would be
 * right.
 */
HONE_API hone_status hone_chain_parse(hone_chain **out, const char *text, hone_error *error);

/**
 * Sets `exact=yes` on every filter of the chain: the same result on every device, to the last bit.
 *
 * Plans made from the chain then use exact variants only. `chain` may be NULL.
 * Errors: if a filter has no exact variant for a format, hone_plan_create returns HONE_ERROR_UNSUPPORTED.
 * Threads: call it before other threads use the chain.
 */
HONE_API void hone_chain_make_reproducible(hone_chain *chain);

/** Frees a chain and sets *chain to NULL; *chain may be NULL. Plans made from it remain valid. */
HONE_API void hone_chain_destroy(hone_chain **chain);

/** Number of filters, at least 1. */
HONE_API size_t hone_chain_length(const hone_chain *chain);
/** Name of filter `step` (from 0), or NULL past the last one. Valid until the chain is destroyed. */
HONE_API const char *hone_chain_filter(const hone_chain *chain, size_t step);
/**
 * A parameter of a step as text, such as "8"; the default if it was not given.
 *
 * Returns NULL if the filter has no such parameter, or if it has no value. Valid until the chain is
 * destroyed.
 */
HONE_API const char *hone_chain_parameter(const hone_chain *chain, size_t step, const char *name);

/**
 * Writes the chain in canonical form: parameters in the filter's order. Those that the chain does not give
 * are left out, as are common ones (border, border-value, accuracy, alpha, exact) at their defaults.
 *
 * Writes at most `size` bytes including the terminating zero. Returns the length of the full text.
 */
HONE_API size_t hone_chain_text(const hone_chain *chain, char *text, size_t size);

/** Which pixels of the input a result pixel depends on. */
typedef enum hone_reach {
    HONE_REACH_WINDOW = 0, /**< those within the halo around it */
    /** All pixels above and to the left: sums that continue from part to part (integral). */
    HONE_REACH_BEFORE = 1,
    HONE_REACH_ALL = 2,      /**< all: counts, which add up over the parts of an image (histogram) */
    HONE_REACH_ELSEWHERE = 3 /**< those around another place (transpose) */
} hone_reach;

/**
 * What filtering an image in parts needs: how far from a result pixel the pixels are that it depends on.
 *
 * A part of the result is that of the same part of the input with so many pixels more on each side, or up to
 * the edge of the image. Results are then the same integers; floating-point results, and those of gaussian,
 * keep their bounds (hone_filter_info.bounds), but may differ within them.
 */
typedef struct hone_halo {
    /** Pixels, at most HONE_MAX_SIDE. Reflecting borders make opposite sides equal. */
    uint32_t left, right, top, bottom;
    /** Parts must begin at multiples of this, and end there or at the edge of the image; 1: anywhere. */
    uint32_t period;
    /** border=wrap: near an edge of the image, the pixels at the opposite edge belong to the halo. */
    bool wraps;
    hone_reach reach; /**< HONE_REACH_WINDOW, or what `step` does */
    size_t step; /**< the first filter whose reach is not a window, from 0; the halo is that of the others */
} hone_halo;

/**
 * Fills *out with the halo of a chain for images like `input`. The size of `input` does not matter.
 *
 * Second images are assumed to be like the first at their step. A convolution kernel in a file is read.
 * Errors: those of hone_plan_create for the chain and the format. Threads: safe.
 */
HONE_API hone_status hone_chain_halo(const hone_chain *chain, const hone_image_desc *input, hone_halo *out,
                                     hone_error *error);

/**
 * Fills *out with the description of what a chain makes of images like `input`: size, type, channels; without
 * a device.
 *
 * Second images are assumed to be like the first at their step. Errors: those of hone_plan_create for the
 * chain and the format. Threads: safe.
 */
HONE_API hone_status hone_chain_output(const hone_chain *chain, const hone_image_desc *input,
                                       hone_image_desc *out, hone_error *error);

#ifdef __cplusplus
}
#endif
#endif
