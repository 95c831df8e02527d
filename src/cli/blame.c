/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/blame.h"

#include "base/mem.h"
#include "cache/programs.h"
#include "cl/drivercache.h"

#include <signal.h>
#include <stdio.h>
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

/* LLVM, in PoCL, ends the process when it cannot write: no program is to blame for a full disk. */
static void on_exit_from_within(void)
{
    enum { ENOUGH = 2 << 20 };
    hone_error why;
    if (own_end)
        return;
    if (driver_cache_check_room(ENOUGH, &why))
        fprintf(stderr, "hone: the driver ended the process while it compiled: %s\n", why.message);
    else
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
