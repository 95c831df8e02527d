/* SPDX-License-Identifier: BSD-2-Clause */
/* The settings of a kernel of the user's own as JSON, and back: what the worker gets, and what T4
 * files keep. */
#include "tune/own/spec/spec.h"

#include "base/text.h"

/* null stands for what is no UTF-8. */
static void add(json_t *settings, const char *name, const char *value)
{
    json_t *pair = value ? json_pack("[s, s]", name, value) : NULL;
    if (value)
        json_array_append_new(settings, pair ? pair : json_null());
}

static void add_list(json_t *settings, const char *name, struct formula *const *sizes)
{
    struct text text = {0};
    for (int i = 0; i < 3 && sizes[i]; i++)
        text_add(&text, "%s%s", i ? "," : "", sizes[i]->text);
    if (sizes[0])
        add(settings, name, text_view(&text));
    text_finish(&text);
}

static void add_number(json_t *settings, const char *name, double number)
{
    struct text text = {0};
    text_add_number(&text, number);
    add(settings, name, text_view(&text));
    text_finish(&text);
}

static void add_parameters(json_t *settings, const struct own_spec *spec)
{
    for (int i = 0; i < spec->parameter_count; i++) {
        const struct space_parameter *p = &spec->parameters[i];
        struct text text = {0};
        text_add(&text, "%s=", p->name);
        for (int k = 0; k < p->count; k++) {
            text_add(&text, k ? "," : "");
            own_value_print(spec, i, p->values[k], &text);
        }
        add(settings, "param", text_view(&text));
        text_finish(&text);
    }
}

static void add_defines(json_t *settings, const struct own_spec *spec)
{
    for (int i = 0; i < spec->define_count; i++) {
        struct text text = {0};
        text_add(&text, "%s=%s", spec->defines[i].name, spec->defines[i].value->text);
        add(settings, "define", text_view(&text));
        text_finish(&text);
    }
}

json_t *own_spec_settings(const struct own_spec *spec)
{
    static const char *const checks[] = {"baseline", NULL, NULL, "none"};
    json_t *settings = json_array();
    add(settings, "kernel-file", spec->file);
    add(settings, "kernel", spec->kernel);
    add_parameters(settings, spec);
    add_defines(settings, spec);
    for (int i = 0; i < spec->rule_count; i++)
        add(settings, "restrict", spec->rules[i]->text);
    add_list(settings, "global", spec->global);
    add_list(settings, "local", spec->local);
    if (spec->global_in_groups)
        add(settings, "global-in-groups", "yes");
    for (int i = 0; i < spec->argument_count; i++)
        add(settings, "arg", spec->arguments[i].text);
    for (int i = 0; i < spec->option_count; i++)
        add(settings, "options", spec->options[i]);
    add(settings, "check", checks[spec->check]);
    for (int i = 0; i < spec->check_count; i++)
        add(settings, "check", spec->checks[i]);
    if (spec->has_tolerance) {
        add_number(settings, "tolerance", spec->tolerance);
        add_number(settings, "relative", spec->relative);
    }
    if (spec->summed)
        add(settings, "summed", "yes");
    if (spec->cold)
        add(settings, "cold", "yes");
    add(settings, "bytes", spec->bytes ? spec->bytes->text : NULL);
    add(settings, "flops", spec->flops ? spec->flops->text : NULL);
    return settings;
}

hone_status own_spec_from(struct own_spec *spec, const json_t *settings, hone_error *error)
{
    hone_status status = HONE_OK;
    for (size_t i = 0; i < json_array_size(settings) && !status; i++) {
        const json_t *pair = json_array_get(settings, i);
        const char *name = json_string_value(json_array_get(pair, 0)),
                   *value = json_string_value(json_array_get(pair, 1));
        status = own_spec_set(spec, name ? name : "", value ? value : "", NULL, error);
    }
    return status;
}
