/* SPDX-License-Identifier: BSD-2-Clause */
/* Which device runs a chain soonest: devices that there are not, with what is known of them in files. */
#include "cli/pick/pick_device.h"

#include "choose/records.h"
#include "filter/case.h"
#include "filter/chain.h"
#include "support.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const hone_image_desc square = {.width = 1024, .height = 1024, .type = HONE_U8, .channels = 1};
static const double megabyte = 1 << 20; /* of such a picture, or of its result */

static hone_device_info devices[2];
static const char *data; /* the folder of records and roofs */
static char told[2048];

static void begin(void)
{
    data = support_path(support_folder(), "data");
    REQUIRE(mkdir(data, 0700) == 0 && mkdir(support_path(data, "hone"), 0700) == 0);
    setenv("XDG_DATA_HOME", data, 1);
    for (unsigned i = 0; i < 2; i++) {
        devices[i] =
            (hone_device_info){.index = i, .kind = HONE_DEVICE_GPU, .vendor_id = i, .compute_units = 8};
        snprintf(devices[i].name, sizeof devices[i].name, "%s", i ? "Oven" : "Toaster");
        snprintf(devices[i].platform, sizeof devices[i].platform, "Bread");
        snprintf(devices[i].driver_version, sizeof devices[i].driver_version, "1.0");
    }
}

/* What they move and compute in a second, and need for a launch: as the file of roofs has it. upload
 * negative: measuring never ended. */
static void write_roofs(double launch, double upload_of_second)
{
    char text[1024];
    if (upload_of_second < 0)
        snprintf(text, sizeof text,
                 "[{\"format\": 1, \"device\": \"Bread; Toaster; 1.0; 8\"},"
                 " {\"format\": 1, \"device\": \"Bread; Oven; 1.0; 8\"}]");
    else
        snprintf(text, sizeof text,
                 "[{\"format\": 1, \"device\": \"Bread; Toaster; 1.0; 8\", \"copy\": 1e9, \"upload\": 0,"
                 "  \"download\": 0, \"launch\": %g, \"operations\": 1e9},"
                 " {\"format\": 1, \"device\": \"Bread; Oven; 1.0; 8\", \"copy\": 1e12, \"upload\": %.9g,"
                 "  \"download\": %.9g, \"launch\": %g, \"operations\": 1e12}]",
                 launch, upload_of_second, upload_of_second, launch);
    support_write(support_path(support_path(data, "hone"), "roofs.json"), text, strlen(text));
}

/* That box size=8 was measured on a device, on a square picture. */
static void write_time(unsigned device, uint32_t side, double ms)
{
    hone_error error;
    struct filter_case c;
    hone_image_desc in = square;
    in.width = in.height = side;
    struct record_choice choice = {.count = 1,
                                   .ranked = {{"direct", "", ms}},
                                   .default_ms = -1,
                                   .first_rung_ms = -1,
                                   .plain_ms = -1,
                                   .time = 1};
    REQUIRE_OK(chain_parse_case(&c, "box size=8", &error));
    REQUIRE_OK(case_prepare(&c, &in, NULL, &error));
    record_case_of(&c, &choice.c);
    record_device_of_info(&devices[device], &choice.device);
    REQUIRE_OK(records_add_choice(&choice, &error));
    case_finish(&c);
}

static void tell(void *context, const char *sentence)
{
    (void)context;
    snprintf(told + strlen(told), sizeof told - strlen(told), "%s\n", sentence);
}

static hone_status pick(unsigned *index, hone_error *error)
{
    hone_chain *chain = NULL;
    REQUIRE(hone_chain_parse(&chain, "box size=8", error) == HONE_OK);
    const struct pick_request request = {.chain = chain, .input = &square, .tell = tell};
    *index = 9;
    told[0] = '\0';
    hone_status status = pick_device_among(index, &request, devices, 2, error);
    hone_chain_destroy(&chain);
    return status;
}

TEST(the_faster_of_two_is_taken)
{
    hone_error error;
    unsigned index;
    begin();
    write_roofs(0, 0);
    write_time(0, 1024, 4);
    write_time(1, 1024, 2);
    REQUIRE_OK(pick(&index, &error));
    CHECK_EQ(index, 1);
    CHECK_HAS(told, "device 0 (Toaster): 4 ms expected, 0 of them for transfers; 1 of 1 filter measured");
    CHECK_HAS(told, "device 1 (Oven): 2 ms expected");
}

/* 1.5 ms for a megabyte to the device, and as much for the one that comes back. */
TEST(transfers_count)
{
    hone_error error;
    unsigned index;
    begin();
    write_roofs(0, megabyte / 1.5e-3);
    write_time(0, 1024, 4);
    write_time(1, 1024, 2);
    REQUIRE_OK(pick(&index, &error));
    CHECK_EQ(index, 0);
    CHECK_HAS(told, "device 1 (Oven): 5 ms expected, 3 of them for transfers");
}

TEST(another_size_counts_by_its_pixels)
{
    hone_error error;
    unsigned index;
    begin();
    write_roofs(1e-3, 0);
    write_time(0, 512, 1.5);
    write_time(1, 1024, 5.5);
    REQUIRE_OK(pick(&index, &error));
    CHECK_EQ(index, 1);
    CHECK_HAS(told, "device 0 (Toaster): 7 ms expected");
    CHECK_HAS(told, "device 1 (Oven): 6.5 ms expected");
}

/* A thousandfold roof is what decides where nothing was measured. */
TEST(without_measurements_the_roofs_decide)
{
    hone_error error;
    unsigned index;
    begin();
    write_roofs(0, 0);
    REQUIRE_OK(pick(&index, &error));
    CHECK_EQ(index, 1);
    CHECK_HAS(told, "0 of 1 filter measured");
}

TEST(devices_that_ended_the_process_are_left_out)
{
    hone_error error;
    unsigned index;
    begin();
    write_roofs(0, -1);
    CHECK_STATUS(pick(&index, &error), HONE_ERROR_NO_DEVICE);
    CHECK_HAS(told, "device 0 (Toaster) is left out: its driver did not survive");
    CHECK_HAS(error.message, "hone doctor");
}
