/* SPDX-License-Identifier: BSD-2-Clause */
#include "test.h"

#include "base/clock.h"
#include "base/mem.h"

#include <dlfcn.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* A limit counts processor time, so that a busy machine fails nothing; what hangs takes so much longer. */
enum { PATIENCE = 10 };

struct test {
    char *name;
    test_function function;
    const void *user;
};

/* What a test's process tells the one that waits for it. */
struct outcome {
    int failures;
    bool skipped, finished;
    char text[2048]; /* of the first failure, or why it was skipped */
};

static struct test *tests;
static size_t test_count, test_capacity;
static struct outcome *outcome;

void test_add(const char *name, test_function function, const void *user)
{
    char *copy = mem_copy_text(name);
    if (!copy || !mem_grow(&tests, &test_capacity, test_count + 1, sizeof *tests))
        abort();
    tests[test_count++] = (struct test){copy, function, user};
}

__attribute__((weak)) void test_register(void) {}

void test_fail(const char *file, int line, const char *format, ...)
{
    char what[1500];
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    const char *slash = strrchr(file, '/');
    if (outcome->failures++ == 0)
        snprintf(outcome->text, sizeof outcome->text, "%s:%d: %s", slash ? slash + 1 : file, line, what);
    else
        test_note("also: %s:%d: %s", slash ? slash + 1 : file, line, what);
}

void test_stop(void)
{
    outcome->finished = true;
    exit(1);
}

void test_skip(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(outcome->text, sizeof outcome->text, format, args);
    va_end(args);
    outcome->skipped = outcome->finished = true;
    exit(0);
}

void test_note(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fputs("# ", stdout);
    vprintf(format, args);
    putchar('\n');
    va_end(args);
}

bool test_failed(void)
{
    return outcome->failures > 0;
}

bool test_check_integers(const char *file, int line, const char *text, int64_t got, int64_t wanted)
{
    if (got != wanted)
        test_fail(file, line, "%s is %" PRId64 ", should be %" PRId64, text, got, wanted);
    return got == wanted;
}

bool test_check_texts(const char *file, int line, const char *text, const char *got, const char *wanted)
{
    bool same = got && wanted ? strcmp(got, wanted) == 0 : got == wanted;
    if (!same)
        test_fail(file, line, "%s is '%s', should be '%s'", text, got ? got : "(null)",
                  wanted ? wanted : "(null)");
    return same;
}

bool test_check_contains(const char *file, int line, const char *text, const char *got, const char *part)
{
    bool found = got && strstr(got, part);
    if (!found)
        test_fail(file, line, "%s is '%s', should contain '%s'", text, got ? got : "(null)", part);
    return found;
}

bool test_check_status(const char *file, int line, const char *text, hone_status got, hone_status wanted,
                       const hone_error *error)
{
    if (got == wanted)
        return true;
    test_fail(file, line, "%s gives %s (%s), should give %s", text, hone_status_name(got),
              got ? error->message : "no error", hone_status_name(wanted));
    if (got && error->log[0])
        test_note("%s", error->log);
    return false;
}

/* ---- Running ---- */

static void run_here(const struct test *test)
{
    test->function(test->user);
    outcome->finished = true;
    exit(outcome->failures > 0);
}

/* Seconds of processor time of a child, without its children; 0 when it has ended. */
static double processor_time(pid_t child)
{
    clockid_t clock;
    struct timespec used;
    if (clock_getcpuclockid(child, &clock) != 0 || clock_gettime(clock, &used) != 0)
        return 0;
    return (double)used.tv_sec + (double)used.tv_nsec * 1e-9;
}

/* Waits until the child has used `limit` seconds of processor time, or PATIENCE times that have passed; then
 * kills it. Returns the status as wait gives it, or -1 when it was killed. */
static int wait_for(pid_t child, double limit)
{
    const struct timespec pause = {0, 1000000};
    uint64_t end = clock_ns() + (uint64_t)(limit * PATIENCE * 1e9);
    int status = 0;
    while (waitpid(child, &status, WNOHANG) == 0) {
        if (processor_time(child) > limit || clock_ns() > end) {
            kill(child, SIGKILL);
            waitpid(child, &status, 0);
            return -1;
        }
        nanosleep(&pause, NULL);
    }
    return status;
}

static bool report(const struct test *test, int status, double limit)
{
    bool crashed = status == -1 || WIFSIGNALED(status), passed = false;
    if (status == -1)
        printf("not ok %s: took more than %g s of processor time, or %g s\n", test->name, limit,
               limit * PATIENCE);
    else if (crashed)
        printf("not ok %s: ended by signal %d (%s)\n", test->name, WTERMSIG(status),
               strsignal(WTERMSIG(status)));
    else if (outcome->skipped)
        printf("skip %s: %s\n", test->name, outcome->text);
    else if (outcome->failures)
        printf("not ok %s: %s\n", test->name, outcome->text);
    else if (!outcome->finished || WEXITSTATUS(status) != 0)
        printf("not ok %s: ended with exit status %d %s its end\n", test->name, WEXITSTATUS(status),
               outcome->finished ? "after" : "before");
    else
        passed = printf("ok %s\n", test->name) > 0;
    if (crashed && outcome->failures)
        printf("# before that: %s\n", outcome->text);
    fflush(stdout);
    return passed || outcome->skipped;
}

static bool run(const struct test *test, double limit)
{
    memset(outcome, 0, sizeof *outcome);
    fflush(NULL);
    pid_t child = fork();
    if (child == 0)
        run_here(test);
    if (child < 0) {
        printf("not ok %s: cannot fork\n", test->name);
        return false;
    }
    return report(test, wait_for(child, limit), limit);
}

static bool wanted(const struct test *test, char **names, int count)
{
    for (int i = 0; i < count; i++)
        if (fnmatch(names[i], test->name, 0) == 0)
            return true;
    return count == 0;
}

struct options {
    double limit;
    bool list;
    int first; /* the first name among the arguments */
};

static bool read_options(struct options *options, int argc, char **argv)
{
    *options = (struct options){.limit = 60, .first = 1};
    for (int *i = &options->first; *i < argc && argv[*i][0] == '-'; ++*i) {
        if (strcmp(argv[*i], "--list") == 0) {
            options->list = true;
        } else if (strcmp(argv[*i], "--limit") == 0 && *i + 1 < argc && atof(argv[*i + 1]) > 0) {
            options->limit = atof(argv[++*i]);
        } else {
            fprintf(stderr, "%s: cannot use '%s'\nusage: %s [--list] [--limit SECONDS] [NAME...]\n", argv[0],
                    argv[*i], argv[0]);
            return false;
        }
    }
    return true;
}

/* glibc keeps the last error of a loader where LeakSanitizer does not look (use_tls=0), until it is asked for
 * twice. */
static void forget_loading(void)
{
    while (dlerror())
        ;
}

int main(int argc, char **argv)
{
    struct options options;
    bool all_passed = true;
    size_t matched = 0;
    atexit(forget_loading);
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (!read_options(&options, argc, argv))
        return 2;
    outcome = mmap(NULL, sizeof *outcome, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (outcome == MAP_FAILED)
        return 2;
    test_register();
    for (size_t i = 0; i < test_count; i++) {
        if (!wanted(&tests[i], argv + options.first, argc - options.first))
            continue;
        matched++;
        if (options.list)
            puts(tests[i].name);
        else
            all_passed = run(&tests[i], options.limit) && all_passed;
    }
    if (matched == 0)
        puts("not ok selection: no test has such a name");
    return matched == 0 || !all_passed;
}
