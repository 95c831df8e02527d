/* SPDX-License-Identifier: BSD-2-Clause */
/* Why a run copies what it copies, and what would avoid it (guide 7.4). */
#include "base/error.h"
#include "base/mem.h"
#include "cl/memory.h"
#include "filter/registry.h"
#include "lab/profile/internal.h"

#include <stdio.h>
#include <string.h>

struct situation {
    hone_device *device;
    const hone_plan *plan;
    const hone_image *in, *out;
};

static const struct variant *variant_of(const struct situation *s, size_t step, hone_step_info *info)
{
    if (step == HONE_NO_STEP || !hone_plan_step(s->plan, step, info))
        return NULL;
    const struct hone_filter *filter = registry_find(info->filter);
    return filter ? filter_variant(filter, info->variant) : NULL;
}

static void explain_bus(const struct situation *s, struct profile_copy *copy, const hone_image *image)
{
    const hone_image_desc *desc = hone_image_get_desc(image);
    copy->avoidable = memory_is_shared(s->device);
    if (copy->avoidable)
        snprintf(
            copy->why, sizeof copy->why,
            "the device works in the host's memory, but not in this: %zu bytes; a page-aligned address and a "
            "size that is a multiple of 64 bytes avoid the copy",
            hone_image_bytes(desc));
    else if (hone_device_get_info(s->device)->kind == HONE_DEVICE_CPU)
        snprintf(copy->why, sizeof copy->why,
                 "needed: this driver does not work in memory that the host made");
    else
        snprintf(
            copy->why, sizeof copy->why,
            "needed: the device has memory of its own; a chain in one plan crosses the bus once each way");
}

static void explain_move(const struct situation *s, struct profile_copy *copy)
{
    hone_step_info info;
    const struct variant *variant = variant_of(s, copy->step, &info);
    copy->avoidable = true;
    if (variant && variant->align)
        snprintf(copy->why, sizeof copy->why,
                 "variant '%s' of %s takes addresses and rows that are multiples of %u bytes; rows are %zu "
                 "bytes apart "
                 "in the input and %zu in the result: padded rows avoid the copy",
                 info.variant, info.filter, variant->align, hone_image_get_desc(s->in)->pitch,
                 hone_image_get_desc(s->out)->pitch);
    else
        snprintf(
            copy->why, sizeof copy->why,
            "padded rows become tight on their way to or from a 2D image%s%s: tight rows, or a variant that "
            "works on buffers, avoid the copy",
            variant ? " of variant " : "", variant ? info.variant : "");
}

static bool works_on_images(const struct variant *variant)
{
    bool found = false;
    for (size_t p = 0; p < variant_pass_count(variant); p++)
        for (const char *const *token = variant->passes[p].arguments; *token; token++)
            found = found || strstr(*token, ":uint") || strstr(*token, ":unorm") || strstr(*token, ":packed");
    return found;
}

/* A variant of the same filter that works on buffers and is as exact. */
static const struct variant *other_variant(const char *filter_name, const struct variant *variant)
{
    const struct hone_filter *filter = registry_find(filter_name);
    for (size_t i = 0; filter && i < filter->variant_count; i++)
        if (!works_on_images(&filter->variants[i]) && filter->variants[i].relaxed <= variant->relaxed)
            return &filter->variants[i];
    return NULL;
}

static void explain_conversion(const struct situation *s, struct profile_copy *copy)
{
    hone_step_info info;
    const struct variant *variant = variant_of(s, copy->step, &info);
    const struct variant *other = variant ? other_variant(info.filter, variant) : NULL;
    copy->avoidable = other != NULL;
    if (!variant)
        snprintf(copy->why, sizeof copy->why, "the image belongs to the caller's 2D image object");
    else if (other)
        snprintf(copy->why, sizeof copy->why,
                 "variant '%s' of %s (%s) works on 2D images; --variant %s:%s works on buffers, and is worth "
                 "it if its "
                 "kernel is not slower by more than the copy takes",
                 info.variant, info.filter, info.origin, info.filter, other->name);
    else
        snprintf(copy->why, sizeof copy->why,
                 "needed: variant '%s' of %s works on 2D images, and so do all others", info.variant,
                 info.filter);
}

static void explain(const struct situation *s, const struct profile_command *command,
                    struct profile_copy *copy)
{
    *copy = (struct profile_copy){
        .what = hone_command_kind_name(command->c.kind), .step = command->c.step, .bytes = command->c.bytes};
    switch (command->c.kind) {
    case HONE_COMMAND_UPLOAD:
        explain_bus(s, copy, s->in);
        break;
    case HONE_COMMAND_DOWNLOAD:
        explain_bus(s, copy, s->out);
        break;
    case HONE_COMMAND_MOVE:
        explain_move(s, copy);
        break;
    case HONE_COMMAND_CONVERSION:
        explain_conversion(s, copy);
        break;
    case HONE_COMMAND_MAP:
        snprintf(copy->why, sizeof copy->why,
                 "needed: the driver copies what it maps, for want of shared memory");
        break;
    case HONE_COMMAND_KERNEL:
    case HONE_COMMAND_OTHER:
        break;
    }
}

hone_status profile_explain_copies(struct profile *profile, hone_device *device, const hone_plan *plan,
                                   const hone_image *in, const hone_image *out, hone_error *error)
{
    const struct situation situation = {device, plan, in, out};
    profile->copies = mem_new(profile->row_count, sizeof *profile->copies);
    if (!profile->copies)
        return error_memory(error, "a profile");
    for (size_t i = 0; i < profile->row_count; i++) {
        const struct profile_command *command = &profile->rows[i].typical;
        if (command->c.kind != HONE_COMMAND_KERNEL && command->c.bytes > 0)
            explain(&situation, command, &profile->copies[profile->copy_count++]);
    }
    return HONE_OK;
}
