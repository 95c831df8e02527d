/* SPDX-License-Identifier: BSD-2-Clause */
#include "hone/plan.h"

#include "base/error.h"
#include "base/mem.h"
#include "cl/device.h"
#include "filter/case.h"
#include "filter/registry.h"
#include "filter/variant.h"
#include "plan/image.h"
#include "plan/private.h"

#include <stdlib.h>
#include <string.h>

enum { ROW_ALIGN = 64 }; /* rows of intermediate images begin where wide loads like it */

/* ---- Memory between steps ---- */

static hone_status make_between(hone_plan *plan, struct step *step, const hone_image_desc *desc,
                                hone_error *error)
{
    hone_image_desc padded = *desc;
    size_t row = hone_image_row_bytes(desc);
    padded.pitch = (row + ROW_ALIGN - 1) / ROW_ALIGN * ROW_ALIGN;
    size_t bytes = hone_image_bytes(&padded);
    step->between_pitch = padded.pitch;
    if (step->between && memory_bytes(step->between) >= bytes)
        return HONE_OK;
    memory_destroy(&step->between);
    return memory_create(&step->between, plan->device, bytes, HONE_MEMORY_DEVICE, error);
}

/* ---- Life ---- */

static hone_status plan_steps(hone_plan *plan, const struct filter_case *cases,
                              const hone_plan_options *options, hone_error *error)
{
    hone_status status = HONE_OK;
    for (size_t i = 0; i < plan->count && !status; i++) {
        status = choosing_make(plan, &plan->steps[i], &cases[i], options, error);
        if (!status && i + 1 < plan->count)
            status = make_between(plan, &plan->steps[i], &cases[i].out, error);
    }
    return status;
}

static hone_status plan_chain(hone_plan *plan, const hone_chain *chain, const hone_plan_options *options,
                              hone_error *error)
{
    hone_status status = choosing_check(chain, options, error);
    if (status)
        return status;
    struct filter_case *cases = mem_new(chain->count, sizeof *cases);
    if (!cases)
        return error_memory(error, "a plan");
    plan->count = chain->count;
    status = chain_cases(cases, chain, &plan->input, options->second, options->second_count, error);
    if (!status) {
        status = plan_steps(plan, cases, options, error);
        chain_cases_finish(cases, chain->count);
    }
    free(cases);
    return status;
}

hone_status hone_plan_create(hone_plan **out, hone_device *device, const hone_chain *chain,
                             const hone_image_desc *input, const hone_plan_options *options,
                             hone_error *error)
{
    static const hone_plan_options defaults;
    if (!out || !device || !chain || !input)
        return error_set(error, HONE_ERROR_USAGE,
                         "hone_plan_create needs a device, a chain, an input description and a "
                         "place for the plan");
    *out = NULL;
    hone_status status = hone_image_desc_check(input, error);
    if (status)
        return status;
    hone_plan *plan = mem_new(1, sizeof *plan);
    if (!plan)
        return error_memory(error, "a plan");
    plan->device = device;
    plan->input = *input;
    status = plan_chain(plan, chain, options ? options : &defaults, error);
    if (status)
        hone_plan_destroy(&plan);
    *out = plan;
    return status;
}

void hone_plan_destroy(hone_plan **slot)
{
    if (!slot || !*slot)
        return;
    hone_plan *plan = *slot;
    hone_device_finish(plan->device, NULL);
    for (size_t i = 0; i < plan->count; i++) {
        trial_end(&plan->steps[i].trial);
        instance_destroy(&plan->steps[i].instance);
        memory_destroy(&plan->steps[i].between);
        free(plan->steps[i].config);
    }
    free(plan);
    *slot = NULL;
}

const hone_image_desc *hone_plan_output(const hone_plan *plan)
{
    return &instance_case(plan->steps[plan->count - 1].instance)->out;
}

bool hone_plan_step(const hone_plan *plan, size_t index, hone_step_info *info)
{
    if (index >= plan->count)
        return false;
    const struct step *step = &plan->steps[index];
    const struct variant *variant = instance_variant(step->instance);
    *info = (hone_step_info){instance_case(step->instance)->filter->name,
                             variant->name,
                             step->config,
                             step->origin,
                             (unsigned)variant_pass_count(variant),
                             instance_scratch_bytes(step->instance)};
    return true;
}

double hone_plan_seconds(const hone_plan *plan)
{
    return plan->seconds;
}

/* ---- Changing parameters ---- */

static void end_trials(hone_plan *plan)
{
    for (size_t i = 0; i < plan->count; i++)
        trial_end(&plan->steps[i].trial);
}

/* All later steps follow a change of size or format. */
static hone_status update_from(hone_plan *plan, size_t first, const struct filter_case *changed,
                               hone_error *error)
{
    hone_status status = instance_update(plan->steps[first].instance, changed, error);
    for (size_t i = first; i < plan->count && !status; i++) {
        struct step *step = &plan->steps[i];
        const hone_image_desc out = instance_case(step->instance)->out;
        if (i + 1 == plan->count)
            break;
        status = make_between(plan, step, &out, error);
        struct filter_case next;
        if (!status)
            status = case_copy(&next, instance_case(plan->steps[i + 1].instance), error);
        if (status)
            break;
        status = case_prepare(&next, &out, next.second.width ? &next.second : NULL, error);
        if (!status)
            status = instance_update(plan->steps[i + 1].instance, &next, error);
        case_finish(&next);
    }
    return status;
}

hone_status hone_plan_set(hone_plan *plan, size_t index, const char *parameters, hone_error *error)
{
    if (index >= plan->count || !parameters)
        return error_set(error, HONE_ERROR_USAGE, "the plan has %zu filters, counted from 0", plan->count);
    const struct filter_case *now = instance_case(plan->steps[index].instance);
    struct filter_case changed, before;
    hone_status status = case_copy(&before, now, error);
    if (status)
        return status;
    status = case_copy(&changed, now, error);
    if (status) {
        case_finish(&before);
        return status;
    }
    status = chain_parse_parameters(&changed, parameters, error);
    if (!status)
        status = case_prepare(&changed, &now->in, now->second.width ? &now->second : NULL, error);
    if (!status) {
        hone_device_finish(plan->device, NULL); /* runs under way keep their arguments */
        end_trials(plan);
        status = update_from(plan, index, &changed, error);
        if (status && update_from(plan, index, &before, NULL) != HONE_OK)
            plan->broken = index + 1;
        else if (!status && index < plan->broken)
            plan->broken = 0;
    }
    case_finish(&changed);
    case_finish(&before);
    return status;
}

hone_status hone_plan_bind(hone_plan *plan, size_t index, hone_image *second, hone_error *error)
{
    if (index >= plan->count || !second)
        return error_set(error, HONE_ERROR_USAGE, "the plan has %zu filters, counted from 0", plan->count);
    const struct filter_case *c = instance_case(plan->steps[index].instance);
    const hone_image_desc *desc = hone_image_get_desc(second), *wanted = &c->second;
    if (c->filter->inputs < 2)
        return error_set(error, HONE_ERROR_USAGE, "%s takes one image", c->filter->name);
    if (desc->width != wanted->width || desc->height != wanted->height || desc->type != wanted->type ||
        desc->channels != wanted->channels || second->device != plan->device)
        return error_set(error, HONE_ERROR_USAGE,
                         "the second image of %s is not the one that the plan was made for", c->filter->name);
    plan->steps[index].second = second;
    return HONE_OK;
}
