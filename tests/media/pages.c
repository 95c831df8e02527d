/* SPDX-License-Identifier: BSD-2-Clause */
/* Pages of different sizes in one file, where its offsets outgrow those of the pages. */
#include "media/media.h"

#include "support.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifdef HONE_HAVE_VIPS

enum { PAGES = 3 };

static hone_image_desc desc_of(unsigned page)
{
    return (hone_image_desc){
        .width = 40 + 20 * page, .height = 150 - 40 * page, .type = HONE_U16, .channels = page == 1 ? 3 : 1};
}

static uint16_t *pixels_of(unsigned page)
{
    const hone_image_desc desc = desc_of(page);
    const size_t count = hone_image_bytes(&desc) / sizeof(uint16_t);
    uint16_t *pixels = calloc(count, sizeof *pixels);
    for (size_t i = 0; pixels && i < count; i++)
        pixels[i] = (uint16_t)(i * (page + 3) * 41);
    return pixels;
}

/* All pages into one file, which becomes a BigTIFF beyond so many bytes. */
static void write_pages(const char *path, uint64_t classic_bytes)
{
    static const char *const compressions[PAGES] = {"none", "deflate", "lzw"};
    struct media_pages *pages = NULL;
    hone_error error;
    const int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    REQUIRE(fd >= 0);
    REQUIRE_OK(media_pages_begin(&pages, fd, path, path, classic_bytes, &error));
    for (unsigned page = 0; page < PAGES; page++) {
        const struct media_write_options options = {.compression = compressions[page]};
        const hone_image_desc desc = desc_of(page);
        uint16_t *pixels = pixels_of(page);
        REQUIRE(pixels != NULL);
        REQUIRE_OK(media_write(media_pages_file(pages), path, &desc, pixels, NULL, &options, &error));
        REQUIRE_OK(media_pages_add(pages, NULL, &error));
        free(pixels);
    }
    REQUIRE_OK(media_pages_end(pages, &error));
    media_pages_free(&pages);
    CHECK(pages == NULL);
    close(fd);
}

static void check_page(struct media_input *input, unsigned page)
{
    const hone_image_desc wanted = desc_of(page), *desc = &media_get_info(input)->desc;
    const size_t bytes = hone_image_bytes(&wanted);
    uint16_t *pixels = pixels_of(page), *got = malloc(bytes);
    hone_error error;
    CHECK_EQ(desc->width, wanted.width);
    CHECK_EQ(desc->height, wanted.height);
    CHECK_EQ(desc->channels, wanted.channels);
    REQUIRE(pixels && got && hone_image_bytes(desc) == bytes);
    REQUIRE_OK(media_load(input, got, 0, &error));
    CHECK(memcmp(got, pixels, bytes) == 0);
    free(pixels);
    free(got);
}

static void check_pages(const char *path)
{
    const struct media_read_options options = {.stack = true, .apart = true};
    struct media_input *input = NULL;
    hone_error error;
    REQUIRE_OK(media_open(&input, path, &options, &error));
    for (unsigned page = 0; page < PAGES; page++) {
        CHECK_EQ(media_get_info(input)->apart, PAGES - page);
        CHECK_EQ(media_get_info(input)->first_page, page + 1);
        CHECK_EQ(media_get_info(input)->pages, PAGES);
        check_page(input, page);
        if (page + 1 < PAGES)
            REQUIRE_OK(media_next_page(input, &error));
    }
    CHECK_STATUS(media_next_page(input, &error), HONE_ERROR_INTERNAL);
    media_close(&input);
}

static void check_kind(const char *path, const char *kind)
{
    char head[4] = "";
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    CHECK_EQ(read(fd, head, sizeof head), 4);
    CHECK(memcmp(head, kind, 4) == 0);
    close(fd);
}

TEST(pages_are_what_was_written)
{
    const char *path = support_path(support_folder(), "pages.tif");
    write_pages(path, 0);
    check_kind(path, "II*\0");
    check_pages(path);
}

TEST(a_large_file_becomes_a_big_tiff)
{
    const char *path = support_path(support_folder(), "pages.tif");
    write_pages(path, 1000);
    check_kind(path, "II+\0");
    check_pages(path);
}

TEST(a_page_that_is_no_tiff_is_an_error)
{
    const char *path = support_path(support_folder(), "pages.tif");
    struct media_pages *pages = NULL;
    hone_error error;
    const int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    REQUIRE_OK(media_pages_begin(&pages, fd, path, NULL, 0, &error));
    CHECK_STATUS(media_pages_add(pages, NULL, &error), HONE_ERROR_IO);
    CHECK_HAS(error.message, "pages.tif");
    media_pages_free(&pages);
    close(fd);
}

#endif
