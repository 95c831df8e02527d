/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/tune/signals.h"

#include "base/clock.h"
#include "base/mem.h"

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

/* For what is under way to finish by itself. */
#define GRACE "3"

static volatile sig_atomic_t signals, quiet;
static volatile uint64_t first; /* when the first one came */
static const double grace_seconds = 3;

/* Whoever waits for a process wants to see at once that it heard. */
static void acknowledge(void)
{
    static const char text[] = "\nhone: interrupted: what runs now has " GRACE
                               " s to finish, then it is called off; again: at once\n";
    const int skipped = isatty(STDERR_FILENO) ? 0 : 1;
    ssize_t told = quiet ? 0 : write(STDERR_FILENO, text + skipped, sizeof text - 1 - (size_t)skipped);
    (void)told;
}

static void on_signal(int number)
{
    const int before = errno;
    (void)number;
    if (signals == 0) {
        first = clock_ns();
        acknowledge();
    }
    if (signals < 2)
        signals = signals + 1;
    errno = before;
}

void tune_signals_begin(bool silent)
{
    quiet = silent;
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    for (size_t i = 0; i < COUNT_OF(numbers); i++) {
        struct sigaction now, action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
        sigfillset(&action.sa_mask); /* counting is not interrupted */
        if (numbers[i] == SIGHUP && sigaction(SIGHUP, NULL, &now) == 0 && now.sa_handler == SIG_IGN)
            continue;
        sigaction(numbers[i], &action, NULL);
    }
}

bool tune_is_interrupted(void *context)
{
    (void)context;
    return signals > 0;
}

bool tune_is_given_up(void *context)
{
    (void)context;
    return signals > 1 || (signals == 1 && (double)(clock_ns() - first) * 1e-9 > grace_seconds);
}
