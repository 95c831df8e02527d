/* SPDX-License-Identifier: BSD-2-Clause */
/* What goes to the compiler: sources with line marks, and options. */
#include "filter/instance.h"

#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/text.h"
#include "cl/device.h"
#include "filter/arguments.h"
#include "filter/registry.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_SOURCE = 4 << 20, MAX_INCLUDES = 4 };

/* A file of the kernel folder, or the text compiled in. */
static hone_status read_file(struct text *out, const char *folder, const char *path, hone_error *error)
{
    const char *built_in = registry_text(path);
    if (folder) {
        char name[4096];
        if (snprintf(name, sizeof name, "%s/%s", folder, path) >= (int)sizeof name)
            return error_io(error, "the name of the kernel folder is too long");
        hone_status status = file_read(name, MAX_SOURCE, out, error);
        if (status)
            error_prefix(error, "the kernels that HONE_KERNEL_DIR or kernel_folder names");
        return status;
    }
    if (!built_in)
        return error_set(error, HONE_ERROR_INTERNAL, "there is no kernel file '%s'", path);
    text_add_bytes(out, built_in, strlen(built_in));
    return out->failed ? error_memory(error, "a kernel's source") : HONE_OK;
}

static hone_status add_file(struct text *out, const char *folder, const char *path, int depth,
                            hone_error *error);

/* A line of the file at `path`, or the file that it includes. Paths of included files begin at the kernel
 * folder. */
static hone_status add_line(struct text *out, const char *folder, const char *path, int number,
                            const char *line, size_t length, int depth, hone_error *error)
{
    static const char include[] = "#include \"";
    const char *name = line + strlen(include);
    const char *quote = text_starts(line, include) ? memchr(name, '"', length - strlen(include)) : NULL;
    if (!quote) {
        text_add_bytes(out, line, length);
        text_add(out, "\n");
        return HONE_OK;
    }
    char included[256];
    snprintf(included, sizeof included, "%.*s", (int)(quote - name), name);
    hone_status status = add_file(out, folder, included, depth + 1, error);
    text_add(out, "#line %d \"%s\"\n", number + 1, path);
    return status;
}

/* A text that is called `path`. */
static hone_status add_text(struct text *out, const char *folder, const char *path, const char *line,
                            int depth, hone_error *error)
{
    hone_status status = HONE_OK;
    text_add(out, "#line 1 \"%s\"\n", path);
    for (int number = 1; *line && !status; number++) {
        size_t length = strcspn(line, "\n");
        status = add_line(out, folder, path, number, line, length, depth, error);
        if (!status && out->length > MAX_SOURCE)
            status = error_io(error, "'%s' and what it includes are larger than %d bytes", path, MAX_SOURCE);
        line += length + (line[length] == '\n');
    }
    return status;
}

static hone_status add_file(struct text *out, const char *folder, const char *path, int depth,
                            hone_error *error)
{
    struct text content = {0};
    if (depth > MAX_INCLUDES)
        return error_io(error, "kernel files include each other: '%s'", path);
    hone_status status = read_file(&content, folder, path, error);
    THEN(status, add_text(out, folder, path, text_view(&content), depth, error));
    text_finish(&content);
    return status;
}

/* ---- Fused filters ---- */

static const char *const cl_types[] = {[HONE_U8] = "uchar",
                                       [HONE_U16] = "ushort",
                                       [HONE_F32] = "float",
                                       [HONE_S16] = "short",
                                       [HONE_U32] = "uint"};

/* One argument of a point's function: as the kernel's parameters ("type name, "), as members ("type name; "),
 * or as values ("PREFIXname, "). */
enum spelling { AS_PARAMETER, AS_MEMBER, AS_VALUE };

static void spell(struct text *out, enum spelling how, const char *prefix, const char *type, unsigned stage,
                  unsigned number, const char *suffix)
{
    if (how == AS_PARAMETER)
        text_add(out, ", %s f%u_%u%s", type, stage, number, suffix);
    else if (how == AS_MEMBER)
        text_add(out, "%s f%u_%u%s; ", type, stage, number, suffix);
    else
        text_add(out, ", %sf%u_%u%s", prefix, stage, number, suffix);
}

static void spell_argument(struct text *out, enum spelling how, const char *prefix,
                           const struct filter_case *c, unsigned stage, unsigned number,
                           const struct argument *argument)
{
    char pointer[64];
    snprintf(pointer, sizeof pointer, "__global const %s *", cl_types[c->second.type]);
    if (argument->kind == ARGUMENT_SURFACE) {
        spell(out, how, prefix, pointer, stage, number, "");
        spell(out, how, prefix, "int", stage, number, "_offset");
        spell(out, how, prefix, "int", stage, number, "_pitch");
    } else if (argument->kind == ARGUMENT_TABLE) {
        spell(out, how, prefix, "__global const uchar *", stage, number, "");
    } else {
        bool real =
            argument->kind == ARGUMENT_FLOAT || (argument->kind == ARGUMENT_NUMBER && c->in.type == HONE_F32);
        spell(out, how, prefix, real ? "float" : "int", stage, number, "");
    }
}

static hone_status spell_stage(struct text *out, enum spelling how, const char *prefix,
                               const struct filter_case *c, unsigned stage, hone_error *error)
{
    const struct filter_case *fused = c->fused[stage];
    struct argument_list arguments;
    hone_status status = arguments_parse(&arguments, fused->filter->point->arguments, 0, error);
    for (unsigned i = 0; i < arguments.count && !status; i++)
        spell_argument(out, how, prefix, fused, stage, i, &arguments.list[i]);
    return status;
}

static hone_status spell_all(struct text *out, enum spelling how, const struct filter_case *c,
                             hone_error *error)
{
    for (unsigned i = 0; i < c->fused_count; i++)
        TRY(spell_stage(out, how, "", c, i, error));
    return HONE_OK;
}

/* The function of one stage, from the file of its filter. */
static hone_status add_stage(struct text *out, const char *folder, const struct filter_case *c,
                             unsigned stage, hone_error *error)
{
    const struct filter_case *point = c->fused[stage];
    char path[256];
    text_add(out,
             "\n#define STAGE stage%u\n#define STAGE_IN %s\n#define STAGE_OUT %s\n#define STAGE_T %d\n"
             "#define STAGE_OT %d\n",
             stage, cl_types[point->in.type], cl_types[point->out.type], (int)point->in.type,
             (int)point->out.type);
    snprintf(path, sizeof path, "filters/%s/%s", point->filter->name, point->filter->point->source);
    hone_status status = add_file(out, folder, path, 0, error);
    text_add(out, "#undef STAGE\n#undef STAGE_IN\n#undef STAGE_OUT\n#undef STAGE_T\n#undef STAGE_OT\n");
    return status;
}

/* Calls of the stages from `first` on, `count` of them: v0 is the value that comes in, v1 what the first
 * makes of it. */
static hone_status add_calls(struct text *out, const struct filter_case *c, unsigned first, unsigned count,
                             hone_error *error)
{
    hone_status status = HONE_OK;
    for (unsigned i = 0; i < count && !status; i++) {
        const struct filter_case *point = c->fused[first + i];
        text_add(out, "    %s v%u[%u];\n    stage%u(%sv%u, i, y, v%u", cl_types[point->out.type], i + 1,
                 point->out.channels / point->in.channels, first + i, i ? "*" : "", i, i + 1);
        status = spell_stage(out, AS_VALUE, "fused->", c, first + i, error);
        text_add(out, ");\n");
    }
    return status;
}

static hone_status add_before(struct text *out, const struct filter_case *c, hone_error *error)
{
    if (c->before == 0)
        return HONE_OK;
    text_add(out, "inline %s hone_before(%s v0, int i, int y, const struct hone_fused *fused)\n{\n",
             cl_types[c->in.type], cl_types[c->fused[0]->in.type]);
    hone_status status = add_calls(out, c, 0, c->before, error);
    text_add(out, "    return *v%u;\n}\n", c->before);
    return status;
}

static hone_status add_after(struct text *out, const struct filter_case *c, hone_error *error)
{
    unsigned count = c->fused_count - c->before;
    if (count == 0)
        return HONE_OK;
    const struct filter_case *last = c->fused[c->fused_count - 1];
    unsigned made = last->out.channels / last->in.channels;
    text_add(out, "#define HONE_MADE %u\n#define FINAL_BYTES %zu\n", made, hone_type_size(last->out.type));
    text_add(out,
             "inline void hone_after(%s v0, int i, int y, const struct hone_fused *fused, %s *made)\n{\n",
             cl_types[c->out.type], cl_types[last->out.type]);
    hone_status status = add_calls(out, c, c->before, count, error);
    text_add(out, "    for (int k = 0; k < %u; k++)\n        made[k] = v%u[k];\n}\n", made, count);
    return status;
}

static hone_status add_fused(struct text *out, const char *folder, const struct filter_case *c,
                             hone_error *error)
{
    hone_status status = HONE_OK;
    for (unsigned i = 0; i < c->fused_count && !status; i++)
        status = add_stage(out, folder, c, i, error);
    text_add(out, "#line 1 \"fused\"\n#define HONE_FUSED\n#define HONE_BEFORE %u\n#define HONE_AFTER %u\n",
             c->before, c->fused_count - c->before);
    text_add(out, "#define RAW %s\n#define FINAL %s\n#define FUSED_PARAMETERS ",
             cl_types[case_input(c)->type], cl_types[case_result(c)->type]);
    THEN(status, spell_all(out, AS_PARAMETER, c, error));
    text_add(out, "\n#define FUSED_VALUES , {0");
    THEN(status, spell_all(out, AS_VALUE, c, error));
    text_add(out, "}\nstruct hone_fused { int unused; ");
    THEN(status, spell_all(out, AS_MEMBER, c, error));
    text_add(out, "};\n");
    THEN(status, add_before(out, c, error));
    return status ? status : add_after(out, c, error);
}

/* ---- The whole ---- */

/* What makes a function of the text of a filter of one's own. */
static hone_status add_own_head(struct text *out, const char *folder, const struct own_source *own,
                                hone_error *error)
{
    if (!own->pixel)
        return HONE_OK;
    text_add(out, "#line 1 \"parameters\"\n%s", own->head);
    return add_file(out, folder, "filter/own/pixel.clh", 0, error);
}

/* The text of a filter of one's own, called `name`, with what makes kernels of its function. */
static hone_status add_own(struct text *out, const char *folder, const struct own_source *own,
                           const char *name, hone_error *error)
{
    hone_status status = add_own_head(out, folder, own, error);
    THEN(status, add_text(out, folder, name, own->text, 0, error));
    return status || !own->pixel ? status : add_file(out, folder, "filter/own/kernels.clh", 0, error);
}

static hone_status source_text(struct text *out, const char *folder, const struct hone_filter *filter,
                               const struct filter_case *c, const char *file, hone_error *error)
{
    char path[256];
    hone_status status = add_file(out, folder, "filter/kernel.clh", 0, error);
    if (!status && c && c->fused_count)
        status = add_fused(out, folder, c, error);
    THEN(status, add_file(out, folder, "filter/fuse.clh", 0, error));
    snprintf(path, sizeof path, "filters/%s/%s", filter->name, file);
    if (!status &&
        filter->own) /* without a case it is for a digest, which does not depend on where a file lies */
        status = add_own(out, folder, filter->own, c ? filter->own->path : filter->name, error);
    else if (!status)
        status = add_file(out, folder, path, 0, error);
    return !status && out->failed ? error_memory(error, "a kernel's source") : status;
}

hone_status filter_own_head(struct text *out, const struct hone_filter *filter, hone_error *error)
{
    hone_status status = add_file(out, NULL, "filter/kernel.clh", 0, error);
    THEN(status, add_file(out, NULL, "filter/fuse.clh", 0, error));
    THEN(status, add_own_head(out, NULL, filter->own, error));
    return !status && out->failed ? error_memory(error, "a filter's head") : status;
}

hone_status filter_source_text(struct text *out, const char *folder, const struct hone_filter *filter,
                               const char *file, hone_error *error)
{
    return source_text(out, folder, filter, NULL, file, error);
}

hone_status case_source_text(struct text *out, hone_device *device, const struct filter_case *c,
                             const char *file, hone_error *error)
{
    return source_text(out, device_kernel_folder(device), c->filter, c, file, error);
}

/* ---- Options ---- */

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

static hone_status add_option(struct text *out, const struct build_option *option,
                              const struct expr_scope *scope, hone_error *error)
{
    int64_t holds = 1;
    hone_status status = option->where ? expr_text_value(option->where, scope, 0, &holds, error) : HONE_OK;
    if (!status && holds)
        text_add(out, " %s", option->text);
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
        text_add(out, " -DHONE_BORDER=%d%s", (int)c->border, c->filter_alpha ? " -DHONE_ALPHA=0" : "");
    for (size_t i = 0; i < variant_tunable_count(variant); i++)
        if (variant->tunables[i].kind == TUNABLE_DEFINE)
            text_add(out, " -D%s=%lld", variant->tunables[i].name, (long long)config->values[i]);
    for (size_t i = 0; i < MAX_DEFINES && variant->defines[i] && !status; i++)
        status = add_define(out, variant->defines[i], c, &scope.scope, error);
    for (size_t i = 0; i < MAX_OPTIONS && variant->options[i].text && !status; i++)
        status = add_option(out, &variant->options[i], &scope.scope, error);
    return !status && out->failed ? error_memory(error, "compiler options") : status;
}
