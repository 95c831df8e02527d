/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/tune_signals.h"

#include "base/mem.h"

#include <stddef.h>

static volatile sig_atomic_t signals;

static void on_signal(int number)
{
    (void)number;
    if (signals < 2)
        signals = signals + 1;
}

void tune_signals_begin(void)
{
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
    return signals > 1;
}
