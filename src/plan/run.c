/* SPDX-License-Identifier: BSD-2-Clause */
/* Running plans. */
#include "base/error.h"
#include "cl/device.h"
#include "cl/event.h"
#include "cl/selftest.h"
#include "filter/case.h"
#include "image/view.h"
#include "plan/image.h"
#include "plan/internal.h"
#include "plan/plan.h"

static hone_status check_image(const hone_plan *plan, const hone_image *image, const hone_image_desc *wanted,
                               const char *role, hone_error *error)
{
    if (!image || image->device != plan->device)
        return error_usage(error, "the %s image is missing or belongs to another device", role);
    const hone_image_desc *desc = &image->desc;
    if (!desc_same(desc, wanted))
        return error_usage(error, "the %s image is %ux%u %s x%u; the plan was made for %ux%u %s x%u", role,
                           desc->width, desc->height, hone_type_name(desc->type), desc->channels,
                           wanted->width, wanted->height, hone_type_name(wanted->type), wanted->channels);
    return HONE_OK;
}

/* A step reads its neighbours' pixels while others are written: what would come out is not even the same from
 * run to run. */
static hone_status shares_memory(const char *role, hone_error *error)
{
    return error_usage(error,
                       "the %s and the output overlap in memory; a plan cannot work in place: they must be "
                       "different images, the output in memory of its own",
                       role);
}

static hone_status check_seconds(const hone_plan *plan, const hone_image *out, hone_error *error)
{
    for (size_t i = 0; i < plan->filter_count; i++) {
        const struct hone_filter *filter = plan->cases[i].filter;
        if (filter->inputs < 2)
            continue;
        if (!plan->second[i])
            return error_usage(error, "step %zu (%s) has no second image: call hone_plan_bind", i,
                               filter->name);
        if (image_overlaps(plan->second[i], out))
            return shares_memory("second image", error);
    }
    return HONE_OK;
}

static hone_status check_run(const hone_plan *plan, const hone_image *in, const hone_image *out,
                             hone_error *error)
{
    TRY(plan_check(plan, "hone_plan_run", error));
    hone_status status = check_image(plan, in, &plan->input, "input", error);
    THEN(status, check_image(plan, out, hone_plan_output(plan), "output", error));
    if (!status && image_overlaps(in, out))
        status = shares_memory("input", error);
    return status ? status : check_seconds(plan, out, error);
}

/* Where commands may overtake each other, what was handed over must have arrived. */
static hone_status hand_over(hone_plan *plan, hone_image *in, hone_image *out, struct wait_list wait,
                             hone_error *error)
{
    bool moved = false;
    hone_status status = image_hand_over(in, true, wait, &moved, error);
    THEN(status, image_hand_over(out, false, wait, &moved, error));
    for (size_t i = 0; i < plan->filter_count && !status; i++)
        if (plan->second[i])
            status = image_hand_over(plan->second[i], true, wait, &moved, error);
    return status || !moved || !device_is_out_of_order(plan->device)
               ? status
               : hone_device_finish(plan->device, error);
}

static struct surfaces step_surfaces(const hone_plan *plan, size_t index, const hone_image *in,
                                     const hone_image *out)
{
    const struct step *step = plan->now.steps[index], *before = index ? plan->now.steps[index - 1] : NULL;
    const struct filter_case *c = instance_case(step->instance);
    struct surfaces surfaces = {
        .in = before ? (struct surface){before->between, 0, before->between_pitch} : image_surface(in),
        .out = step->between ? (struct surface){step->between, 0, step->between_pitch} : image_surface(out)};
    for (unsigned member = 0; member <= c->fused_count; member++) {
        struct surface *place = member == c->before
                                    ? &surfaces.second
                                    : &surfaces.fused[member < c->before ? member : member - 1];
        if (plan->second[step->first + member])
            *place = image_surface(plan->second[step->first + member]);
    }
    return surfaces;
}

/* One step; its trial, if any, says which configuration takes this run, and learns how long it took. */
static hone_status enqueue_step(hone_device *device, struct step *step, const struct surfaces *surfaces,
                                struct wait_list wait, hone_event **done, hone_error *error)
{
    if (!step->trial)
        return instance_enqueue(step->instance, surfaces, wait, done, error);
    hone_event *end = NULL, *noted = NULL;
    struct instance *instance = trial_turn(step->trial, step->instance);
    hone_status status = instance_enqueue(instance, surfaces, wait, &end, error);
    if (status && instance != step->instance) {
        /* What was only tried must not cost anyone a result. A part of it may have begun. */
        trial_failed(step->trial, instance);
        instance = step->instance;
        status = hone_device_finish(device, error);
        THEN(status, instance_enqueue(instance, surfaces, wait, &end, error));
    }
    if (!status && (!done || event_copy(&noted, end, NULL) == HONE_OK))
        trial_note(step->trial, instance, done ? noted : end);
    if (done)
        *done = end;
    return status;
}

/* Events in between are needed to chain (out of order) and for time stamps. */
static hone_status enqueue_steps(hone_plan *plan, hone_image *in, hone_image *out, struct wait_list wait,
                                 hone_event **done, hone_error *error)
{
    const bool chained = device_is_out_of_order(plan->device),
               timed = done && device_keeps_times(plan->device);
    hone_event *all = NULL;
    hone_status status = HONE_OK;
    for (size_t i = 0; i < plan->now.count && !status; i++) {
        const struct surfaces surfaces = step_surfaces(plan, i, in, out);
        struct wait_list after = i == 0 ? wait : (struct wait_list){0};
        if (all && chained)
            after = (struct wait_list){(const hone_event *const *)&all, 1};
        hone_event *next = NULL;
        const bool events = chained || timed || (done && i + 1 == plan->now.count);
        status =
            enqueue_step(plan->device, plan->now.steps[i], &surfaces, after, events ? &next : NULL, error);
        event_note_step(next, plan->now.steps[i]->first);
        if (!status && events && all)
            event_join(&all, &next, &all);
        else if (!status && events)
            all = next;
    }
    if (status) /* nothing may still use the caller's memory when an error comes back */
        hone_device_finish(plan->device, NULL);
    if (status || !done)
        hone_event_destroy(&all);
    else
        *done = all;
    return status;
}

/* Trials that know enough end before a run begins. */
static hone_status conclude_trials(hone_plan *plan, hone_error *error)
{
    hone_status status = HONE_OK;
    for (size_t i = 0; i < plan->now.count && !status; i++) {
        struct step *step = plan->now.steps[i];
        if (step->trial && trial_conclude(&step->trial, &step->instance, &step->origin))
            status = choosing_note(step, error);
    }
    return status;
}

/* A result that belongs into a 2D image goes there after the last step. */
static hone_status enqueue_store(hone_plan *plan, hone_image *out, hone_event **computed, hone_event **done,
                                 hone_error *error)
{
    hone_event *stored = NULL;
    hone_status status = image_store(out, (struct wait_list){(const hone_event *const *)computed, 1},
                                     done ? &stored : NULL, error);
    if (status)
        hone_device_finish(plan->device, NULL);
    if (!status && done)
        event_join(computed, &stored, done);
    hone_event_destroy(computed);
    return status;
}

static hone_status enqueue_all(hone_plan *plan, hone_image *in, hone_image *out, struct wait_list list,
                               hone_event **done, hone_error *error)
{
    hone_event *computed = NULL;
    hone_status status = hand_over(plan, in, out, list, error);
    THEN(status, enqueue_steps(plan, in, out, list, out->object ? &computed : done, error));
    return status || !out->object ? status : enqueue_store(plan, out, &computed, done, error);
}

hone_status hone_plan_run(hone_plan *plan, hone_image *in, hone_image *out, const hone_event *const *wait,
                          size_t wait_count, hone_event **done, hone_error *error)
{
    struct copy_tally tally;
    if (done)
        *done = NULL;
    hone_status status = check_run(plan, in, out, error);
    THEN(status, conclude_trials(plan, error));
    if (status)
        return status;
    copy_tally_begin(&tally);
    status = enqueue_all(plan, in, out, (struct wait_list){wait, wait_count}, done, error);
    copy_tally_end(&tally);
    plan->copies = tally.counts;
    return status;
}

static double event_seconds(const hone_plan *plan, const hone_event *event)
{
    hone_times times;
    if (!device_profiles(plan->device) || !selftest_holds(plan->device, SELFTEST_CLOCK) ||
        hone_event_times(event, &times, NULL) != HONE_OK || times.ended <= times.started)
        return 0;
    return (double)(times.ended - times.started) * 1e-9;
}

/* What a run tells of its commands. */
struct listener {
    plan_tell tell; /* NULL: nobody listens */
    void *user;
};

/* Waits for it. */
static hone_status take_back(hone_image *out, const hone_event *done, const struct listener *listener,
                             hone_error *error)
{
    hone_event *back = NULL;
    hone_status status = listener->tell ? hone_image_download(out, NULL, 0, &done, 1, &back, error)
                                        : image_take_back(out, done, error);
    if (!status && back)
        status = hone_event_wait(back, error);
    if (!status && listener->tell) {
        event_each_command(done, listener->tell, listener->user);
        event_each_command(back, listener->tell, listener->user);
    }
    hone_event_destroy(&back);
    return status;
}

static hone_status apply_images(hone_plan *plan, hone_image *in, hone_image *out,
                                const struct listener *listener, hone_error *error)
{
    hone_event *done = NULL;
    struct copy_tally tally;
    copy_tally_begin(&tally);
    hone_status status = hone_plan_run(plan, in, out, NULL, 0, &done, error);
    THEN(status, take_back(out, done, listener, error));
    copy_tally_end(&tally);
    plan->copies = tally.counts;
    plan->seconds = status ? 0 : event_seconds(plan, done);
    if (status)
        hone_device_finish(plan->device, NULL);
    else
        device_has_finished(plan->device);
    hone_event_destroy(&done);
    return status;
}

hone_status plan_apply(hone_plan *plan, const void *in, size_t in_pitch, void *out, size_t out_pitch,
                       plan_tell tell, void *user, hone_error *error)
{
    const struct listener listener = {tell, user};
    hone_image_desc in_desc = plan->input, out_desc = *hone_plan_output(plan);
    hone_image *source = NULL, *target = NULL;
    in_desc.pitch = in_pitch;
    out_desc.pitch = out_pitch;
    hone_status status = hone_image_wrap(&source, plan->device, &in_desc, (void *)in, error);
    THEN(status, hone_image_wrap(&target, plan->device, &out_desc, out, error));
    THEN(status, apply_images(plan, source, target, &listener, error));
    hone_image_destroy(&source);
    hone_image_destroy(&target);
    return status;
}

hone_status hone_plan_apply(hone_plan *plan, const void *in, size_t in_pitch, void *out, size_t out_pitch,
                            hone_error *error)
{
    hone_status status = plan_check(plan, "hone_plan_apply", error);
    if (!status && (!in || !out))
        status =
            error_usage(error, "hone_plan_apply needs pixels (in) and room for the result (out): %s is NULL",
                        in ? "out" : "in");
    return status ? status : plan_apply(plan, in, in_pitch, out, out_pitch, NULL, NULL, error);
}

hone_status hone_apply(hone_device *device, const char *text, const hone_image_desc *in_desc, const void *in,
                       hone_image_desc *out_desc, void *out, size_t out_bytes, hone_error *error)
{
    hone_chain *chain = NULL;
    hone_plan *plan = NULL;
    hone_status status = hone_chain_parse(&chain, text, error);
    THEN(status, hone_plan_create(&plan, device, chain, in_desc, NULL, error));
    if (!status && hone_image_bytes(hone_plan_output(plan)) > out_bytes)
        status = error_usage(error, "the result has %zu bytes; there is room for %zu",
                             hone_image_bytes(hone_plan_output(plan)), out_bytes);
    if (!status && out_desc)
        *out_desc = *hone_plan_output(plan);
    THEN(status, hone_plan_apply(plan, in, in_desc->pitch, out, 0, error));
    hone_plan_destroy(&plan);
    hone_chain_destroy(&chain);
    return status;
}
