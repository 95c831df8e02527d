/* SPDX-License-Identifier: BSD-2-Clause */
/* The clocks of the host. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

/* Nanoseconds of CLOCK_MONOTONIC. */
uint64_t clock_ns(void);

/* Nanoseconds of processor time that the calling thread has had. */
uint64_t clock_thread_ns(void);

/* The same of all threads of the process. */
uint64_t clock_process_ns(void);

/* Whether something happened within a day and since the machine was started. What ended a process before says
 * nothing of today: power that failed, memory that ran out. */
bool clock_is_recent(time_t when);
