/* SPDX-License-Identifier: BSD-2-Clause */
#include "lab/facts/facts.h"

#include "base/clock.h"
#include "base/text.h"
#include "lab/facts/waves.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

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

static void ask_amd(struct facts *facts, hone_device *device, const struct facts_source *from)
{
    struct program *program = NULL;
    struct text binary = {0};
    facts->missing = "the program's binary has no metadata of the kernel";
    if (compile_again(&program, device, from, "") == HONE_OK &&
        program_binary(program, &binary, NULL) == HONE_OK)
        facts->has_registers =
            compiled_of_binary(text_view(&binary), binary.length, facts->kernel, &facts->compiled);
    text_finish(&binary);
    program_destroy(&program);
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

/* With facts->driver filled in. */
static void ask(struct facts *facts, hone_device *device, const struct facts_source *from)
{
    const hone_device_info *info = hone_device_get_info(device);
    if (info->vendor_id == VENDOR_NVIDIA)
        ask_nvidia(facts, device, from);
    else if (info->vendor_id == VENDOR_AMD && info->kind == HONE_DEVICE_GPU)
        ask_amd(facts, device, from);
    else
        facts->missing = "the driver does not tell";
    if (facts->has_registers)
        facts->missing = NULL;
    count_waves(facts, info, from->items);
}

hone_status facts_of(struct facts *facts, hone_device *device, const struct instance *instance, size_t pass,
                     hone_error *error)
{
    const struct filter_case *c = instance_case(instance);
    const struct variant *variant = instance_variant(instance);
    struct text source = {0}, options = {0};
    *facts = (struct facts){.kernel = variant->passes[pass].kernel};
    hone_status status = instance_kernel_facts(instance, pass, &facts->driver, error);
    if (!status)
        status = case_source_text(&source, device, c, variant->source ? variant->source : "kernel.cl", error);
    if (!status)
        status = variant_options(&options, device, c, variant, instance_config(instance), error);
    if (!status)
        ask(facts, device,
            &(struct facts_source){text_view(&source), text_view(&options), facts->kernel,
                                   group_items(instance, device, pass)});
    text_finish(&source);
    text_finish(&options);
    return status;
}

hone_status facts_of_kernel(struct facts *facts, hone_device *device, const struct kernel *kernel,
                            const struct facts_source *from, hone_error *error)
{
    *facts = (struct facts){.kernel = from->kernel};
    hone_status status = kernel_get_facts(kernel, &facts->driver, error);
    if (!status)
        ask(facts, device, from);
    return status;
}
