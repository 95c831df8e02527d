/* SPDX-License-Identifier: BSD-2-Clause */
/* Which record is nearest to a device and a case. */
#include "choose/lookup.h"

#include "base/text.h"
#include "test.h"

#include <stdio.h>
#include <string.h>

static const struct record_device here = {.name = "Toaster 3000",
                                          .vendor = "Kitchen",
                                          .platform = "Bread",
                                          .driver = "2.0",
                                          .architecture = "slot 4",
                                          .vendor_id = 7,
                                          .compute_units = 4,
                                          .kind = HONE_DEVICE_GPU};
static const struct record_case box8 = {.filter = "box",
                                        .parameters = "size=8",
                                        .border = "replicate",
                                        .source = "aaaa",
                                        .type = HONE_U8,
                                        .channels = 1,
                                        .width = 1024,
                                        .height = 1024};

TEST(levels_of_devices)
{
    struct record_device other = here;
    CHECK_EQ(lookup_level_of(&other, &here), LEVEL_EXACT);
    other.compute_units = 2; /* a part of it */
    CHECK_EQ(lookup_level_of(&other, &here), LEVEL_ARCHITECTURE);
    other.compute_units = here.compute_units;
    strcpy(other.driver, "1.0");
    CHECK_EQ(lookup_level_of(&other, &here), LEVEL_DRIVER);
    strcpy(other.name, "Toaster 2000");
    CHECK_EQ(lookup_level_of(&other, &here), LEVEL_ARCHITECTURE);
    strcpy(other.architecture, "slot 2");
    CHECK_EQ(lookup_level_of(&other, &here), LEVEL_VENDOR);
    other.vendor_id = 8;
    CHECK_EQ(lookup_level_of(&other, &here), LEVEL_KIND);
    other.kind = HONE_DEVICE_CPU;
    CHECK_EQ(lookup_level_of(&other, &here), LEVEL_ALL);
    other.vendor_id = 7; /* an architecture, as a vendor, says nothing of another kind */
    strcpy(other.architecture, "slot 4");
    CHECK_EQ(lookup_level_of(&other, &here), LEVEL_ALL);
    other.vendor_id = 8;
    /* Without an architecture two devices are not of the same one. */
    struct record_device a = here, b = other;
    a.architecture[0] = b.architecture[0] = '\0';
    CHECK_EQ(lookup_level_of(&b, &a), LEVEL_ALL);
}

TEST(levels_of_processors_are_those_of_one_platform_and_vendor)
{
    struct record_device cpu = here, other;
    cpu.kind = HONE_DEVICE_CPU;
    strcpy(cpu.vendor, "GenuineToast");
    other = cpu;
    strcpy(other.name, "Toaster 2000");
    CHECK_EQ(lookup_level_of(&other, &cpu), LEVEL_ARCHITECTURE);
    strcpy(other.vendor, "AuthenticToast"); /* PoCL gives both the same vendor_id */
    CHECK_EQ(lookup_level_of(&other, &cpu), LEVEL_KIND);
    strcpy(other.vendor, cpu.vendor);
    strcpy(other.platform, "Toast");
    CHECK_EQ(lookup_level_of(&other, &cpu), LEVEL_KIND);
    strcpy(other.architecture, "slot 2");
    CHECK_EQ(lookup_level_of(&other, &cpu), LEVEL_KIND);
    strcpy(other.platform, cpu.platform);
    CHECK_EQ(lookup_level_of(&other, &cpu), LEVEL_KIND);
}

static double distance(const char *parameters, uint32_t width, uint32_t channels)
{
    struct record_case record = box8;
    snprintf(record.parameters, sizeof record.parameters, "%s", parameters);
    record.width = width;
    record.channels = channels;
    return lookup_distance(&record, &box8);
}

TEST(distances_of_cases)
{
    CHECK(distance("size=8", 1024, 1) == 0);
    CHECK(distance("size=8.5", 1024, 1) < 3);
    CHECK(distance("size=7.5", 1024, 1) < 3);
    /* Another variant may be best: sigma 5 says nothing of sigma 4. */
    CHECK(distance("size=10", 1024, 1) > 3);
    CHECK(distance("size=6.4", 1024, 1) > 3);
    CHECK(distance("size=8", 2048, 1) == 0.6);
    CHECK(distance("size=8", 512, 1) == 0.6);
    CHECK(distance("size=8", 1024, 2) == 1);
    CHECK(distance("size=8", 1024, 4) == 2);
    CHECK(distance("size=8", 4096, 1) < distance("size=8", 1024, 3)); /* colours are another matter */
    CHECK(distance("size=8", 1024 * 7, 1) > 0);
    CHECK(distance("size=8", 1024 * 8, 1) < 0);
    CHECK(distance("size=9", 1024, 1) < distance("size=16", 1024, 1));
    CHECK(distance("size=odd", 1024, 1) > 3);
    CHECK(distance("", 1024, 1) == 0); /* nothing is said against it */
    struct record_case other = box8;
    strcpy(other.filter, "sobel");
    CHECK(lookup_distance(&other, &box8) < 0);
    other = box8;
    other.type = HONE_F32;
    CHECK(lookup_distance(&other, &box8) < 0);
    other = box8;
    strcpy(other.source, "bbbb");
    CHECK(lookup_distance(&other, &box8) > 0);
}

TEST(another_border_is_rather_like_the_usual_one)
{
    struct record_case wrap = box8, odd = box8;
    strcpy(wrap.border, "wrap");
    strcpy(odd.border, "reflect101");
    CHECK(lookup_distance(&wrap, &wrap) == 0);
    CHECK(lookup_distance(&box8, &wrap) > 0);
    CHECK(lookup_distance(&box8, &wrap) < lookup_distance(&odd, &wrap));
    CHECK(lookup_distance(&odd, &wrap) < distance("size=8", 2048, 1));
}

static double between(const char *filter, const char *recorded, const char *wanted)
{
    struct record_case a = box8, b = box8;
    snprintf(a.filter, sizeof a.filter, "%s", filter);
    snprintf(b.filter, sizeof b.filter, "%s", filter);
    snprintf(a.parameters, sizeof a.parameters, "%s", recorded);
    snprintf(b.parameters, sizeof b.parameters, "%s", wanted);
    return lookup_distance(&a, &b);
}

TEST(values_that_say_little)
{
    /* Weights of one size run alike, whatever they are; those of another size do not. */
    CHECK(between("convolve", "kernel=5x5:0a0a0a0a scale=1", "kernel=5x5:0a0a0a0a scale=1") == 0);
    double others = between("convolve", "kernel=5x5:0a0a0a0a scale=1", "kernel=5x5:0b0b0b0b scale=0.004");
    CHECK(others > 0 && others < 1);
    CHECK(between("convolve", "kernel=5x5:0a0a0a0a scale=1", "kernel=7x7:0a0a0a0a scale=1") > 3);
    CHECK(between("convolve", "kernel=:0a0a0a0a", "kernel=:0b0b0b0b") > 3);
    double threshold = between("density", "size=31 threshold=1", "size=31 threshold=4000");
    CHECK(threshold > 0 && threshold < 1);
    CHECK(between("density", "size=31 threshold=1", "size=5 threshold=1") > 3);
    /* What only one of them gives was something else in the other. */
    CHECK(between("box", "size=8", "size=8 width=101 height=1") > 3);
    CHECK(between("box", "size=8 width=101 height=1", "size=8") > 3);
    CHECK(between("box", "size=8 width=31 height=1", "size=8 width=33 height=1") < 3);
}

static void add(struct records *records, struct record_choice *slot, uint32_t width, const char *driver,
                const char *variant)
{
    *slot = (struct record_choice){.device = here, .c = box8, .count = 1};
    slot->c.width = width;
    strcpy(slot->device.driver, driver);
    strcpy(slot->ranked[0].variant, variant);
    records->choice_count++;
}

TEST(the_nearest_choice_of_a_level)
{
    struct record_choice choices[5];
    struct records records = {.choices = choices};
    add(&records, &choices[0], 4096, "2.0", "far");
    add(&records, &choices[1], 1100, "2.0", "near, old");
    add(&records, &choices[2], 1100, "2.0", "near");
    add(&records, &choices[3], 1024, "1.0", "driver");
    add(&records, &choices[4], 1 << 20, "2.0", "too far");
    const struct record_choice *found = lookup_choice(&records, &here, &box8, LEVEL_EXACT);
    REQUIRE(found);
    CHECK_TEXT(found->ranked[0].variant, "near"); /* of equals the later one */
    found = lookup_choice(&records, &here, &box8, LEVEL_DRIVER);
    REQUIRE(found);
    CHECK_TEXT(found->ranked[0].variant, "driver");
    CHECK(!lookup_choice(&records, &here, &box8, LEVEL_VENDOR));
    struct record_case tiny = box8;
    tiny.width = tiny.height = 16;
    CHECK(!lookup_choice(&records, &here, &tiny, LEVEL_EXACT)); /* nothing near enough */
}

TEST(of_equals_the_one_measured_last)
{
    struct record_choice choices[2];
    struct records records = {.choices = choices};
    add(&records, &choices[0], 1024, "2.0", "new");
    add(&records, &choices[1], 1024, "2.0", "old, imported later");
    choices[0].time = 2000;
    choices[1].time = 1000;
    CHECK_TEXT(lookup_choice(&records, &here, &box8, LEVEL_EXACT)->ranked[0].variant, "new");
}

TEST(of_an_architecture_the_device_of_the_most_similar_size)
{
    struct record_choice choices[3];
    struct records records = {.choices = choices};
    static const unsigned units[] = {2, 5, 64};
    for (size_t i = 0; i < 3; i++) {
        add(&records, &choices[i], 1024, "2.0", i == 1 ? "five" : "far");
        choices[i].device.compute_units = units[i];
    }
    const struct record_choice *found = lookup_choice(&records, &here, &box8, LEVEL_ARCHITECTURE);
    REQUIRE(found);
    CHECK_TEXT(found->ranked[0].variant, "five");
}
