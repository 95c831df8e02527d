/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/survive.h"

#include "base/mem.h"
#include "cli/cli.h"

#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static bool watched;

bool survive_is_watched(void)
{
    return watched;
}

void *survive_memory(unsigned bytes)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

/* What the caller had ignored (nohup, a background job) stays ignored. */
static void choose_signals(sigset_t *set)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    sigemptyset(set);
    sigaddset(set, SIGCHLD);
    for (size_t i = 0; i < COUNT_OF(numbers); i++) {
        struct sigaction now;
        if (sigaction(numbers[i], NULL, &now) == 0 && now.sa_handler != SIG_IGN)
            sigaddset(set, numbers[i]);
    }
}

/* A terminal sends SIGINT to the child, too, and SIGHUP, but for the one that it sends to the leader of its
 * session alone. Passed on late, they would look like a second key press. */
static bool is_for_both(int number, const siginfo_t *info)
{
    return info->si_code == SI_KERNEL && (number == SIGINT || getsid(0) != getpid());
}

static int wait_for(pid_t child, const sigset_t *signals)
{
    int status = 0;
    siginfo_t info;
    for (;;) {
        const int number = sigwaitinfo(signals, &info);
        if (number > 0 && number != SIGCHLD && !is_for_both(number, &info))
            kill(child, number);
        if (waitpid(child, &status, WNOHANG) == child)
            return status;
    }
}

/* What a library may have done: some also call exit. EXIT_DEVICE is the guard's. */
static bool is_fault(int status)
{
    static const int numbers[] = {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL, SIGTRAP, SIGSYS};
    bool is = WIFEXITED(status) && WEXITSTATUS(status) != EXIT_DEVICE;
    for (size_t i = 0; i < COUNT_OF(numbers) && WIFSIGNALED(status); i++)
        is = is || WTERMSIG(status) == numbers[i];
    return is;
}

static void end_like(int status)
{
    const int number = WTERMSIG(status);
    sigset_t set;
    setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0}); /* the child has left one */
    signal(number, SIG_DFL);
    sigemptyset(&set);
    sigaddset(&set, number);
    sigprocmask(SIG_UNBLOCK, &set, NULL);
    kill(getpid(), number);
    _exit(128 + number);
}

/* The new process, which ends with the one that watches. */
static void become_worker(pid_t watcher, const sigset_t *before)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != watcher)
        _exit(1);
    watched = true;
    sigprocmask(SIG_SETMASK, before, NULL);
}

int survive(const struct survival *survival)
{
    const pid_t self = getpid();
    const char *ended = NULL;
    sigset_t signals, before;
    fflush(NULL); /* else both would write what waits there */
    signal(SIGCHLD, SIG_DFL);
    choose_signals(&signals);
    sigprocmask(SIG_BLOCK, &signals, &before);
    for (;;) {
        const pid_t child = fork();
        if (child <= 0) { /* where there can be none, this one works */
            if (child == 0)
                become_worker(self, &before);
            else
                sigprocmask(SIG_SETMASK, &before, NULL);
            return survival->work(survival->user, ended);
        }
        const int status = wait_for(child, &signals);
        if (is_fault(status) && survival->goes_on(survival->user)) {
            ended = WIFSIGNALED(status) ? strsignal(WTERMSIG(status)) : "it called exit";
            continue;
        }
        sigprocmask(SIG_SETMASK, &before, NULL);
        if (WIFSIGNALED(status))
            end_like(status);
        return WEXITSTATUS(status);
    }
}
