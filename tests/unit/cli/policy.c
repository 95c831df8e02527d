/* SPDX-License-Identifier: BSD-2-Clause */
/* Policy files: what they say, what they bind, and which of them are refused. */
#include "cli/policy.h"

#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *const path = "policy.test";

static void write_file(const void *text, size_t length, mode_t mode)
{
    FILE *file = fopen(path, "wb");
    REQUIRE(file);
    CHECK_EQ(fwrite(text, 1, length, file), length);
    CHECK_EQ(fclose(file), 0);
    CHECK_EQ(chmod(path, mode), 0);
}

static hone_status add(struct policy *policy, const char *text, hone_error *error)
{
    write_file(text, strlen(text), 0600);
    const hone_status status = policy_add(policy, path, error);
    unlink(path);
    return status;
}

static void check_value(const struct policy *policy, enum policy_item item, bool given, double value,
                        double wanted)
{
    hone_error error;
    REQUIRE_OK(policy_apply(policy, item, given, &value, &error));
    CHECK_EQ(value, wanted);
}

TEST(limits_and_defaults)
{
    struct policy policy = {0};
    hone_error error;
    double value = 2e9;
    REQUIRE_OK(add(
        &policy, "# of the machine\n\nlimit max-pixels 1e9\r\n\tdefault  memory 512M # small\nlimit trust no",
        &error));
    check_value(&policy, POLICY_MAX_PIXELS, true, 1e9, 1e9);
    check_value(&policy, POLICY_MAX_PIXELS, false, 1e11, 1e9);
    check_value(&policy, POLICY_MEMORY, false, 1e9, 512 * 1048576.0);
    check_value(&policy, POLICY_MEMORY, true, 1e12, 1e12);
    check_value(&policy, POLICY_DECODE_MEMORY, false, 2048, 2048);
    CHECK(policy_has(&policy, POLICY_MEMORY) && !policy_has(&policy, POLICY_DECODE_MEMORY));
    CHECK_STATUS(policy_apply(&policy, POLICY_MAX_PIXELS, true, &value, &error), HONE_ERROR_USAGE);
    CHECK_HAS(error.message, "--max-pixels exceeds the limit of 1000000000 in the policy 'policy.test'");
    value = 1;
    CHECK_STATUS(policy_apply(&policy, POLICY_TRUST, true, &value, &error), HONE_ERROR_USAGE);
    CHECK_HAS(error.message, "--trust is not allowed");
}

TEST(the_lower_limit_of_two_files_holds)
{
    struct policy policy = {0};
    hone_error error;
    REQUIRE_OK(add(&policy, "limit decode-memory 100\ndefault max-pixels 50\nlimit max-pixels 70", &error));
    REQUIRE_OK(add(&policy,
                   "limit decode-memory 1000\ndefault max-pixels 60\ndefault trust yes\nlimit max-pixels 65",
                   &error));
    check_value(&policy, POLICY_DECODE_MEMORY, false, 2048, 100);
    check_value(&policy, POLICY_MAX_PIXELS, false, 1e11, 60);
    check_value(&policy, POLICY_MAX_PIXELS, true, 65, 65);
    check_value(&policy, POLICY_TRUST, false, 0, 1);
    REQUIRE_OK(add(&policy, "default max-pixels 1000", &error));
    check_value(&policy, POLICY_MAX_PIXELS, false, 1e11, 65);
}

TEST(decoders)
{
    struct policy policy = {0};
    hone_error error;
    double memory = 0;
    bool trust = false;
    REQUIRE_OK(policy_apply_decoders(&policy, &memory, &trust, &error));
    CHECK(memory == 0 && !trust);
    REQUIRE_OK(add(&policy, "limit decode-memory 100\nlimit trust no\ndefault trust yes", &error));
    REQUIRE_OK(policy_apply_decoders(&policy, &memory, &trust, &error));
    CHECK(memory == 100 && !trust);
    trust = true;
    CHECK_STATUS(policy_apply_decoders(&policy, &memory, &trust, &error), HONE_ERROR_USAGE);
}

TEST(what_is_not_understood_is_an_error)
{
    static const char *const lines[] = {"max-pixels 5",
                                        "limit max-pixels",
                                        "limit max-pixels 5 6",
                                        "limit max-pixel 5",
                                        "most max-pixels 5",
                                        "limit max-pixels many",
                                        "limit max-pixels nan",
                                        "limit max-pixels 0",
                                        "default max-pixels 1e30",
                                        "default decode-memory 1e30",
                                        "default memory 1e30",
                                        "limit max-pixels -5",
                                        "limit memory 5Q",
                                        "limit trust maybe",
                                        "limit trust 1",
                                        "limit decode-memory inf",
                                        "x"};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        struct policy policy = {0};
        char text[128];
        hone_error error = {0};
        snprintf(text, sizeof text, "# first\n%s\n", lines[i]);
        CHECK_STATUS(add(&policy, text, &error), HONE_ERROR_IO);
        CHECK_HAS(error.message, "'policy.test', line 2: expected");
    }
}

/* 0: with advice. As root, who may read all, by another user. */
static int read_closed(const char *folder)
{
    struct policy policy = {0};
    hone_error error = {0};
    char inside[64];
    const bool closed = geteuid() == 0 ? setuid(65534) == 0 : chmod(folder, 0) == 0;
    snprintf(inside, sizeof inside, "%s/policy", folder);
    return closed && policy_add(&policy, inside, &error) == HONE_ERROR_IO &&
                   strstr(error.message, "XDG_CONFIG_HOME")
               ? 0
               : 1;
}

TEST(the_home_of_somebody_else)
{
    const char *folder = "policy.closed";
    int status = -1;
    REQUIRE(mkdir(folder, 0700) == 0);
    const pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0)
        _exit(read_closed(folder));
    CHECK_EQ(waitpid(child, &status, 0), child);
    CHECK_EQ(status, 0);
    CHECK_EQ(rmdir(folder), 0);
}

TEST(files_that_are_not_to_be_trusted)
{
    struct policy policy = {0};
    hone_error error;
    static char large[70000];
    REQUIRE_OK(policy_add(&policy, "no/such/policy", &error));
    CHECK_STATUS(policy_add(&policy, ".", &error), HONE_ERROR_IO);
    CHECK_HAS(error.message, "it is no file");
    write_file("limit trust no\n", 15, 0622);
    CHECK_STATUS(policy_add(&policy, path, &error), HONE_ERROR_IO);
    CHECK_HAS(error.message, "chmod go-w");
    unlink(path);
    write_file("limit trust no\0\n", 16, 0600);
    CHECK_STATUS(policy_add(&policy, path, &error), HONE_ERROR_IO);
    CHECK_HAS(error.message, "it is no text");
    memset(large, '\n', sizeof large);
    write_file(large, sizeof large, 0600);
    CHECK_STATUS(policy_add(&policy, path, &error), HONE_ERROR_IO);
    CHECK_HAS(error.message, "64 KiB");
    unlink(path);
    CHECK(!policy_has(&policy, POLICY_TRUST));
}

/* Bytes of all kinds are read to their end, whatever comes of them. */
TEST(random_bytes)
{
    uint32_t state = 7;
    for (int round = 0; round < 300; round++) {
        struct policy policy = {0};
        static const char words[] = "limit default max-pixels memory trust yes 1e9 #\n\n  \xff\x80";
        char text[200];
        for (size_t i = 0; i + 1 < sizeof text; i++) {
            state = state * 1664525 + 1013904223;
            text[i] = words[(state >> 16) % (sizeof words - 1)];
        }
        text[sizeof text - 1] = '\0';
        hone_error error;
        const hone_status status = add(&policy, text, &error);
        CHECK(status == HONE_OK || status == HONE_ERROR_IO);
    }
}
