/* SPDX-License-Identifier: BSD-2-Clause */
/* Tuning records: what is written is read again, damage is skipped, files merge. */
#include "choose/records.h"

#include "base/text.h"
#include "support.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static const struct record_device device = {.name = "Toaster",
                                            .vendor = "Kitchen",
                                            .platform = "Bread",
                                            .driver = "1.0",
                                            .architecture = "slot",
                                            .vendor_id = 0xb4ead,
                                            .compute_units = 2,
                                            .kind = HONE_DEVICE_GPU};
static const struct record_case box = {.filter = "box",
                                       .parameters = "size=8",
                                       .border = "replicate",
                                       .source = "0123456789abcdef",
                                       .type = HONE_U8,
                                       .channels = 1,
                                       .width = 640,
                                       .height = 480};

static struct record_choice choice_of(const char *variant, double ms)
{
    struct record_choice choice = {.device = device,
                                   .c = box,
                                   .count = 1,
                                   .default_ms = 2,
                                   .first_rung_ms = -1,
                                   .plain_ms = 8,
                                   .raced = true,
                                   .drift = 0.0625,
                                   .load = 0.25,
                                   .clock = "host",
                                   .evaluations = 20,
                                   .asked = 100,
                                   .unfinished = true,
                                   .continues = true,
                                   .seconds = 1.5,
                                   .time = 1700000000};
    snprintf(choice.ranked[0].variant, sizeof choice.ranked[0].variant, "%s", variant);
    snprintf(choice.ranked[0].config, sizeof choice.ranked[0].config, "WG_X=16 WG_Y=4");
    choice.ranked[0].ms = ms;
    return choice;
}

static struct record_try try_of(enum record_state state, const char *session)
{
    struct record_try t = {.device = device, .c = box, .config = {"direct", "WG_X=16", -1}, .state = state};
    snprintf(t.session, sizeof t.session, "%s", session);
    return t;
}

/* Whether the last of these sessions, each of which left the same start, is taken for one that crashed. */
static bool blamed(const char *const *sessions, size_t count)
{
    struct record_try tries[4];
    for (size_t i = 0; i < count; i++)
        tries[i] = try_of(STATE_STARTED, sessions[i]);
    return record_is_left(tries, count, count - 1);
}

TEST(kills_from_outside_blame_nothing)
{
    char here[128];
    REQUIRE(strchr(record_session(), '@'));
    snprintf(here, sizeof here, "7.1%s", strchr(record_session(), '@'));
    CHECK(!blamed((const char *[]){here, record_session()}, 2));
    CHECK(!blamed((const char *[]){"7.1@one", here}, 2));
    CHECK(!blamed((const char *[]){"7.1@one"}, 1));
    CHECK(!blamed((const char *[]){"7.1@one", "8.1@one"}, 2));
    CHECK(!blamed((const char *[]){"", ""}, 2));
    CHECK(!blamed((const char *[]){"7.1@", "8.1@"}, 2));
}

TEST(what_takes_the_machine_down_twice_is_blamed)
{
    CHECK(blamed((const char *[]){"7.1@one", "7.1@two"}, 2));
    CHECK(blamed((const char *[]){"7.1@one", record_session(), "7.1@two"}, 3));
    struct record_try tries[] = {try_of(STATE_STARTED, "7.1@one"), try_of(STATE_OK, ""),
                                 try_of(STATE_STARTED, "7.1@two")};
    CHECK(!record_is_left(tries, 3, 2));
    CHECK(!record_is_left(tries, 3, 1));
    /* Another configuration, by which the machine is seen to run on. */
    struct record_try others[] = {try_of(STATE_STARTED, "7.1@one"), try_of(STATE_STARTED, "7.1@two"),
                                  try_of(STATE_STARTED, "8.1@two")};
    snprintf(others[2].config.config, sizeof others[2].config.config, "WG_X=32");
    CHECK(!record_is_left(others, 3, 1));
    CHECK(record_is_left(others, 2, 1));
}

/* As it was written before choices had an origin. */
static const char old_trial[] =
    "{\"case\":{\"border\":\"replicate\",\"channels\":1,\"filter\":\"box\",\"height\":480,"
    "\"parameters\":\"size=8\",\"source\":\"0123456789abcdef\",\"type\":\"u8\",\"width\":640},"
    "\"default_ms\":2.0,\"device\":{\"architecture\":\"slot\",\"compute_units\":2,\"driver\":\"1.0\","
    "\"kind\":\"gpu\",\"name\":\"Toaster\",\"platform\":\"Bread\",\"vendor\":\"Kitchen\","
    "\"vendor_id\":740013},\"evaluations\":3,\"first_rung_ms\":-1.0,\"kind\":\"choice\",\"plain_ms\":-1.0,"
    "\"ranked\":[{\"config\":\"WG_X=16 WG_Y=4\",\"ms\":0.5,\"variant\":\"strips\"}],\"seconds\":0.0,"
    "\"seeds\":[],\"time\":1700000000,\"v\":1}\n";

static struct record_trust trust_of(char digit, bool right)
{
    struct record_trust trust = {.device = device, .right = right, .time = 1};
    memset(trust.program, digit, RECORD_DIGEST - 1);
    strcpy(trust.filter, "box");
    strcpy(trust.variant, "direct");
    strcpy(trust.config, "WG_X=16");
    strcpy(trust.evidence, right ? "" : "pixel (3,0) channel 0 is 17, should be 18");
    return trust;
}

static void use_folder(void)
{
    setenv("XDG_DATA_HOME", support_folder(), 1);
}

static struct records load(unsigned kinds)
{
    struct records records = {0};
    hone_error error;
    REQUIRE_OK(records_load(&records, kinds, &error));
    return records;
}

TEST(records_are_read_as_they_were_written)
{
    hone_error error;
    struct record_try attempt = {.device = device,
                                 .c = box,
                                 .state = STATE_SLOW,
                                 .build_ms = 12.5,
                                 .run_count = 2,
                                 .runs = {1.5, 1.25},
                                 .time = 7,
                                 .config = {"direct", "WG_X=16", 1.25}};
    const struct record_choice choice = choice_of("strips", 0.5);
    const struct record_trust right = trust_of('a', true), wrong = trust_of('b', false);
    use_folder();
    REQUIRE_OK(records_add_try(&attempt, &error));
    REQUIRE_OK(records_add_choice(&choice, &error));
    REQUIRE_OK(records_add_trust(&right, &error));
    REQUIRE_OK(records_add_trust(&wrong, &error));
    struct records all = load(READ_ALL);
    REQUIRE(all.try_count == 1 && all.choice_count == 1 && all.right_count == 1 && all.wrong_count == 1);
    CHECK_EQ(all.skipped, 0);
    CHECK_EQ(all.tries[0].state, STATE_SLOW);
    CHECK_EQ(all.tries[0].run_count, 2);
    CHECK(all.tries[0].runs[1] == 1.25 && all.tries[0].build_ms == 12.5);
    CHECK_TEXT(all.choices[0].ranked[0].variant, "strips");
    CHECK(all.choices[0].plain_ms == 8);
    CHECK(all.choices[0].raced && all.choices[0].drift == 0.0625 && all.choices[0].load == 0.25);
    CHECK_TEXT(all.choices[0].clock, "host");
    CHECK(all.choices[0].asked == 100 && all.choices[0].unfinished && all.choices[0].continues);
    CHECK_EQ(all.choices[0].device.kind, HONE_DEVICE_GPU);
    CHECK_EQ(all.choices[0].c.width, 640);
    CHECK_TEXT(all.wrong[0].evidence, wrong.evidence);
    CHECK_TEXT(all.right[0], right.program);
    records_finish(&all);
}

/* What records of before the final was told of do not have. */
TEST(older_choices_are_read)
{
    hone_error error;
    struct text line = {0};
    struct record_choice choice = choice_of("strips", 0.5);
    choice.raced = false;
    choice.clock[0] = '\0';
    record_choice_print(&choice, &line);
    CHECK(!strstr(text_view(&line), "drift") && !strstr(text_view(&line), "clock"));
    struct records old = {0};
    REQUIRE_OK(records_parse(&old, text_view(&line), READ_ALL, &error));
    REQUIRE(old.choice_count == 1);
    CHECK(!old.choices[0].raced && old.choices[0].load < 0);
    CHECK_TEXT(old.choices[0].clock, "");
    records_finish(&old);
    text_finish(&line);
}

/* The quick way of reading right verdicts gives what the parser gives. */
TEST(right_verdicts_are_read_quickly)
{
    hone_error error;
    const struct record_trust right = trust_of('c', true), wrong = trust_of('d', false);
    use_folder();
    REQUIRE_OK(records_add_trust(&right, &error));
    REQUIRE_OK(records_add_trust(&wrong, &error));
    struct records quick = load(READ_TRUSTS | READ_CHOICES);
    REQUIRE(quick.right_count == 1 && quick.wrong_count == 1);
    CHECK_TEXT(quick.right[0], right.program);
    records_finish(&quick);
    struct records cut = {0};
    REQUIRE_OK(records_parse(&cut,
                             "{\"kind\":\"trust\",\"program\":\"cccc\",\"v\":1,\"verdict\":\"right\"}\n"
                             "{\"kind\":\"trust\",\"v\":1,\"verdict\":\"right\"}\n",
                             READ_TRUSTS, &error));
    CHECK_EQ(cut.right_count, 0);
    CHECK_EQ(cut.skipped, 2);
    records_finish(&cut);
}

TEST(only_wanted_kinds_are_read)
{
    hone_error error;
    const struct record_choice choice = choice_of("strips", 0.5);
    const struct record_trust wrong = trust_of('b', false);
    use_folder();
    REQUIRE_OK(records_add_choice(&choice, &error));
    REQUIRE_OK(records_add_trust(&wrong, &error));
    struct records some = load(READ_TRUSTS);
    CHECK_EQ(some.choice_count, 0);
    CHECK_EQ(some.wrong_count, 1);
    CHECK_EQ(some.skipped, 0);
    records_finish(&some);
}

/* Every prefix of a file, and every byte turned over, is read without harm; other lines are not lost. */
/* What a session measured is taken up again by the next one unless a choice stands behind it, in the same
 * second or not. */
TEST(a_choice_knows_what_came_before_it)
{
    use_folder();
    hone_error error;
    const struct record_choice choice = choice_of("strips", 0.5);
    const struct record_try attempt = {.device = device, .c = box, .state = STATE_OK, .time = choice.time};
    REQUIRE_OK(records_add_try(&attempt, &error));
    REQUIRE_OK(records_add_choice(&choice, &error));
    REQUIRE_OK(records_add_try(&attempt, &error));
    REQUIRE_OK(records_add_try(&attempt, &error));
    REQUIRE_OK(records_add_choice(&choice, &error));
    struct records all = load(READ_TRIES | READ_CHOICES);
    REQUIRE(all.try_count == 3 && all.choice_count == 2);
    CHECK_EQ(all.choices[0].tries_before, 1);
    CHECK_EQ(all.choices[1].tries_before, 3);
    records_finish(&all);
}

/* A start that was called off, also one with a choice of another process behind it, leaves nothing. */
/* Earlier versions did not say who chose; of what they wrote, only sessions took time. */
TEST(choices_say_who_made_them)
{
    static const struct {
        const char *from, *to;
        enum record_origin origin;
    } changes[] = {{"\"origin\":\"session\"", "\"origin\":\"trial\"", ORIGIN_TRIAL},
                   {"\"origin\":\"session\"", "\"origin\":\"import\"", ORIGIN_IMPORT},
                   {"\"origin\":\"session\"", "\"origin\":\"of tomorrow\"", ORIGIN_IMPORT},
                   {"\"origin\":\"session\",", "", ORIGIN_SESSION},
                   {"\"seconds\":1.5", "\"seconds\":0.0", ORIGIN_SESSION}};
    struct text good = {0};
    const struct record_choice choice = choice_of("strips", 0.5);
    record_choice_print(&choice, &good);
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        struct text line = {0};
        struct records records = {0};
        hone_error error;
        const char *at = strstr(text_view(&good), changes[i].from);
        REQUIRE(at);
        text_add_bytes(&line, good.data, (size_t)(at - good.data));
        text_add(&line, "%s%s", changes[i].to, at + strlen(changes[i].from));
        REQUIRE_OK(records_parse(&records, text_view(&line), READ_ALL, &error));
        REQUIRE(records.choice_count == 1);
        CHECK_EQ(records.choices[0].origin, changes[i].origin);
        records_finish(&records);
        text_finish(&line);
    }
    text_finish(&good);
    struct records old = {0};
    hone_error error;
    REQUIRE_OK(records_parse(&old, old_trial, READ_ALL, &error));
    REQUIRE(old.choice_count == 1);
    CHECK_EQ(old.choices[0].origin, ORIGIN_IMPORT);
    CHECK(old.choices[0].asked == 0 && !old.choices[0].unfinished && !old.choices[0].continues);
    records_finish(&old);
}

TEST(what_was_abandoned_was_never_started)
{
    static const char *const configs[] = {"WG_X=16", "WG_X=32"};
    const struct record_choice choice = choice_of("strips", 0.5);
    struct record_try attempt = {.device = device, .c = box, .config = {"direct", "", -1}, .state = STATE_OK};
    hone_error error;
    use_folder();
    for (int i = 0; i < 2; i++) {
        snprintf(attempt.config.config, sizeof attempt.config.config, "%s", configs[i]);
        REQUIRE_OK(records_add_try(&attempt, &error));
        attempt.state = STATE_STARTED;
    }
    REQUIRE_OK(records_add_choice(&choice, &error));
    attempt.state = STATE_ABANDONED;
    REQUIRE_OK(records_add_try(&attempt, &error));
    REQUIRE_OK(records_add_try(&attempt, &error)); /* there is no other start to end */
    strcpy(attempt.config.config, configs[0]);
    REQUIRE_OK(records_add_try(&attempt, &error)); /* nor is this one: it has ended well */
    struct records all = load(READ_TRIES | READ_CHOICES);
    REQUIRE(all.try_count == 1 && all.choice_count == 1);
    CHECK_EQ(all.skipped, 0);
    CHECK_EQ(all.tries[0].state, STATE_OK);
    CHECK_TEXT(all.tries[0].config.config, configs[0]);
    CHECK_EQ(all.choices[0].tries_before, 1);
    records_finish(&all);
}

TEST(damage_costs_one_line)
{
    hone_error error;
    struct text good = {0};
    const struct record_choice choice = choice_of("strips", 0.5);
    record_choice_print(&choice, &good);
    for (size_t i = 0; i < good.length; i++) {
        struct text file = {0};
        struct records records = {0};
        text_add(&file, "%s\n", text_view(&good));
        text_add_bytes(&file, good.data, i); /* cut */
        text_add(&file, "\n%s\n", text_view(&good));
        REQUIRE_OK(records_parse(&records, text_view(&file), READ_ALL, &error));
        CHECK_EQ(records.choice_count, 2);
        CHECK_EQ(records.skipped, i > 0);
        records_finish(&records);
        file.data[i] ^= 0x15; /* turned over */
        REQUIRE_OK(records_parse(&records, text_view(&file), READ_ALL, &error));
        CHECK(records.choice_count >= 1);
        records_finish(&records);
        text_finish(&file);
    }
    text_finish(&good);
}

TEST(absurd_values_are_skipped)
{
    static const struct {
        const char *from, *to;
    } changes[] = {{"\"v\":1", "\"v\":2"},
                   {"\"channels\":1", "\"channels\":5"},
                   {"\"width\":640", "\"width\":-1"},
                   {"\"width\":640", "\"width\":\"640\""},
                   {"\"type\":\"u8\"", "\"type\":\"u9\""},
                   {"\"ms\":0.5", "\"ms\":null"},
                   {"\"evaluations\":20", "\"evaluations\":1e300"},
                   {"\"ranked\":[", "\"ranked\":[7,"},
                   {"\"kind\":\"choice\"", "\"kind\":\"other\""}};
    struct text good = {0};
    const struct record_choice choice = choice_of("strips", 0.5);
    hone_error error;
    record_choice_print(&choice, &good);
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        struct text line = {0};
        struct records records = {0};
        const char *at = strstr(text_view(&good), changes[i].from);
        REQUIRE(at);
        text_add_bytes(&line, good.data, (size_t)(at - good.data));
        text_add(&line, "%s%s", changes[i].to, at + strlen(changes[i].from));
        REQUIRE_OK(records_parse(&records, text_view(&line), READ_ALL, &error));
        CHECK_EQ(records.choice_count, 0);
        CHECK_EQ(records.skipped, 1);
        records_finish(&records);
        text_finish(&line);
    }
    text_finish(&good);
}

TEST(an_open_last_line_does_not_swallow_the_next)
{
    hone_error error;
    char path[PATH_MAX];
    const struct record_choice choice = choice_of("strips", 0.5);
    use_folder();
    REQUIRE_OK(records_add_choice(&choice, &error));
    REQUIRE_OK(records_path(path, &error));
    FILE *file = fopen(path, "a");
    REQUIRE(file);
    fputs("{\"kind\":\"choice\",\"v\":1,\"dev", file);
    fclose(file);
    REQUIRE_OK(records_add_choice(&choice, &error));
    struct records all = load(READ_ALL);
    CHECK_EQ(all.choice_count, 2);
    CHECK_EQ(all.skipped, 1);
    records_finish(&all);
}

TEST(a_file_that_is_full_keeps_what_it_has)
{
    hone_error error;
    char path[PATH_MAX];
    const struct record_choice choice = choice_of("strips", 0.5);
    use_folder();
    REQUIRE_OK(records_add_choice(&choice, &error));
    REQUIRE_OK(records_path(path, &error));
    size_t before = 0, after = 0;
    free(support_read(path, &before));
    const struct rlimit small = {before + 50, before + 50};
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &small);
    CHECK_STATUS(records_add_choice(&choice, &error), HONE_ERROR_IO);
    free(support_read(path, &after));
    CHECK_EQ(after, before);
}

static void add_many(void *user)
{
    hone_error error;
    (void)user;
    for (int i = 0; i < 50; i++) {
        const struct record_choice choice = choice_of("strips", 0.5);
        records_add_choice(&choice, &error);
    }
}

TEST(two_processes_append_whole_lines)
{
    use_folder();
    pid_t child = fork();
    if (child == 0) {
        add_many(NULL);
        _exit(0);
    }
    add_many(NULL);
    support_in_child(add_many, NULL);
    struct records all = load(READ_ALL);
    for (int i = 0; i < 500 && all.choice_count < 150; i++) {
        records_finish(&all);
        usleep(10000);
        all = load(READ_ALL);
    }
    CHECK_EQ(all.choice_count, 150);
    CHECK_EQ(all.skipped, 0);
    records_finish(&all);
}

TEST(files_merge)
{
    hone_error error;
    char path[PATH_MAX];
    size_t added = 0;
    const struct record_choice ours = choice_of("strips", 0.5), theirs = choice_of("direct", 0.25);
    struct text other = {0};
    use_folder();
    REQUIRE_OK(records_add_choice(&ours, &error));
    record_choice_print(&ours, &other);
    text_add(&other, "\nnonsense\n{\"v\":7}\n");
    record_choice_print(&theirs, &other);
    snprintf(path, sizeof path, "%s", support_path(support_folder(), "other.jsonl"));
    support_write(path, other.data, other.length);
    REQUIRE_OK(records_merge(path, &added, &error));
    CHECK_EQ(added, 1);
    REQUIRE_OK(records_merge(path, &added, &error));
    CHECK_EQ(added, 0);
    struct records all = load(READ_ALL);
    REQUIRE(all.choice_count == 2);
    CHECK_TEXT(all.choices[1].ranked[0].variant, "direct");
    CHECK_EQ(all.choices[0].origin, ORIGIN_SESSION);
    CHECK_EQ(all.choices[1].origin, ORIGIN_IMPORT);
    records_finish(&all);
    CHECK_STATUS(records_merge("/nonexistent", &added, &error), HONE_ERROR_IO);
    text_finish(&other);
}
