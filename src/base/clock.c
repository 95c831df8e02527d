/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/clock.h"

static uint64_t read_clock(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

uint64_t clock_ns(void)
{
    return read_clock(CLOCK_MONOTONIC);
}

uint64_t clock_thread_ns(void)
{
    return read_clock(CLOCK_THREAD_CPUTIME_ID);
}

uint64_t clock_process_ns(void)
{
    return read_clock(CLOCK_PROCESS_CPUTIME_ID);
}

bool clock_is_recent(time_t when)
{
    enum { DAY = 24 * 60 * 60 };
    struct timespec up;
    const time_t now = time(NULL);
    return clock_gettime(CLOCK_BOOTTIME, &up) == 0 && when > now - DAY && when >= now - up.tv_sec - 1;
}
