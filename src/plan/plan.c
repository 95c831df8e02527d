/* SPDX-License-Identifier: BSD-2-Clause */
#include "hone/plan.h"

#include "base/error.h"
#include "base/mem.h"
#include "base/options.h"
#include "cl/device.h"
#include "filter/case.h"
#include "filter/registry.h"
#include "filter/variant.h"
#include "image/view.h"
#include "plan/image.h"
#include "plan/internal.h"
#include "plan/plan.h"

#include <stdlib.h>

/* The chain may be destroyed before the plan, and so may the strings of the options. */
static hone_status keep_options(hone_plan *plan, const hone_plan_options *options, hone_error *error)
{
    plan->options = *options;
    plan->options.second = NULL;
    plan->options.second_count = 0;
    plan->options.variant = options->variant ? mem_copy_text(options->variant) : NULL;
    plan->options.config = options->config ? mem_copy_text(options->config) : NULL;
    bool ok = (!options->variant || plan->options.variant) && (!options->config || plan->options.config);
    return ok ? HONE_OK : error_memory(error, "a plan");
}

static hone_status check_options(const hone_plan_options *options, hone_error *error)
{
    if (options->tune != HONE_TUNE_AUTO && options->tune != HONE_TUNE_OFF)
        return error_usage(error,
                           "`tune` of hone_plan_options is %d: HONE_TUNE_AUTO (%d) and HONE_TUNE_OFF (%d) "
                           "are what there is",
                           (int)options->tune, HONE_TUNE_AUTO, HONE_TUNE_OFF);
    if (options->second_count > 0 && !options->second)
        return error_usage(error,
                           "`second` of hone_plan_options is NULL, and `second_count` is %zu: it is 0 "
                           "without second images",
                           options->second_count);
    for (size_t i = 0; i < options->second_count; i++)
        TRY(hone_image_desc_check(&options->second[i], error));
    return HONE_OK;
}

static hone_status plan_chain(hone_plan *plan, const hone_chain *chain, const hone_plan_options *options,
                              hone_error *error)
{
    hone_status status = keep_options(plan, options, error);
    THEN(status, choosing_check(chain, options, error));
    THEN(status,
         chain_cases(plan->cases, chain, &plan->input, options->second, options->second_count, error));
    if (status)
        return status;
    plan->filter_count = chain->count;
    status = layout_make(&plan->now, plan, plan->cases, SIZE_MAX, error);
    if (!status)
        plan->output = *layout_output(&plan->now);
    return status;
}

hone_status hone_plan_create(hone_plan **out, hone_device *device, const hone_chain *chain,
                             const hone_image_desc *input, const hone_plan_options *options,
                             hone_error *error)
{
    enum { FIRST = sizeof(hone_plan_options) }; /* 0.1 has all members; the next one begins behind them */
    hone_plan_options wanted;
    if (!out || !device || !chain || !input)
        return error_usage(error, "hone_plan_create needs a device, a chain, an input description and a "
                                  "place for the plan");
    *out = NULL;
    hone_status status = device_check(device, "hone_plan_create", error);
    THEN(status, hone_image_desc_check(input, error));
    THEN(status, options_take(&wanted, options, sizeof wanted, FIRST, "hone_plan_options", error));
    THEN(status, check_options(&wanted, error));
    if (status)
        return status;
    hone_plan *plan = mem_new(1, sizeof *plan);
    if (!plan)
        return error_memory(error, "a plan");
    plan->device = device;
    device_retain(device);
    plan->input = *input;
    status = plan_chain(plan, chain, &wanted, error);
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
    *slot = NULL;
    if (!device_is_here(plan->device))
        return;
    hone_device_finish(plan->device, NULL);
    layout_finish(&plan->now);
    chain_cases_finish(plan->cases, plan->filter_count);
    free((char *)plan->options.variant);
    free((char *)plan->options.config);
    device_release(plan->device);
    free(plan);
}

const hone_image_desc *hone_plan_output(const hone_plan *plan)
{
    return plan ? &plan->output : NULL;
}

hone_status plan_check(const hone_plan *plan, const char *call, hone_error *error)
{
    if (!plan)
        return error_usage(error, "%s needs a plan", call);
    return device_check(plan->device, call, error);
}

/* The step in which filter `index` of the chain runs, and which of its members it is; NULL beyond
 * the last. */
static struct step *plan_find(const hone_plan *plan, size_t index, unsigned *member)
{
    for (size_t i = plan->now.count; i-- > 0;) {
        struct step *step = plan->now.steps[i];
        *member = (unsigned)(index - step->first);
        if (index >= step->first)
            return index < plan->filter_count ? step : NULL;
    }
    return NULL;
}

bool hone_plan_step(const hone_plan *plan, size_t index, hone_step_info *info)
{
    unsigned member;
    const struct step *step = plan && info ? plan_find(plan, index, &member) : NULL;
    if (!step)
        return false;
    const struct filter_case *c = instance_case(step->instance);
    const struct variant *variant = instance_variant(step->instance);
    bool host = member == c->before;
    *info = (hone_step_info){case_member(c, member)->filter->name,
                             variant->name,
                             step->config,
                             choice_origin_name(step->origin),
                             host ? (unsigned)variant_pass_count(variant) : 0,
                             host ? instance_scratch_bytes(step->instance) : 0,
                             host ? NULL : c->filter->name};
    return true;
}

hone_copy_counts hone_plan_copies(const hone_plan *plan)
{
    return plan ? plan->copies : (hone_copy_counts){0};
}

double hone_plan_seconds(const hone_plan *plan)
{
    return plan ? plan->seconds : 0;
}

hone_status plan_no_such_filter(const hone_plan *plan, hone_error *error)
{
    return error_usage(error, "the plan has %zu filter%s, counted from 0", plan->filter_count,
                       plan->filter_count == 1 ? "" : "s");
}

hone_status hone_plan_bind(hone_plan *plan, size_t index, hone_image *second, hone_error *error)
{
    TRY(plan_check(plan, "hone_plan_bind", error));
    if (index >= plan->filter_count)
        return plan_no_such_filter(plan, error);
    if (!second)
        return error_usage(error, "hone_plan_bind needs an image, not NULL");
    const struct filter_case *c = &plan->cases[index];
    const hone_image_desc *desc = hone_image_get_desc(second), *wanted = &c->second;
    if (c->filter->inputs < 2)
        return error_usage(error, "%s takes one image", c->filter->name);
    if (!desc_same(desc, wanted) || second->device != plan->device)
        return error_usage(error, "the second image of %s is not the one that the plan was made for",
                           c->filter->name);
    plan->second[index] = second;
    return HONE_OK;
}

void plan_settle(hone_plan *plan)
{
    plan->steady = true;
    for (size_t i = 0; i < plan->now.count; i++)
        trial_end(&plan->now.steps[i]->trial);
}

size_t plan_alignment(const hone_plan *plan, bool of_results)
{
    const struct step *step = plan->now.steps[of_results ? plan->now.count - 1 : 0];
    const unsigned align = instance_variant(step->instance)->align;
    return align ? align : 1;
}
