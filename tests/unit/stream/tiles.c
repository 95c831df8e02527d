/* SPDX-License-Identifier: BSD-2-Clause */
/* Images in bands: the arithmetic, also beyond 2^32 elements, and results, which are those of whole
 * images. */
#include "stream/tiles.h"

#include "stream/tiles/bands.h"
#include "support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Arithmetic ---- */

static void check_bands(const struct side *side, uint32_t region)
{
    const uint32_t height = side->length;
    struct bands bands;
    uint32_t least = 0, next = 0;
    if (!bands_make(&bands, side, region, &least)) {
        CHECK(region < least || (side->wraps && height % side->period));
        return;
    }
    CHECK(bands.region <= region || bands.region == height);
    const bool whole = bands.region == height && bands.rows == height;
    for (uint32_t i = 0; i < bands_count(&bands); i++) {
        const struct band band = bands_at(&bands, i);
        const int64_t end = band.origin + bands.region;
        CHECK(band.first == next && band.count > 0 && band.first % side->period == 0);
        CHECK((band.origin % side->period) == 0);
        if (!bands.wraps)
            CHECK(band.origin >= 0 && end <= height);
        /* the halo is there, or the edge of the image is */
        CHECK(whole || band.origin <= (int64_t)band.first - side->before ||
              (!bands.wraps && band.origin == 0));
        CHECK(whole || end >= (int64_t)band.first + band.count + side->behind ||
              (!bands.wraps && end == height));
        next = band.first + band.count;
    }
    CHECK_EQ(next, height);
}

TEST(bands_cover_an_image_once_with_their_halos)
{
    static const uint32_t heights[] = {1, 2, 7, 40, 41, 1000, 1048575};
    for (size_t h = 0; h < sizeof heights / sizeof *heights; h++)
        for (uint32_t top = 0; top < 6; top += 1)
            for (uint32_t bottom = 0; bottom < 4; bottom += 3)
                for (uint32_t period = 1; period <= 2; period++)
                    for (int wraps = 0; wraps <= 1; wraps++)
                        for (uint32_t region = 1; region < 5000; region = region * 2 + 1) {
                            const struct side side = {heights[h], top, bottom, period, wraps};
                            if (heights[h] < 2000 || region > 500)
                                check_bands(&side, region);
                        }
}

TEST(the_smallest_region_does)
{
    const struct side side = {1001, 5, 3, 2, false};
    struct bands bands;
    uint32_t least = 0;
    CHECK(!bands_make(&bands, &side, 4, &least));
    CHECK_EQ(least, 6 + 4 + 2 + 1);
    CHECK(!bands_make(&bands, &side, least - 1, &least));
    CHECK(bands_make(&bands, &side, least, &least));
    CHECK_EQ(bands.rows, 2);
}

/* ---- Results ---- */

static struct pool *pool; /* that shares tiles out; NULL: one device does all */

struct rows {
    struct view view;
    uint32_t next;
    bool anywhere;
};

static hone_status read_view(void *user, uint32_t first, uint32_t count, void *to, size_t pitch,
                             hone_error *error)
{
    struct rows *rows = user;
    const size_t row = hone_image_row_bytes(&rows->view.desc);
    (void)error;
    CHECK(rows->anywhere || first == rows->next);
    CHECK(first + count <= rows->view.desc.height);
    rows->next = first + count;
    for (uint32_t i = 0; i < count; i++)
        memcpy((char *)to + i * pitch, (char *)rows->view.data + (first + i) * row, row);
    return HONE_OK;
}

/* The second image of a chain that has one is the first, read on its own. */
static struct tiles *make_tiles(hone_device *device, const char *text, struct rows *rows, uint64_t memory,
                                hone_status wanted, const char *part)
{
    hone_chain *chain = NULL;
    struct tiles *tiles = NULL;
    hone_error error = {0};
    struct rows *again = &rows[1];
    again->view = rows->view;
    again->anywhere = rows->anywhere;
    const struct tiles_image second = {rows->view.desc, read_view, again};
    REQUIRE_OK(hone_chain_parse(&chain, text, &error));
    const struct tiles_request request = {.device = device,
                                          .pool = pool,
                                          .chain = chain,
                                          .input = {rows->view.desc, read_view, rows},
                                          .seconds = &second,
                                          .second_count = strstr(text, "add") != NULL,
                                          .memory = memory};
    const hone_status status = tiles_create(&tiles, &request, &error);
    if (status != wanted)
        test_note("'%s': %s", text, error.message);
    CHECK_STATUS(status, wanted);
    if (part)
        CHECK_HAS(error.message, part);
    hone_chain_destroy(&chain);
    return tiles;
}

/* What a plan for the whole image makes of it. */
static struct view whole(hone_device *device, const char *text, const struct view *in)
{
    const bool second = strstr(text, "add") != NULL;
    const hone_plan_options options = {.second = &in->desc, .second_count = second};
    hone_plan *plan = support_plan(device, text, &in->desc, &options);
    struct view out = view_new(hone_plan_output(plan));
    hone_image *image = NULL;
    hone_error error;
    if (second) {
        REQUIRE_OK(hone_image_create(&image, device, &in->desc, HONE_MEMORY_DEVICE, &error));
        REQUIRE_OK(hone_image_upload(image, in->data, 0, NULL, 0, NULL, &error));
        REQUIRE_OK(hone_plan_bind(plan, 0, image, &error));
    }
    REQUIRE_OK(hone_plan_apply(plan, in->data, 0, out.data, 0, &error));
    hone_plan_destroy(&plan);
    hone_image_destroy(&image);
    return out;
}

static struct view in_parts(struct tiles *tiles)
{
    struct view got = view_new(tiles_output(tiles));
    const size_t row = hone_image_row_bytes(&got.desc);
    struct tiles_rows some;
    hone_error error;
    uint32_t next = 0;
    for (;;) {
        REQUIRE_OK(tiles_next(tiles, &some, &error));
        if (!some.count)
            break;
        CHECK_EQ(some.first, next);
        for (uint32_t i = 0; i < some.count; i++)
            memcpy((char *)got.data + (next + i) * row, (const char *)some.pixels + i * some.pitch, row);
        next += some.count;
    }
    CHECK_EQ(next, got.desc.height);
    return got;
}

struct trial {
    hone_type type;
    uint32_t width, height, channels;
    uint64_t memory;
    double bound;
};

/* In parts against the whole image. Returns how many lie side by side. */
static uint32_t check_parts(hone_device *device, const char *text, const struct trial *trial)
{
    struct rows rows[2] = {
        {.view = support_picture(trial->width, trial->height, trial->type, trial->channels, 5),
         .anywhere = strstr(text, "wrap") != NULL}};
    struct view wanted = whole(device, text, &rows->view);
    struct tiles *tiles = make_tiles(device, text, rows, trial->memory, HONE_OK, NULL);
    struct tiles_state state;
    REQUIRE(tiles);
    CHECK(memcmp(tiles_output(tiles), &wanted.desc, sizeof wanted.desc) == 0);
    struct view got = in_parts(tiles);
    tiles_get_state(tiles, &state);
    CHECK(state.bands * state.columns > 2 && state.done == state.bands && state.memory <= trial->memory);
    if (!CHECK_SAME(&got, &wanted, trial->bound))
        test_note("'%s' %s x%u, %u rows, bands of %u rows in %u columns", text, hone_type_name(trial->type),
                  trial->channels, trial->height, state.band_rows, state.columns);
    tiles_destroy(&tiles);
    view_finish(&rows->view);
    view_finish(&wanted);
    view_finish(&got);
    return state.columns;
}

static void check_chain(hone_device *device, const char *text, hone_type type, uint32_t channels,
                        uint32_t height, double bound)
{
    const uint64_t rows = pool ? 900 : 400, memory = 150 * channels * hone_type_size(type) * rows;
    const struct trial trial = {type, 150, height, channels, memory, bound};
    check_parts(device, text, &trial);
}

static void check_windows(hone_device *device)
{
    check_chain(device, "box size=8", HONE_U8, 1, 1001, 0);
    check_chain(device, "box size=9 border=reflect | sobel border=reflect101", HONE_U8, 3, 1000, 0);
    check_chain(device, "epsilon radius=3 border=constant border-value=9", HONE_U16, 1, 999, 0);
    check_chain(device, "density size=7 border=zero-outside", HONE_U8, 1, 1001, 0);
    check_chain(device, "sobel output=dx border=wrap | gray", HONE_F32, 3, 1001, 1e-5);
    check_chain(device, "box size=7 border=wrap", HONE_U8, 4, 1001, 0);
    check_chain(device, "demosaic method=malvar pattern=gbrg | gray", HONE_U8, 1, 1001, 0);
    check_chain(device, "add | box size=5", HONE_U8, 3, 1001, 0);
}

TEST(windows)
{
    hone_device *device = support_open_quick();
    check_windows(device);
    hone_device_close(&device);
}

/* So wide that bands of whole rows do not fit. */
static void check_wide(hone_device *device, const char *text, hone_type type, uint32_t channels,
                       uint64_t memory, double bound)
{
    const struct trial trial = {type, 20002, 150, channels, memory, bound};
    const uint32_t columns = check_parts(device, text, &trial);
    CHECK(columns > 1);
    if (columns == 1)
        test_note("'%s' is not cut into columns", text);
}

TEST(tiles_side_by_side)
{
    const uint64_t megabyte = 1000000;
    hone_device *device = support_open_quick();
    check_wide(device, "box size=32 border=reflect | sobel border=reflect101", HONE_U8, 3, 14 * megabyte, 0);
    check_wide(device, "box size=25 border=zero-outside | integral", HONE_U8, 1, 4 * megabyte, 0);
    check_wide(device, "box size=31 border=wrap | box size=4 border=wrap", HONE_U16, 1, 8 * megabyte, 0);
    check_wide(device, "demosaic method=malvar pattern=gbrg | box size=26", HONE_U8, 1, 8 * megabyte, 0);
    check_wide(device, "add | box size=31 | histogram", HONE_U8, 1, 6 * megabyte, 0);
    check_wide(device, "box size=101", HONE_U8, 1, 5600000, 0); /* a band is much less than its region */
    /* 101 rows are 2 MB: so little that they can be there only once */
    check_wide(device, "box size=101", HONE_U8, 1, 3900000, 0);
    check_wide(device, "add | box size=101 border=wrap", HONE_U8, 1, 7 * megabyte, 0);
    hone_device_close(&device);
}

/* ---- Several devices ---- */

static void check_shared(hone_device *device)
{
    const uint64_t megabyte = 1000000;
    const struct trial turned = {HONE_U8, 150, 1001, 1, 900000, 0};
    check_windows(device);
    check_chain(device, "box size=5 | integral", HONE_U16, 3, 1001, 0);
    check_chain(device, "sobel | histogram bins=7", HONE_U16, 1, 1001, 0);
    check_wide(device, "add | box size=25 border=zero-outside | integral", HONE_U8, 1, 12 * megabyte, 0);
    check_wide(device, "box size=31 border=wrap", HONE_U16, 1, 12 * megabyte, 0);
    check_parts(device, "add | transpose | box size=9 border=wrap", &turned);
}

static void check_two(bool own_memory)
{
    hone_device *devices[2];
    hone_error error;
    setenv("POCL_DEVICES", "pthread pthread", 1);
    if (own_memory) {
        setenv("FAKE_TYPE", "4", 1);
        setenv("FAKE_MEMORY", "own", 1);
        setenv("OPENCL_LAYERS", support_beside_program("vendor.so"), 1);
    }
    devices[0] = support_open_quick();
    if (!support_is_pocl(devices[0]) && !own_memory)
        test_skip("these devices are PoCL's");
    devices[1] = support_open(&(hone_device_request){.spec = own_memory ? "0" : "1", .no_disk_cache = true});
    REQUIRE_OK(pool_create(&pool, devices, 2, &(struct pool_options){0}, &error));
    check_shared(devices[0]);
    CHECK(pool_destroy(&pool));
    for (int i = 0; i < 2; i++)
        hone_device_close(&devices[i]);
}

TEST(devices_share_tiles)
{
    check_two(false);
}

TEST(devices_with_memory_of_their_own_share_tiles)
{
    check_two(true);
}

TEST(sums_that_go_on)
{
    hone_device *device = support_open_quick();
    check_chain(device, "integral", HONE_U8, 1, 1001, 0);
    check_chain(device, "box size=5 | integral", HONE_U16, 3, 1001, 0);
    check_chain(device, "histogram", HONE_U8, 3, 1001, 0);
    check_chain(device, "sobel | histogram bins=7", HONE_U16, 1, 1001, 0);
    hone_device_close(&device);
}

TEST(pictures_of_counts)
{
    const struct trial turned = {HONE_U8, 150, 1001, 1, 100000, 0};
    hone_device *device = support_open_quick();
    check_chain(device, "histogram output=picture", HONE_U8, 4, 1001, 0);
    check_chain(device, "box | histogram bins=100 output=picture min=9 max=60000", HONE_U16, 1, 1001, 0);
    check_parts(device, "histogram bins=90 output=picture | transpose | box size=5", &turned);
    hone_device_close(&device);
}

TEST(turned_images_and_what_follows_sums)
{
    const uint64_t memory = 400000;
    const struct trial gray = {HONE_U8, 150, 1001, 1, memory, 0}, deep = {HONE_U16, 150, 1001, 3, memory, 0},
                       real = {HONE_F32, 150, 1001, 1, 4 * memory, 0.1};
    hone_device *device = support_open_quick();
    check_parts(device, "transpose", &deep);
    check_parts(device, "add | transpose | box size=9 border=wrap | transpose | histogram", &gray);
    check_parts(device, "integral | transpose", &real);
    hone_device_close(&device);
}

TEST(what_cannot_be_done_says_why)
{
    hone_device *device = support_open_quick();
    struct rows rows[2] = {{.view = support_picture(150, 1001, HONE_U8, 1, 5)}};
    make_tiles(device, "box border=wrap | sobel", rows, 1 << 20, HONE_ERROR_UNSUPPORTED, "border=wrap");
    make_tiles(device, "histogram | transpose", rows, 1 << 20, HONE_ERROR_UNSUPPORTED, "u32");
    make_tiles(device, "demosaic border=wrap", rows, 1 << 20, HONE_ERROR_UNSUPPORTED, "even");
    make_tiles(device, "box size=400", rows, 1 << 18, HONE_ERROR_MEMORY, "of 150 pixels");
    view_finish(&rows->view);
    hone_device_close(&device);
}
