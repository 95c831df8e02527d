/* SPDX-License-Identifier: BSD-2-Clause */
/* The element `hone`: raw video through a chain of filters on an OpenCL device. */
#ifndef GST_HONE_ELEMENT_H
#define GST_HONE_ELEMENT_H

#include "run.h"

#include <gst/video/gstvideofilter.h>

G_BEGIN_DECLS
G_DECLARE_FINAL_TYPE(GstHone, gst_hone, GST, HONE, GstVideoFilter)

/* `changing` is taken before `lock`, and neither while a message is posted. */
struct _GstHone {
    GstVideoFilter parent;
    GMutex changing; /* one change at a time: properties, formats, start and stop */
    char *device_spec;
    char *filters; /* files of filters of one's own, as in PATH; or NULL */
    gboolean all_planes, reproducible;
    hone_tune tune;
    hone_device *device;
    hone_error *refusal;  /* there is no chain because this was wrong with it; or NULL */
    char *refused;        /* that chain */
    hone_error *unloaded; /* what was wrong with `filters`; or NULL */
    hone_error *unset;    /* what was wrong with `set` while there was no bus to tell it; or NULL */
    struct run *next;     /* built for a format that is still to be negotiated; or NULL */
    GSList
        *former; /* chains since the last frame or negotiation, the newest first: neighbours may reckon with
                       one */
    gboolean unsettled; /* caps for the chain are still to be negotiated */
    GMutex lock;        /* of what follows, and held while a frame is filtered */
    struct video_chain *chain;
    struct run *run;
    struct tally tally;
};

/* The chain, to be freed with video_chain_unref; or NULL. */
struct video_chain *element_chain(GstHone *self);

/* Properties that may change at any time. What is wrong becomes a warning message, and the old chain
 * stays. */
void element_set_chain(GstHone *self, const char *text);
void element_set_parameters(GstHone *self, const char *text);
/* Loads files, and reads the chain again, which may need them. */
void element_load_filters(GstHone *self, const char *paths);
/* For properties on which the meaning of the chain depends. */
void element_read_chain_again(GstHone *self);

/* Where the chain was changed during a negotiation and does not take the format that came of it, goes back to
 * one before that does, with a warning. */
void element_fall_back(GstHone *self, GstVideoFormat format);

/* The static properties; element.c has the rest of the class. */
void properties_install(GObjectClass *class);

/* Negotiation of caps and memory. */
void negotiation_install(GstBaseTransformClass *class);
/* What a chain makes of frames. NULL where it does not take them; *error is filled in. */
GstCaps *negotiation_output(const struct video_chain *chain, const GstVideoInfo *in, GstCaps *in_caps,
                            hone_error *error);

/* Posts what failed: `what` begins the text. */
void element_post(GstHone *self, GstMessageType type, const char *what, const hone_error *error);

G_END_DECLS

GST_DEBUG_CATEGORY_EXTERN(hone_debug);

#endif
