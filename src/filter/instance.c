/* SPDX-License-Identifier: BSD-2-Clause */
#include "filter/instance_internal.h"

#include "base/error.h"
#include "base/mem.h"
#include "base/text.h"
#include "cache/programs.h"
#include "filter/own/own.h"
#include "filter/registry.h"

#include <stdio.h>
#include <stdlib.h>

/* Every name that an expression of the instance may use. */
struct instance_scope {
    struct case_scope names;
    struct config_scope scope;
};

static const struct expr_scope *open_scope(const struct instance *instance, struct instance_scope *scope)
{
    case_scope_init(&scope->names, &instance->c, instance->device);
    config_scope_init(&scope->scope, instance->variant, &instance->config, &scope->names.scope);
    return &scope->scope.scope;
}

/* ---- Programs ---- */

/* Arguments of a pass as its description has them. */
static unsigned described_slots(const struct instance *instance, size_t pass)
{
    return pass == 0 && instance->c.fused_count ? instance->fused_arguments[instance->c.fused_count - 1].slots
                                                : instance->arguments[pass].slots;
}

static hone_status check_kernel(const struct instance *instance, size_t pass, hone_error *error)
{
    const struct pass_geometry *g = &instance->geometry[pass];
    struct kernel_facts facts;
    TRY(kernel_get_facts(instance->kernels[pass], &facts, error));
    size_t group = g->local[0] ? (size_t)(g->local[0] * g->local[1] * g->local[2]) : 1;
    if (group > facts.max_work_group)
        return error_unsupported(
            error, "kernel '%s' as compiled allows work-groups of %zu, not %zu (registers or local memory)",
            instance->variant->passes[pass].kernel, facts.max_work_group, group);
    const unsigned slots = described_slots(instance, pass) + (instance->probe->rewrite != NULL);
    if (facts.arguments != slots)
        return error_set(error, HONE_ERROR_INTERNAL, "kernel '%s' has %u arguments; its description fills %u",
                         instance->variant->passes[pass].kernel, facts.arguments, slots);
    return HONE_OK;
}

/* What is given to the compiler for a variant. */
struct program_text {
    char label[128];
    struct text source, options;
};

static void program_text_finish(struct program_text *text)
{
    text_finish(&text->source);
    text_finish(&text->options);
}

/* program_text_finish is due in any case. */
static hone_status write_program(struct program_text *out, hone_device *device, const struct filter_case *c,
                                 const struct variant *variant, const struct config *config,
                                 hone_error *error)
{
    *out = (struct program_text){0};
    snprintf(out->label, sizeof out->label, "%s %s %s", c->filter->name, variant->name,
             hone_type_name(c->in.type));
    hone_status status = variant_options(&out->options, device, c, variant, config, error);
    return status ? status
                  : case_source_text(&out->source, device, c, variant->source ? variant->source : "kernel.cl",
                                     error);
}

static struct program_unit unit_of(const struct program_text *text)
{
    return (struct program_unit){text->label, text_view(&text->source), text_view(&text->options)};
}

hone_status variant_digest(char digest[65], hone_device *device, const struct filter_case *c,
                           const struct variant *variant, const struct config *config, hone_error *error)
{
    struct program_text text;
    hone_status status = write_program(&text, device, c, variant, config, error);
    const struct program_unit unit = unit_of(&text);
    THEN(status, programs_digest(device, &unit, digest, error));
    program_text_finish(&text);
    return status;
}

static hone_status make_kernels(struct instance *instance, const struct program_unit *unit, hone_error *error)
{
    const struct variant *variant = instance->variant;
    hone_status status = programs_digest(instance->device, unit, instance->digest, error);
    for (size_t p = 0; p < variant_pass_count(variant) && !status; p++)
        status =
            programs_kernel(&instance->kernels[p], instance->device, unit, variant->passes[p].kernel, error);
    return status;
}

static hone_status load_programs(struct instance *instance, hone_error *error)
{
    struct program_text text;
    hone_status status =
        write_program(&text, instance->device, &instance->c, instance->variant, &instance->config, error);
    if (!status && instance->probe->rewrite)
        status = instance->probe->rewrite(instance->probe->context, &text.source, error);
    const struct program_unit unit = unit_of(&text);
    THEN(status, make_kernels(instance, &unit, error));
    program_text_finish(&text);
    const struct own_source *own = instance->c.filter->own;
    if (status && own)
        return own_blame(own, status, error);
    for (size_t p = 0; p < variant_pass_count(instance->variant) && !status; p++)
        status = check_kernel(instance, p, error);
    return status;
}

/* ---- Memory ---- */

/* Already given to another place of the instance. */
static bool is_taken(const struct instance *instance, const struct memory *memory)
{
    for (int i = 0; i < MAX_SCRATCH; i++)
        if (instance->scratch[i] == memory)
            return true;
    return false;
}

/* Nobody else's, and 0. */
static hone_status make_kept(struct instance *instance, struct memory **memory, size_t bytes,
                             hone_error *error)
{
    const struct span all = {0, bytes, bytes, 1};
    void *zeros = mem_new(bytes, 1);
    if (!zeros)
        return error_memory(error, "a filter's scratch memory");
    hone_status status = memory_create(memory, instance->device, bytes, HONE_MEMORY_DEVICE, error);
    THEN(status, memory_write(*memory, &all, zeros, bytes, (struct wait_list){0}, NULL, error));
    free(zeros);
    return status;
}

static bool is_kept(const struct instance *instance, int index)
{
    return instance->variant->scratch[index].kept;
}

/* The smallest buffer of the other instance's that is large enough, or a new one. */
static hone_status take_buffer(struct instance *instance, struct memory **memory, size_t bytes,
                               hone_error *error)
{
    struct memory *best = NULL;
    for (int i = 0; i < MAX_SCRATCH && instance->other; i++) {
        struct memory *there = instance->other->scratch[i];
        if (there && !is_kept(instance->other, i) && !memory_is_image(there) &&
            memory_bytes(there) >= bytes && (!best || memory_bytes(there) < memory_bytes(best)) &&
            !is_taken(instance, there))
            best = there;
    }
    if (best)
        *memory = memory_share(best);
    return best ? HONE_OK : memory_create(memory, instance->device, bytes, HONE_MEMORY_DEVICE, error);
}

/* The same for an image: `there` is the one in its place in the other instance, or NULL. */
static hone_status take_image(struct instance *instance, struct memory **memory, struct memory *there,
                              const struct image_format *format, size_t width, size_t height,
                              hone_error *error)
{
    if (!there || !memory_is_such_image(there, format, width, height))
        return memory_create_image(memory, instance->device, format, width, height, error);
    *memory = memory_share(there);
    return HONE_OK;
}

static hone_status make_scratch_image(struct instance *instance, size_t index, const struct expr_scope *scope,
                                      hone_error *error)
{
    const struct scratch *wanted = &instance->variant->scratch[index];
    const struct image_format format = {
        wanted->type, wanted->channels ? wanted->channels : instance->c.in.channels, wanted->normalised};
    int64_t width = 0, height = 0;
    hone_status status = expr_text_value(wanted->width, scope, 1, &width, error);
    THEN(status, expr_text_value(wanted->height, scope, 1, &height, error));
    struct memory *there = instance->other ? instance->other->scratch[index] : NULL;
    return status ? status
                  : take_image(instance, &instance->scratch[index], there, &format, (size_t)width,
                               (size_t)height, error);
}

static hone_status make_scratch(struct instance *instance, const struct expr_scope *scope, hone_error *error)
{
    hone_status status = HONE_OK;
    for (size_t i = 0; i < variant_scratch_count(instance->variant) && !status; i++) {
        const struct scratch *wanted = &instance->variant->scratch[i];
        int64_t bytes = 0;
        if (wanted->width) {
            status = make_scratch_image(instance, i, scope, error);
            continue;
        }
        status = expr_text_value(wanted->bytes, scope, 0, &bytes, error);
        const size_t least = bytes > 0 ? (size_t)bytes : 1;
        THEN(status, wanted->kept ? make_kept(instance, &instance->scratch[i], least, error)
                                  : take_buffer(instance, &instance->scratch[i], least, error));
    }
    return status;
}

const hone_image_desc *instance_role(const struct instance *instance, enum surface_role role)
{
    const struct filter_case *c = &instance->c;
    return role == SURFACE_IN ? case_input(c) : role == SURFACE_SECOND ? &c->second : case_result(c);
}

static hone_status make_image(struct instance *instance, const struct argument *argument, hone_error *error)
{
    struct image_shape shape;
    if (!argument_image_shape(argument, &instance->c, &shape) ||
        instance->images[argument->surface][argument->reading])
        return HONE_OK;
    struct memory **image = &instance->images[argument->surface][argument->reading];
    struct memory *there =
        instance->other ? instance->other->images[argument->surface][argument->reading] : NULL;
    const hone_image_desc *desc = instance_role(instance, argument->surface);
    size_t tight = hone_image_row_bytes(desc) * desc->height;
    hone_status status = HONE_OK;
    if (!instance->tight || memory_bytes(instance->tight) < tight) {
        memory_destroy(&instance->tight);
        status = memory_create(&instance->tight, instance->device, tight, HONE_MEMORY_DEVICE, error);
    }
    return status ? status
                  : take_image(instance, image, there, &shape.format, shape.width, shape.height, error);
}

static hone_status make_table(struct instance *instance, const struct argument *argument,
                              const struct expr_scope *scope, hone_error *error)
{
    int64_t bytes = 0;
    hone_status status = expr_text_value(argument->text, scope, 0, &bytes, error);
    if (status || argument->index >= MAX_TABLES || !instance->c.filter->table || bytes < 1)
        return status ? status
                      : error_set(error, HONE_ERROR_INTERNAL, "a pass names a table that does not exist");
    void *content = mem_new((size_t)bytes, 1);
    if (!content)
        return error_memory(error, "a table");
    instance->c.filter->table(&instance->c, argument->index, content, (size_t)bytes);
    struct memory **table = &instance->tables[argument->index];
    memory_destroy(table); /* two passes may name it */
    status = memory_create_table(table, instance->device, content, (size_t)bytes, error);
    free(content);
    return status;
}

typedef hone_status (*argument_step)(struct instance *instance, struct kernel *kernel,
                                     const struct argument *argument, const struct expr_scope *scope,
                                     hone_error *error);

static hone_status each_argument(struct instance *instance, argument_step step, hone_error *error)
{
    struct instance_scope storage;
    const struct expr_scope *scope = open_scope(instance, &storage);
    hone_status status = HONE_OK;
    for (size_t p = 0; p < variant_pass_count(instance->variant); p++)
        for (unsigned a = 0; a < instance->arguments[p].count && !status; a++)
            status = step(instance, instance->kernels[p], &instance->arguments[p].list[a], scope, error);
    return status;
}

static hone_status make_argument_memory(struct instance *instance, struct kernel *kernel,
                                        const struct argument *argument, const struct expr_scope *scope,
                                        hone_error *error)
{
    (void)kernel;
    if (argument->kind == ARGUMENT_IMAGE)
        return make_image(instance, argument, error);
    return argument->kind == ARGUMENT_TABLE ? make_table(instance, argument, scope, error) : HONE_OK;
}

/* ---- Arguments that stay from run to run ---- */

static hone_status set_number(struct instance *instance, struct kernel *kernel, unsigned slot, double number,
                              bool real, hone_error *error)
{
    (void)instance;
    float as_float = (float)number;
    int32_t as_int = (int32_t)number;
    return real ? kernel_set_value(kernel, slot, &as_float, sizeof as_float, error)
                : kernel_set_value(kernel, slot, &as_int, sizeof as_int, error);
}

static hone_status set_expression(struct kernel *kernel, unsigned slot, const struct argument *argument,
                                  const struct expr_scope *scope, hone_error *error)
{
    int64_t value = 0;
    TRY(expr_text_value(argument->text, scope, 0, &value, error));
    if (value < INT32_MIN || value > UINT32_MAX)
        return error_unsupported(error, "'%s' is %lld here, which does not fit a kernel argument",
                                 argument->text, (long long)value);
    uint32_t bits = (uint32_t)value;
    return kernel_set_value(kernel, slot, &bits, sizeof bits, error);
}

static hone_status set_fixed_argument(struct instance *instance, struct kernel *kernel,
                                      const struct argument *argument, const struct expr_scope *scope,
                                      hone_error *error)
{
    const struct filter_case *c = &instance->c;
    const unsigned slot = argument->slot;
    double number = 0;
    int64_t bytes = 0;
    hone_status status;
    switch (argument->kind) {
    case ARGUMENT_IMAGE:
        return kernel_set_memory(kernel, slot, instance->images[argument->surface][argument->reading], error);
    case ARGUMENT_SCRATCH:
        return kernel_set_memory(kernel, slot, instance->scratch[argument->index], error);
    case ARGUMENT_SAMPLER:
        return kernel_set_sampler(kernel, slot, c->border, error);
    case ARGUMENT_BORDER:
        return set_number(instance, kernel, slot, c->border_value, c->in.type == HONE_F32, error);
    case ARGUMENT_TABLE:
        return kernel_set_memory(kernel, slot, instance->tables[argument->index], error);
    case ARGUMENT_LOCAL:
        status = expr_text_value(argument->text, scope, 0, &bytes, error);
        return status ? status : kernel_set_local(kernel, slot, bytes > 0 ? (size_t)bytes : 1, error);
    case ARGUMENT_FLOAT:
    case ARGUMENT_NUMBER:
        if (!case_real(c, argument->text, &number))
            return error_set(error, HONE_ERROR_INTERNAL, "a pass names the unknown number '%s'",
                             argument->text);
        return set_number(instance, kernel, slot, number,
                          argument->kind == ARGUMENT_FLOAT || c->in.type == HONE_F32, error);
    case ARGUMENT_INT:
        return set_expression(kernel, slot, argument, scope, error);
    case ARGUMENT_SURFACE:
        break; /* set at every run */
    }
    return HONE_OK;
}

/* ---- Life ---- */

static hone_status parse_arguments(struct instance *instance, hone_error *error)
{
    hone_status status = HONE_OK;
    for (size_t p = 0; p < variant_pass_count(instance->variant) && !status; p++)
        status = arguments_parse(&instance->arguments[p], instance->variant->passes[p].arguments, 0, error);
    return status ? status : fused_parse(instance, error);
}

/* Leaves the first of `part` equal shares of the work-groups, cut where there are most. */
static void keep_part(struct pass_geometry *g, unsigned part)
{
    int64_t most = 0;
    int at = 0;
    for (int d = 0; d < 3; d++) {
        const int64_t groups = g->global[d] / (g->local[0] ? g->local[d] : 1);
        if (groups > most) {
            most = groups;
            at = d;
        }
    }
    const int64_t kept = most / part > 0 ? most / part : 1;
    g->global[at] = kept * (g->local[0] ? g->local[at] : 1);
}

static hone_status set_extra(struct instance *instance, hone_error *error)
{
    hone_status status = HONE_OK;
    for (size_t p = 0; p < variant_pass_count(instance->variant) && !status && instance->probe->rewrite; p++)
        status = kernel_set_memory(instance->kernels[p], described_slots(instance, p), instance->probe->extra,
                                   error);
    return status;
}

static hone_status measure_passes(struct instance *instance, hone_error *error)
{
    struct instance_scope storage;
    const struct expr_scope *scope = open_scope(instance, &storage);
    hone_status status = HONE_OK;
    for (size_t p = 0; p < variant_pass_count(instance->variant) && !status; p++)
        status = pass_geometry(&instance->variant->passes[p], scope, &instance->geometry[p], error);
    for (size_t p = 0; p < variant_pass_count(instance->variant) && !status && instance->probe->part; p++)
        keep_part(&instance->geometry[p], instance->probe->part);
    return status;
}

static hone_status set_up(struct instance *instance, hone_error *error)
{
    struct instance_scope storage;
    TRY(variant_usable(instance->device, &instance->c, instance->variant, error));
    TRY(config_legal(instance->device, &instance->c, instance->variant, &instance->config, error));
    TRY(parse_arguments(instance, error));
    TRY(measure_passes(instance, error));
    TRY(load_programs(instance, error));
    TRY(make_scratch(instance, open_scope(instance, &storage), error));
    TRY(each_argument(instance, make_argument_memory, error));
    TRY(each_argument(instance, set_fixed_argument, error));
    TRY(fused_set_fixed(instance, error));
    return set_extra(instance, error);
}

static const struct instance_probe no_probe;

static hone_status create(struct instance **out, const struct instance *other, hone_device *device,
                          const struct filter_case *c, const struct variant *variant,
                          const struct config *config, const struct instance_probe *probe, hone_error *error)
{
    struct instance *instance = mem_new(1, sizeof *instance);
    *out = NULL;
    if (!instance)
        return error_memory(error, "a filter");
    instance->device = device;
    instance->variant = variant;
    instance->config = *config;
    instance->other = other;
    instance->probe = probe;
    hone_status status = case_copy(&instance->c, c, error);
    THEN(status, set_up(instance, error));
    instance->other = NULL;
    instance->probe = &no_probe;
    if (status)
        instance_destroy(&instance);
    *out = instance;
    return status;
}

hone_status instance_create_beside(struct instance **out, const struct instance *other, hone_device *device,
                                   const struct filter_case *c, const struct variant *variant,
                                   const struct config *config, hone_error *error)
{
    return create(out, other, device, c, variant, config, &no_probe, error);
}

hone_status instance_create(struct instance **out, hone_device *device, const struct filter_case *c,
                            const struct variant *variant, const struct config *config, hone_error *error)
{
    return create(out, NULL, device, c, variant, config, &no_probe, error);
}

hone_status instance_create_probe(struct instance **out, hone_device *device, const struct filter_case *c,
                                  const struct variant *variant, const struct config *config,
                                  const struct instance_probe *probe, hone_error *error)
{
    return create(out, NULL, device, c, variant, config, probe, error);
}

void instance_destroy(struct instance **slot)
{
    if (!slot || !*slot)
        return;
    struct instance *instance = *slot;
    for (int i = 0; i < MAX_PASSES; i++)
        kernel_destroy(&instance->kernels[i]);
    for (int i = 0; i < MAX_SCRATCH; i++)
        memory_destroy(&instance->scratch[i]);
    for (int role = 0; role < SURFACE_COUNT; role++)
        for (int reading = 0; reading < READINGS; reading++)
            memory_destroy(&instance->images[role][reading]);
    for (int i = 0; i < MAX_TABLES; i++)
        memory_destroy(&instance->tables[i]);
    for (int i = 0; i < MAX_FUSED; i++)
        memory_destroy(&instance->fused_tables[i]);
    for (int role = 0; role < SURFACE_COUNT; role++)
        memory_destroy(&instance->aligned[role]);
    memory_destroy(&instance->tight);
    case_finish(&instance->c);
    free(instance);
    *slot = NULL;
}

/* ---- Facts ---- */

const struct filter_case *instance_case(const struct instance *instance)
{
    return &instance->c;
}

const struct variant *instance_variant(const struct instance *instance)
{
    return instance->variant;
}

const struct config *instance_config(const struct instance *instance)
{
    return &instance->config;
}

const char *instance_digest(const struct instance *instance)
{
    return instance->digest;
}

size_t instance_scratch_bytes(const struct instance *instance)
{
    size_t bytes = 0;
    for (int i = 0; i < MAX_SCRATCH; i++)
        bytes += instance->scratch[i] ? memory_bytes(instance->scratch[i]) : 0;
    return bytes;
}

hone_status instance_fill_scratch(struct instance *instance, uint8_t value, hone_error *error)
{
    const uint8_t pattern[] = {value, value, value, value};
    hone_status status = HONE_OK;
    for (int i = 0; i < MAX_SCRATCH && !status; i++) {
        struct memory *memory = instance->scratch[i];
        if (memory && !is_kept(instance, i) && !memory_is_image(memory))
            status = memory_fill(memory, pattern, sizeof pattern,
                                 memory_bytes(memory) / sizeof pattern * sizeof pattern,
                                 (struct wait_list){0}, NULL, error);
    }
    return status;
}

const struct kernel *instance_kernel(const struct instance *instance, size_t pass)
{
    return instance->kernels[pass];
}
