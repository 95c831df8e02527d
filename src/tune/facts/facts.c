/* SPDX-License-Identifier: BSD-2-Clause */
#include "tune/facts/facts.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/text.h"
#include "tune/facts/waves.h"

#include <inttypes.h>
#include <stdio.h>

enum { VENDOR_NVIDIA = 0x10de, VENDOR_AMD = 0x1002 };

/* Compiled again, with more options: caches keep neither logs nor those. NVIDIA's driver has a cache of its
 * own, by what the program becomes: one kernel more, of a name that was never there, makes it another one. */
static hone_status compile_again(struct program **program, hone_device *device,
                                 const struct facts_source *from, const char *more)
{
    struct text options = {0}, source = {0};
    text_add(&options, "%s %s", from->options, more);
    text_add(&source, "%s\n__kernel void hone_facts_%" PRIu64 "(__global int *to) { to[0] = 0; }\n",
             from->source, clock_ns());
    hone_status status = program_from_source(program, device, text_view(&source), text_view(&options), NULL);
    text_finish(&source);
    text_finish(&options);
    return status;
}

static void ask_nvidia(struct facts *facts, hone_device *device, const struct facts_source *from)
{
    struct program *program = NULL;
    struct text log = {0};
    facts->missing = "the driver's build log does not tell";
    if (compile_again(&program, device, from, "-cl-nv-verbose") == HONE_OK &&
        program_log(program, &log, NULL) == HONE_OK)
        facts->has_registers = compiled_of_log(text_view(&log), facts->kernel, &facts->compiled);
    text_finish(&log);
    program_destroy(&program);
}

static void ask_amd(struct facts *facts, const struct kernel *kernel)
{
    struct text binary = {0};
    facts->missing = "the program's binary has no metadata of the kernel";
    if (kernel_binary(kernel, &binary, NULL) == HONE_OK)
        facts->has_registers =
            compiled_of_binary(text_view(&binary), binary.length, facts->kernel, &facts->compiled);
    text_finish(&binary);
}

/* Items and local bytes of a work-group; 0 items: the driver chooses. */
static unsigned group_items(const struct instance *instance, hone_device *device, size_t pass)
{
    struct case_scope names;
    struct config_scope scope;
    struct pass_geometry g;
    case_scope_init(&names, instance_case(instance), device);
    config_scope_init(&scope, instance_variant(instance), instance_config(instance), &names.scope);
    if (pass_geometry(&instance_variant(instance)->passes[pass], &scope.scope, &g, NULL) || !g.local[0])
        return 0;
    return (unsigned)(g.local[0] * g.local[1] * g.local[2]);
}

static void count_waves(struct facts *facts, const hone_device_info *info, size_t items)
{
    unsigned capability = 0;
    struct wave_unit waves;
    struct warp_unit warps;
    if (!facts->has_registers)
        return;
    if (sscanf(info->architecture, "sm_%u", &capability) == 1 && warp_unit_of(capability, &warps)) {
        facts->most_waves = warps.warps;
        facts->waves =
            warp_unit_warps(&warps, facts->compiled.registers, items ? (unsigned)items : info->simd_width,
                            (size_t)facts->driver.local_memory);
    } else if (wave_unit_of(info->architecture, &waves)) {
        facts->most_waves = waves.most;
        facts->waves = wave_unit_waves(&waves, facts->compiled.registers);
    }
}

const char *facts_missing(const hone_device_info *info, bool again)
{
    const bool amd = info->vendor_id == VENDOR_AMD && info->kind == HONE_DEVICE_GPU;
    if (info->vendor_id == VENDOR_NVIDIA)
        return again ? NULL : "this driver tells them only when it compiles again: --facts makes it";
    return amd ? NULL : "the driver does not tell";
}

hone_status facts_of_kernel(struct facts *facts, hone_device *device, const struct kernel *kernel,
                            const struct facts_source *from, hone_error *error)
{
    const hone_device_info *info = hone_device_get_info(device);
    *facts = (struct facts){.kernel = from->kernel};
    TRY(kernel_get_facts(kernel, &facts->driver, error));
    facts->missing = facts_missing(info, from->source != NULL);
    if (!facts->missing && info->vendor_id == VENDOR_NVIDIA)
        ask_nvidia(facts, device, from);
    else if (!facts->missing)
        ask_amd(facts, kernel);
    if (facts->has_registers)
        facts->missing = NULL;
    count_waves(facts, info, from->items);
    return HONE_OK;
}

hone_status facts_of(struct facts *facts, hone_device *device, const struct instance *instance, size_t pass,
                     bool again, hone_error *error)
{
    const struct filter_case *c = instance_case(instance);
    const struct variant *variant = instance_variant(instance);
    struct text source = {0}, options = {0};
    hone_status status = HONE_OK;
    if (again)
        status = case_source_text(&source, device, c, variant->source ? variant->source : "kernel.cl", error);
    if (!status && again)
        status = variant_options(&options, device, c, variant, instance_config(instance), error);
    const struct facts_source from = {again ? text_view(&source) : NULL, text_view(&options),
                                      variant->passes[pass].kernel, group_items(instance, device, pass)};
    THEN(status, facts_of_kernel(facts, device, instance_kernel(instance, pass), &from, error));
    text_finish(&source);
    text_finish(&options);
    return status;
}
