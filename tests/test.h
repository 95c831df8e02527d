/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * A small test frame.
 *
 *     TEST(addition_wraps)
 *     {
 *         CHECK_EQ(add(UINT32_MAX, 1), 0);
 *     }
 *
 * A program of tests takes names (or patterns with *) of the tests to run; none means all; --list prints the
 * names; --limit SECONDS bounds the processor time of each test (not that of its children). Each test runs in
 * a process of its own, so that one that crashes or hangs is a failure like any other. For each a line is
 * printed:
 *
 *     ok NAME
 *     not ok NAME: file.c:12: what was wrong
 *     skip NAME: the reason
 */
#ifndef TESTS_TEST_H
#define TESTS_TEST_H

#include "hone/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef void (*test_function)(const void *user);

/* Adds a test; name is copied, `user` must live on. */
void test_add(const char *name, test_function function, const void *user);

/* A program may define this to add tests that it finds at run time. */
void test_register(void);

#define TEST(name)                                                                                           \
    static void test_##name(const void *);                                                                   \
    __attribute__((constructor)) static void register_##name(void)                                           \
    {                                                                                                        \
        test_add(#name, test_##name, NULL);                                                                  \
    }                                                                                                        \
    static void test_##name(const void *test_user __attribute__((unused)))

/* Notes a failure (printf style); the test goes on. */
void test_fail(const char *file, int line, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* Ends the test now; REQUIRE and CHECK say why before. */
void test_stop(void) __attribute__((noreturn));
/* Ends the test as skipped. The reason must name the driver that is missing: nothing else may be skipped. */
void test_skip(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));
/* Prints a remark that the runner shows when something fails. */
void test_note(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Whether the test that runs has failed so far. */
bool test_failed(void);

bool test_check_integers(const char *file, int line, const char *text, int64_t got, int64_t wanted);
bool test_check_texts(const char *file, int line, const char *text, const char *got, const char *wanted);
bool test_check_contains(const char *file, int line, const char *text, const char *got, const char *part);
bool test_check_status(const char *file, int line, const char *text, hone_status got, hone_status wanted,
                       const hone_error *error);

#define CHECK(condition)                                                                                     \
    ((condition) ? (void)0 : test_fail(__FILE__, __LINE__, "%s does not hold", #condition))
#define CHECK_EQ(got, want)     test_check_integers(__FILE__, __LINE__, #got, (int64_t)(got), (int64_t)(want))
#define CHECK_TEXT(got, wanted) test_check_texts(__FILE__, __LINE__, #got, got, wanted)
#define CHECK_HAS(got, part)    test_check_contains(__FILE__, __LINE__, #got, got, part)
/* A call that takes `&error`: checks its status and says error.message when it is another one. */
#define CHECK_STATUS(call, wanted) test_check_status(__FILE__, __LINE__, #call, call, wanted, &error)
#define REQUIRE(condition)                                                                                   \
    ((condition) ? (void)0 : (test_fail(__FILE__, __LINE__, "%s does not hold", #condition), test_stop()))
#define REQUIRE_OK(call)                                                                                     \
    (test_check_status(__FILE__, __LINE__, #call, call, HONE_OK, &error) ? (void)0 : test_stop())

#endif
