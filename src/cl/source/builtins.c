/* SPDX-License-Identifier: BSD-2-Clause */
#include "cl/source/builtins.h"

#include "base/text.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define COUNT_OF(array) (sizeof(array) / sizeof *(array))

const char *const builtins_option = "-D_OPENCL_H_"; /* the header's include guard */

/* ---- Types ---- */

enum {
    CLASS_INT = 1,
    CLASS_SMALL = 2,
    CLASS_32 = 4,
    CLASS_SIGNED = 8,
    CLASS_REAL = 16,
    CLASS_FLOAT = 32,
    CLASS_ANY = CLASS_INT | CLASS_REAL
};
enum { PLAIN, DOUBLES, HALVES, EXTENSIONS }; /* which extension a declaration needs */

static const struct element {
    const char *name;
    unsigned classes;
    unsigned extension;
    const char *is_signed, *is_unsigned; /* integers of the same size */
    const char *twice;                   /* the integer of twice the size */
} elements[] = {
    {"char", CLASS_INT | CLASS_SMALL | CLASS_SIGNED, PLAIN, "char", "uchar", "short"},
    {"uchar", CLASS_INT | CLASS_SMALL, PLAIN, "char", "uchar", "ushort"},
    {"short", CLASS_INT | CLASS_SMALL | CLASS_SIGNED, PLAIN, "short", "ushort", "int"},
    {"ushort", CLASS_INT | CLASS_SMALL, PLAIN, "short", "ushort", "uint"},
    {"int", CLASS_INT | CLASS_SMALL | CLASS_32 | CLASS_SIGNED, PLAIN, "int", "uint", "long"},
    {"uint", CLASS_INT | CLASS_SMALL | CLASS_32, PLAIN, "int", "uint", "ulong"},
    {"long", CLASS_INT | CLASS_SIGNED, PLAIN, "long", "ulong", NULL},
    {"ulong", CLASS_INT, PLAIN, "long", "ulong", NULL},
    {"float", CLASS_REAL | CLASS_FLOAT, PLAIN, "int", "uint", NULL},
    {"double", CLASS_REAL, DOUBLES, "long", "ulong", NULL},
    {"half", CLASS_REAL, HALVES, "short", "ushort", NULL},
};
static const unsigned widths[] = {1, 2, 3, 4, 8, 16};

/* ---- Functions ---- */

#define CONST "__attribute__((overloadable)) __attribute__((const)) "
#define PURE  "__attribute__((overloadable)) __attribute__((pure)) "
#define OTHER "__attribute__((overloadable)) "
#define WALL  "__attribute__((overloadable)) __attribute__((convergent)) "

/* `forms`: the types of result and arguments, one letter each, of every group of overloads.
 *   g  the element with the width        e  its scalar
 *   s  u  the signed, unsigned integer   w  the integer of twice the size
 *   b  what comparisons give: int for scalars, else as s
 *   i  int with the width                j  int
 * *  vectors alone     .  widths up to 4 */
struct family {
    const char *name;
    unsigned classes;
    const char *forms;
};
/* clang-format off */
/* In alphabetical order. */
#define F(name, class, forms) {#name, CLASS_##class, forms}
static const struct family families[] = {
    F(abs, INT, "ug"), F(abs_diff, INT, "ugg"), F(acos, REAL, "gg"), F(acosh, REAL, "gg"),
    F(acospi, REAL, "gg"), F(add_sat, INT, "ggg"), F(all, SIGNED, "jg"), F(any, SIGNED, "jg"),
    F(asin, REAL, "gg"), F(asinh, REAL, "gg"), F(asinpi, REAL, "gg"), F(atan, REAL, "gg"),
    F(atan2, REAL, "ggg"), F(atan2pi, REAL, "ggg"), F(atanh, REAL, "gg"), F(atanpi, REAL, "gg"),
    F(bitselect, ANY, "gggg"), F(cbrt, REAL, "gg"), F(ceil, REAL, "gg"), F(clamp, ANY, "gggg *ggee"),
    F(clz, INT, "gg"), F(copysign, REAL, "ggg"), F(cos, REAL, "gg"), F(cosh, REAL, "gg"),
    F(cospi, REAL, "gg"), F(degrees, REAL, "gg"), F(distance, REAL, ".egg"), F(dot, REAL, ".egg"),
    F(erf, REAL, "gg"), F(erfc, REAL, "gg"), F(exp, REAL, "gg"), F(exp10, REAL, "gg"), F(exp2, REAL, "gg"),
    F(expm1, REAL, "gg"), F(fabs, REAL, "gg"), F(fast_distance, FLOAT, ".egg"), F(fast_length, FLOAT, ".eg"),
    F(fast_normalize, FLOAT, ".gg"), F(fdim, REAL, "ggg"), F(floor, REAL, "gg"), F(fma, REAL, "gggg"),
    F(fmax, REAL, "ggg *gge"), F(fmin, REAL, "ggg *gge"), F(fmod, REAL, "ggg"), F(hadd, INT, "ggg"),
    F(half_cos, FLOAT, "gg"), F(half_divide, FLOAT, "ggg"), F(half_exp, FLOAT, "gg"),
    F(half_exp10, FLOAT, "gg"), F(half_exp2, FLOAT, "gg"), F(half_log, FLOAT, "gg"),
    F(half_log10, FLOAT, "gg"), F(half_log2, FLOAT, "gg"), F(half_powr, FLOAT, "ggg"),
    F(half_recip, FLOAT, "gg"), F(half_rsqrt, FLOAT, "gg"), F(half_sin, FLOAT, "gg"),
    F(half_sqrt, FLOAT, "gg"), F(half_tan, FLOAT, "gg"), F(hypot, REAL, "ggg"), F(ilogb, REAL, "ig"),
    F(isequal, REAL, "bgg"), F(isfinite, REAL, "bg"), F(isgreater, REAL, "bgg"),
    F(isgreaterequal, REAL, "bgg"), F(isinf, REAL, "bg"), F(isless, REAL, "bgg"),
    F(islessequal, REAL, "bgg"), F(islessgreater, REAL, "bgg"), F(isnan, REAL, "bg"),
    F(isnormal, REAL, "bg"), F(isnotequal, REAL, "bgg"), F(isordered, REAL, "bgg"),
    F(isunordered, REAL, "bgg"), F(ldexp, REAL, "ggi *ggj"), F(length, REAL, ".eg"), F(lgamma, REAL, "gg"),
    F(log, REAL, "gg"), F(log10, REAL, "gg"), F(log1p, REAL, "gg"), F(log2, REAL, "gg"),
    F(logb, REAL, "gg"), F(mad, REAL, "gggg"), F(mad24, 32, "gggg"), F(mad_hi, INT, "gggg"),
    F(mad_sat, INT, "gggg"), F(max, ANY, "ggg *gge"), F(maxmag, REAL, "ggg"), F(min, ANY, "ggg *gge"),
    F(minmag, REAL, "ggg"), F(mix, REAL, "gggg *ggge"), F(mul24, 32, "ggg"), F(mul_hi, INT, "ggg"),
    F(nan, REAL, "gu"), F(native_cos, FLOAT, "gg"), F(native_divide, FLOAT, "ggg"),
    F(native_exp, FLOAT, "gg"), F(native_exp10, FLOAT, "gg"), F(native_exp2, FLOAT, "gg"),
    F(native_log, FLOAT, "gg"), F(native_log10, FLOAT, "gg"), F(native_log2, FLOAT, "gg"),
    F(native_powr, FLOAT, "ggg"), F(native_recip, FLOAT, "gg"), F(native_rsqrt, FLOAT, "gg"),
    F(native_sin, FLOAT, "gg"), F(native_sqrt, FLOAT, "gg"), F(native_tan, FLOAT, "gg"),
    F(nextafter, REAL, "ggg"), F(normalize, REAL, ".gg"), F(popcount, INT, "gg"), F(pow, REAL, "ggg"),
    F(pown, REAL, "ggi"), F(powr, REAL, "ggg"), F(radians, REAL, "gg"), F(remainder, REAL, "ggg"),
    F(rhadd, INT, "ggg"), F(rint, REAL, "gg"), F(rootn, REAL, "ggi"), F(rotate, INT, "ggg"),
    F(round, REAL, "gg"), F(rsqrt, REAL, "gg"), F(select, ANY, "gggs gggu"), F(sign, REAL, "gg"),
    F(signbit, REAL, "bg"), F(sin, REAL, "gg"), F(sinh, REAL, "gg"), F(sinpi, REAL, "gg"),
    F(smoothstep, REAL, "gggg *geeg"), F(sqrt, REAL, "gg"), F(step, REAL, "ggg *geg"),
    F(sub_sat, INT, "ggg"), F(tan, REAL, "gg"), F(tanh, REAL, "gg"), F(tanpi, REAL, "gg"),
    F(tgamma, REAL, "gg"), F(trunc, REAL, "gg"), F(upsample, SMALL, "wgu"),
};
/* clang-format on */

/* As they stand. Images: of two dimensions alone; no type of image converts to another. */
static const struct single {
    const char *name, *declarations;
} singles[] = {
    {"barrier", "void " WALL "barrier(cl_mem_fence_flags);"},
    {"get_global_id", "size_t " CONST "get_global_id(uint);"},
    {"get_global_offset", "size_t " CONST "get_global_offset(uint);"},
    {"get_global_size", "size_t " CONST "get_global_size(uint);"},
    {"get_group_id", "size_t " CONST "get_group_id(uint);"},
    {"get_local_id", "size_t " CONST "get_local_id(uint);"},
    {"get_local_size", "size_t " CONST "get_local_size(uint);"},
    {"get_num_groups", "size_t " CONST "get_num_groups(uint);"},
    {"get_work_dim", "uint " CONST "get_work_dim(void);"},
    {"mem_fence", "void " OTHER "mem_fence(cl_mem_fence_flags);"},
    {"read_imagef", "float4 " PURE "read_imagef(read_only image2d_t, sampler_t, int2);"
                    "float4 " PURE "read_imagef(read_only image2d_t, sampler_t, float2);"
                    "float4 " PURE "read_imagef(read_only image2d_t, int2);"},
    {"read_imageui", "uint4 " PURE "read_imageui(read_only image2d_t, sampler_t, int2);"
                     "uint4 " PURE "read_imageui(read_only image2d_t, sampler_t, float2);"
                     "uint4 " PURE "read_imageui(read_only image2d_t, int2);"},
    {"read_mem_fence", "void " OTHER "read_mem_fence(cl_mem_fence_flags);"},
    {"vload_half", "float " PURE "vload_half(size_t, const __global half *);"
                   "float " PURE "vload_half(size_t, const __local half *);"
                   "float " PURE "vload_half(size_t, const __constant half *);"
                   "float " PURE "vload_half(size_t, const __private half *);"},
    {"write_imagef", "void " OTHER "write_imagef(write_only image2d_t, int2, float4);"},
    {"write_imageui", "void " OTHER "write_imageui(write_only image2d_t, int2, uint4);"},
    {"write_mem_fence", "void " OTHER "write_mem_fence(cl_mem_fence_flags);"},
};

/* What only the header declares: names, and beginnings of names. */
static const char names_beyond[] =
    "cross fract frexp image1d_array_t image1d_buffer_t image1d_t image2d_array_t image2d_depth_t "
    "image2d_msaa_t image3d_t lgamma_r modf prefetch printf remquo sincos vec_step wait_group_events";
static const char *const beginnings_beyond[] = {
    "amd_",         "arm_",         "async_",      "atom_",        "get_enqueued_", "get_image_",
    "get_max_sub_", "get_num_sub_", "get_sub_",    "intel_",       "read_image",    "sub_group_",
    "vload_half",   "vloada_half",  "vstore_half", "vstorea_half", "work_group_",   "write_image"};

/* ---- Writing ---- */

struct declarations {
    struct text by_extension[EXTENSIONS];
    struct text seen; /* names, one after the other */
    bool pastes;      /* names of conversions are made by ## */
    bool beyond;      /* something is named that only the header declares */
};

static void add_type(struct text *out, const char *element, unsigned width)
{
    text_add(out, width > 1 ? "%s%u" : "%s", element, width);
}

static void add_letter(struct text *out, char letter, const struct element *element, unsigned width)
{
    const char *name = letter == 'g' || letter == 'e'                  ? element->name
                       : letter == 'w'                                 ? element->twice
                       : letter == 'u'                                 ? element->is_unsigned
                       : letter == 's' || (letter == 'b' && width > 1) ? element->is_signed
                                                                       : "int";
    add_type(out, name, letter == 'e' || letter == 'j' ? 1 : width);
}

/* `letters` end at a space or the end. */
static void add_overload(struct text *out, const char *name, const char *letters,
                         const struct element *element, unsigned width)
{
    add_letter(out, letters[0], element, width);
    text_add(out, " HONE_CONST %s(", name);
    for (const char *letter = letters + 1; *letter && *letter != ' '; letter++) {
        text_add(out, "%s", letter > letters + 1 ? "," : "");
        add_letter(out, *letter, element, width);
    }
    text_add(out, ");\n");
}

static void add_form(struct declarations *to, const struct family *family, const char *form)
{
    const bool vectors = *form == '*', narrow = *form == '.';
    const char *letters = form + (vectors || narrow);
    for (size_t i = 0; i < COUNT_OF(elements); i++)
        for (size_t k = 0; k < COUNT_OF(widths) && elements[i].classes & family->classes; k++)
            if ((widths[k] > 1 || !vectors) && (widths[k] <= 4 || !narrow))
                add_overload(&to->by_extension[elements[i].extension], family->name, letters, &elements[i],
                             widths[k]);
}

static void add_family(struct declarations *to, const struct family *family)
{
    for (const char *form = family->forms; form; form = strchr(form, ' ')) {
        form += *form == ' ';
        add_form(to, family, form);
    }
}

/* ---- Names with types or widths in them ---- */

static const char *const spaces[] = {"__global", "__local", "__constant", "__private"};

/* The width at the start of `rest`, which moves beyond it; 1 where there is none, 0 where it is not one. */
static unsigned take_width(const char **rest)
{
    char *end = (char *)*rest;
    unsigned long width = isdigit((unsigned char)**rest) ? strtoul(*rest, &end, 10) : 1;
    *rest = end;
    for (size_t k = 0; k < COUNT_OF(widths); k++)
        if (width == widths[k])
            return widths[k];
    return 0;
}

static void add_load(struct text *out, const char *element, unsigned width, const char *space)
{
    text_add(out, "%s%u HONE_PURE vload%u(size_t, const %s %s *);\n", element, width, width, space, element);
}

static void add_store(struct text *out, const char *element, unsigned width, const char *space)
{
    if (strcmp(space, "__constant") != 0)
        text_add(out, "void HONE_OTHER vstore%u(%s%u, size_t, %s %s *);\n", width, element, width, space,
                 element);
}

/* vload4, vstore4 ...; those of every width where it is pasted behind. */
static void add_accesses(struct declarations *to, const char *rest, bool load)
{
    const bool pasted = !*rest;
    const unsigned width = take_width(&rest);
    for (size_t i = 0; i < COUNT_OF(elements); i++)
        for (size_t w = 1; w < COUNT_OF(widths); w++)
            for (size_t k = 0; k < COUNT_OF(spaces) && (pasted || (width == widths[w] && !*rest)); k++)
                (load ? add_load : add_store)(&to->by_extension[elements[i].extension], elements[i].name,
                                              widths[w], spaces[k]);
}

static void add_loads(struct declarations *to, const char *rest)
{
    add_accesses(to, rest, true);
}

static void add_stores(struct declarations *to, const char *rest)
{
    add_accesses(to, rest, false);
}

/* "", "_sat", "_rte", "_sat_rte" ... */
static bool is_rounding(const char *rest)
{
    rest += text_starts(rest, "_sat") ? 4 : 0;
    return !*rest || (strlen(rest) == 4 && text_starts(rest, "_rt") && strchr("enpz", rest[3]));
}

static void add_conversion(struct declarations *to, const char *result, unsigned width, const char *rounding)
{
    for (size_t i = 0; i < COUNT_OF(elements); i++) {
        struct text *out = &to->by_extension[elements[i].extension];
        add_type(out, result, width);
        text_add(out, " HONE_CONST convert_");
        add_type(out, result, width);
        text_add(out, "%s(", rounding);
        add_type(out, elements[i].name, width);
        text_add(out, ");\n");
    }
}

/* convert_uchar4_sat_rte ...; conversions to halves and doubles are the header's. */
static void add_conversions(struct declarations *to, const char *rest)
{
    const struct element *result = NULL;
    to->pastes = to->pastes || !*rest;
    for (size_t i = 0; i < COUNT_OF(elements) && !result; i++)
        if (text_starts(rest, elements[i].name) && !isalpha((unsigned char)rest[strlen(elements[i].name)]))
            result = &elements[i];
    if (!result)
        return;
    to->beyond = to->beyond || result->extension != PLAIN;
    rest += strlen(result->name);
    const unsigned width = take_width(&rest);
    if (width && is_rounding(rest))
        add_conversion(to, result->name, width, rest);
}

/* Those to every type, with each rounding that is named by itself: what follows `convert_` is pasted. */
static void add_pasted_conversions(struct declarations *to)
{
    static const char *const roundings[] = {"",     "_sat",     "_rte",     "_rtz",     "_rtn",
                                            "_rtp", "_sat_rte", "_sat_rtz", "_sat_rtn", "_sat_rtp"};
    for (size_t r = 0; r < COUNT_OF(roundings); r++)
        for (size_t i = 0;
             i < COUNT_OF(elements) && (r == 0 || text_has_word(text_view(&to->seen), roundings[r])); i++)
            for (size_t w = 0; w < COUNT_OF(widths) && elements[i].extension == PLAIN; w++)
                add_conversion(to, elements[i].name, widths[w], roundings[r]);
}

static void add_atomic(struct text *out, const char *name, const char *element, unsigned operands)
{
    for (size_t k = 0; k < 2; k++) {
        text_add(out, "%s HONE_OTHER atomic_%s(volatile %s %s *", element, name, spaces[k], element);
        for (unsigned i = 0; i < operands; i++)
            text_add(out, ", %s", element);
        text_add(out, ");\n");
    }
}

/* atomic_add ... */
static void add_atomics(struct declarations *to, const char *name)
{
    const bool unary = text_has_word("inc,dec", name), ternary = strcmp(name, "cmpxchg") == 0;
    if (!unary && !ternary && !text_has_word("add,sub,xchg,min,max,and,or,xor", name))
        return;
    add_atomic(&to->by_extension[PLAIN], name, "int", unary ? 0 : ternary ? 2 : 1);
    add_atomic(&to->by_extension[PLAIN], name, "uint", unary ? 0 : ternary ? 2 : 1);
    if (strcmp(name, "xchg") == 0)
        add_atomic(&to->by_extension[PLAIN], name, "float", 1);
}

/* shuffle and shuffle2 */
static void add_shuffles(struct declarations *to, const char *rest)
{
    const bool two = strcmp(rest, "2") == 0;
    for (size_t i = 0; i < COUNT_OF(elements) && (two || !*rest); i++)
        for (unsigned from = 2; from <= 16; from *= 2)
            for (unsigned width = 2; width <= 16; width *= 2) {
                struct text *out = &to->by_extension[elements[i].extension];
                const char *element = elements[i].name;
                text_add(out, "%s%u HONE_CONST shuffle%s(%s%u, ", element, width, rest, element, from);
                if (two)
                    text_add(out, "%s%u, ", element, from);
                text_add(out, "%s%u);\n", elements[i].is_unsigned, width);
            }
}

/* By what a name begins with. */
static const struct prefix {
    const char *name;
    void (*add)(struct declarations *to, const char *rest);
} prefixes[] = {{"vload", add_loads},
                {"vstore", add_stores},
                {"convert_", add_conversions},
                {"atomic_", add_atomics},
                {"shuffle", add_shuffles}};

/* ---- Which ---- */

static int compare_name(const void *name, const void *entry)
{
    return strcmp(name, *(const char *const *)entry); /* what both tables begin with */
}

static bool is_beyond(const char *name)
{
    for (size_t i = 0; i < COUNT_OF(beginnings_beyond); i++)
        if (text_starts(name, beginnings_beyond[i]))
            return true;
    return text_has_word(names_beyond, name);
}

static const struct prefix *prefix_of(const char *name)
{
    for (size_t i = 0; i < COUNT_OF(prefixes); i++)
        if (text_starts(name, prefixes[i].name))
            return &prefixes[i];
    return NULL;
}

static void declare(struct declarations *to, const char *name)
{
    const struct family *family = bsearch(name, families, COUNT_OF(families), sizeof *families, compare_name);
    const struct single *single = bsearch(name, singles, COUNT_OF(singles), sizeof *singles, compare_name);
    const struct prefix *prefix = single ? NULL : prefix_of(name);
    to->beyond = to->beyond || (!single && is_beyond(name));
    if (!(family || single || prefix || is_rounding(name)) || text_has_word(text_view(&to->seen), name))
        return;
    text_add(&to->seen, " %s", name);
    if (family)
        add_family(to, family);
    if (single)
        text_add(&to->by_extension[PLAIN], "%s\n", single->declarations);
    if (prefix)
        prefix->add(to, name + strlen(prefix->name));
}

static bool is_name(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

/* Every name in the source, be it in a comment or a function of its own. */
static void declare_all(struct declarations *to, const char *source)
{
    for (const char *at = source; *at;) {
        char name[96] = ""; /* no built-in function has a longer one */
        size_t length = 0;
        while (is_name(at[length]))
            length++;
        if (length > 0 && length < sizeof name) {
            memcpy(name, at, length);
            declare(to, name);
        }
        at += length ? length : 1;
    }
    if (to->pastes)
        add_pasted_conversions(to);
}

static void add_extension(struct text *out, const char *extension, const struct text *declarations)
{
    text_add(out, "#ifdef %s\n#pragma OPENCL EXTENSION %s : enable\n%s#endif\n", extension, extension,
             text_view(declarations));
}

bool builtins_declare(const char *source, struct text *out)
{
    struct declarations to = {0};
    declare_all(&to, source);
    text_add(out, "#define HONE_CONST " CONST "\n#define HONE_PURE " PURE "\n#define HONE_OTHER " OTHER "\n");
    text_add(out, "%s", text_view(&to.by_extension[PLAIN]));
    add_extension(out, "cl_khr_fp64", &to.by_extension[DOUBLES]);
    add_extension(out, "cl_khr_fp16", &to.by_extension[HALVES]);
    text_add(out, "#pragma OPENCL EXTENSION all : disable\n"
                  "#undef HONE_CONST\n#undef HONE_PURE\n#undef HONE_OTHER\n");
    bool whole = !to.beyond && !out->failed && !to.seen.failed;
    for (size_t i = 0; i < EXTENSIONS; i++) {
        whole = whole && !to.by_extension[i].failed;
        text_finish(&to.by_extension[i]);
    }
    text_finish(&to.seen);
    return whole;
}
