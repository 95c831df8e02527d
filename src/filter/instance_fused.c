/* SPDX-License-Identifier: BSD-2-Clause */
/* Arguments of filters that run in the kernel of another; they follow those of its only pass. */
#include "base/error.h"
#include "base/mem.h"
#include "filter/instance_internal.h"

#include <stdlib.h>

typedef hone_status (*fused_step)(struct instance *instance, unsigned stage, unsigned slot,
                                  const struct argument *argument, const void *user, hone_error *error);

/* Every argument with its place among the kernel's. */
static hone_status each_fused(struct instance *instance, fused_step step, const void *user, hone_error *error)
{
    unsigned slot = pass_argument_slots(&instance->variant->passes[0]);
    for (unsigned stage = 0; stage < instance->c.fused_count; stage++) {
        const struct point_arithmetic *point = instance->c.fused[stage]->filter->point;
        for (unsigned i = 0; i < MAX_POINT_ARGUMENTS && point->arguments[i]; i++) {
            struct argument argument;
            hone_status status = argument_parse(&argument, point->arguments[i], error);
            if (!status)
                status = step(instance, stage, slot, &argument, user, error);
            if (status)
                return status;
            slot += argument_slots(&argument);
        }
    }
    return HONE_OK;
}

unsigned fused_argument_slots(const struct filter_case *c)
{
    unsigned slots = 0;
    for (unsigned stage = 0; stage < c->fused_count; stage++) {
        const struct point_arithmetic *point = c->fused[stage]->filter->point;
        for (unsigned i = 0; i < MAX_POINT_ARGUMENTS && point->arguments[i]; i++) {
            struct argument argument;
            slots += argument_parse(&argument, point->arguments[i], NULL) == HONE_OK
                         ? argument_slots(&argument)
                         : 0;
        }
    }
    return slots;
}

static hone_status make_table(struct instance *instance, unsigned stage, unsigned slot,
                              const struct argument *argument, size_t bytes, hone_error *error)
{
    const struct filter_case *c = instance->c.fused[stage];
    void *content = c->filter->table ? mem_new(bytes, 1) : NULL;
    if (!content)
        return error_memory(error, "a table");
    c->filter->table(c, argument->index, content, bytes);
    struct memory **table = &instance->fused_tables[stage];
    memory_destroy(table);
    hone_status status = memory_create_table(table, instance->device, content, bytes, error);
    free(content);
    return status ? status : kernel_set_memory(instance->kernels[0], slot, *table, error);
}

static hone_status set_real(struct instance *instance, const struct filter_case *c, unsigned slot,
                            const struct argument *argument, hone_error *error)
{
    double number = 0;
    if (!case_real(c, argument->text, &number))
        return error_set(error, HONE_ERROR_INTERNAL, "a point filter names the unknown number '%s'",
                         argument->text);
    float real = (float)number;
    int32_t whole = (int32_t)number;
    return argument->kind == ARGUMENT_FLOAT || c->in.type == HONE_F32
               ? kernel_set_value(instance->kernels[0], slot, &real, sizeof real, error)
               : kernel_set_value(instance->kernels[0], slot, &whole, sizeof whole, error);
}

static hone_status set_fixed(struct instance *instance, unsigned stage, unsigned slot,
                             const struct argument *argument, const void *user, hone_error *error)
{
    (void)user;
    const struct filter_case *c = instance->c.fused[stage];
    struct case_scope names;
    int64_t value = 0;
    if (argument->kind == ARGUMENT_SURFACE)
        return HONE_OK; /* set at every run */
    if (argument->kind == ARGUMENT_FLOAT || argument->kind == ARGUMENT_NUMBER)
        return set_real(instance, c, slot, argument, error);
    case_scope_init(&names, c, instance->device);
    hone_status status = expr_text_value(argument->text, &names.scope, 0, &value, error);
    if (status)
        return status;
    if (argument->kind == ARGUMENT_TABLE)
        return make_table(instance, stage, slot, argument, value > 0 ? (size_t)value : 1, error);
    int32_t number = (int32_t)value;
    return kernel_set_value(instance->kernels[0], slot, &number, sizeof number, error);
}

hone_status fused_set_fixed(struct instance *instance, hone_error *error)
{
    return each_fused(instance, set_fixed, NULL, error);
}

static hone_status set_second(struct instance *instance, unsigned stage, unsigned slot,
                              const struct argument *argument, const void *user, hone_error *error)
{
    const struct surfaces *surfaces = user;
    return argument->kind == ARGUMENT_SURFACE
               ? instance_set_surface(instance->kernels[0], slot, &surfaces->fused[stage],
                                      &instance->c.fused[stage]->second, error)
               : HONE_OK;
}

hone_status fused_set_surfaces(struct instance *instance, const struct surfaces *surfaces, hone_error *error)
{
    return each_fused(instance, set_second, surfaces, error);
}
