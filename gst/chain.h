/* SPDX-License-Identifier: BSD-2-Clause */
/* A chain, what it makes of each format, and changes to its parameters. */
#ifndef GST_HONE_CHAIN_H
#define GST_HONE_CHAIN_H

#include "formats.h"

/* What a chain makes of one format. */
struct effect {
    GstVideoFormat out; /* GST_VIDEO_FORMAT_UNKNOWN: the chain does not take it */
    gboolean swaps;     /* width and height change places */
    char *why;          /* out is unknown: the reason */
};

/* Never changes once made, so threads may share it. */
struct video_chain {
    gint references;
    char *text;
    hone_chain *chain;
    struct effect effects[FORMAT_COUNT]; /* in the order of format_at */
};

/* Parses a chain; NULL with *error filled in if it is not valid or takes no format. Free with
 * video_chain_unref. */
struct video_chain *video_chain_new(const char *text, gboolean all_planes, gboolean reproducible,
                                    hone_error *error);
struct video_chain *video_chain_ref(struct video_chain *chain); /* NULL stays NULL */
void video_chain_unref(struct video_chain *chain);              /* may be NULL */

/* What a chain makes of a format; NULL where the format is none of the table's. */
const struct effect *video_chain_effect(const struct video_chain *chain, GstVideoFormat format);

/* The file with the second image of a step; NULL if the filter takes one image. */
const char *chain_second(const hone_chain *chain, size_t step);
/* What a step gets when the chain gets images like `in`. */
hone_status chain_before(const hone_chain *chain, size_t step, const hone_image_desc *in,
                         hone_image_desc *out, hone_error *error);

/* New values for parameters: "FILTER.NAME=VALUE ...", where FILTER may be the number of the step, and may be
 * missing if the chain has one filter. */
struct change {
    char *text; /* the chain with the new values, in canonical form otherwise */
    gboolean one_step;
    size_t step; /* one_step: the step, and what hone_stream_set takes */
    char *parameters;
};
hone_status change_read(struct change *change, const struct video_chain *chain, const char *text,
                        hone_error *error);
void change_finish(struct change *change);

/* Fills in *error (NULL: nothing) and returns its status. */
hone_status refuse(hone_error *error, hone_status status, const char *format, ...) G_GNUC_PRINTF(3, 4);

#endif
