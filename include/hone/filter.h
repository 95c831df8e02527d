/* SPDX-License-Identifier: BSD-2-Clause */
/** What filters there are: names, parameters, variants, ladders. Everything is static data. Threads: safe. */
#ifndef HONE_FILTER_H
#define HONE_FILTER_H

#include "hone/status.h"

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hone_filter_info {
    const char *name, *summary;
    const char *origin; /**< the paper or document it comes from */
    char types[32];     /**< pixel types it takes: "u8, u16, f32" */
    char channels[32];  /**< channel counts it takes: "1, 3, 4" */
    unsigned inputs;    /**< 1 or 2 images */
    bool spatial;       /**< looks at neighbours: takes `border` and copies alpha */
} hone_filter_info;

typedef struct hone_parameter_info {
    const char *name, *help;
    const char *kind;      /**< "integer", "real", "choice", "text", "image" */
    const char *unit;      /**< or NULL */
    const char *otherwise; /**< the default as text, or NULL */
    const char *choices;   /**< "a|b|c", or NULL */
    double least, most;    /**< allowed range of numbers, both ends included */
    bool common;           /**< one of border, border-value and accuracy */
} hone_parameter_info;

typedef struct hone_variant_info {
    const char *name, *summary;
    const char *path;        /**< "buffer", "image", "local", "wide", "packed" */
    const char *condition;   /**< where it can be used, as an expression, or NULL for everywhere */
    const char *specialised; /**< why some parameter is compiled in, or NULL */
    bool relaxed;            /**< not exact; chosen only under accuracy=relaxed */
    unsigned passes;
    /** What an ideal machine does for a pixel of the result, over all passes; expressions, as in `condition`. */
    const char *bytes, *loads, *operations;
} hone_variant_info;

typedef struct hone_tunable_info {
    const char *name, *help;
    const char *values; /**< legal values, the default first */
    bool launch_only;   /**< changing it compiles nothing */
} hone_tunable_info;

typedef struct hone_rung_info {
    const char *name, *title, *variant, *config;
    double gain;       /**< speed over the first rung in the source; 0: not given */
    const char *where; /**< the source: document, table, device */
} hone_rung_info;

/** Each fills *out and returns true, or returns false beyond the last or for an unknown name. Filters come in
 *  alphabetical order, the rest in the order of the description; a filter's own parameters come before the common ones.
 */
HONE_API bool hone_filter_at(size_t index, hone_filter_info *out);
HONE_API bool hone_filter_find(const char *name, hone_filter_info *out);
HONE_API bool hone_filter_parameter(const char *filter, size_t index, hone_parameter_info *out);
HONE_API bool hone_filter_variant(const char *filter, size_t index, hone_variant_info *out);
HONE_API bool hone_filter_tunable(const char *filter, const char *variant, size_t index, hone_tunable_info *out);
HONE_API bool hone_filter_rung(const char *filter, size_t index, hone_rung_info *out);

#ifdef __cplusplus
}
#endif
#endif
