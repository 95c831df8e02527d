/* SPDX-License-Identifier: BSD-2-Clause */
/* hone filters: what filters there are; and of one: parameters, examples, what is chosen here, variants. */
#include "cli/cli.h"

#include "base/error.h"
#include "base/json_text.h"
#include "base/mem.h"
#include "base/text.h"
#include "filter/registry.h"
#include "hone/filter.h"
#include "plan/forecast.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- All filters ---- */

static void print_filters(void)
{
    hone_filter_info info;
    printf("%-14s %-18s %-11s %s\n", "FILTER", "TYPES", "CHANNELS", "");
    for (size_t i = 0; hone_filter_at(i, &info); i++)
        printf("%-14s %-18s %-11s %s%s\n", info.name, info.types, info.channels, info.summary,
               info.inputs > 1 ? " (two images)"
               : info.loaded   ? " (your own)"
                               : "");
    puts("\n'hone filters NAME' shows parameters, examples and what is chosen on this machine");
}

static json_t *filter_json(const hone_filter_info *info)
{
    return json_pack("{s:s, s:o, s:o, s:b, s:s, s:s, s:i, s:b}", "name", info->name, "summary",
                     json_text(info->summary), "origin", json_text(info->origin), "own", info->loaded,
                     "types", info->types, "channels", info->channels, "inputs", (int)info->inputs, "spatial",
                     info->spatial);
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

static void add_variant_names(json_t *words, const char *filter)
{
    hone_variant_info variant;
    for (size_t i = 0; hone_filter_variant(filter, i, &variant); i++)
        json_array_append_new(words, json_text(variant.name));
}

static void add_choices(json_t *words, const hone_parameter_info *parameter)
{
    for (const char *at = parameter->choices; *at;) {
        size_t length = strcspn(at, "|");
        json_array_append_new(words, json_sprintf("%s=%.*s", parameter->name, (int)length, at));
        at += length + (at[length] == '|');
    }
}

static void add_names(json_t *words, const char *filter)
{
    hone_filter_info info;
    hone_parameter_info parameter;
    for (size_t i = 0; !filter && hone_filter_at(i, &info); i++)
        json_array_append_new(words, json_text(info.name));
    for (size_t i = 0; filter && hone_filter_parameter(filter, i, &parameter); i++)
        if (parameter.choices)
            add_choices(words, &parameter);
        else
            json_array_append_new(words, json_sprintf("%s=", parameter.name));
}

static int show_words(const struct common_options *common, const char *filter, bool variants)
{
    json_t *words = json_array();
    (variants ? add_variant_names : add_names)(words, filter);
    if (common->json)
        return cli_print_json(json_pack("{s:o}", "names", words)) ? EXIT_DONE : EXIT_DEVICE;
    for (size_t i = 0; i < json_array_size(words); i++)
        puts(json_string_value(json_array_get(words, i)));
    json_decref(words);
    return EXIT_DONE;
}

/* ---- One filter: the description ---- */

static void describe_range(const hone_parameter_info *p, char *to, size_t size)
{
    bool whole = strcmp(p->kind, "integer") == 0;
    if (p->choices)
        snprintf(to, size, "%s", p->choices);
    else if (whole)
        snprintf(to, size, "%.0f to %.0f", p->min, p->max);
    else if (strcmp(p->kind, "real") == 0)
        snprintf(to, size, "%g to %g", p->min, p->max);
    else
        snprintf(to, size, "%s", p->kind);
}

static void print_parameter(const hone_parameter_info *p)
{
    char range[128];
    describe_range(p, range, sizeof range);
    printf("  %-13s %s%s%s", p->name, range, p->unit ? " " : "", p->unit ? p->unit : "");
    if (p->unit && strcmp(p->unit, "levels") == 0)
        fputs(" or N%", stdout);
    if (p->fallback)
        printf(" (default %s)", p->fallback);
    else if (strcmp(p->kind, "image") == 0)
        fputs(" (required)", stdout);
    printf("\n  %-13s %s\n", "", p->help ? p->help : "");
}

static void print_variant(const char *filter, const hone_variant_info *v)
{
    hone_tunable_info tunable;
    printf("  %-13s %s\n  %-13s %s, %u pass%s%s%s%s\n", v->name, v->summary, "", v->path, v->passes,
           v->passes == 1 ? "" : "es",
           v->relaxed ? "; wider bounds, only under accuracy=relaxed"
           : v->exact ? "; only under exact=yes"
                      : "",
           v->condition ? "; only where " : "", v->condition ? v->condition : "");
    if (v->specialised)
        printf("  %-13s compiled for each value: %s\n", "", v->specialised);
    for (size_t i = 0; hone_filter_tunable(filter, v->name, i, &tunable); i++)
        printf("  %-13s %s = %s: %s\n", "", tunable.name, tunable.values, tunable.help);
}

/* s16 has the bound of u16. */
static double bound_of(const hone_filter_info *info, int type)
{
    return info->bounds[type == HONE_S16 ? HONE_U16 : type];
}

/* How far results may be from the reference, by the input's type. */
static void print_bounds(const hone_filter_info *info)
{
    puts("\nresults");
    for (int type = HONE_U8; type <= HONE_S16; type++) {
        const char *name = hone_type_name((hone_type)type);
        const double bound = bound_of(info, type);
        if (!strstr(info->types, name))
            continue;
        if (bound == 0)
            printf("  %-13s the same on every device, to the last bit\n", name);
        else if (type != HONE_F32 && bound < 0.5) /* less than a level: it is of f32 results */
            printf(
                "  %-13s the same on every device, to the last bit; f32 results within %g of the reference\n",
                name, bound);
        else
            printf("  %-13s within %g %s of the reference%s\n", name, bound,
                   type == HONE_F32 ? "times the largest magnitude"
                   : bound == 1     ? "level"
                                    : "levels",
                   strstr(info->exact_types, name)
                       ? "; with exact=yes the same on every device, to the last bit"
                       : "; exact=yes is not available");
    }
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

static void print_examples(const char *filter)
{
    const struct example *examples = registry_find(filter)->examples;
    for (size_t i = 0; i < MAX_EXAMPLES && examples[i].arguments; i++)
        printf("%s  %s\n      hone apply %s\n", i == 0 ? "\nexamples\n" : "", examples[i].purpose,
               examples[i].arguments);
}

static void print_use(const hone_filter_info *info)
{
    hone_parameter_info parameter;
    printf("%s: %s\n%s; %s pixels with %s channel%s\n\nparameters\n", info->name, info->summary,
           info->inputs > 1 ? "two images" : "one image", info->types, info->channels,
           strcmp(info->channels, "1") == 0 ? "" : "s");
    for (size_t i = 0; hone_filter_parameter(info->name, i, &parameter); i++)
        print_parameter(&parameter);
    print_examples(info->name);
    print_bounds(info);
}

/* What experiments with kernels need, and nobody else. */
static void print_inside(const hone_filter_info *info)
{
    hone_variant_info variant;
    printf("\nsource: %s\n\nvariants\n", info->origin);
    for (size_t i = 0; hone_filter_variant(info->name, i, &variant); i++)
        print_variant(info->name, &variant);
    print_rungs(info->name);
}

/* ---- One filter: the choice ---- */

/* Formats and sizes that stand for what people have: video, photographs, measurements. */
static const hone_image_desc images[] = {
    {.width = 1920, .height = 1080, .type = HONE_U8, .channels = 1},
    {.width = 3264, .height = 2448, .type = HONE_U8, .channels = 3},
    {.width = 3264, .height = 2448, .type = HONE_U16, .channels = 1},
    {.width = 3264, .height = 2448, .type = HONE_F32, .channels = 1},
    {.width = 640, .height = 480, .type = HONE_U8, .channels = 1},
    {.width = 1024, .height = 1024, .type = HONE_F32, .channels = 4},
};

/* What a plan for one image would decide. */
struct decision {
    hone_image_desc desc;
    struct forecast forecast;
    struct text config;
    hone_error error; /* status 0: there is a forecast */
};

static void decide(struct decision *decision, hone_device *device, const char *filter,
                   const hone_image_desc *desc)
{
    *decision = (struct decision){.desc = *desc};
    struct forecast *forecast = &decision->forecast;
    if (plan_forecast(forecast, device, filter, desc, &decision->error) == HONE_OK)
        config_print(forecast->variant, &forecast->config, &decision->config);
}

static bool takes(const hone_filter_info *info, const hone_image_desc *desc)
{
    char channels[8];
    snprintf(channels, sizeof channels, "%u", desc->channels);
    return text_has_word(info->types, hone_type_name(desc->type)) && text_has_word(info->channels, channels);
}

/* Widths of the columns whose texts differ much in length. */
struct widths {
    int variant, config;
};

static int wider(int width, const char *text)
{
    int length = (int)strlen(text);
    return length > width ? length : width;
}

static void print_decision(const struct decision *d, const struct widths *widths)
{
    char image[64];
    snprintf(image, sizeof image, "%ux%u %s x%u", d->desc.width, d->desc.height, hone_type_name(d->desc.type),
             d->desc.channels);
    if (!d->error.status)
        printf("  %-17s  %-*s  %-*s  %s\n", image, widths->variant, d->forecast.variant->name, widths->config,
               text_view(&d->config), choice_origin_name(d->forecast.origin));
    else
        printf("  %-17s  none: %s\n", image, d->error.message);
}

static void print_decisions(const hone_device_info *device, const struct decision *decisions, size_t count)
{
    static const char variant[] = "VARIANT", config[] = "CONFIGURATION";
    struct widths widths = {(int)strlen(variant), (int)strlen(config)};
    for (size_t i = 0; i < count; i++)
        if (!decisions[i].error.status) {
            widths.variant = wider(widths.variant, decisions[i].forecast.variant->name);
            widths.config = wider(widths.config, text_view(&decisions[i].config));
        }
    printf("\nchosen on device %u, %s\n  %-17s  %-*s  %-*s  %s\n", device->index,
           device->board[0] ? device->board : device->name, "IMAGE", widths.variant, variant, widths.config,
           config, "ORIGIN");
    for (size_t i = 0; i < count; i++)
        print_decision(&decisions[i], &widths);
}

static json_t *decision_json(const struct decision *d)
{
    json_t *one =
        json_pack("{s:i, s:i, s:s, s:i}", "width", (int)d->desc.width, "height", (int)d->desc.height, "type",
                  hone_type_name(d->desc.type), "channels", (int)d->desc.channels);
    const struct forecast *forecast = &d->forecast;
    json_t *more = !d->error.status
                       ? json_pack("{s:s, s:s, s:s, s:i, s:I}", "variant", forecast->variant->name, "config",
                                   text_view(&d->config), "origin", choice_origin_name(forecast->origin),
                                   "passes", (int)variant_pass_count(forecast->variant), "scratch_bytes",
                                   (json_int_t)forecast->scratch_bytes)
                       : json_pack("{s:o}", "error", json_text(d->error.message));
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
    struct decision decisions[COUNT_OF(images)];
    size_t count = 0;
    bool ok = true;
    for (size_t i = 0; i < COUNT_OF(images); i++)
        if (takes(info, &images[i]))
            decide(&decisions[count++], device, info->name, &images[i]);
    if (!list)
        print_decisions(hone_device_get_info(device), decisions, count);
    for (size_t i = 0; i < count; i++) {
        ok = (!list || json_array_append_new(list, decision_json(&decisions[i])) == 0) && ok;
        text_finish(&decisions[i].config);
    }
    return ok;
}

/* ---- One filter: JSON ---- */

static bool put_text(json_t *object, const char *key, const char *text)
{
    return json_object_set_new(object, key, text ? json_text(text) : json_null()) == 0;
}

static json_t *parameters_json(const char *filter)
{
    hone_parameter_info p;
    json_t *list = json_array();
    bool ok = list != NULL;
    for (size_t i = 0; ok && hone_filter_parameter(filter, i, &p); i++) {
        json_t *one = json_pack("{s:s, s:s, s:b}", "name", p.name, "kind", p.kind, "common", p.common);
        ok = one && put_text(one, "default", p.fallback) && put_text(one, "unit", p.unit) &&
             put_text(one, "help", p.help) && put_text(one, "choices", p.choices);
        if (ok && p.min < p.max)
            ok = json_object_set_new(one, "min", json_real(p.min)) == 0 &&
                 json_object_set_new(one, "max", json_real(p.max)) == 0;
        ok = json_array_append_new(list, one) == 0 && ok;
    }
    return list;
}

static json_t *tunables_json(const char *filter, const char *variant)
{
    hone_tunable_info t;
    json_t *list = json_array();
    for (size_t i = 0; list && hone_filter_tunable(filter, variant, i, &t); i++)
        json_array_append_new(list,
                              json_pack("{s:s, s:s, s:o, s:b}", "name", t.name, "values", t.values, "help",
                                        json_text(t.help ? t.help : ""), "launch_only", t.launch_only));
    return list;
}

static json_t *variants_json(const char *filter)
{
    hone_variant_info v;
    json_t *list = json_array();
    bool ok = list != NULL;
    for (size_t i = 0; ok && hone_filter_variant(filter, i, &v); i++) {
        json_t *one = json_pack("{s:s, s:o, s:s, s:b, s:b, s:i, s:o}", "name", v.name, "summary",
                                json_text(v.summary), "path", v.path, "relaxed", v.relaxed, "exact", v.exact,
                                "passes", (int)v.passes, "tunables", tunables_json(filter, v.name));
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

static json_t *bounds_json(const hone_filter_info *info)
{
    json_t *bounds = json_object();
    for (int type = HONE_U8; type <= HONE_S16; type++)
        if (strstr(info->types, hone_type_name((hone_type)type)))
            json_object_set_new(bounds, hone_type_name((hone_type)type), json_real(bound_of(info, type)));
    return bounds;
}

/* `chosen` is consumed; NULL without a device, and then `why` says why. */
static bool print_filter_json(const hone_filter_info *info, hone_device *device, json_t *chosen,
                              const char *why)
{
    json_t *whole = filter_json(info);
    bool ok = whole && json_object_set_new(whole, "parameters", parameters_json(info->name)) == 0 &&
              json_object_set_new(whole, "bounds", bounds_json(info)) == 0 &&
              put_text(whole, "exact_types", info->exact_types) &&
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

static void print_more(const struct common_options *common, const hone_filter_info *info)
{
    struct text name = {0};
    if (common->verbose) {
        print_inside(info);
        return;
    }
    text_add_shell(&name, info->loaded ? info->origin : info->name, false);
    printf("\n'hone filters %s -v' shows its variants and what can be tuned\n", text_view(&name));
    text_finish(&name);
}

/* What can be said without a device is said; only a device that was asked for must be there. */
static int show_filter(const struct common_options *common, const hone_filter_info *info)
{
    hone_device *device = NULL;
    hone_error error;
    bool ok = true;
    if (!common->json)
        print_use(info);
    hone_status status = cli_open_device(&device, common, common->device, &error);
    if (status && common->device)
        return cli_fail(common, &error);
    json_t *chosen = common->json && device ? json_array() : NULL;
    if (device)
        ok = show_choices(device, info, chosen);
    else if (!common->json)
        printf("\nnothing can be chosen here: %s\n", error.message);
    if (!common->json)
        print_more(common, info);
    else
        ok = print_filter_json(info, device, chosen, device ? NULL : error.message) && ok;
    hone_device_close(&device);
    return cli_reported(common, ok);
}

static int show_all(const struct common_options *common)
{
    if (common->json)
        return cli_reported(common, print_filters_json());
    print_filters();
    return EXIT_DONE;
}

static int run(int argc, char **argv)
{
    struct common_options common;
    struct operands operands;
    bool names = false, variants = false;
    hone_filter_info info;
    const struct option options[] = {
        {"names", 0, OPTION_FLAG, &names, 0, 0}, {"variants", 0, OPTION_FLAG, &variants, 0, 0}, {0}};
    enum parsed parsed = cli_parse(&command_filters, argc, argv, options, &common, &operands);
    if (parsed != PARSED_GO)
        return parsed == PARSED_END ? EXIT_DONE : EXIT_USAGE;
    if (operands.count > 1)
        return cli_usage(&command_filters, "it takes one name, not also '%s'", operands.items[1]);
    hone_error error;
    if (operands.count && cli_load_filter(operands.items[0], &error))
        return cli_fail(&common, &error);
    const char *name = operands.count ? operands.items[0] : NULL;
    if (!name)
        cli_load_own(&common);
    if (name && !hone_filter_find(name, &info))
        return cli_unknown_filter(&command_filters, name);
    if (variants && !name)
        return cli_usage(&command_filters, "--variants needs the name of a filter");
    if (names || variants)
        return show_words(&common, name, variants);
    return name ? show_filter(&common, &info) : show_all(&common);
}

const struct command command_filters = {
    .name = "filters",
    .summary = "list the filters, or describe one",
    .usage =
        "usage: hone filters [NAME] [OPTION...]\n"
        "\n"
        "Without NAME: lists all filters, behind hone's those in $XDG_DATA_HOME/hone/filters (or\n"
        "~/.local/share/hone/filters). With NAME: shows the filter's parameters, two examples, and what\n"
        "hone chooses on this device for some common images; with -v also its variants, their tunables,\n"
        "and the ladder of its source. NAME may also be a file with a filter of your own, ./glow.cl.\n"
        "\n"
        "options:\n"
        "  --names          print bare names, one per line: of the filters or, with NAME, 'parameter=' and\n"
        "                   'parameter=choice'\n"
        "  --variants       with NAME: print the bare names of its variants, one per line\n",
    .run = run,
};
