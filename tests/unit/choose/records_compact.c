/* SPDX-License-Identifier: BSD-2-Clause */
/* A file of records without what later lines supersede says the same, and no line is lost on the way
 * there. */
#include "choose/records.h"

#include "base/file.h"
#include "base/text.h"
#include "choose/records_json.h"
#include "support.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const struct record_device device = {
    .name = "Toaster", .vendor = "Kitchen", .platform = "Bread", .driver = "1.0", .kind = HONE_DEVICE_GPU};
static const struct record_case box = {
    .filter = "box", .border = "replicate", .type = HONE_U8, .channels = 1, .width = 640, .height = 480};

static void begin(char path[4096])
{
    hone_error error;
    setenv("XDG_DATA_HOME", support_folder(), 1);
    REQUIRE_OK(records_path(path, &error));
}

static struct record_try try_of(const char *config, enum record_state state, double ms)
{
    struct record_try t = {.device = device, .c = box, .state = state};
    snprintf(t.config.variant, sizeof t.config.variant, "direct");
    snprintf(t.config.config, sizeof t.config.config, "%s", config);
    t.config.ms = ms;
    if (state == STATE_STARTED)
        snprintf(t.session, sizeof t.session, "%s", record_session());
    return t;
}

static void add_try_line(struct text *file, const struct record_try *t)
{
    record_json_print(record_try_json(t), file);
    text_add(file, "\n");
}

static void add_choice_line(struct text *file, enum record_origin origin, int evaluations, int64_t when)
{
    struct record_choice choice = {.device = device,
                                   .c = box,
                                   .origin = origin,
                                   .count = 1,
                                   .evaluations = evaluations,
                                   .seconds = 1,
                                   .load = -1,
                                   .time = when};
    snprintf(choice.ranked[0].variant, sizeof choice.ranked[0].variant, "direct");
    record_choice_print(&choice, file);
    text_add(file, "\n");
}

static void write_file(const char *path, const struct text *file)
{
    hone_error error;
    REQUIRE_OK(file_write(path, file->data, file->length, &error));
    REQUIRE(chmod(path, 0600) == 0);
}

/* The lines of `wanted`, in order, are the file. */
static void check_file(const char *path, const struct text *wanted)
{
    char *text = support_read(path, NULL);
    CHECK_TEXT(text, text_view(wanted));
    free(text);
}

TEST(what_is_superseded_goes_and_all_else_stays)
{
    char path[4096];
    bool done = false;
    hone_error error;
    struct text file = {0}, wanted = {0};
    const struct record_try start = try_of("WG_X=1", STATE_STARTED, -1),
                            called_off = try_of("WG_X=2", STATE_STARTED, -1),
                            abandoned = try_of("WG_X=2", STATE_ABANDONED, -1),
                            crash = try_of("WG_X=1", STATE_CRASH, -1), last = try_of("WG_X=1", STATE_OK, 99);
    struct record_try left = try_of("WG_X=3", STATE_STARTED, -1);
    begin(path);
    add_try_line(&wanted, &crash);
    text_add(&wanted, "not a line\n{\"kind\":\"try\",\"v\":2}\n\n");
    add_choice_line(&wanted, ORIGIN_SESSION, 1, 1);
    add_choice_line(&wanted, ORIGIN_TRIAL, 2, 9);
    text_add(&file, "%s", text_view(&wanted));
    for (int i = 0; i < 40; i++) {
        const struct record_try t = try_of("WG_X=1", i % 2 ? STATE_OK : STATE_SLOW, i);
        add_try_line(&file, &start);
        add_try_line(&file, &t);
        add_choice_line(&file, ORIGIN_TRIAL, 3, i % 9);
    }
    for (struct text *to = &file; to; to = to == &file ? &wanted : NULL) {
        add_choice_line(to, ORIGIN_SESSION, 1, 1);
        add_try_line(to, &called_off);
        add_try_line(to, &abandoned);
        add_try_line(to, &left);
        add_try_line(to, &last);
        text_add(to, "{\"cut\":");
    }
    write_file(path, &file);
    REQUIRE_OK(records_compact(&done, &error));
    CHECK(done);
    check_file(path, &wanted);
    REQUIRE_OK(records_compact(&done, &error));
    CHECK(!done);
    check_file(path, &wanted);
    text_finish(&file);
    text_finish(&wanted);
}

/* A later line of the same key that no parser takes: what it would supersede stays. */
TEST(damaged_lines_supersede_nothing)
{
    char path[4096];
    bool done = false;
    hone_error error;
    struct text file = {0}, one = {0};
    const struct record_try t = try_of("WG_X=1", STATE_OK, 1);
    begin(path);
    record_json_print(record_try_json(&t), &one);
    text_add(&file, "%s\n", text_view(&one));
    for (int i = 0; i < 20; i++)
        text_add(&file, "%.*s,\"v\":1}\n", (int)one.length - 1, text_view(&one)); /* a name twice */
    write_file(path, &file);
    REQUIRE_OK(records_compact(&done, &error));
    char *text = support_read(path, NULL);
    CHECK(strncmp(text, text_view(&one), one.length) == 0);
    free(text);
    text_finish(&file);
    text_finish(&one);
}

static void count(struct record_try_counts *counts)
{
    hone_error error;
    REQUIRE_OK(records_count_tries(counts, &error));
}

/* Appending makes a file of 4 MiB small, and the counts of its tries agree with those of reading them. */
TEST(appending_compacts_by_itself)
{
    char path[4096];
    hone_error error;
    struct text file = {0};
    struct records all = {0};
    struct record_try_counts counts;
    struct stat info;
    begin(path);
    for (int i = 0; file.length < (4u << 20) - 600; i++) {
        const struct record_try t =
            try_of(i % 2 ? "WG_X=1" : "WG_X=2", i % 4 < 2 ? STATE_STARTED : STATE_OK, i);
        add_try_line(&file, &t);
    }
    write_file(path, &file);
    count(&counts);
    const struct record_try abandoned = try_of("WG_X=9", STATE_ABANDONED, -1);
    struct record_try more = try_of("WG_X=9", STATE_STARTED, -1);
    CHECK(counts.tries > 5000 && counts.measured >= counts.tries / 2 - 1);
    REQUIRE_OK(records_add_try(&more, &error));
    REQUIRE_OK(records_add_try(&abandoned, &error));
    REQUIRE(stat(path, &info) == 0);
    CHECK(info.st_size < 10000);
    REQUIRE_OK(records_load(&all, READ_TRIES, &error));
    count(&counts);
    CHECK_EQ(counts.tries, all.try_count);
    CHECK_EQ(counts.measured, 2);
    CHECK_EQ(counts.skipped, 0);
    records_finish(&all);
    text_finish(&file);
}

/* Adds a try of its own, then ones that supersede each other, and compacts, for ever; says of each that it is
 * there. */
static void work(int pipe_end, int round)
{
    bool done;
    for (int i = 0;; i++) {
        char config[64];
        const struct record_try same = try_of("WG_X=1", STATE_OK, i);
        snprintf(config, sizeof config, "ROUND=%d I=%d", round, i);
        const struct record_try own = try_of(config, STATE_OK, i);
        if (records_add_try(&own, NULL) != HONE_OK || write(pipe_end, "x", 1) != 1)
            _exit(1);
        for (int k = 0; k < 4; k++)
            records_add_try(&same, NULL);
        records_compact(&done, NULL);
    }
}

static void pause_for(long microseconds)
{
    const struct timespec time = {0, microseconds * 1000};
    nanosleep(&time, NULL);
}

/* Starts two that write at once, kills both, and returns how many tries of each were told to be there. */
static void kill_two(int round, int told[2])
{
    int ends[2][2];
    pid_t children[2];
    for (int k = 0; k < 2; k++) {
        REQUIRE(pipe(ends[k]) == 0);
        children[k] = fork();
        if (children[k] == 0)
            work(ends[k][1], 2 * round + k);
        close(ends[k][1]);
    }
    pause_for(20000 + round * 7919 % 30000);
    for (int k = 0; k < 2; k++) {
        char byte;
        kill(children[k], SIGKILL);
        waitpid(children[k], NULL, 0);
        for (told[k] = 0; read(ends[k][0], &byte, 1) == 1;)
            told[k]++;
        close(ends[k][0]);
    }
}

TEST(nothing_is_lost_by_kills)
{
    enum { ROUNDS = 12 };
    char path[4096];
    hone_error error;
    struct records all = {0};
    int told[ROUNDS][2], found[2 * ROUNDS] = {0};
    begin(path);
    for (int i = 0; i < ROUNDS; i++)
        kill_two(i, told[i]);
    REQUIRE_OK(records_load(&all, READ_TRIES, &error));
    for (size_t i = 0; i < all.try_count; i++) {
        int round, number;
        if (sscanf(all.tries[i].config.config, "ROUND=%d I=%d", &round, &number) != 2)
            continue;
        REQUIRE(round >= 0 && round < 2 * ROUNDS);
        CHECK_EQ(number, found[round]); /* each once, in order */
        found[round]++;
    }
    for (int i = 0; i < 2 * ROUNDS; i++)
        CHECK(found[i] == told[i / 2][i % 2] || found[i] == told[i / 2][i % 2] + 1);
    records_finish(&all);
}
