/* SPDX-License-Identifier: BSD-2-Clause */
/* Names for expressions. */
#include "filter/case.h"

#include "base/mem.h"
#include "cl/selftest.h"
#include "filter/registry.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void add_name(struct case_scope *s, const char *name, int64_t value)
{
    assert(s->scope.count < MAX_CASE_NAMES);
    s->names[s->scope.count] = name;
    s->values[s->scope.count++] = value;
}

/* NVIDIA's compute capability times ten, where its inline assembly works; else 0. */
static int64_t compute_capability(hone_device *device)
{
    const char *name = hone_device_get_info(device)->architecture;
    return selftest_holds(device, SELFTEST_PTX) && strncmp(name, "sm_", 3) == 0 ? atoi(name + 3) : 0;
}

static const struct {
    const char *name;
    enum selftest_item item;
} features[] = {{"IMAGES", SELFTEST_IMAGES},
                {"HALF", SELFTEST_HALF},
                {"WIDE", SELFTEST_WIDE},
                {"PTX", SELFTEST_PTX},
                {"SUBGROUPS", SELFTEST_SUBGROUPS}};

static bool find_feature(void *device, const char *name, int64_t *value)
{
    if (strcmp(name, "SM") == 0)
        return *value = compute_capability(device), true;
    for (size_t i = 0; i < COUNT_OF(features); i++)
        if (strcmp(name, features[i].name) == 0)
            return *value = selftest_holds(device, features[i].item), true;
    return false;
}

static void add_device(struct case_scope *s, hone_device *device)
{
    const hone_device_info *info = hone_device_get_info(device);
    add_name(s, "CPU", info->kind == HONE_DEVICE_CPU);
    add_name(s, "GPU", info->kind == HONE_DEVICE_GPU);
    add_name(s, "CU", info->compute_units);
    add_name(s, "MAXWG", (int64_t)info->max_work_group);
    add_name(s, "LMEM", (int64_t)info->local_memory);
    add_name(s, "VENDOR", info->vendor_id);
    add_name(s, "WARP", info->simd_width);
    add_name(s, "UNIFIED", info->unified_memory);
    s->scope.find = find_feature;
    s->scope.context = device;
}

static void add_parameters(struct case_scope *s, const struct filter_case *c)
{
    size_t count = filter_parameter_count(c->filter);
    for (size_t i = 0; i < count; i++) {
        const struct parameter *p = &c->filter->parameters[i];
        if (p->kind != PARAMETER_INTEGER && p->kind != PARAMETER_CHOICE)
            continue;
        snprintf(s->spelled[i], sizeof s->spelled[i], "%s", p->name);
        for (char *at = s->spelled[i]; (at = strchr(at, '-'));)
            *at = '_';
        add_name(s, s->spelled[i], (int64_t)c->values[i].number);
    }
}

void case_scope_init(struct case_scope *s, const struct filter_case *c, hone_device *device)
{
    s->scope = (struct expr_scope){.names = s->names, .values = s->values};
    add_name(s, "W", c->out.width);
    add_name(s, "H", c->out.height);
    add_name(s, "IW", c->in.width);
    add_name(s, "IH", c->in.height);
    add_name(s, "C", c->in.channels);
    add_name(s, "TYPE", c->in.type);
    add_name(s, "OTYPE", c->out.type);
    add_name(s, "FLOAT", c->in.type == HONE_F32);
    add_name(s, "BITS", (int64_t)hone_type_size(c->in.type) * 8);
    add_name(s, "BORDER", c->border);
    add_name(s, "RELAXED", c->relaxed);
    add_name(s, "EXACT", c->exact);
    for (int i = 0; i < MAX_SYMBOLS && c->filter->symbols[i]; i++)
        add_name(s, c->filter->symbols[i], c->symbols[i]);
    add_parameters(s, c);
    if (device)
        add_device(s, device);
}

void case_scope_complete(struct case_scope *s)
{
    int64_t value;
    for (size_t i = 0; i < COUNT_OF(features); i++)
        if (expr_lookup(&s->scope, features[i].name, &value))
            add_name(s, features[i].name, value);
    if (expr_lookup(&s->scope, "SM", &value))
        add_name(s, "SM", value);
}

bool case_real(const struct filter_case *c, const char *name, double *value)
{
    for (int i = 0; i < MAX_REALS && c->filter->reals[i]; i++)
        if (strcmp(c->filter->reals[i], name) == 0)
            return *value = c->reals[i], true;
    int index = filter_parameter(c->filter, name);
    if (index >= 0)
        return *value = c->values[index].number, true;
    if (strcmp(name, "border-value") == 0)
        return *value = c->border_value, true;
    return false;
}
