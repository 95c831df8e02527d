/* SPDX-License-Identifier: BSD-2-Clause */
/** Chains: a sequence of filters, written as text. */
#ifndef HONE_CHAIN_H
#define HONE_CHAIN_H

#include "hone/status.h"

#include <stddef.h>

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
 * Errors: HONE_ERROR_USAGE; the message and error->column give the column, and the message says what would be right.
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
 * Returns NULL if the filter has no such parameter, or if it has no value. Valid until the chain is destroyed.
 */
HONE_API const char *hone_chain_parameter(const hone_chain *chain, size_t step, const char *name);

/**
 * Writes the chain in canonical form: parameters in the filter's order, defaults omitted.
 *
 * Writes at most `size` bytes including the terminating zero. Returns the length of the full text.
 */
HONE_API size_t hone_chain_text(const hone_chain *chain, char *text, size_t size);

#ifdef __cplusplus
}
#endif
#endif
