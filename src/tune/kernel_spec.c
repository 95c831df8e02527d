/* SPDX-License-Identifier: BSD-2-Clause */
#include "tune/kernel_spec.h"

#include "base/error.h"
#include "base/mem.h"
#include "base/text.h"
#include "tune/records.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Formulas and names ---- */

hone_status formula_new(struct formula **out, const char *text, size_t length, hone_error *error)
{
    formula_free(out);
    struct formula *formula = mem_new(1, sizeof *formula);
    if (formula)
        formula->text = mem_copy_text_n(text, length);
    *out = formula;
    if (!formula || !formula->text)
        return error_memory(error, "an expression");
    return expr_parse(&formula->expr, formula->text, error);
}

void formula_free(struct formula **formula)
{
    if (*formula)
        free((*formula)->text);
    free(*formula);
    *formula = NULL;
}

hone_status formula_value(const struct formula *formula, const struct expr_scope *scope, const char *what,
                          int64_t *value, hone_error *error)
{
    hone_status status = expr_value(&formula->expr, scope, value, error);
    if (status)
        error_prefix(error, "%s '%s'", what, formula->text);
    return status;
}

char *kernel_path(const char *folder, const char *name)
{
    struct text path = {0};
    if (!folder || !*folder || name[0] == '/')
        return mem_copy_text(name);
    text_add(&path, "%s/%s", folder, name);
    return text_take(&path);
}

static bool is_name(const char *text, size_t length)
{
    if (length == 0 || length > EXPR_MAX_NAME || isdigit((unsigned char)text[0]))
        return false;
    for (size_t i = 0; i < length; i++)
        if (!isalnum((unsigned char)text[i]) && text[i] != '_')
            return false;
    return true;
}

/* "NAME=rest": the length of the name. */
static hone_status split_name(const char *what, const char *text, size_t *length, hone_error *error)
{
    *length = strcspn(text, "=");
    if (text[*length] != '=' || !is_name(text, *length))
        return error_set(error, HONE_ERROR_USAGE,
                         "%s takes NAME=%s with a name of at most %d letters, digits and '_', not '%s'", what,
                         strcmp(what, "param") == 0 ? "VALUE,VALUE..." : "VALUE", EXPR_MAX_NAME, text);
    return HONE_OK;
}

/* ---- Settings ---- */

static hone_status set_text(char **to, const char *value, hone_error *error)
{
    free(*to);
    *to = mem_copy_text(value);
    return *to ? HONE_OK : error_memory(error, "a setting");
}

static hone_status add_value(struct space_parameter *p, int64_t value, hone_error *error)
{
    for (int i = 0; i < p->count; i++)
        if (p->values[i] == value)
            return error_set(error, HONE_ERROR_USAGE, "param %s has the value %lld twice", p->name,
                             (long long)value);
    if (p->count == SPACE_MAX_VALUES)
        return error_set(error, HONE_ERROR_USAGE, "param %s has more than %d values", p->name,
                         SPACE_MAX_VALUES);
    p->values[p->count++] = value;
    return HONE_OK;
}

/* "8,16,32" or "1..4" */
static hone_status parse_values(struct space_parameter *p, const char *text, hone_error *error)
{
    hone_status status = HONE_OK;
    while (!status) {
        char *end;
        long long first = strtoll(text, &end, 0), last = first;
        bool ok = end != text;
        if (ok && strncmp(end, "..", 2) == 0) {
            const char *from = end + 2;
            last = strtoll(from, &end, 0);
            ok = end != from && last >= first;
        }
        if (!ok || (*end && *end != ','))
            return error_set(error, HONE_ERROR_USAGE,
                             "param %s takes whole numbers such as 1,2,4 or 1..4, not '%s'", p->name, text);
        for (long long value = first; !status; value++) {
            status = add_value(p, value, error);
            if (value == last)
                break;
        }
        if (!*end)
            break;
        text = end + 1;
    }
    return status;
}

static hone_status set_parameter(struct kernel_spec *spec, const char *text, hone_error *error)
{
    struct space_parameter p = {0};
    size_t length;
    hone_status status = split_name("param", text, &length, error);
    if (status)
        return status;
    snprintf(p.name, sizeof p.name, "%.*s", (int)length, text);
    status = parse_values(&p, text + length + 1, error);
    if (status)
        return status;
    int index = 0;
    while (index < spec->parameter_count && strcmp(spec->parameters[index].name, p.name) != 0)
        index++;
    if (index == SPACE_MAX_PARAMETERS)
        return error_set(error, HONE_ERROR_USAGE, "there are more than %d parameters", SPACE_MAX_PARAMETERS);
    spec->parameters[index] = p;
    spec->parameter_count += index == spec->parameter_count;
    return HONE_OK;
}

static hone_status set_define(struct kernel_spec *spec, const char *text, hone_error *error)
{
    size_t length;
    hone_status status = split_name("define", text, &length, error);
    int index = 0;
    while (!status && index < spec->define_count &&
           !(strlen(spec->defines[index].name) == length &&
             strncmp(spec->defines[index].name, text, length) == 0))
        index++;
    if (!status && index == KERNEL_MAX_DEFINES)
        status = error_set(error, HONE_ERROR_USAGE, "there are more than %d definitions", KERNEL_MAX_DEFINES);
    if (status)
        return status;
    struct kernel_define *define = &spec->defines[index];
    snprintf(define->name, sizeof define->name, "%.*s", (int)length, text);
    spec->define_count += index == spec->define_count;
    return formula_new(&define->value, text + length + 1, strlen(text + length + 1), error);
}

/* The comma that ends the first of several expressions: not one between parentheses. */
static size_t first_of_list(const char *text)
{
    size_t at = 0;
    for (int depth = 0; text[at] && (depth > 0 || text[at] != ','); at++)
        depth += (text[at] == '(') - (text[at] == ')');
    return at;
}

static hone_status set_sizes(struct formula *sizes[3], const char *name, const char *text, hone_error *error)
{
    hone_status status = HONE_OK;
    for (int i = 0; i < 3; i++)
        formula_free(&sizes[i]);
    for (int i = 0; !status; i++) {
        size_t length = first_of_list(text);
        if (i == 3)
            return error_set(error, HONE_ERROR_USAGE, "there are at most three dimensions");
        status = formula_new(&sizes[i], text, length, error);
        if (!text[length])
            break;
        text += length + 1;
    }
    (void)name;
    return status;
}

static hone_status add_rule(struct kernel_spec *spec, const char *text, hone_error *error)
{
    if (spec->rule_count == KERNEL_MAX_RULES)
        return error_set(error, HONE_ERROR_USAGE, "there are more than %d restrictions", KERNEL_MAX_RULES);
    return formula_new(&spec->rules[spec->rule_count++], text, strlen(text), error);
}

static hone_status add_argument(struct kernel_spec *spec, const char *text, const char *folder,
                                hone_error *error)
{
    if (spec->argument_count == KERNEL_MAX_ARGUMENTS)
        return error_set(error, HONE_ERROR_USAGE, "there are more than %d arguments", KERNEL_MAX_ARGUMENTS);
    return kernel_argument_parse(&spec->arguments[spec->argument_count++], text, folder, error);
}

static hone_status add_option(struct kernel_spec *spec, const char *text, hone_error *error)
{
    if (spec->option_count == KERNEL_MAX_OPTIONS)
        return error_set(error, HONE_ERROR_USAGE, "there are more than %d options", KERNEL_MAX_OPTIONS);
    return set_text(&spec->options[spec->option_count++], text, error);
}

/* baseline, none, lib.so:function, or a file for each output */
static hone_status set_check(struct kernel_spec *spec, const char *text, const char *folder,
                             hone_error *error)
{
    const char *colon = strrchr(text, ':');
    if (strcmp(text, "baseline") == 0 || strcmp(text, "none") == 0) {
        kernel_spec_clear_checks(spec);
        spec->check = text[0] == 'b' ? CHECK_BASELINE : CHECK_NONE;
        return HONE_OK;
    }
    bool library = colon && colon > text + 3 && is_name(colon + 1, strlen(colon + 1)) &&
                   strncmp(colon - 3, ".so", 3) == 0;
    enum kernel_check check = library ? CHECK_LIBRARY : CHECK_FILES;
    if (library || spec->check != CHECK_FILES)
        kernel_spec_clear_checks(spec);
    spec->check = check;
    if (spec->check_count == KERNEL_MAX_CHECKS)
        return error_set(error, HONE_ERROR_USAGE, "there are more than %d files", KERNEL_MAX_CHECKS);
    char *path = kernel_path(folder, text);
    if (!path)
        return error_memory(error, "a setting");
    spec->checks[spec->check_count++] = path;
    return HONE_OK;
}

static hone_status set_number(double *number, const char *text, hone_error *error)
{
    char *end;
    *number = text_number(text, &end);
    if (end == text || *end || !(*number >= 0) || !isfinite(*number))
        return error_set(error, HONE_ERROR_USAGE, "needs a number that is not negative, not '%s'", text);
    return HONE_OK;
}

static hone_status set_bound(struct kernel_spec *spec, double *number, const char *text, hone_error *error)
{
    if (!spec->has_tolerance)
        spec->tolerance = spec->relative = 0;
    spec->has_tolerance = true;
    return set_number(number, text, error);
}

static hone_status set_file(struct kernel_spec *spec, const char *value, const char *folder,
                            hone_error *error)
{
    free(spec->file);
    spec->file = kernel_path(folder, value);
    return spec->file ? HONE_OK : error_memory(error, "a setting");
}

static hone_status set(struct kernel_spec *s, const char *name, const char *value, const char *folder,
                       hone_error *e)
{
    const char *const names[] = {"kernel-file", "kernel", "param",  "restrict", "global",
                                 "local",       "arg",    "define", "options",  "check",
                                 "tolerance",   "bytes",  "flops",  "relative", "global-in-groups",
                                 "summed"};
    size_t index = 0;
    while (index < COUNT_OF(names) && strcmp(name, names[index]) != 0)
        index++;
    switch (index) {
    case 0:
        return set_file(s, value, folder, e);
    case 1:
        return set_text(&s->kernel, value, e);
    case 2:
        return set_parameter(s, value, e);
    case 3:
        return add_rule(s, value, e);
    case 4:
        return set_sizes(s->global, name, value, e);
    case 5:
        return set_sizes(s->local, name, value, e);
    case 6:
        return add_argument(s, value, folder, e);
    case 7:
        return set_define(s, value, e);
    case 8:
        return add_option(s, value, e);
    case 9:
        return set_check(s, value, folder, e);
    case 10:
        return set_bound(s, &s->tolerance, value, e);
    case 11:
        return formula_new(&s->bytes, value, strlen(value), e);
    case 12:
        return formula_new(&s->flops, value, strlen(value), e);
    case 13:
        return set_bound(s, &s->relative, value, e);
    case 14:
        s->global_in_groups = true;
        return HONE_OK;
    case 15:
        s->summed = true;
        return HONE_OK;
    default:
        return error_set(e, HONE_ERROR_USAGE, "there is no such setting");
    }
}

hone_status kernel_spec_set(struct kernel_spec *spec, const char *name, const char *value, const char *folder,
                            hone_error *error)
{
    hone_status status = set(spec, name, value, folder, error);
    if (status == HONE_ERROR_USAGE)
        error_prefix(error, "%s '%s'", name, value);
    return status;
}

/* ---- Life ---- */

struct kernel_spec *kernel_spec_new(void)
{
    return mem_new(1, sizeof(struct kernel_spec));
}

void kernel_spec_clear_arguments(struct kernel_spec *spec)
{
    for (int i = 0; i < spec->argument_count; i++)
        kernel_argument_finish(&spec->arguments[i]);
    spec->argument_count = 0;
}

void kernel_spec_clear_checks(struct kernel_spec *spec)
{
    for (int i = 0; i < spec->check_count; i++)
        free(spec->checks[i]);
    spec->check_count = 0;
}

void kernel_spec_free(struct kernel_spec *spec)
{
    if (!spec)
        return;
    kernel_spec_clear_arguments(spec);
    kernel_spec_clear_checks(spec);
    for (int i = 0; i < spec->option_count; i++)
        free(spec->options[i]);
    for (int i = 0; i < spec->rule_count; i++)
        formula_free(&spec->rules[i]);
    for (int i = 0; i < spec->define_count; i++)
        formula_free(&spec->defines[i].value);
    for (int i = 0; i < 3; i++) {
        formula_free(&spec->global[i]);
        formula_free(&spec->local[i]);
    }
    formula_free(&spec->bytes);
    formula_free(&spec->flops);
    free(spec->file);
    free(spec->kernel);
    free(spec);
}

/* Whatever stood under the name before is forgotten. */
static hone_status define_first(struct kernel_spec *spec, const char *name, uint32_t value, hone_error *error)
{
    char text[32];
    int index = 0;
    snprintf(text, sizeof text, "%s=%u", name, value);
    hone_status status = set_define(spec, text, error);
    while (!status && strcmp(spec->defines[index].name, name) != 0)
        index++;
    struct kernel_define define = spec->defines[index];
    memmove(&spec->defines[1], &spec->defines[0], sizeof define * (size_t)index);
    spec->defines[0] = define;
    return status;
}

hone_status kernel_spec_set_size(struct kernel_spec *spec, uint32_t width, uint32_t height, uint32_t channels,
                                 hone_error *error)
{
    hone_status status = define_first(spec, "W", width, error);
    if (!status)
        status = define_first(spec, "H", height, error);
    return status ? status : define_first(spec, "C", channels, error);
}

/* ---- Is it whole? ---- */

static bool has_output(const struct kernel_spec *spec)
{
    for (int i = 0; i < spec->argument_count; i++)
        if (spec->arguments[i].role != ROLE_IN)
            return true;
    return false;
}

static hone_status check_names(const struct kernel_spec *spec, hone_error *error)
{
    size_t length = 0;
    for (int i = 0; i < spec->parameter_count; i++) {
        const struct space_parameter *p = &spec->parameters[i];
        size_t longest = 0;
        for (int k = 0; k < spec->define_count; k++)
            if (strcmp(spec->defines[k].name, p->name) == 0)
                return error_set(error, HONE_ERROR_USAGE, "'%s' is a parameter and a definition", p->name);
        for (int k = 0; k < p->count; k++) {
            size_t digits = (size_t)snprintf(NULL, 0, "%lld", (long long)p->values[k]);
            longest = digits > longest ? digits : longest;
        }
        length += strlen(p->name) + longest + 2;
    }
    if (length > sizeof((struct record_config *)0)->config)
        return error_set(error, HONE_ERROR_USAGE, "the names of the parameters are too long together");
    return HONE_OK;
}

static bool mentions_parameter(const struct kernel_spec *spec, const struct formula *formula)
{
    for (int i = 0; formula && i < spec->parameter_count; i++)
        if (expr_mentions(&formula->expr, spec->parameters[i].name))
            return true;
    return false;
}

/* What is compared must have the same size in every configuration. */
static hone_status check_sizes(const struct kernel_spec *spec, hone_error *error)
{
    for (int i = 0; i < spec->argument_count; i++) {
        const struct kernel_argument_spec *a = &spec->arguments[i];
        for (int k = 0; k < 3; k++)
            if (a->kind != ARGUMENT_LOCAL && mentions_parameter(spec, a->sizes[k]))
                return error_set(
                    error, HONE_ERROR_USAGE,
                    "arg '%s': the size '%s' depends on a tuned parameter; give the largest that "
                    "is needed",
                    a->text, a->sizes[k]->text);
    }
    for (int i = 0; i < spec->define_count; i++)
        if (mentions_parameter(spec, spec->defines[i].value))
            return error_set(error, HONE_ERROR_USAGE, "define %s=%s depends on a tuned parameter",
                             spec->defines[i].name, spec->defines[i].value->text);
    return HONE_OK;
}

hone_status kernel_spec_check(const struct kernel_spec *spec, hone_error *error)
{
    if (!spec->kernel)
        return error_set(error, HONE_ERROR_USAGE, "which kernel of '%s'? Name it with --kernel",
                         spec->file ? spec->file : "the file");
    if (spec->parameter_count == 0)
        return error_set(error, HONE_ERROR_USAGE,
                         "there is nothing to tune: add --param NAME=VALUE,VALUE...");
    if (!spec->global[0])
        return error_set(error, HONE_ERROR_USAGE,
                         "how many work-items? Add --global 'W/VEC,H' (and --local 'TILE,4')");
    for (int i = 0; i < 3; i++)
        if (spec->local[0] && !spec->local[i] != !spec->global[i])
            return error_set(error, HONE_ERROR_USAGE, "--global and --local need the same number of sizes");
    if (spec->global_in_groups && !spec->local[0])
        return error_set(error, HONE_ERROR_USAGE, "a global size in work-groups needs a local size");
    if (spec->check != CHECK_NONE && !has_output(spec))
        return error_set(
            error, HONE_ERROR_USAGE,
            "no --arg is an output (out:TYPE:COUNT or inout:...), so that nothing could be checked; "
            "--check none goes without");
    hone_status status = check_names(spec, error);
    return status ? status : check_sizes(spec, error);
}

/* ---- As settings ---- */

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

static void add_parameters(json_t *settings, const struct kernel_spec *spec)
{
    for (int i = 0; i < spec->parameter_count; i++) {
        const struct space_parameter *p = &spec->parameters[i];
        struct text text = {0};
        text_add(&text, "%s=", p->name);
        for (int k = 0; k < p->count; k++)
            text_add(&text, "%s%lld", k ? "," : "", (long long)p->values[k]);
        add(settings, "param", text_view(&text));
        text_finish(&text);
    }
}

static void add_defines(json_t *settings, const struct kernel_spec *spec)
{
    for (int i = 0; i < spec->define_count; i++) {
        struct text text = {0};
        text_add(&text, "%s=%s", spec->defines[i].name, spec->defines[i].value->text);
        add(settings, "define", text_view(&text));
        text_finish(&text);
    }
}

json_t *kernel_spec_settings(const struct kernel_spec *spec)
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
    add(settings, "bytes", spec->bytes ? spec->bytes->text : NULL);
    add(settings, "flops", spec->flops ? spec->flops->text : NULL);
    return settings;
}

hone_status kernel_spec_from(struct kernel_spec *spec, const json_t *settings, hone_error *error)
{
    hone_status status = HONE_OK;
    for (size_t i = 0; i < json_array_size(settings) && !status; i++) {
        const json_t *pair = json_array_get(settings, i);
        const char *name = json_string_value(json_array_get(pair, 0)),
                   *value = json_string_value(json_array_get(pair, 1));
        status = kernel_spec_set(spec, name ? name : "", value ? value : "", NULL, error);
    }
    return status;
}
