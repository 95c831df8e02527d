/* SPDX-License-Identifier: BSD-2-Clause */
/* Reading records from a file gives what reading all of them gives, whatever lines it has. */
#include "choose/records.h"

#include "base/file.h"
#include "base/text.h"
#include "choose/records_json.h"
#include "support.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct record_device device = {.name = "Toaster {\"case\":{",
                                            .vendor = "Kitchen",
                                            .platform = "Bread",
                                            .driver = "1.0",
                                            .kind = HONE_DEVICE_GPU,
                                            .compute_units = 2};

static const char *const damaged[] = {"{\"kind\":\"choice\",\"v\":1",
                                      "not a line",
                                      "",
                                      "{}",
                                      "[\"kind\":\"choice\"]",
                                      "{\"kind\":\"choice\"}",
                                      "\\",
                                      "{\"a\\",
                                      "{\"kind\":\"choice\",\"x\":\"\\",
                                      "{\"case\":{{{{,\"kind\":\"choice\"}",
                                      "{\"case\":}}}}\"kind\":\"choice\"}",
                                      "{\"case\":,\"device\":,\"kind\":\"choice\"}",
                                      "{\"case\":{},\"device\":{},\"kind\":\"choice\",\"time\":9e999}"};

static struct record_choice choice_at(int i, unsigned random)
{
    struct record_choice choice = {.device = device, .count = 1, .evaluations = i, .seconds = 1};
    choice.c = (struct record_case){
        .type = HONE_U8, .channels = 1, .width = 640 + random % 5, .height = 480, .filter = "box"};
    choice.origin = (enum record_origin)(random / 5 % ORIGIN_COUNT);
    choice.time = 1700000000 + random / 20 % 4;
    choice.informs = random / 80 % 3 == 0;
    snprintf(choice.c.filter, sizeof choice.c.filter, "%s", random / 240 % 2 ? "box" : "boxes");
    snprintf(choice.ranked[0].variant, sizeof choice.ranked[0].variant, "direct");
    return choice;
}

/* A line of the same key that is later, and no record: what it would supersede stays. */
static void add_spoiled(struct text *file, const char *line)
{
    const char *end = strstr(line, ",\"v\":1}");
    REQUIRE(end);
    text_add(file, "%.*s,\"v\":2}\n", (int)(end - line), line);
}

static void add_lines(struct text *file)
{
    unsigned random = 1;
    for (int i = 0; i < 600; i++) {
        random = random * 1103515245 + 12345;
        struct record_choice choice = choice_at(i, random >> 16);
        struct text line = {0};
        record_choice_print(&choice, &line);
        text_add(file, "%s\n%s\n", text_view(&line), damaged[(size_t)i % (sizeof damaged / sizeof *damaged)]);
        text_finish(&line);
        choice.time++;
        record_choice_print(&choice, &line);
        if (i % 3 == 0)
            add_spoiled(file, text_view(&line));
        text_finish(&line);
        if (i % 100 == 0) /* as others may write it */
            text_add(file, "%*s\n%s%*s\n", RECORD_MAX_LINE * (i % 3 ? 20 : 1), "x",
                     "{ \"kind\" : \"choice\" ,", 30, "}");
    }
}

static void write_user_file(const struct text *file)
{
    char path[4096];
    hone_error error;
    setenv("XDG_DATA_HOME", support_folder(), 1);
    REQUIRE_OK(records_path(path, &error));
    REQUIRE_OK(file_write(path, file->data, file->length, &error));
    REQUIRE(chmod(path, 0600) == 0);
}

static bool same_key(const struct record_choice *a, const struct record_choice *b)
{
    return memcmp(&a->device, &b->device, sizeof a->device) == 0 && memcmp(&a->c, &b->c, sizeof a->c) == 0 &&
           a->origin == b->origin && a->informs == b->informs;
}

static bool superseded(const struct records *all, size_t index)
{
    const struct record_choice *choice = &all->choices[index];
    for (size_t i = 0; i < all->choice_count; i++)
        if (i != index && same_key(&all->choices[i], choice) &&
            (all->choices[i].time > choice->time || (all->choices[i].time == choice->time && i > index)))
            return true;
    return false;
}

TEST(what_can_be_chosen_is_read)
{
    struct text file = {0};
    struct records all = {0}, got = {0};
    hone_error error;
    size_t at = 0;
    add_lines(&file);
    write_user_file(&file);
    REQUIRE_OK(records_parse(&all, text_view(&file), READ_CHOICES, &error));
    REQUIRE(all.choice_count == 600);
    REQUIRE_OK(records_load(&got, READ_CHOICES, &error));
    for (size_t i = 0; i < all.choice_count; i++)
        if (!superseded(&all, i)) {
            REQUIRE(at < got.choice_count);
            CHECK_EQ(got.choices[at].evaluations, all.choices[i].evaluations);
            at++;
        }
    CHECK_EQ(got.choice_count, at);
    CHECK(at < 200);
    records_finish(&all);
    records_finish(&got);
    text_finish(&file);
}

/* Sessions look at tries, and at the order of all. */
TEST(a_filter_is_read_as_if_it_were_alone)
{
    struct text file = {0}, alone = {0};
    struct records all = {0}, got = {0};
    hone_error error;
    unsigned random = 7;
    for (int i = 0; i < 200; i++) {
        random = random * 1103515245 + 12345;
        const struct record_choice choice = choice_at(i, random >> 16);
        const struct record_try attempt = {
            .device = device, .c = choice.c, .state = STATE_OK, .config = {"direct", "", i}};
        struct text line = {0};
        record_choice_print(&choice, &line);
        text_add(&line, "\n");
        record_json_print(record_try_json(&attempt), &line);
        text_add(&file, "%s\n%s\n", text_view(&line),
                 damaged[(size_t)i % (sizeof damaged / sizeof *damaged)]);
        if (strcmp(choice.c.filter, "box") == 0)
            text_add(&alone, "%s\n", text_view(&line));
        text_finish(&line);
    }
    write_user_file(&file);
    REQUIRE_OK(records_parse(&all, text_view(&alone), READ_TRIES | READ_CHOICES, &error));
    REQUIRE_OK(records_load_of(&got, READ_TRIES | READ_CHOICES, "box", &error));
    REQUIRE(all.try_count == got.try_count && all.choice_count == got.choice_count && got.try_count > 50);
    for (size_t i = 0; i < got.try_count; i++)
        CHECK(got.tries[i].config.ms == all.tries[i].config.ms);
    for (size_t i = 0; i < got.choice_count; i++)
        CHECK(got.choices[i].tries_before == all.choices[i].tries_before);
    records_finish(&all);
    records_finish(&got);
    text_finish(&file);
    text_finish(&alone);
}

TEST(zero_bytes_and_an_open_end_lose_one_line)
{
    struct text file = {0};
    struct records got = {0};
    hone_error error;
    struct record_choice choice = choice_at(1, 0);
    record_choice_print(&choice, &file);
    text_add(&file, "\n");
    for (int i = 0; i < 3000000; i++)
        text_add_bytes(&file, "", 1);
    text_add(&file, "\n");
    choice.c.width = 7;
    record_choice_print(&choice, &file); /* without a newline */
    write_user_file(&file);
    REQUIRE_OK(records_load(&got, READ_CHOICES, &error));
    CHECK_EQ(got.choice_count, 2);
    CHECK_EQ(got.skipped, 1);
    records_finish(&got);
    text_finish(&file);
}

/* As a disk that failed may leave it: all that was added are zero bytes, which take no room. */
TEST(a_file_without_end_is_not_read)
{
    struct text file = {0};
    struct records got = {0};
    hone_error error;
    char path[PATH_MAX];
    const struct record_choice choice = choice_at(1, 0);
    record_choice_print(&choice, &file);
    write_user_file(&file);
    REQUIRE_OK(records_path(path, &error));
    CHECK_EQ(truncate(path, (off_t)1 << 40), 0);
    CHECK_EQ(records_load(&got, READ_CHOICES, &error), HONE_ERROR_IO);
    CHECK(strstr(error.message, "1099.5 GB"));
    CHECK_EQ(got.choice_count, 0);
    CHECK_EQ(truncate(path, (off_t)file.length), 0);
    REQUIRE_OK(records_load(&got, READ_CHOICES, &error));
    CHECK_EQ(got.choice_count, 1);
    records_finish(&got);
    text_finish(&file);
}
