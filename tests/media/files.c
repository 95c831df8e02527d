/* SPDX-License-Identifier: BSD-2-Clause */
/* Reading and writing files whose bytes are written out here, so that no encoder vouches for its own
 * decoder. */
#include "media/media.h"

#include "support.h"

#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Every test is a process and has one folder. */
static const char *folder(void)
{
    static const char *made;
    if (!made)
        made = support_folder();
    return made;
}

static const char *in_folder(const char *name)
{
    return support_path(folder(), name);
}

/* A file of these bytes, opened; NULL when that failed, with the message in *error. */
static struct media_input *open_bytes(const char *name, const void *bytes, size_t count, bool accept_damaged,
                                      hone_error *error)
{
    const struct media_read_options options = {.accept_damaged = accept_damaged};
    struct media_input *input = NULL;
    const char *path = in_folder(name);
    support_write(path, bytes, count);
    error->status = media_open(&input, path, &options, error);
    return input;
}

#define OPEN(name, bytes) open_bytes(name, bytes, sizeof(bytes) - 1, false, &error)

static void check_desc(const struct media_input *input, uint32_t width, uint32_t height, hone_type type,
                       uint32_t channels)
{
    const hone_image_desc *desc = &media_get_info(input)->desc;
    CHECK_EQ(desc->width, width);
    CHECK_EQ(desc->height, height);
    CHECK_EQ(desc->type, type);
    CHECK_EQ(desc->channels, channels);
}

TEST(pgm_with_comments)
{
    hone_error error = {0};
    uint8_t pixels[6];
    struct media_input *input = OPEN("a.pgm", "P5 # of all kinds\n#\n 3\t2\n255\nabcdef");
    REQUIRE(input != NULL);
    check_desc(input, 3, 2, HONE_U8, 1);
    REQUIRE_OK(media_load(input, pixels, 0, &error));
    CHECK(memcmp(pixels, "abcdef", 6) == 0);
    media_close(&input);
}

TEST(ppm_of_16_bits_is_big_endian)
{
    hone_error error = {0};
    uint16_t pixels[3];
    struct media_input *input = OPEN("a.ppm", "P6\n1 1\n65535\n\x01\x02\x00\x03\xff\xfe");
    REQUIRE(input != NULL);
    check_desc(input, 1, 1, HONE_U16, 3);
    REQUIRE_OK(media_load(input, pixels, 0, &error));
    CHECK(pixels[0] == 0x102 && pixels[1] == 3 && pixels[2] == 0xfffe);
    media_close(&input);
}

TEST(values_are_scaled_to_the_full_range)
{
    hone_error error = {0};
    uint8_t pixels[4];
    uint16_t wide[2];
    struct media_input *input = OPEN("a.pgm", "P5 4 1 100\n\0\x01\x32\x64");
    REQUIRE(input != NULL);
    REQUIRE_OK(media_load(input, pixels, 0, &error));
    CHECK(pixels[0] == 0 && pixels[1] == 3 && pixels[2] == 128 && pixels[3] == 255); /* 2.55, 127.5 */
    media_close(&input);
    input = OPEN("b.pgm", "P5 2 1 1023\n\x03\xff\x00\x01");
    REQUIRE(input != NULL);
    REQUIRE_OK(media_load(input, wide, 0, &error));
    CHECK(wide[0] == 65535 && wide[1] == 64); /* 64.06 */
    media_close(&input);
}

TEST(pam_with_gray_and_alpha)
{
    hone_error error = {0};
    uint8_t pixels[8];
    struct media_input *input =
        OPEN("a.pam", "P7\nDEPTH 2\nMAXVAL 255\nWIDTH 2\nHEIGHT 1\nTUPLTYPE GRAYSCALE_ALPHA\n"
                      "ENDHDR\nxayb");
    REQUIRE(input != NULL);
    check_desc(input, 2, 1, HONE_U8, 4);
    CHECK(media_get_info(input)->gray_alpha);
    REQUIRE_OK(media_load(input, pixels, 0, &error));
    CHECK(memcmp(pixels, "xxxayyyb", 8) == 0);
    media_close(&input);
}

TEST(pfm_runs_upwards_in_either_byte_order)
{
    static const unsigned char little[] = "Pf\n1 2\n-1\n\0\0\x80\x3f\0\0\0\x40",
                               big[] = "Pf\n1 2\n1\n\x3f\x80\0\0\x40\0\0\0";
    hone_error error = {0};
    float pixels[2];
    for (int i = 0; i < 2; i++) {
        struct media_input *input =
            open_bytes("a.pfm", i ? big : little, i ? sizeof big - 1 : sizeof little - 1, false, &error);
        REQUIRE(input != NULL);
        check_desc(input, 1, 2, HONE_F32, 1);
        REQUIRE_OK(media_load(input, pixels, 0, &error));
        CHECK(pixels[0] == 2.0f && pixels[1] == 1.0f);
        media_close(&input);
    }
}

TEST(hostile_headers_are_refused)
{
    static const struct {
        const char *bytes, *says;
    } cases[] = {{"P6\n60000 60000\n255\nxxxx", "2^30"},
                 {"P5\n2000000 1\n255\nx", "each side"},
                 {"P5\n99999999999999999999999 1\n255\nx", "each side"},
                 {"P5\n0 3\n255\nx", "at least one"},
                 {"P5\n-3 3\n255\nx", "damaged"},
                 {"P5\n3 3\n0\nx", "largest value"},
                 {"P5\n3 3\n65536\nx", "largest value"},
                 {"P5\n3 3\n255", "damaged"},
                 {"P7\nWIDTH 1\nHEIGHT 1\nDEPTH 5\nMAXVAL 255\nENDHDR\nxxxxx", "5 channels"},
                 {"P7\nWIDTH 1\nCOLOUR 3\nENDHDR\n", "damaged"},
                 {"PF\n1 1\n0\nxxxxxxxxxxxx", "damaged"},
                 {"PF\n1 1\n-inf\nxxxxxxxxxxxx", "damaged"},
                 {"PF\n1 1\n1e400\nxxxxxxxxxxxx", "damaged"},
                 {"PF\n1 1\n0x1p3\nxxxxxxxxxxxx", "damaged"},
                 {"P5\n2 2\n255\nabc", "cut off"}};
    hone_error error = {0};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct media_input *input =
            open_bytes("a.pnm", cases[i].bytes, strlen(cases[i].bytes), false, &error);
        CHECK(input == NULL);
        CHECK_EQ(error.status, HONE_ERROR_IO);
        CHECK_HAS(error.message, cases[i].says);
        CHECK_HAS(error.message, "a.pnm");
        media_close(&input);
    }
}

TEST(a_number_with_a_zero_byte_is_none)
{
    hone_error error = {0};
    CHECK(OPEN("a.pgm", "P5\n1\0 1\n255\nx") == NULL);
    CHECK_HAS(error.message, "damaged");
    CHECK(OPEN("a.pfm", "Pf\n1 1\n-1\0\nxxxx") == NULL);
    CHECK_HAS(error.message, "damaged");
}

TEST(accepted_damage_reads_what_is_there)
{
    hone_error error = {0};
    uint8_t pixels[6];
    struct media_input *input = open_bytes("a.pgm", "P5 3 2 255\nabcd", 15, true, &error);
    REQUIRE(input != NULL);
    REQUIRE_OK(media_load(input, pixels, 0, &error));
    CHECK(memcmp(pixels, "abcd\0\0", 6) == 0);
    media_close(&input);
}

TEST(what_is_no_file_is_refused_at_once)
{
    struct media_input *input = NULL;
    hone_error error = {0};
    REQUIRE(mkfifo(in_folder("fifo.png"), 0600) == 0);
    CHECK_STATUS(media_open(&input, in_folder("fifo.png"), NULL, &error), HONE_ERROR_IO);
    CHECK_HAS(error.message, "is a pipe");
    CHECK_STATUS(media_open(&input, "/dev/zero", NULL, &error), HONE_ERROR_IO);
    CHECK_STATUS(media_open(&input, folder(), NULL, &error), HONE_ERROR_IO);
    CHECK_HAS(error.message, "folder");
    CHECK_STATUS(media_open(&input, in_folder("none.png"), NULL, &error), HONE_ERROR_IO);
    CHECK_HAS(error.message, "No such file");
    support_write(in_folder("empty.png"), "", 0);
    CHECK_STATUS(media_open(&input, in_folder("empty.png"), NULL, &error), HONE_ERROR_IO);
    CHECK_HAS(error.message, "empty");
}

/* ---- Writing ---- */

static void check_written(const char *name, const hone_image_desc *desc, const void *pixels,
                          const char *wanted, size_t count)
{
    unsigned char copy[64], got[256] = {0};
    hone_error error = {0};
    memcpy(copy, pixels, hone_image_bytes(desc));
    int fd = open(in_folder(name), O_RDWR | O_CREAT | O_TRUNC, 0600);
    REQUIRE(fd >= 0);
    REQUIRE_OK(media_write(fd, name, desc, copy, NULL, NULL, &error));
    CHECK_EQ(pread(fd, got, sizeof got, 0), count);
    CHECK(memcmp(got, wanted, count) == 0);
    close(fd);
}

#define CHECK_WRITTEN(name, desc, pixels, wanted)                                                            \
    check_written(name, desc, pixels, wanted, sizeof(wanted) - 1)

TEST(pnm_files_byte_for_byte)
{
    const hone_image_desc gray = {.width = 2, .height = 1, .type = HONE_U8, .channels = 1};
    const hone_image_desc rgb16 = {.width = 1, .height = 1, .type = HONE_U16, .channels = 3};
    const hone_image_desc column = {.width = 1, .height = 2, .type = HONE_F32, .channels = 1};
    const hone_image_desc rgba = {.width = 1, .height = 1, .type = HONE_U8, .channels = 4};
    const uint16_t wide[] = {0x102, 0, 0xffff};
    const float numbers[] = {1, 2};
    CHECK_WRITTEN("a.pgm", &gray, "xy", "P5\n2 1\n255\nxy");
    CHECK_WRITTEN("a.PNM", &gray, "xy", "P5\n2 1\n255\nxy");
    CHECK_WRITTEN("a.ppm", &rgb16, wide, "P6\n1 1\n65535\n\x01\x02\0\0\xff\xff");
    CHECK_WRITTEN("a.pfm", &column, numbers, "Pf\n1 2\n-1.0\n\0\0\0\x40\0\0\x80\x3f");
    CHECK_WRITTEN("a.pam", &rgba, "wxyz",
                  "P7\nWIDTH 1\nHEIGHT 1\nDEPTH 4\nMAXVAL 255\nTUPLTYPE RGB_ALPHA\nENDHDR\nwxyz");
}

TEST(tables_byte_for_byte)
{
    const hone_image_desc sums = {.width = 2, .height = 2, .type = HONE_U32, .channels = 1};
    const hone_image_desc rgb = {.width = 2, .height = 1, .type = HONE_S16, .channels = 3};
    const hone_image_desc row = {.width = 4, .height = 1, .type = HONE_F32, .channels = 1};
    const uint32_t large[] = {0, 4294967295u, 7, 10};
    const int16_t signed_numbers[] = {-32768, 0, 1, 2, 3, 32767};
    const float numbers[] = {0.1f, NAN, -INFINITY, 1e-30f};
    CHECK_WRITTEN("a.csv", &sums, large, "0,4294967295\n7,10\n");
    CHECK_WRITTEN("a.csv", &rgb, signed_numbers, "-32768,0,1,2,3,32767\n");
    CHECK_WRITTEN(
        "a.json", &sums, large,
        "{\n  \"width\": 2,\n  \"height\": 2,\n  \"channels\": 1,\n  \"type\": \"u32\",\n  \"rows\": [\n"
        "    [0, 4294967295],\n    [7, 10]\n  ]\n}\n");
    CHECK_WRITTEN(
        "a.JSON", &rgb, signed_numbers,
        "{\n  \"width\": 2,\n  \"height\": 1,\n  \"channels\": 3,\n  \"type\": \"s16\",\n  \"rows\": [\n"
        "    [[-32768, 0, 1], [2, 3, 32767]]\n  ]\n}\n");
    CHECK_WRITTEN(
        "a.json", &row, numbers,
        "{\n  \"width\": 4,\n  \"height\": 1,\n  \"channels\": 1,\n  \"type\": \"f32\",\n  \"rows\": [\n"
        "    [0.1, null, null, 1e-30]\n  ]\n}\n");
    CHECK_WRITTEN("a.csv", &row, numbers, "0.1,nan,-inf,1e-30\n");
}

TEST(a_format_that_cannot_hold_the_result)
{
    const hone_image_desc s16 = {.width = 1, .height = 1, .type = HONE_S16, .channels = 1};
    const hone_image_desc rgba = {.width = 1, .height = 1, .type = HONE_U8, .channels = 4};
    const hone_image_desc f32 = {.width = 1, .height = 1, .type = HONE_F32, .channels = 1};
    hone_error error = {0};
    CHECK_STATUS(media_check_output("a.pgm", &s16, NULL, NULL, &error), HONE_ERROR_USAGE);
    CHECK_HAS(error.message, "s16");
    CHECK_HAS(error.message, ".tif");
    CHECK_STATUS(media_check_output("a.ppm", &rgba, NULL, NULL, &error), HONE_ERROR_USAGE);
    CHECK_HAS(error.message, "three channels");
    CHECK_STATUS(media_check_output("a.pgm", &f32, NULL, NULL, &error), HONE_ERROR_USAGE);
    CHECK_HAS(error.message, ".pfm");
    const struct media_info gray_alpha = {.gray_alpha = true};
    CHECK_STATUS(media_check_output("a.pam", &rgba, &gray_alpha, NULL, &error), HONE_OK);
    CHECK_STATUS(media_check_name("a.xyz", &error), HONE_ERROR_USAGE);
    CHECK_HAS(error.message, ".pgm");
    CHECK_STATUS(media_check_name("pgm", &error), HONE_ERROR_USAGE);
    CHECK_STATUS(media_check_name(".pgm", &error), HONE_ERROR_USAGE);
}

TEST(gray_and_alpha_go_back_to_two_channels)
{
    hone_error error = {0};
    struct media_input *input = OPEN("in.pam", "P7\nWIDTH 2\nHEIGHT 1\nDEPTH 2\nMAXVAL 255\nENDHDR\nxayb");
    char pixels[8], got[128] = {0};
    REQUIRE(input != NULL);
    REQUIRE_OK(media_load(input, pixels, 0, &error));
    int fd = open(in_folder("out.pam"), O_RDWR | O_CREAT | O_TRUNC, 0600);
    REQUIRE(fd >= 0);
    REQUIRE_OK(media_write(fd, "out.pam", &media_get_info(input)->desc, pixels, input, NULL, &error));
    ssize_t count = pread(fd, got, sizeof got - 1, 0);
    CHECK(count > 4 && memcmp(got + count - 4, "xayb", 4) == 0);
    CHECK_HAS(got, "DEPTH 2");
    close(fd);
    media_close(&input);
}

/* ---- In parts ---- */

struct part_source {
    const char *pixels;
    size_t row;
    uint32_t taken, rows; /* rows that can be had */
};

static hone_status next_part(void *user, uint32_t count, void *rows, hone_error *error)
{
    struct part_source *source = user;
    if (source->taken + count > source->rows) {
        snprintf(error->message, sizeof error->message, "no more");
        return error->status = HONE_ERROR_DEVICE;
    }
    memcpy(rows, source->pixels + source->taken * source->row, count * source->row);
    source->taken += count;
    return HONE_OK;
}

static char *whole_file(const char *name, const hone_image_desc *desc, const char *pixels, bool in_rows,
                        const struct media_write_options *options, size_t *count)
{
    hone_error error = {0};
    struct part_source source = {pixels, hone_image_row_bytes(desc), 0, desc->height};
    const struct media_source rows = {.next = next_part, .user = &source};
    char *copy = malloc(hone_image_bytes(desc));
    REQUIRE(copy);
    memcpy(copy, pixels, hone_image_bytes(desc));
    int fd = open(in_folder(name), O_RDWR | O_CREAT | O_TRUNC, 0600);
    REQUIRE(fd >= 0);
    if (in_rows)
        REQUIRE_OK(media_write_rows(fd, name, desc, &rows, NULL, options, &error));
    else
        REQUIRE_OK(media_write(fd, name, desc, copy, NULL, options, &error));
    close(fd);
    free(copy);
    return support_read(in_folder(name), count);
}

/* Both ways of writing give the same file, and both ways of reading it the same pixels. */
static void check_parts(const char *name, const hone_image_desc *desc, const char *pixels,
                        const struct media_write_options *options)
{
    size_t whole_count = 0, parts_count = 0;
    char *whole = whole_file(name, desc, pixels, false, options, &whole_count);
    char *parts = whole_file(name, desc, pixels, true, options, &parts_count);
    REQUIRE(whole && parts);
    CHECK_EQ(parts_count, whole_count);
    if (memcmp(parts, whole, whole_count) != 0)
        CHECK_TEXT(name, "the same file in parts");
    free(whole);
    free(parts);
}

static void check_loading(const char *name)
{
    hone_error error = {0};
    struct media_input *one = NULL, *other = NULL;
    REQUIRE_OK(media_open(&one, in_folder(name), NULL, &error));
    REQUIRE_OK(media_open(&other, in_folder(name), NULL, &error));
    const hone_image_desc *desc = &media_get_info(one)->desc;
    const size_t bytes = hone_image_bytes(desc), row = hone_image_row_bytes(desc);
    char *whole = malloc(bytes), *parts = malloc(bytes);
    REQUIRE(whole && parts);
    REQUIRE_OK(media_load(one, whole, 0, &error));
    CHECK(media_loads_rows(other));
    for (uint32_t y = 0, count = 1; y < desc->height; y += count, count = count * 2 + 1) {
        count = count < desc->height - y ? count : desc->height - y;
        REQUIRE_OK(media_load_rows(other, count, parts + y * row, 0, &error));
    }
    if (memcmp(whole, parts, bytes) != 0)
        CHECK_TEXT(name, "the same pixels in parts");
    CHECK(media_load_rows(other, desc->height + 1, parts, 0, &error) != HONE_OK);
    free(whole);
    free(parts);
    media_close(&one);
    media_close(&other);
}

static const char *const part_names[] = {"a.pgm", "a.ppm", "a.pam", "a.pfm", "a.csv", "a.json",
#ifdef HONE_HAVE_VIPS
                                         "a.tif", "a.png", "a.jpg", "a.webp"
#endif
};

TEST(parts_are_as_good_as_the_whole)
{
    for (size_t i = 0; i < sizeof part_names / sizeof *part_names; i++)
        for (int kind = 0; kind < 9; kind++) {
            static const hone_type types[] = {HONE_U8, HONE_U16, HONE_F32};
            static const uint32_t channels[] = {1, 3, 4};
            const hone_image_desc desc = {61, 83, types[kind / 3], channels[kind % 3], 0};
            const struct media_write_options flat = {.flatten = true, .background = {0.1, 0.2, 0.3}};
            if (media_check_output(part_names[i], &desc, NULL, NULL, NULL) == HONE_OK) {
                struct view picture = support_picture(desc.width, desc.height, desc.type, desc.channels, 3);
                check_parts(part_names[i], &desc, picture.data, NULL);
                if (!media_is_table(part_names[i]))
                    check_loading(part_names[i]);
                if (desc.channels == 4)
                    check_parts(part_names[i], &desc, picture.data, &flat);
                view_finish(&picture);
            }
        }
}

TEST(a_source_that_fails_says_why)
{
    const hone_image_desc desc = {61, 83, HONE_U8, 1, 0};
    struct view picture = support_picture(61, 83, HONE_U8, 1, 3);
    for (size_t i = 0; i < sizeof part_names / sizeof *part_names; i++) {
        hone_error error = {0};
        struct part_source source = {picture.data, 61, 0, 40};
        const struct media_source rows = {.next = next_part, .user = &source};
        int fd = open(in_folder(part_names[i]), O_RDWR | O_CREAT | O_TRUNC, 0600);
        REQUIRE(fd >= 0);
        if (media_check_output(part_names[i], &desc, NULL, NULL, NULL) == HONE_OK) {
            CHECK_STATUS(media_write_rows(fd, part_names[i], &desc, &rows, NULL, NULL, &error),
                         HONE_ERROR_DEVICE);
            CHECK_TEXT(error.message, "no more");
        }
        close(fd);
    }
    view_finish(&picture);
}

TEST(gray_and_alpha_come_in_parts)
{
    hone_error error = {0};
    struct media_input *input = OPEN("in.pam", "P7\nWIDTH 2\nHEIGHT 1\nDEPTH 2\nMAXVAL 255\nENDHDR\nxayb");
    char pixels[8], got[128] = {0};
    REQUIRE(input != NULL);
    REQUIRE_OK(media_load_rows(input, 1, pixels, 0, &error));
    struct part_source source = {pixels, 8, 0, 1};
    const struct media_source rows = {.next = next_part, .user = &source, .gray = true};
    int fd = open(in_folder("out.pam"), O_RDWR | O_CREAT | O_TRUNC, 0600);
    REQUIRE(fd >= 0);
    REQUIRE_OK(media_write_rows(fd, "out.pam", &media_get_info(input)->desc, &rows, input, NULL, &error));
    ssize_t count = pread(fd, got, sizeof got - 1, 0);
    CHECK(count > 4 && memcmp(got + count - 4, "xayb", 4) == 0);
    CHECK_HAS(got, "DEPTH 2");
    close(fd);
    media_close(&input);
}

#ifdef HONE_HAVE_VIPS

/* ---- TIFF and PNG, by hand ---- */

/* 3x2 gray: ABC, DEF; the entry at byte 8 + 2 + 9 * 12 is the orientation. */
static const unsigned char tiff[] =
    "II*\0\x08\0\0\0\x0a\0"
    "\0\x01\x03\0\x01\0\0\0\x03\0\0\0\x01\x01\x03\0\x01\0\0\0\x02\0\0\0\x02\x01\x03\0\x01\0\0\0\x08\0\0\0"
    "\x03\x01\x03\0\x01\0\0\0\x01\0\0\0\x06\x01\x03\0\x01\0\0\0\x01\0\0\0\x11\x01\x04\0\x01\0\0\0\x86\0\0\0"
    "\x12\x01\x03\0\x01\0\0\0\x06\0\0\0\x15\x01\x03\0\x01\0\0\0\x01\0\0\0\x16\x01\x03\0\x01\0\0\0\x02\0\0\0"
    "\x17\x01\x04\0\x01\0\0\0\x06\0\0\0"
    "\0\0\0\0ABCDEF";

TEST(orientation_of_a_tiff_is_applied)
{
    hone_error error = {0};
    uint8_t pixels[6];
    struct media_input *input = open_bytes("a.tif", tiff, sizeof tiff - 1, false, &error);
    if (!input)
        test_note("%s", error.message);
    REQUIRE(input != NULL);
    check_desc(input, 2, 3, HONE_U8, 1);
    REQUIRE_OK(media_load(input, pixels, 0, &error));
    CHECK(memcmp(pixels, "DAEBFC", 6) == 0);
    media_close(&input);
}

/* 1x1 gray, 16 bits, value 0x1234: one stored block. */
static const unsigned char png[] =
    "\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR\0\0\0\x01\0\0\0\x01\x10\0\0\0\0\x6a\xee\x47\x16"
    "\0\0\0\x0eIDAT\x78\x01\x01\x03\0\xfc\xff\0\x12\x34\0\x5b\0\x47\x4d\xa8\xc3\x85"
    "\0\0\0\0IEND\xae\x42\x60\x82";

TEST(png_of_16_bits)
{
    hone_error error = {0};
    uint16_t pixel = 0;
    struct media_input *input = open_bytes("a.png", png, sizeof png - 1, false, &error);
    if (!input)
        test_note("%s", error.message);
    REQUIRE(input != NULL);
    check_desc(input, 1, 1, HONE_U16, 1);
    CHECK_TEXT(media_get_info(input)->format, "PNG");
    REQUIRE_OK(media_load(input, &pixel, 0, &error));
    CHECK_EQ(pixel, 0x1234);
    media_close(&input);
}

TEST(a_flipped_bit_in_a_png_is_an_error)
{
    hone_error error = {0};
    unsigned char bytes[sizeof png - 1];
    uint16_t pixel = 0;
    memcpy(bytes, png, sizeof bytes);
    bytes[49] ^= 4; /* in the pixel */
    struct media_input *input = open_bytes("a.png", bytes, sizeof bytes, false, &error);
    if (input)
        CHECK_STATUS(media_load(input, &pixel, 0, &error), HONE_ERROR_IO);
    CHECK_HAS(error.message, "a.png");
    media_close(&input);
}

TEST(text_is_no_image)
{
    hone_error error = {0};
    struct media_input *input = OPEN("a.png", "hello, this is a text\n");
    CHECK(input == NULL);
    CHECK_EQ(error.status, HONE_ERROR_IO);
    CHECK_HAS(error.message, "not an image");
}

TEST(a_bracket_in_a_name_is_no_option)
{
    hone_error error = {0};
    struct media_input *input = open_bytes("a[page=7].tif", tiff, sizeof tiff - 1, false, &error);
    CHECK(input != NULL);
    media_close(&input);
}

#endif
