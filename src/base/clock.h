/* SPDX-License-Identifier: BSD-2-Clause */
/* The steady clock of the host. */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include <stdint.h>

/* Nanoseconds of CLOCK_MONOTONIC. */
uint64_t clock_ns(void);

#endif
