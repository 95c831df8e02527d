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

/* What cannot run together after all (a driver refuses the kernel, say) runs one by one. */
static hone_status plan_step(hone_plan *plan, const struct filter_case *cases, size_t count, size_t *taken,
                             const hone_plan_options *options, hone_error *error)
{
    struct step *step = &plan->steps[plan->count];
    hone_plan_options apart = *options;
    struct filter_case c;
    apart.no_fuse = true;
    hone_status status = fusing_next(&c, taken, plan, cases, count, options, error);
    if (status)
        return status;
    status = choosing_make(plan, step, &c, options, error);
    case_finish(&c);
    if (status && *taken > 1 && fusing_next(&c, taken, plan, cases, count, &apart, error) == HONE_OK) {
        status = choosing_make(plan, step, &c, options, error);
        case_finish(&c);
    }
    plan->count += status == HONE_OK;
    return status;
}

static hone_status plan_steps(hone_plan *plan, const struct filter_case *cases, size_t count,
                              const hone_plan_options *options, hone_error *error)
{
    hone_status status = HONE_OK;
    for (size_t i = 0, taken = 1; i < count && !status; i += taken) {
        status = plan_step(plan, cases + i, count - i, &taken, options, error);
        if (!status && i + taken < count)
            status = make_between(plan, &plan->steps[plan->count - 1], &cases[i + taken - 1].out, error);
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
    status = chain_cases(cases, chain, &plan->input, options->second, options->second_count, error);
    if (!status) {
        status = plan_steps(plan, cases, chain->count, options, error);
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
    for (size_t i = 0; i < MAX_STEPS; i++) { /* one that could not be finished is not counted */
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
    return case_result(instance_case(plan->steps[plan->count - 1].instance));
}

struct step *plan_find(const hone_plan *plan, size_t index, unsigned *member)
{
    for (size_t i = 0; i < plan->count; i++) {
        const struct step *step = &plan->steps[i];
        unsigned members = instance_case(step->instance)->fused_count + 1;
        *member = (unsigned)index;
        if (index < members)
            return (struct step *)step;
        index -= members;
    }
    return NULL;
}

bool hone_plan_step(const hone_plan *plan, size_t index, hone_step_info *info)
{
    unsigned member;
    const struct step *step = plan_find(plan, index, &member);
    if (!step)
        return false;
    const struct filter_case *c = instance_case(step->instance);
    const struct variant *variant = instance_variant(step->instance);
    bool host = member == c->before;
    *info = (hone_step_info){case_member(c, member)->filter->name,
                             variant->name,
                             step->config,
                             step->origin,
                             host ? (unsigned)variant_pass_count(variant) : 0,
                             host ? instance_scratch_bytes(step->instance) : 0,
                             host ? NULL : c->filter->name};
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
        const hone_image_desc out = *case_result(instance_case(step->instance));
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

static size_t filter_count(const hone_plan *plan)
{
    size_t count = 0;
    for (size_t i = 0; i < plan->count; i++)
        count += instance_case(plan->steps[i].instance)->fused_count + 1;
    return count;
}

static hone_status no_such_filter(const hone_plan *plan, hone_error *error)
{
    return error_set(error, HONE_ERROR_USAGE, "the plan has %zu filters, counted from 0", filter_count(plan));
}

hone_status hone_plan_set(hone_plan *plan, size_t index, const char *parameters, hone_error *error)
{
    unsigned member;
    const struct step *step = plan_find(plan, index, &member);
    if (!step || !parameters)
        return no_such_filter(plan, error);
    const size_t at = (size_t)(step - plan->steps);
    const struct filter_case *now = instance_case(step->instance);
    struct filter_case changed, before;
    hone_status status = case_copy(&before, now, error);
    if (status)
        return status;
    status = case_copy(&changed, now, error);
    if (status) {
        case_finish(&before);
        return status;
    }
    status = chain_parse_parameters(case_member(&changed, member), parameters, error);
    if (!status)
        status = case_prepare(&changed, case_input(now), now->second.width ? &now->second : NULL, error);
    if (!status) {
        hone_device_finish(plan->device, NULL); /* runs under way keep their arguments */
        end_trials(plan);
        status = update_from(plan, at, &changed, error);
        if (status && update_from(plan, at, &before, NULL) != HONE_OK)
            plan->broken = at + 1;
        else if (!status && at < plan->broken)
            plan->broken = 0;
    }
    case_finish(&changed);
    case_finish(&before);
    return status;
}

hone_status hone_plan_bind(hone_plan *plan, size_t index, hone_image *second, hone_error *error)
{
    unsigned member;
    struct step *step = plan_find(plan, index, &member);
    if (!step || !second)
        return no_such_filter(plan, error);
    const struct filter_case *c = case_member(instance_case(step->instance), member);
    const hone_image_desc *desc = hone_image_get_desc(second), *wanted = &c->second;
    if (c->filter->inputs < 2)
        return error_set(error, HONE_ERROR_USAGE, "%s takes one image", c->filter->name);
    if (desc->width != wanted->width || desc->height != wanted->height || desc->type != wanted->type ||
        desc->channels != wanted->channels || second->device != plan->device)
        return error_set(error, HONE_ERROR_USAGE,
                         "the second image of %s is not the one that the plan was made for", c->filter->name);
    step->second[member] = second;
    return HONE_OK;
}
