/* SPDX-License-Identifier: BSD-2-Clause */
/* The steps that a plan's filters become. */
#include "base/error.h"
#include "base/mem.h"
#include "filter/case.h"
#include "plan/internal.h"

#include <stdlib.h>

enum { ROW_ALIGN = 64 }; /* rows of intermediate images begin where wide loads like it */

static void release(struct step **slot)
{
    struct step *step = *slot;
    *slot = NULL;
    if (!step || --step->owners > 0)
        return;
    trial_end(&step->trial);
    instance_destroy(&step->instance);
    memory_destroy(&step->between);
    free(step->config);
    free(step);
}

void layout_finish(struct layout *layout)
{
    for (size_t i = 0; i < layout->count; i++)
        release(&layout->steps[i]);
    layout->count = 0;
}

const hone_image_desc *layout_output(const struct layout *layout)
{
    return case_result(instance_case(layout->steps[layout->count - 1]->instance));
}

/* What no kernel can index is refused before anything is compiled, and before a caller reads pixels for
 * it. */
static hone_status check_sizes(const struct filter_case *c, hone_error *error)
{
    const hone_image_desc *in = case_input(c), *out = case_result(c);
    hone_status status = instance_check_surface(in, hone_image_row_bytes(in), 0, error);
    if (!status && c->filter->inputs > 1)
        status = instance_check_surface(&c->second, hone_image_row_bytes(&c->second), 0, error);
    return status ? status : instance_check_surface(out, hone_image_row_bytes(out), 0, error);
}

/* Memory for the result of a step; that of the step it replaces (NULL: none) where it is large enough. */
static hone_status make_between(hone_plan *plan, struct step *step, const struct step *old, hone_error *error)
{
    hone_image_desc padded = *case_result(instance_case(step->instance));
    size_t row = hone_image_row_bytes(&padded);
    padded.pitch = (row + ROW_ALIGN - 1) / ROW_ALIGN * ROW_ALIGN;
    size_t bytes = hone_image_bytes(&padded);
    step->between_pitch = padded.pitch;
    if (old && old->between && memory_bytes(old->between) >= bytes) {
        step->between = memory_share(old->between);
        return HONE_OK;
    }
    return memory_create(&step->between, plan->device, bytes, HONE_MEMORY_DEVICE, error);
}

static hone_status make_step(struct step **out, hone_plan *plan, const struct filter_case *c, size_t first,
                             const struct step *old, bool last, hone_error *error)
{
    struct step *step = mem_new(1, sizeof *step);
    if (!step)
        return error_memory(error, "a step of a plan");
    step->owners = 1;
    step->first = first;
    hone_status status = check_sizes(c, error);
    THEN(status, choosing_make(plan, step, c, old ? old->instance : NULL, error));
    if (!status && !last)
        status = make_between(plan, step, old, error);
    THEN(status, instance_expect_pitch(step->instance, first == 0 ? plan->input.pitch : 0,
                                       last && plan->input.pitch, error));
    if (status)
        release(&step);
    *out = step;
    return status;
}

/* The step of the plan as it is that begins with this filter, or NULL. */
static struct step *step_at(const hone_plan *plan, size_t first)
{
    for (size_t i = 0; i < plan->now.count; i++)
        if (plan->now.steps[i]->first == first)
            return plan->now.steps[i];
    return NULL;
}

/* The next step: of the plan as it is where that one would be made again, or a new one. */
static hone_status next_step(struct layout *layout, hone_plan *plan, const struct filter_case *c,
                             size_t first, size_t taken, size_t changed, hone_error *error)
{
    struct step **out = &layout->steps[layout->count], *old = step_at(plan, first);
    bool touched = changed >= first && changed < first + taken, last = first + taken == plan->filter_count;
    hone_status status = HONE_OK;
    if (old && !touched && last == !old->between && case_same(c, instance_case(old->instance))) {
        old->owners++;
        *out = old;
    } else {
        status = make_step(out, plan, c, first, old, last, error);
    }
    layout->count += status == HONE_OK;
    return status;
}

/* What cannot run together after all (a driver refuses the kernel, say) runs one by one. */
static hone_status add_step(struct layout *layout, hone_plan *plan, const struct filter_case *cases,
                            size_t first, size_t *taken, size_t changed, hone_error *error)
{
    const size_t count = plan->filter_count - first;
    hone_plan_options apart = plan->options;
    struct filter_case c;
    apart.no_fuse = true;
    TRY(fusing_next(&c, taken, plan, cases + first, count, &plan->options, error));
    hone_status status = next_step(layout, plan, &c, first, *taken, changed, error);
    case_finish(&c);
    if (status && *taken > 1 &&
        fusing_next(&c, taken, plan, cases + first, count, &apart, error) == HONE_OK) {
        status = next_step(layout, plan, &c, first, *taken, changed, error);
        case_finish(&c);
    }
    return status;
}

hone_status layout_make(struct layout *layout, hone_plan *plan, const struct filter_case *cases,
                        size_t changed, hone_error *error)
{
    hone_status status = HONE_OK;
    *layout = (struct layout){0};
    for (size_t first = 0, taken = 1; first < plan->filter_count && !status; first += taken)
        status = add_step(layout, plan, cases, first, &taken, changed, error);
    if (status)
        layout_finish(layout);
    return status;
}
