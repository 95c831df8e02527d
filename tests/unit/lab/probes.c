/* SPDX-License-Identifier: BSD-2-Clause */
/* Probes: kernels with more to do give the same results, and what follows from the times. No time is measured
 * here. */
#include "lab/probe/rewrite.h"
#include "lab/probe/verdict.h"

#include "filter/case.h"
#include "filter/chain.h"
#include "filter/check.h"
#include "filter/registry.h"
#include "support.h"
#include "test.h"

#include <stdlib.h>
#include <string.h>

static const struct probe_load some = {.rounds = 3, .loads = 2, .every = 2};

static size_t count(const char *text, const char *word)
{
    size_t found = 0;
    for (; (text = strstr(text, word)) != NULL; text += strlen(word))
        found++;
    return found;
}

TEST(a_kernel_gets_an_argument_and_begins_with_the_load)
{
    hone_error error = {0};
    struct text text = {0};
    text_add(&text,
             "int f(int x) { return x; }\n__kernel __attribute__((reqd_work_group_size(4, 1, 1))) void\n"
             "k(__global int *a, int b MORE) {\n  a[0] = f(b);\n}\n#define K(name) __kernel void name\n");
    REQUIRE_OK(probe_rewrite(&text, &some, 10, &error));
    CHECK_HAS(text_view(&text),
              "k(__global int *a, int b MORE, __global uint4 *restrict hone_probe_to) { "
              "hone_probe(hone_probe_to);\n  a[0] = f(b);\n}\n#define K(name) __kernel void name\n");
    CHECK_HAS(text_view(&text), "#define PROBE_ROUNDS 3\n#define PROBE_LOADS 2\n#define PROBE_EVERY 2u\n");
    CHECK_HAS(text_view(&text), "#define PROBE_MASK 1023u\n");
    text_finish(&text);
}

TEST(what_has_no_kernel_is_refused)
{
    static const char *const texts[] = {"",
                                        "__kernel",
                                        "__kernel void",
                                        "__kernel void f(",
                                        "__kernel void f() ;",
                                        "__kernel __attribute__((",
                                        "__kernel int f() {"};
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        struct text text = {0};
        text_add(&text, "%s", texts[i]);
        CHECK_EQ(probe_rewrite(&text, &some, 10, NULL), HONE_ERROR_UNSUPPORTED);
        text_finish(&text);
    }
}

/* All but those that a macro spells: transposes of the Gaussian. */
TEST(kernels_of_all_filters_are_found)
{
    hone_error error = {0};
    size_t all = 0, missed = 0;
    for (size_t f = 0; registry_at(f); f++)
        for (size_t v = 0; v < registry_at(f)->variant_count; v++) {
            const struct variant *variant = &registry_at(f)->variants[v];
            struct text text = {0};
            REQUIRE_OK(filter_source_text(&text, NULL, registry_at(f),
                                          variant->source ? variant->source : "kernel.cl", &error));
            const size_t there = count(text_view(&text), "\n__kernel ");
            REQUIRE_OK(probe_rewrite(&text, &some, 10, &error));
            all += there;
            missed += there - count(text_view(&text), " hone_probe(hone_probe_to);");
            text_finish(&text);
        }
    test_note("%zu kernels, %zu not found", all, missed);
    CHECK(all > 100 && missed * 20 <= all);
}

/* ---- The same results ---- */

struct rewriting {
    struct probe_load load;
    unsigned log2_loads;
};

static hone_status rewrite(void *context, struct text *source, hone_error *error)
{
    const struct rewriting *r = context;
    return probe_rewrite(source, &r->load, r->log2_loads, error);
}

static void run(hone_device *device, struct instance *instance, const struct view *in, struct view *out)
{
    struct memory *from = NULL, *to = NULL;
    hone_error error = {0};
    const size_t in_row = hone_image_row_bytes(&in->desc), out_row = hone_image_row_bytes(&out->desc);
    const struct span whole_in = {0, in_row, in_row, in->desc.height},
                      whole_out = {0, out_row, out_row, out->desc.height};
    REQUIRE_OK(memory_create(&from, device, in_row * in->desc.height, HONE_MEMORY_DEVICE, &error));
    REQUIRE_OK(memory_create(&to, device, out_row * out->desc.height, HONE_MEMORY_DEVICE, &error));
    REQUIRE_OK(memory_write(from, &whole_in, in->data, in_row, (struct wait_list){0}, NULL, &error));
    REQUIRE_OK(memory_write(to, &whole_out, out->data, out_row, (struct wait_list){0}, NULL, &error));
    const struct surfaces surfaces = {.in = {from, 0, in_row}, .out = {to, 0, out_row}};
    REQUIRE_OK(instance_enqueue(instance, &surfaces, (struct wait_list){0}, NULL, &error));
    REQUIRE_OK(memory_read(to, &whole_out, out->data, out_row, (struct wait_list){0}, NULL, &error));
    memory_destroy(&from);
    memory_destroy(&to);
}

/* With arithmetic and loads for all work-items: the reference's result. */
static void still_right(hone_device *device, const char *chain, const char *name)
{
    struct filter_case c;
    struct check check;
    struct check_result result = {0};
    struct config config;
    struct instance *instance = NULL;
    hone_error error = {0};
    const uint32_t zero = 0;
    const hone_image_desc in = {.width = 67, .height = 41, .type = HONE_U8, .channels = 1};
    struct rewriting r = {{.rounds = 5, .loads = 3, .every = 1}, 12};
    REQUIRE_OK(chain_parse_case(&c, chain, &error));
    REQUIRE_OK(case_prepare(&c, &in, NULL, &error));
    REQUIRE_OK(check_init(&check, device, &c, PATTERN_RANDOM, 3, &error));
    const struct variant *variant = filter_variant(c.filter, name);
    REQUIRE(variant != NULL);
    config_default(variant, &config);
    struct instance_probe probe = {.rewrite = rewrite, .context = &r};
    REQUIRE_OK(memory_create(&probe.extra, device, 16u << r.log2_loads, HONE_MEMORY_DEVICE, &error));
    REQUIRE_OK(memory_fill(probe.extra, &zero, sizeof zero, 16u << r.log2_loads, (struct wait_list){0}, NULL,
                           &error));
    REQUIRE_OK(instance_create_probe(&instance, device, &c, variant, &config, &probe, &error));
    struct view got = view_new(&check.expected.desc);
    REQUIRE(got.data != NULL);
    run(device, instance, &check.in, &got);
    check_compare(&got, &check.expected, case_bound(&c, variant, check.magnitude), &result);
    struct text why = {0};
    check_explain(&result, &why);
    if (result.wrong)
        test_fail(__FILE__, __LINE__, "%s %s: %s", chain, name, text_view(&why));
    text_finish(&why);
    view_finish(&got);
    instance_destroy(&instance);
    memory_destroy(&probe.extra);
    check_finish(&check);
    case_finish(&c);
}

TEST(results_stay_as_they_are)
{
    hone_device *device = support_open(NULL);
    still_right(device, "sobel norm=l1", "direct");
    still_right(device, "sobel norm=l1", "separable"); /* two passes */
    still_right(device, "transpose", "local");         /* a barrier */
    hone_device_close(&device);
}

/* Of ten rows of work-groups the first five. */
TEST(half_of_the_work_groups)
{
    hone_device *device = support_open(NULL);
    struct filter_case c;
    struct config config;
    struct instance *instance = NULL;
    hone_error error = {0};
    const hone_image_desc in = {.width = 16, .height = 40, .type = HONE_U8, .channels = 1};
    const struct instance_probe probe = {.part = 2};
    REQUIRE_OK(chain_parse_case(&c, "sobel norm=l1", &error));
    REQUIRE_OK(case_prepare(&c, &in, NULL, &error));
    const struct variant *variant = filter_variant(c.filter, "direct");
    config_default(variant, &config);
    REQUIRE_OK(config_parse(variant, "WG_X=16 WG_Y=4", &config, &error));
    REQUIRE_OK(instance_create_probe(&instance, device, &c, variant, &config, &probe, &error));
    struct view picture = view_new(&in), got = view_new(&c.out);
    REQUIRE(picture.data && got.data);
    pattern_fill(&picture, PATTERN_RANDOM, 1);
    memset(got.data, 0xab, 16 * 40);
    run(device, instance, &picture, &got);
    size_t upper = 0, lower = 0; /* untouched */
    for (size_t i = 0; i < 16 * 40; i++)
        *(i < 16 * 20 ? &upper : &lower) += ((unsigned char *)got.data)[i] == 0xab;
    CHECK_EQ(lower, 16 * 20);
    CHECK(upper < 16 * 2);
    view_finish(&picture);
    view_finish(&got);
    instance_destroy(&instance);
    case_finish(&c);
    hone_device_close(&device);
}

/* ---- What follows ---- */

/* Much shorter than any launch would be; half of the time is added. */
static enum limiter verdict(double work, double loads, double cached, double memory_share)
{
    const struct evidence e = {.ms = 10,
                               .launch_ms = 0.01,
                               .added = 0.5,
                               .more_work_ms = 10 + 5 * work,
                               .more_loads_ms = 10 + 5 * loads,
                               .half_ms = 5,
                               .cached_ms = cached,
                               .memory_share = memory_share};
    return evidence_verdict(&e);
}

TEST(verdicts)
{
    CHECK_EQ(verdict(0.1, 0.9, 4, 0.8), LIMIT_MEMORY);
    CHECK_EQ(verdict(1.0, 0.1, 10, 0.1), LIMIT_ARITHMETIC);
    CHECK_EQ(verdict(0.1, 0.2, 9, 0.2), LIMIT_LATENCY);
    CHECK_EQ(verdict(0.0, 0.15, 9, 0.2), LIMIT_MEMORY); /* an L2 cache that scattered loads keep busy */
    CHECK_EQ(verdict(0.0, 0.05, 9, 0.2), LIMIT_LATENCY);
    CHECK_EQ(verdict(0.8, 0.3, 9, 0.2), LIMIT_ARITHMETIC);
    /* a device that shows all: what the cache takes away decides */
    CHECK_EQ(verdict(1.0, 1.0, 4, 0.8), LIMIT_MEMORY);
    CHECK_EQ(verdict(1.0, 1.0, 10, 0.1), LIMIT_ARITHMETIC);
    CHECK_EQ(verdict(1.0, 1.0, 2, 0.05), LIMIT_LATENCY);
    CHECK_EQ(verdict(1.0, 1.0, -1, 0.1), LIMIT_ARITHMETIC);
    CHECK_EQ(verdict(-3, 1.0, 4, 0.8), LIMIT_UNKNOWN);
}

TEST(a_launch_is_seen_by_its_length)
{
    struct evidence e = {.ms = 0.025, .launch_ms = 0.01, .added = 0.5, .half_ms = -1, .cached_ms = -1};
    CHECK_EQ(evidence_verdict(&e), LIMIT_LAUNCH);
    e.ms = 0.012;
    e.half_ms = 0.010;
    CHECK_EQ(evidence_verdict(&e), LIMIT_LAUNCH);
    e.ms = 0.025;
    e.half_ms = 0.0125; /* half of the work, half of the time: it is the work that counts */
    e.more_work_ms = e.more_loads_ms = 0.0255;
    CHECK_EQ(evidence_verdict(&e), LIMIT_LATENCY);
    e.memory_share = 0.7;
    CHECK_EQ(evidence_verdict(&e), LIMIT_MEMORY);
    e.work_share = 0.8;
    CHECK_EQ(evidence_verdict(&e), LIMIT_ARITHMETIC);
    /* Longer than launches, and half takes as long: too few work-groups at once. */
    e = (struct evidence){.ms = 0.15, .launch_ms = 0.01, .added = 0.5, .half_ms = 0.149, .cached_ms = -1};
    CHECK_EQ(evidence_verdict(&e), LIMIT_LATENCY);
    e.ms = 0.004; /* of less than a launch, half is seldom measured well */
    e.half_ms = 0.002;
    CHECK_EQ(evidence_verdict(&e), LIMIT_LAUNCH);
    e.ms = 0;
    CHECK_EQ(evidence_verdict(&e), LIMIT_UNKNOWN);
}
