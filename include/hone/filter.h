/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * The available filters: names, parameters, variants, ladders; and filters of one's own.
 *
 * All strings are static, or live until the process ends. Threads: all functions are safe.
 */
#ifndef HONE_FILTER_H
#define HONE_FILTER_H

#include "hone/status.h"

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A filter. */
typedef struct hone_filter_info {
    const char *name, *summary;
    const char *origin; /**< the source paper or document */
    char types[32];     /**< pixel types it takes: "u8, u16, f32" */
    char channels[32];  /**< channel counts it takes: "1, 3, 4" */
    unsigned inputs;    /**< 1 or 2 images */
    bool spatial;       /**< reads neighbouring pixels: takes `border` and copies alpha */
    /** Pixel types for which exact=yes gives the same result everywhere, to the last bit. */
    char exact_types[32];
    /** Largest error without exact=yes, for HONE_U8, HONE_U16 (and HONE_S16) and HONE_F32 pixels: in levels
     *  of the result's format, for f32 relative to the largest magnitude of the input (docs/numbers.md). 0:
     *  the same result everywhere. */
    double bounds[3];
    bool loaded; /**< a filter of one's own, by hone_filter_load(); `origin` is its file */
} hone_filter_info;

/** A parameter of a filter. */
typedef struct hone_parameter_info {
    const char *name, *help;
    const char *kind;     /**< "integer", "real", "choice", "text", "image" */
    const char *unit;     /**< or NULL */
    const char *fallback; /**< the default as text, or NULL */
    const char *choices;  /**< "a|b|c", or NULL */
    double min, max;      /**< allowed range of numbers, both ends included */
    bool common;          /**< one of border, border-value, accuracy, alpha and exact */
} hone_parameter_info;

/** A variant: one way to compute a filter. */
typedef struct hone_variant_info {
    const char *name, *summary;
    const char *path;        /**< "buffer", "image", "local", "wide", "packed" */
    const char *condition;   /**< an expression that says where it can be used; NULL: everywhere */
    const char *specialised; /**< why a parameter is compiled in, or NULL */
    bool relaxed;            /**< keeps wider bounds; chosen only under accuracy=relaxed */
    bool exact;              /**< chosen only under exact=yes */
    unsigned passes;
    /** The minimum work per pixel of the result, over all passes; expressions, as in `condition`. */
    const char *bytes, *loads, *operations;
} hone_variant_info;

/** A tunable of a variant: a number that affects its speed. */
typedef struct hone_tunable_info {
    const char *name, *help;
    const char *values; /**< legal values, the default first */
    bool launch_only;   /**< a new value needs no compilation */
} hone_tunable_info;

/** A rung of a ladder: one step of the optimization that a source describes. */
typedef struct hone_rung_info {
    const char *name, *title, *variant, *config;
    double gain;       /**< speedup over the first rung in the source; 0: not given */
    const char *where; /**< the source: document, table, device */
} hone_rung_info;

/**
 * Each function fills *out and returns true, or returns false past the last entry or for an unknown name.
 *
 * Filters are in alphabetical order, loaded ones behind the others. Parameters, variants, tunables and rungs
 * are in the order of the filter's description; a filter's own parameters come before the common ones.
 */
HONE_API bool hone_filter_at(size_t index, hone_filter_info *out);
HONE_API bool hone_filter_find(const char *name, hone_filter_info *out);
HONE_API bool hone_filter_parameter(const char *filter, size_t index, hone_parameter_info *out);
HONE_API bool hone_filter_variant(const char *filter, size_t index, hone_variant_info *out);
HONE_API bool hone_filter_tunable(const char *filter, const char *variant, size_t index,
                                  hone_tunable_info *out);
HONE_API bool hone_filter_rung(const char *filter, size_t index, hone_rung_info *out);

/**
 * Loads a filter of one's own: an OpenCL C file whose `//@filter` lines describe it (docs/own-filters.md).
 * Chains then find it by the file's name without folder and ".cl", or by `path`. Until the process ends it
 * stays loaded; loading a file again that has changed replaces it for chains that are parsed afterwards.
 *
 * A filter is code that runs on the device, on a CPU in this process: load only what you trust. Chains alone
 * never load one.
 *
 * \param text  the text, `path` then only names it; NULL: read the file
 * \param out   may be NULL
 *
 * A description with mistakes, or a name that is taken, is HONE_ERROR_USAGE; the kernels are compiled when a
 * plan needs them. Threads: safe.
 */
HONE_API hone_status hone_filter_load(const char *path, const char *text, hone_filter_info *out,
                                      hone_error *error);

#ifdef __cplusplus
}
#endif
#endif
