/* SPDX-License-Identifier: BSD-2-Clause */
#include "tune/own/spec/inspect.h"

#include "base/error.h"
#include "base/mem.h"
#include "base/text.h"

#include <ctype.h>
#include <string.h>

/* ---- Types as the compiler spells them ---- */

static bool is_image(const struct kernel_argument *a)
{
    return text_starts(a->type, "image2d_t");
}

static bool is_sampler(const struct kernel_argument *a)
{
    return strcmp(a->type, "sampler_t") == 0;
}

/* The element type of "float4*" or "int"; false where the type has a name of its own. */
static bool type_of(const struct kernel_argument *a, enum element *element, int *lanes)
{
    const char *text = text_starts(a->type, "const ") ? a->type + 6 : a->type;
    size_t length = strcspn(text, "*");
    while (length > 0 && text[length - 1] == ' ')
        length--;
    return element_parse(text, length, element, lanes);
}

static enum own_argument_kind kind_of(const struct kernel_argument *a)
{
    return is_image(a)                              ? OWN_IMAGE
           : is_sampler(a)                          ? OWN_SAMPLER
           : a->address == 'l'                      ? OWN_LOCAL
           : a->address == 'g' || a->address == 'c' ? OWN_BUFFER
                                                    : OWN_SCALAR;
}

static void spell(const struct kernel_argument *a, struct text *out)
{
    static const char *const accesses[] = {"read_only ", "write_only ", "read_write "};
    const char *access = a->access == 'r'   ? accesses[0]
                         : a->access == 'w' ? accesses[1]
                         : a->access == 'b' ? accesses[2]
                                            : "";
    text_add(out, "%s%s%s%s%s%s",
             a->address == 'g' && !is_image(a) ? "global "
             : a->address == 'c'               ? "constant "
             : a->address == 'l'               ? "local "
                                               : "",
             a->is_const && a->address == 'g' && !text_starts(a->type, "const") ? "const " : "", access,
             a->type, strchr(a->type, '*') ? "" : " ", a->name);
}

/* What would fit, in the words of --arg. */
static void suggest(const struct kernel_argument *a, struct text *out)
{
    enum element element = ELEMENT_F32;
    int lanes = 1;
    bool known = type_of(a, &element, &lanes);
    const char *type = known ? element_name(element) : "TYPE";
    switch (kind_of(a)) {
    case OWN_IMAGE:
        text_add(out, a->access == 'w' ? "image:out:TYPE:CHANNELS:WIDTH:HEIGHT" : "image:in:FILE");
        break;
    case OWN_SAMPLER:
        text_add(out, "sampler:nearest,edge");
        break;
    case OWN_LOCAL:
        text_add(out, "local:%s:COUNT", type);
        break;
    case OWN_BUFFER:
        text_add(out, "in:FILE, random:%s:COUNT", type);
        if (!a->is_const && a->address == 'g')
            text_add(out, " or out:%s:COUNT", type);
        break;
    default:
        text_add(out, "%s:VALUE", known ? a->type : "TYPE");
    }
}

static hone_status mismatch(const struct own_spec *spec, int i, const struct kernel_argument *a,
                            const char *why, hone_error *error)
{
    struct text declared = {0}, right = {0};
    spell(a, &declared);
    suggest(a, &right);
    hone_status status =
        error_usage(error, "--arg %d '%s': argument %d of kernel '%s' is '%s'%s%s; it takes %s", i + 1,
                    spec->arguments[i].text, i + 1, spec->kernel, text_view(&declared), *why ? ", " : "", why,
                    text_view(&right));
    text_finish(&declared);
    text_finish(&right);
    return status;
}

static hone_status check_element(const struct own_spec *spec, int i, const struct kernel_argument *a,
                                 hone_error *error)
{
    const struct own_argument *given = &spec->arguments[i];
    enum element element;
    int lanes;
    if (given->kind == OWN_IMAGE || given->kind == OWN_SAMPLER || !type_of(a, &element, &lanes))
        return HONE_OK;
    if (element != given->element) {
        struct text why = {0};
        text_add(&why, "not of %s (%s)", element_name(given->element), element_c_name(given->element));
        hone_status status = mismatch(spec, i, a, text_view(&why), error);
        text_finish(&why);
        return status;
    }
    if (given->kind == OWN_SCALAR && lanes != given->lanes)
        return mismatch(spec, i, a, "another number of values", error);
    return HONE_OK;
}

static hone_status check_role(const struct own_spec *spec, int i, const struct kernel_argument *a,
                              hone_error *error)
{
    enum own_argument_role role = spec->arguments[i].role;
    if (role != ROLE_IN && (a->is_const || a->address == 'c' || a->access == 'r'))
        return mismatch(spec, i, a, "which the kernel cannot write", error);
    if (role == ROLE_IN && a->access == 'w')
        return mismatch(spec, i, a, "which the kernel cannot read", error);
    return HONE_OK;
}

static hone_status check_one(const struct kernel *kernel, const struct own_spec *spec, int i,
                             hone_error *error)
{
    struct kernel_argument a;
    hone_status status = kernel_get_argument(kernel, (unsigned)i, &a, error);
    if (!status && kind_of(&a) != spec->arguments[i].kind)
        status = mismatch(spec, i, &a, "", error);
    THEN(status, check_element(spec, i, &a, error));
    return status ? status : check_role(spec, i, &a, error);
}

static hone_status check_count(const struct kernel *kernel, const struct own_spec *spec,
                               const struct kernel_facts *facts, hone_error *error)
{
    struct text list = {0};
    struct kernel_argument a;
    if ((int)facts->arguments == spec->argument_count)
        return HONE_OK;
    for (unsigned i = 0; facts->has_argument_info && i < facts->arguments; i++)
        if (kernel_get_argument(kernel, i, &a, NULL) == HONE_OK) {
            text_add(&list, i ? ", " : ": ");
            spell(&a, &list);
        }
    hone_status status = error_usage(error, "kernel '%s' takes %u argument%s, --arg gives %d%s", spec->kernel,
                                     facts->arguments, facts->arguments == 1 ? "" : "s", spec->argument_count,
                                     text_view(&list));
    text_finish(&list);
    return status;
}

hone_status own_inspect(const struct kernel *kernel, const struct own_spec *spec, hone_error *error)
{
    struct kernel_facts facts;
    hone_status status = kernel_get_facts(kernel, &facts, error);
    THEN(status, check_count(kernel, spec, &facts, error));
    for (int i = 0; i < spec->argument_count && facts.has_argument_info && !status; i++)
        status = check_one(kernel, spec, i, error);
    return status;
}

/* ---- The source as text ---- */

/* Behind the comment that begins here; the same place when none does. */
static const char *skip_comment(const char *at)
{
    if (at[0] == '/' && at[1] == '/')
        return at + strcspn(at, "\n");
    if (at[0] != '/' || at[1] != '*')
        return at;
    const char *end = strstr(at + 2, "*/");
    return end ? end + 2 : at + strlen(at);
}

static bool is_word(char letter)
{
    return isalnum((unsigned char)letter) || letter == '_';
}

/* The next word from *at on, outside of comments; *at goes behind it. NULL at the end. */
static const char *next_word(const char **at, size_t *length)
{
    while (**at) {
        const char *behind = skip_comment(*at), *word = behind;
        for (*length = 0; behind == *at && is_word(word[*length]);)
            ++*length;
        *at = behind != *at ? behind : word + (*length ? *length : 1);
        if (*length)
            return word;
    }
    return NULL;
}

static bool same(const char *word, size_t length, const char *name)
{
    return strlen(name) == length && strncmp(word, name, length) == 0;
}

bool own_source_mentions(const char *source, const char *name)
{
    const char *word;
    size_t length = 0;
    while ((word = next_word(&source, &length)))
        if (same(word, length, name))
            return true;
    return false;
}

/* Behind the arguments of an attribute, if some begin here. */
static const char *skip_parentheses(const char *at)
{
    int depth = 0;
    at += strspn(at, " \t\r\n");
    if (*at != '(')
        return at;
    while (*at) {
        depth += (*at == '(') - (*at == ')');
        at++;
        if (depth == 0)
            break;
    }
    return at;
}

/* The name of the next kernel; NULL: there is none. */
static const char *next_kernel(const char **source, size_t *length)
{
    const char *word;
    while ((word = next_word(source, length)) && !same(word, *length, "kernel") &&
           !same(word, *length, "__kernel"))
        ;
    if (!word)
        return NULL;
    do { /* attributes, and "void" */
        *source = skip_parentheses(*source);
        word = next_word(source, length);
    } while (word && (same(word, *length, "void") || same(word, *length, "__attribute__")));
    return word;
}

char *own_source_only(const char *source)
{
    size_t length = 0, other = 0;
    const char *name = next_kernel(&source, &length);
    return name && !next_kernel(&source, &other) ? mem_copy_text_n(name, length) : NULL;
}

void own_source_kernels(struct text *list, const char *source)
{
    const char *name;
    size_t length = 0;
    while ((name = next_kernel(&source, &length)))
        text_add(list, "%s%.*s", list->length ? ", " : "", (int)length, name);
}

bool own_source_includes(const char *source)
{
    for (const char *at = source; (at = strchr(at, '#')); at++) {
        const char *word = at + 1;
        while (*word == ' ' || *word == '\t')
            word++;
        if (text_starts(word, "include"))
            return true;
    }
    return false;
}
