/* SPDX-License-Identifier: BSD-2-Clause */
/* Running an instance: its passes, and what goes before and after them. */
#include "base/error.h"
#include "cl/device.h"
#include "cl/event.h"
#include "filter/instance_internal.h"
#include "filter/registry.h"

/* Which commands of a sequence have events; each costs the driver time, more so with stamps. */
enum sequence_events {
    EVENTS_NONE,
    EVENTS_LAST, /* whose end is that of all */
    EVENTS_ENDS, /* copies, and the first and the last pass: enough to tell kernels from copies */
    EVENTS_ALL
};

/* A sequence of commands on the device's queue. In order, only the first waits; out of order, each waits for
 * the one before. */
struct sequence {
    struct wait_list wait;
    enum sequence_events events;
    bool chained;
    hone_event *all; /* what is enqueued so far, as one event */
};

static enum sequence_events events_for(const struct hone_device *device, bool wanted)
{
    if (device_is_out_of_order(device))
        return EVENTS_ALL;
    if (!wanted)
        return EVENTS_NONE;
    return !device_keeps_times(device) ? EVENTS_LAST : device_times_ends(device) ? EVENTS_ENDS : EVENTS_ALL;
}

static struct wait_list sequence_wait(struct sequence *s)
{
    return s->chained && s->all ? (struct wait_list){(const hone_event *const *)&s->all, 1} : s->wait;
}

/* The place for the next command's event, or NULL where `least` is more than the sequence wants. */
static hone_event **sequence_slot(struct sequence *s, hone_event **next, enum sequence_events least)
{
    *next = NULL;
    return s->events >= least ? next : NULL;
}

static void sequence_advance(struct sequence *s, hone_event *next)
{
    s->wait = (struct wait_list){0};
    if (next && s->all)
        event_join(&s->all, &next, &s->all);
    else if (next)
        s->all = next;
}

hone_status instance_check_surface(const hone_image_desc *desc, size_t pitch, size_t offset,
                                   hone_error *error)
{
    const size_t size = hone_type_size(desc->type);
    if (offset / size <= INT32_MAX && pitch / size <= INT32_MAX / desc->height)
        return HONE_OK;
    return error_unsupported(
        error,
        "an image of %ux%u x%u with rows %zu bytes apart is too large for one piece: 2^31 "
        "elements is the limit",
        desc->width, desc->height, desc->channels, pitch);
}

hone_status instance_set_surface(struct kernel *kernel, unsigned slot, const struct surface *surface,
                                 const hone_image_desc *desc, hone_error *error)
{
    size_t size = hone_type_size(desc->type);
    int32_t offset32 = (int32_t)(surface->offset / size), pitch32 = (int32_t)(surface->pitch / size);
    hone_status refused = instance_check_surface(desc, surface->pitch, surface->offset, error);
    if (refused)
        return refused;
    TRY(kernel_set_memory(kernel, slot, surface->memory, error));
    TRY(kernel_set_value(kernel, slot + 1, &offset32, sizeof offset32, error));
    return kernel_set_value(kernel, slot + 2, &pitch32, sizeof pitch32, error);
}

static hone_status set_surfaces(struct instance *instance, size_t pass, const struct surfaces *surfaces,
                                hone_error *error)
{
    const struct surface *roles[] = {&surfaces->in, &surfaces->second, &surfaces->out};
    const struct argument_list *arguments = &instance->arguments[pass];
    hone_status status = HONE_OK;
    for (unsigned a = 0; a < arguments->count && !status; a++) {
        const struct argument *argument = &arguments->list[a];
        if (argument->kind == ARGUMENT_SURFACE)
            status = instance_set_surface(instance->kernels[pass], argument->slot, roles[argument->surface],
                                          instance_role(instance, argument->surface), error);
    }
    return status || !instance->c.fused_count ? status : fused_set_surfaces(instance, surfaces, error);
}

static size_t image_width(const struct instance *instance, enum surface_role role, int reading)
{
    return instance_role(instance, role)->width / (reading == READ_PACKED ? 4 : 1);
}

/* Buffer to image object, for variants that read images: by way of tight rows where the buffer's are
 * padded. */
static hone_status fill_image(struct instance *instance, enum surface_role role, int reading,
                              const struct surface *surface, struct sequence *s, hone_error *error)
{
    const hone_image_desc *desc = instance_role(instance, role);
    struct memory *from = surface->memory;
    size_t row = hone_image_row_bytes(desc), offset = surface->offset;
    hone_event *next;
    hone_status status = HONE_OK;
    if (surface->pitch != row) {
        const struct span source = {offset, surface->pitch, row, desc->height},
                          target = {0, row, row, desc->height};
        TRY(memory_copy(from, &source, instance->tight, &target, sequence_wait(s),
                        sequence_slot(s, &next, EVENTS_ENDS), error));
        sequence_advance(s, next);
        from = instance->tight;
        offset = 0;
    }
    status = memory_buffer_to_image(from, offset, instance->images[role][reading],
                                    image_width(instance, role, reading), desc->height, sequence_wait(s),
                                    sequence_slot(s, &next, EVENTS_ENDS), error);
    if (!status)
        sequence_advance(s, next);
    return status;
}

static hone_status empty_image(struct instance *instance, int reading, const struct surface *surface,
                               struct sequence *s, hone_error *error)
{
    const hone_image_desc *desc = &instance->c.out;
    size_t row = hone_image_row_bytes(desc);
    bool padded = surface->pitch != row;
    hone_event *next;
    TRY(memory_image_to_buffer(instance->images[SURFACE_OUT][reading],
                               padded ? instance->tight : surface->memory, padded ? 0 : surface->offset,
                               image_width(instance, SURFACE_OUT, reading), desc->height, sequence_wait(s),
                               sequence_slot(s, &next, EVENTS_LAST), error));
    sequence_advance(s, next);
    if (!padded)
        return HONE_OK;
    const struct span source = {0, row, row, desc->height};
    const struct span target = {surface->offset, surface->pitch, row, desc->height};
    hone_status status = memory_copy(instance->tight, &source, surface->memory, &target, sequence_wait(s),
                                     sequence_slot(s, &next, EVENTS_LAST), error);
    if (!status)
        sequence_advance(s, next);
    return status;
}

static hone_status fill_images(struct instance *instance, const struct surfaces *surfaces, struct sequence *s,
                               hone_error *error)
{
    const struct surface *roles[] = {&surfaces->in, &surfaces->second};
    hone_status status = HONE_OK;
    for (int role = SURFACE_IN; role <= SURFACE_SECOND; role++)
        for (int reading = 0; reading < READINGS && !status; reading++)
            if (instance->images[role][reading])
                status = fill_image(instance, (enum surface_role)role, reading, roles[role], s, error);
    return status;
}

static uint64_t image_traffic(const hone_image_desc *desc)
{
    return (uint64_t)hone_image_row_bytes(desc) * desc->height;
}

/* What the arguments of a pass hold, each once. */
static uint64_t pass_traffic(const struct instance *instance, size_t pass, const struct surfaces *surfaces)
{
    const struct argument_list *arguments = &instance->arguments[pass];
    bool seen[SURFACE_COUNT] = {false};
    uint64_t bytes = 0;
    for (unsigned a = 0; a < arguments->count; a++) {
        const struct argument *argument = &arguments->list[a];
        const bool is_surface = argument->kind == ARGUMENT_SURFACE || argument->kind == ARGUMENT_IMAGE;
        if (is_surface && !seen[argument->surface])
            bytes += image_traffic(instance_role(instance, argument->surface));
        if (is_surface)
            seen[argument->surface] = true;
        if (argument->kind == ARGUMENT_SCRATCH)
            bytes += memory_bytes(instance->scratch[argument->index]);
    }
    for (unsigned i = 0; i < instance->c.fused_count; i++)
        if (surfaces->fused[i].memory)
            bytes += image_traffic(&instance->c.fused[i]->second);
    return bytes;
}

/* From which level on a pass has an event; `copies` come behind the last one. */
static enum sequence_events pass_events(const struct instance *instance, size_t pass, bool copies)
{
    const bool last = pass + 1 == variant_pass_count(instance->variant);
    return last && !copies ? EVENTS_LAST : last || pass == 0 ? EVENTS_ENDS : EVENTS_ALL;
}

static hone_status run_passes(struct instance *instance, const struct surfaces *surfaces, bool copies,
                              struct sequence *s, hone_error *error)
{
    hone_status status = HONE_OK;
    for (size_t p = 0; p < variant_pass_count(instance->variant) && !status; p++) {
        const enum sequence_events least = pass_events(instance, p, copies);
        const struct pass_geometry *g = &instance->geometry[p];
        struct launch launch = {.dimensions = g->dimensions};
        hone_event *next;
        for (int d = 0; d < 3; d++) {
            launch.global[d] = (size_t)g->global[d];
            launch.local[d] = (size_t)g->local[d];
        }
        status = set_surfaces(instance, p, surfaces, error);
        THEN(status, kernel_enqueue(instance->kernels[p], &launch, sequence_wait(s),
                                    sequence_slot(s, &next, least), error));
        if (!status)
            event_note_bytes(next, pass_traffic(instance, p, surfaces));
        if (!status)
            sequence_advance(s, next);
    }
    return status;
}

/* Surfaces that do not lie as the variant needs them are replaced by copies that do. */

static bool is_misaligned(const struct instance *instance, const struct surface *surface)
{
    unsigned align = instance->variant->align;
    return align && surface->memory &&
           ((memory_skew(surface->memory) + surface->offset) % align || surface->pitch % align);
}

static struct span surface_span(const struct surface *surface, const hone_image_desc *desc)
{
    return (struct span){surface->offset, surface->pitch, hone_image_row_bytes(desc), desc->height};
}

static hone_status move_surface(const struct surface *from, const struct surface *to,
                                const hone_image_desc *desc, enum sequence_events least, struct sequence *s,
                                hone_error *error)
{
    const struct span source = surface_span(from, desc), target = surface_span(to, desc);
    hone_event *next;
    hone_status status = memory_copy(from->memory, &source, to->memory, &target, sequence_wait(s),
                                     sequence_slot(s, &next, least), error);
    if (!status)
        sequence_advance(s, next);
    return status;
}

static size_t aligned_pitch(const hone_image_desc *desc)
{
    enum { ROW_ALIGN = 64 };
    return (hone_image_row_bytes(desc) + ROW_ALIGN - 1) / ROW_ALIGN * ROW_ALIGN;
}

/* Memory for the copy of a surface, if there is none yet. */
static hone_status reserve_aligned(struct instance *instance, enum surface_role role, hone_error *error)
{
    const hone_image_desc *desc = instance_role(instance, role);
    const size_t bytes = aligned_pitch(desc) * desc->height;
    struct memory **copy = &instance->aligned[role];
    if (*copy && memory_bytes(*copy) >= bytes)
        return HONE_OK;
    memory_destroy(copy);
    return memory_create(copy, instance->device, bytes, HONE_MEMORY_DEVICE, error);
}

static hone_status expect_pitch(struct instance *instance, enum surface_role role, size_t pitch,
                                hone_error *error)
{
    const unsigned align = instance->variant->align;
    return align && pitch % align ? reserve_aligned(instance, role, error) : HONE_OK;
}

hone_status instance_expect_pitch(struct instance *instance, size_t pitch, bool result, hone_error *error)
{
    const size_t row = hone_image_row_bytes(instance_role(instance, SURFACE_OUT));
    hone_status status = expect_pitch(instance, SURFACE_IN, pitch, error);
    if (!status && instance->c.filter->inputs > 1)
        status = expect_pitch(instance, SURFACE_SECOND, instance->c.second.pitch, error);
    return status || !result ? status : expect_pitch(instance, SURFACE_OUT, row, error);
}

static hone_status align_surface(struct instance *instance, enum surface_role role, struct surface *surface,
                                 struct sequence *s, hone_error *error)
{
    const hone_image_desc *desc = instance_role(instance, role);
    struct memory **copy = &instance->aligned[role];
    if (!is_misaligned(instance, surface))
        return HONE_OK;
    const hone_status status = reserve_aligned(instance, role, error);
    const struct surface original = *surface;
    *surface = (struct surface){*copy, 0, aligned_pitch(desc)};
    return status || role == SURFACE_OUT ? status
                                         : move_surface(&original, surface, desc, EVENTS_ENDS, s, error);
}

static bool has_copies_behind(const struct instance *instance, const struct surfaces *placed,
                              const struct surfaces *wanted)
{
    bool images = false;
    for (int reading = 0; reading < READINGS; reading++)
        images = images || instance->images[SURFACE_OUT][reading];
    return images || placed->out.memory != wanted->out.memory;
}

static hone_status run_all(struct instance *instance, const struct surfaces *surfaces, struct sequence *s,
                           hone_error *error)
{
    struct surfaces placed = *surfaces;
    struct surface *roles[] = {&placed.in, &placed.second, &placed.out};
    hone_status status = HONE_OK;
    for (int role = 0; role < SURFACE_COUNT && !status; role++)
        status = align_surface(instance, (enum surface_role)role, roles[role], s, error);
    THEN(status, fill_images(instance, &placed, s, error));
    THEN(status, run_passes(instance, &placed, has_copies_behind(instance, &placed, surfaces), s, error));
    for (int reading = 0; reading < READINGS && !status; reading++)
        if (instance->images[SURFACE_OUT][reading])
            status = empty_image(instance, reading, &placed.out, s, error);
    if (!status && placed.out.memory != surfaces->out.memory)
        status = move_surface(&placed.out, &surfaces->out, case_result(&instance->c), EVENTS_LAST, s, error);
    return status;
}

hone_status instance_enqueue(struct instance *instance, const struct surfaces *surfaces,
                             struct wait_list wait, hone_event **done, hone_error *error)
{
    struct sequence s = {.wait = wait,
                         .events = events_for(instance->device, done),
                         .chained = device_is_out_of_order(instance->device)};
    hone_status status = run_all(instance, surfaces, &s, error);
    if (status || !done)
        hone_event_destroy(&s.all);
    else
        *done = s.all;
    return status;
}
