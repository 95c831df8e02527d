/* SPDX-License-Identifier: BSD-2-Clause */
/* Right before fast: verdicts on programs, remembered across processes, and quarantine. */
#include "choose/trust.h"

#include "choose/choose.h"
#include "filter/case.h"
#include "filter/registry.h"
#include "support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What is in the registry as box_direct, but every pixel is 77. */
static const char wrong[] =
    "__kernel void box_direct(__global const PIXEL *in, int in_offset, int in_pitch, __global RESULT *out,\n"
    "    int out_offset, int out_pitch, int width, int height, int kw, int kh, BORDER_TYPE border)\n"
    "{ int x = get_global_id(0), y = get_global_id(1);\n"
    "  if (x < width && y < height) out[out_offset + y * out_pitch + x] = 77; }\n";

static const char *wrong_kernels(void)
{
    char path[2 * PATH_MAX];
    const char *folder = support_kernel_folder("box", "src/filters/box");
    snprintf(path, sizeof path, "%s/filters/box/kernel.cl", folder);
    support_write(path, wrong, sizeof wrong - 1);
    return folder;
}

static void use_folder(void)
{
    setenv("XDG_DATA_HOME", support_folder(), 1);
}

/* The verdict on a variant of box of a fresh device. */
static hone_status verdict_on(const char *name, const char *values, const char *kernels, hone_error *why)
{
    hone_error error;
    const hone_image_desc in = {.width = 64, .height = 48, .type = HONE_U8, .channels = 1};
    const struct hone_filter *filter = registry_find("box");
    const struct variant *variant = filter_variant(filter, name);
    struct filter_case c;
    struct config config;
    struct instance *instance = NULL;
    hone_device *device = support_open(&(hone_device_request){.kernel_folder = kernels});
    REQUIRE_OK(case_init(&c, filter, &error));
    REQUIRE_OK(case_prepare(&c, &in, NULL, &error));
    config_default(variant, &config);
    REQUIRE_OK(config_parse(variant, values, &config, &error));
    REQUIRE_OK(instance_create(&instance, device, &c, variant, &config, &error));
    hone_status status = trust_check(device, instance, why);
    instance_destroy(&instance);
    case_finish(&c);
    hone_device_close(&device);
    return status;
}

static hone_status verdict(const char *kernels, hone_error *why)
{
    return verdict_on("direct", "", kernels, why);
}

static struct records load(void)
{
    struct records records = {0};
    hone_error error;
    REQUIRE_OK(records_load(&records, READ_ALL, &error));
    return records;
}

/* Whether the first choice was measured here. */
static bool chosen_here(hone_device *device, const struct filter_case *c, struct choice *first)
{
    struct choice choices[MAX_CHOICES];
    const struct choose_request request = {0};
    hone_error error;
    size_t count = 0;
    REQUIRE_OK(choose(choices, &count, device, c, &request, &error));
    REQUIRE(count > 0);
    *first = choices[0];
    return first->origin == CHOICE_MEASURED + LEVEL_EXACT;
}

TEST(a_choice_is_known_without_the_file)
{
    hone_error error;
    const hone_image_desc in = {.width = 64, .height = 48, .type = HONE_U8, .channels = 1};
    struct record_choice choice = {.count = 1, .ranked = {{"direct", "WG_X=32 WG_Y=2", 1}}};
    struct filter_case c;
    struct choice first;
    use_folder();
    hone_device *device = support_open(&(hone_device_request){0});
    REQUIRE_OK(case_init(&c, registry_find("box"), &error));
    REQUIRE_OK(case_prepare(&c, &in, NULL, &error));
    CHECK(!chosen_here(device, &c, &first));
    record_device_of(device, &choice.device);
    record_case_of(&c, &choice.c);
    REQUIRE_OK(trust_learn(device, &choice, &error));
    CHECK(chosen_here(device, &c, &first));
    CHECK_TEXT(first.variant->name, "direct");
    struct records records = load();
    CHECK_EQ(records.choice_count, 0);
    records_finish(&records);
    case_finish(&c);
    hone_device_close(&device);
}

TEST(a_right_program_is_checked_once)
{
    hone_error error;
    use_folder();
    CHECK_STATUS(verdict(NULL, &error), HONE_OK);
    CHECK_STATUS(verdict(NULL, &error), HONE_OK);
    struct records records = load();
    CHECK_EQ(records.right_count, 1); /* the second time it was known */
    CHECK_EQ(records.wrong_count, 0);
    records_finish(&records);
}

TEST(a_wrong_program_stays_in_quarantine)
{
    hone_error error = {0};
    const char *kernels = wrong_kernels();
    use_folder();
    for (int i = 0; i < 2; i++) {
        CHECK_STATUS(verdict(kernels, &error), HONE_ERROR_CHECK);
        CHECK_HAS(error.message, "in quarantine");
        CHECK_HAS(error.message, "is 77, should be");
    }
    struct records records = load();
    REQUIRE(records.wrong_count == 1);
    CHECK_TEXT(records.wrong[0].filter, "box");
    CHECK_TEXT(records.wrong[0].variant, "direct");
    CHECK_HAS(records.wrong[0].evidence, "pixel (");
    records_finish(&records);
    CHECK_STATUS(verdict(NULL, &error), HONE_OK); /* the right kernel is another program */
}

/* Whoever adds a good word later: what was wrong once is not chosen. */
TEST(wrong_wins_over_right)
{
    hone_error error;
    const char *kernels = wrong_kernels();
    use_folder();
    CHECK_STATUS(verdict(kernels, &error), HONE_ERROR_CHECK);
    struct records records = load();
    REQUIRE(records.wrong_count == 1);
    struct record_trust right = records.wrong[0];
    right.right = true;
    right.evidence[0] = '\0';
    REQUIRE_OK(records_add_trust(&right, &error));
    records_finish(&records);
    CHECK_STATUS(verdict(kernels, &error), HONE_ERROR_CHECK);
}

/* Kernels with a fault in `packed`: strips begin so many rows below. */
static const char *packed_below(const char *rows)
{
    static const char begin[] = "int y = get_global_id(1) * ROWS";
    char path[2 * PATH_MAX];
    const char *kernels = support_kernel_folder("box", "src/filters/box");
    snprintf(path, sizeof path, "%s/filters/box/packed.cl", kernels);
    size_t count;
    char *text = support_read(path, &count), *at = strstr(text, begin);
    REQUIRE(at);
    at += strlen(begin);
    char *whole = malloc(count + strlen(rows) + 2);
    REQUIRE(whole);
    int length = sprintf(whole, "%.*s+%s%s", (int)(at - text), text, rows, at);
    support_write(path, whole, (size_t)length);
    free(whole);
    free(text);
    return kernels;
}

/* These values want rows of whole vectors, which the first small picture does not have. */
TEST(what_cannot_run_on_the_first_picture_is_checked_on_another)
{
    hone_error error = {0};
    use_folder();
    CHECK_STATUS(verdict_on("packed", "KEEP=2", NULL, &error), HONE_OK);
    struct records records = load();
    CHECK_EQ(records.right_count, 1); /* it was looked at */
    records_finish(&records);
    CHECK_STATUS(verdict_on("packed", "KEEP=2", packed_below("1"), &error), HONE_ERROR_CHECK);
    CHECK_HAS(error.message, "in quarantine");
}

/* Rows of 64 pixels are whole vectors: for them another program is compiled than for the odd picture. */
TEST(the_program_that_is_used_is_the_one_that_is_checked)
{
    hone_error error = {0};
    use_folder();
    CHECK_STATUS(verdict_on("packed", "", packed_below("!TAIL"), &error), HONE_ERROR_CHECK);
    CHECK_STATUS(verdict_on("packed", "", packed_below("TAIL"), &error), HONE_OK);
}
