/* SPDX-License-Identifier: BSD-2-Clause */
/* Arguments of filters that run in the kernel of another; they follow those of its only pass. */
#include "base/error.h"
#include "base/mem.h"
#include "filter/instance_internal.h"

#include <stdlib.h>

hone_status fused_parse(struct instance *instance, hone_error *error)
{
    hone_status status = HONE_OK;
    unsigned slot = instance->arguments[0].slots;
    for (unsigned stage = 0; stage < instance->c.fused_count && !status; stage++) {
        struct argument_list *arguments = &instance->fused_arguments[stage];
        status = arguments_parse(arguments, instance->c.fused[stage]->filter->point->arguments, slot, error);
        slot = arguments->slots;
    }
    return status;
}

typedef hone_status (*fused_step)(struct instance *instance, unsigned stage, const struct argument *argument,
                                  const void *user, hone_error *error);

static hone_status each_fused(struct instance *instance, fused_step step, const void *user, hone_error *error)
{
    hone_status status = HONE_OK;
    for (unsigned stage = 0; stage < instance->c.fused_count; stage++)
        for (unsigned a = 0; a < instance->fused_arguments[stage].count && !status; a++)
            status = step(instance, stage, &instance->fused_arguments[stage].list[a], user, error);
    return status;
}

static hone_status make_table(struct instance *instance, unsigned stage, const struct argument *argument,
                              size_t bytes, hone_error *error)
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
    return status ? status : kernel_set_memory(instance->kernels[0], argument->slot, *table, error);
}

static hone_status set_real(struct instance *instance, const struct filter_case *c,
                            const struct argument *argument, hone_error *error)
{
    double number = 0;
    if (!case_real(c, argument->text, &number))
        return error_set(error, HONE_ERROR_INTERNAL, "a point filter names the unknown number '%s'",
                         argument->text);
    float real = (float)number;
    int32_t whole = (int32_t)number;
    return argument->kind == ARGUMENT_FLOAT || c->in.type == HONE_F32
               ? kernel_set_value(instance->kernels[0], argument->slot, &real, sizeof real, error)
               : kernel_set_value(instance->kernels[0], argument->slot, &whole, sizeof whole, error);
}

static hone_status set_fixed(struct instance *instance, unsigned stage, const struct argument *argument,
                             const void *user, hone_error *error)
{
    (void)user;
    const struct filter_case *c = instance->c.fused[stage];
    struct case_scope names;
    int64_t value = 0;
    if (argument->kind == ARGUMENT_SURFACE)
        return HONE_OK; /* set at every run */
    if (argument->kind == ARGUMENT_FLOAT || argument->kind == ARGUMENT_NUMBER)
        return set_real(instance, c, argument, error);
    case_scope_init(&names, c, instance->device);
    TRY(expr_text_value(argument->text, &names.scope, 0, &value, error));
    if (argument->kind == ARGUMENT_TABLE)
        return make_table(instance, stage, argument, value > 0 ? (size_t)value : 1, error);
    int32_t number = (int32_t)value;
    return kernel_set_value(instance->kernels[0], argument->slot, &number, sizeof number, error);
}

hone_status fused_set_fixed(struct instance *instance, hone_error *error)
{
    return each_fused(instance, set_fixed, NULL, error);
}

static hone_status set_second(struct instance *instance, unsigned stage, const struct argument *argument,
                              const void *user, hone_error *error)
{
    const struct surfaces *surfaces = user;
    return argument->kind == ARGUMENT_SURFACE
               ? instance_set_surface(instance->kernels[0], argument->slot, &surfaces->fused[stage],
                                      &instance->c.fused[stage]->second, error)
               : HONE_OK;
}

hone_status fused_set_surfaces(struct instance *instance, const struct surfaces *surfaces, hone_error *error)
{
    return each_fused(instance, set_second, surfaces, error);
}
