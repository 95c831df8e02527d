/* SPDX-License-Identifier: BSD-2-Clause */
/* One setting of a kernel of the user's own: its text is checked and taken over. */
#include "tune/own/spec/spec.h"

#include "base/error.h"
#include "base/mem.h"
#include "base/text.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_name(const char *text, size_t length)
{
    if (length == 0 || length > EXPR_MAX_NAME || isdigit((unsigned char)text[0]))
        return false;
    for (size_t i = 0; i < length; i++)
        if (!isalnum((unsigned char)text[i]) && text[i] != '_')
            return false;
    return true;
}

hone_status own_split_name(const char *what, const char *text, size_t *length, hone_error *error)
{
    *length = strcspn(text, "=");
    if (text[*length] != '=' || !is_name(text, *length))
        return error_usage(
            error, "%s takes NAME=%s with a name of at most %d letters, digits and '_', not '%s'", what,
            strcmp(what, "param") == 0 ? "VALUE,VALUE..." : "VALUE", EXPR_MAX_NAME, text);
    return HONE_OK;
}

static hone_status set_text(char **to, const char *value, hone_error *error)
{
    free(*to);
    *to = mem_copy_text(value);
    return *to ? HONE_OK : error_memory(error, "a setting");
}

static hone_status set_define(struct own_spec *spec, const char *text, hone_error *error)
{
    size_t length;
    hone_status status = own_split_name("define", text, &length, error);
    int index = 0;
    while (!status && index < spec->define_count &&
           !(strlen(spec->defines[index].name) == length &&
             strncmp(spec->defines[index].name, text, length) == 0))
        index++;
    if (!status && index == OWN_MAX_DEFINES)
        status = error_usage(error, "there are more than %d definitions", OWN_MAX_DEFINES);
    if (status)
        return status;
    struct own_define *define = &spec->defines[index];
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
            return error_usage(error, "there are at most three dimensions");
        status = formula_new(&sizes[i], text, length, error);
        if (!text[length])
            break;
        text += length + 1;
    }
    (void)name;
    return status;
}

static hone_status add_rule(struct own_spec *spec, const char *text, hone_error *error)
{
    if (spec->rule_count == OWN_MAX_RULES)
        return error_usage(error, "there are more than %d restrictions", OWN_MAX_RULES);
    return formula_new(&spec->rules[spec->rule_count++], text, strlen(text), error);
}

static hone_status add_argument(struct own_spec *spec, const char *text, const char *folder,
                                hone_error *error)
{
    if (spec->argument_count == OWN_MAX_ARGUMENTS)
        return error_usage(error, "there are more than %d arguments", OWN_MAX_ARGUMENTS);
    return own_argument_parse(&spec->arguments[spec->argument_count++], text, folder, error);
}

static hone_status add_option(struct own_spec *spec, const char *text, hone_error *error)
{
    if (spec->option_count == OWN_MAX_OPTIONS)
        return error_usage(error, "there are more than %d options", OWN_MAX_OPTIONS);
    return set_text(&spec->options[spec->option_count++], text, error);
}

/* "lib.so:function" */
static bool names_library(const char *path)
{
    const char *colon = strrchr(path, ':');
    return colon && colon - path >= 3 && is_name(colon + 1, strlen(colon + 1)) &&
           strncmp(colon - 3, ".so", 3) == 0;
}

static hone_status take_check(struct own_spec *spec, char *path, hone_error *error)
{
    const bool library = names_library(path);
    if (library || spec->check != CHECK_FILES)
        own_spec_clear_checks(spec);
    spec->check = library ? CHECK_LIBRARY : CHECK_FILES;
    if (spec->check_count == OWN_MAX_CHECKS) {
        free(path);
        return error_usage(error, "there are more than %d files", OWN_MAX_CHECKS);
    }
    spec->checks[spec->check_count++] = path;
    return HONE_OK;
}

/* baseline, none, lib.so:function, or a file for each output */
static hone_status set_check(struct own_spec *spec, const char *text, const char *folder, hone_error *error)
{
    if (strcmp(text, "baseline") == 0 || strcmp(text, "none") == 0) {
        own_spec_clear_checks(spec);
        spec->check = text[0] == 'b' ? CHECK_BASELINE : CHECK_NONE;
        return HONE_OK;
    }
    char *path = kernel_path(folder, text);
    return path ? take_check(spec, path, error) : error_memory(error, "a setting");
}

static hone_status set_number(double *number, const char *text, hone_error *error)
{
    char *end;
    *number = text_number(text, &end);
    if (end == text || *end || !(*number >= 0) || !isfinite(*number))
        return error_usage(error, "needs a number that is not negative, not '%s'", text);
    return HONE_OK;
}

static hone_status set_bound(struct own_spec *spec, double *number, const char *text, hone_error *error)
{
    if (!spec->has_tolerance)
        spec->tolerance = spec->relative = 0;
    spec->has_tolerance = true;
    return set_number(number, text, error);
}

static hone_status set_switch(bool *to, const char *text, hone_error *error)
{
    *to = strcmp(text, "yes") == 0;
    return *to || strcmp(text, "no") == 0 ? HONE_OK : error_usage(error, "is yes or no, not '%s'", text);
}

static hone_status set_file(struct own_spec *spec, const char *value, const char *folder, hone_error *error)
{
    free(spec->file);
    spec->file = kernel_path(folder, value);
    return spec->file ? HONE_OK : error_memory(error, "a setting");
}

static hone_status set(struct own_spec *s, const char *name, const char *value, const char *folder,
                       hone_error *e)
{
    const char *const names[] = {"kernel-file", "kernel", "param",  "restrict", "global",
                                 "local",       "arg",    "define", "options",  "check",
                                 "tolerance",   "bytes",  "flops",  "relative", "global-in-groups",
                                 "summed",      "cold"};
    size_t index = 0;
    while (index < COUNT_OF(names) && strcmp(name, names[index]) != 0)
        index++;
    switch (index) {
    case 0:
        return set_file(s, value, folder, e);
    case 1:
        return set_text(&s->kernel, value, e);
    case 2:
        return own_parameter_set(s, value, e);
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
    case 16:
        return set_switch(&s->cold, value, e);
    default:
        return error_usage(e, "there is no such setting");
    }
}

hone_status own_spec_set(struct own_spec *spec, const char *name, const char *value, const char *folder,
                         hone_error *error)
{
    hone_status status = set(spec, name, value, folder, error);
    if (status == HONE_ERROR_USAGE)
        error_prefix(error, "%s '%s'", name, value);
    return status;
}

/* The path counts, not the text: the worker gets the path, and a folder makes ".so:f" the name of a
 * library. */
static hone_status refuse_library(const char *text, const char *folder, hone_error *error)
{
    char *path = kernel_path(folder, text);
    hone_status status = HONE_OK;
    if (!path)
        return error_memory(error, "a setting");
    if (names_library(path))
        status = error_usage(error,
                             "check '%s': a library is native code and is loaded only when the command line "
                             "names it; remove this setting and add --check '%s' if you trust it",
                             text, path);
    free(path);
    return status;
}

hone_status own_spec_set_from_file(struct own_spec *spec, const char *name, const char *value,
                                   const char *folder, hone_error *error)
{
    hone_status status = strcmp(name, "check") == 0 ? refuse_library(value, folder, error) : HONE_OK;
    return status ? status : own_spec_set(spec, name, value, folder, error);
}

/* Whatever stood under the name before is forgotten. */
static hone_status define_first(struct own_spec *spec, const char *name, uint32_t value, hone_error *error)
{
    char text[32];
    int index = 0;
    snprintf(text, sizeof text, "%s=%u", name, value);
    hone_status status = set_define(spec, text, error);
    while (!status && strcmp(spec->defines[index].name, name) != 0)
        index++;
    struct own_define define = spec->defines[index];
    memmove(&spec->defines[1], &spec->defines[0], sizeof define * (size_t)index);
    spec->defines[0] = define;
    return status;
}

hone_status own_spec_set_size(struct own_spec *spec, uint32_t width, uint32_t height, uint32_t channels,
                              hone_error *error)
{
    TRY(define_first(spec, "W", width, error));
    TRY(define_first(spec, "H", height, error));
    return define_first(spec, "C", channels, error);
}
