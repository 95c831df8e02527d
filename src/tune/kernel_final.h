/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TUNE_KERNEL_FINAL_H
#define TUNE_KERNEL_FINAL_H

#include "tune/kernel_session_private.h"

/* Measures the fastest tries again, by turns, and ranks them by their medians; of those that cannot be told
 * from the fastest, the one with the earliest values wins. Those that fail drop out, and their tries are
 * failures. Without a final the search's scores decide. `beside` as in race_by_turns. */
void kernel_final(struct kernel_session *s, double beside);

#endif
