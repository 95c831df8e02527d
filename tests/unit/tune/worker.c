/* SPDX-License-Identifier: BSD-2-Clause */
/* What the parent makes of a child that answers, hangs or dies. The children here are this program's own. */
#include "tune/worker/worker.h"

#include "test.h"

#include <signal.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

/* A worker whose child takes the first request, sleeps so long and ends without an answer. */
static void start_child(struct worker *worker, double seconds)
{
    int to[2], from[2];
    *worker = (struct worker){.memory = UINT64_MAX};
    REQUIRE(pipe(to) == 0 && pipe(from) == 0);
    worker->pid = fork();
    REQUIRE(worker->pid >= 0);
    if (worker->pid == 0) {
        static const char taken[] = "{\"phase\": \"taken\"}\n";
        char byte = 0;
        while (read(to[0], &byte, 1) == 1 && byte != '\n')
            ;
        bool told = write(from[1], taken, strlen(taken)) == (ssize_t)strlen(taken);
        usleep((useconds_t)(seconds * 1e6));
        _exit(told ? 7 : 8);
    }
    close(to[0]);
    close(from[1]);
    worker->to = to[1];
    worker->from = from[0];
}

static void on_alarm(int number)
{
    (void)number;
}

/* As a Ctrl-C does, a signal of a timer interrupts the wait for the child, which dies later. */
TEST(a_child_that_dies_after_a_signal_is_seen)
{
    struct worker worker;
    char note[512] = "";
    json_t *answer = NULL, *request = json_pack("{s:s}", "do", "measure");
    const struct itimerval once = {.it_value = {.tv_usec = 200000}};
    REQUIRE(request);
    start_child(&worker, 1);
    signal(SIGALRM, on_alarm);
    REQUIRE(setitimer(ITIMER_REAL, &once, NULL) == 0);
    CHECK_EQ(worker_ask(&worker, request, 20, &answer, note), WORKER_DIED);
    CHECK_HAS(note, "ended with status 7");
    CHECK(!answer && worker.pid == 0);
    json_decref(request);
}

static bool yes(void *context)
{
    (void)context;
    return true;
}

TEST(a_child_that_dies_after_an_interrupt_is_called_off)
{
    struct worker worker;
    char note[512] = "";
    json_t *answer = NULL, *request = json_pack("{s:s}", "do", "measure");
    REQUIRE(request);
    start_child(&worker, 0);
    worker.interrupted = yes;
    CHECK_EQ(worker_ask(&worker, request, 20, &answer, note), WORKER_GIVEN_UP);
    CHECK(!answer && worker.pid == 0);
    json_decref(request);
}

/* As after a Ctrl-Z: the child has gone on, and its answer is there when the parent comes back too late. */
TEST(an_answer_that_is_read_late_is_an_answer)
{
    struct worker worker;
    char note[512] = "";
    json_t *answer = NULL, *request = json_pack("{s:s}", "do", "measure");
    static const char line[] = "{\"state\": \"ok\"}\n";
    REQUIRE(request);
    start_child(&worker, 1);
    close(worker.from);
    int from[2];
    REQUIRE(pipe(from) == 0 && write(from[1], line, strlen(line)) == (ssize_t)strlen(line));
    worker.from = from[0];
    CHECK_EQ(worker_ask(&worker, request, 0, &answer, note), WORKER_ANSWERED);
    CHECK(answer != NULL);
    close(from[1]);
    worker_end(&worker);
    json_decref(answer);
    json_decref(request);
}
