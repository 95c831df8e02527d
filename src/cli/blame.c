/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/blame.h"

#include "base/mem.h"
#include "cache/programs.h"

#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

static volatile sig_atomic_t own_end;

/* What another process sends (kill -SEGV) has its number, and says nothing of the driver. */
static void on_fault(int number, siginfo_t *info, void *context)
{
    (void)context;
    if (info->si_code > 0 || info->si_pid == getpid())
        programs_blame();
    signal(number, SIG_DFL);
    raise(number);
}

static void on_exit_from_within(void)
{
    if (!own_end)
        programs_blame();
}

void blame_begin(void)
{
    static const int numbers[] = {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL};
    struct sigaction now, wanted = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};
    sigemptyset(&wanted.sa_mask);
    for (size_t i = 0; i < COUNT_OF(numbers); i++)
        if (sigaction(numbers[i], NULL, &now) == 0 && now.sa_handler == SIG_DFL) /* sanitizers have theirs */
            sigaction(numbers[i], &wanted, NULL);
    atexit(on_exit_from_within);
}

void blame_end(void)
{
    own_end = 1;
}
