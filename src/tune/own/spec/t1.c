/* SPDX-License-Identifier: BSD-2-Clause */
/* T1, the description of a tuning problem that FAIR auto-tuning toolkits share: its fields become
 * settings. */
#include "tune/own/spec/sources.h"

#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/text.h"
#include "tune/own/spec/t1.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_FILE = 1 << 20 };

struct reader {
    struct own_spec *spec;
    char *folder;
    hone_error *error;
};

static const char *text_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text ? text : "";
}

static hone_status refuse(const struct reader *r, const char *what, const char *why)
{
    return error_usage(r->error, "%s: %s", what, why);
}

/* "ProblemSize[0]" is no name of the expression language: it becomes ProblemSize_0. */
static void add_expression(struct text *out, const char *text)
{
    static const char problem[] = "ProblemSize[";
    for (; *text; text++) {
        size_t length = sizeof problem - 1;
        if (strncmp(text, problem, length) == 0 && isdigit((unsigned char)text[length]) &&
            text[length + 1] == ']') {
            text_add(out, "ProblemSize_%c", text[length]);
            text += length + 1;
        } else {
            text_add(out, "%c", *text);
        }
    }
}

/* Takes the text over. */
static hone_status set(struct reader *r, const char *name, struct text *value)
{
    hone_status status = value->failed
                             ? error_memory(r->error, "a setting")
                             : own_spec_set_from_file(r->spec, name, text_view(value), r->folder, r->error);
    text_finish(value);
    return status;
}

static hone_status set_expression(struct reader *r, const char *name, const char *text)
{
    struct text value = {0};
    add_expression(&value, text);
    return set(r, name, &value);
}

/* A number, or an expression in a string. */
static void add_value(struct text *out, const json_t *value)
{
    if (json_is_string(value))
        add_expression(out, json_string_value(value));
    else if (json_is_number(value))
        text_add_number(out, json_number_value(value));
    else
        text_add(out, "%d", json_is_true(value));
}

/* ---- Parameters ---- */

static hone_status read_parameter(struct reader *r, const json_t *parameter)
{
    const char *name = text_of(parameter, "Name"), *type = text_of(parameter, "Type"),
               *values = text_of(parameter, "Values");
    const json_t *first = json_object_get(parameter, "Default");
    const bool words = strcmp(type, "float") == 0 || strcmp(type, "string") == 0;
    struct text setting = {0};
    text_add(&setting, "%s=", name);
    if (words ? t1_words(values, first, &setting) : t1_numbers(values, first, &setting))
        return set(r, "param", &setting);
    text_finish(&setting);
    return error_usage(r->error,
                       words
                           ? "the values of '%s' must be a list such as \"[0.5, 1.0]\" or \"['float', "
                             "'float4']\" of at most %d, not \"%s\""
                           : "the values of '%s' must be a list such as \"[1, 2, 4]\" or \"range(1, 9)\" of "
                             "at most %d whole numbers, not \"%s\"",
                       name, SPACE_MAX_VALUES, values);
}

static hone_status read_space(struct reader *r, const json_t *space)
{
    const json_t *one;
    size_t i;
    hone_status status = HONE_OK;
    if (!json_is_object(space))
        return refuse(r, "ConfigurationSpace", "is missing");
    json_array_foreach(json_object_get(space, "TuningParameters"), i, one) if (!status) status =
        read_parameter(r, one);
    json_array_foreach(json_object_get(space, "Conditions"), i, one) if (!status) status =
        set_expression(r, "restrict", text_of(one, "Expression"));
    return status;
}

/* ---- Arguments ---- */

static bool is_output(const json_t *argument)
{
    const char *access = text_of(argument, "AccessType");
    return strcmp(access, "WriteOnly") == 0 || strcmp(access, "ReadWrite") == 0 ||
           json_integer_value(json_object_get(argument, "Output")) == 1;
}

/* T1 counts vectors of Type, an --arg counts numbers. */
static void add_count(struct text *out, const json_t *argument, int lanes)
{
    const json_t *size = json_object_get(argument, "Size");
    struct text count = {0};
    add_value(&count, size);
    if (lanes > 1)
        text_add(out, "%zu*(%s)", element_room(lanes), text_view(&count));
    else
        text_add(out, "%s", text_view(&count));
    text_finish(&count);
}

static hone_status read_vector(struct reader *r, const json_t *argument, enum element element, int lanes)
{
    const char *fill = text_of(argument, "FillType"), *type = element_name(element);
    bool output = is_output(argument), read = strcmp(text_of(argument, "AccessType"), "WriteOnly") != 0;
    struct text text = {0};
    if (output && !read) {
        text_add(&text, "out:%s:", type);
        add_count(&text, argument, lanes);
        return set(r, "arg", &text);
    }
    text_add(&text, output ? "inout:" : "in:");
    if (strcmp(fill, "BinaryRaw") == 0) {
        text_add(&text, "%s:%s", type, text_of(argument, "DataSource"));
        return set(r, "arg", &text);
    }
    if (strcmp(fill, "Random") == 0) {
        text_add(&text, "random:%s:", type);
    } else if (strcmp(fill, "Constant") == 0 || !*fill) {
        text_add(&text, "fill:%s:", type);
        text_add_number(&text, json_number_value(json_object_get(argument, "FillValue")));
        text_add(&text, ":");
    } else {
        text_finish(&text);
        return refuse(r, text_of(argument, "Name"), "FillType must be Constant, Random or BinaryRaw");
    }
    add_count(&text, argument, lanes);
    return set(r, "arg", &text);
}

static hone_status read_scalar(struct reader *r, const json_t *argument, enum element element, int lanes)
{
    struct text text = {0};
    text_add(&text, "%s", element_c_name(element));
    if (lanes > 1)
        text_add(&text, "%d", lanes);
    text_add(&text, ":");
    add_value(&text, json_object_get(argument, "FillValue"));
    return set(r, "arg", &text);
}

static hone_status read_argument(struct reader *r, const json_t *argument)
{
    const char *memory = text_of(argument, "MemoryType"), *type = text_of(argument, "Type"),
               *own = text_of(argument, "x_hone");
    enum element element;
    int lanes;
    struct text text = {0};
    if (*own) {
        text_add(&text, "%s", own);
        return set(r, "arg", &text);
    }
    if (strcmp(type, "bool") == 0)
        type = "int32";
    if (!element_parse_t1(type, &element, &lanes))
        return error_usage(r->error, "argument '%s' has the type '%s', which OpenCL C does not have",
                           text_of(argument, "Name"), type);
    if (strcmp(memory, "Scalar") == 0)
        return read_scalar(r, argument, element, lanes);
    bool sized = strcmp(memory, "Vector") == 0 || strcmp(memory, "Local") == 0;
    if (sized && !json_object_get(argument, "Size") &&
        strcmp(text_of(argument, "FillType"), "BinaryRaw") != 0)
        return refuse(r, text_of(argument, "Name"), "Size is missing");
    if (strcmp(memory, "Vector") == 0)
        return read_vector(r, argument, element, lanes);
    if (strcmp(memory, "Local") != 0)
        return refuse(r, text_of(argument, "Name"),
                      "MemoryType must be Scalar, Vector or Local (images and samplers: \"x_hone\": "
                      "\"image:in:FILE\")");
    text_add(&text, "local:%s:", element_name(element));
    add_count(&text, argument, lanes);
    return set(r, "arg", &text);
}

/* ---- What is right ---- */

/* The answers in the order of the arguments that they belong to. */
static hone_status read_right(struct reader *r, const json_t *arguments, const json_t *right)
{
    const json_t *argument, *answer;
    size_t i, k;
    hone_status status = HONE_OK;
    json_array_foreach(arguments, i, argument)
    {
        json_array_foreach(right, k, answer)
        {
            struct text file = {0};
            if (status || strcmp(text_of(answer, "TargetName"), text_of(argument, "Name")) != 0)
                continue;
            if (strcmp(text_of(answer, "FillType"), "BinaryRaw") != 0)
                return refuse(r, text_of(answer, "Name"), "FillType of a reference must be BinaryRaw");
            text_add(&file, "%s", text_of(answer, "DataSource"));
            status = set(r, "check", &file);
        }
    }
    return status;
}

static hone_status read_threshold(struct reader *r, const json_t *right)
{
    const json_t *first = json_array_get(right, 0);
    const char *method = text_of(first, "ValidationMethod");
    const json_t *threshold = json_object_get(first, "ValidationThreshold");
    struct text text = {0};
    if (!json_is_number(threshold))
        return HONE_OK;
    text_add_number(&text, json_number_value(threshold));
    hone_status status =
        set(r, strcmp(method, "SideBySideRelativeComparison") == 0 ? "relative" : "tolerance", &text);
    if (!status && strcmp(method, "AbsoluteDifference") == 0)
        status = own_spec_set_from_file(r->spec, "summed", "yes", NULL, r->error);
    return status;
}

/* ---- The kernel ---- */

static hone_status read_sizes(struct reader *r, const json_t *kernel, const char *key, const char *setting)
{
    static const char *const axes[] = {"X", "Y", "Z"};
    const json_t *sizes = json_object_get(kernel, key);
    struct text text = {0};
    for (size_t i = 0; i < 3 && json_object_get(sizes, axes[i]); i++) {
        text_add(&text, i ? "," : "");
        add_value(&text, json_object_get(sizes, axes[i]));
    }
    if (text.length)
        return set(r, setting, &text);
    text_finish(&text);
    return HONE_OK;
}

static hone_status read_problem(struct reader *r, const json_t *sizes)
{
    const json_t *size;
    size_t i;
    hone_status status = HONE_OK;
    json_array_foreach(sizes, i, size)
    {
        struct text text = {0};
        text_add(&text, "ProblemSize_%zu=", i);
        add_value(&text, size);
        if (!status)
            status = set(r, "define", &text);
        else
            text_finish(&text);
    }
    return status;
}

static hone_status read_names(struct reader *r, const json_t *kernel)
{
    const char *language = text_of(kernel, "Language"), *type = text_of(kernel, "GlobalSizeType");
    hone_status status = HONE_OK;
    if (strcmp(language, "OpenCL") != 0)
        return refuse(r, "Language", "only OpenCL kernels can be tuned here");
    if (!*text_of(kernel, "KernelName") || !*text_of(kernel, "KernelFile"))
        return refuse(r, "KernelSpecification", "KernelName or KernelFile is missing");
    status = own_spec_set_from_file(r->spec, "kernel", text_of(kernel, "KernelName"), NULL, r->error);
    THEN(status,
         own_spec_set_from_file(r->spec, "kernel-file", text_of(kernel, "KernelFile"), r->folder, r->error));
    if (!status && (strcmp(type, "CUDA") == 0 || strcmp(type, "Vulkan") == 0))
        status = own_spec_set_from_file(r->spec, "global-in-groups", "yes", NULL, r->error);
    return status;
}

static hone_status read_kernel(struct reader *r, const json_t *kernel)
{
    const json_t *one, *right = json_object_get(kernel, "ReferenceArguments");
    size_t i;
    if (!json_is_object(kernel))
        return refuse(r, "KernelSpecification", "is missing");
    hone_status status = read_names(r, kernel);
    THEN(status, read_problem(r, json_object_get(kernel, "ProblemSize")));
    THEN(status, read_sizes(r, kernel, "GlobalSize", "global"));
    THEN(status, read_sizes(r, kernel, "LocalSize", "local"));
    json_array_foreach(json_object_get(kernel, "CompilerOptions"), i, one) if (!status) status =
        own_spec_set_from_file(r->spec, "options", json_string_value(one) ? json_string_value(one) : "", NULL,
                               r->error);
    json_array_foreach(json_object_get(kernel, "Arguments"), i, one) if (!status) status =
        read_argument(r, one);
    THEN(status, read_right(r, json_object_get(kernel, "Arguments"), right));
    THEN(status, read_threshold(r, right));
    return status;
}

/* ---- Our own settings, and the budget ---- */

/* "x_hone": {"check": "right.raw", "define": ["N=1024"]}: any setting of the command line but native code. */
static hone_status read_own(struct reader *r, json_t *own)
{
    const char *name;
    json_t *value, *one;
    size_t i;
    hone_status status = HONE_OK;
    json_object_foreach(own, name, value)
    {
        if (json_is_string(value) && !status)
            status = own_spec_set_from_file(r->spec, name, json_string_value(value), r->folder, r->error);
        json_array_foreach(value, i, one) if (!status) status = own_spec_set_from_file(
            r->spec, name, json_string_value(one) ? json_string_value(one) : "", r->folder, r->error);
    }
    return status;
}

static void read_budget(struct reader *r, const json_t *budgets)
{
    const json_t *budget;
    size_t i;
    double space = 1;
    for (int k = 0; k < r->spec->parameter_count; k++)
        space *= r->spec->parameters[k].count;
    json_array_foreach(budgets, i, budget)
    {
        const char *type = text_of(budget, "Type");
        double value = json_number_value(json_object_get(budget, "BudgetValue"));
        if (strcmp(type, "TuningDuration") == 0)
            r->spec->budget_seconds = fmax(value, 0);
        else if (strcmp(type, "ConfigurationCount") == 0)
            r->spec->budget_count = (int)fmin(fmax(value, 0), 1e6);
        else if (strcmp(type, "ConfigurationFraction") == 0)
            r->spec->budget_count = (int)fmin(fmax(ceil(value * space), 1), 1e6);
    }
}

static hone_status read_all(struct reader *r, const char *text)
{
    json_error_t mistake;
    json_t *all = json_loads(text, 0, &mistake);
    if (!all)
        return error_usage(r->error, "line %d: %s", mistake.line, mistake.text);
    hone_status status = read_space(r, json_object_get(all, "ConfigurationSpace"));
    THEN(status, read_kernel(r, json_object_get(all, "KernelSpecification")));
    THEN(status, read_own(r, json_object_get(all, "x_hone")));
    if (!status)
        read_budget(r, json_object_get(all, "Budget"));
    json_decref(all);
    return status;
}

hone_status own_spec_read_t1(struct own_spec *spec, const char *path, hone_error *error)
{
    const char *slash = strrchr(path, '/');
    struct text content = {0};
    struct reader r = {.spec = spec,
                       .folder =
                           slash ? mem_copy_text_n(path, slash == path ? 1 : (size_t)(slash - path)) : NULL,
                       .error = error};
    hone_status status = file_read(path, MAX_FILE, &content, error);
    if (!status) {
        status = read_all(&r, text_view(&content));
        if (status == HONE_ERROR_USAGE)
            error_prefix(error, "'%s'", path);
    }
    text_finish(&content);
    free(r.folder);
    return status;
}
