/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * A test for each filter's description and for each variant of the registry: "box", "box.direct".
 *
 *   HONE_TEST_EFFORT=least|quick|tiny|default|all   how much to try
 *   HONE_TEST_WIDE=1   only variants with 64-byte vectors
 *   HONE_TEST_CPU=1    only variants that seeds name for CPUs, or for any device
 *   HONE_TEST_RANDOM=100   of each variant so many random cases instead; HONE_TEST_SEED=1 tells which
 *   OPTIONS=1          prints compiler options instead (harness_print_options)
 *   HONE_TEST_AS=sm_90 prints those that a GPU of NVIDIA's with this architecture would get
 *   HONE_TEST_OWN=FOLDER   the variants of the filters of one's own in a folder instead
 *   SELFTEST=1         only runs the device's self-test, for its cache
 */
#include "harness.h"

#include "cl/internal.h"
#include "cl/selftest.h"
#include "filter/registry.h"
#include "hone/filter.h"
#include "support.h"

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct subject {
    const struct hone_filter *filter;
    const struct variant *variant;
};

static enum effort wished_effort(void)
{
    static const char *const names[] = {"least", "quick", "tiny", "default", "all"};
    const char *text = getenv("HONE_TEST_EFFORT");
    for (int i = 0; text && i <= EFFORT_ALL; i++)
        if (strcmp(text, names[i]) == 0)
            return (enum effort)(EFFORT_LEAST + i);
    if (text)
        test_fail(__FILE__, __LINE__, "HONE_TEST_EFFORT is '%s', which is no effort", text);
    return EFFORT_DEFAULT;
}

static void conclude(struct report *report)
{
    char *save = NULL;
    if (report->failures) {
        char *lines = text_take(&report->text);
        for (char *line = strtok_r(lines, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
            test_fail(__FILE__, __LINE__, "%s", line);
        free(lines);
        if (report->failures > 12)
            test_note("and %lu more", report->failures - 12);
    }
    report_finish(report);
}

static void describe(const void *user)
{
    const struct subject *subject = user;
    struct report report = {0};
    hone_device *device = support_open_quick();
    harness_describe(subject->filter, device, wished_effort(), &report);
    conclude(&report);
    hone_device_close(&device);
}

static unsigned long number_of(const char *name, unsigned long otherwise)
{
    const char *text = getenv(name);
    return text ? strtoul(text, NULL, 10) : otherwise;
}

static void run(const void *user)
{
    const struct subject *subject = user;
    struct report report = {0};
    hone_device *device = support_open_quick();
    const unsigned long count = number_of("HONE_TEST_RANDOM", 0), seed = number_of("HONE_TEST_SEED", 1);
    if (count > 0)
        harness_random(subject->filter, subject->variant, device, count, (uint32_t)(seed ? seed : 1),
                       &report);
    else
        harness_variant(subject->filter, subject->variant, device, wished_effort(), &report);
    test_note("%s %s: %lu programs, %lu comparisons, %lu refused", subject->filter->name,
              subject->variant->name, report.programs, report.runs, report.refused);
    if (report.runs == 0 && report.failures == 0)
        test_skip("needs a driver with other features than %s: %s", hone_device_get_info(device)->platform,
                  text_view(&report.refusals));
    conclude(&report);
    hone_device_close(&device);
}

/* Nothing can run on the device then. */
static void pretend_nvidia(hone_device *device, const char *architecture)
{
    hone_device_info *info = &device->info;
    info->kind = HONE_DEVICE_GPU;
    snprintf(info->architecture, sizeof info->architecture, "%s", architecture);
    snprintf(info->name, sizeof info->name, "NVIDIA H200");
    info->compute_units = 132;
    info->max_work_group = 1024;
    info->local_memory = 48 << 10;
    info->vendor_id = 0x10de;
    info->simd_width = 32;
    info->unified_memory = false;
    selftest_assume(device, SELFTEST_PTX, true);
    selftest_assume(device, SELFTEST_PROGRESS, true);
    selftest_assume(device, SELFTEST_WIDE, false);
    selftest_assume(device, SELFTEST_HALF, false);
}

static void print_options(const void *user)
{
    (void)user;
    hone_device *device = support_open_quick();
    if (getenv("HONE_TEST_AS"))
        pretend_nvidia(device, getenv("HONE_TEST_AS"));
    harness_print_options(device, wished_effort());
    hone_device_close(&device);
}

static void run_self_test(const void *user)
{
    (void)user;
    hone_device *device = support_open_quick();
    CHECK(selftest_holds(device, SELFTEST_BUILD));
    hone_device_close(&device);
}

static bool is_for_gpus(const char *where)
{
    struct expr expr;
    return where && expr_parse(&expr, where, NULL) == HONE_OK &&
           (expr_mentions(&expr, "GPU") || expr_mentions(&expr, "PTX") || expr_mentions(&expr, "SM"));
}

static bool is_for_cpus(const struct hone_filter *filter, const struct variant *variant)
{
    for (size_t i = 0; i < filter->seed_count; i++)
        if (strcmp(filter->seeds[i].variant, variant->name) == 0 && !is_for_gpus(filter->seeds[i].where))
            return true;
    return false;
}

/* HONE_TEST_WIDE: for a compiler that differs from another in its vectors alone. */
static bool left_out(const struct hone_filter *filter, const struct variant *variant)
{
    return (getenv("HONE_TEST_WIDE") && !(variant->needs & NEEDS_WIDE)) ||
           (getenv("HONE_TEST_CPU") && !is_for_cpus(filter, variant));
}

static void register_filter(const struct hone_filter *filter, bool described)
{
    struct subject *subjects = calloc(filter->variant_count + 1, sizeof *subjects);
    if (!subjects)
        abort();
    subjects[0].filter = filter;
    if (described)
        test_add(filter->name, describe, &subjects[0]);
    for (size_t v = 0; v < filter->variant_count; v++) {
        char name[128];
        subjects[v + 1] = (struct subject){filter, &filter->variants[v]};
        snprintf(name, sizeof name, "%s.%s", filter->name, filter->variants[v].name);
        if (!left_out(filter, &filter->variants[v]))
            test_add(name, run, &subjects[v + 1]);
    }
}

static void register_own(const char *folder)
{
    char pattern[4096];
    glob_t found = {0};
    hone_filter_info info;
    hone_error error;
    snprintf(pattern, sizeof pattern, "%s/*.cl", folder);
    if (glob(pattern, 0, NULL, &found) != 0)
        test_fail(__FILE__, __LINE__, "there is no filter in '%s'", folder);
    for (size_t i = 0; i < found.gl_pathc; i++) {
        if (hone_filter_load(found.gl_pathv[i], NULL, &info, &error))
            test_fail(__FILE__, __LINE__, "%s", error.message);
        else
            register_filter(registry_find(info.name), false);
    }
    globfree(&found);
}

static void register_filters(void)
{
    if (getenv("HONE_TEST_OWN"))
        register_own(getenv("HONE_TEST_OWN"));
    for (size_t f = 0; registry_at(f) && !getenv("HONE_TEST_OWN"); f++)
        register_filter(registry_at(f),
                        !getenv("HONE_TEST_WIDE") && !getenv("HONE_TEST_CPU") && !getenv("HONE_TEST_RANDOM"));
}

void test_register(void)
{
    if (getenv("OPTIONS"))
        test_add("options", print_options, NULL);
    else if (getenv("SELFTEST"))
        test_add("self-test", run_self_test, NULL);
    else
        register_filters();
}
