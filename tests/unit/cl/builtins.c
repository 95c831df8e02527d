/* SPDX-License-Identifier: BSD-2-Clause */
/* What hone declares of the built-in functions, against clang's own header. */
#include "cl/source/builtins.h"
#include "base/text.h"

#include "test.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_DECLARATIONS = 30000 };

struct list {
    char *items[MAX_DECLARATIONS]; /* "name: const float4 (float4, float)" */
    size_t count;
};

/* What clang's preprocessor makes of a text, with its header before it or not. */
static void preprocess(const char *text, bool with_header, struct text *out)
{
    char path[] = "/tmp/hone-builtins-XXXXXX", command[300], part[4096];
    FILE *file = fdopen(mkstemp(path), "w");
    REQUIRE(file && fputs(text, file) >= 0 && fclose(file) == 0);
    snprintf(command, sizeof command,
             "clang -E -P -x cl -cl-no-stdinc -cl-std=CL1.2 -target x86_64 -Dcl_khr_fp64 -Dcl_khr_fp16 %s %s "
             "| sed 's/unsigned int/uint/g'",
             with_header ? "-include opencl-c.h" : "", path);
    FILE *pipe = popen(command, "r");
    REQUIRE(pipe);
    for (size_t count; (count = fread(part, 1, sizeof part, pipe)) > 0;)
        text_add_bytes(out, part, count);
    REQUIRE(pclose(pipe) == 0 && !out->failed);
    remove(path);
}

/* Cuts "__attribute__((WHAT))" out of a declaration; true where it was there. */
static bool cut_attribute(char *declaration, const char *what)
{
    char text[64];
    bool found = false;
    snprintf(text, sizeof text, "__attribute__((%s))", what);
    for (char *at; (at = strstr(declaration, text)); found = true)
        memset(at, ' ', strlen(text));
    return found;
}

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

/* The name of a parameter at the end of `text`, behind a star or a type, is cut off. */
static void cut_name(char *text)
{
    size_t end = strlen(text), start = end;
    while (start > 0 && is_word(text[start - 1]))
        start--;
    static const char qualifiers[] =
        "const,volatile,__global,__local,__constant,__private,read_only,write_only,read_write";
    size_t before = start;
    while (before > 0 && text[before - 1] == ' ')
        before--;
    size_t first = before;
    while (first > 0 && is_word(text[first - 1]))
        first--;
    char word[64];
    snprintf(word, sizeof word, "%.*s", (int)(before - first), text + first);
    if (start < end && before > 0 && !text_has_word(qualifiers, word))
        text[before] = '\0';
}

/* Adds what there is from `from` to `to`, without blanks but one between words. */
static void add_plain(struct text *out, const char *from, const char *to)
{
    struct text plain = {0};
    for (const char *c = from; c < to; c++)
        if (!isspace((unsigned char)*c))
            text_add(&plain, "%s%c",
                     is_word(*c) && c > from && isspace((unsigned char)c[-1]) && plain.length ? " " : "", *c);
    char *text = text_take(&plain);
    REQUIRE(text || from == to);
    if (text)
        cut_name(text);
    text_add(out, "%s", text ? text : "");
    free(text);
}

static void add_declaration(struct list *list, char *declaration)
{
    struct text line = {0};
    bool overloadable = cut_attribute(declaration, "overloadable");
    cut_attribute(declaration, "nothrow");
    const char *effect = cut_attribute(declaration, "const")        ? "const"
                         : cut_attribute(declaration, "pure")       ? "pure"
                         : cut_attribute(declaration, "convergent") ? "convergent"
                                                                    : "any";
    char *open = strchr(declaration, '('), *close = strrchr(declaration, ')');
    if (!overloadable || !open || !close || strstr(declaration, "__attribute__"))
        return;
    char *name_end = open, *name;
    while (name_end > declaration && !is_word(name_end[-1]))
        name_end--;
    for (name = name_end; name > declaration && is_word(name[-1]);)
        name--;
    text_add(&line, "%.*s: %s ", (int)(name_end - name), name, effect);
    add_plain(&line, declaration, name);
    text_add(&line, "(");
    for (char *at = open + 1, *next; at <= close; at = next + 1) {
        next = at + strcspn(at, ",)");
        add_plain(&line, at, next);
        text_add(&line, *next == ',' ? "," : ")");
    }
    REQUIRE(list->count < MAX_DECLARATIONS && (list->items[list->count++] = text_take(&line)));
}

static int compare(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The declarations of a preprocessed text, sorted, each once. */
static void read_list(struct list *list, const struct text *text)
{
    char *copy = strdup(text_view(text)), *state = NULL;
    for (char *c = copy; *c; c++)
        if (*c == '#') /* a pragma */
            while (*c && *c != '\n')
                *c++ = ' ';
    for (char *part = strtok_r(copy, ";", &state); part; part = strtok_r(NULL, ";", &state))
        if (strstr(part, "overloadable"))
            add_declaration(list, part);
    free(copy);
    qsort(list->items, list->count, sizeof *list->items, compare);
    size_t kept = 0;
    for (size_t i = 0; i < list->count; i++) {
        if (kept && strcmp(list->items[kept - 1], list->items[i]) == 0)
            free(list->items[i]);
        else
            list->items[kept++] = list->items[i];
    }
    list->count = kept;
}

static void free_list(struct list *list)
{
    for (size_t i = 0; i < list->count; i++)
        free(list->items[i]);
    list->count = 0;
}

static void name_of(const char *item, char name[96])
{
    snprintf(name, 96, "%.*s", (int)strcspn(item, ":"), item);
}

static bool has(const struct list *list, const char *item)
{
    return bsearch(&item, list->items, list->count, sizeof *list->items, compare) != NULL;
}

/* Whether hone declares the function, and leaves nothing of it to the header. Loads and stores of single
 * halves are in no standard. */
static bool is_declared(const char *name)
{
    if (strcmp(name, "vload") == 0 || strcmp(name, "vstore") == 0)
        return false;
    struct text out = {0};
    bool declared = builtins_declare(name, &out);
    text_finish(&out);
    return declared;
}

static bool is_of_images(const char *name)
{
    return text_starts(name, "read_image") || text_starts(name, "write_image");
}

/* Older versions of clang have these for half, too, which OpenCL has not. */
static bool is_beyond_standard(const char *item)
{
    return text_starts(item, "fast_") && strstr(item, "half");
}

static struct list header, ours;

TEST(every_overload_is_declared_as_clang_does)
{
    struct text text = {0}, names = {0}, declarations = {0};
    char name[96], last[96] = "";
    unsigned functions = 0;
    preprocess("", true, &text);
    read_list(&header, &text);
    text_finish(&text);
    CHECK(header.count > 10000);
    for (size_t i = 0; i < header.count; i++) {
        name_of(header.items[i], name);
        if (strcmp(name, last) != 0 && is_declared(name)) {
            text_add(&names, "%s ", name);
            functions++;
        }
        snprintf(last, sizeof last, "%s", name);
    }
    CHECK(functions > 650);
    REQUIRE(builtins_declare(text_view(&names), &declarations));
    preprocess(text_view(&declarations), false, &text);
    read_list(&ours, &text);
    for (size_t i = 0; i < ours.count; i++)
        if (!has(&header, ours.items[i]))
            test_fail(__FILE__, __LINE__, "clang does not declare '%s'", ours.items[i]);
    for (size_t i = 0; i < header.count; i++) {
        name_of(header.items[i], name);
        if (is_declared(name) && !is_of_images(name) && !is_beyond_standard(header.items[i]) &&
            !has(&ours, header.items[i]))
            test_fail(__FILE__, __LINE__, "hone does not declare '%s'", header.items[i]);
    }
    text_finish(&text);
    text_finish(&names);
    text_finish(&declarations);
    free_list(&header);
    free_list(&ours);
}

static void declare_for(const char *source, struct text *out)
{
    text_finish(out);
    CHECK(builtins_declare(source, out));
}

TEST(only_what_is_named_is_declared)
{
    struct text out = {0};
    declare_for("kernel void k(global int *a) { a[get_global_id(0)] = 1; }", &out);
    CHECK_HAS(text_view(&out), "get_global_id(uint)");
    CHECK(!strstr(text_view(&out), "get_local_id"));
    CHECK(!strstr(text_view(&out), " max("));
    declare_for("my_max(maximum, max_)", &out);
    CHECK(!strstr(text_view(&out), " max("));
    declare_for("/**/max(1,2)", &out);
    CHECK_HAS(text_view(&out), "int4 HONE_CONST max(int4,int);");
    text_finish(&out);
}

TEST(names_that_are_pasted_together_are_declared)
{
    struct text out = {0};
    declare_for("PASTE(PASTE(convert_, T), _sat)(PASTE(vload, N)(0, p))", &out);
    CHECK_HAS(text_view(&out), "uchar16 HONE_CONST convert_uchar16_sat(float16);");
    CHECK_HAS(text_view(&out), "uchar16 HONE_CONST convert_uchar16(float16);");
    CHECK(!strstr(text_view(&out), "convert_uchar16_rte"));
    CHECK_HAS(text_view(&out), "float8 HONE_PURE vload8(size_t, const __local float *);");
    text_finish(&out);
}

TEST(what_only_the_header_declares_is_left_to_it)
{
    static const char *const sources[] = {"printf(\"x\")",         "image3d_t i",
                                          "sincos(x, &y)",         "async_work_group_copy(a, b, 1, 0)",
                                          "convert_half(x)",       "vload_half4(0, p)",
                                          "atom_add(p, 1)",        "sub_group_all(1)",
                                          "read_imagei(i, s, c)",  "get_image_width(i)",
                                          "vstorea_half2(v, 0, p)"};
    for (size_t i = 0; i < sizeof sources / sizeof *sources; i++)
        if (is_declared(sources[i]))
            test_fail(__FILE__, __LINE__, "'%s' is declared", sources[i]);
}
