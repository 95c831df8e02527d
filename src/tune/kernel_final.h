/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TUNE_KERNEL_FINAL_H
#define TUNE_KERNEL_FINAL_H

#include "tune/kernel_session.h"

/* Measures the fastest tries again, by turns, and ranks them by their medians; of those that cannot be told
 * from the fastest, the one with the earliest values wins. Without a worker that answers the search's scores
 * decide. `beside` as in race_by_turns. */
void kernel_final(struct worker *worker, struct kernel_session_result *result, double beside);

#endif
