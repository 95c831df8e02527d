/* SPDX-License-Identifier: BSD-2-Clause */
/* Right at the size that is tuned: kernels that are right on the small picture of the first check, and wrong
 * on a larger one. */
#include "tune/measure/measure.h"

#include "filter/case.h"
#include "filter/registry.h"
#include "support.h"
#include "tune/worker/memory_file.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The kernel of the first variant begins with one of these. */
static const char shifted[] = "kernel_width -= width > 200;",
                  left_out[] = "if (width > 200 && get_global_id(1) == 40) return;", unharmed[] = "";

enum { WIDTH = 256, HEIGHT = 64 };

struct stage {
    hone_device *device;
    struct filter_case c;
    struct held_file held;
    struct measure *measure;
};

static const char *kernels_with(const char *fault)
{
    const char *folder = support_kernel_folder("box", "src/filters/box");
    char path[2 * PATH_MAX];
    snprintf(path, sizeof path, "%s/filters/box/kernel.cl", folder);
    size_t count;
    char *text = support_read(path, &count), *at = strstr(text, "__kernel void box_direct(");
    REQUIRE(at && (at = strchr(at, '{')));
    char *whole = malloc(count + strlen(fault) + 1);
    REQUIRE(whole);
    size_t before = (size_t)(at + 1 - text);
    memcpy(whole, text, before);
    strcpy(whole + before, fault);
    memcpy(whole + before + strlen(fault), at + 1, count - before);
    support_write(path, whole, count + strlen(fault));
    free(whole);
    free(text);
    return folder;
}

static void open_measure(struct stage *stage)
{
    hone_error error;
    REQUIRE_OK(measure_open(&stage->measure, stage->device, &stage->c, stage->held.path, &error));
}

static struct stage set(const char *fault)
{
    struct stage stage = {0};
    hone_error error;
    const hone_image_desc in = {.width = WIDTH, .height = HEIGHT, .type = HONE_U8, .channels = 1};
    setenv("XDG_DATA_HOME", support_folder(), 1);
    stage.device =
        support_open(&(hone_device_request){.kernel_folder = kernels_with(fault), .profile = true});
    REQUIRE_OK(case_init(&stage.c, registry_find("box"), &error));
    REQUIRE_OK(case_prepare(&stage.c, &in, NULL, &error));
    REQUIRE_OK(held_file_make(&stage.held, "", 0, &error));
    open_measure(&stage);
    return stage;
}

static void strike(struct stage *stage)
{
    measure_close(&stage->measure);
    held_file_close(&stage->held);
    case_finish(&stage->c);
    hone_device_close(&stage->device);
}

static void refer(struct stage *stage)
{
    hone_error error;
    REQUIRE_OK(measure_refer(stage->measure, 60, &error));
    REQUIRE(measure_right_of(stage->held.fd) == RIGHT_REFERENCE);
}

static struct measured try(struct stage *stage, const char *name, double best)
{
    const struct variant *variant = filter_variant(stage->c.filter, name);
    struct config config;
    struct measured measured;
    config_default(variant, &config);
    measure_try(stage->measure, variant, &config, best, (struct measure_phase){0}, &measured);
    return measured;
}

static struct measured hold(struct stage *stage, const char *name)
{
    const struct variant *variant = filter_variant(stage->c.filter, name);
    struct config config;
    struct measured measured;
    config_default(variant, &config);
    measure_hold(stage->measure, variant, &config, (struct measure_phase){0}, &measured);
    return measured;
}

TEST(plain_c_finds_the_first_variant_wrong)
{
    struct stage stage = set(shifted);
    refer(&stage);
    struct measured wrong = try(&stage, "direct", -1), right = try(&stage, "separable", -1);
    CHECK_EQ(wrong.state, STATE_WRONG);
    CHECK(wrong.ms < 0);
    CHECK_HAS(wrong.note, "at 256x64: pixel (");
    CHECK_EQ(right.state, STATE_OK);
    wrong = try(&stage, "direct", -1);
    CHECK_EQ(wrong.state, STATE_WRONG);
    CHECK_EQ(wrong.run_count, 0); /* it is in quarantine: it was not timed again */
    strike(&stage);
}

TEST(what_a_kernel_leaves_out_is_not_what_another_left_there)
{
    struct stage stage = set(left_out);
    refer(&stage);
    CHECK_EQ(try(&stage, "separable", -1).state, STATE_OK);
    struct measured wrong = try(&stage, "direct", -1);
    CHECK_EQ(wrong.state, STATE_WRONG);
    CHECK_HAS(wrong.note, "pixel (0,40)");
    CHECK_HAS(wrong.note, "; 256 elements are wrong");
    strike(&stage);
}

/* One that loses by less than the final admits is checked, too. */
TEST(slow_ones_are_checked)
{
    struct stage stage = set(shifted);
    refer(&stage);
    struct measured m = try(&stage, "direct", 1e-9); /* hopeless against that: not looked at */
    REQUIRE(m.state == STATE_SLOW && m.ms > 0);
    for (int i = 0; i < 100 && m.state == STATE_SLOW; i++) {
        double best = m.ms / 3;
        m = try(&stage, "direct", best);
        if (m.state == STATE_SLOW && m.ms <= 8 * best)
            break; /* else the machine had other work, and it was hopeless again */
    }
    CHECK_EQ(m.state, STATE_WRONG);
    strike(&stage);
}

TEST(a_variant_is_compared_with_where_plain_c_takes_too_long)
{
    struct stage stage = set(shifted);
    hone_error error;
    REQUIRE_OK(measure_refer(stage.measure, 0, &error));
    CHECK_EQ(measure_right_of(stage.held.fd), RIGHT_NONE);
    CHECK_EQ(try(&stage, "separable", -1).state, STATE_OK); /* nothing to compare with is no failure */
    CHECK_EQ(hold(&stage, "separable").state, STATE_OK);
    CHECK_EQ(measure_right_of(stage.held.fd), RIGHT_DEVICE);
    measure_close(&stage.measure); /* another process finds it */
    open_measure(&stage);
    CHECK_EQ(try(&stage, "direct", -1).state, STATE_WRONG);
    strike(&stage);
}

TEST(a_wrong_variant_is_not_compared_with)
{
    struct stage stage = set("height--;");
    CHECK_EQ(hold(&stage, "direct").state, STATE_WRONG); /* on the small picture */
    CHECK_EQ(measure_right_of(stage.held.fd), RIGHT_NONE);
    strike(&stage);
}

TEST(without_what_to_compare_with_none_is_right)
{
    struct stage stage = set(unharmed);
    refer(&stage);
    REQUIRE(ftruncate(stage.held.fd, 100) == 0);
    struct measured m = try(&stage, "direct", -1);
    CHECK_EQ(m.state, STATE_RUN);
    CHECK_HAS(m.note, "the right result has 100 bytes");
    strike(&stage);
}

static struct measure_entry entry_of(const struct stage *stage, const char *name)
{
    struct measure_entry entry = {.variant = filter_variant(stage->c.filter, name)};
    config_default(entry.variant, &entry.config);
    return entry;
}

TEST(the_final_looks_at_what_was_written_last)
{
    struct stage stage = set(shifted);
    enum { ROUNDS = 4 };
    struct measure_entry entries[] = {entry_of(&stage, "direct"), entry_of(&stage, "separable")};
    measure_race(stage.measure, entries, 2, ROUNDS, &(struct measure_phase){0});
    CHECK_EQ(entries[0].result.run_count, ROUNDS); /* nobody knows what is right */
    refer(&stage);
    measure_race(stage.measure, entries, 2, ROUNDS, &(struct measure_phase){0});
    CHECK_EQ(entries[0].result.run_count, 0);
    CHECK_EQ(entries[0].result.state, STATE_WRONG);
    CHECK_HAS(entries[0].result.note, "at 256x64: pixel (");
    CHECK_EQ(entries[1].result.run_count, ROUNDS);
    CHECK_EQ(entries[1].result.state, STATE_OK);
    strike(&stage);
}
