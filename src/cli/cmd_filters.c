/* SPDX-License-Identifier: BSD-2-Clause */
/* hone filters: what filters there are; and of one: parameters, variants, the ladder, what is chosen here. */
#include "cli/cli.h"
#include "cli/show.h"

#include "base/error.h"
#include "base/mem.h"
#include "base/text.h"
#include "hone/chain.h"
#include "hone/filter.h"
#include "hone/plan.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- All filters ---- */

static void print_filters(void)
{
    hone_filter_info info;
    printf("%-12s %-13s %-11s %s\n", "FILTER", "TYPES", "CHANNELS", "");
    for (size_t i = 0; hone_filter_at(i, &info); i++)
        printf("%-12s %-13s %-11s %s%s\n", info.name, info.types, info.channels, info.summary,
               info.inputs > 1 ? " (two images)" : "");
    puts("\n'hone filters NAME' shows parameters, variants and what is chosen on this machine");
}

static json_t *filter_json(const hone_filter_info *info)
{
    return json_pack("{s:s, s:s, s:s, s:s, s:s, s:i, s:b}", "name", info->name, "summary", info->summary,
                     "origin", info->origin, "types", info->types, "channels", info->channels, "inputs",
                     (int)info->inputs, "spatial", info->spatial);
}

static bool print_filters_json(void)
{
    hone_filter_info info;
    json_t *list = json_array();
    bool ok = list != NULL;
    for (size_t i = 0; ok && hone_filter_at(i, &info); i++)
        ok = json_array_append_new(list, filter_json(&info)) == 0;
    json_t *whole = json_pack("{s:o}", "filters", list);
    if (ok)
        return cli_print_json(whole);
    json_decref(whole);
    return false;
}

/* ---- Bare words for scripts and completion ---- */

static void print_choices(const hone_parameter_info *parameter)
{
    for (const char *at = parameter->choices; *at;) {
        size_t length = strcspn(at, "|");
        printf("%s=%.*s\n", parameter->name, (int)length, at);
        at += length + (at[length] == '|');
    }
}

static void print_names(const char *filter)
{
    hone_filter_info info;
    hone_parameter_info parameter;
    for (size_t i = 0; !filter && hone_filter_at(i, &info); i++)
        puts(info.name);
    for (size_t i = 0; filter && hone_filter_parameter(filter, i, &parameter); i++)
        if (parameter.choices)
            print_choices(&parameter);
        else
            printf("%s=\n", parameter.name);
}

/* ---- One filter: the description ---- */

static void describe_range(const hone_parameter_info *p, char *to, size_t size)
{
    bool whole = strcmp(p->kind, "integer") == 0;
    if (p->choices)
        snprintf(to, size, "%s", p->choices);
    else if (whole)
        snprintf(to, size, "%.0f to %.0f", p->least, p->most);
    else if (strcmp(p->kind, "real") == 0)
        snprintf(to, size, "%g to %g", p->least, p->most);
    else
        snprintf(to, size, "%s", p->kind);
}

static void print_parameter(const hone_parameter_info *p)
{
    char range[128];
    describe_range(p, range, sizeof range);
    printf("  %-13s %s%s%s", p->name, range, p->unit ? " " : "", p->unit ? p->unit : "");
    if (p->otherwise)
        printf(" (default %s)", p->otherwise);
    printf("\n  %-13s %s\n", "", p->help ? p->help : "");
}

static void print_variant(const char *filter, const hone_variant_info *v)
{
    hone_tunable_info tunable;
    printf("  %-13s %s\n  %-13s %s, %u pass%s%s%s%s\n", v->name, v->summary, "", v->path, v->passes,
           v->passes == 1 ? "" : "es", v->relaxed ? "; not exact, only under accuracy=relaxed" : "",
           v->condition ? "; only where " : "", v->condition ? v->condition : "");
    if (v->specialised)
        printf("  %-13s compiled for each value: %s\n", "", v->specialised);
    for (size_t i = 0; hone_filter_tunable(filter, v->name, i, &tunable); i++)
        printf("  %-13s %s = %s: %s\n", "", tunable.name, tunable.values, tunable.help);
}

static void print_rungs(const char *filter)
{
    hone_rung_info rung;
    for (size_t i = 0; hone_filter_rung(filter, i, &rung); i++) {
        if (i == 0)
            puts("\nladder of its source");
        printf("  %-13s %s\n  %-13s variant %s %s", rung.name, rung.title, "", rung.variant, rung.config);
        if (rung.gain > 0)
            printf("; %.4gx the first rung", rung.gain);
        printf("%s%s\n", rung.where ? "; " : "", rung.where ? rung.where : "");
    }
}

static void print_description(const hone_filter_info *info)
{
    hone_parameter_info parameter;
    hone_variant_info variant;
    printf("%s: %s\n%s pixels with %s channels%s; source: %s\n\nparameters\n", info->name, info->summary,
           info->types, info->channels, info->inputs > 1 ? ", two images" : "", info->origin);
    for (size_t i = 0; hone_filter_parameter(info->name, i, &parameter); i++)
        print_parameter(&parameter);
    puts("\nvariants");
    for (size_t i = 0; hone_filter_variant(info->name, i, &variant); i++)
        print_variant(info->name, &variant);
    print_rungs(info->name);
}

/* ---- One filter: the choice ---- */

/* Formats and sizes that stand for what people have: video, photographs, measurements. */
static const hone_image_desc examples[] = {
    {.width = 1920, .height = 1080, .type = HONE_U8, .channels = 1},
    {.width = 3264, .height = 2448, .type = HONE_U8, .channels = 3},
    {.width = 3264, .height = 2448, .type = HONE_U16, .channels = 1},
    {.width = 3264, .height = 2448, .type = HONE_F32, .channels = 1},
    {.width = 640, .height = 480, .type = HONE_U8, .channels = 1},
};

/* What a plan for one image decides; the strings are its. */
struct decision {
    hone_image_desc desc;
    hone_plan *plan;
    hone_step_info step;
    hone_error error; /* when there is no plan */
};

static void decide(struct decision *decision, hone_device *device, const char *filter,
                   const hone_image_desc *desc)
{
    hone_chain *chain = NULL;
    *decision = (struct decision){.desc = *desc};
    hone_filter_info info;
    const hone_plan_options options = {.second = desc,
                                       .second_count = hone_filter_find(filter, &info) && info.inputs > 1};
    if (hone_chain_parse(&chain, filter, &decision->error) == HONE_OK &&
        hone_plan_create(&decision->plan, device, chain, desc, &options, &decision->error) == HONE_OK)
        hone_plan_step(decision->plan, 0, &decision->step);
    hone_chain_destroy(&chain);
}

static bool takes(const hone_filter_info *info, const hone_image_desc *desc)
{
    char channels[8];
    snprintf(channels, sizeof channels, "%u", desc->channels);
    return text_has_word(info->types, hone_type_name(desc->type)) && text_has_word(info->channels, channels);
}

static void print_decision(const struct decision *d)
{
    char format[64];
    snprintf(format, sizeof format, "%s x%u %ux%u", hone_type_name(d->desc.type), d->desc.channels,
             d->desc.width, d->desc.height);
    if (d->plan)
        printf("  %-18s variant %s %s (%s)\n", format, d->step.variant, d->step.config, d->step.origin);
    else
        printf("  %-18s none: %s\n", format, d->error.message);
}

static json_t *decision_json(const struct decision *d)
{
    json_t *one =
        json_pack("{s:i, s:i, s:s, s:i}", "width", (int)d->desc.width, "height", (int)d->desc.height, "type",
                  hone_type_name(d->desc.type), "channels", (int)d->desc.channels);
    json_t *more = d->plan
                       ? json_pack("{s:s, s:s, s:s, s:i, s:I}", "variant", d->step.variant, "config",
                                   d->step.config, "origin", d->step.origin, "passes", (int)d->step.passes,
                                   "scratch_bytes", (json_int_t)d->step.scratch_bytes)
                       : json_pack("{s:o}", "error", show_json_text(d->error.message));
    if (!one || !more || json_object_update(one, more)) {
        json_decref(one);
        one = NULL;
    }
    json_decref(more);
    return one;
}

/* Prints, or with `list` collects, what is chosen on the device. */
static bool show_choices(hone_device *device, const hone_filter_info *info, json_t *list)
{
    const hone_device_info *device_info = hone_device_get_info(device);
    bool ok = true;
    if (!list)
        printf("\nchosen on device %u, %s\n", device_info->index,
               device_info->board[0] ? device_info->board : device_info->name);
    for (size_t i = 0; i < COUNT_OF(examples); i++) {
        struct decision decision;
        if (!takes(info, &examples[i]))
            continue;
        decide(&decision, device, info->name, &examples[i]);
        if (list)
            ok = json_array_append_new(list, decision_json(&decision)) == 0 && ok;
        else
            print_decision(&decision);
        hone_plan_destroy(&decision.plan);
    }
    return ok;
}

/* ---- One filter: JSON ---- */

static bool put_text(json_t *object, const char *key, const char *text)
{
    return json_object_set_new(object, key, text ? show_json_text(text) : json_null()) == 0;
}

static json_t *parameters_json(const char *filter)
{
    hone_parameter_info p;
    json_t *list = json_array();
    bool ok = list != NULL;
    for (size_t i = 0; ok && hone_filter_parameter(filter, i, &p); i++) {
        json_t *one = json_pack("{s:s, s:s, s:b}", "name", p.name, "kind", p.kind, "common", p.common);
        ok = one && put_text(one, "default", p.otherwise) && put_text(one, "unit", p.unit) &&
             put_text(one, "help", p.help) && put_text(one, "choices", p.choices);
        if (ok && p.least < p.most)
            ok = json_object_set_new(one, "least", json_real(p.least)) == 0 &&
                 json_object_set_new(one, "most", json_real(p.most)) == 0;
        ok = json_array_append_new(list, one) == 0 && ok;
    }
    return list;
}

static json_t *tunables_json(const char *filter, const char *variant)
{
    hone_tunable_info t;
    json_t *list = json_array();
    for (size_t i = 0; list && hone_filter_tunable(filter, variant, i, &t); i++)
        json_array_append_new(list, json_pack("{s:s, s:s, s:s, s:b}", "name", t.name, "values", t.values,
                                              "help", t.help ? t.help : "", "launch_only", t.launch_only));
    return list;
}

static json_t *variants_json(const char *filter)
{
    hone_variant_info v;
    json_t *list = json_array();
    bool ok = list != NULL;
    for (size_t i = 0; ok && hone_filter_variant(filter, i, &v); i++) {
        json_t *one = json_pack("{s:s, s:s, s:s, s:b, s:i, s:o}", "name", v.name, "summary", v.summary,
                                "path", v.path, "relaxed", v.relaxed, "passes", (int)v.passes, "tunables",
                                tunables_json(filter, v.name));
        ok = one && put_text(one, "condition", v.condition) && put_text(one, "specialised", v.specialised) &&
             put_text(one, "bytes", v.bytes) && put_text(one, "loads", v.loads) &&
             put_text(one, "operations", v.operations);
        ok = json_array_append_new(list, one) == 0 && ok;
    }
    return list;
}

static json_t *rungs_json(const char *filter)
{
    hone_rung_info r;
    json_t *list = json_array();
    bool ok = list != NULL;
    for (size_t i = 0; ok && hone_filter_rung(filter, i, &r); i++) {
        json_t *one = json_pack("{s:s, s:s, s:s, s:s, s:f}", "name", r.name, "title", r.title, "variant",
                                r.variant, "config", r.config, "gain", r.gain);
        ok = one && put_text(one, "where", r.where) && json_array_append_new(list, one) == 0;
    }
    return list;
}

/* `chosen` is consumed; NULL without a device, and then `why` says why. */
static bool print_filter_json(const hone_filter_info *info, hone_device *device, json_t *chosen,
                              const char *why)
{
    json_t *whole = filter_json(info);
    bool ok = whole && json_object_set_new(whole, "parameters", parameters_json(info->name)) == 0 &&
              json_object_set_new(whole, "variants", variants_json(info->name)) == 0 &&
              json_object_set_new(whole, "rungs", rungs_json(info->name)) == 0;
    if (ok && device)
        ok = put_text(whole, "device", hone_device_get_info(device)->name) &&
             json_object_set(whole, "chosen", chosen) == 0;
    else if (ok)
        ok = put_text(whole, "device", NULL) && put_text(whole, "no_device", why);
    json_decref(chosen);
    if (ok)
        return cli_print_json(whole);
    json_decref(whole);
    return false;
}

/* ---- The command ---- */

/* What can be said without a device is said; only a device that was asked for must be there. */
static int show_filter(const struct common_options *common, const hone_filter_info *info)
{
    hone_device *device = NULL;
    hone_error error;
    bool ok = true;
    if (!common->json)
        print_description(info);
    hone_status status = cli_open_device(&device, common, &error);
    if (status && common->device)
        return cli_fail(common, &error);
    json_t *chosen = common->json && device ? json_array() : NULL;
    if (device)
        ok = show_choices(device, info, chosen);
    else if (!common->json)
        printf("\nnothing can be chosen here: %s\n", error.message);
    if (common->json)
        ok = print_filter_json(info, device, chosen, device ? NULL : error.message) && ok;
    hone_device_close(&device);
    if (ok)
        return EXIT_DONE;
    error_memory(&error, "the report");
    return cli_fail(common, &error);
}

static int unknown_filter(const char *name)
{
    const char *names[256];
    hone_filter_info info;
    size_t count = 0;
    struct text all = {0}, answer = {0};
    for (; count < COUNT_OF(names) && hone_filter_at(count, &info); count++) {
        names[count] = info.name;
        text_add(&all, "%s%s", count ? ", " : "", info.name);
    }
    text_add_choices(&answer, cli_nearest(name, names, count), "there are", text_view(&all));
    int status = cli_usage(&command_filters, "there is no filter '%s'%s", name, text_view(&answer));
    text_finish(&all);
    text_finish(&answer);
    return status;
}

static int show_all(const struct common_options *common)
{
    hone_error error;
    if (!common->json) {
        print_filters();
        return EXIT_DONE;
    }
    if (print_filters_json())
        return EXIT_DONE;
    error_memory(&error, "the report");
    return cli_fail(common, &error);
}

static int run(int argc, char **argv)
{
    struct common_options common;
    struct operands operands;
    bool names = false;
    hone_filter_info info;
    const struct option options[] = {{"names", 0, OPTION_FLAG, &names, 0, 0}, {0}};
    enum parsed parsed = cli_parse(&command_filters, argc, argv, options, &common, &operands);
    if (parsed != PARSED_GO)
        return parsed == PARSED_END ? EXIT_DONE : EXIT_USAGE;
    if (operands.count > 1)
        return cli_usage(&command_filters, "it takes one name, not also '%s'", operands.items[1]);
    const char *name = operands.count ? operands.items[0] : NULL;
    if (name && !hone_filter_find(name, &info))
        return unknown_filter(name);
    if (names) {
        print_names(name);
        return EXIT_DONE;
    }
    return name ? show_filter(&common, &info) : show_all(&common);
}

const struct command command_filters = {
    .name = "filters",
    .summary = "show the filters, or all about one of them",
    .usage = "usage: hone filters [NAME] [OPTION...]\n"
             "\n"
             "Without a name: every filter in a line. With one: its parameters, its variants and their "
             "tunables, the\n"
             "ladder of its source, and what is chosen on this machine's device for some common images.\n"
             "\n"
             "options:\n"
             "  --names          bare names, one per line: of the filters, or 'parameter=' and "
             "'parameter=choice' of one\n",
    .run = run,
};
