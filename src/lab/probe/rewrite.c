/* SPDX-License-Identifier: BSD-2-Clause */
#include "lab/probe/rewrite.h"

#include "base/error.h"

#include <ctype.h>
#include <string.h>

/* Four chains of two operations a round. That their sum meets the number is as good as never true, and
 * nothing that a compiler could know: integers begin anywhere, for of small ones it knows the range, and
 * leaves out all of a few rounds. */
static const char probe_source[] =
    "inline void hone_probe(__global uint4 *to)\n"
    "{\n"
    "    uint at = (uint)(get_global_id(0) + get_global_size(0) * (get_global_id(1) + get_global_size(1) * "
    "get_global_id(2)));\n"
    "    if (at / 64u % PROBE_EVERY != 0u)\n"
    "        return;\n"
    "#if PROBE_ROUNDS\n"
    "    PROBE_TYPE a = PROBE_START(at), b = a + PROBE_ONE, c = b + PROBE_ONE, d = c + PROBE_ONE;\n"
    "    for (int k = 0; k < PROBE_ROUNDS; k++) {\n"
    "        a = PROBE_STEP(a); b = PROBE_STEP(b); c = PROBE_STEP(c); d = PROBE_STEP(d);\n"
    "    }\n"
    "    if (a + b + c + d == PROBE_NEVER)\n"
    "        to[0] = (uint4)(1u);\n"
    "#endif\n"
    "#if PROBE_LOADS\n"
    "    uint all = (uint)(get_global_size(0) * get_global_size(1) * get_global_size(2));\n"
    "    uint4 sum = (uint4)(0u);\n"
    "    for (uint k = 0u; k < PROBE_LOADS; k++)\n"
    "        sum += to[(at + k * all) & PROBE_MASK];\n"
    "    if (sum.x + sum.y + sum.z + sum.w == 0x9e3779b9u)\n"
    "        to[0] = sum;\n"
    "#endif\n"
    "}\n";

static void add_head(struct text *out, const struct probe_load *load, unsigned log2_loads)
{
    text_add(out, "#define PROBE_ROUNDS %u\n#define PROBE_LOADS %u\n#define PROBE_EVERY %uu\n", load->rounds,
             load->loads, load->every ? load->every : 1);
    text_add(out, "#define PROBE_MASK %uu\n", (1u << log2_loads) - 1);
    text_add(out, load->floats ? "#define PROBE_TYPE float\n#define PROBE_START(at) (float)((at) & "
                                 "255u)\n#define PROBE_ONE 1.0f\n#define PROBE_NEVER -1.0f\n"
                                 "#define PROBE_STEP(v) ((v) * 0.5f + 1.0f)\n"
                               : "#define PROBE_TYPE uint\n#define PROBE_START(at) ((at) * "
                                 "2654435761u)\n#define PROBE_ONE 1u\n#define PROBE_NEVER 0x9e3779b9u\n"
                                 "#define PROBE_STEP(v) (((v) ^ 0x55u) + 7u)\n");
    text_add(out, "%s", probe_source);
}

/* ---- Where kernels begin ---- */

static const char *skip_space(const char *at)
{
    while (isspace((unsigned char)*at))
        at++;
    return at;
}

/* Behind the bracket that closes the one at `at`; NULL where none does. */
static const char *behind_bracket(const char *at)
{
    int depth = 0;
    for (; *at; at++) {
        depth += (*at == '(') - (*at == ')');
        if (depth == 0)
            return at + 1;
    }
    return NULL;
}

/* Of "__kernel [__attribute__((...))] void NAME(...) {" at `at`: the bracket that closes the arguments, and
 * what stands behind the brace. False for anything else, such as a kernel that a macro spells. */
static bool parse_kernel(const char *at, const char **closing, const char **body)
{
    static const char attribute[] = "__attribute__", type[] = "void";
    at = skip_space(at + strlen("__kernel"));
    if (strncmp(at, attribute, strlen(attribute)) == 0) {
        at = behind_bracket(skip_space(at + strlen(attribute)));
        at = at ? skip_space(at) : "";
    }
    if (strncmp(at, type, strlen(type)) != 0)
        return false;
    at = skip_space(at + strlen(type));
    while (isalnum((unsigned char)*at) || *at == '_')
        at++;
    const char *end = *at == '(' ? behind_bracket(at) : NULL;
    const char *brace = end ? skip_space(end) : "";
    *closing = end ? end - 1 : NULL;
    *body = brace + 1;
    return *brace == '{';
}

hone_status probe_rewrite(struct text *source, const struct probe_load *load, unsigned log2_loads,
                          hone_error *error)
{
    struct text out = {0};
    const char *rest = text_view(source), *at, *closing, *body;
    int found = 0;
    add_head(&out, load, log2_loads);
    for (const char *from = rest; (at = strstr(from, "__kernel")) != NULL; from = at + 1) {
        if (!parse_kernel(at, &closing, &body))
            continue;
        text_add_bytes(&out, rest, (size_t)(closing - rest));
        text_add(&out, ", __global uint4 *restrict hone_probe_to");
        text_add_bytes(&out, closing, (size_t)(body - closing));
        text_add(&out, " hone_probe(hone_probe_to);");
        rest = at = body;
        found++;
    }
    text_add(&out, "%s", rest);
    const bool failed = out.failed;
    if (failed || !found) {
        text_finish(&out);
        return failed ? error_memory(error, "a probe")
                      : error_unsupported(error, "the program spells no kernel in full");
    }
    text_finish(source);
    *source = out;
    return HONE_OK;
}
