/* SPDX-License-Identifier: BSD-2-Clause */
/** Plans: a chain prepared for one device and one image format, to run once or for every frame. */
#ifndef HONE_PLAN_H
#define HONE_PLAN_H

#include "hone/chain.h"
#include "hone/device.h"
#include "hone/event.h"
#include "hone/image.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * A chain with its variants chosen, its kernels built and its memory allocated.
 *
 * Threads: one thread at a time per plan; different plans of one device may be used in parallel.
 */
typedef struct hone_plan hone_plan;

/** Where the choice of variants comes from. */
typedef enum hone_tune {
    /** Earlier measurements, or hand-written defaults. If the device was opened with `profile`, a plan that
     *  runs often also tries a few other configurations in some of its runs (built on a separate thread),
     *  keeps the fastest and remembers it. */
    HONE_TUNE_AUTO = 0,
    HONE_TUNE_OFF = 1 /**< hand-written defaults only */
} hone_tune;

/** How to make a plan. Zero gives good defaults. Strings are only used during hone_plan_create. */
typedef struct hone_plan_options {
    size_t size; /**< sizeof(hone_plan_options), or 0: the members of 0.1. See status.h. */
    /** Forces variants: "NAME", or "filter:NAME,filter:NAME". NAME is a variant or a rung. A variant that
     *  cannot run here is an error; there is no fallback. */
    const char *variant;
    /** Forces tunables: "NAME=NUMBER NAME=NUMBER". With several filters, they apply to the filter whose
     *  variant is forced, or to every variant that has all of them. */
    const char *config;
    hone_tune tune;
    /** Gives each filter its own kernel. By default, point filters (add, colormap ...) are fused into the
     *  kernel of an adjacent filter if its variant allows it: same results, less memory traffic. Forced
     *  variants are not fused. */
    bool no_fuse;
    /** Second inputs of filters that take two images, in the order of those steps. */
    const hone_image_desc *second;
    size_t second_count;
    /** How often the plan will run, as far as is known; 0: often. If the best variant is not compiled yet,
     *  was not measured on this device by its user, and all runs together are some 20 ms of arithmetic at
     *  most, the plan gets another one that is compiled already, or on a GPU one whose program compiles
     *  quickly. Results keep the filter's bounds. */
    uint32_t runs;
} hone_plan_options;

/**
 * Makes a plan: chooses variants, compiles or loads kernels, and allocates memory.
 *
 * `input` describes the images to come; their pitch may differ from run to run. `options` may be NULL.
 * Each kernel is launched once on a small image, so no later run compiles or allocates, with two exceptions.
 * An image whose address or pitch does not suit the variant needs an aligned copy: it is allocated here if
 * the pitch of `input` (then for a tight result, too) or of a second image says so, else by the first run
 * with such an image. A pitch of 0 says nothing: images that hone makes have padded rows, and would not need
 * the memory. PoCL compiles once more in the first run if a side exceeds 65535 pixels.
 * Ownership: destroy *out with hone_plan_destroy. `chain` may be destroyed before the plan.
 */
HONE_API hone_status hone_plan_create(hone_plan **out, hone_device *device, const hone_chain *chain,
                                      const hone_image_desc *input, const hone_plan_options *options,
                                      hone_error *error);
/** Destroys a plan after waiting for its runs, and sets *plan to NULL; *plan may be NULL. */
HONE_API void hone_plan_destroy(hone_plan **plan);

/** The format of the result (with pitch 0). Valid until the plan is destroyed; hone_plan_set may change
 *  it. */
HONE_API const hone_image_desc *hone_plan_output(const hone_plan *plan);

/**
 * Enqueues the chain from `in` to `out` after the events in `wait`. Does not block.
 *
 * Wrapped or mapped images that are still on the host are passed to the device first. With an in-order queue,
 * consecutive runs are ordered; with an out-of-order queue, order them with events.
 * Preconditions: `in` and `out` are images of the plan's device. The output shares no memory with the input
 * or a second image (the left and right halves of one frame, with the same pitch, share none).
 * Ownership: the caller destroys *done with hone_event_destroy. `done` may be NULL.
 * Errors: HONE_ERROR_USAGE if images overlap; nothing is written.
 */
HONE_API hone_status hone_plan_run(hone_plan *plan, hone_image *in, hone_image *out,
                                   const hone_event *const *wait, size_t wait_count, hone_event **done,
                                   hone_error *error);

/** Sets the second image of step `step` (counting all filters of the chain from 0) for all later runs. */
HONE_API hone_status hone_plan_bind(hone_plan *plan, size_t step, hone_image *second, hone_error *error);

/**
 * Changes parameters of a step, for example "size=9" or "threshold=3 radius=2".
 *
 * Every value that a new plan would accept is accepted. Variants that were not forced are chosen again, as in
 * a new plan. Each program is compiled at most once while the device is open, so returning to an earlier
 * value compiles nothing; a program that is new to the device has to be compiled first. The new steps reuse
 * the device memory of the old ones. Runs in progress are not affected, and the call does not wait for them.
 * Errors: on failure the plan is unchanged.
 */
HONE_API hone_status hone_plan_set(hone_plan *plan, size_t step, const char *parameters, hone_error *error);

/**
 * Builds in advance what hone_plan_set needs for the same parameters, so that it compiles nothing.
 *
 * The plan does not change and holds no more memory. The programs belong to the device: to build while a plan
 * runs, call this on another thread for another plan with the same chain and device.
 */
HONE_API hone_status hone_plan_prepare(hone_plan *plan, size_t step, const char *parameters,
                                       hone_error *error);
/**
 * Builds in advance for a range of values of a numeric parameter.
 *
 * These are all whole numbers in the range, or 257 evenly spaced values for real parameters and wide ranges.
 * Levels that must be whole numbers for the format of the step's input, such as the threshold of epsilon for
 * u8, get whole numbers. A change to a value between them may still compile: for a slider of real values,
 * call hone_plan_prepare for each position. Some filters need one program per value, hence one compilation
 * each. Stops at the first value that the filter refuses.
 */
HONE_API hone_status hone_plan_prepare_range(hone_plan *plan, size_t step, const char *name, double minimum,
                                             double maximum, hone_error *error);

/**
 * Filters host memory to host memory; blocks until the result is there.
 *
 * Rows are `pitch` bytes apart (0: tight). If the device works on host memory, kernels use the caller's
 * memory directly unless the address or pitch does not suit the variant; hone_plan_copies says whether
 * anything was copied. Errors: HONE_ERROR_USAGE if `in` and `out` overlap. After HONE_ERROR_DEVICE the driver
 * may still use both: free them once the plan and the device are closed.
 */
HONE_API hone_status hone_plan_apply(hone_plan *plan, const void *in, size_t in_pitch, void *out,
                                     size_t out_pitch, hone_error *error);

/**
 * What a plan chose for one filter of the chain.
 *
 * Strings are valid until the plan is destroyed or hone_plan_set is called.
 */
typedef struct hone_step_info {
    const char *filter;
    const char *variant;
    const char *config;   /**< "WG_X=32 ROWS=8", or "" */
    const char *origin;   /**< origin of the choice: "forced", "hand-written" ... */
    unsigned passes;      /**< kernel launches per run */
    size_t scratch_bytes; /**< device memory held for it, not counting its output */
    /** The filter into whose kernel it is fused (variant and configuration are that one's), or NULL. */
    const char *fused_with;
} hone_step_info;
/** Fills *info for step `step` (from 0) and returns true; returns false past the last step. */
HONE_API bool hone_plan_step(const hone_plan *plan, size_t step, hone_step_info *info);

/**
 * Device time of the last hone_plan_apply in seconds.
 *
 * Returns 0 if the device was opened without `profile` or has no working clock.
 */
HONE_API double hone_plan_seconds(const hone_plan *plan);

/**
 * The copies that the last hone_plan_run or hone_plan_apply made.
 *
 * All 0 means that kernels read and wrote the images' own memory and no pixel was copied. hone_plan_apply
 * includes its upload and download; hone_plan_run does not include calls of hone_image_upload and
 * hone_image_download around it.
 */
HONE_API hone_copy_counts hone_plan_copies(const hone_plan *plan);

/**
 * Parses a chain, makes a plan, applies it to host memory and frees everything.
 *
 * For a loop over images, keep a plan instead.
 */
HONE_API hone_status hone_apply(hone_device *device, const char *chain, const hone_image_desc *in_desc,
                                const void *in, hone_image_desc *out_desc, void *out, size_t out_bytes,
                                hone_error *error);

#ifdef __cplusplus
}
#endif
#endif
