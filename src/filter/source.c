/* SPDX-License-Identifier: BSD-2-Clause */
/* What goes to the compiler: sources with line marks, and options. */
#include "filter/instance.h"

#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/text.h"
#include "cl/device.h"
#include "filter/registry.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_SOURCE = 4 << 20 };

/* A file of the kernel folder, or the text compiled in. */
static hone_status add_file(struct text *out, const char *folder, const char *path, const char *built_in,
                            hone_error *error)
{
    text_add(out, "#line 1 \"%s\"\n", path);
    if (folder) {
        char name[4096];
        if (snprintf(name, sizeof name, "%s/%s", folder, path) >= (int)sizeof name)
            return error_set(error, HONE_ERROR_IO, "the name of the kernel folder is too long");
        return file_read(name, MAX_SOURCE, out, error);
    }
    if (!built_in)
        return error_set(error, HONE_ERROR_INTERNAL, "there is no kernel file '%s'", path);
    text_add_bytes(out, built_in, strlen(built_in));
    return out->failed ? error_memory(error, "a kernel's source") : HONE_OK;
}

hone_status filter_source_text(struct text *out, hone_device *device, const struct hone_filter *filter,
                               const char *file, hone_error *error)
{
    char path[256];
    const char *folder = device ? device_kernel_folder(device) : NULL;
    hone_status status = add_file(out, folder, "filter/kernel.clh", registry_header(), error);
    snprintf(path, sizeof path, "filters/%s/%s", filter->name, file);
    text_add(out, "\n");
    if (!status)
        status = add_file(out, folder, path, registry_source(filter, file), error);
    return status;
}

/* A literal that no locale changes and that is not of double precision. */
static void add_float(struct text *out, float number)
{
    size_t start = out->length;
    text_add_number(out, (double)number);
    if (strpbrk(text_view(out) + start, ".e"))
        text_add(out, "f");
}

/* The content of a table as numbers with commas between them: "ints0:COUNT", "floats1:COUNT". */
static hone_status add_list(struct text *out, const char *list, const struct filter_case *c,
                            const struct expr_scope *scope, hone_error *error)
{
    bool real = text_starts(list, "floats");
    const char *index = list + strlen(real ? "floats" : "ints");
    int64_t count = 0;
    if (!isdigit((unsigned char)*index) || index[1] != ':' || !c->filter->table)
        return error_set(error, HONE_ERROR_INTERNAL, "'%s' names no table", list);
    hone_status status = expr_text_value(index + 2, scope, 0, &count, error);
    int32_t *content = !status && count > 0 ? mem_new((size_t)count, sizeof *content) : NULL;
    if (status || !content)
        return status ? status : error_memory(error, "a table");
    c->filter->table(c, *index - '0', content, (size_t)count * sizeof *content);
    for (int64_t i = 0; i < count; i++) {
        float number;
        memcpy(&number, &content[i], sizeof number);
        if (i)
            text_add(out, ",");
        if (real)
            add_float(out, number);
        else
            text_add(out, "%d", (int)content[i]);
    }
    free(content);
    return HONE_OK;
}

static hone_status add_define(struct text *out, const char *define, const struct filter_case *c,
                              const struct expr_scope *scope, hone_error *error)
{
    const char *equals = strchr(define, '=');
    int64_t value = 0;
    if (!equals)
        return error_set(error, HONE_ERROR_INTERNAL, "a shape constant without a value: %s", define);
    text_add(out, " -D%.*s=", (int)(equals - define), define);
    if (text_starts(equals + 1, "ints") || text_starts(equals + 1, "floats"))
        return add_list(out, equals + 1, c, scope, error);
    hone_status status = expr_text_value(equals + 1, scope, 0, &value, error);
    text_add(out, "%lld", (long long)value);
    return status;
}

hone_status variant_options(struct text *out, hone_device *device, const struct filter_case *c,
                            const struct variant *variant, const struct config *config, hone_error *error)
{
    struct case_scope names;
    struct config_scope scope;
    hone_status status = HONE_OK;
    case_scope_init(&names, c, device);
    config_scope_init(&scope, variant, config, &names.scope);
    text_add(out, "-DHONE_T=%d -DHONE_OT=%d -DHONE_C=%u -DHONE_ONE -DVARIANT_%s", (int)c->in.type,
             (int)c->out.type, c->in.channels, variant->name);
    if (c->filter->spatial)
        text_add(out, " -DHONE_BORDER=%d", (int)c->border);
    for (size_t i = 0; i < variant_tunable_count(variant); i++)
        if (variant->tunables[i].kind == TUNABLE_DEFINE)
            text_add(out, " -D%s=%lld", variant->tunables[i].name, (long long)config->values[i]);
    for (size_t i = 0; i < MAX_DEFINES && variant->defines[i] && !status; i++)
        status = add_define(out, variant->defines[i], c, &scope.scope, error);
    if (variant->options)
        text_add(out, " %s", variant->options);
    return !status && out->failed ? error_memory(error, "compiler options") : status;
}
