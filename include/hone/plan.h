/* SPDX-License-Identifier: BSD-2-Clause */
/** Plans: a chain made ready for one device and one kind of image; then run, once or per frame. */
#ifndef HONE_PLAN_H
#define HONE_PLAN_H

#include "hone/chain.h"
#include "hone/device.h"
#include "hone/event.h"
#include "hone/image.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Threads: one at a time per plan; different plans of one device freely. */
typedef struct hone_plan hone_plan;

typedef enum hone_tune {
    HONE_TUNE_AUTO = 0, /**< what has been measured before, or hand-written defaults. A plan that runs often on a device
                             opened with `profile` also tries a few other configurations with some of its runs, builds
                             them on a thread of its own, keeps the fastest and remembers it. */
    HONE_TUNE_OFF = 1   /**< hand-written defaults only */
} hone_tune;

/** All zero is right for most. Strings are needed during hone_plan_create alone. */
typedef struct hone_plan_options {
    /** Forces variants: "NAME", or "filter:NAME,filter:NAME". A NAME may also be that of a rung. A variant that cannot
     * run here is an error, not replaced. */
    const char *variant;
    /** Forces tunables, "NAME=NUMBER NAME=NUMBER"; with several filters, they go to the one whose variant is forced, or
     *  to every variant that has all of them. */
    const char *config;
    hone_tune tune;
    /** Every filter runs in a kernel of its own. Otherwise point filters (add, colormap ...) run in the kernel of a
     *  neighbouring filter where its variant allows it: same results, less memory traffic. Forced variants run alone.
     */
    bool no_fuse;
    /** Second inputs, for filters that take two images, in the order of such steps. */
    const hone_image_desc *second;
    size_t second_count;
} hone_plan_options;

/**
 * Chooses variants, compiles (or loads) kernels and takes all the memory that runs will need.
 * `input` describes the images to come; their pitch may differ from run to run.
 * options may be NULL. *out is destroyed with hone_plan_destroy, before the device is closed.
 */
HONE_API hone_status hone_plan_create(hone_plan **out, hone_device *device, const hone_chain *chain,
                                      const hone_image_desc *input, const hone_plan_options *options,
                                      hone_error *error);
/** Waits for runs under way. *plan becomes NULL, NULL is fine. */
HONE_API void hone_plan_destroy(hone_plan **plan);

/** What the result looks like (pitch 0). Valid as long as the plan; may change with hone_plan_set. */
HONE_API const hone_image_desc *hone_plan_output(const hone_plan *plan);

/**
 * Enqueues the chain from in to out without blocking, after the events of `wait`.
 * Images that are still on the host (wrapped ones, or mapped) are handed over first. in and out must be different
 * images of the plan's device. *done (unless done is NULL) is to be destroyed by the caller. With an in-order queue,
 * runs follow each other by themselves; with an out-of-order queue, pass the events.
 */
HONE_API hone_status hone_plan_run(hone_plan *plan, hone_image *in, hone_image *out, const hone_event *const *wait,
                                   size_t wait_count, hone_event **done, hone_error *error);

/** Gives the second image to step `step` (counting all filters of the chain from 0) for all later runs. */
HONE_API hone_status hone_plan_bind(hone_plan *plan, size_t step, hone_image *second, hone_error *error);

/**
 * Changes parameters of a step: "size=9" or "threshold=3 radius=2". Nothing is compiled again where the chosen variant
 * takes the parameter as an argument (see `specialised` of hone_variant_info). On an error the plan is as it was, or,
 * where the device cannot even give back what it had, refuses to run until the same change works.
 */
HONE_API hone_status hone_plan_set(hone_plan *plan, size_t step, const char *parameters, hone_error *error);

/** Host memory in, host memory out, blocking: the plan in place of a loop. Rows are `pitch` bytes apart, 0: tight.
 *  Copies nothing where the device works on host memory. in and out must not overlap. */
HONE_API hone_status hone_plan_apply(hone_plan *plan, const void *in, size_t in_pitch, void *out, size_t out_pitch,
                                     hone_error *error);

/** What was chosen for a filter of the chain, counted from 0. Strings are valid as long as the plan and until its next
 * hone_plan_set. */
typedef struct hone_step_info {
    const char *filter;
    const char *variant;
    const char *config;   /**< "WG_X=32 ROWS=8", or "" */
    const char *origin;   /**< where the choice comes from: "forced", "hand-written" ... */
    unsigned passes;      /**< kernel launches per run */
    size_t scratch_bytes; /**< device memory held for it, beside its output */
    const char
        *fused_with; /**< the filter in whose kernel it runs (variant and configuration are that one's), or NULL */
} hone_step_info;
/** false beyond the last step. */
HONE_API bool hone_plan_step(const hone_plan *plan, size_t step, hone_step_info *info);

/** Device time of the last run that was waited for by hone_plan_apply, seconds, or 0 where the device was opened
 * without `profile` or has no working clock. */
HONE_API double hone_plan_seconds(const hone_plan *plan);

/** One call for everything: parses the chain, plans, applies, cleans up. For a loop of images, keep the plan instead.
 */
HONE_API hone_status hone_apply(hone_device *device, const char *chain, const hone_image_desc *in_desc, const void *in,
                                hone_image_desc *out_desc, void *out, size_t out_bytes, hone_error *error);

#ifdef __cplusplus
}
#endif
#endif
