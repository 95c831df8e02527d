/* SPDX-License-Identifier: BSD-2-Clause */
/* The self-test's verdict: asked once, remembered, and not believed when it is damaged. */
#include "cl/selftest.h"

#include "base/text.h"
#include "cache/disk.h"
#include "cl/internal.h"
#include "cl/selftest/questions.h"
#include "cl/source/builtins.h"
#include "support.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static char verdicts[PATH_MAX + 32]; /* the folder */

static void begin(void)
{
    char kept[PATH_MAX];
    snprintf(kept, sizeof kept, "%s/driver", getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
    mkdir(kept, 0700);
    setenv("POCL_CACHE_DIR", kept, 1);
    const char *cache = support_folder();
    setenv("XDG_CACHE_HOME", cache, 1);
    snprintf(verdicts, sizeof verdicts, "%s/hone/verdicts", cache);
}

/* Opens the device and asks one question; returns how many programs that built. */
static int ask(enum selftest_item item, bool *holds)
{
    hone_device *device = support_open(NULL);
    *holds = selftest_holds(device, item);
    int built = (int)hone_device_get_counts(device).built_from_source;
    hone_device_close(&device);
    return built;
}

static const char *only_file(void)
{
    static char path[2 * PATH_MAX];
    DIR *list = opendir(verdicts);
    REQUIRE(list != NULL);
    path[0] = '\0';
    for (struct dirent *entry; (entry = readdir(list));)
        if (entry->d_name[0] != '.')
            snprintf(path, sizeof path, "%s/%s", verdicts, entry->d_name);
    closedir(list);
    REQUIRE(path[0] != '\0');
    return path;
}

TEST(asked_once)
{
    bool holds = false;
    begin();
    CHECK(ask(SELFTEST_BUILD, &holds) > 0);
    CHECK(holds);
    CHECK_EQ(ask(SELFTEST_BUILD, &holds), 0);
    CHECK(holds);
}

TEST(this_device_passes)
{
    begin();
    hone_device *device = support_open(NULL);
    if (support_is_pocl(device)) {
        CHECK(selftest_passes(device));
        CHECK(selftest_holds(device, SELFTEST_IMAGES));
        CHECK(selftest_holds(device, SELFTEST_WIDE));
        CHECK(selftest_holds(device, SELFTEST_PROGRESS));
        CHECK(!selftest_holds(device, SELFTEST_PTX));
    }
    for (int i = 0; i < SELFTEST_COUNT; i++)
        CHECK(selftest_item_name((enum selftest_item)i)[0]);
    hone_device_close(&device);
}

TEST(written_as_text)
{
    bool holds;
    begin();
    ask(SELFTEST_BUILD, &holds);
    char *text = support_read(only_file(), NULL);
    CHECK_HAS(text, "hone verdict 1\n");
    CHECK_HAS(text, "\nloops +\n");
    CHECK_HAS(text, "\nimages ?\n");
    CHECK(strchr(text, '!') == NULL);
    free(text);
    hone_device *device = support_open(NULL);
    CHECK_EQ(selftest_run(device, NULL, NULL), HONE_OK);
    hone_device_close(&device);
    text = support_read(only_file(), NULL);
    CHECK_HAS(text, "\nptx -\n");
    CHECK(strpbrk(text, "?!") == NULL);
    free(text);
}

/* The first result waits for one program, whatever else a device might be asked. */
TEST(one_program_answers_what_every_result_depends_on)
{
    bool holds = false;
    begin();
    CHECK_EQ(ask(SELFTEST_FLOATS, &holds), 1);
    CHECK(holds);
    hone_device *device = support_open(NULL);
    CHECK(selftest_passes(device));
    CHECK(selftest_holds(device, SELFTEST_CLOCK));
    if (support_is_pocl(device))
        CHECK(selftest_holds(device, SELFTEST_WIDE));
    CHECK_EQ(hone_device_get_counts(device).built_from_source, 0);
    CHECK(selftest_holds(device, SELFTEST_HALF_STORE));
    CHECK_EQ(hone_device_get_counts(device).built_from_source, 1);
    hone_device_close(&device);
}

/* The device plays a GPU; whether its work-groups may wait is another matter. */
TEST(gpus_are_asked_for_progress_in_that_program)
{
    begin();
    hone_device *device = support_open(NULL);
    device->info.kind = HONE_DEVICE_GPU;
    CHECK(selftest_passes(device));
    selftest_holds(device, SELFTEST_PROGRESS);
    CHECK_EQ(hone_device_get_counts(device).built_from_source, 1);
    char *text = support_read(only_file(), NULL);
    CHECK(strstr(text, "\nprogress +\n") || strstr(text, "\nprogress -\n"));
    free(text);
    hone_device_close(&device);
}

static bool is_declared(const char *options)
{
    struct text source = {0}, declarations = {0};
    question_source(&source, options);
    const bool declared = !source.failed && builtins_declare(text_view(&source), &declarations);
    text_finish(&source);
    text_finish(&declarations);
    return declared;
}

/* Reading the whole header of built-in functions takes PoCL longer than all of the first questions. */
TEST(questions_name_only_what_they_ask)
{
    CHECK(is_declared("-DPART_CORE"));
    CHECK(is_declared("-DPART_CORE -DPART_WIDE"));
    for (int i = 0; i < SELFTEST_HALF_STORE; i++)
        CHECK(is_declared(question_probes[i].options));
    CHECK(is_declared(question_probes[SELFTEST_PROGRESS].options));
    CHECK(!is_declared(question_probes[SELFTEST_HALF_STORE].options));
    CHECK(!is_declared(question_probes[SELFTEST_SUBGROUPS].options));
}

/* The small program of the core must not hide what a question by itself finds. */
TEST(questions_by_themselves_agree_with_the_core)
{
    static const char text[] = "hone verdict 1\nbuild -\n";
    bool together[SELFTEST_COUNT], alone;
    begin();
    hone_device *device = support_open(NULL);
    for (int i = SELFTEST_LOOPS; i < SELFTEST_IMAGES; i++)
        together[i] = selftest_holds(device, (enum selftest_item)i);
    hone_device_close(&device);
    support_write(only_file(), text, sizeof text - 1); /* what is known in part is asked item by item */
    for (int i = SELFTEST_LOOPS; i < SELFTEST_IMAGES; i++) {
        CHECK_EQ(ask((enum selftest_item)i, &alone), 1);
        CHECK_EQ(alone, together[i]);
    }
}

static int warnings;

static void count_warnings(void *user, hone_log_level level, const char *message)
{
    (void)user;
    warnings += level == HONE_LOG_WARNING && strstr(message, "'loops'") && strstr(message, "hone doctor");
}

/* With a single device too, where there is none to go to instead. */
TEST(a_failed_question_is_said_once)
{
    const hone_device_request request = {.log = count_warnings};
    const uint8_t in[16] = {0};
    uint8_t out[16];
    const hone_image_desc desc = {4, 4, HONE_U8, 1, 0};
    bool holds = false;
    begin();
    ask(SELFTEST_BUILD, &holds);
    support_write(only_file(), "hone verdict 1\nloops -\n", 23);
    hone_device *device = support_open(&request);
    for (int i = 0; i < 2; i++)
        CHECK_EQ(hone_apply(device, "box", &desc, in, NULL, out, 16, NULL), HONE_OK);
    CHECK_EQ(warnings, 1);
    hone_device_close(&device);
}

static void check_asked_again(const char *content, size_t size, const char *what)
{
    bool holds = false;
    support_write(only_file(), content, size);
    int built = ask(SELFTEST_LOOPS, &holds);
    if (built == 0 || !holds)
        test_fail(__FILE__, __LINE__, "%s: %d programs built, loops %d", what, built, holds);
    CHECK_EQ(ask(SELFTEST_LOOPS, &holds), 0);
}

TEST(damaged_verdicts_are_asked_again)
{
    bool holds;
    begin();
    ask(SELFTEST_BUILD, &holds);
    char large[8000];
    memset(large, 'x', sizeof large);
    check_asked_again("", 0, "empty");
    check_asked_again("nonsense\nloops -\n", 17, "no header");
    check_asked_again("hone verdict 2\nloops -\n", 23, "another format");
    check_asked_again("hone verdict 1\nloops *\n", 23, "an unknown mark");
    check_asked_again("hone verdict 1\nloops -x\n", 24, "more behind the mark");
    check_asked_again("hone verdict 1\nloops -\nweather +\n", 33, "an unknown item");
    check_asked_again("hone verdict 1\nloops ", 21, "cut off");
    check_asked_again(large, sizeof large, "too large");
}

TEST(parts_of_a_verdict_are_kept)
{
    bool holds = true;
    begin();
    ask(SELFTEST_BUILD, &holds);
    support_write(only_file(), "hone verdict 1\nloops -\n", 23);
    CHECK_EQ(ask(SELFTEST_LOOPS, &holds), 0);
    CHECK(!holds);
    CHECK_EQ(ask(SELFTEST_LOCAL, &holds), 1);
    CHECK(holds);
    CHECK_EQ(ask(SELFTEST_LOCAL, &holds), 0);
    CHECK_EQ(ask(SELFTEST_LOOPS, &holds), 0);
    CHECK(!holds);
}

TEST(verdicts_of_others_are_not_believed)
{
    bool holds = false;
    begin();
    ask(SELFTEST_BUILD, &holds);
    support_write(only_file(), "hone verdict 1\nloops -\n", 23);
    REQUIRE(chmod(only_file(), 0666) == 0);
    CHECK(ask(SELFTEST_LOOPS, &holds) > 0);
    CHECK(holds);
}

/* All is known, but for 64-byte vectors, which were being asked. */
static void write_wide(char mark)
{
    char text[256];
    snprintf(text, sizeof text,
             "hone verdict 1\nbuild +\nloops +\nlocal +\nintegers +\nfloats +\natomics +\nclock +\nimages +\n"
             "half-store +\nhalf -\nwide %c\nptx -\nsubgroups -\nprogress +\nin-place +\n",
             mark);
    support_write(only_file(), text, strlen(text));
}

TEST(what_ended_the_process_is_not_asked_again)
{
    bool holds = true;
    begin();
    ask(SELFTEST_BUILD, &holds);
    write_wide('4'); /* the fourth process, nobody knows of what */
    CHECK_EQ(ask(SELFTEST_WIDE, &holds), 0);
    CHECK(!holds);
    CHECK_EQ(ask(SELFTEST_LOOPS, &holds), 0);
    CHECK(holds);
    write_wide('!'); /* the first, which the driver ended */
    char crashed[2 * PATH_MAX + 16];
    snprintf(crashed, sizeof crashed, "%s.crashed", only_file());
    support_write(crashed, "", 0);
    CHECK_EQ(ask(SELFTEST_WIDE, &holds), 0);
    CHECK(!holds);
    CHECK(access(crashed, F_OK) != 0);
}

/* kill -9, say: it is asked again, and the marks count. */
TEST(an_end_that_nobody_explains_fails_nothing)
{
    bool holds = false;
    begin();
    ask(SELFTEST_BUILD, &holds);
    for (const char *mark = "!23"; *mark; mark++) {
        write_wide(*mark);
        CHECK_EQ(ask(SELFTEST_WIDE, &holds), 1);
        char *text = support_read(only_file(), NULL);
        CHECK_HAS(text, holds ? "\nwide +\n" : "\nwide -\n");
        free(text);
    }
    hone_device *device = support_open(NULL);
    if (support_is_pocl(device))
        CHECK(holds);
    hone_device_close(&device);
}

/* After a day or a restart of the machine they say nothing any more, and nothing was decided for good. */
TEST(unexplained_ends_expire)
{
    const struct timespec old[] = {{.tv_sec = time(NULL) - 2 * 86400}, {.tv_sec = time(NULL) - 2 * 86400}};
    bool holds = true;
    begin();
    ask(SELFTEST_BUILD, &holds);
    write_wide('4');
    CHECK_EQ(ask(SELFTEST_WIDE, &holds), 0);
    CHECK(!holds);
    ask(SELFTEST_IMAGES, &holds);
    char *text = support_read(only_file(), NULL);
    CHECK_HAS(text, "\nwide 4\n");
    free(text);
    REQUIRE(utimensat(AT_FDCWD, only_file(), old, 0) == 0);
    CHECK_EQ(ask(SELFTEST_WIDE, &holds), 1);
    text = support_read(only_file(), NULL);
    CHECK_HAS(text, holds ? "\nwide +\n" : "\nwide -\n");
    free(text);
}

static const char *watched; /* the file that says that the driver was blamed */

static void on_alarm(int number)
{
    (void)number;
    selftest_blame();
    if (access(watched, F_OK) == 0)
        _exit(7);
}

/* Plays a driver that ends the process while it is asked: the handler sees the question from within. The
 * question comes anew until one takes as long as that. */
static void end_in_a_question(void)
{
    const struct itimerval often = {{0, 2000}, {0, 2000}};
    char *unasked = support_read(only_file(), NULL);
    signal(SIGALRM, on_alarm);
    setitimer(ITIMER_REAL, &often, NULL);
    for (int i = 0; i < 1000; i++) {
        bool holds;
        ask(SELFTEST_HALF_STORE, &holds);
        support_write(only_file(), unasked, strlen(unasked));
    }
    _exit(0);
}

/* The parent uses OpenCL only when the children are gone. */
static int in_a_child(void (*work)(void))
{
    int status = 0;
    pid_t child = fork();
    if (child == 0)
        work();
    REQUIRE(child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void ask_for_the_core(void)
{
    bool holds;
    ask(SELFTEST_BUILD, &holds);
    _exit(0);
}

TEST(a_handler_of_signals_blames_the_question)
{
    char path[2 * PATH_MAX + 16];
    bool holds = true;
    begin();
    CHECK_EQ(in_a_child(ask_for_the_core), 0);
    snprintf(path, sizeof path, "%s.crashed", only_file());
    watched = path;
    CHECK_EQ(in_a_child(end_in_a_question), 7);
    CHECK(access(path, F_OK) == 0);
    CHECK_EQ(ask(SELFTEST_HALF_STORE, &holds), 0);
    CHECK(!holds);
}

/* The doctor's way: ask everything again now. */
TEST(running_it_again)
{
    bool holds = true;
    begin();
    ask(SELFTEST_BUILD, &holds);
    support_write(only_file(), "hone verdict 1\nloops -\n", 23);
    hone_device *device = support_open(NULL);
    double milliseconds = 0;
    hone_error error;
    CHECK(!selftest_holds(device, SELFTEST_LOOPS));
    CHECK_STATUS(selftest_run(device, &milliseconds, &error), HONE_OK);
    CHECK(milliseconds > 0);
    CHECK(selftest_holds(device, SELFTEST_LOOPS));
    hone_device_close(&device);
    CHECK_EQ(ask(SELFTEST_LOOPS, &holds), 0);
    CHECK(holds);
}

static int ready[2];

/* Plays a process that is in the middle of its self-test, and finishes it when the pipe is closed. */
static void hold_the_lock(const char *file, const char *complete)
{
    char path[2 * PATH_MAX];
    snprintf(path, sizeof path, "%s/../programs/" PROGRAM_LOCK, verdicts);
    int lock = open(path, O_RDWR | O_CREAT, 0600);
    REQUIRE(lock >= 0 && flock(lock, LOCK_EX) == 0);
    support_write(file, "hone verdict 1\nbuild !\nloops !\n", 31);
    REQUIRE(write(ready[1], "x", 1) == 1);
    usleep(300000); /* long enough for the other to look; nothing depends on it */
    support_write(file, complete, strlen(complete));
    exit(0);
}

TEST(another_process_that_asks_is_waited_for)
{
    bool holds = false;
    char byte;
    begin();
    ask(SELFTEST_BUILD, &holds);
    char *complete = support_read(only_file(), NULL);
    char file[2 * PATH_MAX];
    snprintf(file, sizeof file, "%s", only_file());
    REQUIRE(pipe(ready) == 0);
    /* The parent has used OpenCL; the child calls nothing of it. */
    pid_t child = fork();
    if (child == 0)
        hold_the_lock(file, complete);
    REQUIRE(read(ready[0], &byte, 1) == 1);
    CHECK_EQ(ask(SELFTEST_LOOPS, &holds), 0);
    CHECK(holds);
    waitpid(child, NULL, 0);
    free(complete);
}
