/* SPDX-License-Identifier: BSD-2-Clause */
/* Why a run copies what it copies, and what would avoid it (guide 7.4). */
#include "cl/memory.h"
#include "filter/registry.h"
#include "lab/profile/internal.h"

#include <stdio.h>
#include <string.h>

static const struct variant *variant_of(const struct copy_situation *s, size_t step, hone_step_info *info)
{
    if (step >= s->step_count) /* HONE_NO_STEP, too */
        return NULL;
    *info = s->steps[step];
    const struct hone_filter *filter = registry_find(info->filter);
    return filter ? filter_variant(filter, info->variant) : NULL;
}

static void explain_bus(const struct copy_situation *s, struct profile_copy *copy,
                        const hone_image_desc *desc)
{
    copy->avoidable = memory_is_shared(s->device);
    if (copy->avoidable && s->in_parts)
        snprintf(copy->why, sizeof copy->why,
                 "the image is filtered in parts, and parts of second images are copied to the device; "
                 "whole images (more --memory) avoid the copy");
    else if (copy->avoidable)
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

static void explain_move(const struct copy_situation *s, struct profile_copy *copy)
{
    hone_step_info info;
    const struct variant *variant = variant_of(s, copy->step, &info);
    copy->avoidable = true;
    if (variant && variant->align)
        snprintf(copy->why, sizeof copy->why,
                 "variant '%s' of %s takes addresses and rows that are multiples of %u bytes; rows are %zu "
                 "bytes apart "
                 "in the input and %zu in the result: padded rows avoid the copy",
                 info.variant, info.filter, variant->align, s->in.pitch, s->out.pitch);
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

static void explain_conversion(const struct copy_situation *s, struct profile_copy *copy)
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

bool profile_explain_copy(const struct copy_situation *s, const hone_command *command,
                          struct profile_copy *copy)
{
    if (command->kind == HONE_COMMAND_KERNEL || command->bytes == 0)
        return false;
    *copy = (struct profile_copy){
        .what = hone_command_kind_name(command->kind), .step = command->step, .bytes = command->bytes};
    switch (command->kind) {
    case HONE_COMMAND_UPLOAD:
        explain_bus(s, copy, &s->in);
        break;
    case HONE_COMMAND_DOWNLOAD:
        explain_bus(s, copy, &s->out);
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
    return true;
}
