/* SPDX-License-Identifier: BSD-2-Clause */
/** Chains: filters one after the other, as text. */
#ifndef HONE_CHAIN_H
#define HONE_CHAIN_H

#include "hone/status.h"

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A parsed chain. Threads: read-only after parsing, so several threads may share one. */
typedef struct hone_chain hone_chain;

/**
 * Parses `filter name=value ... | filter ...`. A value with spaces or a bar stands in single or double quotes.
 * HONE_ERROR_USAGE tells the column of the mistake (error->column too) and what would be right.
 */
HONE_API hone_status hone_chain_parse(hone_chain **out, const char *text, hone_error *error);

/** Frees a chain; *chain becomes NULL, NULL is fine. Plans made from it live on. */
HONE_API void hone_chain_destroy(hone_chain **chain);

/** Number of filters, at least 1. */
HONE_API size_t hone_chain_length(const hone_chain *chain);
/** Name of filter `step` (from 0); NULL beyond the last. Valid as long as the chain. */
HONE_API const char *hone_chain_filter(const hone_chain *chain, size_t step);
/** A parameter of a step as text ("8"; the default where it was not given); NULL when there is none of this name or it
 *  has no value. Valid as long as the chain. */
HONE_API const char *hone_chain_parameter(const hone_chain *chain, size_t step, const char *name);

/** The chain written out again with one spelling: parameters in the filter's order, defaults left out. Writes at most
 * `size` bytes with the terminating zero and returns the length that the whole text has. */
HONE_API size_t hone_chain_text(const hone_chain *chain, char *text, size_t size);

#ifdef __cplusplus
}
#endif
#endif
