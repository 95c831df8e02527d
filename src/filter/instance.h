/* SPDX-License-Identifier: BSD-2-Clause */
/* A variant of a filter, built for one case and configuration on one device, ready to be enqueued any number
 * of times. */
#pragma once

#include "cl/memory.h"
#include "cl/program.h"
#include "filter/filter.h"
#include "filter/variant.h"
#include "hone/event.h"

struct instance;

/* Where pixels of an input or output lie: in a buffer, the first one `offset` bytes from its start. */
struct surface {
    struct memory *memory;
    size_t offset, pitch; /* bytes; multiples of the element's size */
};

struct surfaces {
    struct surface in, second, out;  /* second.memory is NULL for filters of one input */
    struct surface fused[MAX_FUSED]; /* second inputs of fused filters */
};

/* Builds kernels (from the caches where possible), makes scratch memory and tables. The case is copied.
 * HONE_ERROR_UNSUPPORTED when variant or configuration cannot run here. */
hone_status instance_create(struct instance **out, hone_device *device, const struct filter_case *c,
                            const struct variant *variant, const struct config *config, hone_error *error);
void instance_destroy(struct instance **instance);

/* The same for an instance that will run instead of another one (NULL: none), which stays as it is: scratch
 * memory that fits is shared, so the two must not run at the same time. */
hone_status instance_create_beside(struct instance **out, const struct instance *other, hone_device *device,
                                   const struct filter_case *c, const struct variant *variant,
                                   const struct config *config, hone_error *error);

/* A change to an instance's kernels that finds out what limits them (lab/probe). All zero: none. */
struct text;
struct instance_probe {
    /* Replaces the text that is given to the compiler by one whose kernels take `extra` behind their
     * arguments. */
    hone_status (*rewrite)(void *context, struct text *source, hone_error *error);
    void *context;
    struct memory *extra;
    unsigned part; /* runs one of so many work-groups, the first ones; 0: all */
};
hone_status instance_create_probe(struct instance **out, hone_device *device, const struct filter_case *c,
                                  const struct variant *variant, const struct config *config,
                                  const struct instance_probe *probe, hone_error *error);

/* Whether kernels can index an image whose rows are `pitch` bytes apart, `offset` bytes into its buffer:
 * HONE_ERROR_UNSUPPORTED for one of more elements than 31 bits count. */
hone_status instance_check_surface(const hone_image_desc *desc, size_t pitch, size_t offset,
                                   hone_error *error);

/* Rows that the variant cannot use where they lie are copied. Makes the memory for that now, not in the first
 * run: for input with rows `pitch` bytes apart (0: not told), for a second image whose description tells its
 * pitch and, with `result`, for a tight result. */
hone_status instance_expect_pitch(struct instance *instance, size_t pitch, bool result, hone_error *error);

/* Enqueues all passes. done may be NULL. Threads: one at a time. */
hone_status instance_enqueue(struct instance *instance, const struct surfaces *surfaces,
                             struct wait_list wait, hone_event **done, hone_error *error);

/* For checks and reports. */
const struct filter_case *instance_case(const struct instance *instance);
const struct variant *instance_variant(const struct instance *instance);
const struct config *instance_config(const struct instance *instance);
size_t instance_scratch_bytes(const struct instance *instance);
/* Fills the buffers whose content does not count between runs. Images keep what they hold. */
hone_status instance_fill_scratch(struct instance *instance, uint8_t value, hone_error *error);
/* The kernel of pass `pass`, as long as the instance lives. */
const struct kernel *instance_kernel(const struct instance *instance, size_t pass);
/* Digest of the program that the instance runs, see programs_digest(). */
const char *instance_digest(const struct instance *instance);

/* The same of a variant of which there is no instance. */
hone_status variant_digest(char digest[65], hone_device *device, const struct filter_case *c,
                           const struct variant *variant, const struct config *config, hone_error *error);

/* The complete text given to the compiler for a kernel file: header, line marks, source, and what that
 * includes in the place of its #include lines. From a folder laid out like src; NULL: as compiled in. */
struct text;
hone_status filter_source_text(struct text *out, const char *folder, const struct hone_filter *filter,
                               const char *file, hone_error *error);
/* What of this comes before the text of a filter of one's own, as compiled in. */
hone_status filter_own_head(struct text *out, const struct hone_filter *filter, hone_error *error);
/* The complete text for a case, with the arithmetic of what is fused with it, from the kernel folder of the
 * device. */
hone_status case_source_text(struct text *out, hone_device *device, const struct filter_case *c,
                             const char *file, hone_error *error);
/* The compiler options for a variant. */
hone_status variant_options(struct text *out, hone_device *device, const struct filter_case *c,
                            const struct variant *variant, const struct config *config, hone_error *error);
